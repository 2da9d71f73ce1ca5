//! Time: it stands still while a rank runs host code, and the last rank to wait moves it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use alcor::{Error, LocalRank};

use crate::chip::Chip;
use crate::mailbox::{Post, Want};
use crate::seat::{Seat, Woken};
use crate::{CosimError, Shape};

/// How a run ended before its ranks did.
#[derive(Debug, Clone)]
pub(crate) enum Fate {
    /// A rank's port was dropped before it left.
    Died(u32),
    /// A rank ran host code for too long, or was never attached.
    Away {
        rank: u32,
        /// How many waited for it.
        waiting: u32,
    },
    /// The model failed.
    Failed(CosimError),
    /// A wait without a result: a defect of this crate.
    Lost,
}

/// A run: from the first port to the last.
#[derive(Default)]
struct Run {
    /// How many ports there will be; as many as ranks unless said otherwise.
    expected: Option<u32>,
    /// Ranks that were attached in this run.
    ever: u32,
    /// Ranks that are attached and have not left.
    here: u32,
    /// Ranks that wait.
    waiting: u32,
    /// Ranks that died.
    dead: u32,
    fate: Option<Fate>,
}

impl Run {
    fn has_started(&self, shape: Shape) -> bool {
        self.ever.count_ones() >= self.expected.unwrap_or(shape.ranks)
    }
}

/// What the lock guards: all that stands still or moves.
struct Time {
    chip: Chip,
    run: Run,
    /// When time last moved, on the wall's clock.
    moved: Instant,
}

/// A board's time, and the seats of those who wait for it.
pub(crate) struct Clockwork {
    name: String,
    shape: Shape,
    has_link: bool,
    away: Duration,
    seats: Box<[Seat]>,
    time: Mutex<Time>,
}

