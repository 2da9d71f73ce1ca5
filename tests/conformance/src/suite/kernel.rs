//! Kernels: modules beside the coprocessors that start operations without their hosts.

use alcor::{
    AtomicOperation, Awaited, Communicator, Error, GlobalRank, JobError, KernelCommand, KernelCompletion, Opcode, Operation, Options,
    PageOffset, Rank, Region, Rights, Status, Transfer, TransferKind, Window, WindowName,
};
use alcor_abi::packets::x_commit;
use alcor_abi::rank as page;
use alcor_test::{Context, Failure, Result, after, alcor_test, before, holds, same};
use rand::Rng;

use super::registration::idle;

/// Cycles of patience for a wait that never ends.
const PATIENCE: u64 = 20_000;
/// Maximum number of cycles of a rank's reset.
const RESET: u64 = 20_000;

/// The kernels add vectors and sum the results over all ranks.
#[alcor_test(ranks >= 2, kernel = "adds")]
fn vector_add(context: &Context) -> Result {
    for elements in [8, 128, 136, 1000, 4096] {
        context.run(|rank| {
            let (me, ranks) = (rank.pid().0, rank.nprocs());
            let value = |rank: u32, place: usize| rank.wrapping_mul(0x9E37_79B9) ^ place as u32;
            let a: Vec<u32> = (0..elements).map(|place| value(me, place)).collect();
            let b: Vec<u32> = (0..elements).map(|place| value(me + 100, 3 * place)).collect();
            let (a, b) = (rank.alloc_from(&a)?, rank.alloc_from(&b)?);
            let (c, d) = (rank.alloc::<u32>(elements)?, rank.alloc::<u32>(elements)?);
            let own = rank.world()?.dup(rank)?;
            let sum = own.kernel_allreduce(rank, Operation::Sum, &c, &d)?.words();
            let places = [&a, &b, &c, &d].map(|region| region.addr().0);
            let mut arguments = places.to_vec();
            // The communicator's row is in the head's bits 23 to 16; the last word is C_WHAT.
            arguments.extend([elements as u32, sum[0] >> 16 & 0xFF, sum[8]]);
            let mut kernel = rank.kernel()?;
            kernel.start(&arguments)?;
            same("the kernel's code", Status::Ok as u8, kernel.wait()?)?;
            let of = |rank: u32, place: usize| value(rank, place).wrapping_add(value(rank + 100, 3 * place));
            let own_sum: Vec<u32> = (0..elements).map(|place| of(me, place)).collect();
            let all: Vec<u32> = (0..elements)
                .map(|place| (0..ranks).fold(0, |sum: u32, rank| sum.wrapping_add(of(rank, place))))
                .collect();
            same("a + b", own_sum, rank.read_vec(&c)?)?;
            same("the sum over all ranks", all, rank.read_vec(&d)?)
        })?;
    }
    Ok(())
}

/// The kernels smooth a ring of cells over all ranks, and exchange the cells at the edges.
#[alcor_test(ranks >= 2, kernel = "halo")]
fn halo_exchange(context: &Context) -> Result {
    for (cells, steps) in [(1, 5), (7, 12), (64, 20), (254, 3)] {
        let ranks = context.ranks() as usize;
        let mut rng = context.rng(&[cells as u64]);
        let mut field: Vec<u32> = (0..cells * ranks).map(|_| rng.random()).collect();
        let begin = field.clone();
        for _ in 0..steps {
            let at = |place: usize| u64::from(field[place % field.len()]);
            let smooth = |place: usize| (at(place + field.len() - 1) + 2 * at(place) + at(place + 1)) / 4;
            field = (0..field.len()).map(|place| smooth(place) as u32).collect();
        }
        context.run(|rank| {
            let me = rank.pid().0 as usize;
            let mine = me * cells..(me + 1) * cells;
            let mut fields = [rank.alloc::<u32>(cells + 2)?, rank.alloc::<u32>(cells + 2)?];
            rank.write(&mut fields[0], 1, &begin[mine.clone()])?;
            let own = rank.world()?.dup(rank)?;
            let context = own.context().ok_or_else(|| Failure::new("a communicator", "a context", "none"))?;
            let addresses = [fields[0].addr().0, fields[1].addr().0];
            let mut kernel = rank.kernel()?;
            kernel.start(&[addresses[0], addresses[1], cells as u32, steps, u32::from(context)])?;
            same("the kernel's code", Status::Ok as u8, kernel.wait()?)?;
            same("steps", steps, kernel.result(0)?)?;
            let found = rank.read_vec(&fields[steps as usize % 2])?;
            same("the rank's cells", &field[mine], &found[1..=cells])
        })?;
    }
    Ok(())
}

