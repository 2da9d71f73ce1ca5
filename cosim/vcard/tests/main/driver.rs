//! The driver in user space over the model of the core.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use alcor_vcard::xdma::{ErrorReport, HostMemory, Shape, status};
use xdma::{C2h, Card, CardAddr, DmaBuffer, Driver, Error, H2c, Machine};

use crate::bytes::Bytes;
use crate::host::{Model, ModelFunction};

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(50);

struct Bench {
    model: Arc<Model>,
    card: Card,
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.model.end();
    }
}

impl Bench {
    fn new(limit: Duration) -> Bench {
        Bench::with(ErrorReport::default(), limit)
    }

    fn with(report: ErrorReport, limit: Duration) -> Bench {
        let mut memory = Bytes::new(0x8000, 4 << 20);
        memory.refused = 0x1_0000..0x1_1000;
        let shape = Shape {
            user_interrupts: 6,
            report,
            alignment: 4,
            ..Shape::default()
        };
        Bench::over(Model::start(shape, memory), limit)
    }

    fn over(model: Arc<Model>, limit: Duration) -> Bench {
        let function = Arc::new(ModelFunction(Arc::clone(&model)));
        let card = Card::driven(&Machine::local(), function, limit).expect("a core");
        Bench { model, card }
    }

    fn h2c(&self, channel: u32) -> H2c {
        self.card.h2c(channel).expect("a channel")
    }

    fn c2h(&self, channel: u32) -> C2h {
        self.card.c2h(channel).expect("a channel")
    }
}

fn data(length: usize, seed: usize) -> Vec<u8> {
    (0..length)
        .map(|at| (at * 31 + at / 251 + seed) as u8)
        .collect()
}

#[test]
fn the_card_is_described() {
    let bench = Bench::new(LONG);
    let card = &bench.card;
    assert_eq!(*card.driver(), Driver::Process);
    assert_eq!((card.vendor(), card.device()), (0x10ee, 0x903f));
    assert_eq!(
        (card.h2c_channels(), card.c2h_channels()),
        (vec![0, 1], vec![0, 1])
    );
    assert_eq!(card.events(), (0..16).collect::<Vec<_>>());
    assert_eq!(
        (
            card.layout().user,
            card.layout().control,
            card.layout().bypass
        ),
        (None, Some(0), None)
    );
    assert!(card.is_present());
    assert!(matches!(card.user_bar(), Err(Error::NoNode { .. })));
    assert!(matches!(card.h2c(2), Err(Error::NoNode { .. })));
}

#[test]
fn data_of_any_length_and_alignment_comes_back() {
    let bench = Bench::new(LONG);
    let (mut to, mut from) = (bench.h2c(1), bench.c2h(0));
    for (at, length) in [
        (0x8000, 1),
        (0x8003, 5),
        (0x8ffe, 4),
        (0x2_0001, 65536),
        (0x2_0fff, 65537),
        (0x10_0000, 2_500_001),
    ] {
        let sent = data(length, at as usize);
        to.write(CardAddr(at), &sent).expect("a write");
        assert!(bench.model.card.get(at, length) == sent, "{at:#x}+{length}");
        let mut found = vec![0; length];
        from.read(CardAddr(at), &mut found).expect("a read");
        assert!(found == sent, "{at:#x}+{length}");
    }
    let mut buffer = DmaBuffer::facing(CardAddr(0x8010), 3_000_000).expect("memory");
    buffer.copy_from_slice(&data(3_000_000, 5));
    let result = to.write_buffer(CardAddr(0x8_0000 + 0x10), &buffer);
    result.expect("a write without the copy");
    assert!(bench.model.card.get(0x8_0010, 3_000_000) == buffer[..]);
}