impl Clockwork {
    pub(crate) fn new(name: &str, chip: Chip, away: Duration) -> Self {
        let shape = chip.shape();
        Self {
            name: name.into(),
            shape,
            has_link: chip.mailbox().has_link(),
            away,
            seats: (0..shape.ranks).map(|_| Seat::default()).collect(),
            time: Mutex::new(Time {
                chip,
                run: Run::default(),
                moved: Instant::now(),
            }),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    /// Whether accesses travel over a link rather than take no time.
    pub(crate) fn has_link(&self) -> bool {
        self.has_link
    }

    fn lock(&self) -> MutexGuard<'_, Time> {
        self.time.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the model while time stands still.
    pub(crate) fn with_chip<T>(&self, action: impl FnOnce(&mut Chip) -> T) -> T {
        action(&mut self.lock().chip)
    }

    /// Does something that needs the board for itself.
    pub(crate) fn with_idle_chip<T>(
        &self,
        operation: &'static str,
        action: impl FnOnce(&mut Chip) -> Result<T, CosimError>,
    ) -> Result<T, Error> {
        let mut time = self.lock();
        self.check_idle(&time.run, operation)?;
        action(&mut time.chip).map_err(|error| error.on(&self.name))
    }

    /// Resets the board and ends the run; what was expected of a run that has not begun still is.
    pub(crate) fn reset(&self) -> Result<(), Error> {
        let mut time = self.lock();
        self.check_idle(&time.run, "reset")?;
        let expected = if time.run.ever == 0 {
            time.run.expected
        } else {
            None
        };
        time.run = Run {
            expected,
            ..Run::default()
        };
        time.chip.reset().map_err(|error| error.on(&self.name))
    }

    /// Begins a run of that many ports.
    pub(crate) fn expect(&self, ports: u32) -> Result<(), Error> {
        let mut time = self.lock();
        self.check_idle(&time.run, "begin a run")?;
        if ports == 0 {
            return Err(Error::BadOption {
                option: "ports",
                value: 0,
                rule: "a run has one port at least",
            });
        }
        if ports > self.shape.ranks {
            return Err(self.no_such_rank(ports - 1));
        }
        time.run = Run {
            expected: Some(ports),
            ..Run::default()
        };
        Ok(())
    }

    fn check_idle(&self, run: &Run, operation: &'static str) -> Result<(), Error> {
        match run.here.count_ones() {
            0 => Ok(()),
            attached => Err(Error::BoardBusy {
                board: self.name.clone(),
                operation,
                attached,
            }),
        }
    }

    fn no_such_rank(&self, rank: u32) -> Error {
        Error::NoSuchRank {
            board: self.name.clone(),
            rank: LocalRank(rank),
            ranks: self.shape.ranks,
        }
    }

    /// Attaches a rank; gives the present time and what an earlier run of the rank's has left to be delivered.
    pub(crate) fn attach(&self, rank: u32) -> Result<(u64, usize), Error> {
        let mut time = self.lock();
        let Time { chip, run, .. } = &mut *time;
        if rank >= self.shape.ranks {
            return Err(self.no_such_rank(rank));
        }
        if run.ever >> rank & 1 != 0 {
            return Err(Error::RankTaken {
                board: self.name.clone(),
                rank: LocalRank(rank),
            });
        }
        if run.has_started(self.shape) {
            return Err(CosimError::TooManyPorts {
                expected: run.ever.count_ones(),
            }
            .on(&self.name));
        }
        run.ever |= 1 << rank;
        run.here |= 1 << rank;
        Ok((chip.now(), chip.mailbox().backlog(rank as usize)))
    }

    /// Hands over what a rank has posted, and waits.
    pub(crate) fn wait(&self, rank: u32, posts: &mut Vec<Post>, want: Want) -> Result<Woken, Fate> {
        let index = rank as usize;
        let seat = &self.seats[index];
        let called = {
            let mut time = self.lock();
            let time = &mut *time;
            let mailbox = time.chip.mailbox_mut();
            mailbox.post(index, posts);
            if let Some(why) = mailbox.at_once(index, &want) {
                return Ok(Woken {
                    cycle: mailbox.now(),
                    backlog: mailbox.backlog(index),
                    why,
                });
            }
            if let Some(fate) = &time.run.fate {
                return Err(fate.clone());
            }
            mailbox.wait(index, want);
            time.run.waiting |= 1 << rank;
            seat.take();
            self.advance(time)
        };
        self.call(called);
        let start = Instant::now();
        seat.wait(self.away, || self.look_for_the_away(start))
    }

    /// Moves time if all wait. Gives the ranks that are to be called, with their results at their seats.
    fn advance(&self, time: &mut Time) -> u32 {
        let Time { chip, run, moved } = time;
        if run.waiting == 0 || run.here & !run.waiting != 0 {
            return 0;
        }
        if run.fate.is_none() && run.dead != 0 {
            run.fate = Some(Fate::Died(run.dead.trailing_zeros()));
        }
        if run.fate.is_none() {
            if !run.has_started(self.shape) {
                return 0;
            }
            let result = chip.run();
            *moved = Instant::now();
            match result {
                Ok(woken) => {
                    for rank in ranks(woken) {
                        let mailbox = chip.mailbox_mut();
                        let (cycle, backlog) = (mailbox.now(), mailbox.backlog(rank));
                        let result = mailbox.take(rank).map(|why| Woken {
                            cycle,
                            backlog,
                            why,
                        });
                        self.seats[rank].serve(result.ok_or(Fate::Lost));
                    }
                    run.waiting &= !woken;
                    return woken;
                }
                Err(error) => run.fate = Some(Fate::Failed(error)),
            }
        }
        self.end(time)
    }

    /// Ends all waits with the run's fate.
    fn end(&self, time: &mut Time) -> u32 {
        let Time { chip, run, .. } = time;
        let called = std::mem::take(&mut run.waiting);
        for rank in ranks(called) {
            chip.mailbox_mut().abandon(rank);
            self.seats[rank].serve(Err(run.fate.clone().unwrap_or(Fate::Lost)));
        }
        called
    }

    fn call(&self, called: u32) {
        for rank in ranks(called) {
            self.seats[rank].call();
        }
    }

    /// Ends the run if time has stood still for too long; else says how much longer it may.
    fn look_for_the_away(&self, start: Instant) -> Duration {
        let called = {
            // Whoever moves time has the lock.
            let mut time = self.lock();
            let stood = start.max(time.moved).elapsed();
            if stood < self.away {
                return self.away - stood;
            }
            if time.run.fate.is_none() {
                let run = &time.run;
                let away = run.here & !run.waiting;
                let away = if away == 0 { self.missing(run) } else { away };
                let (rank, waiting) = (away.trailing_zeros(), run.waiting.count_ones());
                time.run.fate = Some(Fate::Away { rank, waiting });
            }
            self.end(&mut time)
        };
        self.call(called);
        self.away
    }

    /// The ranks that were not attached yet.
    fn missing(&self, run: &Run) -> u32 {
        !run.ever & ((1u32 << self.shape.ranks) - 1)
    }

    /// A rank leaves the run, or is dead. Moves time if that is what the others wait for.
    pub(crate) fn depart(&self, rank: u32, is_dead: bool) {
        let called = {
            let mut time = self.lock();
            let run = &mut time.run;
            run.here &= !(1 << rank);
            if is_dead {
                run.dead |= 1 << rank;
            }
            let is_over = run.here == 0
                && (run.has_started(self.shape) || run.dead != 0 || run.fate.is_some());
            if is_over {
                time.run = Run::default();
                0
            } else {
                self.advance(&mut time)
            }
        };
        self.call(called);
    }

    /// A fate as the library wants it.
    pub(crate) fn error(&self, fate: Fate) -> Error {
        match fate {
            Fate::Died(rank) => Error::PeerDied {
                rank: LocalRank(rank),
            },
            Fate::Away { rank, waiting } => Error::RankAway {
                board: self.name.clone(),
                rank: LocalRank(rank),
                seconds: self.away.as_secs_f64(),
                waiting,
            },
            Fate::Failed(error) => error.on(&self.name),
            Fate::Lost => CosimError::Lost.on(&self.name),
        }
    }
}

/// The ranks in a mask.
fn ranks(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let rank = mask.trailing_zeros();
        (mask != 0).then(|| {
            mask &= mask - 1;
            rank as usize
        })
    })
}
