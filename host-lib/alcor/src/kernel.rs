//! Kernels: modules of the user beside the coprocessors, which start operations without the host.

use std::fmt;

use alcor_abi::packets::{kernel_head, x_tag};
use alcor_abi::rank::{self, kernel_control, kernel_status};
use alcor_abi::{KernelOpcode, Status};

use crate::atomic::{Atomic, AtomicOperation, AtomicWord};
use crate::collectives::Plan;
use crate::messages::Message;
use crate::progress::{Progress, Wanted};
use crate::watchdog::Awaited;
use crate::{
    Communicator, Datatype, Error, GlobalRank, MessageKind, Operation, Rank, Reducible, Region,
    Result, Source, Tag, TransferKind, Window,
};

/// Number of words of an argument list, and of results.
const ARGUMENTS: usize = rank::KERNEL_ARGUMENT_COUNT as usize;
const RESULTS: usize = rank::KERNEL_RESULT_COUNT as usize;
/// Number of words of a command.
const WORDS: usize = 9;

/// The state of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct KernelState {
    /// Whether the kernel was started, and has been neither stopped nor reset since.
    pub is_running: bool,
    /// Code that the kernel returned when it was done; 0 before.
    pub code: u8,
    /// Commands of the kernel under way.
    pub outstanding: u32,
    /// Commands of the kernel since the rank's reset.
    pub commands: u32,
    /// Completions passed to the kernel since the rank's reset.
    pub completions: u32,
    /// The last command, and its target or source; `None` before the first command.
    pub last: Option<(KernelOpcode, GlobalRank)>,
}

impl fmt::Display for KernelState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = if self.is_running {
            "the kernel runs"
        } else {
            "the kernel does not run"
        };
        write!(
            f,
            "{runs}; {} commands, {} completions, {} commands under way",
            self.commands, self.completions, self.outstanding
        )?;
        let Some((last, rank)) = self.last else {
            return Ok(());
        };
        match last {
            KernelOpcode::Put => write!(f, "; the last command: a put to {rank}"),
            KernelOpcode::Get => write!(f, "; the last command: a get from {rank}"),
            KernelOpcode::Send => write!(f, "; the last command: a send to {rank}"),
            KernelOpcode::Receive => write!(f, "; the last command: a receive from {rank}"),
            KernelOpcode::Probe => write!(f, "; the last command: a probe for {rank}"),
            KernelOpcode::Barrier => f.write_str("; the last command: a barrier"),
            KernelOpcode::Atomic => write!(f, "; the last command: an atomic operation at {rank}"),
            KernelOpcode::Collective => f.write_str("; the last command: a collective"),
        }
    }
}

/// The kernel beside a rank's coprocessor: [`Rank::kernel`].
///
/// A kernel starts puts, gets, messages, barriers and collectives by itself. The library never gets
/// the kernel's completions, and the kernel never gets the library's. This rank allocates the
/// memory that the kernel uses, and must keep that memory until the kernel is done.
///
/// # Examples
/// ```no_run
/// # fn example(rank: &mut alcor::Rank) -> alcor::Result<()> {
/// let vector = rank.alloc::<u32>(64)?;
/// let mut kernel = rank.kernel()?;
/// kernel.start(&[vector.addr().0, 64])?;
/// let code = kernel.wait()?;
/// println!("code {code}, result {}", kernel.result(0)?);
/// # Ok(())
/// # }
/// ```
pub struct Kernel<'a> {
    progress: &'a mut Progress,
}

impl fmt::Debug for Kernel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel")
            .field("rank", &self.progress.me)
            .finish_non_exhaustive()
    }
}

/// # The kernel
impl Rank {
    /// Returns the kernel beside this rank's coprocessor.
    ///
    /// # Errors
    /// [`Error::MissingCapability`] if the board has none.
    pub fn kernel(&mut self) -> Result<Kernel<'_>> {
        let info = self.progress.info();
        if !info.has_kernel() {
            return Err(Error::MissingCapability {
                board: format!("the board of {}", self.progress.me),
                capability: "kernel",
                found: info.capabilities,
            });
        }
        Ok(Kernel {
            progress: &mut self.progress,
        })
    }
}

