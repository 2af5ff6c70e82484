//! Contents as a person describes them: runs of equal bytes.
//!
//! Writes store a fill, so a file is a few runs whatever its size: `4096 x 02, 904 x 00`.

use std::fmt;

/// How many runs are printed before the rest is only counted. Eight fit on a line of a trace.
const RUNS_SHOWN: usize = 8;

/// The runs of equal bytes of some contents.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a>(pub &'a [u8]);

impl<'a> Runs<'a> {
    /// Each run as its length and its byte.
    pub fn iter(self) -> impl Iterator<Item = (usize, u8)> + 'a {
        self.0.chunk_by(|left, right| left == right).map(|run| (run.len(), run[0]))
    }

    fn shown(self, f: &mut fmt::Formatter<'_>, show: impl Fn(usize, u8) -> String) -> fmt::Result {
        let runs: Vec<_> = self.iter().collect();
        let shown: Vec<_> = runs.iter().take(RUNS_SHOWN).map(|&(len, fill)| show(len, fill)).collect();
        f.write_str(&shown.join(", "))?;
        match runs.len() - shown.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more runs"),
        }
    }
}

/// The form of a listing: `4096 x 02, 904 x 00`, nothing for nothing.
impl fmt::Display for Runs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown(f, |len, fill| format!("{len} x {fill:02x}"))
    }
}

/// The form of a sentence: `4096 bytes of fill 2`, `5000 bytes (4096 of fill 2, 904 of fill 0)`.
pub(crate) struct Sentence<'a>(pub &'a [u8]);

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0;
        let count = match bytes.len() {
            1 => "1 byte".to_owned(),
            len => format!("{len} bytes"),
        };
        match Runs(bytes).iter().nth(1) {
            None if bytes.is_empty() => f.write_str(&count),
            None => write!(f, "{count} of fill {}", bytes[0]),
            Some(_) => {
                write!(f, "{count} (")?;
                Runs(bytes).shown(f, |len, fill| format!("{len} of fill {fill}"))?;
                f.write_str(")")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Runs, Sentence};

    #[test]
    fn contents_read_as_runs() {
        let mixed = [[2; 3].as_slice(), &[0xab; 2]].concat();
        assert_eq!(Runs(&mixed).to_string(), "3 x 02, 2 x ab");
        assert_eq!(Runs(&[]).to_string(), "");
        assert_eq!(Sentence(&mixed).to_string(), "5 bytes (3 of fill 2, 2 of fill 171)");
        assert_eq!(Sentence(&[7; 4096]).to_string(), "4096 bytes of fill 7");
        assert_eq!(Sentence(&[7]).to_string(), "1 byte of fill 7");
        assert_eq!(Sentence(&[]).to_string(), "0 bytes");
    }

    #[test]
    fn what_is_not_shown_is_counted() {
        let stripes: Vec<u8> = (0..20).collect();
        assert!(Runs(&stripes).to_string().ends_with("1 x 07 and 12 more runs"));
    }
}
