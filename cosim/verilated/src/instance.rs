//! An instance of a model: clock, signals, memories, traces, coverage.

use std::ffi::{CStr, CString, c_void};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::time::Duration;

use crate::abi::{RawBare, RawInstance, RawPart, RawVariable};
use crate::dpi::Host;
use crate::model::listed;
use crate::recording::{BareRun, Recording};
use crate::state::{Part, State};
use crate::{Coverage, Direction, Dpi, Error, Failure, FailureKind, Memory, Model, Signal};

#[cfg(target_endian = "big")]
compile_error!("signals and memories are copied as little-endian bytes");

/// The clock period that an instance starts with, in picoseconds: 250 MHz.
pub const DEFAULT_PERIOD_PS: u64 = 4000;

/// An instance of a model.
///
/// An instance can move between threads, and instances can run on different threads. Dropping an
/// instance runs its final blocks.
///
/// ```no_run
/// use verimodel::{Dpi, Error, Flow, Model};
///
/// struct Board {
///     ticks: u64,
/// }
///
/// impl Dpi for Board {
///     fn call(&mut self, _function: usize, input: &[u32], output: &mut [u32]) -> Flow {
///         self.ticks += 1;
///         output[0] = input[0] + 1;
///         Flow::Continue
///     }
/// }
///
/// fn simulate(model: &Model) -> Result<u64, Error> {
///     let mut board = model.instantiate("board0", Board { ticks: 0 })?;
///     let clk = board.input("clk_i")?;
///     let rst_n = board.input("rst_ni")?;
///     board.set(&rst_n, 0)?;
///     board.tick(&clk)?;
///     board.set(&rst_n, 1)?;
///     board.run(&clk, 1000)?;
///     Ok(board.dpi().ticks)
/// }
/// ```
pub struct Instance<D: Dpi> {
    model: Model,
    raw: NonNull<RawInstance>,
    /// From `Box::into_raw`. The shim also has this address, and uses it during calls that take
    /// `&mut self`.
    host: NonNull<Host<D>>,
    variables: Vec<Variable>,
    /// Addresses of the ports, then of the variables.
    places: Vec<NonNull<u8>>,
    cycles: u64,
    has_finished: bool,
    /// The model's state, located on first use.
    state: Option<Box<State>>,
}

// SAFETY: only this instance uses the model's state. The shim sets the runtime's thread-local data
// in each call, and the runtime locks its global data. The host is `Send` because `D` is.
unsafe impl<D: Dpi> Send for Instance<D> {}

struct Variable {
    path: String,
    elements: usize,
    is_array: bool,
    element_bits: usize,
    element_bytes: usize,
    writable: bool,
}

impl<D: Dpi> Instance<D> {
    pub(crate) fn new(
        model: &Model,
        name: String,
        dpi: D,
        seed: Option<u32>,
    ) -> Result<Self, Error> {
        let api = model.api();
        // The runtime uses 31 bits, and zero means no seed.
        let seed = seed.map_or(0, |seed| (seed & 0x3fff_ffff) as i32 + 1);
        let host = Box::into_raw(Box::new(Host::new(name, dpi)));
        // SAFETY: the callbacks match the host's type and are copied; the host outlives the
        // instance.
        let raw = unsafe { (api.create)(&Host::<D>::CALLBACKS, host.cast(), seed) };
        // SAFETY: a pointer from `Box::into_raw` is never null.
        let host = unsafe { NonNull::new_unchecked(host) };
        let Some(raw) = NonNull::new(raw) else {
            // SAFETY: `Box` allocated the host, and no instance exists that would use it.
            let mut host = unsafe { Box::from_raw(host.as_ptr()) };
            host.flush();
            let failure = host.failure.take().unwrap_or_else(|| {
                Box::new(blank_failure(
                    &host.name,
                    FailureKind::Runtime,
                    "the model was not constructed",
                    0,
                ))
            });
            return Err(Error::Model(failure));
        };

        let mut instance = Self {
            model: model.clone(),
            raw,
            host,
            variables: Vec::new(),
            places: Vec::new(),
            cycles: 0,
            has_finished: false,
            state: None,
        };
        for index in 0..model.signals().len() {
            // SAFETY: the instance is alive, and the index is the index of a port.
            let place = unsafe { (api.signal)(raw.as_ptr(), index) };
            let Some(place) = NonNull::new(place.cast()) else {
                return Err(Error::Load {
                    model: model.name().into(),
                    path: model.path().into(),
                    reason: format!("port {index} has no address"),
                });
            };
            instance.places.push(place);
        }
        let mut found = Found {
            variables: &mut instance.variables,
            places: &mut instance.places,
        };
        // SAFETY: the instance is alive; `collect` receives the pointer given here, within this
        // call.
        unsafe { (api.variables)(raw.as_ptr(), ptr::from_mut(&mut found).cast(), collect) };
        Ok(instance)
    }

