//! The C interface: `libalcor` and `alcor.h`, over the library `alcor` and the backends that need
//! no simulator in the process.
//!
//! The crate has no logic of its own. Each function checks its arguments, calls the library, and
//! converts an error to its number; the message is kept for the thread. Names for C follow C's
//! conventions. The comments become those of `include/alcor.h`, which `cargo run -p alcor-capi
//! --example header` writes.
//!
//! # Errors of C programs
//! A handle is a number with the type of a pointer. It is never dereferenced, and not reused after
//! it is freed, so the lookup of a wrong handle fails with an error. Enums and flags arrive as
//! integers. A null pointer is a `None`: `Option<&mut MaybeUninit<T>>` is C's `T *` for a value
//! that is written. C programs must only ensure that a pointer that is not null points to a value
//! of its type.
//!
//! A panic ends the rank of the call, aborts the run for its peers, and becomes an error; nothing
//! unwinds into C.
//!
//! `#[unsafe(no_mangle)]` promises that no other symbol of the program has the name: all begin with
//! `alcor_`.
#![allow(non_camel_case_types)]
#![warn(missing_docs)]

mod types;

mod run;

mod memory;

mod windows;

mod atomics;

mod requests;

mod communicators;

mod messages;

mod collectives;

mod attached;
mod failure;
