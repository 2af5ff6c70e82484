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
    use std::{collections::BTreeSet, fs, path::Path};

    use vfs::{Reference, contract::Clause};

    use super::*;
    use crate::registry::Named;

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

    /// Adds the properties that the sources below a folder declare. There is no other way to make one than the two
    /// constructors, and what they are called with is the name, or else that of a clause.
    fn add_declared(folder: &Path, declared: &mut BTreeSet<String>) {
        let constructors = ["critical", "not_critical"].map(|severity| format!("Property::{severity}("));
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                add_declared(&entry, declared);
                continue;
            }
            let text = fs::read_to_string(&entry).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default().lines();
            let code: Vec<&str> = code.filter(|line| !line.trim_start().starts_with("//")).collect();
            let code = code.join("\n");
            for constructor in &constructors {
                for argument in code.split(constructor.as_str()).skip(1).map(str::trim_start) {
                    if let Some(name) = argument.strip_prefix('"').and_then(|rest| rest.split('"').next()) {
                        declared.insert(name.to_owned());
                        continue;
                    }
                    // Guarantees are no contract: the tests of `characterise` break each of them.
                    let is_named = ["clause.name()", "guarantee.name()"].iter().any(|name| argument.starts_with(name));
                    assert!(is_named, "{}: {argument}", entry.display());
                }
            }
        }
    }

    /// A property that no case violates is one that perhaps cannot be violated.
    #[test]
    fn the_zoo_violates_every_property_that_there_is() {
        let mut declared: BTreeSet<String> = Clause::ALL.iter().map(|clause| clause.name().to_owned()).collect();
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        // The zoo boots no kernel and mounts nothing: what can be wrong there, the tests of these crates provoke; see
        // also the next test.
        for member in fs::read_dir(crates).unwrap().map(|member| member.unwrap().path()) {
            if !member.ends_with("guest") && !member.ends_with("host") {
                add_declared(&member.join("src"), &mut declared);
            }
        }
        assert!(declared.contains("deadlock") && declared.contains("recovery-unstable"), "{declared:?}");
        let violated: BTreeSet<String> = all().map(|case| case.property.to_owned()).collect();
        let missing: Vec<&String> = declared.difference(&violated).collect();
        let unknown: Vec<&String> = violated.difference(&declared).collect();
        assert!(missing.is_empty() && unknown.is_empty(), "without a case: {missing:?}; unknown: {unknown:?}");
    }

    /// What a kernel can be accused of, the tests of that crate provoke: each property is named in one that does.
    #[test]
    fn every_property_of_guests_is_named_in_their_tests() {
        let guest = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("guest");
        let mut declared = BTreeSet::new();
        add_declared(&guest.join("src"), &mut declared);
        let read = |file| fs::read_to_string(guest.join(file)).unwrap();
        let (runner, tests) = (read("src/runner.rs"), read("tests/kernel/accusing.rs"));
        let is_named = |name: &&String| {
            let name = format!("\"{name}\"");
            tests.contains(&name) || runner.split("#[cfg(test)]").skip(1).any(|tests| tests.contains(&name))
        };
        let missing: Vec<&String> = declared.iter().filter(|name| !is_named(name)).collect();
        assert!(declared.contains("kernel-bug") && missing.is_empty(), "{missing:?} of {declared:?}");
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
            let mut reference = Reference::new();
            for op in case.ops.script().unwrap().unwrap_or_default() {
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
