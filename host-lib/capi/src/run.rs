//! Beginning and ending, errors, time.

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

use alcor::{Backends, FlowControl, GlobalRank, Job, Launch, Options, Rank};
use alcor_farm::{ClusterBackend, FarmBackend};
use alcor_shm::ShmBackend;
use alcor_xdma::XdmaBackend;

use crate::attached::{attach, given, place, take, with};
use crate::failure::{self, Failure, Result, call};
use crate::types::*;

/// Attaches the rank that the environment names. Processes that `alcor run` starts need nothing
/// else. For processes that are started by hand, by a debugger, by an MPI launcher or by Slurm,
/// `alcor serve` simulates the boards and prints the variables to set.
///
/// options: NULL for the defaults. rank: receives the rank, which alcor_finish ends; NULL if the
/// call fails.
///
/// Errors: ALCOR_ERR_NOT_LAUNCHED, ALCOR_ERR_ENVIRONMENT; as alcor_init.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_init_from_env(
    options: Option<&alcor_options_t>,
    rank: Option<&mut MaybeUninit<alcor_rank_t>>,
) -> alcor_result_t {
    call(|| {
        let rank = place(rank, "rank")?;
        *rank = begin(Launch::from_env()?, options)?;
        Ok(())
    })
}

/// Attaches rank `pid` of `nprocs` ranks of the boards that a URI names: shm:NAME for those of a
/// running `alcor serve`, xdma:PCI-ADDRESS for a card.
///
/// uri: is copied. options: NULL for the defaults. rank: receives the rank, which alcor_finish
/// ends; NULL if the call fails.
///
/// Errors: ALCOR_ERR_URI, ALCOR_ERR_BOARD, ALCOR_ERR_VERSION, ALCOR_ERR_NO_SUCH_RANK,
/// ALCOR_ERR_RANK_TAKEN; ALCOR_ERR_ARGUMENT for an invalid pid, nprocs or option.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alcor_init(
    uri: *const c_char,
    pid: u32,
    nprocs: u32,
    options: Option<&alcor_options_t>,
    rank: Option<&mut MaybeUninit<alcor_rank_t>>,
) -> alcor_result_t {
    call(|| {
        let rank = place(rank, "rank")?;
        if uri.is_null() {
            return Err(Failure::Null { what: "uri" });
        }
        // SAFETY: it is not null, so it is a string that ends with a zero, as the header asks.
        let uri = unsafe { CStr::from_ptr(uri) };
        let cluster = uri.to_str().map_err(|_| Failure::Text { what: "uri" })?;
        if pid >= nprocs {
            return Err(Failure::Argument {
                what: "pid",
                value: u64::from(pid),
                rule: "it must be less than nprocs",
            });
        }
        let launch = Launch::new(cluster, GlobalRank(pid), nprocs);
        *rank = begin(launch, options)?;
        Ok(())
    })
}

fn begin(launch: Launch, options: Option<&alcor_options_t>) -> Result<alcor_rank_t> {
    let backends = Backends::new()
        .with(ShmBackend)
        .with(XdmaBackend::new())
        .with(FarmBackend::new())
        .with(ClusterBackend::new());
    let options = options.map_or(Ok(Options::default()), translated)?;
    Ok(attach(Job::attach_rank(&backends, &launch, options)?))
}

fn translated(options: &alcor_options_t) -> Result<Options> {
    const ALL: u32 = alcor_option::ALCOR_STRICT as u32
        | alcor_option::ALCOR_SOFTWARE as u32
        | alcor_option::ALCOR_GO_BACK_N as u32;
    if options.flags & !ALL != 0 {
        return Err(Failure::Argument {
            what: "flags",
            value: u64::from(options.flags),
            rule: "they are flags of alcor_option",
        });
    }
    let has = |flag: alcor_option| options.flags & flag as u32 != 0;
    let mut translated = Options::default()
        .strict(has(alcor_option::ALCOR_STRICT))
        .software_collectives(has(alcor_option::ALCOR_SOFTWARE));
    if has(alcor_option::ALCOR_GO_BACK_N) {
        translated = translated.flow_control(FlowControl::GoBackN);
    }
    if options.watchdog_cycles != 0 {
        translated = translated.watchdog_cycles(options.watchdog_cycles);
    }
    if options.detection_cycles != 0 {
        translated = translated.detect_deaths(options.detection_cycles);
    }
    if options.ring_entries != 0 {
        translated = translated.ring_entries(options.ring_entries);
    }
    Ok(translated)
}

