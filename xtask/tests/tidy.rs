//! Every file of the repository keeps the rules of `xtask::tidy`.

use xtask::{tidy, workspace};

#[test]
fn the_repository_is_tidy() {
    let sources = tidy::sources(workspace::root()).unwrap();
    assert!(sources.len() > 20, "only {} files were looked at", sources.len());
    let findings: Vec<String> = sources.iter().flat_map(tidy::check).map(|finding| finding.to_string()).collect();
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}
