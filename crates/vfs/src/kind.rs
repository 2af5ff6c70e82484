//! The closed vocabularies: kinds of ops, and the variants that some ops come in.
//!
//! Each is a plain enum whose variants have one name, the same in text, in JSON and on the command line.

use serde::{Deserialize, Serialize};

macro_rules! vocabulary {
    ($(#[$about:meta])* $type:ident { $($(#[$meaning:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $type { $($(#[$meaning])* $variant,)* }

        impl $type {
            /// Every one, in the order of the declaration.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name in every written form.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The one of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

vocabulary! {
    /// What an op does, without its arguments.
    OpKind {
        /// Open a file.
        Open = "open",
        /// Close it.
        Close = "close",
        /// Make a file.
        Create = "create",
        /// Read a range.
        Read = "read",
        /// Store bytes.
        Write = "write",
        /// Set the size.
        Truncate = "truncate",
        /// Change the allocation of a range.
        Fallocate = "fallocate",
        /// Make a directory.
        Mkdir = "mkdir",
        /// Remove an empty directory.
        Rmdir = "rmdir",
        /// Remove a name of anything but a directory.
        Unlink = "unlink",
        /// Give something another name.
        Rename = "rename",
        /// Give a file one more name.
        Link = "link",
        /// Make a symlink.
        Symlink = "symlink",
        /// Change permission bits.
        Chmod = "chmod",
        /// Change owner or group.
        Chown = "chown",
        /// Set an extended attribute.
        Setxattr = "setxattr",
        /// Remove an extended attribute.
        Removexattr = "removexattr",
        /// Make a file or directory durable.
        Fsync = "fsync",
        /// Make a file's data durable.
        Fdatasync = "fdatasync",
        /// Make a mapped range durable.
        Msync = "msync",
        /// Make everything durable.
        Sync = "sync",
        /// Make this file system durable.
        Syncfs = "syncfs",
        /// Unmount and mount again.
        Remount = "remount",
        /// Cut the power and recover.
        Crash = "crash",
    }
}

vocabulary! {
    /// Which way a write takes to the file.
    WriteVia {
        /// `pwrite`.
        Buffered = "buffered",
        /// Stores through a shared mapping; the file is extended first where the range reaches past its end.
        Mmap = "mmap",
        /// `O_DIRECT`.
        Direct = "direct",
    }
}

vocabulary! {
    /// What `fallocate` does to its range.
    Fallocate {
        /// Reserve space and extend the file.
        Allocate = "allocate",
        /// Reserve space, keep the size.
        KeepSize = "keep_size",
        /// Make a hole (keeps the size).
        PunchHole = "punch_hole",
        /// Zero the range and extend the file.
        ZeroRange = "zero_range",
        /// Zero the range, keep the size.
        ZeroRangeKeepSize = "zero_range_keep_size",
        /// Remove the range and close the gap.
        CollapseRange = "collapse_range",
        /// Insert a hole and move what follows.
        InsertRange = "insert_range",
    }
}

vocabulary! {
    /// What `rename` does when the new name exists.
    Rename {
        /// Replace it.
        Replace = "replace",
        /// Fail with `EEXIST`.
        NoReplace = "no_replace",
        /// Exchange the two.
        Exchange = "exchange",
    }
}

impl OpKind {
    /// Whether its purpose is to make something durable (an unmount does, on the way to the next mount).
    pub fn is_persistence(self) -> bool {
        matches!(self, Self::Fsync | Self::Fdatasync | Self::Msync | Self::Sync | Self::Syncfs | Self::Remount)
    }

    /// Whether it concerns the file system as a whole rather than one of its objects.
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Sync | Self::Syncfs | Self::Remount | Self::Crash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_and_is_the_one_of_serde() {
        for &kind in OpKind::ALL {
            assert_eq!(OpKind::from_name(kind.name()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        for &how in Fallocate::ALL {
            assert_eq!(Fallocate::from_name(how.name()), Some(how));
            assert_eq!(serde_json::to_value(how).unwrap(), how.name());
        }
        assert_eq!(Rename::from_name("swap"), None);
    }
}