/// All calls fail with [`Error::Aborted`] after an abort of the run, and with errors of the
/// backend.
impl Kernel<'_> {
    /// Name of the kernel: four characters, chosen by its author.
    #[must_use]
    pub fn name(&self) -> [u8; 4] {
        self.progress.info().kernel
    }

    /// Resets the kernel and starts it with these arguments. Missing arguments are 0. A running
    /// kernel is stopped first, as by [`Kernel::stop`].
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for more than 16 arguments.
    pub fn start(&mut self, arguments: &[u32]) -> Result<()> {
        if arguments.len() > ARGUMENTS {
            return Err(Error::OutOfRange {
                what: "number of arguments of a kernel",
                value: arguments.len() as u64,
                limit: ARGUMENTS as u64,
            });
        }
        self.progress.check()?;
        self.stop()?;
        for place in 0..ARGUMENTS {
            let argument = arguments.get(place).copied().unwrap_or(0);
            self.progress
                .write(rank::KERNEL_ARGUMENT + 4 * place as u32, argument)?;
        }
        self.progress
            .write(rank::KERNEL_CONTROL, kernel_control::START.mask())
    }

    /// Stops the kernel. Its outstanding commands end without it. Their memory is in use until they
    /// have ended.
    ///
    /// # Errors
    /// As [`Kernel`] in general.
    ///
    /// # Examples
    /// ```no_run
    /// # fn example(rank: &mut alcor::Rank) -> alcor::Result<()> {
    /// let mut kernel = rank.kernel()?;
    /// assert_eq!(&kernel.name(), b"vadd");
    /// kernel.start(&[])?;
    /// while !kernel.test()? {
    ///     println!("{}", kernel.state()?);
    /// }
    /// kernel.stop()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn stop(&mut self) -> Result<()> {
        self.progress.kernel_is_done = false;
        self.progress
            .write(rank::KERNEL_CONTROL, kernel_control::STOP.mask())
    }

    /// Waits until the kernel is done. Returns its code.
    ///
    /// # Errors
    /// [`Error::Watchdog`], with the state of the kernel, if the wait exceeds the limit.
    pub fn wait(&mut self) -> Result<u8> {
        self.progress.wait_for(
            |_| Awaited::Kernel(Box::default()),
            |progress| {
                if progress.kernel_is_done {
                    Wanted::Nothing
                } else {
                    Wanted::Kernel
                }
            },
        )?;
        Ok(self.state()?.code)
    }

    /// Returns whether the kernel is done, without waiting.
    ///
    /// # Errors
    /// [`Error::Watchdog`] if the program has polled for longer than a wait may last.
    pub fn test(&mut self) -> Result<bool> {
        self.progress.poll(
            |_| Awaited::Kernel(Box::default()),
            |progress| progress.kernel_is_done,
        )
    }

    /// Returns the state of the kernel.
    ///
    /// # Errors
    /// As [`Kernel`] in general.
    pub fn state(&mut self) -> Result<KernelState> {
        self.progress.kernel_state()
    }

    /// Returns result word `number`, 0 to 7, at any time, also while the kernel runs.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if `number` is larger than 7.
    pub fn result(&mut self, number: usize) -> Result<u32> {
        if number >= RESULTS {
            return Err(Error::OutOfRange {
                what: "number of a kernel's result",
                value: number as u64,
                limit: RESULTS as u64 - 1,
            });
        }
        self.progress.read(rank::KERNEL_RESULT + 4 * number as u32)
    }
}

