//! One end of a link.

use std::fmt;

/// Sizes of the protocol.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Numbers of frames are modulo this power of two; 65,536 in the RTL.
    pub numbers: u32,
    /// Frames without acknowledgement that a sender keeps at most.
    pub window: u32,
    /// Rounds are modulo this power of two; 256 in the RTL.
    pub rounds: u32,
    /// Resets are counted modulo this power of two; 256 in the RTL.
    pub resets: u32,
    /// Frames on the wire in each direction at most.
    pub wire: usize,
    /// Phits that each start of the left and of the right end sends.
    pub phits: [u64; 2],
}

/// Rules of the protocol. A test turns one off and sees that the check fails.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// A session opens only when the other end names this end's epoch.
    pub opens_when_named: bool,
    /// In a session, frames must name both epochs.
    pub names_both: bool,
    /// A frame that names another epoch closes the session.
    pub closes: bool,
    /// A session needs equal keys.
    pub same_key: bool,
    /// Only the expected frame is taken.
    pub in_order: bool,
    /// A damaged frame is dropped.
    pub checksum: bool,
    /// A sender without acknowledgement sends again after some time.
    pub timer: bool,
    /// A fall of the link makes the sender go back.
    pub goes_back_after_fall: bool,
    /// A frame that arrives again is acknowledged again.
    pub acknowledges_repeats: bool,
    /// An end answers a greeting.
    pub answers: bool,
    /// The host resets both boards before it writes the first key of a run.
    pub resets_first: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            opens_when_named: true,
            names_both: true,
            closes: true,
            same_key: true,
            in_order: true,
            checksum: true,
            timer: true,
            goes_back_after_fall: true,
            acknowledges_repeats: true,
            answers: true,
            resets_first: true,
        }
    }
}

/// Name of the time between two resets of a board.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Epoch {
    /// PLACE.key; 0 before the host has written PLACE.
    pub key: u8,
    /// Count of resets.
    pub resets: u32,
}

/// State of the session at one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Session {
    /// No key yet: the end is silent.
    Idle,
    /// The end seeks agreement.
    Greet,
    /// Both ends agree.
    Open,
    /// The other board was reset.
    Stale,
}

/// A frame on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The checksum is wrong.
    pub damaged: bool,
    /// The frame has a number, and a phit.
    pub numbered: bool,
    /// The sender knows the receiver's epoch.
    pub known: bool,
    /// The session is open at the sender.
    pub open: bool,
    /// The receiver is to send again.
    pub again: bool,
    /// Number of this frame, or of the next one.
    pub number: u32,
    /// Number of the frame that the sender expects.
    pub acknowledged: u32,
    /// Epoch of the sender.
    pub own: Epoch,
    /// Epoch of the receiver, as the sender knows it.
    pub other: Epoch,
    /// Round of the sender.
    pub round: u32,
    /// Round of the receiver that is to be sent again.
    pub again_round: u32,
    /// Fact: the start of the sender.
    pub from: u32,
    /// Fact: the start of the receiver with which the sender has its session.
    pub with: Option<u32>,
    /// Fact: the place of the phit.
    pub place: u64,
}

/// A broken property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Broken {
    /// A phit of another start of the other end, or for another start of this end, has arrived.
    OfAnotherEpoch,
    /// A phit has arrived twice, or before an earlier one, or after a later one.
    OutOfOrder,
    /// A damaged phit has arrived.
    Damaged,
    /// A frame has left the ring before it has arrived.
    Forgotten,
    /// A session has closed although no board was reset alone.
    Closed,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Broken::OfAnotherEpoch => "a phit of another epoch has arrived",
            Broken::OutOfOrder => "a phit has arrived out of order",
            Broken::Damaged => "a damaged phit has arrived",
            Broken::Forgotten => "a frame has left the ring before it has arrived",
            Broken::Closed => "a session has closed without a reset",
        })
    }
}

