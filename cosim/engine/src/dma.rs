//! The AXI4 master of a host link: accesses through the memory BAR, DMA transfers, and copies into
//! host memory.
//!
//! Accesses through the BAR keep their order. A read through the BAR and a DMA transfer begin after
//! all earlier writes through the BAR have been answered. The DMA has one engine for each direction,
//! like an XDMA with one channel each, and an engine for copies. Each engine serves transfers in the
//! order of their calls. The port takes one burst at a time in each direction: accesses through the
//! BAR go first, then copies.

use std::collections::VecDeque;

/// Bytes of the longest burst, and no burst crosses a multiple of this.
const BURST: u32 = 4096;

/// Signals that the model drives, sampled in the cycle that ends.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DmaIn<'a> {
    pub(crate) awready: bool,
    pub(crate) wready: bool,
    pub(crate) bvalid: bool,
    pub(crate) arready: bool,
    pub(crate) rvalid: bool,
    pub(crate) rdata: &'a [u32],
}

/// Signals that the host drives in the cycle that begins; lengths are those of AXI, beats less one.
/// Write data and strobes are written where they belong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DmaOut {
    pub(crate) awvalid: bool,
    pub(crate) wvalid: bool,
    pub(crate) wlast: bool,
    pub(crate) bready: bool,
    pub(crate) arvalid: bool,
    pub(crate) rready: bool,
    pub(crate) awaddr: u32,
    pub(crate) araddr: u32,
    pub(crate) arlen: u32,
    pub(crate) wstrb: u64,
}

/// The purpose of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A number of posted writes through the BAR.
    Posted { rank: usize, posts: usize },
    /// A read through the BAR.
    Bar { rank: usize },
    /// A DMA transfer.
    Dma { rank: usize },
    /// A copy to a bus address.
    Copy { destination: u64 },
}

/// A transfer that is over.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) purpose: Purpose,
    /// The data of a read; empty after a write.
    pub(crate) data: Vec<u8>,
}

#[derive(Debug)]
struct Transfer {
    due: u64,
    purpose: Purpose,
    /// Byte address on the bus.
    address: u32,
    /// The data to write, or the destination of a read: whole beats from `address` rounded down.
    beats: Vec<u8>,
    /// By byte of `beats`: the byte is part of the transfer.
    is_used: Vec<bool>,
    /// Number of writes through the BAR that must have been answered before the transfer begins.
    after: u64,
}

impl Transfer {
    fn new(due: u64, purpose: Purpose, address: u32, len: usize, beat: usize) -> Self {
        let skip = address as usize % beat;
        let bytes = (skip + len).next_multiple_of(beat);
        let mut is_used = vec![false; bytes];
        is_used[skip..skip + len].fill(true);
        Self {
            due,
            purpose,
            address,
            beats: vec![0; bytes],
            is_used,
            after: 0,
        }
    }

    fn write(due: u64, purpose: Purpose, address: u32, data: &[u8], beat: usize) -> Self {
        let mut transfer = Self::new(due, purpose, address, data.len(), beat);
        let skip = address as usize % beat;
        transfer.beats[skip..skip + data.len()].copy_from_slice(data);
        transfer
    }

    /// The burst that starts with the byte at `first` of the beats.
    fn burst(&self, first: usize, beat: usize) -> Burst {
        let address = self.address / beat as u32 * beat as u32 + first as u32;
        let room = (BURST - address % BURST).min(256 * beat as u32) as usize;
        Burst {
            // The first beat may begin in its middle.
            address: address.max(self.address),
            first,
            beats: room.min(self.beats.len() - first) / beat,
            done: 0,
            address_pending: true,
        }
    }

    fn strobes(&self, first: usize, beat: usize) -> u64 {
        let used = &self.is_used[first..first + beat];
        let bit = |(at, &is_used): (usize, &bool)| u64::from(is_used) << at;
        used.iter().enumerate().map(bit).sum()
    }

    fn written(self) -> Done {
        Done {
            purpose: self.purpose,
            data: Vec::new(),
        }
    }