    /// Name of the instance.
    pub fn name(&self) -> &str {
        &self.host().name
    }

    /// Model of the instance.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The host side of the DPI.
    pub fn dpi(&self) -> &D {
        &self.host().dpi
    }

    /// The host side of the DPI, for changes between evaluations.
    pub fn dpi_mut(&mut self) -> &mut D {
        &mut self.host_mut().dpi
    }

    /// The failure that ended the instance, if any.
    pub fn failure(&self) -> Option<&Failure> {
        self.host().failure.as_deref()
    }

    /// The input `name`, like [`Model::input`].
    ///
    /// # Errors
    /// If there is no such input; the error lists all inputs.
    pub fn input(&self, name: &str) -> Result<Signal, Error> {
        self.model.input(name)
    }

    /// The output `name`, like [`Model::output`].
    ///
    /// # Errors
    /// If there is no such output; the error lists all outputs.
    pub fn output(&self, name: &str) -> Result<Signal, Error> {
        self.model.output(name)
    }

    /// The public variable at `path`, for instance `top.u_core.state_q`.
    ///
    /// A variable is public if it is declared with `/*verilator public_flat_rd*/` or
    /// `/*verilator public_flat_rw*/`.
    ///
    /// # Errors
    /// If there is no such variable; the error lists all variables.
    pub fn public(&self, path: &str) -> Result<Signal, Error> {
        let index = self.variable(path, "variable", |variable| !variable.is_array)?;
        let variable = &self.variables[index];
        Ok(Signal {
            model: self.model.id(),
            index: self.model.signals().len() + index,
            name: variable.path.clone(),
            direction: Direction::Internal {
                writable: variable.writable,
            },
            width: variable.element_bits,
            bytes: variable.element_bytes,
        })
    }

    /// The public unpacked array at `path`, for instance `top.u_core.u_mem.mem`.
    ///
    /// # Errors
    /// If there is no such array; the error lists all arrays.
    pub fn memory(&self, path: &str) -> Result<Memory, Error> {
        let index = self.variable(path, "memory", |variable| variable.is_array)?;
        let variable = &self.variables[index];
        Ok(Memory {
            model: self.model.id(),
            index: self.model.signals().len() + index,
            path: variable.path.clone(),
            elements: variable.elements,
            element_bits: variable.element_bits,
            element_bytes: variable.element_bytes,
            writable: variable.writable,
        })
    }

    fn variable(
        &self,
        path: &str,
        wanted: &'static str,
        fits: impl Fn(&Variable) -> bool,
    ) -> Result<usize, Error> {
        self.variables
            .iter()
            .position(|variable| variable.path == path && fits(variable))
            .ok_or_else(|| {
                let fitting = self.variables.iter().filter(|variable| fits(variable));
                Error::NoSuchVariable {
                    model: self.model.name().into(),
                    wanted,
                    path: path.into(),
                    available: listed(fitting.map(|variable| variable.path.as_str())),
                }
            })
    }

