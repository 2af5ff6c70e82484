//! What the libraries do and what was found in them; `docs/findings.md` tells the same in words.

mod crashes;
mod errors;
mod faults;
mod searching;
mod undisturbed;
