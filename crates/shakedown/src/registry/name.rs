//! Reads the name of a target, and says what was meant where it cannot.

use vfs::nearest::Suggestion;

use super::{
    Chosen, Entry, TARGETS, TargetOption,
    commands::{self, COMMAND, FUSE},
    idle,
    quoted::{split, split_once, unquoted},
};

/// A name that stands for no target.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownTarget(String);

impl std::fmt::Display for UnknownTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnknownTarget {}

pub fn parse(name: &str) -> Result<(&'static Entry, Chosen), UnknownTarget> {
    let wrong = |what: String| UnknownTarget(format!("use the target {name:?}: {what}"));
    let (plain, options) = split_once(name, '?').map_or((name, None), |(plain, options)| (plain, Some(options)));
    let (plain, command) = command(plain);
    let entry = entry(plain).map_err(wrong)?;
    let mut given: Vec<(&'static str, String)> = Vec::new();
    if let Some(command) = command {
        let command = unquoted(command).ok_or_else(|| wrong("the quotes of its command do not match".to_owned()))?;
        given.push((COMMAND, command));
    }
    for word in options.into_iter().flat_map(|options| split(options, ',')) {
        let (option, value) = option(entry, word).map_err(wrong)?;
        if given.iter().any(|(earlier, _)| *earlier == option.name) {
            return Err(wrong(format!("the option {:?} is given twice", option.name)));
        }
        given.push((option.name, value));
    }
    let chosen = Chosen::with(entry.options, &given);
    let complaint = if entry.name == FUSE.name { commands::complain(&chosen) } else { None };
    match complaint.or_else(|| idle::complain(entry.name, &chosen)) {
        Some(complaint) => Err(wrong(complaint)),
        None => Ok((entry, chosen)),
    }
}

/// What stands behind the colon, if that is a command.
fn command(plain: &str) -> (&str, Option<&str>) {
    match plain.split_once(':') {
        Some((scheme, command)) if scheme == FUSE.name => (scheme, Some(command)),
        _ => (plain, None),
    }
}

fn entry(plain: &str) -> Result<&'static Entry, String> {
    if let Some(entry) = TARGETS.iter().find(|entry| entry.name == plain) {
        return Ok(entry);
    }
    let names = TARGETS.map(|entry| entry.name);
    let schemes = names.map(|name| name.split_once(':').map_or(name, |(scheme, _)| scheme));
    if let Some((scheme, rest)) = plain.split_once(':')
        && !schemes.contains(&scheme)
    {
        // A good name behind a wrong scheme is the better hint.
        let nearest = names.into_iter().find(|name| name.split_once(':').is_some_and(|(_, known)| known == rest));
        let hint = nearest.map_or_else(
            || ending(&Suggestion::of(scheme, schemes), &schemes[..1]),
            |name| format!("; the nearest is {name:?}"),
        );
        return Err(format!("there is no scheme {scheme:?}{hint}"));
    }
    let without_scheme = names.into_iter().find(|name| name.split_once(':').is_some_and(|(_, known)| known == plain));
    let hint = without_scheme
        .map_or_else(|| ending(&Suggestion::of(plain, names), &names), |name| format!("; the nearest is {name:?}"));
    Err(format!("there is no such target{hint}"))
}

fn option(entry: &'static Entry, word: &str) -> Result<(&'static TargetOption, String), String> {
    let names: Vec<&'static str> = entry.options.iter().map(|option| option.name).collect();
    if names.is_empty() {
        return Err(format!("{} has no options", entry.name));
    }
    let Some((name, value)) = word.split_once('=') else {
        return Err(format!("{word:?} is no option; one looks like {}={}", names[0], entry.options[0].fallback.says()));
    };
    let Some(option) = entry.options.iter().find(|option| option.name == name) else {
        let nearest = Suggestion::of(name, names.iter().copied());
        return Err(format!("{} has no option {name:?}{}", entry.name, ending(&nearest, &names)));
    };
    let accepted = option.values.accept(value).ok_or_else(|| {
        let nearest = Suggestion::of(value, option.values.words().iter().copied());
        format!("{name} cannot be {value:?}, only {}{nearest}", option.values)
    })?;
    Ok((option, accepted))
}

