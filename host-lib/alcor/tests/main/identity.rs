use std::sync::{Arc, Mutex};

use alcor::soft::{Soft, SoftBoard};
use alcor::{
    Backends, Board, BoardInfo, BoardLayer, Cluster, Error, GlobalRank, Job, LocalRank, Options,
    PageOffset, Rank, Topology, identify,
};
use alcor_abi::board::{self, capabilities, geometry, messages, queues, shape, switch};

use crate::spy::Spy;

/// Identifies a board whose register at `offset` reads `value`.
fn with(offset: u32, value: u32) -> Result<BoardInfo, Error> {
    let mut spy = Spy::new(SoftBoard::new(2));
    spy.lies.insert(offset, value);
    identify(&spy)
}

#[test]
fn each_wrong_field_has_its_error() {
    assert_eq!(identify(&*SoftBoard::new(2)).unwrap().ranks, 2);

    let dead = with(board::MAGIC, u32::MAX).unwrap_err();
    assert!(matches!(dead, Error::DeadLink { .. }));
    assert!(dead.to_string().contains("the link to the board is dead"));
    let other = with(board::MAGIC, 0x1234).unwrap_err();
    assert!(matches!(other, Error::NotAlcor { found: 0x1234, .. }));
    let version = with(board::ABI_VERSION, 0x0007_0003).unwrap_err();
    assert!(version.to_string().contains("ABI 7.3"), "{version}");
    assert!(with(board::ABI_VERSION, 0x0001_FFFF).is_ok());
    let hash = with(board::ABI_HASH, 1).unwrap_err();
    assert!(matches!(hash, Error::AbiHash { found: 1, .. }));
    let rma = with(board::CAPABILITIES, 0b110).unwrap_err();
    assert!(rma.to_string().contains("no RMA coprocessor"), "{rma}");
    assert!(matches!(
        with(board::GEOMETRY, 0),
        Err(Error::BadIdentity { .. })
    ));
    let beats = geometry::RANKS.put(2) | geometry::BEAT.put(5);
    assert!(matches!(
        with(board::GEOMETRY, beats),
        Err(Error::BadIdentity { found, .. }) if found == beats
    ));
    assert!(matches!(
        with(board::QUEUES, 1),
        Err(Error::BadIdentity { .. })
    ));

    let mut spy = Spy::new(SoftBoard::new(2));
    spy.lies.insert(board::MAGIC, 0);
    assert!(Job::new(Arc::new(spy)).is_err());
}

/// A board with links. `lies` replaces values of registers.
fn linked(lies: &[(u32, u32)]) -> Arc<dyn Board> {
    let soft = SoftBoard::new(2);
    let blocks = soft.read32(PageOffset(board::CAPABILITIES)).unwrap();
    let shape = soft.read32(PageOffset(board::GEOMETRY)).unwrap();
    let mut spy = Spy::new(soft);
    spy.lies.extend([
        (board::CAPABILITIES, blocks | capabilities::SWITCH.put(1)),
        (board::GEOMETRY, shape | geometry::LINKS.put(2)),
        (board::SWITCH, SWITCH),
    ]);
    spy.lies.extend(lies.iter().copied());
    Arc::new(spy)
}

const SWITCH: u32 = switch::STAGES.put(1) | switch::COMMUNICATORS.put(32) | switch::PHIT.put(32);

#[test]
fn boards_that_differ_are_refused() {
    let ring = |second: &[(u32, u32)]| {
        let boards = vec![linked(&[]), linked(second)];
        Cluster::new(boards, Topology::torus(&[2]).unwrap())
            .unwrap()
            .identify()
    };
    assert_eq!(ring(&[]).unwrap().phit_bytes, 32);
    // Each of these boards is correct by itself.
    for (register, value, property) in [
        (
            board::QUEUES,
            queues::COMMANDS.put(64) | queues::PAYLOAD.put(512),
            "payload bytes of a packet 2048 and 256",
        ),
        (
            board::MESSAGES,
            messages::DEPTH.put(16) | messages::FRAGMENT.put(64),
            "entries of a message queue 16 and",
        ),
        (
            board::NODE_MEMORY,
            1 << 24,
            "bytes of node memory 16777216 and",
        ),
        (
            board::SWITCH,
            SWITCH + switch::PHIT.put(32),
            "bytes of a phit 64 and 32",
        ),
        (
            board::GEOMETRY,
            geometry::RANKS.put(4) | geometry::LINKS.put(2) | geometry::BEAT.put(4),
            "ranks 4 and 2",
        ),
        (board::SHAPE, shape::WINDOW.put(6), "register SHAPE"),
    ] {
        assert!(
            identify(&*linked(&[(register, value)])).is_ok(),
            "{property}"
        );
        let error = ring(&[(register, value)]).unwrap_err();
        assert!(matches!(error, Error::BoardsDiffer { .. }), "{error:?}");
        assert!(error.to_string().contains(property), "{error}");
    }
    // Revision and clock may differ.
    assert!(ring(&[(board::REVISION, 7), (board::CLOCK, 200_000)]).is_ok());
}

