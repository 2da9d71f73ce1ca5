//! The port of a rank: access to the rank's page, node memory and interrupt.

use std::sync::Arc;
use std::time::{Duration, Instant};

use alcor::{
    BusAddr, Causes, CommandLine, Cycle, Error, GlobalRank, HeldWrites, HostBytes, HostRing,
    LineStep, LocalRank, NodeAddr, PageOffset, Port, Result, Wake,
};
use alcor_abi::board::{CYCLE_HI, CYCLE_LO};
use alcor_abi::rank::{CAUSES, HOST_RING, IRQ_ENABLE, RANK_RESET, causes, rank_reset};
use alcor_abi::{COPY_CHANNEL, CQ_ENTRY_BYTES, LINE_BYTES, MEMORY_BAR_LOADS, is_bar_write};
use xdma::{Bar, BarOffset, C2h, Card, CardAddr, CardLock, DmaBuffer, Event, H2c, Pinned};

use crate::board::{XdmaBoard, place};

/// Interval at which a sleeping rank checks that its peers are alive.
const PEER_CHECK: Duration = Duration::from_millis(20);
/// Longest time between two reads of the board's clock during a wait.
const LONG: Duration = Duration::from_secs(1);
/// Time for which a wait polls before it enables the interrupt and sleeps. A sleep takes at least
/// about this long.
const SPIN: Duration = Duration::from_micros(60);
/// Time for which a look polls the ring in host memory before it reads a register of the board.
const OWN_MEMORY: Duration = Duration::from_micros(10);
/// Causes of which the ring in host memory tells.
const REPORTED: Causes = Causes(causes::COMPLETION.mask() | causes::BARRIER.mask());

/// Channels to the host that carry transfers.
pub(crate) fn transfer_channels(card: &Card) -> Vec<u32> {
    let all = card.c2h_channels().into_iter();
    all.filter(|&number| number != COPY_CHANNEL).collect()
}

pub(crate) struct XdmaPort {
    board: Arc<XdmaBoard>,
    rank: LocalRank,
    page: Bar,
    board_page: Bar,
    /// Node memory, if the design has a BAR for it. Its accesses keep their order with those of the
    /// pages.
    memory: Option<Bar>,
    /// The page for command lines, and the line that the rank fills, if the design has lines.
    lines: Option<(Bar, CommandLine)>,
    /// Data was written through the BAR since the last read through the BAR.
    has_posted: bool,
    /// The completion ring in host memory.
    ring: Option<Pinned>,
    /// The last entry of the ring that was read, and its first word.
    looked: (u32, u32),
    to_card: H2c,
    from_card: C2h,
    event: Event,
    /// Value of IRQ_ENABLE.
    enabled: Causes,
    /// The board's clock at its last read, and the time of the host before that read.
    clock: Option<(Cycle, Instant)>,
    has_left: bool,
    /// Whether this port survives deaths of other ranks; `None` before the first call of
    /// [`Port::deaths`].
    survives: Option<bool>,
    _held: CardLock,
}

impl XdmaPort {
    pub(crate) fn open(
        board: Arc<XdmaBoard>,
        rank: LocalRank,
        held: CardLock,
    ) -> xdma::Result<Self> {
        let card = board.card();
        // Ranks share channels if there are more ranks than channels. The driver serializes
        // transfers.
        let channel = |channels: Vec<u32>| match channels.len() as u32 {
            0 => 0,
            count => channels[(rank.0 % count) as usize],
        };
        let pages = board.pages(rank)?;
        let from_card = transfer_channels(card);
        // A former holder may have died while it slept, or within a line.
        pages.rank.write32(place(PageOffset(IRQ_ENABLE)), 0)?;
        if let Some(lines) = &pages.lines {
            lines.write_line(BarOffset(LINE_BYTES.into()), &[0; 64])?;
        }
        Ok(Self {
            page: pages.rank,
            board_page: pages.board,
            memory: pages.memory,
            lines: pages.lines.map(|page| (page, CommandLine::default())),
            has_posted: false,
            ring: None,
            looked: (0, 0),
            to_card: card.h2c(channel(card.h2c_channels()))?,
            from_card: card.c2h(channel(from_card))?,
            event: card.event(rank.0)?,
            enabled: Causes::NONE,
            clock: None,
            has_left: false,
            survives: None,
            board,
            rank,
            _held: held,
        })
    }

