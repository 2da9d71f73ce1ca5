//! The two ends of a valid/ready stream.

use std::collections::VecDeque;

use rand::Rng;

/// Probability or pattern with which an end of a stream is active.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// In every cycle.
    Always,
    /// In no cycle.
    Never,
    /// In each cycle with this probability.
    Chance(f64),
    /// Runs of active and of idle cycles, each of a random length up to the given maximum.
    Bursts {
        /// Longest run of active cycles, 1 or more.
        on: u32,
        /// Longest run of idle cycles, 1 or more.
        off: u32,
    },
}

/// State of a pace.
#[derive(Debug, Clone)]
struct PaceState {
    pace: Pace,
    active: bool,
    left: u32,
}

impl PaceState {
    fn new(pace: Pace) -> Self {
        Self {
            pace,
            active: false,
            left: 0,
        }
    }

    fn step(&mut self, rng: &mut impl Rng) -> bool {
        match self.pace {
            Pace::Always => true,
            Pace::Never => false,
            Pace::Chance(chance) => rng.random_bool(chance),
            Pace::Bursts { on, off } => {
                if self.left == 0 {
                    self.active = !self.active;
                    self.left = rng.random_range(1..=if self.active { on } else { off });
                }
                self.left -= 1;
                self.active
            }
        }
    }
}

/// The sending end: offers queued items at a pace, and holds an offer until it is accepted.
#[derive(Debug, Clone)]
pub struct Source<T> {
    queue: VecDeque<T>,
    offering: bool,
    pace: PaceState,
}

impl<T> Source<T> {
    /// A source with an empty queue.
    pub fn new(pace: Pace) -> Self {
        Self {
            queue: VecDeque::new(),
            offering: false,
            pace: PaceState::new(pace),
        }
    }

    /// Changes the pace. A pending offer remains.
    pub fn set_pace(&mut self, pace: Pace) {
        self.pace = PaceState::new(pace);
    }

    /// Queues an item.
    pub fn push(&mut self, item: T) {
        self.queue.push_back(item);
    }

    /// Queues several items.
    pub fn extend(&mut self, items: impl IntoIterator<Item = T>) {
        self.queue.extend(items);
    }

    /// Number of items that have not been accepted.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Returns whether all items have been accepted.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Begins a cycle. Returns the item offered in this cycle. Call once per cycle.
    pub fn offer(&mut self, rng: &mut impl Rng) -> Option<&T> {
        let active = self.pace.step(rng);
        self.offering = (self.offering || active) && !self.queue.is_empty();
        self.queue.front().filter(|_| self.offering)
    }

    /// Ends a cycle. If an offer coincides with `ready`, removes and returns the item.
    pub fn take(&mut self, ready: bool) -> Option<T> {
        if !(self.offering && ready) {
            return None;
        }
        self.offering = false;
        self.queue.pop_front()
    }

    /// Removes all items, as a reset does.
    pub fn clear(&mut self) {
        self.queue.clear();
        self.offering = false;
    }
}

/// The receiving end: ready at a pace.
#[derive(Debug, Clone)]
pub struct Sink {
    pace: PaceState,
}

impl Sink {
    /// A sink with the given pace.
    pub fn new(pace: Pace) -> Self {
        Self {
            pace: PaceState::new(pace),
        }
    }

    /// Changes the pace.
    pub fn set_pace(&mut self, pace: Pace) {
        self.pace = PaceState::new(pace);
    }

    /// Begins a cycle. Returns whether the sink is ready in this cycle. Call once per cycle.
    pub fn ready(&mut self, rng: &mut impl Rng) -> bool {
        self.pace.step(rng)
    }
}
