//! Random programs against a reference that knows only what the words mean.
//!
//! [`plan`] writes a program from a seed, such that its outcome is determined: between two fences a
//! byte is written by one rank at most, and read by others only if nobody writes it. While it
//! writes, it keeps a plain copy of every rank's part of every window; what each get has to find,
//! and what memory has to be after each fence, comes from there. [`execute`] runs the program.

mod execute;
mod plan;

use alcor::Options;
use alcor_test::{Context, Result, alcor_test};

use plan::{Plan, Size};

/// One long program on all ranks.
#[alcor_test(ranks >= 2)]
fn program(context: &Context) -> Result {
    let size = Size {
        operations: context.scale(12_000, 300_000),
        each: 24,
    };
    run(context, 0, context.ranks(), Options::default(), size)
}

/// Short programs on all numbers of ranks, with rings of all sizes.
#[alcor_test(ranks >= 1)]
fn programs(context: &Context) -> Result {
    for number in 1..=context.scale(18, 360) {
        let ranks = 1 + (number as u32) % context.ranks();
        let options = Options::default().ring_entries(1 << (number % 9));
        let size = Size {
            operations: 150,
            each: 12,
        };
        run(context, number, ranks, options, size)?;
    }
    Ok(())
}

/// A fence after every few operations: registrations and barriers weigh most.
#[alcor_test(ranks >= 2)]
fn short_epochs(context: &Context) -> Result {
    let size = Size {
        operations: context.scale(1000, 20_000),
        each: 3,
    };
    run(context, 1000, context.ranks(), Options::default(), size)
}

/// Writes the program of that number, and runs it.
fn run(
    context: &Context,
    number: u64,
    ranks: u32,
    options: Options,
    size: Size,
) -> Result {
    let plan = Plan::new(context, number, ranks, size);
    context.run_with(options, ranks, |rank| execute::execute(&plan, rank))?;
    Ok(())
}
