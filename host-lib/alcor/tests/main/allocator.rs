use alcor::soft::SoftConfig;
use alcor::{Error, NodeAddr, Options, Region};
use proptest::prelude::*;

use crate::run_with;

const RING_BYTES: u32 = 256 * 16;
const NODE_BYTES: u32 = 64 * 1024;
/// Size of the unexpected message buffer.
const BUFFER_BYTES: u32 = 64 * 256;
/// End of the allocatable node memory. One fragment before the buffer belongs to the library.
const END: u32 = NODE_BYTES - BUFFER_BYTES - 256;

fn one_rank() -> SoftConfig {
    SoftConfig::default().ranks(1).node_bytes(NODE_BYTES)
}

#[derive(Debug, Clone)]
enum Step {
    Take(usize),
    Free(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let take = (0usize..12_000).prop_map(Step::Take);
    let free = any::<usize>().prop_map(Step::Free);
    proptest::collection::vec(prop_oneof![3 => take, 2 => free], 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn regions_never_overlap_and_all_memory_comes_back(steps in steps()) {
        run_with(one_rank(), Options::default(), |rank| {
            let mut held: Vec<Region<u8>> = Vec::new();
            for step in &steps {
                match *step {
                    Step::Free(which) if !held.is_empty() => {
                        held.swap_remove(which % held.len());
                    }
                    Step::Free(_) => {}
                    Step::Take(bytes) => match rank.alloc::<u8>(bytes) {
                        Ok(region) => held.push(region),
                        Err(Error::OutOfNodeMemory { largest, .. }) => {
                            assert!((largest as usize) < bytes.max(1));
                        }
                        Err(error) => return Err(error),
                    },
                }
                let mut pieces: Vec<(u32, u32)> = held
                    .iter()
                    .map(|region| (region.addr().0, region.byte_len()))
                    .collect();
                pieces.sort_unstable();
                for &(start, bytes) in &pieces {
                    assert_eq!(start % 64, 0);
                    assert!(start >= RING_BYTES && start + bytes <= END);
                }
                for pair in pieces.windows(2) {
                    assert!(pair[0].0 + pair[0].1.max(1) <= pair[1].0, "{pieces:?}");
                }
            }
            drop(held);
            let all = rank.alloc::<u8>((END - RING_BYTES) as usize)?;
            assert_eq!(all.addr(), NodeAddr(RING_BYTES));
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn a_transfer_under_way_and_a_window_keep_their_memory() {
    run_with(one_rank(), Options::default(), |rank| {
        let region = rank.alloc::<u64>(16)?;
        let at = region.addr();
        let window = rank.register(&region, alcor::Rights::ALL)?;
        drop(region);
        let other = rank.alloc::<u64>(16)?;
        assert_ne!(other.addr(), at);

        let local = rank.alloc::<u64>(16)?;
        let in_use = local.addr();
        let request = rank.iput(&window, rank.pid(), 0, local.clone())?;
        drop(local);
        assert_ne!(rank.alloc::<u64>(16)?.addr(), in_use);
        rank.wait(request)?;
        assert_eq!(rank.alloc::<u64>(16)?.addr(), in_use);

        rank.deregister(window)?;
        assert_eq!(rank.alloc::<u64>(16)?.addr(), at);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_receive_keeps_its_memory_until_it_has_ended() {
    run_with(one_rank(), Options::default(), |rank| {
        let place = rank.alloc::<u64>(16)?;
        let in_use = place.addr();
        let request = rank.irecv(rank.pid(), 7, place.clone())?;
        drop(place);
        assert_ne!(rank.alloc::<u64>(16)?.addr(), in_use);
        rank.send(rank.pid(), 7, &[1u64; 16])?;
        rank.wait(request)?;
        assert_eq!(rank.alloc::<u64>(16)?.addr(), in_use);
        Ok(())
    })
    .unwrap();
}

#[test]
fn an_absurd_size_is_an_error() {
    run_with(one_rank(), Options::default(), |rank| {
        for count in [usize::MAX, 1 << 33, NODE_BYTES as usize] {
            let error = rank.alloc::<f64>(count).unwrap_err();
            assert!(matches!(error, Error::OutOfNodeMemory { .. }), "{error}");
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn accesses_stay_in_their_region() {
    run_with(one_rank(), Options::default(), |rank| {
        let mut region = rank.alloc_from(&[1i16, -2, 3])?;
        assert_eq!(rank.read_vec(&region)?, [1, -2, 3]);
        assert!(matches!(
            rank.write(&mut region, 2, &[0, 0]),
            Err(Error::RegionBounds {
                start: 2,
                end: 4,
                count: 3,
                ..
            })
        ));
        let error = rank.read(&region, usize::MAX, &mut [0]).unwrap_err();
        let says = "has 3 elements, and the access begins at offset -1";
        assert!(error.to_string().ends_with(says), "{error}");
        let mut bytes = rank.alloc::<u8>(8)?;
        let error = rank.write(&mut bytes, 7, &[0, 0]).unwrap_err();
        let says = "has 8 bytes, and the access is to bytes 7 to 9 (the last one excluded)";
        assert!(error.to_string().ends_with(says), "{error}");
        #[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
        let reversed = region.slice(2..1);
        assert!(reversed.is_err());
        assert!(region.slice(..=3).is_err());
        assert!(region.slice(3..)?.is_empty());
        assert_eq!(rank.read_vec(&region.slice(1..)?)?, [-2, 3]);
        let floats = rank.alloc_from(&[f64::MIN_POSITIVE, -0.0])?;
        assert_eq!(rank.read_vec(&floats)?, [f64::MIN_POSITIVE, -0.0]);
        Ok(())
    })
    .unwrap();
}
