//! The processes on both sides of a card's socket die, and the connection between them is cut, in the middle of transfers
//! and of register accesses.

use std::env;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use alcor::{Job, Operation, Rank, Rights};
use alcor_vcard::xdma::status;
use alcor_vcard::{CORE_BAR, Socket};
use alcor_xdma::Peers;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::fd::AsRawFd;
use vfio_bindings::bindings::vfio::{
    VFIO_IRQ_SET_ACTION_TRIGGER, VFIO_IRQ_SET_DATA_EVENTFD, VFIO_PCI_CONFIG_REGION_INDEX,
    VFIO_PCI_MSIX_IRQ_INDEX,
};
use vfio_user::Client;
use xdma::nodes::{EventNode, Mapping};
use xdma::{Card, CardAddr, DmaMemory, Function, Machine, PciAddress};

use crate::card::virtual_card;
use crate::host::{Access, BASE, ByBytes, Event, Host, event, open_board};
use crate::process::{FOLDER, Process, ROLE};
use crate::{repetitions, seed};

/// Time limit for the end of all calls after the card has gone.
const AT_ONCE: Duration = Duration::from_secs(5);
/// Time limit for a transfer without progress, as with VFIO.
const LIMIT: Duration = Duration::from_secs(10);
/// Longest time from the begin of the accesses to the end of a process.
const MOMENT: Duration = Duration::from_millis(60);
/// Bytes of a transfer.
const BYTES: usize = 256 << 10;
const CONFIG: u32 = VFIO_PCI_CONFIG_REGION_INDEX;

/// The card of a server, over the socket of the card. As with QEMU, reads return ones and writes have no effect after the
/// end of the connection.
struct Remote {
    link: Arc<Link>,
    host: Host,
    is_asked_back: AtomicBool,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").finish_non_exhaustive()
    }
}

struct Link {
    client: Mutex<Client>,
}

impl Link {
    fn client(&self) -> MutexGuard<'_, Client> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, region: u32, at: u64, data: &mut [u8]) {
        if self.client().region_read(region, at, data).is_err() {
            data.fill(0xff);
        }
    }

    fn write(&self, region: u32, at: u64, data: &[u8]) {
        let _ = self.client().region_write(region, at, data);
    }
}

impl Remote {
    /// Connects to the card. Its server may be starting.
    fn connect(socket: &Path) -> Arc<Remote> {
        let began = Instant::now();
        let mut client = loop {
            match Client::new(socket) {
                Ok(client) => break client,
                Err(error) => assert!(began.elapsed() < LIMIT, "no connection: {error}"),
            }
            thread::sleep(Duration::from_millis(1));
        };
        let host = Host::new();
        let file = host.file.as_raw_fd();
        let mapped = client.dma_map(0, BASE, host.bytes(), file);
        mapped.expect("memory of the host");
        Arc::new(Remote {
            link: Arc::new(Link {
                client: Mutex::new(client),
            }),
            host,
            is_asked_back: AtomicBool::new(false),
        })
    }

    fn read32(&self, region: u32, at: u64) -> u32 {
        let mut data = [0; 4];
        self.link.read(region, at, &mut data);
        u32::from_le_bytes(data)
    }

    /// Enables the memory space and the bus master, as the kernel does for a driver.
    fn enable(self: &Arc<Remote>) -> Arc<dyn Function> {
        self.link.write(CONFIG, 4, &[6, 0]);
        Arc::clone(self) as _
    }

    fn cut(&self) {
        self.link.client().shutdown().expect("the end of the link");
    }
}

struct RemoteBar {
    link: Arc<Link>,
    bar: u32,
    first: u64,
    bytes: usize,
}

impl Access for RemoteBar {
    fn bytes(&self) -> usize {
        self.bytes
    }
    fn read(&self, offset: usize, data: &mut [u8]) {
        self.link.read(self.bar, self.first + offset as u64, data);
    }
    fn write(&self, offset: usize, data: &[u8]) {
        self.link.write(self.bar, self.first + offset as u64, data);
    }
}

