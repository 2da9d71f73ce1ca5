//! A card in real time: `profile=card`.
//!
//! Without this layer, the board behind the nodes answers each access at once. The layer delays and
//! reorders accesses as a bus, an XDMA core and a kernel do:
//! - Writes to a BAR are posted. They take effect in order, some time later, and before the next read
//!   through the same BAR returns. An access through one BAR overtakes writes to the other, as each BAR
//!   has a master of its own.
//! - The words of a command line arrive in any order, as from a processor that combines writes.
//! - DMA transfers have another port of XDMA. They overtake posted writes, and take simulated time.
//! - Interrupts arrive late. Several may arrive as one, and some have no cause.
//! - Signals interrupt the system calls that wait for interrupts.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use alcor_abi::{LINE_BYTES, LINE_PAGES};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use xdma::standin::Device;

/// Maximum number of posted writes on their way.
const POSTED: usize = 64;

/// Bytes of a command line.
const LINE: u64 = LINE_BYTES as u64;

/// A posted write.
enum Post {
    Register(u64, u32),
    Memory(u64, Vec<u8>),
    /// A word of a command line, by its address in the bypass BAR.
    Line(u64, [u8; 4]),
}

/// The BARs with posted writes.
const USER: usize = 0;
const BYPASS: usize = 1;

struct State {
    random: StdRng,
    /// By BAR.
    posted: [VecDeque<Post>; 2],
    /// Words of command lines that were posted, by line.
    combined: HashMap<u64, usize>,
    /// Interrupts that have not reached the host, a bit for each.
    raised: u32,
    /// Number of user interrupts of the card.
    events: u32,
}

/// A board behind a bus in real time.
pub(crate) struct Late<D> {
    below: D,
    /// Address in the bypass BAR of the register pages.
    pages: u64,
    state: Mutex<State>,
}

impl<D: Device> Late<D> {
    /// Puts the bus in front of a board with `events` user interrupts. `pages` is the address of the
    /// register pages in the bypass BAR.
    pub(crate) fn new(below: D, pages: u64, events: u32, seed: u64) -> Late<D> {
        Late {
            below,
            pages,
            state: Mutex::new(State {
                random: StdRng::seed_from_u64(seed),
                posted: Default::default(),
                combined: HashMap::new(),
                raised: 0,
                events,
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delivers the oldest writes that were posted to a BAR, down to `most`.
    fn deliver(&self, state: &mut State, bar: usize, most: usize) {
        while state.posted[bar].len() > most
            && let Some(post) = state.posted[bar].pop_front()
        {
            match post {
                Post::Register(offset, value) => self.below.write32(offset, value),
                Post::Memory(at, data) => _ = self.below.write(at, &data),
                Post::Line(at, word) => _ = self.below.store(at, &word),
            }
        }
    }

    /// Delivers some of the posted writes, at random.
    fn deliver_some(&self, state: &mut State) {
        for bar in [USER, BYPASS] {
            let on_their_way = state.posted[bar].len().min(POSTED);
            let most = state.random.random_range(0..=on_their_way);
            self.deliver(state, bar, most);
        }
    }

    fn post(&self, bar: usize, post: Post) {
        let mut state = self.state();
        state.posted[bar].push_back(post);
        self.deliver_some(&mut state);
    }

    /// Posts a word of a command line. Processors that combine writes send the words of a line in any
    /// order, but those of one line behind the ones of the line before.
    fn post_combined(&self, at: u64, word: [u8; 4]) {
        let mut state = self.state();
        let is_same =
            |post: &&Post| matches!(post, Post::Line(other, _) if other / LINE == at / LINE);
        let words = state.combined.entry(at / LINE).or_default();
        let of_this_line = *words % (LINE as usize / 4);
        *words += 1;
        let posted = &state.posted[BYPASS];
        let others = posted.iter().rev().take_while(is_same);
        let (all, others) = (posted.len(), others.count().min(of_this_line));
        let place = all - state.random.random_range(0..=others);
        state.posted[BYPASS].insert(place, Post::Line(at, word));
        self.deliver_some(&mut state);
    }

    /// Lets simulated time pass, and some posted writes arrive.
    fn wait(&self, steps: std::ops::RangeInclusive<u32>) {
        let mut state = self.state();
        for _ in 0..state.random.random_range(steps) {
            state.raised |= self.below.pass().unwrap_or_default();
        }
        self.deliver_some(&mut state);
    }
}

impl<D: Device> Device for Late<D> {
    fn read32(&self, offset: u64) -> u32 {
        let mut state = self.state();
        self.deliver(&mut state, USER, 0);
        self.below.read32(offset)
    }

    fn write32(&self, offset: u64, value: u32) {
        self.post(USER, Post::Register(offset, value));
    }

    fn load(&self, at: u64, data: &mut [u8]) -> bool {
        let mut state = self.state();
        self.deliver(&mut state, BYPASS, 0);
        let Some(offset) = at.checked_sub(self.pages) else {
            return self.below.read(at, data);
        };
        for (word, place) in data.as_chunks_mut::<4>().0.iter_mut().zip(0..) {
            *word = self.below.read32(offset + 4 * place).to_le_bytes();
        }
        true
    }

    fn store(&self, at: u64, data: &[u8]) -> bool {
        match at.checked_sub(self.pages) {
            None => self.post(BYPASS, Post::Memory(at, data.to_vec())),
            Some(offset) if offset >= u64::from(LINE_PAGES) => {
                for (word, place) in data.as_chunks::<4>().0.iter().zip(0..) {
                    self.post_combined(at + 4 * place, *word);
                }
            }
            Some(offset) => {
                for (word, place) in data.as_chunks::<4>().0.iter().zip(0..) {
                    let value = u32::from_le_bytes(*word);
                    self.post(BYPASS, Post::Register(offset + 4 * place, value));
                }
            }
        }
        true
    }

    fn read(&self, at: u64, buffer: &mut [u8]) -> bool {
        self.wait(0..=4);
        let is_there = self.below.read(at, buffer);
        self.wait(0..=4);
        is_there
    }

    fn write(&self, at: u64, data: &[u8]) -> bool {
        self.wait(0..=4);
        let is_there = self.below.write(at, data);
        self.wait(0..=4);
        is_there
    }

    fn pass(&self) -> Option<u32> {
        let mut state = self.state();
        self.deliver_some(&mut state);
        let raised = self.below.pass()?;
        state.raised |= raised;
        let mut now = 0;
        if state.random.random_bool(0.5) {
            now = std::mem::take(&mut state.raised);
        }
        if state.random.random_bool(0.02) {
            let events = state.events;
            now |= 1 << state.random.random_range(0..events);
        }
        Some(now)
    }

    fn is_signalled(&self) -> bool {
        self.state().random.random_bool(0.1)
    }
}
