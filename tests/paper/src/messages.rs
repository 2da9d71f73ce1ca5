//! Benchmarks of messages between two ranks: latency, rates, and the four point-to-point benchmarks
//! of the SeaStar paper (Brightwell et al. 2006, figures 4 to 7) over the size of a message.
//!
//! A figure counts cycles from the first register write of the measured call to the last completion,
//! as the host library observes them. Calls that are measured together start at the same cycle. Each
//! measurement runs twice, and the second result counts: operands are written only when they change.
//! [`Bound`] describes the bound.

use alcor::{
    Causes, Cluster, Communicator, Cycle, Error, FlowControl, GlobalRank, Job, MessageStatus,
    Options, Queues, Rank, Region, Request, Rights, Source, Tag, Window,
};

use alcor_abi::rank::POSTED_THRESHOLD_LENGTH_VALUE;

use crate::report::Row;
use crate::rma::MeasureError;

/// Lengths in bytes of the rows over size. The latency also has a row for an empty message.
const SIZES: [u32; 14] = [
    8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536,
];
/// Receives that are posted before a stream, and messages of the stream.
const WINDOW: u32 = 64;
/// Maximum length of a stream in bytes. Streams of messages longer than 8192 bytes have fewer than [`WINDOW`].
const STREAM: u32 = 1 << 19;
/// Round trips of a ping-pong.
const ROUND_TRIPS: u32 = 4;
/// Numbers of unmatched messages in front of the matching one.
const DEPTHS: [u32; 5] = [0, 10, 100, 1000, 10_000];
/// Entries of the completion ring that the longest queue needs.
const RING: u32 = 2048;
/// Cycles after which an entry has moved into the matching unit, and all ranks have left a barrier.
const REST: u64 = 4000;
/// Tag of the measured message from rank 0. Other sources use the next tags.
const TAG: u32 = 1000;
/// Tag of no message.
const ABSENT: u32 = 5;
/// Communicators with messages at the same time: each has a queue pair of its own.
const BUSY: u32 = 8;
/// First tag of unmatched messages.
const UNMATCHED: u32 = 2000;
/// Bytes of a message on the wire besides its payload: four words.
const HEADER: u32 = 16;
/// Bytes of an acknowledgement on the wire.
const ACKNOWLEDGEMENT: u32 = 4;
/// Bytes of an entry of the completion ring.
const COMPLETION: u32 = alcor_abi::CQ_ENTRY_BYTES;

/// The physical bound of a message between ranks 0 and 1. The host port takes one register write per
/// cycle. Each link and each memory moves one beat per cycle, and a link between boards has its
/// latency. The bound assumes that a message travels once, without requests, and that the operands
/// of a call have been written before.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    /// Bytes that links and memories between the two ranks move per cycle.
    pub bytes: u32,
    /// Cycles of the link between the two ranks; 0 on one board.
    pub latency: u32,
}

impl Bound {
    fn beats(self, bytes: u32) -> u32 {
        bytes.div_ceil(self.bytes)
    }

    /// Cycles from the register write that commits a send to the receiver's completion.
    fn received(self, bytes: u32) -> f64 {
        let beats = self.beats(HEADER) + self.beats(bytes) + self.beats(COMPLETION);
        f64::from(1 + self.latency + beats)
    }

    /// Cycles of an acknowledgement.
    fn back(self) -> f64 {
        f64::from(self.latency + self.beats(ACKNOWLEDGEMENT))
    }

    /// Cycles from the register write that commits a receive to its completion. The message is in
    /// the receiver's memory.
    fn taken(self, bytes: u32) -> f64 {
        f64::from(1 + self.beats(bytes) + self.beats(COMPLETION))
    }

    /// Cycles between two messages of a stream.
    fn interval(self, bytes: u32) -> f64 {
        f64::from(self.beats(HEADER) + self.beats(bytes))
    }
}

