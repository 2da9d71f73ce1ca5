//! Error paths, one by one, with their messages.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};
use xdma::standin::{Call, Device, Fault, Memory, StandIn};
use xdma::{BarOffset, CardAddr, DmaBuffer, Doing, Error};

const EPERM: i32 = 1;
const EINTR: i32 = 4;
const EIO: i32 = 5;
const EACCES: i32 = 13;
const EBUSY: i32 = 16;
const ENODEV: i32 = 19;
const EINVAL: i32 = 22;
const ETIMEDOUT: i32 = 110;
const RESTART: i32 = 512;

fn standin() -> StandIn {
    StandIn::new(Memory::new(4 << 20)).expect("a stand-in")
}

fn write(standin: &StandIn) -> Result<(), Error> {
    let card = standin.machine().only_card()?;
    card.h2c(0)?.write(CardAddr(0x40), &[1; 100])
}

fn read(standin: &StandIn) -> Result<(), Error> {
    let card = standin.machine().only_card()?;
    card.c2h(0)?.read(CardAddr(0x40), &mut [0; 100])
}

#[test]
fn a_short_count_is_an_error() {
    for short in [0, 1, 64, 99] {
        let standin = standin();
        standin.fail("h2c_0", Call::Move, Fault::Short(short));
        let error = write(&standin).expect_err("short");
        assert!(
            matches!(&error, Error::Short { done, doing: Doing::Write, node, .. }
                if *done == short as u64 && node.ends_with("xdma2_h2c_0")),
            "{error}"
        );
        assert_eq!(standin.transfers("h2c_0").len(), 1, "no retry");
        standin.fail("c2h_0", Call::Move, Fault::Short(short));
        assert!(matches!(
            read(&standin),
            Err(Error::Short {
                doing: Doing::Read,
                ..
            })
        ));
        write(&standin).expect("the next one");
    }
}

#[test]
fn a_short_count_ends_a_long_transfer() {
    let standin = standin();
    let card = standin.machine().only_card().expect("the card");
    let piece = 1 << 20;
    standin.fail("h2c_0", Call::Move, Fault::Short(piece));
    standin.fail("h2c_0", Call::Move, Fault::Short(piece - 1));
    let error = card
        .h2c(0)
        .expect("a channel")
        .write(CardAddr(0), &vec![1; 3 * piece])
        .expect_err("short");
    assert!(error.to_string().contains("0x100000"), "{error}");
    assert_eq!(
        (standin.transfers("h2c_0").len(), standin.faults_left()),
        (2, 0)
    );
}

#[test]
fn a_signal_is_retried_a_bounded_number_of_times() {
    let standin = standin();
    for _ in 0..16 {
        standin.fail("h2c_0", Call::Move, Fault::Errno(EINTR));
        standin.fail("c2h_0", Call::Move, Fault::Errno(EINTR));
    }
    write(&standin).expect("a write");
    read(&standin).expect("a read");
    assert_eq!(standin.transfers("h2c_0").len(), 17);
    for _ in 0..17 {
        standin.fail("h2c_0", Call::Move, Fault::Errno(EINTR));
    }
    assert!(
        matches!(write(&standin), Err(Error::Node { .. })),
        "signals without end"
    );
}

#[test]
fn a_time_out_is_not_retried() {
    for errno in [ETIMEDOUT, RESTART] {
        let standin = standin();
        standin.fail("h2c_0", Call::Move, Fault::Errno(errno));
        standin.fail("c2h_0", Call::Move, Fault::Errno(errno));
        assert!(matches!(
            write(&standin),
            Err(Error::TransferTimedOut {
                doing: Doing::Write,
                ..
            })
        ));
        let error = read(&standin).expect_err("a time-out");
        assert!(error.to_string().contains("c2h_timeout"), "{error}");
        assert_eq!(
            (
                standin.transfers("h2c_0").len(),
                standin.transfers("c2h_0").len()
            ),
            (1, 1)
        );
    }
}

/// The driver's time-out gives an error, or the count of bytes before it.
#[test]
fn after_a_time_out_the_engine_may_still_use_the_buffer() {
    for fault in [Fault::Errno(ETIMEDOUT), Fault::Short(4)] {
        the_engine_may_still_use_the_buffer_after(fault);
    }
}

