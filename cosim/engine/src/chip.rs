//! The model of a board with its mailbox: reset, clock, registers and node memory.

use alcor::Topology;
use alcor_abi::board;
use verimodel::{Coverage, Instance, Model, Signal};

use crate::mailbox::Mailbox;
use crate::memory::NodeMemory;
use crate::waves::{Turn, Waves};
use crate::{BoardRecording, CosimError, Options, Replay, Shape, Skip};

/// Cycles for which reset is asserted.
const RESET_CYCLES: u64 = 8;
/// Maximum number of cycles after reset until the board is ready.
const READY_CYCLES: u64 = 4096;
/// Maximum number of cycles until the bus accepts a write to the board's page.
pub(crate) const WRITE_CYCLES: u64 = 64;

/// A recorded write of the host to node memory.
#[derive(Debug, Clone)]
pub(crate) struct MemoryWrite {
    pub(crate) cycle: u64,
    pub(crate) rank: usize,
    pub(crate) at: u32,
    pub(crate) data: Vec<u8>,
}

/// Cycles without traffic before the board is checked for a steady state.
const QUIET: u64 = 1;
/// Number of further cycles in which the board's state must be the same.
const STEADY: u64 = 2;
/// Cycles without traffic before the check, if all ranks wait for each other.
const CALM: u64 = 64;
/// Cycles until the next check after an unsteady state.
const AGAIN: u64 = 1024;

/// A board whose state stays the same until the host or a link acts on the board.
#[derive(Clone, Copy)]
struct Steady {
    /// The last edge with traffic.
    touched: u64,
    /// The edge of the check.
    since: u64,
}

/// The use of a board since its reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Done {
    Nothing,
    /// Registers of the board's page were written.
    Set,
    /// The board may have taken part in a run.
    Run,
}

/// An instance of a board's model.
pub(crate) struct Chip {
    name: String,
    number: u32,
    topology: Topology,
    model: Model,
    shape: Shape,
    options: Options,
    instance: Instance<Mailbox>,
    clk: Signal,
    rst_n: Signal,
    axi_enable: Signal,
    peek: Signal,
    peek_addr: Signal,
    peek_data: Signal,
    phased: Option<Signal>,
    /// Number of skipped cycles since the board was made.
    skipped: u64,
    /// Whether all ranks wait for each other, so that a steady state means a deadlock.
    is_watched: bool,
    steady: Option<Steady>,
    /// Edge before which the board is not checked for a steady state.
    look_at: u64,
    memories: Vec<NodeMemory>,
    waves: Waves,
    done: Done,
    /// Writes to the board's page since it was reset: byte address and value.
    settings: Vec<(u32, u32)>,
    /// Coverage of the instances that this instance has replaced.
    covered: Coverage,
    /// The initial state of the recording under way.
    start: Option<Start>,
}

/// Makes an instance whose registers have the values of the options.
fn powered_up(
    model: &Model,
    name: &str,
    mailbox: Mailbox,
    options: &Options,
) -> Result<Instance<Mailbox>, CosimError> {
    Ok(match options.power_up {
        Some(seed) => model.instantiate_random(name, mailbox, seed)?,
        None => model.instantiate(name, mailbox)?,
    })
}

struct Start {
    settings: Vec<(u32, u32)>,
    memories: Vec<Vec<u8>>,
    writes: Vec<MemoryWrite>,
}

