//! Tables 7 to 9 of the coprocessor paper (Ziavras et al. 2006, sections 4.3 and 4.3.1).
//!
//! A figure is the EPOCH_CYCLES register of rank 0: cycles from the first command write of rank 0
//! to the rise of BARRIER_DONE. As in the paper, rank 0 executes the instruction and then the
//! barrier, and the other ranks execute only the barrier. Registration is collective, so all ranks
//! execute it.
//!
//! The report also has rates of streams between two ranks, which are not in the paper: payload
//! bytes per cycle, from the first command to the completion of the last transfer.

use alcor::{
    AccumulateOperation, BoardInfo, Cluster, Cycle, GlobalRank, Job, JobError, NodeAddr, Operation,
    Rank, Region, Request, Rights,
};
use alcor_abi::{Opcode, PAPER_MAX_WORDS};

use crate::report::Row;

/// Lengths in words of the instructions of table 8.
const LENGTHS: [u32; 6] = [1, 2, 4, 8, 16, 30];
/// The paper's table 8, PUT and GET, for [`LENGTHS`].
const PAPER_PUT: [f64; 6] = [31.0, 32.0, 34.0, 38.0, 46.0, 59.0];
const PAPER_GET: [f64; 6] = [44.0, 46.0, 48.0, 52.0, 60.0, 73.0];
/// Values of H in table 9.
const EXCHANGE: [u32; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// The paper's table 9, two coprocessors, for [`EXCHANGE`].
const PAPER_EXCHANGE: [f64; 11] = [
    53.0, 54.0, 55.0, 60.0, 76.0, 121.0, 198.0, 372.0, 701.0, 1396.0, 2771.0,
];
/// Lengths in bytes of the transfers of a stream.
const STREAM: [u32; 11] = [
    64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536,
];
/// Total bytes of a stream.
const STREAM_BYTES: u32 = 1 << 18;
/// The paper's g for two coprocessors at H = 1024.
const PAPER_G: f64 = 1.35;

/// Distance in words that an 8-bit offset can address in whole packets: the stride of windows in an
/// exchange with the paper's packets.
const WINDOW_WORDS: u32 = 240;

/// The reason why a benchmark has no figures.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The board cannot run a job.
    #[error(transparent)]
    Board(#[from] alcor::Error),
    /// A rank failed, or data is wrong.
    #[error(transparent)]
    Job(#[from] JobError),
}

/// Packets of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// The paper's packets of up to 30 words.
    Paper,
    /// Extended packets: one command for each peer.
    Extended,
}

impl Family {
    fn name(self) -> &'static str {
        match self {
            Family::Paper => "the paper's packets",
            Family::Extended => "extended packets",
        }
    }
}

/// Measures the rows of the tables on `boards` with all ranks, and the rates of streams between the
/// first two ranks: the rows whose names `is_wanted` accepts. The total exchange covers the ranks of
/// one board.
///
/// # Errors
/// When a rank fails, or data is wrong.
pub fn rows(
    boards: impl Into<Cluster>,
    seed: u64,
    is_wanted: impl Fn(&str) -> bool,
    mut step: impl FnMut(&str) + Send,
) -> Result<Vec<Row>, MeasureError> {
    let job = Job::new(boards)?;
    let ranks = job.ranks();
    let info = job.cluster().identify()?;
    step("instructions");
    let mut rows = job
        .run(ranks, |rank| instructions(rank, seed))?
        .swap_remove(0);
    if job.cluster().boards().len() == 1 {
        rows.extend(exchanges(&job, &info, seed, &mut step)?);
    }
    for stream in [Stream::Put, Stream::Get, Stream::Both] {
        for bytes in STREAM
            .into_iter()
            .filter(|&bytes| bytes <= stream_span(&info))
        {
            let name = format!("{}-{bytes}", stream.name());
            if !is_wanted(&name) {
                continue;
            }
            step(&name);
            let spans = job.run(ranks, |rank| stream.run(rank, bytes, seed))?;
            let spans = || spans.iter().flatten();
            let begin = spans().map(|&(begin, _)| begin.0).min().unwrap_or(0);
            let end = spans().map(|&(_, end)| end.0).max().unwrap_or(0);
            rows.push(
                Row::new(name, f64::from(STREAM_BYTES) / (end - begin) as f64)
                    .limit(info.beat_bytes.into())
                    .note(stream.note()),
            );
        }
    }
    rows.retain(|row| is_wanted(&row.name));
    Ok(rows)
}

