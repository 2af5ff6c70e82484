//! A module is named after the noun that it owns, never after the fact that somebody did not know where to put things.

use super::Source;

const NAMELESS: [&str; 5] = ["utils", "common", "helpers", "misc", "manager"];

/// Looks at the file's own path and at the modules that it declares.
pub fn modules(source: &Source) -> Vec<(usize, String)> {
    let complain = |name: &str| format!("`{name}` says nothing: name the module after what it owns");
    let is_nameless = |name: &str| NAMELESS.iter().any(|bad| name == *bad || name == bad.trim_end_matches('s'));
    let mut findings = Vec::new();
    for part in source.path().with_extension("").iter().filter_map(|part| part.to_str()) {
        if is_nameless(part) {
            findings.push((0, complain(part)));
        }
    }
    for (index, line) in source.code().iter().enumerate() {
        let mut words = line.split(|character: char| !character.is_alphanumeric() && character != '_');
        let declared = words.find(|word| *word == "mod").and_then(|_| words.next());
        if let Some(name) = declared.filter(|name| is_nameless(name)) {
            findings.push((index, complain(name)));
        }
    }
    findings
}