#[test]
fn data_in_memory_that_the_card_reaches_is_not_copied() {
    let bench = Bench::new(LONG);
    let (mut to, mut from) = (bench.h2c(1), bench.c2h(0));
    let host = &bench.model.host;
    let copied = || host.copied.swap(0, Ordering::Relaxed);
    let in_use = host.in_use.load(Ordering::Relaxed);
    let buffer = |length| bench.card.host_buffer(length).expect("memory");
    // Mappings before and behind the buffer.
    let outside = || DmaBuffer::facing(CardAddr(0x8000), 1000).expect("memory");
    let first = outside();
    let mut sent = buffer(3_000_001).expect("memory that the card reaches");
    assert_eq!((sent.len(), sent.as_ptr() as usize % 4096), (3_000_001, 0));
    assert!(sent.iter().all(|&byte| byte == 0));
    sent.copy_from_slice(&data(3_000_001, 5));
    copied();
    // The whole of it, and parts of any length at places of the core's alignment, 4 bytes. A
    // descriptor of 32 bytes moves 64 KiB.
    for (first, length) in [(0, 3_000_001), (4, 1), (0x1041, 6), (0x2_0ffe, 70_000)] {
        let (at, part) = (0x8_0000 + first as u64, first..first + length);
        to.write(CardAddr(at), &sent[part.clone()])
            .expect("a write");
        assert!(bench.model.card.get(at, length) == sent[part.clone()]);
        let mut found = buffer(length + 3).expect("memory");
        let skip = first % 4;
        let read = from.read(CardAddr(at), &mut found[skip..skip + length]);
        read.expect("a read");
        assert!(found[skip..skip + length] == sent[part]);
        let descriptors = 2 * length.div_ceil(64 << 10) as u64;
        assert_eq!(copied(), 32 * descriptors + 2 * 4, "{first:#x}+{length}");
    }
    // At another place modulo the alignment, and in memory beside the buffer: copied once.
    to.write(CardAddr(0x8001), &sent[..1000]).expect("a write");
    assert_eq!(copied(), 1000 + 32 + 4);
    for mut other in [first, outside()] {
        other.copy_from_slice(&sent[..1000]);
        to.write(CardAddr(0x8000), &other).expect("a write");
        assert_eq!(copied(), 1000 + 32 + 4);
        assert!(bench.model.card.get(0x8000, 1000) == other[..]);
    }
    drop(sent);
    assert_eq!(host.in_use.load(Ordering::Relaxed), in_use);
    assert_eq!(buffer(0).expect("no memory").len(), 0);
}

/// The core may fetch a list in blocks of any size, so each descriptor states what follows.
#[test]
fn each_descriptor_describes_the_rest_of_the_list() {
    let bench = Bench::new(LONG);
    bench
        .h2c(0)
        .write(CardAddr(0x2_0000), &data(5 << 16, 1))
        .expect("a write");
    let [low, high, adjacent] =
        [0x4080, 0x4084, 0x4088].map(|at| bench.model.with(|core| core.read(at)));
    assert_eq!(adjacent, 4);
    let first = u64::from(high) << 32 | u64::from(low);
    for index in 0..5_u32 {
        let at = first + 32 * u64::from(index);
        let mut bytes = [0; 32];
        assert!(HostMemory::read(&bench.model.host, at, &mut bytes));
        let (words, _) = bytes.as_chunks();
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let flags = if index == 4 { 0x13 } else { 2 };
        // Descriptors after the next one.
        let adjacent = 3_u32.saturating_sub(index);
        assert_eq!(
            words[0],
            0xad4b_0000 | adjacent << 8 | flags,
            "descriptor {index}"
        );
        assert_eq!(words[1], 1 << 16);
        let next = u64::from(words[7]) << 32 | u64::from(words[6]);
        assert_eq!(next, if index == 4 { 0 } else { at + 32 });
    }
}

#[test]
fn channels_are_shared_by_threads() {
    let bench = Bench::new(LONG);
    std::thread::scope(|scope| {
        for rank in 0..4_u32 {
            let (mut to, mut from) = (bench.h2c(rank % 2), bench.c2h(rank % 2));
            scope.spawn(move || {
                let at = CardAddr(0x2_0000 + 0x4_0000 * u64::from(rank));
                for round in 0..20 {
                    let sent = data(1000 + 997 * round, rank as usize);
                    to.write(at, &sent).expect("a write");
                    let mut found = vec![0; sent.len()];
                    from.read(at, &mut found).expect("a read");
                    assert!(found == sent, "rank {rank}, round {round}");
                }
            });
        }
    });
}

/// Fails unless the error is of an engine that can be used again, and names this cause.
fn is_engine(error: &Error, cause: &str) {
    let Error::Engine { fault, .. } = error else {
        panic!("{error}");
    };
    assert!(fault.is_idle(), "{error}");
    let causes: Vec<String> = fault.causes().iter().map(ToString::to_string).collect();
    assert_eq!(causes, [cause], "{error}");
    assert!(error.to_string().contains(cause), "{error}");
}

#[test]
fn errors_of_the_engine_are_named_and_the_channel_goes_on() {
    for report in [
        ErrorReport::WriteBack,
        ErrorReport::Status,
        ErrorReport::Late,
    ] {
        errors_that_are_reported_by(report);
    }
}

