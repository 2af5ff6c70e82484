//! The minimal models: orders of writes, each on a disk that it is not made for; and the philosophers.
//!
//! Blocks that nothing points to are what the right orders leave too: the check that follows a crash frees them.

use disk::CrashMode::{Flushed, Off, Subsets};

use crate::zoo::case::Case;

const DEAD_BLOCKS: &[&str] = &["dead-block"];

pub const CASES: &[Case] = &[
    Case {
        name: "link-naive",
        about: "pointers are written before what they point to",
        wrong: "model:link?writes=naive",
        right: "model:link?writes=ordered",
        property: "contents",
        repaired: DEAD_BLOCKS,
        ..Case::BASE
    },
    Case {
        name: "link-never-flushed",
        about: "an op returns while its writes are in a volatile cache",
        wrong: "model:link?writes=naive",
        right: "model:link?writes=cached",
        property: "lost-block",
        crash: Flushed,
        ..Case::BASE
    },
    Case {
        name: "link-cached-raced",
        about: "the flush of one op makes half of another durable",
        wrong: "model:link?writes=cached,threads=2,files=3,blocks=5",
        right: "model:link?writes=barrier,threads=2,files=3,blocks=5",
        property: "contents",
        crash: Flushed,
        repaired: DEAD_BLOCKS,
        ..Case::BASE
    },
    Case {
        name: "link-cached-raced-reuse",
        about: "the same, with a block that one op frees and the other takes",
        wrong: "model:link?writes=cached,threads=2,files=3,blocks=5",
        right: "model:link?writes=barrier,threads=2,files=3,blocks=5",
        property: "double-pointer",
        crash: Flushed,
        repaired: DEAD_BLOCKS,
        ..Case::BASE
    },
    Case {
        name: "link-ordered-reordered",
        about: "pointers come last, but the disk may write them first",
        wrong: "model:link?writes=ordered,files=3,blocks=5",
        right: "model:link?writes=barrier,files=3,blocks=5",
        property: "lost-block",
        crash: Subsets,
        repaired: DEAD_BLOCKS,
        ..Case::BASE
    },
    Case {
        name: "index-naive",
        about: "pointers are written before what they point to",
        wrong: "model:index?writes=naive",
        right: "model:index?writes=ordered",
        property: "contents",
        repaired: DEAD_BLOCKS,
        ..Case::BASE
    },
    Case {
        name: "index-never-flushed",
        about: "an op returns while its writes are in a volatile cache",
        wrong: "model:index?writes=naive",
        right: "model:index?writes=cached",
        property: "lost-block",
        crash: Flushed,
        ..Case::BASE
    },
    Case {
        name: "index-cached-raced",
        about: "the flush of one op makes half of another durable",
        wrong: "model:index?writes=cached,threads=2,files=3,blocks=5",
        right: "model:index?writes=barrier,threads=2,files=3,blocks=5",
        property: "contents",
        crash: Flushed,
        repaired: DEAD_BLOCKS,
        ..Case::BASE
    },
    Case {
        name: "index-cached-raced-reuse",
        about: "the same, with a block that one op frees and the other takes",
        wrong: "model:index?writes=cached,threads=2,files=3,blocks=5",
        right: "model:index?writes=barrier,threads=2,files=3,blocks=5",
        property: "double-pointer",
        crash: Flushed,
        repaired: DEAD_BLOCKS,
        ..Case::BASE
    },
    Case {
        name: "index-ordered-reordered",
        about: "pointers come last, but the disk may write them first",
        wrong: "model:index?writes=ordered,files=3,blocks=5",
        right: "model:index?writes=barrier,files=3,blocks=5",
        property: "lost-block",
        crash: Subsets,
        repaired: DEAD_BLOCKS,
        ..Case::BASE
    },
    Case {
        name: "philosophers-left",
        about: "everybody takes the left fork first",
        wrong: "model:philosophers?order=left",
        right: "model:philosophers?order=safe",
        property: "deadlock",
        crash: Off,
        ..Case::BASE
    },
];