/// The kernels of all ranks follow a list through the windows of all ranks at the same time.
#[alcor_test(ranks >= 2, kernel = "chas")]
fn pointer_chase(context: &Context) -> Result {
    const NODES: usize = 40;
    let ranks = context.ranks() as usize;
    // Where the nodes lie, in the order of the list, and their values.
    let mut rng = context.rng(&[]);
    let mut places: Vec<usize> = (0..NODES * ranks).collect();
    rand::seq::SliceRandom::shuffle(places.as_mut_slice(), &mut rng);
    let values: Vec<u32> = places.iter().map(|_| rng.random()).collect();
    let pointer = |place: usize| (((place % ranks) << 24) | ((place / ranks) * 8)) as u32;
    context.run(|rank| {
        let me = rank.pid().0 as usize;
        let mut nodes = vec![0u32; 2 * NODES];
        for (number, &place) in places.iter().enumerate().filter(|(_, place)| *place % ranks == me) {
            nodes[place / ranks * 2] = places.get(number + 1).map_or(u32::MAX, |&next| pointer(next));
            nodes[place / ranks * 2 + 1] = values[number];
        }
        let region = rank.alloc_from(&nodes)?;
        let window = rank.register(&region, Rights::ALL)?;
        let fetched = rank.alloc::<u32>(2)?;
        rank.barrier()?;
        // Each kernel begins at another node.
        let first = me * 7;
        let arguments = [u32::from(window.slot()), pointer(places[first]), fetched.addr().0, 1000];
        let mut kernel = rank.kernel()?;
        kernel.start(&arguments)?;
        same("the kernel's code", Status::Ok as u8, kernel.wait()?)?;
        same("nodes", (places.len() - first) as u32, kernel.result(0)?)?;
        let sum = values[first..].iter().fold(0, |sum: u32, value| sum.wrapping_add(*value));
        same("sum", sum, kernel.result(1)?)?;
        // A node in a window that no rank has registered.
        kernel.start(&[99, pointer(places[0]), fetched.addr().0, 1000])?;
        same("a foreign window", Status::BadSlot as u8, kernel.wait()?)?;
        same("nodes of a foreign window", 0, kernel.result(0)?)?;
        rank.barrier()?;
        Ok(())
    })?;
    Ok(())
}

/// A list of commands for the kernel `command_list`.
struct List {
    list: Region<u8>,
    completions: Region<u32>,
    commands: usize,
    limit: u32,
    seed: u32,
}

impl List {
    fn new(rank: &mut Rank, commands: &[KernelCommand], limit: u32, seed: u32) -> Result<List, Failure> {
        let bytes: Vec<u8> = commands.iter().flat_map(KernelCommand::to_bytes).collect();
        Ok(List {
            list: rank.alloc_from(&bytes)?,
            completions: rank.alloc::<u32>(3 * commands.len())?,
            commands: commands.len(),
            limit,
            seed,
        })
    }

    fn start(&self, rank: &mut Rank) -> Result {
        let (list, completions) = (self.list.addr().0, self.completions.addr().0);
        Ok(rank.kernel()?.start(&[list, self.commands as u32, completions, self.limit, self.seed])?)
    }

    /// The completions, in the order in which they came.
    fn wait(&self, rank: &mut Rank) -> Result<Vec<KernelCompletion>, Failure> {
        let code = rank.kernel()?.wait()?;
        let words = rank.read_vec(&self.completions)?;
        let triples = words.as_chunks::<3>().0;
        let completions: Vec<_> = triples.iter().map(|&triple| KernelCompletion::from_words(triple)).collect();
        // The code counts other statuses than success, modulo 256.
        let failed = completions.iter().filter(|it| it.status != Some(Status::Ok)).count();
        same("the kernel's code", failed as u8, code)?;
        Ok(completions)
    }
}

/// Runs the commands one after the other. Returns their statuses.
fn each(rank: &mut Rank, commands: &[KernelCommand]) -> Result<Vec<Option<Status>>, Failure> {
    let list = List::new(rank, commands, 1, 0)?;
    list.start(rank)?;
    let completions = list.wait(rank)?;
    let tags: Vec<u8> = completions.iter().map(|completion| completion.tag).collect();
    let given: Vec<u8> = commands.iter().map(|command| (command.words()[0] >> 8) as u8).collect();
    same("tags of the completions", given, tags)?;
    Ok(completions.iter().map(|completion| completion.status).collect())
}

/// Kernels run puts, gets and a barrier.
#[alcor_test(ranks >= 2, kernel = "list")]
fn transfers(context: &Context) -> Result {
    context.run(|rank| {
        let (next, me) = (after(rank, 1), rank.pid().0);
        let mut inbox = rank.alloc::<u32>(64)?;
        rank.write(&mut inbox, 0, &[0; 64])?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let data: Vec<u32> = (0..64).map(|place| me << 16 | place).collect();
        let (data, back) = (rank.alloc_from(&data)?, rank.alloc::<u32>(64)?);
        rank.barrier()?;
        let put = KernelCommand::transfer(TransferKind::Put, &window, next, 0, &data).tagged(3);
        let get = KernelCommand::transfer(TransferKind::Get, &window, next, 0, &back).tagged(5);
        let all = each(rank, &[put, KernelCommand::barrier().tagged(4), get])?;
        same("outcomes", vec![Some(Status::Ok); 3], all)?;
        let of = |rank: GlobalRank| (0..64).map(move |place| rank.0 << 16 | place).collect::<Vec<u32>>();
        same("the inbox", of(before(rank, 1)), rank.read_vec(&inbox)?)?;
        same("the fetched block", of(GlobalRank(me)), rank.read_vec(&back)?)
    })?;
    Ok(())
}

