//! Put and get.

use std::fmt;

use alcor_abi::Opcode;
use alcor_abi::packets::x_commit;

use crate::progress::Progress;
use crate::request::Request;
use crate::watchdog::Awaited;
use crate::{Activity, Datatype, Error, GlobalRank, NodeAddr, Rank, Region, Result, Window};

/// Which way the data of a [`Transfer`] goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransferKind {
    /// From local memory to the target's window.
    Put,
    /// From the target's window to local memory.
    Get,
}

/// How a [`Transfer`] names its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowName {
    /// By its slot.
    Slot(u8),
    /// By its base at the rank that asks.
    Base(NodeAddr),
}

/// An extended command as the hardware takes it: bytes, and no check but the hardware's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// Put or get.
    pub kind: TransferKind,
    /// Whose window.
    pub target: GlobalRank,
    /// Which window.
    pub window: WindowName,
    /// Bytes from the window's base.
    pub offset: u32,
    /// Address in local node memory.
    pub local: NodeAddr,
    /// Bytes.
    pub length: u32,
}

impl Transfer {
    /// What notes call it.
    pub(crate) fn activity(&self) -> Activity {
        match self.kind {
            TransferKind::Put => Activity::Put,
            TransferKind::Get => Activity::Get,
        }
    }

    pub(crate) fn opcode(&self) -> Opcode {
        match self.kind {
            TransferKind::Put => Opcode::XPut,
            TransferKind::Get => Opcode::XGet,
        }
    }

    pub(crate) fn commit(&self, id: u16) -> u32 {
        let slot = match self.window {
            WindowName::Slot(slot) => u32::from(slot),
            WindowName::Base(_) => 0,
        };
        x_commit::DPID.put(self.target.0)
            | x_commit::SLOT.put(slot)
            | x_commit::ID.put(u32::from(id))
    }
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, to) = match self.kind {
            TransferKind::Put => ("put", "to"),
            TransferKind::Get => ("get", "from"),
        };
        write!(f, "{kind} of {} bytes {to} {}, ", self.length, self.target)?;
        match self.window {
            WindowName::Slot(slot) => write!(f, "window slot {slot}")?,
            WindowName::Base(base) => write!(f, "window at {base}")?,
        }
        write!(f, ", byte offset {}, local {}", self.offset, self.local)
    }
}

/// An element offset in bytes.
fn byte_offset<T: Datatype>(elements: usize) -> Result<u32> {
    let bytes = (elements as u64).saturating_mul(u64::from(T::BYTES));
    fits("byte offset", bytes, u32::MAX)
}

/// `value`, once it is known to fit a field whose largest value is `limit`.
pub(crate) fn fits(what: &'static str, value: u64, limit: u32) -> Result<u32> {
    match u32::try_from(value) {
        Ok(value) if value <= limit => Ok(value),
        _ => Err(Error::OutOfRange {
            what,
            value,
            limit: u64::from(limit),
        }),
    }
}

