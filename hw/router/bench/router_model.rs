//! Cycle-accurate model of the router by `hw/router/doc/router.md`: queues and turns.

use std::collections::VecDeque;

/// A FIFO that takes a word unless it is full, and offers the oldest word.
#[derive(Debug, Clone)]
struct Queue<T> {
    words: VecDeque<T>,
    depth: usize,
}

impl<T: Copy> Queue<T> {
    fn new(depth: usize) -> Self {
        Self {
            words: VecDeque::new(),
            depth,
        }
    }

    fn has_room(&self) -> bool {
        self.words.len() < self.depth
    }

    fn head(&self) -> Option<T> {
        self.words.front().copied()
    }
}

/// Round robin: the first request at or after a place.
#[derive(Debug, Clone, Copy, Default)]
struct Turns {
    next: usize,
}

impl Turns {
    fn first(self, requests: &[bool]) -> Option<usize> {
        let ports = requests.len();
        (0..ports)
            .map(|at| (self.next + at) % ports)
            .find(|&port| requests[port])
    }
}

type Word = (u64, bool);

#[derive(Debug, Clone)]
struct Input {
    first: bool,
    memory: Queue<Word>,
    headers: Queue<Option<usize>>,
    voqs: Vec<Queue<Word>>,
    turns: Turns,
    /// Virtual output queue whose packet is being forwarded.
    under_way: Option<usize>,
}

impl Input {
    fn is_ready(&self) -> bool {
        self.memory.has_room() && (self.headers.has_room() || !self.first)
    }

    /// The word that leaves Input Memory, and the VOQ that takes the word.
    fn moves(&self) -> Option<(Word, Option<usize>)> {
        let word = self.memory.head()?;
        let target = self.headers.head()?;
        match target {
            Some(voq) if !self.voqs[voq].has_room() => None,
            _ => Some((word, target)),
        }
    }
}

#[derive(Debug, Clone)]
struct Output {
    turns: Turns,
    /// The crosspoint to which the output is locked.
    holder: Option<usize>,
    memory: Queue<Word>,
}

/// Sizes of the queues.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    pub input: usize,
    pub header: usize,
    pub voq: usize,
    pub crosspoint: usize,
    pub output: usize,
}

/// A word offered at an input.
#[derive(Debug, Clone, Copy)]
pub struct Offer {
    pub data: u64,
    pub last: bool,
    /// Output of the packet; only with the first word of a packet.
    pub route: Option<usize>,
}

/// All queues and turns of a router.
#[derive(Debug, Clone)]
pub struct Model {
    inputs: Vec<Input>,
    /// By input, then by output.
    crosspoints: Vec<Vec<Queue<Word>>>,
    outputs: Vec<Output>,
}

impl Model {
    pub fn new(ports: usize, sizes: Sizes) -> Self {
        let input = Input {
            first: true,
            memory: Queue::new(sizes.input),
            headers: Queue::new(sizes.header),
            voqs: vec![Queue::new(sizes.voq); ports],
            turns: Turns::default(),
            under_way: None,
        };
        let output = Output {
            turns: Turns::default(),
            holder: None,
            memory: Queue::new(sizes.output),
        };
        Self {
            inputs: vec![input; ports],
            crosspoints: vec![vec![Queue::new(sizes.crosspoint); ports]; ports],
            outputs: vec![output; ports],
        }
    }

    pub fn is_ready(&self, input: usize) -> bool {
        self.inputs[input].is_ready()
    }

    /// A packet without a route is dropped in this cycle.
    pub fn drops(&self, input: usize) -> bool {
        matches!(self.inputs[input].moves(), Some(((_, true), None)))
    }

    /// The word offered at an output.
    pub fn offer(&self, output: usize) -> Option<Word> {
        self.outputs[output].memory.head()
    }

    pub fn is_empty(&self) -> bool {
        let empty = |queue: &Queue<Word>| queue.words.is_empty();
        self.inputs
            .iter()
            .all(|input| empty(&input.memory) && input.voqs.iter().all(empty))
            && self.crosspoints.iter().flatten().all(empty)
            && self.outputs.iter().all(|output| empty(&output.memory))
    }

    /// The clock edge.
    pub fn clock(&mut self, offers: &[Option<Offer>], ready: &[bool]) {
        // All words move at the same time, so the state before the edge decides.
        let before = self.clone();
        for (port, input) in self.inputs.iter_mut().enumerate() {
            let now = &before.inputs[port];
            if let Some(offer) = offers[port].filter(|_| now.is_ready()) {
                input.memory.words.push_back((offer.data, offer.last));
                if now.first {
                    input.headers.words.push_back(offer.route);
                }
                input.first = offer.last;
            }
            if let Some((word, target)) = now.moves() {
                input.memory.words.pop_front();
                if word.1 {
                    input.headers.words.pop_front();
                }
                if let Some(voq) = target {
                    input.voqs[voq].words.push_back(word);
                }
            }
            let eligible: Vec<bool> = now
                .voqs
                .iter()
                .zip(&before.crosspoints[port])
                .map(|(voq, crosspoint)| voq.head().is_some() && crosspoint.has_room())
                .collect();
            let stays = now.under_way.filter(|&voq| eligible[voq]);
            let Some(voq) = stays.or_else(|| now.turns.first(&eligible)) else {
                continue;
            };
            if stays.is_none() {
                input.turns.next = voq + 1;
            }
            if let Some(word) = input.voqs[voq].words.pop_front() {
                self.crosspoints[port][voq].words.push_back(word);
                input.under_way = (!word.1).then_some(voq);
            }
        }
        for (port, output) in self.outputs.iter_mut().enumerate() {
            let now = &before.outputs[port];
            if ready[port] {
                output.memory.words.pop_front();
            }
            let waiting: Vec<bool> = before
                .crosspoints
                .iter()
                .map(|row| row[port].head().is_some())
                .collect();
            let Some(source) = now.holder.or_else(|| now.turns.first(&waiting)) else {
                continue;
            };
            if now.holder.is_none() {
                output.turns.next = source + 1;
            }
            let Some(word) = before.crosspoints[source][port].head() else {
                continue;
            };
            output.holder = Some(source);
            if now.memory.has_room() {
                self.crosspoints[source][port].words.pop_front();
                output.memory.words.push_back(word);
                if word.1 {
                    output.holder = None;
                }
            }
        }
    }
}