    fn place_of(&self, at: NodeAddr, length: usize) -> Result<CardAddr> {
        let node_bytes = self.board.shape().node_bytes;
        if u64::from(at.0) + length as u64 > u64::from(node_bytes) {
            return Err(Error::BadNodeAddress {
                board: alcor::Board::name(&*self.board).to_owned(),
                rank: self.rank,
                at,
                length: length as u64,
                node_bytes,
            });
        }
        let base = u64::from(self.rank.0) * u64::from(node_bytes);
        Ok(CardAddr(base + u64::from(at.0)))
    }

    /// Looks for an awaited cause once: in the ring in host memory for a short time, then in the register.
    fn look(&mut self, awaited: Causes) -> Result<Option<Wake>> {
        let began = Instant::now();
        let own = self.ring.as_ref().map_or(Duration::ZERO, |_| OWN_MEMORY);
        loop {
            if awaited.meets(REPORTED) && self.has_entry() {
                return Ok(Some(Wake::Copied));
            }
            if began.elapsed() >= own {
                break;
            }
            std::hint::spin_loop();
        }
        self.board.check_peers()?;
        self.checked(self.board.card().check())?;
        // The event is only a flag of the driver. The register decides.
        let raised = Causes(self.read(CAUSES)?);
        Ok(raised.meets(awaited).then_some(Wake::Raised(raised)))
    }