/// Completes all operations that the rank has started, and leaves the run. The rank and all its
/// objects are freed, even if the call fails: memory, windows, communicators and requests are
/// invalid afterwards.
///
/// If a process ends without this call, its peers fail with ALCOR_ERR_PEER_DIED. In a run that
/// survives deaths (detection_cycles in alcor_options_t), the rank also dies if this call fails.
///
/// Errors: those of freed requests that failed; ALCOR_ERR_WATCHDOG if a message was not received;
/// ALCOR_ERR_ABORTED.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_finish(rank: alcor_rank_t) -> alcor_result_t {
    take(rank, |attached| {
        // `finish` reports the failures of requests that were never waited for.
        drop(attached.requests);
        Ok(Rank::finish(attached.rank)?)
    })
}

/// Ends the run for every rank: each wait, and each later call, fails with ALCOR_ERR_ABORTED and
/// names this rank and `code`. The rank itself is still ended by alcor_finish, which returns
/// ALCOR_ERR_ABORTED too.
///
/// Errors: ALCOR_ERR_BOARD.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_abort(rank: alcor_rank_t, code: u8) -> alcor_result_t {
    with(rank, |attached| Ok(attached.rank.abort(code)?))
}

/// This rank's number in the run, from 0.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_pid(
    rank: alcor_rank_t,
    pid: Option<&mut MaybeUninit<u32>>,
) -> alcor_result_t {
    with(rank, |attached| {
        given(pid, "pid")?.write(attached.rank.pid().0);
        Ok(())
    })
}

/// The number of ranks of the run.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_nprocs(
    rank: alcor_rank_t,
    nprocs: Option<&mut MaybeUninit<u32>>,
) -> alcor_result_t {
    with(rank, |attached| {
        given(nprocs, "nprocs")?.write(attached.rank.nprocs());
        Ok(())
    })
}

/// The present time in cycles of the board's clock (alcor_clock_khz). In simulation, time stands still
/// while a rank runs host code, so the value is the same in every run.
///
/// Errors: ALCOR_ERR_BOARD.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_now(
    rank: alcor_rank_t,
    cycle: Option<&mut MaybeUninit<u64>>,
) -> alcor_result_t {
    with(rank, |attached| {
        let cycle = given(cycle, "cycle")?;
        cycle.write(attached.rank.now()?.0);
        Ok(())
    })
}

/// The frequency of the board's clock in kHz, for times of alcor_now.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_clock_khz(
    rank: alcor_rank_t,
    khz: Option<&mut MaybeUninit<u32>>,
) -> alcor_result_t {
    with(rank, |attached| {
        given(khz, "khz")?.write(attached.rank.board().clock_khz);
        Ok(())
    })
}

/// Waits until every rank of the run has called this, and all earlier puts, gets and messages of
/// all ranks have arrived.
///
/// Errors: ALCOR_ERR_DIFFER if others call alcor_register or alcor_deregister; ALCOR_ERR_WATCHDOG
/// if a rank does not call it; ALCOR_ERR_ABORTED, ALCOR_ERR_PEER_DIED.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_barrier(rank: alcor_rank_t) -> alcor_result_t {
    with(rank, |attached| Ok(attached.rank.barrier()?))
}

/// Ends an epoch. Afterwards, the data that any rank has put before its fence is visible, and this
/// rank's own puts and gets are complete.
///
/// Errors: as alcor_barrier and alcor_flush_all.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_fence(rank: alcor_rank_t) -> alcor_result_t {
    with(rank, |attached| Ok(attached.rank.fence()?))
}

/// The whole message of this thread's last failed call; "" if none has failed. The library owns the
/// string; it is valid until the next call of this thread fails, or the thread ends.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_error_message() -> *const c_char {
    failure::message()
}

/// The name of a result, such as "ALCOR_ERR_WATCHDOG"; "unknown" for other numbers. The string is
/// valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_error_name(result: alcor_result_t) -> *const c_char {
    let names = alcor_error::ALL.iter();
    let found = names.into_iter().find(|(code, _)| *code as i32 == result);
    found.map_or(c"unknown", |(_, name)| name).as_ptr()
}

/// The version of the library, such as "0.1.0". The string is valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn alcor_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
