//! The two ends of a valid/ready stream.

use std::collections::VecDeque;

use rand::Rng;

/// How often an end of a stream is willing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// In every cycle.
    Always,
    /// In no cycle.
    Never,
    /// In each cycle with this probability.
    Chance(f64),
    /// Runs of willing and of idle cycles, each of a random length up to the given one.
    Bursts {
        /// Longest run of willing cycles, 1 or more.
        on: u32,
        /// Longest run of idle cycles, 1 or more.
        off: u32,
    },
}

/// A pace under way.
#[derive(Debug, Clone)]
struct Gait {
    pace: Pace,
    willing: bool,
    left: u32,
}

impl Gait {
    fn new(pace: Pace) -> Self {
        Self {
            pace,
            willing: false,
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
                    self.willing = !self.willing;
                    self.left = rng.random_range(1..=if self.willing { on } else { off });
                }
                self.left -= 1;
                self.willing
            }
        }
    }
}

/// The sending end: offers what is queued, at a pace, and keeps an offer up until it is taken.
#[derive(Debug, Clone)]
pub struct Source<T> {
    queue: VecDeque<T>,
    offering: bool,
    gait: Gait,
}

impl<T> Source<T> {
    /// A source with nothing to send yet.
    pub fn new(pace: Pace) -> Self {
        Self {
            queue: VecDeque::new(),
            offering: false,
            gait: Gait::new(pace),
        }
    }

    /// Changes the pace; an offer that is up stays.
    pub fn set_pace(&mut self, pace: Pace) {
        self.gait = Gait::new(pace);
    }

    /// Queues an item.
    pub fn push(&mut self, item: T) {
        self.queue.push_back(item);
    }

    /// Queues several items.
    pub fn extend(&mut self, items: impl IntoIterator<Item = T>) {
        self.queue.extend(items);
    }

    /// Items that have not been taken.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether everything has been taken.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Begins a cycle: what is on offer in it. Call once per cycle.
    pub fn offer(&mut self, rng: &mut impl Rng) -> Option<&T> {
        let willing = self.gait.step(rng);
        self.offering = (self.offering || willing) && !self.queue.is_empty();
        self.queue.front().filter(|_| self.offering)
    }

    /// Ends a cycle: if the offer was met by `ready`, takes and returns it.
    pub fn take(&mut self, ready: bool) -> Option<T> {
        if !(self.offering && ready) {
            return None;
        }
        self.offering = false;
        self.queue.pop_front()
    }

    /// Withdraws everything, as a reset does.
    pub fn clear(&mut self) {
        self.queue.clear();
        self.offering = false;
    }
}

/// The receiving end: ready at a pace.
#[derive(Debug, Clone)]
pub struct Sink {
    gait: Gait,
}

impl Sink {
    /// A sink.
    pub fn new(pace: Pace) -> Self {
        Self {
            gait: Gait::new(pace),
        }
    }

    /// Changes the pace.
    pub fn set_pace(&mut self, pace: Pace) {
        self.gait = Gait::new(pace);
    }

    /// Begins a cycle: whether the sink is ready in it. Call once per cycle.
    pub fn ready(&mut self, rng: &mut impl Rng) -> bool {
        self.gait.step(rng)
    }
}
