//! The AXI4 master of a host link: transfers to and from node memory.
//!
//! There is one engine for each direction, like an XDMA with one channel each. An engine serves
//! transfers in the order of their calls, one burst at a time.

use std::collections::VecDeque;

/// Bytes of a beat.
const BEAT: u32 = 4;
/// Beats of the longest burst.
const BURST: u32 = 256;
/// No burst crosses a multiple of this.
const BOUNDARY: u32 = 4096;

/// Signals that the model drives, sampled in the cycle that ends.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DmaIn {
    pub(crate) awready: bool,
    pub(crate) wready: bool,
    pub(crate) bvalid: bool,
    pub(crate) arready: bool,
    pub(crate) rvalid: bool,
    pub(crate) rdata: u32,
}

/// Signals that the host drives in the cycle that begins; lengths are those of AXI, beats less one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DmaOut {
    pub(crate) awvalid: bool,
    pub(crate) wvalid: bool,
    pub(crate) wlast: bool,
    pub(crate) bready: bool,
    pub(crate) arvalid: bool,
    pub(crate) rready: bool,
    pub(crate) awaddr: u32,
    pub(crate) awlen: u32,
    pub(crate) wdata: u32,
    pub(crate) wstrb: u32,
    pub(crate) araddr: u32,
    pub(crate) arlen: u32,
}

/// A transfer that is over.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) rank: usize,
    /// The data of a read; `None` after a write.
    pub(crate) data: Option<Vec<u8>>,
}

#[derive(Debug)]
struct Transfer {
    due: u64,
    rank: usize,
    /// Byte address on the bus.
    address: u32,
    /// The data to write, or the destination of a read: whole words from `address` rounded down.
    words: Vec<u32>,
    len: usize,
}

impl Transfer {
    fn new(due: u64, rank: usize, address: u32, len: usize) -> Self {
        let words = (address % BEAT) as usize + len;
        Self {
            due,
            rank,
            address,
            words: vec![0; words.div_ceil(BEAT as usize)],
            len,
        }
    }

    /// Bytes that the transfer has in word `index`, as strobes.
    fn strobes(&self, index: usize) -> u32 {
        let skip = (self.address % BEAT) as usize;
        let first = index * BEAT as usize;
        (0..BEAT as usize)
            .filter(|byte| (skip..skip + self.len).contains(&(first + byte)))
            .fold(0, |strobes, byte| strobes | 1 << byte)
    }

