//! The matching unit of a soft board: a list and its rules.

use std::collections::VecDeque;

use alcor_abi::packets::{alpu_command, alpu_high, alpu_result};
use alcor_abi::rank::{self, alpu_command_times, alpu_shape, alpu_state, alpu_times};
use alcor_abi::{AlpuOp, AlpuResult};

use crate::Pattern;

const CELLS: usize = 16;
const BLOCK: u32 = 4;
const FIFO: usize = 16;

/// An entry of a FIFO.
#[derive(Debug, Clone, Copy)]
struct Posted {
    op: u32,
    id: u32,
    tag: u32,
    pattern: Pattern,
}

/// A matching unit. It executes posted operations at once, commands before requests.
#[derive(Debug, Default)]
pub(super) struct SoftAlpu {
    /// Whether the unit serves unexpected messages.
    unexpected: bool,
    operands: [u32; 3],
    shut: bool,
    inserting: bool,
    /// The entries, oldest first.
    list: Vec<Posted>,
    requests: VecDeque<Posted>,
    commands: VecDeque<Posted>,
    /// Results and their times.
    results: VecDeque<(u32, u32)>,
    taken: [u32; 2],
    discarded: u32,
    lost: bool,
    times: Option<(u64, u64)>,
}

impl SoftAlpu {
    /// Makes the unit of a rank. Even ranks have units for posted receives.
    pub(super) fn of(rank: u32) -> SoftAlpu {
        SoftAlpu {
            unexpected: rank % 2 == 1,
            ..SoftAlpu::default()
        }
    }

    pub(super) fn read(&self, offset: u32) -> u32 {
        let shown = self.results.front();
        match offset {
            rank::ALPU_SHAPE => {
                alpu_shape::CELLS.put(CELLS as u32)
                    | alpu_shape::BLOCK.put(BLOCK)
                    | alpu_shape::POSTED.put(u32::from(!self.unexpected))
            }
            rank::ALPU_STATE => {
                alpu_state::ENTRIES.put(self.list.len() as u32)
                    | alpu_state::INSERTING.put(u32::from(self.inserting))
                    | alpu_state::RESULT.put(u32::from(shown.is_some()))
                    | alpu_state::LOST.put(u32::from(self.lost))
            }
            rank::ALPU_DISCARDED => self.discarded,
            rank::ALPU_RESULT => shown.map_or(0, |&(result, _)| result),
            rank::ALPU_TIMES => shown.map_or(0, |&(_, times)| times),
            rank::ALPU_REQUESTS_DONE => self.taken[0],
            rank::ALPU_COMMANDS_DONE => self.taken[1],
            rank::ALPU_COMMAND_TIMES => {
                let (first, last) = self.times.unwrap_or_default();
                alpu_command_times::FIRST.put(first as u32 & 0xFFFF)
                    | alpu_command_times::LAST.put(last as u32 & 0xFFFF)
            }
            rank::ALPU_FIFOS => FIFO as u32,
            _ => 0,
        }
    }

    pub(super) fn write(&mut self, offset: u32, value: u32, now: u64) {
        match offset {
            rank::ALPU_MATCH => self.operands[0] = value,
            rank::ALPU_MASK => self.operands[1] = value,
            rank::ALPU_HIGH => self.operands[2] = value,
            rank::ALPU_GO => self.post(value),
            rank::ALPU_POP => drop(self.results.pop_front()),
            rank::ALPU_GATE => {
                self.shut = value & 1 == 0;
                if self.shut {
                    self.times = None;
                }
            }
            _ => {}
        }
        self.run(now);
    }

    fn post(&mut self, word: u32) {
        let [low, mask, high] = self.operands;
        let whole = |low, high| u64::from(high) << 32 | u64::from(low);
        let posted = Posted {
            op: alpu_command::OP.get(word),
            id: alpu_command::ID.get(word),
            tag: alpu_command::TAG.get(word),
            pattern: Pattern {
                bits: whole(low, alpu_high::MATCH_HIGH.get(high)),
                mask: whole(mask, alpu_high::MASK_HIGH.get(high)),
            },
        };
        let is_request = matches!(
            AlpuOp::from_bits(posted.op),
            Some(AlpuOp::Match | AlpuOp::Probe)
        );
        let fifo = if is_request {
            &mut self.requests
        } else {
            &mut self.commands
        };
        if fifo.len() < FIFO {
            fifo.push_back(posted);
        } else {
            self.lost = true;
        }
    }

    fn run(&mut self, now: u64) {
        while !self.shut && self.results.len() < FIFO {
            if let Some(command) = self.commands.pop_front() {
                self.taken[1] += 1;
                self.times = Some((self.times.map_or(now, |(first, _)| first), now));
                self.command(command, now);
            } else if let Some(&request) = self.requests.front() {
                if !self.request(request, now) {
                    return;
                }
                self.taken[0] += 1;
                self.requests.pop_front();
            } else {
                return;
            }
        }
    }

    fn command(&mut self, command: Posted, now: u64) {
        let Posted { id, tag, .. } = command;
        match AlpuOp::from_bits(command.op) {
            Some(AlpuOp::StartInsert) if !self.inserting => {
                self.inserting = true;
                let free = (CELLS - self.list.len()) as u32;
                self.answer(AlpuResult::StartAcknowledge, id, free, now);
            }
            Some(AlpuOp::Insert) if self.inserting && self.list.len() < CELLS => {
                self.list.push(command);
            }
            Some(AlpuOp::StopInsert) if self.inserting => self.inserting = false,
            Some(AlpuOp::Reset) => {
                self.inserting = false;
                self.list.clear();
            }
            Some(AlpuOp::Cancel) => {
                let found = self.list.iter().position(|entry| entry.tag == tag);
                let (kind, tag) = match found.map(|place| self.list.remove(place)) {
                    Some(entry) => (AlpuResult::CancelSuccess, entry.tag),
                    None => (AlpuResult::CancelFailure, 0),
                };
                self.answer(kind, id, tag, now);
            }
            _ => self.discarded += 1,
        }
    }

    /// Returns whether the request was answered. In insert mode a request without a match is held.
    fn request(&mut self, request: Posted, now: u64) -> bool {
        let hits = |entry: &Posted| {
            let mask = if self.unexpected {
                request.pattern.mask
            } else {
                entry.pattern.mask
            };
            (entry.pattern.bits ^ request.pattern.bits) & !mask == 0
        };
        let place = self.list.iter().position(hits);
        let is_probe = request.op == AlpuOp::Probe as u32;
        let tag = place.map_or(0, |place| self.list[place].tag);
        let kind = match (place, is_probe) {
            (None, _) if self.inserting => return false,
            (None, false) => AlpuResult::MatchFailure,
            (None, true) => AlpuResult::ProbeFailure,
            (Some(place), false) => {
                self.list.remove(place);
                AlpuResult::MatchSuccess
            }
            (Some(_), true) => AlpuResult::ProbeSuccess,
        };
        self.answer(kind, request.id, tag, now);
        true
    }

    fn answer(&mut self, kind: AlpuResult, id: u32, value: u32, now: u64) {
        let result = alpu_result::KIND.put(kind as u32)
            | alpu_result::ID.put(id)
            | alpu_result::VALUE.put(value);
        let now = now as u32 & 0xFFFF;
        let times = alpu_times::TAKEN.put(now) | alpu_times::OFFERED.put(now);
        self.results.push_back((result, times));
    }
}
