//! The mailbox of a rank: memory shared by the process of the rank and the process of the cluster.
//!
//! The mailbox consists of 32-bit words, little-endian. The words of each side are in cache lines
//! of their own:
//!
//! | word | | written by |
//! |---:|---|---|
//! | 0 | [`MAGIC`] | the cluster, once |
//! | 1 | [`VERSION`] | the cluster, once |
//! | 2 | number of data words at the end | the cluster, once |
//! | 16 | number of the request; incremented after its operands are stored | the rank |
//! | 17 | number of posts before the request | the rank |
//! | 18 | the request: [`Ask`] | the rank |
//! | 19 to 21 | operands | the rank |
//! | 32 | number of the last answered request | the cluster |
//! | 33 | whether the request failed: then the length of a [`Fault`] in the data | the cluster |
//! | 34 | a value | the cluster |
//! | 36, 37 | the present time, low word first | the cluster |
//! | 48 | whether the rank sleeps and needs a wake-up | both |
//! | 64 | whether the cluster sleeps and needs a wake-up | both |
//! | 1024 | [`POSTS`] register writes of two words: offset, value | the rank |
//! | | or a note in three posts | |
//! | then | data: node memory to be written or read, or a fault | both in turn |
//!
//! One request is under way at a time. So at any time one side owns all words, except the two
//! request numbers and the two sleep words. Neither side trusts the values that it reads: the
//! cluster copies a request before it checks the request.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::Segment;
use alcor::Note;

use crate::channel::Channel;
use crate::fault::Fault;
use crate::note;
use crate::wire::VERSION;

/// "ALCM".
pub const MAGIC: u32 = u32::from_le_bytes(*b"ALCM");

/// Number of register writes for which a mailbox has room.
pub const POSTS: usize = 65_536;

/// Time for which a side yields before it sleeps. Waking a sleeping side takes some 10 us, and a
/// hand-over to a yielding side takes 1 to 2 us.
const PATIENCE: Duration = Duration::from_micros(60);

const DATA_WORDS: usize = 2;
const REQUEST: usize = 16;
const POSTED: usize = 17;
const ASKED: usize = 18;
const ANSWERED: usize = 32;
const FAILED: usize = 33;
const VALUE: usize = 34;
const NOW: usize = 36;
const RANK_SLEEPS: usize = 48;
const CLUSTER_SLEEPS: usize = 64;
const FIRST_POST: usize = 1024;
const DATA: usize = FIRST_POST + 2 * POSTS;

/// Maximum size of a fault that is read, in bytes.
const FAULT_BYTES: usize = 1 << 19;

/// The request of a rank to its port, after its posts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Takes over the posts only.
    Take,
    /// [`alcor::Port::read32`]
    Read {
        /// Offset of the register.
        offset: u32,
    },
    /// [`alcor::Port::read_board32`]
    ReadBoard {
        /// Offset of the register.
        offset: u32,
    },
    /// [`alcor::Port::write_memory`]; the bytes are in the data.
    WriteMemory {
        /// Address in node memory.
        at: u32,
        /// Length in bytes.
        bytes: u32,
    },
    /// [`alcor::Port::read_memory`]; the bytes are in the data afterwards.
    ReadMemory {
        /// Address in node memory.
        at: u32,
        /// Length in bytes.
        bytes: u32,
    },
    /// [`alcor::Port::wait`]; the value is the register CAUSES, or 0 at the deadline.
    Wait {
        /// Bits of the awaited causes.
        awaited: u32,
        /// Deadline in cycles.
        deadline: u64,
    },
    /// [`alcor::RunView::tell_wait`]; the [`Wait`](crate::wire::Wait) is in the data, unless the
    /// length is 0.
    TellWait {
        /// Length in bytes.
        bytes: u32,
    },
    /// [`alcor::RunView::sight`]; the value is the length of the [`alcor::Sight`] in the data.
    Sight,
    /// [`alcor::Port::deaths`]; the value is 0 for `None`, else the number of dead ranks plus 1. The
    /// data has a word for each of them.
    Deaths,
    /// [`alcor::Port::leave`], the last request.
    Leave,
    /// The port is dropped before it has left. This is the last request.
    Drop,
}

