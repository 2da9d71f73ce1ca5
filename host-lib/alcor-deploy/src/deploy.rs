//! The sequence of steps.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use alcor_bitstreams::Manifest;
use xdma::{CardLock, Machine, PciAddress};

use crate::facts::Facts;
use crate::locks;
use crate::undo::Undo;
use crate::{Error, Failure, Job, Programmer, Result, Step, Undone};

/// A deployment: bitstream, card, programmer and settings.
#[derive(Debug, Clone)]
pub struct Deploy {
    /// The host.
    pub machine: Machine,
    /// The card: any function of it whose design is Alcor's.
    pub address: PciAddress,
    /// The folder of the build, with its manifest.
    pub build: PathBuf,
    /// The programmer.
    pub programmer: Programmer,
    /// The serial number of the card's cable.
    pub serial: Option<String>,
    /// Paths of the host.
    pub places: Places,
    /// Time limits.
    pub patience: Patience,
}

/// Paths of the host's files.
#[derive(Debug, Clone)]
pub struct Places {
    /// Lock files; all users of a board must use the same folder.
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

/// Time limits of waits.
#[derive(Debug, Clone)]
pub struct Patience {
    /// Limit for the programmer.
    pub program: Duration,
    /// Limit for the return of the card to the bus, and for its device nodes.
    pub appear: Duration,
}

impl Default for Patience {
    /// Ten minutes for the programmer, since Vivado takes its time to start, and ten seconds for
    /// the card.
    fn default() -> Patience {
        Patience {
            program: Duration::from_secs(600),
            appear: Duration::from_secs(10),
        }
    }
}

/// A progress report of a deployment.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A step begins.
    Begins(Step, &'a str),
    /// The programmer has written a line.
    Line(&'a str),
    /// A step is done.
    Done(Step),
    /// A step was undone, or its undo failed.
    Undone(&'a Undone),
}

/// The state of a running deployment, and the receiver of its reports.
pub(crate) struct Progress<'a> {
    pub(crate) stop: &'a AtomicBool,
    pub(crate) tell: &'a mut dyn FnMut(&Event<'_>),
    pub(crate) held: Vec<CardLock>,
    pub(crate) undo: Vec<Undo>,
}

impl Progress<'_> {
    /// Does a step, unless the user has stopped the deployment.
    fn step<T>(
        &mut self,
        step: Step,
        what: &str,
        act: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T, (Step, Error)> {
        (self.tell)(&Event::Begins(step, what));
        let done = if self.stop.load(Ordering::Relaxed) {
            Err(Error::Stopped)
        } else {
            act(self)
        };
        let done = done.map_err(|error| (step, error))?;
        (self.tell)(&Event::Done(step));
        Ok(done)
    }
}

impl Deploy {
    /// Creates a deployment with the default paths and time limits.
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

    /// The actions of [`Deploy::run`]. Reads the bitstream, the programmer, the card and its users,
    /// and changes nothing. It takes no lock.
    ///
    /// # Errors
    /// Errors that would end the deployment before its first change, except those of locks.
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

    /// Loads the bitstream. `stop` ends the deployment at the next step, or during the programmer;
    /// the completed steps are undone.
    ///
    /// # Errors
    /// The step that failed, and the results of the undo.
    pub fn run(
        &self,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(&Event<'_>),
    ) -> Result<Manifest, Box<Failure>> {
        let mut progress = Progress {
            stop,
            tell,
            held: Vec::new(),
            undo: Vec::new(),
        };
        match self.sequence(&mut progress) {
            Ok(manifest) => Ok(manifest),
            Err((step, error)) => Err(Box::new(Failure {
                step,
                error,
                undone: self.undo(&mut progress),
            })),
        }
    }

    fn sequence(&self, progress: &mut Progress<'_>) -> Result<Manifest, (Step, Error)> {
        let what = self.describe(Step::Verify, None, None);
        let manifest = progress.step(Step::Verify, &what, |_| self.verify())?;
        let what = self.describe(Step::Programmer, None, None);
        progress.step(Step::Programmer, &what, |_| self.ask_programmer(&manifest))?;
        let what = self.describe(Step::Lock, None, None);
        progress.step(Step::Lock, &what, |progress| {
            let lock = locks::deployment(&self.places.locks, self.address)?;
            progress.held.push(lock);
            Ok(())
        })?;
        // After the lock: during another deployment the card is not on the bus.
        let what = self.describe(Step::Find, None, None);
        let find = |_: &mut Progress<'_>| Facts::find(&self.machine, self.address);
        let facts = progress.step(Step::Find, &what, find)?;
        for step in Step::ALL.into_iter().skip(Step::Find.number()) {
            let what = self.describe(step, Some(&manifest), Some(&facts));
            progress.step(step, &what, |progress| {
                self.act(step, &manifest, &facts, progress)
            })?;
        }
        Ok(manifest)
    }

    fn undo(&self, progress: &mut Progress<'_>) -> Vec<Undone> {
        let mut undone = Vec::new();
        while let Some(undo) = progress.undo.pop() {
            let done = Undone {
                what: undo.what(),
                result: undo.run(&self.machine, &self.patience),
            };
            (progress.tell)(&Event::Undone(&done));
            undone.push(done);
        }
        undone
    }

    fn verify(&self) -> Result<Manifest> {
        Ok(alcor_bitstreams::verify(&self.build)?)
    }

    /// The command of the programmer. Fails before any change if the programmer is missing.
    fn ask_programmer(&self, manifest: &Manifest) -> Result<()> {
        self.programmer
            .command(&self.job(manifest), Path::new(""))?;
        self.programmer.check()
    }

    pub(crate) fn job(&self, manifest: &Manifest) -> Job {
        Job {
            bit: self.build.join(&manifest.bitstream.file),
            serial: self.serial.clone(),
            address: self.address,
        }
    }
}
