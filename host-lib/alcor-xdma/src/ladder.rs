//! Checks of a card in the order in which a new card is brought up. Each check relies on the ones
//! before.

use std::fmt;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use alcor::{Board, Cluster, Error, GlobalRank, Job, Options, PageOffset, Rank, Rights, identify};
use alcor_abi::board::{PLACE, place as place_fields};
use alcor_abi::rank::{ACK_EVENTS, IRQ_ENABLE, causes};
use alcor_abi::rank_page;
use xdma::{BarOffset, CardAddr, Event};

use crate::XdmaBoard;
use crate::port::transfer_channels;

/// Rounds of a check that repeats an access.
const ROUNDS: u32 = 100;
/// Time limit for an interrupt and for links. Both take microseconds on a card.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time for which no interrupt may come.
const REST: Duration = Duration::from_millis(100);
/// Length of a long transfer in bytes.
const LONG: usize = 64 << 10;
/// A command that does not exist. The rank raises an event.
const NO_COMMAND: u32 = 0x3fc;

/// A check of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rung {
    /// The ID block is that of this version of Alcor.
    Id,
    /// A register reads as it was written.
    Registers,
    /// Data that a DMA engine writes is what the engines read.
    Dma,
    /// A command uses the data that was written before it.
    Order,
    /// Completions arrive once each, while many commands are under way.
    Ring,
    /// A rank's interrupt arrives.
    Interrupt,
    /// No interrupt arrives without a cause.
    Rest,
    /// The links of all boards are open.
    Links,
    /// Each rank puts to each rank of each board.
    Across,
}

impl Rung {
    /// The meaning of a failure, and the next step.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            Rung::Id => {
                "the FPGA holds no design of this version, or the register BAR is another: deploy a \
                 bitstream of this source (alcor deploy), and compare the BARs with lspci -v"
            }
            Rung::Registers => {
                "reads of registers do not wait for earlier writes, or return other data: check that \
                 the register BAR is mapped uncached, and the AXI4-Lite path of the design"
            }
            Rung::Dma => {
                "a DMA engine moves wrong data or fails: check alignment, IOMMU and bus master \
                 (dmesg), and the AXI4 path to node memory"
            }
            Rung::Order => {
                "a command overtakes the data or the command words before it: the design must hold \
                 reads and doorbells behind earlier writes"
            }
            Rung::Ring => {
                "entries of the completion ring are lost, doubled or late: check that an entry is in \
                 memory before CQ_HEAD shows it"
            }
            Rung::Interrupt => {
                "interrupts of ranks do not arrive: check MSI-X (lspci -v), the vectors of the user \
                 interrupts, and the IOMMU's interrupt remapping; runs work, with waits up to 20 ms \
                 longer"
            }
            Rung::Rest => {
                "interrupts arrive without a cause: a request of the design is stuck, or a vector is \
                 shared; the host loses time"
            }
            Rung::Links => {
                "nothing passes on a link: check that the cables are those of boards.toml, the light \
                 levels of the modules, and that all boards have the same bitstream"
            }
            Rung::Across => {
                "packets between ranks are lost or wrong: compare the routes with the cables, and \
                 look at the counters of the links"
            }
        }
    }
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rung::Id => "id",
            Rung::Registers => "registers",
            Rung::Dma => "dma",
            Rung::Order => "order",
            Rung::Ring => "ring",
            Rung::Interrupt => "interrupt",
            Rung::Rest => "rest",
            Rung::Links => "links",
            Rung::Across => "across",
        })
    }
}

/// The result of a check: the finding, or a text with the expected and the found value.
pub type RungResult = Result<String, String>;

/// Checks boards. No other process may use them: the checks reset the boards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ladder {
    /// Limit of a wait in cycles of the board. The default is two seconds at 250 MHz.
    pub watchdog_cycles: u64,
}

impl Default for Ladder {
    fn default() -> Ladder {
        Ladder {
            watchdog_cycles: 500_000_000,
        }
    }
}

impl Ladder {
    /// Climbs the ladder of one board, up to the first failure. `report` gets each result. Returns
    /// whether all checks have passed.
    pub fn board(&self, board: &Arc<XdmaBoard>, mut report: impl FnMut(Rung, RungResult)) -> bool {
        type Check = fn(&Ladder, &Arc<XdmaBoard>) -> RungResult;
        let rungs: [(Rung, Check); 7] = [
            (Rung::Id, Ladder::id),
            (Rung::Registers, Ladder::registers),
            (Rung::Dma, Ladder::dma),
            (Rung::Order, Ladder::order),
            (Rung::Ring, Ladder::ring),
            (Rung::Interrupt, Ladder::interrupt),
            (Rung::Rest, Ladder::rest),
        ];
        rungs.into_iter().all(|(rung, check)| {
            let result = check(self, board);
            let has_passed = result.is_ok();
            report(rung, result);
            has_passed
        })
    }

