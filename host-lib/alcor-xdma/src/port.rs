//! The port of a rank: access to the rank's page, node memory and interrupt.

use std::sync::Arc;
use std::time::{Duration, Instant};

use alcor::{Causes, Cycle, Error, LocalRank, NodeAddr, PageOffset, Port, Result, Wake};
use alcor_abi::board::{CYCLE_HI, CYCLE_LO};
use alcor_abi::rank::{CAUSES, IRQ_ENABLE};
use xdma::{Bar, C2h, CardAddr, CardLock, Event, H2c};

use crate::board::{XdmaBoard, place};

/// Interval at which a sleeping rank checks that its peers are alive.
const PEER_CHECK: Duration = Duration::from_millis(20);
/// Longest time between two reads of the board's clock during a wait.
const LONG: Duration = Duration::from_secs(1);
/// Time for which a wait polls before it enables the interrupt and sleeps. A sleep takes at least
/// about this long.
const SPIN: Duration = Duration::from_micros(60);

pub(crate) struct XdmaPort {
    board: Arc<XdmaBoard>,
    rank: LocalRank,
    page: Bar,
    board_page: Bar,
    to_card: H2c,
    from_card: C2h,
    event: Event,
    /// Value of IRQ_ENABLE.
    enabled: Causes,
    has_left: bool,
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
        let (page, board_page) = board.pages(rank)?;
        // A former holder may have died while it slept.
        page.write32(place(PageOffset(IRQ_ENABLE)), 0)?;
        Ok(Self {
            page,
            board_page,
            to_card: card.h2c(channel(card.h2c_channels()))?,
            from_card: card.c2h(channel(card.c2h_channels()))?,
            event: card.event(rank.0)?,
            enabled: Causes::NONE,
            has_left: false,
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

    /// Polls for a while. Then enables the interrupt, and sleeps between polls.
    fn poll_and_sleep(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake> {
        let khz = u64::from(self.board.shape().clock_khz);
        let began = Instant::now();
        // The time of the host at which the clock of the board is read, and not before: three reads
        // of registers.
        let mut next_clock = began;
        let mut is_late = false;
        loop {
            self.board.check_peers()?;
            // The event is only a flag of the driver. The register decides.
            let raised = Causes(self.read(CAUSES)?);
            if raised.meets(awaited) {
                return Ok(Wake::Raised(raised));
            }
            if is_late {
                return Ok(Wake::Deadline);
            }
            let mut now = Instant::now();
            if now >= next_clock {
                let cycle = self.now()?;
                // A cause may have been raised since the last read.
                is_late = cycle >= deadline;
                let cycles = deadline.0.saturating_sub(cycle.0);
                let left = Duration::from_micros(cycles.saturating_mul(1000) / khz);
                now = Instant::now();
                next_clock = now + left.min(LONG);
            }
            let left = next_clock.saturating_duration_since(now);
            if is_late || now - began < SPIN || left < SPIN {
                continue;
            }
            if self.enabled != awaited {
                // The next read finds a cause that has been raised before.
                self.enable(awaited)?;
                continue;
            }
            let result = self.event.wait(Some(left.min(PEER_CHECK)));
            self.checked(result)?;
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

    /// Reads a register of the rank's page. A value of all ones leads to a check of the link
    /// through the board's page.
    fn read(&self, register: u32) -> Result<u32> {
        let found = self.checked(self.page.read32(place(PageOffset(register))))?;
        if found == u32::MAX {
            self.checked(self.board_page.check())?;
        }
        Ok(found)
    }
}

impl Port for XdmaPort {
    fn write32(&mut self, offset: PageOffset, value: u32) -> Result<()> {
        self.checked(self.page.write32(place(offset), value))
    }

    fn read32(&mut self, offset: PageOffset) -> Result<u32> {
        self.read(offset.0)
    }

    fn read_board32(&mut self, offset: PageOffset) -> Result<u32> {
        self.checked(self.board_page.read32(place(offset)))
    }

    fn write_memory(&mut self, at: NodeAddr, data: &[u8]) -> Result<()> {
        let to = self.place_of(at, data.len())?;
        let result = self.to_card.write(to, data);
        self.checked(result)
    }

    fn read_memory(&mut self, at: NodeAddr, data: &mut [u8]) -> Result<()> {
        let from = self.place_of(at, data.len())?;
        let result = self.from_card.read(from, data);
        self.checked(result)
    }

    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake> {
        let wake = self.poll_and_sleep(awaited, deadline);
        // Nothing interrupts the host outside a wait.
        let disabled = self.enable(Causes::NONE);
        wake.and_then(|wake| disabled.map(|()| wake))
    }

    fn now(&mut self) -> Result<Cycle> {
        loop {
            let high = self.read_board32(PageOffset(CYCLE_HI))?;
            let low = self.read_board32(PageOffset(CYCLE_LO))?;
            if self.read_board32(PageOffset(CYCLE_HI))? == high {
                return Ok(Cycle(u64::from(high) << 32 | u64::from(low)));
            }
        }
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

impl Drop for XdmaPort {
    fn drop(&mut self) {
        self.board.detach(self.rank, self.has_left);
    }
}
