//! Makes a trace shorter, as long as it still violates the same property.
//!
//! First the shortest tail is looked for that does it alone; then delta debugging over the ops and over single
//! arguments. Every candidate is executed from the start, and the power cut of the last move is looked for anew, so
//! that what remains is a trace in its own right.

use std::cell::Cell;

use explore::Stop;
use vfs::{File, Op, WriteAt, WriteVia};

use crate::{
    checker::Checker,
    crash::is_told_by_the_tree,
    replay::{Player, ReplayError, violated_at_start},
    run::Checkable,
    sighting::{Sighting, TRIES},
    target::{Finding, Target},
    trace::{Move, OpMove, Trace},
    wanted::Wanted,
};

/// A shorter trace with the same violation; the shortest so far if somebody asks to stop.
///
/// # Errors
/// The trace itself does not lead to its violation.
pub fn minimise<T: Target>(target: &T, trace: &Trace, stop: &Stop) -> Result<Trace, ReplayError> {
    if trace.schedule.is_empty() {
        return minimise_with(&|candidate| execute_start(target, candidate), trace, stop);
    }
    if target.takes_long_to_show(&trace.property) {
        let checker = Checker::new(target, trace.options);
        Player::new(&checker)?;
        return minimise_slow(&|candidate| execute(&checker, candidate).ok().flatten(), trace, stop);
    }
    let thorough = Checker::twice(target, trace.options);
    Player::new(&thorough)?;
    let thoroughly = |candidate: &Trace| execute(&thorough, candidate).ok().flatten();
    if is_a_matter_of_trees(trace) {
        // Most of what a recovery costs comes after the tree was seen. What is left in the end is executed as usual.
        let of_trees = Checker::of_trees(target, trace.options);
        let shorter = minimise_with(&|candidate| execute(&of_trees, candidate).ok().flatten(), trace, stop);
        if let Some(shorter) = shorter.ok().and_then(|shorter| thoroughly(&shorter)) {
            return Ok(shorter);
        }
    }
    minimise_with(&thoroughly, trace, stop)
}

/// Whether the violation shows in the tree that a recovery leaves, and what comes before it has nothing to do with
/// recoveries.
fn is_a_matter_of_trees(trace: &Trace) -> bool {
    let earlier = trace.schedule.split_last().map_or(&[][..], |(_, earlier)| earlier);
    let is_cut = |a_move: &Move| a_move.op().is_some_and(|op| op.crash.is_some());
    is_told_by_the_tree(&trace.property) && !earlier.iter().any(is_cut)
}

/// Runs a candidate: the trace as it was found to go, or `None` if it does not lead to its violation.
pub(crate) type Execute<'e> = dyn Fn(&Trace) -> Option<Trace> + 'e;

/// A shorter trace with the same violation, whatever executes it. One that shows its violation only now and then is not
/// made shorter, since each step would be a matter of luck; it says how often it does.
pub(crate) fn minimise_with(execute: &Execute<'_>, trace: &Trace, stop: &Stop) -> Result<Trace, ReplayError> {
    let execute: &Execute<'_> = &|candidate| if stop.is_stopped() { None } else { execute(candidate) };
    let again = || shortest_tail(execute, trace).or_else(|| execute(trace));
    let Some((tries, shown)) = (1..=TRIES).find_map(|tries| Some((tries, again()?))) else {
        return if stop.is_stopped() { Ok(trace.clone()) } else { Err(ReplayError::NotAgain { tries: TRIES }) };
    };
    let smallest = (tries == 1).then(|| smallest(execute, shown.clone()));
    match smallest.filter(|smallest| execute(smallest).is_some() || stop.is_stopped()) {
        Some(smallest) => Ok(Trace { sighting: None, ..smallest }.versioned()),
        None if stop.is_stopped() => Ok(shown),
        None => Ok(counted(execute, shown, tries, stop)),
    }
}

/// So often is a violation seen again that takes long to show each time: once to know that it repeats, and then for the
/// steps that make most of a trace go.
const SLOW_SHOWINGS_MAX: u32 = 3;

