//! EVENTS.unrouted in any wait of the library: it fails one call, and divides no message.

use std::sync::Arc;

use alcor::soft::{SoftBoard, SoftConfig};
use alcor::{
    Board, BoardLayer, Causes, Cluster, Cycle, Error, Job, LocalRank, Operation, Options,
    PageOffset, Port, PortLayer, Rank, Result, Wake,
};
use alcor_abi::rank::{EVENTS, causes, events};

/// A board whose rank 1 gets EVENTS.unrouted once, in the wait of number `at`.
struct Striking {
    below: Arc<dyn Board>,
    at: u32,
}

struct StrikingPort {
    below: Box<dyn Port>,
    waits: Option<u32>,
    is_due: bool,
}

impl BoardLayer for Striking {
    fn below(&self) -> &Arc<dyn Board> {
        &self.below
    }
    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>> {
        let below = Arc::clone(&self.below).attach(rank)?;
        let waits = (rank == LocalRank(1)).then_some(self.at);
        Ok(Box::new(StrikingPort {
            below,
            waits,
            is_due: false,
        }))
    }
}

impl PortLayer for StrikingPort {
    fn below(&mut self) -> &mut dyn Port {
        &mut *self.below
    }
    fn read32(&mut self, offset: PageOffset) -> Result<u32> {
        let found = self.below.read32(offset)?;
        let is_struck = offset.0 == EVENTS && std::mem::take(&mut self.is_due);
        let event = events::UNROUTED.put(is_struck.into());
        Ok(found | event)
    }
    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake> {
        if self.waits == Some(0) {
            (self.waits, self.is_due) = (None, true);
            return Ok(Wake::Raised(Causes(causes::EVENT.mask())));
        }
        self.waits = self.waits.map(|waits| waits - 1);
        self.below.wait(awaited, deadline)
    }
}

/// Runs `program` with the event in each of `waits`. Returns the number of failed calls.
fn strike(
    waits: impl Iterator<Item = u32>,
    options: &Options,
    program: impl Fn(&mut Rank) -> Result<u32> + Sync,
) -> u32 {
    let mut failed = 0;
    // Which command waits for room depends on the room.
    for (at, commands) in waits.flat_map(|at| (8..12).map(move |commands| (at, commands))) {
        let config = SoftConfig::default().ranks(2).commands(commands);
        let below = SoftBoard::with(config);
        let board = Arc::new(Striking { below, at });
        let job = Job::with_options(Cluster::single(board), *options).unwrap();
        let counts = job.run(2, &program);
        match counts {
            Ok(counts) => failed += counts.iter().sum::<u32>(),
            // Before the program, or after it.
            Err(error) => assert!(
                matches!(error.error(), Some(Error::PacketUnrouted { .. })),
                "in wait {at} with room for {commands} commands: {error}"
            ),
        }
    }
    failed
}

/// Calls again after the event.
fn again<T>(
    struck: &mut u32,
    rank: &mut Rank,
    mut call: impl FnMut(&mut Rank) -> Result<T>,
) -> Result<T> {
    loop {
        match call(rank) {
            Err(Error::PacketUnrouted { .. }) => *struck += 1,
            other => return other,
        }
    }
}

/// A collective goes on after the event, with the right result.
#[test]
fn an_event_divides_no_message_of_a_collective() {
    let options = Options::default().software_collectives(true);
    let failed = strike(0..100, &options, |rank| {
        let world = rank.world()?;
        let mut struck = 0;
        for round in 1..4_u64 {
            let vector = vec![round << rank.pid().0; 4_000];
            let mut sums = vec![0; 4_000];
            let mut request = world.iallreduce(rank, Operation::Sum, &vector[..], &mut sums)?;
            while !again(&mut struck, rank, |rank| rank.test(&mut request))? {}
            drop(request);
            assert!(sums.iter().all(|&sum| sum == 3 * round), "round {round}");
        }
        Ok(struck)
    });
    assert!(failed > 5, "{failed}");
}
