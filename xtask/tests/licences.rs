//! Every dependency has a licence that `deny.toml` allows, and is from crates.io.

use xtask::licences;

#[test]
fn every_dependency_may_be_used() {
    let (crates, allowed) = (licences::crates().unwrap(), licences::allowed().unwrap());
    assert!(crates.len() > 50, "only {} crates were looked at", crates.len());
    assert!(allowed.iter().any(|licence| licence == "MIT"), "{allowed:?}");
    assert_eq!(licences::breaches(&crates, &allowed), Vec::<String>::new());
}