/// The same for a violation that takes long to show. Each candidate that was kept has shown it, so that the last one
/// needs no further proof.
fn minimise_slow(execute: &Execute<'_>, trace: &Trace, stop: &Stop) -> Result<Trace, ReplayError> {
    let left = Cell::new(SLOW_SHOWINGS_MAX);
    let few: &Execute<'_> = &|candidate| {
        let shown = if left.get() == 0 || stop.is_stopped() { None } else { execute(candidate) };
        left.set(left.get() - u32::from(shown.is_some()));
        shown
    };
    let again = || shortest_tail(few, trace).or_else(|| few(trace));
    let found = (1..=TRIES).find_map(|tries| Some((tries, again()?)));
    let Some((tries, shown)) = found else {
        return if stop.is_stopped() { Ok(trace.clone()) } else { Err(ReplayError::NotAgain { tries: TRIES }) };
    };
    let sighting = (tries > 1).then(|| Sighting { tries, shown: 1, ..Sighting::default() });
    Ok(Trace { sighting, ..smallest(few, shown) }.versioned())
}

/// What is left when nothing more can be taken out.
fn smallest(execute: &Execute<'_>, mut best: Trace) -> Trace {
    loop {
        let size = cost(&best);
        best = without_ops(execute, best);
        best = without_mishaps(execute, best);
        best = with_simpler_arguments(execute, best);
        if cost(&best) == size {
            return best;
        }
    }
}

/// A trace that showed its violation in the last of so many tries, with how often it does.
fn counted(execute: &Execute<'_>, trace: Trace, tries: u32, stop: &Stop) -> Trace {
    let shown = (0..TRIES).map(|_| u32::from(execute(&trace).is_some())).sum::<u32>();
    if stop.is_stopped() {
        // Who is not asked does not say no.
        return trace;
    }
    let sighting = Sighting { tries: tries + TRIES, shown: shown + 1, ..Sighting::default() };
    Trace { sighting: Some(sighting), ..trace }.versioned()
}

/// The trace to keep of a violation: as short as it gets if it shows again, otherwise with what was seen of it.
pub fn settled(target: &dyn Checkable, trace: &Trace, stop: &Stop) -> Trace {
    match target.minimise(trace, stop) {
        Ok(shorter) => shorter,
        Err(ReplayError::NotAgain { tries }) => {
            let seen = trace.sighting.clone().unwrap_or_default();
            Trace { sighting: Some(Sighting { tries, shown: 0, ..seen }), ..trace.clone() }.versioned()
        }
        Err(_) => trace.clone(),
    }
}

/// A trace of so many ops is worth trying by its end alone; a shorter one is soon taken apart.
const LONG: usize = 16;

/// The last op alone, the last two, the last four, and so on: most of a long walk has nothing to do with its end. First
/// comes what a saved state was enough for, in case a fresh file system is too.
fn shortest_tail(execute: &Execute<'_>, trace: &Trace) -> Option<Trace> {
    let ops = trace.ops.len();
    let showed = trace.sighting.as_ref().and_then(|sighting| sighting.tail).map(|tail| tail.ops);
    let lengths = std::iter::successors(Some(1), |length| Some(length * 2)).take_while(|length| length * 2 <= ops);
    let tail = |length: usize| execute(&remove_ops(trace, 0..ops.checked_sub(length)?));
    if ops < LONG { None } else { showed.into_iter().chain(lengths).find_map(tail) }
}

/// What is made smaller: ops, then moves and power cuts, then the size of the arguments.
fn cost(trace: &Trace) -> (usize, usize, usize, u64) {
    let mishaps = |op: &OpMove| usize::from(op.crash.is_some()) + op.faults.len();
    let crashes = trace.schedule.iter().filter_map(Move::op).map(mishaps).sum();
    let choices: u64 = trace.schedule.iter().filter_map(Move::op).map(|op| u64::from(op.choice)).sum();
    (trace.ops.len(), trace.schedule.len(), crashes, choices + trace.ops.iter().map(weight).sum::<u64>())
}

