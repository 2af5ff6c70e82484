//! Weights as a file: TOML, of which nothing is ignored.

use std::{collections::BTreeMap, fmt, str::FromStr, sync::Arc};

use toml::{Table as Toml, Value};

use super::{
    Table, Weights,
    argument::{Argument, Asked, Domain, FLAGS, KNOWN, Known, Partition},
    distribution::Distribution,
    number::NumberPart,
    pool::{PATHS_MAX, Pool, PoolSize},
};
use crate::{OpKind, nearest::Suggestion};

/// A file that says nothing that could be drawn from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WeightsError(String);

fn wrong(what: impl fmt::Display) -> WeightsError {
    WeightsError(what.to_string())
}

/// Ops drawn in each state, if the file does not say how many.
const DRAWS: u64 = 8;
const DRAWS_MAX: u64 = 10_000;
const SLOTS: u64 = 2;
const NUMBER_MAX: u64 = 1 << 62;
/// The longest path that Linux takes. A longer name is refused like one that is longer by one byte.
const PATH_BYTES_MAX: u64 = 4096;
/// Paths of so many components, each as short as `/d0` and the last as long as a name can be, are short enough for
/// Linux. Of longer ones, who has such a limit says something else than who has none.
const DEPTH_MAX: u64 = 1024;

impl FromStr for Weights {
    type Err = WeightsError;

    fn from_str(text: &str) -> Result<Self, WeightsError> {
        let file: Toml = text.parse().map_err(|error: toml::de::Error| wrong(in_a_line(text, &error)))?;
        let own = ["draws", "ops", "paths"];
        let kinds =
            OpKind::ALL.iter().map(|kind| kind.name()).filter(|kind| KNOWN.iter().any(|one| one.op.name() == *kind));
        known_only(&file, "the file", own.into_iter().chain(kinds))?;
        let ops = ops(table(&file, "ops")?.ok_or_else(|| wrong("it has no [ops]: name at least one"))?)?;
        let paths = table(&file, "paths")?.cloned().unwrap_or_default();
        known_only(&paths, "[paths]", PATHS.into_iter())?;
        let default = PoolSize::default();
        let number = |name, default| whole(&paths, "[paths]", name, default);
        let at_most = |most: u64, name, default| {
            let found = number(name, default)?;
            let too_much = || wrong(format!("{name} in [paths] is {found}, which is more than {most}"));
            (found <= most).then_some(found).ok_or_else(too_much)
        };
        let size = PoolSize {
            files: number("files", default.files)?,
            dirs: number("dirs", default.dirs)?,
            depth: at_most(DEPTH_MAX, "depth", default.depth)?,
            long: number("long", default.long)?,
            long_bytes: at_most(PATH_BYTES_MAX, "long_bytes", default.long_bytes)?,
            many: number("many", default.many)?,
            other: share(&paths, "other", default.other)?,
        };
        let slots = u8::try_from(number("slots", SLOTS)?).ok().filter(|slots| *slots > 0);
        let opens = ops.iter().any(|(kind, share)| *kind == OpKind::Open && *share > 0.0);
        let by_slot = share(&paths, "by_slot", if opens { 0.5 } else { 0.0 })?;
        let draws = whole(&file, "the file", "draws", DRAWS)?;
        if !(1..=DRAWS_MAX).contains(&draws) {
            return Err(wrong(format!("draws is a number from 1 to {DRAWS_MAX}")));
        }
        let table = Table {
            text: text.to_owned(),
            draws: usize::try_from(draws).unwrap_or(usize::MAX),
            op_partitions: ops
                .iter()
                .map(|(kind, asked)| Partition { name: kind.name().to_owned(), asked: *asked })
                .collect(),
            ops,
            arguments: arguments(&file)?,
            pool: Pool::new(size)
                .ok_or_else(|| wrong(format!("[paths] has no files, or more than {PATHS_MAX} paths")))?,
            slots: slots.ok_or_else(|| wrong("slots in [paths] is a number from 1 to 255"))?,
            by_slot,
        };
        Ok(Self(Arc::new(table)))
    }
}

