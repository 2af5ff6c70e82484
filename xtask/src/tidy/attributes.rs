//! Exceptions argue: an `unsafe` says why it is sound, a silenced lint says why it is wrong here.

use super::Source;

/// Every `unsafe` block or implementation has a `// SAFETY:` comment right above it or on its line.
pub fn safety(source: &Source) -> Vec<(usize, String)> {
    let opens_unsafe = |line: &str| line.contains("unsafe {") || line.contains("unsafe impl");
    let candidates = (0..source.code().len()).filter(|index| opens_unsafe(&source.code()[*index]));
    let unargued = candidates.filter(|index| !is_argued(source.lines(), *index));
    unargued.map(|index| (index, "unsafe without a `// SAFETY:` line above it".to_owned())).collect()
}

fn is_argued(lines: &[String], index: usize) -> bool {
    let argues = |line: &str| line.contains("// SAFETY:");
    let above = lines[..index].iter().rev().take_while(|line| line.trim_start().starts_with("//"));
    argues(&lines[index]) || above.into_iter().any(|line| argues(line))
}

/// How a silenced lint begins.
const SILENCERS: [&str; 4] = ["#[allow(", "#![allow(", "#[expect(", "#![expect("];

/// Every `allow` and `expect` has a reason.
pub fn reasons(source: &Source) -> Vec<(usize, String)> {
    let is_unreasoned = |index: &usize| {
        let start = SILENCERS.iter().find_map(|mark| source.code()[*index].find(mark));
        start.is_some_and(|start| !attribute(&source.code()[*index..], start).contains("reason ="))
    };
    let unreasoned = (0..source.code().len()).filter(is_unreasoned);
    unreasoned.map(|index| (index, "a silenced lint without `reason = \"...\"`".to_owned())).collect()
}

/// The attribute that starts at this place of the first line.
fn attribute(code: &[String], start: usize) -> String {
    let text = code.join(" ").split_off(start);
    text.split(")]").next().unwrap_or_default().to_owned()
}
