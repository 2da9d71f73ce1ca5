//! Taking over a rank that somebody had before: the reset of one rank, while its neighbours go on.

use alcor_abi::rank::{IRQ_ENABLE, RANK_RESET, RESET_STATE, rank_reset, reset_state};

use crate::{BoardInfo, Cycle, Error, GlobalRank, NodeAddr, PageOffset, Port, Result, Wake};

/// Cycles between two looks at RESET_STATE, which raises no interrupt.
const POLL: u64 = 64;

/// Brings a rank to its state after the board's reset, whatever its last holder has left: nothing is done where the rank has
/// not been used since.
///
/// A process that ends in the middle of a run leaves commands in its queue, answers on their way, messages that wait here or at
/// others. The hardware sorts that out by itself (hw/rma/doc/rma.md); here it is asked to, and waited for.
pub(crate) fn take_over(
    port: &mut dyn Port,
    rank: GlobalRank,
    info: &BoardInfo,
    patience: u64,
) -> Result<()> {
    let is = |state, field: alcor_abi::Field| field.get(state) != 0;
    // The other boards would take this rank's next holder for the last one, and what a communicator's boards have sent each
    // other is counted on all of them.
    let of_this_board = |state| match reset_state::LARGEST.get(state) {
        nprocs if nprocs > info.ranks => Err(Error::RunOfManyBoards {
            rank,
            nprocs,
            ranks: info.ranks,
        }),
        _ => Ok(()),
    };
    // Somebody's reset may be under way, who has ended since.
    let found = wait_until(port, rank, patience, |state| !is(state, reset_state::BUSY))?;
    of_this_board(found)?;
    if !is(found, reset_state::USED) {
        return Ok(());
    }
    port.write32(PageOffset(IRQ_ENABLE), 0)?;
    port.write32(PageOffset(RANK_RESET), rank_reset::RESET.mask())?;
    // A look may come before the write has had its effect; the count tells one end from the last.
    let count = |state| reset_state::COUNT.get(state);
    let state = wait_until(port, rank, patience, |state| {
        !is(state, reset_state::BUSY) && count(state) != count(found)
    })?;
    // Commands that had yet to be carried out at the first look may have begun a run.
    of_this_board(state)
}

/// Looks at RESET_STATE until it is as it should be.
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
        port.wait(Cycle(now.0.saturating_add(POLL)))?;
    }
}

/// What keeps a rank's reset from ending, as RESET_STATE says.
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
    match missing.is_empty() {
        true => "its tables to be cleared".to_owned(),
        false => missing.join(", "),
    }
}

/// The port of a rank that has given its own away, and asks for nothing any more.
pub(crate) struct NoPort;

fn gone<T>() -> Result<T> {
    Err(Error::program(
        "the rank has started over, and this is what was left of it",
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

    fn wait(&mut self, _: Cycle) -> Result<Wake> {
        gone()
    }

    fn now(&mut self) -> Result<Cycle> {
        gone()
    }

    fn leave(&mut self) -> Result<()> {
        gone()
    }
}