/// Kernels and hosts of all ranks add to the same words, and find all values.
#[alcor_test(ranks >= 2, kernel = "list")]
fn atomics(context: &Context) -> Result {
    const ROUNDS: u64 = 12;
    let found = context.run(|rank| {
        let words = rank.alloc_from(&[0u64, 5, 0])?;
        let window = rank.register(&words, Rights::ALL)?;
        let home = GlobalRank(0);
        rank.barrier()?;
        let add = KernelCommand::fetch_op(&window, home, 0, AtomicOperation::Add, 1)?;
        let list = List::new(rank, &vec![add; ROUNDS as usize], 3, 0)?;
        list.start(rank)?;
        let mut olds = Vec::new();
        for _ in 0..ROUNDS {
            olds.push(rank.fetch_add(&window, home, 0, 1)?);
        }
        let old = |it: &KernelCompletion| u64::from(it.length) << 32 | u64::from(it.message_tag);
        olds.extend(list.wait(rank)?.iter().map(old));
        // Own words: a comparison that holds and one that does not, of 64 bits.
        let big = 0x1_0000_0005;
        let me = rank.pid();
        let commands = [
            KernelCommand::compare_swap(&window, me, 1, 5, big)?.tagged(1),
            KernelCommand::compare_swap(&window, me, 1, 5, 6)?.tagged(2),
            KernelCommand::fetch_op(&window, me, 3, AtomicOperation::Add, 1)?.tagged(3),
        ];
        let list = List::new(rank, &commands, 1, 0)?;
        list.start(rank)?;
        let ended = list.wait(rank)?;
        let told: Vec<_> = ended.iter().map(|it| (it.status, old(it))).collect();
        let expected = [
            (Some(Status::Ok), 5),
            (Some(Status::Ok), big),
            (Some(Status::OutOfBounds), 0),
        ];
        same("completions", expected.to_vec(), told)?;
        same("the rank's own word", big, rank.read_vec(&words)?[1])?;
        // No operation has this code.
        let mut unknown = commands[0].words();
        unknown[8] = 10;
        let statuses = each(rank, &[KernelCommand::from_words(unknown)])?;
        same("an unknown operation", vec![Some(Status::BadCommand)], statuses)?;
        Ok(olds)
    })?;
    let mut olds = found.concat();
    olds.sort_unstable();
    let all: Vec<u64> = (0..2 * ROUNDS * u64::from(context.ranks())).collect();
    same("the values of hosts and kernels", all, olds)
}

/// Kernels send, receive and probe short and long messages. Kernels and hosts exchange messages.
#[alcor_test(ranks >= 2, kernel = "list", needs = [Kernel, Messages])]
fn messages(context: &Context) -> Result {
    context.run(|rank| {
        let world = rank.world()?.dup(rank)?;
        let (next, last, me) = (after(rank, 1).0, before(rank, 1).0, rank.pid().0);
        for words in [1usize, 700] {
            let data: Vec<u32> = (0..words as u32).map(|place| me << 20 | place).collect();
            let of = |rank: u32| (0..words as u32).map(|place| rank << 20 | place).collect::<Vec<_>>();
            let (data, inbox) = (rank.alloc_from(&data)?, rank.alloc::<u32>(words)?);
            let receive = world.kernel_receive(rank, last, 7, &inbox)?.tagged(1);
            let send = world.kernel_send(rank, next, 7, &data)?.tagged(2);
            let list = List::new(rank, &[receive, send], 0, 0)?;
            list.start(rank)?;
            let mut completions = list.wait(rank)?;
            completions.sort_by_key(|completion| completion.tag);
            let statuses: Vec<_> = completions.iter().map(|it| it.status).collect();
            same("outcomes", vec![Some(Status::Ok); 2], statuses)?;
            let found = &completions[0];
            let told = (found.source.0, found.message_tag, found.length);
            same("the receive's completion", (last, 7, 4 * words as u32), told)?;
            same("the received message", of(last), rank.read_vec(&inbox)?)?;

            // From the kernel to the host, and from the host to the kernel.
            let request = world.irecv(rank, last, 8, inbox.clone())?;
            same("a send", vec![Some(Status::Ok)], {
                let send = world.kernel_send(rank, next, 8, &data)?;
                let list = List::new(rank, &[send], 1, 0)?;
                list.start(rank)?;
                rank.wait(request)?;
                list.wait(rank)?.iter().map(|it| it.status).collect::<Vec<_>>()
            })?;
            same("the message of a kernel", of(last), rank.read_vec(&inbox)?)?;
            let request = world.isend(rank, next, 9, &data)?;
            let receive = world.kernel_receive(rank, last, 9, &inbox)?;
            same("a receive", vec![Some(Status::Ok)], each(rank, &[receive])?)?;
            rank.wait(request)?;
            same("the message of a host", of(last), rank.read_vec(&inbox)?)?;
            rank.barrier()?;
        }
        let probe = world.kernel_probe(rank, last, 7)?;
        same("a probe in vain", vec![Some(Status::NotFound)], each(rank, &[probe])?)
    })?;
    Ok(())
}

