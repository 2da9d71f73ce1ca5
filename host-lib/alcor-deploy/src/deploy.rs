//! The sequence.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use alcor_abi::board;
use alcor_bitstreams::Manifest;
use xdma::{BarOffset, Config, Machine, PciAddress, command, device_control};

use crate::facts::{DRIVER, Facts};
use crate::holders::holders;
use crate::locks::{self, Held};
use crate::undo::{Undo, read_bridge, restore};
use crate::{Error, Failure, Identity, Job, Programmer, Result, Step, Undone};

/// How often it is looked whether something has come.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes of the board's page.
const PAGE: u64 = alcor_abi::PAGE_BYTES as u64;

/// A deployment: which bitstream goes into which card, and how.
#[derive(Debug, Clone)]
pub struct Deploy {
    /// The host.
    pub machine: Machine,
    /// The card: any function of it whose design is Alcor's.
    pub address: PciAddress,
    /// The folder of the build, with its manifest.
    pub build: PathBuf,
    /// What configures the FPGA.
    pub programmer: Programmer,
    /// The serial number of the card's cable.
    pub serial: Option<String>,
    /// Where files of the host lie.
    pub places: Places,
    /// How long is waited.
    pub patience: Patience,
}

/// Where files of the host lie.
#[derive(Debug, Clone)]
pub struct Places {
    /// Lock files; all who share a board have to name the same.
    pub locks: PathBuf,
    /// The kernel's list of processes.
    pub proc: PathBuf,
    /// Device nodes.
    pub dev: PathBuf,
}

impl Default for Places {
    fn default() -> Places {
        Places {
            locks: "/run/lock/alcor".into(),
            proc: "/proc".into(),
            dev: "/dev".into(),
        }
    }
}

/// How long is waited.
#[derive(Debug, Clone)]
pub struct Patience {
    /// For the programmer.
    pub program: Duration,
    /// For the card to come back to the bus, and for its device nodes.
    pub appear: Duration,
}

impl Default for Patience {
    /// Ten minutes for the programmer, since Vivado takes its time to start, and ten seconds for the card.
    fn default() -> Patience {
        Patience {
            program: Duration::from_secs(600),
            appear: Duration::from_secs(10),
        }
    }
}

/// What a deployment tells of itself.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A step begins.
    Begins(Step, &'a str),
    /// The programmer has written a line.
    Line(&'a str),
    /// A step is done.
    Done(Step),
    /// Something was undone, or could not be.
    Undone(&'a Undone),
}

/// What is held in the middle of a deployment, and who is told of it.
struct Session<'a> {
    stop: &'a AtomicBool,
    tell: &'a mut dyn FnMut(&Event<'_>),
    held: Vec<Held>,
    undo: Vec<Undo>,
}

impl Session<'_> {
    /// Does a step, unless the user has ended it.
    fn step<T>(
        &mut self,
        step: Step,
        what: &str,
        act: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T, (Step, Error)> {
        (self.tell)(&Event::Begins(step, what));
        let done = match self.stop.load(Ordering::Relaxed) {
            true => Err(Error::Stopped),
            false => act(self),
        };
        let done = done.map_err(|error| (step, error))?;
        (self.tell)(&Event::Done(step));
        Ok(done)
    }
}

impl Deploy {
    /// With the host's own places, and the usual patience.
    #[must_use]
    pub fn new(
        machine: Machine,
        address: PciAddress,
        build: impl Into<PathBuf>,
        programmer: Programmer,
    ) -> Deploy {
        Deploy {
            machine,
            address,
            build: build.into(),
            programmer,
            serial: None,
            places: Places::default(),
            patience: Patience::default(),
        }
    }

