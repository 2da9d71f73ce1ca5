//! A complete board of two ranks: latencies as in the coprocessor's document, and two ranks that
//! put and get large blocks concurrently through the smallest queues.

use alcor_abi::packets::{cq_entry, x_commit};
use alcor_abi::{Opcode, Status, board, command, rank, rank_page};
use alcor_hw_bench::{Dut, Pin, Random, Recipe};
use rand::Rng;

const RANKS: usize = 2;

/// Indices of the four streams between a coprocessor and the routers.
const REQUEST_OUT: usize = 0;
const REPLY_OUT: usize = 1;
const REQUEST_IN: usize = 2;
const REPLY_IN: usize = 3;

struct Board {
    dut: Dut,
    node_bytes: u32,
    move_valid: Pin,
    move_offset: Pin,
    move_data: Pin,
    peek_address: Pin,
    peek: Pin,
    monitor: Pin,
    /// Cycles of transferred words, by rank and stream.
    words: [[Vec<u64>; 4]; RANKS],
}

impl Board {
    fn start(name: &'static str, node_bytes: u32, parameters: &[(&str, u64)]) -> Self {
        let mut recipe = Recipe::new(name, "core_board_bench")
            .core()
            .source("core/bench/core_board_bench.sv")
            .param("RANKS", RANKS as u64)
            .param("NODE_BYTES", u64::from(node_bytes))
            .param("MESSAGES", 16)
            .param("FRAGMENT", 64);
        for &(parameter, value) in parameters {
            recipe = recipe.param(parameter, value);
        }
        let mut dut = Dut::start(&recipe);
        dut.reset();
        let mut board = Self {
            node_bytes,
            move_valid: dut.lanes("move_valid_i", RANKS),
            move_offset: dut.lanes("move_offset_i", RANKS),
            move_data: dut.lanes("move_data_i", RANKS),
            peek_address: dut.pin("lite_araddr_i"),
            peek: dut.pin("peek_o"),
            monitor: dut.lanes("monitor_valid_o", 4 * RANKS),
            words: Default::default(),
            dut,
        };
        board.run_until("the tables", 1_000, |board| {
            board.peek(board::STATUS) & 1 == 1
        });
        board
    }

    /// Value of a register in this cycle.
    fn peek(&mut self, address: u32) -> u32 {
        self.dut.set(self.peek_address, 0, u64::from(address));
        self.dut.settle();
        self.dut.get(self.peek, 0) as u32
    }

    fn rank(&mut self, rank: usize, register: u32) -> u32 {
        self.peek(rank_page(rank as u32) + register)
    }

    /// One cycle. Each rank's page may have one write.
    fn cycle(&mut self, writes: [Option<(u32, u32)>; RANKS]) {
        for (rank, write) in writes.into_iter().enumerate() {
            self.dut
                .set(self.move_valid, rank, u64::from(write.is_some()));
            if let Some((offset, data)) = write {
                self.dut.set(self.move_offset, rank, u64::from(offset));
                self.dut.set(self.move_data, rank, u64::from(data));
            }
        }
        self.dut.settle();
        let now = self.dut.cycle();
        for rank in 0..RANKS {
            for stream in 0..4 {
                if self.dut.get(self.monitor, 4 * rank + stream) == 1 {
                    self.words[rank][stream].push(now);
                }
            }
        }
        self.dut.clock();
        for rank in 0..RANKS {
            self.dut.set(self.move_valid, rank, 0);
        }
    }

    fn run_until(&mut self, what: &str, limit: u64, mut done: impl FnMut(&mut Self) -> bool) {
        let end = self.dut.cycle() + limit;
        while !done(self) {
            if self.dut.cycle() >= end {
                let states = [0, 1].map(|rank| self.peek(board::RANK_STATE + 4 * rank));
                panic!("{what} did not come within {limit} cycles; RANK_STATE {states:08x?}");
            }
            self.cycle([None; RANKS]);
        }
    }

    /// Writes programs into the pages from a common cycle on, one write per rank and cycle. Returns
    /// this cycle.
    fn write(&mut self, programs: [&[(u32, u32)]; RANKS]) -> u64 {
        let start = self.dut.cycle();
        let longest = programs
            .iter()
            .map(|program| program.len())
            .max()
            .unwrap_or(0);
        for at in 0..longest {
            self.cycle(programs.map(|program| program.get(at).copied()));
        }
        start
    }

