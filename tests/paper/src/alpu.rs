//! Benchmark of the matching unit, compared with the prototype of its paper (Brightwell et al.
//! 2005, section V and tables IV and V).
//!
//! Cycles come from the time stamps that the unit adds to its results. The host closes a gate,
//! posts requests and commands, and opens the gate. The unit then processes them at its own pace,
//! independent of the host's access time.

use alcor::{AlpuFinding, AlpuKind, AlpuShape, Cluster, Error, Job, Pattern, Rank};

use crate::report::Row;
use crate::rma::MeasureError;

/// Latency of the prototype's pipeline without overlap: cells, block, cycles.
const PAPER_LATENCY: [(u32, u32, f64); 6] = [
    (256, 8, 7.0),
    (256, 16, 7.0),
    (256, 32, 6.0),
    (128, 8, 7.0),
    (128, 16, 6.0),
    (128, 32, 6.0),
];
/// Cycles between two inserts in the prototype.
const PAPER_INSERT: f64 = 2.0;

/// Measures the unit of each rank. Rows of a unit for unexpected messages have the prefix
/// `unexpected-`.
///
/// # Errors
/// When a rank fails, or the unit returns a wrong result.
pub fn rows(boards: impl Into<Cluster>) -> Result<Vec<Row>, MeasureError> {
    let job = Job::new(boards)?;
    let rows = job.run(job.ranks(), measure)?;
    Ok(rows.into_iter().flatten().collect())
}

fn measure(rank: &mut Rank) -> Result<Vec<Row>, Error> {
    let shape = rank.lab().alpu()?.shape();
    let many = shape.fifo.min(shape.cells) as u16;
    let paper = PAPER_LATENCY
        .into_iter()
        .find(|&(cells, block, _)| (cells, block) == (shape.cells, shape.block))
        .map(|(_, _, cycles)| cycles);
    let name = |what: &str| {
        let AlpuShape { cells, block, .. } = shape;
        match shape.kind {
            AlpuKind::Posted => format!("{what}-{cells}-{block}"),
            AlpuKind::Unexpected => format!("unexpected-{what}-{cells}-{block}"),
        }
    };
    let different = |number: u16| u64::from(number) << 20 | u64::from(!number);
    Ok(vec![
        Row::new(
            name("match-interval"),
            matches(rank, many, different)?.interval,
        )
        .paper(paper)
        .limit(1.0),
        Row::new(
            name("match-interval-same"),
            matches(rank, many, |_| 42)?.interval,
        )
        .paper(paper)
        .limit(1.0),
        Row::new(name("insert-interval"), inserts(rank, many)?)
            .paper(PAPER_INSERT)
            .limit(1.0),
        Row::new(name("match-latency"), matches(rank, 1, different)?.latency)
            .paper(paper)
            .note("goal: 5 at most"),
    ])
}

struct Pace {
    /// Cycles between two results.
    interval: f64,
    /// Maximum number of cycles from a request to its result.
    latency: f64,
}

/// Matches one request for each entry, in order of the list.
fn matches(rank: &mut Rank, many: u16, bits: impl Fn(u16) -> u64) -> Result<Pace, Error> {
    let me = rank.pid();
    let mut alpu = rank.lab().alpu()?;
    alpu.start_insert(0)?;
    alpu.answer()?;
    for tag in 0..many {
        alpu.insert(Pattern::exact(bits(tag)), tag)?;
    }
    alpu.stop_insert()?;
    alpu.settle()?;
    alpu.gate(false)?;
    for tag in 0..many {
        alpu.post_match(tag as u8, Pattern::exact(bits(tag)))?;
    }
    alpu.gate(true)?;
    let mut answers = Vec::new();
    for tag in 0..many {
        let answer = alpu.answer()?;
        if answer.finding != (AlpuFinding::Matched { tag }) {
            return Err(Error::program(format!(
                "{me}: the matching unit answered {:?} where it should have matched tag {tag}",
                answer.finding
            )));
        }
        answers.push(answer);
    }
    let span = match &answers[..] {
        [first, .., last] => f64::from(last.offered.wrapping_sub(first.offered)),
        _ => 0.0,
    };
    let latency = answers.iter().map(|answer| answer.latency()).max();
    Ok(Pace {
        interval: span / f64::from(many.max(2) - 1),
        latency: f64::from(latency.unwrap_or_default()),
    })
}

/// Cycles between two inserts.
fn inserts(rank: &mut Rank, many: u16) -> Result<f64, Error> {
    let me = rank.pid();
    let mut alpu = rank.lab().alpu()?;
    alpu.start_insert(0)?;
    alpu.answer()?;
    alpu.gate(false)?;
    for tag in 0..many {
        alpu.insert(Pattern::exact(u64::from(tag)), tag)?;
    }
    alpu.gate(true)?;
    alpu.settle()?;
    let (first, last) = alpu.command_times()?;
    let entries = alpu.entries()?;
    if entries != u32::from(many) {
        return Err(Error::program(format!(
            "{me}: the matching unit holds {entries} entries where {many} were inserted"
        )));
    }
    alpu.reset()?;
    alpu.settle()?;
    Ok(f64::from(last.wrapping_sub(first)) / f64::from(many - 1))
}
