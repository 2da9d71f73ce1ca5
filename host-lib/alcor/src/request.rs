//! Puts and gets under way: which command ids are in use, and who is told how they ended.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use alcor_abi::Status;

use crate::allocator::Block;
use crate::call::{Call, Difference, Path, Receipt};
use crate::transfer::Transfer;
use crate::{Error, GlobalRank, Result};

/// What a request is for.
#[derive(Debug, Clone)]
pub(crate) enum Asked {
    /// A put or get.
    Transfer(Transfer),
    /// A put of the library's own, whose failure is nobody's.
    Quiet(Transfer),
    /// A collective.
    Collective(Asking),
    /// What tells the collective units of a collective in software that has a row.
    Herald { context: u32 },
}

/// A collective under way.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    pub(crate) call: Call,
    pub(crate) path: Path,
    pub(crate) members: Arc<[GlobalRank]>,
    /// The communicator's row, if hardware does it.
    pub(crate) context: Option<u32>,
    /// Bytes of the whole message.
    pub(crate) bytes: u64,
}

impl Asked {
    /// The target, if it is a transfer.
    fn target(&self) -> Option<GlobalRank> {
        match self {
            Asked::Transfer(transfer) | Asked::Quiet(transfer) => Some(transfer.target),
            Asked::Collective(_) | Asked::Herald { .. } => None,
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Asked::Transfer(transfer) | Asked::Quiet(transfer) => u64::from(transfer.length),
            Asked::Collective(asking) => asking.bytes,
            Asked::Herald { .. } => 0,
        }
    }
}

/// What a completion answers.
pub(crate) struct Answered {
    /// The communicator's row, of a collective.
    pub(crate) context: Option<u32>,
}

/// How a transfer or collective ended, once it has: shared by its [`Request`] and the table of ids.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The rank that issued it, told apart from all others of this process.
    issuer: u64,
    pub(crate) asked: Asked,
    status: OnceLock<Status>,
    claimed: AtomicBool,
}

impl Outcome {
    pub(crate) fn is_known(&self) -> bool {
        self.status.get().is_some()
    }

    pub(crate) fn status(&self) -> Option<Status> {
        self.status.get().copied()
    }

    /// The outcome as its owner gets it; `Ok` as long as it is not known.
    fn claim(&self, origin: GlobalRank) -> Result<()> {
        self.claimed.store(true, Ordering::Relaxed);
        match self.status.get() {
            None | Some(Status::Ok) => Ok(()),
            Some(&status) => match &self.asked {
                &Asked::Transfer(transfer) => Err(Error::Refused {
                    origin,
                    transfer,
                    status,
                }),
                Asked::Quiet(_) | Asked::Herald { .. } => Ok(()),
                Asked::Collective(asking) => Err(ended_badly(origin, asking.call, status)),
            },
        }
    }
}

fn ended_badly(rank: GlobalRank, call: Call, status: Status) -> Error {
    let difference = match status {
        Status::Mismatch => Difference::Collective,
        Status::OtherCount => Difference::Count,
        Status::OtherType => Difference::Type,
        Status::OtherOperation => Difference::Operation,
        Status::OtherRoot => Difference::Root,
        _ => return Error::CollectiveRefused { rank, call, status },
    };
    Error::CollectivesDiffer {
        rank,
        call,
        difference,
    }
}

/// A non-blocking put, get or collective. Its memory is in use until it is complete.
///
/// Hand it to [`crate::Rank::wait`] to learn how it ended. One that is dropped ends all the
/// same; if it fails, the next flush says so.
#[derive(Debug)]
#[must_use = "wait for the request, or flush, before its memory is used"]
pub struct Request {
    pub(crate) outcome: Arc<Outcome>,
}

impl Request {
    /// What was asked, of a put or get.
    #[must_use]
    pub fn transfer(&self) -> Option<Transfer> {
        match &self.outcome.asked {
            Asked::Transfer(transfer) | Asked::Quiet(transfer) => Some(*transfer),
            Asked::Collective(_) | Asked::Herald { .. } => None,
        }
    }

    /// What was called and which way it is done, of a collective.
    #[must_use]
    pub fn receipt(&self) -> Option<Receipt> {
        match &self.outcome.asked {
            Asked::Collective(asking) => Some(Receipt {
                call: asking.call,
                path: asking.path,
            }),
            Asked::Transfer(_) | Asked::Quiet(_) | Asked::Herald { .. } => None,
        }
    }

    pub(crate) fn is_known(&self) -> bool {
        self.outcome.is_known()
    }
}

#[derive(Debug)]
struct UnderWay {
    outcome: Arc<Outcome>,
    /// Keeps the local memory from being handed out again.
    _held: Vec<Arc<Block>>,
}

/// The transfers and collectives of a rank that have not completed, by command id.
#[derive(Debug)]
pub(crate) struct Outstanding {
    issuer: u64,
    origin: GlobalRank,
    by_id: Vec<Option<UnderWay>>,
    free_ids: Vec<u16>,
    to_target: Vec<u32>,
    bytes: u64,
    /// Outcomes of failed transfers that their owners have not claimed yet.
    failed: Vec<Arc<Outcome>>,
    sweep_at: usize,
    /// Failures that nobody can claim any more, by target: how many, and the first.
    unclaimed: BTreeMap<GlobalRank, (u64, Error)>,
}

