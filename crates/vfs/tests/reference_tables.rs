//! Every rule of the reference, as tables. The same tables are put to the kernel by `against_reference` in `posix`.

mod reference;

use reference::cases::{Case, tables};
use vfs::Reference;

#[test]
fn every_case_holds() {
    let failures: Vec<_> = tables()
        .iter()
        .flat_map(|(family, cases)| cases.iter().map(move |case| (family, case)))
        .filter_map(|(family, case)| check(case).err().map(|why| format!("{family}: {}: {why}", case.rule)))
        .collect();
    assert!(failures.is_empty(), "{} cases fail:\n{}", failures.len(), failures.join("\n"));
}

fn check(case: &Case) -> Result<(), String> {
    let mut fs = Reference::new();
    for op in &case.setup {
        fs.apply(op).map_err(|errno| format!("setup {op:?} gives {errno}"))?;
    }
    fs.configure(|config| *config = case.config.clone());
    for (op, expected) in &case.steps {
        let before = fs.tree();
        let outcome = fs.apply(op);
        if outcome != *expected {
            return Err(format!("{op:?} gives {outcome:?}, expected {expected:?}"));
        }
        if outcome.is_err() && !fs.tree().same_as(&before) {
            return Err(format!("{op:?} fails and yet leaves\n{}", fs.tree()));
        }
    }
    if let Some(broken) = fs.tree().invariants().first() {
        return Err(format!("breaks an invariant: {broken}"));
    }
    match case.tree {
        Some(tree) if fs.tree().to_string() != tree => Err(format!("leaves\n{}", fs.tree())),
        _ => Ok(()),
    }
}

/// A rule without a row would be a rule without a test, and a row that says the same as another would be none.
#[test]
fn rules_are_told_apart() {
    for (family, cases) in tables() {
        let mut seen = std::collections::BTreeMap::new();
        for case in &cases {
            let meaning = format!("{:?} {:?} {:?}", case.setup, case.steps, case.config);
            if let Some(other) = seen.insert(meaning, case.rule) {
                panic!("{family}: {:?} repeats {other:?}", case.rule);
            }
        }
    }
}
