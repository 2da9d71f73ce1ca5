//! Where a rank waits for its time, and how it is called.
//!
//! Waking a parked thread costs about 20 us, which is a dozen or more cycles of a model; a thread that keeps yielding is
//! back in 1 to 3 us. So a rank yields for a while before it parks, unless yielding shows that others need the cores.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::clockwork::Fate;
use crate::mailbox::Why;

/// How long a rank yields before it parks.
const PATIENCE: Duration = Duration::from_micros(400);
/// A yield that takes longer found the cores taken by others.
const CROWDED: Duration = Duration::from_micros(300);
/// How many waits park at once after that.
const RESTRAINT: u32 = 200;

const CALLED: u32 = 0;
const WAITING: u32 = 1;
const PARKED: u32 = 2;

/// What a rank comes back with.
#[derive(Debug, Clone)]
pub(crate) struct Woken {
    /// The present time.
    pub(crate) cycle: u64,
    /// Posts of the rank's that have not reached the board.
    pub(crate) backlog: usize,
    pub(crate) why: Why,
}

/// A rank's seat.
#[derive(Default)]
pub(crate) struct Seat {
    state: AtomicU32,
    /// Waits left that park at once; only the rank itself looks at it.
    restraint: AtomicU32,
    guest: Mutex<Guest>,
}

#[derive(Default)]
struct Guest {
    thread: Option<Thread>,
    result: Option<Result<Woken, Fate>>,
}

impl Seat {
    /// Takes the seat, before anyone can know of it.
    pub(crate) fn take(&self) {
        let mut guest = self.guest.lock().unwrap_or_else(PoisonError::into_inner);
        guest.thread = Some(thread::current());
        guest.result = None;
        self.state.store(WAITING, Ordering::Release);
    }

    /// Leaves the result at the seat, before the call.
    pub(crate) fn serve(&self, result: Result<Woken, Fate>) {
        self.guest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .result = Some(result);
    }

    /// Calls the rank.
    pub(crate) fn call(&self) {
        if self.state.swap(CALLED, Ordering::AcqRel) == PARKED {
            let guest = self.guest.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(thread) = &guest.thread {
                thread.unpark();
            }
        }
    }

    fn is_called(&self) -> bool {
        self.state.load(Ordering::Acquire) == CALLED
    }

    /// Waits for the call. Asks `overdue` for what to do when `limit` has passed, which gives how much longer to wait.
    pub(crate) fn wait(
        &self,
        limit: Duration,
        mut overdue: impl FnMut() -> Duration,
    ) -> Result<Woken, Fate> {
        self.yield_a_while();
        if self
            .state
            .compare_exchange(WAITING, PARKED, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
        {
            let mut until = Instant::now() + limit;
            while !self.is_called() {
                let now = Instant::now();
                if now < until {
                    thread::park_timeout(until - now);
                } else {
                    until = now + overdue();
                }
            }
        }
        let result = self
            .guest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .result
            .take();
        // Only `call` ends a wait, and `serve` comes before it.
        result.unwrap_or(Err(Fate::Lost))
    }

    fn yield_a_while(&self) {
        if self.is_called() {
            return;
        }
        let restraint = self.restraint.load(Ordering::Relaxed);
        if restraint > 0 {
            self.restraint.store(restraint - 1, Ordering::Relaxed);
            return;
        }
        let start = Instant::now();
        let mut last = start;
        while !self.is_called() {
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
