//! Where a kernel may differ from the reference, each with its reason. Nothing else is passed over.

use vfs::{Aspect, Errno, Op, Outcome, Tree, WriteVia, diff};

use crate::{ground::Ground, reference::workload::Step};

/// Whether a case uses something that this file system does not have. The probe has said so already.
pub fn skips<'a>(ground: &Ground, mut ops: impl Iterator<Item = &'a Op>) -> bool {
    ops.any(|op| match op {
        Op::Fallocate { how, .. } => !ground.fallocate.contains(how),
        Op::Write { via: WriteVia::Direct, .. } => !ground.checks_direct,
        _ => false,
    })
}

/// What the kernel gave, and what the reference did.
type Both<'a, T> = (&'a T, &'a T);

/// A difference that is legal.
struct Legal {
    reason: &'static str,
    applies: fn(&Step, Both<Outcome>, Both<Tree>) -> bool,
}

const LEGAL: [Legal; 2] = [
    Legal {
        reason: "ext4 takes set-id bits away before it looks at the range that it then refuses",
        applies: |step, (found, expected), trees| {
            let changes_contents = matches!(step.op, Op::Fallocate { .. } | Op::Write { .. });
            changes_contents && found == expected && found.is_err() && differ_only_in(trees, &[Aspect::Mode])
        },
    },
    Legal {
        reason: "ext4 may have written the first extent of a direct write before it refuses the odd rest",
        applies: |step, (found, expected), trees| {
            let direct = matches!(step.op, Op::Write { via: WriteVia::Direct, .. });
            let refused = found == expected && *found == Err(Errno::EINVAL);
            direct && refused && differ_only_in(trees, &[Aspect::Mode, Aspect::Contents])
        },
    },
];

/// Whether all differences are in these aspects; in modes only set-id bits may be missing.
fn differ_only_in((found, expected): Both<Tree>, aspects: &[Aspect]) -> bool {
    diff(found, expected).0.iter().all(|difference| {
        let mode = |tree: &Tree| Some(tree.node(tree.lookup(&difference.path)?)?.mode | 0o6000);
        aspects.contains(&difference.aspect) && mode(found) == mode(expected)
    })
}

/// Why a difference is legal, if it is.
pub fn reason(step: &Step, outcomes: Both<Outcome>, trees: Both<Tree>) -> Option<&'static str> {
    LEGAL.iter().find(|legal| (legal.applies)(step, outcomes, trees)).map(|legal| legal.reason)
}
