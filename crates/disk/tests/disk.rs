//! The disk as a file system sees it: what reads return, what is logged, what is recorded, and what goes wrong on
//! demand.

use disk::{
    Block, BlockSize, Corruption, Corruptor, CrashMode, Disk, DiskLog, Entry, EntryIndex, EntryKind, Failing, Fault,
    Faults, Geometry, Image, IoCounts, IoError, Limits, OpClock, OpIndex, Position, Read, ReadSet, content_hash,
    crash_states,
};

const BLOCKS: u32 = 16;

fn new_disk() -> Disk {
    Disk::new(Image::zeroed(Geometry { block_size: BlockSize::MIN, blocks: BLOCKS }))
}

#[test]
fn reads_see_every_write_at_once() {
    let mut disk = new_disk();
    disk.write(Block(1), b"aaaabbbb").unwrap();
    disk.write_fua(Block(3), b"cccc").unwrap();
    disk.discard(Block(1), 1).unwrap();
    let mut read = [9; 16];
    disk.read(Block(0), &mut read).unwrap();
    assert_eq!(&read, b"\0\0\0\0\0\0\0\0bbbbcccc");
    assert_eq!(disk.block(Block(2)), b"bbbb");
    assert_eq!(disk.try_block(Block(BLOCKS)), Err(IoError::OutOfRange { block: Block(BLOCKS), blocks: BLOCKS }));
    assert_eq!(*disk.image(), disk.log().image_at(disk.position()));
}

#[test]
fn entries_carry_the_op_under_way() {
    let mut disk = new_disk();
    disk.set_op(Some(OpIndex(4)));
    disk.write(Block(1), b"aaaa").unwrap();
    disk.set_op(None);
    disk.flush().unwrap();
    let write = EntryKind::Write { block: Block(1), data: b"aaaa".as_slice().into() };
    let expected = [Entry { kind: write, op: Some(OpIndex(4)) }, Entry { kind: EntryKind::Flush, op: None }];
    assert!(disk.log().entries().map(|(_, entry)| entry).eq(&expected));
}

#[test]
fn a_flush_or_fua_makes_durable() {
    let mut disk = new_disk();
    disk.write(Block(0), b"aaaabbbb").unwrap();
    disk.write_fua(Block(1), b"cccc").unwrap();
    let durable = disk.log().durable_at(disk.position());
    assert_eq!((durable.block(Block(0)), durable.block(Block(1))), (&[0; 4][..], &b"cccc"[..]));
    assert_eq!(disk.log().pending().iter().map(|(index, _)| index.0).collect::<Vec<_>>(), [0]);
    disk.flush().unwrap();
    assert_eq!(disk.log().durable_at(disk.position()), *disk.image());
    assert!(disk.log().pending().is_empty());
}

#[test]
fn a_small_cache_pushes_the_oldest_write_out() {
    let geometry = new_disk().geometry();
    let mut disk = Disk::with_cache(Image::zeroed(geometry), Some(2));
    for block in 0..5 {
        disk.write(Block(block), b"aaaa").unwrap();
    }
    let durable = disk.log().durable_at(disk.position());
    let on_medium: Vec<u32> = (0..5).filter(|block| durable.block(Block(*block)) == b"aaaa").collect();
    assert_eq!(on_medium, [0, 1, 2]);
}

#[test]
fn rollback_undoes_and_the_log_goes_on_from_there() {
    let mut disk = new_disk();
    disk.write(Block(1), b"aaaa").unwrap();
    let here = disk.position();
    let before = disk.clone();
    disk.write(Block(1), b"bbbb").unwrap();
    disk.flush().unwrap();
    disk.record_reads();
    disk.rollback(here);
    assert_eq!(disk.take_reads(), None, "a recording across a rollback would be wrong");
    assert_eq!(disk.image(), before.image());
    assert_eq!(disk.fingerprint(CrashMode::Torn), before.fingerprint(CrashMode::Torn));
    disk.write(Block(2), b"cccc").unwrap();
    assert_eq!(disk.position(), Position(2));
    assert_eq!(before.position(), Position(1), "clones are independent");
}

