//! Single ops, by driving the model as the checker does: what they return, and what a reader sees.

use check::{Target, Task};
use disk::{Disk, OpIndex};
use models::mapping::{FileMapping, Index, Layout, Link, Reserved, Writes};
use vfs::{Errno, Outcome, Value};

use crate::{driver, searching::variant};

const WRITES: [Writes; 4] = [Writes::Naive, Writes::Cached, Writes::Ordered, Writes::Barrier];

/// A mounted model.
struct Machine<L> {
    target: FileMapping<L>,
    disk: Disk,
    mounted: Reserved,
}

impl<L: Layout> Machine<L> {
    fn new(writes: Writes, size: (u8, u8)) -> Self {
        let target = FileMapping::new(variant(writes, 1, size));
        let mut disk = Disk::new(target.mkfs());
        let mounted = target.mount(&mut disk).expect("a fresh file system mounts");
        Self { target, disk, mounted }
    }

    /// Runs an op to its end.
    fn run(&mut self, text: &str) -> Outcome {
        let op = text.parse().expect("the test writes ops as they print");
        driver::run(&self.target, &mut self.mounted, &mut self.disk, op)
    }

    /// Appends a block of this.
    fn append(&mut self, path: &str, fill: u8) -> Outcome {
        self.run(&format!("write({path:?}, at=end, len=4, fill={fill})"))
    }

    fn read(&mut self, path: &str, offset: u64, len: u64) -> Outcome {
        self.run(&format!("read({path:?}, offset={offset}, len={len})"))
    }
}

fn for_every_variant(test: impl Fn(Writes)) {
    WRITES.into_iter().for_each(test);
}

fn bytes(of: &[u8]) -> Value {
    Value::Bytes(of.to_vec())
}

fn reads_what_was_appended<L: Layout>(writes: Writes) {
    let mut machine = Machine::<L>::new(writes, (4, 11));
    assert_eq!(machine.run("create(\"/f1\", mode=0644)"), Ok(Value::Done));
    assert_eq!(machine.read("/f1", 0, 100), Ok(bytes(&[])));
    for fill in 70..75 {
        assert_eq!(machine.append("/f1", fill), Ok(Value::Count(4)));
    }
    assert_eq!(machine.read("/f1", 0, 8), Ok(bytes(&[70, 70, 70, 70, 71, 71, 71, 71])));
    assert_eq!(machine.read("/f1", 14, 4), Ok(bytes(&[73, 73, 74, 74])), "a range across blocks");
    assert_eq!(machine.read("/f1", 18, 100), Ok(bytes(&[74, 74])), "what there is of it");
    assert_eq!(machine.read("/f1", 20, 4), Ok(bytes(&[])), "at the end");
    assert_eq!(machine.read("/f1", u64::MAX, u64::MAX), Ok(bytes(&[])), "beyond it");
    assert_eq!(machine.read("/f0", 0, 4), Err(Errno::ENOENT));
    assert_eq!(machine.read("/", 0, 4), Err(Errno::EISDIR));

    assert_eq!(machine.run("unlink(\"/f1\")"), Ok(Value::Done));
    assert_eq!(machine.read("/f1", 0, 4), Err(Errno::ENOENT));
    assert_eq!(machine.run("create(\"/f1\", mode=0644)"), Ok(Value::Done));
    assert_eq!(machine.read("/f1", 0, 4), Ok(bytes(&[])), "a new file has nothing of the old one");
}

#[test]
fn a_file_reads_as_what_was_appended() {
    for_every_variant(reads_what_was_appended::<Link>);
    for_every_variant(reads_what_was_appended::<Index>);
}

fn refuses<L: Layout>(writes: Writes) {
    let mut machine = Machine::<L>::new(writes, (4, 11));
    assert_eq!(machine.run("create(\"/f0\", mode=0644)"), Ok(Value::Done));
    let before = machine.disk.image().hash();
    for (op, errno) in [
        ("create(\"/f0\", mode=0644)", Errno::EEXIST),
        ("create(\"/f4\", mode=0644)", Errno::EOPNOTSUPP),
        ("create(\"/x\", mode=0644)", Errno::EOPNOTSUPP),
        ("unlink(\"/f1\")", Errno::ENOENT),
        ("write(\"/f1\", at=end, len=4, fill=70)", Errno::ENOENT),
        ("write(\"/f0\", at=end, len=5, fill=70)", Errno::EOPNOTSUPP),
        ("write(\"/f0\", offset=0, len=4, fill=70)", Errno::EOPNOTSUPP),
        ("mkdir(\"/f1\", mode=0755)", Errno::EOPNOTSUPP),
        ("sync()", Errno::EOPNOTSUPP),
    ] {
        assert_eq!(machine.run(op), Err(errno), "{writes:?} {op}");
    }
    assert_eq!(machine.disk.image().hash(), before, "what is refused changes nothing");
}

