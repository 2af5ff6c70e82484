//! The flags of `open`, which are written as their names joined by `|`.
//!
//! Any 32 bits can be written and read back: bits without a name appear as one hexadecimal number.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::nearest::Suggestion;

/// The flags of `open`, by the bits that Linux uses on x86-64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpenFlags(pub u32);

impl OpenFlags {
    /// Open for reading.
    pub const RDONLY: Self = Self(0);
    /// Open for writing.
    pub const WRONLY: Self = Self(0o1);
    /// Open for both.
    pub const RDWR: Self = Self(0o2);
    /// Create the file if it is missing.
    pub const CREAT: Self = Self(0o100);
    /// With `CREAT`: fail if it exists.
    pub const EXCL: Self = Self(0o200);
    /// Cut an existing file to nothing.
    pub const TRUNC: Self = Self(0o1000);
    /// Every write goes to the end.
    pub const APPEND: Self = Self(0o2000);
    /// A write returns when the data is durable.
    pub const DSYNC: Self = Self(0o10000);
    /// Bypass the page cache.
    pub const DIRECT: Self = Self(0o40000);
    /// Fail unless it is a directory.
    pub const DIRECTORY: Self = Self(0o200_000);
    /// Fail if the last component is a symlink.
    pub const NOFOLLOW: Self = Self(0o400_000);
    /// A write returns when data and metadata are durable (includes the bit of `DSYNC`).
    pub const SYNC: Self = Self(0o4_010_000);

    /// The two bits that hold the access mode, a number rather than a set.
    const ACCESS_MASK: u32 = 0o3;

    /// Flags with a name, in the order in which they are written. `SYNC` comes before `DSYNC`, whose bit it includes.
    const NAMED: [(&str, Self); 9] = [
        ("O_CREAT", Self::CREAT),
        ("O_EXCL", Self::EXCL),
        ("O_TRUNC", Self::TRUNC),
        ("O_APPEND", Self::APPEND),
        ("O_SYNC", Self::SYNC),
        ("O_DSYNC", Self::DSYNC),
        ("O_DIRECT", Self::DIRECT),
        ("O_DIRECTORY", Self::DIRECTORY),
        ("O_NOFOLLOW", Self::NOFOLLOW),
    ];

    /// Access modes, written last.
    const ACCESS: [(&str, Self); 3] = [("O_RDONLY", Self::RDONLY), ("O_WRONLY", Self::WRONLY), ("O_RDWR", Self::RDWR)];

    /// Whether all bits of `other` are set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The access mode alone.
    #[must_use]
    pub fn access(self) -> Self {
        Self(self.0 & Self::ACCESS_MASK)
    }

    /// Whether the access mode allows reading.
    pub fn reads(self) -> bool {
        matches!(Self(self.0 & Self::ACCESS_MASK), Self::RDONLY | Self::RDWR)
    }

    /// Whether the access mode allows writing.
    pub fn writes(self) -> bool {
        matches!(Self(self.0 & Self::ACCESS_MASK), Self::WRONLY | Self::RDWR)
    }
}

impl std::ops::BitOr for OpenFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for OpenFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        let mut words = Vec::new();
        for (name, flag) in Self::NAMED {
            if rest & flag.0 == flag.0 {
                words.push(name.to_owned());
                rest &= !flag.0;
            }
        }
        let access = Self(rest & Self::ACCESS_MASK);
        if let Some((name, _)) = Self::ACCESS.iter().find(|(_, flag)| *flag == access) {
            words.push((*name).to_owned());
            rest &= !Self::ACCESS_MASK;
        }
        if rest != 0 {
            words.push(format!("{rest:#x}"));
        }
        f.write_str(&words.join("|"))
    }
}

/// A part of the flags that is neither a name nor a hexadecimal number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("use the open flag {word:?}: there is no such flag{nearest}")]
pub struct UnknownFlag {
    word: String,
    nearest: Suggestion,
}

impl FromStr for OpenFlags {
    type Err = UnknownFlag;

    fn from_str(text: &str) -> Result<Self, UnknownFlag> {
        let known = || Self::NAMED.iter().chain(&Self::ACCESS);
        let one = |word: &str| {
            let named = known().find(|(name, _)| *name == word).map(|(_, flag)| *flag);
            let bits = || u32::from_str_radix(word.strip_prefix("0x")?, 16).ok().map(Self);
            let unknown =
                || UnknownFlag { word: word.to_owned(), nearest: Suggestion::of(word, known().map(|(name, _)| *name)) };
            named.or_else(bits).ok_or_else(unknown)
        };
        text.split('|').try_fold(Self(0), |flags, word| Ok(flags | one(word)?))
    }
}

impl Serialize for OpenFlags {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for OpenFlags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_written_by_name_and_unknown_bits_in_hexadecimal() {
        let cases = [
            (OpenFlags::RDONLY, "O_RDONLY"),
            (OpenFlags::RDWR | OpenFlags::CREAT, "O_CREAT|O_RDWR"),
            (OpenFlags::SYNC | OpenFlags::WRONLY, "O_SYNC|O_WRONLY"),
            (OpenFlags::DSYNC, "O_DSYNC|O_RDONLY"),
            (OpenFlags(0o3), "0x3"),
            (OpenFlags(0x8000_0001), "O_WRONLY|0x80000000"),
            (OpenFlags(0o4_000_000), "O_RDONLY|0x100000"),
        ];
        for (flags, text) in cases {
            assert_eq!(flags.to_string(), text);
            assert_eq!(text.parse(), Ok(flags));
        }
    }

    #[test]
    fn every_bit_pattern_survives() {
        for bits in (0..32).map(|shift| 1 << shift).chain([u32::MAX, 0x5555_5555, 0xaaaa_aaaa]) {
            assert_eq!(OpenFlags(bits).to_string().parse(), Ok(OpenFlags(bits)));
        }
    }

    #[test]
    fn an_unknown_flag_names_the_nearest() {
        let error = "O_CRAET|O_RDWR".parse::<OpenFlags>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "use the open flag \"O_CRAET\": there is no such flag; the nearest is \"O_CREAT\""
        );
        assert!("".parse::<OpenFlags>().is_err());
        assert!("0x100000000".parse::<OpenFlags>().is_err());
    }
}
