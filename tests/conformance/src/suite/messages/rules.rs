//! What MPI allows to come of sends and receives: a judge that has seen no engine.
//!
//! Which of two ranks' messages comes first is open, so there are many outcomes that are right. An
//! outcome is judged by the rules alone.

use std::fmt;
use std::ops::Range;

use alcor::GlobalRank;
use alcor_test::{Result};

/// A message that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    pub source: GlobalRank,
    pub target: GlobalRank,
    /// Its place among all that its source sends.
    pub order: u32,
    pub context: usize,
    pub tag: u32,
    /// No two messages from one rank to another have the same.
    pub length: u32,
}

/// How a receive ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// With a message.
    With {
        source: GlobalRank,
        tag: u32,
        length: u32,
        /// Whether it held what its sender gave it, as far as it fit.
        intact: bool,
    },
    /// It was cancelled while others were still under way.
    Cancelled,
    /// It was cancelled when all messages had been received.
    LeftOver,
}

/// A receive that was posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Received {
    pub target: GlobalRank,
    /// Its place among all that its rank posts.
    pub order: u32,
    pub context: usize,
    pub source: Option<GlobalRank>,
    pub tag: Option<u32>,
    pub ended: Ended,
}

/// A message that a matched probe took out of the queue, and that was returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hold {
    pub target: GlobalRank,
    pub source: GlobalRank,
    pub length: u32,
    /// From the probe to the return, among all that the rank posts. Receives of this time may take
    /// the messages behind.
    pub orders: Range<u32>,
}

impl Hold {
    fn excuses(&self, receive: &Received, first: &Sent) -> bool {
        (self.target, self.source, self.length) == (first.target, first.source, first.length)
            && self.orders.contains(&receive.order)
    }
}

impl Received {
    fn is_for(&self, sent: &Sent) -> bool {
        self.target == sent.target
            && self.context == sent.context
            && self.source.is_none_or(|source| source == sent.source)
            && self.tag.is_none_or(|tag| tag == sent.tag)
    }
}

/// How an outcome breaks the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Violation {
    /// A receive ended with a message that nobody sent it.
    Unknown(Received),
    /// It ended with a message that it is not for.
    Foreign(Received, Sent),
    /// Its bytes are not those that were sent.
    Damaged(Received, Sent),
    /// A message was received twice.
    Twice(Sent),
    /// A message was received by nobody.
    Lost(Sent),
    /// A receive took the second message, though it is for the first, which went to a later receive.
    Overtaken {
        first: Sent,
        taken_by: Box<Received>,
        second: Sent,
        receive: Received,
    },
    /// A receive got nothing, though it is for a message that went to a later one.
    Passed { receive: Received, message: Sent },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// Judges what came of a program in which all messages are received in the end.
