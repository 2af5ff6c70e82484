//! The rule on dependencies: permissive licences only, and from crates.io only.
//!
//! `deny.toml` says which licences; `cargo metadata` says what each crate declares. That needs nothing but cargo and
//! takes no time, so it holds in every CI. Known vulnerabilities are another matter: they are a list that somebody else
//! keeps, and `cargo deny` has to fetch it.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::process;
use crate::workspace::{cargo, root};

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// A crate that is built into something of ours.
#[derive(Debug, Deserialize)]
pub struct Crate {
    /// Its name.
    pub name: String,
    /// What it declares, as an SPDX expression.
    pub license: Option<String>,
    /// Where it is from; nothing for a member of the workspace.
    pub source: Option<String>,
}

/// All crates that any member could need, for any platform and with any feature.
///
/// # Errors
/// When cargo cannot read the workspace.
pub fn crates() -> Result<Vec<Crate>> {
    #[derive(Deserialize)]
    struct Whole {
        packages: Vec<Crate>,
    }
    let text = process::capture(cargo().args(["metadata", "--format-version", "1", "--all-features", "--locked"]))?;
    let whole: Whole = serde_json::from_str(&text).context("could not read the answer of cargo metadata")?;
    Ok(whole.packages)
}

/// The licences that `deny.toml` allows.
///
/// # Errors
/// When it has no such list.
pub fn allowed() -> Result<Vec<String>> {
    let text = fs::read_to_string(root().join("deny.toml")).context("could not read deny.toml")?;
    let list = text.split_once("\nallow = [").and_then(|(_, rest)| rest.split_once(']')).map(|(list, _)| list);
    let list = list.context("could not find the licences in deny.toml: it has no `allow = [`")?;
    let allowed: Vec<String> = list.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    ensure!(!allowed.is_empty(), "could not find the licences in deny.toml: its list is empty");
    Ok(allowed)
}

/// Every crate that breaks the rule, each as a sentence.
pub fn breaches(crates: &[Crate], allowed: &[String]) -> Vec<String> {
    let foreign = crates.iter().filter_map(|one| one.source.as_ref().map(|source| (one, source)));
    let complaint = |(Crate { name, license, .. }, source): (&Crate, &String)| match license {
        _ if source != CRATES_IO => Some(format!("{name} is from {source}, not from crates.io")),
        None => Some(format!("{name} declares no licence")),
        Some(license) if !is_allowed(license, allowed) => Some(format!("{name} has the licence {license}")),
        Some(_) => None,
    };
    foreign.filter_map(complaint).collect()
}

/// Whether an SPDX expression can be satisfied with these licences. `A/B` is how `A OR B` used to be written.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let satisfied = either(&mut rest, allowed);
    satisfied && rest.is_empty()
}

/// Terms joined by `OR`.
fn either(words: &mut &[&str], allowed: &[String]) -> bool {
    let mut satisfied = both(words, allowed);
    while skip("OR", words) {
        satisfied |= both(words, allowed);
    }
    satisfied
}

/// Terms joined by `AND`.
fn both(words: &mut &[&str], allowed: &[String]) -> bool {
    let mut satisfied = one(words, allowed);
    while skip("AND", words) {
        satisfied &= one(words, allowed);
    }
    satisfied
}

/// A licence, perhaps with an exception, or an expression in brackets.
fn one(words: &mut &[&str], allowed: &[String]) -> bool {
    if skip("(", words) {
        let satisfied = either(words, allowed);
        return skip(")", words) && satisfied;
    }
    let Some((name, rest)) = words.split_first() else { return false };
    *words = rest;
    let exception = skip("WITH", words).then(|| words.split_first()).flatten();
    let name = exception.map_or_else(|| (*name).to_owned(), |(exception, _)| format!("{name} WITH {exception}"));
    if let Some((_, rest)) = exception {
        *words = rest;
    }
    allowed.contains(&name)
}

fn skip(word: &str, words: &mut &[&str]) -> bool {
    let is_next = words.first() == Some(&word);
    if is_next {
        *words = &words[1..];
    }
    is_next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_allowed_if_one_of_its_ways_is() {
        let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Zlib"].map(str::to_owned);
        let cases = [
            ("MIT", true),
            ("GPL-3.0-only", false),
            ("MIT OR GPL-3.0-only", true),
            ("MIT/Apache-2.0", true),
            ("MIT AND GPL-3.0-only", false),
            ("(MIT OR Apache-2.0) AND Zlib", true),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", false),
            ("Zlib OR GPL-2.0-only WITH Classpath-exception-2.0", true),
            ("Apache-2.0 WITH LLVM-exception OR MPL-2.0", true),
            ("MIT WITH something-else", false),
            ("MIT OR", true),
            ("MIT Apache-2.0", false),
            ("(MIT", false),
            ("", false),
        ];
        for (expression, expected) in cases {
            assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
        }
    }

    #[test]
    fn each_breach_is_named() {
        let one = |license: Option<&str>, source: Option<&str>| Crate {
            name: "one".to_owned(),
            license: license.map(str::to_owned),
            source: source.map(str::to_owned),
        };
        let allowed = ["MIT".to_owned()];
        let breach = |license, source| breaches(&[one(license, source)], &allowed).pop();
        assert_eq!(breach(Some("MIT"), Some(CRATES_IO)), None);
        assert_eq!(breach(None, None), None, "a member of the workspace");
        assert_eq!(breach(None, Some(CRATES_IO)).unwrap(), "one declares no licence");
        assert_eq!(breach(Some("AGPL-3.0"), Some(CRATES_IO)).unwrap(), "one has the licence AGPL-3.0");
        assert_eq!(
            breach(Some("MIT"), Some("git+somewhere")).unwrap(),
            "one is from git+somewhere, not from crates.io"
        );
    }
}
