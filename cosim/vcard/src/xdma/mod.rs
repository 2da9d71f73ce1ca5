//! A model of the XDMA core in memory-mapped mode: registers, descriptor fetch, engines and
//! interrupts.
//!
//! The model follows AMD's product guide PG195. It has no clock: [`Core::step`] does one piece of
//! work for each channel, a descriptor fetch or a burst. Host memory and the card's AXI bus are
//! traits, so the model runs without a guest and without a simulated board.
//!
//! Where the guide leaves the behaviour open, the model takes the answer that a driver can rely on
//! least:
//! - The status ALIGN_MISMATCH survives the start of the next run. The guide names the start as the
//!   end of each other status.
//! - A block of adjacent descriptors is one read request. A block that crosses 4 KiB is a failed
//!   fetch.
//! - The run bit keeps its value after the engine has stopped. The next run needs a rising edge.
//! - The engines stand still while the function may not master the bus.
//!
//! The guide does not say when poll mode reports an error: [`ErrorReport`] selects one of three
//! answers. The vendor's driver expects the first one.
//!
//! The performance counters of the channels read 0, as does every register that does not exist.

mod channel;
mod registers;

use channel::{Channel, Fetching};
use registers::{IDENTIFIER, VERSION, common, config, irq, target};

pub use channel::Direction;
pub use registers::{MSIX_PENDING, MSIX_TABLE, control, status};

/// Bytes of the BAR of the core.
pub const BAR_BYTES: u32 = 0x1_0000;
/// Maximum number of channels in each direction.
pub const MAX_CHANNELS: u32 = 4;
/// Maximum number of user interrupts.
pub const MAX_USER_INTERRUPTS: u32 = 16;
/// Words of the MSI-X table: 32 entries of 4.
const TABLE_WORDS: usize = 128;
/// Bits of an interrupt vector's number.
const VECTOR: u32 = 0x1f;

/// Host memory, as the core reaches it over PCIe.
pub trait HostMemory {
    /// Reads memory. Returns whether all of it exists.
    fn read(&self, at: u64, data: &mut [u8]) -> bool;
    /// Writes memory. Returns whether all of it exists.
    fn write(&self, at: u64, data: &[u8]) -> bool;
}

/// Response of the card's AXI bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxiResponse {
    /// The access was done.
    Okay,
    /// A slave refused the access.
    SlaveError,
    /// No slave has this address.
    DecodeError,
}

/// The card's AXI bus, as the engines reach it.
pub trait CardMemory {
    /// Reads memory by one burst.
    fn read(&self, at: u64, data: &mut [u8]) -> AxiResponse;
    /// Writes memory by one burst.
    fn write(&self, at: u64, data: &[u8]) -> AxiResponse;
}

/// Parameters of the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Channels from the host to the card, at most [`MAX_CHANNELS`].
    pub h2c: u32,
    /// Channels from the card to the host, at most [`MAX_CHANNELS`].
    pub c2h: u32,
    /// User interrupts, at most [`MAX_USER_INTERRUPTS`].
    pub user_interrupts: u32,
    /// Source and destination of a descriptor must be equal modulo this number; 1 in memory-mapped
    /// mode.
    pub alignment: u32,
    /// The channel from the card to the host whose descriptors the design gives.
    pub bypassed: Option<u32>,
    /// The way in which a failed transfer shows in poll mode.
    pub report: ErrorReport,
}

/// The way in which a failed transfer shows in poll mode. The status register shows the error in
/// each case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorReport {
    /// The engine writes the count back when it stops, with the error bit.
    #[default]
    WriteBack,
    /// The engine writes nothing when it stops.
    Status,
    /// As [`ErrorReport::Status`], and writes to the card are posted: the engine counts a
    /// descriptor, and writes the count back, before the response to the last burst of the
    /// descriptor arrives.
    Late,
}

impl Default for Shape {
    /// Two channels each way, as in the bitstreams of Alcor, and 16 user interrupts.
    fn default() -> Shape {
        Shape {
            h2c: 2,
            c2h: 2,
            user_interrupts: MAX_USER_INTERRUPTS,
            alignment: 1,
            bypassed: None,
            report: ErrorReport::WriteBack,
        }
    }
}

