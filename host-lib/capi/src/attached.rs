//! The objects of an attached rank, and their handles.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};

use alcor::{Communicator, HostRegion, MatchedMessage, Rank, Region, Window};

use crate::failure::{Failure, Result, call, panic_text};
use crate::requests::Request;
use crate::types::*;

/// First handle; handles count up. No small number, error code or address is a handle.
const FIRST_HANDLE: usize = 0xA1C0_0000_0000_0000;

/// A number that is never a handle.
fn new_handle<H>() -> *mut H {
    static NEXT: AtomicUsize = AtomicUsize::new(FIRST_HANDLE);
    ptr::without_provenance_mut(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The objects of one kind, by their handles.
pub struct Table<H, T> {
    what: &'static str,
    entries: BTreeMap<usize, T>,
    handle: PhantomData<fn() -> H>,
}

impl<H, T> Table<H, T> {
    fn new(what: &'static str) -> Table<H, T> {
        Table {
            what,
            entries: BTreeMap::new(),
            handle: PhantomData,
        }
    }

    fn missing(&self, handle: *mut H) -> Failure {
        if handle.is_null() {
            Failure::Null { what: self.what }
        } else {
            Failure::Handle {
                what: self.what,
                handle: handle.addr(),
            }
        }
    }

    /// Adds an object, and returns its new handle.
    pub fn insert(&mut self, value: T) -> *mut H {
        let handle = new_handle();
        self.put_back(handle, value);
        handle
    }

    /// Adds an object under its former handle.
    pub fn put_back(&mut self, handle: *mut H, value: T) {
        self.entries.insert(handle.addr(), value);
    }

    /// Returns the object of a handle.
    pub fn get(&self, handle: *mut H) -> Result<&T> {
        let found = self.entries.get(&handle.addr());
        found.ok_or_else(|| self.missing(handle))
    }

    /// Removes and returns the object of a handle.
    pub fn remove(&mut self, handle: *mut H) -> Result<T> {
        let found = self.entries.remove(&handle.addr());
        found.ok_or_else(|| self.missing(handle))
    }
}

/// A rank, and the objects of its handles.
pub struct Attached {
    pub rank: Rank,
    pub memory: Table<alcor_memory, Region<u8>>,
    /// Host memory, by the address of its first byte.
    pub host: BTreeMap<usize, HostRegion<u8>>,
    pub windows: Table<alcor_window, Window<u8>>,
    pub communicators: Table<alcor_comm, Communicator>,
    pub requests: Table<alcor_request, Request>,
    pub messages: Table<alcor_message, MatchedMessage>,
    /// Handle of the world, after its first request.
    pub world: Option<usize>,
}

/// A rank with its lock; empty once it has left.
type Shared = Arc<Mutex<Option<Attached>>>;

static RANKS: RwLock<BTreeMap<usize, Shared>> = RwLock::new(BTreeMap::new());

/// Gives a rank its handle.
pub fn attach(rank: Rank) -> alcor_rank_t {
    let attached = Attached {
        rank,
        memory: Table::new("memory"),
        host: BTreeMap::new(),
        windows: Table::new("window"),
        communicators: Table::new("communicator"),
        requests: Table::new("request"),
        messages: Table::new("message"),
        world: None,
    };
    let handle: alcor_rank_t = new_handle();
    let shared = Arc::new(Mutex::new(Some(attached)));
    let mut ranks = RANKS.write().unwrap_or_else(PoisonError::into_inner);
    ranks.insert(handle.addr(), shared);
    handle
}

/// Calls `act` with the rank's slot, locked against other threads.
fn with_slot(
    rank: alcor_rank_t,
    act: impl FnOnce(&mut Option<Attached>) -> Result<()>,
) -> Result<()> {
    let missing = || {
        if rank.is_null() {
            Failure::Null { what: "rank" }
        } else {
            Failure::Handle {
                what: "rank",
                handle: rank.addr(),
            }
        }
    };
    let found = {
        let ranks = RANKS.read().unwrap_or_else(PoisonError::into_inner);
        ranks.get(&rank.addr()).cloned()
    };
    let shared = found.ok_or_else(missing)?;
    let mut slot = match shared.try_lock() {
        Ok(slot) => slot,
        Err(TryLockError::WouldBlock) => return Err(Failure::Busy),
        // The panic of the other call has emptied the slot.
        Err(TryLockError::Poisoned(slot)) => slot.into_inner(),
    };
    let ended = if slot.is_some() {
        act(&mut slot)
    } else {
        Err(missing())
    };
    if slot.is_none() {
        let mut ranks = RANKS.write().unwrap_or_else(PoisonError::into_inner);
        ranks.remove(&rank.addr());
    }
    ended
}

/// Carries out a call of a C program for a rank. A panic removes the rank from the run.
pub fn with(rank: alcor_rank_t, act: impl FnOnce(&mut Attached) -> Result<()>) -> alcor_result_t {
    let act = |slot: &mut Option<Attached>| {
        let Some(attached) = slot else {
            return Ok(());
        };
        catch_unwind(AssertUnwindSafe(|| act(attached))).unwrap_or_else(|panic| {
            // The state of the rank is unknown. Dropping the rank notifies its peers.
            let rank = slot.take();
            let _ = catch_unwind(AssertUnwindSafe(|| drop(rank)));
            Err(Failure::Panic(panic_text(&*panic)))
        })
    };
    call(|| with_slot(rank, act))
}

/// Removes a rank and its objects from the table; `act` ends the rank.
pub fn take(rank: alcor_rank_t, act: impl FnOnce(Attached) -> Result<()>) -> alcor_result_t {
    call(|| {
        let mut taken = None;
        with_slot(rank, |slot| {
            taken = slot.take();
            Ok(())
        })?;
        taken.map_or(Ok(()), act)
    })
}

/// A C pointer to the place of a result.
pub type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

/// The place of a handle, which holds NULL until the handle exists.
pub fn place<'a, H>(out: Out<'a, *mut H>, what: &'static str) -> Result<&'a mut *mut H> {
    Ok(given(out, what)?.write(ptr::null_mut()))
}

/// Carries out a call of a C program that makes an object for a rank. If the call fails, the place
/// of the handle holds NULL.
pub fn make<H>(
    rank: alcor_rank_t,
    out: Out<'_, *mut H>,
    what: &'static str,
    act: impl FnOnce(&mut Attached) -> Result<*mut H>,
) -> alcor_result_t {
    match place(out, what) {
        Ok(out) => with(rank, |attached| {
            *out = act(attached)?;
            Ok(())
        }),
        Err(failure) => call(|| Err(failure)),
    }
}

/// Returns the target of a pointer that must not be null.
pub fn given<T>(pointer: Option<T>, what: &'static str) -> Result<T> {
    pointer.ok_or(Failure::Null { what })
}

/// The status of an operation that is no receive. It is in this file because the header contains
/// the constants of all files that it is generated from.
pub const NO_MESSAGE: alcor_status_t = alcor_status_t {
    source: ALCOR_ANY_SOURCE,
    tag: ALCOR_ANY_TAG,
    bytes: 0,
    result: alcor_error::ALCOR_OK as alcor_result_t,
    cancelled: false,
};

/// `bytes` bytes from `offset` on of a region of memory.
pub fn piece(memory: &Region<u8>, offset: usize, bytes: usize) -> Result<Region<u8>> {
    Ok(memory.slice(offset..offset.saturating_add(bytes))?)
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use alcor::soft::SoftBoard;
    use alcor::{Cluster, GlobalRank, LocalRank, Options};

    use super::*;
    use crate::failure;

    fn message() -> String {
        // SAFETY: no call of this thread fails while it is read.
        let message = unsafe { CStr::from_ptr(failure::message()) };
        message.to_str().unwrap().to_owned()
    }

    const OK: alcor_result_t = alcor_error::ALCOR_OK as alcor_result_t;

    fn attached(board: &Arc<SoftBoard>, pid: u32, nprocs: u32) -> alcor_rank_t {
        let options = Options::default();
        let (local, pid) = (LocalRank(pid), GlobalRank(pid));
        attach(Rank::attach(board.clone(), local, pid, nprocs, &options).unwrap())
    }

    #[test]
    fn a_panic_is_an_error_and_takes_its_rank_out_of_the_run() {
        let board = SoftBoard::new(2);
        Cluster::from(board.clone()).prepare(2).unwrap();
        std::thread::scope(|scope| {
            // Simulated time needs a thread for each rank.
            let peer = scope.spawn(|| {
                let rank = attached(&board, 1, 2);
                assert_eq!(with(rank, |attached| Ok(attached.rank.barrier()?)), OK);
                let result = with(rank, |attached| Ok(attached.rank.barrier()?));
                // Reports the abort or the end of the rank, whichever comes first.
                let told = [
                    alcor_error::ALCOR_ERR_ABORTED,
                    alcor_error::ALCOR_ERR_PEER_DIED,
                ];
                let told = told.map(|error| error as alcor_result_t);
                assert!(told.contains(&result), "{}", message());
            });
            let rank = attached(&board, 0, 2);
            assert_eq!(with(rank, |attached| Ok(attached.rank.barrier()?)), OK);
            let result = with(rank, |_| panic!("in the middle of it"));
            assert_eq!(result, alcor_error::ALCOR_ERR_PANIC as alcor_result_t);
            assert!(message().contains("in the middle of it"), "{}", message());
            let result = with(rank, |_| Ok(()));
            assert_eq!(result, alcor_error::ALCOR_ERR_HANDLE as alcor_result_t);
            peer.join().unwrap();
        });
    }

    #[test]
    fn a_panic_where_there_is_no_rank_is_an_error_too() {
        let result = call(|| panic!("elsewhere"));
        assert_eq!(result, alcor_error::ALCOR_ERR_PANIC as alcor_result_t);
        assert!(message().contains("elsewhere"), "{}", message());
    }
}
