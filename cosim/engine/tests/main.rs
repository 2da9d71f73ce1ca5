//! Simulated boards over a stand-in for their core, see `sv/stand_in.sv`.
#![forbid(unsafe_code)]

mod cluster;
mod coverage;
mod damage;
mod ends;
mod fixture;
mod frames;
mod link;
mod models;
mod order;
mod polls;
mod recordings;
mod steady;
mod time;
mod timeline;
