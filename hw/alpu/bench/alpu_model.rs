//! Reference model of the matching unit: a list with the rules of the specification, without cells
//! and pipeline.
//!
//! Requests and commands take effect in the order of acceptance. A request finds the first matching
//! entry of the list. In insert mode, a request without a match is held with all later requests
//! until a matching entry is inserted or insert mode ends.

use std::collections::VecDeque;

use alcor_abi::{AlpuOp, AlpuResult};

/// A request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    pub probe: bool,
    pub id: u8,
    pub bits: u64,
    pub mask: u64,
}

/// A command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Command {
    /// An [`AlpuOp`], or an undefined opcode.
    pub op: u8,
    pub id: u8,
    pub tag: u16,
    pub bits: u64,
    pub mask: u64,
}

/// An answer of the unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    pub kind: AlpuResult,
    pub id: u8,
    pub value: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    bits: u64,
    mask: u64,
    tag: u16,
}

/// The list with its state.
#[derive(Debug, Clone)]
pub struct Model {
    cells: usize,
    posted: bool,
    list: Vec<Entry>,
    held: VecDeque<Request>,
    inserting: bool,
    discarded: u32,
    answers: Vec<Answer>,
}

impl Model {
    pub fn new(cells: usize, posted: bool) -> Self {
        Self {
            cells,
            posted,
            list: Vec::new(),
            held: VecDeque::new(),
            inserting: false,
            discarded: 0,
            answers: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn inserting(&self) -> bool {
        self.inserting
    }

    pub fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    pub fn discarded(&self) -> u32 {
        self.discarded
    }

    /// Match bits, mask bits and tag of an entry, counted from the head.
    pub fn entry(&self, at: usize) -> (u64, u64, u16) {
        let entry = self.list[at];
        (entry.bits, entry.mask, entry.tag)
    }

    /// Answers since the last call.
    pub fn answers(&mut self) -> Vec<Answer> {
        std::mem::take(&mut self.answers)
    }

    pub fn request(&mut self, request: Request) {
        self.held.push_back(request);
        self.decide();
    }

    /// Executes a command. `full` marks an insertion that finds no free cell.
    pub fn command(&mut self, command: Command, full: bool) {
        let op = AlpuOp::from_bits(command.op.into());
        match (op, self.inserting) {
            (Some(AlpuOp::StartInsert), false) => {
                self.inserting = true;
                let free = self.cells - self.list.len();
                self.answer(AlpuResult::StartAcknowledge, command.id, free as u64);
            }
            (Some(AlpuOp::Insert), true) if !full => self.list.push(Entry {
                bits: command.bits,
                mask: command.mask,
                tag: command.tag,
            }),
            (Some(AlpuOp::StopInsert), true) => self.inserting = false,
            (Some(AlpuOp::Reset), _) => {
                self.inserting = false;
                self.decide();
                self.list.clear();
            }
            (Some(AlpuOp::Cancel), _) => {
                let at = self.list.iter().position(|entry| entry.tag == command.tag);
                match at {
                    Some(at) => {
                        self.list.remove(at);
                        self.answer(AlpuResult::CancelSuccess, command.id, command.tag.into());
                    }
                    None => self.answer(AlpuResult::CancelFailure, command.id, 0),
                }
            }
            _ => self.discarded += 1,
        }
        self.decide();
    }

    fn answer(&mut self, kind: AlpuResult, id: u8, value: u64) {
        self.answers.push(Answer { kind, id, value });
    }

    fn decide(&mut self) {
        while let Some(&request) = self.held.front() {
            let at = self.list.iter().position(|entry| {
                let mask = if self.posted {
                    entry.mask
                } else {
                    request.mask
                };
                (entry.bits ^ request.bits) & !mask == 0
            });
            let (kind, value) = match (at, request.probe) {
                (None, _) if self.inserting => return,
                (None, true) => (AlpuResult::ProbeFailure, 0),
                (None, false) => (AlpuResult::MatchFailure, 0),
                (Some(at), true) => (AlpuResult::ProbeSuccess, self.list[at].tag),
                (Some(at), false) => (AlpuResult::MatchSuccess, self.list.remove(at).tag),
            };
            self.held.pop_front();
            self.answer(kind, request.id, value.into());
        }
    }
}
