//! Loads a bitstream into a card without a reboot of its host.
//!
//! While the FPGA is configured, the card leaves the PCI bus. A host treats that as a fatal error,
//! and accesses to the card go nowhere. So a deployment takes the card from its driver and the bus
//! first, and finds it again afterwards. [`Step`] lists the steps in their order. [`Deploy::run`]
//! does them; if one fails, it undoes the completed steps, last first. [`Deploy::plan`] only
//! describes them.
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
//! All requests to the kernel go through sysfs, which [`xdma::Machine`] writes. Tests use a tree of
//! their own. **This has never run with a card.**
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
pub use farm::{Board, End, Farm, FarmError, host_name};
pub use holders::Holder;
pub use programmer::{Job, Programmer};
pub use step::Step;
pub use undo::Undone;
