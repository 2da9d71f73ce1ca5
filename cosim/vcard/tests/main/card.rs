//! The library over the driver in user space, over a virtual card with a simulated board.

use std::sync::Arc;
use std::time::Duration;

use alcor::{Cluster, GlobalRank, Job, Rights};
use alcor_abi::board::{CYCLE_LO, MAGIC};
use alcor_abi::rank::{ACK_EVENTS, IRQ_ENABLE, causes};
use alcor_abi::rank_page;
use alcor_cosim::CosimBackend;
use alcor_vcard::{BYPASS_BAR, CORE_BAR, USER_BAR, VirtualCard};
use alcor_xdma::XdmaBoard;
use xdma::{BarOffset, Card, CardAddr, Machine};

use crate::host::CardFunction;

pub fn virtual_card() -> VirtualCard {
    let board = CosimBackend::new().open_free("rma2");
    VirtualCard::new(board.expect("a simulated board").remove(0))
}

fn driven() -> (Arc<CardFunction>, Card) {
    let function = Arc::new(CardFunction::new(virtual_card()));
    let limit = Duration::from_secs(60);
    let card = Card::driven(&Machine::local(), Arc::clone(&function) as _, limit);
    (function, card.expect("a card"))
}

#[test]
fn ranks_put_send_and_sleep() {
    let (_function, card) = driven();
    let locks = tempfile::tempdir().expect("a folder");
    let board = XdmaBoard::open(card, locks.path()).expect("the board");
    let received = Job::new(Cluster::single(board))
        .expect("a job")
        .run(2, |rank| {
            let (me, inbox) = (rank.pid().0, rank.alloc::<u32>(4)?);
            let window = rank.register(&inbox, Rights::ALL)?;
            rank.put(&window, GlobalRank(1 - me), 0, &[me; 4])?;
            rank.fence()?;
            let mut found = [9];
            if me == 0 {
                // The other rank enables its interrupt and sleeps.
                std::thread::sleep(Duration::from_millis(300));
                rank.send(GlobalRank(1), 3, &[7_u32])?;
            } else {
                rank.recv(GlobalRank(0), 3, &mut found)?;
            }
            Ok((rank.read_vec(&inbox)?, found[0]))
        })
        .expect("a run");
    assert_eq!(received, [(vec![1; 4], 9), (vec![0; 4], 7)]);
}

/// A rank that sleeps looks at its causes every 20 ms, so a lost interrupt fails no run of the library.
#[test]
fn interrupts_of_ranks_arrive() {
    let (_function, card) = driven();
    let user = card.user_bar().expect("registers");
    let write = |rank, register, value| {
        let at = u64::from(rank_page(rank) + register);
        user.write32(BarOffset(at), value).expect("a write");
    };
    let mut events = [0, 1].map(|rank| card.event(rank).expect("an event"));
    let mut wait = |rank: usize, limit| events[rank].wait(Some(limit)).expect("a poll");
    let (long, short) = (Duration::from_secs(60), Duration::from_millis(100));
    for rank in [1, 0, 1] {
        write(rank, IRQ_ENABLE, causes::EVENT.put(1));
        // An opcode that does not exist causes an event.
        write(rank, 0x3fc, 0);
        assert!(wait(rank as usize, long), "rank {rank}");
        assert!(!wait(1 - rank as usize, Duration::ZERO), "the other rank");
        write(rank, ACK_EVENTS, u32::MAX);
        write(rank, IRQ_ENABLE, 0);
    }
    // Nobody waits, so time stands still.
    let now = || user.read32(BarOffset(u64::from(CYCLE_LO))).expect("a read");
    let before = now();
    std::thread::sleep(short);
    assert!(now().wrapping_sub(before) < 1000, "{before}");
    write(0, IRQ_ENABLE, causes::EVENT.put(1));
    std::thread::sleep(short);
    assert!(now().wrapping_sub(before) > 1000, "{before}");
}

