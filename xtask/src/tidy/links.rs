//! A Markdown link to a file leads to a file.

use super::Source;

/// Looks at `[text](target)` outside of code; addresses and anchors are none of its business.
pub fn resolve(source: &Source) -> Vec<(usize, String)> {
    let folder = source.root().join(source.path().parent().unwrap_or(source.path()));
    let mut findings = Vec::new();
    let mut in_code = false;
    for (index, line) in source.lines().iter().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        for target in targets(line) {
            if !folder.join(target).exists() {
                findings.push((index, format!("the link to {target} leads nowhere")));
            }
        }
    }
    findings
}

/// The files that a line links to.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let outside_code = line.split('`').step_by(2);
    let links = outside_code.flat_map(|text| text.split("](").skip(1)).filter_map(|text| text.split(')').next());
    let is_file = |target: &&str| !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:");
    links.filter_map(|target| target.split('#').next()).filter(is_file)
}