    /// Polls for a while. Then enables the interrupt, and sleeps between polls.
    fn poll_and_sleep(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake> {
        let khz = u64::from(self.board.shape().clock_khz);
        let began = Instant::now();
        // The board's clock is a register, which is not read before this time of the host.
        let mut next_clock = began;
        loop {
            if let Some(wake) = self.look(awaited)? {
                return Ok(wake);
            }
            let mut now = Instant::now();
            if now >= next_clock {
                let cycle = self.now()?;
                if cycle >= deadline {
                    // A cause may have been raised since the last look.
                    return Ok(self.look(awaited)?.unwrap_or(Wake::Deadline));
                }
                let left = (deadline.0 - cycle.0).saturating_mul(1000) / khz;
                now = Instant::now();
                next_clock = now + Duration::from_micros(left).min(LONG);
            }
            let left = next_clock.saturating_duration_since(now);
            if now - began < SPIN || left < SPIN {
                continue;
            }
            if self.enabled != awaited {
                // The next look finds a cause that has been raised before.
                self.enable(awaited)?;
                continue;
            }
            let result = self.event.wait(Some(left.min(PEER_CHECK)));
            self.checked(result)?;
        }
    }

    /// Returns whether the entry of the ring that was read last has been written since.
    fn has_entry(&self) -> bool {
        let (index, word) = self.looked;
        let ring = self.ring.as_ref();
        ring.is_some_and(|ring| ring.read32((index * CQ_ENTRY_BYTES) as usize) != word)
    }

    /// Returns after data that was written through the BAR is in memory: the DMA has another port of
    /// XDMA, and might overtake the data. A read through the BAR overtakes nothing.
    fn flush(&mut self) -> Result<()> {
        if std::mem::take(&mut self.has_posted) {
            self.read(CAUSES)?;
        }
        Ok(())
    }

    /// Sends the writes that the command line holds back.
    #[inline]
    fn send_held(&mut self) -> Result<()> {
        match self.lines.as_mut().and_then(|(_, line)| line.take()) {
            Some(held) => self.send_apart(held),
            None => Ok(()),
        }
    }

    fn send_apart(&mut self, held: HeldWrites) -> Result<()> {
        if let Some((at, data)) = held.payload {
            self.write_memory(at, &data)?;
        }
        for (offset, value) in held.writes {
            self.checked(self.page.write32(place(offset), value))?;
        }
        Ok(())
    }

    /// A quarter of the time after which the low word of the clock has gone round.
    fn quarter_lap(&self) -> Duration {
        let khz = u64::from(self.board.shape().clock_khz);
        Duration::from_millis((1 << 30) / khz.max(1))
    }

    /// Reads the clock by one load, if its low word has not begun a new lap since `last`.
    fn low_clock(&mut self, last: Cycle) -> Result<Option<Cycle>> {
        let low = self.read_board32(PageOffset(CYCLE_LO))?;
        // A card that does not answer reads all ones.
        let is_later = low != u32::MAX && low >= last.0 as u32;
        Ok(is_later.then_some(Cycle(last.0 >> 32 << 32 | u64::from(low))))
    }

    /// Reads both words of the clock.
    fn whole_clock(&mut self) -> Result<Cycle> {
        loop {
            let high = self.read_board32(PageOffset(CYCLE_HI))?;
            let low = self.read_board32(PageOffset(CYCLE_LO))?;
            if self.read_board32(PageOffset(CYCLE_HI))? == high {
                let cycle = Cycle(u64::from(high) << 32 | u64::from(low));
                // A reset sets the clock back, so a deadline of the time before may never come.
                if self.clock.is_some_and(|(last, _)| cycle < last) {
                    let board = alcor::Board::name(&*self.board).to_owned();
                    return Err(Error::BoardReset { board });
                }
                return Ok(cycle);
            }
        }
    }

    /// Writes IRQ_ENABLE, unless it has this value.
    fn enable(&mut self, causes: Causes) -> Result<()> {
        if self.enabled != causes {
            self.enabled = causes;
            let register = place(PageOffset(IRQ_ENABLE));
            let written = self.page.write32(register, causes.0);
            self.checked(written)?;
        }
        Ok(())
    }

    fn checked<T>(&self, result: xdma::Result<T>) -> Result<T> {
        result.map_err(|error| self.board.error(error))
    }

    /// Checks the link through the board's page if a load ended with all ones, as those of a dead link do.
    fn check_ones(&self, ends_with_ones: bool) -> Result<()> {
        if ends_with_ones {
            self.checked(self.board_page.check())?;
        }
        Ok(())
    }

    /// Reads a register of the rank's page.
    fn read(&mut self, register: u32) -> Result<u32> {
        self.send_held()?;
        let found = self.checked(self.page.read32(place(PageOffset(register))))?;
        self.check_ones(found == u32::MAX)?;
        Ok(found)
    }
}

impl Port for XdmaPort {
    fn write32(&mut self, offset: PageOffset, value: u32) -> Result<()> {
        if let Some((page, line)) = &mut self.lines {
            match line.write(offset, value) {
                LineStep::Held => return Ok(()),
                LineStep::Complete(words) => {
                    let mut bytes = [0; 64];
                    let places = bytes.as_chunks_mut().0.iter_mut();
                    places
                        .zip(words)
                        .for_each(|(place, word)| *place = word.to_le_bytes());
                    let sent = page.write_line(BarOffset(0), &bytes);
                    self.has_posted = true;
                    return self.checked(sent);
                }
                LineStep::Apart => {}
            }
            self.send_held()?;
        }
        self.checked(self.page.write32(place(offset), value))
    }

    fn read32(&mut self, offset: PageOffset) -> Result<u32> {
        self.read(offset.0)
    }

    fn read_board32(&mut self, offset: PageOffset) -> Result<u32> {
        self.send_held()?;
        self.checked(self.board_page.read32(place(offset)))
    }

    fn write_ahead(&mut self, at: NodeAddr, data: &[u8]) -> Result<()> {
        self.place_of(at, data.len())?;
        self.send_held()?;
        let holds = self.lines.as_mut().map(|(_, line)| line.payload(at, data));
        match holds {
            Some(true) => Ok(()),
            _ => self.write_memory(at, data),
        }
    }

    fn write_memory(&mut self, at: NodeAddr, data: &[u8]) -> Result<()> {
        let to = self.place_of(at, data.len())?;
        self.send_held()?;
        if is_bar_write(at.0, data.len())
            && let Some(memory) = &self.memory
        {
            self.checked(memory.write(BarOffset(u64::from(at.0)), data))?;
            self.has_posted = true;
            return Ok(());
        }
        self.flush()?;
        let result = self.to_card.write(to, data);
        self.checked(result)
    }

