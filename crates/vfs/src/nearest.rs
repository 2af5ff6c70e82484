//! Help with a word that was mistyped: the known word that takes the fewest edits, if it is near enough to be meant.

use std::fmt;

/// The end of an error message: "; the nearest is ...", or nothing where no known word is near.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion(Option<&'static str>);

impl Suggestion {
    /// The known word nearest to `word`. More edits than half of the word's length make it another word.
    pub fn of(word: &str, known: impl IntoIterator<Item = &'static str>) -> Self {
        let edits_max = word.chars().count().div_ceil(2);
        let nearest = known
            .into_iter()
            .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
            .min()
            .filter(|(edits, _)| *edits <= edits_max);
        Self(nearest.map(|(_, candidate)| candidate))
    }

    /// The word itself.
    pub fn word(&self) -> Option<&'static str> {
        self.0
    }
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(word) => write!(f, "; the nearest is {word:?}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_words_are_suggested() {
        let known = ["create", "unlink", "write"];
        assert_eq!(Suggestion::of("wirte", known).word(), Some("write"));
        assert_eq!(Suggestion::of("remove", known).word(), None);
        assert_eq!(Suggestion::of("", known).word(), None);
    }
}
