//! Random programs of sends, synchronous sends, receives, cancels, probes, matched probes and
//! exchanges.

use std::collections::{BTreeMap, BTreeSet};

use alcor::{
    Communicator, Error, GlobalRank, MatchedMessage, MessageStatus, Rank, Region, Request, Source,
    Tag,
};
use alcor_test::{Context, Failure, Result, same, same_bytes};
use rand::Rng;

use super::rules::{Ended, Hold, Received, Sent};
use crate::suite::registration::idle;

/// What a rank does.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Sends its message of this number.
    Send(usize),
    Receive {
        context: usize,
        source: Option<GlobalRank>,
        tag: Option<u32>,
        room: u32,
    },
    /// Cancels one of its receives.
    Cancel(usize),
    /// Looks whether one of its receives is complete.
    Test(usize),
    /// Probes, and receives what it finds.
    Probe {
        context: usize,
        source: Option<GlobalRank>,
        tag: Option<u32>,
    },
    /// Takes a message out of the queue with a matched probe.
    Match {
        context: usize,
        source: Option<GlobalRank>,
        tag: Option<u32>,
    },
    /// Receives one of the messages of its matched probes.
    Take { which: usize, room: u32 },
    /// Returns one of the messages of its matched probes.
    Return(usize),
    Idle(u64),
    /// Sends to the next rank and receives from the one before, in a communicator of its own.
    Exchange { length: usize, in_place: bool },
    Barrier,
}

/// A program for all ranks.
pub(super) struct Plan {
    number: u64,
    /// By source.
    sends: Vec<Vec<Sent>>,
    steps: Vec<Vec<Step>>,
    thresholds: Option<u16>,
    /// Length of the longest message.
    longest: u32,
    /// Cycles of a wait before the library takes unexpected messages over.
    take_over_after: u64,
    /// Maximum length of an eager message.
    eager_limit: u32,
    /// Number of steps after which a rank changes between matching in hardware and in its library;
    /// 0: never. Odd ranks begin in the library then.
    switches_after: usize,
}

/// Communicators that messages are sent in: the world, a copy, and all ranks backwards.
const CONTEXTS: usize = 3;
/// Tags that there are.
const TAGS: u32 = 3;

impl Plan {
    pub fn new(context: &Context, number: u64) -> Plan {
        let mut rng = context.rng(&[60, number]);
        let ranks = context.ranks();
        let info = context.info();
        let longest = info.fragment_bytes + info.fragment_bytes / 2;
        // Each message takes memory at its source and at its target.
        let room = info.node_bytes / 6 / (longest + 64);
        let each = room.min(context.scale(40, 80)).min(longest / 2) as usize;
        // Some programs have few wildcards, some have many; some have one target that all want.
        let wild = [0.0, 0.2, 0.6][number as usize % 3];
        let popular = rng.random_bool(0.3).then_some(GlobalRank(0));

        let mut lengths: BTreeMap<(u32, u32), BTreeSet<u32>> = BTreeMap::new();
        let mut sends = Vec::new();
        for source in 0..ranks {
            let mut mine = Vec::new();
            for order in 0..each as u32 {
                let target = match popular {
                    Some(popular) if rng.random_bool(0.3) && each < 20 => popular,
                    _ => GlobalRank(rng.random_range(0..ranks)),
                };
                let used = lengths.entry((source, target.0)).or_default();
                let mut length = match rng.random_range(0..4) {
                    0 => rng.random_range(0..8),
                    1 => rng.random_range(info.fragment_bytes - 4..info.fragment_bytes + 5),
                    _ => rng.random_range(0..longest),
                };
                while !used.insert(length) {
                    length = (length + 1) % longest;
                }
                mine.push(Sent {
                    source: GlobalRank(source),
                    target,
                    order,
                    context: rng.random_range(0..CONTEXTS),
                    tag: rng.random_range(0..TAGS),
                    length,
                });
            }
            sends.push(mine);
        }
        // The same lengths at all ranks: an in-place exchange needs equal ones.
        let exchanged = [0; 3].map(|_| rng.random_range(0..longest as usize));
        let steps = (0..ranks)
            .map(|rank| {
                let coming = sends.iter().flatten();
                let coming: Vec<&Sent> = coming.filter(|sent| sent.target.0 == rank).collect();
                let mut steps = Vec::new();
                let (mut sent, mut posted) = (0, 0);
                // The same barriers at all ranks.
                for (phase, &length) in exchanged.iter().enumerate() {
                    if phase > 0 {
                        let in_place = phase % 2 == 0;
                        steps.push(Step::Exchange { length, in_place });
                        steps.push(Step::Barrier);
                    }
                    for _ in 0..2 * each / 3 {
                        let a_source = |rng: &mut rand_chacha::ChaCha8Rng, likely: GlobalRank| {
                            (!rng.random_bool(wild)).then_some(likely)
                        };
                        // Mostly what somebody sends, so that receives find their messages.
                        let like = if coming.is_empty() { (0, GlobalRank(0), 0) } else {
                                let sent = coming[rng.random_range(0..coming.len())];
                                (sent.context, sent.source, sent.tag)
                            };
                        let source = a_source(&mut rng, like.1);
                        let tag = (!rng.random_bool(wild)).then_some(like.2);
                        steps.push(match rng.random_range(0..20) {
                            0..8 if sent < each => {
                                sent += 1;
                                Step::Send(sent - 1)
                            }
                            8..15 if posted < each => {
                                posted += 1;
                                Step::Receive {
                                    context: like.0,
                                    source,
                                    tag,
                                    room: if rng.random_bool(0.2) { rng.random_range(0..longest) } else { longest },
                                }
                            }
                            15 if posted > 0 => Step::Cancel(rng.random_range(0..posted)),
                            16 if posted > 0 => Step::Test(rng.random_range(0..posted)),
                            17 if rng.random_bool(0.5) => Step::Probe {
                                context: like.0,
                                source,
                                tag,
                            },
                            17 => Step::Match {
                                context: like.0,
                                source,
                                tag,
                            },
                            18 if rng.random_bool(0.7) => Step::Take {
                                which: rng.random_range(0..4),
                                room: if rng.random_bool(0.2) { rng.random_range(0..longest) } else { longest },
                            },
                            18 => Step::Return(rng.random_range(0..4)),
                            _ => Step::Idle(rng.random_range(0..300)),
                        });
                    }
                }
                steps.extend((sent..each).map(Step::Send));
                steps
            })
            .collect();
        Plan {
            number,
            sends,
            steps,
            longest,
            thresholds: [Some(5), Some(0), None, Some(2)][number as usize % 4],
            take_over_after: [4096, 0, 60][number as usize / 2 % 3],
            eager_limit: [u32::MAX, info.fragment_bytes / 2, 0][number as usize / 3 % 3],
            switches_after: [0, usize::MAX, 0, 7][number as usize % 4],
        }
    }

