//! Models that compile in seconds, driven through every part of the interface.

mod build;
mod dpi;
mod failures;
mod imports;
mod inputs;
mod memories;
mod signals;
mod steady;
mod support;
mod trace;
