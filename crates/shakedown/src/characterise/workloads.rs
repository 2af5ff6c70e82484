//! The workloads that every target is measured by: a few for each call that makes something durable, and for each way
//! in which ops can come out of order. Their names are part of the interface: a figure says what was done.

use vfs::{Op, text::parse_workload};

/// A named workload.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    pub name: &'static str,
    /// Ops with semicolons between them; `UNIT` is a small write of the target.
    text: &'static str,
}

impl Script {
    /// The ops for a target whose small write has so many bytes.
    pub fn ops(&self, unit: u64) -> Vec<Op> {
        let text = self.text.replace("UNIT", &unit.to_string()).replace(';', "\n");
        parse_workload(&text).expect("a test parses every script")
    }
}

const fn script(name: &'static str, text: &'static str) -> Script {
    Script { name, text }
}

/// Every script.
pub const SCRIPTS: [Script; 30] = [
    script("sync-new-file", r#"create("/a"); write("/a", offset=0, len=UNIT, fill=1); sync()"#),
    script(
        "sync-tree",
        r#"mkdir("/d"); create("/d/a"); write("/d/a", offset=0, len=UNIT, fill=1); sync(); rename("/d/a", "/b"); sync();
           unlink("/b"); rmdir("/d"); sync()"#,
    ),
    script("sync-links", r#"create("/a"); link("/a", "/b"); sync(); unlink("/a"); sync()"#),
    script("sync-by-unmount", r#"create("/a"); write("/a", offset=0, len=UNIT, fill=1); remount()"#),
    script(
        "fsync-known-file",
        r#"create("/a"); sync(); write("/a", offset=0, len=UNIT, fill=1); fsync("/a"); mkdir("/x"); sync()"#,
    ),
    script(
        "fsync-overwrite",
        r#"create("/a"); write("/a", offset=0, len=UNIT, fill=1); sync(); write("/a", offset=0, len=UNIT, fill=2);
           fsync("/a"); mkdir("/x"); sync()"#,
    ),
    script(
        "fsync-truncate",
        r#"create("/a"); write("/a", offset=0, len=UNIT, fill=1); sync(); truncate("/a", size=0); fsync("/a");
           mkdir("/x"); sync()"#,
    ),
    script(
        "fsync-new-file",
        r#"create("/a"); write("/a", offset=0, len=UNIT, fill=1); fsync("/a"); mkdir("/x"); sync()"#,
    ),
    script(
        "fsync-in-new-directory",
        r#"mkdir("/d"); create("/d/a"); write("/d/a", offset=0, len=UNIT, fill=1); fsync("/d/a"); mkdir("/x"); sync()"#,
    ),
    script("fsync-after-rename", r#"create("/a"); sync(); rename("/a", "/b"); fsync("/b"); mkdir("/x"); sync()"#),
    script("fsync-after-link", r#"create("/a"); sync(); link("/a", "/b"); fsync("/a"); mkdir("/x"); sync()"#),
    script(
        "fsync-under-a-name-that-was-taken",
        r#"create("/a"); write("/a", offset=0, len=UNIT, fill=1); fsync("/a"); rename("/a", "/b"); create("/a");
           write("/a", offset=0, len=UNIT, fill=2); fsync("/a"); mkdir("/x"); sync()"#,
    ),
    script(
        "fsync-where-a-directory-was",
        r#"mkdir("/d"); mkdir("/e"); sync(); rmdir("/d"); rmdir("/e"); create("/a");
           write("/a", offset=0, len=UNIT, fill=1); fsync("/a"); fsync("/"); mkdir("/x"); sync()"#,
    ),
    script("fsync-directory-create", r#"mkdir("/d"); sync(); create("/d/a"); fsync("/d"); mkdir("/x"); sync()"#),
    script("fsync-directory-unlink", r#"create("/a"); sync(); unlink("/a"); fsync("/"); mkdir("/x"); sync()"#),
    script(
        "fsync-directory-rename",
        r#"mkdir("/d"); create("/a"); sync(); rename("/a", "/d/a"); fsync("/d"); mkdir("/x"); sync()"#,
    ),
    script(
        "fdatasync-known-file",
        r#"create("/a"); sync(); write("/a", offset=0, len=UNIT, fill=1); fdatasync("/a"); mkdir("/x"); sync()"#,
    ),
    script(
        "fdatasync-overwrite",
        r#"create("/a"); write("/a", offset=0, len=UNIT, fill=1); sync(); write("/a", offset=0, len=UNIT, fill=2);
           fdatasync("/a"); mkdir("/x"); sync()"#,
    ),
    script(
        "fdatasync-new-file",
        r#"create("/a"); write("/a", offset=0, len=UNIT, fill=1); fdatasync("/a"); mkdir("/x"); sync()"#,
    ),
    script(
        "fdatasync-append",
        r#"create("/a"); write("/a", offset=0, len=UNIT, fill=1); sync(); write("/a", at=end, len=UNIT, fill=2);
           fdatasync("/a"); mkdir("/x"); sync()"#,
    ),
    script(
        "o-sync-known-file",
        r#"create("/a"); sync(); open("/a", O_WRONLY|O_SYNC, fd=0); write(fd=0, offset=0, len=UNIT, fill=1);
           write(fd=0, offset=0, len=UNIT, fill=2); close(fd=0); mkdir("/x"); sync()"#,
    ),
    script(
        "o-sync-new-file",
        r#"open("/a", O_CREAT|O_WRONLY|O_SYNC, fd=0, mode=0644); write(fd=0, offset=0, len=UNIT, fill=1);
           close(fd=0); mkdir("/x"); sync()"#,
    ),
    script(
        "o-dsync-overwrite",
        r#"create("/a"); write("/a", offset=0, len=UNIT, fill=1); sync(); open("/a", O_WRONLY|O_DSYNC, fd=0);
           write(fd=0, offset=0, len=UNIT, fill=2); close(fd=0); mkdir("/x"); sync()"#,
    ),
    script(
        "rename-over",
        r#"create("/a"); write("/a", offset=0, len=UNIT, fill=1); create("/b"); sync(); rename("/a", "/b"); sync()"#,
    ),
    script("rename-across", r#"mkdir("/d"); create("/a"); sync(); rename("/a", "/d/a"); sync()"#),
    script("rename-directory", r#"mkdir("/d"); create("/d/a"); sync(); rename("/d", "/e"); sync()"#),
    script(
        "save",
        r#"create("/a"); write("/a", offset=0, len=UNIT, fill=1); sync(); create("/b");
           write("/b", offset=0, len=UNIT, fill=2); fsync("/b"); rename("/b", "/a"); sync()"#,
    ),
    script("order-of-names", r#"create("/a"); sync(); unlink("/a"); mkdir("/d"); create("/b"); fsync("/b"); sync()"#),
    script("order-of-attributes", r#"create("/a"); sync(); chmod("/a", mode=0600); create("/b"); fsync("/b"); sync()"#),
    script(
        "order-of-contents",
        r#"create("/a"); write("/a", offset=0, len=UNIT, fill=1); sync(); create("/b");
           write("/a", offset=0, len=UNIT, fill=2); fsync("/a"); mkdir("/x"); write("/a", offset=0, len=UNIT, fill=3);
           sync()"#,
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use vfs::Reference;

    use super::*;

    #[test]
    fn every_script_has_a_name_of_its_own_and_can_be_done() {
        let names: BTreeSet<&str> = SCRIPTS.iter().map(|script| script.name).collect();
        assert_eq!(names.len(), SCRIPTS.len());
        for script in SCRIPTS {
            let mut reference = Reference::new();
            for op in script.ops(16) {
                assert!(reference.apply(&op).is_ok(), "{}: {op}", script.name);
            }
        }
    }
}
