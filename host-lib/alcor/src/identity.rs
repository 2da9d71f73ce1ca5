//! The check of the ID block, the first access to a board.

use alcor_abi::board::{
    self, abi_version, capabilities, geometry, match_store, matching, messages, queues, switch,
};

use crate::progress::TRANSFER_WRITES;
use crate::{Board, BoardInfo, Error, PageOffset, Result};

/// Checks a board's ID block and returns the properties of the board.
///
/// # Errors
/// [`Error::DeadLink`], [`Error::NotAlcor`], [`Error::AbiVersion`], [`Error::AbiHash`],
/// [`Error::MissingCapability`], [`Error::BadIdentity`], or errors of the backend.
///
/// # Examples
/// ```
/// let board = alcor::soft::SoftBoard::new(2);
/// assert_eq!(alcor::identify(&*board)?.ranks, 2);
/// # Ok::<(), alcor::Error>(())
/// ```
pub fn identify(on: &dyn Board) -> Result<BoardInfo> {
    let read = |offset| on.read32(PageOffset(offset));
    let name = || on.name().to_owned();

    match read(board::MAGIC)? {
        alcor_abi::MAGIC => {}
        u32::MAX => return Err(Error::DeadLink { board: name() }),
        found => {
            return Err(Error::NotAlcor {
                board: name(),
                found,
            });
        }
    }
    let version = read(board::ABI_VERSION)?;
    if abi_version::MAJOR.get(version) != alcor_abi::ABI_MAJOR {
        return Err(Error::AbiVersion {
            board: name(),
            found_major: abi_version::MAJOR.get(version),
            found_minor: abi_version::MINOR.get(version),
            wanted_major: alcor_abi::ABI_MAJOR,
        });
    }
    let hash = read(board::ABI_HASH)?;
    if hash != alcor_abi::ABI_HASH {
        return Err(Error::AbiHash {
            board: name(),
            found: hash,
            wanted: alcor_abi::ABI_HASH,
        });
    }
    let blocks = read(board::CAPABILITIES)?;
    if capabilities::RMA.get(blocks) == 0 {
        return Err(Error::MissingCapability {
            board: name(),
            capability: "RMA coprocessor",
            found: blocks,
        });
    }
    let shape = read(board::GEOMETRY)?;
    let depths = read(board::QUEUES)?;
    let network = match capabilities::SWITCH.get(blocks) {
        0 => 0,
        _ => read(board::SWITCH)?,
    };
    let (engine, cells, store) = match capabilities::MESSAGES.get(blocks) {
        0 => (0, 0, 0),
        _ => (
            read(board::MESSAGES)?,
            read(board::MATCHING)?,
            read(board::MATCH_STORE)?,
        ),
    };
    let info = BoardInfo {
        ranks: geometry::RANKS.get(shape),
        links: geometry::LINKS.get(shape),
        slots: geometry::SLOTS.get(shape),
        beat_bytes: geometry::BEAT.get(shape),
        node_bytes: read(board::NODE_MEMORY)?,
        command_credits: queues::COMMANDS.get(depths),
        packet_bytes: queues::PAYLOAD.get(depths) * 4,
        clock_khz: read(board::CLOCK)?,
        revision: read(board::REVISION)?,
        shape: read(board::SHAPE)?,
        capabilities: blocks,
        stages: switch::STAGES.get(network),
        communicators: switch::COMMUNICATORS.get(network),
        phit_bytes: switch::PHIT.get(network),
        message_depth: messages::DEPTH.get(engine),
        fragment_bytes: messages::FRAGMENT.get(engine),
        matching_cells: matching::CELLS.get(cells),
        matchers: match_store::MATCHERS.get(store),
        queue_pairs: match_store::PAIRS.get(store),
        kernel: match capabilities::KERNEL.get(blocks) {
            0 => [0; 4],
            _ => read(board::KERNEL)?.to_le_bytes(),
        },
    };
    let contradiction = |register, found, rule| Error::BadIdentity {
        board: name(),
        register,
        found,
        rule,
    };
    if info.ranks == 0 || ![4, 32, 64].contains(&info.beat_bytes) {
        return Err(contradiction(
            "GEOMETRY",
            shape,
            "a board has at least one rank, and beats of 4, 32 or 64 bytes",
        ));
    }
    // The writes of a command are posted together.
    if info.command_credits < TRANSFER_WRITES {
        return Err(contradiction(
            "QUEUES",
            depths,
            "a command queue holds at least five entries",
        ));
    }
    if info.has_switch() && !(2..=32).contains(&info.communicators) {
        return Err(contradiction(
            "SWITCH",
            network,
            "a communicator table has 2 to 32 rows",
        ));
    }
    let depths = 1..=1024;
    if info.has_messages()
        && (!info.message_depth.is_power_of_two()
            || !depths.contains(&info.message_depth)
            || info.message_depth * info.fragment_bytes >= info.node_bytes)
    {
        return Err(contradiction(
            "MESSAGES",
            engine,
            "the depth is a power of two up to 1024, and the unexpected message buffer fits into node memory",
        ));
    }
    Ok(info)
}