impl Progress {
    /// Returns the awaited event; for a kernel, with the kernel's present state.
    pub(crate) fn with_kernel_state(&mut self, awaited: Awaited) -> Result<Awaited> {
        Ok(match awaited {
            Awaited::Kernel(_) => Awaited::Kernel(Box::new(self.kernel_state()?)),
            other => other,
        })
    }

    pub(crate) fn kernel_state(&mut self) -> Result<KernelState> {
        let status = self.read(rank::KERNEL_STATUS)?;
        let commands = self.read(rank::KERNEL_COMMANDS)?;
        let last = self.read(rank::KERNEL_LAST)?;
        Ok(KernelState {
            is_running: kernel_status::RUNNING.get(status) != 0,
            code: kernel_status::CODE.get(status) as u8,
            outstanding: kernel_status::OUTSTANDING.get(status),
            commands,
            completions: self.read(rank::KERNEL_COMPLETIONS)?,
            last: KernelOpcode::from_bits(kernel_head::OPCODE.get(last))
                .map(|opcode| (opcode, GlobalRank(kernel_head::RANK.get(last)))),
        })
    }
}

/// A command in the form of a kernel's command stream, for kernels that take commands from their
/// host, in arguments or from node memory.
///
/// # Examples
/// ```
/// # use alcor::{KernelCommand, Rights, TransferKind, Job, soft::SoftBoard};
/// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
/// let region = rank.alloc::<u32>(16)?;
/// let window = rank.register(&region, Rights::ALL)?;
/// let put = KernelCommand::transfer(TransferKind::Put, &window, rank.pid(), 8, &region);
/// let put = put.tagged(3);
/// assert_eq!(KernelCommand::from_words(put.words()), put);
/// // The kernel reads its commands from node memory.
/// let mut program = rank.alloc::<u8>(72)?;
/// rank.write(&mut program, 0, &put.to_bytes())?;
/// rank.write(&mut program, 36, &KernelCommand::barrier().to_bytes())?;
/// # Ok(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KernelCommand {
    /// The words, lowest first: head, address, length, offset, destination, low, high, count,
    /// C_WHAT.
    words: [u32; WORDS],
}

impl KernelCommand {
    fn new(opcode: KernelOpcode, rank: u32, slot: u32, operands: [u32; 3]) -> KernelCommand {
        let head = kernel_head::OPCODE.put(opcode as u32)
            | kernel_head::RANK.put(rank)
            | kernel_head::SLOT.put(slot);
        let [address, length, offset] = operands;
        KernelCommand {
            words: [head, address, length, offset, 0, 0, 0, 0, 0],
        }
    }

    /// Returns the same command with a tag. The completion carries the tag.
    #[must_use]
    pub fn tagged(mut self, tag: u8) -> KernelCommand {
        let others = self.words[0] & !kernel_head::TAG.mask();
        self.words[0] = others | kernel_head::TAG.put(u32::from(tag));
        self
    }

    /// Makes a command of these words, lowest first, in the order of kernel_command_t. Only the
    /// hardware checks the command.
    #[must_use]
    pub fn from_words(words: [u32; 9]) -> KernelCommand {
        KernelCommand { words }
    }

    /// The words of the command, lowest first, in the order of kernel_command_t.
    #[must_use]
    pub fn words(&self) -> [u32; 9] {
        self.words
    }

