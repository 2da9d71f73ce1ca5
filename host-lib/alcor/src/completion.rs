//! Waits, tests and flushes of requests.

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
    /// [`Error::Refused`]; [`Error::ForeignRequest`] if another rank issued the request.
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

    /// Waits until `request` is complete or `timeout` has passed. Returns whether the request is
    /// complete. After a timeout the operation continues, and the caller may wait for the request
    /// again.
    ///
    /// The timeout counts the time of the board's clock: wall time on a card, simulated time in a
    /// simulation. The watchdog does not end this wait.
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
    ///     // No rank has sent a message.
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

    /// Converts a duration into cycles of the board's clock, rounded up.
    fn cycles(&self, time: Duration) -> u64 {
        let khz = u128::from(self.board().clock_khz);
        let cycles = time.as_nanos().saturating_mul(khz).div_ceil(1_000_000);
        u64::try_from(cycles).unwrap_or(u64::MAX)
    }

    /// Returns whether `request` is complete, without waiting. The buffer of a complete request has
    /// the data, and [`Rank::wait`] returns at once.
    ///
    /// # Errors
    /// As [`Rank::wait`], once the request is complete; [`Error::Watchdog`] if the program has
    /// polled for longer than a wait may last.
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
    ///         looks += 1; // Or useful work.
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

    /// Ends a complete request: copies its data back and returns its result.
    pub(crate) fn end_request(&mut self, request: &mut Request<'_>) -> Result<()> {
        request.copy_back(self)?;
        self.progress.claim(request)
    }

    /// Waits until all of `requests` are complete.
    ///
    /// # Errors
    /// The error of the first failed request in order, after all requests are complete; as
    /// [`Rank::wait`].
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
        // Every request is claimed, so no flush reports its failure again.
        claims.fold(Ok(()), Result::and)
    }

    /// Waits until one of `requests` is complete. Returns the index of the first complete request.
    /// [`Rank::wait`] on this request returns its result.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if `requests` is empty; as [`Rank::wait`].
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
            what: "number of requests of wait_any",
            value: 0,
            limit: 0,
        })
    }

    /// Waits until at least one of `requests` is complete. Returns the indices of all complete
    /// requests, in order. [`Rank::wait`] on these requests returns their results. The list may
    /// keep requests that earlier calls have returned: the other requests complete nevertheless.
    /// Without requests, returns no index at once.
    ///
    /// # Errors
    /// As [`Rank::wait`].
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// Job::new(SoftBoard::new(1))?.run(1, |rank| {
    ///     let me = rank.pid();
    ///     let mut values = [[0u8], [0], [0]];
    ///     let mut requests = Vec::new();
    ///     for (tag, value) in (0..).zip(&mut values) {
    ///         requests.push(rank.irecv(me, tag, value)?);
    ///     }
    ///     rank.send(me, 2, &[7u8])?;
    ///     rank.send(me, 0, &[5u8])?;
    ///     rank.barrier()?; // both messages have arrived
    ///     assert_eq!(rank.wait_some(&requests)?, [0, 2]);
    ///     rank.send(me, 1, &[6u8])?;
    ///     rank.wait_all(requests)?;
    ///     assert_eq!(values, [[5], [6], [7]]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_some(&mut self, requests: &[Request<'_>]) -> Result<Vec<usize>> {
        if requests.is_empty() || requests.iter().any(Request::is_known) {
            // A complete request must not keep this call from the others.
            return self.test_some(requests);
        }
        self.wait_any(requests)?;
        Ok(complete(requests))
    }

    /// Returns the index of the first complete request, without waiting, or `None` if no request is
    /// complete. [`Rank::wait`] on this request returns its result.
    ///
    /// # Errors
    /// [`Error::ForeignRequest`]; [`Error::Watchdog`] if the program has polled for longer than a
    /// wait may last.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let me = rank.pid();
    /// let (mut low, mut high) = ([0u8], [0u8]);
    /// let requests = [rank.irecv(me, 0, &mut low)?, rank.irecv(me, 1, &mut high)?];
    /// assert_eq!(rank.test_any(&requests)?, None);
    /// rank.send(me, 1, &[5u8])?;
    /// let first = loop {
    ///     if let Some(first) = rank.test_any(&requests)? {
    ///         break first;
    ///     }
    /// };
    /// assert_eq!(first, 1);
    /// # rank.send(me, 0, &[5u8])?;
    /// # rank.wait_all(requests)
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn test_any(&mut self, requests: &[Request<'_>]) -> Result<Option<usize>> {
        for request in requests {
            self.progress.outstanding.check(request)?;
        }
        let known = || requests.iter().position(Request::is_known);
        let awaited = |progress: &Progress| progress.awaited(requests.iter());
        if !requests.is_empty() {
            self.progress.poll(awaited, |_| known().is_some())?;
        }
        Ok(known())
    }

    /// Returns the indices of all complete requests, in order, without waiting. [`Rank::wait`] on
    /// these requests returns their results.
    ///
    /// # Errors
    /// [`Error::ForeignRequest`]; [`Error::Watchdog`] if the program has polled for longer than a
    /// wait may last.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let me = rank.pid();
    /// let mut values = [[0u8], [0], [0]];
    /// let mut requests = Vec::new();
    /// for (tag, value) in (0..).zip(&mut values) {
    ///     requests.push(rank.irecv(me, tag, value)?);
    /// }
    /// assert!(rank.test_some(&requests)?.is_empty());
    /// rank.send(me, 2, &[7u8])?;
    /// rank.send(me, 0, &[5u8])?;
    /// while rank.test_some(&requests)? != [0, 2] {}
    /// # rank.send(me, 1, &[6u8])?;
    /// # rank.wait_all(requests)
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn test_some(&mut self, requests: &[Request<'_>]) -> Result<Vec<usize>> {
        for request in requests {
            self.progress.outstanding.check(request)?;
        }
        // A request that is complete must not keep this call from a look at the others.
        let count = || requests.iter().filter(|it| it.is_known()).count();
        let before = count();
        let is_over = |_: &Progress| count() > before || before == requests.len();
        let awaited = |progress: &Progress| progress.awaited(requests.iter());
        self.progress.poll(awaited, is_over)?;
        Ok(complete(requests))
    }

    /// Returns whether all of `requests` are complete, without waiting. The buffers of complete
    /// requests have the data then.
    ///
    /// # Errors
    /// The error of the first failed request in order, once all requests are complete;
    /// [`Error::ForeignRequest`]; [`Error::Watchdog`] if the program has polled for longer than a
    /// wait may last.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let me = rank.pid();
    /// let (mut low, mut high) = ([0u8], [0u8]);
    /// let mut requests = [rank.irecv(me, 0, &mut low)?, rank.irecv(me, 1, &mut high)?];
    /// rank.send(me, 1, &[5u8])?;
    /// assert!(!rank.test_all(&mut requests)?);
    /// rank.send(me, 0, &[4u8])?;
    /// while !rank.test_all(&mut requests)? {}
    /// # drop(requests);
    /// assert_eq!((low, high), ([4], [5]));
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn test_all(&mut self, requests: &mut [Request<'_>]) -> Result<bool> {
        for request in &*requests {
            self.progress.outstanding.check(request)?;
        }
        let asked = &*requests;
        let awaited = |progress: &Progress| progress.awaited(asked.iter());
        let are_known = || asked.iter().all(Request::is_known);
        if !self.progress.poll(awaited, |_| are_known())? {
            return Ok(false);
        }
        let claims = requests.iter_mut().map(|request| self.end_request(request));
        // Every request is claimed, so no flush reports its failure again.
        claims.fold(Ok(()), Result::and).map(|()| true)
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

    /// Waits until every put to `target` and every get from `target` of this rank is complete.
    ///
    /// # Errors
    /// [`Error::Unclaimed`] if transfers failed whose requests were dropped.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc_from(&[0u32; 2])?;
    /// let window = rank.register(&region, Rights::ALL)?;
    /// // A flush needs no request.
    /// drop(rank.iput(&window, GlobalRank(0), 1, &[7])?);
    /// rank.flush(GlobalRank(0))?;
    /// assert_eq!(rank.read_vec(&region)?, [0, 7]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flush(&mut self, target: GlobalRank) -> Result<()> {
        self.complete_all(Some(target))
    }

    /// Waits until every put and get of this rank is complete.
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
        if self.progress.outstanding.count(target) == 0 {
            self.progress.look_without_wait()?;
        }
        self.progress.wait_for(
            |progress| Awaited::Completions {
                missing: progress.outstanding.count(target),
            },
            |progress| progress.completions(progress.outstanding.count(target)),
        )?;
        self.progress.check()?;
        let flushed = self.progress.outstanding.take_unclaimed(target);
        flushed.map_err(|error| match error {
            Error::Unclaimed { failed, first } => {
                let first = Box::new(self.progress.blame(*first, None));
                Error::Unclaimed { failed, first }
            }
            error => error,
        })
    }
}

/// The indices of complete requests.
fn complete(requests: &[Request<'_>]) -> Vec<usize> {
    let is_known = |&place: &usize| requests[place].is_known();
    (0..requests.len()).filter(is_known).collect()
}