impl Outstanding {
    /// Room for `capacity` transfers, at most 65536.
    pub(crate) fn new(issuer: u64, origin: GlobalRank, capacity: u32) -> Outstanding {
        Outstanding {
            issuer,
            origin,
            by_id: (0..capacity).map(|_| None).collect(),
            free_ids: (0..capacity).rev().map(|id| id as u16).collect(),
            to_target: vec![0; 256],
            bytes: 0,
            failed: Vec::new(),
            sweep_at: 16,
            unclaimed: BTreeMap::new(),
        }
    }

    pub(crate) fn len(&self) -> u32 {
        (self.by_id.len() - self.free_ids.len()) as u32
    }

    /// Bytes of all transfers under way.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many transfers are on their way to `target`, or to anybody.
    pub(crate) fn count(&self, target: Option<GlobalRank>) -> u32 {
        match target {
            None => self.to_target.iter().sum(),
            Some(target) => self.to_target.get(target.0 as usize).copied().unwrap_or(0),
        }
    }

    /// An outcome that is not known yet.
    pub(crate) fn outcome(&self, asked: Asked) -> Arc<Outcome> {
        Arc::new(Outcome {
            issuer: self.issuer,
            asked,
            status: OnceLock::new(),
            claimed: AtomicBool::new(false),
        })
    }

    /// Enters what is posted; `None` when all ids are in use. A target fits the hardware's field.
    pub(crate) fn enter(&mut self, outcome: Arc<Outcome>, held: Vec<Arc<Block>>) -> Option<u16> {
        let id = self.free_ids.pop()?;
        if let Some(target) = outcome.asked.target() {
            self.to_target[target.0 as usize] += 1;
        }
        self.bytes += outcome.asked.bytes();
        self.by_id[usize::from(id)] = Some(UnderWay {
            outcome,
            _held: held,
        });
        Some(id)
    }

    /// Takes in a completion; what it answers, if that is under way.
    pub(crate) fn complete(&mut self, id: u32, status: Status) -> Option<Answered> {
        let under_way = self.by_id.get_mut(id as usize).and_then(Option::take)?;
        let outcome = under_way.outcome;
        self.free_ids.push(id as u16);
        let answered = Answered {
            context: match &outcome.asked {
                Asked::Collective(asking) => asking.context,
                Asked::Herald { context } => Some(*context),
                Asked::Transfer(_) | Asked::Quiet(_) => None,
            },
        };
        if let Some(target) = outcome.asked.target() {
            self.to_target[target.0 as usize] -= 1;
        }
        self.bytes -= outcome.asked.bytes();
        self.settle(outcome, status);
        Some(answered)
    }

    /// Makes known how something ended.
    pub(crate) fn settle(&mut self, outcome: Arc<Outcome>, status: Status) {
        let _ = outcome.status.set(status);
        let is_own = matches!(outcome.asked, Asked::Quiet(_) | Asked::Herald { .. });
        if status != Status::Ok && !is_own {
            self.failed.push(outcome);
            if self.failed.len() >= self.sweep_at {
                self.sweep();
            }
        }
    }

    /// Moves the failures whose requests are gone to `unclaimed`.
    fn sweep(&mut self) {
        for outcome in std::mem::take(&mut self.failed) {
            if outcome.claimed.load(Ordering::Relaxed) {
                continue;
            }
            if Arc::strong_count(&outcome) > 1 {
                self.failed.push(outcome);
            } else if let Err(error) = outcome.claim(self.origin) {
                let target = outcome.asked.target().unwrap_or(self.origin);
                self.unclaimed.entry(target).or_insert((0, error)).0 += 1;
            }
        }
        self.sweep_at = 16 + 2 * self.failed.len();
    }

    /// The failures of dropped requests to `target`, or to anybody; each is told once.
    pub(crate) fn take_unclaimed(&mut self, target: Option<GlobalRank>) -> Result<()> {
        self.sweep();
        let told = match target {
            Some(target) => self.unclaimed.remove(&target),
            None => std::mem::take(&mut self.unclaimed)
                .into_values()
                .reduce(|(count, first), (more, _)| (count + more, first)),
        };
        match told {
            None => Ok(()),
            Some((failed, first)) => Err(Error::Unclaimed {
                failed,
                first: Box::new(first),
            }),
        }
    }

    /// Checks that this rank issued the request.
    pub(crate) fn check(&self, request: &Request) -> Result<()> {
        if request.outcome.issuer == self.issuer {
            return Ok(());
        }
        Err(Error::ForeignRequest { rank: self.origin })
    }

    /// How a request ended; `Ok` as long as it has not.
    pub(crate) fn claim(&self, request: &Request) -> Result<()> {
        request.outcome.claim(self.origin)
    }
}