fn weight(op: &Op) -> u64 {
    match op {
        Op::Write { at, data, via, .. } => {
            let offset = if let WriteAt::Offset(offset) = at { *offset } else { 0 };
            offset + data.len + u64::from(*via != WriteVia::Buffered)
        }
        Op::Truncate { size, .. } => *size,
        Op::Fallocate { offset, len, .. } | Op::Read { offset, len, .. } => offset + len,
        _ => 0,
    }
}

/// Looks at a fresh file system, for a trace without moves. By a checker of its own: what another one remembers of the
/// image would be said again and not seen again.
fn execute_start<T: Target>(target: &T, candidate: &Trace) -> Option<Trace> {
    let Finding { detail, .. } = violated_at_start(&Checker::twice(target, candidate.options), &candidate.property)?;
    Some(Trace { detail, ..candidate.clone() })
}

/// Runs a candidate; the result has the power cut that was found for its last move, and the others as they are named
/// now. `None`: it does not lead to the violation.
fn execute<T: Target>(checker: &Checker<'_, T>, candidate: &Trace) -> Result<Option<Trace>, ReplayError> {
    let mut player = Player::new(checker)?;
    let mut trace = candidate.clone();
    let Some((last, earlier)) = trace.schedule.split_last_mut() else { return Ok(None) };
    for a_move in earlier {
        let begins = matches!(a_move, Move::Begin(_) | Move::Run(_));
        let op = a_move.op().map(|a_move| &candidate.ops[a_move.op]);
        if begins && op.is_some_and(|op| !player.may_begin(op)) {
            return Ok(None);
        }
        let wanted = Wanted::on_the_way(&candidate.property, a_move.op().and_then(|a_move| a_move.crash.as_ref()));
        let Ok(made) = player.try_move(a_move, &candidate.ops, wanted) else { return Ok(None) };
        let Ok(crash) = player.go_on(a_move, made) else { return Ok(None) };
        if let Some(op) = a_move.op_mut() {
            op.crash = crash;
        }
    }
    let Ok(made) = player.try_move(last, &candidate.ops, Wanted::First(&candidate.property)) else {
        return Ok(None);
    };
    // Crash states come kindest first, so the first is the easiest to understand.
    let found = made.violations.into_iter().find(|(property, ..)| property.name == candidate.property);
    let Some((_, detail, crash)) = found else { return Ok(None) };
    if let Some(op) = last.op_mut() {
        op.crash = crash;
    }
    Ok(Some(Trace { detail, ..trace }))
}

/// Removes runs of ops, long ones first.
fn without_ops(execute: &Execute<'_>, mut best: Trace) -> Trace {
    let mut chunk = best.ops.len() / 2;
    while chunk > 0 {
        let mut at = 0;
        while at + chunk <= best.ops.len() {
            match execute(&remove_ops(&best, at..at + chunk)) {
                Some(shorter) => best = shorter,
                // Every place in a long trace would take a number of ops that grows with the cube of its length.
                None if best.ops.len() >= LONG => at += chunk,
                None => at += 1,
            }
        }
        chunk /= 2;
    }
    best
}

/// The trace without some ops: their moves go, and later ops move up.
fn remove_ops(trace: &Trace, gone: std::ops::Range<usize>) -> Trace {
    let mut shorter = trace.clone();
    shorter.ops.drain(gone.clone());
    shorter.schedule.retain_mut(|a_move| match a_move.op_mut() {
        Some(op) if gone.contains(&op.op) => false,
        Some(op) => {
            op.op -= if op.op >= gone.end { gone.len() } else { 0 };
            op.crash.iter_mut().for_each(|crash| crash.forget_ops(&gone));
            true
        }
        None => true,
    });
    shorter
}

/// Leaves out faults, and power cuts before the last move.
fn without_mishaps(execute: &Execute<'_>, mut best: Trace) -> Trace {
    for at in 0..best.schedule.len() {
        let mut candidate = best.clone();
        if let Some(op) = candidate.schedule[at].op_mut().filter(|op| op.crash.is_some()) {
            op.crash = None;
            best = execute(&candidate).unwrap_or(best);
        }
        let faults = best.schedule[at].op().map_or(0, |op| op.faults.len());
        for fault in (0..faults).rev() {
            let mut candidate = best.clone();
            if let Some(op) = candidate.schedule[at].op_mut() {
                op.faults.remove(fault);
                best = execute(&candidate).unwrap_or(best);
            }
        }
    }
    best
}

