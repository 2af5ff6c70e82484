//! Nothing stays mounted, whoever is killed.

use std::{
    fs,
    thread::{self, sleep},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use super::{Served, snapshots::start, wait_until};

/// A server is killed so often, each time at another moment.
const TRIES: u32 = 5;

/// The watcher of a server: its child.
fn watcher(server: u32) -> Option<Pid> {
    let children = fs::read_to_string(format!("/proc/{server}/task/{server}/children")).unwrap_or_default();
    let of_threads = || {
        let tasks = fs::read_dir(format!("/proc/{server}/task")).ok()?;
        tasks
            .flatten()
            .find_map(|task| fs::read_to_string(task.path().join("children")).ok().filter(|all| !all.is_empty()))
    };
    let all = if children.is_empty() { of_threads()? } else { children };
    all.split_whitespace().next()?.parse().ok().and_then(Pid::from_raw)
}

fn is_alive(pid: Pid) -> bool {
    fs::exists(format!("/proc/{}", pid.as_raw_nonzero())).unwrap()
}

#[test]
fn a_server_that_is_killed_leaves_no_mount() {
    let Some(mut served) = Served::start() else { return };
    let watcher = watcher(served.server.id()).unwrap();
    fs::write(served.path("f"), "gone with it").unwrap();
    served.server.kill().unwrap();
    served.server.wait().unwrap();
    wait_until("it is unmounted", || !served.is_mounted());
    wait_until("the watcher is gone", || !is_alive(watcher));
}

/// It waits for an answer of its own then, which nobody will give.
#[test]
fn a_server_that_is_killed_while_it_restores_leaves_no_mount() {
    for _ in 0..TRIES {
        let Some((mut served, client)) = start() else { return };
        let path = served.path("f");
        fs::write(&path, "saved").unwrap();
        client.save(1).unwrap();
        let restoring =
            thread::spawn(move || while fs::write(&path, "changed").is_ok() && client.restore(1).is_ok() {});
        sleep(Duration::from_millis(20));
        served.server.kill().unwrap();
        served.server.wait().unwrap();
        wait_until("it is unmounted", || !served.is_mounted());
        restoring.join().unwrap();
    }
}

#[test]
fn a_watcher_that_is_killed_is_replaced() {
    let Some(mut served) = Served::start() else { return };
    let pid = served.server.id();
    for _ in 0..3 {
        let first = watcher(pid).unwrap();
        kill_process(first, Signal::KILL).unwrap();
        wait_until("there is another", || watcher(pid).is_some_and(|next| next != first));
    }
    served.server.kill().unwrap();
    served.server.wait().unwrap();
    wait_until("it is unmounted", || !served.is_mounted());
}

#[test]
fn after_an_unmount_nobody_is_left() {
    let Some(mut served) = Served::start() else { return };
    let watcher = watcher(served.server.id()).unwrap();
    rustix::mount::unmount(served.dir.path(), rustix::mount::UnmountFlags::empty()).unwrap();
    assert!(served.server.wait().unwrap().success());
    assert!(!is_alive(watcher));
}
