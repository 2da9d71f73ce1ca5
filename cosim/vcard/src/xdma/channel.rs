//! One channel: its registers, its descriptor fetch and its engine.

use std::collections::VecDeque;

use super::registers::{channel, control, sgdma, status};
use super::{AxiResponse, CardMemory, ErrorReport, HostMemory};

/// Bytes of a descriptor.
const DESCRIPTOR: usize = 32;
/// Magic number in the upper half of a descriptor's first word.
const MAGIC: u32 = 0xad4b;
/// Stop bit of a descriptor.
const STOP: u32 = 1;
/// Completed bit of a descriptor.
const COMPLETED: u32 = 1 << 1;
/// Bits of a descriptor's length.
const LENGTH: u32 = (1 << 28) - 1;
/// No read request and no burst crosses a multiple of this number of bytes.
const BOUNDARY: u64 = 4096;
/// Bytes of the longest burst. A burst holds up the registers of the core in the model, so it is
/// shorter than the 4 KiB of AXI4.
const BURST: u64 = 1024;
/// Descriptors of the design that a channel holds.
const BYPASSED: usize = 32;
/// Bytes of a beat: those of a burst to a fixed address.
const BEAT: u64 = 64;

/// Direction of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Host to card.
    H2c,
    /// Card to host.
    C2h,
}

/// A fetched descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Descriptor {
    control: u32,
    length: u32,
    source: u64,
    destination: u64,
    next: u64,
}

impl Descriptor {
    fn from_bytes(bytes: &[u8; DESCRIPTOR]) -> Descriptor {
        let word = |index: usize| {
            let at = 4 * index;
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let address = |low: usize| u64::from(word(low + 1)) << 32 | u64::from(word(low));
        Descriptor {
            control: word(0),
            length: word(1) & LENGTH,
            source: address(2),
            destination: address(4),
            next: address(6),
        }
    }

    fn is_valid(&self) -> bool {
        self.control >> 16 == MAGIC
    }

    /// Number of descriptors that follow the next one without a gap.
    fn adjacent(&self) -> u32 {
        self.control >> 8 & 0x3f
    }
}

/// State of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    /// The next descriptor is needed, from the fetched ones or from this address.
    Fetch {
        at: u64,
        adjacent: u32,
    },
    /// A descriptor is carried out; `done` bytes have moved.
    Move {
        descriptor: Descriptor,
        done: u32,
    },
}

/// One channel.
#[derive(Debug)]
pub(super) struct Channel {
    direction: Direction,
    identifier: u32,
    sgdma_identifier: u32,
    alignment: u32,
    control: u32,
    /// Logged statuses, without the busy bit.
    status: u32,
    completed: u32,
    poll_address: u64,
    irq_enable: u32,
    first: u64,
    first_adjacent: u32,
    pub(super) credits: u32,
    /// Descriptors that were fetched, or that the design gave.
    fetched: VecDeque<Descriptor>,
    state: State,
    /// The design gives the descriptors: descriptor bypass.
    is_bypassed: bool,
    report: ErrorReport,
}

/// Limits of the descriptor fetch, which the registers for all channels set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fetching {
    pub(super) is_halted: bool,
    pub(super) has_credits: bool,
}

impl Channel {
    /// Makes the design give the descriptors of this channel.
    pub(super) fn bypass(mut self) -> Channel {
        self.is_bypassed = true;
        self
    }

    /// Takes a descriptor from the design, if the engine runs and has room.
    pub(super) fn take(&mut self, source: u64, destination: u64, length: u32) -> bool {
        let has_room = self.state != State::Idle && self.fetched.len() < BYPASSED;
        if has_room {
            self.fetched.push_back(Descriptor {
                control: MAGIC << 16,
                length,
                source,
                destination,
                next: 0,
            });
        }
        has_room
    }

