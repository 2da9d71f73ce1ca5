//! Boards with link ends: `links=frames`, with and without faults.

use std::sync::Arc;

use alcor::{Error, Job, LinkState, Operation, Rank, Result, Rights};
use alcor_cosim::{CosimBackend, SimCluster};

fn open(uri: &str) -> Arc<SimCluster> {
    CosimBackend::new().open_sim(uri).unwrap()
}

/// Number of words of a put.
const WORDS: usize = 1500;
/// Number of rounds of the program.
const ROUNDS: u32 = 3;

/// Puts, messages and collectives between all ranks. Returns a digest of what has arrived.
pub(crate) fn program(rank: &mut Rank) -> Result<u32> {
    let (me, ranks) = (rank.pid().0, rank.nprocs());
    let inbox = rank.alloc::<u32>(WORDS * ranks as usize)?;
    let window = rank.register(&inbox, Rights::ALL)?;
    let mut digest = 0u32;
    let mut take = |words: &[u32]| {
        for &word in words {
            digest = digest.rotate_left(5) ^ word.wrapping_mul(0x9E37_79B1);
        }
    };
    for round in 0..ROUNDS {
        for to in 0..ranks {
            let word = |n: u32| n.wrapping_mul(7919) ^ me << 24 ^ round << 16 ^ to << 28;
            let words: Vec<u32> = (0..WORDS as u32).map(word).collect();
            rank.put(&window, alcor::GlobalRank(to), me as usize * WORDS, &words)?;
        }
        rank.fence()?;
        let received = rank.read_vec(&inbox)?;
        for (from, part) in received.chunks_exact(WORDS).enumerate() {
            let word = |n: u32| n.wrapping_mul(7919) ^ (from as u32) << 24 ^ round << 16 ^ me << 28;
            let is_right = part.iter().zip(0..).all(|(&found, n)| found == word(n));
            assert!(
                is_right,
                "rank {me}: wrong words of rank {from} in round {round}"
            );
        }
        take(&received);
        let mut sums = [me + round, 1, round];
        let world = rank.world()?;
        world.allreduce_in_place(rank, Operation::Sum, &mut sums)?;
        assert_eq!(sums[1], ranks);
        take(&sums);
    }
    Ok(digest)
}

/// What a run did.
#[derive(Debug, PartialEq)]
struct Done {
    digests: Vec<u32>,
    cycles: u64,
    traffic: u32,
    links: Vec<LinkState>,
}

impl Done {
    fn count(&self, of: impl Fn(&LinkState) -> u32) -> u32 {
        self.links.iter().map(of).sum()
    }
}

fn run_on(cluster: &SimCluster) -> Done {
    let job = Job::new(cluster.cluster().unwrap()).unwrap();
    let digests = job.run(job.ranks(), program).unwrap();
    Done {
        digests,
        cycles: cluster
            .boards()
            .iter()
            .map(|board| board.now())
            .max()
            .unwrap(),
        traffic: cluster.traffic_digest(),
        links: cluster.cluster().unwrap().links().unwrap(),
    }
}

fn done(uri: &str) -> Done {
    run_on(&open(uri))
}

#[test]
fn frames_deliver_the_same_with_and_without_bit_errors() {
    for config in ["ring2", "ring3-small"] {
        let phits = done(config);
        assert!(phits.links.is_empty());
        let clean = done(&format!("{config}?links=frames"));
        assert_eq!(clean.digests, phits.digests, "{config}");
        assert!(clean.cycles > phits.cycles);
        assert!(
            clean.links.iter().all(LinkState::is_open),
            "{:?}",
            clean.links
        );
        assert_eq!(
            clean.count(|link| link.counts.named().iter().map(|it| it.1).sum()),
            0
        );

        let spoilt = done(&format!("{config}?links=frames&link-errors=1e-5"));
        assert_eq!(spoilt.digests, phits.digests, "{config}");
        assert!(
            spoilt.cycles > clean.cycles,
            "{} {}",
            spoilt.cycles,
            clean.cycles
        );
        assert!(
            spoilt.count(|link| link.counts.damaged) > 5,
            "{:?}",
            spoilt.links
        );
        assert!(spoilt.count(|link| link.counts.replays) > 5);
        println!(
            "{config}: {} {} {} cycles",
            phits.cycles, clean.cycles, spoilt.cycles
        );
    }
}

#[test]
fn faults_depend_on_the_seed_alone() {
    let uri = "ring2?links=frames&link-errors=3e-5&link-lost=1e-3&link-bursts=1e-4&link-skew=500";
    let first = open(&format!("{uri}&link-seed=7"));
    let before = run_on(&first);
    // Words of the run before may still be on the links, so the second run may differ.
    assert_eq!(run_on(&first).digests, before.digests);
    for option in ["threads=1", "skip=off", "skip=check", "power-up=3"] {
        assert_eq!(
            done(&format!("{uri}&link-seed=7&{option}")),
            before,
            "{option}"
        );
    }
    let other = done(&format!("{uri}&link-seed=8"));
    assert_eq!(other.digests, before.digests);
    assert_ne!(other.cycles, before.cycles);
}

#[test]
fn an_idle_link_end_skips() {
    let cluster = open("ring2?links=frames");
    run_on(&cluster);
    let before = cluster.skipped_cycles();
    cluster.idle(100_000).unwrap();
    let skipped = cluster.skipped_cycles() - before;
    assert!(skipped > 190_000, "{skipped}");
}