pub(super) fn check(
    sent: &[Sent],
    received: &[Received],
    holds: &[Hold],
) -> Result<(), Violation> {
    // By whom each message was received.
    let mut takers: Vec<Option<&Received>> = vec![None; sent.len()];
    for receive in received {
        let Ended::With {
            source,
            tag,
            length,
            intact,
        } = receive.ended
        else {
            continue;
        };
        let found = sent.iter().position(|message| {
            (message.source, message.target, message.length) == (source, receive.target, length)
        });
        let Some(found) = found else {
            return Err(Violation::Unknown(receive.clone()));
        };
        let message = &sent[found];
        if !receive.is_for(message) || tag != message.tag {
            return Err(Violation::Foreign(receive.clone(), message.clone()));
        }
        if !intact {
            return Err(Violation::Damaged(receive.clone(), message.clone()));
        }
        if takers[found].replace(receive).is_some() {
            return Err(Violation::Twice(message.clone()));
        }
    }
    let taken: Vec<(&Sent, &Received)> = sent
        .iter()
        .zip(takers)
        .map(|(message, taker)| match taker {
            Some(taker) => Ok((message, taker)),
            None => Err(Violation::Lost(message.clone())),
        })
        .collect::<Result<_, _>>()?;
    for &(second, by) in &taken {
        for &(first, by_first) in &taken {
            let in_order = (first.source, first.target, first.context)
                == (second.source, second.target, second.context)
                && first.order < second.order;
            let is_excused = || holds.iter().any(|hold| hold.excuses(by, first));
            if in_order && by.is_for(first) && by_first.order > by.order && !is_excused() {
                return Err(Violation::Overtaken {
                    first: first.clone(),
                    taken_by: Box::new(by_first.clone()),
                    second: second.clone(),
                    receive: by.clone(),
                });
            }
        }
    }
    for receive in received.iter().filter(|it| it.ended == Ended::LeftOver) {
        for &(message, by) in &taken {
            if receive.is_for(message) && by.order > receive.order {
                return Err(Violation::Passed {
                    receive: receive.clone(),
                    message: message.clone(),
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZERO: GlobalRank = GlobalRank(0);
    const ONE: GlobalRank = GlobalRank(1);

    fn sent(order: u32, tag: u32) -> Sent {
        Sent {
            source: ONE,
            target: ZERO,
            order,
            context: 0,
            tag,
            length: 10 + order,
        }
    }

    fn with(order: u32) -> Ended {
        Ended::With {
            source: ONE,
            tag: [5, 5, 6][order as usize],
            length: 10 + order,
            intact: true,
        }
    }

    fn receive(order: u32, tag: Option<u32>, ended: Ended) -> Received {
        Received {
            target: ZERO,
            order,
            context: 0,
            source: None,
            tag,
            ended,
        }
    }

    /// Two messages of tag 5 and one of tag 6; a receive is cancelled early, and one late.
    fn recorded() -> (Vec<Sent>, Vec<Received>) {
        let sent = vec![sent(0, 5), sent(1, 5), sent(2, 6)];
        let received = vec![
            receive(0, Some(6), with(2)),
            receive(1, Some(5), Ended::Cancelled),
            receive(2, Some(9), Ended::LeftOver),
            receive(3, None, with(0)),
            receive(4, Some(5), with(1)),
        ];
        (sent, received)
    }

    #[test]
    fn what_is_right_is_right() {
        let (sent, received) = recorded();
        assert_eq!(check(&sent, &received, &[]), Ok(()));
    }

    /// A receive that was posted while a matched probe held the first message may take the second.
    #[test]
    fn held_messages_are_passed_over() {
        let (sent, mut received) = recorded();
        received[3].ended = with(1);
        received[4].ended = with(0);
        let hold = |source, orders| Hold {
            target: ZERO,
            source,
            length: 10,
            orders,
        };
        assert_eq!(check(&sent, &received, &[hold(ONE, 1..4)]), Ok(()));
        for other in [hold(ONE, 1..3), hold(ONE, 4..5), hold(ZERO, 1..4)] {
            assert!(check(&sent, &received, &[other]).is_err());
        }
    }

    /// What the judge says of the outcome once it has been changed.
    fn planted(change: impl Fn(&mut Vec<Sent>, &mut Vec<Received>)) -> Violation {
        let (mut sent, mut received) = recorded();
        change(&mut sent, &mut received);
        check(&sent, &received, &[]).expect_err("a violation has been planted")
    }

    #[test]
    fn violations_are_seen() {
        let of = |violation: &Violation| std::mem::discriminant(violation);
        let (s, r) = (sent(0, 5), receive(0, None, Ended::LeftOver));
        let unknown = of(&Violation::Unknown(r.clone()));
        let foreign = of(&Violation::Foreign(r.clone(), s.clone()));
        let damaged = of(&Violation::Damaged(r.clone(), s.clone()));
        let twice = of(&Violation::Twice(s.clone()));
        let lost = of(&Violation::Lost(s.clone()));
        let overtaken = of(&Violation::Overtaken {
            first: s.clone(),
            taken_by: Box::new(r.clone()),
            second: s.clone(),
            receive: r.clone(),
        });
        let passed = of(&Violation::Passed {
            receive: r,
            message: s,
        });

        // A length that was never sent; a source; a tag that is not the message's.
        let set = |place: usize, ended: Ended| {
            planted(move |_, received| received[place].ended = ended.clone())
        };
        let ended = |source, tag, length, intact| Ended::With {
            source,
            tag,
            length,
            intact,
        };
        assert_eq!(of(&set(3, ended(ONE, 5, 9, true))), unknown);
        assert_eq!(of(&set(3, ended(ZERO, 5, 10, true))), unknown);
        assert_eq!(of(&set(3, ended(ONE, 6, 10, true))), foreign);
        assert_eq!(of(&set(3, ended(ONE, 5, 10, false))), damaged);
        // It went to a receive of another tag, context or source.
        assert_eq!(of(&set(2, with(0))), foreign);
        let foreign_by = |change: fn(&mut Received)| {
            of(&planted(|_, received| change(&mut received[3])))
        };
        assert_eq!(foreign_by(|receive| receive.context = 1), foreign);
        assert_eq!(foreign_by(|receive| receive.source = Some(ZERO)), foreign);
        assert_eq!(foreign_by(|receive| receive.target = ONE), unknown);
        // It was received twice, or never.
        assert_eq!(of(&set(3, with(1))), twice);
        assert_eq!(of(&set(3, Ended::Cancelled)), lost);
        assert_eq!(of(&set(4, Ended::LeftOver)), lost);
        // The two of tag 5 change places.
        let swapped = planted(|_, received| {
            received[3].ended = with(1);
            received[4].ended = with(0);
        });
        assert_eq!(of(&swapped), overtaken);
        // A receive of any tag takes the third while those of tag 5 come later.
        let swapped = planted(|_, received| {
            received[0].tag = None;
        });
        assert_eq!(of(&swapped), overtaken);
        // An early receive that would have been for it got nothing.
        let passed_over = planted(|_, received| received[1].ended = Ended::LeftOver);
        assert_eq!(of(&passed_over), passed);
        let passed_over = planted(|_, received| received[2].tag = None);
        assert_eq!(of(&passed_over), passed);
    }
}
