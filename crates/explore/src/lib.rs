//! Explicit-state search over anything that has states and actions.
//!
//! A [`System`] says where it starts, what can happen in a state and what comes of it; [`Search`] visits every state
//! that can be reached, in a chosen order, on any number of threads, and reports which properties were violated and
//! how to get there. Nothing here knows what a file system is.
//!
//! ```
//! use explore::{Order, Search, Step, System};
//!
//! /// A counter modulo ten that may go up by one or by three.
//! struct Counter;
//!
//! impl System for Counter {
//!     type State = u8;
//!     type Action = u8;
//!     type Evidence = String;
//!
//!     fn initial(&self) -> Vec<u8> {
//!         vec![0]
//!     }
//!
//!     fn actions(&self, _: &u8, actions: &mut Vec<u8>) {
//!         actions.extend([1, 3]);
//!     }
//!
//!     fn apply(&self, state: &u8, by: &u8, step: &mut Step<'_, Self>) {
//!         let next = (state + by) % 10;
//!         if next == 7 {
//!             step.violated(explore::Property::critical("never-seven"), || format!("{state} + {by}"));
//!         }
//!         step.leads_to(next);
//!     }
//!
//!     fn encode(&self, state: &u8, bytes: &mut Vec<u8>) {
//!         bytes.push(*state);
//!     }
//! }
//!
//! let report = Search::new(&Counter).order(Order::BreadthFirst).threads(2).run().unwrap();
//! assert_eq!(report.states, 10);
//! assert!(report.complete);
//! assert_eq!(report.violations[0].trace.len(), 3, "3 + 3 + 1 or an order of it");
//! ```

mod budget;
mod checkpoint;
mod frontier;
mod links;
mod pool;
mod progress;
mod report;
mod saving;
mod search;
mod system;
mod visited;
mod walk;
mod worker;

pub use budget::{Budget, Limit};
pub use checkpoint::{CheckpointError, checkpoint_note};
pub use progress::Progress;
pub use report::{MemoryUse, Move, PanicReport, Report, Violation};
pub use saving::Pace;
pub use search::{Order, Search, SearchError, Stop};
pub use system::{Property, Severity, Step, Stepped, System};
pub use visited::VisitedKind;