/// # Put and get
///
/// Offsets count elements of the target's window; the `_bytes` variants count bytes and know no
/// alignment. Bounds, rights and the target's rank are checked by the hardware: what it refuses
/// comes back as [`Error::Refused`], and has touched no memory.
///
/// Every one of these fails with [`Error::Aborted`] once the run is aborted, with
/// [`Error::Watchdog`] when it waits too long, and with what the backend says.
impl Rank {
    /// Copies all of `local` into `target`'s window, and waits until it is visible there.
    ///
    /// # Errors
    /// [`Error::Refused`] by the target; [`Error::OutOfRange`] when offset or target fit no
    /// register.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
    /// # let inboxes =
    /// Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     let inbox = rank.alloc::<u32>(4)?;
    ///     rank.write(&inbox, 0, &[0; 4])?;
    ///     let window = rank.register(&inbox, Rights::ALL)?;
    ///     if rank.pid() == GlobalRank(0) {
    ///         let data = rank.alloc::<u32>(2)?;
    ///         rank.write(&data, 0, &[7, 8])?;
    ///         rank.put(&window, GlobalRank(1), 1, &data)?;
    ///     }
    ///     rank.barrier()?;
    ///     rank.read_vec(&inbox)
    /// })?;
    /// # assert_eq!(inboxes[1], [0, 7, 8, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put<T: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        local: &Region<T>,
    ) -> Result<()> {
        let request = self.iput(window, target, offset, local)?;
        self.wait(request)
    }

    /// Starts a put of all of `local` into `target`'s window.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] when offset or target fit no register. What the target refuses,
    /// [`Rank::wait`] tells.
    pub fn iput<T: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        local: &Region<T>,
    ) -> Result<Request> {
        let offset = byte_offset::<T>(offset)?;
        self.start(TransferKind::Put, window, target, offset, local)
    }

    /// Fills `local` from `target`'s window, and waits until it is there.
    ///
    /// # Errors
    /// As [`Rank::put`].
    pub fn get<T: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        local: &Region<T>,
    ) -> Result<()> {
        let request = self.iget(window, target, offset, local)?;
        self.wait(request)
    }

    /// Starts a get that fills `local` from `target`'s window.
    ///
    /// # Errors
    /// As [`Rank::iput`].
    pub fn iget<T: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        local: &Region<T>,
    ) -> Result<Request> {
        let offset = byte_offset::<T>(offset)?;
        self.start(TransferKind::Get, window, target, offset, local)
    }

    /// [`Rank::put`] by bytes: any offset, any length, any alignment.
    ///
    /// # Errors
    /// As [`Rank::put`].
    pub fn put_bytes<T: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        byte_offset: u64,
        local: &Region<u8>,
    ) -> Result<()> {
        let request = self.iput_bytes(window, target, byte_offset, local)?;
        self.wait(request)
    }

    /// [`Rank::iput`] by bytes.
    ///
    /// # Errors
    /// As [`Rank::iput`].
    pub fn iput_bytes<T: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        byte_offset: u64,
        local: &Region<u8>,
    ) -> Result<Request> {
        let offset = fits("byte offset", byte_offset, u32::MAX)?;
        self.start(TransferKind::Put, window, target, offset, local)
    }

    /// [`Rank::get`] by bytes.
    ///
    /// # Errors
    /// As [`Rank::put`].
    pub fn get_bytes<T: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        byte_offset: u64,
        local: &Region<u8>,
    ) -> Result<()> {
        let request = self.iget_bytes(window, target, byte_offset, local)?;
        self.wait(request)
    }

    /// [`Rank::iget`] by bytes.
    ///
    /// # Errors
    /// As [`Rank::iput`].
    pub fn iget_bytes<T: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        byte_offset: u64,
        local: &Region<u8>,
    ) -> Result<Request> {
        let offset = fits("byte offset", byte_offset, u32::MAX)?;
        self.start(TransferKind::Get, window, target, offset, local)
    }

    /// Puts `values`, which are staged in node memory for as long as it takes.
    ///
    /// # Errors
    /// As [`Rank::put`], and [`Error::OutOfNodeMemory`].
    pub fn put_slice<T: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        values: &[T],
    ) -> Result<()> {
        let staged = self.alloc_from(values)?;
        self.put(window, target, offset, &staged)
    }

    /// Gets `count` elements by way of node memory.
    ///
    /// # Errors
    /// As [`Rank::get`], and [`Error::OutOfNodeMemory`].
    pub fn get_vec<T: Datatype>(
        &mut self,
        window: &Window<T>,
        target: GlobalRank,
        offset: usize,
        count: usize,
    ) -> Result<Vec<T>> {
        let staged = self.alloc::<T>(count)?;
        self.get(window, target, offset, &staged)?;
        self.read_vec(&staged)
    }

    /// What all of the above come to.
    fn start<T: Datatype, U: Datatype>(
        &mut self,
        kind: TransferKind,
        window: &Window<T>,
        target: GlobalRank,
        offset: u32,
        local: &Region<U>,
    ) -> Result<Request> {
        let transfer = Transfer {
            kind,
            target,
            window: WindowName::Slot(window.slot()),
            offset,
            local: local.addr(),
            length: local.byte_len(),
        };
        self.check_target(target)?;
        self.progress.check()?;
        self.progress.transfer(&transfer)
    }

    /// Starts an extended command as it stands, for tests and tools: nothing of it is checked
    /// but that its target fits the hardware's field.
    ///
    /// # Errors
    /// As [`Rank::iput`].
    pub fn transfer(&mut self, transfer: Transfer) -> Result<Request> {
        self.check_target(transfer.target)?;
        self.progress.check()?;
        self.progress.transfer(&transfer)
    }

    pub(crate) fn check_target(&self, target: GlobalRank) -> Result<()> {
        fits("target rank", u64::from(target.0), x_commit::DPID.max()).map(drop)
    }

    // ------------------------------------------------------------ completion

    /// Waits until `request` is complete.
    ///
    /// # Errors
    /// [`Error::Refused`], or [`Error::ForeignRequest`] when another rank issued it.
    pub fn wait(&mut self, request: Request) -> Result<()> {
        self.progress.outstanding.check(&request)?;
        self.wait_for_all(std::slice::from_ref(&request))?;
        self.progress.outstanding.claim(&request)
    }

    /// Whether `request` is complete; does not wait.
    ///
    /// # Errors
    /// As [`Rank::wait`], once it is complete; [`Error::Watchdog`] when it was asked for longer
    /// than a wait may last.
    pub fn test(&mut self, request: &Request) -> Result<bool> {
        self.progress.outstanding.check(request)?;
        let awaited = |progress: &Progress| progress.awaited(std::iter::once(request));
        if !self.progress.poll(awaited, |_| request.is_known())? {
            return Ok(false);
        }
        self.progress.outstanding.claim(request).map(|()| true)
    }

    /// Waits until all of `requests` are complete.
    ///
    /// # Errors
    /// Of the first request in order that failed, once all are complete; as [`Rank::wait`].
    pub fn wait_all(&mut self, requests: impl IntoIterator<Item = Request>) -> Result<()> {
        let requests: Vec<Request> = requests.into_iter().collect();
        for request in &requests {
            self.progress.outstanding.check(request)?;
        }
        self.wait_for_all(&requests)?;
        let claims = requests
            .iter()
            .map(|request| self.progress.outstanding.claim(request));
        // Every one is claimed, so that none is told again by a flush.
        claims.fold(Ok(()), Result::and)
    }

    /// Waits until one of `requests` is complete; the first that is, by its place. Hand it to
    /// [`Rank::wait`] to learn how it ended.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] when there is no request; as [`Rank::wait`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Source, soft::SoftBoard};
    /// Job::new(SoftBoard::new(1))?.run(1, |rank| {
    ///     let places = rank.alloc::<u8>(2)?;
    ///     let mut requests = Vec::new();
    ///     for tag in 0..2 {
    ///         let place = places.slice(tag..tag + 1)?;
    ///         requests.push(rank.irecv(Source::Any, tag as u32, &place)?);
    ///     }
    ///     rank.send(GlobalRank(0), 1, &[5u8])?;
    ///     let first = rank.wait_any(&requests)?;
    ///     assert_eq!(first, 1);
    ///     assert_eq!(rank.wait_message(requests.swap_remove(first))?.tag, 1);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_any(&mut self, requests: &[Request]) -> Result<usize> {
        for request in requests {
            self.progress.outstanding.check(request)?;
        }
        let known = || requests.iter().position(Request::is_known);
        self.progress.wait_for(
            |progress| progress.awaited(requests.iter()),
            |progress| {
                let is_over = requests.is_empty() || known().is_some();
                progress.completions(u32::from(!is_over))
            },
        )?;
        known().ok_or(Error::OutOfRange {
            what: "number of requests to wait for one of",
            value: 0,
            limit: 0,
        })
    }

    pub(crate) fn wait_for_all(&mut self, requests: &[Request]) -> Result<()> {
        let missing = || {
            requests
                .iter()
                .filter(|request| !request.is_known())
                .count() as u32
        };
        self.progress.wait_for(
            |progress| progress.awaited(requests.iter()),
            |progress| progress.completions(missing()),
        )
    }

    /// Waits until every put to and get from `target` that this rank has started is complete.
    ///
    /// # Errors
    /// [`Error::Unclaimed`] when transfers to it failed whose requests were dropped.
    pub fn flush(&mut self, target: GlobalRank) -> Result<()> {
        self.complete_all(Some(target))
    }

    /// Waits until every put and get that this rank has started is complete.
    ///
    /// # Errors
    /// As [`Rank::flush`].
    pub fn flush_all(&mut self) -> Result<()> {
        self.complete_all(None)
    }

    fn complete_all(&mut self, target: Option<GlobalRank>) -> Result<()> {
        self.progress.wait_for(
            |progress| Awaited::Completions {
                missing: progress.outstanding.count(target),
            },
            |progress| progress.completions(progress.outstanding.count(target)),
        )?;
        self.progress.check()?;
        self.progress.outstanding.take_unclaimed(target)
    }
}
