//! The text form of ops: one op on one line, like a call with named arguments.
//!
//! ```text
//! open("/f", O_CREAT|O_RDWR, fd=1)
//! write("/a/f", offset=4096, len=512, fill=2)
//! write(fd=1, at=end, len=4, fill=7, via=mmap)
//! rename("/a", "/b", how=exchange)
//! ```
//!
//! The first arguments may stand without their keys; quoted text is escaped as in Rust. A workload is one op a line,
//! with blank lines and `#` comments.

mod several;

use std::{fmt, iter::Peekable, str::Chars, str::FromStr};

pub use several::{NamedWorkload, parse_workloads};

use crate::{
    Op, OpKind,
    form::{self, Arg, FormError},
};

/// The keys that may be left out, by position.
fn positional(kind: OpKind) -> &'static [&'static str] {
    match kind {
        OpKind::Open => &["path", "flags"],
        OpKind::Create | OpKind::Mkdir | OpKind::Rmdir | OpKind::Unlink | OpKind::Chmod | OpKind::Chown => &["path"],
        OpKind::Read
        | OpKind::Write
        | OpKind::Truncate
        | OpKind::Fallocate
        | OpKind::Fsync
        | OpKind::Fdatasync
        | OpKind::Msync => &["file"],
        OpKind::Rename | OpKind::Link => &["from", "to"],
        OpKind::Symlink => &["target", "path"],
        OpKind::Setxattr | OpKind::Removexattr => &["path", "name"],
        OpKind::Close | OpKind::Sync | OpKind::Syncfs | OpKind::Remount | OpKind::Crash => &[],
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let positional = positional(self.kind());
        write!(f, "{}(", self.name())?;
        for (index, (key, arg)) in form::arguments(self).iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            if positional.get(index) != Some(key) {
                write!(f, "{key}=")?;
            }
            match arg {
                Arg::Text(text) => write!(f, "{text:?}")?,
                Arg::Word(word) => f.write_str(word)?,
                Arg::Number(number) => write!(f, "{number}")?,
            }
        }
        f.write_str(")")
    }
}

/// Text that is not an op.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read the op at column {column}: {reason}")]
pub struct ParseOpError {
    /// The place, counted in characters from 1.
    pub column: usize,
    /// What is wrong there.
    pub reason: ParseReason,
}

/// What is wrong with a text that should be an op.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseReason {
    /// Something else must stand here.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What must stand here.
        expected: &'static str,
        /// What does.
        found: String,
    },
    /// The words are in order but do not make an op.
    #[error(transparent)]
    Form(#[from] FormError),
}

/// A line of a workload that is not an op.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read line {line} of the workload: column {}: {}", .error.column, .error.reason)]
pub struct ParseWorkloadError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub error: ParseOpError,
}

impl FromStr for Op {
    type Err = ParseOpError;

    fn from_str(text: &str) -> Result<Self, ParseOpError> {
        let mut parser = Parser::new(text);
        let op = parser.op()?;
        parser.end()?;
        Ok(op)
    }
}

