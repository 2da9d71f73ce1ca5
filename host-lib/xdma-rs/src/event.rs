//! Events: the card's user interrupts.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::node::Node;
use crate::nodes::EventNode;
use crate::{At, Doing, Error, Result};

/// One of the card's user interrupts.
///
/// The driver keeps one flag for any number of interrupts, and a read clears the flag. An event
/// therefore says that something may have happened, but neither what nor how often.
/// [`Event::until`] reads the card's own status after each event.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use xdma::standin::{Memory, StandIn};
///
/// let standin = StandIn::new(Memory::new(0x1000))?;
/// let card = standin.machine().only_card()?;
/// let mut event = card.event(0)?;
/// assert!(event.node().ends_with("xdma2_events_0"));
/// assert!(!event.wait(Some(Duration::ZERO))?);
/// standin.interrupt(0);
/// standin.interrupt(0);
/// assert!(event.wait(None)?);
/// assert!(!event.wait(Some(Duration::ZERO))?); // two interrupts, one event
/// # Ok::<(), xdma::Error>(())
/// ```
pub struct Event {
    io: Box<dyn EventNode>,
    node: Node,
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("node", &self.node)
            .finish_non_exhaustive()
    }
}

impl Event {
    pub(crate) fn new(io: Box<dyn EventNode>, node: Node) -> Event {
        Event { io, node }
    }

    /// Waits for an interrupt, without limit if `timeout` is `None`. Returns whether an interrupt
    /// has arrived since the last wait.
    ///
    /// # Errors
    /// [`Error::Gone`], [`Error::Node`].
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<bool> {
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            let found = match self.io.poll(left) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other.map_err(|source| self.node.error(Doing::Poll, At::NODE, source))?,
            };
            // Reads only after a successful poll: a read alone waits for ever.
            if found {
                return self.take().map(|()| true);
            }
            // A poll may return before the deadline: its unit is a millisecond, and its limit is 24
            // days.
            if end.is_some_and(|end| Instant::now() >= end) {
                return Ok(false);
            }
        }
    }

    /// Waits until `status` returns a value. Calls `status` at once, and again after each event. An
    /// interrupt between a call of `status` and the next wait is not lost, because the driver keeps
    /// its flag.
    ///
    /// # Errors
    /// [`Error::NoEvent`] when the time is over and a last call of `status` returned nothing; the
    /// errors of [`Event::wait`] and of `status`.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use xdma::standin::{Memory, StandIn};
    /// use xdma::{BarOffset, Error};
    ///
    /// let standin = StandIn::new(Memory::new(0x1000))?;
    /// let card = standin.machine().only_card()?;
    /// let (registers, mut event) = (card.user_bar()?, card.event(3)?);
    /// let done = |value| (value != 0).then_some(value);
    /// let status = || Ok::<_, Error>(done(registers.read32(BarOffset(0x10))?));
    /// let soon = Some(Duration::from_millis(1));
    /// assert!(matches!(event.until(soon, status), Err(Error::NoEvent { .. })));
    /// registers.write32(BarOffset(0x10), 5)?;
    /// assert_eq!(event.until(soon, status)?, 5);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn until<T, E: From<Error>>(
        &mut self,
        timeout: Option<Duration>,
        mut status: impl FnMut() -> std::result::Result<Option<T>, E>,
    ) -> std::result::Result<T, E> {
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            if let Some(found) = status()? {
                return Ok(found);
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if !self.wait(left)? {
                return match status()? {
                    Some(found) => Ok(found),
                    None => Err(Error::NoEvent {
                        node: self.node.path().to_owned(),
                        after: timeout.unwrap_or_default(),
                    }
                    .into()),
                };
            }
        }
    }

    /// Path of the device node.
    #[must_use]
    pub fn node(&self) -> &Path {
        self.node.path()
    }

    /// Clears the driver's flag.
    fn take(&mut self) -> Result<()> {
        let mut flag = [0; 4];
        self.node
            .transfer(Doing::Read, crate::CardAddr(0), flag.len(), true, || {
                self.io.read(&mut flag)
            })
    }
}