    /// The burst that starts with word `index`.
    fn burst(&self, index: usize) -> Burst {
        let address = self.address / BEAT * BEAT + index as u32 * BEAT;
        let room = (BOUNDARY - address % BOUNDARY) / BEAT;
        let beats = BURST.min(room).min((self.words.len() - index) as u32);
        Burst {
            address,
            first: index,
            beats: beats as usize,
            done: 0,
            address_pending: true,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Burst {
    address: u32,
    /// The transfer's word that the first beat carries.
    first: usize,
    beats: usize,
    done: usize,
    address_pending: bool,
}

/// One direction's engine: its transfers, and the burst of the first of them that is under way.
#[derive(Debug, Default)]
struct Engine {
    queue: VecDeque<Transfer>,
    burst: Option<Burst>,
}

impl Engine {
    /// The next edge at which it may act; the next one while a burst is at the pins.
    fn due(&self, now: u64) -> u64 {
        if self.burst.is_some() {
            return now + 1;
        }
        self.queue.front().map_or(u64::MAX, |transfer| transfer.due)
    }

    fn start(&mut self, now: u64) {
        if self.burst.is_none() {
            self.burst = self
                .queue
                .front()
                .filter(|transfer| transfer.due <= now)
                .map(|transfer| transfer.burst(0));
        }
    }

    /// The burst is over: on to the next one, or the transfer is done.
    fn proceed(&mut self) -> Option<Transfer> {
        let burst = self.burst.take()?;
        let transfer = self.queue.front()?;
        let next = burst.first + burst.beats;
        if next < transfer.words.len() {
            self.burst = Some(transfer.burst(next));
            None
        } else {
            self.queue.pop_front()
        }
    }
}

/// The DMA engines of both directions.
#[derive(Debug, Default)]
pub(crate) struct DmaMaster {
    store: Engine,
    load: Engine,
}

impl DmaMaster {
    /// Queues a transfer to the board; `data` is not empty.
    pub(crate) fn store(&mut self, due: u64, rank: usize, address: u32, data: &[u8]) {
        let mut transfer = Transfer::new(due, rank, address, data.len());
        let skip = (address % BEAT) as usize;
        for (at, &byte) in data.iter().enumerate() {
            transfer.words[(skip + at) / 4] |= u32::from(byte) << (8 * ((skip + at) % 4));
        }
        self.store.queue.push_back(transfer);
    }

    /// Queues a transfer from the board; `len` is not zero.
    pub(crate) fn load(&mut self, due: u64, rank: usize, address: u32, len: usize) {
        self.load
            .queue
            .push_back(Transfer::new(due, rank, address, len));
    }

    /// The next edge at which it may act; the next one while a burst is at the pins.
    pub(crate) fn due(&self, now: u64) -> u64 {
        self.store.due(now).min(self.load.due(now))
    }

    /// An edge. Both directions may end a transfer at it.
    pub(crate) fn tick(&mut self, now: u64, pins: DmaIn) -> (DmaOut, [Option<Done>; 2]) {
        let mut out = DmaOut::default();
        let stored = self.tick_store(now, pins, &mut out);
        let loaded = self.tick_load(now, pins, &mut out);
        (out, [stored, loaded])
    }

    fn tick_store(&mut self, now: u64, pins: DmaIn, out: &mut DmaOut) -> Option<Done> {
        let mut done = None;
        if let Some(burst) = &mut self.store.burst {
            burst.address_pending &= !pins.awready;
            if burst.done < burst.beats && pins.wready {
                burst.done += 1;
            }
            if !burst.address_pending && burst.done == burst.beats && pins.bvalid {
                done = self.store.proceed().map(|transfer| Done {
                    rank: transfer.rank,
                    data: None,
                });
            }
        }
        self.store.start(now);
        if let (Some(burst), Some(transfer)) = (&self.store.burst, self.store.queue.front()) {
            out.awvalid = burst.address_pending;
            out.awaddr = burst.address;
            out.awlen = burst.beats as u32 - 1;
            out.bready = true;
            if burst.done < burst.beats {
                let word = burst.first + burst.done;
                out.wvalid = true;
                out.wlast = burst.done + 1 == burst.beats;
                out.wdata = transfer.words[word];
                out.wstrb = transfer.strobes(word);
            }
        }
        done
    }

    fn tick_load(&mut self, now: u64, pins: DmaIn, out: &mut DmaOut) -> Option<Done> {
        let mut done = None;
        if let (Some(burst), Some(transfer)) = (&mut self.load.burst, self.load.queue.front_mut()) {
            burst.address_pending &= !pins.arready;
            if !burst.address_pending && pins.rvalid {
                transfer.words[burst.first + burst.done] = pins.rdata;
                burst.done += 1;
                if burst.done == burst.beats {
                    done = self.load.proceed().map(|transfer| Done {
                        rank: transfer.rank,
                        data: Some(bytes(&transfer)),
                    });
                }
            }
        }
        self.load.start(now);
        if let Some(burst) = &self.load.burst {
            out.arvalid = burst.address_pending;
            out.araddr = burst.address;
            out.arlen = burst.beats as u32 - 1;
            out.rready = true;
        }
        done
    }
}

fn bytes(transfer: &Transfer) -> Vec<u8> {
    let skip = (transfer.address % BEAT) as usize;
    let all = transfer.words.iter().flat_map(|word| word.to_le_bytes());
    all.skip(skip).take(transfer.len).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slave that takes and gives a beat in every cycle that `ready` allows.
    fn play(
        master: &mut DmaMaster,
        memory: &mut [u8],
        ready: impl Fn(u64) -> bool,
    ) -> Vec<(u64, Done)> {
        let (mut pins, mut was, mut done) = (DmaIn::default(), DmaOut::default(), Vec::new());
        let (mut write, mut read, mut answer) = (None::<u32>, None::<(u32, u32)>, false);
        for now in 0..20_000 {
            // Transfers of the cycle that ends.
            if was.awvalid && pins.awready {
                assert!(was.awaddr % BOUNDARY + (was.awlen + 1) * BEAT <= BOUNDARY);
                write = Some(was.awaddr);
            }
            if was.wvalid && pins.wready {
                let at = write.as_mut().unwrap();
                for byte in (0..4).filter(|byte| was.wstrb >> byte & 1 != 0) {
                    memory[*at as usize + byte] = was.wdata.to_le_bytes()[byte];
                }
                *at += 4;
                answer = was.wlast;
            }
            if was.bready && pins.bvalid {
                answer = false;
                write = None;
            }
            if was.arvalid && pins.arready {
                read = Some((was.araddr, was.arlen + 1));
            }
            if was.rready
                && pins.rvalid
                && let Some((at, left)) = &mut read
            {
                (*at, *left) = (*at + 4, *left - 1);
                if *left == 0 {
                    read = None;
                }
            }
            let (out, ended) = master.tick(now, pins);
            done.extend(ended.into_iter().flatten().map(|done| (now, done)));
            was = out;
            let next = ready(now);
            pins = DmaIn {
                awready: next && write.is_none(),
                wready: next && write.is_some() && !answer,
                bvalid: answer && !(was.wvalid),
                arready: next && read.is_none(),
                rvalid: next && read.is_some(),
                rdata: read.map_or(0, |(at, _)| {
                    u32::from_le_bytes(memory[at as usize..at as usize + 4].try_into().unwrap())
                }),
            };
        }
        done
    }

    #[test]
    fn any_range_arrives_and_comes_back() {
        for (seed, (at, len)) in [
            (0, 1),
            (1, 1),
            (3, 2),
            (5, 11),
            (4090, 12),
            (2, 4096),
            (1000, 3000),
        ]
        .into_iter()
        .enumerate()
        {
            let data: Vec<u8> = (0..len).map(|n| (n * 7 + seed + 1) as u8).collect();
            let mut memory = vec![0xee; 8192];
            let mut master = DmaMaster::default();
            master.store(10, 1, at as u32, &data);
            let done = play(&mut master, &mut memory, |now| now % (seed as u64 + 1) == 0);
            assert_eq!(done.len(), 1);
            assert_eq!((done[0].1.rank, &done[0].1.data), (1, &None));
            let mut expected = vec![0xee; 8192];
            expected[at..at + len].copy_from_slice(&data);
            assert!(memory == expected, "range {at}+{len}");
            master.load(10, 2, at as u32, len);
            let done = play(&mut master, &mut memory, |now| now % (seed as u64 + 1) == 0);
            assert_eq!(
                done[0].1,
                Done {
                    rank: 2,
                    data: Some(data)
                }
            );
        }
    }
}
