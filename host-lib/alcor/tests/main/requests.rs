use std::sync::Mutex;

use alcor::soft::SoftConfig;
use alcor::{Error, GlobalRank, Options, Request, Rights, Status};

use crate::{right, run, run_with};

#[test]
fn many_more_requests_than_the_ring_has_entries() {
    for ring_entries in [1, 2, 8, 256] {
        let options = Options::default().ring_entries(ring_entries);
        let config = SoftConfig::default().ranks(2);
        run_with(config, options, |rank| {
            let memory = rank.alloc_from(&[0u32; 1000])?;
            let window = rank.register(&memory, Rights::ALL)?;
            let source = rank.alloc_from(&(0..1000).collect::<Vec<u32>>())?;
            let target = right(rank);
            let mut requests = Vec::new();
            for i in 0..1000 {
                requests.push(rank.iput(&window, target, i, source.slice(i..=i)?)?);
            }
            rank.wait_all(requests)?;
            rank.fence()?;
            assert_eq!(rank.read_vec(&memory)?, (0..1000).collect::<Vec<u32>>());
            assert_eq!(rank.lab().counters()?.completions, 1000);
            assert!(rank.lab().events()?.is_empty());
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn requests_end_in_any_order_and_flush_completes_them() {
    run(2, |rank| {
        let memory = rank.alloc_from(&[0u64; 8])?;
        let window = rank.register(&memory, Rights::ALL)?;
        let mut one = rank.alloc_from(&[1u64])?;
        let target = right(rank);
        let mut first = rank.iput(&window, target, 0, &one)?;
        let second = rank.iput(&window, target, 1, &one)?;
        let third = rank.iput(&window, rank.pid(), 2, &one)?;
        rank.wait(third)?;
        rank.flush(target)?;
        assert!(rank.test(&mut first)?);
        rank.wait(second)?;
        rank.wait(first)?;

        let mut polled = rank.iget(&window, target, 0, &mut one)?;
        while !rank.test(&mut polled)? {}
        rank.barrier()
    })
    .unwrap();
}

/// A list may keep a complete request: the others still complete.
#[test]
fn wait_some_looks_at_all_requests_beside_a_complete_one() {
    run(2, |rank| {
        let other = right(rank);
        if rank.pid() == GlobalRank(0) {
            rank.send(other, 0, &[1u8])?;
            rank.recv(other, 2, &mut [0u8])?;
            return rank.send(other, 1, &[2u8]);
        }
        let (mut first, mut second) = ([0u8], [0u8]);
        let requests = [
            rank.irecv(other, 0, &mut first)?,
            rank.irecv(other, 1, &mut second)?,
        ];
        assert_eq!(rank.wait_some(&requests)?, [0]);
        rank.send(other, 2, &[0u8])?;
        // The clock of the soft board moves with each access.
        let mut some = Vec::new();
        for _ in 0..100_000 {
            some = rank.wait_some(&requests)?;
            if some.len() == 2 {
                break;
            }
        }
        assert_eq!(some, [0, 1]);
        rank.wait_all(requests)?;
        assert_eq!((first, second), ([1], [2]));
        Ok(())
    })
    .unwrap();
}

/// The indices are those of all complete requests, and each call looks at the others once.
#[test]
fn test_some_looks_at_all_requests_and_does_not_wait() {
    run(2, |rank| {
        let other = right(rank);
        if rank.pid() == GlobalRank(0) {
            rank.recv(other, 9, &mut [0u8])?;
            rank.send(other, 2, &[3u8])?;
            rank.recv(other, 9, &mut [0u8])?;
            rank.send(other, 0, &[1u8])?;
            return rank.send(other, 1, &[2u8]);
        }
        assert!(rank.test_some(&[])?.is_empty());
        let mut values = [[0u8], [0], [0]];
        let mut requests = Vec::new();
        for (tag, value) in (0..).zip(&mut values) {
            requests.push(rank.irecv(other, tag, value)?);
        }
        assert!(rank.test_some(&requests)?.is_empty());
        for expected in [&[2][..], &[0, 1, 2]] {
            rank.send(other, 9, &[0u8])?;
            // The clock of the soft board moves with each access.
            let mut some = Vec::new();
            for _ in 0..100_000 {
                some = rank.test_some(&requests)?;
                if some.len() == expected.len() {
                    break;
                }
            }
            assert_eq!(some, expected);
        }
        assert_eq!(rank.test_some(&requests)?, [0, 1, 2]);
        rank.wait_all(requests)?;
        assert_eq!(values, [[1], [2], [3]]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn failures_go_to_the_owner_of_the_request() {
    run(2, |rank| {
        let memory = rank.alloc::<u8>(4)?;
        let window = rank.register(&memory, Rights::ALL)?;
        let target = right(rank);
        let bad = rank.iput(&window, target, 4, &memory)?;
        let good = rank.iput(&window, target, 0, &memory)?;
        // The request still exists, so a flush does not report its failure.
        rank.flush_all()?;
        let error = rank.wait_all([good, bad]).unwrap_err();
        assert_eq!(error.status(), Some(Status::OutOfBounds));
        rank.flush_all()?;

        let mut polled = rank.iput(&window, target, 4, &memory)?;
        let error = loop {
            match rank.test(&mut polled) {
                Ok(false) => {}
                Ok(true) => panic!("it was to be refused"),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::Refused { .. }));
        drop(polled);
        rank.fence()
    })
    .unwrap();
}

#[test]
fn failures_of_dropped_requests_surface_at_flush_once() {
    run(2, |rank| {
        let memory = rank.alloc::<u8>(4)?;
        let window = rank.register(&memory, Rights::ALL)?;
        let target = right(rank);
        for _ in 0..100 {
            // One request is dropped before its completion, and one after.
            drop(rank.iput(&window, target, 1, &memory)?);
            let request = rank.iput(&window, target, 1, &memory)?;
            rank.flush(rank.pid())?;
            drop(request);
        }
        let error = rank.flush(target).unwrap_err();
        match &error {
            Error::Unclaimed { failed, .. } => assert_eq!(*failed, 200),
            other => panic!("{other}"),
        }
        assert_eq!(error.status(), Some(Status::OutOfBounds));
        assert!(
            error
                .to_string()
                .starts_with("200 operations failed after their requests")
        );
        rank.flush_all()?;

        drop(rank.iput(&window, target, 1, &memory)?);
        rank.flush(rank.pid())?;
        assert!(rank.fence().is_err());
        rank.fence()
    })
    .unwrap();
}

#[test]
fn a_request_belongs_to_its_rank() {
    let left_over: Mutex<Option<Request>> = Mutex::new(None);
    run(2, |rank| {
        let memory = rank.alloc::<u8>(4)?;
        let window = rank.register(&memory, Rights::ALL)?;
        if rank.pid() == GlobalRank(0) {
            *left_over.lock().unwrap() =
                Some(rank.iput(&window, GlobalRank(0), 0, memory.clone())?);
        }
        rank.barrier()?;
        if rank.pid() == GlobalRank(1) {
            let mut request = left_over.lock().unwrap().take().unwrap();
            assert!(matches!(
                rank.test(&mut request),
                Err(Error::ForeignRequest { .. })
            ));
            assert!(matches!(
                rank.wait(request),
                Err(Error::ForeignRequest { .. })
            ));
        }
        rank.barrier()
    })
    .unwrap();
}