impl Shape {
    /// Number of MSI-X vectors, for any number of channels and user interrupts. The vendor's driver
    /// asks for a vector of each channel and for 16 more, and gives the card up if there are fewer.
    #[must_use]
    pub fn vectors(&self) -> u32 {
        VECTORS
    }
}

/// Default number of entries of the MSI-X table.
const VECTORS: u32 = 32;

/// The XDMA core of a card.
///
/// # Examples
/// ```
/// use alcor_vcard::xdma::{AxiResponse, CardMemory, Core, HostMemory, Shape, control, status};
/// use std::sync::Mutex;
///
/// struct Bytes(Mutex<Vec<u8>>);
/// impl HostMemory for Bytes {
///     fn read(&self, at: u64, data: &mut [u8]) -> bool {
///         let bytes = self.0.lock().expect("no panic");
///         let found = bytes.get(at as usize..at as usize + data.len());
///         found.is_some_and(|found| {
///             data.copy_from_slice(found);
///             true
///         })
///     }
///     fn write(&self, at: u64, data: &[u8]) -> bool {
///         let mut bytes = self.0.lock().expect("no panic");
///         let place = bytes.get_mut(at as usize..at as usize + data.len());
///         place.is_some_and(|place| {
///             place.copy_from_slice(data);
///             true
///         })
///     }
/// }
/// impl CardMemory for Bytes {
///     fn read(&self, at: u64, data: &mut [u8]) -> AxiResponse {
///         match HostMemory::read(self, at, data) {
///             true => AxiResponse::Okay,
///             false => AxiResponse::DecodeError,
///         }
///     }
///     fn write(&self, at: u64, data: &[u8]) -> AxiResponse {
///         match HostMemory::write(self, at, data) {
///             true => AxiResponse::Okay,
///             false => AxiResponse::DecodeError,
///         }
///     }
/// }
///
/// let (host, card) = (Bytes(Mutex::new(vec![7; 64])), Bytes(Mutex::new(vec![0; 64])));
/// // A descriptor at 0: magic number and stop bit, 4 bytes, from host address 32 to card address 8.
/// let words = [0xad4b_0001, 4, 32, 0, 8, 0, 0, 0_u32];
/// let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
/// HostMemory::write(&host, 0, &bytes);
///
/// let mut core = Core::new(Shape::default());
/// core.set_bus_master(true);
/// assert_eq!(core.read(0), 0x1fc0_0006); // identifier of H2C channel 0
/// core.write(0x04, control::RUN | status::DESCRIPTOR_STOPPED);
/// while core.step(&host, &card) {}
/// assert_eq!(core.read(0x40), status::DESCRIPTOR_STOPPED);
/// let mut found = [0; 4];
/// CardMemory::read(&card, 8, &mut found);
/// assert_eq!(found, [7; 4]);
/// ```
#[derive(Debug)]
pub struct Core {
    shape: Shape,
    /// The H2C channels, then the C2H channels: the order of their bits in the IRQ block.
    channels: Vec<Channel>,
    is_bus_master: bool,
    is_msix_enabled: bool,
    halted: u32,
    credit_mode: u32,
    user_enable: u32,
    channel_enable: u32,
    /// Levels of the user interrupts.
    user_requests: u32,
    /// Enabled requests of the channels and of the user interrupts at the last look.
    requested: (u32, u32),
    user_vectors: [u32; 4],
    channel_vectors: [u32; 2],
    config_control: u32,
    write_flush: u32,
    table: [u32; TABLE_WORDS],
    /// Vectors whose messages have not been taken.
    messages: u32,
}

