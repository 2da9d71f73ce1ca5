//! Random registers, descriptors, interrupts and resets. Nothing ends the model, no register breaks
//! its rule, and a good transfer after any sequence moves its bytes.

use std::collections::HashMap;

use alcor_vcard::xdma::{Core, ErrorReport, Shape, control, status};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::bytes::{Bytes, COMPLETED, Descriptor, STOP};
use crate::{repetitions, seed};

const HOST: u64 = 0xffff_ffff_0000_0000;
const HOST_BYTES: usize = 0x4000;
const CARD_BYTES: usize = 0x4000;
const SHAPE: Shape = Shape {
    h2c: 2,
    c2h: 3,
    user_interrupts: 5,
    alignment: 1,
    bypassed: None,
    report: ErrorReport::WriteBack,
};
/// Writable bits of the registers of a channel.
const LOGGED: u32 = 0x00ff_fe7e;
const CONTROL: u32 = LOGGED | 1 | 0b111 << 25;

/// A register with set and clear addresses: first address, distance to them, and writable bits.
fn set_and_clear() -> Vec<(u32, u32)> {
    let mut registers = vec![
        (0x2004, 0b1_1111),
        (0x2010, 0b1_1111),
        (0x6010, 0b111 << 16 | 0b11),
        (0x6020, 0b111 << 16 | 0b11),
    ];
    for channel in (0..SHAPE.h2c)
        .map(|index| index << 8)
        .chain((0..SHAPE.c2h).map(|index| 0x1000 | index << 8))
    {
        registers.push((channel | 0x04, CONTROL));
        registers.push((channel | 0x90, LOGGED));
    }
    registers
}

struct Fuzz {
    random: ChaCha8Rng,
    core: Core,
    host: Bytes,
    card: Bytes,
    /// Expected values of the registers of `set_and_clear`.
    expected: HashMap<u32, u32>,
    registers: Vec<(u32, u32)>,
    /// All statuses that a channel has had.
    seen: u32,
}

impl Fuzz {
    fn new(seed: u64) -> Fuzz {
        let mut core = Core::new(SHAPE);
        core.set_bus_master(true);
        let mut card = Bytes::new(0, CARD_BYTES);
        card.refused = 0x1000..0x1400;
        Fuzz {
            random: ChaCha8Rng::seed_from_u64(seed),
            core,
            host: Bytes::new(HOST, HOST_BYTES),
            card,
            expected: HashMap::new(),
            registers: set_and_clear(),
            seen: 0,
        }
    }

    fn value(&mut self) -> u32 {
        match self.random.random_range(0..6) {
            0 => 0,
            1 => u32::MAX,
            2 => 1 << self.random.random_range(0..32),
            3 => LOGGED | control::RUN | control::POLL_WRITE_BACK,
            4 => self.random.random_range(0..HOST_BYTES as u32) & !31,
            _ => self.random.random(),
        }
    }

    fn channel(&mut self) -> u32 {
        let target = self.random.random_range(0..2) << 12;
        target | self.random.random_range(0..4) << 8
    }

    fn write(&mut self) {
        let value = self.value();
        if self.random.random_ratio(1, 3) {
            // A register, its set address or its clear address.
            let (at, mask) = self.registers[self.random.random_range(0..self.registers.len())];
            let old = self.expected.get(&at).copied().unwrap_or(0);
            let (offset, new) = match self.random.random_range(0..3) {
                0 => (0, value & mask),
                1 => (4, old | value & mask),
                _ => (8, old & !value),
            };
            self.core.write(at + offset, value);
            self.expected.insert(at, new);
            for offset in [0, 4, 8] {
                assert_eq!(self.core.read(at + offset), new, "{at:#x}+{offset}");
            }
            return;
        }
        let registers = [0x40, 0x44, 0x48, 0x88, 0x8c, 0x4080, 0x4084, 0x4088, 0x408c];
        let at = match self.random.random_range(0..4) {
            0 => self.random.random::<u32>() & 0xffff,
            1 => self.random.random(),
            _ => {
                let register = registers[self.random.random_range(0..registers.len())];
                self.channel() | register
            }
        };
        // Those with a rule of their own are written above.
        let is_ruled = |&(first, _): &(u32, u32)| [first, first + 4, first + 8].contains(&at);
        if !self.registers.iter().any(is_ruled) {
            // Upper halves of addresses in host memory.
            let is_upper = at & 0xff == 0x84 || at & 0xff == 0x8c;
            let value = if is_upper && self.random.random() {
                (HOST >> 32) as u32
            } else {
                value
            };
            self.core.write(at, value);
        }
    }