    fn read_memory(&mut self, at: NodeAddr, data: &mut [u8]) -> Result<()> {
        let from = self.place_of(at, data.len())?;
        self.send_held()?;
        let place = BarOffset(u64::from(at.0));
        if let Some(memory) = &self.memory
            && memory.loads(place, data.len()) <= MEMORY_BAR_LOADS
        {
            self.checked(memory.read(place, data))?;
            return self.check_ones(data.last() == Some(&u8::MAX));
        }
        self.flush()?;
        let result = self.from_card.read(from, data);
        self.checked(result)
    }

    fn host_memory(&mut self, bytes: usize) -> Result<Option<Box<dyn HostBytes>>> {
        let buffer = self.checked(self.board.card().host_buffer(bytes))?;
        Ok(buffer.map(|buffer| Box::new(Reached(buffer)) as Box<dyn HostBytes>))
    }

    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake> {
        self.send_held()?;
        let wake = self.poll_and_sleep(awaited, deadline);
        // Nothing interrupts the host outside a wait.
        let disabled = self.enable(Causes::NONE);
        wake.and_then(|wake| disabled.map(|()| wake))
    }

    fn host_ring(&mut self) -> Option<&mut dyn HostRing> {
        Some(self)
    }

    fn spin(&mut self, awaited: Causes) -> Result<Option<Wake>> {
        self.send_held()?;
        // A rank whose completions come at once looks at nothing else.
        self.checked(self.board.card().check())?;
        let began = Instant::now();
        loop {
            let wake = self.look(awaited)?;
            if wake.is_some() || began.elapsed() >= SPIN {
                return Ok(wake);
            }
        }
    }

    fn now(&mut self) -> Result<Cycle> {
        let now = Instant::now();
        let cycle = match self.clock {
            Some((last, at)) if now - at < self.quarter_lap() => self.low_clock(last)?,
            _ => None,
        };
        let cycle = match cycle {
            Some(cycle) => cycle,
            None => self.whole_clock()?,
        };
        self.clock = Some((cycle, now));
        Ok(cycle)
    }

    fn deaths(&mut self) -> Result<Option<Vec<GlobalRank>>> {
        let survives = match self.survives {
            Some(survives) => survives,
            None => {
                let ranks = self.board.run_ranks()?;
                *self.survives.insert(self.board.peers().survives(ranks))
            }
        };
        Ok(survives.then(|| self.board.peers().survived()))
    }

    fn leave(&mut self) -> Result<()> {
        // Writes are posted: the read returns after they have arrived.
        if !self.has_left {
            self.read(CAUSES)?;
            self.has_left = true;
        }
        Ok(())
    }
}

/// Host memory that the card reaches.
struct Reached(DmaBuffer);

impl HostBytes for Reached {
    fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl HostRing for XdmaPort {
    fn pin(&mut self, entries: u32) -> Result<Option<BusAddr>> {
        let bytes = (entries * CQ_ENTRY_BYTES) as usize;
        self.ring = match self.memory {
            Some(_) => self.checked(self.board.card().pin(COPY_CHANNEL, bytes))?,
            None => None,
        };
        self.looked = (0, 0);
        Ok(self.ring.as_ref().map(|ring| BusAddr(ring.address())))
    }

    fn entry(&mut self, index: u32) -> Result<[u32; 4]> {
        let Some(ring) = &self.ring else {
            return Ok([0; 4]);
        };
        let at = (index * CQ_ENTRY_BYTES) as usize;
        // The first word says whether the entry is new, so it is read first.
        let first = ring.read32(at);
        std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
        self.looked = (index, first);
        Ok([
            first,
            ring.read32(at + 4),
            ring.read32(at + 8),
            ring.read32(at + 12),
        ])
    }
}

impl Drop for XdmaPort {
    fn drop(&mut self) {
        // The memory of the ring is freed: no copy may be asked for any more. The read returns after
        // the write has arrived. A card that does not answer copies nothing either.
        if self.ring.is_some() {
            let _ = self.page.write32(place(PageOffset(HOST_RING)), 0);
            let _ = self.page.read32(place(PageOffset(CAUSES)));
        }
        let survives = self.survives == Some(true);
        self.board.detach(self.rank, self.has_left, survives, || {
            // A card that does not answer can't be reset. The waits of the others report that.
            let reset = rank_reset::RESET.mask();
            let _ = self.page.write32(place(PageOffset(RANK_RESET)), reset);
        });
    }
}