/// Measures messages between the ranks of `boards`: the rows whose names `is_wanted` accepts.
/// `link_latency` is the number of cycles between two neighbouring boards.
///
/// # Errors
/// When a rank fails, or a message is wrong.
pub fn rows(
    boards: impl Into<Cluster>,
    link_latency: u32,
    is_wanted: impl Fn(&str) -> bool,
    mut step: impl FnMut(&str) + Send,
) -> Result<Vec<Row>, MeasureError> {
    let (boards, options) = (boards.into(), Options::default().ring_entries(RING));
    let job = Job::with_options(boards.clone(), options)?;
    let sharing = Job::with_options(boards, options.flow_control(FlowControl::GoBackN))?;
    let info = job.info();
    let is_far = info.ranks == 1;
    let bound = Bound {
        bytes: if is_far {
            info.beat_bytes.min(info.phit_bytes)
        } else {
            info.beat_bytes
        },
        latency: if is_far { link_latency } else { 0 },
    };
    let bench = Bench { job: &job, bound };
    let bench_sharing = Bench {
        job: &sharing,
        bound,
    };
    let (quota, longest) = (info.message_depth / job.ranks(), info.node_bytes / 8);
    let mut rows: Vec<Row> = Vec::new();
    // Rows of one measurement.
    let mut measure = |names: &[String], measured: &dyn Fn(&Bench) -> Measurement| {
        if names.iter().any(|name| is_wanted(name)) {
            step(&names.join(", "));
            let found = measured(&bench)?.into_iter().zip(names);
            let named = found.map(|(row, name)| Row {
                name: name.clone(),
                ..row
            });
            rows.extend(named.filter(|row| is_wanted(&row.name)));
        }
        Ok::<(), MeasureError>(())
    };
    let ranks = job.ranks();
    measure(&["rate-pair".into()], &|bench| {
        bench.rate(&|me| (me == 0).then_some(1).into_iter().collect())
    })?;
    measure(&["rate-all".into()], &|bench| {
        bench.rate(&|me| (0..ranks).filter(|&rank| rank != me).collect())
    })?;
    measure(&["rate-pair-go-back-n".into()], &|_| {
        bench_sharing.rate(&|me| (me == 0).then_some(1).into_iter().collect())
    })?;
    let names = ["", "-refused"].map(|end| format!("incast-go-back-n{end}"));
    measure(&["incast-credits".into()], &|bench| {
        Ok(bench.incast()?.into_iter().take(1).collect())
    })?;
    measure(&names, &|_| bench_sharing.incast())?;
    measure(&["send-8".into(), "send-8-acknowledged".into()], &|bench| {
        let [sent, received] = bench.send_8(expected)?;
        Ok(vec![
            figure(received)
                .limit(bound.received(8))
                .note("from the send to the completion of a posted receive"),
            figure(sent)
                .limit(bound.received(8) + bound.back())
                .note("from the send to the sender's completion"),
        ])
    })?;
    let names = ["", "-acknowledged"].map(|end| format!("send-8-unexpected{end}"));
    measure(&names, &|bench| {
        let [sent, received] = bench.send_8(unexpected)?;
        Ok(vec![
            figure(received)
                .limit(bound.taken(8))
                .note("from the receive to its completion; the message waits"),
            figure(sent)
                .limit(bound.taken(8) + bound.back())
                .note("from the receive to the sender's completion"),
        ])
    })?;
    let walked = 2 * quota;
    measure(&[format!("put-without-walk-{walked}")], &|bench| {
        bench.put(0)
    })?;
    measure(&[format!("put-during-walk-{walked}")], &|bench| {
        bench.put(walked - 1)
    })?;
    measure(&["put-behind-receive".into()], &|bench| {
        bench.put_behind_receive(0)
    })?;
    measure(&[format!("put-behind-walk-{walked}")], &|bench| {
        bench.put_behind_receive(walked - 1)
    })?;
    let walked = info.message_depth / 2;
    for walks in [false, true] {
        let kind = if walks { "during" } else { "without" };
        measure(&[format!("send-{kind}-walk-{walked}")], &|bench| {
            bench.send_beside(walked, walks, false)
        })?;
    }
    measure(&[format!("send-during-walk-{walked}-by-tag")], &|bench| {
        bench.send_beside(walked, true, true)
    })?;
    if info.queue_pairs > BUSY {
        measure(&[format!("match-rate-{}", info.matchers)], &|bench| {
            bench.match_rate()
        })?;
    }
    for depth in DEPTHS {
        measure(&[format!("match-depth-{depth}")], &|bench| {
            bench.depth(depth)
        })?;
    }
    let sizes = SIZES.into_iter().filter(|&bytes| bytes <= longest);
    for bytes in std::iter::once(0).chain(sizes.clone()) {
        let names = ["ping-pong", "bandwidth"].map(|kind| format!("{kind}-{bytes}"));
        // An empty message has no bandwidth.
        let names = &names[..if bytes == 0 { 1 } else { 2 }];
        measure(names, &|bench| {
            let (cycles, bound) = (bench.ping_pong(bytes)?, bound.received(bytes));
            let rate = |cycles: f64| f64::from(bytes) / cycles;
            Ok(vec![
                figure(cycles)
                    .limit(bound)
                    .note("cycles of half a round trip"),
                figure(rate(cycles))
                    .limit(rate(bound))
                    .note("bytes per cycle of half a round trip"),
            ])
        })?;
    }
    measure(&["stream-8-go-back-n".into()], &|_| {
        bench_sharing.stream(8, false)
    })?;
    for is_bidirectional in [false, true] {
        let kind = if is_bidirectional {
            "bidirectional"
        } else {
            "stream"
        };
        for bytes in sizes.clone() {
            measure(&[format!("{kind}-{bytes}")], &|bench| {
                bench.stream(bytes, is_bidirectional)
            })?;
        }
    }
    Ok(rows)
}