    fn descriptor(&mut self) {
        let at = HOST + u64::from(self.random.random_range(0..HOST_BYTES as u32 / 32)) * 32;
        let host = HOST + u64::from(self.random.random_range(0..HOST_BYTES as u32));
        let card = u64::from(self.random.random_range(0..CARD_BYTES as u32));
        let wild = self.random.random();
        let next = HOST + u64::from(self.random.random_range(0..HOST_BYTES as u32 / 32)) * 32;
        let (source, destination) = match self.random.random_range(0..8) {
            0..3 => (host, card),
            3..6 => (card, host),
            6 => (wild, host),
            _ => (card, wild),
        };
        let length = match self.random.random_range(0..8) {
            0 => self.random.random(),
            1 => 0,
            _ => self.random.random_range(0..3000),
        };
        let mut bytes = Descriptor {
            flags: self.random.random::<u32>() & 0x13,
            adjacent: if self.random.random() {
                0
            } else {
                self.random.random_range(0..64)
            },
            length,
            source,
            destination,
            next: if self.random.random_ratio(1, 8) {
                wild
            } else {
                next
            },
        }
        .to_bytes();
        if self.random.random_ratio(1, 10) {
            bytes[self.random.random_range(0..32)] ^= 1 << self.random.random_range(0..8);
        }
        self.host.put(at, &bytes);
    }

    fn step(&mut self) {
        match self.random.random_range(0..1000) {
            0..300 => self.write(),
            300..400 => {
                let at = if self.random.random() {
                    self.random.random::<u32>() & 0xfffc
                } else {
                    self.random.random()
                };
                let value = self.core.read(at);
                if at >= 0x9000 || !at.is_multiple_of(4) {
                    assert_eq!(value, 0, "{at:#x}");
                }
            }
            400..800 => {
                self.core.step(&self.host, &self.card);
                let channel = self.channel();
                self.seen |= self.core.read(channel | 0x40);
            }
            800..900 => self.descriptor(),
            900..950 => {
                let levels = self.random.random();
                self.core.set_user_requests(levels);
                assert_eq!(self.core.read(0x2048), levels & 0b1_1111);
            }
            950..990 => {
                let routed: u32 = self.random.random();
                assert_eq!(self.core.take_messages(routed) & !routed, 0);
            }
            990..998 => self.core.set_bus_master(self.random.random_ratio(7, 8)),
            998 => self.reset(),
            _ => self.good(),
        }
    }

    fn reset(&mut self) {
        self.core.reset();
        self.core.set_user_requests(0);
        let mut new = Core::new(SHAPE);
        for at in (0..0x9000).step_by(4) {
            assert_eq!(self.core.read(at), new.read(at), "{at:#x} after a reset");
        }
        self.expected.clear();
        self.core.set_bus_master(true);
    }

