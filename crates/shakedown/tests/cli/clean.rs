//! `targets --clean`: what is left of runs whose processes were all killed is cleared away, and nothing else.

use std::{
    fs,
    process::{Child, Command},
};

use tempfile::TempDir;

use super::{
    mount::{can_mount, is_mounted, start},
    program::{command, from, text},
};

/// The name of a process of this namespace, or of one that nobody here sees into, that has a number which none has.
fn dead(is_elsewhere: bool) -> String {
    let own = posix::process_name::own();
    let (namespace, _) = own.split_once('.').unwrap();
    format!("{namespace}{}.{}", if is_elsewhere { "0" } else { "" }, i32::MAX)
}

/// Clears away, with this folder for temporary files; what was said.
fn clean(temporary: &TempDir) -> String {
    let ran = from(command(&["targets", "--clean"]).env("TMPDIR", temporary.path()).output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    ran.stdout
}

/// One after the other: each would clear away what the other has left for itself.
#[test]
fn what_the_dead_have_left_is_cleared_away_and_nothing_else() {
    folders_of_the_dead_are_removed_and_those_of_the_living_stay();
    a_mount_that_nobody_serves_is_unmounted_and_one_that_somebody_serves_stays();
}

fn folders_of_the_dead_are_removed_and_those_of_the_living_stay() {
    let temporary = TempDir::new().unwrap();
    let path = |name: String| temporary.path().join(name);
    let (gone, elsewhere) = (dead(false), dead(true));
    let dead = ["guest", "swarm"].map(|what| path(format!("shakedown-{what}-{gone}-0")));
    let others = [
        path(format!("shakedown-swarm-{}-0", posix::process_name::own())),
        path(format!("shakedown-swarm-{elsewhere}-0")),
        path(format!("shakedown-{gone}-0")),
        path(format!("shakedown-guest-{gone}-0.kept")),
    ];
    for folder in dead.iter().chain(&others) {
        fs::create_dir_all(folder.join("tasks/001")).unwrap();
        fs::write(folder.join("tasks/001/states"), "").unwrap();
    }
    let link = path(format!("shakedown-guest-{gone}-1"));
    std::os::unix::fs::symlink(&others[0], &link).unwrap();
    let said = clean(&temporary);
    for folder in &dead {
        assert!(!folder.exists() && said.contains(&format!("cleared away: {}\n", text(folder))), "{said}");
    }
    for other in others.iter().chain([&link]) {
        assert!(other.join("tasks/001/states").exists() && !said.contains(text(other)), "{said}");
    }
}

/// The server is stopped, so that it cannot put another watcher in the place of one that is killed.
fn kill_with_watcher(mut server: Child) {
    let signal = |signal: &str, of: &[&str]| Command::new("kill").arg(signal).args(of).status().unwrap();
    let pid = server.id().to_string();
    assert!(signal("-STOP", &[&pid]).success());
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let children = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap()).collect::<String>();
    assert!(signal("-KILL", &children.split_whitespace().collect::<Vec<_>>()).success());
    server.kill().unwrap();
    server.wait().unwrap();
}

fn a_mount_that_nobody_serves_is_unmounted_and_one_that_somebody_serves_stays() {
    if !can_mount() {
        return;
    }
    let (temporary, dir, kept) = (TempDir::new().unwrap(), TempDir::new().unwrap(), TempDir::new().unwrap());
    let (dead, mut alive) = (start(&dir).0, start(&kept).0);
    kill_with_watcher(dead);
    let was_mounted = is_mounted(&dir);
    let said = clean(&temporary);
    let stay = [&dir, &kept].map(is_mounted);
    assert!(Command::new("umount").arg(kept.path()).status().unwrap().success());
    assert!(alive.wait().unwrap().success());
    assert_eq!((was_mounted, stay), (true, [false, true]), "{said}");
    assert!(said.contains(&format!("cleared away: the mount on {}\n", text(dir.path()))), "{said}");
}