impl Ask {
    fn words(self) -> [u32; 4] {
        match self {
            Ask::Take => [0, 0, 0, 0],
            Ask::Read { offset } => [1, offset, 0, 0],
            Ask::ReadBoard { offset } => [2, offset, 0, 0],
            Ask::WriteMemory { at, bytes } => [3, at, bytes, 0],
            Ask::ReadMemory { at, bytes } => [4, at, bytes, 0],
            Ask::Wait { awaited, deadline } => {
                [5, awaited, deadline as u32, (deadline >> 32) as u32]
            }
            Ask::Leave => [6, 0, 0, 0],
            Ask::Drop => [7, 0, 0, 0],
            Ask::TellWait { bytes } => [8, 0, bytes, 0],
            Ask::Sight => [9, 0, 0, 0],
            Ask::Deaths => [10, 0, 0, 0],
        }
    }

    fn of(words: [u32; 4]) -> Option<Ask> {
        let [code, offset, low, high] = words;
        Some(match code {
            0 => Ask::Take,
            1 => Ask::Read { offset },
            2 => Ask::ReadBoard { offset },
            3 => Ask::WriteMemory {
                at: offset,
                bytes: low,
            },
            4 => Ask::ReadMemory {
                at: offset,
                bytes: low,
            },
            5 => Ask::Wait {
                awaited: offset,
                deadline: u64::from(high) << 32 | u64::from(low),
            },
            6 => Ask::Leave,
            7 => Ask::Drop,
            8 => Ask::TellWait { bytes: low },
            9 => Ask::Sight,
            10 => Ask::Deaths,
            _ => return None,
        })
    }
}

/// The answer of the cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The present time.
    pub now: u64,
    /// The value, or the fault.
    pub result: Result<u32, Fault>,
}

/// The common part of both ends.
struct End {
    segment: Segment,
    channel: Channel,
    /// Number of the last request, or of the last answered request.
    number: u32,
}

impl End {
    fn data_bytes(&self) -> usize {
        4 * (self.segment.words().len() - DATA)
    }

    fn word(&self, index: usize) -> &AtomicU32 {
        &self.segment.words()[index]
    }

    fn get(&self, index: usize) -> u32 {
        self.word(index).load(Ordering::Relaxed)
    }

    fn set(&self, index: usize, value: u32) {
        self.word(index).store(value, Ordering::Relaxed);
    }

    /// Increments the word at `index`, and wakes the other side if it sleeps.
    fn hand_over(&self, index: usize, other_sleeps: usize) -> io::Result<()> {
        self.word(index).store(self.number, Ordering::SeqCst);
        if self.word(other_sleeps).swap(0, Ordering::SeqCst) != 0 {
            self.channel.ring()?;
        }
        Ok(())
    }

    /// Waits until the word at `index` differs from `seen`. Returns the new value.
    fn await_change(&self, index: usize, seen: u32, own_sleep: usize) -> io::Result<u32> {
        let start = Instant::now();
        loop {
            let value = self.word(index).load(Ordering::Acquire);
            if value != seen {
                return Ok(value);
            }
            if start.elapsed() > PATIENCE {
                break;
            }
            thread::yield_now();
        }
        loop {
            // A side that changes the word from here on sees that this side sleeps.
            self.word(own_sleep).store(1, Ordering::SeqCst);
            let value = self.word(index).load(Ordering::SeqCst);
            if value != seen {
                self.word(own_sleep).store(0, Ordering::SeqCst);
                return Ok(value);
            }
            self.channel.doze()?;
        }
    }
}

/// The rank's end of a mailbox.
pub struct RankEnd {
    end: End,
    posted: usize,
}

