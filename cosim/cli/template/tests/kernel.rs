//! A test of the kernel `hw/ring_put.sv`.

use alcor::{Rights, Status};
use alcor_test::{Context, Result, after, alcor_test, before, same};

/// The kernel of each rank puts a block to the next rank.
#[alcor_test(ranks >= 2, kernel = "rput")]
fn kernels_put_to_the_next_rank(context: &Context) -> Result {
    context.run(|rank| {
        let inbox = rank.alloc::<u32>(8)?;
        let window = rank.register(&inbox, Rights::ALL)?; // all ranks together
        let block = rank.alloc_from(&[rank.pid().0; 8])?;
        let (slot, target) = (u32::from(window.slot()), after(rank, 1).0);
        let mut kernel = rank.kernel()?;
        kernel.start(&[slot, target, 0, block.addr().0, block.byte_len()])?;
        same("the kernel's code", Status::Ok as u8, kernel.wait()?)?;
        rank.barrier()?; // all kernels have ended
        same("the inbox", vec![before(rank, 1).0; 8], rank.read_vec(&inbox)?)
    })?;
    Ok(())
}