/// A rank that waits takes the long messages of hosts over, and leaves those of kernels in the hardware. No matched probe
/// gives one of these away. Receives take both.
#[alcor_test(ranks >= 2, kernel = "list", needs = [Kernel, Messages])]
fn messages_taken_over(context: &Context) -> Result {
    context.run(|rank| {
        rank.lab().take_over_after(0);
        let world = rank.world()?.dup(rank)?;
        let (next, last, me) = (after(rank, 1).0, before(rank, 1).0, rank.pid().0);
        let of = |rank: u32, kind: u32| (0..700).map(|place| rank << 20 | kind << 16 | place).collect::<Vec<u32>>();
        let (data, inbox) = (rank.alloc_from(&of(me, 2))?, rank.alloc::<u32>(700)?);
        // The host's message comes first, then the kernel's.
        let host = of(me, 1);
        let request = world.isend(rank, next, 1, &host)?;
        rank.barrier()?;
        let send = world.kernel_send(rank, next, 2, &data)?;
        let list = List::new(rank, &[send], 1, 0)?;
        list.start(rank)?;
        let first = world.probe(rank, last, 2)?;
        same("the kernel's message", (last, 2, 2800), (first.source, first.tag, first.length))?;
        rank.barrier()?;
        let found = world.improbe(rank, last, 1)?.ok_or_else(|| Failure::new("a probe", "the host's message", "none"))?;
        let refused = match world.improbe(rank, last, 2) {
            Err(Error::MessageOfKernel { peer, tag, length, .. }) => (peer.0, tag, length),
            other => return Err(Failure::new("a matched probe of the kernel's message", "MessageOfKernel", format!("{other:?}"))),
        };
        same("the message of the kernel", (last, 2, 2800), refused)?;
        let mut values = vec![0u32; 700];
        world.recv(rank, last, 2, inbox.clone())?;
        same("the message of the kernel", of(last, 2), rank.read_vec(&inbox)?)?;
        found.recv(rank, &mut values)?;
        same("the message of the host", of(last, 1), values)?;
        rank.wait(request)?;
        let ended: Vec<_> = list.wait(rank)?.iter().map(|it| it.status).collect();
        same("the kernel's send", vec![Some(Status::Ok)], ended)
    })?;
    Ok(())
}

/// Commands of a kernel change no counter of the host: commands, completions and barriers.
#[alcor_test(ranks >= 2, kernel = "list")]
fn counters_of_the_host(context: &Context) -> Result {
    context.run(|rank| {
        let inbox = rank.alloc::<u32>(4)?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let data = rank.alloc_from(&[5u32; 4])?;
        let next = after(rank, 1);
        let put = |target| KernelCommand::transfer(TransferKind::Put, &window, target, 0, &data);
        let get = KernelCommand::transfer(TransferKind::Get, &window, next, 0, &data);
        let list = List::new(rank, &[put(next), KernelCommand::barrier(), get, put(GlobalRank(250))], 1, 0)?;
        rank.barrier()?;
        let before = counters(rank)?;
        list.start(rank)?;
        let found: Vec<_> = list.wait(rank)?.iter().map(|it| it.status).collect();
        let ok = Some(Status::Ok);
        same("outcomes", vec![ok, ok, ok, Some(Status::BadRank)], found)?;
        same("commands, completions and barriers of the host", before, counters(rank)?)
    })?;
    Ok(())
}

/// Commands that have retired, completions in the ring, and barriers.
fn counters(rank: &mut Rank) -> Result<[u32; 3], Failure> {
    let all = rank.lab().counters()?;
    Ok([all.retired, all.completions, all.barriers])
}

/// The last ids of messages belong to the kernel. A receive of the host with such an id is refused.
#[alcor_test(ranks >= 2, kernel = "list", needs = [Kernel, Messages])]
fn ids_of_the_kernel(context: &Context) -> Result {
    let ended = context.attempt(Options::default(), context.ranks(), |rank| {
        let inbox = rank.alloc_from(&[0u32])?;
        rank.barrier()?;
        if rank.pid() != GlobalRank(0) {
            return Ok(rank.barrier()?);
        }
        // Past the library, which never uses these ids.
        let commit = x_commit::DPID.put(1) | x_commit::ID.put(rank.board().message_depth - 1);
        let posted = [
            (Opcode::XTag, 0),
            (Opcode::XLaddr, inbox.addr().0),
            (Opcode::XLength, 4),
            (Opcode::XReceive, commit),
        ];
        let port = rank.lab().port();
        let head = port.read32(PageOffset(page::CQ_HEAD))?;
        for (opcode, value) in posted {
            port.write32(PageOffset(alcor_abi::command(opcode)), value)?;
        }
        let mut reads = 0;
        while port.read32(PageOffset(page::CQ_HEAD))? == head {
            reads += 1;
            holds("a completion", "an entry of the ring", reads < 2000, reads)?;
        }
        Ok(rank.abort(super::abort::REASON)?)
    });
    super::abort::ended_by(ended, GlobalRank(0), super::abort::Cause::Abort)
}

