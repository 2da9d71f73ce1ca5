//! Several virtual cards, whose boards are joined by links, as a cluster of a farm.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use alcor::{
    Backend, Cluster, Error, GlobalRank, Job, LinkState, Operation, Options, Rank, Rights, Topology,
};
use alcor_abi::board::CONTROL;
use alcor_cosim::CosimBackend;
use alcor_farm::ClusterBackend;
use alcor_vcard::VirtualCard;
use alcor_xdma::Peers;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use xdma::Function;

use crate::host::{CardFunction, open_board};
use crate::{repetitions, seed};

const FARM: &str = r#"
    schema = 1
    [boards.left]
    host = "localhost"
    address = "0000:3b:00.0"
    [boards.right]
    host = "localhost"
    address = "0000:5e:00.0"
    [[links]]
    ends = ["left.0", "right.1"]
    [[links]]
    ends = ["right.0", "left.1"]
    [clusters.lab]
    boards = ["left", "right"]
    topology = [2]
    ranks = 2
"#;

/// The cluster `lab` over two virtual cards.
struct Lab {
    cluster: Cluster,
    cards: Vec<Arc<CardFunction>>,
    /// The folder of its locks.
    _folder: tempfile::TempDir,
}

fn lab(config: &str) -> Lab {
    let boards = CosimBackend::new().open_free(config);
    let boards = boards.expect("simulated boards").into_iter();
    let cards: Vec<Arc<CardFunction>> = boards
        .map(|board| Arc::new(CardFunction::new(VirtualCard::new(board))))
        .collect();
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("boards.toml"), FARM).expect("a file");
    Lab {
        cluster: open(&cards, folder.path()),
        cards,
        _folder: folder,
    }
}

/// The cluster over these cards, with locks in a folder.
fn open(cards: &[Arc<CardFunction>], folder: &Path) -> Cluster {
    let locks = folder.to_owned();
    let functions = cards.to_vec();
    let backend = ClusterBackend::new().file(folder.join("boards.toml"));
    let backend = backend.opening(move |name, rest, peers| {
        let (number, address) = match name {
            "left" => (0, "0000:3b:00.0?driver=vfio"),
            _ => (1, "0000:5e:00.0?driver=vfio"),
        };
        assert_eq!(rest, address);
        open_board(
            Arc::clone(&functions[number]) as _,
            &locks.join(name),
            peers,
        )
    });
    backend.open("lab?driver=vfio").expect("the cluster")
}

/// Each rank puts its number into the inbox of the next, sends it to the one after, and adds up
/// all numbers.
fn exchange(rank: &mut Rank) -> alcor::Result<(u32, u32, u32)> {
    let (me, ranks) = (rank.pid().0, rank.nprocs());
    let inbox = rank.alloc::<u32>(64)?;
    let window = rank.register(&inbox, Rights::ALL)?;
    rank.put(&window, rank.neighbour(1), 0, &[me + 1; 64])?;
    rank.fence()?;
    let put = rank.read_vec(&inbox)?;
    assert!(put.iter().all(|&value| value == put[0]), "{put:?}");
    rank.send(GlobalRank((me + 2) % ranks), 7, &[me + 1])?;
    let mut sent = [0];
    rank.recv(GlobalRank((me + ranks - 2) % ranks), 7, &mut sent)?;
    let mut sum = [me + 1];
    let world = rank.world()?;
    world.allreduce_in_place(rank, Operation::Sum, &mut sum)?;
    Ok((put[0], sent[0], sum[0]))
}

#[test]
fn ranks_of_two_cards_meet_in_run_after_run() {
    let Lab {
        cluster, _folder, ..
    } = lab("ring2");
    assert_eq!(cluster.name(), "cluster:lab?driver=vfio");
    let job = Job::new(&cluster).expect("a job");
    assert_eq!(job.ranks(), 4);
    let expected = [(4, 3, 10), (1, 4, 10), (2, 1, 10), (3, 2, 10)];
    for round in 0..2 {
        assert_eq!(job.run(4, exchange).expect("a run"), expected, "{round}");
        // A run that ends in the middle of traffic between the boards.
        let has_put = AtomicU32::new(0);
        let failed = job.run(4, |rank| {
            let inbox = rank.alloc::<u32>(4096)?;
            let window = rank.register(&inbox, Rights::ALL)?;
            for _ in 0..2 {
                let target = GlobalRank((rank.pid().0 + 2) % 4);
                let _ = rank.iput(&window, target, 0, &[0xdead_u32; 4096])?;
            }
            if has_put.fetch_add(1, Ordering::Relaxed) == 3 {
                return Err(Error::program("the end"));
            }
            rank.barrier()
        });
        assert!(failed.is_err());
    }
    for link in cluster.links().expect("the links") {
        assert_eq!(link.trouble(), None, "{link}");
    }
}