    /// Stops a channel as a driver does, whatever it does, and runs a good list.
    fn good(&mut self) {
        self.core.set_bus_master(true);
        let is_c2h = self.random.random();
        let channels = if is_c2h { SHAPE.c2h } else { SHAPE.h2c };
        let index = self.random.random_range(0..channels);
        let channel = u32::from(is_c2h) << 12 | index << 8;
        let bit = 1 << (index + 16 * u32::from(is_c2h));
        for (at, value) in [(channel | 0x0c, u32::MAX), (0x6018, bit), (0x6028, bit)] {
            self.core.write(at, value);
        }
        for at in [0x6010, 0x6020] {
            self.expected.entry(at).and_modify(|value| *value &= !bit);
        }
        // A descriptor of a former list may have 2^28 bytes. A driver resets the card then.
        let mut steps = 0;
        while self.core.read(channel | 0x40) & status::BUSY != 0 && steps < 1000 {
            self.core.step(&self.host, &self.card);
            steps += 1;
        }
        if self.core.read(channel | 0x40) & status::BUSY != 0 {
            self.reset();
        }
        let count = self.random.random_range(1..=4);
        let mut expected = vec![0; 1200];
        self.random.fill(&mut expected[..]);
        let (host, card) = (
            HOST + 0x2000,
            0x2000 + u64::from(self.random.random_range(0..64_u32)),
        );
        let length = expected.len() as u64 / count;
        expected.truncate((length * count) as usize);
        for at in 0..count {
            let (host, card) = (host + at * length, card + at * length);
            let (source, destination) = if is_c2h { (card, host) } else { (host, card) };
            let flags = if at + 1 == count {
                STOP | COMPLETED
            } else {
                COMPLETED
            };
            let descriptor = Descriptor {
                next: HOST + 32 * (at + 1),
                ..Descriptor::new(flags, source, destination, length as u32)
            };
            self.host.put(HOST + 32 * at, &descriptor.to_bytes());
        }
        if is_c2h {
            self.card.put(card, &expected);
        } else {
            self.host.put(host, &expected);
        }
        // Other channels may write anywhere.
        self.quiet(channel);
        let adjacent = self.random.random_range(0..count) as u32;
        for (at, value) in [
            (channel | 0x4080, HOST as u32),
            (channel | 0x4084, (HOST >> 32) as u32),
            (channel | 0x4088, adjacent),
            (channel | 0x04, control::RUN | LOGGED),
        ] {
            self.core.write(at, value);
        }
        self.expected.insert(channel | 0x04, control::RUN | LOGGED);
        let mut steps = 0;
        while self.core.read(channel | 0x40) & status::BUSY != 0 {
            self.core.step(&self.host, &self.card);
            steps += 1;
            assert!(steps < 1000, "a good list does not end");
        }
        let done = status::DESCRIPTOR_STOPPED | status::DESCRIPTOR_COMPLETED;
        assert_eq!(self.core.read(channel | 0x40), done);
        assert_eq!(u64::from(self.core.read(channel | 0x48)), count);
        let found = if is_c2h {
            self.host.get(host, expected.len())
        } else {
            self.card.get(card, expected.len())
        };
        assert_eq!(found, expected);
    }

    /// Halts the other channels: those in the middle of a descriptor by a reset.
    fn quiet(&mut self, channel: u32) {
        let others: Vec<u32> = self
            .registers
            .iter()
            .map(|&(at, _)| at)
            .filter(|at| *at < 0x2000 && at & 0xff == 4)
            .collect();
        let busy = |core: &mut Core, at: u32| core.read(at & !0xff | 0x40) & status::BUSY != 0;
        if others
            .iter()
            .any(|&at| at & !0xff != channel && busy(&mut self.core, at))
        {
            self.reset();
        }
    }
}

#[test]
fn random_registers_and_descriptors() {
    let seed = seed();
    let mut fuzz = Fuzz::new(seed);
    for step in 0..repetitions(1_000_000, 10_000_000) {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| fuzz.step()));
        assert!(done.is_ok(), "step {step} of ALCOR_SEED={seed}");
    }
    let both = |first: u32| first | first << 1;
    let expected = status::BUSY
        | status::DESCRIPTOR_STOPPED
        | status::DESCRIPTOR_COMPLETED
        | status::MAGIC_STOPPED
        | status::IDLE_STOPPED
        | status::DESCRIPTOR_ERROR
        | both(status::READ_ERROR)
        | both(status::WRITE_ERROR);
    assert_eq!(fuzz.seen, expected, "statuses that came up");
}