#[test]
fn cables_that_fail_for_a_while_lose_nothing() {
    let phits = done("ring2").digests;
    for (fault, count) in [
        ("link-cable=0.0@3000-9000", "falls"),
        ("link-cable=0.1@2000-2500,1.0@8000-20000", "falls"),
        ("link-dark=1.1@2500-30000", "falls"),
        ("link-mute=1.0@2000-30000", "timeouts"),
        ("link-mute=0.1@2000-30000,0.0@2000-30000", "retrains"),
    ] {
        let found = done(&format!("ring2?links=frames&{fault}"));
        assert_eq!(found.digests, phits, "{fault}");
        let named = |link: &LinkState| {
            let counts = link.counts.named();
            counts
                .iter()
                .find(|(name, _)| *name == count)
                .map_or(0, |it| it.1)
        };
        assert!(found.count(named) > 0, "{fault}: {:?}", found.links);
        assert!(
            found.links.iter().all(LinkState::is_open),
            "{fault}: {:?}",
            found.links
        );
    }
}

#[test]
fn boards_that_begin_one_after_the_other_lose_nothing() {
    let phits = done("ring3-small").digests;
    for seed in 0..crate::fixture::seeds(2, 4) {
        let uri = "ring3-small?links=frames&link-skew=3000&link-errors=1e-5";
        let cluster = open(&format!("{uri}&link-seed={seed}"));
        // From the second run on, words of the run before arrive first.
        for _ in 0..3 {
            assert_eq!(run_on(&cluster).digests, phits, "seed {seed}");
        }
    }
}

#[test]
fn a_cable_that_stays_pulled_is_named() {
    let cluster = open("ring2?links=frames&link-cable=0.0@3000-,0.1@3000-");
    let options = alcor::Options::default().watchdog_cycles(20_000);
    let job = Job::with_options(cluster.cluster().unwrap(), options).unwrap();
    let error = job.run(job.ranks(), program).unwrap_err();
    let text = error.to_string();
    for link in ["board 0, link 0", "board 1, link 1"] {
        assert!(
            text.contains(&format!("; {link}: down: no light arrives")),
            "{text}"
        );
    }
    let (Some(Error::Watchdog { links, .. }), 4) = (error.error(), text.matches(", link ").count())
    else {
        panic!("{text}");
    };
    assert_eq!(links.len(), 4);
    // The cables are there until cycle 3000 of the next run.
    assert!(job.run(job.ranks(), |rank| rank.barrier()).is_ok());
}

#[test]
fn options_are_checked() {
    let says = |uri: &str| {
        let opened = CosimBackend::new().open_sim(uri);
        opened
            .err()
            .map_or_else(String::new, |error| error.to_string())
    };
    assert!(says("ring2?link-errors=1e-5").contains("links=frames beside them"));
    assert!(says("ring2?links=wires").contains("phits or frames"));
    assert!(
        says("rma2?links=frames").contains("such as ring2"),
        "{}",
        says("rma2?links=frames")
    );
    let damage = says("ring2?links=frames&link-damage=1e-3");
    assert!(damage.contains("links=phits beside it"), "{damage}");
    assert!(says("rma2?link-damage=1e-3").contains("a configuration with links"));
    assert!(says("ring2?links=frames&PHIT_W=512").contains("PHIT_W"));
    assert!(says("ring2?links=frames&link-errors=1").contains("less than 1"));
    assert!(says("ring2?links=frames&link-cable=0.0").contains("BOARD.PORT@FROM-TO"));
    assert!(says("ring2?links=frames&link-cable=0.0@9-9").contains("BOARD.PORT@FROM-TO"));
    assert!(says("ring2?links=frames&link-dark=2.0@5-9").contains("a board below 2"));
    assert!(says("ring2?links=frames&link-gbps=95.9").contains("10 to 85"));
    assert!(says("ring2?links=frames&link-latency=801").contains("800 at most"));
}

/// Cycles of a put of a word to another board, until it is acknowledged, and of a put of a stream.
fn costs(uri: &str) -> (u64, u64) {
    const BYTES: usize = 1 << 18;
    let cluster = open(uri);
    let job = Job::new(cluster.cluster().unwrap()).unwrap();
    let costs = job.run(job.ranks(), |rank| {
        let inbox = rank.alloc::<u32>(BYTES / 4)?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let data = rank.alloc_from(&vec![7u32; BYTES / 4])?;
        rank.barrier()?;
        let mut costs = [0; 2];
        if rank.pid().0 == 0 {
            let far = alcor::GlobalRank(rank.nprocs() / 2);
            for (cost, count) in costs.iter_mut().zip([1, BYTES / 4]) {
                // The first put meets a link that may not be open yet.
                for _ in 0..2 {
                    let before = rank.now()?;
                    rank.put(&window, far, 0, &data.slice(0..count)?)?;
                    *cost = rank.now()?.0 - before.0;
                }
            }
        }
        rank.barrier()?;
        Ok((costs[0], costs[1]))
    });
    costs.unwrap()[0]
}

/// The table of hw/link/doc/link.md, as bounds.
#[test]
fn frames_cost_a_little() {
    let (phit_word, phit_stream) = costs("u280");
    let (word, stream) = costs("u280?links=frames");
    println!("word {phit_word} {word}, stream {phit_stream} {stream} cycles");
    // Both ends of a link and two ways, less the 20 cycles by which the medium is faster.
    assert!(
        (phit_word..phit_word + 16).contains(&word),
        "{phit_word} {word}"
    );
    assert!(
        (phit_stream..phit_stream * 10 / 9).contains(&stream),
        "{phit_stream} {stream}"
    );
}