impl RankEnd {
    /// Opens the rank's end of a received mailbox.
    ///
    /// # Errors
    /// The defect of the mailbox, in words.
    pub fn open(segment: Segment, channel: Channel) -> Result<RankEnd, String> {
        let words = segment.words();
        if words.len() < DATA {
            return Err(format!(
                "it has {} words instead of at least {DATA}",
                words.len()
            ));
        }
        let at = |index: usize| words[index].load(Ordering::Acquire);
        if at(0) != MAGIC {
            return Err(format!(
                "it begins with 0x{:08x} instead of 0x{MAGIC:08x}",
                at(0)
            ));
        }
        if at(1) != VERSION {
            return Err(format!("its version is {} instead of {VERSION}", at(1)));
        }
        if at(DATA_WORDS) as usize != words.len() - DATA {
            return Err(format!(
                "it states {} words of data, and has {}",
                at(DATA_WORDS),
                words.len() - DATA
            ));
        }
        let number = at(ANSWERED);
        Ok(RankEnd {
            end: End {
                segment,
                channel,
                number,
            },
            posted: 0,
        })
    }

    /// Size of the data in bytes.
    #[must_use]
    pub fn data_bytes(&self) -> usize {
        self.end.data_bytes()
    }

    /// Returns whether there is room for one more post of either kind.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.posted + note::POSTS <= POSTS
    }

    /// Adds a register write to the posts of the next request. The mailbox must have
    /// [room](Self::has_room).
    pub fn post(&mut self, offset: u32, value: u32) {
        let at = FIRST_POST + 2 * self.posted;
        self.end.set(at, offset);
        self.end.set(at + 1, value);
        self.posted += 1;
    }

    /// Adds a note to the posts of the next request. A note takes three posts; the first one marks
    /// the note. The mailbox must have [room](Self::has_room).
    pub fn note(&mut self, note: Note) {
        for (first, second) in note::encode(note).into_iter().flatten() {
            self.post(first, second);
        }
    }

    /// Stores bytes in the data for the next request. Returns false if there is no room.
    #[must_use]
    pub fn store(&self, data: &[u8]) -> bool {
        self.end.segment.store(DATA, data)
    }

    /// Loads bytes of the data. Returns false if the data has fewer bytes.
    #[must_use]
    pub fn load(&self, data: &mut [u8]) -> bool {
        self.end.segment.load(DATA, data)
    }

    /// Hands over the posts and a request, and waits for the answer.
    ///
    /// # Errors
    /// If the process of the cluster is gone.
    pub fn ask(&mut self, ask: Ask) -> io::Result<Answer> {
        let end = &mut self.end;
        end.set(POSTED, self.posted as u32);
        for (index, word) in (ASKED..).zip(ask.words()) {
            end.set(index, word);
        }
        self.posted = 0;
        let answered = end.number;
        end.number = answered.wrapping_add(1);
        end.hand_over(REQUEST, CLUSTER_SLEEPS)?;
        end.await_change(ANSWERED, answered, RANK_SLEEPS)?;
        let result = match end.get(FAILED) as usize {
            0 => Ok(end.get(VALUE)),
            bytes => {
                let mut text = vec![0; bytes.min(FAULT_BYTES)];
                let is_there = end.segment.load(DATA, &mut text);
                let fault = serde_json::from_slice(&text).ok().filter(|_| is_there);
                Err(fault.unwrap_or_else(|| Fault::Other {
                    message: "the text of an error was lost".into(),
                }))
            }
        };
        Ok(Answer {
            now: u64::from(end.get(NOW + 1)) << 32 | u64::from(end.get(NOW)),
            result,
        })
    }
}

/// A request as the cluster reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// Number of posts before the request, at most [`POSTS`].
    pub posts: usize,
    /// The request; `None` if the code is unknown.
    pub ask: Option<Ask>,
}

/// A post of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posted {
    /// A register write.
    Write {
        /// Offset of the register.
        offset: u32,
        /// Value of the register.
        value: u32,
    },
    /// A note of an operation.
    Note(Note),
}

/// The cluster's end of a mailbox.
pub struct ClusterEnd {
    end: End,
}

