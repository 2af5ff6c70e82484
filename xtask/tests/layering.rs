//! The workspace keeps its layering, as `cargo metadata` sees it.

use xtask::layering;
use xtask::workspace::Metadata;

#[test]
fn every_crate_uses_only_crates_above_it() {
    let graph = layering::graph(&Metadata::read().unwrap());
    assert!(graph["shakedown"].iter().any(|used| used == "check"), "an empty graph would prove nothing: {graph:?}");
    assert_eq!(layering::breaches(&graph), Vec::<String>::new());
}