#[test]
fn a_dead_rank_is_named_on_both_boards() {
    let Lab {
        cluster, _folder, ..
    } = lab("ring2");
    let info = cluster.prepare(4).expect("boards");
    let mut ports: Vec<_> = (0..4)
        .map(|rank| {
            let board = Arc::clone(&cluster.boards()[rank / 2]);
            let local = alcor::LocalRank(rank as u32 % info.ranks);
            board.attach(local).expect("a port")
        })
        .collect();
    drop(ports.remove(3));
    for port in &mut ports {
        let awaited = alcor::Causes::from(alcor_abi::rank::causes::COMPLETION);
        let found = port.wait(awaited, alcor::Cycle(u64::MAX));
        assert!(
            matches!(found, Err(Error::PeerDied { rank, .. }) if rank == GlobalRank(3)),
            "{found:?}"
        );
    }
}

#[test]
fn a_card_that_is_reset_alone_closes_its_links() {
    let Lab {
        cluster, _folder, ..
    } = lab("ring2");
    cluster.prepare(4).expect("boards");
    let links = || cluster.links().expect("the links");
    while !links().iter().all(LinkState::is_open) {}
    // A run that other processes know nothing of, on one board.
    cluster
        .prepare_boards(1..2, 4, || Ok(cluster.draw_key()))
        .expect("a board");
    while !links()[..2].iter().all(LinkState::is_stale) {}
    assert!(!links()[2..].iter().any(LinkState::is_open));
    let trouble = links()[0].trouble().unwrap_or_default();
    assert!(trouble.contains("reset all boards of the run"), "{trouble}");
    Job::new(&cluster)
        .expect("a job")
        .run(4, exchange)
        .expect("a run after a reset of both");
}

/// The end of a run before its time.
#[derive(Debug, Clone, Copy)]
enum End {
    /// The program of a rank returns an error.
    Rank(u32),
    /// Another process resets a board.
    Board(usize),
    /// Another process resets this board, and the other one after this time.
    Boards(usize, Duration),
    /// A card loses its power on the side of the host: reads return all ones.
    Gone(usize),
}