/// Every collective has the same result when kernels start it and when hosts start it.
#[alcor_test(ranks >= 2, kernel = "list", needs = [Kernel, Switch])]
fn collectives(context: &Context) -> Result {
    const BLOCK: usize = 12;
    let lists = context.run(|rank| {
        let own = rank.world()?.dup(rank)?;
        let (ranks, me) = (rank.nprocs() as usize, rank.pid().0);
        let data: Vec<u32> = (0..BLOCK * ranks).map(|place| (me + 3) * 1000 + place as u32).collect();
        let all = rank.alloc_from(&data)?;
        let one = all.slice(0..BLOCK)?;
        let mut results = Vec::new();
        for by_kernel in [true, false] {
            let regions = [BLOCK, BLOCK, BLOCK, BLOCK, BLOCK, BLOCK * ranks, BLOCK * ranks];
            let mut places = Vec::new();
            for length in regions {
                let mut region = rank.alloc::<u32>(length)?;
                rank.write(&mut region, 0, &vec![7; length])?;
                places.push(region);
            }
            let [reduce, allreduce, parts, bcast, scatter, gather, allgather] = &places[..] else {
                return Err(Failure::new("places", 7, places.len()));
            };
            if me == 1 {
                rank.write(&mut bcast.clone(), 0, &data[..BLOCK])?;
            }
            let sum = Operation::Sum;
            if by_kernel {
                let commands = [
                    own.kernel_barrier(rank)?,
                    own.kernel_reduce(rank, sum, 1, &one, Some(reduce))?,
                    own.kernel_allreduce(rank, sum, &one, allreduce)?,
                    own.kernel_reduce_scatter(rank, sum, &all, parts)?,
                    own.kernel_bcast(rank, 1, bcast)?,
                    own.kernel_scatter(rank, 1, Some(&all), scatter)?,
                    own.kernel_gather(rank, 1, &one, Some(gather))?,
                    own.kernel_allgather(rank, &one, allgather)?,
                ];
                same("outcomes", vec![Some(Status::Ok); 8], each(rank, &commands)?)?;
            } else {
                own.barrier(rank)?;
                own.reduce(rank, sum, 1, &one, reduce.clone())?;
                own.allreduce(rank, sum, &one, allreduce.clone())?;
                own.reduce_scatter(rank, sum, &all, parts.clone())?;
                own.bcast(rank, 1, bcast.clone())?;
                own.scatter(rank, 1, &all, scatter.clone())?;
                own.gather(rank, 1, &one, gather.clone())?;
                own.allgather(rank, &one, allgather.clone())?;
            }
            let read: alcor::Result<Vec<Vec<u32>>> = places.iter().map(|it| rank.read_vec(it)).collect();
            results.push(read?);
        }
        Ok(results)
    })?;
    for (rank, results) in lists.iter().enumerate() {
        same(format_args!("rank {rank}: by its kernel"), &results[1], &results[0])?;
        // Something has happened at all.
        let all = &results[0][1];
        holds("the allreduce", "a sum", all[0] != 7, all[0])?;
    }
    Ok(())
}

/// The command with another word.
fn with_word(command: &KernelCommand, place: usize, value: u32) -> KernelCommand {
    let mut words = command.words();
    words[place] = value;
    KernelCommand::from_words(words)
}

/// The command with another slot, which is the communicator of a collective.
fn with_slot(command: &KernelCommand, slot: u32) -> KernelCommand {
    with_word(command, 0, command.words()[0] & !0x00FF_0000 | slot << 16)
}

/// Hosts and kernels run collectives at the same time, on different communicators and with different operands. The bounds
/// of a kernel's collective are those of its own operands.
#[alcor_test(ranks >= 2, kernel = "list", needs = [Kernel, Switch])]
fn collectives_beside_the_host(context: &Context) -> Result {
    const WORDS: usize = 20;
    // Refused collectives end at once, so many of them meet the hosts' writes of C_GO.
    const REFUSED: usize = 12;
    let rounds = context.scale(16, 160usize);
    context.run(|rank| {
        let world = rank.world()?;
        let own = world.dup(rank)?;
        let (ranks, me) = (rank.nprocs(), rank.pid().0);
        let value = |rank: u32, word: usize| (rank + 3) * 1000 + word as u32;
        let total = |word: usize| (0..ranks).map(|rank| value(rank, word)).sum::<u32>();
        let given: Vec<u32> = (0..WORDS).map(|word| value(me, word)).collect();
        let (given, by_kernel) = (rank.alloc_from(&given)?, rank.alloc::<u32>(WORDS)?);
        let sum = own.kernel_allreduce(rank, Operation::Sum, &given, &by_kernel)?;
        let beyond = rank.board().node_bytes - 8;
        let mut commands = Vec::new();
        for _ in 0..rounds {
            commands.push(with_word(&sum, 0, sum.words()[0]));
            commands.extend((0..REFUSED).map(|_| with_slot(&sum, 30)));
            commands.push(with_word(&sum, 1, beyond));
        }
        let list = List::new(rank, &commands, 1, 0)?;
        let (host_given, by_host) = (rank.alloc_from(&[me + 1; 3])?, rank.alloc::<u32>(3)?);
        list.start(rank)?;
        for _ in 0..2 * rounds {
            world.allreduce(rank, Operation::Sum, &host_given, by_host.clone())?;
            same("the hosts' sum", vec![ranks * (ranks + 1) / 2; 3], rank.read_vec(&by_host)?)?;
        }
        let found: Vec<_> = list.wait(rank)?.iter().map(|it| it.status).collect();
        let mut expected = vec![Some(Status::BadCommunicator); commands.len()];
        for round in expected.chunks_mut(REFUSED + 2) {
            round[0] = Some(Status::Ok);
            round[REFUSED + 1] = Some(Status::BadLocal);
        }
        same("outcomes", expected, found)?;
        same("the kernels' sum", (0..WORDS).map(total).collect::<Vec<_>>(), rank.read_vec(&by_kernel)?)
    })?;
    Ok(())
}

