//! Where in a kernel an address lies, for people: a fault names one by its number alone.

use std::{path::Path, process::Command};

/// What stands before an address of code.
const MARK: &str = "ip 0x";
/// What stands where the code ends.
const END: &str = "_etext";

/// The functions of a kernel, in the order of their addresses.
#[derive(Debug, Default)]
pub(crate) struct Symbols(Vec<(u64, String)>);

impl Symbols {
    /// Those of a program, as far as it and `nm` tell: none, if it was stripped of them.
    pub fn of(program: &Path) -> Self {
        let listed = Command::new("nm").arg("-n").arg(program).output();
        listed.map(|output| Self::listed(&String::from_utf8_lossy(&output.stdout))).unwrap_or_default()
    }

    /// The functions in a list of symbols, in its order.
    pub fn listed(symbols: &str) -> Self {
        let function = |line| match str::split_whitespace(line).collect::<Vec<_>>()[..] {
            [address, "t" | "T" | "W", name] => Some((u64::from_str_radix(address, 16).ok()?, name.to_owned())),
            _ => None,
        };
        Self(symbols.lines().filter_map(function).collect())
    }

    /// Whether nothing has a name.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The function in which an address lies, and how far behind its start.
    pub fn name(&self, address: u64) -> Option<String> {
        let behind = self.0.partition_point(|(start, _)| *start <= address);
        let (start, name) = self.0.get(behind.checked_sub(1)?)?;
        (name != END).then(|| format!("{name}+0x{:x}", address - start))
    }
}

/// A text in which the function follows each address of code, as far as the program and `nm` tell.
pub(crate) fn with_functions(text: &str, program: &Path) -> String {
    if text.contains(MARK) { placed(text, &Symbols::of(program)) } else { text.to_owned() }
}

fn placed(text: &str, symbols: &Symbols) -> String {
    let mut parts = text.split(MARK);
    let mut placed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(part.len());
        let (digits, rest) = part.split_at(end);
        let address = u64::from_str_radix(digits, 16).unwrap_or_default();
        let named = symbols.name(address).map_or_else(String::new, |name| format!(" ({name})"));
        placed.extend([MARK, digits, &named, rest]);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_code_is_followed_by_its_function() {
        let list = "60000000 T first\n60000010 d data\n60000020 t second\n60000030 T _etext\n         U other\n";
        let symbols = Symbols::listed(list);
        let text = "fault at addr 0xe0, ip 0x60000024\nand ip 0x6000001f, ip 0x1, ip 0x60000030";
        let expected = "fault at addr 0xe0, ip 0x60000024 (second+0x4)\nand ip 0x6000001f (first+0x1f), ip 0x1, \
                        ip 0x60000030";
        assert_eq!(placed(text, &symbols), expected);
        assert_eq!(with_functions(text, Path::new("/nonexistent")), text);
        assert!(Symbols::of(Path::new("/nonexistent")).is_empty());
    }
}
