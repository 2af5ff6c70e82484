//! Where in a kernel an address lies, for people: a fault names one by its number alone.

use std::{path::Path, process::Command};

/// What stands before an address of code.
const MARK: &str = "ip 0x";

/// A text in which the function follows each address of code, as far as the program and `nm` tell.
pub(crate) fn with_functions(text: &str, program: &Path) -> String {
    let listed = text.contains(MARK).then(|| Command::new("nm").arg("-n").arg(program).output());
    match listed {
        Some(Ok(output)) => placed(text, &functions(&String::from_utf8_lossy(&output.stdout))),
        _ => text.to_owned(),
    }
}

/// The functions in a list of symbols, in its order.
fn functions(symbols: &str) -> Vec<(u64, &str)> {
    let function = |line| match str::split_whitespace(line).collect::<Vec<_>>()[..] {
        [address, "t" | "T", name] => Some((u64::from_str_radix(address, 16).ok()?, name)),
        _ => None,
    };
    symbols.lines().filter_map(function).collect()
}

fn placed(text: &str, functions: &[(u64, &str)]) -> String {
    let mut parts = text.split(MARK);
    let mut placed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(part.len());
        let (digits, rest) = part.split_at(end);
        let address = u64::from_str_radix(digits, 16).unwrap_or_default();
        let function = functions.iter().rfind(|(start, _)| *start <= address);
        let named = function.map_or_else(String::new, |(start, name)| format!(" ({name}+0x{:x})", address - start));
        placed.extend([MARK, digits, &named, rest]);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_code_is_followed_by_its_function() {
        let listed = functions("60000000 T first\n60000010 d data\n60000020 t second\n                 U other\n");
        assert_eq!(listed, [(0x6000_0000, "first"), (0x6000_0020, "second")]);
        let text = "fault at addr 0xe0, ip 0x60000024\nand ip 0x6000001f, ip 0x1";
        let expected = "fault at addr 0xe0, ip 0x60000024 (second+0x4)\nand ip 0x6000001f (first+0x1f), ip 0x1";
        assert_eq!(placed(text, &listed), expected);
        assert_eq!(with_functions(text, Path::new("/nonexistent")), text);
    }
}
