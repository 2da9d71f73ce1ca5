//! The commands of the RMA coprocessor paper, in its own units.

use alcor::{GlobalRank, NodeAddr, Opcode, Rank, Region, Rights, Status, Window};
use alcor_test::{Context, Failure, Result, after, alcor_test, before, holds, same, same_bytes};
use rand::Rng;


/// Words of the window that the commands work on: more than an offset of 8 bits and a packet.
const WORDS: usize = 255 + 30 + 3;
/// The most words that a packet carries.
const LONGEST: u32 = alcor_abi::PAPER_MAX_WORDS;

/// PUT-1 at every offset.
#[alcor_test(ranks >= 1)]
fn put_1(context: &Context) -> Result {
    Paper::run(context, |rank, it| {
        for offset in 0..=255 {
            it.put_1(rank, offset)?;
        }
        Ok(())
    })
}

/// PUT-n of every length, at the ends of the range of offsets.
#[alcor_test(ranks >= 1)]
fn put_n(context: &Context) -> Result {
    Paper::run(context, |rank, it| {
        for length in 2..=LONGEST {
            for offset in [0, 1, 128, 254, 255] {
                it.put_n(rank, length, offset)?;
                it.settle(rank)?;
            }
        }
        Ok(())
    })
}

/// GET of every length, at the ends of the range of offsets.
#[alcor_test(ranks >= 1)]
fn get(context: &Context) -> Result {
    Paper::run(context, |rank, it| {
        for length in 1..=LONGEST {
            for offset in [0, 1, 128, 254, 255] {
                it.get(rank, length, offset)?;
                it.settle(rank)?;
            }
        }
        Ok(())
    })
}

/// Several puts and a get in each epoch, at random.
#[alcor_test(ranks >= 1)]
fn mixed(context: &Context) -> Result {
    let rounds = context.scale(60, 600);
    Paper::run(context, |rank, it| {
        let mut rng = context.rng(&[7]);
        for _ in 0..rounds {
            // Nothing orders commands between two barriers, so they keep apart.
            for place in 0..rng.random_range(1..6) {
                let offset = 50 * place + rng.random_range(0..20);
                it.put_n(rank, rng.random_range(2..=LONGEST), offset)?;
            }
            it.settle(rank)?;
            it.put_1(rank, rng.random_range(0..=255))?;
            it.settle(rank)?;
            it.get(
                rank,
                rng.random_range(1..=LONGEST),
                rng.random_range(0..=255),
            )?;
            it.settle(rank)?;
        }
        Ok(())
    })
}

/// Both families of commands at the same time, into windows of their own.
#[alcor_test(ranks >= 1)]
fn with_extended(context: &Context) -> Result {
    let rounds = context.scale(40, 400);
    Paper::run(context, |rank, it| {
        let me = rank.pid();
        let bytes = 1500;
        let inbox = rank.alloc::<u8>(bytes)?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let mut data = rank.alloc::<u8>(bytes)?;
        let mut rng = context.rng(&[8]);
        for round in 0..rounds {
            rank.write(&mut data, 0, &context.noise(&[u64::from(me.0), round], bytes))?;
            rank.barrier()?;
            drop(rank.iput(&window, after(rank, 1), 0, &data.slice(..700)?)?);
            it.put_n(
                rank,
                rng.random_range(2..=LONGEST),
                rng.random_range(0..=100),
            )?;
            drop(rank.iput(&window, after(rank, 1), 700, &data.slice(700..)?)?);
            it.put_1(rank, rng.random_range(150..=255))?;
            it.settle(rank)?;
            rank.flush_all()?;
            let expected = context.noise(&[u64::from(before(rank, 1).0), round], bytes);
            same_bytes(
                format_args!("{me}: extended puts, round {round}"),
                &expected,
                &rank.read_vec(&inbox)?,
            )?;
            rank.barrier()?;
        }
        Ok(())
    })
}