/// One end of a link.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct End {
    /// Epoch of this end's board.
    pub epoch: Epoch,
    /// The session.
    pub session: Session,
    /// Epoch of the other end, as far as known.
    pub other: Option<Epoch>,

    /// Number of the next frame that is stored.
    head: u32,
    /// Number of the next frame that is sent.
    next: u32,
    /// Number of the first frame without acknowledgement.
    tail: u32,
    round: u32,
    /// The sender goes back to `tail` before it sends a frame with a number.
    rewinds: bool,
    /// A frame with a request is due.
    asks: bool,
    /// An answer to a greeting is due.
    answers: bool,
    /// An acknowledgement is due.
    acknowledges: bool,

    expected: u32,
    /// Round of the other end.
    heard_round: u32,
    /// The other end has been asked in this round.
    asked: bool,

    /// Fact: number of this start, over both ends.
    pub start: u32,
    /// Fact: the start of the other end in the session.
    with: Option<u32>,
    /// Phits that the switch gives to this start.
    phits: u64,
    /// Fact: phits of this start that have entered the ring.
    pub sent: u64,
    /// Fact: phits that have arrived.
    pub received: u64,
}

impl End {
    /// An end after the reset of its board, with the number of phits that it sends.
    #[must_use]
    pub fn new(resets: u32, start: u32, phits: u64) -> End {
        End {
            epoch: Epoch { key: 0, resets },
            session: Session::Idle,
            other: None,
            head: 0,
            next: 0,
            tail: 0,
            round: 0,
            rewinds: false,
            asks: false,
            answers: false,
            acknowledges: false,
            expected: 0,
            heard_round: 0,
            asked: false,
            start,
            with: None,
            phits,
            sent: 0,
            received: 0,
        }
    }

    /// The host writes PLACE.
    pub fn set_key(&mut self, key: u8) {
        self.epoch.key = key;
        self.session = Session::Greet;
        self.answers = true;
    }

    fn outstanding(&self, sizes: &Sizes) -> u32 {
        distance(self.tail, self.head, sizes.numbers)
    }