    /// Writes SET_PID, SET_NPROCS and BEGIN at both ranks, and registers windows.
    fn begin(&mut self, windows: &[u32]) {
        let programs = [0, 1].map(|rank| {
            [
                (Opcode::SetPid, rank),
                (Opcode::SetNprocs, RANKS as u32),
                (Opcode::BeginRun, 0),
            ]
            .map(|(opcode, data)| (command(opcode), data))
        });
        self.write([&programs[0], &programs[1]]);
        for (at, &base) in windows.iter().enumerate() {
            let program = [(command(Opcode::Register), base)];
            self.write([&program, &program]);
            self.run_until("the registration", 100, |board| {
                (0..RANKS).all(|rank| {
                    rank::reg_result::COUNT.get(board.rank(rank, rank::REG_RESULT)) == at as u32 + 1
                })
            });
            let result = self.rank(0, rank::REG_RESULT);
            assert_eq!(rank::reg_result::STATUS.get(result), Status::Ok as u32);
            assert_eq!(rank::reg_result::SLOT.get(result), at as u32);
        }
    }

    /// Waits for BARRIER_DONE at both ranks and acknowledges it. Returns EPOCH_CYCLES of rank 0,
    /// and the first cycle with BARRIER_DONE.
    fn finish(&mut self, limit: u64) -> (u64, u64) {
        self.run_until("the barrier", limit, |board| {
            (0..RANKS).all(|rank| rank::causes::BARRIER.get(board.rank(rank, rank::CAUSES)) == 1)
        });
        let done = self.dut.cycle();
        let epoch = u64::from(self.rank(0, rank::EPOCH_CYCLES));
        let ack = [(rank::ACK, rank::ack::BARRIER.put(1))];
        self.write([&ack, &ack]);
        for _ in 0..10 {
            self.cycle([None; RANKS]);
        }
        (epoch, done)
    }

    /// Writes CONTROL.reset, and waits until the board executes commands again.
    fn reset(&mut self) {
        let pin = self.dut.pin("control_reset_i");
        let ready = |board: &mut Self| board.peek(board::STATUS) & 1 == 1;
        self.dut.set(pin, 0, 1);
        self.cycle([None; RANKS]);
        self.dut.set(pin, 0, 0);
        self.run_until("the reset", 10, |board| !ready(board));
        self.run_until("the end of the reset", 1_000, ready);
    }

    /// Writes node memory through the DMA port.
    fn dma_write(&mut self, address: u32, bytes: &[u8]) {
        let pins = [
            "dma_awvalid_i",
            "dma_awaddr_i",
            "dma_wvalid_i",
            "dma_wdata_i",
            "dma_wstrb_i",
            "dma_wlast_i",
            "dma_bready_i",
        ]
        .map(|name| self.dut.pin(name));
        let [
            aw_valid,
            aw_address,
            w_valid,
            w_data,
            w_strobe,
            w_last,
            b_ready,
        ] = pins;
        let [aw_ready, w_ready, b_valid] =
            ["dma_awready_o", "dma_wready_o", "dma_bvalid_o"].map(|name| self.dut.pin(name));
        self.dut.set(aw_valid, 0, 1);
        self.dut.set(aw_address, 0, u64::from(address));
        self.until(aw_ready);
        self.dut.set(aw_valid, 0, 0);
        self.dut.set(w_strobe, 0, 15);
        self.dut.set(w_valid, 0, 1);
        let beats = bytes.len() / 4;
        for (at, word) in bytes.chunks_exact(4).enumerate() {
            self.dut.set(
                w_data,
                0,
                u64::from(u32::from_le_bytes(std::array::from_fn(|lane| word[lane]))),
            );
            self.dut.set(w_last, 0, u64::from(at + 1 == beats));
            self.until(w_ready);
        }
        self.dut.set(w_valid, 0, 0);
        self.dut.set(b_ready, 0, 1);
        self.until(b_valid);
        self.dut.set(b_ready, 0, 0);
    }

