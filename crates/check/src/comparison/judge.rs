//! One op on all sides, and where they do not agree.
//!
//! Outcomes must be the same, then trees. With two sides a difference is just that; with three or more the majority
//! names the odd one out. A side that refuses for want of room is excused (`legal.rs`) and has no vote: those that did
//! the op are put back to where they were before it, as the reference is in a check of one target, and must then look
//! alike again. Several may be excused, each with an errno of its own.

use disk::OpIndex;
use explore::Property;
use smallvec::SmallVec;
use vfs::{Errno, Op, Outcome, Tree, Value, tree::Aspect};

use super::{Comparison, SideState, state::Compared};
use crate::{
    compare::{OUTCOME, TREE},
    crash::CONTENTS,
    fullness,
    legal::{self, Growth, Refusing},
    lost_and_found,
    size::fits,
    target::Finding,
};

/// What an op came to.
pub(super) struct Judged {
    /// What each side said, in their order.
    pub outcomes: Vec<Outcome>,
    /// What each side shows afterwards.
    pub trees: Vec<Result<Tree, Errno>>,
    /// What is wrong.
    pub wrong: Vec<Finding>,
    /// Whether a side had no room for what another one did.
    pub refused: bool,
    /// Where the search goes on; `None` after something critical.
    pub next: Option<Compared>,
}

impl Comparison {
    /// All sides freshly made; what is wrong if they do not even look alike then.
    pub(super) fn start(&self) -> Result<Compared, Finding> {
        let mut states: SmallVec<[Option<SideState>; 3]> = SmallVec::new();
        let mut first: Option<Tree> = None;
        let conventions = self.conventions();
        let named = |number: usize| move |finding: Finding| self.on_side(number, finding);
        for (number, side) in self.sides().enumerate() {
            if side.adopts() {
                states.push(None);
                continue;
            }
            let mut state = side.start(None, conventions).map_err(named(number))?;
            let shows = side.observe(&state);
            state.made_with_lost_and_found = shows.is_ok_and(|tree| lost_and_found::in_root_of(&tree).is_some());
            let tree = self.look(number, &state).map_err(|errno| named(number)(unreadable(errno)))?;
            first.get_or_insert(tree);
            states.push(Some(state));
        }
        let start = |(number, (side, state)): (usize, (_, Option<SideState>))| {
            let side: &dyn super::Side = side;
            state.map_or_else(|| side.start(first.as_ref(), conventions), Ok).map_err(named(number))
        };
        let sides: Result<SmallVec<[SideState; 3]>, Finding> =
            self.sides().zip(states).enumerate().map(start).collect();
        let sides = sides?;
        let trees: Vec<_> = sides.iter().enumerate().map(|(number, state)| self.look(number, state)).collect();
        // Who looks like the first one because it was made so says nothing about who is right.
        let made_alike: Vec<usize> = (0..trees.len()).filter(|number| self.side(*number).adopts()).collect();
        let wrong = [&made_alike[..], &[]].iter().flat_map(|without| self.compare_trees(&trees, without)).next();
        match (wrong, trees.into_iter().next()) {
            (Some(wrong), _) => Err(wrong),
            (None, Some(Ok(tree))) => Ok(Compared::fresh(sides, tree)),
            (None, _) => Err(unreadable(Errno::EIO)),
        }
    }

