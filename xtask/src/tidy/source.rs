//! A file as the rules see it: its lines as written, and its lines of code alone.
//!
//! The second form blanks out comments and the insides of literals and keeps every other character in its place, so
//! that a rule about code cannot be misled by prose, and this tool's own samples do not trip it.

use std::path::{Path, PathBuf};

/// One file.
#[derive(Debug)]
pub struct Source {
    root: PathBuf,
    path: PathBuf,
    lines: Vec<String>,
    code: Vec<String>,
    ends_with_newline: bool,
}

impl Source {
    /// A file at `path` below `root`, with this text.
    pub fn new(root: &Path, path: impl Into<PathBuf>, text: &str) -> Self {
        let own = |text: &str| text.split_terminator('\n').map(str::to_owned).collect();
        Self {
            root: root.to_owned(),
            path: path.into(),
            lines: own(text),
            code: own(&code_only(text)),
            ends_with_newline: text.ends_with('\n'),
        }
    }

    /// The repository's root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the file is, from the root.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The lines as written.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// The same lines with comments and literals blanked.
    pub fn code(&self) -> &[String] {
        &self.code
    }

    /// Whether the last line is ended.
    pub fn ends_with_newline(&self) -> bool {
        self.ends_with_newline
    }
}

/// Blanks comments and literals, character by character; line breaks stay.
fn code_only(text: &str) -> String {
    let mut rest = text;
    let mut code = String::with_capacity(text.len());
    let mut after_word = false;
    while let Some(first) = rest.chars().next() {
        let length = if after_word { None } else { raw_string_length(rest) }.or_else(|| opaque_length(rest));
        let (taken, blank) = match length {
            Some(length) => (length, true),
            None => (first.len_utf8(), false),
        };
        let (piece, after) = rest.split_at(taken);
        if blank {
            code.extend(piece.chars().map(|character| if character == '\n' { '\n' } else { ' ' }));
        } else {
            code.push_str(piece);
        }
        after_word = !blank && (first.is_alphanumeric() || first == '_');
        rest = after;
    }
    code
}

/// The length of the comment or literal that `text` starts with, if it starts with one.
fn opaque_length(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(block_comment_length(text));
    }
    if text.starts_with('"') {
        return Some(quoted_length(text, '"'));
    }
    // A lifetime has no closing quote right after its first character; a literal has, or starts with a backslash.
    let mut characters = text.strip_prefix('\'')?.chars();
    let (first, second) = (characters.next()?, characters.next()?);
    (first == '\\' || second == '\'').then(|| quoted_length(text, '\''))
}

fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (index, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return index + 1,
            _ => {}
        }
    }
    text.len()
}

fn raw_string_length(text: &str) -> Option<usize> {
    let after = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let inside = after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let before = text.len() - inside.len();
    Some(inside.find(&end).map_or(text.len(), |length| before + length + end.len()))
}

fn block_comment_length(text: &str) -> usize {
    let mut depth = 0;
    let mut index = 0;
    while index < text.len() {
        if text.as_bytes()[index..].starts_with(b"/*") {
            depth += 1;
            index += 2;
        } else if text.as_bytes()[index..].starts_with(b"*/") {
            depth -= 1;
            index += 2;
            if depth == 0 {
                return index;
            }
        } else {
            index += 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::code_only;

    fn collapsed(text: &str) -> String {
        let mut collapsed = text.to_owned();
        while collapsed.contains("  ") {
            collapsed = collapsed.replace("  ", " ");
        }
        collapsed
    }

    #[test]
    fn only_code_is_left() {
        // Collapsed runs of blanks keep the cases readable; that lengths agree is asserted apart.
        let cases = [
            ("a // b\nc", "a \nc"),
            ("a /* b /* c */ d */ e", "a e"),
            ("f(\"{\\\"}\") g", "f( ) g"),
            ("f(r#\"a\"b\"#)", "f( )"),
            ("f('{', '\\'', b'}')", "f( , , b )"),
            ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
            ("r#type = for\"x\"", "r#type = for "),
            ("\"a\n/\" x", " \n x"),
        ];
        for (text, code) in cases {
            let masked = code_only(text);
            assert_eq!(masked.chars().count(), text.chars().count(), "{text}");
            assert_eq!(collapsed(&masked), code, "{text}");
        }
    }
}
