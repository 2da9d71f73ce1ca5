//! Random programs with the network looped back: puts, gets and operations by their effects in memory.

use super::*;

/// A window of the random programs.
#[derive(Debug, Clone, Copy)]
struct Window {
    base: u32,
    size: u32,
    deny_read: bool,
    deny_write: bool,
}

/// Random programs whose packets are looped back to the coprocessor over a network that stalls.
/// After each barrier, memory and completions are compared with the effects of the commands.
pub(super) fn programs(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_programs");
    bench.looped = true;
    bench.begin();
    let me = bench.me;
    // Sources below 0x8000, destinations above, so that the order within a batch does not matter.
    let windows = [
        Window {
            base: 0x8000,
            size: 0x6000,
            deny_read: false,
            deny_write: false,
        },
        Window {
            base: 0x0,
            size: 0x8000,
            deny_read: false,
            deny_write: true,
        },
        Window {
            base: 0x9004,
            size: 1_003,
            deny_read: true,
            deny_write: false,
        },
        Window {
            base: 0x7ffc,
            size: 4,
            deny_read: false,
            deny_write: true,
        },
    ];
    for (slot, window) in windows.iter().enumerate() {
        let deny = u32::from(window.deny_read) | u32::from(window.deny_write) << 1;
        assert_eq!(
            bench.register(window.base, Some(window.size), deny),
            (0, slot as u32)
        );
    }
    let (mut done, mut refused) = (0, 0);
    let mut next_id = 0;
    for _ in 0..soak(40) {
        bench.set_paces();
        let mut memory = bench.memory.clone();
        let mut claimed: Vec<(u32, u32)> = Vec::new();
        let mut claim = |first: u32, length: u32| {
            let clear = claimed
                .iter()
                .all(|&(at, size)| first + length <= at || at + size <= first);
            if clear {
                claimed.push((first, length));
            }
            clear
        };
        let mut expected = Vec::new();
        for _ in 0..24 {
            let rng = &mut bench.rng;
            let slot = rng.random_range(0..5usize);
            let window = windows.get(slot).copied();
            let long = rng.random_bool(0.3);
            let length = rng.random_range(0..if long { 3 * config.payload } else { 40 });
            let size = window.map_or(100, |window| window.size);
            let offset = match rng.random_range(0..5) {
                // Around 2^32, back to the start of the window.
                2 => 0u32.wrapping_sub(rng.random_range(0..=length)),
                0 => size.saturating_sub(length),
                1 => (size + rng.random_range(0..3)).saturating_sub(length),
                _ => rng.random_range(0..=size.saturating_sub(length)),
            };
            let is_get = rng.random();
            let status = match window {
                None => Status::BadSlot,
                Some(_) if u64::from(offset) + u64::from(length) > u64::from(size) => {
                    Status::OutOfBounds
                }
                Some(window)
                    if if is_get {
                        window.deny_read
                    } else {
                        window.deny_write
                    } =>
                {
                    Status::Denied
                }
                Some(_) => Status::Ok,
            };
            let remote = window.map_or(0, |window| window.base).wrapping_add(offset);
            let laddr = rng.random_range(0..0x8000 - length) + if is_get { 0x8000 } else { 0 };
            // Reads are below, writes above.
            let (from, to) = if is_get {
                (remote, laddr)
            } else {
                (laddr, remote)
            };
            let within = from <= 0x8000 - length && to >= 0x8000 && to <= RING - length;
            let paper = rng.random_bool(0.3);
            if paper {
                // A PUT of the paper into the first window, in words.
                let (words, at) = (rng.random_range(1..=30u32), rng.random_range(0..256u32));
                let source = rng.random_range(0..0x8000 - 120);
                let to = windows[0].base + 4 * at;
                if !claim(to, 4 * words) {
                    continue;
                }
                let data: Vec<u8> = memory[source as usize..(source + 4 * words) as usize].to_vec();
                memory[to as usize..(to + 4 * words) as usize].copy_from_slice(&data);
                if words == 1 {
                    let word = u32::from_le_bytes(std::array::from_fn(|lane| data[lane]));
                    bench.command(Opcode::Put1, windows[0].base);
                    bench.command(Opcode::Put1, word);
                } else {
                    bench.command(Opcode::PutN, windows[0].base);
                    bench.command(Opcode::PutN, source);
                }
                bench.data8(me, words, at);
                done += 1;
                continue;
            }
            if status == Status::Ok && !(within && claim(to, length)) {
                continue;
            }
            if status == Status::Ok {
                let data: Vec<u8> = memory[from as usize..(from + length) as usize].to_vec();
                memory[to as usize..(to + length) as usize].copy_from_slice(&data);
                done += 1;
            } else {
                refused += 1;
            }
            next_id = (next_id + 1) % (1 << 16);
            let opcode = if is_get { Opcode::XGet } else { Opcode::XPut };
            bench.extended(opcode, me, slot as u32, next_id, [offset, laddr, length]);
            expected.push((next_id, status as u32));
        }
        bench.barrier();
        let mut completions = bench.completions();
        completions.sort_unstable();
        expected.sort_unstable();
        assert_eq!(completions, expected, "{config:?}");
        let ring = RING as usize;
        let wrong = (0..ring).find(|&at| bench.memory[at] != memory[at]);
        assert_eq!(wrong, None, "the first wrong byte in memory, {config:?}");
        assert_eq!(bench.events(), 0);
        assert_eq!(bench.read(rank::REFUSED_IN) > 0, refused > 0);
        // Sometimes a GET of the paper after all other commands. Its data arrives at the start of
        // its window.
        let (words, at) = (
            bench.rng.random_range(1..=30u32),
            bench.rng.random_range(0..256u32),
        );
        bench.command(Opcode::Get, windows[0].base);
        bench.command(Opcode::Get, windows[1].base);
        bench.data8(me, words, at);
        bench.barrier();
        let from = (windows[1].base + 4 * at) as usize;
        let to = windows[0].base as usize;
        let data = memory[from..from + 4 * words as usize].to_vec();
        memory[to..to + data.len()].copy_from_slice(&data);
        assert!(
            bench.memory[..ring] == memory[..ring],
            "a GET of {words} words, {config:?}"
        );
    }
    assert!(
        done > 200 && refused > 100,
        "{done} done, {refused} refused"
    );
}