    /// Whether all phits have been acknowledged.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.sent == self.phits && self.head == self.tail
    }

    /// Number of the next frame with a number: `tail` to go back, or if frames that were to be sent
    /// again have been acknowledged.
    fn following(&self, sizes: &Sizes) -> u32 {
        let is_acknowledged =
            distance(self.tail, self.next, sizes.numbers) > self.outstanding(sizes);
        if self.rewinds || is_acknowledged {
            self.tail
        } else {
            self.next
        }
    }

    fn has_to_repeat(&self, sizes: &Sizes) -> bool {
        self.session == Session::Open && self.following(sizes) != self.head
    }

    /// Whether the end can send a frame with a number.
    #[must_use]
    pub fn can_send(&self, sizes: &Sizes) -> bool {
        let has_new = self.sent < self.phits && self.outstanding(sizes) < sizes.window;
        self.session == Session::Open && (self.has_to_repeat(sizes) || has_new)
    }

    /// Whether the end may send a frame without a number.
    #[must_use]
    pub fn can_tell(&self, sizes: &Sizes) -> bool {
        let is_due =
            self.asks || self.answers || self.acknowledges || self.session == Session::Greet;
        is_due && !self.has_to_repeat(sizes)
    }

    /// Whether the timer of the last frame may end.
    #[must_use]
    pub fn can_expire(&self, rules: &Rules) -> bool {
        let is_waiting = self.head != self.tail && self.next == self.head && !self.rewinds;
        rules.timer && self.session == Session::Open && is_waiting
    }

    /// The timer of the last frame ends.
    pub fn expire(&mut self) {
        self.rewinds = true;
    }

    /// The link is down.
    pub fn fall(&mut self, rules: &Rules) {
        self.rewinds |= rules.goes_back_after_fall;
    }

    /// Sends a frame with a number: one that is sent again, or a new one.
    pub fn send(&mut self, sizes: &Sizes) -> Frame {
        let mask = sizes.numbers - 1;
        if self.rewinds && self.next != self.tail {
            self.round = (self.round + 1) & (sizes.rounds - 1);
        }
        self.next = self.following(sizes);
        self.rewinds = false;
        let left = distance(self.next, self.head, sizes.numbers);
        let place = self.sent - u64::from(left);
        let number = self.next;
        if left == 0 {
            self.head = (self.head + 1) & mask;
            self.sent += 1;
        }
        self.next = (self.next + 1) & mask;
        self.frame(true, number, place)
    }

    /// Sends a frame without a number.
    pub fn tell(&mut self) -> Frame {
        self.frame(false, self.next, 0)
    }

    fn frame(&mut self, numbered: bool, number: u32, place: u64) -> Frame {
        let frame = Frame {
            damaged: false,
            numbered,
            known: self.other.is_some(),
            open: self.session == Session::Open,
            again: self.asks,
            number,
            acknowledged: self.expected,
            own: self.epoch,
            other: self.other.unwrap_or_default(),
            round: self.round,
            again_round: self.heard_round,
            from: self.start,
            with: self.with,
            place,
        };
        self.asks = false;
        self.answers = false;
        self.acknowledges = false;
        frame
    }

    /// A frame arrives.
    ///
    /// # Errors
    /// If a property is broken.
    pub fn hear(&mut self, frame: &Frame, sizes: &Sizes, rules: &Rules) -> Result<(), Broken> {
        if frame.damaged && rules.checksum {
            if self.session == Session::Open {
                self.lose(None);
            }
            return Ok(());
        }
        if !self.belongs(frame, rules) {
            return Ok(());
        }
        let half = sizes.numbers / 2;
        let ahead = distance(self.expected, frame.number, sizes.numbers);
        let (early, before) = ((1..half).contains(&ahead), ahead >= half);
        let is_taken = frame.numbered && (ahead == 0 || !rules.in_order);
        if is_taken {
            self.take(frame)?;
            self.expected = (frame.number + 1) & (sizes.numbers - 1);
        }
        let repeats = frame.numbered && before && rules.acknowledges_repeats;
        self.acknowledges |= is_taken || repeats;
        if early {
            self.lose(Some(frame.round));
        } else if frame.round != self.heard_round {
            self.asked = false;
        }
        self.heard_round = frame.round;
        self.learn(frame, sizes);
        Ok(())
    }

    /// A frame is lost, which a damaged frame shows, or one of the given round without the frame
    /// before it. The other end is asked once in each of its rounds.
    fn lose(&mut self, round: Option<u32>) {
        let is_new = round.is_some_and(|round| round != self.heard_round);
        self.asks |= !self.asked || is_new;
        self.asked = true;
    }

    /// Whether a frame belongs to the session, which it may open or close.
    fn belongs(&mut self, frame: &Frame, rules: &Rules) -> bool {
        let names_me = frame.known && frame.other == self.epoch;
        match self.session {
            Session::Idle | Session::Stale => false,
            Session::Greet => {
                if rules.same_key && frame.own.key != self.epoch.key {
                    return false;
                }
                self.other = Some(frame.own);
                self.with = Some(frame.from);
                self.answers |= rules.answers;
                if names_me || !rules.opens_when_named {
                    self.session = Session::Open;
                }
                self.session == Session::Open
            }
            Session::Open => {
                let both = names_me && Some(frame.own) == self.other;
                if both || !rules.names_both {
                    self.answers |= rules.answers && !frame.open;
                    return true;
                }
                if rules.closes {
                    self.session = Session::Stale;
                }
                false
            }
        }
    }

    fn take(&mut self, frame: &Frame) -> Result<(), Broken> {
        if frame.damaged {
            return Err(Broken::Damaged);
        }
        if Some(frame.from) != self.with || frame.with != Some(self.start) {
            return Err(Broken::OfAnotherEpoch);
        }
        if frame.place != self.received {
            return Err(Broken::OutOfOrder);
        }
        self.received += 1;
        Ok(())
    }

    /// Takes the acknowledgement and the request of a frame.
    fn learn(&mut self, frame: &Frame, sizes: &Sizes) {
        let more = distance(self.tail, frame.acknowledged, sizes.numbers);
        if more <= self.outstanding(sizes) {
            self.tail = frame.acknowledged;
        }
        let is_due = frame.again && frame.again_round == self.round && self.tail != self.head;
        self.rewinds |= is_due;
    }

    /// Fact: phits that have left the ring.
    pub(crate) fn forgotten(&self, sizes: &Sizes) -> u64 {
        self.sent.saturating_sub(u64::from(self.outstanding(sizes)))
    }

    /// Fact: the start of the other end in the session.
    pub(crate) fn with(&self) -> Option<u32> {
        self.with
    }
}

/// Steps from one number to another.
fn distance(from: u32, to: u32, numbers: u32) -> u32 {
    to.wrapping_sub(from) & (numbers - 1)
}
