//! The copy-on-write model: verdicts of bounded searches, known bugs by their scripts, and damaged disks.

mod damage;
#[path = "../driver/mod.rs"]
mod driver;
mod faults;
mod scripts;
mod searching;
mod verdicts;
