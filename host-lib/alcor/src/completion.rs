//! The ends of requests: waits, tests and flushes.

use std::time::Duration;

use crate::progress::Progress;
use crate::request::Request;
use crate::watchdog::Awaited;
use crate::{Cycle, Error, GlobalRank, Rank, Result};

/// # Completion
impl Rank {
    /// Waits until `request` is complete.
    ///
    /// # Errors
    /// [`Error::Refused`], or [`Error::ForeignRequest`] when another rank issued it.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, soft::SoftBoard};
    /// Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     let other = GlobalRank(1 - rank.pid().0);
    ///     let mut theirs = [0];
    ///     let receive = rank.irecv(other, 0, &mut theirs)?;
    ///     rank.send(other, 0, &[rank.pid().0])?;
    ///     rank.wait(receive)?;
    ///     assert_eq!(theirs, [other.0]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait(&mut self, mut request: Request<'_>) -> Result<()> {
        self.progress.outstanding.check(&request)?;
        self.wait_for_all(std::slice::from_ref(&request))?;
        self.end_request(&mut request)
    }

    /// Waits for `request` no longer than `timeout`; whether it is complete, as [`Rank::test`]
    /// says. Where it is not, nothing is lost: the operation goes on, and the caller, who keeps the
    /// request, may wait for it again.
    ///
    /// Time is that of the board's clock: on a card it is wall time, in a simulation it is
    /// simulated time. The watchdog does not end such a wait.
    ///
    /// # Errors
    /// As [`Rank::wait`].
    ///
    /// # Examples
    /// ```
    /// # use std::time::Duration;
    /// # use alcor::{GlobalRank, Job, soft::SoftBoard};
    /// Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     let other = GlobalRank(1 - rank.pid().0);
    ///     let mut theirs = [0];
    ///     let mut receive = rank.irecv(other, 0, &mut theirs)?;
    ///     // Nobody has sent anything.
    ///     assert!(!rank.wait_timeout(&mut receive, Duration::from_micros(5))?);
    ///     rank.barrier()?;
    ///     rank.send(other, 0, &[rank.pid().0])?;
    ///     rank.wait(receive)?;
    ///     assert_eq!(theirs, [other.0]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_timeout(&mut self, request: &mut Request<'_>, timeout: Duration) -> Result<bool> {
        self.progress.outstanding.check(request)?;
        let now = self.progress.port.now()?;
        let limit = Cycle(now.0.saturating_add(self.cycles(timeout)));
        let is_over = self.progress.wait_at_most(limit, |progress| {
            progress.completions(u32::from(!request.is_known()))
        })?;
        if is_over {
            self.end_request(request)?;
        }
        Ok(is_over)
    }

    /// So much time in cycles of the board's clock, rounded up.
    fn cycles(&self, time: Duration) -> u64 {
        let khz = u128::from(self.board().clock_khz);
        let cycles = time.as_nanos().saturating_mul(khz).div_ceil(1_000_000);
        u64::try_from(cycles).unwrap_or(u64::MAX)
    }

    /// Whether `request` is complete; does not wait. Once it is, its buffer has the data, and
    /// [`Rank::wait`] returns at once.
    ///
    /// # Errors
    /// As [`Rank::wait`], once it is complete; [`Error::Watchdog`] when it was asked for longer
    /// than a wait may last.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, soft::SoftBoard};
    /// Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     let other = GlobalRank(1 - rank.pid().0);
    ///     let mut theirs = [0];
    ///     let mut receive = rank.irecv(other, 0, &mut theirs)?;
    ///     rank.send(other, 0, &[rank.pid().0])?;
    ///     let mut looks = 0;
    ///     while !rank.test(&mut receive)? {
    ///         looks += 1; // Or something more useful.
    ///     }
    ///     rank.wait(receive)?;
    ///     assert_eq!(theirs, [other.0]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn test(&mut self, request: &mut Request<'_>) -> Result<bool> {
        self.progress.outstanding.check(request)?;
        let asked = &*request;
        let awaited = |progress: &Progress| progress.awaited(std::iter::once(asked));
        if !self.progress.poll(awaited, |_| asked.is_known())? {
            return Ok(false);
        }
        self.end_request(request).map(|()| true)
    }

    /// Ends a request that is complete: fills its buffer, and tells how it ended.
    pub(crate) fn end_request(&mut self, request: &mut Request<'_>) -> Result<()> {
        request.land(self)?;
        self.progress.outstanding.claim(request)
    }

    /// Waits until all of `requests` are complete.
    ///
    /// # Errors
    /// Of the first request in order that failed, once all are complete; as [`Rank::wait`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, soft::SoftBoard};
    /// Job::new(SoftBoard::new(2))?.run(2, |rank| {
    ///     let other = GlobalRank(1 - rank.pid().0);
    ///     let (mut low, mut high) = ([0; 2], [0; 2]);
    ///     let receives = [
    ///         rank.irecv(other, 0, &mut low)?,
    ///         rank.irecv(other, 1, &mut high)?,
    ///     ];
    ///     rank.send(other, 1, &[3, 4])?;
    ///     rank.send(other, 0, &[1, 2])?;
    ///     rank.wait_all(receives)?;
    ///     assert_eq!((low, high), ([1, 2], [3, 4]));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_all<'a>(&mut self, requests: impl IntoIterator<Item = Request<'a>>) -> Result<()> {
        let mut requests: Vec<Request<'a>> = requests.into_iter().collect();
        for request in &requests {
            self.progress.outstanding.check(request)?;
        }
        self.wait_for_all(&requests)?;
        let claims = requests.iter_mut().map(|request| self.end_request(request));
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
    ///     let (mut low, mut high) = ([0u8], [0u8]);
    ///     let mut requests = vec![
    ///         rank.irecv(Source::Any, 0, &mut low)?,
    ///         rank.irecv(Source::Any, 1, &mut high)?,
    ///     ];
    ///     rank.send(GlobalRank(0), 1, &[5u8])?;
    ///     let first = rank.wait_any(&requests)?;
    ///     assert_eq!(first, 1);
    ///     assert_eq!(rank.wait_message(requests.swap_remove(first))?.tag, 1);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_any(&mut self, requests: &[Request<'_>]) -> Result<usize> {
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

    pub(crate) fn wait_for_all(&mut self, requests: &[Request<'_>]) -> Result<()> {
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
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc_from(&[0u32; 2])?;
    /// let window = rank.register(&region, Rights::ALL)?;
    /// // Who flushes needs no request.
    /// drop(rank.iput(&window, GlobalRank(0), 1, &[7])?);
    /// rank.flush(GlobalRank(0))?;
    /// assert_eq!(rank.read_vec(&region)?, [0, 7]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flush(&mut self, target: GlobalRank) -> Result<()> {
        self.complete_all(Some(target))
    }

    /// Waits until every put and get that this rank has started is complete.
    ///
    /// # Errors
    /// As [`Rank::flush`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
    /// Job::new(SoftBoard::new(3))?.run(3, |rank| {
    ///     let inbox = rank.alloc_from(&[9u32; 3])?;
    ///     let window = rank.register(&inbox, Rights::ALL)?;
    ///     let me = rank.pid().0;
    ///     for target in 0..3 {
    ///         drop(rank.iput(&window, GlobalRank(target), me as usize, &[me])?);
    ///     }
    ///     rank.flush_all()?;
    ///     rank.barrier()?;
    ///     assert_eq!(rank.read_vec(&inbox)?, [0, 1, 2]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
