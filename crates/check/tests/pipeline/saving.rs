//! A search that is saved while it goes on: what was done until then and what is done from then on add up.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use check::{CheckReport, Checkable, RunOptions, Save, Work};
use disk::CrashMode;
use explore::{Order, Pace};
use vfs::contract::Contract;

use crate::{
    searching::{options, run_options, search_in, violated},
    store::{Flaw, Kind, Store},
};

#[test]
fn a_search_that_is_killed_has_lost_nothing_before_it_was_saved() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("search.checkpoint");
    let options = options(CrashMode::Subsets, Contract::Prefix);
    for (flaw, order) in [(Flaw::None, Order::BreadthFirst), (Flaw::NoFlush, Order::DepthFirst)] {
        let target = Store::new(Kind::TwoSlots, flaw);
        let whole = search_in(&target, options, order);
        // Each time with what had been done when it was written.
        let moments = Arc::new(Mutex::new(Vec::<(Work, Vec<u8>)>::new()));
        let (noted, last, before) = (Arc::clone(&moments), file.clone(), Mutex::new(Work::default()));
        let note = move |report: &CheckReport| {
            let before = std::mem::replace(&mut *before.lock().unwrap(), report.work);
            noted.lock().unwrap().extend(fs::read(&last).ok().map(|saved| (before, saved)));
            format!("{} ops", report.work.ops)
        };
        let save = Save { file: file.clone(), pace: Pace::States(16), note: Arc::new(note) };
        let run = RunOptions { save: Some(save), ..run_options(order) };
        let check = |run: &RunOptions| target.check(options, run, &mut |_, _| {}).expect("the folder is ours");
        assert_eq!(counts(&check(&run), Work::default()), counts(&whole, Work::default()));

        let moments = std::mem::take(&mut *moments.lock().unwrap());
        assert!(moments.len() > 1, "{flaw:?}");
        for (before, saved) in moments {
            fs::write(&file, saved).unwrap();
            assert_eq!(explore::checkpoint_note(&file).unwrap(), format!("{} ops", before.ops));
            let resumed = check(&RunOptions { resume: true, ..run.clone() });
            assert_eq!(counts(&resumed, before), counts(&whole, Work::default()), "{flaw:?} from {before:?}");
            assert_eq!(violated(&resumed), violated(&whole));
        }
        fs::remove_file(&file).unwrap();
    }
}

/// What must not depend on interruptions, with what was done before.
fn counts(report: &CheckReport, before: Work) -> (u64, u64, bool, u64, u64, Vec<u64>) {
    let (work, found) = (before.plus(report.work), report.violations.iter().map(|found| found.count).collect());
    (report.states, report.states_revisited, report.complete, work.ops, work.crash_states, found)
}