    pub fn sends(&self) -> Vec<Sent> {
        self.sends.concat()
    }

    fn bytes(&self, context: &Context, sent: &Sent) -> Vec<u8> {
        let purpose = [
            61,
            self.number,
            u64::from(sent.source.0),
            u64::from(sent.order),
        ];
        context.noise(&purpose, sent.length as usize)
    }

    /// Runs a rank's part; what became of its receives.
    pub fn execute(
        &self,
        context: &Context,
        rank: &mut Rank,
    ) -> Result<(Vec<Received>, Vec<Hold>), Failure> {
        let me = rank.pid().0 as usize;
        let world = rank.world()?;
        let copy = world.dup(rank)?;
        let ring = world.dup(rank)?;
        let Some(turned) = world.split(rank, Some(0), -(me as i32))? else {
            return Err(Failure::new("a split", "a communicator", "none"));
        };
        rank.lab().match_thresholds(self.thresholds, self.thresholds)?;
        rank.lab().take_over_after(self.take_over_after);
        rank.lab().eager_limit(self.eager_limit);
        let mut in_software = self.switches_after > 0 && me % 2 == 1;
        rank.lab().match_in_software(in_software);
        rank.barrier()?;
        let mut run = Run {
            plan: self,
            context,
            communicators: [world, copy, turned],
            posted: Vec::new(),
            matched: Vec::new(),
            received: 0,
            order: 0,
            log: Vec::new(),
            holds: Vec::new(),
        };
        let mut sends = Vec::new();
        for (at, &step) in (1..).zip(&self.steps[me]) {
            if self.switches_after > 0 && at % self.switches_after == 0 {
                in_software = !in_software;
                rank.lab().match_in_software(in_software);
            }
            match step {
                Step::Send(number) => {
                    let sent = &self.sends[me][number];
                    let data = rank.alloc_from(&self.bytes(context, sent))?;
                    let communicator = &run.communicators[sent.context];
                    let to = place(communicator, sent.target);
                    sends.push(match sent.order % 4 {
                        1 => communicator.issend(rank, to, sent.tag, data.clone())?,
                        _ => communicator.isend(rank, to, sent.tag, data.clone())?,
                    });
                }
                Step::Receive {
                    context,
                    source,
                    tag,
                    room,
                } => run.post(rank, context, source, tag, room)?,
                Step::Cancel(which) => {
                    if let Some(Some(posted)) = run.posted.get_mut(which) {
                        posted.cancelled = true;
                        rank.cancel(&posted.request)?;
                    }
                }
                Step::Test(which) => run.test(rank, which)?,
                Step::Probe {
                    context,
                    source,
                    tag,
                } => {
                    run.probe(rank, context, source, tag)?;
                }
                Step::Match {
                    context,
                    source,
                    tag,
                } => run.take_out(rank, context, source, tag)?,
                Step::Take { which, room } => run.take(rank, which, room)?,
                Step::Return(which) => run.give_back(which),
                Step::Exchange { length, in_place } => {
                    exchange(context, rank, &ring, self.number, (length, in_place))?;
                }
                Step::Idle(cycles) => idle(rank, cycles)?,
                Step::Barrier => rank.barrier()?,
            }
        }
        // Whatever is left is received. A message that is returned is received by others.
        if self.number.is_multiple_of(2) {
            run.give_back(0);
        }
        while !run.matched.is_empty() {
            run.take(rank, 0, self.longest)?;
        }
        let coming = self.sends.iter().flatten();
        let coming = coming.filter(|sent| sent.target == rank.pid()).count();
        while run.received < coming {
            for which in 0..run.posted.len() {
                run.test(rank, which)?;
            }
            for context in 0..CONTEXTS {
                run.probe(rank, context, None, None)?;
            }
        }
        for which in 0..run.posted.len() {
            if let Some(mut posted) = run.posted[which].take() {
                rank.cancel(&posted.request)?;
                if !posted.cancelled {
                    posted.received.ended = Ended::LeftOver;
                }
                run.end(rank, posted)?;
            }
        }
        while !sends.is_empty() {
            let some = rank.wait_some(&sends)?;
            same(format_args!("rank {me}: some sends"), true, !some.is_empty())?;
            for which in some.into_iter().rev() {
                let mut send = sends.swap_remove(which);
                same(format_args!("rank {me}: a send of some"), true, rank.test(&mut send)?)?;
            }
        }
        rank.barrier()?;
        let [_, copy, turned] = run.communicators;
        copy.free(rank)?;
        turned.free(rank)?;
        ring.free(rank)?;
        Ok((run.log, run.holds))
    }
}

