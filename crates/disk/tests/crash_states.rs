//! The enumerator against a brute-force one that follows the definition word by word, on thousands of small logs.

mod brute_force;
mod generated;

use std::collections::BTreeSet;

use brute_force::{Bytes, bytes_of, crash_images};
use disk::{
    Block, BlockSize, CrashMode, CrashState, CrashStates, CrashesAlong, DiskLog, Entry, EntryIndex, EntryKind,
    Geometry, Image, Interrupted, Limits, Position, Taken, TakenEntry, crash_states, interrupted,
};
use generated::{GEOMETRY, generated_logs};

const MODES: [CrashMode; 4] = [CrashMode::Flushed, CrashMode::Prefix, CrashMode::Subsets, CrashMode::Torn];

fn all_of(log: &DiskLog, position: Position, mode: CrashMode, only_new: bool) -> Vec<CrashState> {
    let states = crash_states(log, position, mode, Limits { only_new, ..Limits::default() });
    assert!(!states.sampled());
    let announced = states.len();
    let states: Vec<CrashState> = states.collect();
    assert_eq!(states.len(), announced);
    states
}

/// The images as bytes; no two may be equal.
fn distinct(states: &[CrashState]) -> BTreeSet<Bytes> {
    let images: BTreeSet<Bytes> = states.iter().map(|state| bytes_of(&state.image)).collect();
    assert_eq!(images.len(), states.len(), "an image was produced twice");
    images
}

fn positions(log: &DiskLog) -> impl Iterator<Item = Position> {
    (log.positions().start().0..=log.positions().end().0).map(Position)
}

#[test]
fn every_mode_gives_exactly_the_images_of_the_definition() {
    for log in generated_logs(2500) {
        for position in positions(&log) {
            for mode in MODES {
                let states = all_of(&log, position, mode, false);
                assert_eq!(distinct(&states), crash_images(&log, position, mode), "{mode} at {position:?} of {log:#?}");
            }
            assert!(all_of(&log, position, CrashMode::Off, false).is_empty());
        }
    }
}

#[test]
fn only_new_leaves_out_what_the_position_before_had() {
    for log in generated_logs(2500) {
        for mode in MODES {
            let mut before = BTreeSet::new();
            for position in positions(&log) {
                let now = crash_images(&log, position, mode);
                let new = distinct(&all_of(&log, position, mode, true));
                assert_eq!(new, &now - &before, "{mode} at {position:?} of {log:#?}");
                before = now;
            }
        }
    }
}

#[test]
fn going_along_a_log_gives_the_same_as_asking_at_each_position() {
    let limits = Limits { only_new: true, ..Limits::default() };
    let known = |states: CrashStates<'_>| -> Vec<_> { states.map(|state| (state.image.hash(), state.taken)).collect() };
    for (number, log) in generated_logs(800).enumerate() {
        let from = Position(number % (log.position().0 + 1));
        for mode in MODES {
            let mut along = CrashesAlong::new(&log, from, mode, limits);
            for position in (from.0 + 1..=log.position().0).map(Position) {
                let new = known(along.next().unwrap());
                assert_eq!(
                    new,
                    known(crash_states(&log, position, mode, limits)),
                    "{mode} at {position:?} of {log:#?}"
                );
            }
            assert!(along.next().is_none());
        }
    }
}

#[test]
fn a_state_can_be_built_again_from_what_it_took() {
    for log in generated_logs(800) {
        for position in positions(&log) {
            for state in MODES.into_iter().flat_map(|mode| all_of(&log, position, mode, false)) {
                assert_eq!(state.position, position);
                let rebuilt = log.cut(position).image_with(&state.taken).unwrap();
                assert_eq!(rebuilt, state.image, "{:?} of {log:#?}", state.taken);
                let mut from_nothing = Image::zeroed(GEOMETRY);
                from_nothing.write(Block(0), &bytes_of(&state.image)).unwrap();
                assert_eq!(state.image.hash(), from_nothing.hash());
            }
        }
    }
}