/// Table 9.
fn exchanges(
    job: &Job,
    info: &BoardInfo,
    seed: u64,
    step: &mut impl FnMut(&str),
) -> Result<Vec<Row>, MeasureError> {
    let ranks = job.ranks();
    let cycles_a_word = 4.0 / f64::from(info.beat_bytes);
    let mut rows = Vec::new();
    for (i, &h) in EXCHANGE.iter().enumerate() {
        step(&format!("exchange {ranks}x{ranks}, H = {h}"));
        let cycles = job.run(ranks, |rank| {
            Ok((
                exchange(rank, h, Family::Paper, seed)?,
                exchange(rank, h, Family::Extended, seed)?,
            ))
        })?[0];
        // Figures of the 2x2 exchange use the paper's packets, for comparison with the paper.
        let (cycles, family) = match ranks {
            2 => (cycles.0, Family::Paper),
            _ if cycles.0 <= cycles.1 => (cycles.0, Family::Paper),
            _ => (cycles.1, Family::Extended),
        };
        let words = f64::from(ranks * h);
        rows.push(
            Row::new(format!("exchange-{ranks}x{ranks}-H{h}"), f64::from(cycles))
                .paper((ranks == 2).then_some(PAPER_EXCHANGE[i]))
                .limit(words * cycles_a_word)
                .note(family.name()),
        );
        if h == EXCHANGE[EXCHANGE.len() - 1] {
            rows.push(
                Row::new(format!("g-{ranks}x{ranks}"), f64::from(cycles) / words)
                    .paper((ranks == 2).then_some(PAPER_G))
                    .limit(match family {
                        Family::Paper => {
                            let words = f64::from(PAPER_MAX_WORDS);
                            (1.0 + (words * cycles_a_word).ceil()) / words
                        }
                        Family::Extended => cycles_a_word,
                    })
                    .note(format!("cycles a word, {}", family.name())),
            );
        }
    }
    Ok(rows)
}

/// Sending ranks of a stream.
#[derive(Debug, Clone, Copy)]
enum Stream {
    /// Rank 0 puts to rank 1.
    Put,
    /// Rank 0 gets from rank 1.
    Get,
    /// Ranks 0 and 1 put to each other.
    Both,
}

