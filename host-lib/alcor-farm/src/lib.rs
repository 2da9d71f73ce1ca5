//! The boards and clusters of a farm (`boards.toml`, [`alcor_deploy::Farm`]) as backends.
//!
//! [`FarmBackend`] opens `board:<name>`, a card of this host. [`ClusterBackend`] opens
//! `cluster:<name>`, several cards that are joined by links. `?driver=vfio` after the name has the
//! meaning that it has after `xdma:<address>`.
//!
//! ```no_run
//! use alcor::{Backends, Job, Options};
//! use alcor_farm::ClusterBackend;
//!
//! let backends = Backends::new().with(ClusterBackend::new());
//! // All cards are in this host, and the ranks are threads of this process:
//! Job::new(backends.open("cluster:lab")?)?.run(4, |rank| rank.barrier())?;
//! // The ranks are processes of `alcor run`, mpiexec or Slurm, in any number of hosts:
//! Job::from_env(&backends, Options::default())?.finish()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A run of processes
//! Each process opens the card of its rank, and no other. The processes meet over TCP: rank 0
//! listens at the port that `boards.toml` gives, in the host of the first board, and the others
//! connect there. They exchange the ID blocks of their boards. The first rank of each board resets
//! the board; when all boards have been reset, the first ranks write numbers, routes and the key of
//! the run. So every frame of an earlier run is of another epoch, and no link end accepts it.
//!
//! The connections stay open during the run. When a process ends before its rank has left, or its
//! host stops answering, the waits of the others end with [`alcor::Error::PeerDied`]. Rank 0 leaves
//! the run when all others have left.
//!
//! A process that waits for others to come reports the missing ranks every ten seconds, and waits
//! for any time.
//!
//! **No card has run this crate.** Tests run it over simulated boards: behind virtual cards in a
//! virtual machine (`ci/vm`), and as processes over simulated device nodes.
#![forbid(unsafe_code)]

mod backend;
mod error;
mod joined;
mod rendezvous;

pub use backend::{ClusterBackend, FarmBackend, path};
pub use error::ClusterError;