    /// Does an op on all sides and compares.
    pub(super) fn judge(&self, before: &Compared, op: &Op) -> Judged {
        let mut sides = before.now.sides.clone();
        let index = OpIndex(before.now.ops);
        let run = |(side, state): (&dyn super::Side, &mut SideState)| side.run(state, op, index);
        let outcomes: Vec<Outcome> = self.sides().zip(&mut sides).map(run).collect();
        let mut judged = Judged { outcomes, trees: Vec::new(), wrong: self.wrong(&sides), refused: false, next: None };
        if judged.is_broken() {
            return judged;
        }
        let room = self.room_after_all(before, (op, index), &judged.outcomes);
        let excused = self.excused(before, op, (&sides, &judged.outcomes), room);
        let mut compared = judged.outcomes.clone();
        if let Some((part, written)) = self.part_that_fits(before, (op, index), (&sides, &judged.outcomes)) {
            for (number, outcome) in compared.iter_mut().enumerate().filter(|(_, outcome)| **outcome != written) {
                judged.refused = true;
                sides[number] = before.now.sides[number].clone();
                *outcome = self.side(number).run(&mut sides[number], &part, index);
            }
        }
        let differs = self.compare_outcomes(op, &compared, &excused);
        if let Some(first) = excused.first() {
            let refusal = judged.outcomes[*first].clone();
            for (number, outcome) in compared.iter_mut().enumerate().filter(|(_, outcome)| outcome.is_ok()) {
                judged.refused = true;
                outcome.clone_from(&refusal);
                sides[number] = before.now.sides[number].clone();
            }
        }
        judged.wrong.extend(differs.map(|Finding { property, detail }| {
            let tell = |(number, bytes)| format!("{} on {}", fullness::tell(bytes), self.names(&[number]));
            Finding { property, detail: format!("{detail}{}", room.map(tell).unwrap_or_default()) }
        }));
        judged.trees = sides.iter().enumerate().map(|(number, state)| self.look(number, state)).collect();
        if !judged.is_broken() {
            judged.wrong.extend(self.compare_trees(&judged.trees, &[]));
        }
        if !judged.is_broken()
            && let Some(Ok(tree)) = judged.trees.first()
        {
            judged.next = Some(before.after(op, &judged.outcomes, &compared[0], (sides, tree.clone())));
        }
        judged
    }

    /// What a side has done of a write and what it said, if it wrote less than others and has no room for the rest.
    fn part_that_fits(
        &self,
        before: &Compared,
        (op, index): (&Op, OpIndex),
        (sides, said): (&[SideState], &[Outcome]),
    ) -> Option<(Op, Outcome)> {
        let written = |number: &usize| if let Ok(Value::Count(count)) = said[*number] { count } else { u64::MAX };
        let least = (0..said.len()).min_by_key(written)?;
        let (part, rest) = legal::in_part(op, &said[least])?;
        let outcome = self.side(least).run(&mut sides[least].clone(), &rest, index);
        let refusing = self.refusing(before, op, least);
        let is_granted = fits(op, &before.now.tree, refusing.file_bytes_granted);
        let growth = || if is_granted { Growth::Granted } else { Growth::Longer };
        refusing.has_no_room(&outcome, growth).then(|| (part, said[least].clone()))
    }

