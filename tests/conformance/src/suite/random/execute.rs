//! Runs a rank's part of a program, and compares.

use std::collections::BTreeMap;

use alcor::{
    GlobalRank, NodeAddr, Rank, Region, Request, Rights, Status, Transfer, TransferKind, Window,
    WindowName,
};
use alcor_test::{At, Result, refused, same, same_bytes};

use super::plan::{Access, Completion, Local, Operation, Plan, Step};

/// Runs `plan` at `rank`.
pub(super) fn execute(plan: &Plan, rank: &mut Rank) -> Result {
    let scratch = rank.alloc::<u8>(plan.scratch as usize)?;
    let mut executor = Executor {
        plan,
        scratch,
        windows: BTreeMap::new(),
        under_way: Vec::new(),
    };
    for (number, step) in plan.steps.iter().enumerate() {
        executor.step(rank, number, step)?;
    }
    Ok(())
}

struct UnderWay {
    request: Request<'static>,
    status: Status,
    place: String,
    /// Where a get's data has to be, and what.
    gets: Option<(u32, Vec<u8>)>,
}

struct Executor<'a> {
    plan: &'a Plan,
    scratch: Region<u8>,
    windows: BTreeMap<usize, Window<u8>>,
    under_way: Vec<UnderWay>,
}

