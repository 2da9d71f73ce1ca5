//! Loads a bitstream into a card without a reboot of its host.
//!
//! While the FPGA is configured it leaves the PCI bus, which a host takes for a fatal error, and
//! what holds the card would touch nothing. So the card is given up first and found again after:
//! [`Step`] has the steps in their order, [`Deploy::run`] does them and, when one fails, undoes
//! what was done before it, last first. [`Deploy::plan`] only says what would be done.
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
//! The kernel's part is played by sysfs alone, which [`xdma::Machine`] writes; so tests give it a
//! tree of their own. **This has never run with a card.**
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