/// A row whose name is known later.
fn figure(measured: f64) -> Row {
    Row::new("", measured)
}

/// Rows, or the reason why there are none.
type Measurement = Result<Vec<Row>, MeasureError>;

/// Begin and end of a measurement at a rank that takes part in it.
type Span = Option<(Cycle, Cycle)>;

/// Cycles from the first begin to the end at each of ranks 0 and 1.
fn cycles(spans: &[Span]) -> [f64; 2] {
    let begins = spans.iter().flatten().map(|&(begin, _)| begin.0);
    let begin = begins.min().unwrap_or_default();
    [0, 1].map(|rank| {
        let span = spans.get(rank).copied().flatten();
        span.map_or(0.0, |(_, end)| (end.0 - begin) as f64)
    })
}

/// A job, and the bound of its messages.
struct Bench<'a> {
    job: &'a Job,
    bound: Bound,
}

impl Bench<'_> {
    /// Runs `measure` on all ranks. Returns the cycles to the end at ranks 0 and 1.
    fn cycles(
        &self,
        measure: impl Fn(&mut Rank) -> Result<Span, Error> + Send + Sync,
    ) -> Result<[f64; 2], MeasureError> {
        let spans = self.job.run(self.job.ranks(), |rank| {
            measure(rank)?;
            measure(rank)
        })?;
        Ok(cycles(&spans))
    }

    /// Rate of empty messages per thousand cycles, from the additional time of additional messages.
    /// Each receiver posts [`WINDOW`] receives, most of them with wildcards.
    fn rate(&self, targets: &(dyn Fn(u32) -> Vec<u32> + Sync)) -> Measurement {
        let ranks = self.job.ranks();
        let sources = |me| (0..ranks).filter(move |&source| targets(source).contains(&me));
        let busiest = (0..ranks).map(|me| sources(me).count()).max().unwrap_or(1) as u32;
        let pairs = (0..ranks).map(|me| targets(me).len()).sum::<usize>() as u32;
        let quota = self.job.info().message_depth / ranks;
        let most = (WINDOW / busiest).min(quota).max(2);
        let few = most / 4;
        let take = |messages: u32| {
            let cycles = self.job.run(ranks, |rank| {
                let me = rank.pid().0;
                let nothing = rank.alloc::<u8>(0)?;
                let mut receives = Vec::new();
                // In order of the messages' arrival, as far as the order is known.
                for message in 0..messages {
                    for source in sources(me) {
                        let tag = TAG + source;
                        let (from, tag): (Source, Tag) = match message % 4 {
                            0 => (source.into(), tag.into()),
                            1 => (source.into(), Tag::Any),
                            // A receive of any message could take one of another source.
                            3 if busiest == 1 => (Source::Any, Tag::Any),
                            _ => (Source::Any, tag.into()),
                        };
                        receives.push(rank.irecv(from, tag, nothing.clone())?);
                    }
                }
                rest(rank)?;
                rank.barrier()?;
                let mut sends = Vec::new();
                for _ in 0..messages {
                    for target in targets(me) {
                        sends.push(rank.isend(GlobalRank(target), TAG + me, &nothing)?);
                    }
                }
                rank.barrier()?;
                rank.wait_all(sends)?;
                for receive in receives {
                    rank.wait_message(receive)?;
                }
                rank.lab().epoch_cycles()
            })?;
            Ok::<u32, MeasureError>(cycles.into_iter().max().unwrap_or_default())
        };
        let (short, long) = (take(few)?, take(most)?);
        let messages = f64::from((most - few) * pairs);
        let limit = 1000.0 / self.bound.interval(0) * f64::from(pairs) / f64::from(busiest);
        let cycles = f64::from(long.saturating_sub(short).max(1));
        Ok(vec![figure(1000.0 * messages / cycles).limit(limit).note(
            "empty messages per thousand cycles, with wildcards",
        )])
    }

    /// All other ranks send [`WINDOW`] messages of 8 bytes each to rank 0, which posts each receive
    /// when the one before has ended. Cycles per message from the first send to the last completion,
    /// and refused messages per message.
    fn incast(&self) -> Measurement {
        let ranks = self.job.ranks();
        let messages = WINDOW * (ranks - 1);
        let once = |rank: &mut Rank| {
            let data = rank.alloc_from(&contents(rank, 8))?;
            let before = rank.lab().match_counters()?.refused;
            rank.barrier()?;
            let begin = rank.now()?;
            if rank.pid() == GlobalRank(0) {
                let mut found = rank.alloc::<u8>(8)?;
                for _ in 0..messages {
                    rank.recv(Source::Any, Tag::Any, &mut found)?;
                }
            } else {
                let sends = (0..WINDOW).map(|_| rank.isend(GlobalRank(0), TAG, &data));
                let sends = sends.collect::<Result<Vec<_>, _>>()?;
                rank.wait_all(sends)?;
            }
            let end = rank.now()?;
            let refused = rank.lab().match_counters()?.refused - before;
            rank.barrier()?;
            Ok((begin.0, end.0, refused))
        };
        let ends = self.job.run(ranks, |rank| {
            once(rank)?;
            once(rank)
        })?;
        let begin = ends.iter().map(|&(begin, _, _)| begin).min();
        let (_, end, refused) = ends.first().copied().unwrap_or_default();
        let cycles = end.saturating_sub(begin.unwrap_or_default()) as f64;
        let each = |count: f64| count / f64::from(messages);
        Ok(vec![
            figure(each(cycles))
                .limit(self.bound.interval(8))
                .note("cycles per message, all other ranks to rank 0"),
            figure(each(f64::from(refused))).note("refused messages per message"),
        ])
    }

    fn send_8(
        &self,
        measure: fn(&mut Rank, &Region<u8>) -> Result<Span, Error>,
    ) -> Result<[f64; 2], MeasureError> {
        let spans = self.job.run(self.job.ranks(), |rank| {
            let buffer = buffer(rank)?;
            measure(rank, &buffer)?;
            measure(rank, &buffer)
        })?;
        Ok(cycles(&spans))
    }

    /// Latency of a put of 8 bytes behind an empty message. The engine of the target searches all
    /// `entries` unexpected messages for a receive when the message arrives.
    fn put(&self, entries: u32) -> Measurement {
        let [put, _] = self.cycles(|rank| {
            beside_walk(rank, entries, |rank, window, source| {
                let me = rank.pid().0;
                let nothing = rank.alloc::<u8>(0)?;
                let begin = start(rank)?;
                let mut end = begin;
                if me == 0 {
                    let send = rank.isend(GlobalRank(1), TAG, &nothing)?;
                    let put = rank.iput(window, GlobalRank(1), 0, source)?;
                    rank.wait(put)?;
                    end = rank.now()?;
                    rank.barrier()?;
                    rank.wait(send)?;
                } else if me == 1 {
                    let absent = rank.irecv(0, ABSENT, nothing.clone())?;
                    rank.barrier()?;
                    rank.cancel(&absent)?;
                    rank.wait_message(absent)?;
                    rank.recv(0, TAG, nothing.clone())?;
                    check_put(rank, window, 0)?;
                } else {
                    rank.barrier()?;
                }
                Ok((me == 0).then_some((begin, end)))
            })
        })?;
        let limit = self.bound.received(8) + self.bound.back();
        let note = format!("put of 8 bytes behind a message; {entries} entries are walked");
        Ok(vec![figure(put).limit(limit).note(note)])
    }

    /// Latency of a put of 8 bytes whose rank has just posted a receive. The receive searches all
    /// `entries` unexpected messages of the rank.
    fn put_behind_receive(&self, entries: u32) -> Measurement {
        let [_, put] = self.cycles(|rank| {
            beside_walk(rank, entries, |rank, window, source| {
                start(rank)?;
                let mut span = None;
                if rank.pid() == GlobalRank(1) {
                    let nothing = rank.alloc::<u8>(0)?;
                    let absent = rank.irecv(0, ABSENT, nothing)?;
                    let begin = rank.now()?;
                    let put = rank.iput(window, GlobalRank(0), 0, source)?;
                    rank.wait(put)?;
                    span = Some((begin, rank.now()?));
                    rank.cancel(&absent)?;
                    rank.wait_message(absent)?;
                }
                rank.barrier()?;
                if rank.pid() == GlobalRank(0) {
                    check_put(rank, window, 1)?;
                }
                Ok(span)
            })
        })?;
        let limit = self.bound.received(8) + self.bound.back();
        let note = format!("put of 8 bytes behind a receive; {entries} entries are walked");
        Ok(vec![figure(put).limit(limit).note(note)])
    }

    /// Latency of a message of 8 bytes behind an empty message of another communicator, or of the
    /// other queue of a communicator with two queues `by_tag`. During a walk, the empty message
    /// searches `entries` posted receives.
    fn send_beside(&self, entries: u32, walks: bool, by_tag: bool) -> Measurement {
        let [_, received] = self.cycles(|rank| {
            let me = rank.pid().0;
            let buffer = buffer(rank)?;
            empty(rank, &buffer)?;
            let world = rank.world()?;
            let queues = if by_tag {
                Queues::ByTag(2)
            } else {
                Queues::One
            };
            let other = world.dup_with_queues(rank, queues)?;
            let walked = if by_tag { &other } else { &world };
            // Tags of one queue.
            let tag = |number| TAG + 1 + 2 * number;
            let nothing = rank.alloc::<u8>(0)?;
            rank.lab().match_thresholds(None, None)?;
            let entries = if walks { entries } else { 1 };
            let (mut unmatched, mut posted) = (Vec::new(), None);
            if me == 1 {
                for number in 0..entries {
                    unmatched.push(walked.irecv(rank, 0, tag(number), nothing.clone())?);
                }
                posted = Some(other.irecv(rank, 0, TAG, buffer.clone())?);
            }
            let begin = start(rank)?;
            let mut end = None;
            if me == 0 {
                let first = walked.isend(rank, 1, tag(entries - 1), &nothing)?;
                let second = other.isend(rank, 1, TAG, &buffer)?;
                rank.wait_all([first, second])?;
                end = Some((rank.now()?, None));
            } else if let Some(posted) = posted {
                let status = rank.wait_message(posted)?;
                end = Some((rank.now()?, Some(status)));
            }
            let span = finish(rank, begin, end, &buffer)?;
            if let Some(last) = unmatched.pop() {
                rank.wait_message(last)?;
            }
            for receive in unmatched {
                rank.cancel(&receive)?;
                rank.wait_message(receive)?;
            }
            let usual = Some(POSTED_THRESHOLD_LENGTH_VALUE as u16);
            rank.lab().match_thresholds(usual, usual)?;
            rank.barrier()?;
            other.free(rank)?;
            Ok(span)
        })?;
        let walk = if walks {
            format!("{entries} receives are walked")
        } else {
            "one receive is walked".into()
        };
        let limit = self.bound.received(8);
        let of = if by_tag {
            "another queue of the communicator"
        } else {
            "another communicator"
        };
        let note = format!("8 bytes behind a message of {of}; {walk}");
        Ok(vec![figure(received).limit(limit).note(note)])
    }

    /// Entries up to and including each match, in a cycle, from the additional time of additional
    /// messages: [`BUSY`] communicators with as many posted receives each as there is room for.
    fn match_rate(&self) -> Measurement {
        let (few, most) = (4, 10);
        // The library's posted receives use three quarters of the entries at most.
        let front = self.job.info().message_depth * 3 / 4 / BUSY - most - 2;
        let take = |messages: u32| {
            let cycles = self.job.run(self.job.ranks(), |rank| {
                let me = rank.pid().0;
                let world = rank.world()?;
                let busy = (0..BUSY).map(|_| world.dup(rank));
                let busy = busy.collect::<Result<Vec<Communicator>, Error>>()?;
                let nothing = rank.alloc::<u8>(0)?;
                let (mut unmatched, mut receives, mut sends) = (Vec::new(), Vec::new(), Vec::new());
                for communicator in busy.iter().filter(|_| me == 1) {
                    for number in 0..front {
                        let tag = UNMATCHED + number;
                        unmatched.push(communicator.irecv(rank, 0, tag, nothing.clone())?);
                    }
                    for _ in 0..messages {
                        receives.push(communicator.irecv(rank, 0, TAG, nothing.clone())?);
                    }
                }
                rest(rank)?;
                rank.barrier()?;
                for _ in 0..messages {
                    for communicator in busy.iter().filter(|_| me == 0) {
                        sends.push(communicator.isend(rank, 1, TAG, &nothing)?);
                    }
                }
                rank.barrier()?;
                rank.wait_all(sends)?;
                for receive in receives {
                    rank.wait_message(receive)?;
                }
                let end = rank.lab().epoch_cycles()?;
                for receive in unmatched {
                    rank.cancel(&receive)?;
                    rank.wait_message(receive)?;
                }
                rank.barrier()?;
                for communicator in busy {
                    communicator.free(rank)?;
                }
                Ok(end)
            })?;
            Ok::<u32, MeasureError>(cycles.into_iter().max().unwrap_or_default())
        };
        let (short, long) = (take(few)?, take(most)?);
        let entries = (most - few) * BUSY * (front + 1);
        let cycles = long.saturating_sub(short).max(1);
        let matchers = f64::from(self.job.info().matchers);
        let a_message = f64::from(front + 1) / self.bound.interval(0);
        let note = format!(
            "entries a cycle, {BUSY} communicators, each match at place {}",
            front + 1
        );
        let row = figure(f64::from(entries) / f64::from(cycles));
        Ok(vec![row.limit(matchers.min(a_message)).note(note)])
    }

    /// Latency of a message of 8 bytes and its receive, which start together, behind `depth`
    /// messages that match no receive.
    fn depth(&self, depth: u32) -> Measurement {
        let places = self.job.run(self.job.ranks(), |rank| {
            let buffer = buffer(rank)?;
            let measured = |rank: &mut Rank| {
                let unmatched = Unmatched::send(rank, depth)?;
                let span = together(rank, &buffer)?;
                let is_host = unmatched.is_host;
                unmatched.receive(rank)?;
                Ok::<_, Error>((span, is_host))
            };
            measured(rank)?;
            measured(rank)
        })?;
        let spans: Vec<Span> = places.iter().map(|&(span, _)| span).collect();
        let [_, received] = cycles(&spans);
        let place = match places.first() {
            Some((_, true)) => "host memory",
            _ => "the hardware's queue",
        };
        let note = format!("send and receive start together; the others are in {place}");
        let limit = self.bound.received(8);
        Ok(vec![figure(received).limit(limit).note(note)])
    }

    /// Cycles of half a round trip.
    fn ping_pong(&self, bytes: u32) -> Result<f64, MeasureError> {
        let [cycles, _] = self.cycles(|rank| {
            let me = rank.pid().0;
            if me > 1 {
                start(rank)?;
                return Ok(None);
            }
            let other = 1 - me;
            let mine = rank.alloc_from(&contents(rank, bytes))?;
            let inbox = rank.alloc_from(&vec![0u8; bytes as usize])?;
            let mut receive = Some(rank.irecv(other, TAG + other, inbox.clone())?);
            let (begin, mut status, mut sends) = (start(rank)?, None, Vec::new());
            for turn in 1..=ROUND_TRIPS {
                if me == 0 {
                    sends.push(rank.isend(GlobalRank(other), TAG + me, &mine)?);
                }
                if let Some(receive) = receive.take() {
                    status = Some(rank.wait_message(receive)?);
                }
                if me == 1 {
                    sends.push(rank.isend(GlobalRank(other), TAG + me, &mine)?);
                }
                if turn < ROUND_TRIPS {
                    receive = Some(rank.irecv(other, TAG + other, inbox.clone())?);
                }
            }
            let end = rank.now()?;
            rank.wait_all(sends)?;
            verify(rank, status, other, bytes, &inbox)?;
            Ok(Some((begin, end)))
        })?;
        Ok(cycles / f64::from(2 * ROUND_TRIPS))
    }

    /// Payload bytes per cycle of messages whose receives are posted.
    fn stream(&self, bytes: u32, is_bidirectional: bool) -> Measurement {
        let messages = WINDOW.min(STREAM / bytes);
        let ends = self.cycles(|rank| {
            let me = rank.pid().0;
            let other = 1 - me.min(1);
            let (sends, receives) = match (me, is_bidirectional) {
                (0, false) => (true, false),
                (1, false) => (false, true),
                (0 | 1, true) => (true, true),
                _ => (false, false),
            };
            let mine = rank.alloc_from(&contents(rank, bytes))?;
            let inbox = rank.alloc_from(&vec![0u8; bytes as usize])?;
            let mut posted: Vec<Request<'_>> = Vec::new();
            for _ in 0..if receives { messages } else { 0 } {
                posted.push(rank.irecv(other, TAG + other, inbox.clone())?);
            }
            let begin = start(rank)?;
            let mut sent = Vec::new();
            for _ in 0..if sends { messages } else { 0 } {
                sent.push(rank.isend(GlobalRank(other), TAG + me, &mine)?);
            }
            rank.wait_all(sent)?;
            let mut statuses = Vec::new();
            for receive in posted {
                statuses.push(rank.wait_message(receive)?);
            }
            let end = rank.now()?;
            for status in statuses {
                verify(rank, Some(status), other, bytes, &inbox)?;
            }
            Ok((me < 2).then_some((begin, end)))
        })?;
        let rate = |cycles: f64| f64::from(bytes) / cycles;
        let note = if is_bidirectional {
            format!("bytes per cycle in each direction, {messages} receives posted")
        } else {
            format!("bytes per cycle, {messages} receives posted")
        };
        let cycles = ends[0].max(ends[1]) / f64::from(messages);
        let limit = rate(self.bound.interval(bytes));
        Ok(vec![figure(rate(cycles)).limit(limit).note(note)])
    }
}

