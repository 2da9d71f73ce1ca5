//! Wait slots: a rank waits in its slot until the scheduler wakes it.
//!
//! Waking a parked thread takes about 20 us, which is a dozen or more cycles of a model. A thread
//! that keeps yielding runs again after 1 to 3 us. So a rank yields for a while before it parks,
//! unless yielding shows that other threads need the cores.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::mailbox::Why;
use crate::scheduler::RunOutcome;

/// Time for which a rank yields before it parks.
const PATIENCE: Duration = Duration::from_micros(400);
/// A yield that takes longer shows that other threads use the cores.
const CROWDED: Duration = Duration::from_micros(300);
/// Number of waits after that which park without yielding.
const RESTRAINT: u32 = 200;

const WOKEN: u32 = 0;
const WAITING: u32 = 1;
const PARKED: u32 = 2;

/// The result of a rank's wait.
#[derive(Debug, Clone)]
pub(crate) struct Woken {
    /// The present time.
    pub(crate) cycle: u64,
    /// Number of the rank's posts that have not reached the board.
    pub(crate) backlog: usize,
    pub(crate) why: Why,
}

/// The wait slot of a rank.
#[derive(Default)]
pub(crate) struct WaitSlot {
    state: AtomicU32,
    /// Number of waits left that park without yielding. Only the rank itself uses it.
    restraint: AtomicU32,
    payload: Mutex<Payload>,
}

/// The waiting thread, and the result of its wait.
#[derive(Default)]
struct Payload {
    thread: Option<Thread>,
    result: Option<Result<Woken, RunOutcome>>,
}

impl WaitSlot {
    /// Enters the slot, before any other thread can wake the rank.
    pub(crate) fn enter(&self) {
        let mut payload = self.payload.lock().unwrap_or_else(PoisonError::into_inner);
        payload.thread = Some(thread::current());
        payload.result = None;
        self.state.store(WAITING, Ordering::Release);
    }

    /// Stores the result of the wait. To be called before `wake`.
    pub(crate) fn set_result(&self, result: Result<Woken, RunOutcome>) {
        self.payload
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .result = Some(result);
    }

    /// Wakes the rank.
    pub(crate) fn wake(&self) {
        if self.state.swap(WOKEN, Ordering::AcqRel) == PARKED {
            let payload = self.payload.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(thread) = &payload.thread {
                thread.unpark();
            }
        }
    }

    fn is_woken(&self) -> bool {
        self.state.load(Ordering::Acquire) == WOKEN
    }

    /// Waits until the rank is woken. When `limit` has passed, calls `overdue`, which returns how
    /// much longer to wait.
    pub(crate) fn wait(
        &self,
        limit: Duration,
        mut overdue: impl FnMut() -> Duration,
    ) -> Result<Woken, RunOutcome> {
        self.yield_a_while();
        if self
            .state
            .compare_exchange(WAITING, PARKED, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
        {
            let mut until = Instant::now() + limit;
            while !self.is_woken() {
                let now = Instant::now();
                if now < until {
                    thread::park_timeout(until - now);
                } else {
                    until = now + overdue();
                }
            }
        }
        let result = self
            .payload
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .result
            .take();
        // Only `wake` ends a wait, and `set_result` comes before it.
        result.unwrap_or(Err(RunOutcome::Lost))
    }

    fn yield_a_while(&self) {
        if self.is_woken() {
            return;
        }
        let restraint = self.restraint.load(Ordering::Relaxed);
        if restraint > 0 {
            self.restraint.store(restraint - 1, Ordering::Relaxed);
            return;
        }
        let start = Instant::now();
        let mut last = start;
        while !self.is_woken() {
            thread::yield_now();
            let now = Instant::now();
            if now - last > CROWDED {
                self.restraint.store(RESTRAINT, Ordering::Relaxed);
                return;
            }
            if now - start > PATIENCE {
                return;
            }
            last = now;
        }
    }
}
