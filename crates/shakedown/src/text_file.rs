//! Text that the user names, read with a bound: a device has no end.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

/// Far more than any trace, summary or list of ops has; beyond it, a file is refused.
const BYTES_MAX: u64 = 256 << 20;

/// The text in a file, or in whatever else has this name.
///
/// # Errors
/// It cannot be read, is no text, or does not end.
pub fn read(file: &Path) -> io::Result<String> {
    read_up_to(BYTES_MAX, file)
}

fn read_up_to(bytes_max: u64, file: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(file)?.take(bytes_max + 1).read_to_string(&mut text)?;
    if read as u64 > bytes_max {
        return Err(io::Error::other(format!("it has more than {bytes_max} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_end_is_refused() {
        let error = read_up_to(1 << 16, Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 65536 bytes");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "four").unwrap();
        assert_eq!(read_up_to(4, file.path()).unwrap(), "four");
        assert!(read_up_to(3, file.path()).is_err());
    }
}