/// Messages of ranks 0 and 1 to rank 1 that match no receive of a measurement.
struct Unmatched<'a> {
    /// By source.
    counts: [u32; 2],
    sends: Vec<Request<'a>>,
    /// Whether the library of rank 1 has taken the messages over into host memory.
    is_host: bool,
}

impl Unmatched<'_> {
    /// Sends `count` messages. They stay in the hardware's queue if there is room for them and for
    /// one message more. Otherwise rank 0 sends all of them, and the library of rank 1 takes them
    /// over.
    fn send(rank: &mut Rank, count: u32) -> Result<Self, Error> {
        let me = rank.pid().0;
        let quota = rank.board().message_depth / rank.nprocs();
        let is_host = count > 2 * quota - 1;
        let mine = count.min(quota - 1);
        let counts = if is_host {
            [count, 0]
        } else {
            [mine, count - mine]
        };
        rank.lab()
            .take_over_after(if is_host { 0 } else { u64::MAX });
        let nothing = rank.alloc::<u8>(0)?;
        let mut sends = Vec::new();
        for number in 0..counts.get(me as usize).copied().unwrap_or(0) {
            sends.push(rank.isend(GlobalRank(1), UNMATCHED + number, nothing.clone())?);
        }
        if is_host {
            // The end of a send says that it was taken over.
            rank.wait_all(sends.drain(..))?;
        }
        rank.barrier()?;
        rank.lab().take_over_after(u64::MAX);
        Ok(Unmatched {
            counts,
            sends,
            is_host,
        })
    }

    /// Receives all messages.
    fn receive(self, rank: &mut Rank) -> Result<(), Error> {
        if rank.pid().0 == 1 {
            for (source, count) in (0..).zip(self.counts) {
                for number in 0..count {
                    rank.recv(source, UNMATCHED + number, &mut [0u8; 0])?;
                }
            }
        }
        rank.wait_all(self.sends)
    }
}