/// Commands of a kernel pass the checks of host commands: windows, rights, bounds, ranks, addresses and communicators. A
/// refused command accesses no memory.
#[alcor_test(ranks >= 2, kernel = "list")]
fn foreign_windows(context: &Context) -> Result {
    context.run(|rank| {
        let next = after(rank, 1);
        let mut inbox = rank.alloc::<u32>(16)?;
        rank.write(&mut inbox, 0, &[9; 16])?;
        let window = rank.register(&inbox, Rights::READ)?;
        let data = rank.alloc_from(&[5u32; 4])?;
        rank.barrier()?;
        let to = |target, offset| KernelCommand::transfer(TransferKind::Put, &window, target, offset, &data);
        let get = KernelCommand::transfer(TransferKind::Get, &window, next, 60, &data);
        let beyond = rank.board().node_bytes - 8;
        let commands = [
            to(next, 0),
            with_slot(&to(next, 0), 200),
            get,
            to(GlobalRank(250), 0),
            with_word(&to(next, 0), 1, beyond),
            KernelCommand::from_words([99, 0, 0, 0, 0, 0, 0, 0, 0]),
            // A collective of a communicator that there is not.
            KernelCommand::from_words([7 | 30 << 16, 0, 0, 0, 0, 0, 0, 0, 0]),
        ];
        let expected = [
            Status::Denied,
            Status::BadSlot,
            Status::OutOfBounds,
            Status::BadRank,
            Status::BadLocal,
            Status::BadCommand,
            Status::BadCommunicator,
        ];
        same("outcomes", expected.map(Some).to_vec(), each(rank, &commands)?)?;
        rank.barrier()?;
        same("the window", vec![9; 16], rank.read_vec(&inbox)?)
    })?;
    Ok(())
}

/// The watchdog names a kernel that waits for a message which no rank sends, and the kernel's last command.
#[alcor_test(ranks >= 2, kernel = "list", needs = [Kernel, Messages], steady)]
fn stall(context: &Context) -> Result {
    let options = Options::default().watchdog_cycles(PATIENCE);
    let ended = context.attempt(options, context.ranks(), |rank| {
        let world = rank.world()?;
        rank.barrier()?;
        if rank.pid() != GlobalRank(0) {
            idle(rank, 2 * PATIENCE)?;
            return Ok(rank.barrier()?);
        }
        let inbox = rank.alloc::<u32>(1)?;
        let receive = world.kernel_receive(rank, 1, 7, &inbox)?;
        let list = List::new(rank, &[receive], 0, 0)?;
        list.start(rank)?;
        list.wait(rank).map(drop)
    });
    let error = match ended {
        Err(JobError::Failed { source, .. }) => source,
        Err(error) => return Err(Failure::from(error)),
        Ok(_) => return Err(Failure::new("the run", "Error::Watchdog", "success")),
    };
    let text = error.to_string();
    let Error::Watchdog { awaited: Awaited::Kernel(state), .. } = error else {
        return Err(Failure::new("the run", "a watchdog that names the kernel", text));
    };
    same("commands under way", 1, state.outstanding)?;
    same("commands", (1, 0), (state.commands, state.completions))?;
    let expected = "the kernel runs; 1 commands, 0 completions, 1 commands under way; the last command: a receive from rank 1";
    holds("the error", expected, text.contains(expected), &text)
}