const PATHS: [&str; 9] = ["files", "dirs", "depth", "long", "long_bytes", "many", "other", "slots", "by_slot"];

/// What TOML has to say, and of which line, without its drawing of it.
fn in_a_line(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
    let message = message.trim_end_matches('.');
    match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => format!("line {}: {message}", before.matches('\n').count() + 1),
        None => message.to_owned(),
    }
}

/// Refuses a key that stands for nothing, and names the nearest one that does.
fn known_only(
    table: &Toml,
    place: &str,
    known: impl Iterator<Item = &'static str> + Clone,
) -> Result<(), WeightsError> {
    match table.keys().find(|key| !known.clone().any(|known| known == *key)) {
        None => Ok(()),
        Some(key) => {
            let nearest = Suggestion::of(key, known.clone());
            let all = || format!("; there are {}", known.collect::<Vec<_>>().join(", "));
            let hint = nearest.word().map_or_else(all, |_| nearest.to_string());
            Err(wrong(format!("{place} has no {key:?}{hint}")))
        }
    }
}

fn table<'t>(file: &'t Toml, name: &str) -> Result<Option<&'t Toml>, WeightsError> {
    match file.get(name) {
        None => Ok(None),
        Some(Value::Table(table)) => Ok(Some(table)),
        Some(_) => Err(wrong(format!("{name} is a table: [{name}]"))),
    }
}

fn whole(table: &Toml, place: &str, name: &str, default: u64) -> Result<u64, WeightsError> {
    let Some(value) = table.get(name) else { return Ok(default) };
    let number = value.as_integer().and_then(|number| u64::try_from(number).ok());
    match number {
        Some(number) if number <= NUMBER_MAX => Ok(number),
        Some(_) => Err(wrong(format!("{name} in {place} is {value}, which is more than {NUMBER_MAX}"))),
        None => Err(wrong(format!("{name} in {place} is {value}, which is no whole number from 0 on"))),
    }
}

fn number(value: &Value) -> Option<f64> {
    let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64))?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

fn share(table: &Toml, name: &str, default: f64) -> Result<f64, WeightsError> {
    let Some(value) = table.get(name) else { return Ok(default) };
    let share = number(value).filter(|share| *share <= 1.0);
    share.ok_or_else(|| wrong(format!("{name} in [paths] is {value}, which is no share from 0 to 1")))
}

/// The kinds with their shares.
fn ops(table: &Toml) -> Result<Vec<(OpKind, f64)>, WeightsError> {
    let kinds = OpKind::ALL.iter().filter(|kind| **kind != OpKind::Crash).map(|kind| kind.name());
    known_only(table, "[ops]", kinds)?;
    let mut ops = Vec::new();
    for (name, value) in table {
        let weight = number(value).ok_or_else(|| wrong(format!("{name} in [ops] is {value}, which is no weight")))?;
        ops.extend(OpKind::from_name(name).map(|kind| (kind, weight)));
    }
    let sum: f64 = ops.iter().map(|(_, weight)| weight).sum();
    if sum <= 0.0 {
        return Err(wrong("[ops] has no op with a weight"));
    }
    if !sum.is_finite() {
        return Err(wrong("[ops] has weights that are too large to be added up"));
    }
    ops.iter_mut().for_each(|(_, weight)| *weight /= sum);
    ops.retain(|(_, weight)| *weight > 0.0);
    Ok(ops)
}

/// Every argument, asked for or not.
fn arguments(file: &Toml) -> Result<BTreeMap<(OpKind, &'static str), Argument>, WeightsError> {
    let mut arguments = BTreeMap::new();
    for kind in OpKind::ALL {
        let of_kind = || KNOWN.iter().filter(|known| known.op == *kind);
        let asked = table(file, kind.name())?.cloned().unwrap_or_default();
        known_only(&asked, &format!("[{kind}]"), of_kind().map(|known| known.name))?;
        for known in of_kind() {
            let place = format!("[{kind}.{}]", known.name);
            let argument = argument(*known, table(&asked, known.name)?, &place)?;
            arguments.insert((*kind, known.name), argument);
        }
    }
    Ok(arguments)
}