impl ClusterEnd {
    /// Makes a mailbox with at least `data_bytes` bytes of data.
    ///
    /// # Errors
    /// If the system has no memory for the mailbox.
    pub fn create(data_bytes: usize, channel: Channel) -> io::Result<ClusterEnd> {
        let words = data_bytes
            .max(FAULT_BYTES)
            .div_ceil(4)
            .next_multiple_of(1024);
        let segment = Segment::create(4 * (DATA + words))?;
        let end = End {
            segment,
            channel,
            number: 0,
        };
        end.set(0, MAGIC);
        end.set(1, VERSION);
        end.set(DATA_WORDS, words as u32);
        Ok(ClusterEnd { end })
    }

    /// Size of the data in bytes.
    #[must_use]
    pub fn data_bytes(&self) -> usize {
        self.end.data_bytes()
    }

    /// The shared memory, to be sent to the rank.
    #[must_use]
    pub fn segment(&self) -> &Segment {
        &self.end.segment
    }

    /// The connection of the mailbox.
    #[must_use]
    pub fn channel(&self) -> &Channel {
        &self.end.channel
    }

    /// Waits for the next request.
    ///
    /// # Errors
    /// If the process of the rank is gone.
    pub fn asked(&mut self) -> io::Result<Asked> {
        let end = &mut self.end;
        end.number = end.await_change(REQUEST, end.number, CLUSTER_SLEEPS)?;
        Ok(Asked {
            posts: (end.get(POSTED) as usize).min(POSTS),
            ask: Ask::of(std::array::from_fn(|index| end.get(ASKED + index))),
        })
    }

    /// The posts before a request, in order.
    pub fn posts(&self, asked: &Asked) -> impl Iterator<Item = Posted> {
        let mut index = 0;
        let count = asked.posts;
        std::iter::from_fn(move || {
            while index < count {
                let first = self.post(index);
                if !note::begins(first.0) {
                    index += 1;
                    let (offset, value) = first;
                    return Some(Posted::Write { offset, value });
                }
                let words = std::array::from_fn(|part| self.post((index + part).min(POSTS - 1)));
                index += note::POSTS;
                if let Some(note) = note::decode(words) {
                    return Some(Posted::Note(note));
                }
            }
            None
        })
    }

    fn post(&self, index: usize) -> (u32, u32) {
        let at = FIRST_POST + 2 * index;
        (self.end.get(at), self.end.get(at + 1))
    }

    /// Loads bytes of the data. Returns false if the data has fewer bytes.
    #[must_use]
    pub fn load(&self, data: &mut [u8]) -> bool {
        self.end.segment.load(DATA, data)
    }

    /// Stores bytes in the data. Returns false if there is no room.
    #[must_use]
    pub fn store(&self, data: &[u8]) -> bool {
        self.end.segment.store(DATA, data)
    }

