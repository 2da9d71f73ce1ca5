//! Reconstruction of a rank's commands from register writes.

use std::collections::VecDeque;
use std::fmt;

use alcor_abi::packets::{x_commit, x_message, x_tag};
use alcor_abi::rank::{self, c_go, c_what};
use alcor_abi::{self as abi, Opcode};

/// Number of commands that are kept for each rank.
pub const KEPT: usize = 64;
/// Number of incomplete commands of the paper that are kept.
const WAITING: usize = 64;
/// Word length of the paper's commands in bytes.
const WORD: u32 = 4;

/// Operand registers, which keep their values between commands.
#[derive(Debug, Clone, Copy, Default)]
struct Operands {
    offset: u32,
    local: u32,
    length: u32,
    tag: u32,
    /// X_OPERAND.
    value: u32,
    /// X_WINDOW and WINDOW_SIZE: valid for one command.
    window: Option<u32>,
    size: Option<u32>,
    coll_source: u32,
    coll_destination: u32,
    coll_count: u32,
    coll_what: u32,
}

/// A committed command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// A put or get.
    Transfer {
        opcode: Opcode,
        rank: u32,
        /// Window slot, or base address of the window.
        window: Result<u32, u32>,
        offset: u32,
        local: u32,
        length: u32,
        id: u32,
    },
    /// A command of the paper, with lengths and offsets in bytes.
    Paper {
        opcode: Opcode,
        rank: u32,
        first: u32,
        second: u32,
        length: u32,
        offset: u32,
    },
    /// A send, receive or probe.
    Message {
        opcode: Opcode,
        /// `None` for any rank.
        rank: Option<u32>,
        /// `None` for any tag.
        tag: Option<u32>,
        context: u32,
        local: u32,
        length: u32,
        id: u32,
    },
    /// An atomic operation.
    Atomic {
        opcode: Opcode,
        rank: u32,
        window: Result<u32, u32>,
        offset: u32,
        value: u32,
        id: u32,
    },
    /// A collective of the switch.
    Collective {
        what: u32,
        context: u32,
        count: u32,
        source: u32,
        destination: u32,
        id: u32,
    },
    /// Registration of a window.
    Register { base: u32, size: Option<u32> },
    /// Any other command.
    Other {
        opcode: Option<Opcode>,
        code: u32,
        data: u32,
    },
}

impl Command {
    /// The peer rank of the command, if the command names one.
    pub fn peer(&self) -> Option<u32> {
        match *self {
            Command::Transfer { rank, .. }
            | Command::Paper { rank, .. }
            | Command::Atomic { rank, .. } => Some(rank),
            Command::Message { rank, .. } => rank,
            _ => None,
        }
    }