fn errors_that_are_reported_by(report: ErrorReport) {
    let bench = Bench::with(report, LONG);
    let (mut to, mut from) = (bench.h2c(0), bench.c2h(0));
    let began = Instant::now();
    let error = to.write(CardAddr(0), &[1, 2]).expect_err("no card memory");
    is_engine(&error, "write to the card: decode error");
    let error = to.write(CardAddr(0x1_0000), &[1, 2]).expect_err("refused");
    is_engine(&error, "write to the card: slave error");
    let error = from
        .read(CardAddr(u64::MAX - 5), &mut [0; 4])
        .expect_err("no card memory");
    is_engine(&error, "read of the card: decode error");
    let error = from
        .read(CardAddr(0x1_0000), &mut [0; 4])
        .expect_err("refused");
    is_engine(&error, "read of the card: slave error");
    assert!(
        from.read(CardAddr(u64::MAX), &mut [0; 4]).is_err(),
        "the address wraps"
    );
    // A piece of many: the first ones are written.
    let error = to.write(CardAddr(0x40_0000 - 0x1_0000), &data(200_000, 1));
    let error = error.expect_err("beyond the end");
    is_engine(&error, "write to the card: decode error");
    assert!(began.elapsed() < LONG / 2, "errors need no time-out");
    to.write(CardAddr(0x9000), &[1, 2]).expect("a write");
    let mut found = [0; 2];
    from.read(CardAddr(0x9000), &mut found).expect("a read");
    assert_eq!(found, [1, 2]);
}

#[test]
fn a_status_that_is_left_over_fails_one_transfer_at_most() {
    let bench = Bench::new(LONG);
    // Another user of the core runs a descriptor whose source and destination differ in their low
    // bits.
    let mismatch = |bench: &Bench| {
        bench.model.moves.store(false, Ordering::Relaxed);
        let good = crate::bytes::Descriptor::new(1, crate::host::BASE, 0x9001, 64);
        let at = crate::host::BASE + 0xf0_0000;
        HostMemory::write(&bench.model.host, at, &good.to_bytes());
        bench.model.with(|core| {
            core.write(0x4080, at as u32);
            core.write(0x4084, (at >> 32) as u32);
            core.write(0x4088, 0);
            core.write(0x0c, 1);
            core.write(0x04, 1 | status::ALIGN_MISMATCH);
            while core.step(&bench.model.host, &bench.model.card) {}
            assert_eq!(core.read(0x40), status::ALIGN_MISMATCH);
            core.write(0x0c, 1);
        });
        bench.model.moves.store(true, Ordering::Relaxed);
    };
    mismatch(&bench);
    let mut to = bench.h2c(0);
    let error = to.write(CardAddr(0x9000), &[1]).expect_err("an error");
    is_engine(
        &error,
        "descriptor: source and destination differ in their low bits",
    );
    to.write(CardAddr(0x9000), &[1]).expect("the next transfer");
    // A new owner begins with a clear status.
    mismatch(&bench);
    let next = Bench::over(Arc::clone(&bench.model), LONG);
    next.h2c(0).write(CardAddr(0x9000), &[2]).expect("a write");
}

/// The card can read its host's memory, but writes go to an address that does not exist.
#[test]
fn a_count_that_is_lost_is_an_error() {
    let bench = Bench::new(LONG);
    bench.model.with(|core| core.write(0x8c, 7));
    let error = bench.h2c(0).write(CardAddr(0x9000), &[1]);
    is_engine(
        &error.expect_err("no count"),
        "the count of completed descriptors did not reach host memory",
    );
}

/// An error of an engine that stays busy: the channel is lost, and its memory is kept.
#[test]
fn an_error_of_an_engine_that_stays_busy_loses_the_channel() {
    let bench = Bench::new(LONG / 10);
    let in_use = || bench.model.host.in_use.load(Ordering::Relaxed);
    let before = in_use();
    bench.model.moves.store(false, Ordering::Relaxed);
    let model = Arc::clone(&bench.model);
    let fails = std::thread::spawn(move || {
        while !model.with(|core| core.is_busy()) {
            std::thread::yield_now();
        }
        // The word that the engine writes back, without a status, and without an end.
        let word = 1_u32 << 31;
        let at = model.with(|core| u64::from(core.read(0x8c)) << 32 | u64::from(core.read(0x88)));
        HostMemory::write(&model.host, at, &word.to_le_bytes());
    });
    let began = Instant::now();
    let mut to = bench.h2c(0);
    let error = to.write(CardAddr(0x9000), &[1]).expect_err("an error");
    fails.join().expect("no panic");
    let Error::Engine { fault, .. } = &error else {
        panic!("{error}");
    };
    assert!(!fault.is_idle(), "{error}");
    assert!(error.to_string().contains("reset the card"), "{error}");
    assert!(began.elapsed() < LONG / 10, "errors need no time-out");
    for mut channel in [to, bench.h2c(0)] {
        let error = channel.write(CardAddr(0x9000), &[1]).expect_err("lost");
        assert!(matches!(error, Error::ChannelLost { .. }), "{error}");
    }
    assert_eq!(in_use(), before);
}