    /// Drives a signal. The value takes effect at the next evaluation.
    ///
    /// # Errors
    /// If the signal belongs to another model, is not writable, or has too few bits for the value.
    pub fn set(&mut self, signal: &Signal, value: u64) -> Result<(), Error> {
        let place = self.writable_place(signal)?;
        if signal.width < 64 && value >> signal.width != 0 {
            return Err(width_error(signal, format!("value {value:#x}")));
        }
        let bytes = value.to_le_bytes();
        let low = bytes.len().min(signal.bytes);
        // SAFETY: `place` is the signal's storage with `signal.bytes` bytes, and `&mut self` makes
        // the access exclusive.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), place, low);
            ptr::write_bytes(place.add(low), 0, signal.bytes - low);
        }
        Ok(())
    }

    /// The value of a signal of up to 64 bits.
    ///
    /// # Errors
    /// If the signal belongs to another model, or is wider.
    pub fn get(&self, signal: &Signal) -> Result<u64, Error> {
        let place = self.place(signal)?;
        let mut bytes = [0; 8];
        if signal.width > 64 {
            return Err(width_error(signal, "64".into()));
        }
        // SAFETY: `place` is the signal's storage with `signal.bytes` bytes, at most 8 for up to 64
        // bits.
        unsafe { ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), signal.bytes.min(8)) };
        Ok(u64::from_le_bytes(bytes))
    }

    /// Drives a signal of any width, least significant word first.
    ///
    /// # Errors
    /// If the signal belongs to another model, is not writable, has another number of words
    /// ([`Signal::words`]), or has too few bits for the value.
    pub fn set_words(&mut self, signal: &Signal, words: &[u32]) -> Result<(), Error> {
        let place = self.writable_place(signal)?;
        let spare = signal.words() * 32 - signal.width;
        let is_clean = words
            .last()
            .is_some_and(|&top| spare == 0 || top >> (32 - spare) == 0);
        if words.len() != signal.words() || !is_clean {
            return Err(width_error(signal, format!("value {words:#x?}")));
        }
        // SAFETY: `place` is the signal's storage with `signal.bytes` bytes, at most the length of
        // `words`. `&mut self` makes the access exclusive.
        unsafe {
            ptr::copy_nonoverlapping(
                words.as_ptr().cast(),
                place,
                signal.bytes.min(words.len() * 4),
            )
        };
        Ok(())
    }

    /// Copies the value of a signal of any width, least significant word first.
    ///
    /// # Errors
    /// If the signal belongs to another model, or has another number of words ([`Signal::words`]).
    pub fn get_words(&self, signal: &Signal, words: &mut [u32]) -> Result<(), Error> {
        let place = self.place(signal)?;
        if words.len() != signal.words() {
            return Err(width_error(signal, format!("{} words", words.len())));
        }
        words.fill(0);
        // SAFETY: `place` is the signal's storage with `signal.bytes` bytes, at most the length of
        // `words`.
        unsafe {
            ptr::copy_nonoverlapping(
                place,
                words.as_mut_ptr().cast(),
                signal.bytes.min(words.len() * 4),
            )
        };
        Ok(())
    }

    /// Copies bytes from a memory.
    ///
    /// # Errors
    /// If the memory belongs to another model, or if the range is not within the memory.
    pub fn memory_read(
        &self,
        memory: &Memory,
        byte_offset: usize,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        let place = self.memory_place(memory, byte_offset, bytes.len())?;
        // SAFETY: the bounds have been checked.
        unsafe { ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    /// Copies bytes into a memory. Bits above an element's width are dropped.
    ///
    /// Combinational reads of the memory see the new data at the next evaluation.
    ///
    /// # Errors
    /// If the memory belongs to another model or is read-only, or if the range is not within the
    /// memory.
    pub fn memory_write(
        &mut self,
        memory: &Memory,
        byte_offset: usize,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let place = self.memory_place(memory, byte_offset, bytes.len())?;
        if !memory.writable {
            let direction = Direction::Internal { writable: false };
            return Err(Error::NotWritable {
                name: memory.path.clone(),
                direction,
            });
        }
        // SAFETY: the bounds have been checked, and `&mut self` makes the access exclusive.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) };

        // The model requires that unused bits are zero.
        let used = memory.element_bits;
        if used < memory.element_bytes * 8 && !bytes.is_empty() {
            let first = byte_offset / memory.element_bytes;
            let last = (byte_offset + bytes.len() - 1) / memory.element_bytes;
            for element in first..=last {
                for at in used / 8..memory.element_bytes {
                    let mask = if at == used / 8 {
                        (1u8 << (used % 8)) - 1
                    } else {
                        0
                    };
                    // SAFETY: `element` and `at` are in the memory, because `byte_offset` and its
                    // end are.
                    unsafe {
                        *self.places[memory.index]
                            .as_ptr()
                            .add(element * memory.element_bytes + at) &= mask
                    };
                }
            }
        }
        Ok(())
    }

    /// Evaluates the model once with the present values of its signals.
    ///
    /// # Errors
    /// If the model fails, stops or finishes now, or did so before.
    pub fn eval(&mut self) -> Result<(), Error> {
        self.check_alive()?;
        // SAFETY: the instance is alive and not being evaluated, because this has `&mut self`.
        unsafe { (self.model.api().eval)(self.raw.as_ptr()) };
        self.outcome()
    }

    /// Runs one clock cycle: raises the clock and evaluates, lowers the clock and evaluates.
    ///
    /// # Errors
    /// If `clock` is not a 1-bit input of this model, or if the model fails, stops or finishes now,
    /// or did so before.
    pub fn tick(&mut self, clock: &Signal) -> Result<(), Error> {
        self.run(clock, 1).map(drop)
    }

    /// Runs clock cycles until a DPI call requests a stop, at most `max_cycles`. Returns the number
    /// of cycles.
    ///
    /// # Errors
    /// If `clock` is not a 1-bit input of this model, or if the model fails, stops or finishes now,
    /// or did so before. [`cycles`](Self::cycles) also counts the cycles before the failure.
    pub fn run(&mut self, clock: &Signal, max_cycles: u64) -> Result<u64, Error> {
        let clock = self.clock(clock)?;
        self.check_alive()?;
        // SAFETY: the instance is alive and not being evaluated, because this has `&mut self`; the
        // clock is one byte.
        let done = unsafe { (self.model.api().run)(self.raw.as_ptr(), clock, max_cycles) };
        self.cycles += done;
        self.outcome()?;
        Ok(done)
    }

    /// Number of clock cycles so far.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Saves the model's state for comparison by [`is_steady`](Self::is_steady).
    ///
    /// # Errors
    /// If the model was built without [counters](crate::Build::counter).
    pub fn save_state(&mut self) -> Result<(), Error> {
        let cycles = self.cycles;
        self.state()?.save(cycles);
        Ok(())
    }

    /// Returns whether the model's state equals the saved state. The comparison covers all
    /// registers and wires except [RAMs](crate::Build::ram) and [counters](crate::Build::counter).
    /// A counter must either have counted every cycle since, or be unchanged. A wire or an output
    /// that depends on a counter keeps the model from being steady.
    ///
    /// A state that is equal in three consecutive cycles remains constant until an input changes,
    /// provided that no logic depends on the counters: a repeated write to a RAM stores the same
    /// word at the same address.
    ///
    /// # Errors
    /// If the model was built without counters.
    pub fn is_steady(&mut self) -> Result<bool, Error> {
        let cycles = self.cycles;
        Ok(self.state()?.is_saved(cycles))
    }

    /// Cheap hint whether to call [`is_steady`](Self::is_steady): returns whether the part of the
    /// state that differed in the last comparison is unchanged since the last call of this
    /// function.
    ///
    /// # Errors
    /// If the model was built without counters.
    pub fn seems_steady(&mut self) -> Result<bool, Error> {
        Ok(self.state()?.glance())
    }

    /// Skips cycles without evaluation: only counters advance. The result is correct for a model
    /// that is [steady](Self::is_steady), until an input changes.
    ///
    /// # Errors
    /// If the model was built without counters.
    pub fn skip(&mut self, cycles: u64) -> Result<(), Error> {
        let now = self.cycles;
        self.state()?.advance(now, cycles);
        self.cycles += cycles;
        // SAFETY: the instance is alive.
        unsafe { (self.model.api().skip)(self.raw.as_ptr(), cycles) };
        Ok(())
    }

    /// Values of the counters after `cycles` cycles in which the model is steady, in a fixed order.
    ///
    /// # Errors
    /// If the model was built without counters.
    pub fn counters_after(&mut self, cycles: u64) -> Result<Vec<Option<u64>>, Error> {
        let now = self.cycles;
        Ok(self.state()?.counters_after(now, cycles))
    }

    fn state(&mut self) -> Result<&mut State, Error> {
        if self.state.is_none() {
            let mut parts: Vec<Part> = Vec::new();
            // SAFETY: the instance is alive; `collect_part` receives the pointer given here, within
            // this call.
            unsafe {
                (self.model.api().state)(
                    self.raw.as_ptr(),
                    ptr::from_mut(&mut parts).cast(),
                    collect_part,
                );
            }
            let state = State::new(&parts);
            self.check_built(state.bytes() != 0, "counters")?;
            self.state = Some(Box::new(state));
        }
        // The state was set above.
        Ok(self.state.get_or_insert_default())
    }

    /// Simulated time in picoseconds.
    pub fn time_ps(&self) -> u64 {
        // SAFETY: the instance is alive.
        unsafe { (self.model.api().time)(self.raw.as_ptr()) }
    }

    /// Sets the clock period. The default is [`DEFAULT_PERIOD_PS`].
    ///
    /// # Errors
    /// If the period is zero or odd.
    pub fn set_period_ps(&mut self, picoseconds: u64) -> Result<(), Error> {
        if picoseconds == 0 || !picoseconds.is_multiple_of(2) {
            return Err(Error::Period { picoseconds });
        }
        // SAFETY: the instance is alive.
        unsafe { (self.model.api().set_half_period)(self.raw.as_ptr(), picoseconds / 2) };
        Ok(())
    }

    /// Starts a trace in the FST format. Closes a trace that is already being written.
    ///
    /// # Errors
    /// If the model was built without trace, or the file cannot be written.
    pub fn trace_start(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.check_built(self.model.has_trace(), "trace")?;
        let path = output_file(path.as_ref())?;
        let api = self.model.api();
        // SAFETY: the instance is alive and not being evaluated, because this has `&mut self`.
        self.wind_up(|raw| unsafe { (api.trace_start)(raw, path.as_ptr()) })
    }

    /// Closes the trace, if one is being written.
    ///
    /// # Errors
    /// If the model was built without trace, or the rest of the trace cannot be written.
    pub fn trace_stop(&mut self) -> Result<(), Error> {
        self.check_built(self.model.has_trace(), "trace")?;
        let api = self.model.api();
        // SAFETY: as in `trace_start`.
        self.wind_up(|raw| unsafe { (api.trace_stop)(raw) })
    }

    /// Writes the coverage so far in Verilator's format.
    ///
    /// # Errors
    /// If the model was built without coverage, or the file cannot be written.
    pub fn coverage_write(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.check_built(self.model.has_coverage(), "coverage")?;
        let path = output_file(path.as_ref())?;
        let api = self.model.api();
        // SAFETY: as in `trace_start`.
        self.wind_up(|raw| unsafe { (api.coverage_write)(raw, path.as_ptr()) })
    }

    /// The coverage so far.
    ///
    /// # Errors
    /// If the model was built without coverage, or the counts cannot be written to a temporary file
    /// and read back.
    pub fn coverage(&mut self) -> Result<Coverage, Error> {
        let file = tempfile::NamedTempFile::new()
            .map_err(Error::io("create a file in", std::env::temp_dir()))?;
        self.coverage_write(file.path())?;
        Coverage::read(file.path())
    }

    /// Starts a new recording of the outputs of DPI calls, or stops recording.
    pub fn record_dpi(&mut self, on: bool) {
        let model = self.model.id();
        self.host_mut().recording = on.then(|| Recording::new(model));
    }

    /// Stops recording and returns the recording; `None` if there is none.
    pub fn take_recording(&mut self) -> Option<Recording> {
        self.host_mut().recording.take()
    }

    /// Runs clock cycles in a bare C++ loop that serves DPI calls from a recording. Measures the
    /// cost of the model alone.
    ///
    /// The run equals the recorded run if the instance is in the state in which the recording
    /// started, and the same signals are driven. No trace is written.
    ///
    /// # Errors
    /// If `clock` is not a 1-bit input of this model, the recording belongs to another model, the
    /// calls differ from the recorded calls, or the model fails, stops or finishes now, or did so
    /// before.
    pub fn run_bare(
        &mut self,
        clock: &Signal,
        cycles: u64,
        recording: &Recording,
    ) -> Result<BareRun, Error> {
        let clock = self.clock(clock)?;
        if recording.model != self.model.id() {
            return Err(self.foreign("recording"));
        }
        self.check_alive()?;
        let mut result = RawBare::default();
        // SAFETY: as in `run`; the recording's arrays are complete and live through the call.
        unsafe {
            (self.model.api().run_bare)(
                self.raw.as_ptr(),
                clock,
                cycles,
                &recording.raw(),
                &mut result,
            );
        }
        self.cycles += result.cycles;
        self.outcome()?;
        let RawBare {
            cycles,
            calls,
            nanoseconds,
        } = result;
        Ok(BareRun {
            cycles,
            calls,
            elapsed: Duration::from_nanos(nanoseconds),
        })
    }

    /// Runs the model's final blocks. The model cannot be evaluated afterwards. A second call does
    /// nothing.
    ///
    /// # Errors
    /// If a final block fails.
    pub fn finish(&mut self) -> Result<(), Error> {
        if self.has_finished {
            return Ok(());
        }
        let had_ended = self.host().failure.is_some();
        self.run_final_blocks();
        if had_ended {
            return Ok(());
        }
        self.outcome()?;
        let failure = blank_failure(
            self.name(),
            FailureKind::Finish,
            "its final blocks have run",
            self.cycles,
        );
        self.host_mut().failure = Some(Box::new(failure));
        Ok(())
    }

    fn run_final_blocks(&mut self) {
        self.has_finished = true;
        // SAFETY: the instance is alive and not being evaluated, because this has `&mut self`.
        unsafe { (self.model.api().finish)(self.raw.as_ptr()) };
        self.host_mut().flush();
    }

    fn host(&self) -> &Host<D> {
        // SAFETY: the host lives as long as `self`. Only evaluations change the host, and
        // evaluations take `&mut self`.
        unsafe { self.host.as_ref() }
    }

    fn host_mut(&mut self) -> &mut Host<D> {
        // SAFETY: as in `host`; `&mut self` makes the access exclusive.
        unsafe { self.host.as_mut() }
    }

    fn check_alive(&self) -> Result<(), Error> {
        match &self.host().failure {
            None => Ok(()),
            Some(failure) => Err(Error::Ended {
                failure: failure.clone(),
            }),
        }
    }

    /// Result of an evaluation.
    fn outcome(&mut self) -> Result<(), Error> {
        let host = self.host_mut();
        host.flush();
        match &host.failure {
            None => Ok(()),
            Some(failure) => Err(Error::Model(failure.clone())),
        }
    }

    /// Makes a call that is allowed on an ended instance. Returns an error only for a new failure.
    fn wind_up(&mut self, call: impl FnOnce(*mut RawInstance)) -> Result<(), Error> {
        let had_ended = self.host().failure.is_some();
        call(self.raw.as_ptr());
        match self.outcome() {
            Err(_) if had_ended => Ok(()),
            outcome => outcome,
        }
    }

    fn check_built(&self, is_there: bool, feature: &'static str) -> Result<(), Error> {
        if is_there {
            Ok(())
        } else {
            Err(Error::NotBuilt {
                model: self.model.name().into(),
                feature,
            })
        }
    }

    fn foreign(&self, name: &str) -> Error {
        Error::ForeignHandle {
            name: name.into(),
            instance: self.name().into(),
            model: self.model.name().into(),
        }
    }

    fn place(&self, signal: &Signal) -> Result<*mut u8, Error> {
        if signal.model != self.model.id() {
            return Err(self.foreign(&signal.name));
        }
        Ok(self.places[signal.index].as_ptr())
    }

    fn writable_place(&self, signal: &Signal) -> Result<*mut u8, Error> {
        if !signal.direction.is_writable() {
            return Err(Error::NotWritable {
                name: signal.name.clone(),
                direction: signal.direction,
            });
        }
        self.place(signal)
    }

    fn memory_place(&self, memory: &Memory, offset: usize, len: usize) -> Result<*mut u8, Error> {
        if memory.model != self.model.id() {
            return Err(self.foreign(&memory.path));
        }
        if offset.checked_add(len).is_none_or(|end| end > memory.len()) {
            return Err(Error::Bounds {
                path: memory.path.clone(),
                offset,
                len,
                size: memory.len(),
            });
        }
        // SAFETY: the offset is within the memory, or at its end.
        Ok(unsafe { self.places[memory.index].as_ptr().add(offset) })
    }

    fn clock(&self, signal: &Signal) -> Result<*mut u8, Error> {
        let place = self.place(signal)?;
        if signal.direction != Direction::Input || signal.width != 1 {
            return Err(Error::NotAClock {
                name: signal.name.clone(),
                direction: signal.direction,
                width: signal.width,
            });
        }
        Ok(place)
    }
}

impl<D: Dpi> Drop for Instance<D> {
    fn drop(&mut self) {
        if !self.has_finished {
            self.run_final_blocks();
        }
        // SAFETY: nothing uses the instance after this, and the host, which `Box` made, outlives
        // it.
        unsafe {
            (self.model.api().destroy)(self.raw.as_ptr());
            drop(Box::from_raw(self.host.as_ptr()));
        }
    }
}

impl<D: Dpi> fmt::Debug for Instance<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance")
            .field("name", &self.name())
            .field("model", &self.model.name())
            .field("cycles", &self.cycles)
            .field("failure", &self.failure())
            .finish_non_exhaustive()
    }
}

