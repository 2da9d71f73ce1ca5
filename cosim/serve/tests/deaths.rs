//! Processes that die while the server answers them.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use alcor::{Backend, Causes, Cluster, Cycle, Error, GlobalRank, LocalRank, Port};
use alcor_cosim::CosimBackend;
use alcor_serve::{Event, Runs, Server};
use alcor_shm::ShmBackend;
use alcor_shm::channel::Channel;
use alcor_shm::wire::{Hello, Request, VERSION, Welcome};

/// Time after which a peer reports that a rank is missing.
const MISSING: Duration = Duration::from_secs(10);

/// A server of two ranks. The server attaches rank 1 only once the process of rank 1 has died.
struct Trial {
    server: Server,
    events: Arc<Mutex<Vec<Event>>>,
    has_died: Sender<()>,
}

impl Trial {
    fn start(runs: Runs) -> Trial {
        let config = format!("rma2?attach={}", MISSING.as_secs());
        let cluster = CosimBackend::new().open_sim(&config).expect("boards");
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let (has_died, dead): (_, Receiver<()>) = channel();
        let (seen, dead) = (Arc::clone(&events), Mutex::new(dead));
        let watch = move |event| {
            seen.lock().expect("no panic").push(event);
            if event == Event::Attached(GlobalRank(1)) {
                let dead = dead.lock().expect("no panic");
                dead.recv_timeout(MISSING).expect("a death");
            }
        };
        let server = Server::start(cluster, 2, runs, None, watch).expect("a server");
        Trial {
            server,
            events,
            has_died,
        }
    }

    fn name(&self) -> String {
        let uri = self.server.uri();
        uri.split_once(':').expect("a URI").1.to_owned()
    }

    fn cluster(&self) -> Cluster {
        ShmBackend.open(&self.name()).expect("the cluster")
    }

    fn attach(&self, rank: u32) -> Result<Box<dyn Port>, Error> {
        let board = Arc::clone(&self.cluster().boards()[0]);
        board.attach(LocalRank(rank))
    }

    /// Attaches rank 1 from a process that dies before the answer.
    fn die_in_the_attachment(&self) {
        let channel = Channel::connect(&self.name()).expect("a connection");
        channel.send(&Hello { version: VERSION }).expect("a server");
        assert!(matches!(channel.receive(), Ok(Welcome::Cluster(_))));
        let attach = Request::Attach { board: 0, rank: 1 };
        channel.send(&attach).expect("a server");
        drop(channel);
        self.has_died.send(()).expect("a server");
    }

    /// Waits for the event.
    fn expect(&self, event: Event) {
        let began = Instant::now();
        while !self.events.lock().expect("no panic").contains(&event) {
            let events = self.events.lock().expect("no panic").clone();
            assert!(began.elapsed() < MISSING / 2, "no {event:?} in {events:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn is_death_of_rank_1(error: &Error) -> bool {
    matches!(
        error,
        Error::PeerDied {
            rank: GlobalRank(1),
            ..
        }
    )
}

#[test]
fn a_peer_that_attaches_after_a_death_in_the_attachment_learns_of_it() {
    let trial = Trial::start(Runs::One);
    trial.die_in_the_attachment();
    trial.expect(Event::Died(GlobalRank(1)));
    // The port of the dead rank may be attached for a moment longer.
    let began = Instant::now();
    let error = match trial.attach(0) {
        Err(error) => error,
        Ok(mut port) => {
            let waited = port.wait(Causes(u32::MAX), Cycle(u64::MAX));
            waited.expect_err("rank 1 never comes")
        }
    };
    assert!(is_death_of_rank_1(&error), "{error}");
    assert!(began.elapsed() < MISSING / 2, "{:?}", began.elapsed());
}

#[test]
fn a_peer_that_waits_learns_of_a_death_in_the_attachment() {
    let trial = Trial::start(Runs::Many);
    let mut port = trial.attach(0).expect("rank 0");
    let waits = std::thread::spawn(move || port.wait(Causes(u32::MAX), Cycle(u64::MAX)));
    trial.die_in_the_attachment();
    let error = waits.join().expect("no panic").expect_err("rank 1 is dead");
    assert!(is_death_of_rank_1(&error), "{error}");
    trial.expect(Event::Died(GlobalRank(1)));
    let events = trial.events.lock().expect("no panic").clone();
    let deaths = |event: &&Event| matches!(event, Event::Died(GlobalRank(1)));
    assert_eq!(events.iter().filter(deaths).count(), 1, "{events:?}");
}
