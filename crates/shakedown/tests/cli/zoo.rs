//! `zoo`: a few of its fastest cases, one of each family, and how they are told.

use serde_json::Value;

use super::program::shakedown;

/// A family each; the last is a script, the one before it needs power cuts during recovery.
const QUICK: [&str; 6] = [
    "index-naive",
    "f2fs-barrier-off",
    "cow-no-barrier",
    "journal-no-barrier",
    "journal-fsck-clears-first",
    "generic-342",
];

/// The keys that are promised to users, in their order.
const KEYS: [&str; 7] = ["name", "target", "property", "found", "false_alarm", "ops", "seconds"];

#[test]
fn every_bug_is_found_and_no_right_variant_is_accused() {
    let ran = shakedown(&[&["zoo", "--json"][..], &QUICK].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
    let zoo = ran.json();
    let cases = zoo["cases"].as_array().unwrap();
    assert_eq!(cases.len(), QUICK.len());
    for case in cases {
        assert_eq!((&case["found"], &case["false_alarm"]), (&Value::Bool(true), &Value::Bool(false)), "{case}");
        assert_eq!(case["right"]["complete"], true, "{case}");
        assert!(case["right"]["crash_states"].as_u64().unwrap() > 0, "{case}");
        assert_eq!(case["trace"]["property"], case["property"]);
        assert_eq!(case["trace"]["ops"].as_array().unwrap().len() as u64, case["ops"].as_u64().unwrap());
    }
    let at = |key: &str| ran.stdout.find(&format!("\"{key}\":")).unwrap_or_else(|| panic!("no {key}"));
    assert!(KEYS.map(at).is_sorted(), "{}", ran.stdout);
}

#[test]
fn results_are_the_same_every_time_and_in_the_order_of_the_table() {
    let told = |names: &[&str]| {
        let ran = shakedown(&[&["zoo"], names].concat());
        let without_time = |line: &str| line.rsplit_once("  ").map(|(line, _)| line.trim_end().to_owned());
        ran.stdout.lines().filter_map(without_time).collect::<Vec<String>>()
    };
    let [one, two] =
        [["cow-overwrite", "cow-no-barrier"], ["cow-no-barrier", "cow-overwrite"]].map(|names| told(&names));
    assert_eq!(one, two);
    assert_eq!(
        one,
        [
            "✓ cow-no-barrier  the superblock may reach the disk before its trees  recovery-fails      2 ops",
            "✓ cow-overwrite   a changed node is written over the committed one    recovery-fails      2 ops",
        ]
    );
}

#[test]
fn the_last_line_sums_up() {
    let ran = shakedown(&["zoo", "cow-no-barrier"]);
    let last = ran.stdout.lines().last().unwrap();
    assert!(last.starts_with("1 case: 1 found, 0 false alarms"), "{last}");
    assert!(last.contains("all searched to the end"), "{last}");
}

#[test]
fn a_case_that_does_not_exist_names_one_that_does() {
    for (name, nearest) in [("cow-nobarrier", "\"cow-no-barrier\""), ("philosophers", "\"philosophers-left\"")] {
        let ran = shakedown(&["zoo", "--json", name]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
        assert!(ran.stderr.starts_with("error: could not find the case") && ran.stderr.contains(nearest), "{ran:?}");
    }
}
