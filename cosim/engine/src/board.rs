//! A simulated board.

use std::sync::Arc;

use alcor::{Board, Error, LocalRank, PageOffset, Port};
use verilated::Model;

use crate::chip::Chip;
use crate::clockwork::Clockwork;
use crate::port::{SimPort, check_register};
use crate::{BoardRecording, CosimError, Options, Replay, Shape};

/// A board whose core is a model in this process. See the [crate](crate) for how time moves.
pub struct SimBoard {
    clockwork: Arc<Clockwork>,
    model: Model,
    shape: Shape,
    options: Options,
}

impl SimBoard {
    /// A board over a model of one's own, with the ports of `hw/dpi/sim_top.sv`; it has been reset. Of the options,
    /// those that concern how a model is built count for nothing here.
    ///
    /// # Errors
    /// If the model lacks a port or a memory, fails, or does not become ready.
    pub fn with_model(
        name: &str,
        model: &Model,
        shape: Shape,
        options: Options,
    ) -> Result<Arc<Self>, CosimError> {
        let chip = Chip::new(name, model, shape, &options)?;
        let clockwork = Arc::new(Clockwork::new(name, chip, options.away));
        Ok(Arc::new(Self {
            clockwork,
            model: model.clone(),
            shape,
            options,
        }))
    }

    /// Its model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Ranks and node memory.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How it was opened.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Cycles since the last reset.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.clockwork.with_chip(|chip| chip.now())
    }

    /// Resets the board and records what it is told from then on, until [`take_recording`](Self::take_recording). Each
    /// reset starts the recording anew.
    ///
    /// # Errors
    /// If a port is attached, or the reset fails.
    pub fn record(&self) -> Result<(), Error> {
        self.clockwork.reset()?;
        self.clockwork.with_idle_chip("record", Chip::record)
    }

    /// What was recorded since the last reset; ends recording.
    ///
    /// # Errors
    /// If a port is attached, or nothing is being recorded.
    pub fn take_recording(&self) -> Result<BoardRecording, Error> {
        self.clockwork.with_idle_chip("take the recording", |chip| {
            chip.take_recording().ok_or(CosimError::NotRecording)
        })
    }

    /// Plays a recording of the same model to a fresh instance in a bare C++ loop, for at most as many cycles as were
    /// recorded. Node memory is what it was at the start, with all of the recorded writes applied before it.
    ///
    /// Nothing of this board changes; time is taken around the loop alone.
    ///
    /// # Errors
    /// If the recording is of another model, or the model does something else than it did.
    pub fn replay(&self, recording: &BoardRecording, cycles: u64) -> Result<Replay, Error> {
        let options = Options {
            waves: None,
            ..self.options.clone()
        };
        let play = || {
            let mut chip = Chip::new(
                &format!("{} (bare)", self.name()),
                &self.model,
                self.shape,
                &options,
            )?;
            chip.play(recording, cycles.min(recording.cycles))
        };
        play().map_err(|error: CosimError| error.on(self.name()))
    }
}

impl Board for SimBoard {
    fn name(&self) -> &str {
        self.clockwork.name()
    }

    /// Takes no time; while a run is under way, the value is that of whenever time happens to stand still next.
    fn read32(&self, offset: PageOffset) -> Result<u32, Error> {
        check_register(offset, self.name())?;
        self.clockwork
            .with_chip(|chip| chip.peek(offset.0))
            .map_err(|error| error.on(self.name()))
    }

    fn reset(&self) -> Result<(), Error> {
        self.clockwork.reset()
    }

    fn expect(&self, ports: u32) -> Result<(), Error> {
        self.clockwork.expect(ports)
    }

    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>, Error> {
        let (now, backlog) = self.clockwork.attach(rank.0)?;
        Ok(Box::new(SimPort::new(
            Arc::clone(&self.clockwork),
            rank.0,
            now,
            backlog,
        )))
    }

    fn traffic_digest(&self) -> Option<u32> {
        Some(self.clockwork.with_chip(|chip| chip.mailbox().digest()))
    }
}
