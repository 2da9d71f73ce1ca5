//! The suite itself: it passes on a board in plain Rust, and fails on boards with a fault.

mod collective_faults;
mod faults;
mod skipping;
mod whole;
