//! Slices and regions as buffers, dropped requests, and waits with a time limit.

use std::time::Duration;

use alcor::soft::SoftConfig;
use alcor::{Error, GlobalRank, Operation, Options, Rights, Source, Tag};

use crate::{right, run, run_with};

#[test]
fn slices_and_regions_give_the_same() {
    run(3, |rank| {
        let me = rank.pid().0;
        let inbox = rank.alloc_from(&[0u32; 12])?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let values = [10 + me, 20 + me];
        let (target, source) = (right(rank), GlobalRank((me + 2) % 3));
        let mut region = rank.alloc_from(&values)?;
        rank.put(&window, target, 0, &values)?;
        rank.put(&window, target, 2, values.as_slice())?;
        rank.put(&window, target, 4, &values.to_vec())?;
        rank.put(&window, target, 6, &region)?;
        rank.put(&window, target, 8, region.clone())?;
        rank.put(&window, target, 10, &[] as &[u32])?;
        rank.fence()?;
        let theirs = [10 + source.0, 20 + source.0];
        let found = rank.read_vec(&inbox)?;
        assert_eq!(found[..10].chunks(2).collect::<Vec<_>>(), [theirs; 5]);
        assert_eq!(found[10..], [0, 0]);

        let (mut array, mut vector) = ([0; 2], vec![0; 2]);
        rank.get(&window, target, 0, &mut array)?;
        rank.get(&window, target, 2, &mut vector)?;
        rank.get(&window, target, 4, &mut region)?;
        assert_eq!(array, [10 + me, 20 + me]);
        assert_eq!(vector, array);
        assert_eq!(rank.read_vec(&region)?, array);

        let mut heard = [0; 2];
        let receive = rank.irecv(source, 1, &mut heard)?;
        let send = rank.isend(target, 1, &array)?;
        rank.wait_all([send, receive])?;
        assert_eq!(heard, theirs);
        let receive = rank.irecv(source, 2, &mut region)?;
        let send = rank.isend(target, 2, &vector)?;
        rank.wait_all([send, receive])?;
        assert_eq!(rank.read_vec(&region)?, theirs);

        let world = rank.world()?;
        let sum = [33, 63];
        let (mut into_slice, mut into_region) = ([0; 2], rank.alloc::<u32>(2)?);
        world.allreduce(rank, Operation::Sum, &array, &mut into_slice)?;
        world.allreduce(rank, Operation::Sum, &region, &mut into_region)?;
        assert_eq!(into_slice, sum);
        assert_eq!(rank.read_vec(&into_region)?, sum);
        // One buffer of each kind.
        world.allreduce(rank, Operation::Max, &array, &mut into_region)?;
        world.allreduce(rank, Operation::Max, &region, &mut into_slice)?;
        assert_eq!(into_slice, [12, 22]);
        assert_eq!(rank.read_vec(&into_region)?, [12, 22]);
        world.allreduce_in_place(rank, Operation::Sum, &mut array)?;
        assert_eq!(array, sum);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_result_that_has_another_length_than_its_copied_source_is_refused() {
    run(2, |rank| {
        let world = rank.world()?;
        for length in [1, 3] {
            let mut destination = vec![0u32; length];
            let error = world.allreduce(rank, Operation::Sum, &[1, 2], &mut destination);
            assert!(matches!(error, Err(Error::WrongLength { .. })));
        }
        world.barrier(rank).map(drop)
    })
    .unwrap();
}

#[test]
fn a_request_that_is_dropped_or_forgotten_fills_no_slice() {
    for forgets in [false, true] {
        run(2, |rank| {
            let other = GlobalRank(1 - rank.pid().0);
            let mut values = [7u32; 100];
            let receive = rank.irecv(other, 0, &mut values)?;
            if forgets {
                std::mem::forget(receive);
            } else {
                drop(receive);
            }
            rank.barrier()?;
            rank.send(other, 0, &[rank.pid().0; 100])?;
            rank.barrier()?;
            // The copy has been freed, and no other operation's memory was written.
            let fresh = rank.alloc_from(&[9u32; 1000])?;
            rank.barrier()?;
            assert_eq!(rank.read_vec(&fresh)?, [9; 1000]);
            assert_eq!(values, [7; 100]);
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn the_copy_of_a_dropped_receive_stays_taken_until_it_has_ended() {
    run(1, |rank| {
        let me = rank.pid();
        drop(rank.irecv(me, 0, &mut [0u32; 16])?);
        // A region of the same size would have the same address.
        let other = rank.alloc_from(&[5u32; 16])?;
        rank.send(me, 0, &[6u32; 16])?;
        rank.barrier()?;
        assert!(rank.iprobe(Source::Any, Tag::Any)?.is_none());
        assert_eq!(rank.read_vec(&other)?, [5; 16]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_slice_gets_the_elements_that_came_whole() {
    run(1, |rank| {
        let me = rank.pid();
        let mut values = [9u16; 4];
        let receive = rank.irecv(me, 0, &mut values)?;
        rank.send(me, 0, &[1u8, 0, 2, 0, 3])?;
        assert_eq!(rank.wait_message(receive)?.length, 5);
        assert_eq!(values, [1, 2, 9, 9]);
        let receive = rank.irecv(me, 0, &mut values)?;
        rank.send(me, 0, &[4u16; 6])?;
        let error = rank.wait(receive).unwrap_err();
        assert!(matches!(error, Error::Truncated { .. }), "{error}");
        assert_eq!(values, [4; 4]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_refused_get_leaves_its_slice() {
    run(1, |rank| {
        let region = rank.alloc_from(&[1u32; 4])?;
        let window = rank.register(&region, Rights::WRITE)?;
        let mut found = [8; 4];
        let error = rank.get(&window, GlobalRank(0), 0, &mut found).unwrap_err();
        assert!(matches!(error, Error::Refused { .. }), "{error}");
        assert_eq!(found, [8; 4]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_limited_wait_ends_in_time_and_keeps_the_request() {
    let config = SoftConfig::default().ranks(2);
    // The limits of these waits are longer than the watchdog's.
    let options = Options::default().watchdog_cycles(10_000);
    run_with(config, options, |rank| {
        let other = GlobalRank(1 - rank.pid().0);
        let mut values = [0; 2];
        let mut receive = rank.irecv(other, 0, &mut values)?;
        // A cycle takes 4 ns.
        let began = rank.now()?.0;
        assert!(!rank.wait_timeout(&mut receive, Duration::from_micros(200))?);
        let waited = rank.now()?.0 - began;
        assert!((50_000..55_000).contains(&waited), "{waited} cycles");
        assert!(!rank.wait_timeout(&mut receive, Duration::ZERO)?);
        rank.barrier()?;
        rank.send(other, 0, &[rank.pid().0, 5])?;
        rank.barrier()?;
        assert!(rank.wait_timeout(&mut receive, Duration::ZERO)?);
        assert!(rank.wait_timeout(&mut receive, Duration::ZERO)?);
        assert_eq!(rank.wait_message(receive)?.length, 8);
        assert_eq!(values, [other.0, 5]);

        // A wait with a limit that is never reached.
        let mut receive = rank.irecv(other, 0, &mut values)?;
        rank.send(other, 0, &[1, 1])?;
        assert!(rank.wait_timeout(&mut receive, Duration::MAX)?);
        rank.wait(receive)
    })
    .unwrap();
}

#[test]
fn a_limited_wait_tells_failures_and_other_ranks_requests() {
    let left_over = std::sync::Mutex::new(None);
    run(2, |rank| {
        let region = rank.alloc_from(&[1u32; 4])?;
        let window = rank.register(&region, Rights::ALL)?;
        let mut bad = rank.iput(&window, right(rank), 4, &[1])?;
        let error = rank.wait_timeout(&mut bad, Duration::MAX).unwrap_err();
        assert!(matches!(error, Error::Refused { .. }), "{error}");
        if rank.pid() == GlobalRank(0) {
            *left_over.lock().unwrap() =
                Some(rank.iput(&window, GlobalRank(1), 0, [2].as_slice())?);
        }
        rank.fence()?;
        if rank.pid() == GlobalRank(1) {
            let mut foreign = left_over.lock().unwrap().take().unwrap();
            let error = rank.wait_timeout(&mut foreign, Duration::ZERO).unwrap_err();
            assert!(matches!(error, Error::ForeignRequest { .. }), "{error}");
        }
        rank.barrier()
    })
    .unwrap();
}
