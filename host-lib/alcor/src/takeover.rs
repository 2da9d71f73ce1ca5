//! Takeover of a rank that had another holder: resets one rank while the other ranks continue.

use alcor_abi::rank::{RANK_RESET, RESET_STATE, rank_reset, reset_state};

use crate::{
    BoardInfo, Causes, Cycle, Error, GlobalRank, NodeAddr, PageOffset, Port, Result, Wake,
};

/// Cycles between two reads of RESET_STATE, which raises no interrupt.
const POLL: u64 = 64;

/// Brings a rank to the state after the board's reset, whatever its last holder left. No reset is
/// done if the rank has not been used since.
///
/// A process that ends during a run leaves queued commands, outstanding answers, and waiting
/// messages here or at other ranks. The hardware resolves them (hw/rma/doc/rma.md). This function
/// requests the reset and waits for its end.
pub(crate) fn take_over(
    port: &mut dyn Port,
    rank: GlobalRank,
    info: &BoardInfo,
    patience: u64,
) -> Result<()> {
    let is = |state, field: alcor_abi::Field| field.get(state) != 0;
    // The other boards would take this rank's next holder for the last one. The boards of a
    // communicator also count the phits that they have exchanged.
    let of_this_board = |state| match reset_state::LARGEST.get(state) {
        nprocs if nprocs > info.ranks => Err(Error::RunOfManyBoards {
            rank,
            nprocs,
            ranks: info.ranks,
        }),
        _ => Ok(()),
    };
    // A reset may be under way whose requester has ended.
    let found = wait_until(port, rank, patience, |state| !is(state, reset_state::BUSY))?;
    of_this_board(found)?;
    if !is(found, reset_state::USED) {
        return Ok(());
    }
    port.write32(PageOffset(RANK_RESET), rank_reset::RESET.mask())?;
    // The first read may come before the effect of the write. The count distinguishes this reset
    // from the last one.
    let count = |state| reset_state::COUNT.get(state);
    let state = wait_until(port, rank, patience, |state| {
        !is(state, reset_state::BUSY) && count(state) != count(found)
    })?;
    // Commands that were still queued at the first read may have begun a run.
    of_this_board(state)
}

/// Reads RESET_STATE until `is_over` holds.
fn wait_until(
    port: &mut dyn Port,
    rank: GlobalRank,
    patience: u64,
    is_over: impl Fn(u32) -> bool,
) -> Result<u32> {
    let mut began = None;
    loop {
        let state = port.read32(PageOffset(RESET_STATE))?;
        if is_over(state) {
            return Ok(state);
        }
        let now = port.now()?;
        let cycles = now.0.saturating_sub(*began.get_or_insert(now.0));
        if cycles > patience {
            return Err(Error::RankNotReset {
                rank,
                cycles,
                state,
            });
        }
        port.wait(Causes::NONE, Cycle(now.0.saturating_add(POLL)))?;
    }
}

/// Returns the reasons why a rank's reset has not ended, from RESET_STATE.
pub(crate) fn what_is_missing(state: u32) -> String {
    let parts = [
        (reset_state::COMMANDS, "commands in its pipeline"),
        (reset_state::ANSWERS, "answers of other ranks"),
        (reset_state::MESSAGES, "messages that are being delivered"),
        (reset_state::COLLECTIVES, "collectives that have begun"),
        (reset_state::PACKETS, "packets that are being served"),
    ];
    let missing: Vec<&str> = parts
        .into_iter()
        .filter(|(field, _)| field.get(state) != 0)
        .map(|(_, what)| what)
        .collect();
    if missing.is_empty() {
        "the clearing of its tables".to_owned()
    } else {
        missing.join(", ")
    }
}

/// A port for a rank that has given its own port away.
pub(crate) struct NoPort;

fn gone<T>() -> Result<T> {
    Err(Error::program(
        "the rank has started over, and this handle is invalid",
    ))
}

impl Port for NoPort {
    fn write32(&mut self, _: PageOffset, _: u32) -> Result<()> {
        gone()
    }

    fn read32(&mut self, _: PageOffset) -> Result<u32> {
        gone()
    }

    fn read_board32(&mut self, _: PageOffset) -> Result<u32> {
        gone()
    }

    fn write_memory(&mut self, _: NodeAddr, _: &[u8]) -> Result<()> {
        gone()
    }

    fn read_memory(&mut self, _: NodeAddr, _: &mut [u8]) -> Result<()> {
        gone()
    }

    fn wait(&mut self, _: Causes, _: Cycle) -> Result<Wake> {
        gone()
    }

    fn now(&mut self) -> Result<Cycle> {
        gone()
    }

    fn leave(&mut self) -> Result<()> {
        gone()
    }
}