impl Function for Remote {
    fn address(&self) -> PciAddress {
        "0000:5e:00.0".parse().expect("an address")
    }
    fn identity(&self) -> (u16, u16) {
        let found = self.read32(CONFIG, 0);
        (found as u16, (found >> 16) as u16)
    }
    fn folder(&self) -> &Path {
        Path::new("/")
    }
    fn bars(&self) -> [u64; 6] {
        let client = self.link.client();
        std::array::from_fn(|bar| client.region(bar as u32).map_or(0, |region| region.size))
    }
    fn vectors(&self) -> u32 {
        let info = self.link.client().get_irq_info(VFIO_PCI_MSIX_IRQ_INDEX);
        info.map_or(0, |info| info.count)
    }

    fn map(&self, bar: usize, first: u64, bytes: usize) -> io::Result<Box<dyn Mapping>> {
        Ok(Box::new(ByBytes(RemoteBar {
            link: Arc::clone(&self.link),
            bar: bar as u32,
            first,
            bytes,
        })))
    }

    fn memory(&self, bytes: usize) -> io::Result<Box<dyn DmaMemory>> {
        self.host.memory(bytes)
    }

    fn is_asked_back(&self) -> bool {
        self.is_asked_back.load(Ordering::Relaxed)
    }

    fn interrupt(&self, vector: u32) -> io::Result<Box<dyn EventNode>> {
        let file = event();
        let flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
        let mut client = self.link.client();
        client
            .set_irqs(
                VFIO_PCI_MSIX_IRQ_INDEX,
                flags,
                vector,
                1,
                &[file.as_raw_fd()],
            )
            .map_err(io::Error::other)?;
        Ok(Box::new(Event(file)))
    }
}

/// The accesses of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Traffic {
    /// Long transfers in both directions at the same time, by the driver alone.
    Transfers,
    /// Puts, messages and collectives of two ranks.
    Registers,
    /// Two ranks that sleep: no message comes.
    Waits,
}

const ALL: [Traffic; 3] = [Traffic::Transfers, Traffic::Registers, Traffic::Waits];

impl Traffic {
    /// Accesses the card until a call fails. Calls `step` before and after each transfer, and after each exchange. Returns
    /// the text of the error.
    fn run(self, function: Arc<dyn Function>, locks: &Path, step: impl Fn(u8) + Sync) -> String {
        if self == Traffic::Transfers {
            let card = Card::driven(&Machine::local(), function, LIMIT).expect("a card");
            return transfers(&card, step);
        }
        let board = open_board(function, locks, &Peers::default()).expect("a board");
        let job = Job::new(board).expect("a job");
        let ended = job.run(2, |rank| {
            if self == Traffic::Waits {
                let other = rank.neighbour(1);
                step(b'.');
                return rank.recv(other, 1, &mut [0_u8]).map(drop);
            }
            loop {
                exchange(rank)?;
                step(b'.');
            }
        });
        let error = ended
            .map(|_: Vec<()>| ())
            .expect_err("no end but by errors");
        error.to_string()
    }
}

/// Transfers in both directions until one fails.
fn transfers(card: &Card, step: impl Fn(u8) + Sync) -> String {
    let (mut to, mut from) = (
        card.h2c(0).expect("a channel"),
        card.c2h(0).expect("a channel"),
    );
    let (data, mut found) = (vec![7; BYTES], vec![0; BYTES]);
    let [to, from] = thread::scope(|scope| {
        let to = scope.spawn(|| {
            loop {
                step(b'<');
                if let Err(error) = to.write(CardAddr(0), &data) {
                    return error.to_string();
                }
                step(b'>');
            }
        });
        let from = scope.spawn(|| {
            loop {
                if let Err(error) = from.read(CardAddr(BYTES as u64), &mut found) {
                    return error.to_string();
                }
            }
        });
        [to, from].map(|thread| thread.join().expect("no panic"))
    });
    format!("{to}\n{from}")
}

