//! The actions of the steps.

use std::thread::sleep;
use std::time::{Duration, Instant};

use alcor_abi::board;
use alcor_bitstreams::Manifest;
use xdma::{BarOffset, Config, Machine, PciAddress, command, device_control};

use crate::deploy::Progress;
use crate::facts::{DRIVER, Facts};
use crate::holders::holders;
use crate::undo::{Undo, read_bridge, restore};
use crate::{Deploy, Error, Event, Identity, Result, Step, locks};

/// Interval of polling.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes of the board's page.
const PAGE: u64 = alcor_abi::PAGE_BYTES as u64;

impl Deploy {
    /// Does one of the steps after the first four.
    pub(crate) fn act(
        &self,
        step: Step,
        manifest: &Manifest,
        facts: &Facts,
        progress: &mut Progress<'_>,
    ) -> Result<()> {
        let machine = &self.machine;
        let undo = &mut progress.undo;
        match step {
            Step::Verify | Step::Programmer | Step::Lock | Step::Find => Ok(()),
            Step::Ranks => {
                progress
                    .held
                    .extend(locks::ranks(&self.places.locks, self.address)?);
                Ok(())
            }
            Step::Users => self.users(facts),
            Step::Unbind => self.unbind(facts, undo),
            Step::Mask => self.mask(facts, undo),
            Step::Remove => {
                undo.push(Undo::Rescan {
                    bridge: facts.bridge,
                    functions: facts.addresses().collect(),
                });
                // The first function last: others may depend on it.
                let mut functions: Vec<_> = facts.addresses().collect();
                functions.reverse();
                functions
                    .into_iter()
                    .try_for_each(|function| Ok(machine.remove(function)?))
            }
            Step::Program => {
                let job = self.job(manifest);
                let tell = &mut |line: &str| (progress.tell)(&Event::Line(line));
                self.programmer
                    .run(&job, self.patience.program, progress.stop, tell)
            }
            Step::RescanBridge => Ok(machine.rescan_behind(facts.bridge)?),
            Step::RescanBus => {
                machine.rescan()?;
                facts
                    .addresses()
                    .try_for_each(|function| appear(machine, function, self.patience.appear))
            }
            Step::Compare => facts.functions.iter().try_for_each(|function| {
                let before = function.identity.clone();
                let after = Identity::of(machine, before.function)?;
                if before == after {
                    Ok(())
                } else {
                    Err(Error::Differs {
                        before: Box::new(before),
                        after: Box::new(after),
                    })
                }
            }),
            Step::Unmask => self.unmask(undo),
            Step::Enable => facts.addresses().try_for_each(|function| {
                let config = machine.config(function);
                let now = config.read16(Config::COMMAND)?;
                Ok(config.write16(Config::COMMAND, now | command::MEMORY)?)
            }),
            Step::Bind => self.bind(facts, undo),
            Step::Identify => self.identify(manifest),
        }
    }

    pub(crate) fn users(&self, facts: &Facts) -> Result<()> {
        let numbers: Vec<u32> = facts
            .functions
            .iter()
            .filter_map(|function| function.number)
            .collect();
        let holders = holders(&self.places.proc, &self.places.dev, &numbers);
        if holders.is_empty() {
            Ok(())
        } else {
            Err(Error::InUse {
                address: self.address,
                holders,
            })
        }
    }

    fn unbind(&self, facts: &Facts, undo: &mut Vec<Undo>) -> Result<()> {
        for function in &facts.functions {
            if let Some(driver) = &function.driver {
                // The undo is recorded first, because a failed call may have unbound the driver.
                undo.push(Undo::Rebind {
                    identity: function.identity.clone(),
                    driver: driver.clone(),
                });
                self.machine.unbind(function.identity.function)?;
            }
        }
        Ok(())
    }

    fn mask(&self, facts: &Facts, undo: &mut Vec<Undo>) -> Result<()> {
        let bridge = facts.bridge;
        let config = self.machine.config(bridge);
        read_bridge(&self.machine, bridge, Config::COMMAND)?;
        let control = config.device_control()?;
        for (register, offset, bit) in [
            ("SERR", Config::COMMAND, command::SERR),
            ("fatal reporting", control, device_control::FATAL),
        ] {
            let now = read_bridge(&self.machine, bridge, offset)?;
            if now & bit != 0 {
                undo.push(Undo::Restore {
                    bridge,
                    register,
                    offset,
                    bits: bit,
                });
                config.write16(offset, now & !bit)?;
            }
        }
        Ok(())
    }

    fn unmask(&self, undo: &mut Vec<Undo>) -> Result<()> {
        while let Some(place) = undo
            .iter()
            .rposition(|undo| matches!(undo, Undo::Restore { .. }))
        {
            if let Undo::Restore {
                bridge,
                offset,
                bits,
                ..
            } = undo[place]
            {
                restore(&self.machine, bridge, offset, bits)?;
            }
            undo.remove(place);
        }
        Ok(())
    }

    fn bind(&self, facts: &Facts, undo: &mut Vec<Undo>) -> Result<()> {
        // The card is on the bus again: only its drivers must be given back.
        undo.clear();
        let mut refused = Ok(());
        for function in &facts.functions {
            let address = function.identity.function;
            // A function without a driver gets none, except the card's own function: the FPGA may
            // have been empty.
            let own = (address == self.address).then_some(DRIVER);
            let driver = function.driver.as_deref().or(own);
            // The kernel may have given it back already.
            if let (Some(driver), None) = (driver, self.machine.driver_of(address)) {
                // After a refusal, the other functions still get their drivers.
                refused = refused.and(self.machine.bind(address, driver));
            }
        }
        Ok(refused?)
    }

    fn identify(&self, manifest: &Manifest) -> Result<()> {
        let address = self.address;
        let began = Instant::now();
        let page = loop {
            // Nodes come a little after the driver.
            let page = self
                .machine
                .card(address)
                .and_then(|card| card.user_pages(BarOffset(0), PAGE));
            match page {
                Err(
                    xdma::Error::NoNode { .. }
                    | xdma::Error::Node { .. }
                    | xdma::Error::Driver { .. },
                ) if began.elapsed() < self.patience.appear => {
                    sleep(LOOK);
                }
                other => break other?,
            }
        };
        for (register, offset, wanted) in [
            ("MAGIC", board::MAGIC, alcor_abi::MAGIC),
            ("ABI_HASH", board::ABI_HASH, manifest.abi_hash.0),
            ("REVISION", board::REVISION, manifest.revision.0),
        ] {
            match page.read32(BarOffset(offset.into()))? {
                found if found == wanted => {}
                u32::MAX if offset == board::MAGIC => return Err(Error::DeadLink { address }),
                found => {
                    return Err(Error::OtherBuild {
                        address,
                        register,
                        found,
                        wanted,
                    });
                }
            }
        }
        Ok(())
    }
}

/// Waits for a function to be on the bus.
pub(crate) fn appear(machine: &Machine, function: PciAddress, patience: Duration) -> Result<()> {
    let began = Instant::now();
    loop {
        match machine.card(function) {
            Ok(_) => return Ok(()),
            // The kernel makes the folder of the function in several steps.
            Err(_) if began.elapsed() < patience => sleep(LOOK),
            Err(xdma::Error::NoCard { address, .. }) => {
                return Err(Error::NotBack {
                    address,
                    after: patience,
                });
            }
            Err(error) => return Err(error.into()),
        }
    }
}
