//! Functions fit on a screen, give or take: counted from `fn` to the closing brace.

use super::Source;

/// About a screen and a half; above that a function has more than one job.
const FUNCTION_LINES_MAX: usize = 100;

/// Finds the functions that are too long.
pub fn length(source: &Source) -> Vec<(usize, String)> {
    let starts = source.code().iter().enumerate().filter_map(|(index, line)| Some((index, name(line)?)));
    let long = starts.filter_map(|(start, name)| {
        let lines = lines_of_body(&source.code()[start..])?;
        let message = || format!("{name} has {lines} lines, more than {FUNCTION_LINES_MAX}");
        (lines > FUNCTION_LINES_MAX).then(|| (start, message()))
    });
    long.collect()
}

/// The name of the function that a line of code begins, if it begins one.
fn name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let only_qualifiers = before.chars().all(|character| character.is_alphanumeric() || " ()_\"".contains(character));
    let end = after.find(|character: char| !character.is_alphanumeric() && character != '_')?;
    (only_qualifiers && end > 0).then(|| &after[..end])
}

/// How many lines there are until the first brace is closed again; `None` for a declaration without a body.
fn lines_of_body(code: &[String]) -> Option<usize> {
    let mut depth = 0usize;
    let mut brackets = 0usize;
    for (index, line) in code.iter().enumerate() {
        for character in line.chars() {
            match character {
                '{' => depth += 1,
                '}' if depth <= 1 => return Some(index + 1),
                '}' => depth -= 1,
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets = brackets.saturating_sub(1),
                ';' if depth == 0 && brackets == 0 => return None,
                _ => {}
            }
        }
    }
    None
}
