//! The tables. A new case is one more entry in one of them.

mod cow;
mod f2fs;
mod journal;
mod published;
mod small;

use super::Case;

/// Every case of the zoo.
pub fn all() -> impl Iterator<Item = &'static Case> + Clone {
    [small::CASES, f2fs::CASES, journal::CASES, cow::CASES, published::CASES].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use vfs::{Reference, text::parse_workload};

    use super::*;
    use crate::{registry::Named, zoo::case::Ops};

    /// More would make the lines too long to read.
    const ABOUT_MAX: usize = 64;

    /// What the wrong targets of a kind have that their right twins have not: option and value.
    fn wrong_options(target: &str) -> BTreeSet<(&'static str, String)> {
        let mut options = BTreeSet::new();
        for case in all() {
            let [wrong, right] = [case.wrong, case.right].map(|name| Named::parse(name).unwrap());
            if wrong.entry.name == target {
                for option in wrong.entry.options {
                    let value = wrong.chosen.word(option.name);
                    if value != right.chosen.word(option.name) {
                        options.insert((option.name, value.to_owned()));
                    }
                }
            }
        }
        options
    }

    #[test]
    fn names_are_different_and_plain() {
        let names: BTreeSet<&str> = all().map(|case| case.name).collect();
        assert_eq!(names.len(), all().count());
        assert!(names.len() >= 35, "{}", names.len());
        let plain = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        assert!(names.iter().all(|name| plain(name)), "{names:?}");
    }

    /// A script that fails on the way would not do what it is known for.
    #[test]
    fn every_op_of_a_script_succeeds() {
        for case in all() {
            let Ops::Script(lines) = case.ops else { continue };
            let mut reference = Reference::new();
            for op in parse_workload(lines).unwrap() {
                assert!(reference.apply(&op).is_ok(), "{}: {op}", case.name);
            }
        }
    }

    #[test]
    fn every_entry_can_be_tried_on_both_of_its_targets() {
        for case in all() {
            assert!((1..=ABOUT_MAX).contains(&case.about.len()), "{}: {}", case.name, case.about.len());
            let [wrong, right] = [case.wrong, case.right].map(|name| {
                let named = Named::parse(name).unwrap_or_else(|error| panic!("{}: {error}", case.name));
                case.settings(&named).unwrap_or_else(|error| panic!("{}: {error:#}", case.name))
            });
            assert_eq!(wrong.contract, right.contract, "{}: the same is demanded of both", case.name);
        }
    }

    /// But for options, twins are the same: what is found is the flaw and not some other difference.
    #[test]
    fn a_wrong_target_differs_from_its_right_twin_in_one_option() {
        for case in all() {
            let [wrong, right] = [case.wrong, case.right].map(|name| Named::parse(name).unwrap());
            assert_eq!(wrong.entry.name, right.entry.name, "{}", case.name);
            let differs = |name: &&str| wrong.chosen.word(name) != right.chosen.word(name);
            let mut differing: Vec<&str> =
                wrong.entry.options.iter().map(|option| option.name).filter(differs).collect();
            // How much an unflushed disk holds back follows from the order of writes.
            differing.retain(|name| *name != "cache");
            assert_eq!(differing.len(), 1, "{}: {differing:?}", case.name);
        }
    }

    #[test]
    fn every_flaw_of_every_model_is_in_the_zoo() {
        let cow = wrong_options("model:cow");
        for (flaw, _) in models::cow::Flaw::ALL {
            assert!(cow.contains(&("flaw", flaw.to_owned())), "{flaw}");
        }
        let journal = wrong_options("model:journal");
        for flaw in models::journal::Flaw::ALL {
            assert!(journal.contains(&("flaw", flaw.name().to_owned())), "{}", flaw.name());
        }
        // Each flaw of this model is a value of its own of some option.
        assert_eq!(wrong_options("model:f2fs").len(), models::f2fs::Flaw::ALL.len());
        for layout in ["model:link", "model:index"] {
            let writes = wrong_options(layout);
            for order in ["naive", "cached", "ordered"] {
                assert!(writes.contains(&("writes", order.to_owned())), "{layout} {order}");
            }
        }
    }
}