    /// The words of the command as bytes, in the form that a kernel reads from node memory.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 36] {
        let mut bytes = [0; 36];
        for (place, word) in bytes.chunks_exact_mut(4).zip(self.words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Makes a put or get between `local` and the window of `target`, at a byte offset.
    #[must_use]
    pub fn transfer<T: Datatype, U: Datatype>(
        kind: TransferKind,
        window: &Window<T>,
        target: GlobalRank,
        byte_offset: u32,
        local: &Region<U>,
    ) -> KernelCommand {
        let opcode = match kind {
            TransferKind::Put => KernelOpcode::Put,
            TransferKind::Get => KernelOpcode::Get,
        };
        let operands = [local.addr().0, local.byte_len(), byte_offset];
        KernelCommand::new(opcode, target.0, u32::from(window.slot()), operands)
    }

    /// Makes a fetch-and-op on the word of `target`'s window at `offset`, counted in words. The
    /// completion has the old value after its first word.
    ///
    /// # Errors
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) if the offset fits no register.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{AtomicOperation, Job, KernelCommand, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let counters = rank.alloc::<u64>(16)?;
    /// let window = rank.register(&counters, Rights::ALL)?;
    /// let add = KernelCommand::fetch_op(&window, rank.pid(), 3, AtomicOperation::Add, 1)?;
    /// let lock = KernelCommand::compare_swap(&window, rank.pid(), 0, 0, 1)?.tagged(7);
    /// assert_ne!(add, lock);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fetch_op<T: AtomicWord>(
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        operation: AtomicOperation,
        value: T,
    ) -> Result<KernelCommand> {
        let atomic = Atomic::fetch_op(window, target, offset, operation, value)?;
        Ok(KernelCommand::atomic(&atomic))
    }

    /// Makes a compare-and-swap on the word of `target`'s window at `offset`, counted in words. The
    /// completion has the old value after its first word.
    ///
    /// # Errors
    /// As [`KernelCommand::fetch_op`].
    pub fn compare_swap<T: AtomicWord>(
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        expected: T,
        new: T,
    ) -> Result<KernelCommand> {
        let atomic = Atomic::compare_swap(window, target, offset, expected, new)?;
        Ok(KernelCommand::atomic(&atomic))
    }

    fn atomic(atomic: &Atomic) -> KernelCommand {
        let halves = |value: u64| [value as u32, (value >> 32) as u32];
        let [low, high] = halves(atomic.value);
        let operands = [low, high, atomic.offset];
        let slot = u32::from(atomic.slot);
        let mut command = KernelCommand::new(KernelOpcode::Atomic, atomic.target.0, slot, operands);
        command.words[4..6].copy_from_slice(&halves(atomic.compare));
        command.words[8] = atomic.opcode as u32 & 0x1F;
        command
    }

    /// Makes a barrier of all ranks of the run. Hosts and kernels may take part.
    #[must_use]
    pub fn barrier() -> KernelCommand {
        KernelCommand::new(KernelOpcode::Barrier, 0, 0, [0; 3])
    }

    pub(crate) fn message(message: &Message) -> KernelCommand {
        let opcode = match message.kind {
            MessageKind::Send => KernelOpcode::Send,
            MessageKind::Receive => KernelOpcode::Receive,
            MessageKind::Probe => KernelOpcode::Probe,
        };
        let tag = x_tag::TAG.put(message.tag.unwrap_or(0))
            | x_tag::ANY_SOURCE.put(u32::from(message.peer.is_none()))
            | x_tag::ANY_TAG.put(u32::from(message.tag.is_none()));
        let peer = message.peer.map_or(0, |peer| peer.0);
        let operands = [message.local.0, message.length, tag];
        KernelCommand::new(opcode, peer, u32::from(message.context), operands)
    }
}