impl Stream {
    fn name(self) -> &'static str {
        match self {
            Stream::Put => "put-bandwidth",
            Stream::Get => "get-bandwidth",
            Stream::Both => "bidirectional",
        }
    }

    fn note(self) -> &'static str {
        match self {
            Stream::Put | Stream::Get => "bytes a cycle",
            Stream::Both => "bytes per cycle in each direction",
        }
    }

    /// Moves [`STREAM_BYTES`] in consecutive transfers of `bytes`. For a sending rank, returns the
    /// cycles of the first command and of the last completion.
    fn run(self, rank: &mut Rank, bytes: u32, seed: u64) -> alcor::Result<Option<(Cycle, Cycle)>> {
        let (me, words) = (rank.pid().0, bytes / 4);
        let count = stream_span(rank.board()) / 4;
        let source = rank.alloc_from(&pattern(seed, me, count))?;
        let mut target = rank.alloc::<u32>(count as usize)?;
        rank.write(&mut target, 0, &vec![0; count as usize])?;
        let window = match self {
            Stream::Get => rank.register(&source, Rights::ALL)?,
            Stream::Put | Stream::Both => rank.register(&target, Rights::ALL)?,
        };
        let peer = GlobalRank(1 - me.min(1));
        let mut requests = Vec::new();
        rank.barrier()?;
        let begin = rank.now()?;
        for transfer in 0..STREAM_BYTES / bytes {
            let at = transfer * words % count;
            requests.extend(match (self, me) {
                (Stream::Put | Stream::Both, 0) | (Stream::Both, 1) => {
                    let piece = piece(&source, at, words)?;
                    Some(rank.iput(&window, peer, at as usize, piece.clone())?)
                }
                (Stream::Get, 0) => {
                    let piece = piece(&target, at, words)?;
                    Some(rank.iget(&window, peer, at as usize, piece.clone())?)
                }
                _ => None,
            });
        }
        let sends = !requests.is_empty();
        rank.wait_all(requests)?;
        let end = rank.now()?;
        rank.barrier()?;
        let from = match (self, me) {
            (Stream::Put | Stream::Both, 1) => Some(0),
            (Stream::Get | Stream::Both, 0) => Some(1),
            _ => None,
        };
        if let Some(from) = from {
            let found = rank.read_vec(&target)?;
            verify(self.name(), rank, &found, &pattern(seed, from, count));
        }
        rank.deregister(window)?;
        Ok(sends.then_some((begin, end)))
    }
}

/// Bytes of node memory that a stream uses repeatedly.
fn stream_span(board: &BoardInfo) -> u32 {
    STREAM_BYTES.min(board.node_bytes / 4)
}

/// `count` words that depend on seed, rank and position.
fn pattern(seed: u64, rank: u32, count: u32) -> Vec<u32> {
    let mut state = seed ^ (u64::from(rank) << 32) ^ 0x9E37_79B9_7F4A_7C15;
    (0..count)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        })
        .collect()
}

/// Runs `commands` between two barriers. Returns the cycles to the second barrier.
fn epoch(
    rank: &mut Rank,
    commands: impl FnOnce(&mut Rank) -> alcor::Result<()>,
) -> alcor::Result<u32> {
    rank.barrier()?;
    commands(rank)?;
    rank.barrier()?;
    rank.lab().epoch_cycles()
}

fn verify(what: &str, rank: &Rank, found: &[u32], expected: &[u32]) {
    // Wrong data invalidates the figure: the panic ends the job, with rank and text.
    assert!(
        found == expected,
        "{what}: data at {} is not what was sent: {} of {} words differ",
        rank.pid(),
        found.iter().zip(expected).filter(|(a, b)| a != b).count(),
        expected.len()
    );
}