    /// Reads node memory through the DMA port.
    fn dma_read(&mut self, address: u32, bytes: usize) -> Vec<u8> {
        let [valid, place, length, ready] = [
            "dma_arvalid_i",
            "dma_araddr_i",
            "dma_arlen_i",
            "dma_rready_i",
        ]
        .map(|name| self.dut.pin(name));
        let [ar_ready, r_valid, r_data] =
            ["dma_arready_o", "dma_rvalid_o", "dma_rdata_o"].map(|name| self.dut.pin(name));
        let mut data = Vec::new();
        while data.len() < bytes {
            let beats = ((bytes - data.len()) / 4).min(256);
            self.dut.set(valid, 0, 1);
            self.dut
                .set(place, 0, u64::from(address) + data.len() as u64);
            self.dut.set(length, 0, beats as u64 - 1);
            self.until(ar_ready);
            self.dut.set(valid, 0, 0);
            self.dut.set(ready, 0, 1);
            for _ in 0..beats {
                let word = self.until_read(r_valid, r_data);
                data.extend(word.to_le_bytes());
            }
            self.dut.set(ready, 0, 0);
        }
        data
    }

    /// Runs up to and including the first cycle in which `pin` is high.
    fn until(&mut self, pin: Pin) {
        self.until_read(pin, pin);
    }

    /// As `until`. Returns `data` in this cycle.
    fn until_read(&mut self, pin: Pin, data: Pin) -> u32 {
        let end = self.dut.cycle() + 10_000;
        loop {
            self.dut.settle();
            let (found, word) = (self.dut.get(pin, 0) == 1, self.dut.get(data, 0) as u32);
            self.cycle([None; RANKS]);
            if found {
                return word;
            }
            assert!(self.dut.cycle() < end, "the DMA port does not answer");
        }
    }
}

fn paper(
    opcode: Opcode,
    first: u32,
    second: u32,
    [dpid, length, offset]: [u32; 3],
) -> Vec<(u32, u32)> {
    let data8 = command(Opcode::Data8);
    vec![
        (command(opcode), first),
        (command(opcode), second),
        (data8, dpid),
        (data8, length),
        (data8, offset),
        (command(Opcode::Barrier), 0),
    ]
}

/// Duration of a program of rank 0 while rank 1 waits at the barrier: cycles to the barrier, and
/// the cycle of each transferred word, both counted from the first write.
fn timed(board: &mut Board, program: &[(u32, u32)]) -> (u64, [[Vec<u64>; 4]; RANKS]) {
    board.words = Default::default();
    let barrier = [(command(Opcode::Barrier), 0)];
    let start = board.write([program, &barrier]);
    let (epoch, done) = board.finish(1_000);
    assert_eq!(
        epoch,
        done - start,
        "EPOCH_CYCLES counts from the first write to BARRIER_DONE"
    );
    let words = std::mem::take(&mut board.words);
    (
        epoch,
        words.map(|streams| {
            streams.map(|cycles| cycles.into_iter().map(|cycle| cycle - start).collect())
        }),
    )
}