/// # Commands for kernels
///
/// These calls return operations of this communicator as commands of a kernel. A rank has one
/// collective of a communicator under way, so a communicator that a kernel uses must belong to the
/// kernel alone ([`Communicator::dup`]). Arguments and errors are those of the calls without
/// `kernel_`. A collective that hardware can't run fails with [`Error::NotInHardware`].
///
/// # Examples
/// ```no_run
/// # use alcor::{Operation, Rank, Result};
/// # fn example(rank: &mut Rank) -> Result<()> {
/// let own = rank.world()?.dup(rank)?;
/// let (all, block) = (rank.alloc::<u32>(4 * own.size() as usize)?, rank.alloc::<u32>(4)?);
/// let sum = Operation::Sum;
/// let commands = [
///     own.kernel_barrier(rank)?,
///     own.kernel_reduce(rank, sum, 0, &block, Some(&block))?,
///     own.kernel_allreduce(rank, sum, &block, &block)?,
///     own.kernel_reduce_scatter(rank, sum, &all, &block)?,
///     own.kernel_bcast(rank, 0, &block)?,
///     own.kernel_scatter(rank, 0, Some(&all), &block)?,
///     own.kernel_gather(rank, 0, &block, Some(&all))?,
///     own.kernel_allgather(rank, &block, &all)?,
///     own.kernel_send(rank, 1, 0, &block)?,
///     own.kernel_receive(rank, 1, 0, &block)?,
///     own.kernel_probe(rank, 1, 0)?,
/// ];
/// let mut program = rank.alloc::<u8>(36 * commands.len())?;
/// for (place, command) in commands.iter().enumerate() {
///     rank.write(&mut program, 36 * place, &command.to_bytes())?;
/// }
/// rank.kernel()?.start(&[program.addr().0, commands.len() as u32])?;
/// # Ok(())
/// # }
/// ```
impl Communicator {
    fn kernel_collective(&self, rank: &Rank, plan: &Plan) -> Result<KernelCommand> {
        let (row, operands) = self.for_kernel(rank, plan)?;
        let first = [operands.source, operands.words, operands.first];
        let mut command = KernelCommand::new(KernelOpcode::Collective, 0, row, first);
        let others = [
            operands.destination,
            operands.low,
            operands.high,
            operands.count,
            operands.what,
        ];
        command.words[4..].copy_from_slice(&others);
        Ok(command)
    }

    /// [`Communicator::barrier`] for a kernel.
    ///
    /// # Errors
    /// As [all of these](Communicator#commands-for-kernels).
    pub fn kernel_barrier(&self, rank: &mut Rank) -> Result<KernelCommand> {
        let plan = self.plan_barrier(rank)?;
        self.kernel_collective(rank, &plan)
    }

