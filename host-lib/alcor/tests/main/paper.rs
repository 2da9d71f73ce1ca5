use alcor::{Error, GlobalRank, NodeAddr, PageOffset, Rights, Status};

use crate::{right, run};

#[test]
fn put_1_put_n_and_get_count_words() {
    run(2, |rank| {
        let inbox = rank.alloc_from(&[0u32; 64])?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let landing = rank.alloc_from(&[0u32; 64])?;
        let destination = rank.register(&landing, Rights::ALL)?;
        let source = rank.alloc_from(&(100..130).collect::<Vec<u32>>())?;
        let target = right(rank);

        rank.lab().paper().put_1(window.base(), target, 3, 77)?;
        rank.lab()
            .paper()
            .put_n(window.base(), source.addr(), target, 30, 10)?;
        rank.barrier()?;
        let mut expected = [0; 64];
        expected[3] = 77;
        expected[10..40].copy_from_slice(&(100..130).collect::<Vec<u32>>());
        assert_eq!(rank.read_vec(&inbox)?, expected);

        rank.lab()
            .paper()
            .get(destination.base(), window.base(), target, 4, 38)?;
        rank.barrier()?;
        assert_eq!(rank.read_vec(&landing)?[..5], [128, 129, 0, 0, 0]);
        assert!(rank.lab().epoch_cycles()? > 0);
        assert!(rank.lab().events()?.is_empty());
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_long_stream_keeps_its_credits() {
    run(2, |rank| {
        let inbox = rank.alloc_from(&[0u32; 200])?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let target = right(rank);
        for i in 0..200 {
            rank.lab().paper().put_1(window.base(), target, i, i)?;
        }
        rank.barrier()?;
        assert_eq!(rank.read_vec(&inbox)?, (0..200).collect::<Vec<u32>>());
        assert!(!rank.lab().events()?.overflow());
        Ok(())
    })
    .unwrap();
}

#[test]
fn refusals_show_as_events_where_they_happened() {
    run(2, |rank| {
        let inbox = rank.alloc_from(&[0u32; 4])?;
        let window = rank.register(&inbox, Rights::ALL)?;
        if rank.pid() == GlobalRank(0) {
            let target = GlobalRank(1);
            rank.lab().paper().put_1(NodeAddr(64), target, 0, 1)?;
            rank.barrier()?;
            let events = rank.lab().events()?;
            assert!(events.refused() && !events.dropped());
            let last = events.last_error.unwrap();
            assert_eq!(last.status, Some(Status::NotRegistered));
            assert_eq!(last.opcode, alcor_abi::Opcode::Put1 as u32);
            assert!(rank.lab().events()?.is_empty());

            rank.lab()
                .paper()
                .put_n(window.base(), inbox.addr(), target, 31, 0)?;
            rank.lab().paper().put_1(window.base(), target, 4, 1)?;
            rank.barrier()?;
            let last = rank.lab().events()?.last_error.unwrap();
            assert_eq!(last.status, Some(Status::BadLength));
            let error = rank
                .lab()
                .paper()
                .put_1(window.base(), target, 256, 1)
                .unwrap_err();
            assert!(matches!(
                error,
                Error::OutOfRange {
                    what: "offset in words",
                    ..
                }
            ));
        } else {
            rank.barrier()?;
            rank.barrier()?;
            let events = rank.lab().events()?;
            assert!(events.dropped() && !events.refused());
            assert_eq!(events.last_error.unwrap().status, Some(Status::OutOfBounds));
            assert_eq!(rank.lab().counters()?.refused_in, 1);
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn half_a_command_and_an_unknown_opcode_are_events() {
    run(1, |rank| {
        rank.lab().command(alcor_abi::Opcode::Put1, 0)?;
        rank.barrier()?;
        assert!(rank.lab().events()?.bad_opcode());
        rank.lab().port().write32(PageOffset(4 * 0xF0), 0)?;
        assert!(rank.lab().events()?.bad_opcode());
        Ok(())
    })
    .unwrap();
}
