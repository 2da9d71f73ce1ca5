//! The two benchmarks of the matching unit's paper (Brightwell et al. 2005, section V-B) on whole
//! message engines: latency over the length of the queue of posted receives and of unexpected
//! messages, with the matching units and without.
//!
//! A figure is the EPOCH_CYCLES register: cycles from the first command write behind a barrier to the
//! end of the next one, which a message has to be delivered for. So each has the way of a message
//! without queues and of a barrier in it, which is the figure for an empty queue.

use alcor::abi::rank::POSTED_THRESHOLD_LENGTH_VALUE;
use alcor::{
    Cluster, Cycle, Error, GlobalRank, Job, MessageStatus, Options, Rank, Region, Request,
};

use crate::report::Row;
use crate::rma::MeasureError;

/// Entries of the queue that a message is not for.
pub const LENGTHS: [u32; 14] = [0, 1, 2, 4, 5, 8, 16, 32, 64, 100, 128, 192, 256, 512];
/// How many of a hundred of the posted receives stand in front of the message's.
pub const PERCENTS: [u32; 3] = [0, 50, 100];
/// Bytes of messages behind the longest queue, and in an empty one.
const SIZES: [u32; 4] = [16, 128, 1024, 8192];
/// Entries of the completion ring that so many receives at once need.
const RING: u32 = 2048;
/// Cycles in which a queue's head has moved into its matching unit.
const REST: u64 = 4000;
/// The tag of the message that is measured.
const TAG: u32 = 7;

/// Measures messages between the ranks of `boards`: how many a thousand cycles, and, where there is
/// room for queues of [`LENGTHS`], how long one takes.
///
/// # Errors
/// When a rank fails, or a message is not what was sent.
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
            rank.match_thresholds(threshold, threshold)?;
            preposted(rank, prefix)
        })?;
        rows.extend(measured.into_iter().next().unwrap_or_default());
        step(&format!("{prefix}unexpected"));
        let measured = job.run(ranks, |rank| {
            rank.match_thresholds(threshold, threshold)?;
            unexpected(rank, prefix)
        })?;
        rows.extend(measured.into_iter().nth(1).unwrap_or_default());
    }
    Ok(rows)
}

/// Zero-byte messages a thousand cycles, from what some more of them take.
fn rate(
    job: &Job,
    name: &str,
    pairs: u32,
    targets: impl Fn(u32) -> Vec<GlobalRank> + Send + Sync,
) -> Result<Row, MeasureError> {
    let ranks = job.ranks();
    // Each rank has room for so many of each source.
    let most = (job.info().message_depth / ranks / 2).min(64);
    let few = most / 4;
    let take = |messages: u32| {
        let cycles = job.run(ranks, |rank| {
            let me = rank.pid().0;
            // In the order in which the messages come, as far as that is known.
            let sources = (0..ranks).filter(|&other| targets(other).contains(&GlobalRank(me)));
            let sources: Vec<u32> = sources.collect();
            let nothing = rank.alloc::<u8>(0)?;
            let mut receives = Vec::new();
            for _ in 0..messages {
                for &source in &sources {
                    receives.push(rank.irecv(source, TAG, &nothing)?);
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
            rank.epoch_cycles()
        })?;
        Ok::<u32, MeasureError>(cycles.into_iter().max().unwrap_or_default())
    };
    let (short, long) = (take(few)?, take(most)?);
    let messages = f64::from((most - few) * pairs);
    // A message is four words of a packet on a plane that takes one a cycle.
    let busiest = (0..ranks).map(|me| targets(me).len()).max().unwrap_or(1);
    let limit = 250.0 * f64::from(pairs) / busiest as f64;
    Ok(Row::new(
        name,
        1000.0 * messages / f64::from(long.saturating_sub(short).max(1)),
    )
    .limit(limit)
    .note("zero-byte messages a thousand cycles"))
}

/// Waits until what can move into a matching unit has.
fn rest(rank: &mut Rank) -> Result<(), Error> {
    let until = Cycle(rank.now()?.0 + REST);
    while rank.now()? < until {
        rank.port().wait(until)?;
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

/// The message that is measured, from rank 0 to rank 1, between two barriers; rank 1 posts its
/// receive before, or with it.
fn measured(
    rank: &mut Rank,
    bytes: u32,
    buffer: &Region<u8>,
    posted: Option<Request>,
) -> Result<u32, Error> {
    let mine = buffer.slice(..bytes as usize)?;
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
                None => rank.irecv(0, TAG, &mine)?,
            };
            rank.barrier()?;
            let status = rank.wait_message(receive)?;
            let found = rank.read_vec(&mine)?;
            verify(&status, bytes, &found)?;
        }
        _ => rank.barrier()?,
    }
    rank.epoch_cycles()
}

/// What is measured of a queue: its length, a share of it, bytes of the message. The first is done
/// once more than it counts, since operands are only written when they change.
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
                    posted = Some(rank.irecv(0, TAG, &mine)?);
                }
                if place < length {
                    others.push(rank.irecv(0, 1000 + place, &nothing)?);
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
        // A source may have half of the room at most, so both send.
        let mut sends = Vec::new();
        for place in (0..length).filter(|place| me < 2 && place % 2 == me) {
            sends.push(rank.isend(GlobalRank(1), 1000 + place, &nothing)?);
        }
        let cycles = measured(rank, bytes, &buffer, None)?;
        if me == 1 {
            for place in 0..length {
                rank.recv::<u8>(place % 2, 1000 + place, &mut [])?;
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
