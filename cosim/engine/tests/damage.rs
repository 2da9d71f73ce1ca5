//! Packets that are damaged inside a board, where the link ends do not repeat them: `link-damage`.

use alcor::{Causes, Cycle, Error, GlobalRank, Job, JobError, Rank, Result, Rights, Status};
use alcor_cosim::CosimBackend;

use crate::frames::program;

/// Number of words of a transfer: several packets.
const WORDS: usize = 700;

/// Gets and messages between all ranks, each checked when its call returns.
fn gets_and_messages(rank: &mut Rank) -> Result<u32> {
    let (me, ranks) = (rank.pid().0, rank.nprocs());
    let word = |of: u32, n: usize| (n as u32).wrapping_mul(7919) ^ of << 24;
    let mut outbox = rank.alloc::<u32>(WORDS)?;
    let mine: Vec<u32> = (0..WORDS).map(|n| word(me, n)).collect();
    rank.write(&mut outbox, 0, &mine)?;
    let window = rank.register(&outbox, Rights::ALL)?;
    rank.fence()?;
    let is_of = |of: u32, found: &[u32]| found.iter().enumerate().all(|(n, &it)| it == word(of, n));
    for round in 0..8 {
        let other = (me + 1 + round % (ranks - 1)) % ranks;
        let mut found = vec![0; WORDS];
        rank.get(&window, GlobalRank(other), 0, &mut found)?;
        assert!(is_of(other, &found), "rank {me}: a get of false words");
        // A short message, and one that its receiver fetches.
        for length in [50, WORDS] {
            let from = (me + ranks - 1) % ranks;
            let mut received = vec![0; length];
            let to = GlobalRank((me + 1) % ranks);
            let request = rank.isend(to, round, &mine[..length])?;
            rank.recv(GlobalRank(from), round, &mut received)?;
            assert!(
                is_of(from, &received),
                "rank {me}: a message of false words"
            );
            rank.wait(request)?;
        }
    }
    Ok(0)
}

/// Programs check each word. A run passes, or its error names damage.
#[test]
fn a_run_passes_or_its_error_names_damage() {
    // Eight words in a phit, and one.
    for (config, chance) in [
        ("ring2", 8e-5),
        ("ring2?DATA_W=256&PAYLOAD_WORDS=512", 1e-4),
        ("ring3-small", 8e-5),
    ] {
        let (mut passed, mut damaged) = (0, 0);
        for seed in 0..crate::fixture::seeds(8, 24) {
            let separator = if config.contains('?') { '&' } else { '?' };
            let uri = format!("{config}{separator}link-damage={chance}&link-seed={seed}");
            let cluster = CosimBackend::new().open_sim(&uri).unwrap();
            let job = Job::new(cluster.cluster().unwrap()).unwrap();
            let program = if seed % 2 == 0 {
                program
            } else {
                gets_and_messages
            };
            match job.run(job.ranks(), program) {
                Ok(_) => passed += 1,
                Err(error) => {
                    // A run begins with a reset.
                    assert!(job.run(job.ranks(), Rank::barrier).is_ok(), "{uri}");
                    assert!(is_of_damage(error.error()), "{uri}: {error}");
                    assert!(error.to_string().contains("amaged"), "{uri}: {error}");
                    damaged += 1;
                }
            }
        }
        assert!(
            passed > 2 && damaged > 2,
            "{config}: {passed} passed, {damaged} damaged"
        );
    }
}

fn is_of_damage(error: Option<&Error>) -> bool {
    match error {
        Some(Error::PacketDamaged { .. }) => true,
        Some(Error::Refused { status, .. }) => *status == Status::Damaged,
        _ => false,
    }
}

/// A put whose packet is cut off ends with ST_DAMAGED at its sender, while the ranks of the receiving
/// board look at no event.
#[test]
fn a_damaged_put_is_told_to_its_sender() {
    for config in ["ring2", "ring2?DATA_W=256&PAYLOAD_WORDS=512"] {
        let mut told = 0;
        for seed in 0..12 {
            let separator = if config.contains('?') { '&' } else { '?' };
            let uri = format!("{config}{separator}link-damage=5e-3&link-seed={seed}");
            let cluster = CosimBackend::new().open_sim(&uri).unwrap();
            let job = Job::new(cluster.cluster().unwrap()).unwrap();
            let results = job.run_each(job.ranks(), put_to_those_who_sleep).unwrap();
            let statuses = results.iter().filter_map(|result| match result {
                Err(JobError::Failed {
                    source: Error::Refused { status, .. },
                    ..
                }) => Some(*status),
                _ => None,
            });
            for status in statuses {
                assert_eq!(status, Status::Damaged, "{uri}");
                told += 1;
            }
        }
        assert!(told > 1, "{config}: {told} puts");
    }
}

/// Rank 0 puts to rank 2, on the other board, whose ranks wait without the library.
fn put_to_those_who_sleep(rank: &mut Rank) -> Result<()> {
    let inbox = rank.alloc::<u32>(128)?;
    let window = rank.register(&inbox, Rights::ALL)?;
    match rank.pid().0 {
        0 => {
            for _ in 0..20 {
                rank.put(&window, GlobalRank(2), 0, &[7u32; 100])?;
                rank.flush(GlobalRank(2))?;
            }
        }
        2 | 3 => {
            let until = Cycle(rank.now()?.0 + 20_000);
            rank.lab().port().wait(Causes(0), until)?;
        }
        _ => {}
    }
    rank.fence()
}
