//! The AXI4-Lite master of a host link: register accesses, one at a time, in order.

use std::collections::VecDeque;

/// Signals that the model drives, sampled in the cycle that ends.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LiteIn {
    pub(crate) awready: bool,
    pub(crate) wready: bool,
    pub(crate) bvalid: bool,
    pub(crate) arready: bool,
    pub(crate) rvalid: bool,
    pub(crate) rdata: u32,
}

/// Signals that the host drives in the cycle that begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LiteOut {
    pub(crate) awvalid: bool,
    pub(crate) wvalid: bool,
    pub(crate) bready: bool,
    pub(crate) arvalid: bool,
    pub(crate) rready: bool,
    pub(crate) awaddr: u32,
    pub(crate) wdata: u32,
    pub(crate) araddr: u32,
}

/// An access on its way to the board.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    /// The first edge at which it may begin.
    pub(crate) due: u64,
    pub(crate) rank: usize,
    /// Byte address in the BAR.
    pub(crate) address: u32,
    /// Data to write; `None` for a read.
    pub(crate) write: Option<u32>,
}

/// An access that the board has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Written { rank: usize },
    Read { rank: usize, value: u32 },
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Idle,
    /// A write; states whether address and data have not been taken yet.
    Write {
        access: Access,
        address: bool,
        data: bool,
    },
    Read {
        access: Access,
        address: bool,
    },
}

/// Serves accesses in the order in which they were pushed.
#[derive(Debug)]
pub(crate) struct LiteMaster {
    queue: VecDeque<Access>,
    phase: Phase,
}

impl LiteMaster {
    pub(crate) fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            phase: Phase::Idle,
        }
    }

    pub(crate) fn push(&mut self, access: Access) {
        self.queue.push_back(access);
    }

    /// An edge.
    pub(crate) fn tick(&mut self, now: u64, pins: LiteIn) -> (LiteOut, Option<Answer>) {
        let mut answer = None;
        match &mut self.phase {
            Phase::Idle => {}
            Phase::Write {
                access,
                address,
                data,
            } => {
                *address &= !pins.awready;
                *data &= !pins.wready;
                if !*address && !*data && pins.bvalid {
                    answer = Some(Answer::Written { rank: access.rank });
                }
            }
            Phase::Read { access, address } => {
                *address &= !pins.arready;
                if !*address && pins.rvalid {
                    answer = Some(Answer::Read {
                        rank: access.rank,
                        value: pins.rdata,
                    });
                }
            }
        }
        if answer.is_some() {
            self.phase = Phase::Idle;
        }
        if matches!(self.phase, Phase::Idle)
            && self.queue.front().is_some_and(|access| access.due <= now)
        {
            self.phase = match self.queue.pop_front() {
                Some(access) if access.write.is_some() => Phase::Write {
                    access,
                    address: true,
                    data: true,
                },
                Some(access) => Phase::Read {
                    access,
                    address: true,
                },
                None => Phase::Idle,
            };
        }
        (self.pins(), answer)
    }

    fn pins(&self) -> LiteOut {
        match self.phase {
            Phase::Idle => LiteOut::default(),
            Phase::Write {
                access,
                address,
                data,
            } => LiteOut {
                awvalid: address,
                wvalid: data,
                bready: true,
                awaddr: access.address,
                wdata: access.write.unwrap_or_default(),
                ..LiteOut::default()
            },
            Phase::Read { access, address } => LiteOut {
                arvalid: address,
                rready: true,
                araddr: access.address,
                ..LiteOut::default()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_access_at_a_time_in_order() {
        let mut master = LiteMaster::new();
        master.push(Access {
            due: 3,
            rank: 1,
            address: 0x1400,
            write: Some(7),
        });
        master.push(Access {
            due: 3,
            rank: 0,
            address: 0x2404,
            write: None,
        });
        let quiet = LiteIn::default();
        assert_eq!(master.tick(2, quiet), (LiteOut::default(), None));
        let (out, _) = master.tick(3, quiet);
        assert!(out.awvalid && out.wvalid && out.bready && !out.arvalid);
        assert_eq!((out.awaddr, out.wdata), (0x1400, 7));
        let (out, _) = master.tick(
            4,
            LiteIn {
                wready: true,
                ..quiet
            },
        );
        assert!(out.awvalid && !out.wvalid);
        let (out, answer) = master.tick(
            5,
            LiteIn {
                awready: true,
                ..quiet
            },
        );
        assert!(!out.awvalid && out.bready && answer.is_none());
        let (out, answer) = master.tick(
            6,
            LiteIn {
                bvalid: true,
                ..quiet
            },
        );
        assert_eq!(answer, Some(Answer::Written { rank: 1 }));
        assert!(out.arvalid && out.araddr == 0x2404);
        let (out, _) = master.tick(
            7,
            LiteIn {
                arready: true,
                ..quiet
            },
        );
        assert!(!out.arvalid && out.rready);
        let (out, answer) = master.tick(
            8,
            LiteIn {
                rvalid: true,
                rdata: 9,
                ..quiet
            },
        );
        assert_eq!(
            (out, answer),
            (LiteOut::default(), Some(Answer::Read { rank: 0, value: 9 }))
        );
    }
}