/// Waits until all register writes of earlier calls are done, at all ranks. Returns the cycle at
/// which the measured calls start.
fn start(rank: &mut Rank) -> Result<Cycle, Error> {
    rest(rank)?;
    rank.barrier()?;
    rest(rank)?;
    rank.now()
}

/// Waits for [`REST`] cycles.
fn rest(rank: &mut Rank) -> Result<(), Error> {
    let until = Cycle(rank.now()?.0 + REST);
    while rank.now()? < until {
        rank.lab().port().wait(Causes::NONE, until)?;
    }
    Ok(())
}

/// Measures a message from rank 0 to rank 1 whose receive is posted.
fn expected(rank: &mut Rank, buffer: &Region<u8>) -> Result<Span, Error> {
    empty(rank, buffer)?;
    let mut posted = None;
    if rank.pid().0 == 1 {
        posted = Some(rank.irecv(0, TAG, buffer.clone())?);
    }
    let begin = start(rank)?;
    let end = send_or_wait(rank, buffer, posted)?;
    finish(rank, begin, end, buffer)
}

/// Measures a receive of a message that waits.
fn unexpected(rank: &mut Rank, buffer: &Region<u8>) -> Result<Span, Error> {
    empty(rank, buffer)?;
    let mut send = None;
    if rank.pid().0 == 0 {
        send = Some(rank.isend(GlobalRank(1), TAG, buffer)?);
    }
    let begin = start(rank)?;
    let mut end = None;
    if let Some(send) = send {
        rank.wait(send)?;
        end = Some((rank.now()?, None));
    } else if rank.pid().0 == 1 {
        let receive = rank.irecv(0, TAG, buffer.clone())?;
        let status = rank.wait_message(receive)?;
        end = Some((rank.now()?, Some(status)));
    }
    finish(rank, begin, end, buffer)
}

