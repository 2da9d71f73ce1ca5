use alcor::{Error, GlobalRank, NodeAddr, Rights, Status, Transfer, TransferKind, WindowName};

use crate::{right, run};

#[test]
fn every_alignment_and_many_lengths() {
    run(2, |rank| {
        let window_memory = rank.alloc::<u8>(256)?;
        let window = rank.register(&window_memory, Rights::ALL)?;
        let pattern: Vec<u8> = (0..200).map(|i| i as u8 ^ 0x5A).collect();
        let local = rank.alloc_from(&pattern)?;
        let mut back = rank.alloc::<u8>(200)?;
        let target = right(rank);
        for length in [0usize, 1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 129] {
            for offset in 0..8 {
                for at in 0..4 {
                    let source = local.slice(at..at + length)?;
                    rank.put_bytes(&window, target, offset as u64, &source)?;
                    rank.write(&mut back, 0, &[0xEE; 200])?;
                    let mut destination = back.slice(7 - offset..7 - offset + length)?;
                    rank.get_bytes(&window, target, offset as u64, &mut destination)?;
                    assert_eq!(rank.read_vec(&destination)?, pattern[at..at + length]);
                    let all = rank.read_vec(&back)?;
                    let touched = all.iter().filter(|&&byte| byte != 0xEE).count();
                    assert!(touched <= length);
                }
            }
            rank.fence()?;
        }
        rank.deregister(window)
    })
    .unwrap();
}

#[test]
fn elements_are_typed() {
    let got = run(3, |rank| {
        let memory = rank.alloc_from(&[f64::from(rank.pid().0) + 0.5; 3])?;
        let window = rank.register(&memory, Rights::ALL)?;
        let target = right(rank);
        let mut got = [0.0];
        rank.get(&window, target, 2, &mut got)?;
        rank.fence()?;
        rank.put(&window, target, 1, &[-1.0])?;
        rank.fence()?;
        assert_eq!(rank.read_vec(window.region())?[1], -1.0);
        Ok(got[0])
    });
    assert_eq!(got.unwrap(), [1.5, 2.5, 0.5]);
}

#[test]
fn what_the_target_refuses_comes_back_typed_and_touches_nothing() {
    run(2, |rank| {
        let memory = rank.alloc_from(&[7u32; 4])?;
        let writable = rank.register(&memory, Rights::WRITE)?;
        let other = rank.alloc_from(&[7u32; 4])?;
        let readable = rank.register(&other, Rights::READ)?;
        let target = right(rank);
        let mut two = rank.alloc_from(&[1u32, 2])?;

        let refused = |result: Result<(), Error>| result.unwrap_err().status();
        let bounds = Some(Status::OutOfBounds);
        assert_eq!(refused(rank.put(&writable, target, 3, &two)), bounds);
        assert_eq!(refused(rank.put(&writable, target, 1 << 29, &two)), bounds);
        assert_eq!(refused(rank.get(&readable, target, 3, &mut two)), bounds);
        assert_eq!(
            refused(rank.put(&readable, target, 0, &two)),
            Some(Status::Denied)
        );
        assert_eq!(
            refused(rank.get(&writable, target, 0, &mut two)),
            Some(Status::Denied)
        );
        let nobody = GlobalRank(2);
        assert_eq!(
            refused(rank.put(&writable, nobody, 0, &two)),
            Some(Status::BadRank)
        );

        let error = rank.put(&writable, target, 3, &two).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(&format!(
                "put of 8 bytes to {target}, window slot 0, byte offset 12, local node address"
            )) && text.contains("beyond the window's end. Check offset and length"),
            "{text}"
        );

        rank.fence()?;
        assert_eq!(rank.read_vec(&memory)?, [7; 4]);
        assert_eq!(rank.read_vec(&other)?, [7; 4]);
        assert_eq!(rank.lab().counters()?.refused_in, 6);
        assert_eq!(rank.lab().counters()?.refused_out, 1);
        Ok(())
    })
    .unwrap();
}

#[test]
fn what_no_register_can_hold_is_refused_by_software() {
    run(1, |rank| {
        let mut memory = rank.alloc::<u32>(4)?;
        let window = rank.register(&memory, Rights::ALL)?;
        let me = rank.pid();
        let far = rank.put(&window, me, 1 << 30, &memory).unwrap_err();
        assert!(
            matches!(
                far,
                Error::OutOfRange {
                    what: "byte offset",
                    ..
                }
            ),
            "{far}"
        );
        let bytes = memory.bytes();
        assert!(rank.put_bytes(&window, me, 1 << 32, &bytes).is_err());
        let nobody = rank
            .get(&window, GlobalRank(256), 0, &mut memory)
            .unwrap_err();
        assert_eq!(
            nobody.to_string(),
            "target rank 256 does not fit the hardware's field, whose largest value is 255"
        );
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_raw_transfer_is_checked_by_nobody_but_the_hardware() {
    run(1, |rank| {
        let memory = rank.alloc_from(&[1u8, 2, 3, 4])?;
        let window = rank.register(&memory, Rights::ALL)?;
        let name = WindowName::Base(window.base());
        let transfer = Transfer::new(TransferKind::Put, rank.pid(), name, memory.addr(), 2);
        let transfer = transfer.at_offset(2);
        let request = rank.lab().transfer(transfer)?;
        rank.wait(request)?;
        assert_eq!(rank.read_vec(&memory)?, [1, 2, 1, 2]);

        let mut bad = [
            (transfer, Status::BadLocal),
            (transfer, Status::BadSlot),
            (transfer, Status::NotRegistered),
        ];
        bad[0].0.local = NodeAddr(u32::MAX);
        bad[1].0.window = WindowName::Slot(9);
        bad[2].0.window = WindowName::Base(NodeAddr(0));
        for (transfer, status) in bad {
            let request = rank.lab().transfer(transfer)?;
            assert_eq!(rank.wait(request).unwrap_err().status(), Some(status));
        }
        Ok(())
    })
    .unwrap();
}
