//! The functions of the ranks, which the program and the tests call.

use alcor::{Operation, Rank, Result, Rights};

/// The sum of the squares of 1 to the number of ranks, which each rank gets.
pub fn sum_of_squares(rank: &mut Rank) -> Result<u64> {
    let mine = u64::from(rank.pid().0) + 1;
    let world = rank.world()?;
    let mut sum = [0];
    world.allreduce(rank, Operation::Sum, &[mine * mine], &mut sum)?;
    Ok(sum[0])
}

/// Puts `values` into the memory of the next rank, and returns those of the rank before.
pub fn shift(rank: &mut Rank, values: &[f64]) -> Result<Vec<f64>> {
    let inbox = rank.alloc::<f64>(values.len())?;
    let window = rank.register(&inbox, Rights::ALL)?; // all ranks together
    rank.put(&window, rank.neighbour(1), 0, values)?;
    rank.fence()?; // all data is there, everywhere
    rank.read_vec(&inbox)
}