    /// Answers the last request.
    ///
    /// # Errors
    /// If the process of the rank is gone.
    pub fn answer(&mut self, answer: &Answer) -> io::Result<()> {
        let end = &mut self.end;
        let (failed, value) = match &answer.result {
            Ok(value) => (0, *value),
            Err(fault) => {
                let text = serde_json::to_vec(fault)?;
                // The data has room for FAULT_BYTES. For a longer text, the other end reports a
                // lost message.
                let _ = end.segment.store(DATA, &text);
                (text.len() as u32, 0)
            }
        };
        end.set(FAILED, failed);
        end.set(VALUE, value);
        end.set(NOW, answer.now as u32);
        end.set(NOW + 1, (answer.now >> 32) as u32);
        end.hand_over(ANSWERED, RANK_SLEEPS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn pair() -> (RankEnd, ClusterEnd) {
        let (a, b) = UnixStream::pair().unwrap();
        let cluster = ClusterEnd::create(100, Channel::accept(a).unwrap()).unwrap();
        let memory = cluster.segment().file().try_clone_to_owned().unwrap();
        let rank = RankEnd::open(Segment::open(memory).unwrap(), Channel::accept(b).unwrap());
        (rank.unwrap(), cluster)
    }

    #[test]
    fn requests_and_answers_alternate() {
        let (mut rank, mut cluster) = pair();
        let asks = [
            Ask::Take,
            Ask::Read { offset: 4 },
            Ask::ReadBoard { offset: 8 },
            Ask::WriteMemory { at: 1, bytes: 2 },
            Ask::ReadMemory { at: 3, bytes: 4 },
            Ask::Wait {
                awaited: 7,
                deadline: 5 << 32 | 6,
            },
            Ask::TellWait { bytes: 7 },
            Ask::Sight,
            Ask::Deaths,
            Ask::Leave,
            Ask::Drop,
        ];
        let server = thread::spawn(move || {
            for (number, ask) in (0..).zip(asks) {
                let asked = cluster.asked().unwrap();
                assert_eq!((asked.ask, asked.posts), (Some(ask), number as usize));
                let posts: Vec<_> = cluster.posts(&asked).collect();
                let expected = (0..asked.posts as u32).map(|index| Posted::Write {
                    offset: 4 * index,
                    value: !index,
                });
                assert_eq!(posts, expected.collect::<Vec<_>>());
                if number % 2 == 0 {
                    thread::sleep(2 * PATIENCE);
                }
                let now = u64::from(number) << 31;
                cluster
                    .answer(&Answer {
                        now,
                        result: Ok(number),
                    })
                    .unwrap();
            }
            cluster.asked().unwrap_err()
        });
        for (number, ask) in (0..).zip(asks) {
            (0..number).for_each(|index| rank.post(4 * index, !index));
            if number % 3 == 0 {
                thread::sleep(2 * PATIENCE);
            }
            let answer = rank.ask(ask).unwrap();
            assert_eq!(answer.result, Ok(number));
            assert_eq!(answer.now, u64::from(number) << 31);
        }
        drop(rank);
        assert_eq!(server.join().unwrap().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_fault_arrives_whole() {
        let (mut rank, mut cluster) = pair();
        let fault = Fault::PeerDied {
            board: "x".repeat(300),
            rank: 3,
        };
        let sent = fault.clone();
        let server = thread::spawn(move || {
            cluster.asked().unwrap();
            cluster
                .answer(&Answer {
                    now: 1,
                    result: Err(sent),
                })
                .unwrap();
            cluster
        });
        assert_eq!(rank.ask(Ask::Take).unwrap().result, Err(fault));
        drop(server.join().unwrap());
        assert!(rank.ask(Ask::Take).is_err(), "the cluster is gone");
    }

    #[test]
    fn nonsense_is_no_request() {
        let (rank, mut cluster) = pair();
        rank.end.set(ASKED, 11);
        rank.end.set(POSTED, u32::MAX);
        rank.end.set(REQUEST, 1);
        let asked = cluster.asked().unwrap();
        assert_eq!((asked.ask, asked.posts), (None, POSTS));
        assert!(cluster.posts(&asked).count() <= POSTS);
    }

    #[test]
    fn a_mailbox_of_another_version_is_refused() {
        for (index, value, says) in [
            (0, 1, "begins"),
            (1, VERSION + 1, "version"),
            (2, 7, "data"),
        ] {
            let (a, _b) = UnixStream::pair().unwrap();
            let (c, _d) = UnixStream::pair().unwrap();
            let cluster = ClusterEnd::create(0, Channel::accept(a).unwrap()).unwrap();
            cluster.end.set(index, value);
            let memory = cluster.segment().file().try_clone_to_owned().unwrap();
            let opened = RankEnd::open(Segment::open(memory).unwrap(), Channel::accept(c).unwrap());
            assert!(opened.err().unwrap().contains(says));
        }
        let (c, _d) = UnixStream::pair().unwrap();
        let short = Segment::create(4096).unwrap();
        assert!(RankEnd::open(short, Channel::accept(c).unwrap()).is_err());
    }
}
