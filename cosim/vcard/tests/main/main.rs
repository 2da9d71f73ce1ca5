//! Tests of the model of the core, of the card, and of the driver in user space over both.

mod bytes;
mod card;
mod cluster;
mod driver;
mod engine;
mod fuzz;
mod host;
mod ladder;
mod socket;