/// Lets the next engine that starts fetch its descriptor, and then stand still.
fn stand_still(bench: &Bench) -> JoinHandle<()> {
    bench.model.moves.store(false, Ordering::Relaxed);
    let model = Arc::clone(&bench.model);
    std::thread::spawn(move || {
        while !model.with(|core| core.is_busy()) {
            std::thread::yield_now();
        }
        model.with(|core| {
            core.step(&model.host, &model.card);
            core.step(&model.host, &model.card);
            core.set_bus_master(false);
        });
    })
}

#[test]
fn memory_of_a_transfer_that_stands_still_is_taken_from_the_card_and_kept() {
    let bench = Bench::new(SHORT);
    let host = &bench.model.host;
    let [mut buffer, other] = [8, 8].map(|bytes| {
        let buffer = bench.card.host_buffer(bytes).expect("memory");
        buffer.expect("memory that the card reaches")
    });
    let in_use = host.in_use.load(Ordering::Relaxed);
    let stands = stand_still(&bench);
    let result = bench.c2h(0).read(CardAddr(0x9000), &mut buffer[4..]);
    let error = result.expect_err("no progress");
    assert!(matches!(error, Error::TransferTimedOut { .. }), "{error}");
    stands.join().expect("no panic");
    assert_eq!((buffer.len(), other.len()), (0, 8));
    assert_eq!(host.revoked.load(Ordering::Relaxed), 4096);
    drop((buffer, other));
    assert_eq!(host.in_use.load(Ordering::Relaxed), in_use - 4096);
}

#[test]
fn a_transfer_that_stands_still_times_out_and_its_memory_is_kept() {
    let bench = Bench::new(SHORT);
    let mut to = bench.h2c(0);
    to.write(CardAddr(0x9000), &[1]).expect("a write");
    let stands = stand_still(&bench);
    let in_use = || bench.model.host.in_use.load(Ordering::Relaxed);
    let before = in_use();
    let error = to
        .write(CardAddr(0x9000), &[2; 8])
        .expect_err("no progress");
    assert!(matches!(error, Error::TransferTimedOut { .. }), "{error}");
    let error = to
        .write(CardAddr(0x9000), &[2])
        .expect_err("the channel is lost");
    assert!(matches!(error, Error::ChannelLost { .. }), "{error}");
    stands.join().expect("no panic");
    // Nobody else gets the channel, whose engine is still busy.
    let error = bench
        .h2c(0)
        .write(CardAddr(0x9000), &[2])
        .expect_err("the channel is lost");
    assert!(matches!(error, Error::ChannelLost { .. }), "{error}");
    assert_eq!(in_use(), before);
    // The engine goes on, reads the memory, and nothing breaks.
    bench.model.with(|core| core.set_bus_master(true));
    bench.model.moves.store(true, Ordering::Relaxed);
    while bench.model.with(|core| core.read(0x40)) & status::BUSY != 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(bench.model.card.get(0x9000, 8), [2; 8]);
    bench
        .h2c(1)
        .write(CardAddr(0x9000), &[3])
        .expect("the other channel works");
    // A new owner finds the core in this state, and takes it over.
    let next = Bench::over(Arc::clone(&bench.model), LONG);
    next.h2c(0).write(CardAddr(0x9000), &[4]).expect("a write");
    assert_eq!(bench.model.card.get(0x9000, 1), [4]);
}