    /// Returns whether the command is a put or get.
    pub fn is_transfer(&self) -> bool {
        matches!(
            self,
            Command::Transfer { .. } | Command::Paper { .. } | Command::Atomic { .. }
        )
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Command::Transfer {
                opcode,
                rank,
                window,
                offset,
                local,
                length,
                id,
            } => {
                let name = name(opcode);
                let (way, from) = match opcode {
                    Opcode::XPut => ("to", "from"),
                    _ => ("from", "to"),
                };
                let window = window_name(window);
                write!(
                    f,
                    "{name} {way} rank {rank}, {window} + 0x{offset:x}, {length} bytes {from} 0x{local:x}, id {id}"
                )
            }
            Command::Atomic {
                opcode,
                rank,
                window,
                offset,
                value,
                id,
            } => {
                let (name, window) = (name(opcode), window_name(window));
                write!(
                    f,
                    "{name} at rank {rank}, {window} + 0x{offset:x}, value 0x{value:x}, id {id}"
                )
            }
            Command::Paper {
                opcode,
                rank,
                first,
                second,
                length,
                offset,
            } => {
                let name = name(opcode);
                match opcode {
                    Opcode::Put1 => write!(
                        f,
                        "{name} to rank {rank}, window 0x{first:x} + 0x{offset:x}, the word 0x{second:08x}"
                    ),
                    Opcode::PutN => write!(
                        f,
                        "{name} to rank {rank}, window 0x{first:x} + 0x{offset:x}, {length} bytes from 0x{second:x}"
                    ),
                    _ => write!(
                        f,
                        "{name} from rank {rank}, window 0x{second:x} + 0x{offset:x}, {length} bytes to 0x{first:x}"
                    ),
                }
            }
            Command::Message {
                opcode,
                rank,
                tag,
                context,
                local,
                length,
                id,
            } => {
                let way = match opcode {
                    Opcode::XSend | Opcode::XAnnounce => "to",
                    _ => "from",
                };
                write!(f, "{} {way} ", name(opcode))?;
                match rank {
                    Some(rank) => write!(f, "rank {rank}")?,
                    None => f.write_str("any rank")?,
                }
                match tag {
                    Some(tag) => write!(f, ", tag {tag}")?,
                    None => f.write_str(", any tag")?,
                }
                write!(
                    f,
                    ", context {context}, {length} bytes at 0x{local:x}, id {id}"
                )
            }
            Command::Collective {
                what,
                context,
                count,
                source,
                destination,
                id,
            } => {
                f.write_str("C_GO ")?;
                match abi::Collective::from_bits(c_what::OPCODE.get(what)) {
                    Some(collective) => write!(f, "{collective:?}")?,
                    None => write!(f, "of unknown kind, C_WHAT 0x{what:08x}")?,
                }
                let operation = abi::Operation::from_bits(c_what::OPERATION.get(what));
                let datatype = abi::Datatype::from_bits(c_what::DATATYPE.get(what));
                if let (Some(operation), Some(datatype)) = (operation, datatype) {
                    write!(f, " ({operation:?}, {datatype:?})")?;
                }
                let root = c_what::ROOT.get(what);
                write!(
                    f,
                    ", communicator {context}, count {count}, root {root}, 0x{source:x} to 0x{destination:x}, id {id}"
                )
            }
            Command::Register { base, size } => {
                let (address, denied) = (base & !3, base & 3);
                write!(f, "REGISTER of 0x{address:x}, ")?;
                match size {
                    Some(size) => write!(f, "{size} bytes")?,
                    None => f.write_str("to the end of memory")?,
                }
                f.write_str(
                    [
                        "",
                        ", not to be read",
                        ", not to be written",
                        ", neither to be read nor written",
                    ][denied as usize],
                )
            }
            Command::Other {
                opcode: Some(opcode),
                data,
                ..
            } => {
                f.write_str(&name(opcode))?;
                match opcode {
                    Opcode::BeginRun | Opcode::EndRun | Opcode::Barrier => Ok(()),
                    Opcode::Deregister => write!(f, " of 0x{:x}", data & !3),
                    Opcode::XCancel => write!(f, " of id {}", data & 0xFFFF),
                    _ => write!(f, " {data}"),
                }
            }
            Command::Other { code, data, .. } => {
                write!(
                    f,
                    "opcode 0x{code:02x}, which is no command, data 0x{data:x}"
                )
            }
        }
    }
}

/// Name of a window, by slot or by base.
fn window_name(window: Result<u32, u32>) -> String {
    match window {
        Ok(slot) => format!("slot {slot}"),
        Err(base) => format!("window 0x{base:x}"),
    }
}

