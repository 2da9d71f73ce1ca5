//! The two benchmarks of the matching unit's paper (Brightwell et al. 2005, section V-A) on
//! complete message engines: latency over the length of the queue of posted receives, and of
//! unexpected messages. The figures are those of figures 5 and 6, for four ways to search a queue.
//!
//! | rows | search |
//! |---|---|
//! | `unit<cells>-` | measured: the matching unit of the message engine, with the engine's walk behind it |
//! | `list-` | measured: the walk of the engine alone, one entry per cycle |
//! | `processor-` | not measured: the walk's figure with the time of a [`Processor`] in place of the walk |
//! | `crossing-` | length of the queue from which on one search takes fewer cycles than another one |
//!
//! A measured figure is the EPOCH_CYCLES register: cycles from the first command write after a
//! barrier to the end of the next barrier, which completes only after the message has been
//! delivered. Each figure therefore includes a message without queues and a barrier: the figure for
//! an empty queue.

use alcor::{
    Causes, Cluster, Cycle, Error, GlobalRank, Job, MessageStatus, Options, Rank, Region, Request,
};
use alcor_abi::rank::POSTED_THRESHOLD_LENGTH_VALUE;

use crate::processor::Processor;
use crate::report::Row;
use crate::rma::MeasureError;

/// Numbers of queue entries that do not match the message.
pub const LENGTHS: [u32; 21] = [
    0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 32, 64, 100, 128, 160, 192, 256, 320, 384, 448, 512,
];
/// Percentages of the posted receives that precede the matching receive.
pub const PERCENTS: [u32; 5] = [0, 25, 50, 75, 100];
/// Message lengths in bytes, for the longest queue and for an empty queue.
const SIZES: [u32; 4] = [16, 128, 1024, 8192];
/// Entries of the completion ring that the longest queue of receives needs.
const RING: u32 = 2048;
/// Cycles after which the head of a queue has moved into the matching unit.
const REST: u64 = 4000;
/// Tag of the measured message.
const TAG: u32 = 7;

/// Measures the latency of a message over the lengths of both queues, with the matching units and
/// by walking, and adds the rows of the processor, if the hardware supports queues of [`LENGTHS`].
///
/// # Errors
/// When a rank fails, or a message is wrong.
pub fn rows(
    boards: impl Into<Cluster>,
    mut step: impl FnMut(&str) + Send,
) -> Result<Vec<Row>, MeasureError> {
    let job = Job::with_options(boards, Options::default().ring_entries(RING))?;
    let info = job.info();
    let mut rows = Vec::new();
    if info.message_depth < 2 * LONGEST {
        return Ok(rows);
    }
    let unit = format!("unit{}-", info.matching_cells);
    let measured_default = POSTED_THRESHOLD_LENGTH_VALUE as u16;
    for (prefix, threshold) in [(&*unit, Some(measured_default)), (WALK, None)] {
        step(&format!("{prefix}preposted"));
        let measured = job.run(job.ranks(), |rank| {
            rank.lab().match_thresholds(threshold, threshold)?;
            preposted(rank, prefix)
        })?;
        rows.extend(measured.into_iter().next().unwrap_or_default());
        step(&format!("{prefix}unexpected"));
        let measured = job.run(job.ranks(), |rank| {
            rank.lab().match_thresholds(threshold, threshold)?;
            unexpected(rank, prefix)
        })?;
        rows.extend(measured.into_iter().nth(1).unwrap_or_default());
    }
    rows.extend(by_processor(&rows, &Processor::PAPER, info.clock_khz));
    Ok(rows)
}

/// Prefix of the rows of a walk.
const WALK: &str = "list-";
/// Prefix of the rows of the processor.
const PROCESSOR: &str = "processor-";
/// The longest queue.
const LONGEST: u32 = LENGTHS[LENGTHS.len() - 1];

/// Queue and search of a row of an empty message: search, kind of the queue, entries in the queue,
/// and percentage of the entries that the search passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case<'a> {
    /// `unit<cells>`, `list` or `processor`.
    pub(crate) search: &'a str,
    pub(crate) is_posted: bool,
    pub(crate) length: u32,
    pub(crate) percent: u32,
}