#[test]
fn the_states_of_a_kinder_mode_come_first() {
    for log in generated_logs(800) {
        for position in positions(&log) {
            let prefixes = all_of(&log, position, CrashMode::Prefix, false);
            assert_eq!(prefixes[0].image, log.durable_at(position));
            assert!(prefixes[0].taken.0.is_empty());
            for mode in [CrashMode::Subsets, CrashMode::Torn] {
                let harsher = all_of(&log, position, mode, false);
                assert_eq!(distinct(&harsher[..prefixes.len()]), distinct(&prefixes), "{mode} of {log:#?}");
            }
        }
    }
}

#[test]
fn settling_changes_no_later_crash_state() {
    for log in generated_logs(800) {
        for settled_at in positions(&log) {
            let mut settled = log.clone();
            settled.settle(settled_at);
            assert_eq!(*settled.positions().start(), settled_at);
            for position in positions(&settled) {
                assert_eq!(settled.image_at(position), log.image_at(position));
                for mode in MODES {
                    let expected = distinct(&all_of(&log, position, mode, false));
                    assert_eq!(distinct(&all_of(&settled, position, mode, false)), expected, "{mode} of {log:#?}");
                }
            }
        }
    }
}

#[test]
fn a_sample_is_within_the_limit_and_within_the_exhaustive_set() {
    let (mut samples, mut new_states, mut new_by_newest) = (0, 0, 0);
    for (seed, log) in (0..).zip(generated_logs(1500)) {
        for (position, mode) in positions(&log).flat_map(|at| [(at, CrashMode::Subsets), (at, CrashMode::Torn)]) {
            let limits = Limits { states_max: 7, seed, only_new: false };
            let states: CrashStates = crash_states(&log, position, mode, limits);
            if !states.sampled() {
                continue;
            }
            samples += 1;
            assert!(states.combinations() > 7);
            let states: Vec<CrashState> = states.collect();
            let images = distinct(&states);
            assert!(images.len() <= 7);
            assert!(images.is_subset(&crash_images(&log, position, mode)));
            assert!(images.contains(&bytes_of(&log.durable_at(position))), "nothing taken");
            assert!(images.contains(&bytes_of(&log.image_at(position))), "everything taken");

            let again: Vec<CrashState> = crash_states(&log, position, mode, limits).collect();
            assert!(states.iter().zip(&again).all(|(a, b)| a.image == b.image && a.taken == b.taken));

            let newest = EntryIndex(position.0 - 1);
            let is_pending = log.cut(position).pending().any(|(index, _)| index == newest);
            let new: Vec<CrashState> =
                crash_states(&log, position, mode, Limits { only_new: true, ..limits }).collect();
            assert!(distinct(&new).is_subset(&crash_images(&log, position, mode)));
            if is_pending {
                let takes_newest =
                    |state: &&CrashState| state.taken.0.last().is_some_and(|taken| taken.entry == newest);
                new_states += new.len();
                new_by_newest += new.iter().filter(takes_newest).count();
            }
        }
    }
    assert!(samples > 1000, "only {samples} samples");
    let coincidences = new_states - new_by_newest;
    assert!(new_by_newest > 5000 && coincidences * 10 < new_by_newest, "{coincidences} of {new_states}");
}

/// A log of one-block writes to these blocks, each with content of its own.
fn log_of(blocks: impl IntoIterator<Item = u32>) -> DiskLog {
    let mut log = DiskLog::new(Image::zeroed(Geometry { block_size: BlockSize::MIN, blocks: 64 }), None);
    for (value, block) in (1_u32..).zip(blocks) {
        let data = value.to_le_bytes().as_slice().into();
        log.push(Entry { kind: EntryKind::Write { block: Block(block), data }, op: None }).unwrap();
    }
    log
}