fn width_error(signal: &Signal, found: String) -> Error {
    Error::Width {
        name: signal.name.clone(),
        width: signal.width,
        found,
    }
}

fn blank_failure(instance: &str, kind: FailureKind, message: &str, cycle: u64) -> Failure {
    let (file, hier) = (String::new(), String::new());
    Failure {
        instance: instance.into(),
        kind,
        file,
        line: 0,
        hier,
        message: message.into(),
        cycle,
    }
}

/// Checks that a file is writable before C++ opens it.
fn output_file(path: &Path) -> Result<CString, Error> {
    let text = CString::new(path.as_os_str().as_encoded_bytes())
        .map_err(|_| Error::io("write", path)(io::Error::from(io::ErrorKind::InvalidInput)))?;
    File::create(path).map_err(Error::io("write", path))?;
    Ok(text)
}

/// Result and model name for [`collect`].
struct Found<'a> {
    variables: &'a mut Vec<Variable>,
    places: &'a mut Vec<NonNull<u8>>,
}

unsafe extern "C" fn collect(sink: *mut c_void, variable: *const RawVariable) {
    // SAFETY: `sink` is the pointer given by `Instance::new`, and `variable` lives through the
    // call.
    let (found, raw) = unsafe { (&mut *sink.cast::<Found<'_>>(), &*variable) };
    let Some(place) = NonNull::new(raw.data.cast::<u8>()) else {
        return;
    };
    // SAFETY: both are C strings of the model's symbol table.
    let (scope, name) = unsafe { (CStr::from_ptr(raw.scope), CStr::from_ptr(raw.name)) };
    let (scope, name) = (scope.to_string_lossy(), name.to_string_lossy());
    found.places.push(place);
    found.variables.push(Variable {
        path: if scope.is_empty() {
            name.into_owned()
        } else {
            format!("{scope}.{name}")
        },
        elements: raw.elements as usize,
        is_array: raw.dimensions > 0,
        element_bits: raw.element_bits as usize,
        element_bytes: raw.element_bytes as usize,
        writable: raw.writable != 0,
    });
}

unsafe extern "C" fn collect_part(sink: *mut c_void, part: *const RawPart) {
    // SAFETY: `sink` is the pointer given by `Instance::state`, and `part` lives through the call.
    let (parts, raw) = unsafe { (&mut *sink.cast::<Vec<Part>>(), &*part) };
    if let Some(place) = NonNull::new(raw.data.cast::<u8>()) {
        parts.push(Part {
            place,
            bytes: raw.bytes as usize,
            width: raw.width,
            kind: raw.kind,
        });
    }
}