/// Reads a workload: one op a line; blank lines and what follows a `#` are for people.
///
/// # Errors
/// The first line that is not an op, with its number.
pub fn parse_workload(text: &str) -> Result<Vec<Op>, ParseWorkloadError> {
    let mut ops = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut parser = Parser::new(line);
        if !parser.at_comment_or_end() {
            let op =
                parser.op().and_then(|op| if parser.at_comment_or_end() { Ok(op) } else { parser.end().map(|()| op) });
            ops.push(op.map_err(|error| ParseWorkloadError { line: index + 1, error })?);
        }
    }
    Ok(ops)
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    column: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text.chars().peekable(), column: 1 }
    }

    fn op(&mut self) -> Result<Op, ParseOpError> {
        self.skip_space();
        let start = self.column;
        let name = self.word();
        if name.is_empty() {
            return Err(self.expected("the name of an op"));
        }
        let kind = form::kind_named(&name).map_err(|error| ParseOpError { column: start, reason: error.into() })?;
        self.take('(', "'('")?;
        let (given, columns) = self.arguments(kind)?;
        let closing = self.column;
        self.take(')', "',' or ')'")?;
        form::build(kind, given.clone()).map_err(|error| {
            // The last argument of that key is the one too many where a key is given twice.
            let culprit = given.iter().rposition(|(key, _)| Some(key.as_str()) == error.key());
            ParseOpError { column: culprit.map_or(closing, |index| columns[index]), reason: error.into() }
        })
    }

    /// Everything between the parentheses: keys with arguments, and the column where each begins.
    #[expect(clippy::type_complexity, reason = "the pair is taken apart at once by its only caller")]
    fn arguments(&mut self, kind: OpKind) -> Result<(Vec<(String, Arg)>, Vec<usize>), ParseOpError> {
        let (mut given, mut columns) = (Vec::new(), Vec::new());
        let mut unnamed = positional(kind).iter();
        self.skip_space();
        while self.rest.peek().is_some_and(|next| *next != ')') {
            let column = self.column;
            let first = self.value()?;
            self.skip_space();
            let named = self.rest.peek() == Some(&'=');
            given.push(match (first, unnamed.next()) {
                (Arg::Word(key), _) if named => {
                    self.next();
                    self.skip_space();
                    unnamed = [].iter(); // After a named argument, positions mean nothing.
                    (key, self.value()?)
                }
                (first, Some(key)) => ((*key).to_owned(), first),
                (_, None) => {
                    let reason = ParseReason::Expected { expected: "key=value", found: "a value".to_owned() };
                    return Err(ParseOpError { column, reason });
                }
            });
            columns.push(column);
            self.skip_space();
            if self.rest.next_if_eq(&',').is_none() {
                break;
            }
            self.column += 1;
            self.skip_space();
        }
        Ok((given, columns))
    }

    fn value(&mut self) -> Result<Arg, ParseOpError> {
        if self.rest.peek() == Some(&'"') {
            return self.quoted().map(Arg::Text);
        }
        let word = self.word();
        if word.is_empty() { Err(self.expected("a word, a number or text in quotes")) } else { Ok(Arg::Word(word)) }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(next) = self.rest.next_if(|next| next.is_ascii_alphanumeric() || matches!(next, '_' | '|')) {
            self.column += 1;
            word.push(next);
        }
        word
    }

    fn quoted(&mut self) -> Result<String, ParseOpError> {
        self.next();
        let mut text = String::new();
        loop {
            match self.rest.peek() {
                Some('"') => break,
                Some('\\') => text.push(self.escape()?),
                Some(_) => text.extend(self.next()),
                None => return Err(self.expected("a closing '\"'")),
            }
        }
        self.next();
        Ok(text)
    }

    fn escape(&mut self) -> Result<char, ParseOpError> {
        let start = self.column;
        self.next();
        let escaped = match self.next() {
            Some('n') => Some('\n'),
            Some('r') => Some('\r'),
            Some('t') => Some('\t'),
            Some('0') => Some('\0'),
            Some(same @ ('"' | '\'' | '\\')) => Some(same),
            Some('u') => self.code_point(),
            _ => None,
        };
        let expected = r#"one of the escapes \" \\ \n \r \t \0 \u{...}"#;
        escaped.ok_or_else(|| ParseOpError {
            column: start,
            reason: ParseReason::Expected { expected, found: "another escape".to_owned() },
        })
    }

    fn code_point(&mut self) -> Option<char> {
        self.rest.next_if_eq(&'{')?;
        let digits = self.word();
        self.rest.next_if_eq(&'}')?;
        self.column += 2;
        u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)
    }

    fn next(&mut self) -> Option<char> {
        self.column += 1;
        self.rest.next()
    }

    fn take(&mut self, wanted: char, expected: &'static str) -> Result<(), ParseOpError> {
        self.skip_space();
        if self.rest.peek() == Some(&wanted) {
            self.next();
            Ok(())
        } else {
            Err(self.expected(expected))
        }
    }

    fn end(&mut self) -> Result<(), ParseOpError> {
        self.skip_space();
        if self.rest.peek().is_none() { Ok(()) } else { Err(self.expected("nothing after ')'")) }
    }

    fn at_comment_or_end(&mut self) -> bool {
        self.skip_space();
        matches!(self.rest.peek(), None | Some('#'))
    }

    fn skip_space(&mut self) {
        while self.rest.next_if(|next| next.is_whitespace()).is_some() {
            self.column += 1;
        }
    }

    fn expected(&mut self, expected: &'static str) -> ParseOpError {
        let found = self.rest.peek().map_or("the end".to_owned(), |next| format!("{next:?}"));
        ParseOpError { column: self.column, reason: ParseReason::Expected { expected, found } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        text.parse::<Op>().unwrap_err().to_string()
    }

    #[test]
    fn errors_name_the_column_and_what_was_expected() {
        let cases = [
            ("", "column 1: expected the name of an op, found the end"),
            ("unlnk(\"/f\")", "column 1: there is no op \"unlnk\"; the nearest is \"unlink\""),
            ("sync", "column 5: expected '(', found the end"),
            ("sync()x", "column 7: expected nothing after ')', found 'x'"),
            ("unlink(\"/f", "column 11: expected a closing '\"', found the end"),
            ("unlink(\"/f\" mode)", "column 13: expected ',' or ')', found 'm'"),
            ("unlink(\"f\")", "column 8: `path` of unlink must be a path in quotes that starts with '/'"),
            (
                "create(\"/a\\u{0}b\")",
                "column 8: `path` of create must be a path without a zero byte, at which it would end",
            ),
            ("unlink()", "column 8: unlink needs an argument `path`"),
            ("unlink(\"/f\", mode=1)", "column 14: unlink takes no argument `mode` here"),
            ("close(fd=1, fd=2)", "column 13: close takes no argument `fd` here"),
            ("close(1)", "column 7: expected key=value, found a value"),
            ("close(fd=300)", "column 7: `fd` of close must be a number from 0 to 255"),
            ("close(fd=)", "column 10: expected a word, a number or text in quotes, found ')'"),
            ("unlink(\"/\\q\")", "column 10: expected one of the escapes"),
            ("unlink(\"/\\u{110000}\")", "column 10: expected one of the escapes"),
            (
                "rename(\"/a\", \"/b\", how=swap)",
                "column 20: `how` of rename must be one of replace, no_replace, exchange",
            ),
            (
                "open(\"/f\", O_RDNLY, fd=1)",
                "column 12: `flags` of open must be open flags joined by '|' \
                 (could not use the open flag \"O_RDNLY\": there is no such flag; the nearest is \"O_RDONLY\")",
            ),
        ];
        for (text, part) in cases {
            assert!(error(text).contains(part), "{text}: {}", error(text));
        }
    }

    #[test]
    fn defaults_spaces_and_keys_are_free() {
        let same = [
            ("create(\"/f\")", "create(\"/f\", mode=0644)"),
            ("mkdir(path=\"/d\")", "mkdir(\"/d\", mode=0755)"),
            (
                " write ( file = \"/f\" , fill=0x2,len=8, offset=010 , via=buffered,)  ",
                "write(\"/f\", offset=8, len=8, fill=2)",
            ),
            ("open(\"/f\", O_RDONLY, fd=0)", "open(\"/f\", O_RDONLY, mode=0, fd=0)"),
            ("open(\"/f\", O_CREAT|O_WRONLY, fd=0)", "open(\"/f\", O_WRONLY|O_CREAT, mode=0644, fd=0)"),
        ];
        for (one, other) in same {
            assert_eq!(one.parse::<Op>(), other.parse::<Op>(), "{one}");
            assert!(one.parse::<Op>().is_ok(), "{one}: {}", error(one));
        }
    }

    #[test]
    fn a_workload_has_comments_and_line_numbers() {
        let text = "# two files\ncreate(\"/#a\") # not in quotes\n\n  sync()\r\n";
        let ops = parse_workload(text).unwrap();
        assert_eq!(ops, [r#"create("/#a")"#.parse().unwrap(), Op::Sync]);
        let error = parse_workload("sync()\n\nsnyc()").unwrap_err();
        assert_eq!(
            error.to_string(),
            "read line 3 of the workload: column 1: there is no op \"snyc\"; the nearest is \"sync\""
        );
        assert_eq!(parse_workload("sync() sync()").unwrap_err().error.column, 8);
        assert_eq!(parse_workload("").unwrap(), []);
    }
}
