//! Loads a bitstream into a card without a reboot of its host.
//!
//! While the FPGA is configured, the card leaves the PCI bus. A host treats that as a fatal error,
//! and accesses to the card are lost. So a deployment first takes the card from its driver and the
//! bus, and finds the card again afterwards. [`Step`] lists the steps in their order.
//! [`Deploy::run`] performs them; if a step fails, it undoes the completed steps, last first.
//! [`Deploy::plan`] only describes them.
//!
//! ```no_run
//! use std::sync::atomic::AtomicBool;
//! use alcor_deploy::{Deploy, Programmer};
//! use xdma::Machine;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut deploy = Deploy::new(Machine::local(), "0000:3b:00.0".parse()?, "builds/u280", Programmer::vivado());
//! deploy.serial = Some("21770205K01A".into());
//! for (step, what) in deploy.plan()? {
//!     println!("{step}: {what}");
//! }
//! deploy.run(&AtomicBool::new(false), &mut |_| {})?;
//! # Ok(())
//! # }
//! ```
//!
//! All requests to the kernel go through sysfs, which [`xdma::Machine`] writes. Tests use a
//! simulated tree. **This has never run with a card.**
#![forbid(unsafe_code)]

mod acts;
mod deploy;
mod describe;
mod error;
mod facts;
mod farm;
mod holders;
mod locks;
mod programmer;
mod step;
mod undo;

pub use deploy::{Deploy, Event, Patience, Places};
pub use error::{Error, Failure, Result};
pub use facts::Identity;
pub use farm::{Board, End, Farm, FarmCluster, FarmError, host_name};
pub use holders::Holder;
pub use programmer::{Job, Programmer};
pub use step::Step;
pub use undo::Undone;