#[test]
fn options_are_checked() {
    for entries in [0, 3, 1 << 16] {
        let options = Options::default().ring_entries(entries);
        assert!(
            Job::with_options(SoftBoard::new(1), options).is_err(),
            "{entries}"
        );
    }
}

#[test]
fn a_board_is_opened_by_its_scheme() {
    let backends = Backends::new().with(Soft);
    assert_eq!(backends.open("soft:3").unwrap().name(), "soft:3");
    assert!(matches!(backends.open("soft:x"), Err(Error::Board { .. })));
    for uri in ["cosim:rma4", "soft", ""] {
        let error = backends.open(uri).err().unwrap();
        assert!(matches!(error, Error::UnknownScheme { .. }));
        assert!(
            error.to_string().contains("known schemes are `soft:`"),
            "{error}"
        );
    }
    let none = Backends::new().open("soft:1").err().unwrap();
    assert!(none.to_string().contains("known schemes are none"));
}

/// The hardware refuses these numbers without an error that the library would see.
#[test]
fn a_number_that_the_board_refuses_is_an_error() {
    let board = SoftBoard::new(2);
    Cluster::from(board.clone()).prepare(1).unwrap();
    let attach = |local, pid, nprocs| {
        let (local, pid) = (LocalRank(local), GlobalRank(pid));
        Rank::attach(board.clone(), local, pid, nprocs, &Options::default())
    };
    let place = "it must be board × ranks per board + local rank";
    for (local, pid, nprocs, text) in [
        (1, 0, 2, format!("pid is 0, but {place}")),
        (1, 3, 4, format!("pid is 3, but {place}")),
        (
            1,
            1,
            1,
            "pid is 1, but it must be less than the number of ranks of the run".to_owned(),
        ),
        (
            0,
            0,
            3,
            "nprocs is 3, but the boards are prepared for fewer ranks (`Cluster::prepare`)"
                .to_owned(),
        ),
    ] {
        assert_eq!(attach(local, pid, nprocs).unwrap_err().to_string(), text);
    }
    // The errors have taken no rank.
    attach(0, 0, 1).unwrap().finish().unwrap();
}

#[test]
fn a_rank_is_attached_once_and_a_busy_board_is_not_reset() {
    let board = SoftBoard::new(1);
    let port = Arc::clone(&board).attach(LocalRank(0)).unwrap();
    assert!(matches!(
        Arc::clone(&board).attach(LocalRank(0)).err(),
        Some(Error::RankTaken { .. })
    ));
    assert!(matches!(
        Arc::clone(&board).attach(LocalRank(1)).err(),
        Some(Error::NoSuchRank { .. })
    ));
    assert!(matches!(
        board.reset(),
        Err(Error::BoardBusy { attached: 1, .. })
    ));
    drop(port);
    board.reset().unwrap();
}

/// A board behind a bus: writes arrive no earlier than with the next read.
struct Posted {
    below: Arc<dyn Board>,
    writes: Mutex<Vec<(PageOffset, u32)>>,
}

impl BoardLayer for Posted {
    fn below(&self) -> &Arc<dyn Board> {
        &self.below
    }
    fn read32(&self, offset: PageOffset) -> alcor::Result<u32> {
        for (offset, value) in self.writes.lock().unwrap().drain(..) {
            self.below.write32(offset, value)?;
        }
        self.below.read32(offset)
    }
    fn write32(&self, offset: PageOffset, value: u32) -> alcor::Result<()> {
        self.writes.lock().unwrap().push((offset, value));
        Ok(())
    }
}

/// Another process has its own way to the board, and does not wait for the writes of this one.
#[test]
fn a_prepared_board_is_prepared_for_other_processes() {
    let below = linked(&[]);
    let board = Posted {
        below: Arc::clone(&below),
        writes: Mutex::default(),
    };
    Cluster::single(Arc::new(board)).prepare(1).unwrap();
    let place = below.read32(PageOffset(board::PLACE)).unwrap();
    assert_eq!(board::place::RANKS.get(place), 1);
}