fn argument(known: Known, table: Option<&Toml>, place: &str) -> Result<Argument, WeightsError> {
    let mut asked = Asked::default();
    for (key, value) in table.into_iter().flatten() {
        match (key.as_str(), known.domain) {
            ("distribution", _) => asked.distribution = Some(distribution(value, place)?),
            ("max", Domain::Number(_)) => asked.max = table.map(|table| whole(table, place, "max", 0)).transpose()?,
            _ => {
                let name = partition(known.domain, key, place)?;
                let weight = number(value)
                    .filter(|weight| known.domain != Domain::Flags || *weight <= 1.0)
                    .ok_or_else(|| wrong(format!("{key} in {place} is {value}, which is no weight")))?;
                if asked.weights.iter().any(|(other, _)| *other == name) {
                    return Err(wrong(format!("{place} has {name} twice, in two spellings")));
                }
                asked.weights.push((name, weight));
            }
        }
    }
    let argument = Argument::new(known, &asked);
    let beyond = asked.weights.iter().find(|(name, _)| !argument.partitions.iter().any(|part| part.name == *name));
    if let Some((name, _)) = beyond {
        return Err(wrong(format!("{name} in {place} is beyond its max, {}", argument.max)));
    }
    if !argument.is_possible() {
        return Err(wrong(format!("{place} leaves nothing that could be drawn")));
    }
    let syncs = |name: &str| argument.partitions.iter().find(|part| part.name == name).map_or(0.0, |part| part.asked);
    if syncs("O_SYNC") + syncs("O_DSYNC") > 1.0 {
        return Err(wrong(format!("{place} asks for O_SYNC and O_DSYNC together, but the first includes the second")));
    }
    Ok(argument)
}

fn distribution(value: &Value, place: &str) -> Result<Distribution, WeightsError> {
    let name = value.as_str().ok_or_else(|| wrong(format!("distribution in {place} is {value}, which is no name")))?;
    Distribution::from_name(name).map_err(|nearest| wrong(format!("{place} has no distribution {name:?}{nearest}")))
}