#[test]
fn what_cannot_be_done_is_refused() {
    for_every_variant(refuses::<Link>);
    for_every_variant(refuses::<Index>);
}

#[test]
fn an_index_file_has_six_blocks_at_most() {
    for_every_variant(|writes| {
        let mut machine = Machine::<Index>::new(writes, (4, 11));
        machine.run("create(\"/f0\", mode=0644)").unwrap();
        (0..6).for_each(|fill| drop(machine.append("/f0", 70 + fill).unwrap()));
        assert_eq!(machine.append("/f0", 80), Err(Errno::EFBIG));
        let Ok(Value::Bytes(all)) = machine.read("/f0", 0, 100) else { panic!("it can be read") };
        assert_eq!(all.iter().step_by(4).copied().collect::<Vec<_>>(), [70, 71, 72, 73, 74, 75]);
    });
}

#[test]
fn a_link_file_has_as_many_blocks_as_there_are() {
    for_every_variant(|writes| {
        let mut machine = Machine::<Link>::new(writes, (1, 3));
        machine.run("create(\"/f0\", mode=0644)").unwrap();
        (0..3).for_each(|fill| drop(machine.append("/f0", 70 + fill).unwrap()));
        assert_eq!(machine.append("/f0", 80), Err(Errno::EFBIG));
    });
}

#[test]
fn a_full_disk_is_full_until_something_is_deleted() {
    for_every_variant(|writes| {
        // Three data blocks and no fourth for the third append, which needs an indirect block as well.
        let mut index = Machine::<Index>::new(writes, (2, 3));
        index.run("create(\"/f0\", mode=0644)").unwrap();
        index.run("create(\"/f1\", mode=0644)").unwrap();
        index.append("/f0", 70).unwrap();
        index.append("/f0", 71).unwrap();
        assert_eq!(index.append("/f0", 72), Err(Errno::ENOSPC), "{writes:?}");
        index.append("/f1", 73).unwrap();
        assert_eq!(index.append("/f1", 74), Err(Errno::ENOSPC), "{writes:?}");
        index.run("unlink(\"/f0\")").unwrap();
        index.append("/f1", 74).unwrap();
        assert_eq!(index.read("/f1", 0, 8), Ok(bytes(&[73, 73, 73, 73, 74, 74, 74, 74])));

        // A file of link has its first block from the start.
        let mut link = Machine::<Link>::new(writes, (2, 1));
        link.run("create(\"/f0\", mode=0644)").unwrap();
        assert_eq!(link.run("create(\"/f1\", mode=0644)"), Err(Errno::ENOSPC), "{writes:?}");
        link.run("unlink(\"/f0\")").unwrap();
        link.run("create(\"/f1\", mode=0644)").unwrap();
    });
}

#[test]
fn an_op_stops_after_each_disk_request() {
    let mut machine = Machine::<Link>::new(Writes::Barrier, (4, 11));
    machine.run("create(\"/f0\", mode=0644)").unwrap();
    machine.append("/f0", 70).unwrap();
    let op = "write(\"/f0\", at=end, len=4, fill=71)".parse().unwrap();
    let mut task = Task { op, index: OpIndex(0), choice: 0, pc: 0, registers: [0; 12] };
    for _ in 0..6 {
        let before = machine.disk.position();
        assert_eq!(machine.target.step(&mut machine.mounted, &mut machine.disk, &mut task), None);
        assert_eq!(machine.disk.position().0, before.0 + 1);
        assert_ne!(machine.mounted, Reserved::default(), "its block is taken until it returns");
    }
    let outcome = machine.target.step(&mut machine.mounted, &mut machine.disk, &mut task);
    assert_eq!(outcome, Some(Ok(Value::Count(4))));
    assert_eq!(machine.mounted, Reserved::default());
}
