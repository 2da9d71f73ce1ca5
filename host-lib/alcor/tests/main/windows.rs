use alcor::soft::SoftConfig;
use alcor::{Error, GlobalRank, NodeAddr, Options, Rights};

use crate::{run, run_with};

#[test]
fn a_full_table_refuses_everywhere_and_takes_again_what_was_freed() {
    let config = SoftConfig::default().ranks(3).slots(4);
    run_with(config, Options::default(), |rank| {
        let mut windows = Vec::new();
        for slot in 0..4 {
            let region = rank.alloc::<u16>(5)?;
            let window = rank.register(&region, Rights::ALL)?;
            assert_eq!(window.slot(), slot);
            assert_eq!((window.len(), window.byte_len()), (5, 10));
            windows.push(window);
        }
        let region = rank.alloc::<u16>(5)?;
        let error = rank.register(&region, Rights::ALL).unwrap_err();
        assert!(
            matches!(error, Error::TableFull { slots: 4, .. }),
            "{error}"
        );
        assert!(error.to_string().contains("table is full (4 slots)"));

        rank.deregister(windows.remove(2))?;
        let again = rank.register(&region, Rights::ALL)?;
        assert_eq!(again.slot(), 2);
        Ok(())
    })
    .unwrap();
}

#[test]
fn refusals_of_one_are_refusals_of_all() {
    run(2, |rank| {
        let first = rank.pid() == GlobalRank(0);
        let known = rank.alloc::<u32>(4)?;
        let fresh = rank.alloc::<u32>(4)?;
        let window = rank.register(&known, Rights::ALL)?;

        let one_knows_it = if first { &known } else { &fresh };
        let error = rank.register(one_knows_it, Rights::ALL).unwrap_err();
        assert!(matches!(error, Error::DuplicateWindow { .. }), "{error}");

        let size = if first { rank.board().node_bytes } else { 4 };
        let error = rank
            .lab()
            .register_range(fresh.addr(), Some(size), Rights::ALL)
            .unwrap_err();
        assert!(matches!(error, Error::WindowOutOfRange { .. }), "{error}");

        let base = if first { known.addr() } else { fresh.addr() };
        let error = rank.lab().deregister_range(base).unwrap_err();
        assert!(matches!(error, Error::NotRegistered { .. }), "{error}");

        // The refusals have left the table unchanged.
        let other = rank.register(&fresh, Rights::NONE)?;
        assert_eq!(other.slot(), 1);
        let base = if first { known.addr() } else { fresh.addr() };
        let error = rank.lab().deregister_range(base).unwrap_err();
        assert!(matches!(error, Error::CollectiveMismatch { .. }), "{error}");
        rank.deregister(other)?;
        rank.deregister(window)?;

        let rest = rank
            .lab()
            .register_range(NodeAddr(4096), None, Rights::ALL)?;
        assert_eq!((rest.slot, rest.bytes), (0, None));
        assert_eq!(rank.lab().deregister_range(NodeAddr(4096))?, 0);
        assert!(
            rank.lab()
                .register_range(NodeAddr(2), None, Rights::ALL)
                .is_err()
        );
        Ok(())
    })
    .unwrap();
}

#[test]
fn different_collectives_are_reported_to_both_ranks() {
    run(2, |rank| {
        let region = rank.alloc::<u8>(4)?;
        let error = if rank.pid() == GlobalRank(0) {
            rank.barrier().unwrap_err()
        } else {
            rank.register(&region, Rights::ALL).map(|_| ()).unwrap_err()
        };
        assert!(matches!(error, Error::CollectiveMismatch { .. }), "{error}");
        // The error is reported once, and the ranks can continue.
        rank.barrier()?;
        rank.barrier()
    })
    .unwrap();
}
