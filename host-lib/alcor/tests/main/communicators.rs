//! Communicators: split, dup, create, free.

use std::sync::Mutex;

use alcor::{
    Cluster, Communicator, CommunicatorId, Error, GlobalRank, LocalRank, Operation, Options, Rank,
    Result, soft::SoftBoard,
};

use crate::run;

fn pids(communicator: &Communicator) -> Vec<u32> {
    communicator.members().iter().map(|rank| rank.0).collect()
}

/// The sum of the members' pids, computed by the communicator.
fn sum(rank: &mut Rank, communicator: &Communicator) -> Result<u32> {
    let mut sum = [rank.pid().0];
    communicator.allreduce_in_place(rank, Operation::Sum, &mut sum)?;
    Ok(sum[0])
}

#[test]
fn split_orders_by_key_and_then_by_rank() {
    run(6, |rank| {
        let world = rank.world()?;
        assert_eq!(pids(&world), [0, 1, 2, 3, 4, 5]);
        let me = rank.pid().0;
        // Rank 5 passes no color. The keys of color 0 reverse the order.
        let color = (me != 5).then_some(me % 2);
        let key = if me % 2 == 0 { -(me as i32) } else { 7 };
        let part = world.split(rank, color, key)?;
        match (me, &part) {
            (5, None) => {}
            (0 | 2 | 4, Some(part)) => assert_eq!(pids(part), [4, 2, 0]),
            (1 | 3, Some(part)) => assert_eq!(pids(part), [1, 3]),
            other => panic!("{other:?}"),
        }
        if let Some(part) = part {
            assert_eq!(part.members()[part.rank() as usize], rank.pid());
            let expected = if me % 2 == 0 { 6 } else { 4 };
            assert_eq!(sum(rank, &part)?, expected);
            let mut all = vec![0; part.members().len()];
            part.allgather(rank, &[me], &mut all)?;
            assert_eq!(all, pids(&part));
            part.free(rank)?;
        }
        world.barrier(rank).map(drop)
    })
    .unwrap();
}

#[test]
fn create_takes_any_ranks_in_any_order() {
    run(5, |rank| {
        let world = rank.world()?;
        let list = [3, 0, 4].map(GlobalRank);
        let made = world.create(rank, &list)?;
        assert_eq!(made.is_some(), list.contains(&rank.pid()));
        if let Some(made) = &made {
            assert_eq!(made.members(), list);
            assert_eq!(sum(rank, made)?, 7);
            // A communicator of a part of the members, while the others do something else.
            let again = made.create(rank, &[4, 3].map(GlobalRank))?;
            if let Some(again) = &again {
                assert_ne!(again.id(), made.id());
                assert_eq!(sum(rank, again)?, 7);
            }
            let error = made.create(rank, &[GlobalRank(1)]).unwrap_err();
            assert!(
                matches!(error, Error::NoSuchMember { found: 1, .. }),
                "{error}"
            );
            let says = "in the list, rank 1 is not among the";
            assert!(error.to_string().contains(says), "{error}");
        }
        assert_eq!(world.create(rank, &[])?.map(|made| made.size()), None);
        let error = world.create(rank, &[GlobalRank(1); 2]).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("rank 1 is twice in the list of members; list each member once"),
            "{error}"
        );
        sum(rank, &world).map(drop)
    })
    .unwrap();
}

#[test]
fn copies_are_apart_from_each_other() {
    run(3, |rank| {
        let world = rank.world()?;
        let mut copies = vec![world.clone()];
        for number in 1..40 {
            let copy = copies[number / 2].dup(rank)?;
            assert_eq!(copy.members(), world.members());
            assert_eq!(copy.id(), CommunicatorId(number as u32));
            copies.push(copy);
        }
        let vectors = copies
            .iter()
            .map(|_| rank.alloc_from(&[rank.pid().0; 10]))
            .collect::<Result<Vec<_>>>()?;
        let pairs: Vec<_> = copies.iter().zip(&vectors).collect();
        let mut requests = Vec::new();
        // Rank 1 begins at the other end.
        let turned = rank.pid() == GlobalRank(1);
        for index in 0..pairs.len() {
            let (copy, vector) = pairs[if turned {
                pairs.len() - 1 - index
            } else {
                index
            }];
            requests.push(copy.iallreduce_in_place(rank, Operation::Sum, vector.clone())?);
        }
        rank.wait_all(requests)?;
        for vector in &vectors {
            assert_eq!(rank.read_vec(vector)?, [3; 10]);
        }
        for copy in copies.drain(1..) {
            copy.free(rank)?;
        }
        sum(rank, &world).map(drop)
    })
    .unwrap();
}

#[test]
fn freed_and_foreign_communicators_are_refused() {
    let left_over: Mutex<Option<Communicator>> = Mutex::new(None);
    run(2, |rank| {
        let world = rank.world()?;
        let copy = world.dup(rank)?;
        let handle = copy.clone();
        copy.free(rank)?;
        let error = handle.barrier(rank).unwrap_err();
        assert!(error.to_string().contains("has been freed"), "{error}");
        let error = handle.free(rank).unwrap_err();
        assert!(matches!(error, Error::BadCommunicator { .. }), "{error}");
        let error = world.clone().free(rank).unwrap_err();
        assert!(
            error.to_string().contains("the world can't be freed"),
            "{error}"
        );

        if rank.pid() == GlobalRank(0) {
            *left_over.lock().unwrap() = Some(world.clone());
        }
        rank.barrier()?;
        if rank.pid() == GlobalRank(1) {
            let other = left_over.lock().unwrap().take().unwrap();
            let error = other.barrier(rank).unwrap_err();
            assert!(
                error.to_string().contains("belongs to another rank"),
                "{error}"
            );
        }
        world.barrier(rank).map(drop)
    })
    .unwrap();
}

#[test]
fn ranks_that_attach_one_by_one_have_a_world_too() {
    let board = SoftBoard::new(3);
    let cluster = Cluster::from(board);
    cluster.prepare(3).unwrap();
    std::thread::scope(|scope| {
        for local in 0..3 {
            let board = cluster.boards()[0].clone();
            scope.spawn(move || {
                let options = Options::default();
                let pid = GlobalRank(local);
                let mut rank = Rank::attach(board, LocalRank(local), pid, 3, &options).unwrap();
                let world = rank.world().unwrap();
                assert_eq!(sum(&mut rank, &world).unwrap(), 3);
                let half = world.split(&mut rank, Some(local / 2), 0).unwrap().unwrap();
                assert_eq!(sum(&mut rank, &half).unwrap(), [1, 1, 2][local as usize]);
                rank.finish().unwrap();
            });
        }
    });
}

#[test]
fn making_and_freeing_again_and_again() {
    run(4, |rank| {
        let world = rank.world()?;
        for round in 0..50u32 {
            let color = (rank.pid().0 + round) % 3;
            let part = world.split(rank, Some(color), 0)?.unwrap();
            let expected: u32 = part.members().iter().map(|rank| rank.0).sum();
            assert_eq!(sum(rank, &part)?, expected);
            part.free(rank)?;
        }
        Ok(())
    })
    .unwrap();
}
