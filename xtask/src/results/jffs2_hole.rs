//! The hole of jffs2 that showed what had been cut off (Metis, 2023): the published ops on a kernel with the fix, and
//! on one of the same source without it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::Laboratory;
use super::markdown::{count, table};
use crate::process;
use crate::shakedown::Summary;

const ABOUT: &str = "`shakedown check guest:jffs2 --ops corpus:jffs2-hole --crash off`: a file is written, cut, and
written to behind its new end in the same page. Without the fix the kernel writes down no hole between the two, and what
was cut off is there again after a remount. The second kernel is built from the same source, with the condition in
`jffs2_write_begin` put back (`shakedown kernel build --source`). What it shows is told in [findings.md](findings.md).

";

/// Debian's source of the kernel, which `shakedown kernel build` has installed by now.
const ARCHIVE: &str = "/usr/src/linux-source-6.1.tar.xz";
const FILE: &str = "fs/jffs2/file.c";
/// A hole is written down if the write begins behind the end; before the fix, if it begins in a page behind the end.
const FIXED: &str = "if (pos > inode->i_size) {";
const BEFORE: &str = "if (((loff_t)index << PAGE_SHIFT) > inode->i_size) {";
/// By which the second kernel is known.
const NAME: &str = "jffs2-without-fix";

/// Builds the second kernel, runs both, and renders the section.
pub fn section(laboratory: &Laboratory) -> Result<String> {
    let tree = tree_without_fix(laboratory)?;
    let mut build = laboratory.shakedown.command();
    process::run(build.args(["kernel", "build", "--name", NAME, "--source"]).arg(&tree))?;
    let without_fix = format!("guest:jffs2?kernel={NAME}");
    let run = |name: &str, target: &str| -> Result<(String, Summary)> {
        let arguments = [target, "--ops", "corpus:jffs2-hole", "--crash", "off"];
        Ok((target.to_owned(), laboratory.check_on(1, name, &arguments)?))
    };
    let runs = [run("jffs2-with-fix", "guest:jffs2")?, run(NAME, &without_fix)?];
    Ok(format!("{ABOUT}{}", rows(&runs)))
}

/// The source without the fix. It is kept, since another build of it takes seconds instead of minutes.
fn tree_without_fix(laboratory: &Laboratory) -> Result<PathBuf> {
    let tree = laboratory.kept.join(NAME);
    let file = tree.join(FILE);
    if !file.is_file() {
        fs::create_dir_all(&tree).with_context(|| format!("could not make {}", tree.display()))?;
        let mut tar = Command::new("tar");
        process::run(tar.args(["-xf", ARCHIVE, "--strip-components=1", "-C"]).arg(&tree))?;
    }
    take_out_fix(&file)?;
    Ok(tree)
}

fn take_out_fix(file: &Path) -> Result<()> {
    let source = fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
    if source.contains(BEFORE) {
        return Ok(());
    }
    ensure!(source.matches(FIXED).count() == 1, "could not find the fix in {}: `{FIXED}`", file.display());
    fs::write(file, source.replace(FIXED, BEFORE)).with_context(|| format!("could not write {}", file.display()))
}

fn rows(runs: &[(String, Summary)]) -> String {
    let row = |(target, summary): &(String, Summary)| {
        let found: Vec<String> = summary.violations.iter().map(|one| format!("`{}`", one.property)).collect();
        let found = if found.is_empty() { "nothing".to_owned() } else { found.join(", ") };
        [format!("`{target}`"), count(summary.ops), found]
    };
    table(["target", "ops", "found"], runs.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fix_is_taken_out_once_and_its_absence_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file.c");
        fs::write(&file, format!("\t{FIXED}\n")).unwrap();
        for _ in 0..2 {
            take_out_fix(&file).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), format!("\t{BEFORE}\n"));
        }
        fs::write(&file, "another source").unwrap();
        assert!(take_out_fix(&file).unwrap_err().to_string().contains("could not find the fix"));
    }

    #[test]
    fn what_was_found_stands_beside_the_kernel() {
        let runs = [("one".to_owned(), Summary::example(&[])), ("two".to_owned(), Summary::example(&["contents"]))];
        let text = rows(&runs);
        assert!(text.contains("| `one` | 30 | nothing |\n| `two` | 30 | `contents` |"), "{text}");
    }
}