/// Tables 7 and 8.
fn instructions(rank: &mut Rank, seed: u64) -> alcor::Result<Vec<Row>> {
    let me = rank.pid().0;
    let first = me == 0;
    let mut rows = Vec::new();
    // Register writes of an instruction and of the barrier; and one beat of payload a cycle.
    let beat = rank.board().beat_bytes;
    let limit = |commands: u32, words: u32| f64::from(commands + 1 + (4 * words).div_ceil(beat));

    let cycles = epoch(rank, |_| Ok(()))?;
    rows.push(
        Row::new("barrier", cycles.into())
            .paper(8.0)
            .limit(limit(0, 0)),
    );

    let spare = rank.alloc::<u32>(16)?;
    let cycles = epoch(rank, |rank| {
        rank.lab().command(Opcode::Register, spare.addr().0)
    })?;
    rows.push(
        Row::new("register", cycles.into())
            .paper(10.0)
            .limit(limit(1, 0)),
    );
    let cycles = epoch(rank, |rank| {
        rank.lab().command(Opcode::Deregister, spare.addr().0)
    })?;
    rows.push(
        Row::new("deregister", cycles.into())
            .paper(11.0)
            .limit(limit(1, 0)),
    );

    let source = rank.alloc_from(&pattern(seed, me, PAPER_MAX_WORDS))?;
    let mut target = rank.alloc::<u32>(64)?;
    let window = rank.register(&target, Rights::ALL)?;
    let source_window = rank.register(&source, Rights::ALL)?;
    let clear = [0u32; 64];
    let sent = pattern(seed, 0, PAPER_MAX_WORDS);
    let peer = GlobalRank(1);
    let peers = pattern(seed, 1, PAPER_MAX_WORDS);

    for (i, &n) in LENGTHS.iter().enumerate() {
        rank.write(&mut target, 0, &clear)?;
        let cycles = epoch(rank, |rank| match (first, n) {
            (false, _) => Ok(()),
            (true, 1) => rank.lab().paper().put_1(window.base(), peer, 0, sent[0]),
            (true, n) => rank
                .lab()
                .paper()
                .put_n(window.base(), source.addr(), peer, n, 0),
        })?;
        if me == 1 {
            let found = rank.read_vec(&target)?;
            verify("put", rank, &found[..n as usize], &sent[..n as usize]);
            verify(
                "put, behind its end",
                rank,
                &found[n as usize..],
                &clear[n as usize..],
            );
        }
        rows.push(
            Row::new(format!("put-{n}"), cycles.into())
                .paper(PAPER_PUT[i])
                .limit(limit(5, n)),
        );
    }
    for (i, &n) in LENGTHS.iter().enumerate() {
        rank.write(&mut target, 0, &clear)?;
        let cycles = epoch(rank, |rank| {
            if first {
                rank.lab()
                    .paper()
                    .get(window.base(), source_window.base(), peer, n, 0)
            } else {
                Ok(())
            }
        })?;
        if first {
            let found = rank.read_vec(&target)?;
            verify("get", rank, &found[..n as usize], &peers[..n as usize]);
            verify(
                "get, behind its end",
                rank,
                &found[n as usize..],
                &clear[n as usize..],
            );
        }
        rows.push(
            Row::new(format!("get-{n}"), cycles.into())
                .paper(PAPER_GET[i])
                .limit(limit(5, n)),
        );
    }
    rows.extend(atomics(rank, &limit)?);
    rows.extend(accumulates(rank, &limit)?);
    Ok(rows)
}

/// Atomic operations on a word of the other rank, each with its old value in the completion ring.
/// All operands are written. The last row is the time without the barrier: from the first command
/// write to the completion.
fn atomics(rank: &mut Rank, limit: &impl Fn(u32, u32) -> f64) -> alcor::Result<Vec<Row>> {
    let is_first = rank.pid().0 == 0;
    let peer = GlobalRank(1);
    let words = rank.alloc_from(&[0u64, 1 << 40, 2])?;
    let window = rank.register(&words, Rights::ALL)?;
    let narrow = rank.alloc_from(&[3u32, 4])?;
    let narrow_window = rank.register(&narrow, Rights::ALL)?;
    let mut rows = Vec::new();
    let mut row = |name: &str, rank: &mut Rank, commands, words, expected, start: Start<'_>| {
        let mut request = None;
        let cycles = epoch(rank, |rank| {
            request = is_first.then(|| start(rank)).transpose()?;
            Ok(())
        })?;
        rows.push(Row::new(name, cycles.into()).limit(limit(commands, words)));
        let Some(request) = request else {
            return Ok(());
        };
        let requests = [request];
        rank.wait_any(&requests)?;
        let old = requests[0].old_value();
        assert!(
            old == Some(expected),
            "{name}: the old value is {old:?}, not {expected}"
        );
        let [request] = requests;
        rank.wait(request)
    };
    row("fetch-add", rank, 3, 1, 4, &|rank| {
        Ok(rank.ifetch_add(&narrow_window, peer, 1, 5)?.into_request())
    })?;
    row("fetch-add-64", rank, 4, 2, 1 << 40, &|rank| {
        Ok(rank.ifetch_add(&window, peer, 1, 6 << 40)?.into_request())
    })?;
    row("compare-swap", rank, 4, 1, 3, &|rank| {
        Ok(rank
            .icompare_swap(&narrow_window, peer, 0, 3, 9)?
            .into_request())
    })?;
    row("compare-swap-64", rank, 6, 2, 2, &|rank| {
        Ok(rank
            .icompare_swap(&window, peer, 2, 2, 10 << 40)?
            .into_request())
    })?;
    let found = rank.read_vec(&words)?;
    let found_narrow = rank.read_vec(&narrow)?;
    if rank.pid() == peer {
        let right = found == [0, 7 << 40, 10 << 40] && found_narrow == [9, 9];
        assert!(
            right,
            "atomic operations left {found:?} and {found_narrow:?}"
        );
    }
    // The other rank is in the barrier, so nothing but the operation takes time.
    let mut cycles = 0;
    rank.barrier()?;
    if is_first {
        let begin = rank.now()?;
        rank.fetch_add(&narrow_window, peer, 1, 1)?;
        cycles = rank.now()?.0 - begin.0;
    }
    rank.barrier()?;
    rows.push(Row::new("fetch-add-completion", cycles as f64).limit(limit(3, 1) - 1.0));
    Ok(rows)
}

