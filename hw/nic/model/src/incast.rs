//! Many senders to one receiver, with the time of each step.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Answer, Broken, Message, Receiver, Reply, Rules, Sender, Sizes};

/// A load: all senders begin at time 0, and each sends its messages as fast as it may. Times are in
/// cycles.
#[derive(Debug, Clone, Copy)]
pub struct Incast {
    /// Number of senders.
    pub senders: u32,
    /// Number of messages of each sender.
    pub messages: u32,
    /// Number of the receiver's entries.
    pub room: u32,
    /// Time of a message or a reply on its way.
    pub latency: u64,
    /// Time between two messages at the port of a sender and at that of the receiver.
    pub interval: u64,
    /// Time between two receives of the receiver's program.
    pub service: u64,
    /// Sizes of the protocol.
    pub sizes: Sizes,
    /// Rules of the protocol.
    pub rules: Rules,
}

/// What a load has taken.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    /// Time of the last completion at a sender.
    pub cycles: u64,
    /// Number of messages, each of which has been received once.
    pub messages: u64,
    /// Number of refusals.
    pub refusals: u64,
    /// Greatest line of a refusal.
    pub line: u32,
    /// Longest queue of messages before the receiver's port.
    pub queue: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The source may begin, or its port may be free.
    Wake,
    /// The pause of the source may be over.
    Resume,
    /// A message of the source reaches the queue before the receiver's port.
    Reach(Message),
    /// A message of the source arrives.
    Arrive(Message),
    /// A receive has taken a message of the source.
    Received,
    /// A reply arrives at the source.
    Reply(Reply),
}

/// Events in the order of their times. Those of one time are in the order in which they were added.
#[derive(Debug, Default)]
struct Agenda {
    events: BinaryHeap<Reverse<(u64, u64, usize, Event)>>,
    added: u64,
}

impl Agenda {
    fn add(&mut self, time: u64, source: usize, event: Event) {
        self.events.push(Reverse((time, self.added, source, event)));
        self.added += 1;
    }
}

/// A sender and its port.
#[derive(Debug)]
struct Source {
    sender: Sender,
    /// Time from which the port is free.
    free_at: u64,
    /// A wake is due.
    waits: bool,
}

impl Source {
    /// Sends the first message, or waits for the port.
    fn advance(&mut self, at: usize, now: u64, load: &Incast, agenda: &mut Agenda) {
        let rules = &load.rules;
        if self.sender.may_send(rules) && now >= self.free_at {
            self.free_at = now + load.interval;
            if let Some(message) = self.sender.send(&load.sizes) {
                agenda.add(now + load.latency, at, Event::Reach(message));
            }
        }
        if self.sender.may_send(rules) && !self.waits {
            self.waits = true;
            agenda.add(self.free_at, at, Event::Wake);
        }
    }
}

/// Simulates a load.
///
/// # Errors
/// If a property is broken.
pub fn incast(load: &Incast) -> Result<Figures, Broken> {
    let (sizes, rules) = (&load.sizes, &load.rules);
    let mut sources: Vec<Source> = (0..load.senders)
        .map(|_| Source {
            sender: Sender::new(load.messages, sizes),
            free_at: 0,
            waits: false,
        })
        .collect();
    let mut receiver = Receiver::new(sources.len(), load.room);
    let (mut port_at, mut program_at) = (0, 0);
    let mut agenda = Agenda::default();
    let mut figures = Figures {
        cycles: 0,
        messages: 0,
        refusals: 0,
        line: 0,
        queue: 0,
    };
    (0..sources.len()).for_each(|at| agenda.add(0, at, Event::Wake));
    let mut queue = 0;

    while let Some(Reverse((now, _, at, event))) = agenda.events.pop() {
        let source = &mut sources[at];
        match event {
            Event::Wake => source.waits = false,
            Event::Resume => {
                if source.sender.resume_at().is_some_and(|time| time <= now) {
                    source.sender.resume();
                }
            }
            Event::Reach(message) => {
                queue += 1;
                figures.queue = figures.queue.max(queue);
                port_at = now.max(port_at) + load.interval;
                agenda.add(port_at, at, Event::Arrive(message));
            }
            Event::Arrive(message) => {
                queue -= 1;
                match receiver.arrives(at, message, sizes, rules)? {
                    Answer::Taken => {
                        program_at = now.max(program_at) + load.service;
                        agenda.add(program_at, at, Event::Received);
                    }
                    Answer::Refused { line } => {
                        figures.refusals += 1;
                        figures.line = figures.line.max(line);
                        let place = message.place;
                        let refusal = Reply::Refused { place, line };
                        agenda.add(now + load.latency, at, Event::Reply(refusal));
                    }
                }
            }
            Event::Received => {
                receiver.release();
                agenda.add(now + load.latency, at, Event::Reply(Reply::Received));
            }
            Event::Reply(Reply::Received) => {
                source.sender.received(sizes);
                figures.messages += 1;
                figures.cycles = now;
            }
            Event::Reply(Reply::Refused { place, line }) => {
                let sender = &mut source.sender;
                sender.refused(place, line, now, sizes, rules);
                if let Some(time) = sender.resume_at() {
                    agenda.add(time, at, Event::Resume);
                }
            }
        }
        source.advance(at, now, load, &mut agenda);
    }

    let is_done = |(at, source): (usize, &Source)| {
        source.sender.is_done() && receiver.taken(at) == load.messages
    };
    if sources.iter().enumerate().all(is_done) {
        Ok(figures)
    } else {
        Err(Broken::Unfinished)
    }
}