/// A run with puts, messages and collectives ends at any moment. Each call returns, and the next run has the right results.
/// The seed gives the ends and their times; the state of the run at that time depends on the machine.
#[test]
fn runs_end_at_any_moment() {
    let mut random = ChaCha8Rng::seed_from_u64(seed());
    let mut lab = lab("ring2");
    let mut job = Job::new(&lab.cluster).expect("a job");
    let began = Instant::now();
    job.run(4, exchange).expect("a run");
    let longest = 2 * began.elapsed();
    let reset = |cards: &[Arc<CardFunction>]| {
        for card in cards {
            let page = card.map(0, 0, 4096).expect("the board's page");
            page.write32(CONTROL as usize, 1);
        }
    };
    let rounds = repetitions(10, 1_000);
    let mut failed = 0;
    for round in 0..rounds {
        let end = match random.random_range(0..4) {
            0 => End::Rank(random.random_range(0..4)),
            1 => End::Board(random.random_range(0..2)),
            2 => End::Gone(random.random_range(0..2)),
            _ => {
                let skew = longest.mul_f64(random.random::<f64>().powi(3));
                End::Boards(random.random_range(0..2), skew)
            }
        };
        let moment = longest.mul_f64(random.random());
        let began = Instant::now();
        let result = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(moment);
                match end {
                    End::Rank(_) => {}
                    End::Board(board) => reset(&lab.cards[board..=board]),
                    End::Boards(first, skew) => {
                        reset(&lab.cards[first..=first]);
                        thread::sleep(skew);
                        reset(&lab.cards[1 - first..=1 - first]);
                    }
                    End::Gone(board) => lab.cards[board].is_gone.store(true, Ordering::Relaxed),
                }
            });
            job.run(4, |rank| {
                for _ in 0..3 {
                    if matches!(end, End::Rank(victim) if rank.pid() == GlobalRank(victim))
                        && began.elapsed() > moment
                    {
                        return Err(Error::program("the end"));
                    }
                    exchange(rank)?;
                }
                Ok(())
            })
        });
        let took = began.elapsed();
        assert!(
            took < Duration::from_secs(60),
            "round {round}, {end:?}: {took:?}"
        );
        failed += u32::from(result.is_err());
        if let End::Gone(board) = end {
            // Its DMA channels are lost, so the cards are opened again.
            lab.cards[board].is_gone.store(false, Ordering::Relaxed);
            drop((job, lab.cluster));
            lab.cluster = open(&lab.cards, lab._folder.path());
            job = Job::new(&lab.cluster).expect("a job");
        }
        let expected = [(4, 3, 10), (1, 4, 10), (2, 1, 10), (3, 2, 10)];
        let next = job.run(4, exchange);
        let next = next.unwrap_or_else(|error| panic!("round {round}, after {end:?}: {error}"));
        assert_eq!(next, expected, "round {round}, after {end:?}");
    }
    assert!(
        failed >= rounds / 4,
        "{failed} of {rounds} runs ended before their time"
    );
}

/// Two jobs run at once, each on three boards of a torus that form a ring. Cables join the boards of both. Each run of one
/// job ends with an error, and the next one resets its boards. The other job has the right results, and its links to the
/// first one's boards stay closed.
#[test]
fn jobs_on_cabled_boards_never_meet() {
    let boards = CosimBackend::new().open_free("torus6");
    let locks = tempfile::tempdir().expect("a folder");
    let peers = [Peers::default(), Peers::default()];
    let boards = boards.expect("simulated boards").into_iter().enumerate();
    let boards: Vec<_> = boards
        .map(|(number, board)| {
            let function = Arc::new(CardFunction::new(VirtualCard::new(board)));
            let locks = locks.path().join(number.to_string());
            let board = open_board(function as _, &locks, &peers[number / 3]);
            board.expect("a board") as Arc<dyn alcor::Board>
        })
        .collect();
    let cluster = |boards: &[Arc<dyn alcor::Board>]| {
        let ring = Topology::torus(&[3]).expect("a ring");
        Cluster::new(boards.to_vec(), ring).expect("a cluster")
    };
    let (steady, restless) = (cluster(&boards[..3]), cluster(&boards[3..]));
    // Links 2 and 3 of a board lead to boards of the other job. They open if both runs have the same key.
    for cluster in [&steady, &restless] {
        let prepared = cluster.prepare_boards(0..3, 3, || Ok(77));
        prepared.expect("boards");
    }
    let met = steady.meets_another_run(0..3).expect("links");
    assert!(met.is_some_and(|link| link.port >= 2 && link.is_open()));
    // A run that begins does not keep that key. The links stay closed between new epochs of both.
    for cluster in [&steady, &restless] {
        cluster.prepare(3).expect("boards");
    }
    let links = || {
        let links = [&steady, &restless].map(|cluster| cluster.links().expect("the links"));
        let links = links.iter().flatten();
        links.map(LinkState::is_open).collect::<Vec<_>>()
    };
    let own = [true, true, false, false].repeat(6);
    while !links().iter().zip(&own).all(|(&open, &own)| open || !own) {}
    thread::sleep(Duration::from_millis(200));
    assert_eq!(links(), own);
    let expected = [(3, 2, 6), (1, 3, 6), (2, 1, 6)];
    let runs = AtomicU32::new(0);
    thread::scope(|scope| {
        let failing = scope.spawn(|| {
            let job = Job::new(&restless).expect("a job");
            while runs.load(Ordering::Relaxed) < 5 {
                let result = job.run(3, |rank| {
                    exchange(rank)?;
                    let inbox = rank.alloc::<u32>(4096)?;
                    let window = rank.register(&inbox, Rights::ALL)?;
                    let _ = rank.iput(&window, rank.neighbour(1), 0, &[0xdead_u32; 4096])?;
                    if rank.pid() == GlobalRank(1) {
                        return Err(Error::program("the end"));
                    }
                    rank.barrier()
                });
                assert!(result.is_err());
            }
            assert_eq!(job.run(3, exchange).expect("a run"), expected);
        });
        let job = Job::new(&steady).expect("a job");
        while !failing.is_finished() {
            assert_eq!(job.run(3, exchange).expect("a run"), expected);
            runs.fetch_add(1, Ordering::Relaxed);
        }
    });
}