/// Sends to the next rank of a communicator, and receives from the one before.
fn exchange(
    context: &Context,
    rank: &mut Rank,
    ring: &Communicator,
    number: u64,
    (length, in_place): (usize, bool),
) -> Result {
    let (me, size) = (ring.rank(), ring.size());
    let (to, from) = ((me + 1) % size, (me + size - 1) % size);
    let data = |of: u32| context.noise(&[62, number, u64::from(of)], length);
    let mut bytes = data(me);
    let status = if in_place {
        ring.sendrecv_replace(rank, (to, 7), (from, 7), &mut bytes)?
    } else {
        let mine = std::mem::replace(&mut bytes, vec![0; length]);
        ring.sendrecv(rank, (to, 7, &mine), (Source::Any, Tag::Any, &mut bytes))?
    };
    let expected = (from, 7, length as u32);
    let found = (status.source, status.tag, status.length);
    same(format_args!("rank {me}: exchanged"), expected, found)?;
    same_bytes(format_args!("rank {me}: exchanged bytes"), &data(from), &bytes)
}

/// A rank's number in a communicator.
fn place(communicator: &Communicator, rank: GlobalRank) -> u32 {
    let mut members = communicator.members().iter();
    members.position(|&member| member == rank).unwrap_or(0) as u32
}

/// A receive under way.
struct Posted {
    request: Request<'static>,
    region: Region<u8>,
    received: Received,
    cancelled: bool,
}

/// A rank's part of a program under way.
struct Run<'a> {
    plan: &'a Plan,
    context: &'a Context,
    communicators: [Communicator; CONTEXTS],
    posted: Vec<Option<Posted>>,
    /// Messages of matched probes, each with the probe as a receive.
    matched: Vec<(MatchedMessage, Received)>,
    /// Messages received.
    received: usize,
    order: u32,
    log: Vec<Received>,
    /// Messages of matched probes that were returned.
    holds: Vec<Hold>,
}