    pub(super) fn new(
        direction: Direction,
        identifiers: (u32, u32),
        alignment: u32,
        report: ErrorReport,
    ) -> Channel {
        Channel {
            direction,
            identifier: identifiers.0,
            sgdma_identifier: identifiers.1,
            alignment: alignment.max(1),
            control: 0,
            status: 0,
            completed: 0,
            poll_address: 0,
            irq_enable: 0,
            first: 0,
            first_adjacent: 0,
            credits: 0,
            fetched: VecDeque::new(),
            state: State::Idle,
            is_bypassed: false,
            report,
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.state != State::Idle
    }

    /// Whether the channel requests its interrupt.
    pub(super) fn requests_interrupt(&self) -> bool {
        self.status & self.irq_enable != 0
    }

    fn status(&self) -> u32 {
        if self.is_busy() {
            self.status | status::BUSY
        } else {
            self.status
        }
    }

    pub(super) fn read(&mut self, register: u32) -> u32 {
        match register {
            channel::IDENTIFIER => self.identifier,
            channel::CONTROL | channel::CONTROL_W1S | channel::CONTROL_W1C => self.control,
            channel::STATUS => self.status(),
            channel::STATUS_RC => {
                let found = self.status();
                self.status = 0;
                found
            }
            channel::COMPLETED => self.completed,
            // Alignment of addresses, granularity of lengths, and number of address bits.
            channel::ALIGNMENTS => self.alignment << 16 | 1 << 8 | 64,
            channel::POLL_LO => self.poll_address as u32,
            channel::POLL_HI => (self.poll_address >> 32) as u32,
            channel::IRQ_ENABLE | channel::IRQ_ENABLE_W1S | channel::IRQ_ENABLE_W1C => {
                self.irq_enable
            }
            _ => 0,
        }
    }

    pub(super) fn write(&mut self, register: u32, value: u32) {
        match register {
            channel::CONTROL => self.set_control(value),
            channel::CONTROL_W1S => self.set_control(self.control | value),
            channel::CONTROL_W1C => self.set_control(self.control & !value),
            channel::STATUS => self.status &= !value,
            channel::POLL_LO => set_low(&mut self.poll_address, value),
            channel::POLL_HI => set_high(&mut self.poll_address, value),
            channel::IRQ_ENABLE => self.irq_enable = value & status::LOGGED,
            channel::IRQ_ENABLE_W1S => self.irq_enable |= value & status::LOGGED,
            channel::IRQ_ENABLE_W1C => self.irq_enable &= !value,
            _ => {}
        }
    }

    pub(super) fn read_sgdma(&self, register: u32) -> u32 {
        match register {
            sgdma::IDENTIFIER => self.sgdma_identifier,
            sgdma::FIRST_LO => self.first as u32,
            sgdma::FIRST_HI => (self.first >> 32) as u32,
            sgdma::FIRST_ADJACENT => self.first_adjacent,
            sgdma::CREDITS => self.credits,
            _ => 0,
        }
    }

    pub(super) fn write_sgdma(&mut self, register: u32, value: u32) {
        match register {
            sgdma::FIRST_LO => set_low(&mut self.first, value),
            sgdma::FIRST_HI => set_high(&mut self.first, value),
            sgdma::FIRST_ADJACENT => self.first_adjacent = value & 0x3f,
            sgdma::CREDITS => self.credits = (self.credits + (value & 0x3ff)).min(0x3ff),
            _ => {}
        }
    }

    /// Writes the control register. The rising edge of the run bit starts an idle engine.
    fn set_control(&mut self, value: u32) {
        let rises = value & !self.control & control::RUN != 0;
        self.control = value & control::ALL;
        if rises && self.state == State::Idle {
            // The guide names no start that clears this status, but names one for all others.
            self.status &= status::ALIGN_MISMATCH;
            self.completed = 0;
            self.fetched.clear();
            self.state = State::Fetch {
                at: self.first,
                adjacent: self.first_adjacent,
            };
        }
    }

    /// Logs a status if its bit in the control register is set.
    fn log(&mut self, bit: u32) {
        self.status |= bit & self.control;
    }

    fn stop(&mut self, bit: u32) {
        self.log(bit);
        self.state = State::Idle;
        self.fetched.clear();
    }

    /// Stops the engine because of an error.
    fn fail(&mut self, error: u32, host: &dyn HostMemory) {
        self.stop(error);
        if self.report == ErrorReport::WriteBack && self.status & status::ERRORS != 0 {
            self.write_back(host);
        }
    }

    /// Writes the count of completed descriptors to host memory, if the control register says so.
    /// Bit 31 of the word tells whether the status register holds an error.
    fn write_back(&self, host: &dyn HostMemory) {
        let enabled = control::POLL_WRITE_BACK | status::DESCRIPTOR_COMPLETED;
        if self.control & enabled == enabled {
            let is_error = u32::from(self.status & status::ERRORS != 0);
            let word = is_error << 31 | self.completed & 0xff_ffff;
            // A write to an address that does not exist is lost.
            host.write(self.poll_address, &word.to_le_bytes());
        }
    }

    /// Does one piece of work: a descriptor fetch or one burst. Returns whether the engine did
    /// something.
    pub(super) fn step(
        &mut self,
        fetching: Fetching,
        host: &dyn HostMemory,
        card: &dyn CardMemory,
    ) -> bool {
        match self.state {
            State::Idle => false,
            // A cleared run bit ends the run between two descriptors.
            State::Fetch { .. } if self.control & control::RUN == 0 => {
                self.stop(status::IDLE_STOPPED);
                true
            }
            State::Fetch { at, adjacent } => match self.fetched.pop_front() {
                Some(descriptor) => {
                    self.begin(descriptor, host);
                    true
                }
                None if self.is_bypassed => false,
                None => self.fetch(at, adjacent, fetching, host),
            },
            State::Move { descriptor, done } => {
                self.burst(descriptor, done, host, card);
                true
            }
        }
    }

    /// Fetches a block of descriptors with one read request.
    fn fetch(&mut self, at: u64, adjacent: u32, fetching: Fetching, host: &dyn HostMemory) -> bool {
        let mut count = adjacent + 1;
        if fetching.has_credits {
            count = count.min(self.credits);
        }
        if fetching.is_halted || count == 0 {
            return false;
        }
        let mut bytes = vec![0; count as usize * DESCRIPTOR];
        // A read request must not cross a page. The root complex rejects a request that does.
        let is_legal = at % BOUNDARY + bytes.len() as u64 <= BOUNDARY;
        if !is_legal || !host.read(at, &mut bytes) {
            if self.control & status::DESCRIPTOR_ERRORS != 0 {
                self.fail(status::DESCRIPTOR_ERROR, host);
                return true;
            }
            // Unless the error stops the engine, the engine takes the ones of the failed read.
            bytes.fill(0xff);
        }
        if fetching.has_credits {
            self.credits -= count;
        }
        let (descriptors, _) = bytes.as_chunks();
        self.fetched
            .extend(descriptors.iter().map(Descriptor::from_bytes));
        true
    }

    fn begin(&mut self, descriptor: Descriptor, host: &dyn HostMemory) {
        let difference = descriptor.source ^ descriptor.destination;
        if !descriptor.is_valid() {
            self.fail(status::MAGIC_STOPPED, host);
        } else if !difference.is_multiple_of(u64::from(self.alignment)) {
            self.fail(status::ALIGN_MISMATCH, host);
        } else {
            self.state = State::Move {
                descriptor,
                done: 0,
            };
        }
    }

    fn burst(
        &mut self,
        descriptor: Descriptor,
        done: u32,
        host: &dyn HostMemory,
        card: &dyn CardMemory,
    ) {
        let is_fixed = self.control & control::NON_INCREMENTING != 0;
        let place = |address: u64, is_fixed: bool| {
            if is_fixed {
                address
            } else {
                address.wrapping_add(u64::from(done))
            }
        };
        let to_card = self.direction == Direction::H2c;
        let source = place(descriptor.source, is_fixed && !to_card);
        let destination = place(descriptor.destination, is_fixed && to_card);
        let room = |at: u64| BOUNDARY - at % BOUNDARY;
        let bytes = u64::from(descriptor.length - done)
            .min(if is_fixed { BEAT } else { BURST })
            .min(room(source))
            .min(room(destination));
        let mut data = vec![0; bytes as usize];
        let error = if bytes == 0 {
            0
        } else if to_card {
            if host.read(source, &mut data) {
                let response = card.write(destination, &data);
                axi_error(response, status::WRITE_ERROR)
            } else {
                status::READ_ERROR
            }
        } else {
            match axi_error(card.read(source, &mut data), status::READ_ERROR) {
                // Writes on PCIe are posted. A write to an address that does not exist is lost.
                0 => {
                    host.write(destination, &data);
                    0
                }
                error => error,
            }
        };
        // An error stops the engine if its enable bits are set.
        let done = done + bytes as u32;
        if error & self.control != 0 {
            let is_posted = error & status::WRITE_ERRORS != 0 && done == descriptor.length;
            if self.report == ErrorReport::Late && is_posted {
                self.complete(descriptor, host);
            }
            self.fail(error, host);
            return;
        }
        if done < descriptor.length {
            self.state = State::Move { descriptor, done };
        } else {
            self.complete(descriptor, host);
        }
    }

    fn complete(&mut self, descriptor: Descriptor, host: &dyn HostMemory) {
        self.completed = self.completed.wrapping_add(1);
        self.state = State::Fetch {
            at: descriptor.next,
            adjacent: descriptor.adjacent(),
        };
        if descriptor.control & COMPLETED != 0 {
            self.log(status::DESCRIPTOR_COMPLETED);
        }
        if descriptor.control & STOP != 0 {
            self.stop(status::DESCRIPTOR_STOPPED);
        }
        if descriptor.control & COMPLETED != 0 {
            self.write_back(host);
        }
    }
}

fn axi_error(response: AxiResponse, first: u32) -> u32 {
    match response {
        AxiResponse::Okay => 0,
        AxiResponse::DecodeError => first,
        AxiResponse::SlaveError => first << 1,
    }
}

pub(super) fn set_low(address: &mut u64, value: u32) {
    *address = *address & !0xffff_ffff | u64::from(value);
}

pub(super) fn set_high(address: &mut u64, value: u32) {
    *address = *address & 0xffff_ffff | u64::from(value) << 32;
}