impl Core {
    /// A core after reset. Numbers beyond their maxima are cut.
    #[must_use]
    pub fn new(shape: Shape) -> Core {
        let shape = Shape {
            h2c: shape.h2c.min(MAX_CHANNELS),
            c2h: shape.c2h.min(MAX_CHANNELS),
            user_interrupts: shape.user_interrupts.min(MAX_USER_INTERRUPTS),
            alignment: shape.alignment.clamp(1, 0xff),
            bypassed: shape.bypassed,
            report: shape.report,
        };
        let identifiers = |registers: u32, sgdma: u32, index: u32| {
            let of = |target: u32| IDENTIFIER | target << 16 | index << 8 | VERSION;
            (of(registers), of(sgdma))
        };
        let h2c = (0..shape.h2c).map(|index| {
            let identifiers = identifiers(target::H2C, target::H2C_SGDMA, index);
            Channel::new(Direction::H2c, identifiers, shape.alignment, shape.report)
        });
        let c2h = (0..shape.c2h).map(|index| {
            let identifiers = identifiers(target::C2H, target::C2H_SGDMA, index);
            let channel = Channel::new(Direction::C2h, identifiers, shape.alignment, shape.report);
            if shape.bypassed == Some(index) {
                channel.bypass()
            } else {
                channel
            }
        });
        let mut table = [0; TABLE_WORDS];
        for control in table.iter_mut().skip(3).step_by(4) {
            *control = u32::MAX;
        }
        Core {
            shape,
            channels: h2c.chain(c2h).collect(),
            is_bus_master: false,
            is_msix_enabled: false,
            halted: 0,
            credit_mode: 0,
            user_enable: 0,
            channel_enable: 0,
            user_requests: 0,
            requested: (0, 0),
            user_vectors: [0; 4],
            channel_vectors: [0; 2],
            config_control: 0,
            write_flush: 0,
            table,
            messages: 0,
        }
    }

    /// Parameters of the core.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Resets the core in any state. Levels of the user interrupts stay, because the design drives
    /// them.
    pub fn reset(&mut self) {
        *self = Core {
            user_requests: self.user_requests,
            ..Core::new(self.shape)
        };
    }

    /// Sets whether the function may master the bus (bit 2 of the PCI command register).
    pub fn set_bus_master(&mut self, is_bus_master: bool) {
        self.is_bus_master = is_bus_master;
    }

    /// Sets whether MSI-X is enabled, which the configuration block shows.
    pub fn set_msix_enabled(&mut self, is_msix_enabled: bool) {
        self.is_msix_enabled = is_msix_enabled;
    }

    /// Gives a descriptor to the [bypassed](Shape::bypassed) channel: a copy from the card to the
    /// host. Returns whether the channel takes the descriptor, which it does while it runs.
    pub fn copy(&mut self, source: u64, destination: u64, bytes: u32) -> bool {
        let channel = self
            .shape
            .bypassed
            .and_then(|index| self.channel(true, index));
        channel.is_some_and(|channel| channel.take(source, destination, bytes))
    }