#[test]
fn settling_keeps_a_log_as_short_as_what_is_pending() {
    let mut disk = new_disk();
    for round in 0..100_u32 {
        disk.write(Block(round % BLOCKS), &round.to_le_bytes()).unwrap();
        if round % 10 == 9 {
            disk.flush().unwrap();
        }
        disk.settle();
        assert!(disk.log().entries().count() <= 10);
    }
    disk.write(Block(3), b"aaaa").unwrap();
    let last = EntryIndex(110);
    assert_eq!(disk.log().pending()[0].0, last, "indices keep their meaning");
    assert_eq!(disk.log().entry(EntryIndex(0)), None);
    assert_eq!(disk.log().positions(), Position(110)..=Position(111));
    assert_eq!(disk.log().image_at(disk.position()), *disk.image());
}

#[test]
fn a_crash_state_knows_which_ops_had_returned() {
    let mut disk = new_disk();
    let mut clock = OpClock::default();
    // Each op: how many blocks it writes, and whether it flushes. The second does nothing at all.
    for (writes, flushes) in [(2, true), (0, false), (1, false), (0, true)] {
        let op = clock.start(disk.position());
        disk.set_op(Some(op));
        for block in 0..writes {
            disk.write(Block(block), &[1 + u8::try_from(op.0).unwrap(); 4]).unwrap();
        }
        if flushes {
            disk.flush().unwrap();
        }
        clock.end(op, disk.position());
    }
    let returned = (0..=disk.position().0).map(|position| {
        let states = crash_states(disk.log(), Position(position), CrashMode::Torn, Limits::default());
        let mut counts = states.map(|state| clock.ops_returned_at(state.position).count());
        let first = counts.next().unwrap();
        assert!(counts.all(|count| count == first));
        first
    });
    assert_eq!(returned.collect::<Vec<_>>(), [0, 0, 0, 2, 3, 4]);
}

#[test]
fn a_log_of_a_million_entries_is_dropped_without_recursion() {
    let mut disk = new_disk();
    for _ in 0..1_000_000 {
        disk.flush().unwrap();
    }
    let shares_the_log = disk.clone();
    drop(disk);
    assert_eq!(shares_the_log.position(), Position(1_000_000));
    drop(shares_the_log);
}

#[test]
fn fingerprints_tell_apart_what_a_crash_can_tell_apart() {
    let written = |flushes: [bool; 2], blocks: [u32; 2]| {
        let mut disk = new_disk();
        for (flush, block) in flushes.into_iter().zip(blocks) {
            disk.write(Block(block), b"aaaa").unwrap();
            if flush {
                disk.flush().unwrap();
            }
        }
        disk
    };
    let pending = written([false, false], [1, 2]);
    let half = written([true, false], [1, 2]);
    let durable = written([false, true], [1, 2]);
    let durable_otherwise = written([true, true], [2, 1]);
    for mode in [CrashMode::Flushed, CrashMode::Prefix, CrashMode::Subsets, CrashMode::Torn] {
        let [a, b, c, d] = [&pending, &half, &durable, &durable_otherwise].map(|disk| disk.fingerprint(mode));
        assert!(a != b && b != c && a != c, "{mode}");
        assert_eq!(c, d, "{mode}: how it became durable does not matter");
    }
    let other_order = written([false, false], [2, 1]);
    assert_ne!(pending.fingerprint(CrashMode::Prefix), other_order.fingerprint(CrashMode::Prefix));
    assert_eq!(pending.fingerprint(CrashMode::Flushed), other_order.fingerprint(CrashMode::Flushed));
    assert_eq!(pending.fingerprint(CrashMode::Off), durable.fingerprint(CrashMode::Off));
}

#[test]
fn only_first_reads_of_initial_content_are_recorded() {
    let mut disk = new_disk();
    disk.write(Block(5), b"five").unwrap();
    disk.block(Block(9));
    disk.record_reads();
    disk.block(Block(5));
    disk.write(Block(2), b"aaaa").unwrap();
    disk.discard(Block(6), 2).unwrap();
    disk.read(Block(1), &mut [0; 28]).unwrap();
    disk.write(Block(1), b"bbbb").unwrap();
    disk.try_block(Block(1)).unwrap();
    let initial = |block, content: &[u8]| Read { block: Block(block), content: content_hash(content) };
    let expected = vec![initial(5, b"five"), initial(1, &[0; 4]), initial(3, &[0; 4]), initial(4, &[0; 4])];
    assert_eq!(disk.take_reads(), Some(ReadSet(expected)));
    assert_eq!(disk.take_reads(), None);
}

