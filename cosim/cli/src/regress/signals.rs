//! Signals that end a run: the first asks the run to end, the second ends the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::{Error, Exit};

/// The signals that have come.
pub struct Signals(Arc<AtomicUsize>);

impl Signals {
    /// Takes the signals from now on.
    pub fn take() -> Result<Signals, Error> {
        let (came, first) = (Arc::new(AtomicBool::new(false)), Arc::default());
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The order matters: the first signal must find the flag cleared.
            let code = i32::from(Exit::Signal(signal).code());
            flag::register_conditional_shutdown(signal, code, Arc::clone(&came))
                .and_then(|_| flag::register(signal, Arc::clone(&came)))
                .and_then(|_| flag::register_usize(signal, Arc::clone(&first), signal as usize))
                .map_err(Error::Signals)?;
        }
        Ok(Signals(first))
    }

    /// The signal that asks the run to end.
    pub fn came(&self) -> Option<i32> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(signal as i32),
        }
    }
}

/// The name of a signal.
pub fn name(signal: i32) -> &'static str {
    match signal {
        SIGINT => "SIGINT",
        SIGTERM => "SIGTERM",
        _ => "SIGHUP",
    }
}