fn the_engine_may_still_use_the_buffer_after(fault: Fault) {
    let standin = standin();
    let card = standin.machine().only_card().expect("the card");
    let mut buffer = DmaBuffer::facing(CardAddr(0), 8).expect("a buffer");
    let mut channel = card.c2h(0).expect("a channel");
    channel
        .read_buffer(CardAddr(0), &mut buffer)
        .expect("a read");
    standin.fail("c2h_0", Call::Move, fault);
    let error = channel.read_buffer(CardAddr(0), &mut buffer);
    assert!(matches!(
        error,
        Err(Error::TransferTimedOut { .. } | Error::Short { .. })
    ));
    // The pages stay mapped, and nobody sees them change.
    let pages = buffer.as_ptr() as usize / 4096;
    assert!(buffer.is_empty());
    drop(buffer);
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the maps");
    let holds = |line: &str| {
        let (range, _) = line.split_once(' ').expect("a range");
        let (begin, end) = range.split_once('-').expect("a range");
        let page = |text| usize::from_str_radix(text, 16).expect("an address") / 4096;
        (page(begin)..page(end)).contains(&pages)
    };
    assert!(maps.lines().any(holds));
    // The channel is of no use any more.
    let error = channel.read(CardAddr(0), &mut [0; 8]).expect_err("lost");
    assert!(matches!(error, Error::ChannelLost { .. }), "{error}");
    assert_eq!(standin.transfers("c2h_0").len(), 2);
    // The other direction is.
    let buffer = DmaBuffer::facing(CardAddr(0), 8).expect("a buffer");
    let mut channel = card.h2c(0).expect("a channel");
    standin.fail("h2c_0", Call::Move, Fault::Errno(RESTART));
    let error = channel.write_buffer(CardAddr(0), &buffer);
    assert!(matches!(error, Err(Error::TransferTimedOut { .. })));
    assert!(buffer.is_empty());
}

/// The mask of signals of the thread that transfers, at the time of the transfer.
#[derive(Clone)]
struct Masks(Arc<(Memory, Mutex<Vec<bool>>)>);

impl Device for Masks {
    fn read32(&self, offset: u64) -> u32 {
        self.0.0.read32(offset)
    }
    fn write32(&self, offset: u64, value: u32) {
        self.0.0.write32(offset, value);
    }
    fn read(&self, at: u64, buffer: &mut [u8]) -> bool {
        let mask = SigSet::thread_get_mask().expect("a mask");
        let is_blocked = mask.contains(Signal::SIGALRM) && mask.contains(Signal::SIGCHLD);
        self.0.1.lock().expect("no panic").push(is_blocked);
        self.0.0.read(at, buffer)
    }
    fn write(&self, at: u64, data: &[u8]) -> bool {
        self.0.0.write(at, data)
    }
}

#[test]
fn no_signal_ends_a_transfer_early() {
    let masks = Masks(Arc::new((Memory::new(4096), Mutex::default())));
    let standin = StandIn::new(masks.clone()).expect("a stand-in");
    read(&standin).expect("a read");
    assert_eq!(*masks.0.1.lock().expect("no panic"), [true]);
    let mask = SigSet::thread_get_mask().expect("a mask");
    assert!(!mask.contains(Signal::SIGALRM));
}

#[test]
fn other_errors_keep_their_number_and_say_where() {
    for (errno, hint) in [
        (EBUSY, "another transfer"),
        (EIO, "100 bytes at 0x40"),
        (ENODEV, "has left the bus"),
    ] {
        let standin = standin();
        standin.fail("h2c_0", Call::Move, Fault::Errno(errno));
        let error = write(&standin).expect_err("an error");
        assert!(
            matches!(&error, Error::Node { source, .. } if source.raw_os_error() == Some(errno)),
            "{error}"
        );
        assert!(
            error.to_string().contains(hint) && error.to_string().contains("xdma2_h2c_0"),
            "{error}"
        );
    }
}

#[test]
fn a_failed_open_has_its_reason() {
    let standin = standin();
    let card = standin.machine().only_card().expect("the card");
    for (node, errno, hint) in [
        ("h2c_0", EACCES, "udev"),
        ("c2h_0", EPERM, "udev"),
        ("events_0", EBUSY, "opening"),
        ("user", EINVAL, "longer than the BAR"),
    ] {
        standin.fail(node, Call::Open, Fault::Errno(errno));
        let error = match node {
            "h2c_0" => card.h2c(0).map(|_| ()),
            "c2h_0" => card.c2h(0).map(|_| ()),
            "user" => card.user_bar().map(|_| ()),
            _ => card.event(0).map(|_| ()),
        };
        let error = error.expect_err("an error").to_string();
        assert!(error.contains(hint) && error.contains(node), "{error}");
    }
    assert_eq!(standin.faults_left(), 0);
}