fn faults(chosen: &[(Failing, u64)]) -> Faults {
    chosen.iter().map(|(what, after)| Fault { what: *what, after: *after }).collect()
}

#[test]
fn the_chosen_requests_fail_once() {
    let mut disk = new_disk();
    disk.block(Block(0));
    disk.arm(faults(&[(Failing::Read, 1), (Failing::Write, 2), (Failing::Flush, 0), (Failing::Allocation, 1)]));
    let reads = [0; 3].map(|_| disk.read(Block(0), &mut [0; 4]));
    assert_eq!(reads, [Ok(()), Err(IoError::Read), Ok(())]);

    let writes = [disk.write(Block(1), b"aaaa"), disk.write_fua(Block(2), b"bbbb"), disk.discard(Block(1), 1)];
    assert_eq!(writes, [Ok(()), Ok(()), Err(IoError::Write)]);
    assert_eq!(disk.block(Block(1)), b"aaaa", "a failed discard changes nothing");
    assert_eq!(disk.position(), Position(2), "and is not logged");

    assert_eq!([disk.flush(), disk.flush()], [Err(IoError::Flush), Ok(())]);
    assert_eq!([0; 3].map(|_| disk.allocate()), [Ok(()), Err(IoError::Memory), Ok(())]);
    assert_eq!(disk.io_counts(), IoCounts { reads: 3, writes: 3, flushes: 2, allocations: 3 });
    assert_eq!(disk.disarm(), IoCounts { reads: 3, writes: 3, flushes: 2, allocations: 3 });
    assert_eq!(disk.disarm(), IoCounts::default());
}

#[test]
fn a_failed_flush_leaves_writes_pending() {
    let mut disk = new_disk();
    disk.write(Block(1), b"aaaa").unwrap();
    disk.arm(faults(&[(Failing::Flush, 0)]));
    disk.flush().unwrap_err();
    assert_eq!(disk.log().pending().len(), 1);
}

/// Three writes to blocks 1, 2 and 3, the second corrupted; what blocks 0 to 4 hold then.
fn corrupted(corruption: Corruption) -> (String, usize) {
    let mut disk = new_disk();
    disk.corrupt(Some(Corruptor { write: 1, corruption }));
    for (block, data) in [(1, b"aaaa"), (2, b"bbbb"), (3, b"cccc")] {
        disk.write(Block(block), data).unwrap();
    }
    assert_eq!(disk.log().image_at(disk.position()), *disk.image(), "crash states see it too");
    let text = (0..5).map(|block| String::from_utf8_lossy(disk.block(Block(block))).replace('\0', "."));
    (text.collect::<Vec<_>>().join(" "), disk.position().0)
}

#[test]
fn the_chosen_write_is_lost_misdirected_or_altered() {
    assert_eq!(corrupted(Corruption::Lose), (".... aaaa .... cccc ....".to_owned(), 2));
    assert_eq!(corrupted(Corruption::Misdirect { to: Block(4) }), (".... aaaa .... cccc bbbb".to_owned(), 3));
    assert_eq!(corrupted(Corruption::Misdirect { to: Block(BLOCKS) }), (".... aaaa .... cccc ....".to_owned(), 2));
    assert_eq!(corrupted(Corruption::Alter { offset: 6, flip: 1 }), (".... aaaa bbcb cccc ....".to_owned(), 3));
}

#[test]
fn states_can_move_between_threads() {
    fn assert_send<T: Send>() {}
    fn assert_shared<T: Send + Sync>() {}
    assert_send::<Disk>();
    assert_send::<DiskLog>();
    assert_send::<disk::CrashStates>();
    assert_shared::<disk::Memo<u32>>();
    assert_shared::<Image>();
}