#[test]
fn a_sample_holds_every_prefix_and_every_single_loss_and_survival() {
    let log = log_of(0..40);
    for mode in [CrashMode::Subsets, CrashMode::Torn] {
        let limits = Limits { states_max: 500, seed: 1, only_new: false };
        let states = crash_states(&log, log.position(), mode, limits);
        assert!(states.sampled());
        assert_eq!(states.combinations(), 1 << 40);
        let states: Vec<CrashState> = states.collect();
        assert_eq!(distinct(&states).len(), 500);
        let expect = |taken: &mut dyn Iterator<Item = usize>| {
            let taken = Taken::whole(taken.map(EntryIndex));
            assert!(states.iter().any(|state| state.taken == taken), "{taken:?} is missing from {mode}");
        };
        for entry in 0..40 {
            expect(&mut (0..entry));
            expect(&mut std::iter::once(entry));
            expect(&mut (0..40).filter(|other| *other != entry));
        }
    }
}

#[test]
fn a_flush_brings_nothing_new_even_where_only_a_sample_was_seen() {
    let mut log = log_of(0..40);
    log.push(Entry { kind: EntryKind::Flush, op: None }).unwrap();
    let limits = Limits { states_max: 10, seed: 0, only_new: true };
    for (mode, new) in [(CrashMode::Flushed, 1), (CrashMode::Prefix, 0), (CrashMode::Subsets, 0), (CrashMode::Torn, 0)]
    {
        assert_eq!(crash_states(&log, log.position(), mode, limits).len(), new, "{mode}");
    }
}

#[test]
fn a_write_shows_up_in_every_new_state_of_a_sample() {
    let log = log_of(0..40);
    for mode in [CrashMode::Subsets, CrashMode::Torn] {
        let limits = Limits { states_max: 200, seed: 3, only_new: true };
        let states: Vec<CrashState> = crash_states(&log, log.position(), mode, limits).collect();
        assert_eq!(distinct(&states).len(), 200);
        assert!(states.iter().all(|state| state.taken.0.last().unwrap().entry == EntryIndex(39)), "{mode}");
        for entry in 0..39 {
            let pair = Taken::whole([EntryIndex(entry), EntryIndex(39)]);
            assert!(states.iter().any(|state| state.taken == pair), "{pair:?} is missing from {mode}");
        }
    }
}

#[test]
fn versions_of_one_block_are_choices_and_not_combinations() {
    let log = log_of(std::iter::repeat_n(7, 30));
    let states = crash_states(&log, log.position(), CrashMode::Subsets, Limits::default());
    assert_eq!((states.sampled(), states.combinations(), states.len()), (false, 31, 31));
    let last = states.last().unwrap();
    assert_eq!(last.taken, Taken::whole((0..30).map(EntryIndex)), "what was overwritten counts as taken");
}

#[test]
fn a_write_that_changes_nothing_is_not_called_lost() {
    let mut log = log_of([1, 2, 3]);
    log.push(Entry { kind: EntryKind::Flush, op: None }).unwrap();
    for (block, value) in [(1, 1_u32), (2, 12), (3, 13)] {
        let data = value.to_le_bytes().as_slice().into();
        log.push(Entry { kind: EntryKind::Write { block: Block(block), data }, op: None }).unwrap();
    }
    let states = crash_states(&log, log.position(), CrashMode::Subsets, Limits::default());
    assert_eq!(states.combinations(), 4);
    let reordered = states.last().unwrap().taken;
    assert_eq!(reordered, Taken::whole([EntryIndex(4), EntryIndex(6)]), "only the write of block 2 is lost");
}

#[test]
fn discarding_what_is_zero_gives_nothing_to_choose() {
    let mut log = log_of([5]);
    log.push(Entry { kind: EntryKind::Discard { block: Block(0), count: 64 }, op: None }).unwrap();
    let states = crash_states(&log, log.position(), CrashMode::Torn, Limits::default());
    assert_eq!(
        (states.combinations(), states.len()),
        (2, 2),
        "block 5 alone can be old, written or discarded, and old is zero"
    );
}

