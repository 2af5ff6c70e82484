//! Error numbers, by the names that Linux gives them.

use serde::{Deserialize, Serialize};

macro_rules! errnos {
    ($($name:ident = $number:literal, $meaning:literal;)*) => {
        /// Why an operation failed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Errno { $(#[doc = $meaning] $name,)* }

        impl Errno {
            /// Every error number that this vocabulary knows.
            pub const ALL: &[Errno] = &[$(Errno::$name,)*];

            /// The name, as in `errno.h`.
            pub fn name(self) -> &'static str {
                match self { $(Errno::$name => stringify!($name),)* }
            }

            /// The number that Linux uses on x86-64.
            pub fn number(self) -> i32 {
                match self { $(Errno::$name => $number,)* }
            }

            /// The one with this number, if the vocabulary has it.
            pub fn from_number(number: i32) -> Option<Self> {
                match number { $($number => Some(Errno::$name),)* _ => None }
            }

            /// What it means, for people.
            pub fn meaning(self) -> &'static str {
                match self { $(Errno::$name => $meaning,)* }
            }
        }
    };
}

errnos! {
    EPERM = 1, "operation not permitted";
    ENOENT = 2, "no such file or directory";
    EIO = 5, "input/output error";
    ENXIO = 6, "no such device or address";
    E2BIG = 7, "argument list too long";
    EBADF = 9, "bad file descriptor";
    EAGAIN = 11, "try again";
    ENOMEM = 12, "out of memory";
    EACCES = 13, "permission denied";
    EBUSY = 16, "device or resource busy";
    EEXIST = 17, "file exists";
    EXDEV = 18, "invalid cross-device link";
    ENODEV = 19, "no such device";
    ENOTDIR = 20, "not a directory";
    EISDIR = 21, "is a directory";
    EINVAL = 22, "invalid argument";
    EMFILE = 24, "too many open files";
    ENOTTY = 25, "inappropriate ioctl for device";
    ETXTBSY = 26, "text file busy";
    EFBIG = 27, "file too large";
    ENOSPC = 28, "no space left on device";
    EROFS = 30, "read-only file system";
    EMLINK = 31, "too many links";
    ERANGE = 34, "result too large";
    ENAMETOOLONG = 36, "file name too long";
    ENOSYS = 38, "function not implemented";
    ENOTEMPTY = 39, "directory not empty";
    ELOOP = 40, "too many levels of symbolic links";
    ENODATA = 61, "no data available";
    EBADMSG = 74, "bad message";
    EOVERFLOW = 75, "value too large";
    EILSEQ = 84, "invalid or incomplete multibyte or wide character";
    EOPNOTSUPP = 95, "operation not supported";
    ESHUTDOWN = 108, "cannot send after transport endpoint shutdown";
    ESTALE = 116, "stale file handle";
    EUCLEAN = 117, "structure needs cleaning";
    EDQUOT = 122, "disk quota exceeded";
}

impl std::fmt::Display for Errno {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