/// A put directly behind the registration of its window, with no wait in between.
#[alcor_test(ranks >= 1)]
fn behind_a_registration(context: &Context) -> Result {
    context.run(|rank| {
        let (me, to, from) = (rank.pid(), after(rank, 1), before(rank, 1));
        for round in 0..8 {
            let inbox = rank.alloc_from(&[0u32; 4])?;
            rank.barrier()?;
            rank.lab().command(Opcode::Register, inbox.addr().0)?;
            rank.lab().paper()
                .put_1(inbox.addr(), to, 2, 0x100 * round + me.0)?;
            rank.barrier()?;
            same(
                format_args!("{me}: memory after round {round}"),
                vec![0, 0, 0x100 * round + from.0, 0],
                rank.read_vec(&inbox)?,
            )?;
            rank.lab().deregister_range(inbox.addr())?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Every rank to every rank, itself included.
#[alcor_test(ranks >= 1)]
fn to_each_rank(context: &Context) -> Result {
    let steps = context.ranks();
    for steps in 0..steps {
        Paper::run_with(context, steps, |rank, it| {
            it.put_n(rank, LONGEST, 17)?;
            it.settle(rank)?;
            it.get(rank, LONGEST, 200)?;
            it.settle(rank)?;
            it.put_1(rank, 3)?;
            it.settle(rank)
        })?;
    }
    Ok(())
}

/// Lengths that no packet carries are refused where they were asked for.
#[alcor_test(ranks >= 1)]
fn bad_length(context: &Context) -> Result {
    Paper::run(context, |rank, it| {
        let (window, peer, source) = (it.inbox.base(), it.peer, it.source.addr());
        for length in [0, LONGEST + 1, 32, 64, 255] {
            rank.lab().paper().put_n(window, source, peer, length, 0)?;
            it.refused(rank, Status::BadLength, &format!("PUT-n of {length} words"))?;
            rank.lab().paper()
                .get(it.local.base(), it.outbox.base(), peer, length, 0)?;
            it.refused(rank, Status::BadLength, &format!("GET of {length} words"))?;
        }
        rank.lab().paper().put_n(window, source, peer, 1, 0)?;
        it.refused(rank, Status::BadLength, "PUT-n of one word")?;
        it.put_n(rank, 5, 9)
    })
}

/// Addresses at which no window is registered.
#[alcor_test(ranks >= 1)]
fn not_registered(context: &Context) -> Result {
    Paper::run(context, |rank, it| {
        let (window, peer) = (it.inbox.base(), it.peer);
        let nowhere = NodeAddr(window.0 + 4);
        rank.lab().paper().put_1(nowhere, peer, 0, 1)?;
        it.refused(rank, Status::NotRegistered, "PUT-1")?;
        rank.lab().paper().put_n(nowhere, it.source.addr(), peer, 2, 0)?;
        it.refused(rank, Status::NotRegistered, "PUT-n")?;
        rank.lab().paper().get(nowhere, it.outbox.base(), peer, 2, 0)?;
        it.refused(rank, Status::NotRegistered, "GET to nowhere")?;
        rank.lab().paper().get(it.local.base(), nowhere, peer, 2, 0)?;
        it.refused(rank, Status::NotRegistered, "GET from nowhere")?;
        it.put_1(rank, 7)
    })
}

/// Ranks that are not part of the run, and source ranges beyond node memory.
#[alcor_test(ranks >= 1)]
fn bad_operands(context: &Context) -> Result {
    Paper::run(context, |rank, it| {
        let window = it.inbox.base();
        for pid in [rank.nprocs(), 255] {
            rank.lab().paper().put_1(window, GlobalRank(pid), 0, 1)?;
            it.refused(rank, Status::BadRank, &format!("PUT-1 to rank {pid}"))?;
            rank.lab().paper()
                .get(it.local.base(), it.outbox.base(), GlobalRank(pid), 1, 0)?;
            it.refused(rank, Status::BadRank, &format!("GET from rank {pid}"))?;
        }
        let last = rank.board().node_bytes - 4;
        for source in [last, 0xffff_fffc] {
            rank.lab().paper()
                .put_n(window, NodeAddr(source), it.peer, 2, 0)?;
            it.refused(rank, Status::BadLocal, &format!("PUT-n from {source:#x}"))?;
        }
        it.put_1(rank, 7)
    })
}

/// What reaches beyond the target's window, or is denied there, is dropped and leaves an event.
#[alcor_test(ranks >= 1)]
fn dropped(context: &Context) -> Result {
    context.run(|rank| {
        let me = rank.pid();
        let peer = after(rank, 1);
        let memory = rank.alloc_from(&[9u32; 80])?;
        let small = rank.register(&memory.slice(16..26)?, Rights::ALL)?;
        let denied = rank.register(&memory.slice(48..64)?, Rights::NONE)?;
        let source = rank.alloc_from(&[1u32; 30])?;
        for round in 0..6 {
            let status = match round {
                0 => {
                    rank.lab().paper().put_1(small.base(), peer, 10, 1)?;
                    Status::OutOfBounds
                }
                1 => {
                    rank.lab().paper()
                        .put_n(small.base(), source.addr(), peer, 11, 0)?;
                    Status::OutOfBounds
                }
                2 => {
                    rank.lab().paper()
                        .put_n(small.base(), source.addr(), peer, 2, 9)?;
                    Status::OutOfBounds
                }
                3 => {
                    rank.lab().paper().put_1(denied.base(), peer, 0, 1)?;
                    Status::Denied
                }
                4 => {
                    rank.lab().paper().get(small.base(), small.base(), peer, 3, 8)?;
                    Status::OutOfBounds
                }
                _ => {
                    rank.lab().paper().get(small.base(), denied.base(), peer, 1, 0)?;
                    Status::Denied
                }
            };
            rank.barrier()?;
            let events = rank.lab().events()?;
            holds(
                format_args!("{me}: events in round {round}"),
                "dropped, nothing else",
                events.dropped() && events.bits.count_ones() == 1,
                format_args!("{events:?}"),
            )?;
            let found = events.last_error.and_then(|last| last.status);
            same(
                format_args!("{me}: LAST_ERROR in round {round}"),
                Some(status),
                found,
            )?;
            same(
                format_args!("{me}: REFUSED_IN in round {round}"),
                round + 1,
                rank.lab().counters()?.refused_in,
            )?;
            rank.barrier()?;
        }
        same(
            format_args!("{me}: memory"),
            vec![9; 80],
            rank.read_vec(&memory)?,
        )
    })?;
    Ok(())
}

/// Half a command, followed by another one, leaves an event; the other is served.
#[alcor_test(ranks >= 1)]
fn half_a_command(context: &Context) -> Result {
    Paper::run(context, |rank, it| {
        rank.lab().command(Opcode::Put1, it.inbox.base().0)?;
        it.put_n(rank, 5, 9)?;
        rank.barrier()?;
        let events = rank.lab().events()?;
        let is_expected = events.bad_opcode() && events.bits.count_ones() == 1;
        let place = format_args!("{}: events after half a PUT-1", rank.pid());
        holds(
            place,
            "bad_opcode, nothing else",
            is_expected,
            format_args!("{events:?}"),
        )
    })
}

/// What the commands of a rank work on, and what memory has to be.
struct Paper<'a> {
    context: &'a Context,
    peer: GlobalRank,
    /// The rank that does to this one what this one does to its peer.
    from: GlobalRank,
    inbox: Window<u32>,
    outbox: Window<u32>,
    local: Window<u32>,
    source: Region<u32>,
    expected_inbox: Vec<u32>,
    expected_local: Vec<u32>,
    /// Commands so far: each has data of its own.
    commands: u64,
}

impl<'a> Paper<'a> {
    fn run(
        context: &'a Context,
        what: impl Fn(&mut Rank, &mut Paper) -> Result + Sync,
    ) -> Result {
        Paper::run_with(context, 1, what)
    }

    /// Every rank does `what` with the rank `steps` after it, and all memory is compared.
    fn run_with(
        context: &'a Context,
        steps: u32,
        what: impl Fn(&mut Rank, &mut Paper) -> Result + Sync,
    ) -> Result {
        context.run(|rank| {
            let mut it = Paper::new(context, rank, steps)?;
            what(rank, &mut it)?;
            it.settle(rank)
        })?;
        Ok(())
    }

    fn new(context: &'a Context, rank: &mut Rank, steps: u32) -> Result<Paper<'a>, Failure> {
        let (me, peer, from) = (rank.pid(), after(rank, steps), before(rank, steps));
        let inbox = rank.alloc_from(&words(context, me, 1, WORDS))?;
        let outbox = rank.alloc_from(&words(context, me, 2, WORDS))?;
        let local = rank.alloc_from(&words(context, me, 3, WORDS))?;
        let paper = Paper {
            context,
            peer,
            from,
            expected_inbox: words(context, me, 1, WORDS),
            expected_local: words(context, me, 3, WORDS),
            inbox: rank.register(&inbox, Rights::WRITE)?,
            outbox: rank.register(&outbox, Rights::READ)?,
            local: rank.register(&local, Rights::ALL)?,
            source: rank.alloc::<u32>(LONGEST as usize * SOURCES as usize)?,
            commands: 0,
        };
        rank.barrier()?;
        Ok(paper)
    }

    /// Data of the next command: this rank's, and that of the rank it comes from.
    fn next(&mut self, me: GlobalRank, length: u32) -> (Vec<u32>, Vec<u32>) {
        self.commands += 1;
        let data = |of| words(self.context, of, 10 + self.commands, length as usize);
        (data(me), data(self.from))
    }

    fn put_1(&mut self, rank: &mut Rank, offset: u32) -> Result {
        let (mine, theirs) = self.next(rank.pid(), 1);
        rank.lab().paper()
            .put_1(self.inbox.base(), self.peer, offset, mine[0])?;
        self.expected_inbox[offset as usize] = theirs[0];
        Ok(())
    }

    fn put_n(&mut self, rank: &mut Rank, length: u32, offset: u32) -> Result {
        let (mine, theirs) = self.next(rank.pid(), length);
        // A place of its own as long as it may be under way.
        let at = (self.commands % SOURCES) as usize * LONGEST as usize;
        rank.write(&mut self.source, at, &mine)?;
        let source = self.source.slice(at..)?.addr();
        rank.lab().paper()
            .put_n(self.inbox.base(), source, self.peer, length, offset)?;
        self.expected_inbox[offset as usize..][..length as usize].copy_from_slice(&theirs);
        Ok(())
    }

    fn get(&mut self, rank: &mut Rank, length: u32, offset: u32) -> Result {
        let (local, outbox) = (self.local.base(), self.outbox.base());
        rank.lab().paper().get(local, outbox, self.peer, length, offset)?;
        let theirs = words(self.context, self.peer, 2, WORDS);
        self.expected_local[..length as usize]
            .copy_from_slice(&theirs[offset as usize..][..length as usize]);
        Ok(())
    }

    /// Completes what was asked, and compares all memory.
    fn settle(&mut self, rank: &mut Rank) -> Result {
        rank.barrier()?;
        let me = rank.pid();
        let events = rank.lab().events()?;
        let number = self.commands;
        holds(
            format_args!("{me}: events after command {number}"),
            "none",
            events.is_empty(),
            format_args!("{events:?}"),
        )?;
        let outbox = words(self.context, me, 2, WORDS);
        for (name, window, expected) in [
            ("inbox", &self.inbox, &self.expected_inbox),
            ("outbox", &self.outbox, &outbox),
            ("target of gets", &self.local, &self.expected_local),
        ] {
            let found = rank.read_vec(&window.region().bytes())?;
            let expected: Vec<u8> = expected
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .collect();
            let place = format_args!("{me}: {name} after command {number}, with {}", self.from);
            same_bytes(place, &expected, &found)?;
        }
        rank.barrier()?;
        Ok(())
    }

    /// The last command was refused here, with an event and nothing else.
    fn refused(&self, rank: &mut Rank, status: Status, what: &str) -> Result {
        rank.barrier()?;
        let me = rank.pid();
        let events = rank.lab().events()?;
        holds(
            format_args!("{me}: events after {what}"),
            "refused, nothing else",
            events.refused() && events.bits.count_ones() == 1,
            format_args!("{events:?}"),
        )?;
        let found = events.last_error.and_then(|last| last.status);
        same(
            format_args!("{me}: LAST_ERROR after {what}"),
            Some(status),
            found,
        )
    }
}

/// Sources of commands under way at the same time.
const SOURCES: u64 = 8;

fn words(context: &Context, of: GlobalRank, what: u64, count: usize) -> Vec<u32> {
    let bytes = context.noise(&[what, u64::from(of.0)], 4 * count);
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|word| u32::from_le_bytes(*word)).collect()
}
