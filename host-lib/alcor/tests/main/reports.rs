//! Reports of long waits.

use std::sync::Mutex;
use std::time::Duration;

use alcor::soft::SoftBoard;
use alcor::{Error, GlobalRank, Job, Options, identify};

/// What the ranks of the test have reported.
static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn tell(wait: &Error) {
    TOLD.lock().unwrap().push(wait.to_string());
}

fn count(rank: &str) -> usize {
    let told = TOLD.lock().unwrap();
    told.iter().filter(|text| text.contains(rank)).count()
}

#[test]
fn a_long_wait_is_reported_again_and_again_and_goes_on() {
    let board = SoftBoard::new(3);
    let clock = u64::from(identify(&*board).unwrap().clock_khz);
    let after = Duration::from_nanos(1000 * 1_000_000 / clock);
    let options = Options::default().report_waits(after, tell);
    Job::with_options(board, options)
        .unwrap()
        .run(3, |rank| {
            if rank.pid() == GlobalRank(1) {
                // The others wait until each of them has reported its wait three times.
                let limit = rank.now()?.0 + 1_500_000;
                let is_told = || count("rank 0 waited").min(count("rank 2 waited")) >= 3;
                while !is_told() && rank.now()?.0 < limit {}
                rank.send(GlobalRank(2), 4, &[7u32])?;
            } else if rank.pid() == GlobalRank(2) {
                let mut found = [0u32];
                rank.recv(GlobalRank(1), 4, &mut found)?;
                assert_eq!(found, [7]);
            }
            rank.barrier()
        })
        .unwrap();
    let told = TOLD.lock().unwrap().clone();
    for (rank, what) in [
        ("rank 0 waited", "for BARRIER"),
        ("rank 2 waited", "for receive of"),
    ] {
        let mut waited: Vec<u64> = Vec::new();
        for text in told
            .iter()
            .filter(|text| text.contains(rank) && text.contains(what))
        {
            let cycles = text
                .split("waited ")
                .nth(1)
                .and_then(|rest| rest.split(' ').next());
            waited.push(cycles.unwrap().parse().unwrap());
        }
        // Each report comes after twice the time of the one before it.
        assert!(waited.len() >= 3 && waited[0] >= 1000, "{told:#?}");
        assert!(waited[..3].is_sorted_by(|a, b| 2 * a <= *b), "{told:#?}");
    }
}
