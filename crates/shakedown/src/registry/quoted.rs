//! Text in quotes within the name of a target, as commands need them: `fuse:"CMD {dev} {mnt}"?mkfs="mke2fs -F {dev}"`.
//!
//! What stands between double quotes is never a separator; inside, `\"` and `\\` stand for the characters themselves. A
//! shell may have eaten the quotes, so text without any is taken too, up to the next separator.

/// The parts of a text between separators that stand outside of quotes.
pub fn split(text: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((part, more)) = split_once(rest, separator) {
        parts.push(part);
        rest = more;
    }
    parts.push(rest);
    parts
}

/// What stands before and behind the first separator outside of quotes.
pub fn split_once(text: &str, separator: char) -> Option<(&str, &str)> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            c if c == separator && !quoted => return Some((&text[..at], &text[at + c.len_utf8()..])),
            _ => {}
        }
    }
    None
}

/// The text that is meant. `None`: its quotes do not match.
pub fn unquoted(text: &str) -> Option<String> {
    let Some(inner) = text.strip_prefix('"') else { return Some(text.to_owned()) };
    let inner = inner.strip_suffix('"')?;
    let mut meant = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => meant.push(chars.next()?),
            '"' => return None,
            c => meant.push(c),
        }
    }
    Some(meant)
}

/// The text in quotes, if it needs them.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_in_quotes_separate_nothing() {
        assert_eq!(split(r#"a="x,y",b=2,c"#, ','), [r#"a="x,y""#, "b=2", "c"]);
        assert_eq!(split_once(r#"fuse:"a?b\"?"?kib=1"#, '?'), Some((r#"fuse:"a?b\"?""#, "kib=1")));
        assert_eq!(split_once(r#""a?"#, '?'), None);
    }

    #[test]
    fn what_is_quoted_is_meant_again() {
        for text in ["", "plain", "two words", r#"a "b" \c"#, "x,y?z=1"] {
            assert_eq!(unquoted(&quoted(text)).as_deref(), Some(text));
        }
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(unquoted("mke2fs -F {dev}").as_deref(), Some("mke2fs -F {dev}"), "a shell ate the quotes");
        assert_eq!((unquoted(r#""open"#), unquoted(r#""a"b""#)), (None, None));
    }
}
