//! What a table must not hide: runs that ended before they had seen everything within their bounds.

use crate::shakedown::Summary;

/// A list of the runs that were cut short or sampled, with their limits, to be put below a table; empty if there are
/// none.
pub fn list<'a>(runs: impl IntoIterator<Item = (String, &'a Summary)>) -> String {
    let cut_short = runs.into_iter().filter(|(_, summary)| !summary.is_whole());
    let line = |(name, summary): (String, &Summary)| format!("- {name}: {}\n", summary.limits_hit.join("; "));
    let lines: Vec<String> = cut_short.map(line).collect();
    if lines.is_empty() { String::new() } else { format!("\nLimits that were hit:\n\n{}", lines.concat()) }
}

/// A count, marked where there are more that the run did not get to.
pub fn at_least(count: &str, summary: &Summary) -> String {
    if summary.is_whole() { count.to_owned() } else { format!("**at least** {count}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_cut_short_is_listed() {
        let whole = Summary::example(&[]);
        let cut = Summary { resumable: true, limits_hit: vec!["stopped after 1 s".to_owned()], ..whole.clone() };
        assert_eq!(list([("a".to_owned(), &whole)]), "");
        let text = list([("a".to_owned(), &whole), ("b".to_owned(), &cut)]);
        assert_eq!(text, "\nLimits that were hit:\n\n- b: stopped after 1 s\n");
        assert_eq!((at_least("3", &whole), at_least("3", &cut)), ("3".to_owned(), "**at least** 3".to_owned()));
    }
}
