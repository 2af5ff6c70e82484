//! Turns the parser's complaints, which take several lines, into one.

use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::{EXIT_TROUBLE, complain};

/// Prints help where it was asked for, or one line about what is wrong.
pub fn explain(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A closed standard output is no reason to complain.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(EXIT_TROUBLE)
        }
        _ => complain(&format!("understand the command line: {}", one_line(&error.to_string()))),
    }
}

/// The parser's text without usage and pointers to help.
fn one_line(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let ends = |line: &&str| !line.starts_with("Usage:") && !line.starts_with("For more information");
    let lines = text.lines().map(str::trim).take_while(ends).filter(|line| !line.is_empty());
    let mut joined = String::new();
    for line in lines {
        let glue = if joined.is_empty() || joined.ends_with(':') { " " } else { "; " };
        joined.push_str(glue);
        joined.push_str(line.trim_start_matches("tip: ").trim_matches(['[', ']']));
    }
    joined.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use clap::Parser as _;

    fn said(words: &[&str]) -> String {
        let error = Arguments::try_parse_from([&["shakedown"], words].concat()).expect_err("wrong words");
        one_line(&error.to_string())
    }

    #[test]
    fn a_complaint_is_one_line_with_its_hint() {
        assert_eq!(
            said(&["check", "model:link", "--crash", "prefx"]),
            "invalid value 'prefx' for '--crash <MODE>'; possible values: off, flushed, prefix, subsets, torn, kill; \
             a similar value exists: 'prefix'"
        );
        assert_eq!(
            said(&["check", "model:link", "--dept", "3"]),
            "unexpected argument '--dept' found; a similar argument exists: '--depth'"
        );
        assert_eq!(said(&["check"]), "the following required arguments were not provided: <TARGET>");
    }
}