/// Measures a message from rank 0 to rank 1 whose receive is posted at the same time.
fn together(rank: &mut Rank, buffer: &Region<u8>) -> Result<Span, Error> {
    empty(rank, buffer)?;
    let begin = start(rank)?;
    let mut posted = None;
    if rank.pid().0 == 1 {
        posted = Some(rank.irecv(0, TAG, buffer.clone())?);
    }
    let end = send_or_wait(rank, buffer, posted)?;
    finish(rank, begin, end, buffer)
}

/// Sends the measured message at rank 0, and waits for it at rank 1. Returns the end and the status.
fn send_or_wait(
    rank: &mut Rank,
    buffer: &Region<u8>,
    posted: Option<Request<'_>>,
) -> Result<Option<(Cycle, Option<MessageStatus>)>, Error> {
    let status = match (rank.pid().0, posted) {
        (0, _) => {
            let send = rank.isend(GlobalRank(1), TAG, buffer)?;
            rank.wait(send)?;
            None
        }
        (_, Some(receive)) => Some(rank.wait_message(receive)?),
        _ => return Ok(None),
    };
    Ok(Some((rank.now()?, status)))
}

/// Checks the measured message. Returns the span of a rank that has taken part.
fn finish(
    rank: &mut Rank,
    begin: Cycle,
    end: Option<(Cycle, Option<MessageStatus>)>,
    inbox: &Region<u8>,
) -> Result<Span, Error> {
    let Some((end, status)) = end else {
        return Ok(None);
    };
    if rank.pid().0 == 1 {
        verify(rank, status, 0, 8, inbox)?;
    }
    Ok(Some((begin, end)))
}

