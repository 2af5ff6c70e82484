//! Names as the kernel gives them and as the reference keeps them.
//!
//! To the kernel a name is any bytes; to the reference it is text. Nearly all names are both. A byte that is not part
//! of a character stands for itself as one of 256 characters at the end of the private use area, and so does each byte
//! of those characters themselves. So every name has a text of its own and comes back as it was.

use std::{borrow::Cow, ffi::OsStr, os::unix::ffi::OsStrExt as _};

use vfs::Errno;

/// Bytes of the longest name.
pub const NAME_MAX: usize = 255;
/// Bytes that the text of the longest name may have: four for each byte.
pub const TEXT_MAX: usize = NAME_MAX * 4;

/// The character that stands for the byte 0.
const FIRST: u32 = 0x10_FF00;

fn stands_for_byte(character: char) -> Option<u8> {
    u8::try_from(u32::from(character).checked_sub(FIRST)?).ok()
}

fn standing_for(byte: u8) -> char {
    char::from_u32(FIRST + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The text of some bytes.
pub fn text(bytes: &OsStr) -> Cow<'_, str> {
    let bytes = bytes.as_bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains(|character| stands_for_byte(character).is_some()) => Cow::Borrowed(text),
        _ => Cow::Owned(spelled(bytes)),
    }
}

fn spelled(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match stands_for_byte(character) {
                None => text.push(character),
                Some(_) => text.extend(character.encode_utf8(&mut [0; 4]).bytes().map(standing_for)),
            }
        }
        text.extend(chunk.invalid().iter().copied().map(standing_for));
    }
    text
}

/// The text of a name in a directory.
///
/// # Errors
/// `ENAMETOOLONG`.
pub fn name(bytes: &OsStr) -> Result<Cow<'_, str>, Errno> {
    if bytes.len() > NAME_MAX { Err(Errno::ENAMETOOLONG) } else { Ok(text(bytes)) }
}

/// The bytes of a text.
pub fn bytes(text: &str) -> Cow<'_, [u8]> {
    if !text.contains(|character| stands_for_byte(character).is_some()) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match stands_for_byte(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_name_comes_back_and_no_two_share_a_text() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut texts: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let pieces: [&[u8]; 8] =
            [b"a", &[0xff], "ä".as_bytes(), &[0xc3], "\u{10ff00}".as_bytes(), &[0xf4], &[0x8f], &[0xbc, 0x80]];
        for _ in 0..20_000 {
            let name: Vec<u8> =
                (0..random.usize(1..5)).flat_map(|_| random.choice(pieces).unwrap().iter().copied()).collect();
            let text = text(OsStr::from_bytes(&name)).into_owned();
            assert_eq!(bytes(&text), name);
            let known = texts.entry(text).or_insert_with(|| name.clone());
            assert_eq!(*known, name);
        }
        assert_eq!(text(OsStr::new("plain")), "plain");
    }

    #[test]
    fn lengths_count_bytes() {
        assert!(name(OsStr::from_bytes(&[0xff; NAME_MAX])).is_ok_and(|text| text.len() == TEXT_MAX));
        assert_eq!(name(OsStr::from_bytes(&[b'a'; NAME_MAX + 1])), Err(Errno::ENAMETOOLONG));
    }
}
