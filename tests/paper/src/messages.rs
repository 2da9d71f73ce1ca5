//! The two benchmarks of the matching unit's paper (Brightwell et al. 2005, section V-B) on
//! complete message engines: latency over the length of the queue of posted receives, and of
//! unexpected messages. Both run with and without the matching units.
//!
//! A figure is the EPOCH_CYCLES register: cycles from the first command write after a barrier to
//! the end of the next barrier, which completes only after the message has been delivered. Each
//! figure therefore includes a message without queues and a barrier: the figure for an empty queue.

use alcor::{
    Cluster, Cycle, Error, GlobalRank, Job, MessageStatus, Options, Rank, Region, Request,
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

/// Measures messages between the ranks of `boards`: messages per thousand cycles, and the latency
/// of a message if the hardware supports queues of [`LENGTHS`].
///
/// # Errors
/// When a rank fails, or a message is wrong.
pub fn rows(
    boards: impl Into<Cluster>,
    mut step: impl FnMut(&str) + Send,
) -> Result<Vec<Row>, MeasureError> {
    let job = Job::with_options(boards, Options::default().ring_entries(RING))?;
    let ranks = job.ranks();
    step("message rate");
    let mut rows = vec![
        rate(&job, "message-rate", 1, |me| match me {
            0 => vec![GlobalRank(1)],
            _ => Vec::new(),
        })?,
        rate(&job, "message-rate-all", ranks * (ranks - 1), |me| {
            let others = (0..ranks).filter(|&other| other != me);
            others.map(GlobalRank).collect()
        })?,
    ];
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

/// Rate of zero-byte messages per thousand cycles, from the additional time of additional messages.
fn rate(
    job: &Job,
    name: &str,
    pairs: u32,
    targets: impl Fn(u32) -> Vec<GlobalRank> + Send + Sync,
) -> Result<Row, MeasureError> {
    let ranks = job.ranks();
    // A rank accepts a limited number of messages from each source.
    let most = (job.info().message_depth / ranks / 2).min(64);
    let few = most / 4;
    let take = |messages: u32| {
        let cycles = job.run(ranks, |rank| {
            let me = rank.pid().0;
            // Receives are in order of the messages' arrival, as far as the order is known.
            let sources = (0..ranks).filter(|&other| targets(other).contains(&GlobalRank(me)));
            let sources: Vec<u32> = sources.collect();
            let nothing = rank.alloc::<u8>(0)?;
            let mut receives = Vec::new();
            for _ in 0..messages {
                for &source in &sources {
                    receives.push(rank.irecv(source, TAG, nothing.clone())?);
                }
            }
            rest(rank)?;
            rank.barrier()?;
            let mut sends = Vec::new();
            for _ in 0..messages {
                for target in targets(me) {
                    sends.push(rank.isend(target, TAG, &nothing)?);
                }
            }
            rank.barrier()?;
            for send in sends {
                rank.wait(send)?;
            }
            for receive in receives {
                rank.wait_message(receive)?;
            }
            rank.lab().epoch_cycles()
        })?;
        Ok::<u32, MeasureError>(cycles.into_iter().max().unwrap_or_default())
    };
    let (short, long) = (take(few)?, take(most)?);
    let messages = f64::from((most - few) * pairs);
    // A message takes four words of a packet on a plane that accepts one word a cycle.
    let busiest = (0..ranks).map(|me| targets(me).len()).max().unwrap_or(1);
    let limit = 250.0 * f64::from(pairs) / busiest as f64;
    Ok(Row::new(
        name,
        1000.0 * messages / f64::from(long.saturating_sub(short).max(1)),
    )
    .limit(limit)
    .note("zero-byte messages per thousand cycles"))
}

/// Waits until the matching unit has taken all entries that fit.
fn rest(rank: &mut Rank) -> Result<(), Error> {
    let until = Cycle(rank.now()?.0 + REST);
    while rank.now()? < until {
        rank.lab().port().wait(until)?;
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
