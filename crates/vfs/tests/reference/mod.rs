//! What the tests of the reference share: short names for ops, tables of cases, and random workloads.

#![allow(dead_code, reason = "each test binary uses a part")]

pub mod cases;
pub mod notation;
pub mod workload;
