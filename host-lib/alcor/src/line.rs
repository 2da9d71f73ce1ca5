//! Command lines: a whole command in one store of 64 bytes.

use alcor_abi::packets::line_head;
use alcor_abi::{Opcode, command, rank};

use crate::{NodeAddr, PageOffset};

/// Words of a command line.
const WORDS: usize = 16;
/// Word of the first value, and of the payload.
const VALUES: usize = 4;
const PAYLOAD: usize = 8;
/// Bit of a register's code for registers from [`rank::C_SOURCE`] on.
const COLLECTIVE: u8 = 0x80;
/// Maximum number of register writes.
const WRITES: usize = 8;

/// A command line (`hw/core/doc/host.md`) that a port fills with the writes of its rank. The line
/// holds operands back until the write that commits their command. The board takes a line as a
/// whole.
///
/// # Examples
/// ```
/// use alcor::{CommandLine, LineStep, NodeAddr, Opcode, PageOffset};
/// use alcor_abi::command;
///
/// let register = |opcode| PageOffset(command(opcode));
/// let mut line = CommandLine::default();
/// assert!(line.payload(NodeAddr(0x200), &[1, 2, 3, 4]));
/// assert_eq!(line.write(register(Opcode::XLength), 4), LineStep::Held);
/// let LineStep::Complete(words) = line.write(register(Opcode::XPut), 0x0100_0000) else {
///     unreachable!("X_PUT commits a command");
/// };
/// assert_eq!((words[1], words[5], words[8]), (0x200, 0x0100_0000, 0x0403_0201));
/// assert!(line.take().is_none());
/// // This register is no part of a command.
/// assert_eq!(line.write(PageOffset(alcor_abi::rank::CQ_TAIL), 1), LineStep::Apart);
/// ```
#[derive(Debug, Clone, Default)]
pub struct CommandLine {
    words: [u32; WORDS],
    payload: usize,
    writes: usize,
}

/// The effect of a write on a [`CommandLine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineStep {
    /// The line holds the write back.
    Held,
    /// The write completes the line: its words, lowest first. The line is empty again.
    Complete([u32; 16]),
    /// The write is not for this line. The port sends the writes of [`CommandLine::take`] first.
    Apart,
}

/// The writes that a [`CommandLine`] has held back.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldWrites {
    /// A write to node memory, which comes first.
    pub payload: Option<(NodeAddr, Vec<u8>)>,
    /// Register writes, in order.
    pub writes: Vec<(PageOffset, u32)>,
}

impl CommandLine {
    /// Holds a write to node memory back. Returns `false` if the write does not fit into the line:
    /// its address must be a multiple of 32, its length 1 to 32 bytes, and the line empty.
    pub fn payload(&mut self, at: NodeAddr, data: &[u8]) -> bool {
        let bytes = 4 * (WORDS - PAYLOAD);
        let fits = (1..=bytes).contains(&data.len()) && (at.0 as usize).is_multiple_of(bytes);
        if !fits || self.payload + self.writes > 0 {
            return false;
        }
        self.payload = data.len();
        self.words[1] = at.0;
        for (word, bytes) in self.words[PAYLOAD..].iter_mut().zip(data.chunks(4)) {
            let mut whole = [0; 4];
            whole[..bytes.len()].copy_from_slice(bytes);
            *word = u32::from_le_bytes(whole);
        }
        true
    }

    /// Adds a register write.
    pub fn write(&mut self, offset: PageOffset, value: u32) -> LineStep {
        let room = if self.payload > 0 {
            PAYLOAD - VALUES
        } else {
            WRITES
        };
        let (commits, Some(code)) = (commits(offset), code(offset)) else {
            return LineStep::Apart;
        };
        // A place is left for the write that commits.
        let is_last = self.writes + 1 == room;
        // One write alone is shorter than a line.
        let is_alone = self.payload + self.writes == 0;
        if is_last && !commits || commits && is_alone {
            return LineStep::Apart;
        }
        self.words[2 + self.writes / 4] |= u32::from(code) << (8 * (self.writes % 4));
        self.words[VALUES + self.writes] = value;
        self.writes += 1;
        if !commits {
            return LineStep::Held;
        }
        let line = std::mem::take(self);
        let mut words = line.words;
        words[0] =
            line_head::PAYLOAD.put(line.payload as u32) | line_head::WRITES.put(line.writes as u32);
        LineStep::Complete(words)
    }

    /// Takes the writes that the line has held back. `None` if there are none.
    #[inline]
    pub fn take(&mut self) -> Option<HeldWrites> {
        (self.payload + self.writes > 0).then(|| HeldWrites::of(&std::mem::take(self)))
    }
}

impl HeldWrites {
    fn of(line: &CommandLine) -> HeldWrites {
        let writes = (0..line.writes).map(|place| {
            let code = line.words[2 + place / 4] >> (8 * (place % 4)) & 0xFF;
            (offset(code as u8), line.words[VALUES + place])
        });
        let payload = line.words[PAYLOAD..].iter();
        let payload = payload.flat_map(|word| word.to_le_bytes());
        let payload: Vec<u8> = payload.take(line.payload).collect();
        HeldWrites {
            payload: (line.payload > 0).then(|| (NodeAddr(line.words[1]), payload)),
            writes: writes.collect(),
        }
    }