    /// What [`Deploy::run`] would do. Looks at the bitstream, the programmer, the card and its users, and changes nothing; not even a lock is taken.
    ///
    /// # Errors
    /// What would end the deployment before it has changed anything, but for locks.
    pub fn plan(&self) -> Result<Vec<(Step, String)>, Box<Failure>> {
        let at = |step| {
            move |error| {
                Box::new(Failure {
                    step,
                    error,
                    undone: Vec::new(),
                })
            }
        };
        let manifest = self.verify().map_err(at(Step::Verify))?;
        self.ask_programmer(&manifest)
            .map_err(at(Step::Programmer))?;
        let facts = Facts::find(&self.machine, self.address).map_err(at(Step::Find))?;
        self.users(&facts).map_err(at(Step::Users))?;
        let describe = |step| (step, self.describe(step, Some(&manifest), Some(&facts)));
        Ok(Step::ALL.map(describe).into())
    }

    /// Loads the bitstream. `stop` ends it at the next step, or in the middle of the programmer; what was done is undone then, too.
    ///
    /// # Errors
    /// The step that failed, and what of what was done before could be undone.
    pub fn run(
        &self,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(&Event<'_>),
    ) -> Result<Manifest, Box<Failure>> {
        let mut session = Session {
            stop,
            tell,
            held: Vec::new(),
            undo: Vec::new(),
        };
        match self.sequence(&mut session) {
            Ok(manifest) => Ok(manifest),
            Err((step, error)) => Err(Box::new(Failure {
                step,
                error,
                undone: self.undo(&mut session),
            })),
        }
    }

    fn sequence(&self, session: &mut Session<'_>) -> Result<Manifest, (Step, Error)> {
        let what = self.describe(Step::Verify, None, None);
        let manifest = session.step(Step::Verify, &what, |_| self.verify())?;
        let what = self.describe(Step::Programmer, None, None);
        session.step(Step::Programmer, &what, |_| self.ask_programmer(&manifest))?;
        let what = self.describe(Step::Lock, None, None);
        session.step(Step::Lock, &what, |session| {
            let lock = locks::deployment(&self.places.locks, self.address)?;
            session.held.push(lock);
            Ok(())
        })?;
        // Behind the lock: while somebody else deploys, the card is not there.
        let what = self.describe(Step::Find, None, None);
        let find = |_: &mut Session<'_>| Facts::find(&self.machine, self.address);
        let facts = session.step(Step::Find, &what, find)?;
        for step in Step::ALL.into_iter().skip(Step::Find.number()) {
            let what = self.describe(step, Some(&manifest), Some(&facts));
            session.step(step, &what, |session| {
                self.act(step, &manifest, &facts, session)
            })?;
        }
        Ok(manifest)
    }

    fn undo(&self, session: &mut Session<'_>) -> Vec<Undone> {
        let mut undone = Vec::new();
        while let Some(undo) = session.undo.pop() {
            let done = Undone {
                what: undo.what(),
                result: undo.run(&self.machine, &self.patience),
            };
            (session.tell)(&Event::Undone(&done));
            undone.push(done);
        }
        undone
    }

    fn verify(&self) -> Result<Manifest> {
        Ok(alcor_bitstreams::verify(&self.build)?)
    }

    /// What is to be said to the programmer, and whether it is there: before anything is touched.
    fn ask_programmer(&self, manifest: &Manifest) -> Result<()> {
        self.programmer
            .command(&self.job(manifest), Path::new(""))?;
        self.programmer.check()
    }

    fn job(&self, manifest: &Manifest) -> Job {
        Job {
            bit: self.build.join(&manifest.bitstream.file),
            serial: self.serial.clone(),
            address: self.address,
        }
    }

    /// What a step does, so far as it is known.
    fn describe(&self, step: Step, manifest: Option<&Manifest>, facts: Option<&Facts>) -> String {
        let address = self.address;
        let list = |addresses: Option<Vec<PciAddress>>| match addresses {
            Some(list) => list
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", "),
            None => address.to_string(),
        };
        let functions = list(facts.map(|facts| facts.addresses().collect()));
        let bridge = list(facts.map(|facts| vec![facts.bridge]));
        match step {
            Step::Verify => match manifest {
                None => format!(
                    "is the bitstream of {} the one that was packed",
                    self.build.display()
                ),
                Some(manifest) => format!(
                    "{} is as packed: {}, configuration {}, revision {}, ABI {}",
                    manifest.bitstream.file,
                    manifest.board,
                    manifest.configuration,
                    manifest.revision,
                    manifest.abi_hash
                ),
            },
            Step::Programmer => format!("is {} there", self.programmer.name),
            Step::Find => match facts {
                None => format!("look for {address} and its bridge"),
                Some(facts) => {
                    let first = facts
                        .functions
                        .first()
                        .map(|function| function.identity.to_string());
                    format!(
                        "{functions}, {}, behind bridge {bridge}",
                        first.unwrap_or_default()
                    )
                }
            },
            Step::Lock => format!("keep all others from deploying to {address}"),
            Step::Ranks => format!("take the locks of all ranks of {address}"),
            Step::Users => format!("nobody may have device nodes of {address} open"),
            Step::Unbind => format!("take {functions} from the driver"),
            Step::Mask => format!("clear SERR and fatal reporting of bridge {bridge}"),
            Step::Remove => format!("take {functions} off the bus"),
            Step::Program => {
                let job = manifest.map(|manifest| self.job(manifest));
                let words = job
                    .and_then(|job| self.programmer.command(&job, Path::new("program.tcl")).ok());
                words.unwrap_or_default().join(" ")
            }
            Step::RescanBridge => format!("rescan behind bridge {bridge}"),
            Step::RescanBus => format!("rescan all buses, and wait for {functions}"),
            Step::Compare => format!("are vendor, device and BARs of {functions} as before"),
            Step::Unmask => format!("restore SERR and fatal reporting of bridge {bridge}"),
            Step::Enable => format!("enable memory accesses of {functions}"),
            Step::Bind => format!("give {functions} back to the driver"),
            Step::Identify => format!("is the ID block of {address} that of the manifest"),
        }
    }

