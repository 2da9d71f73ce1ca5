//! Transfers of data, registers and events that succeed.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use xdma::nodes::System;
use xdma::standin::{Memory, Shape, StandIn};
use xdma::{BarOffset, CardAddr, DmaBuffer, Error, Machine};

const BYTES: usize = 4 << 20;
const PIECE: usize = 1 << 20;

/// Data in read-only memory.
static CONSTANT: [u8; 5000] = [0x5a; 5000];

fn standin() -> StandIn {
    StandIn::new(Memory::new(BYTES)).expect("a stand-in")
}

fn pattern(length: usize, salt: u64) -> Vec<u8> {
    (0..length as u64)
        .map(|at| (at.wrapping_mul(0x9e37_79b9).wrapping_add(salt) >> 7) as u8)
        .collect()
}

#[test]
fn read_only_memory_can_be_written_from() {
    let standin = standin();
    let card = standin.machine().only_card().expect("the card");
    card.h2c(0)
        .expect("a channel")
        .write(CardAddr(1), &CONSTANT)
        .expect("a write");
    let mut found = vec![0; CONSTANT.len()];
    card.c2h(0)
        .expect("a channel")
        .read(CardAddr(1), &mut found)
        .expect("a read");
    assert_eq!(found, CONSTANT);
}

#[test]
fn the_stand_in_refuses_the_same_buffers_as_the_driver() {
    // The test above depends on this check of the stand-in.
    use xdma::nodes::{Nodes as _, Way};
    let standin = standin();
    let dma = standin
        .nodes()
        .dma("/dev/xdma2_h2c_0".as_ref(), Way::ToCard)
        .expect("a node");
    let errno = |result: std::io::Result<usize>| result.expect_err("refused").raw_os_error();
    let at = CONSTANT.as_ptr() as u64;
    assert_eq!(
        errno(dma.pwrite(&CONSTANT[..64], at % 64)),
        Some(14),
        "EFAULT"
    );
    let buffer = DmaBuffer::facing(CardAddr(0), 64).expect("a buffer");
    assert_eq!(errno(dma.pwrite(&buffer, 1)), Some(22), "EINVAL");
    assert_eq!(dma.pwrite(&buffer, 64).expect("a write"), 64);
}

#[test]
fn long_transfers_go_in_pieces() {
    let standin = standin();
    let card = standin.machine().only_card().expect("the card");
    let data = pattern(2 * PIECE + 5, 1);
    card.h2c(0)
        .expect("a channel")
        .write(CardAddr(9), &data)
        .expect("a write");
    let calls = [
        (9, PIECE),
        (9 + PIECE as u64, PIECE),
        (9 + 2 * PIECE as u64, 5),
    ];
    assert_eq!(standin.transfers("h2c_0"), calls);
    let mut found = vec![0; data.len()];
    card.c2h(0)
        .expect("a channel")
        .read(CardAddr(9), &mut found)
        .expect("a read");
    assert!(found == data);
    assert_eq!(standin.transfers("c2h_0"), calls);
}

#[test]
fn an_empty_transfer_makes_no_call() {
    let standin = standin();
    let card = standin.machine().only_card().expect("the card");
    card.h2c(0)
        .expect("a channel")
        .write(CardAddr(u64::MAX), &[])
        .expect("nothing");
    card.c2h(0)
        .expect("a channel")
        .read(CardAddr(3), &mut [])
        .expect("nothing");
    assert!(standin.transfers("h2c_0").is_empty() && standin.transfers("c2h_0").is_empty());
}

