//! The boards, and the threads that step them.
//!
//! A board's step within a window of time depends on that board alone, so any thread may perform
//! the step. The thread that moves time distributes the steps and performs a part of them; worker
//! threads perform the rest, and exist as long as the boards.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::CosimError;
use crate::chip::Chip;

/// Time for which an idle thread yields before it sleeps.
const PATIENCE: Duration = Duration::from_micros(100);
/// Number of polls before the first yield.
const LOOKS: u32 = 200;

/// The task for every board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// Moves the time of the board to this point, or until a rank is due. `is_watched`: also checks
    /// whether the state stays the same.
    Run { until: u64, is_watched: bool },
    /// Resets the board if it has taken part in a run since its last reset; board `asked` also if
    /// its registers were written.
    Reset { asked: usize },
}

/// A board, and how its last step ended.
struct Slot {
    chip: Chip,
    result: Result<(), CosimError>,
}

/// An event count: threads wait on it until a condition holds.
#[derive(Default)]
struct EventCount {
    has_waiters: AtomicBool,
    waiters: Mutex<u32>,
    changed: Condvar,
}

impl EventCount {
    /// Waits until the condition holds: spins, then yields, then sleeps.
    fn wait(&self, holds: impl Fn() -> bool) {
        for _ in 0..LOOKS {
            if holds() {
                return;
            }
            std::hint::spin_loop();
        }
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if holds() {
                return;
            }
            thread::yield_now();
        }
        let mut waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        *waiters += 1;
        // From now on, a thread that makes the condition hold notifies, or the check below sees the
        // change.
        self.has_waiters.store(true, Ordering::SeqCst);
        while !holds() {
            waiters = self
                .changed
                .wait(waiters)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *waiters -= 1;
        self.has_waiters.store(*waiters > 0, Ordering::SeqCst);
    }

    /// Wakes all waiting threads. To be called after their condition was made to hold.
    fn notify(&self) {
        if self.has_waiters.load(Ordering::SeqCst) {
            let _waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
            self.changed.notify_all();
        }
    }
}

struct Shared {
    slots: Box<[Mutex<Slot>]>,
    task: Mutex<Task>,
    /// Number of the task, and in the low half the next board for it.
    next: AtomicU64,
    /// Boards whose steps have not ended.
    left: AtomicUsize,
    stop: AtomicBool,
    posted: EventCount,
    done: EventCount,
}

const BOARD_MASK: u64 = u32::MAX as u64;

impl Shared {
    fn slot(&self, board: usize) -> MutexGuard<'_, Slot> {
        self.slots[board]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn has_work(&self) -> bool {
        self.next.load(Ordering::SeqCst) & BOARD_MASK < self.slots.len() as u64
    }

    /// Takes a board of the present task. The task cannot end while a thread has a board, so the
    /// thread can read the task.
    fn claim(&self) -> Option<usize> {
        let mut next = self.next.load(Ordering::SeqCst);
        while next & BOARD_MASK < self.slots.len() as u64 {
            match self.next.compare_exchange_weak(
                next,
                next + 1,
                Ordering::SeqCst,
                Ordering::SeqCst,
            ) {
                Ok(_) => return Some((next & BOARD_MASK) as usize),
                Err(now) => next = now,
            }
        }
        None
    }

    fn perform(&self, board: usize, task: Task) {
        let mut slot = self.slot(board);
        // The result if the step does not return.
        slot.result = Err(CosimError::Lost);
        slot.result = match task {
            Task::Run { until, is_watched } => slot.chip.run(until, is_watched),
            Task::Reset { asked } => slot.chip.refresh(board == asked),
        };
    }

    /// Takes part in the present task.
    fn help(&self) {
        while let Some(board) = self.claim() {
            let _ended = Ended(self);
            let task = *self.task.lock().unwrap_or_else(PoisonError::into_inner);
            self.perform(board, task);
        }
    }
}

/// Counts a step as ended, however it ends.
struct Ended<'a>(&'a Shared);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        if self.0.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.done.notify();
        }
    }
}

/// All boards.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

impl Pool {
    /// A pool of boards that up to `threads` threads step, including the thread that moves time.
    pub(crate) fn new(chips: Vec<Chip>, threads: usize) -> Self {
        let threads = threads.min(chips.len());
        let slots = chips.into_iter().map(|chip| {
            Mutex::new(Slot {
                chip,
                result: Ok(()),
            })
        });
        let slots: Box<[_]> = slots.collect();
        let shared = Arc::new(Shared {
            next: AtomicU64::new(slots.len() as u64),
            slots,
            task: Mutex::new(Task::Run {
                until: 0,
                is_watched: false,
            }),
            left: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            posted: EventCount::default(),
            done: EventCount::default(),
        });
        let workers = (1..threads).map_while(|number| {
            let shared = Arc::clone(&shared);
            // With fewer threads than requested, only the speed differs.
            thread::Builder::new()
                .name(format!("boards {number}"))
                .spawn(move || {
                    while !shared.stop.load(Ordering::SeqCst) {
                        shared.help();
                        shared
                            .posted
                            .wait(|| shared.has_work() || shared.stop.load(Ordering::SeqCst));
                    }
                })
                .ok()
        });
        Self {
            workers: workers.collect(),
            shared,
        }
    }

    pub(crate) fn boards(&self) -> usize {
        self.shared.slots.len()
    }

    /// Calls `action` with a board while its time stands still.
    pub(crate) fn with<T>(&self, board: usize, action: impl FnOnce(&mut Chip) -> T) -> T {
        action(&mut self.shared.slot(board).chip)
    }

    /// Performs a task on all boards that need it, on all threads. Only the thread that moves time
    /// calls this function.
    ///
    /// If several boards fail, returns the failure that is first in simulated time, and of these
    /// the one of the lowest board.
    pub(crate) fn each(&self, task: Task) -> Result<(), (usize, CosimError)> {
        let needs = |board: &usize| {
            self.with(*board, |chip| match task {
                Task::Run { until, .. } => chip.now() < until,
                Task::Reset { .. } => true,
            })
        };
        let mut needing = (0..self.boards()).filter(needs);
        let Some(first) = needing.next() else {
            return Ok(());
        };
        if self.workers.is_empty() || needing.next().is_none() {
            (first..self.boards()).for_each(|board| self.shared.perform(board, task));
        } else {
            self.share(task);
        }
        let failed = (0..self.boards()).filter_map(|board| {
            let mut slot = self.shared.slot(board);
            let error = std::mem::replace(&mut slot.result, Ok(())).err()?;
            Some((slot.chip.now(), board, error))
        });
        match failed.min_by_key(|&(cycle, board, _)| (cycle, board)) {
            None => Ok(()),
            Some((_, board, error)) => Err((board, error)),
        }
    }

    fn share(&self, task: Task) {
        let shared = &*self.shared;
        *shared.task.lock().unwrap_or_else(PoisonError::into_inner) = task;
        shared.left.store(self.boards(), Ordering::SeqCst);
        let number = shared.next.load(Ordering::SeqCst) >> 32;
        shared
            .next
            .store(number.wrapping_add(1) << 32, Ordering::SeqCst);
        shared.posted.notify();
        shared.help();
        shared.done.wait(|| shared.left.load(Ordering::SeqCst) == 0);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.posted.notify();
        for worker in self.workers.drain(..) {
            // The thread has no result.
            let _ = worker.join();
        }
    }
}