#[test]
fn more_combinations_than_can_be_counted_are_still_sampled() {
    let log = log_of((0..64).cycle().take(200));
    let states = crash_states(&log, log.position(), CrashMode::Torn, Limits { states_max: 50, ..Limits::default() });
    assert_eq!((states.sampled(), states.combinations(), states.len()), (true, u64::MAX, 50));
}

#[test]
fn a_crash_state_from_outside_is_checked() {
    let mut log = log_of([1, 2]);
    log.push(Entry { kind: EntryKind::Flush, op: None }).unwrap();
    let torn = |entry, block| Taken(vec![TakenEntry { entry: EntryIndex(entry), blocks: Some(vec![Block(block)]) }]);
    let at = |position| log.cut(Position(position));
    assert!(at(2).image_with(&torn(1, 2)).is_ok());
    assert!(at(2).image_with(&torn(1, 3)).is_err(), "entry 1 does not write block 3");
    assert!(at(1).image_with(&torn(1, 2)).is_err(), "entry 1 comes later");
    assert!(at(3).image_with(&torn(1, 2)).is_err(), "entry 1 is durable");
    let text = serde_json::to_string(&torn(1, 2)).unwrap();
    assert_eq!(text, r#"[{"entry":1,"blocks":[2]}]"#);
    assert_eq!(serde_json::from_str::<Taken>(&text).unwrap(), torn(1, 2));
}

#[test]
fn crash_modes_have_names() {
    for mode in CrashMode::ALL {
        assert_eq!(mode.to_string().parse(), Ok(mode));
        assert_eq!(serde_json::to_string(&mode).unwrap(), format!("\"{mode}\""));
    }
    let error = "sometimes".parse::<CrashMode>().unwrap_err();
    assert_eq!(error.to_string(), "use crash mode \"sometimes\": it is one of off, flushed, prefix, subsets, torn");
}

#[test]
fn interrupted_writes_lie_between_prefix_and_torn() {
    let mut met = 0;
    for log in generated_logs(2500) {
        for position in positions(&log) {
            let torn = crash_images(&log, position, CrashMode::Torn);
            let prefix = crash_images(&log, position, CrashMode::Prefix);
            let [in_order, any] = [Interrupted::LeftToRight, Interrupted::AnyBlocks].map(|how| {
                let (states, sampled) = interrupted(&log, position, how, Limits::default());
                assert!(!sampled);
                distinct(&states)
            });
            assert!(in_order.is_subset(&any) && any.is_subset(&torn));
            met += any.difference(&prefix).count();
        }
    }
    assert!(met > 1000, "only {met} states that keeping the order would not allow");
}

#[test]
fn a_write_of_three_blocks_is_interrupted_in_two_or_six_ways() {
    let mut log = DiskLog::new(Image::zeroed(Geometry { block_size: BlockSize::MIN, blocks: 8 }), None);
    for (block, data) in [(0, &b"aaaa"[..]), (1, b"bbbbccccdddd")] {
        log.push(Entry { kind: EntryKind::Write { block: Block(block), data: data.into() }, op: None }).unwrap();
    }
    let texts = |how| {
        let (states, _) = interrupted(&log, Position(2), how, Limits::default());
        let text = |state: &CrashState| String::from_utf8_lossy(&bytes_of(&state.image)[..16]).replace('\0', ".");
        states.iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(texts(Interrupted::LeftToRight), ["aaaabbbb........", "aaaabbbbcccc...."]);
    let any = texts(Interrupted::AnyBlocks);
    assert_eq!(any.len(), 6);
    assert!(any.iter().all(|text| text.starts_with("aaaa")), "what came before is there: {any:?}");
    assert!(any.contains(&"aaaa....cccc....".to_owned()));
}
