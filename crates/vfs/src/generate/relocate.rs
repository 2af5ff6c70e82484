//! The part of the object-based generator that moves and shares objects: renames and links, which need two places.

use super::object::{Generator, Named};
use crate::{Op, OpKind, Path, Rename};

/// Renames of this name: to the vacancies of every directory, onto what may be replaced, in exchange with anything.
pub(super) fn rename_ops(generator: &mut Generator<'_>, index: usize) {
    if !generator.bounds.ops.contains(OpKind::Rename) {
        return;
    }
    for how in &generator.bounds.rename {
        for other in 0..generator.names.len() {
            let (from, onto) = (&generator.names[index], &generator.names[other]);
            let mut destinations: Vec<Path> = Vec::new();
            if *how != Rename::Exchange && fits(generator, from, onto.depth + 1) && !inside(onto, from) {
                destinations.extend(onto.vacancies.iter().cloned());
            }
            let meets = match how {
                Rename::Replace => index != other && replaces(generator, from, onto),
                Rename::NoReplace => false,
                // An exchange is the same in both directions: propose one.
                Rename::Exchange => index < other && exchanges(generator, from, onto),
            };
            destinations.extend(meets.then(|| onto.path.clone()));
            let from = from.path.clone();
            for to in destinations {
                generator.propose(Op::Rename { from: from.clone(), to, how: *how });
            }
        }
    }
}

/// A further name for this file, in the vacancies of every directory.
pub(super) fn link_ops(generator: &mut Generator<'_>, index: usize) {
    if !generator.bounds.ops.contains(OpKind::Link) || !generator.room_for_file() {
        return;
    }
    let vacancies: Vec<Path> = generator.names.iter().flat_map(|named| named.vacancies.iter().cloned()).collect();
    for to in vacancies {
        generator.propose(Op::Link { from: generator.names[index].path.clone(), to });
    }
}

/// Whether `from` may take the place of `onto`: a directory only that of an empty directory, anything else only that of
/// what is no directory.
fn replaces(generator: &Generator<'_>, from: &Named<'_>, onto: &Named<'_>) -> bool {
    match (from.node.entries(), onto.node.entries()) {
        (None, None) => true,
        (Some(_), Some(entries)) => {
            onto.depth > 0 && entries.is_empty() && !inside(onto, from) && fits(generator, from, onto.depth)
        }
        _ => false,
    }
}

fn exchanges(generator: &Generator<'_>, one: &Named<'_>, other: &Named<'_>) -> bool {
    let nested = inside(one, other) || inside(other, one);
    !nested && fits(generator, one, other.depth) && fits(generator, other, one.depth)
}

/// Whether `inner` is `outer` or stands below it.
fn inside(inner: &Named<'_>, outer: &Named<'_>) -> bool {
    let below = inner.path.as_str().strip_prefix(outer.path.as_str());
    below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || outer.depth == 0)
}

/// Whether everything in `moved` stays within the depth if `moved` comes to stand at this one.
fn fits(generator: &Generator<'_>, moved: &Named<'_>, depth: usize) -> bool {
    let deepest = generator.names.iter().filter(|named| inside(named, moved)).map(|named| named.depth).max();
    let height = deepest.map_or(0, |deepest| deepest - moved.depth);
    depth + height <= generator.bounds.depth_max
}