/// The memory of a message of 8 bytes.
fn buffer(rank: &mut Rank) -> Result<Region<u8>, Error> {
    rank.alloc_from(&contents(rank, 8))
}

/// Clears the memory of a message that rank 1 receives.
fn empty(rank: &mut Rank, buffer: &Region<u8>) -> Result<(), Error> {
    if rank.pid().0 == 1 {
        rank.write(&mut buffer.clone(), 0, &[0; 8])?;
    }
    Ok(())
}

/// Contents of the messages of a rank.
/// Runs `measure` with a window and a source of 8 bytes on each rank. Rank 1 has `entries` unexpected
/// messages, and searches walk.
fn beside_walk(
    rank: &mut Rank,
    entries: u32,
    measure: impl FnOnce(&mut Rank, &Window<u8>, &Region<u8>) -> Result<Span, Error>,
) -> Result<Span, Error> {
    let source = rank.alloc_from(&contents(rank, 8))?;
    let target = rank.alloc_from(&[0u8; 8])?;
    let window = rank.register(&target, Rights::ALL)?;
    rank.lab().match_thresholds(None, None)?;
    let unmatched = Unmatched::send(rank, entries)?;
    let span = measure(rank, &window, &source)?;
    unmatched.receive(rank)?;
    let usual = Some(POSTED_THRESHOLD_LENGTH_VALUE as u16);
    rank.lab().match_thresholds(usual, usual)?;
    rank.deregister(window)?;
    Ok(span)
}