    /// Checks the links of boards and puts between them, after [`Ladder::board`] of each.
    pub fn cluster(&self, cluster: &Cluster, mut report: impl FnMut(Rung, RungResult)) -> bool {
        let result = links(cluster);
        let are_open = result.is_ok();
        report(Rung::Links, result);
        if !are_open {
            return false;
        }
        let result = self.across(cluster);
        let has_passed = result.is_ok();
        report(Rung::Across, result);
        has_passed
    }

    fn id(&self, board: &Arc<XdmaBoard>) -> RungResult {
        let info = identify(&**board).map_err(text)?;
        Ok(format!(
            "{} ranks, {} links, revision {:#010x}",
            info.ranks, info.links, info.revision
        ))
    }

    fn registers(&self, board: &Arc<XdmaBoard>) -> RungResult {
        board.reset().map_err(text)?;
        for round in 0..ROUNDS {
            let wanted = place_fields::BOARD.put(round % 200);
            board.write32(PageOffset(PLACE), wanted).map_err(text)?;
            let found = board.read32(PageOffset(PLACE)).map_err(text)?;
            let found = place_fields::BOARD.put(place_fields::BOARD.get(found));
            differs("PLACE.board after it was written", round, wanted, found)?;
        }
        board.reset().map_err(text)?;
        Ok(format!("{ROUNDS} reads after writes"))
    }

    fn dma(&self, board: &Arc<XdmaBoard>) -> RungResult {
        let card = board.card();
        let (to, from) = (card.h2c_channels(), transfer_channels(card));
        let bytes = board.shape().node_bytes as usize;
        let mut round = 0;
        for rank in 0..board.shape().ranks {
            let base = u64::from(rank) * bytes as u64;
            for (at, length) in [
                (0, 64),
                (3, 1),
                (5, 4096),
                (64, LONG.min(bytes / 2)),
                (0, 4),
                (0, 4),
            ] {
                for &h2c in &to {
                    round += 1;
                    let sent = noise(round, length);
                    let at = CardAddr(base + at);
                    let mut channel = card.h2c(h2c).map_err(text)?;
                    channel.write(at, &sent).map_err(text)?;
                    for &c2h in &from {
                        let mut found = vec![0; length];
                        let mut channel = card.c2h(c2h).map_err(text)?;
                        channel.read(at, &mut found).map_err(text)?;
                        if let Some(wrong) = (0..length).find(|&i| found[i] != sent[i]) {
                            return Err(format!(
                                "rank {rank}, {length} bytes by h2c {h2c} and c2h {c2h}: byte {wrong} \
                                 is {:#04x} in place of {:#04x}",
                                found[wrong], sent[wrong]
                            ));
                        }
                    }
                }
            }
        }
        Ok(format!(
            "{round} transfers by {} and {} channels",
            to.len(),
            from.len()
        ))
    }

    /// Runs `program` on all ranks of boards.
    fn run(
        &self,
        cluster: impl Into<Cluster>,
        program: impl Fn(&mut Rank) -> alcor::Result<()> + Sync,
    ) -> Result<(), String> {
        let options = Options::default().watchdog_cycles(self.watchdog_cycles);
        let job = Job::with_options(cluster, options.ring_entries(64)).map_err(text)?;
        job.run(job.ranks(), program).map(drop).map_err(text)
    }

    fn order(&self, board: &Arc<XdmaBoard>) -> RungResult {
        self.run(Arc::clone(board), |rank| {
            let me = rank.pid();
            let mut source = rank.alloc::<u32>(1024)?;
            let inbox = rank.alloc::<u32>(1024)?;
            let window = rank.register(&inbox, Rights::ALL)?;
            for round in 0..ROUNDS {
                // Data through the memory BAR if there is one, or by DMA; then the command, whose last
                // word is the doorbell.
                for words in [16, 1024] {
                    let round = 2 * round + u32::from(words != 16);
                    rank.write(&mut source, 0, &vec![round; words])?;
                    rank.put(&window, me, 0, source.slice(..words)?)?;
                    let found = rank.read_vec(&inbox.slice(..words)?)?;
                    let wrong = found.into_iter().find(|&word| word != round);
                    same("a word that was put", round, round, wrong.unwrap_or(round))?;
                }
            }
            rank.barrier()
        })?;
        Ok(format!("{ROUNDS} commands after their data"))
    }

    fn ring(&self, board: &Arc<XdmaBoard>) -> RungResult {
        self.run(Arc::clone(board), |rank| {
            let me = rank.pid();
            let inbox = rank.alloc::<u32>(32)?;
            let window = rank.register(&inbox, Rights::ALL)?;
            for round in 0..10 {
                let values = rank.alloc_from(&[round + 1; 32])?;
                let mut requests = Vec::new();
                for place in 0..32 {
                    let value = values.slice(place..=place)?;
                    requests.push(rank.iput(&window, me, place, value)?);
                }
                rank.wait_all(requests)?;
                let found = rank.read_vec(&inbox)?;
                let wrong = found.into_iter().find(|&word| word != round + 1);
                same(
                    "a word that was put",
                    round,
                    round + 1,
                    wrong.unwrap_or(round + 1),
                )?;
            }
            rank.barrier()
        })?;
        Ok("320 completions of each rank through a ring of 64".into())
    }