/// Tries smaller and plainer arguments, one at a time.
fn with_simpler_arguments(execute: &Execute<'_>, mut best: Trace) -> Trace {
    for at in 0..best.schedule.len() {
        let mut candidate = best.clone();
        if let Some(op) = candidate.schedule[at].op_mut().filter(|op| op.choice > 0) {
            op.choice = 0;
            best = execute(&candidate).unwrap_or(best);
        }
    }
    for at in 0..best.ops.len() {
        for simpler in simpler_forms(&best.ops[at]) {
            let mut candidate = best.clone();
            candidate.ops[at] = simpler;
            best = execute(&candidate).unwrap_or(best);
        }
    }
    best
}

fn simpler_forms(op: &Op) -> Vec<Op> {
    let mut forms = Vec::new();
    match op {
        Op::Write { file, at, data, via } => {
            let write =
                |at, len, via| Op::Write { file: File::clone(file), at, data: vfs::Data { len, fill: data.fill }, via };
            if *via != WriteVia::Buffered {
                forms.push(write(*at, data.len, WriteVia::Buffered));
            }
            if matches!(at, WriteAt::Offset(offset) if *offset > 0) {
                forms.push(write(WriteAt::Offset(0), data.len, *via));
            }
            if data.len > 1 {
                forms.extend([1, data.len / 2].map(|len| write(*at, len, *via)));
            }
        }
        Op::Truncate { file, size } if *size > 0 => {
            forms.extend([0, size / 2].map(|size| Op::Truncate { file: file.clone(), size }));
        }
        _ => {}
    }
    forms
}

#[cfg(test)]
mod tests {
    use explore::Severity;

    use super::*;
    use crate::{options::CheckOptions, trace::VERSION};

    fn of_ops(count: usize) -> Trace {
        Trace {
            version: VERSION,
            target: "none".to_owned(),
            against: Vec::new(),
            options: CheckOptions::default(),
            property: "hangs".to_owned(),
            severity: Severity::Critical,
            detail: String::new(),
            workload: None,
            ops: vec![Op::Sync; count],
            schedule: (0..count).map(|op| Move::Run(OpMove::undisturbed(op))).collect(),
            sighting: None,
        }
    }

    #[test]
    fn what_takes_long_to_show_is_seen_a_few_times_however_long_its_trace() {
        for ops in [1, 2, 5, 12, 100] {
            let showings = Cell::new(0);
            let always = |candidate: &Trace| {
                let shows = !candidate.ops.is_empty();
                showings.set(showings.get() + u32::from(shows));
                shows.then(|| candidate.clone())
            };
            let shorter = minimise_slow(&always, &of_ops(ops), &Stop::default()).unwrap();
            assert!(shorter.ops.len() <= ops.div_ceil(2) && shorter.sighting.is_none(), "{ops}");
            assert!(showings.get() <= SLOW_SHOWINGS_MAX, "{ops}: {}", showings.get());
        }
    }

    #[test]
    fn what_takes_long_and_shows_at_times_says_so() {
        let tries = Cell::new(0);
        let at_last = |candidate: &Trace| {
            tries.set(tries.get() + 1);
            (tries.get() == 3).then(|| candidate.clone())
        };
        let shown = minimise_slow(&at_last, &of_ops(1), &Stop::default()).unwrap();
        assert_eq!(shown.sighting, Some(Sighting { tries: 3, shown: 1, ..Sighting::default() }));
        let never = minimise_slow(&|_| None, &of_ops(1), &Stop::default());
        assert!(matches!(never, Err(ReplayError::NotAgain { tries: TRIES })));
        let stop = Stop::default();
        stop.stop();
        assert_eq!(minimise_slow(&|_| None, &of_ops(1), &stop).unwrap(), of_ops(1));
    }
}
