//! The six contracts, weakest first, each including the ones before it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::nearest::Suggestion;

/// What a file system promises about the tree that is found after a crash and recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Contract {
    /// Recovery succeeds, the root is there, and no file shows bytes that were never written to it.
    Mountable,
    /// What `sync` or an unmount covered is intact.
    Synced,
    /// What any persistence call covered is intact.
    Fsynced,
    /// A metadata op is seen entirely or not at all.
    Atomic,
    /// Names and attributes other than content are those of one moment.
    Ordered,
    /// The contents are those of the same moment.
    Prefix,
}

impl Contract {
    /// Every contract, weakest first.
    pub const ALL: [Self; 6] =
        [Self::Mountable, Self::Synced, Self::Fsynced, Self::Atomic, Self::Ordered, Self::Prefix];

    /// Its name in every written form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mountable => "mountable",
            Self::Synced => "synced",
            Self::Fsynced => "fsynced",
            Self::Atomic => "atomic",
            Self::Ordered => "ordered",
            Self::Prefix => "prefix",
        }
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that is no contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("use the contract {word:?}: there is no such contract{nearest}")]
pub struct UnknownContract {
    word: String,
    nearest: Suggestion,
}

impl FromStr for Contract {
    type Err = UnknownContract;

    fn from_str(word: &str) -> Result<Self, UnknownContract> {
        Self::ALL.into_iter().find(|contract| contract.name() == word).ok_or_else(|| UnknownContract {
            word: word.to_owned(),
            nearest: Suggestion::of(word, Self::ALL.map(Self::name)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_written_forms_agree() {
        for contract in Contract::ALL {
            assert_eq!(contract.to_string().parse(), Ok(contract));
            assert_eq!(serde_json::to_string(&contract).unwrap(), format!("\"{contract}\""));
        }
        assert!(Contract::ALL.is_sorted());
    }

    #[test]
    fn an_unknown_contract_names_the_nearest() {
        let error = "fsycned".parse::<Contract>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "use the contract \"fsycned\": there is no such contract; the nearest is \"fsynced\""
        );
    }
}