#[test]
fn missing_memory_is_an_error() {
    let standin = standin();
    let card = standin.machine().only_card().expect("the card");
    for at in [4 << 20, (4 << 20) - 1, u64::MAX / 2, u64::MAX] {
        let error = card
            .h2c(0)
            .expect("a channel")
            .write(CardAddr(at), &[1, 2])
            .expect_err("beyond");
        assert!(matches!(error, Error::Node { .. }), "{error}");
        assert!(
            card.c2h(0)
                .expect("a channel")
                .read(CardAddr(at), &mut [1, 2])
                .is_err()
        );
    }
}

#[test]
fn events_fail_and_are_interrupted() {
    let standin = standin();
    let mut event = standin
        .machine()
        .only_card()
        .expect("the card")
        .event(0)
        .expect("an event");
    standin.fail("events_0", Call::Poll, Fault::Errno(EINTR));
    assert!(!event.wait(Some(Duration::from_millis(1))).expect("nothing"));
    standin.interrupt(0);
    standin.fail("events_0", Call::Move, Fault::Errno(EINTR));
    assert!(event.wait(None).expect("an event"));
    standin.interrupt(0);
    standin.fail("events_0", Call::Move, Fault::Short(2));
    assert!(matches!(
        event.wait(None),
        Err(Error::Short { done: 2, .. })
    ));
    standin.fail("events_0", Call::Poll, Fault::Errno(EIO));
    assert!(matches!(
        event.wait(None),
        Err(Error::Node {
            doing: Doing::Poll,
            ..
        })
    ));
    assert_eq!(standin.faults_left(), 0);
}

#[test]
fn the_status_is_read_once_more_after_the_time_out() {
    let standin = standin();
    let mut event = standin
        .machine()
        .only_card()
        .expect("the card")
        .event(0)
        .expect("an event");
    let mut looks = 0;
    let status = || {
        looks += 1;
        Ok::<_, Error>((looks == 2).then_some(()))
    };
    event
        .until(Some(Duration::ZERO), status)
        .expect("the second look");
    let nothing = || Ok::<Option<()>, Error>(None);
    let error = event
        .until(Some(Duration::from_millis(1)), nothing)
        .expect_err("nothing");
    assert!(
        matches!(error, Error::NoEvent { after, .. } if after == Duration::from_millis(1)),
        "{error}"
    );
}

#[test]
fn all_ones_are_a_value_while_the_card_answers() {
    let standin = standin();
    let card = standin.machine().only_card().expect("the card");
    let registers = card.user_bar().expect("a BAR");
    registers.write32(BarOffset(0), 0xabcd).expect("a write");
    registers.write32(BarOffset(4), u32::MAX).expect("a write");
    let error = card
        .user_bar()
        .expect("a BAR")
        .watch(BarOffset(0), 0xabce)
        .expect_err("another design");
    assert!(
        matches!(
            error,
            Error::WrongId {
                expected: 0xabce,
                found: 0xabcd,
                ..
            }
        ),
        "{error}"
    );
    let registers = registers.watch(BarOffset(0), 0xabcd).expect("the design");
    assert_eq!(registers.read32(BarOffset(4)).expect("a value"), u32::MAX);
    registers.check().expect("an answer");
    standin.remove_by_surprise();
    registers
        .write32(BarOffset(8), 1)
        .expect("writes are not answered");
    for result in [
        registers.read32(BarOffset(4)),
        registers.read32(BarOffset(8)),
    ] {
        assert!(matches!(
            result,
            Err(Error::DeadLink {
                offset: BarOffset(0),
                ..
            })
        ));
    }
    assert!(registers.read64(BarOffset(8)).is_err() && registers.check().is_err());
    assert!(card.user_bar().is_err());
}

#[test]
fn removal_of_a_card_ends_open_nodes() {
    let standin = standin();
    let machine = standin.machine();
    let card = machine.only_card().expect("the card");
    let (mut to, mut from) = (
        card.h2c(0).expect("a channel"),
        card.c2h(0).expect("a channel"),
    );
    let mut event = card.event(0).expect("an event");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| event.wait(None));
        std::thread::sleep(Duration::from_millis(2));
        standin.unplug().expect("gone");
        // The kernel may or may not have noticed the removal.
        let error = waiting.join().expect("no panic").expect_err("gone");
        assert!(
            matches!(error, Error::Gone { .. } | Error::Node { .. }),
            "{error}"
        );
    });
    let gone = |result: Result<(), Error>| matches!(result, Err(Error::Gone { address }) if address == standin.address());
    assert!(gone(to.write(CardAddr(0), &[1])));
    assert!(gone(from.read(CardAddr(0), &mut [1])));
    assert!(gone(event.wait(None).map(|_| ())));
    assert!(gone(card.user_bar().map(|_| ())));
    assert!(!card.is_present());
    assert!(matches!(
        machine.card(standin.address()),
        Err(Error::NoCard { .. })
    ));
}