/// The name of a partition, as it is written in results.
fn partition(domain: Domain, key: &str, place: &str) -> Result<String, WeightsError> {
    let among = |known: &[&'static str]| {
        let nearest = || Suggestion::of(key, known.iter().copied());
        let found = known.contains(&key).then(|| key.to_owned());
        found.ok_or_else(|| wrong(format!("{place} has no {key:?}{}", nearest())))
    };
    match domain {
        Domain::Flags => among(&FLAGS.map(|(name, _)| name)),
        Domain::Words(words) => among(words),
        Domain::Modes(_) => u32::from_str_radix(key, 8)
            .ok()
            .filter(|mode| *mode <= 0o7777)
            .map(|mode| format!("{mode:04o}"))
            .ok_or_else(|| wrong(format!("{place} has no {key:?}; a mode is octal, such as \"0644\""))),
        Domain::Number(_) => key.parse::<NumberPart>().map(|part| part.to_string()).map_err(|()| {
            wrong(format!("{place} has no {key:?}; its partitions are \"0\", \"2^12\", \"2^12+\" and \"2^12-\""))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_named_with_what_is_near() {
        let cases = [
            ("", "it has no [ops]"),
            ("[ops]\n", "no op with a weight"),
            ("[ops]\ncreat = 1\n", "[ops] has no \"creat\"; the nearest is \"create\""),
            ("[ops]\ncrash = 1\n", "[ops] has no \"crash\""),
            ("[ops]\ncreate = 1e308\nwrite = 1e308\n", "too large to be added up"),
            ("[ops]\nwrite = 1\n[write.len]\n\"2^1\" = 1e308\n\"2^2\" = 1e308\n", "leaves nothing"),
            ("[ops]\nwrite = 1\n[write.len]\n\"2^12\" = 1\n\"2^012\" = 1\n", "[write.len] has 2^12 twice"),
            ("[ops]\nchmod = 1\n[chmod.mode]\n0644 = 1\n644 = 2\n", "[chmod.mode] has 0644 twice"),
            ("[ops]\nsync = 1\n[paths]\nlong = 1\nlong_bytes = 4097\n", "long_bytes in [paths] is 4097, which is more"),
            ("[ops]\nsync = 1\n[paths]\ndirs = 0\ndepth = 1025\n", "depth in [paths] is 1025, which is more"),
            ("draws = -1\n[ops]\nsync = 1\n", "draws in the file is -1, which is no whole number from 0 on"),
            (
                "[ops]\nwrite = 1\n[write.len]\nmax = 4611686018427387905\n",
                "max in [write.len] is 4611686018427387905, which is more than 4611686018427387904",
            ),
            ("[ops]\ncreate = -1\n", "create in [ops] is -1, which is no weight"),
            ("[ops]\ncreate = \"x\"\n", "which is no weight"),
            ("[opps]\n", "the file has no \"opps\"; the nearest is \"ops\""),
            ("[ops]\nwrite = 1\n[write.length]\n", "[write] has no \"length\"; the nearest is \"len\""),
            ("[ops]\nwrite = 1\n[write.len]\n\"2^-3\" = 1\n", "[write.len] has no \"2^-3\""),
            ("[ops]\nwrite = 1\n[write.len]\nmax = 16\n\"2^12\" = 1\n", "2^12 in [write.len] is beyond its max, 16"),
            ("[ops]\nwrite = 1\n[write.len]\n\"2^12\" = 0\n", "leaves nothing that could be drawn"),
            ("[ops]\nwrite = 1\n[write.len]\ndistribution = \"unifrom\"\n", "the nearest is \"uniform\""),
            ("[ops]\nwrite = 1\n[write.via]\ndircet = 1\n", "[write.via] has no \"dircet\"; the nearest is \"direct\""),
            ("[ops]\nopen = 1\n[open.flags]\nO_CREATE = 1\n", "the nearest is \"O_CREAT\""),
            ("[ops]\nopen = 1\n[open.flags]\nO_CREAT = 1.5\n", "which is no weight"),
            ("[ops]\nopen = 1\n[open.flags]\nO_SYNC = 0.9\nO_DSYNC = 0.2\n", "asks for O_SYNC and O_DSYNC together"),
            ("[ops]\nchmod = 1\n[chmod.mode]\n999 = 1\n", "a mode is octal"),
            ("[ops]\nsync = 1\n[paths]\nfile = 3\n", "[paths] has no \"file\"; the nearest is \"files\""),
            ("[ops]\nsync = 1\n[paths]\nother = 2\n", "no share from 0 to 1"),
            ("[ops]\nsync = 1\n[paths]\nslots = 0\n", "slots in [paths] is a number from 1 to 255"),
            ("draws = 0\n[ops]\nsync = 1\n", "draws is a number from 1"),
            ("ops = 3\n", "ops is a table"),
            ("[ops\n", "line 1: "),
            ("[ops]\ncreate = 1\nwrite == 2\n", "line 3: "),
            ("[ops]\nsync = 1\nsync = 2\n", "line 3: "),
        ];
        for (text, expected) in cases {
            let error = text.parse::<Weights>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn the_deepest_path_that_can_be_asked_for_is_short_enough() {
        let text = format!("[ops]\ncreate = 1\n[paths]\nfiles = 1\ndirs = 1\nlong = 1\ndepth = {DEPTH_MAX}\n");
        let weights: Weights = text.parse().unwrap();
        assert!((1..PATH_BYTES_MAX).contains(&(weights.0.pool.path_bytes_max() as u64)));
    }

    #[test]
    fn what_is_not_said_has_its_default() {
        let weights: Weights = "[ops]\nwrite = 3\nsync = 1\n".parse().unwrap();
        assert_eq!(weights.ops().to_string(), "write,sync");
        assert_eq!(weights.0.draws, 8);
        let shares: Vec<String> =
            weights.op_partitions().iter().map(|one| format!("{} {}", one.name, one.asked)).collect();
        assert_eq!(shares, ["sync 0.25", "write 0.75"]);
    }
}
