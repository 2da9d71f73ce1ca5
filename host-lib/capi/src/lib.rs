//! The C interface: `libalcor` and `alcor.h`, over the library `alcor` and the backends that need no simulator in the process.
//!
//! Nothing here does anything by itself. Each function takes its arguments apart, calls what the library has, and turns an error into its number;
//! the message stays with the thread. What C sees is spelled in C's way, and its comments are those of `include/alcor.h`, which
//! `cargo run -p alcor-capi --example header` writes.
//!
//! # What C may do wrong
//! A handle is a number in the shape of a pointer, never used again once it is freed and never followed, so one that is wrong is not found, and
//! that is an error. Enums and flags arrive as integers. A null pointer is a `None`: `Option<&mut MaybeUninit<T>>` is C's `T *` for a
//! value that is written. That a pointer which is not null points to what its type says is all that C has to see to.
//!
//! A panic ends the rank that it happened to, whose peers are told, and becomes an error; nothing unwinds into C.
//!
//! `#[unsafe(no_mangle)]` promises that no other symbol of the program has the name: all begin with `alcor_`.
#![allow(non_camel_case_types)]
#![warn(missing_docs)]

mod types;

mod run;

mod memory;

mod windows;

mod requests;

mod communicators;

mod messages;

mod collectives;

mod attached;
mod failure;