    /// Whether an engine runs.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.channels.iter().any(Channel::is_busy)
    }

    /// Reads 32 bits at an offset in the BAR of the core.
    pub fn read(&mut self, offset: u32) -> u32 {
        let (target, index, register) = split(offset);
        match target {
            _ if !offset.is_multiple_of(4) => 0,
            target::H2C | target::C2H => {
                let found = self.channel(target == target::C2H, index);
                let value = found.map_or(0, |channel| channel.read(register));
                self.look();
                value
            }
            target::H2C_SGDMA | target::C2H_SGDMA => self
                .channel(target == target::C2H_SGDMA, index)
                .map_or(0, |channel| channel.read_sgdma(register)),
            target::MSIX => self.read_msix(offset),
            _ if index != 0 => 0,
            target::IRQ => self.read_irq(register),
            target::CONFIG => self.read_config(register),
            target::SGDMA_COMMON => self.read_common(register),
            _ => 0,
        }
    }

    /// Writes 32 bits at an offset in the BAR of the core.
    pub fn write(&mut self, offset: u32, value: u32) {
        let (target, index, register) = split(offset);
        match target {
            _ if !offset.is_multiple_of(4) => {}
            target::H2C | target::C2H => {
                if let Some(channel) = self.channel(target == target::C2H, index) {
                    channel.write(register, value);
                }
            }
            target::H2C_SGDMA | target::C2H_SGDMA => {
                if let Some(channel) = self.channel(target == target::C2H_SGDMA, index) {
                    channel.write_sgdma(register, value);
                }
            }
            target::MSIX => {
                let word = (offset - MSIX_TABLE) as usize / 4;
                if let Some(place) = self.table.get_mut(word) {
                    *place = value;
                }
            }
            _ if index != 0 => {}
            target::IRQ => self.write_irq(register, value),
            target::CONFIG => match register {
                config::CONTROL => self.config_control = value & 1,
                config::WRITE_FLUSH_TIMEOUT => self.write_flush = value & 0x1f,
                _ => {}
            },
            target::SGDMA_COMMON => self.write_common(register, value),
            _ => {}
        }
        self.look();
    }

    /// Does one piece of work for each channel that runs. Returns whether a channel did something.
    pub fn step(&mut self, host: &dyn HostMemory, card: &dyn CardMemory) -> bool {
        if !self.is_bus_master {
            return false;
        }
        let mut worked = false;
        for (position, channel) in self.channels.iter_mut().enumerate() {
            let bit = common_bit(self.shape.h2c, position as u32);
            let fetching = Fetching {
                is_halted: self.halted & bit != 0,
                has_credits: self.credit_mode & bit != 0,
            };
            worked |= channel.step(fetching, host, card);
        }
        self.look();
        worked
    }

    /// Sets the levels of the user interrupts, a bit for each.
    pub fn set_user_requests(&mut self, levels: u32) {
        self.user_requests = levels & ones(self.shape.user_interrupts);
        self.look();
    }

    /// User interrupts that are enabled, a bit for each.
    #[must_use]
    pub fn enabled_user_interrupts(&self) -> u32 {
        self.user_enable
    }

    /// Takes the vectors of `routed` whose messages are due, a bit for each. A message is due once
    /// a request and its enable bit are both set, and again after either was cleared. Messages of
    /// other vectors stay pending.
    pub fn take_messages(&mut self, routed: u32) -> u32 {
        let due = if self.is_bus_master {
            self.messages & routed
        } else {
            0
        };
        self.messages &= !due;
        due
    }

    fn channel(&mut self, is_c2h: bool, index: u32) -> Option<&mut Channel> {
        let (first, count) = if is_c2h {
            (self.shape.h2c, self.shape.c2h)
        } else {
            (0, self.shape.h2c)
        };
        (index < count)
            .then(|| self.channels.get_mut((first + index) as usize))
            .flatten()
    }

    /// Interrupt requests of the channels, a bit for each.
    fn channel_requests(&self) -> u32 {
        let requests = self.channels.iter().map(Channel::requests_interrupt);
        requests
            .enumerate()
            .fold(0, |bits, (bit, is_set)| bits | u32::from(is_set) << bit)
    }

    /// Makes a message of each enabled request that has risen.
    fn look(&mut self) {
        let channels = self.channel_requests() & self.channel_enable;
        let users = self.user_requests & self.user_enable;
        let rising = (channels & !self.requested.0, users & !self.requested.1);
        self.requested = (channels, users);
        for bit in bits(rising.0) {
            self.messages |= 1 << vector(&self.channel_vectors, bit);
        }
        for bit in bits(rising.1) {
            self.messages |= 1 << vector(&self.user_vectors, bit);
        }
    }

    fn read_irq(&self, register: u32) -> u32 {
        match register {
            irq::IDENTIFIER => IDENTIFIER | target::IRQ << 16 | VERSION,
            irq::USER_ENABLE | irq::USER_ENABLE_W1S | irq::USER_ENABLE_W1C => self.user_enable,
            irq::CHANNEL_ENABLE | irq::CHANNEL_ENABLE_W1S | irq::CHANNEL_ENABLE_W1C => {
                self.channel_enable
            }
            irq::USER_REQUEST => self.user_requests & self.user_enable,
            irq::CHANNEL_REQUEST => self.channel_requests() & self.channel_enable,
            irq::USER_PENDING => self.user_requests,
            irq::CHANNEL_PENDING => self.channel_requests(),
            _ => {
                let at = |first: u32, vectors: &[u32]| {
                    let word = register.checked_sub(first)? as usize / 4;
                    vectors.get(word).copied()
                };
                at(irq::CHANNEL_VECTORS, &self.channel_vectors)
                    .or_else(|| at(irq::USER_VECTORS, &self.user_vectors))
                    .unwrap_or(0)
            }
        }
    }

    fn write_irq(&mut self, register: u32, value: u32) {
        let users = ones(self.shape.user_interrupts);
        let channels = ones(self.channels.len() as u32);
        match register {
            irq::USER_ENABLE => self.user_enable = value & users,
            irq::USER_ENABLE_W1S => self.user_enable |= value & users,
            irq::USER_ENABLE_W1C => self.user_enable &= !value,
            irq::CHANNEL_ENABLE => self.channel_enable = value & channels,
            irq::CHANNEL_ENABLE_W1S => self.channel_enable |= value & channels,
            irq::CHANNEL_ENABLE_W1C => self.channel_enable &= !value,
            _ => {
                let value = value & (VECTOR | VECTOR << 8 | VECTOR << 16 | VECTOR << 24);
                let word = |first: u32| register.checked_sub(first).map(|at| at as usize / 4);
                let channels = word(irq::CHANNEL_VECTORS);
                if let Some(place) = channels.and_then(|word| self.channel_vectors.get_mut(word)) {
                    *place = value;
                } else if channels.is_none()
                    && let Some(word) = word(irq::USER_VECTORS)
                    && let Some(place) = self.user_vectors.get_mut(word)
                {
                    *place = value;
                }
            }
        }
    }

    fn read_config(&self, register: u32) -> u32 {
        match register {
            config::IDENTIFIER => IDENTIFIER | target::CONFIG << 16 | VERSION,
            // Encoded as in PCIe: 256 and 512 bytes.
            config::MAX_PAYLOAD | config::USER_MAX_PAYLOAD => 1,
            config::MAX_READ_REQUEST | config::USER_MAX_READ_REQUEST => 2,
            config::SYSTEM_ID => 0xff01,
            config::MSI_ENABLE => u32::from(self.is_msix_enabled) << 1,
            // 512 bits.
            config::DATA_WIDTH => 3,
            config::CONTROL => self.config_control,
            config::WRITE_FLUSH_TIMEOUT => self.write_flush,
            _ => 0,
        }
    }

    fn read_common(&self, register: u32) -> u32 {
        match register {
            common::IDENTIFIER => IDENTIFIER | target::SGDMA_COMMON << 16 | VERSION,
            common::HALT | common::HALT_W1S | common::HALT_W1C => self.halted,
            common::CREDIT_MODE | common::CREDIT_MODE_W1S | common::CREDIT_MODE_W1C => {
                self.credit_mode
            }
            _ => 0,
        }
    }

    fn write_common(&mut self, register: u32, value: u32) {
        let all = ones(self.shape.h2c) | ones(self.shape.c2h) << 16;
        match register {
            common::HALT => self.halted = value & all,
            common::HALT_W1S => self.halted |= value & all,
            common::HALT_W1C => self.halted &= !value,
            common::CREDIT_MODE => self.set_credit_mode(value & all),
            common::CREDIT_MODE_W1S => self.set_credit_mode(self.credit_mode | value & all),
            common::CREDIT_MODE_W1C => self.set_credit_mode(self.credit_mode & !value),
            _ => {}
        }
    }

    /// Channels that leave credit mode lose their credits.
    fn set_credit_mode(&mut self, mode: u32) {
        for (position, channel) in self.channels.iter_mut().enumerate() {
            if mode & common_bit(self.shape.h2c, position as u32) == 0 {
                channel.credits = 0;
            }
        }
        self.credit_mode = mode;
    }

    fn read_msix(&self, offset: u32) -> u32 {
        if offset == MSIX_PENDING {
            return self.messages;
        }
        let word = (offset - MSIX_TABLE) as usize / 4;
        self.table.get(word).copied().unwrap_or(0)
    }
}

/// Target, channel and register of an offset.
fn split(offset: u32) -> (u32, u32, u32) {
    (offset >> 12, offset >> 8 & 0xf, offset & 0xff)
}

/// The bit of a channel in the registers of [`common`].
fn common_bit(h2c: u32, position: u32) -> u32 {
    match position.checked_sub(h2c) {
        None => 1 << position,
        Some(index) => 1 << (16 + index),
    }
}

fn ones(count: u32) -> u32 {
    1_u32.checked_shl(count).map_or(u32::MAX, |bit| bit - 1)
}

fn bits(set: u32) -> impl Iterator<Item = u32> {
    (0..32).filter(move |bit| set >> bit & 1 != 0)
}

/// The vector of an interrupt, from registers of four vectors each.
fn vector(registers: &[u32], bit: u32) -> u32 {
    let register = registers.get(bit as usize / 4).copied().unwrap_or(0);
    register >> (8 * (bit % 4)) & VECTOR
}