    fn read(self) -> Done {
        let used = self.beats.iter().zip(&self.is_used);
        let used = used.filter(|(_, is_used)| **is_used);
        Done {
            data: used.map(|(&byte, _)| byte).collect(),
            purpose: self.purpose,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Burst {
    address: u32,
    /// The byte of the transfer's beats that the first beat begins with.
    first: usize,
    beats: usize,
    done: usize,
    address_pending: bool,
}

/// One direction of the port: queues in the order of their precedence, and the burst under way with
/// the number of its queue.
#[derive(Debug, Default)]
struct Channel {
    queues: [VecDeque<Transfer>; 3],
    burst: Option<(usize, Burst)>,
    /// By queue: bytes of its first transfer that earlier bursts have moved.
    moved: [usize; 3],
    /// By queue: the edge at which the link has carried the earlier bursts.
    carried: [u64; 3],
}

const BAR: usize = 0;
const COPY: usize = 1;
const DMA: usize = 2;

impl Channel {
    fn due_of(&self, queue: usize) -> Option<u64> {
        let first = self.queues[queue].front()?;
        Some(first.due.max(self.carried[queue]))
    }

    /// The next edge at which it may act; the next one while a burst is at the pins.
    fn due(&self, now: u64) -> u64 {
        if self.burst.is_some() {
            return now + 1;
        }
        let due = (0..self.queues.len()).filter_map(|queue| self.due_of(queue));
        due.min().map_or(u64::MAX, |due| due.max(now + 1))
    }

    fn start(&mut self, now: u64, beat: usize, may_start: impl Fn(&Transfer) -> bool) {
        if self.burst.is_some() {
            return;
        }
        let is_due = |queue: &usize| self.due_of(*queue).is_some_and(|due| due <= now);
        let is_free = |queue: &usize| self.queues[*queue].front().is_some_and(&may_start);
        let queue = (0..self.queues.len()).find(|queue| is_due(queue) && is_free(queue));
        let Some(queue) = queue else { return };
        let Some(transfer) = self.queues[queue].front() else {
            return;
        };
        let burst = transfer.burst(self.moved[queue], beat);
        // The link is no faster than its payload rate.
        let bytes = (burst.beats * beat) as u64;
        self.carried[queue] = now + bytes * RATE.1 / RATE.0;
        self.burst = Some((queue, burst));
    }

    /// The burst is over. Returns the transfer if it is over too.
    fn proceed(&mut self, beat: usize) -> Option<Transfer> {
        let (queue, burst) = self.burst.take()?;
        let first = self.queues[queue].front()?;
        self.moved[queue] += burst.beats * beat;
        if self.moved[queue] < first.beats.len() {
            return None;
        }
        self.moved[queue] = 0;
        self.queues[queue].pop_front()
    }
}

/// Payload that a Gen3 x16 link carries: 256 bytes in 5 cycles, which are 12.8 GB/s at 250 MHz.
const RATE: (u64, u64) = (256, 5);

/// The AXI4 master.
#[derive(Debug)]
pub(crate) struct DmaMaster {
    /// Bytes of a beat.
    beat: usize,
    write: Channel,
    read: Channel,
    /// Writes through the BAR that were called for, and that have been answered.
    posted: u64,
    answered: u64,
}

impl DmaMaster {
    /// A master for a port with beats of `beat` bytes.
    pub(crate) fn new(beat: usize) -> Self {
        Self {
            beat,
            write: Channel::default(),
            read: Channel::default(),
            posted: 0,
            answered: 0,
        }
    }

    /// Queues a posted write through the BAR, which carries `posts` writes of the host. The pages are
    /// uncached, so writes do not become one.
    pub(crate) fn post(&mut self, due: u64, rank: usize, posts: usize, address: u32, data: &[u8]) {
        let purpose = Purpose::Posted { rank, posts };
        let transfer = Transfer::write(due, purpose, address, data, self.beat);
        self.write.queues[BAR].push_back(transfer);
        self.posted += 1;
    }

    /// Queues a read through the BAR.
    pub(crate) fn load_bar(&mut self, due: u64, rank: usize, address: u32, len: usize) {
        let mut transfer = Transfer::new(due, Purpose::Bar { rank }, address, len, self.beat);
        transfer.after = self.posted;
        self.read.queues[BAR].push_back(transfer);
    }

    /// Queues a DMA transfer to the board; `data` is not empty.
    pub(crate) fn store(&mut self, due: u64, rank: usize, address: u32, data: &[u8]) {
        let mut transfer = Transfer::write(due, Purpose::Dma { rank }, address, data, self.beat);
        transfer.after = self.posted;
        self.write.queues[DMA].push_back(transfer);
    }

    /// Queues a DMA transfer from the board; `len` is not zero.
    pub(crate) fn load(&mut self, due: u64, rank: usize, address: u32, len: usize) {
        let mut transfer = Transfer::new(due, Purpose::Dma { rank }, address, len, self.beat);
        transfer.after = self.posted;
        self.read.queues[DMA].push_back(transfer);
    }

    /// Queues a copy into host memory; `len` is not zero.
    pub(crate) fn copy(&mut self, due: u64, address: u32, destination: u64, len: usize) {
        let purpose = Purpose::Copy { destination };
        let transfer = Transfer::new(due, purpose, address, len, self.beat);
        self.read.queues[COPY].push_back(transfer);
    }

    /// The next edge at which it may act; the next one while a burst is at the pins.
    pub(crate) fn due(&self, now: u64) -> u64 {
        self.write.due(now).min(self.read.due(now))
    }

    /// An edge. Both directions may end a transfer at it. `data` gets the write data.
    pub(crate) fn tick(
        &mut self,
        now: u64,
        pins: DmaIn<'_>,
        data: &mut [u32],
    ) -> (DmaOut, [Option<Done>; 2]) {
        let mut out = DmaOut::default();
        let written = self.tick_write(now, pins, &mut out, data);
        let read = self.tick_read(now, pins, &mut out);
        (out, [written, read])
    }

    fn tick_write(
        &mut self,
        now: u64,
        pins: DmaIn<'_>,
        out: &mut DmaOut,
        data: &mut [u32],
    ) -> Option<Done> {
        let beat = self.beat;
        let mut done = None;
        if let Some((queue, burst)) = &mut self.write.burst {
            burst.address_pending &= !pins.awready;
            if burst.done < burst.beats && pins.wready {
                burst.done += 1;
            }
            if !burst.address_pending && burst.done == burst.beats && pins.bvalid {
                self.answered += u64::from(*queue == BAR);
                done = self.write.proceed(beat).map(Transfer::written);
            }
        }
        let answered = self.answered;
        self.write.start(now, beat, |first| first.after <= answered);
        if let Some((queue, burst)) = self.write.burst
            && let Some(transfer) = self.write.queues[queue].front()
        {
            out.awvalid = burst.address_pending;
            out.awaddr = burst.address;
            out.bready = true;
            if burst.done < burst.beats {
                let first = burst.first + burst.done * beat;
                out.wvalid = true;
                out.wlast = burst.done + 1 == burst.beats;
                out.wstrb = transfer.strobes(first, beat);
                let (words, _) = transfer.beats[first..first + beat].as_chunks();
                for (place, word) in data.iter_mut().zip(words) {
                    *place = u32::from_le_bytes(*word);
                }
            }
        }
        done
    }

    fn tick_read(&mut self, now: u64, pins: DmaIn<'_>, out: &mut DmaOut) -> Option<Done> {
        let beat = self.beat;
        let mut done = None;
        if let Some((queue, burst)) = &mut self.read.burst
            && let Some(transfer) = self.read.queues[*queue].front_mut()
        {
            burst.address_pending &= !pins.arready;
            if !burst.address_pending && pins.rvalid {
                let first = burst.first + burst.done * beat;
                let (places, _) = transfer.beats[first..first + beat].as_chunks_mut();
                for (place, word) in places.iter_mut().zip(pins.rdata) {
                    *place = word.to_le_bytes();
                }
                burst.done += 1;
                if burst.done == burst.beats {
                    done = self.read.proceed(beat).map(Transfer::read);
                }
            }
        }
        let answered = self.answered;
        self.read.start(now, beat, |first| first.after <= answered);
        if let Some((_, burst)) = &self.read.burst {
            out.arvalid = burst.address_pending;
            out.araddr = burst.address;
            out.arlen = burst.beats as u32 - 1;
            out.rready = true;
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slave that takes and gives a beat in every cycle that `ready` allows. Returns what ended,
    /// with the times, and the write bursts: address, and strobes of each beat.
    struct Slave {
        memory: Vec<u8>,
        done: Vec<(u64, Done)>,
        bursts: Vec<(u32, Vec<u64>)>,
    }

    fn play(
        master: &mut DmaMaster,
        memory: Vec<u8>,
        cycles: u64,
        ready: impl Fn(u64) -> bool,
    ) -> Slave {
        let beat = master.beat;
        let mut slave = Slave {
            memory,
            done: Vec::new(),
            bursts: Vec::new(),
        };
        let (mut was, mut data) = (DmaOut::default(), vec![0_u32; beat / 4]);
        let (mut awready, mut wready, mut bvalid, mut arready, mut rvalid) =
            (false, false, false, false, false);
        let (mut write, mut read) = (None::<u32>, None::<(u32, u32)>);
        for now in 0..cycles {
            let mut words = vec![0; beat / 4];
            if let Some((at, _)) = read {
                let from = (at as usize / beat * beat) % slave.memory.len();
                let (found, _) = slave.memory[from..from + beat].as_chunks();
                let found = found.iter().map(|word| u32::from_le_bytes(*word));
                words = found.collect();
            }
            // Transfers of the cycle that ends.
            if was.awvalid && awready {
                write = Some(was.awaddr);
                slave.bursts.push((was.awaddr, Vec::new()));
            }
            if was.wvalid && wready {
                let at = write.as_mut().unwrap();
                let from = *at as usize / beat * beat;
                for byte in (0..beat).filter(|byte| was.wstrb >> byte & 1 != 0) {
                    slave.memory[from + byte] = data[byte / 4].to_le_bytes()[byte % 4];
                }
                slave.bursts.last_mut().unwrap().1.push(was.wstrb);
                *at = (from + beat) as u32;
                if was.wlast {
                    assert!(from % 4096 + beat <= 4096);
                    write = None;
                }
            }
            let answered = was.bready && bvalid;
            if was.arvalid && arready {
                read = Some((was.araddr, was.arlen + 1));
            }
            let pins = DmaIn {
                awready,
                wready,
                bvalid,
                arready,
                rvalid,
                rdata: &words,
            };
            let was_write = was.wvalid && wready && was.wlast;
            if was.rready
                && rvalid
                && let Some((at, left)) = &mut read
            {
                (*at, *left) = ((*at as usize / beat * beat + beat) as u32, *left - 1);
                if *left == 0 {
                    read = None;
                }
            }
            let (out, ended) = master.tick(now, pins, &mut data);
            let ended = ended.into_iter().flatten().map(|done| (now, done));
            slave.done.extend(ended);
            was = out;
            let next = ready(now);
            bvalid = was_write || (bvalid && !answered);
            awready = next && write.is_none() && !bvalid;
            wready = next && write.is_some();
            arready = next && read.is_none();
            rvalid = next && read.is_some();
        }
        slave
    }

    #[test]
    fn any_range_arrives_and_comes_back() {
        for beat in [4, 32, 64] {
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
                let mut master = DmaMaster::new(beat);
                master.store(10, 1, at as u32, &data);
                let ready = |now: u64| now.is_multiple_of(seed as u64 + 1);
                let slave = play(&mut master, vec![0xee; 8192], 20_000, ready);
                let purpose = Purpose::Dma { rank: 1 };
                let found: Vec<_> = slave.done.iter().map(|(_, done)| done).collect();
                let data_of = Vec::new;
                assert_eq!(found.len(), 1);
                assert_eq!((&found[0].purpose, &found[0].data), (&purpose, &data_of()));
                let mut expected = vec![0xee; 8192];
                expected[at..at + len].copy_from_slice(&data);
                assert!(
                    slave.memory == expected,
                    "range {at}+{len}, beats of {beat}"
                );
                master.load(10, 2, at as u32, len);
                let slave = play(&mut master, slave.memory, 20_000, ready);
                let purpose = Purpose::Dma { rank: 2 };
                assert_eq!(slave.done[0].1, Done { purpose, data });
            }
        }
    }

    #[test]
    fn each_posted_write_is_a_burst() {
        let mut master = DmaMaster::new(32);
        let word = |value: u32| value.to_le_bytes();
        master.post(7, 0, 1, 0x80, &word(1));
        master.post(7, 0, 1, 0x84, &word(2));
        // A command line with four register writes.
        master.post(7, 1, 4, 0xc0, &[5; 64]);
        let slave = play(&mut master, vec![0; 256], 200, |_| true);
        let bursts = [
            (0x80, vec![0xf]),
            (0x84, vec![0xf0]),
            (0xc0, vec![u64::from(u32::MAX); 2]),
        ];
        assert_eq!(slave.bursts, bursts);
        let posts = slave.done.iter().map(|(_, done)| done.purpose.clone());
        let expected = [(0, 1), (0, 1), (1, 4)];
        let expected = expected.map(|(rank, posts)| Purpose::Posted { rank, posts });
        assert!(posts.eq(expected));
    }

    #[test]
    fn reads_through_the_bar_see_the_writes_before_them() {
        let mut master = DmaMaster::new(32);
        // A long transfer keeps the port busy.
        master.store(0, 0, 4096, &[1; 4096]);
        master.post(5, 0, 1, 8, &[9; 8]);
        master.load_bar(5, 0, 8, 8);
        master.copy(5, 0, 0x77, 16);
        let slave = play(&mut master, vec![0; 8192], 2000, |_| true);
        let found = |wanted: &Purpose| {
            let found = slave
                .done
                .iter()
                .position(|(_, done)| done.purpose == *wanted);
            found.expect("a transfer")
        };
        let bar = found(&Purpose::Bar { rank: 0 });
        assert_eq!(slave.done[bar].1.data, [9; 8]);
        assert!(found(&Purpose::Posted { rank: 0, posts: 1 }) < bar);
        let copy = found(&Purpose::Copy { destination: 0x77 });
        assert!(copy < bar && slave.done[copy].1.data.len() == 16);
    }

    #[test]
    fn a_link_is_no_faster_than_its_rate() {
        let mut master = DmaMaster::new(64);
        let data = vec![3; 1 << 16];
        master.store(0, 0, 0, &data);
        let slave = play(&mut master, vec![0; 1 << 16], 5000, |_| true);
        let (end, _) = slave.done[0];
        let least = data.len() as u64 * RATE.1 / RATE.0;
        assert!(
            end >= least - 80 && end < least + 200,
            "{end} cycles, at least {least}"
        );
    }
}