#[test]
fn three_ways_lead_to_one_board() {
    let (_function, card) = driven();
    assert_eq!(card.bars()[..4], [256 << 10, 64 << 10, 4 << 20, 0]);
    let user = card.user_bar().expect("registers");
    let magic = BarOffset(u64::from(MAGIC));
    assert_eq!(user.read32(magic).expect("a read"), alcor_abi::MAGIC);
    // Beyond the pages of the ranks nothing answers.
    assert_eq!(user.read32(BarOffset(0x3_0000)).expect("a read"), u32::MAX);
    let bypass = card.bypass_bar().expect("node memory");
    for at in [0x100, (1 << 20) + 0x104] {
        card.h2c(0)
            .expect("a channel")
            .write(CardAddr(at), &[1, 2, 3, 4])
            .expect("a write");
        assert_eq!(bypass.read32(BarOffset(at)).expect("a read"), 0x0403_0201);
        bypass.write32(BarOffset(at), 0x0807_0605).expect("a write");
        let mut found = [0; 4];
        card.c2h(0)
            .expect("a channel")
            .read(CardAddr(at), &mut found)
            .expect("a read");
        assert_eq!(found, [5, 6, 7, 8]);
    }
    let error = card
        .c2h(0)
        .expect("a channel")
        .read(CardAddr(2 << 20), &mut [0; 4]);
    assert!(format!("{:?}", error.expect_err("no memory")).contains("decode error"));
}

#[test]
fn accesses_of_any_place_and_width_are_answered() {
    let card = virtual_card();
    for bar in 0..8 {
        for at in [
            0,
            1,
            3,
            0x8ffc,
            0x8fff,
            0xfffe,
            0x3_fffd,
            0x1f_fffe,
            u64::MAX - 3,
            u64::MAX,
        ] {
            for length in [0, 1, 2, 3, 4, 8, 13] {
                let mut data = vec![0; length];
                card.write_bar(bar, at, &data);
                card.read_bar(bar, at, &mut data);
                if at > 0x40_0000 || bar > BYPASS_BAR {
                    assert!(data.iter().all(|&byte| byte == 0xff), "bar {bar}, {at:#x}");
                }
            }
        }
    }
    let mut found = [0; 8];
    card.read_bar(CORE_BAR, 0x1ffc, &mut found);
    assert_eq!(found, [0, 0, 0, 0, 6, 0, 0xc2, 0x1f], "two registers");
    card.read_bar(CORE_BAR, 0x2003, &mut found[..1]);
    assert_eq!(found[0], 0x1f, "a byte of a register");
    card.write_bar(BYPASS_BAR, 0xfff, &[1, 2]);
    card.read_bar(BYPASS_BAR, 0xffe, &mut found[..4]);
    assert_eq!(found[..4], [0, 1, 2, 0]);
    card.read_bar(USER_BAR, u64::from(MAGIC), &mut found[..4]);
    assert_eq!(found[..4], alcor_abi::MAGIC.to_le_bytes());
}

#[test]
fn memory_and_bus_master_may_vanish_under_an_engine() {
    let (function, card) = driven();
    let mut to = card.h2c(0).expect("a channel");
    to.write(CardAddr(0), &[1; 64]).expect("a write");
    function.card.unmap(crate::host::BASE, u64::MAX / 2);
    let error = to.write(CardAddr(0), &[2; 64]).expect_err("no memory");
    assert!(
        format!("{error:?}").contains("descriptor fetch: unsupported request"),
        "{error}"
    );
    // A function-level reset: neither memory space nor bus master are left.
    function.card.write_config(0x78, &0xa010_u16.to_le_bytes());
    let mut command = [9; 2];
    function.card.read_config(4, &mut command);
    assert_eq!(command, [0, 0]);
    let mut found = [0; 4];
    function.card.read_bar(CORE_BAR, 0x4, &mut found);
    assert_eq!(found, [0; 4]);
}