/// Name of an opcode as in alcor.rdl and the papers: X_PUT, PUT_N.
fn name(opcode: Opcode) -> String {
    let mut name = String::new();
    for letter in format!("{opcode:?}").chars() {
        let continues = name.ends_with(|last: char| last.is_ascii_digit());
        let begins = letter.is_ascii_uppercase() || (letter.is_ascii_digit() && !continues);
        if begins && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    // BEGIN and END.
    name.trim_end_matches("_RUN").to_owned()
}

/// The last commands of a rank, each with the cycle of its commit.
#[derive(Debug, Clone, Default)]
pub struct Commands {
    operands: Operands,
    /// Incomplete commands of the paper: opcode, first write, second write.
    paper: VecDeque<(Opcode, u32, Option<u32>)>,
    data8: VecDeque<u32>,
    last: VecDeque<(u64, Command)>,
    /// Number of all commands, including those that are not kept.
    pub number: u64,
}

impl Commands {
    /// Processes a write to the rank's page.
    pub fn write(&mut self, cycle: u64, offset: u32, value: u32) {
        let operands = &mut self.operands;
        match offset {
            rank::C_SOURCE => operands.coll_source = value,
            rank::C_DESTINATION => operands.coll_destination = value,
            rank::C_COUNT => operands.coll_count = value,
            rank::C_WHAT => operands.coll_what = value,
            rank::C_GO => {
                let command = Command::Collective {
                    what: operands.coll_what,
                    context: c_go::CONTEXT.get(value),
                    count: operands.coll_count,
                    source: operands.coll_source,
                    destination: operands.coll_destination,
                    id: c_go::ID.get(value),
                };
                self.push(cycle, command);
            }
            ..0x400 => self.command(cycle, offset / 4, value),
            // Completion ring, interrupts and communicators: not commands.
            _ => {}
        }
    }

    fn command(&mut self, cycle: u64, code: u32, value: u32) {
        let operands = &mut self.operands;
        let opcode = Opcode::from_bits(code);
        let command = match opcode {
            Some(Opcode::XOffset) => return operands.offset = value,
            Some(Opcode::XLaddr) => return operands.local = value,
            Some(Opcode::XLength) => return operands.length = value,
            Some(Opcode::XTag) => return operands.tag = value,
            Some(Opcode::XWindow) => return operands.window = Some(value),
            Some(Opcode::WindowSize) => return operands.size = Some(value),
            Some(opcode @ (Opcode::Put1 | Opcode::PutN | Opcode::Get)) => {
                let is_full = self.paper.len() >= WAITING;
                match self.paper.back_mut() {
                    Some((of, _, second @ None)) if *of == opcode => *second = Some(value),
                    _ if is_full => {}
                    _ => self.paper.push_back((opcode, value, None)),
                }
                return self.paper_commands(cycle);
            }
            Some(Opcode::Data8) => {
                if self.data8.len() < 3 * WAITING {
                    self.data8.push_back(value);
                }
                return self.paper_commands(cycle);
            }
            Some(Opcode::XOperand) => return operands.value = value,
            Some(opcode) if opcode.atomic().is_some() => Command::Atomic {
                opcode,
                rank: x_commit::DPID.get(value),
                window: operands
                    .window
                    .take()
                    .map_or(Ok(x_commit::SLOT.get(value)), Err),
                offset: operands.offset,
                value: operands.value,
                id: x_commit::ID.get(value),
            },
            Some(opcode @ (Opcode::XPut | Opcode::XGet)) => Command::Transfer {
                opcode,
                rank: x_commit::DPID.get(value),
                window: operands
                    .window
                    .take()
                    .map_or(Ok(x_commit::SLOT.get(value)), Err),
                offset: operands.offset,
                local: operands.local,
                length: operands.length,
                id: x_commit::ID.get(value),
            },
            Some(
                opcode @ (Opcode::XSend | Opcode::XAnnounce | Opcode::XReceive | Opcode::XProbe),
            ) => {
                let takes_any = matches!(opcode, Opcode::XReceive | Opcode::XProbe);
                let any = |field: abi::Field| takes_any && field.get(operands.tag) != 0;
                Command::Message {
                    opcode,
                    rank: (!any(x_tag::ANY_SOURCE)).then(|| x_message::RANK.get(value)),
                    tag: (!any(x_tag::ANY_TAG)).then(|| x_tag::TAG.get(operands.tag)),
                    context: x_message::CONTEXT.get(value),
                    local: operands.local,
                    length: operands.length,
                    id: x_message::ID.get(value),
                }
            }
            Some(Opcode::Register) => Command::Register {
                base: value,
                size: operands.size.take(),
            },
            opcode => Command::Other {
                opcode,
                code,
                data: value,
            },
        };
        self.push(cycle, command);
    }

    /// Assembles the paper's commands whose operands are complete.
    fn paper_commands(&mut self, cycle: u64) {
        while let Some(&(opcode, first, Some(second))) = self.paper.front()
            && self.data8.len() >= 3
        {
            self.paper.pop_front();
            let mut data8 = self.data8.drain(..3);
            let mut next = || data8.next().unwrap_or_default();
            let (rank, length, offset) = (next(), next() * WORD, next() * WORD);
            drop(data8);
            self.push(
                cycle,
                Command::Paper {
                    opcode,
                    rank,
                    first,
                    second,
                    length,
                    offset,
                },
            );
        }
    }

    fn push(&mut self, cycle: u64, command: Command) {
        self.number += 1;
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back((cycle, command));
    }

    /// The kept commands, in order of time.
    pub fn last(&self) -> impl DoubleEndedIterator<Item = &(u64, Command)> {
        self.last.iter()
    }
}

#[cfg(test)]
mod tests {
    use alcor_abi::command;

    use super::*;

    fn texts(writes: &[(u32, u32)]) -> Vec<String> {
        let mut commands = Commands::default();
        for (cycle, &(offset, value)) in (0..).zip(writes) {
            commands.write(cycle, offset, value);
        }
        let text = |(cycle, command): &(u64, Command)| format!("{cycle} {command}");
        commands.last().map(text).collect()
    }

    #[test]
    fn operands_are_used_once_or_kept() {
        let put = x_commit::DPID.put(1) | x_commit::SLOT.put(2) | x_commit::ID.put(5);
        let texts = texts(&[
            (command(Opcode::XOffset), 0x10),
            (command(Opcode::XLaddr), 0x200),
            (command(Opcode::XLength), 64),
            (command(Opcode::XPut), put),
            (command(Opcode::XWindow), 0x800),
            (command(Opcode::XGet), put),
            (command(Opcode::XGet), put),
        ]);
        assert_eq!(
            texts,
            [
                "3 X_PUT to rank 1, slot 2 + 0x10, 64 bytes from 0x200, id 5",
                "5 X_GET from rank 1, window 0x800 + 0x10, 64 bytes to 0x200, id 5",
                "6 X_GET from rank 1, slot 2 + 0x10, 64 bytes to 0x200, id 5",
            ]
        );
    }

    #[test]
    fn messages_name_their_peers_and_tags() {
        let to = x_message::RANK.put(3) | x_message::CONTEXT.put(1) | x_message::ID.put(9);
        let any = x_tag::ANY_SOURCE.mask() | x_tag::ANY_TAG.mask();
        let texts = texts(&[
            (command(Opcode::XTag), 77),
            (command(Opcode::XSend), to),
            (command(Opcode::XTag), any),
            (command(Opcode::XReceive), to),
            (command(Opcode::XCancel), 9),
        ]);
        assert_eq!(
            texts,
            [
                "1 X_SEND to rank 3, tag 77, context 1, 0 bytes at 0x0, id 9",
                "3 X_RECEIVE from any rank, any tag, context 1, 0 bytes at 0x0, id 9",
                "4 X_CANCEL of id 9",
            ]
        );
    }

    #[test]
    fn commands_of_the_paper_are_assembled() {
        let (put, data8) = (command(Opcode::PutN), command(Opcode::Data8));
        let texts = texts(&[
            (put, 0x100),
            (put, 0x200),
            (data8, 1),
            (command(Opcode::Get), 0x300),
            (data8, 30),
            (data8, 2),
            (command(Opcode::Get), 0x400),
            (data8, 0),
            (data8, 1),
            (data8, 0),
            (command(Opcode::Put1), 0x500),
        ]);
        assert_eq!(
            texts,
            [
                "5 PUT_N to rank 1, window 0x100 + 0x8, 120 bytes from 0x200",
                "9 GET from rank 0, window 0x400 + 0x0, 4 bytes to 0x300",
            ]
        );
    }

    #[test]
    fn collectives_registrations_and_other_commands_are_described() {
        let what = c_what::OPCODE.put(abi::Collective::Allreduce as u32) | c_what::ROOT.put(1);
        let texts = texts(&[
            (rank::CQ_TAIL, 7),
            (command(Opcode::BeginRun), 0),
            (command(Opcode::WindowSize), 64),
            (command(Opcode::Register), 0x101),
            (command(Opcode::Register), 0x200),
            (command(Opcode::Barrier), 0),
            (rank::C_COUNT, 12),
            (rank::C_WHAT, what),
            (rank::C_GO, c_go::CONTEXT.put(3) | c_go::ID.put(4)),
            (0x3F * 4, 5),
        ]);
        assert_eq!(texts[0], "1 BEGIN");
        assert_eq!(texts[1], "3 REGISTER of 0x100, 64 bytes, not to be read");
        assert_eq!(texts[2], "4 REGISTER of 0x200, to the end of memory");
        assert_eq!(texts[3], "5 BARRIER");
        assert!(texts[4].starts_with("8 C_GO Allreduce"), "{}", texts[4]);
        assert!(
            texts[4].ends_with("communicator 3, count 12, root 1, 0x0 to 0x0, id 4"),
            "{}",
            texts[4]
        );
        assert_eq!(texts[5], "9 opcode 0x3f, which is no command, data 0x5");
        assert_eq!(texts.len(), 6);
    }

    #[test]
    fn kept_commands_are_bounded() {
        let mut commands = Commands::default();
        for cycle in 0..10_000 {
            for opcode in [Opcode::Barrier, Opcode::Data8, Opcode::PutN, Opcode::Get] {
                commands.write(cycle, command(opcode), 0);
            }
        }
        assert!(commands.number >= 10_000);
        assert_eq!(commands.last().count(), KEPT);
        assert!(commands.paper.len() <= WAITING && commands.data8.len() <= 3 * WAITING);
        assert_eq!(commands.last().next_back().unwrap().0, 9_999);
    }
}
