//! The two benchmarks of the matching unit's paper (Brightwell et al. 2005, section V-B) on
//! complete message engines: latency over the length of the queue of posted receives, and of
//! unexpected messages. Both run with and without the matching units.
//!
//! A figure is the EPOCH_CYCLES register: cycles from the first command write after a barrier to
//! the end of the next barrier, which completes only after the message has been delivered. Each
//! figure therefore includes a message without queues and a barrier: the figure for an empty queue.

use alcor::{
    Causes, Cluster, Cycle, Error, GlobalRank, Job, MessageStatus, Options, Rank, Region, Request,
};
use alcor_abi::rank::POSTED_THRESHOLD_LENGTH_VALUE;

use crate::report::Row;
use crate::rma::MeasureError;

/// Numbers of queue entries that do not match the message.
pub const LENGTHS: [u32; 14] = [0, 1, 2, 4, 5, 8, 16, 32, 64, 100, 128, 192, 256, 512];
/// Percentages of the posted receives that precede the matching receive.
pub const PERCENTS: [u32; 3] = [0, 50, 100];
/// Message lengths in bytes, for the longest queue and for an empty queue.
const SIZES: [u32; 4] = [16, 128, 1024, 8192];
/// Entries of the completion ring that the longest queue of receives needs.
const RING: u32 = 2048;
/// Cycles after which the head of a queue has moved into the matching unit.
const REST: u64 = 4000;
/// Tag of the measured message.
const TAG: u32 = 7;

/// Measures the latency of a message over the lengths of both queues, if the hardware supports
/// queues of [`LENGTHS`].
///
/// # Errors
/// When a rank fails, or a message is wrong.
pub fn rows(
    boards: impl Into<Cluster>,
    mut step: impl FnMut(&str) + Send,
) -> Result<Vec<Row>, MeasureError> {
    let job = Job::with_options(boards, Options::default().ring_entries(RING))?;
    let ranks = job.ranks();
    let mut rows = Vec::new();
    if job.info().message_depth < 2 * LENGTHS[LENGTHS.len() - 1] {
        return Ok(rows);
    }
    let measured_default = POSTED_THRESHOLD_LENGTH_VALUE as u16;
    for (prefix, threshold) in [("", Some(measured_default)), ("list-", None)] {
        step(&format!("{prefix}preposted"));
        let measured = job.run(ranks, |rank| {
            rank.lab().match_thresholds(threshold, threshold)?;
            preposted(rank, prefix)
        })?;
        rows.extend(measured.into_iter().next().unwrap_or_default());
        step(&format!("{prefix}unexpected"));
        let measured = job.run(ranks, |rank| {
            rank.lab().match_thresholds(threshold, threshold)?;
            unexpected(rank, prefix)
        })?;
        rows.extend(measured.into_iter().nth(1).unwrap_or_default());
    }
    Ok(rows)
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
    for length in [0, LENGTHS[LENGTHS.len() - 1]] {
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