/// Bytes of the measured accumulates.
const ACCUMULATE_BYTES: [u32; 4] = [8, 64, 512, 4096];

/// Accumulates into memory of the other rank, sums of f64, without and with the old elements. All
/// operands are written.
fn accumulates(rank: &mut Rank, limit: &impl Fn(u32, u32) -> f64) -> alcor::Result<Vec<Row>> {
    let mut rows = Vec::new();
    if !rank.board().has_accumulate() {
        return Ok(rows);
    }
    let is_first = rank.pid().0 == 0;
    let peer = GlobalRank(1);
    let most = ACCUMULATE_BYTES[ACCUMULATE_BYTES.len() - 1] as usize / 8;
    let terms: Vec<f64> = (0..most).map(|at| 0.5 * at as f64).collect();
    let source = rank.alloc_from(&terms)?;
    let mut target = rank.alloc::<f64>(most)?;
    let window = rank.register(&target, Rights::ALL)?;
    let mut old = rank.alloc::<f64>(most)?;
    let (none, found) = (rank.alloc_from(&[0u32])?, rank.alloc::<u32>(1)?);
    let end = u64::from(ACCUMULATE_BYTES[ACCUMULATE_BYTES.len() - 1]) - 4;
    for (name, fetches) in [("accumulate", false), ("get-accumulate", true)] {
        for bytes in ACCUMULATE_BYTES {
            let count = bytes as usize / 8;
            rank.write(&mut target, 0, &vec![1.0; most])?;
            rank.write(&mut old, 0, &vec![0.0; most])?;
            rank.barrier()?;
            if is_first {
                // No operand of this one is an operand of the measured one.
                let keep = AccumulateOperation::Keep;
                rank.get_accumulate_bytes(&window, peer, end, &none, keep, found.clone())?;
            }
            let (mine, olds) = (source.slice(..count)?, old.slice(..count)?);
            let mut request = None;
            let cycles = epoch(rank, |rank| {
                if is_first {
                    let sum = Operation::Sum;
                    request = Some(if fetches {
                        rank.iget_accumulate(&window, peer, 0, &mine, sum, olds)?
                    } else {
                        rank.iaccumulate(&window, peer, 0, &mine, sum)?
                    });
                }
                Ok(())
            })?;
            if let Some(request) = request {
                rank.wait(request)?;
            }
            let commands = if fetches { 6 } else { 5 };
            let name = format!("{name}-{bytes}");
            let sums: Vec<f64> = terms.iter().map(|term| 1.0 + term).collect();
            let changed = if rank.pid() == peer { count } else { 0 };
            let fetched = if is_first && fetches { count } else { 0 };
            let is_right = |found: &[f64], begin: &[f64], rest: f64| {
                found.starts_with(begin) && found[begin.len()..].iter().all(|&it| it == rest)
            };
            let (memory, olds) = (rank.read_vec(&target)?, rank.read_vec(&old)?);
            assert!(
                is_right(&memory, &sums[..changed], 1.0)
                    && is_right(&olds, &vec![1.0; fetched], 0.0),
                "{name}: wrong elements in the window or among the old ones at {}",
                rank.pid()
            );
            rows.push(Row::new(name, cycles.into()).limit(limit(commands, bytes / 4)));
        }
    }
    rank.deregister(window)?;
    Ok(rows)
}