/// The latency budgets of hw/rma/doc/rma.md.
#[test]
fn core_latency() {
    let mut board = Board::start("core", 65_536, &[]);
    board.begin(&[0x100, 0x1000]);
    // EPOCH_CYCLES counts from the first command after the previous barrier.
    let barrier = [(command(Opcode::Barrier), 0)];
    board.write([&barrier, &barrier]);
    board.finish(100);
    let (cycles, words) = timed(&mut board, &barrier);
    assert_eq!(cycles, 7, "barrier");
    assert_eq!(words, <[[Vec<u64>; 4]; RANKS]>::default());

    let program = paper(Opcode::Put1, 0x100, 0x1234_5678, [1, 1, 0]);
    let (cycles, words) = timed(&mut board, &program);
    assert_eq!(cycles, 21, "put-1");
    assert_eq!(words[0][REQUEST_OUT], [10, 11]);
    assert_eq!(words[1][REQUEST_IN], [14, 15]);

    let program = paper(Opcode::Get, 0x100, 0x1000, [1, 1, 0]);
    let (cycles, words) = timed(&mut board, &program);
    assert_eq!(cycles, 31, "get-1");
    assert_eq!(words[0][REQUEST_OUT], [10, 11]);
    assert_eq!(words[1][REQUEST_IN], [14, 15]);
    assert_eq!(words[1][REPLY_OUT], [20, 21]);
    assert_eq!(words[0][REPLY_IN], [24, 25]);

    // One more word takes one more cycle, without gaps.
    for length in [2, 4, 8, 16, 30u32] {
        let run = |first: u64, words: u32| (first..first + u64::from(words)).collect::<Vec<u64>>();
        let program = paper(Opcode::PutN, 0x100, 0x2000, [1, length, 0]);
        let (cycles, words) = timed(&mut board, &program);
        assert_eq!(cycles, 20 + u64::from(length), "put-{length}");
        assert_eq!(words[0][REQUEST_OUT], run(10, length + 1), "put-{length}");
        assert_eq!(words[1][REQUEST_IN], run(14, length + 1), "put-{length}");
        let program = paper(Opcode::Get, 0x100, 0x1000, [1, length, 0]);
        let (cycles, words) = timed(&mut board, &program);
        assert_eq!(cycles, 30 + u64::from(length), "get-{length}");
        assert_eq!(words[1][REPLY_OUT], run(20, length + 1), "get-{length}");
        assert_eq!(words[0][REPLY_IN], run(24, length + 1), "get-{length}");
    }
    // A registration and the following barrier.
    let register = [
        (command(Opcode::Register), 0x3000),
        (command(Opcode::Barrier), 0),
    ];
    let start = board.write([&register, &register]);
    let (epoch, done) = board.finish(100);
    assert_eq!((epoch, done - start), (10, 10), "register");
    let deregister = [
        (command(Opcode::Deregister), 0x3000),
        (command(Opcode::Barrier), 0),
    ];
    board.write([&deregister, &deregister]);
    let (epoch, _) = board.finish(100);
    assert_eq!(epoch, 10, "deregister");
}

/// Two ranks concurrently put 64 KiB to each other, get 64 KiB from each other, and put to
/// themselves, through queues of a few words. A design with reads and writes in one queue deadlocks
/// here: each rank's read waits for space towards the other rank, and the write that would free
/// this space is queued after the read.
#[test]
fn core_large_blocks_both_ways() {
    const BLOCK: u32 = 65_536;
    let mut rng = Random::new("core_large_blocks_both_ways");
    let sizes = [
        ("SLOTS", 2),
        ("PAYLOAD_WORDS", 16),
        ("COMMAND_DEPTH", 16),
        ("IN_DEPTH", 4),
        ("OUT_DEPTH", 4),
        ("HEAD_DEPTH", 5),
        ("MM_DEPTH", 2),
        ("ROUTER_INPUT_DEPTH", 4),
        ("ROUTER_QUEUE_DEPTH", 2),
    ];
    let mut board = Board::start("core-small", 4 * BLOCK, &sizes);
    // Blocks: source of the put, destination of the put, destination of the get, and a spare block
    // with the completion ring.
    let blocks = [0, BLOCK, 2 * BLOCK, 3 * BLOCK];
    let sources: [Vec<u8>; RANKS] =
        std::array::from_fn(|_| (0..BLOCK).map(|_| rng.random()).collect());
    for (rank, source) in sources.iter().enumerate() {
        board.dma_write(rank as u32 * board.node_bytes, source);
    }
    let ring = blocks[3] + BLOCK / 2;
    let setup = [
        (rank::CQ_BASE, ring),
        (rank::CQ_SIZE, 4),
        (rank::CQ_TAIL, 0),
    ];
    board.write([&setup, &setup]);
    board.begin(&[0, 4]);
    let own = 8_192;
    let programs: [Vec<(u32, u32)>; RANKS] = std::array::from_fn(|rank| {
        let other = 1 - rank as u32;
        let mut program = Vec::new();
        // To the other rank, from the other rank, to itself: remote offset, local address, length.
        // The offset of one byte makes the hardware shift every packet.
        for (opcode, dpid, offset, laddr, length) in [
            (Opcode::XPut, other, blocks[1] + 1, blocks[0], BLOCK - 1),
            (Opcode::XGet, other, blocks[0], blocks[2], BLOCK),
            (Opcode::XPut, rank as u32, blocks[3], blocks[0] + 3, own),
        ] {
            program.push((command(Opcode::XOffset), offset));
            program.push((command(Opcode::XLaddr), laddr));
            program.push((command(Opcode::XLength), length));
            let id = dpid * 16 + opcode as u32;
            program.push((
                command(opcode),
                x_commit::DPID.put(dpid) | x_commit::SLOT.put(0) | x_commit::ID.put(id),
            ));
        }
        program.push((command(Opcode::Barrier), 0));
        program
    });
    board.write([&programs[0], &programs[1]]);
    board.finish(1_000_000);
    for rank in 0..RANKS {
        assert_eq!(
            board.rank(rank, rank::CQ_HEAD),
            3,
            "rank {rank}: completions"
        );
        assert_eq!(board.rank(rank, rank::EVENTS), 0, "rank {rank}: events");
        let page = rank as u32 * board.node_bytes;
        let other = &sources[1 - rank];
        let put = board.dma_read(page + blocks[1], BLOCK as usize);
        assert!(
            put[1..] == other[..BLOCK as usize - 1],
            "rank {rank}: what was put here"
        );
        let got = board.dma_read(page + blocks[2], BLOCK as usize);
        assert!(&got == other, "rank {rank}: what it got");
        let mine = board.dma_read(page + blocks[3], own as usize);
        assert!(
            mine[..] == sources[rank][3..3 + own as usize],
            "rank {rank}: what it put to itself"
        );
    }
}