    /// What is known where a side does not do an op.
    fn refusing<'o>(&self, before: &Compared, op: &'o Op, number: usize) -> Refusing<'o> {
        let side = self.side(number);
        let needs_room_to_free = side.needs_room_to_free();
        Refusing {
            op,
            is_first: before.is_empty() && (before.now.ops == 0 || !needs_room_to_free),
            has_room: fullness::has_room(op, &before.now.tree, (before.now.room_used, side.room_granted())),
            needs_room_to_free,
            file_bytes_granted: side.file_bytes_granted(),
        }
    }

    /// The sides that have no room for the op and may say so, each in its own way: one for want of blocks, another
    /// because the file would be too long.
    fn excused(
        &self,
        before: &Compared,
        op: &Op,
        (sides, said): (&[SideState], &[Outcome]),
        room: Option<(usize, u64)>,
    ) -> Vec<usize> {
        let done: Vec<usize> = (0..said.len()).filter(|number| said[*number].is_ok()).collect();
        let growth = || {
            let trees = done.iter().filter_map(|number| self.look(*number, &sides[*number]).ok());
            let seen = trees.map(|tree| Growth::between(&before.now.tree, &tree)).max();
            seen.unwrap_or_else(|| legal::growth_by_reference(op, &before.now.tree))
        };
        let has_no_room = |number: &usize| {
            let refusing = self.refusing(before, op, *number);
            let is_granted = || fits(op, &before.now.tree, refusing.file_bytes_granted);
            refusing.has_no_room(&said[*number], || if is_granted() { Growth::Granted } else { growth() })
        };
        let excused: Vec<usize> = (0..said.len()).filter(has_no_room).collect();
        // What fails for another reason on all others fails for that reason here too.
        let is_possible = !done.is_empty() || excused.len() == said.len();
        let is_full = |number: &usize| room.is_none_or(|(other, _)| other != *number);
        if is_possible && excused.iter().any(is_full) { excused } else { Vec::new() }
    }

    /// The first side that says that it has no room for what others did, and has: for a file of so many bytes.
    fn room_after_all(&self, before: &Compared, (op, index): (&Op, OpIndex), said: &[Outcome]) -> Option<(usize, u64)> {
        if !said.iter().any(Result::is_ok) {
            return None;
        }
        let may_lie = |number: &usize| fullness::is_refused(&said[*number]) && self.side(*number).has_one_supply();
        let found = |number: usize| {
            let mut state = before.now.sides[number].clone();
            let most = (state.bytes(), self.side(number).file_bytes_max());
            let run = |op: &Op| self.side(number).run(&mut state, op, index);
            Some((number, fullness::room_after_all(op, &before.now.tree, most, run)?))
        };
        (0..said.len()).filter(may_lie).find_map(found)
    }

    /// What a side shows, as far as sides can be compared by it.
    fn look(&self, number: usize, state: &SideState) -> Result<Tree, Errno> {
        let tree = self.side(number).observe(state)?;
        Ok(if state.made_with_lost_and_found { lost_and_found::without(tree) } else { tree })
    }

    /// What sides themselves report.
    fn wrong(&self, states: &[SideState]) -> Vec<Finding> {
        let of_side = |(number, (side, state)): (usize, (&dyn super::Side, &SideState))| {
            side.wrong(state).into_iter().map(move |finding| self.on_side(number, finding))
        };
        self.sides().zip(states).enumerate().flat_map(of_side).collect()
    }

    /// Where sides said different things; who is excused has no vote.
    fn compare_outcomes(&self, op: &Op, outcomes: &[Outcome], excused: &[usize]) -> Option<Finding> {
        let groups = Groups::of(outcomes, |one, other| legal::is_same(op, one, other)).without(excused);
        if groups.0.len() < 2 {
            return None;
        }
        let all_succeeded = groups.0.iter().all(|group| outcomes[group[0]].is_ok());
        let says = |outcome: &Outcome| match outcome {
            Ok(value) if all_succeeded => value.to_string(),
            Ok(_) => "succeeded".to_owned(),
            Err(errno) => format!("failed with {errno}"),
        };
        let tell = |group: &Vec<usize>| format!("{} on {}", says(&outcomes[group[0]]), self.names(group));
        Some(Finding { property: OUTCOME, detail: format!("{op} {}", groups.tell(tell)) })
    }

    /// Where sides show different trees; some may have no vote.
    fn compare_trees(&self, trees: &[Result<Tree, Errno>], without: &[usize]) -> Vec<Finding> {
        let same = |one: &Result<Tree, Errno>, other: &Result<Tree, Errno>| match (one, other) {
            (Ok(one), Ok(other)) => one.same_as(other),
            (one, other) => one.as_ref().err() == other.as_ref().err(),
        };
        let groups = Groups::of(trees, same).without(without);
        let failed = trees.iter().enumerate().find_map(|(number, tree)| Some((number, *tree.as_ref().err()?)));
        if let Some((number, errno)) = failed {
            return vec![self.on_side(number, unreadable(errno))];
        }
        let Some((odd, expected)) = groups.odd_and_other() else { return Vec::new() };
        let Ok(expected_tree) = &trees[expected[0]] else { return Vec::new() };
        let whose = |found: &[usize]| match groups.majority() {
            Some(_) => format!("on {}, the odd one out: ", self.names(found)),
            None => format!("on {}, compared with {}: ", self.names(found), self.names(expected)),
        };
        let of = |property: Property, is_wanted: fn(&Aspect) -> bool| {
            let clause = |found: &&Vec<usize>| {
                let differences = vfs::tree::diff(trees[found[0]].as_ref().ok()?, expected_tree).0;
                let wanted = differences.iter().filter(|one| is_wanted(&one.aspect));
                let lines: Vec<String> = wanted.map(ToString::to_string).collect();
                (!lines.is_empty()).then(|| format!("{}{}", whose(found), lines.join("; ")))
            };
            let clauses: Vec<String> = odd.iter().filter_map(clause).collect();
            (!clauses.is_empty()).then(|| Finding { property, detail: clauses.join("; ") })
        };
        let contents = of(CONTENTS, |aspect| *aspect == Aspect::Contents);
        of(TREE, |aspect| *aspect != Aspect::Contents).into_iter().chain(contents).collect()
    }

    /// A finding of one side.
    fn on_side(&self, number: usize, Finding { property, detail }: Finding) -> Finding {
        Finding { property, detail: format!("on {}: {detail}", self.names(&[number])) }
    }
}

impl Judged {
    fn is_broken(&self) -> bool {
        self.wrong.iter().any(Finding::is_critical)
    }
}

fn unreadable(errno: Errno) -> Finding {
    Finding { property: TREE, detail: format!("cannot be read: {errno}") }
}