fn check_put(rank: &mut Rank, window: &Window<u8>, source: u32) -> Result<(), Error> {
    let found = rank.read_vec(window.region())?;
    check("a put of 8 bytes", found == pattern(source, 8))
}

fn contents(rank: &Rank, bytes: u32) -> Vec<u8> {
    pattern(rank.pid().0, bytes)
}

fn pattern(source: u32, bytes: u32) -> Vec<u8> {
    (0..bytes)
        .map(|at| (1 + at * 7 + at / 256 + source * 91) as u8)
        .collect()
}

/// Checks status and contents of a message from `source`.
fn verify(
    rank: &mut Rank,
    status: Option<MessageStatus>,
    source: u32,
    bytes: u32,
    inbox: &Region<u8>,
) -> Result<(), Error> {
    let found = rank.read_vec(inbox)?;
    let expected = (source, TAG + source, bytes);
    let is_right =
        status.is_some_and(|status| (status.source, status.tag, status.length) == expected);
    check(
        &format!("a message of {bytes} bytes from rank {source}"),
        is_right && found == pattern(source, bytes),
    )
}

fn check(what: &str, is_right: bool) -> Result<(), Error> {
    if is_right {
        return Ok(());
    }
    Err(Error::program(format!(
        "{what} has arrived with other data, or with another source, tag or length"
    )))
}