/// A reset by CONTROL during reads of node memory: data of these reads is not used in the next run.
#[test]
fn core_reset_with_reads_under_way() {
    const BYTES: u32 = 512;
    let mut rng = Random::new("core_reset_with_reads_under_way");
    let late = [("MEM_LATENCY", 4), ("MEM_JITTER", 196)];
    let mut board = Board::start("core-late", 65_536, &late);
    let (target, ring) = (0x1000, 0x2000);
    let setup = [
        (rank::CQ_BASE, ring),
        (rank::CQ_SIZE, 4),
        (rank::CQ_TAIL, 0),
    ];
    let commit = x_commit::DPID.put(1) | x_commit::SLOT.put(0) | x_commit::ID.put(1);
    let put = [
        (command(Opcode::XOffset), target),
        (command(Opcode::XLaddr), 0),
        (command(Opcode::XLength), BYTES),
        (command(Opcode::XPut), commit),
    ];
    let barrier = [(command(Opcode::Barrier), 0)];
    for round in 0..40 {
        let source: Vec<u8> = (0..BYTES).map(|_| rng.random()).collect();
        board.dma_write(0, &source);
        board.write([&setup, &setup]);
        board.begin(&[0]);
        board.write([&put, &[]]);
        board.write([&barrier, &barrier]);
        board.finish(100_000);
        let found = board.dma_read(board.node_bytes + target, BYTES as usize);
        assert!(found == source, "round {round}: the block at its target");
        board.write([&put, &[]]);
        for _ in 0..rng.random_range(0..200) {
            board.cycle([None; RANKS]);
        }
        board.reset();
    }
}

