//! The zoo: every known bug of the collection, each beside what does it right.
//!
//! A [`Case`] is one entry of a table: a wrong target, its right twin, the bounds within which both are searched, and
//! the property that shows the difference. A [`Trial`] is what came of it. That the wrong one is found shows that the
//! checker can see; that the right one passes the same search to its end shows that it does not see ghosts.

mod case;
mod cases;
mod outcome;
mod trial;

pub use self::{
    case::Case,
    cases::all,
    outcome::{json, line, summary},
    trial::Trial,
};