/// A round of calls whose results are known.
fn exchange(rank: &mut Rank) -> alcor::Result<(u32, u32, u32)> {
    let (me, next) = (rank.pid().0, rank.neighbour(1));
    let inbox = rank.alloc::<u32>(1)?;
    let window = rank.register(&inbox, Rights::ALL)?;
    rank.put(&window, next, 0, &[me + 1])?;
    rank.fence()?;
    let mut message = [0];
    rank.sendrecv(next, 5, &[me + 10], next, 5, &mut message)?;
    let mut sum = [me + 1];
    rank.world()?
        .allreduce_in_place(rank, Operation::Sum, &mut sum)?;
    let put = rank.read_vec(&inbox)?[0];
    rank.deregister(window)?;
    Ok((put, message[0], sum[0]))
}

/// Checks that a card works for a new user: a run with puts, messages and collectives, and transfers. The run goes first, as
/// it resets the board: commands of the user before may still write to node memory until then.
fn works(function: Arc<dyn Function>, locks: &Path) {
    let card = Card::driven(&Machine::local(), function, LIMIT).expect("a card");
    let board = alcor_xdma::XdmaBoard::open(card.clone(), locks).expect("a board");
    let job = Job::new(board).expect("a job");
    let results = job.run(2, exchange).expect("a run");
    assert_eq!(results, [(2, 11, 3), (1, 10, 3)]);
    drop(job);
    let data: Vec<u8> = (0..BYTES).map(|at| (at * 7 + at / 251) as u8).collect();
    let mut found = vec![0; BYTES];
    let mut to_card = card.h2c(0).expect("a channel");
    to_card.write(CardAddr(0x40), &data).expect("a write");
    let mut from_card = card.c2h(0).expect("a channel");
    from_card.read(CardAddr(0x40), &mut found).expect("a read");
    let differs = found
        .iter()
        .zip(&data)
        .position(|(found, data)| found != data);
    assert_eq!(differs, None, "the first byte that differs");
}

/// Starts the server of a card, which is ready.
fn server(test: &str, folder: &Path) -> Process {
    let mut server = Process::start(test, "server", folder, &[]);
    server.expect("ready");
    server
}

fn socket_in(folder: &Path) -> PathBuf {
    folder.join("card0.sock")
}

/// The part of a process with a role. Returns false in a process without one.
fn plays_a_role() -> bool {
    let Ok(role) = env::var(ROLE) else {
        return false;
    };
    let folder = PathBuf::from(env::var_os(FOLDER).expect("a folder"));
    if role == "server" {
        let (socket, card) = (Socket::bind(&socket_in(&folder)), virtual_card());
        eprintln!("ready");
        socket.expect("a socket").serve(&card).expect("no end");
        unreachable!("the server goes on");
    }
    let traffic = ALL
        .into_iter()
        .find(|traffic| format!("{traffic:?}") == role);
    let remote = Remote::connect(&socket_in(&folder));
    let is_ready = Once::new();
    let step = |step| {
        is_ready.call_once(|| eprintln!("ready"));
        eprint!("{}", char::from(step));
    };
    let error = traffic.expect("a role").run(remote.enable(), &folder, step);
    panic!("the client has ended: {error}");
}

#[test]
fn a_client_is_killed_in_the_middle_of_its_accesses() {
    if plays_a_role() {
        return;
    }
    let this = "kills::a_client_is_killed_in_the_middle_of_its_accesses";
    let mut random = ChaCha8Rng::seed_from_u64(seed());
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let mut server = server(this, folder);
    let rounds = repetitions(4, 100);
    // Rounds that ended in the middle of a transfer, and of exchanges.
    let (mut in_transfer, mut in_exchange) = (0, 0);
    for round in 0..rounds {
        for traffic in ALL {
            let mut client = Process::start(this, &format!("{traffic:?}"), folder, &[]);
            client.expect("ready");
            thread::sleep(MOMENT.mul_f64(random.random()));
            let said = client.kill();
            let place = format!("round {round}, {traffic:?}: {said}");
            assert!(!said.contains("panicked"), "{place}");
            in_transfer += u32::from(said.ends_with('<'));
            in_exchange += u32::from(said.ends_with('.') && traffic == Traffic::Registers);

            // The engines of the next client's card stand still, and its interrupts are off.
            let remote = Remote::connect(&socket_in(folder));
            assert!(server.is_alive(), "{place}");
            for channel in [0, 0x100, 0x1000, 0x1100] {
                let control = remote.read32(CORE_BAR as u32, channel + 4);
                let found = remote.read32(CORE_BAR as u32, channel + 0x40);
                assert_eq!((control, found & status::BUSY), (0, 0), "{place}");
            }
            let enabled = [0x2004, 0x2010].map(|at| remote.read32(CORE_BAR as u32, at));
            assert_eq!(enabled, [0, 0], "{place}");
            assert_eq!(remote.read32(CONFIG, 4) & 0xffff, 0, "{place}");
            works(remote.enable(), folder);
        }
    }
    assert!(in_transfer >= rounds / 2, "{in_transfer} of {rounds}");
    assert!(in_exchange >= rounds / 2, "{in_exchange} of {rounds}");
}