#[test]
fn a_pulled_cable_is_named() {
    let Lab {
        cluster, _folder, ..
    } = lab("ring2?link-cable=0.0@0-,0.1@0-");
    for options in [
        Options::default().watchdog_cycles(20_000),
        Options::default().lost_link_after(Some(Duration::from_micros(100))),
    ] {
        let job = Job::with_options(&cluster, options).expect("a job");
        let error = job.run(4, exchange).expect_err("no cable").to_string();
        assert!(
            error.contains("link 0: down: no light arrives; check the cable"),
            "{error}"
        );
    }
}

/// A run goes on after a cable was out for a short time, and ends if it stays out. No watchdog limits the waits.
#[test]
fn a_cable_that_is_pulled_in_a_run_ends_it_after_a_time() {
    let Lab {
        cluster, _folder, ..
    } = lab("ring2?link-cable=0.0@40000-60000,0.1@40000-60000,0.0@120000-,0.1@120000-");
    let options = Options::default().lost_link_after(Some(Duration::from_micros(200)));
    let job = Job::with_options(&cluster, options).expect("a job");
    let runs = AtomicU32::new(0);
    let error = job
        .run(4, |rank| {
            let (world, other) = (rank.world()?, GlobalRank((rank.pid().0 + 2) % 4));
            loop {
                let (mut sum, mut sent) = ([1], [0]);
                world.allreduce_in_place(rank, Operation::Sum, &mut sum)?;
                rank.send(other, 7, &[rank.pid().0])?;
                rank.recv(other, 7, &mut sent)?;
                assert_eq!((sum, sent), ([4], [other.0]));
                runs.fetch_add(1, Ordering::Relaxed);
            }
        })
        .map(|_: Vec<()>| ())
        .expect_err("no cable");
    assert!(
        matches!(
            error.error(),
            Some(Error::LinkLost { cycles: 50_000.., link, .. }) if link.is_down()
        ),
        "{error}"
    );
    assert!(runs.into_inner() >= 20);
}

/// A run ends if nothing comes from the other board any more, although light arrives: the link is up for most of the time.
#[test]
fn a_link_whose_other_end_is_silent_ends_the_run_after_a_time() {
    let Lab {
        cluster, _folder, ..
    } = lab("ring2?link-mute=0.0@60000-,0.1@60000-");
    let options = Options::default().lost_link_after(Some(Duration::from_micros(200)));
    let job = Job::with_options(&cluster, options).expect("a job");
    let error = job
        .run(4, |rank| {
            let world = rank.world()?;
            loop {
                let mut sum = [1];
                world.allreduce_in_place(rank, Operation::Sum, &mut sum)?;
            }
        })
        .map(|_: Vec<()>| ())
        .expect_err("no words");
    let lost = error.error();
    assert!(
        matches!(
            lost,
            Some(Error::LinkLost {
                cycles: 50_000..,
                ..
            })
        ),
        "{error}"
    );
    assert!(error.to_string().contains(" retrains)"), "{error}");
}

#[test]
fn phits_without_frames_and_options_of_standing_time_are_refused() {
    for (config, words) in [
        ("ring2?links=phits", "frames, because a reset of one board"),
        ("ring2?log=100", "a board whose time stands still"),
        ("rma2?links=frames", "links=frames needs several boards"),
    ] {
        let error = CosimBackend::new().open_free(config).err();
        let error = error.expect("an error").to_string();
        assert!(error.contains(words), "{config}: {error}");
    }
}
