//! The file system that a guest starts from: an archive in the format "newc", which the kernel unpacks into memory.

/// What can be in it.
pub(crate) enum Entry<'a> {
    /// A directory.
    Dir(&'a str),
    /// An executable file with this content.
    Program(&'a str, &'a [u8]),
    /// A character device with its numbers.
    Device(&'a str, u32, u32),
}

const DIR: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const DEVICE: u32 = 0o020_600;

/// The archive.
pub(crate) fn archive(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, entry) in (1..).zip(entries) {
        match entry {
            Entry::Dir(name) => append(&mut bytes, number, name, DIR, (0, 0), &[]),
            Entry::Program(name, content) => append(&mut bytes, number, name, PROGRAM, (0, 0), content),
            Entry::Device(name, major, minor) => append(&mut bytes, number, name, DEVICE, (*major, *minor), &[]),
        }
    }
    append(&mut bytes, 0, "TRAILER!!!", 0, (0, 0), &[]);
    bytes
}

/// Times are zero, owners root; every header is text.
fn append(bytes: &mut Vec<u8>, inode: u32, name: &str, mode: u32, (major, minor): (u32, u32), content: &[u8]) {
    let size = u32::try_from(content.len()).expect("a program of a few megabytes");
    let name_size = u32::try_from(name.len() + 1).expect("a short name");
    let fields = [inode, mode, 0, 0, 1, 0, size, 0, 0, major, minor, name_size, 0];
    bytes.extend_from_slice(b"070701");
    fields.iter().for_each(|field| bytes.extend_from_slice(format!("{field:08x}").as_bytes()));
    bytes.extend_from_slice(name.as_bytes());
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_contents_lie_where_their_headers_say() {
        let bytes = archive(&[Entry::Dir("dev"), Entry::Program("init", b"hello")]);
        let field = |at: usize, number: usize| {
            let text = std::str::from_utf8(&bytes[at + 6 + 8 * number..][..8]).unwrap();
            usize::from_str_radix(text, 16).unwrap()
        };
        let second = (110 + 4_usize).next_multiple_of(4);
        assert_eq!((field(0, 11), field(second, 11), field(second, 6)), (4, 5, 5));
        assert_eq!(&bytes[second + 110..][..5], b"init\0");
        let content = (second + 110 + 5).next_multiple_of(4);
        assert_eq!(&bytes[content..][..5], b"hello");
        assert_eq!(bytes.len() % 4, 0);
        assert!(bytes.ends_with(b"TRAILER!!!\0\0\0\0"), "{:?}", String::from_utf8_lossy(&bytes[content..]));
    }
}