    fn interrupt(&self, board: &Arc<XdmaBoard>) -> RungResult {
        let (mut events, write) = quiet(board)?;
        for rank in 0..board.shape().ranks {
            write(rank, IRQ_ENABLE, causes::EVENT.put(1))?;
            write(rank, NO_COMMAND, 0)?;
            let arrived = events[rank as usize].wait(Some(PATIENCE)).map_err(text)?;
            write(rank, IRQ_ENABLE, 0)?;
            write(rank, ACK_EVENTS, u32::MAX)?;
            if !arrived {
                return Err(format!("rank {rank}: no interrupt in {PATIENCE:?}"));
            }
            for (other, event) in events.iter_mut().enumerate() {
                if other != rank as usize && event.wait(Some(Duration::ZERO)).map_err(text)? {
                    return Err(format!(
                        "an interrupt of rank {other} in place of rank {rank}"
                    ));
                }
            }
        }
        Ok(format!("one of each of {} ranks", events.len()))
    }

    fn rest(&self, board: &Arc<XdmaBoard>) -> RungResult {
        let (mut events, write) = quiet(board)?;
        for rank in 0..board.shape().ranks {
            write(rank, IRQ_ENABLE, causes::EVENT.put(1))?;
        }
        let mut stray = None;
        for (rank, event) in events.iter_mut().enumerate() {
            if event.wait(Some(REST)).map_err(text)? {
                stray = Some(rank);
            }
        }
        for rank in 0..board.shape().ranks {
            write(rank, IRQ_ENABLE, 0)?;
        }
        match stray {
            Some(rank) => Err(format!("an interrupt of rank {rank} without a cause")),
            None => Ok(format!("none in {REST:?} for each rank")),
        }
    }

    fn across(&self, cluster: &Cluster) -> RungResult {
        self.run(cluster, |rank| {
            let (me, nprocs) = (rank.pid().0, rank.nprocs());
            let inbox = rank.alloc::<u32>(nprocs as usize)?;
            let window = rank.register(&inbox, Rights::ALL)?;
            for round in 0..10 {
                for to in (0..nprocs).map(GlobalRank) {
                    rank.put(&window, to, me as usize, &[me << 8 | round])?;
                }
                rank.fence()?;
                for (from, found) in (0..).zip(rank.read_vec(&inbox)?) {
                    same("a word of another rank", round, from << 8 | round, found)?;
                }
                rank.fence()?;
            }
            Ok(())
        })?;
        Ok(format!(
            "10 rounds between all ranks of {} boards",
            cluster.boards().len()
        ))
    }
}

/// Waits until the links of all boards are open.
fn links(cluster: &Cluster) -> RungResult {
    let ranks = cluster.ranks().map_err(text)?;
    cluster.prepare(ranks).map_err(text)?;
    let began = Instant::now();
    loop {
        let links = cluster.links().map_err(text)?;
        let closed = links.iter().find(|link| !link.is_open());
        match closed {
            None => return Ok(format!("{} ends are open", links.len())),
            Some(link) if began.elapsed() > PATIENCE => return Err(link.to_string()),
            Some(_) => sleep(Duration::from_millis(1)),
        }
    }
}

/// Resets a board. Returns the events of its ranks, and a write of a rank's register. No interrupt
/// of an earlier run is left: one may be under way after the reset, and its flag stays until a wait
/// takes it.
#[expect(clippy::type_complexity, reason = "two values of one function")]
fn quiet(
    board: &Arc<XdmaBoard>,
) -> Result<(Vec<Event>, impl Fn(u32, u32, u32) -> Result<(), String>), String> {
    let card = board.card();
    board.reset().map_err(text)?;
    let events = (0..board.shape().ranks).map(|rank| card.event(rank).map_err(text));
    let mut events = events.collect::<Result<Vec<_>, _>>()?;
    sleep(REST);
    for event in &mut events {
        event.wait(Some(Duration::ZERO)).map_err(text)?;
    }
    let user = card.user_bar().map_err(text)?;
    let write = move |rank, register, value| {
        let at = BarOffset(u64::from(rank_page(rank) + register));
        user.write32(at, value).map_err(text)
    };
    Ok((events, write))
}

fn text(error: impl fmt::Display) -> String {
    error.to_string()
}

fn differs(what: &str, round: u32, wanted: u32, found: u32) -> Result<(), String> {
    if found == wanted {
        return Ok(());
    }
    Err(format!(
        "round {round}: {what} is {found:#x} in place of {wanted:#x}"
    ))
}

fn same(what: &str, round: u32, wanted: u32, found: u32) -> alcor::Result<()> {
    differs(what, round, wanted, found).map_err(Error::program)
}

/// Bytes that differ from round to round and from place to place.
fn noise(round: u32, length: usize) -> Vec<u8> {
    let byte = |at: usize| (at * 31 + at / 251 + round as usize * 7) as u8;
    (0..length).map(byte).collect()
}
