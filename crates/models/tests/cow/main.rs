//! The copy-on-write model: verdicts of bounded searches, known bugs by their scripts, and damaged disks.

mod damage;
mod faults;
mod scripts;
mod searching;
mod verdicts;