/// Starts a measured operation.
type Start<'a> = &'a dyn Fn(&mut Rank) -> alcor::Result<Request<'static>>;

/// Table 9: every rank sends `h` words to every rank, itself included. In step k, rank i sends to
/// rank i + k. Returns the cycles to the barrier at rank 0.
fn exchange(rank: &mut Rank, h: u32, family: Family, seed: u64) -> alcor::Result<u32> {
    let (me, ranks) = (rank.pid().0, rank.nprocs());
    let words = pattern(seed, me, ranks * h);
    let source = rank.alloc_from(&words)?;
    let mut target = rank.alloc::<u32>((ranks * h) as usize)?;
    let zeros = vec![0; target.len()];
    rank.write(&mut target, 0, &zeros)?;
    // The paper's packets need a window for each range that an 8-bit offset can address.
    let stretch = match family {
        Family::Paper => WINDOW_WORDS as usize,
        Family::Extended => target.len(),
    };
    let mut windows = Vec::new();
    for start in (0..target.len()).step_by(stretch) {
        windows.push(rank.register(
            &target.slice(start..target.len().min(start + stretch))?,
            Rights::ALL,
        )?);
    }
    let mut requests = Vec::new();
    let cycles = epoch(rank, |rank| {
        for k in 0..ranks {
            let peer = (me + k) % ranks;
            match family {
                Family::Extended => {
                    let piece = piece(&source, peer * h, h)?;
                    requests.push(rank.iput(
                        &windows[0],
                        GlobalRank(peer),
                        (me * h) as usize,
                        piece.clone(),
                    )?);
                }
                Family::Paper => paper_send(rank, &windows, &source, &words, peer, h)?,
            }
        }
        Ok(())
    })?;
    rank.wait_all(requests)?;
    let expected: Vec<u32> = (0..ranks)
        .flat_map(|from| {
            let all = pattern(seed, from, ranks * h);
            all[(me * h) as usize..((me + 1) * h) as usize].to_vec()
        })
        .collect();
    let found = rank.read_vec(&target)?;
    verify(
        &format!("exchange of {h} words with {}", family.name()),
        rank,
        &found,
        &expected,
    );
    for window in windows {
        rank.deregister(window)?;
    }
    Ok(cycles)
}

fn piece(region: &Region<u32>, start: u32, len: u32) -> alcor::Result<Region<u32>> {
    region.slice(start as usize..(start + len) as usize)
}

/// Sends this rank's `h` words for `peer` as PUT-1 and PUT-n, each within one window.
fn paper_send(
    rank: &mut Rank,
    windows: &[alcor::Window<u32>],
    source: &Region<u32>,
    words: &[u32],
    peer: u32,
    h: u32,
) -> alcor::Result<()> {
    let me = rank.pid().0;
    let mut sent = 0;
    while sent < h {
        let at = me * h + sent;
        let window = &windows[(at / WINDOW_WORDS) as usize];
        let offset = at % WINDOW_WORDS;
        let n = (h - sent).min(PAPER_MAX_WORDS).min(WINDOW_WORDS - offset);
        let from = NodeAddr(source.addr().0 + 4 * (peer * h + sent));
        if n == 1 {
            let word = words[(peer * h + sent) as usize];
            rank.lab()
                .paper()
                .put_1(window.base(), GlobalRank(peer), offset, word)?;
        } else {
            rank.lab()
                .paper()
                .put_n(window.base(), from, GlobalRank(peer), n, offset)?;
        }
        sent += n;
    }
    Ok(())
}