impl Run<'_> {
    fn selectors(
        &self,
        context: usize,
        source: Option<GlobalRank>,
        tag: Option<u32>,
    ) -> (Source, Tag) {
        let number = |source| Source::Rank(place(&self.communicators[context], source));
        (
            source.map_or(Source::Any, number),
            tag.map_or(Tag::Any, Tag::Is),
        )
    }

    fn note(
        &mut self,
        rank: &Rank,
        context: usize,
        source: Option<GlobalRank>,
        tag: Option<u32>,
    ) -> Received {
        self.order += 1;
        Received {
            target: rank.pid(),
            order: self.order,
            context,
            source,
            tag,
            ended: Ended::Cancelled,
        }
    }

    fn post(
        &mut self,
        rank: &mut Rank,
        context: usize,
        source: Option<GlobalRank>,
        tag: Option<u32>,
        room: u32,
    ) -> Result {
        let region = rank.alloc::<u8>(room as usize)?;
        let (from, which) = self.selectors(context, source, tag);
        let request = self.communicators[context].irecv(rank, from, which, region.clone())?;
        let received = self.note(rank, context, source, tag);
        self.posted.push(Some(Posted {
            request,
            region,
            received,
            cancelled: false,
        }));
        Ok(())
    }

    fn test(&mut self, rank: &mut Rank, which: usize) -> Result {
        let Some(Some(posted)) = self.posted.get_mut(which) else {
            return Ok(());
        };
        let is_over = match rank.test(&mut posted.request) {
            Err(Error::Truncated { .. }) => true,
            is_over => is_over?,
        };
        if is_over && let Some(posted) = self.posted[which].take() {
            self.end(rank, posted)?;
        }
        Ok(())
    }

    /// Takes note of how a receive ended.
    fn end(&mut self, rank: &mut Rank, posted: Posted) -> Result {
        let status = match rank.wait_message(posted.request) {
            Err(Error::Truncated { found, .. }) => found,
            status => status?,
        };
        let mut received = posted.received;
        if !status.cancelled {
            let bytes = rank.read_vec(&posted.region)?;
            received.ended = self.with(rank, received.context, &status, &bytes)?;
        }
        self.log.push(received);
        Ok(())
    }

    fn with(
        &mut self,
        rank: &Rank,
        context: usize,
        status: &MessageStatus,
        bytes: &[u8],
    ) -> Result<Ended, Failure> {
        self.received += 1;
        let communicator = &self.communicators[context];
        let source = format!("{}: source as the communicator counts", rank.pid());
        same(source, place(communicator, status.pid), status.source)?;
        let sent = self.plan.sends[status.pid.0 as usize]
            .iter()
            .find(|sent| (sent.target, sent.length) == (rank.pid(), status.length));
        let intact = sent.is_some_and(|sent| {
            let fits = bytes.len().min(sent.length as usize);
            let expected = self.plan.bytes(self.context, sent);
            same_bytes("", &expected[..fits], &bytes[..fits]).is_ok()
        });
        Ok(Ended::With {
            source: status.pid,
            tag: status.tag,
            length: status.length,
            intact,
        })
    }

    /// Takes a message out of the queue.
    fn take_out(
        &mut self,
        rank: &mut Rank,
        context: usize,
        source: Option<GlobalRank>,
        tag: Option<u32>,
    ) -> Result {
        let (from, which) = self.selectors(context, source, tag);
        let Some(message) = self.communicators[context].improbe(rank, from, which)? else {
            return Ok(());
        };
        let received = self.note(rank, context, source, tag);
        self.matched.push((message, received));
        Ok(())
    }

    /// Receives a message of a matched probe.
    fn take(&mut self, rank: &mut Rank, which: usize, room: u32) -> Result {
        if which >= self.matched.len() {
            return Ok(());
        }
        let (message, received) = self.matched.remove(which);
        let found = message.status();
        let region = rank.alloc::<u8>(room as usize)?;
        let request = message.irecv(rank, region.clone())?;
        // A matched message can't be cancelled.
        rank.cancel(&request)?;
        let what = format!("{}: what a matched probe found", rank.pid());
        self.end(
            rank,
            Posted {
                request,
                region,
                received,
                cancelled: false,
            },
        )?;
        let Some(Ended::With { source, tag, length, .. }) = self.log.last().map(|it| &it.ended)
        else {
            return Err(Failure::new(what, "a message", "a cancelled receive"));
        };
        same(what, (found.pid, found.tag, found.length), (*source, *tag, *length))
    }

    /// Returns a message of a matched probe to the queue.
    fn give_back(&mut self, which: usize) {
        if which >= self.matched.len() {
            return;
        }
        let (message, received) = self.matched.remove(which);
        let status = message.status();
        drop(message);
        self.order += 1;
        self.holds.push(Hold {
            target: received.target,
            source: status.pid,
            length: status.length,
            orders: received.order..self.order,
        });
    }

    /// Probes, and receives what is found.
    fn probe(
        &mut self,
        rank: &mut Rank,
        context: usize,
        source: Option<GlobalRank>,
        tag: Option<u32>,
    ) -> Result {
        let (from, which) = self.selectors(context, source, tag);
        let Some(found) = self.communicators[context].iprobe(rank, from, which)? else {
            return Ok(());
        };
        let mut bytes = vec![0; found.length as usize];
        let communicator = &self.communicators[context];
        let status = communicator.recv(rank, found.source, found.tag, &mut bytes)?;
        same(
            format_args!("{}: what was received after a probe", rank.pid()),
            found,
            status,
        )?;
        let mut received = self.note(rank, context, Some(found.pid), Some(found.tag));
        received.ended = self.with(rank, context, &status, &bytes)?;
        self.log.push(received);
        Ok(())
    }
}