    /// [`Communicator::reduce`] for a kernel.
    ///
    /// # Errors
    /// As [all of these](Communicator#commands-for-kernels).
    pub fn kernel_reduce<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        root: u32,
        source: &Region<T>,
        destination: Option<&Region<T>>,
    ) -> Result<KernelCommand> {
        let plan = self.plan_reduce(rank, operation, root, source, destination)?;
        self.kernel_collective(rank, &plan)
    }

    /// [`Communicator::allreduce`] for a kernel.
    ///
    /// # Errors
    /// As [all of these](Communicator#commands-for-kernels).
    pub fn kernel_allreduce<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        source: &Region<T>,
        destination: &Region<T>,
    ) -> Result<KernelCommand> {
        let plan = self.plan_allreduce(rank, operation, source, destination)?;
        self.kernel_collective(rank, &plan)
    }

    /// [`Communicator::reduce_scatter`] for a kernel.
    ///
    /// # Errors
    /// As [all of these](Communicator#commands-for-kernels).
    pub fn kernel_reduce_scatter<T: Reducible>(
        &self,
        rank: &mut Rank,
        operation: Operation,
        source: &Region<T>,
        destination: &Region<T>,
    ) -> Result<KernelCommand> {
        let plan = self.plan_reduce_scatter(rank, operation, source, destination)?;
        self.kernel_collective(rank, &plan)
    }

    /// [`Communicator::bcast`] for a kernel.
    ///
    /// # Errors
    /// As [all of these](Communicator#commands-for-kernels).
    pub fn kernel_bcast<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        vector: &Region<T>,
    ) -> Result<KernelCommand> {
        let plan = self.plan_bcast(rank, root, vector)?;
        self.kernel_collective(rank, &plan)
    }

    /// [`Communicator::scatter`] for a kernel.
    ///
    /// # Errors
    /// As [all of these](Communicator#commands-for-kernels).
    pub fn kernel_scatter<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        source: Option<&Region<T>>,
        destination: &Region<T>,
    ) -> Result<KernelCommand> {
        let plan = self.plan_scatter(rank, root, source, destination)?;
        self.kernel_collective(rank, &plan)
    }

    /// [`Communicator::gather`] for a kernel.
    ///
    /// # Errors
    /// As [all of these](Communicator#commands-for-kernels).
    pub fn kernel_gather<T: Datatype>(
        &self,
        rank: &mut Rank,
        root: u32,
        source: &Region<T>,
        destination: Option<&Region<T>>,
    ) -> Result<KernelCommand> {
        let plan = self.plan_gather(rank, root, source, destination)?;
        self.kernel_collective(rank, &plan)
    }

    /// [`Communicator::allgather`] for a kernel.
    ///
    /// # Errors
    /// As [all of these](Communicator#commands-for-kernels).
    pub fn kernel_allgather<T: Datatype>(
        &self,
        rank: &mut Rank,
        source: &Region<T>,
        destination: &Region<T>,
    ) -> Result<KernelCommand> {
        let plan = self.plan_allgather(rank, source, destination)?;
        self.kernel_collective(rank, &plan)
    }

    /// [`Communicator::send`] for a kernel.
    ///
    /// # Errors
    /// As [all of these](Communicator#commands-for-kernels).
    pub fn kernel_send<T: Datatype>(
        &self,
        rank: &mut Rank,
        to: u32,
        tag: u32,
        local: &Region<T>,
    ) -> Result<KernelCommand> {
        let message = self.peers(rank)?.send_of(rank, to, tag, &local.bytes())?;
        Ok(KernelCommand::message(&message))
    }

    /// [`Communicator::recv`] for a kernel.
    ///
    /// # Errors
    /// As [all of these](Communicator#commands-for-kernels).
    pub fn kernel_receive<T: Datatype>(
        &self,
        rank: &mut Rank,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
        local: &Region<T>,
    ) -> Result<KernelCommand> {
        let (kind, local) = (MessageKind::Receive, local.bytes());
        let peers = self.peers(rank)?;
        let message = peers.receive_of(rank, kind, source.into(), tag.into(), Some(&local))?;
        Ok(KernelCommand::message(&message))
    }

    /// [`Communicator::probe`] for a kernel.
    ///
    /// # Errors
    /// As [all of these](Communicator#commands-for-kernels).
    pub fn kernel_probe(
        &self,
        rank: &mut Rank,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<KernelCommand> {
        let peers = self.peers(rank)?;
        let message =
            peers.receive_of(rank, MessageKind::Probe, source.into(), tag.into(), None)?;
        Ok(KernelCommand::message(&message))
    }
}

/// A completion in the form of a kernel's completion stream, for kernels that store completions in
/// node memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelCompletion {
    /// Tag of the command.
    pub tag: u8,
    /// Final status; `None` for an unknown code.
    pub status: Option<Status>,
    /// Receive or probe: source of the message.
    pub source: GlobalRank,
    /// Receive or probe: tag of the message.
    pub message_tag: u32,
    /// Receive or probe: length of the message in bytes.
    pub length: u32,
}

impl KernelCompletion {
    /// Decodes the three words of a completion, lowest first, in the order of kernel_completion_t.
    ///
    /// # Examples
    /// ```
    /// use alcor::{KernelCompletion, Status};
    ///
    /// let completion = KernelCompletion::from_words([0, 7, 16]);
    /// assert_eq!((completion.message_tag, completion.length), (7, 16));
    /// ```
    #[must_use]
    pub fn from_words([result, message_tag, length]: [u32; 3]) -> KernelCompletion {
        use alcor_abi::packets::kernel_result;
        KernelCompletion {
            tag: kernel_result::TAG.get(result) as u8,
            status: Status::from_bits(kernel_result::STATUS.get(result)),
            source: GlobalRank(kernel_result::SOURCE.get(result)),
            message_tag,
            length,
        }
    }
}