impl<'a> Case<'a> {
    /// Reads the name of a row. Rows of messages with data, and crossing points, give `None`.
    pub(crate) fn named(name: &'a str) -> Option<Case<'a>> {
        let parts: Vec<&str> = name.split('-').collect();
        let (search, is_posted, length, percent) = match parts[..] {
            [search, "preposted", length, percent] => (search, true, length, percent),
            [search, "unexpected", length] => (search, false, length, "100"),
            _ => return None,
        };
        Some(Case {
            search,
            is_posted,
            length: length.parse().ok()?,
            percent: percent.parse().ok()?,
        })
    }

    /// Entries that the search passes.
    fn passed(&self) -> u32 {
        self.length * self.percent / 100
    }
}

/// The rows of a walk with the time of `processor` in place of the walk, in cycles of a clock of
/// `clock_khz`. The engine walks over an entry in one cycle, so the figure of the longest walk
/// less its length is the time of all stages besides the search. A search that other stages hide
/// takes as long as the walk.
fn by_processor(rows: &[Row], processor: &Processor, clock_khz: u32) -> Vec<Row> {
    let walks: Vec<(&str, Case<'_>, f64)> = rows
        .iter()
        .filter_map(|row| {
            let case = Case::named(&row.name)?;
            let rest = row.name.strip_prefix(WALK)?;
            Some((rest, case, row.measured))
        })
        .collect();
    let besides = |is_posted| {
        let longest = |&&(_, case, _): &&(&str, Case<'_>, f64)| {
            case.is_posted == is_posted && case.passed() == LONGEST
        };
        let walk = walks.iter().find(longest)?;
        Some(walk.2 - f64::from(LONGEST))
    };
    walks
        .iter()
        .filter_map(|&(rest, case, walk)| {
            let ns = processor.search_ns(case.length, case.passed());
            let search = f64::from(ns) * f64::from(clock_khz) / 1e6;
            let cycles = (besides(case.is_posted)? + search.ceil()).max(walk);
            Some(Row::new(format!("{PROCESSOR}{rest}"), cycles).note("cost model, not measured"))
        })
        .collect()
}

/// The crossing points of the matching units with the other searches. The rows are those of one or
/// more boards.
#[must_use]
pub fn crossings(rows: &[Row]) -> Vec<Row> {
    let cases: Vec<(Case<'_>, f64)> = rows
        .iter()
        .filter_map(|row| Some((Case::named(&row.name)?, row.measured)))
        .filter(|(case, _)| case.percent == 100)
        .collect();
    let mut units: Vec<&str> = cases.iter().map(|(case, _)| case.search).collect();
    units.retain(|search| search.starts_with("unit"));
    units.sort_unstable();
    units.dedup();
    let against = ["list", "processor"].into_iter().chain(units.clone());
    let pairs = against.flat_map(|other| units.iter().map(move |&unit| (unit, other)));
    let mut crossings = Vec::new();
    for (unit, other) in pairs.filter(|(unit, other)| unit > other || !other.starts_with("unit")) {
        for (kind, is_posted, paper) in [("preposted", true, 5.0), ("unexpected", false, 70.0)] {
            let at = |search: &str, length| {
                let found = cases.iter().find(|(case, _)| {
                    (case.search, case.is_posted, case.length) == (search, is_posted, length)
                });
                found.map(|&(_, cycles)| cycles)
            };
            let is_faster = |&length: &u32| match (at(unit, length), at(other, length)) {
                (Some(unit), Some(other)) => unit < other,
                _ => false,
            };
            let faster = LENGTHS.into_iter().rev().take_while(is_faster);
            if let Some(first) = faster.last() {
                let row = Row::new(format!("crossing-{kind}-{unit}-{other}"), f64::from(first));
                // The paper compares its unit with its processor.
                let paper = (other == "processor").then_some(paper);
                crossings.push(row.paper(paper).note(format!(
                    "entries: shortest measured queue from which on {unit} is faster than {other}"
                )));
            }
        }
    }
    crossings
}

/// Waits until the matching unit has taken all entries that fit.
fn rest(rank: &mut Rank) -> Result<(), Error> {
    let until = Cycle(rank.now()?.0 + REST);
    while rank.now()? < until {
        rank.lab().port().wait(Causes::NONE, until)?;
    }
    Ok(())
}

fn pattern(bytes: u32) -> Vec<u8> {
    (0..bytes).map(|at| (at * 7 + at / 256) as u8).collect()
}

fn verify(status: &MessageStatus, bytes: u32, found: &[u8]) -> Result<(), Error> {
    if (status.source, status.tag, status.length) == (0, TAG, bytes) && found == pattern(bytes) {
        return Ok(());
    }
    Err(Error::program(format!(
        "a message of {bytes} bytes with tag {TAG} from rank 0 was received as {status:?}, or with other data"
    )))
}

/// Sends the measured message from rank 0 to rank 1, between two barriers. Rank 1 posts its receive
/// before the message, or at the same time.
fn measured(
    rank: &mut Rank,
    bytes: u32,
    buffer: &Region<u8>,
    posted: Option<Request>,
) -> Result<u32, Error> {
    let mut mine = buffer.slice(..bytes as usize)?;
    let me = rank.pid().0;
    rest(rank)?;
    rank.barrier()?;
    match (me, posted) {
        (0, _) => {
            let send = rank.isend(GlobalRank(1), TAG, &mine)?;
            rank.barrier()?;
            rank.wait(send)?;
        }
        (1, posted) => {
            let receive = match posted {
                Some(receive) => receive,
                None => rank.irecv(0, TAG, &mut mine)?,
            };
            rank.barrier()?;
            let status = rank.wait_message(receive)?;
            let found = rank.read_vec(&mine)?;
            verify(&status, bytes, &found)?;
        }
        _ => rank.barrier()?,
    }
    rank.lab().epoch_cycles()
}

/// Measured cases of a queue: length, share of the queue, bytes of the message. The first case is
/// repeated and its first result is dropped, because operands are written only when they change.
fn cases(shares: &[u32]) -> Vec<(u32, u32, u32)> {
    let mut cases = vec![(0, shares[0], 0)];
    for length in LENGTHS {
        cases.extend(shares.iter().map(|&share| (length, share, 0)));
    }
    for length in [0, LONGEST] {
        cases.extend(SIZES.map(|bytes| (length, 100, bytes)));
    }
    cases
}

fn sized(name: String, bytes: u32) -> String {
    match bytes {
        0 => name,
        _ => format!("{name}-{bytes}"),
    }
}

fn preposted(rank: &mut Rank, prefix: &str) -> Result<Vec<Row>, Error> {
    let buffer = rank.alloc_from(&pattern(SIZES[SIZES.len() - 1]))?;
    let nothing = rank.alloc::<u8>(0)?;
    let mut rows = Vec::new();
    for (length, percent, bytes) in cases(&PERCENTS) {
        let ahead = length * percent / 100;
        let mut others = Vec::new();
        let mut posted = None;
        if rank.pid().0 == 1 {
            let mine = buffer.slice(..bytes as usize)?;
            for place in 0..=length {
                if place == ahead {
                    posted = Some(rank.irecv(0, TAG, mine.clone())?);
                }
                if place < length {
                    others.push(rank.irecv(0, 1000 + place, nothing.clone())?);
                }
            }
        }
        let cycles = measured(rank, bytes, &buffer, posted)?;
        for other in &others {
            rank.cancel(other)?;
        }
        for other in others {
            rank.wait_message(other)?;
        }
        let name = sized(format!("{prefix}preposted-{length}-{percent}"), bytes);
        rows.push(Row::new(name, cycles.into()));
    }
    rows.remove(0);
    Ok(rows)
}

fn unexpected(rank: &mut Rank, prefix: &str) -> Result<Vec<Row>, Error> {
    let buffer = rank.alloc_from(&pattern(SIZES[SIZES.len() - 1]))?;
    let nothing = rank.alloc::<u8>(0)?;
    let me = rank.pid().0;
    let mut rows = Vec::new();
    for (length, _, bytes) in cases(&[100]) {
        // A source may use at most half of the room, so both ranks send.
        let mut sends = Vec::new();
        for place in (0..length).filter(|place| me < 2 && place % 2 == me) {
            sends.push(rank.isend(GlobalRank(1), 1000 + place, &nothing)?);
        }
        let cycles = measured(rank, bytes, &buffer, None)?;
        if me == 1 {
            for place in 0..length {
                rank.recv(place % 2, 1000 + place, &mut [0u8; 0])?;
            }
        }
        for send in sends {
            rank.wait(send)?;
        }
        let name = sized(format!("{prefix}unexpected-{length}"), bytes);
        rows.push(Row::new(name, cycles.into()));
    }
    rows.remove(0);
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of the walk as the engine has them: 45 cycles and one for each entry passed; of
    /// unexpected messages, a search of up to 8 entries is hidden.
    fn walks() -> Vec<Row> {
        let mut rows = Vec::new();
        for length in LENGTHS {
            for percent in PERCENTS {
                let cycles = 45 + length * percent / 100;
                let name = format!("list-preposted-{length}-{percent}");
                rows.push(Row::new(name, cycles.into()));
            }
            let name = format!("list-unexpected-{length}");
            rows.push(Row::new(name, (37 + length).max(45).into()));
        }
        rows.push(Row::new("list-preposted-512-100-128", 1000.0));
        rows
    }

    fn cycles(rows: &[Row], name: &str) -> f64 {
        let row = rows.iter().find(|row| row.name == name);
        row.unwrap_or_else(|| panic!("no row {name}")).measured
    }

    #[test]
    fn the_processor_takes_the_place_of_the_walk() {
        let rows = by_processor(&walks(), &Processor::PAPER, 250_000);
        assert_eq!(rows.len(), walks().len() - 1, "none for messages with data");
        // 15 ns are 3.75 cycles of 4 ns.
        assert_eq!(cycles(&rows, "processor-preposted-0-100"), 45.0);
        assert_eq!(cycles(&rows, "processor-preposted-1-100"), 49.0);
        assert_eq!(cycles(&rows, "processor-preposted-64-100"), 45.0 + 240.0);
        assert_eq!(cycles(&rows, "processor-preposted-64-50"), 45.0 + 120.0);
        assert_eq!(cycles(&rows, "processor-preposted-512-0"), 45.0);
        assert_eq!(
            cycles(&rows, "processor-preposted-512-25"),
            45.0 + 16.0 * 128.0
        );
        assert_eq!(cycles(&rows, "processor-unexpected-1"), 45.0);
        assert_eq!(cycles(&rows, "processor-unexpected-64"), 37.0 + 240.0);
        assert!(rows.iter().all(|row| row.note.is_some()));
        let slow = by_processor(&walks(), &Processor::PAPER, 125_000);
        assert_eq!(cycles(&slow, "processor-preposted-64-100"), 45.0 + 120.0);
    }

    #[test]
    fn crossings_are_where_a_search_stays_faster() {
        let mut rows = walks();
        rows.extend(by_processor(&walks(), &Processor::PAPER, 250_000));
        for length in LENGTHS {
            for cells in [128, 256] {
                // Faster from 5 on, and at 2, which is no crossing.
                let walk = 45 + length;
                let unit = match length {
                    2 => 40,
                    0..5 => walk,
                    _ => 48 + length.saturating_sub(cells),
                };
                let name = format!("unit{cells}-preposted-{length}-100");
                rows.push(Row::new(name, unit.into()));
                let name = format!("unit{cells}-preposted-{length}-50");
                rows.push(Row::new(name, 0.0));
            }
        }
        let crossings = crossings(&rows);
        let found: Vec<(&str, f64, Option<f64>)> = crossings
            .iter()
            .map(|row| (&*row.name, row.measured, row.paper))
            .collect();
        assert_eq!(
            found,
            [
                ("crossing-preposted-unit128-list", 5.0, None),
                ("crossing-preposted-unit256-list", 5.0, None),
                ("crossing-preposted-unit128-processor", 1.0, Some(5.0)),
                ("crossing-preposted-unit256-processor", 1.0, Some(5.0)),
                ("crossing-preposted-unit256-unit128", 160.0, None),
            ]
        );
    }

    #[test]
    fn rows_are_known_by_their_names() {
        let case = Case::named("unit128-preposted-64-50").expect("a row");
        assert_eq!(
            (case.search, case.is_posted, case.passed()),
            ("unit128", true, 32)
        );
        let case = Case::named("list-unexpected-64").expect("a row");
        assert_eq!(
            (case.search, case.is_posted, case.passed()),
            ("list", false, 64)
        );
        for name in [
            "unit128-preposted-64-50-128",
            "list-unexpected-64-128",
            "crossing-preposted-unit128-list",
            "match-interval-128-16",
        ] {
            assert!(Case::named(name).is_none(), "{name}");
        }
    }
}
