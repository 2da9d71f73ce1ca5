//! Configuration space of the card.

use crate::xdma::{MSIX_PENDING, MSIX_TABLE};

/// Bytes of configuration space.
pub(crate) const BYTES: usize = 4096;

const COMMAND: usize = 0x04;
const BARS: usize = 0x10;
const POWER: usize = 0x40;
const MSIX: usize = 0x60;
const EXPRESS: usize = 0x70;
const DEVICE_CONTROL: usize = EXPRESS + 8;

/// Bus master bit of the command register.
const BUS_MASTER: u16 = 1 << 2;
/// Function-level reset bit of the device control register.
const RESET: u16 = 1 << 15;

/// A BAR.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Bar {
    /// Length in bytes, a power of two; 0 for a BAR that is absent.
    pub(crate) bytes: u64,
    /// Whether the BAR is prefetchable and takes the next BAR for the upper half of its address.
    pub(crate) is_wide: bool,
}

/// Effect of a write to configuration space.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Effect {
    /// The function resets itself.
    pub(crate) is_reset: bool,
}

/// Configuration space: the bytes, and the bits of each byte that a driver can change.
#[derive(Debug)]
pub(crate) struct Space {
    bytes: Vec<u8>,
    writable: Vec<u8>,
}

impl Space {
    pub(crate) fn new(bars: &[Bar; 6], vectors: u32) -> Space {
        let mut space = Space {
            bytes: vec![0; BYTES],
            writable: vec![0; BYTES],
        };
        space.set(0x00, &0x10ee_u16.to_le_bytes());
        space.set(0x02, &0x903f_u16.to_le_bytes());
        // Capabilities list.
        space.set(0x06, &0x0010_u16.to_le_bytes());
        // Memory controller, as XDMA's default; no revision.
        space.set(0x08, &0x0580_0000_u32.to_le_bytes());
        space.set(0x2c, &0x10ee_u16.to_le_bytes());
        space.set(0x2e, &0x0007_u16.to_le_bytes());
        space.set(0x34, &[POWER as u8]);
        // Memory space, bus master, parity errors, SERR and interrupt disable.
        space.permit(COMMAND, &0x0546_u16.to_le_bytes());
        // Cache line size, and the interrupt line.
        space.permit(0x0c, &[0xff]);
        space.permit(0x3c, &[0xff]);
        for (index, bar) in bars.iter().enumerate().filter(|(_, bar)| bar.bytes != 0) {
            let at = BARS + 4 * index;
            let mask = !(bar.bytes - 1);
            space.permit(at, &(mask as u32 & !0xf).to_le_bytes());
            if bar.is_wide {
                space.set(at, &[0x0c]);
                space.permit(at + 4, &((mask >> 32) as u32).to_le_bytes());
            }
        }
        // Power management: version 3, no soft reset.
        space.set(POWER, &[0x01, MSIX as u8, 0x03, 0x00, 0x08]);
        space.permit(POWER + 4, &[0x03]);
        let table_size = (vectors.max(1) - 1) as u16;
        space.set(MSIX, &[0x11, EXPRESS as u8]);
        space.set(MSIX + 2, &table_size.to_le_bytes());
        space.permit(MSIX + 2, &0xc000_u16.to_le_bytes());
        // Offsets with the number of the BAR in their low bits.
        space.set(MSIX + 4, &(MSIX_TABLE | 1).to_le_bytes());
        space.set(MSIX + 8, &(MSIX_PENDING | 1).to_le_bytes());
        // Express endpoint, version 2.
        space.set(EXPRESS, &[0x10, 0x00, 0x02, 0x00]);
        // Payload of 512 bytes, extended tags, role-based errors, function-level reset.
        space.set(EXPRESS + 4, &0x1000_8022_u32.to_le_bytes());
        // Read requests of 512 bytes.
        space.set(DEVICE_CONTROL, &0x2010_u16.to_le_bytes());
        space.permit(DEVICE_CONTROL, &0x7fff_u16.to_le_bytes());
        // Gen3 x16.
        space.set(EXPRESS + 0x0c, &0x0000_0103_u32.to_le_bytes());
        space.permit(EXPRESS + 0x10, &0x00c0_u16.to_le_bytes());
        space.set(EXPRESS + 0x12, &0x0103_u16.to_le_bytes());
        space
    }

