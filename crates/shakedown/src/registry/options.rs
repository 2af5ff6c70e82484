//! The options of targets: what they may be, and what they are.

use std::{fmt, ops::RangeInclusive};

use super::quoted::{quoted, unquoted};

/// Something that can be chosen about a target.
pub struct TargetOption {
    /// How it is called.
    pub name: &'static str,
    /// What it may be.
    pub values: Values,
    /// What it is if nothing is said.
    pub fallback: Fallback,
    /// What it means, in one line.
    pub about: &'static str,
}

/// What an option may be.
pub enum Values {
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of these words, or another word for one of them.
    WordsOr(&'static [&'static str], &'static [(&'static str, &'static str)]),
    /// A number.
    Number(RangeInclusive<u32>),
    /// A number or this word.
    NumberOr(RangeInclusive<u32>, &'static str),
    /// Any number of these words, with spaces between them, in quotes.
    Several(&'static [&'static str]),
    /// Any text, in quotes if it has separators in it.
    Text,
}

/// What an option is if nothing is said.
pub enum Fallback {
    /// Always this.
    Value(&'static str),
    /// It depends on the other options.
    Depends {
        /// How, for people.
        says: &'static str,
        /// How.
        of: fn(&Chosen) -> String,
    },
}

/// The value of every option of a target, in the order of its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen(Vec<(&'static str, String)>);

impl Values {
    /// The value that a word stands for, if it stands for one.
    pub fn accept(&self, word: &str) -> Option<String> {
        let among = |words: &[&str]| words.contains(&word).then(|| word.to_owned());
        let number = |range: &RangeInclusive<u32>| {
            let number: u32 = word.parse().ok()?;
            range.contains(&number).then(|| number.to_string())
        };
        match self {
            Self::Words(words) => among(words),
            Self::WordsOr(words, others) => {
                let meant = others.iter().find(|(other, _)| *other == word).map(|(_, meant)| (*meant).to_owned());
                among(words).or(meant)
            }
            Self::Number(range) => number(range),
            Self::NumberOr(range, other) => number(range).or_else(|| (word == *other).then(|| word.to_owned())),
            Self::Several(words) => {
                unquoted(word).filter(|text| text.split_whitespace().all(|word| words.contains(&word)))
            }
            Self::Text => unquoted(word),
        }
    }

    /// The words among them.
    pub fn words(&self) -> &[&'static str] {
        match self {
            Self::Words(words) | Self::WordsOr(words, _) | Self::Several(words) => words,
            Self::NumberOr(_, word) => std::slice::from_ref(word),
            Self::Number(_) | Self::Text => &[],
        }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) | Self::WordsOr(words, _) => f.write_str(&words.join("|")),
            Self::Several(words) => write!(f, "\"{} ...\"", words.join("|")),
            Self::Number(range) => write!(f, "{}..{}", range.start(), range.end()),
            Self::NumberOr(range, word) => write!(f, "{}..{}|{word}", range.start(), range.end()),
            Self::Text => f.write_str("TEXT"),
        }
    }
}

impl Fallback {
    /// For people.
    pub fn says(&self) -> &'static str {
        match self {
            Self::Value(value) => value,
            Self::Depends { says, .. } => says,
        }
    }
}

impl Chosen {
    /// What the options are if nothing is said.
    pub fn defaults(options: &[TargetOption]) -> Self {
        Self::with(options, &[])
    }

    /// What the options are if these are given.
    pub fn with(options: &[TargetOption], given: &[(&'static str, String)]) -> Self {
        let mut chosen = Self(given.to_vec());
        for option in options {
            if let (Fallback::Value(value), false) = (&option.fallback, chosen.has(option.name)) {
                chosen.0.push((option.name, (*value).to_owned()));
            }
        }
        for option in options {
            if let (Fallback::Depends { of, .. }, false) = (&option.fallback, chosen.has(option.name)) {
                let value = of(&chosen);
                chosen.0.push((option.name, value));
            }
        }
        chosen.0.sort_by_key(|(name, _)| options.iter().position(|option| option.name == *name));
        chosen
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(given, _)| *given == name)
    }

    /// The value of an option, if the target has it.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| *given == name).map(|(_, value)| value.as_str())
    }

    /// The value of an option.
    ///
    /// # Panics
    /// The target's table has no such option.
    pub fn word(&self, name: &str) -> &str {
        self.get(name).expect("the table names every option that its constructor asks for")
    }

    /// The value of an option, and all others, if there is such an option.
    pub fn without(&self, name: &str) -> Option<(&str, Self)> {
        let rest = self.0.iter().filter(|(given, _)| *given != name).cloned().collect();
        self.has(name).then(|| (self.word(name), Self(rest)))
    }

    /// The value of an option that is a number; `None` if it is a word.
    pub fn number<N: std::str::FromStr>(&self, name: &str) -> Option<N> {
        self.word(name).parse().ok()
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (name, value)) in self.0.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            write!(f, "{comma}{name}={}", quoted(value))?;
        }
        Ok(())
    }
}
