//! Registers, opcodes and packet formats of Alcor hardware.
//!
//! All items are generated from `hw/abi/alcor.rdl`, except [`Field`], which reads a field of a word
//! or writes it. Registers of a rank's page and of the board's page are byte offsets within a page;
//! see [`PAGE_BYTES`] and [`rank_page`].
//!
//! ```
//! use alcor_abi::{packets::put_header, PacketType};
//! let word = put_header::DPID.put(3) | put_header::PTYPE.put(PacketType::Put1 as u32);
//! assert_eq!(put_header::DPID.get(word), 3);
//! assert_eq!(PacketType::from_bits(put_header::PTYPE.get(word)), Some(PacketType::Put1));
//! ```

#[rustfmt::skip]
mod generated;
pub use generated::*;

/// Value of the board's MAGIC register: `ALCO`.
pub const MAGIC: u32 = board::MAGIC_VALUE;
/// The major version of the ABI that this library supports.
pub const ABI_MAJOR: u32 = board::ABI_VERSION_MAJOR_VALUE;
/// Bytes of a page: the board's, or a rank's.
pub const PAGE_BYTES: u32 = 4096;
/// Byte offset in the BAR of a local rank's page.
#[must_use]
pub const fn rank_page(local_rank: u32) -> u32 {
    (1 + local_rank) * PAGE_BYTES
}
/// Byte offset in the BAR of the page of the links ([`links`]), on a board whose links are cables.
pub const LINKS_PAGE: u32 = 32 * PAGE_BYTES;

/// Byte offset, from the board's page on the AXI4 port, of the first rank's page for command lines, on a
/// board with `CAPABILITIES.lines`. The pages of all ranks follow each other.
pub const LINE_PAGES: u32 = 32 * PAGE_BYTES;
/// Bytes of a command line ([`packets::line_head`]).
pub const LINE_BYTES: u32 = 64;

/// Maximum number of bytes that a host writes to node memory through the memory BAR. The DMA moves
/// longer data.
pub const MEMORY_BAR_WRITE: usize = 2048;

/// Whether a host writes these bytes of node memory through the memory BAR, in a design that has one.
///
/// # Examples
/// ```
/// use alcor_abi::is_bar_write;
/// assert!(is_bar_write(0x40, 8) && !is_bar_write(0x42, 8) && !is_bar_write(0x40, 4096));
/// ```
#[must_use]
pub const fn is_bar_write(at: u32, bytes: usize) -> bool {
    bytes <= MEMORY_BAR_WRITE && bytes.is_multiple_of(4) && at.is_multiple_of(4)
}

/// Maximum number of loads by which a host reads from node memory through the memory BAR. Each load is
/// a round trip, and moves up to [`MEMORY_BAR_LINE`] bytes. The DMA moves longer data.
pub const MEMORY_BAR_LOADS: usize = 2;
/// Bytes of the widest load or store through the memory BAR, aligned to this number: a register of
/// AVX-512.
pub const MEMORY_BAR_LINE: usize = 64;
/// The channel of XDMA from the card to the host that copies completions. It has no other transfers.
pub const COPY_CHANNEL: u32 = 1;

/// Byte address on the memory BAR, and on the AXI4 port, of the board's page. The pages lie behind
/// the node memories of all ranks, at a power of two that is at least the size of the pages with the
/// pages for command lines.
#[must_use]
pub const fn memory_pages(ranks: u32, node_bytes: u32) -> u32 {
    let memory = (ranks * node_bytes).next_power_of_two();
    if memory > 2 * LINE_PAGES {
        memory
    } else {
        2 * LINE_PAGES
    }
}
/// Byte offset of a command within a rank's page.
#[must_use]
pub const fn command(opcode: Opcode) -> u32 {
    4 * opcode as u32
}

impl Opcode {
    /// Returns the operation of an atomic command, and whether its word has 64 bits.
    ///
    /// # Examples
    /// ```
    /// use alcor_abi::{AtomicOperation, Opcode};
    /// assert_eq!(Opcode::XAdd64.atomic(), Some((AtomicOperation::Add, true)));
    /// assert_eq!(Opcode::XPut.atomic(), None);
    /// ```
    #[must_use]
    pub const fn atomic(self) -> Option<(AtomicOperation, bool)> {
        const WIDE: u32 = Opcode::XSwap64 as u32 - Opcode::XSwap as u32;
        let Some(code) = (self as u32).checked_sub(Opcode::XSwap as u32) else {
            return None;
        };
        match AtomicOperation::from_bits(code & !WIDE) {
            Some(operation) => Some((operation, code & WIDE != 0)),
            None => None,
        }
    }
}
/// Bytes of a completion ring entry.
pub const CQ_ENTRY_BYTES: u32 = 16;
/// Maximum number of payload words of the paper's packets.
pub const PAPER_MAX_WORDS: u32 = 30;

/// Bits `low .. low + width` of a 32-bit word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    low: u32,
    width: u32,
}

impl Field {
    /// The field of `width` bits (1 to 31) whose lowest bit is `low`.
    #[must_use]
    pub const fn new(low: u32, width: u32) -> Field {
        assert!(width > 0 && width < 32 && low + width <= 32);
        Field { low, width }
    }
    /// The field's bits, in place.
    #[must_use]
    pub const fn mask(self) -> u32 {
        ((1 << self.width) - 1) << self.low
    }
    /// The field's largest value.
    #[must_use]
    pub const fn max(self) -> u32 {
        (1 << self.width) - 1
    }
    /// Takes the field out of `word`.
    #[must_use]
    pub const fn get(self, word: u32) -> u32 {
        (word & self.mask()) >> self.low
    }
    /// A word that has `value` in this field and zero elsewhere; bits of `value` that do not
    /// fit are dropped.
    #[must_use]
    pub const fn put(self, value: u32) -> u32 {
        (value << self.low) & self.mask()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_takes_back_what_it_was_given() {
        let field = Field::new(16, 5);
        assert_eq!(field.get(field.put(0b10110) | 0xFFE0_FFFF), 0b10110);
        assert_eq!(field.put(0xFFFF_FFFF), field.mask());
    }

    #[test]
    fn opcodes_fit_the_command_window() {
        for &op in Opcode::ALL {
            assert!(command(op) < 0x400, "{op:?}");
        }
    }
}