impl Executor<'_> {
    fn step(&mut self, rank: &mut Rank, number: usize, step: &Step) -> Result {
        let place = format!("program {}, step {number}, {}", self.plan.number, rank.pid());
        match step {
            Step::Register {
                window,
                slot,
                parts,
            } => {
                let part = &parts[rank.pid().0 as usize];
                let region = rank.alloc_from(&part.bytes)?;
                let made = rank
                    .register(&region, part.rights)
                    .at(format_args!("{place}: register"))?;
                same(
                    format_args!("{place}: slot of window {window}"),
                    *slot,
                    made.slot(),
                )?;
                self.windows.insert(*window, made);
            }
            Step::RegisterTooMany => {
                let region = rank.alloc::<u8>(4)?;
                let result = rank.register(&region, Rights::ALL);
                refused(
                    format_args!("{place}: register with a full table"),
                    Status::TableFull,
                    result,
                )?;
            }
            Step::Deregister { window } => {
                if let Some(window) = self.windows.remove(window) {
                    rank.deregister(window)
                        .at(format_args!("{place}: deregister"))?;
                }
            }
            Step::Epoch {
                programs,
                fence,
                memory,
            } => {
                let program = &programs[rank.pid().0 as usize];
                for (index, operation) in program.iter().enumerate() {
                    let place = format!("{place}, operation {index}");
                    self.operation(rank, place, operation)?;
                }
                self.fence(rank, *fence, &place)?;
                if let Some(memory) = memory {
                    self.compare(rank, &memory[rank.pid().0 as usize], &place)?;
                }
            }
        }
        Ok(())
    }

    fn operation(
        &mut self,
        rank: &mut Rank,
        place: String,
        operation: &Operation,
    ) -> Result {
        match operation {
            Operation::Transfer {
                access,
                data,
                blocking,
            } => self.transfer(rank, place, access, Some(data), Status::Ok, *blocking),
            Operation::Refused {
                access,
                status,
                blocking,
            } => self.transfer(rank, place, access, None, *status, *blocking),
            Operation::Store {
                window,
                offset,
                data,
            } => {
                let mut region = self.windows[window].region().clone();
                rank.write(&mut region, *offset as usize, data).at(place)
            }
            Operation::Load {
                window,
                offset,
                data,
            } => {
                let start = *offset as usize;
                let part = self.windows[window].region().slice(start..start + data.len())?;
                let found = rank.read_vec(&part)?;
                same_bytes(
                    format_args!("{place}: host code reads {offset} of window {window}"),
                    data,
                    &found,
                )
            }
            Operation::Complete(completion) => self.complete(rank, *completion, &place),
        }
    }

    fn transfer(
        &mut self,
        rank: &mut Rank,
        place: String,
        access: &Access,
        data: Option<&Vec<u8>>,
        status: Status,
        blocking: bool,
    ) -> Result {
        let slot = match access.window {
            Ok(window) => self.windows[&window].slot(),
            Err(slot) => slot,
        };
        let local = match access.local {
            Local::Raw(address) => NodeAddr(address),
            Local::Scratch(at) => NodeAddr(self.scratch.addr().0 + at),
        };
        let (target, name) = (GlobalRank(access.target), WindowName::Slot(slot));
        let transfer = Transfer::new(access.kind, target, name, local, access.length)
            .at_offset(access.offset);
        let place = format!("{place}: {transfer}");
        let mut gets = None;
        if let Local::Scratch(at) = access.local {
            // What a get has to bring is not there before; what it must not bring stays away.
            let before = vec![0xC3; access.length as usize];
            let (written, then) = match (access.kind, data) {
                (TransferKind::Put, Some(data)) => (data.clone(), None),
                (TransferKind::Get, Some(data)) => (before, Some(data.clone())),
                (_, None) => (before.clone(), Some(before)),
            };
            rank.write(&mut self.scratch, at as usize, &written)?;
            gets = then.map(|then| (at, then));
        }
        let under_way = UnderWay {
            request: rank.lab().transfer(transfer).at(&place)?,
            status,
            place,
            gets,
        };
        if blocking {
            return self.finish(rank, under_way);
        }
        self.under_way.push(under_way);
        Ok(())
    }

    /// Waits for a transfer, and compares what it brought.
    fn finish(&self, rank: &mut Rank, under_way: UnderWay) -> Result {
        let UnderWay {
            request,
            status,
            place,
            gets,
        } = under_way;
        let ended = rank.wait(request);
        match status {
            Status::Ok => ended.at(&place)?,
            status => refused(&place, status, ended)?,
        }
        self.brought(rank, &place, gets)
    }

    fn brought(
        &self,
        rank: &mut Rank,
        place: &str,
        gets: Option<(u32, Vec<u8>)>,
    ) -> Result {
        let Some((at, data)) = gets else {
            return Ok(());
        };
        let part = self.scratch.slice(at as usize..at as usize + data.len())?;
        let found = rank.read_vec(&part)?;
        same_bytes(format_args!("{place}: local memory"), &data, &found)
    }

    fn complete(
        &mut self,
        rank: &mut Rank,
        completion: Completion,
        place: &str,
    ) -> Result {
        let mut under_way = std::mem::take(&mut self.under_way);
        match completion {
            Completion::WaitAll => {}
            Completion::Backwards => under_way.reverse(),
            Completion::Flush => return self.flush(rank, under_way, place, false),
        }
        for under_way in under_way {
            self.finish(rank, under_way)?;
        }
        Ok(())
    }

    /// Drops the requests that have to succeed, and completes them all at once.
    fn flush(
        &mut self,
        rank: &mut Rank,
        under_way: Vec<UnderWay>,
        place: &str,
        fence: bool,
    ) -> Result {
        let mut brought = Vec::new();
        for under_way in under_way {
            match under_way.status {
                Status::Ok => brought.push((under_way.place, under_way.gets)),
                _ => self.finish(rank, under_way)?,
            }
        }
        if fence { rank.fence().at(format_args!("{place}: fence"))? } else { rank.flush_all().at(format_args!("{place}: flush"))? }
        for (place, gets) in brought {
            self.brought(rank, &place, gets)?;
        }
        Ok(())
    }

    fn fence(&mut self, rank: &mut Rank, fence: bool, place: &str) -> Result {
        let under_way = std::mem::take(&mut self.under_way);
        self.flush(rank, under_way, place, fence)?;
        if !fence {
            rank.barrier().at(format_args!("{place}: barrier"))?;
        }
        Ok(())
    }

    fn compare(
        &self,
        rank: &mut Rank,
        memory: &[(usize, Vec<u8>)],
        place: &str,
    ) -> Result {
        for (window, expected) in memory {
            let found = rank.read_vec(self.windows[window].region())?;
            same_bytes(format_args!("{place}: window {window}"), expected, &found)?;
        }
        // Nobody goes on before all have looked.
        rank.barrier().at(format_args!("{place}: barrier"))
    }
}