impl Chip {
    /// Makes an instance of board `number` and resets it.
    pub(crate) fn new(
        name: &str,
        number: u32,
        topology: &Topology,
        model: &Model,
        shape: Shape,
        options: &Options,
    ) -> Result<Self, CosimError> {
        let mailbox = Mailbox::new(shape, options, number, topology);
        let instance = powered_up(model, name, mailbox, options)?;
        let memories = (0..shape.ranks as usize)
            .map(|rank| NodeMemory::find(&instance, rank, shape.banks()))
            .collect::<Result<_, _>>()?;
        let mut chip = Self {
            name: name.into(),
            number,
            topology: *topology,
            model: model.clone(),
            shape,
            options: options.clone(),
            clk: model.input("clk_i")?,
            rst_n: model.input("rst_ni")?,
            axi_enable: model.input("axi_enable_i")?,
            peek: model.input("peek_i")?,
            peek_addr: model.input("peek_addr_i")?,
            peek_data: model.output("peek_data_o")?,
            phased: model.output("phased_o").ok(),
            skipped: 0,
            is_watched: false,
            steady: None,
            look_at: 0,
            instance,
            memories,
            waves: Waves::new(options),
            done: Done::Run,
            settings: Vec::new(),
            covered: Coverage::default(),
            start: None,
        };
        chip.set_trace()?;
        chip.reset()?;
        Ok(chip)
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    pub(crate) fn mailbox(&self) -> &Mailbox {
        self.instance.dpi()
    }

    pub(crate) fn mailbox_mut(&mut self) -> &mut Mailbox {
        self.instance.dpi_mut()
    }

    /// Number of cycles since reset.
    pub(crate) fn now(&self) -> u64 {
        self.mailbox().now()
    }

    /// Resets the board and waits until the board is ready; then time is cycle 0. A failed model is
    /// replaced by a new instance. Node memory is cleared. Data of an earlier run could otherwise
    /// appear on the wires beside valid bytes, and traffic would not be reproducible.
    pub(crate) fn reset(&mut self) -> Result<(), CosimError> {
        self.done = Done::Run;
        self.settings.clear();
        self.instance.record_dpi(false);
        if self.instance.failure().is_some() {
            self.replace()?;
        }
        for memory in &self.memories {
            memory.clear(&mut self.instance)?;
        }
        self.mailbox_mut().reset();
        self.instance
            .set(&self.axi_enable, u64::from(self.mailbox().uses_axi()))?;
        self.instance.set(&self.rst_n, 0)?;
        self.clock(RESET_CYCLES)?;
        self.instance.set(&self.rst_n, 1)?;
        let mut cycles = 0;
        loop {
            let status = self.peek(board::STATUS)?;
            if board::status::READY.get(status) != 0 {
                break;
            }
            if cycles == READY_CYCLES {
                return Err(CosimError::NotReady { cycles, status });
            }
            self.clock(1)?;
            cycles += 1;
        }
        self.begin_time()?;
        if self.start.is_some() {
            self.record()?;
        }
        self.done = Done::Nothing;
        Ok(())
    }

    /// Resets the board if it has taken part in a run. With `is_asked`, also if registers were
    /// written.
    pub(crate) fn refresh(&mut self, is_asked: bool) -> Result<(), CosimError> {
        if is_asked {
            self.waves.reset();
        }
        match self.done {
            Done::Run => self.reset(),
            Done::Set if is_asked => self.reset(),
            _ => Ok(()),
        }
    }

    /// Records that the board may take part in a run.
    pub(crate) fn touch(&mut self) {
        self.done = Done::Run;
    }

    /// Writes a register of the board's page over the bus, before time begins. The cycles of the
    /// write do not count.
    pub(crate) fn set(&mut self, address: u32, value: u32) -> Result<(), CosimError> {
        if self.now() != 0 {
            return Err(CosimError::SetLate { cycle: self.now() });
        }
        self.done = self.done.max(Done::Set);
        self.drive_setting(address, value)?;
        self.settings.push((address, value));
        if let Some(start) = &mut self.start {
            start.settings.push((address, value));
            self.instance.record_dpi(true);
        }
        Ok(())
    }

    /// Begins a write to a register of the board's page over the bus, at any time. The caller then
    /// lets time pass until [`Chip::has_written`].
    pub(crate) fn begin_write(&mut self, address: u32, value: u32) -> Result<(), CosimError> {
        self.mailbox_mut().set(address, value);
        Ok(self.instance.set(&self.axi_enable, 1)?)
    }

    /// Returns whether the bus has accepted the write, and then releases the bus.
    pub(crate) fn has_written(&mut self) -> Result<bool, CosimError> {
        if self.mailbox().is_setting() {
            return Ok(false);
        }
        let uses_axi = u64::from(self.mailbox().uses_axi());
        self.instance.set(&self.axi_enable, uses_axi)?;
        Ok(true)
    }

    /// Takes copies into host memory from the board from now on ([`Mailbox::take_copies`]).
    pub(crate) fn begin_copies(&mut self) -> Result<(), CosimError> {
        self.mailbox_mut().begin_copies();
        Ok(self.instance.set(&self.axi_enable, 1)?)
    }

    fn drive_setting(&mut self, address: u32, value: u32) -> Result<(), CosimError> {
        self.begin_write(address, value)?;
        let mut cycles = 0;
        while !self.has_written()? {
            if cycles == WRITE_CYCLES {
                return Err(CosimError::BusStuck { address });
            }
            self.clock(1)?;
            cycles += 1;
        }
        self.begin_time()
    }

    /// Sets time to cycle 0.
    fn begin_time(&mut self) -> Result<(), CosimError> {
        if self.mailbox().has_sent() {
            return Err(CosimError::SentEarly);
        }
        self.mailbox_mut().reset();
        (self.steady, self.look_at) = (None, 0);
        Ok(())
    }

    fn replace(&mut self) -> Result<(), CosimError> {
        let mailbox = Mailbox::new(self.shape, &self.options, self.number, &self.topology);
        let mut fresh = powered_up(&self.model, &self.name, mailbox, &self.options)?;
        if self.model.has_coverage() {
            self.covered.merge(self.instance.coverage()?);
        }
        // The log must contain the events before the failure.
        fresh.dpi_mut().inherit(self.instance.dpi_mut());
        self.instance = fresh;
        self.set_trace()
    }

    /// Enables the model's reports of writes to node memory if there is a log.
    fn set_trace(&mut self) -> Result<(), CosimError> {
        let trace = self.model.input("trace_i")?;
        Ok(self
            .instance
            .set(&trace, u64::from(self.options.log.is_some()))?)
    }

    fn clock(&mut self, cycles: u64) -> Result<(), CosimError> {
        let result = self.instance.run(&self.clk, cycles).map(drop);
        result.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: verimodel::Error) -> CosimError {
        match error.failure() {
            Some(failure) => CosimError::Model {
                cycle: self.now(),
                failure: Box::new(failure.clone()),
            },
            None => error.into(),
        }
    }

    /// Moves time to `until`, or until ranks are due, which the mailbox names. With `is_watched`,
    /// checks whether the state [stays the same](Self::steady_since).
    pub(crate) fn run(&mut self, until: u64, is_watched: bool) -> Result<(), CosimError> {
        self.is_watched = is_watched;
        if self.now() >= until {
            return Ok(());
        }
        self.mailbox_mut().begin();
        loop {
            let now = self.now();
            match self.waves.due(now) {
                Some(Turn::On(file)) => self.instance.trace_start(file)?,
                Some(Turn::Off) => self.instance.trace_stop()?,
                None => {}
            }
            self.pass(self.waves.horizon(now).min(until - now))?;
            if self.mailbox().woken() != 0 || self.now() >= until {
                return Ok(());
            }
        }
    }

    /// Number of skipped cycles since the board was made.
    pub(crate) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns whether cycles are skipped, or checked as if they were skipped.
    fn may_skip(&self) -> bool {
        self.options.skip != Skip::Off
            && self.options.waves.is_none()
            && self.start.is_none()
            && !self.model.has_coverage()
            && self.phased.is_some()
    }

    /// Returns the edge after which the board is idle until the host or a link acts on the board,
    /// if that edge is known.
    pub(crate) fn steady_since(&self) -> Option<u64> {
        let steady = self.steady?;
        let mailbox = self.mailbox();
        (steady.touched == mailbox.touched() && mailbox.is_idle()).then_some(steady.since)
    }

    /// Returns the edge of the next check for a steady state, if a check is needed.
    fn next_look(&self) -> Option<u64> {
        let touched = self.mailbox().touched();
        let is_known = self.steady.is_some_and(|steady| steady.touched == touched);
        let is_asked = self.is_watched && self.phased.is_some() && !is_known;
        is_asked.then(|| self.look_at.max(touched + CALM))
    }

    /// Runs some cycles and checks whether the state stays the same. The cycles of the check depend
    /// on traffic alone, so the result does not depend on skipping.
    fn look(&mut self) -> Result<(), CosimError> {
        let touched = self.mailbox().touched();
        self.look_at = self.now() + AGAIN;
        self.instance.save_state()?;
        for _ in 0..STEADY {
            self.clock(1)?;
            let is_same = self.mailbox().touched() == touched && self.mailbox().woken() == 0;
            if !is_same || !self.instance.is_steady()? {
                return Ok(());
            }
        }
        if let Some(phased) = &self.phased
            && self.instance.get(phased)? == 0
        {
            let since = self.now();
            self.steady = Some(Steady { touched, since });
        }
        Ok(())
    }

    /// Runs `cycles` cycles, or fewer if ranks are woken.
    fn pass(&mut self, cycles: u64) -> Result<(), CosimError> {
        let end = self.now() + cycles;
        while self.now() < end && self.mailbox().woken() == 0 {
            let now = self.now();
            match self.next_look() {
                Some(at) if at <= now && now + STEADY <= end => self.look()?,
                Some(at) if at > now => self.step(at.min(end) - now)?,
                _ => self.step(end - now)?,
            }
        }
        Ok(())
    }

    /// Runs `cycles` cycles, or fewer if ranks are woken. Skips steady cycles.
    fn step(&mut self, cycles: u64) -> Result<(), CosimError> {
        if !self.may_skip() {
            return self.clock(cycles);
        }
        let end = self.now() + cycles;
        while self.now() < end && self.mailbox().woken() == 0 {
            let now = self.now();
            let due = self.mailbox().due().min(end);
            let quiet = self.mailbox().touched() + QUIET;
            if now < quiet {
                self.clock((quiet - now).min(end - now))?;
            } else if due <= now + STEADY + 1 {
                self.clock(due.saturating_sub(now).max(1))?;
            } else if self.instance.seems_steady()? {
                self.skip(due)?;
            } else {
                self.clock(1)?;
            }
        }
        Ok(())
    }

    /// Runs some cycles. If the state stayed the same, skips to the edge `due`.
    fn skip(&mut self, due: u64) -> Result<(), CosimError> {
        let touched = self.mailbox().touched();
        self.instance.save_state()?;
        for _ in 0..STEADY {
            self.clock(1)?;
            if self.mailbox().touched() != touched || !self.instance.is_steady()? {
                return Ok(());
            }
        }
        if let Some(phased) = &self.phased
            && self.instance.get(phased)? != 0
        {
            return Ok(());
        }
        let cycles = due - self.now() - 1;
        if self.options.skip == Skip::On {
            self.instance.skip(cycles)?;
            self.mailbox_mut().skip(cycles);
            self.skipped += cycles;
            return Ok(());
        }
        let expected = self.instance.counters_after(cycles)?;
        let from = self.now();
        self.clock(cycles)?;
        let counters = self.instance.counters_after(0)?;
        let is_same = self.mailbox().touched() == touched
            && self.now() == from + cycles
            && self.instance.is_steady()?
            && counters == expected;
        if is_same {
            Ok(())
        } else {
            Err(CosimError::NotSteady {
                from,
                to: from + cycles,
            })
        }
    }

    /// Reads a register by its byte address in the BAR. The read takes no simulated time.
    pub(crate) fn peek(&mut self, address: u32) -> Result<u32, CosimError> {
        self.instance.set(&self.peek_addr, u64::from(address))?;
        // The bus uses the same register multiplexer, so `peek` is cleared before the next clock
        // edge.
        self.instance.set(&self.peek, 1)?;
        let result = self.instance.eval();
        result.map_err(|error| self.failed(error))?;
        self.instance.set(&self.peek, 0)?;
        Ok(self.instance.get(&self.peek_data)? as u32)
    }

    /// Copies from node memory without simulated time. The caller has checked the range.
    pub(crate) fn load(&self, rank: usize, at: u32, data: &mut [u8]) -> Result<(), CosimError> {
        self.memories[rank].read(&self.instance, at as usize, data)
    }

    /// Copies to node memory without simulated time. The caller has checked the range.
    pub(crate) fn store(&mut self, rank: usize, at: u32, data: &[u8]) -> Result<(), CosimError> {
        let cycle = self.now();
        if let Some(start) = &mut self.start {
            start.writes.push(MemoryWrite {
                cycle,
                rank,
                at,
                data: data.to_vec(),
            });
        }
        self.memories[rank].write(&mut self.instance, at as usize, data)
    }

    /// Returns the coverage since the board was made, across resets and failures.
    pub(crate) fn coverage(&mut self) -> Result<Coverage, CosimError> {
        if !self.model.has_coverage() {
            return Err(CosimError::NoCoverage);
        }
        let mut coverage = self.covered.clone();
        coverage.merge(self.instance.coverage()?);
        Ok(coverage)
    }

    /// Starts a recording of the model's inputs. The recording restarts at each reset.
    pub(crate) fn record(&mut self) -> Result<(), CosimError> {
        let memories = self.memories.iter().map(|memory| {
            let mut bytes = vec![0; memory.len()];
            memory.read(&self.instance, 0, &mut bytes).map(|()| bytes)
        });
        self.start = Some(Start {
            settings: self.settings.clone(),
            memories: memories.collect::<Result<_, _>>()?,
            writes: Vec::new(),
        });
        self.instance.record_dpi(true);
        Ok(())
    }

    /// Ends the recording and returns it.
    pub(crate) fn take_recording(&mut self) -> Option<BoardRecording> {
        let (calls, start) = self.instance.take_recording().zip(self.start.take())?;
        let Start {
            settings,
            memories,
            writes,
        } = start;
        Some(BoardRecording {
            calls,
            settings,
            memories,
            writes,
            cycles: self.now(),
        })
    }

    /// Replays a recording in a bare loop. The recording began after a reset, and this instance was
    /// reset last.
    pub(crate) fn play(
        &mut self,
        recording: &BoardRecording,
        cycles: u64,
    ) -> Result<Replay, CosimError> {
        for &(address, value) in &recording.settings {
            self.drive_setting(address, value)?;
        }
        for (memory, bytes) in self.memories.iter().zip(&recording.memories) {
            memory.write(&mut self.instance, 0, bytes)?;
        }
        for write in &recording.writes {
            self.memories[write.rank].write(&mut self.instance, write.at as usize, &write.data)?;
        }
        let result = self.instance.run_bare(&self.clk, cycles, &recording.calls);
        let run = result.map_err(|error| self.failed(error))?;
        Ok(Replay {
            cycles: run.cycles,
            elapsed: run.elapsed,
        })
    }
}