/// Hosts and kernels of all ranks run random puts, gets and messages at the same time. Each gets its own completions, and
/// all data is correct.
#[alcor_test(ranks >= 2, kernel = "list", needs = [Kernel, Messages])]
fn beside_the_host(context: &Context) -> Result {
    const SLOTS: usize = 24;
    const WORDS: usize = 8;
    let count = context.scale(24, SLOTS);
    for round in 0..context.scale(3, 30u32) {
        context.run(|rank| {
            let mut rng = context.rng(&[u64::from(round), u64::from(rank.pid().0)]);
            let world = rank.world()?.dup(rank)?;
            let (ranks, me) = (rank.nprocs(), rank.pid().0);
            // A window for the puts of kernels and one for those of hosts, each with room for each operation of each rank.
            let cells = ranks as usize * SLOTS * WORDS;
            let inboxes = [rank.alloc_from(&vec![0u32; cells])?, rank.alloc_from(&vec![0u32; cells])?];
            let window: Window<u32> = rank.register(&inboxes[0], Rights::ALL)?;
            let host_window: Window<u32> = rank.register(&inboxes[1], Rights::ALL)?;
            let value = |of: u32, kernel: bool, number: usize, word: usize| {
                (of << 24) | u32::from(kernel) << 20 | (number as u32) << 8 | word as u32 | 0x80
            };
            let cell = |of: u32, number: usize| (of as usize * SLOTS + number) * WORDS;
            let mut data = Vec::new();
            for kernel in [true, false] {
                let words = |number: usize| (0..WORDS).map(move |word| value(me, kernel, number, word));
                data.push(rank.alloc_from(&(0..count).flat_map(words).collect::<Vec<u32>>())?);
            }
            let next = after(rank, 1);
            let mut commands = Vec::new();
            for number in 0..count {
                let place = data[0].slice(number * WORDS..(number + 1) * WORDS)?;
                let offset = 4 * cell(me, number) as u32;
                let put = KernelCommand::transfer(TransferKind::Put, &window, next, offset, &place);
                commands.push(put.tagged(number as u8));
                if rng.random_bool(0.2) {
                    let bad = KernelCommand::transfer(TransferKind::Put, &window, GlobalRank(251), 0, &place);
                    commands.push(bad.tagged(200));
                }
            }
            let bad = commands.iter().filter(|command| command.words()[0] >> 24 == 251).count();
            let message = rank.alloc::<u32>(300)?;
            let note = rank.alloc_from(&vec![me; 300])?;
            commands.insert(0, world.kernel_receive(rank, before(rank, 1).0, 77, &message)?.tagged(210));
            commands.push(world.kernel_send(rank, next.0, 77, &note)?.tagged(211));
            let list = List::new(rank, &commands, 0, rng.random_range(1..1000))?;
            rank.barrier()?;
            list.start(rank)?;
            // The host meanwhile: puts that change operands each time, refused ones, messages.
            let (mut requests, mut named) = (Vec::new(), Vec::new());
            let mut refused = Vec::new();
            for number in 0..count {
                let place = data[1].slice(number * WORDS..(number + 1) * WORDS)?;
                // In turn by slot and by address, which takes an operand that a kernel's command must not use.
                if number % 2 == 0 {
                    requests.push(rank.iput(&host_window, next, cell(me, number), place.clone())?);
                } else {
                    let name = WindowName::Base(host_window.base());
                    let length = 4 * WORDS as u32;
                    let put = Transfer::new(TransferKind::Put, next, name, place.addr(), length);
                    let put = put.at_offset(4 * cell(me, number) as u32);
                    named.push(rank.lab().transfer(put)?);
                }
                if rng.random_bool(0.2) {
                    refused.push(rank.iput(&host_window, next, cells, place)?);
                }
                // A message to the host of the next rank.
                if number % 5 == 0 {
                    let note = rank.alloc_from(&[me, number as u32])?;
                    let mut got = rank.alloc::<u32>(2)?;
                    let sent = world.isend(rank, next.0, 5, &note)?;
                    let received = world.irecv(rank, before(rank, 1).0, 5, &mut got)?;
                    rank.wait_message(received)?;
                    rank.wait(sent)?;
                    same("a host's message", vec![before(rank, 1).0, number as u32], rank.read_vec(&got)?)?;
                }
            }
            rank.wait_all(requests)?;
            rank.wait_all(named)?;
            for request in refused {
                alcor_test::refused("a put beyond the window", Status::OutOfBounds, rank.wait(request))?;
            }
            let completions = list.wait(rank)?;
            same("completions", commands.len(), completions.len())?;
            let mut tags: Vec<u8> = completions.iter().map(|it| it.tag).collect();
            let mut given: Vec<u8> = commands.iter().map(|it| (it.words()[0] >> 8) as u8).collect();
            tags.sort_unstable();
            given.sort_unstable();
            same("tags", given, tags)?;
            let failed = completions.iter().filter(|it| it.status != Some(Status::Ok));
            let failed: Vec<_> = failed.map(|it| (it.tag, it.status)).collect();
            same("refused", vec![(200, Some(Status::BadRank)); bad], failed)?;
            rank.barrier()?;
            let from = before(rank, 1).0;
            same("the kernel's message", vec![from; 300], rank.read_vec(&message)?)?;
            for (inbox, kernel) in inboxes.iter().zip([true, false]) {
                let found = rank.read_vec(inbox)?;
                for number in 0..count {
                    let at = cell(from, number);
                    let expected: Vec<u32> = (0..WORDS).map(|word| value(from, kernel, number, word)).collect();
                    same(format_args!("operation {number}, kernel {kernel}"), &expected[..], &found[at..at + WORDS])?;
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// A kernel is stopped and started again while commands are outstanding. Their completions do not reach the new start.
#[alcor_test(ranks >= 2, kernel = "list")]
fn restart(context: &Context) -> Result {
    context.run(|rank| {
        let next = after(rank, 1);
        let inbox = rank.alloc::<u32>(64)?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let data = rank.alloc::<u32>(64)?;
        let put = |tag| KernelCommand::transfer(TransferKind::Put, &window, next, 0, &data).tagged(tag);
        let before: Vec<_> = (0..20).map(put).collect();
        let behind: Vec<_> = (100..120).map(put).collect();
        let (before, behind) = (List::new(rank, &before, 0, 0)?, List::new(rank, &behind, 0, 3)?);
        for cycles in [0, 10, 30, 60, 100, 200, 300] {
            before.start(rank)?;
            idle(rank, cycles)?;
            behind.start(rank)?;
            let mut tags: Vec<u8> = behind.wait(rank)?.iter().map(|it| it.tag).collect();
            tags.sort_unstable();
            same("tags", (100..120).collect::<Vec<u8>>(), tags)?;
        }
        Ok(())
    })?;
    Ok(())
}

/// A rank is reset while its kernel has outstanding commands of every kind. The reset ends, the kernel is idle, and the
/// rank works again.
#[alcor_test(ranks >= 2, kernel = "list", needs = [Kernel, Messages])]
fn reset(context: &Context) -> Result {
    for cycles in [0, 20, 50, 90, 150, 400, 2000] {
        let ended = context.attempt(Options::default(), context.ranks(), |rank| {
            let world = rank.world()?;
            let inbox = rank.alloc::<u32>(2048)?;
            let window = rank.register(&inbox, Rights::ALL)?;
            rank.barrier()?;
            if rank.pid() != GlobalRank(0) {
                // The other ranks receive no message of the kernel and reach no barrier, so rank 0 waits.
                rank.recv(GlobalRank(0), 9, &mut [0u32])?;
                return Ok(());
            }
            let next = after(rank, 1);
            let (data, message) = (rank.alloc::<u32>(2048)?, rank.alloc::<u32>(900)?);
            let transfer = |kind| KernelCommand::transfer(kind, &window, next, 0, &data);
            let mut commands = vec![
                world.kernel_receive(rank, next.0, 3, &message)?,
                transfer(TransferKind::Put),
                transfer(TransferKind::Get),
                world.kernel_send(rank, next.0, 4, &message)?,
            ];
            commands.extend(collective(rank, &world)?);
            commands.push(transfer(TransferKind::Put));
            commands.push(KernelCommand::barrier());
            let list = List::new(rank, &commands, 0, 0)?;
            list.start(rank)?;
            idle(rank, cycles)?;
            rank.lab().port().write32(PageOffset(page::RANK_RESET), 1)?;
            let begin = rank.now()?.0;
            loop {
                let state = rank.lab().port().read32(PageOffset(page::RESET_STATE))?;
                if state & page::reset_state::BUSY.mask() == 0 {
                    same("a rank's state after its reset", 0, state & page::reset_state::USED.mask())?;
                    break;
                }
                let since = rank.now()?.0 - begin;
                holds("the reset", "an end", since < RESET, format_args!("{state:08x} after {since} cycles"))?;
                idle(rank, 50)?;
            }
            let status = rank.lab().port().read32(PageOffset(page::KERNEL_STATUS))?;
            let moving = page::kernel_status::RUNNING.get(status) + page::kernel_status::OUTSTANDING.get(status);
            same("a kernel after its rank's reset", 0, moving)?;
            let commands = rank.lab().port().read32(PageOffset(page::KERNEL_COMMANDS))?;
            idle(rank, 1000)?;
            let later = rank.lab().port().read32(PageOffset(page::KERNEL_COMMANDS))?;
            same("commands of a kernel that was reset", (0, 0), (commands, later))?;
            Ok(rank.abort(super::abort::REASON)?)
        });
        super::abort::ended_by(ended, GlobalRank(0), super::abort::Cause::Abort)?;
        transfers_again(context)?;
    }
    Ok(())
}

/// A collective of the world, if the board has a switch.
fn collective(rank: &mut Rank, world: &Communicator) -> Result<Option<KernelCommand>, Failure> {
    if !rank.board().has_switch() {
        return Ok(None);
    }
    let vector = rank.alloc::<u32>(64)?;
    let (source, destination) = (vector.slice(0..32)?, vector.slice(32..64)?);
    Ok(Some(world.kernel_allreduce(rank, Operation::Sum, &source, &destination)?))
}

fn transfers_again(context: &Context) -> Result {
    context.run(|rank| {
        let inbox = rank.alloc::<u32>(1)?;
        let window = rank.register(&inbox, Rights::ALL)?;
        let data = rank.alloc_from(&[rank.pid().0])?;
        let next = after(rank, 1);
        let put = KernelCommand::transfer(TransferKind::Put, &window, next, 0, &data);
        let all = each(rank, &[put, KernelCommand::barrier()])?;
        same("outcomes", vec![Some(Status::Ok); 2], all)?;
        same("the inbox", before(rank, 1).0, rank.read_vec(&inbox)?[0])
    })?;
    Ok(())
}
