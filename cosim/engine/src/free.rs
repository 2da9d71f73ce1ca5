//! Simulated boards without a scheduler of time.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::sleep;
use std::time::Duration;

use alcor::{HeldWrites, NodeAddr, PageOffset, Topology};
use alcor_abi::{LINKS_PAGE, PAGE_BYTES, rank_page};
use verimodel::Model;

use crate::chip::{Chip, WRITE_CYCLES as BUS_CYCLES};
use crate::cluster::chips;
use crate::mailbox::{Post, Want};
use crate::wire::Windows;
use crate::{CosimError, HostCopy, Options, Shape};

/// Cycles of a posted write: the board accepts one per cycle.
const WRITE_CYCLES: u64 = 1;
/// Cycles of a read or a transfer, after those in which earlier writes take effect. Any number
/// above zero is legal: a program that polls a register must see time move.
const READ_CYCLES: u64 = 4;
/// Number of cycles between two checks whether a wait has ended.
const STRIDE: u64 = 16;
/// Maximum number of strides per call of [`FreeBoard::pass`].
const STRIDES: usize = 32;
/// Time for which a waiting thread leaves the board to other threads.
const AWAY: Duration = Duration::from_micros(20);

/// A simulated board with accesses by address, at any time and from any thread. Each access moves
/// time by a few cycles, and so does each wait ([`FreeBoard::pass`]). So cycle counts differ
/// between runs. Tests of device nodes and of drivers between a host and a board use this board.
///
/// The boards of a cluster are joined by links. Their times differ by less than the latency of a
/// link: time that passes on one board passes on the others.
pub struct FreeBoard {
    number: usize,
    /// Words of incomplete command lines, by rank.
    lines: Mutex<Vec<[Option<u32>; 16]>>,
    cluster: Arc<FreeCluster>,
}

/// The boards of a cluster, or a single board.
struct FreeCluster {
    shape: Shape,
    boards: Mutex<Boards>,
    /// Number of accesses that wait for the lock. The mutex alone would starve them: the thread
    /// that has just released the mutex gets it again, and a thread that waits for an interrupt
    /// locks it over and over.
    accesses: AtomicU32,
    /// Interrupts of each board that have risen since they were last taken.
    risen: Box<[AtomicU32]>,
}

struct Boards {
    chips: Vec<Chip>,
    /// None for a single board.
    windows: Option<Windows>,
}

impl Boards {
    /// Moves the time of a board. At the end of a window, the other boards catch up.
    fn run(&mut self, number: usize, until: u64) -> Result<(), CosimError> {
        let Self { chips, windows } = self;
        while let Some(windows) = windows.as_mut().filter(|windows| windows.end < until) {
            for chip in &mut *chips {
                chip.run(windows.end, false)?;
            }
            windows.wires.exchange(|board, action| {
                chips[board].mailbox_mut().with_ends(action);
            });
            windows.end += windows.length;
        }
        chips[number].run(until, false)
    }
}

impl fmt::Debug for FreeBoard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FreeBoard")
            .field("number", &self.number)
            .field("shape", &self.shape())
            .finish_non_exhaustive()
    }
}

impl FreeBoard {
    /// Opens all boards of a topology.
    pub(crate) fn open(
        name: &str,
        model: &Model,
        shape: Shape,
        topology: &Topology,
        options: &Options,
    ) -> Result<Vec<Self>, CosimError> {
        let numbers = 0..topology.boards();
        let (_, chips) = chips(name, model, shape, topology, options)?;
        let cluster = Arc::new(FreeCluster {
            shape,
            boards: Mutex::new(Boards {
                chips,
                windows: Windows::new(topology, options.link_figures()),
            }),
            accesses: AtomicU32::new(0),
            risen: numbers.clone().map(|_| AtomicU32::new(0)).collect(),
        });
        let board = |number| Self {
            number: number as usize,
            lines: Mutex::new(vec![[None; 16]; shape.ranks as usize]),
            cluster: Arc::clone(&cluster),
        };
        Ok(numbers.map(board).collect())
    }

