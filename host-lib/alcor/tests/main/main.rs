//! Tests of the library on the soft board: one binary, one file per subject.

mod allocator;
mod buffers;
mod collectives;
mod communicators;
mod ending;
mod events;
mod growth;
mod identity;
mod layer;
mod messages;
mod notes;
mod paper;
mod posting;
mod reports;
mod requests;
mod spy;
mod transfers;
mod windows;

use alcor::soft::{SoftBoard, SoftConfig};
use alcor::{GlobalRank, Job, JobError, Options, Rank, Result};

/// Runs `program` on a soft board of `ranks` ranks.
fn run<T: Send>(
    ranks: u32,
    program: impl Fn(&mut Rank) -> Result<T> + Sync,
) -> Result<Vec<T>, JobError> {
    Job::new(SoftBoard::new(ranks))
        .expect("a soft board identifies itself")
        .run(ranks, program)
}

/// Runs `program` on all ranks of a soft board of that configuration.
fn run_with<T: Send>(
    config: SoftConfig,
    options: Options,
    program: impl Fn(&mut Rank) -> Result<T> + Sync,
) -> Result<Vec<T>, JobError> {
    Job::with_options(SoftBoard::with(config), options)
        .expect("a soft board identifies itself")
        .run(config.ranks, program)
}

/// The next rank, cyclically.
fn right(rank: &Rank) -> GlobalRank {
    GlobalRank((rank.pid().0 + 1) % rank.nprocs())
}