/// Both ranks put 4 bytes, and enter a barrier, by the AXI4 port alone. The board asks for copies of
/// the entries: of the put, and of the barrier. The latencies are those of `hw/core/doc/host.md`.
#[test]
fn core_host_side() {
    let mut board = Board::start("core", 65_536, &[]);
    let pages = alcor_abi::memory_pages(RANKS as u32, board.node_bytes);
    let (ring, host) = (0x2000, 0x12_3456_7000_u64);
    let [copy_ready, copy_valid, source, destination, bytes] = [
        "copy_ready_i",
        "copy_valid_o",
        "copy_source_o",
        "copy_destination_o",
        "copy_bytes_o",
    ]
    .map(|name| board.dut.pin(name));
    board.dut.set(copy_ready, 0, 1);
    let word = |value: u32| value.to_le_bytes();
    let write = |board: &mut Board, rank: usize, register: u32, value: u32| {
        board.dma_write(pages + rank_page(rank as u32) + register, &word(value));
    };
    for rank in 0..RANKS {
        for (register, value) in [
            (rank::CQ_SIZE, 2),
            (rank::CQ_BASE, ring),
            (rank::CQ_TAIL, 0),
            (rank::HOST_RING_HIGH, (host >> 32) as u32),
            (
                rank::HOST_RING,
                host as u32 | rank::host_ring::ENABLE.mask(),
            ),
        ] {
            write(&mut board, rank, register, value);
        }
    }
    board.begin(&[0]);
    // A copy: rank, offset in the ring, the bytes of node memory.
    let copies = |board: &mut Board, count: usize| {
        let mut found = Vec::new();
        let end = board.dut.cycle() + 2_000;
        while found.len() < count {
            assert!(board.dut.cycle() < end, "{} copies of {count}", found.len());
            board.dut.settle();
            if board.dut.get(copy_valid, 0) == 1 {
                let copied = [source, destination, bytes].map(|pin| board.dut.get(pin, 0));
                found.push((board.dut.cycle(), copied));
            }
            board.cycle([None; RANKS]);
        }
        let entry = |board: &mut Board, &(at, [source, destination, bytes]): &(u64, [u64; 3])| {
            let source = source as u32;
            let (rank, place) = (source / board.node_bytes, source % board.node_bytes - ring);
            assert_eq!(destination, host + u64::from(place));
            let data = board.dma_read(source, bytes as usize);
            let (words, _) = data.as_chunks();
            let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
            (at, rank, place, words)
        };
        found
            .iter()
            .map(|copy| entry(board, copy))
            .collect::<Vec<_>>()
    };
    for round in 0..9_u32 {
        let lap = cq_entry::LAP.put(u32::from((2 * round) / 4 % 2 == 0));
        let flags = lap | cq_entry::COUNTED.mask();
        for rank in 0..RANKS as u32 {
            // Data and command follow one another without a wait.
            board.dma_write(rank * board.node_bytes + 0x100, &word(0xd0 + round + rank));
            let commit = x_commit::DPID.put(1 - rank) | x_commit::ID.put(round);
            for (opcode, value) in [
                (Opcode::XOffset, 0x200),
                (Opcode::XLaddr, 0x100),
                (Opcode::XLength, 4),
                (Opcode::XPut, commit),
            ] {
                write(&mut board, rank as usize, command(opcode), value);
            }
            let [(_, from, place, words)] = copies(&mut board, 1).try_into().expect("a copy");
            assert_eq!((from, place), (rank, 16 * (2 * round % 4)), "round {round}");
            assert_eq!(words[0], cq_entry::ID.put(round) | flags, "round {round}");
            let there = (1 - rank) * board.node_bytes + 0x200;
            assert_eq!(board.dma_read(there, 4), word(0xd0 + round + rank));
        }
        for rank in 0..RANKS {
            write(&mut board, rank, command(Opcode::Barrier), 0);
        }
        let mut ends = copies(&mut board, RANKS);
        ends.sort_by_key(|&(_, rank, ..)| rank);
        for (rank, (_, from, place, words)) in ends.into_iter().enumerate() {
            let expected = (rank as u32, 16 * ((2 * round + 1) % 4));
            assert_eq!((from, place), expected, "round {round}");
            assert_eq!(words[0], cq_entry::BARRIER.mask() | flags, "round {round}");
            write(&mut board, rank, rank::ACK, rank::ack::BARRIER.put(1));
            write(&mut board, rank, rank::CQ_TAIL, 2 * round + 2);
        }
    }
    // From the last word of an entry to the copy of the entry: CQ_HEAD, request, choice.
    write(&mut board, 0, command(Opcode::XLength), 4);
    let commit = x_commit::DPID.put(0) | x_commit::ID.put(77);
    write(&mut board, 0, command(Opcode::XPut), commit);
    let head = board.rank(0, rank::CQ_HEAD);
    board.run_until("the entry", 200, |board| {
        board.rank(0, rank::CQ_HEAD) != head
    });
    let counted = board.dut.cycle();
    let [(at, ..)] = copies(&mut board, 1).try_into().expect("a copy");
    assert_eq!(at - counted, 2, "cycles from CQ_HEAD to the copy");
}
