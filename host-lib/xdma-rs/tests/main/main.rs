//! The crate against its stand-in: every error path, and transfers of any length and alignment.

mod discovery;
mod faults;
mod resets;
mod slots;
mod transfers;
