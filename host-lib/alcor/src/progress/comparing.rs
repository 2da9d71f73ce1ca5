//! Compares the calls of the members of a communicator, after a collective has reported that the
//! calls differ.
//!
//! A collective reports the kind of the difference only. So each member sends its call to all other
//! members once it waits in the library after this report. A member that claims the result waits
//! for the calls of the others. The wait has a limit, because a member may stay outside the library.

use super::Progress;
use crate::request::{CollectiveDescriptor, Descriptor, Request};
use crate::software::Software;
use crate::{Causes, Cycle, Error, Result};

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
        result.map_err(|error| self.blame(error, request.other().as_deref()))
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
        let pauses = |waited: u64| (waited / 8).clamp(*PAUSE.start(), *PAUSE.end());
        self.poll_for_calls(LIMIT, LINGER, pauses, |progress, now| {
            software.advance(progress, now)?;
            Ok(software.has_compared(collective))
        })
    }

    /// Polls until `linger` cycles after `look` has found the calls of all other ranks, but for at
    /// most `limit` cycles. `pause` returns the cycles until the next poll from the cycles of the
    /// wait so far.
    pub(super) fn poll_for_calls(
        &mut self,
        limit: u64,
        linger: u64,
        pause: impl Fn(u64) -> u64,
        mut look: impl FnMut(&mut Progress, Cycle) -> Result<bool>,
    ) -> Result<()> {
        let after = |now: Cycle, cycles: u64| Cycle(now.0.saturating_add(cycles));
        let began = self.port.now()?;
        let mut until = after(began, limit.min(self.watchdog_cycles / 2));
        let mut has_all = false;
        let mut now = began;
        loop {
            if look(self, now)? && !has_all {
                has_all = true;
                until = until.min(after(now, linger));
            }
            if now >= until {
                return Ok(());
            }
            // No cause: an abort by a rank that knows all calls must not end this wait.
            let next = after(now, pause(now.0 - began.0));
            self.port.wait(Causes::NONE, until.min(next))?;
            now = self.port.now()?;
        }
    }
}