#[test]
fn buffers_move_without_a_copy_where_they_face_the_card() {
    let standin = standin();
    let card = standin.machine().only_card().expect("the card");
    let (mut to, mut from) = (
        card.h2c(0).expect("a channel"),
        card.c2h(0).expect("a channel"),
    );
    let mut buffer = DmaBuffer::facing(CardAddr(0x1_2345), 9000).expect("a buffer");
    buffer.copy_from_slice(&pattern(9000, 2));
    // The same offset modulo 64, at another address.
    to.write_buffer(CardAddr(0x345), &buffer).expect("a write");
    let mut found = DmaBuffer::facing(CardAddr(0x345), 9000).expect("a buffer");
    from.read_buffer(CardAddr(0x345), &mut found)
        .expect("a read");
    assert!(*found == *buffer);
    assert_eq!(standin.transfers("h2c_0"), [(0x345, 9000)]);

    let error = to
        .write_buffer(CardAddr(0x346), &buffer)
        .expect_err("misaligned");
    assert!(
        matches!(error, Error::BufferAlignment { alignment: 64, .. }),
        "{error}"
    );
    let error = from
        .read_buffer(CardAddr(0x344), &mut found)
        .expect_err("misaligned");
    assert!(matches!(error, Error::BufferAlignment { .. }), "{error}");
    assert_eq!(standin.transfers("h2c_0").len(), 1, "without a call");
}

#[test]
fn registers_and_memory_have_their_addresses() {
    let standin = StandIn::with(
        Shape {
            user_bytes: 0x2000,
            bypass_bytes: 0x1000,
            ..Shape::default()
        },
        Memory::new(0x1000),
    )
    .expect("a stand-in");
    let card = standin.machine().only_card().expect("the card");
    let (user, bypass) = (
        card.user_bar().expect("a BAR"),
        card.bypass_bar().expect("a BAR"),
    );
    assert_eq!((user.bytes(), bypass.bytes()), (0x2000, 0x1000));
    user.write32(BarOffset(0x1ffc), 7).expect("the last word");
    assert_eq!(user.read32(BarOffset(0x1ffc)).expect("a word"), 7);
    bypass
        .write64(BarOffset(8), 0x0102_0304_0506_0708)
        .expect("a word");
    assert_eq!(
        bypass.read64(BarOffset(8)).expect("a word"),
        0x0102_0304_0506_0708
    );
    assert_eq!(bypass.read32(BarOffset(8)).expect("a word"), 0x0506_0708);
    // DMA reaches the same memory.
    let mut found = [0; 8];
    card.c2h(0)
        .expect("a channel")
        .read(CardAddr(8), &mut found)
        .expect("a read");
    assert_eq!(found, [8, 7, 6, 5, 4, 3, 2, 1]);

    for offset in [0x2000, 0x1_0000_0000, u64::MAX - 3] {
        let error = user.read32(BarOffset(offset)).expect_err("beyond");
        assert!(
            matches!(error, Error::Beyond { size: 0x2000, .. }),
            "{error}"
        );
        assert!(matches!(
            user.write32(BarOffset(offset), 0),
            Err(Error::Beyond { .. })
        ));
    }
    assert!(matches!(
        user.read32(BarOffset(2)),
        Err(Error::Misaligned { multiple: 4, .. })
    ));
    assert!(matches!(
        bypass.write64(BarOffset(4), 0),
        Err(Error::Misaligned { multiple: 8, .. })
    ));
    assert!(matches!(
        bypass.read64(BarOffset(0xffc)),
        Err(Error::Misaligned { .. })
    ));
}

#[test]
fn pages_are_a_part_of_the_registers() {
    let standin = standin();
    let card = standin.machine().only_card().expect("the card");
    let (whole, pages) = (card.user_bar(), card.user_pages(BarOffset(0x2000), 0x2000));
    let (whole, pages) = (whole.expect("a BAR"), pages.expect("pages"));
    pages.write32(BarOffset(0x1004), 9).expect("a word");
    assert_eq!(whole.read32(BarOffset(0x3004)).expect("a word"), 9);
    assert!(matches!(
        pages.read32(BarOffset(0x2000)),
        Err(Error::Beyond { .. })
    ));
    let refused = |first, bytes| {
        card.user_pages(BarOffset(first), bytes)
            .expect_err("no such pages")
    };
    assert!(matches!(refused(0x800, 0x1000), Error::Misaligned { .. }));
    assert!(matches!(refused(0x1000, 0x800), Error::Misaligned { .. }));
    assert!(matches!(
        refused(0xf000, 0x2000),
        Error::Beyond { size: 0x1_0000, .. }
    ));
    assert!(matches!(
        refused(u64::MAX - 0xfff, 0x1000),
        Error::Beyond { .. }
    ));
}