/// Runs traffic, calls `end` a moment after its begin, and checks that the calls end at once with errors that name the card.
fn ends_at_once(
    remote: &Arc<Remote>,
    traffic: Traffic,
    folder: &Path,
    moment: Duration,
    end: impl FnOnce(),
) {
    let has_begun = AtomicBool::new(false);
    let (error, took) = thread::scope(|scope| {
        let running = scope.spawn(|| {
            let step = |_| has_begun.store(true, Ordering::Relaxed);
            traffic.run(remote.enable(), folder, step)
        });
        while !has_begun.load(Ordering::Relaxed) && !running.is_finished() {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(moment);
        let began = Instant::now();
        end();
        let error = running.join().expect("no panic");
        (error, began.elapsed())
    });
    assert!(took < AT_ONCE, "{traffic:?}: {took:?}");
    let expected = if remote.is_asked_back() {
        "the system asks for 0000:5e:00.0 back"
    } else {
        "reads all ones"
    };
    for error in error.lines() {
        let is_clear = error.contains("0000:5e:00.0") && error.contains(expected);
        assert!(is_clear, "{traffic:?}: {error}");
    }
}

#[test]
fn a_server_is_killed_in_the_middle_of_a_clients_accesses() {
    if plays_a_role() {
        return;
    }
    let this = "kills::a_server_is_killed_in_the_middle_of_a_clients_accesses";
    let mut random = ChaCha8Rng::seed_from_u64(seed());
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for _ in 0..repetitions(3, 60) {
        for traffic in ALL {
            let server = server(this, folder);
            let remote = Remote::connect(&socket_in(folder));
            let moment = MOMENT.mul_f64(random.random());
            ends_at_once(&remote, traffic, folder, moment, || {
                server.kill();
            });
        }
    }
    // A new server takes the place of the killed one.
    let _server = server(this, folder);
    works(Remote::connect(&socket_in(folder)).enable(), folder);
}

#[test]
fn a_card_is_unplugged_in_the_middle_of_accesses_and_plugged_in_again() {
    if plays_a_role() {
        return;
    }
    let this = "kills::a_card_is_unplugged_in_the_middle_of_accesses_and_plugged_in_again";
    let mut random = ChaCha8Rng::seed_from_u64(seed());
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let mut server = server(this, folder);
    for _ in 0..repetitions(3, 60) {
        for traffic in ALL {
            let remote = Remote::connect(&socket_in(folder));
            let moment = MOMENT.mul_f64(random.random());
            ends_at_once(&remote, traffic, folder, moment, || remote.cut());
            works(Remote::connect(&socket_in(folder)).enable(), folder);
            assert!(server.is_alive());
        }
    }
}

/// An administrator removes a card, or unbinds its driver: the kernel asks the process, and waits until it lets the card go.
#[test]
fn a_card_that_the_system_asks_for_is_let_go() {
    if plays_a_role() {
        return;
    }
    let this = "kills::a_card_that_the_system_asks_for_is_let_go";
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let _server = server(this, folder);
    for traffic in ALL {
        let remote = Remote::connect(&socket_in(folder));
        ends_at_once(&remote, traffic, folder, MOMENT, || {
            remote.is_asked_back.store(true, Ordering::Relaxed);
        });
        assert_eq!(Arc::strong_count(&remote), 1, "{traffic:?}");
        assert_eq!(Arc::strong_count(&remote.link), 1, "{traffic:?}");
        drop(remote);
        works(Remote::connect(&socket_in(folder)).enable(), folder);
    }
}