    /// Number of ranks and size of node memory.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.cluster.shape
    }

    /// Size of the registers in bytes: a page for the board, one for each rank, and the page of the
    /// link ends.
    #[must_use]
    pub fn register_bytes(&self) -> u32 {
        if self.shape().frames {
            LINKS_PAGE + PAGE_BYTES
        } else {
            PAGE_BYTES * (1 + self.shape().ranks)
        }
    }

    /// Returns whether registers exist at this byte address in the BAR.
    #[must_use]
    pub fn has_register(&self, address: u64) -> bool {
        let pages = u64::from(PAGE_BYTES * (1 + self.shape().ranks));
        let links = u64::from(LINKS_PAGE)..u64::from(self.register_bytes());
        address < pages || links.contains(&address)
    }

    /// Runs `action` on the boards, with precedence over waiting threads.
    fn access<T>(
        &self,
        action: impl FnOnce(&mut Boards) -> Result<T, CosimError>,
    ) -> Result<T, CosimError> {
        let cluster = &*self.cluster;
        cluster.accesses.fetch_add(1, Ordering::Relaxed);
        let mut boards = cluster
            .boards
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        cluster.accesses.fetch_sub(1, Ordering::Relaxed);
        action(&mut boards)
    }

    fn step(&self, boards: &mut Boards, cycles: u64) -> Result<(), CosimError> {
        let until = boards.chips[self.number].now() + cycles;
        let result = boards.run(self.number, until);
        for (chip, risen) in boards.chips.iter_mut().zip(&self.cluster.risen) {
            risen.fetch_or(chip.mailbox_mut().take_risen(), Ordering::Relaxed);
        }
        result
    }

    /// Lets all earlier writes take effect, as a read on the bus does.
    fn push(&self, boards: &mut Boards) -> Result<(), CosimError> {
        let is_pending = |boards: &Boards| {
            let mailbox = boards.chips[self.number].mailbox();
            (0..self.shape().ranks as usize)
                .any(|rank| mailbox.at_once(rank, &Want::Effect).is_none())
        };
        while is_pending(boards) {
            self.step(boards, 1)?;
        }
        Ok(())
    }

    /// Writes a register of the board's page over the bus.
    fn write_board(&self, boards: &mut Boards, address: u32, value: u32) -> Result<(), CosimError> {
        boards.chips[self.number].begin_write(address, value)?;
        for _ in 0..BUS_CYCLES {
            self.step(boards, 1)?;
            if boards.chips[self.number].has_written()? {
                return Ok(());
            }
        }
        Err(CosimError::BusStuck { address })
    }

    /// Reads a register by its byte address in the BAR.
    ///
    /// # Errors
    /// If there is no such register, or the model fails.
    pub fn read32(&self, address: u32) -> Result<u32, CosimError> {
        self.check(address)?;
        self.access(|boards| {
            self.push(boards)?;
            self.step(boards, READ_CYCLES)?;
            boards.chips[self.number].peek(address)
        })
    }

    /// Writes a register by its byte address in the BAR. A register of the board's page is written
    /// over the bus. The page of the link ends can't be written.
    ///
    /// # Errors
    /// As [`FreeBoard::read32`].
    pub fn write32(&self, address: u32, value: u32) -> Result<(), CosimError> {
        self.check(address)?;
        let (page, offset) = (address / PAGE_BYTES, address % PAGE_BYTES);
        self.access(|boards| {
            match page.checked_sub(1) {
                None => {
                    self.push(boards)?;
                    self.write_board(boards, address, value)?;
                }
                Some(rank) if rank < self.shape().ranks => {
                    let posts = &mut vec![Post::Register {
                        offset,
                        data: value,
                    }];
                    let mailbox = boards.chips[self.number].mailbox_mut();
                    mailbox.post(rank as usize, posts);
                }
                Some(_) => {}
            }
            self.step(boards, WRITE_CYCLES)
        })
    }

    /// Writes a word of the pages for command lines, by its byte address behind
    /// [`LINE_PAGES`](alcor_abi::LINE_PAGES). A line takes effect with its last word. Returns the
    /// register writes that the line has made: byte address in the BAR, and value.
    ///
    /// # Errors
    /// As [`FreeBoard::write32`].
    pub fn write_line(&self, at: u64, value: u32) -> Result<Vec<(u32, u32)>, CosimError> {
        let (page, place) = (at / u64::from(PAGE_BYTES), at as u32 % PAGE_BYTES);
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(line) = lines.get_mut(page as usize) else {
            return Ok(Vec::new());
        };
        match line.get_mut(place as usize / 4) {
            Some(word) => *word = Some(value),
            None => *line = [None; 16],
        }
        if line.contains(&None) || !self.shape().takes_lines() {
            return Ok(Vec::new());
        }
        let words = std::mem::take(line);
        drop(lines);
        let line = HeldWrites::from_words(words.map(Option::unwrap_or_default));
        if let Some((NodeAddr(at), data)) = line.payload {
            let node_bytes = self.shape().node_bytes;
            let at = at % node_bytes / 32 * 32;
            self.store(page * u64::from(node_bytes) + u64::from(at), &data)?;
        }
        let writes = line.writes.into_iter();
        let writes = writes.map(|(PageOffset(at), value)| (rank_page(page as u32) + at, value));
        let writes: Vec<_> = writes.collect();
        for &(address, value) in &writes {
            self.write32(address, value)?;
        }
        Ok(writes)
    }

    /// Copies from node memory by the address of the DMA engines: rank r begins at r × node bytes.
    /// Returns whether the range exists.
    ///
    /// # Errors
    /// If the model fails.
    pub fn load(&self, at: u64, data: &mut [u8]) -> Result<bool, CosimError> {
        let Some((rank, at)) = self.place(at, data.len()) else {
            return Ok(false);
        };
        self.access(|boards| {
            self.push(boards)?;
            self.step(boards, READ_CYCLES)?;
            boards.chips[self.number].load(rank, at, data)?;
            Ok(true)
        })
    }

    /// Copies to node memory, as [`FreeBoard::load`].
    ///
    /// # Errors
    /// If the model fails.
    pub fn store(&self, at: u64, data: &[u8]) -> Result<bool, CosimError> {
        let Some((rank, at)) = self.place(at, data.len()) else {
            return Ok(false);
        };
        self.access(|boards| {
            self.push(boards)?;
            self.step(boards, READ_CYCLES)?;
            boards.chips[self.number].store(rank, at, data)?;
            Ok(true)
        })
    }

    /// Takes the [copies into host memory](HostCopy) that the board asks for, from the first call on.
    ///
    /// # Errors
    /// If the model fails.
    pub fn take_copies(&self) -> Result<Vec<HostCopy>, CosimError> {
        self.access(|boards| {
            let chip = &mut boards.chips[self.number];
            chip.begin_copies()?;
            Ok(chip.mailbox_mut().take_copies())
        })
    }

    /// Lets time pass for a waiting thread, unless other threads use the board. Returns a bit for
    /// each rank whose interrupt has risen since the last call. Returns after a short time in any
    /// case.
    ///
    /// # Errors
    /// If the model fails.
    pub fn pass(&self) -> Result<u32, CosimError> {
        if !self.has_risen() {
            match self.idle_boards() {
                Some(mut boards) => self.pass_time(&mut boards)?,
                None => sleep(AWAY),
            }
        }
        Ok(self.take_risen())
    }

    fn has_risen(&self) -> bool {
        self.cluster.risen[self.number].load(Ordering::Relaxed) != 0
    }

    /// Takes the interrupts that have risen since the last call of this function or of
    /// [`FreeBoard::pass`], a bit for each rank.
    pub fn take_risen(&self) -> u32 {
        self.cluster.risen[self.number].swap(0, Ordering::Relaxed)
    }

    /// Levels of the ranks' interrupts, a bit for each, and the cycle.
    #[must_use]
    pub fn interrupts(&self) -> (u32, u64) {
        let boards = self.cluster.boards.lock();
        let boards = boards.unwrap_or_else(PoisonError::into_inner);
        let chip = &boards.chips[self.number];
        (chip.mailbox().irq(), chip.now())
    }

    /// Locks the boards if no thread uses them.
    fn idle_boards(&self) -> Option<MutexGuard<'_, Boards>> {
        if self.cluster.accesses.load(Ordering::Relaxed) != 0 {
            return None;
        }
        match self.cluster.boards.try_lock() {
            Ok(boards) => Some(boards),
            Err(TryLockError::Poisoned(boards)) => Some(boards.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Lets time pass until an interrupt rises or another thread needs a board.
    fn pass_time(&self, boards: &mut Boards) -> Result<(), CosimError> {
        for _ in 0..STRIDES {
            self.step(boards, STRIDE)?;
            let is_wanted = self.cluster.accesses.load(Ordering::Relaxed) != 0;
            if is_wanted || self.has_risen() {
                break;
            }
        }
        Ok(())
    }

    fn check(&self, address: u32) -> Result<(), CosimError> {
        if address.is_multiple_of(4) && self.has_register(address.into()) {
            return Ok(());
        }
        Err(CosimError::BadRegister { offset: address })
    }

    /// Returns the rank of an address, and the address in its memory. No transfer crosses from one
    /// rank to the next.
    fn place(&self, at: u64, length: usize) -> Option<(usize, u32)> {
        let bytes = u64::from(self.shape().node_bytes);
        let (rank, at) = (at / bytes, at % bytes);
        let is_there = rank < u64::from(self.shape().ranks) && at + length as u64 <= bytes;
        is_there.then_some((rank as usize, at as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CosimBackend;

    #[test]
    fn who_waits_leaves_the_board_to_who_uses_it() {
        let board = CosimBackend::new().open_free("rma2").unwrap().remove(0);
        let cluster = &*board.cluster;
        let now = || cluster.boards.lock().unwrap().chips[0].now();
        let passes = |accesses| {
            cluster.accesses.store(accesses, Ordering::Relaxed);
            let began = now();
            assert_eq!(board.pass().unwrap(), 0);
            now() - began
        };
        assert_eq!([0, 1, 2, 0].map(passes), [512, 0, 0, 512]);
        // Another thread requests the board while time passes, and a third one holds the board.
        cluster.accesses.store(1, Ordering::Relaxed);
        let mut boards = cluster.boards.lock().unwrap();
        let began = boards.chips[0].now();
        board.pass_time(&mut boards).unwrap();
        assert_eq!(boards.chips[0].now() - began, STRIDE);
        cluster.accesses.store(0, Ordering::Relaxed);
        assert_eq!(board.pass().unwrap(), 0);
    }

    #[test]
    fn time_of_joined_boards_passes_together() {
        let boards = CosimBackend::new().open_free("ring2").unwrap();
        let now = || [0, 1].map(|board: usize| boards[board].interrupts().1);
        for (moved, cycles) in [(0, 30), (1, 1000), (0, 1000)] {
            for _ in 0..cycles / READ_CYCLES {
                boards[moved].read32(alcor_abi::board::MAGIC).unwrap();
            }
            let now = now();
            assert!(
                now[0].abs_diff(now[1]) < u64::from(crate::frames::LATENCY),
                "{now:?}"
            );
        }
        assert!(now()[1] > 1900, "{:?}", now());
    }
}
