//! Puts and gets under way: which command ids are in use, and who is told how they ended.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use alcor_abi::Status;

use crate::allocator::Block;
use crate::transfer::Transfer;
use crate::{Error, GlobalRank, Result};

/// How a transfer ended, once it has: shared by its [`Request`] and the table of ids.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The rank that issued it, told apart from all others of this process.
    issuer: u64,
    transfer: Transfer,
    status: OnceLock<Status>,
    claimed: AtomicBool,
}

impl Outcome {
    pub(crate) fn is_known(&self) -> bool {
        self.status.get().is_some()
    }

    /// The outcome as its owner gets it; `Ok` as long as it is not known.
    fn claim(&self, origin: GlobalRank) -> Result<()> {
        self.claimed.store(true, Ordering::Relaxed);
        match self.status.get() {
            None | Some(Status::Ok) => Ok(()),
            Some(&status) => Err(Error::Refused {
                origin,
                transfer: self.transfer,
                status,
            }),
        }
    }
}

/// A non-blocking put or get. Its memory is in use until it is complete.
///
/// Hand it to [`crate::Rank::wait`] to learn how it ended. One that is dropped ends all the
/// same; if it fails, the next flush says so.
#[derive(Debug)]
#[must_use = "wait for the request, or flush, before its memory is used"]
pub struct Request {
    outcome: Arc<Outcome>,
}

impl Request {
    /// What was asked.
    #[must_use]
    pub fn transfer(&self) -> Transfer {
        self.outcome.transfer
    }

    pub(crate) fn is_known(&self) -> bool {
        self.outcome.is_known()
    }
}

#[derive(Debug)]
struct UnderWay {
    outcome: Arc<Outcome>,
    /// Keeps the local memory from being handed out again.
    _held: Option<Arc<Block>>,
}

/// The transfers of a rank that have not completed, by command id.
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

    /// How many are on their way to `target`, or to anybody.
    pub(crate) fn count(&self, target: Option<GlobalRank>) -> u32 {
        match target {
            None => self.len(),
            Some(target) => self.to_target.get(target.0 as usize).copied().unwrap_or(0),
        }
    }

    /// Enters a transfer; `None` when all ids are in use. The target fits the hardware's field.
    pub(crate) fn enter(
        &mut self,
        transfer: Transfer,
        held: Option<Arc<Block>>,
    ) -> Option<(u16, Request)> {
        let id = self.free_ids.pop()?;
        let outcome = Arc::new(Outcome {
            issuer: self.issuer,
            transfer,
            status: OnceLock::new(),
            claimed: AtomicBool::new(false),
        });
        self.by_id[usize::from(id)] = Some(UnderWay {
            outcome: Arc::clone(&outcome),
            _held: held,
        });
        self.to_target[transfer.target.0 as usize] += 1;
        self.bytes += u64::from(transfer.length);
        Some((id, Request { outcome }))
    }

    /// Takes in a completion; whether it answers a transfer under way.
    pub(crate) fn complete(&mut self, id: u32, status: Status) -> bool {
        let Some(under_way) = self.by_id.get_mut(id as usize).and_then(Option::take) else {
            return false;
        };
        let outcome = under_way.outcome;
        self.free_ids.push(id as u16);
        self.to_target[outcome.transfer.target.0 as usize] -= 1;
        self.bytes -= u64::from(outcome.transfer.length);
        let _ = outcome.status.set(status);
        if status != Status::Ok {
            self.failed.push(outcome);
            if self.failed.len() >= self.sweep_at {
                self.sweep();
            }
        }
        true
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
                let target = outcome.transfer.target;
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
