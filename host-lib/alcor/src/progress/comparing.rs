//! Compares the calls of the members of a communicator, after a collective has reported that the
//! calls differ.
//!
//! A collective reports the kind of the difference only. So each member sends its call to all other
//! members once it waits in the library after this report. A member that claims the result waits
//! for the calls of the others. The wait has a limit, because a member may stay outside the library.

use super::Progress;
use crate::request::{CollectiveDescriptor, Descriptor, Request};
use crate::software::Software;
use crate::{Cycle, Error, Result};

/// Maximum length of the wait for the calls, in cycles.
const LIMIT: u64 = 1 << 16;
/// Cycles for which a member stays after it has sent its call and knows all others. The end of the member may end the run,
/// and calls may be on their way to other members.
const LINGER: u64 = 512;
/// Range of the cycles between two polls. The pause grows with the length of the wait.
const PAUSE: std::ops::RangeInclusive<u64> = 16..=1024;

impl Progress {
    /// Returns the result of a request; `Ok` until the operation has ended. If the members of a
    /// collective have made different calls, the first claim waits for their calls.
    pub(crate) fn claim(&mut self, request: &Request<'_>) -> Result<()> {
        let is_first = !request.is_claimed();
        let mut result = self.outstanding.claim(request);
        if let Err(Error::CollectivesDiffer { others, .. }) = &mut result
            && let Some(Descriptor::Collective(collective)) = request.other().as_deref()
            // A wait for credits in `compare` must not drive collectives.
            && let Some(mut software) = self.software.take()
        {
            if is_first {
                // An error here only limits the contents of the error that the caller gets.
                let _ = self.compare(&mut software, collective);
            }
            *others = software.calls_of_others(collective);
            self.software = Some(software);
        }
        result
    }

    /// Waits for the calls of all other members.
    fn compare(
        &mut self,
        software: &mut Software,
        collective: &CollectiveDescriptor,
    ) -> Result<()> {
        self.send_calls(software);
        let compared = self.wait_for_calls(software, collective);
        software.cancel_call(collective);
        compared
    }

    fn wait_for_calls(
        &mut self,
        software: &mut Software,
        collective: &CollectiveDescriptor,
    ) -> Result<()> {
        let began = self.port.now()?;
        let after = |cycles: u64| Cycle(began.0.saturating_add(cycles));
        let mut until = after(LIMIT.min(self.watchdog_cycles / 2));
        let mut has_compared = false;
        let mut now = began;
        loop {
            software.advance(self, now)?;
            if !has_compared && software.has_compared(collective) {
                has_compared = true;
                until = until.min(Cycle(now.0.saturating_add(LINGER)));
            }
            if now >= until {
                return Ok(());
            }
            // No interrupt: an abort by a member that knows all calls must not end this wait.
            self.disable_interrupts()?;
            let pause = ((now.0 - began.0) / 8).clamp(*PAUSE.start(), *PAUSE.end());
            self.port
                .wait(until.min(Cycle(now.0.saturating_add(pause))))?;
            now = self.port.now()?;
        }
    }
}