#[test]
fn a_slow_engine_that_makes_progress_is_no_time_out() {
    let limit = 10 * SHORT;
    let bench = Bench::new(limit);
    bench.model.moves.store(false, Ordering::Relaxed);
    let model = Arc::clone(&bench.model);
    let slow = std::thread::spawn(move || {
        // 10 descriptors of 65 steps: each takes less than the limit, all take more.
        for _ in 0..10 * 66 + 20 {
            std::thread::sleep(Duration::from_millis(2));
            model.with(|core| core.step(&model.host, &model.card));
        }
    });
    let began = Instant::now();
    bench
        .h2c(0)
        .write(CardAddr(0x10_0000), &data(10 << 16, 3))
        .expect("a write");
    assert!(began.elapsed() > 2 * limit, "{:?}", began.elapsed());
    slow.join().expect("no panic");
}

#[test]
fn a_reset_in_the_middle_of_a_transfer_is_an_error() {
    let bench = Bench::new(LONG);
    bench.model.moves.store(false, Ordering::Relaxed);
    let model = Arc::clone(&bench.model);
    let reset = std::thread::spawn(move || {
        while !model.with(|core| core.is_busy()) {
            std::thread::yield_now();
        }
        model.with(|core| {
            core.step(&model.host, &model.card);
            core.reset();
        });
    });
    let error = bench
        .h2c(0)
        .write(CardAddr(0x9000), &[1; 64])
        .expect_err("a reset");
    is_engine(&error, "the engine ended before its last descriptor");
    assert!(error.to_string().contains("open it again"), "{error}");
    reset.join().expect("no panic");
}

#[test]
fn a_card_that_has_left_is_an_error() {
    let bench = Bench::new(LONG);
    let mut to = bench.h2c(0);
    bench.model.is_gone.store(true, Ordering::Relaxed);
    let began = Instant::now();
    let error = to.write(CardAddr(0x9000), &[1; 64]).expect_err("no card");
    assert!(
        matches!(error, Error::DeadLink { offset, .. } if offset.0 == 0x40),
        "{error}"
    );
    // Another user of the channel gets the same error.
    let error = bench.h2c(0).write(CardAddr(0x9000), &[1]);
    let error = error.expect_err("no card");
    assert!(matches!(error, Error::DeadLink { .. }), "{error}");
    assert!(began.elapsed() < LONG / 20);
    let function = Arc::new(ModelFunction(Arc::clone(&bench.model)));
    let error = Card::driven(&Machine::local(), function, LONG).expect_err("no core");
    assert!(
        error.to_string().contains("no BAR has the identifiers"),
        "{error}"
    );
    // The card is back. It may be another one, so the channel stays lost.
    bench.model.is_gone.store(false, Ordering::Relaxed);
    let error = to
        .write(CardAddr(0x9000), &[1])
        .expect_err("a lost channel");
    assert!(matches!(error, Error::ChannelLost { .. }), "{error}");
}

#[test]
fn a_running_engine_of_a_former_owner_is_stopped() {
    let bench = Bench::new(LONG);
    // A list without an end, which is in memory that the next owner does not know.
    let list = crate::bytes::Descriptor {
        next: crate::host::BASE + 0xf0_0000,
        ..crate::bytes::Descriptor::new(0, crate::host::BASE, 0x9000, 64)
    };
    let host = &bench.model.host;
    HostMemory::write(host, list.next, &list.to_bytes());
    bench.model.with(|core| {
        core.write(0x4080, list.next as u32);
        core.write(0x4084, (list.next >> 32) as u32);
        core.write(0x04, 1);
    });
    let next = Bench::over(Arc::clone(&bench.model), LONG);
    assert!(!bench.model.with(|core| core.is_busy()));
    next.h2c(0).write(CardAddr(0x9000), &[4]).expect("a write");
}

#[test]
fn user_interrupts_are_events() {
    let bench = Bench::new(LONG);
    let mut events: Vec<_> = (0..6)
        .map(|event| bench.card.event(event).expect("an event"))
        .collect();
    for index in [5, 0, 3] {
        assert!(!events[index].wait(Some(Duration::ZERO)).expect("a poll"));
        // Twice: one event.
        for level in [1 << index, 0, 1 << index] {
            bench.model.with(|core| core.set_user_requests(level));
        }
        for (other, event) in events.iter_mut().enumerate() {
            let found = event.wait(Some(Duration::ZERO)).expect("a poll");
            assert_eq!(found, other == index, "event {other} of interrupt {index}");
        }
        bench.model.with(|core| core.set_user_requests(0));
    }
    // An event that nobody has opened is not enabled.
    let other = Bench::over(Arc::clone(&bench.model), LONG);
    let _one = other.card.event(1).expect("an event");
    assert_eq!(other.model.with(|core| core.read(0x2004)), 0b10);
    assert!(matches!(other.card.event(16), Err(Error::NoNode { .. })));
}
