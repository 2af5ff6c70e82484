//! For each rule a text that breaks it and one that keeps it. A `~` is left out of a sample before use: it keeps
//! this file itself clear of the rules that read comments and literals.

use super::{RULES, Rule, Source};
use crate::workspace;

struct Sample {
    rule: &'static str,
    bad: (&'static str, String),
    good: (&'static str, String),
}

/// Two texts of a file.
fn sample(rule: &'static str, path: &'static str, bad: &str, good: &str) -> Sample {
    Sample { rule, bad: (path, bad.replace('~', "")), good: (path, good.replace('~', "")) }
}

/// Two places of a file.
fn places(rule: &'static str, bad: &'static str, good: &'static str) -> Sample {
    Sample { rule, bad: (bad, String::new()), good: (good, String::new()) }
}

fn function_of(lines: usize) -> String {
    format!("const fn long(x: [u8; 2]) -> u8 {{\n{}}}\nfn f();\n", "    g('{');\n".repeat(lines - 2))
}

fn samples() -> Vec<Sample> {
    let mut samples = vec![
        sample("opening", "a.rs", "use x;\n", "//! What it is.\n"),
        sample("file length", "a.rs", &"a;\n".repeat(601), &"a;\n".repeat(600)),
        sample("line width", "a.rs", &"ü".repeat(121), &"ü".repeat(120)),
        sample("function length", "a.rs", &function_of(101), &function_of(100)),
        places("module names", "src/utils.rs", "src/clock.rs"),
        places("module names", "src/common/mod.rs", "src/uncommon/mod.rs"),
        sample("module names", "a.rs", "pub(crate) mod helpers {", "mod helpers_of_none; // mod misc"),
        sample(
            "safety",
            "a.rs",
            "// Fast.\nunsafe { f() }",
            "// SAFETY: f is pure,\n// always.\nlet x = unsafe { f() };",
        ),
        sample("safety", "a.rs", "unsafe impl Send for X {}", "// unsafe { here }\nlet s = \"unsafe { there }\";"),
        sample("reasons", "a.rs", "#[allow(dead_code)]\nlet reason = 1;", "#[allow(dead_code, reason = \"x\")]"),
        sample("reasons", "a.rs", "#![expect(\n    x,\n)]", "#![expect(\n    x,\n    reason = \"(y)\"\n)]"),
        sample(
            "reasons",
            "a.rs",
            "#![allow(x)]\n#[expect(y, reason = \"z\")]",
            "#![allow(x, reason = \"z\")]\n#[test]\nf()",
        ),
        sample(
            "tasks",
            "a.md",
            "Run `cargo xtask fly`.",
            "`cargo xtask` has `cargo xtask ci`, cargo xtask bench --help.",
        ),
        sample("links", "docs/a.md", "See [it](../no-such-file.md#part).", "See [it](../Cargo.toml), `[x](y)`."),
        sample(
            "links",
            "a.md",
            "[a](Cargo.toml) [b](gone)",
            "[web](https://example.org) [here](#part)\n```\n[c](d)\n```",
        ),
    ];
    for word in ["to~do!()", "unimple~mented!()", "db~g!(x)", "#[ign~ore]", "// FIX~ME later"] {
        samples.push(sample("unfinished", "a.rs", word, "let s = \"todo!()\"; // dbg!(x)"));
    }
    for path in ["a.rs", "a.md", "a.toml"] {
        samples.push(sample("machine paths", path, "see /ho~me/me/x", "see /tmp/x and ~/x"));
    }
    for path in ["a.rs", "a.md"] {
        samples.push(sample("blanks", path, "a\tb\n", "a b\n"));
        samples.push(sample("blanks", path, "a \n", "a\n"));
        samples.push(sample("blanks", path, "a", "a\n\nb\n"));
    }
    samples
}

fn rule(name: &str, path: &str) -> &'static Rule {
    let found = RULES.iter().find(|rule| rule.name == name && path.ends_with(rule.extension));
    found.unwrap_or_else(|| panic!("no rule {name} for {path}"))
}

fn findings(name: &str, (path, text): &(&str, String)) -> usize {
    (rule(name, path).check)(&Source::new(workspace::root(), *path, text)).len()
}

#[test]
fn every_rule_trips_on_its_bad_sample_and_passes_its_good_one() {
    for Sample { rule, bad, good } in samples() {
        assert_eq!(findings(rule, &bad), 1, "{rule}: {bad:?}");
        assert_eq!(findings(rule, &good), 0, "{rule}: {good:?}");
    }
}

#[test]
fn every_rule_has_a_sample() {
    for rule in &RULES {
        let has_one = samples().iter().any(|it| it.rule == rule.name && it.bad.0.ends_with(rule.extension));
        assert!(has_one, "no sample for the rule about {} in .{} files", rule.name, rule.extension);
    }
}
