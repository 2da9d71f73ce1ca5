//! Tests on a board: `cargo test --test board`; another board is
//! `ALCOR_TEST_BACKEND=cosim:ring4 cargo test --test board`.

use alcor::GlobalRank;
use alcor_test::{Context, Result, alcor_test, before, same};
use {{crate}}::{shift, sum_of_squares};

/// Every rank gets the sum.
#[alcor_test(ranks >= 2)]
fn squares(context: &Context) -> Result {
    let n = u64::from(context.ranks());
    let sums = context.run(|rank| Ok(sum_of_squares(rank)?))?;
    same("the sums", vec![n * (n + 1) * (2 * n + 1) / 6; sums.len()], sums)
}

/// Values travel to the next rank; they come from the test's seed.
#[alcor_test(ranks >= 2)]
fn values_shift_by_one(context: &Context) -> Result {
    let values = |rank: GlobalRank| context.noise(&[rank.0.into()], 100).into_iter().map(f64::from);
    context.run(|rank| {
        let mine: Vec<f64> = values(rank.pid()).collect();
        let expected: Vec<f64> = values(before(rank, 1)).collect();
        same("the values", expected, shift(rank, &mine)?)
    })?;
    Ok(())
}

/// A receive takes the message of its tag, also when another message came first.
#[alcor_test(ranks >= 2, needs = [Messages])]
fn messages_are_told_apart(context: &Context) -> Result {
    context.run(|rank| match rank.pid().0 {
        0 => {
            let (one, two) = (rank.alloc_from(&[1u32])?, rank.alloc_from(&[2u32])?);
            let sends = [rank.isend(GlobalRank(1), 1, &one)?, rank.isend(GlobalRank(1), 2, &two)?];
            rank.wait_all(sends)?;
            Ok(())
        }
        1 => {
            let mut words = [0u32; 2];
            rank.recv(GlobalRank(0), 2, &mut words[..1])?;
            rank.recv(GlobalRank(0), 1, &mut words[1..])?;
            same("the messages", [2, 1], words)
        }
        _ => Ok(()),
    })?;
    Ok(())
}