#[test]
fn an_event_wakes_the_waiting_thread() {
    let standin = standin();
    let card = standin.machine().only_card().expect("the card");
    let registers = card.user_bar().expect("a BAR");
    let mut event = card.event(5).expect("an event");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let status = || {
                Ok::<_, Error>(Some(registers.read32(BarOffset(0))?).filter(|&value| value == 3))
            };
            event.until(None, status)
        });
        for value in 1..=3 {
            std::thread::sleep(Duration::from_millis(2));
            // Raises events before the status is valid, and an event of another number.
            card.user_bar()
                .expect("a BAR")
                .write32(BarOffset(0), value)
                .expect("a write");
            standin.interrupt(if value == 2 { 4 } else { 5 });
        }
        assert_eq!(waiting.join().expect("no panic").expect("the value"), 3);
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_length_at_any_address(
        writes in proptest::collection::vec((0..BYTES, 0_usize..70_000, any::<u64>()), 1..8),
        reads in proptest::collection::vec((0..BYTES, 0_usize..70_000), 1..8),
        alignment in prop_oneof![Just(1_u64), Just(32), Just(64), Just(4096)],
    ) {
        let shape = Shape { alignment, ..Shape::default() };
        let standin = StandIn::with(shape, Memory::new(BYTES)).expect("a stand-in");
        let card = standin.machine().only_card().expect("the card");
        let (mut to, mut from) = (card.h2c(0).expect("a channel"), card.c2h(0).expect("a channel"));
        let mut expected = vec![0; BYTES];
        for (at, length, salt) in writes {
            let end = BYTES.min(at + length);
            let data = pattern(end - at, salt);
            to.write(CardAddr(at as u64), &data).expect("a write");
            expected[at..end].copy_from_slice(&data);
        }
        for (at, length) in reads {
            let end = BYTES.min(at + length);
            let mut found = vec![0xee; end - at];
            from.read(CardAddr(at as u64), &mut found).expect("a read");
            prop_assert!(found == expected[at..end]);
        }
    }
}

/// The system's file for write-combining is mapped where there is one, at the same place of the BAR; else the
/// BAR's node.
#[test]
fn the_file_for_write_combining_is_mapped() {
    let shape = Shape {
        bypass_bytes: 0x2000,
        ..Shape::default()
    };
    let standin = StandIn::with(shape, Memory::new(0x2000)).expect("a stand-in");
    let dev = tempfile::tempdir().expect("a folder");
    let card = standin.machine().only_card().expect("the card");
    let name = card.bypass_bar().expect("a BAR").node().to_owned();
    let file = |path: PathBuf| fs::write(path, [0; 0x2000]).expect("a file");
    file(dev.path().join(name.file_name().expect("a node")));
    // The same card, with files in place of the stand-in's nodes.
    let machine = Machine::at(standin.sys(), dev.path(), Arc::new(System));
    let card = machine.only_card().expect("the card");
    let map = || {
        card.bypass_combined(BarOffset(0x1000), 0x1000)
            .expect("a page")
    };
    assert_eq!(map().node().file_name(), name.file_name());
    let bar = card.layout().bypass.expect("a BAR");
    let folder = format!("bus/pci/devices/{}", card.address());
    let combined = standin.sys().join(folder).join(format!("resource{bar}_wc"));
    file(combined.clone());
    let page = map();
    assert_eq!(page.node(), combined);
    page.write_line(BarOffset(0x40), &[7; 64]).expect("a line");
    let written = fs::read(combined).expect("the file");
    assert_eq!(written[0x1040..0x1080], [7; 64]);
    assert!(written[..0x1040].iter().all(|&byte| byte == 0));
    let beyond = card.bypass_combined(BarOffset(0x1000), 0x2000);
    assert!(matches!(beyond, Err(Error::Beyond { .. })));
}