/// Which sides say the same, in the order of the sides.
struct Groups(Vec<Vec<usize>>);

impl Groups {
    fn of<A>(answers: &[A], same: impl Fn(&A, &A) -> bool) -> Self {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (number, answer) in answers.iter().enumerate() {
            match groups.iter_mut().find(|group| same(&answers[group[0]], answer)) {
                Some(group) => group.push(number),
                None => groups.push(vec![number]),
            }
        }
        Self(groups)
    }

    /// The same without the votes of some.
    fn without(mut self, numbers: &[usize]) -> Self {
        for group in &mut self.0 {
            group.retain(|number| !numbers.contains(number));
        }
        self.0.retain(|group| !group.is_empty());
        self
    }

    /// The group that has more than half of all sides, if the others are not alone against it.
    fn majority(&self) -> Option<&Vec<usize>> {
        let sides: usize = self.0.iter().map(Vec::len).sum();
        self.0.iter().find(|group| group.len() * 2 > sides)
    }

    /// In words: the odd ones out first, if there is a majority.
    fn tell(&self, tell: impl Fn(&Vec<usize>) -> String) -> String {
        let Some(majority) = self.majority() else {
            return self.0.iter().map(tell).collect::<Vec<_>>().join(", and ");
        };
        let odd = self.0.iter().filter(|group| *group != majority).map(|odd| format!("{}, the odd one out", tell(odd)));
        odd.chain([tell(majority)]).collect::<Vec<_>>().join(", and ")
    }

    /// The groups that are not the majority, and the one that they are compared with: the majority, or else the last.
    fn odd_and_other(&self) -> Option<(Vec<&Vec<usize>>, &Vec<usize>)> {
        let last = self.0.last().filter(|_| self.0.len() > 1)?;
        let other = self.majority().unwrap_or(last);
        Some((self.0.iter().filter(|group| *group != other).collect(), other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_majority_is_more_than_half() {
        let majority = |answers: &[u8]| Groups::of(answers, PartialEq::eq).majority().cloned();
        assert_eq!(majority(&[1, 2, 1]), Some(vec![0, 2]));
        assert_eq!(majority(&[1, 2]), None);
        assert_eq!(majority(&[1, 2, 3]), None);
        assert_eq!(majority(&[1, 1, 2, 2]), None);
        assert_eq!(majority(&[1, 1, 2, 3]), None);
    }

    #[test]
    fn the_odd_one_is_told_from_the_one_it_is_compared_with() {
        let odd = |answers: &[u8]| {
            let groups = Groups::of(answers, PartialEq::eq);
            groups.odd_and_other().map(|(odd, other)| (odd.into_iter().cloned().collect::<Vec<_>>(), other.clone()))
        };
        assert_eq!(odd(&[1, 1, 1]), None);
        assert_eq!(odd(&[1, 1, 2]), Some((vec![vec![2]], vec![0, 1])));
        assert_eq!(odd(&[1, 2]), Some((vec![vec![0]], vec![1])));
        assert_eq!(odd(&[1, 2, 3]), Some((vec![vec![0], vec![1]], vec![2])), "none goes unmentioned");
        assert_eq!(odd(&[1, 2, 1, 3, 1]), Some((vec![vec![1], vec![3]], vec![0, 2, 4])));
    }

    #[test]
    fn who_has_no_vote_makes_no_majority() {
        let majority = |answers: &[u8], without: &[usize]| {
            let groups = Groups::of(answers, PartialEq::eq).without(without);
            (groups.majority().cloned(), groups.0.len())
        };
        assert_eq!(majority(&[1, 1, 2], &[0]), (None, 2));
        assert_eq!(majority(&[1, 2, 3, 3], &[0]), (Some(vec![2, 3]), 2));
        assert_eq!(majority(&[1, 2, 1], &[1]), (Some(vec![0, 2]), 1));
    }

    #[test]
    fn every_group_is_told() {
        let told = |answers: &[u8]| Groups::of(answers, PartialEq::eq).tell(|group| format!("{group:?}"));
        assert_eq!(told(&[1, 1, 2]), "[2], the odd one out, and [0, 1]");
        assert_eq!(told(&[1, 2, 3]), "[0], and [1], and [2]");
        assert_eq!(told(&[1, 2, 1, 3, 1]), "[1], the odd one out, and [3], the odd one out, and [0, 2, 4]");
    }
}
