//! Senders, one receiver, and the messages and replies between them.

use std::collections::VecDeque;

use alcor_reach::Protocol;

use crate::{Answer, Broken, Message, Receiver, Rules, Sender, Sizes};

/// A reply on its way to a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reply {
    /// A receive has taken the message.
    Received,
    /// The message is refused.
    Refused {
        /// Place of the message.
        place: u32,
        /// Number of refused sources.
        line: u32,
    },
}

/// A sender with its two wires, which keep order and lose nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Source {
    sender: Sender,
    messages: VecDeque<Message>,
    replies: VecDeque<Reply>,
    /// Number of messages in the receiver's entries. A receive may take any of them, which makes no
    /// difference to the protocol.
    held: u32,
}

/// The senders and the receiver.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    sources: Vec<Source>,
    receiver: Receiver,
    /// The first broken property.
    pub broken: Option<Broken>,
}

impl State {
    /// Number of messages of all sources that the receiver has taken.
    #[must_use]
    pub fn taken(&self) -> u32 {
        (0..self.sources.len())
            .map(|source| self.receiver.taken(source))
            .sum()
    }
}

/// A step of a sender, of the wires or of the receiver's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A source sends a message.
    Send(usize),
    /// A message of a source arrives.
    Arrive(usize),
    /// A reply arrives at a source.
    Reply(usize),
    /// The pause of a source ends.
    Resume(usize),
    /// A receive takes a message of a source.
    Receive(usize),
}

/// The model: sizes, rules and load.
#[derive(Debug, Clone)]
pub struct Streams {
    /// Sizes of the protocol.
    pub sizes: Sizes,
    /// Rules of the protocol.
    pub rules: Rules,
    /// Number of messages of each source.
    pub messages: Vec<u32>,
    /// Number of the receiver's entries.
    pub room: u32,
}

impl Protocol for Streams {
    type State = State;
    type Action = Action;
    type Broken = Broken;

    /// The state before the first message.
    fn start(&self) -> State {
        let source = |&messages: &u32| Source {
            sender: Sender::new(messages, &self.sizes),
            messages: VecDeque::new(),
            replies: VecDeque::new(),
            held: 0,
        };
        State {
            sources: self.messages.iter().map(source).collect(),
            receiver: Receiver::new(self.messages.len(), self.room),
            broken: None,
        }
    }

    /// Whether each message has been received, and its sender knows.
    fn is_done(&self, state: &State) -> bool {
        let is_all = |(source, &messages): (usize, &u32)| {
            state.sources[source].sender.is_done() && state.receiver.taken(source) == messages
        };
        self.messages.iter().enumerate().all(is_all)
    }

    /// Calls `each` with every step that is possible.
    fn steps(&self, state: &State, mut each: impl FnMut(Action)) {
        if state.broken.is_some() {
            return;
        }
        for (at, source) in state.sources.iter().enumerate() {
            let steps = [
                (Action::Send(at), source.sender.may_send(&self.rules)),
                (Action::Arrive(at), !source.messages.is_empty()),
                (Action::Reply(at), !source.replies.is_empty()),
                (Action::Resume(at), source.sender.resume_at().is_some()),
                (Action::Receive(at), source.held > 0),
            ];
            steps
                .into_iter()
                .filter(|(_, is_possible)| *is_possible)
                .for_each(|(step, _)| each(step));
        }
    }

    /// Takes a step.
    fn step(&self, state: &mut State, action: Action) {
        let (sizes, rules) = (&self.sizes, &self.rules);
        match action {
            Action::Send(at) => {
                let source = &mut state.sources[at];
                let message = source.sender.send(sizes);
                source.messages.extend(message);
            }
            Action::Arrive(at) => {
                let source = &mut state.sources[at];
                let Some(message) = source.messages.pop_front() else {
                    return;
                };
                match state.receiver.arrives(at, message, sizes, rules) {
                    Ok(Answer::Taken) => source.held += 1,
                    Ok(Answer::Refused { line }) => source.replies.push_back(Reply::Refused {
                        place: message.place,
                        line,
                    }),
                    Err(broken) => state.broken = Some(broken),
                }
            }
            Action::Reply(at) => {
                let source = &mut state.sources[at];
                match source.replies.pop_front() {
                    Some(Reply::Received) => source.sender.received(sizes),
                    Some(Reply::Refused { place, line }) => {
                        source.sender.refused(place, line, 0, sizes, rules);
                    }
                    None => {}
                }
            }
            Action::Resume(at) => state.sources[at].sender.resume(),
            Action::Receive(at) => {
                let source = &mut state.sources[at];
                source.held -= 1;
                source.replies.push_back(Reply::Received);
                state.receiver.release();
            }
        }
    }

    fn broken(state: &State) -> Option<Broken> {
        state.broken
    }
}