/// The nearest word, or all of them where none is near.
fn ending(nearest: &Suggestion, known: &[&str]) -> String {
    match nearest.word() {
        Some(_) => nearest.to_string(),
        None if known.len() == 1 => format!("; there is {}", known[0]),
        None => format!("; there are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(name: &str) -> String {
        parse(name).err().expect("a wrong name").to_string()
    }

    #[test]
    fn options_that_are_not_given_have_their_defaults() {
        let (entry, chosen) = parse("model:link?writes=naive,threads=2").unwrap();
        assert_eq!(entry.name, "model:link");
        assert_eq!(chosen.to_string(), "writes=naive,threads=2,files=4,blocks=11,cache=2,symmetry=on");
        let (_, chosen) = parse("model:index?writes=barrier").unwrap();
        assert_eq!(chosen.word("cache"), "unlimited", "this default depends on another option");
    }

    #[test]
    fn a_command_stands_behind_the_colon() {
        let name = r#"fuse:"fuse2fs -o a,b {dev} {mnt}"?kib=64,mkfs="mke2fs -F {dev}""#;
        let (entry, chosen) = parse(name).unwrap();
        assert_eq!((entry.name, chosen.word("command")), ("fuse", "fuse2fs -o a,b {dev} {mnt}"));
        assert_eq!((chosen.word("kib"), chosen.word("mkfs"), chosen.word("fsck")), ("64", "mke2fs -F {dev}", ""));
        let full = super::super::Named::parse(name).unwrap().full_name();
        assert_eq!(parse(&full).unwrap().1, chosen, "{full}");
        assert_eq!(parse("fuse:ntfs-3g {dev} {mnt}").unwrap().1.word("command"), "ntfs-3g {dev} {mnt}");
    }

    #[test]
    fn options_that_make_a_difference_together_are_no_error() {
        let names = [
            "model:cow?flaw=super-not-flushed,commit=verify,log=on",
            "model:cow?flaw=stale-log,commit=verify",
            "model:journal?flaw=data-after-commit,data=writeback",
            "model:f2fs?forgets=summary,fsync=checkpoint",
            "model:link?threads=2,files=2",
            "fuse:\"f {store} {mnt}\"?mkfs=true,promises=atomic,kib=4096",
            "fuse:\"f {dev} {mnt}\"?fsck=true,repair=true,kib=64",
        ];
        names.iter().for_each(|name| drop(parse(name).unwrap()));
    }

    #[test]
    fn another_word_for_a_value_is_that_value() {
        let (_, chosen) = parse("model:philosophers?order=naive").unwrap();
        assert_eq!(chosen.to_string(), "n=5,order=left");
    }

    #[test]
    fn an_error_names_what_is_near() {
        let cases = [
            ("model:lnk", "the nearest is \"model:link\""),
            ("link", "the nearest is \"model:link\""),
            ("modle:lnk", "there is no scheme \"modle\"; the nearest is \"model\""),
            ("hots:zfs", "there is no scheme \"hots\"; the nearest is \"host\""),
            ("hots:xfs", "the nearest is \"guest:xfs\""),
            ("fuse:\"fuse2fs {dev} {mnt}", "the quotes of its command do not match"),
            ("fuse:\"fuse2fs {dev}\"?command=x", "the option \"command\" is given twice"),
            ("fuse:true", "its command has no {mnt}, the place where it is to be mounted"),
            ("fs:index", "the nearest is \"model:index\""),
            ("something else", "there are model:link, model:index, model:philosophers"),
            ("model:link?wirtes=naive", "no option \"wirtes\"; the nearest is \"writes\""),
            ("model:link?writes=nave", "only naive|cached|ordered|barrier; the nearest is \"naive\""),
            ("model:link?files=9", "files cannot be \"9\", only 1..8"),
            ("model:link?files=-1", "files cannot be \"-1\""),
            ("model:link?cache=unlimitd", "the nearest is \"unlimited\""),
            ("model:link?threads=1,threads=2", "the option \"threads\" is given twice"),
            ("model:link?naive", "\"naive\" is no option; one looks like writes=ordered"),
            ("model:link?", "\"\" is no option"),
            ("model:cow?flaw=stale-log,log=off", "flaw=stale-log does nothing with log=off: it is a flaw of the log"),
            ("model:cow?flaw=data-unchecked,commit=barrier", "does nothing with commit=barrier"),
            ("model:cow?flaw=no-barrier,commit=verify", "does nothing with commit=verify"),
            ("model:cow?flaw=super-not-flushed,commit=verify", "does nothing with commit=verify"),
            ("model:journal?flaw=stale-data,data=ordered", "flaw=stale-data does nothing with data=ordered"),
            ("model:journal?flaw=data-after-commit,data=journal", "does nothing with data=journal"),
            ("model:journal?flaw=unescape-wrong-block,data=ordered", "does nothing with data=ordered"),
            ("model:f2fs?forgets=parent,fsync=checkpoint", "forgets=parent does nothing with fsync=checkpoint"),
            ("model:f2fs?nids=immediate,fsync=checkpoint", "nids=immediate does nothing with fsync=checkpoint"),
            ("model:link?threads=2,files=1", "threads=2 does nothing with files=1"),
            ("model:index?files=1,threads=2", "threads=2 does nothing with files=1"),
            (
                "fuse:\"f {store} {mnt}\"?fsck=true",
                "fsck=true does nothing with command=f {store} {mnt}: it has no {dev}",
            ),
            ("fuse:\"f {mnt}\"?repair=true", "repair=true does nothing with command=f {mnt}: it has no {dev}"),
            ("fuse:\"f {mnt}\"?kib=64", "kib=64 does nothing with command=f {mnt}: it has no {dev}"),
            ("ref?x=1", "ref has no options"),
            ("", "there is no such target"),
        ];
        for (name, expected) in cases {
            assert!(error(name).contains(expected), "{}", error(name));
        }
    }
}