    /// Decodes the words of a line, lowest first, as the board does.
    ///
    /// # Examples
    /// ```
    /// use alcor::{HeldWrites, NodeAddr, PageOffset};
    ///
    /// let mut words = [0; 16];
    /// (words[0], words[1]) = (0x0102, 0x40);
    /// (words[2], words[4], words[8]) = (0x24, 7, 0x0a0b);
    /// let line = HeldWrites::from_words(words);
    /// assert_eq!(line.payload, Some((NodeAddr(0x40), vec![0x0b, 0x0a])));
    /// assert_eq!(line.writes, [(PageOffset(0x90), 7)]);
    /// ```
    #[must_use]
    pub fn from_words(words: [u32; 16]) -> HeldWrites {
        let payload = line_head::PAYLOAD.get(words[0]) as usize;
        let writes = line_head::WRITES.get(words[0]) as usize;
        HeldWrites::of(&CommandLine {
            payload: payload.min(4 * (WORDS - PAYLOAD)),
            writes: writes.min(WRITES),
            words,
        })
    }
}

/// Code of a register that a command needs; `None` for other registers.
fn code(PageOffset(offset): PageOffset) -> Option<u8> {
    match offset {
        rank::C_SOURCE..=rank::C_GO => Some(COLLECTIVE | ((offset - rank::C_SOURCE) / 4) as u8),
        _ if (command(Opcode::XOffset)..0x200).contains(&offset) => Some((offset / 4) as u8),
        _ => None,
    }
}

fn offset(code: u8) -> PageOffset {
    let place = 4 * u32::from(code & !COLLECTIVE);
    PageOffset(if code & COLLECTIVE == 0 {
        place
    } else {
        rank::C_SOURCE + place
    })
}

/// Returns whether a write to a register of [`code`] commits a command; otherwise it is an operand.
fn commits(PageOffset(offset): PageOffset) -> bool {
    let operands = [
        Opcode::XOffset,
        Opcode::XLaddr,
        Opcode::XLength,
        Opcode::XWindow,
        Opcode::XTag,
        Opcode::XOperand,
        Opcode::XOperandHigh,
        Opcode::XCompare,
        Opcode::XCompareHigh,
    ];
    let is_operand = operands.iter().any(|&operand| command(operand) == offset);
    !is_operand && !(rank::C_SOURCE..rank::C_GO).contains(&offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn register(opcode: Opcode) -> PageOffset {
        PageOffset(command(opcode))
    }

    fn held(line: &mut CommandLine, offset: PageOffset, value: u32) {
        assert_eq!(line.write(offset, value), LineStep::Held);
    }

    #[test]
    fn a_line_has_the_writes_in_order() {
        let mut line = CommandLine::default();
        let data: Vec<u8> = (0..31).collect();
        assert!(line.payload(NodeAddr(0x1020), &data));
        held(&mut line, register(Opcode::XOffset), 1);
        held(&mut line, register(Opcode::XLaddr), 2);
        held(&mut line, register(Opcode::XLength), 3);
        let LineStep::Complete(words) = line.write(register(Opcode::XPut), 4) else {
            panic!("a complete line");
        };
        assert_eq!(words[..4], [31 | 4 << 8, 0x1020, 0x2422_2120, 0]);
        let writes = HeldWrites::from_words(words);
        assert_eq!(writes.payload, Some((NodeAddr(0x1020), data)));
        let offsets = [0x80, 0x84, 0x88, 0x90].map(PageOffset);
        assert_eq!(
            writes.writes,
            offsets.into_iter().zip(1..).collect::<Vec<_>>()
        );
        assert_eq!(line.take(), None);
    }

    #[test]
    fn collectives_have_codes_of_their_own() {
        let mut line = CommandLine::default();
        held(&mut line, PageOffset(rank::C_WHAT), 5);
        let LineStep::Complete(words) = line.write(PageOffset(rank::C_GO), 6) else {
            panic!("a complete line");
        };
        assert_eq!(words[2], 0x8887);
        let writes = HeldWrites::from_words(words).writes;
        let expected = [(rank::C_WHAT, 5), (rank::C_GO, 6)];
        assert_eq!(writes, expected.map(|(at, value)| (PageOffset(at), value)));
    }

    #[test]
    fn writes_that_do_not_fit_go_apart() {
        let mut line = CommandLine::default();
        // A command without operands is one write.
        assert_eq!(line.write(register(Opcode::XPut), 0), LineStep::Apart);
        for (at, bytes) in [(0x20, 0), (0x20, 33), (0x10, 4)] {
            assert!(!line.payload(NodeAddr(at), &vec![0; bytes]));
        }
        assert!(line.payload(NodeAddr(0x20), &[9]));
        assert!(
            !line.payload(NodeAddr(0x40), &[9]),
            "the line has a payload"
        );
        for opcode in [Opcode::XOffset, Opcode::XLaddr, Opcode::XLength] {
            held(&mut line, register(opcode), 1);
        }
        // No room is left for the write that commits.
        assert_eq!(line.write(register(Opcode::XTag), 1), LineStep::Apart);
        assert_eq!(line.write(register(Opcode::Barrier), 1), LineStep::Apart);
        let held = line.take().expect("held writes");
        assert_eq!(held.payload, Some((NodeAddr(0x20), vec![9])));
        assert_eq!(held.writes.len(), 3);
        // Without a payload there is room for seven operands.
        for operand in 0..7 {
            held_operand(&mut line, operand);
        }
        assert_eq!(line.write(PageOffset(rank::C_WHAT), 1), LineStep::Apart);
        assert!(matches!(
            line.write(PageOffset(rank::C_GO), 1),
            LineStep::Complete(_)
        ));
    }

    fn held_operand(line: &mut CommandLine, operand: u32) {
        held(line, PageOffset(rank::C_SOURCE + 4 * operand), operand);
    }
}
