//! Where a target may legally differ from the reference: the one place, each difference with its reason.
//!
//! - **Usable capacity.** A real disk fills up and a real format has a largest file; the reference has neither limit.
//!   `ENOSPC`, `EDQUOT` and `EFBIG` are accepted where the reference succeeded. The op must then have changed
//!   nothing: the tree is compared as after every op. A remount takes no room that was not granted before, so it has no
//!   such excuse.

use vfs::{Errno, Op, Outcome};

/// How two outcomes of one op go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// They are the same.
    Same,
    /// The target refused what the reference did, and may: the reference must not have done it.
    Refused,
    /// They differ.
    Differ,
}

pub(crate) fn compare(op: &Op, target: &Outcome, reference: &Outcome) -> Agreement {
    match (target, reference) {
        _ if target == reference => Agreement::Same,
        (Err(Errno::ENOSPC | Errno::EDQUOT | Errno::EFBIG), Ok(_)) if *op != Op::Remount => Agreement::Refused,
        _ => Agreement::Differ,
    }
}

#[cfg(test)]
mod tests {
    use vfs::Value;

    use super::*;

    #[test]
    fn a_full_disk_is_legal_and_nothing_else_is() {
        let done = Ok(Value::Done);
        assert_eq!(compare(&Op::Sync, &done, &done), Agreement::Same);
        assert_eq!(compare(&Op::Sync, &Err(Errno::ENOSPC), &done), Agreement::Refused);
        assert_eq!(compare(&Op::Sync, &Err(Errno::EFBIG), &done), Agreement::Refused);
        assert_eq!(compare(&Op::Sync, &Err(Errno::EIO), &done), Agreement::Differ);
        assert_eq!(compare(&Op::Sync, &Err(Errno::ENOSPC), &Err(Errno::EEXIST)), Agreement::Differ);
        assert_eq!(compare(&Op::Sync, &done, &Err(Errno::EEXIST)), Agreement::Differ);
        assert_eq!(compare(&Op::Remount, &Err(Errno::ENOSPC), &done), Agreement::Differ);
    }
}
