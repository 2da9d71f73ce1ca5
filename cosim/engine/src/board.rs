//! A simulated board.

use std::sync::Arc;

use alcor::{Board, Error, LocalRank, PageOffset, Port, Topology};
use alcor_abi::LINKS_PAGE;
use verimodel::Model;

use crate::chip::Chip;
use crate::port::{SimPort, check_register};
use crate::scheduler::Scheduler;
use crate::{BoardRecording, CosimError, Options, Replay, Shape, SimCluster};

/// A board whose core is a model in this process: one of a [`SimCluster`], or the only one. See the
/// [crate](crate) for how time moves.
pub struct SimBoard {
    scheduler: Arc<Scheduler>,
    number: usize,
    model: Model,
    options: Options,
}

impl SimBoard {
    /// A single board over the given model, which has the ports of `hw/dpi/sim_top.sv`. The board
    /// has been reset. Options that concern the build of a model have no effect.
    ///
    /// # Errors
    /// If the model lacks a port or a memory, has links, fails, or does not become ready.
    pub fn with_model(
        name: &str,
        model: &Model,
        shape: Shape,
        options: Options,
    ) -> Result<Arc<Self>, CosimError> {
        let cluster = SimCluster::with_model(name, model, shape, Topology::single(), options)?;
        Ok(Arc::clone(&cluster.boards()[0]))
    }

    pub(crate) fn new(
        scheduler: &Arc<Scheduler>,
        number: usize,
        model: &Model,
        options: &Options,
    ) -> Self {
        Self {
            scheduler: Arc::clone(scheduler),
            number,
            model: model.clone(),
            options: options.clone(),
        }
    }

    /// Number of the board in its cluster.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number as u32
    }

    /// Model of the board.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Ranks, node memory and links.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.scheduler.shape()
    }

    /// Options of the URI.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Cycles since the last reset.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.scheduler.with_chip(self.number, |chip| chip.now())
    }

    /// Digest of the phits and credits that the board has sent since the last reset; none without
    /// links.
    #[must_use]
    pub fn link_digest(&self) -> Option<u32> {
        self.scheduler.with_chip(self.number, |chip| {
            chip.mailbox().ends().map(|ends| ends.digest())
        })
    }

    /// Number of phits that the board has sent on each link since the last reset.
    #[must_use]
    pub fn link_phits(&self) -> Vec<u64> {
        let links = self.shape().links as usize;
        self.scheduler.with_chip(self.number, |chip| {
            let ends = chip.mailbox().ends();
            ends.map_or_else(Vec::new, |ends| {
                (0..links).map(|port| ends.phits(port)).collect()
            })
        })
    }

    /// Ends the run because the process of a rank has ended: the waits of all ranks end with
    /// `PeerDied`. Has no effect if the rank has left the run or takes no part in it.
    pub fn kill(&self, rank: LocalRank) {
        if rank.0 < self.shape().ranks {
            self.scheduler.kill(self.number, rank.0);
        }
    }

    /// Resets the board and records its inputs from then on, until
    /// [`take_recording`](Self::take_recording). Each reset restarts the recording.
    ///
    /// # Errors
    /// If a port is attached, or the reset fails.
    pub fn record(&self) -> Result<(), Error> {
        self.scheduler.reset(self.number)?;
        self.scheduler
            .with_idle_chip(self.number, "record", Chip::record)
    }

    /// The recording since the last reset; ends recording.
    ///
    /// # Errors
    /// If a port is attached, or no recording is under way.
    pub fn take_recording(&self) -> Result<BoardRecording, Error> {
        self.scheduler
            .with_idle_chip(self.number, "take the recording", |chip| {
                chip.take_recording().ok_or(CosimError::NotRecording)
            })
    }

    /// Plays a recording of the same model to a fresh instance in a bare C++ loop, for at most the
    /// recorded number of cycles. Node memory has its contents of the start, with all recorded
    /// writes applied beforehand.
    ///
    /// This board does not change. The time is that of the loop alone.
    ///
    /// # Errors
    /// If the recording is of another model, or the model behaves differently.
    pub fn replay(&self, recording: &BoardRecording, cycles: u64) -> Result<Replay, Error> {
        let options = Options {
            waves: None,
            ..self.options.clone()
        };
        let play = || {
            let mut chip = Chip::new(
                &format!("{} (bare)", self.name()),
                self.number(),
                self.scheduler.topology(),
                &self.model,
                self.shape(),
                &options,
            )?;
            chip.play(recording, cycles.min(recording.cycles))
        };
        play().map_err(|error: CosimError| error.on(self.name()))
    }
}

impl Board for SimBoard {
    fn name(&self) -> &str {
        self.scheduler.name(self.number)
    }

    /// Takes no time. During a run, the value is that of the next instant at which time stands
    /// still.
    fn read32(&self, offset: PageOffset) -> Result<u32, Error> {
        check_register(offset, self.name())?;
        self.scheduler
            .with_chip(self.number, |chip| chip.peek(offset.0))
            .map_err(|error| error.on(self.name()))
    }

    /// Takes no time, as [`read32`](Board::read32).
    fn read_links32(&self, offset: PageOffset) -> Result<Option<u32>, Error> {
        check_register(offset, self.name())?;
        if !self.shape().frames {
            return Ok(None);
        }
        self.scheduler
            .with_chip(self.number, |chip| chip.peek(LINKS_PAGE + offset.0))
            .map(Some)
            .map_err(|error| error.on(self.name()))
    }

    /// Takes no time: the access is over the bus, before cycle 0.
    fn write32(&self, offset: PageOffset, value: u32) -> Result<(), Error> {
        check_register(offset, self.name())?;
        self.scheduler
            .with_idle_chip(self.number, "write a register of the board", |chip| {
                chip.set(offset.0, value)
            })
    }

    fn reset(&self) -> Result<(), Error> {
        self.scheduler.reset(self.number)
    }

    fn expect(&self, ports: u32) -> Result<(), Error> {
        self.scheduler.expect(self.number, ports)
    }

    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>, Error> {
        let scheduler = Arc::clone(&self.scheduler);
        Ok(Box::new(SimPort::attach(scheduler, self.number, rank.0)?))
    }

    fn traffic_digest(&self) -> Option<u32> {
        let digest = self
            .scheduler
            .with_chip(self.number, |chip| chip.mailbox().digest());
        Some(digest)
    }

    fn time_stands_still(&self) -> bool {
        true
    }

    fn reset_clears_memory(&self) -> bool {
        true
    }
}