    fn set(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn permit(&mut self, at: usize, bytes: &[u8]) {
        self.writable[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn word(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    /// Reads bytes; ones beyond the end.
    pub(crate) fn read(&self, at: u64, data: &mut [u8]) {
        for (index, byte) in data.iter_mut().enumerate() {
            let place = usize::try_from(at)
                .ok()
                .and_then(|at| at.checked_add(index));
            *byte = place
                .and_then(|place| self.bytes.get(place))
                .copied()
                .unwrap_or(0xff);
        }
    }

    /// Writes the bits that a driver can change.
    pub(crate) fn write(&mut self, at: u64, data: &[u8]) -> Effect {
        let mut effect = Effect::default();
        for (index, &value) in data.iter().enumerate() {
            let place = usize::try_from(at)
                .ok()
                .and_then(|at| at.checked_add(index));
            let Some(place) = place.filter(|&place| place < BYTES) else {
                continue;
            };
            let mask = self.writable[place];
            self.bytes[place] = self.bytes[place] & !mask | value & mask;
            let is_control = place == DEVICE_CONTROL + 1;
            effect.is_reset |= is_control && u16::from(value) << 8 & RESET != 0;
        }
        effect
    }

    pub(crate) fn is_bus_master(&self) -> bool {
        self.word(COMMAND) & BUS_MASTER != 0
    }

    pub(crate) fn is_msix_enabled(&self) -> bool {
        self.word(MSIX + 2) & 0x8000 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARS_OF_CARD: [Bar; 6] = {
        let none = Bar {
            bytes: 0,
            is_wide: false,
        };
        let mut bars = [none; 6];
        bars[0].bytes = 0x4_0000;
        bars[1].bytes = 0x1_0000;
        bars[2] = Bar {
            bytes: 1 << 33,
            is_wide: true,
        };
        bars
    };

    fn read32(space: &Space, at: u64) -> u32 {
        let mut bytes = [0; 4];
        space.read(at, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    #[test]
    fn bars_report_their_length() {
        let mut space = Space::new(&BARS_OF_CARD, 20);
        for bar in 0..6 {
            space.write(0x10 + 4 * bar, &[0xff; 4]);
        }
        let bars: Vec<u32> = (0..6).map(|bar| read32(&space, 0x10 + 4 * bar)).collect();
        assert_eq!(
            bars,
            [0xfffc_0000, 0xffff_0000, 0x0000_000c, 0xffff_fffe, 0, 0]
        );
    }

    #[test]
    fn the_capabilities_form_a_list() {
        let space = Space::new(&BARS_OF_CARD, 20);
        assert_eq!(read32(&space, 0), 0x903f_10ee);
        let (mut found, mut at) = (Vec::new(), read32(&space, 0x34) & 0xff);
        while at != 0 {
            let head = read32(&space, at.into());
            found.push(head & 0xff);
            at = head >> 8 & 0xff;
        }
        assert_eq!(found, [0x01, 0x11, 0x10]);
        assert_eq!(read32(&space, 0x60) >> 16, 19, "vectors less one");
        assert_eq!(
            (read32(&space, 0x64), read32(&space, 0x68)),
            (0x8001, 0x8fe1)
        );
    }

    #[test]
    fn writes_change_the_permitted_bits_only() {
        let mut space = Space::new(&BARS_OF_CARD, 20);
        assert_eq!(space.write(0, &[0; 4]), Effect::default());
        assert_eq!(read32(&space, 0), 0x903f_10ee);
        space.write(4, &[0xff; 2]);
        assert!(space.is_bus_master());
        assert_eq!(read32(&space, 4) & 0xffff, 0x0546);
        space.write(0x62, &[0xff; 2]);
        assert!(space.is_msix_enabled());
        assert_eq!(read32(&space, 0x60) >> 16, 0xc013);
    }

    #[test]
    fn the_reset_bit_resets_and_reads_0() {
        let mut space = Space::new(&BARS_OF_CARD, 20);
        assert!(space.write(0x78, &0xa010_u16.to_le_bytes()).is_reset);
        assert_eq!(read32(&space, 0x78) & 0xffff, 0x2010);
        assert!(!space.write(0x78, &0x2010_u16.to_le_bytes()).is_reset);
    }

    #[test]
    fn accesses_beyond_the_end_do_nothing() {
        let mut space = Space::new(&BARS_OF_CARD, 20);
        for at in [4094, 4096, u64::MAX - 1, u64::MAX] {
            space.write(at, &[1; 4]);
            let mut found = [0; 4];
            space.read(at, &mut found);
            assert_eq!(found[2..], [0xff; 2], "{at:#x}");
        }
    }
}