    /// Does a step, of those behind the first four.
    fn act(
        &self,
        step: Step,
        manifest: &Manifest,
        facts: &Facts,
        session: &mut Session<'_>,
    ) -> Result<()> {
        let machine = &self.machine;
        let undo = &mut session.undo;
        match step {
            Step::Verify | Step::Programmer | Step::Lock | Step::Find => Ok(()),
            Step::Ranks => {
                session
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
                let tell = &mut |line: &str| (session.tell)(&Event::Line(line));
                self.programmer
                    .run(&job, self.patience.program, session.stop, tell)
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
                match before == after {
                    true => Ok(()),
                    false => Err(Error::Differs {
                        before: Box::new(before),
                        after: Box::new(after),
                    }),
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

    fn users(&self, facts: &Facts) -> Result<()> {
        let numbers: Vec<u32> = facts
            .functions
            .iter()
            .filter_map(|function| function.number)
            .collect();
        let holders = holders(&self.places.proc, &self.places.dev, &numbers);
        match holders.is_empty() {
            true => Ok(()),
            false => Err(Error::InUse {
                address: self.address,
                holders,
            }),
        }
    }

    fn unbind(&self, facts: &Facts, undo: &mut Vec<Undo>) -> Result<()> {
        for function in &facts.functions {
            if let Some(driver) = &function.driver {
                // Before, since a call that fails may have done its work.
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
        // The card is on the bus, and from here on its drivers are what is given back.
        undo.clear();
        for function in &facts.functions {
            let address = function.identity.function;
            // One that had none gets none, but for the card's own: the FPGA may have been empty.
            let own = (address == self.address).then_some(DRIVER);
            let driver = function.driver.as_deref().or(own);
            // The kernel may have given it back already.
            if let (Some(driver), None) = (driver, self.machine.driver_of(address)) {
                self.machine.bind(address, driver)?;
            }
        }
        Ok(())
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
            // It is there by halves while the kernel makes its folder.
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
