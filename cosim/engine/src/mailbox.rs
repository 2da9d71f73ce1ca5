//! The mailbox between host code and the pins of a model: the posts and waits of each rank, and the
//! calls of the model at each edge.
//!
//! While the clock runs, this code does not lock, allocate or print, except at the end of a wait.

use alcor::{HeldWrites, Note, PageOffset, Topology};
use alcor_abi::MEMORY_BAR_LOADS;
use crc32fast::Hasher;
use verimodel::{Dpi, Flow};

use crate::digest::Digest;
use crate::frames::FrameEnds;
use crate::link::{Arrival, HostCopy, Link, Setting, TAKES_COPIES};
use crate::log::{COLLECTIVE_UNIT, Log};
use crate::model::{AXI_TICK, HOST_TICK, LINK_RECV, LINK_SEND, MEMORY, MONITOR};
use crate::wire::{Ends, PhitEnds};
use crate::{Options, Shape};

/// Cycles from the offer of a write until a read sees its effect. A write acts at the edge that
/// ends the cycle of its offer. Registers may show the effect one cycle later.
pub const EFFECT_CYCLES: u64 = 2;

/// Cycles from the offer of a write until the interrupt's level, as seen at an edge, shows its
/// effect. This is one cycle more than for registers, because the level of a cycle is seen at the
/// edge that ends the cycle.
pub const SETTLE_CYCLES: u64 = 3;

/// A posted write.
#[derive(Debug, Clone)]
pub(crate) enum Post {
    /// Of a register of the rank's page.
    Register { offset: u32, data: u32 },
    /// Of node memory, over the link; at least one byte.
    Memory { at: u32, data: Vec<u8> },
    /// A command line, over the link.
    Line([u32; 16]),
}

/// The mark of a register write on the pins.
const VALID: u32 = 1 << 31;

/// The bus address of a rank's ring in host memory, divided by the rank's number on the board plus
/// one.
pub(crate) const HOST_RING: u64 = 1 << 32;

/// The event for which a rank waits.
#[derive(Debug, Clone)]
pub(crate) enum Want {
    /// The interrupt, until the deadline at the latest; with `entries` also the next entry of the ring
    /// in host memory.
    Interrupt { deadline: u64, entries: bool },
    /// All posts have taken effect.
    Effect,
    /// All posts have been offered, so there is room again.
    Room,
    /// A point in time.
    Until(u64),
    /// The value of the register at a byte address in the BAR, over the link.
    Read { address: u32 },
    /// Bytes from node memory, over the link; at least one.
    Load { at: u32, len: usize },
    /// Bytes to node memory by the DMA, over the link; at least one.
    Store { at: u32, data: Vec<u8> },
    /// The reply to one of these three, once the request is on the link.
    Reply,
}

/// The reason why a wait ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    Interrupt,
    /// Entries have reached the rank's ring in host memory.
    Copied,
    Deadline,
    Done,
    Data(Vec<u8>),
}

/// The posts and the wait of a rank.
#[derive(Default)]
struct Lane {
    posts: Vec<Post>,
    /// Number of `posts` that have been offered.
    next: usize,
    /// Number of posts on the link without an answer.
    on_link: usize,
    /// First `now` at which registers show all offered posts.
    effect_at: u64,
    /// First edge at which the interrupt's level is valid.
    settled_at: u64,
    /// Edge at which the interrupt was last seen to rise.
    raised_at: u64,
    /// The rank's ring in host memory.
    ring: Vec<u8>,
    /// Copies have reached the ring since a wait last ended.
    is_copied: bool,
    /// Data of loads through the BAR that have returned, and the number of those that have not.
    loaded: Vec<u8>,
    loads: usize,
    want: Option<Want>,
    /// Time and reason of the end of the wait, once they are known.
    due: Option<(u64, Why)>,
    woken: Option<Why>,
}

impl Lane {
    /// Number of posts that have not reached the board.
    fn backlog(&self) -> usize {
        self.posts.len() - self.next + self.on_link
    }

    /// The data of an access over the link reaches the host at `due`.
    fn reply(&mut self, due: u64, why: Why) {
        if matches!(self.want, Some(Want::Reply)) {
            self.due = Some((due, why));
        }
    }

    fn delivered(&mut self, now: u64) {
        self.effect_at = now + EFFECT_CYCLES;
        self.settled_at = now + SETTLE_CYCLES;
    }
}

/// The host's side of a board's DPI.
pub(crate) struct Mailbox {
    /// Edges since reset.
    cycle: u64,
    lanes: Vec<Lane>,
    /// Bit mask of lanes with posts to be offered.
    busy: u32,
    /// Bit mask of lanes that wait for an interrupt whose level is valid.
    armed: u32,
    /// Levels of the interrupts in the cycle before the last edge.
    irq: u32,
    /// Interrupts that have risen since the last call of [`Mailbox::take_risen`].
    risen: u32,
    /// Next edge at which a wait must be checked.
    alarm: u64,
    woken: u32,
    link: Option<Box<Link>>,
    /// The write to the board's page that is under way.
    setting: Option<Setting>,
    /// Copies into host memory, of a board without a link whose user carries them out.
    copies: Option<Copies>,
    /// The links to other boards, if there are any.
    ends: Option<Box<Ends>>,
    /// Next edge at which a phit or credit arrives on the links.
    arrival: u64,
    digest: Digest,
    /// The log, if the options ask for one.
    log: Option<Box<Log>>,
    /// Number of words of a beat of the monitored streams.
    beat_words: usize,
    /// Last edge at which the host or a link exchanged data with the board, or an interrupt
    /// changed.
    touched: u64,
    /// The last edge at which a packet moved.
    moved: u64,
}

/// Copies that a board has asked for.
#[derive(Debug, Default)]
struct Copies {
    /// The pins have told the board that copies are taken.
    is_offered: bool,
    taken: Vec<HostCopy>,
}

/// Limit of copies that wait for [`Mailbox::take_copies`]. Further copies wait on the board.
const MOST_COPIES: usize = 16;

const NEVER: u64 = u64::MAX;

impl Mailbox {
    /// The mailbox of board `number`.
    pub(crate) fn new(shape: Shape, options: &Options, number: u32, topology: &Topology) -> Self {
        let Shape {
            ranks,
            links,
            phit_bits,
            data_bits,
            frames,
            ..
        } = shape;
        let figures = options.link_figures();
        let ends = if frames {
            let media = options.link_faults.media(number, topology);
            Ends::Frames(FrameEnds::new(figures, media))
        } else {
            let damage = options.link_faults.damage(number);
            Ends::Phits(PhitEnds::new(links, phit_bits, figures, damage))
        };
        Self {
            cycle: 0,
            lanes: (0..ranks).map(|_| Lane::default()).collect(),
            busy: 0,
            armed: 0,
            irq: 0,
            risen: 0,
            alarm: NEVER,
            woken: 0,
            link: options
                .profile
                .figures()
                .map(|figures| Box::new(Link::new(figures, shape))),
            setting: None,
            copies: None,
            ends: (links != 0).then(|| Box::new(ends)),
            arrival: NEVER,
            digest: Digest::new(),
            log: options.log.map(|limit| Box::new(Log::new(shape, limit))),
            beat_words: (data_bits / 32) as usize,
            touched: 0,
            moved: 0,
        }
    }

    /// Drops all posts and waits. Cycles and digest start anew.
    pub(crate) fn reset(&mut self) {
        self.lanes
            .iter_mut()
            .for_each(|lane| *lane = Lane::default());
        if let Some(link) = &mut self.link {
            link.reset();
        }
        if let Some(ends) = &mut self.ends {
            ends.reset(self.cycle);
        }
        if let Some(log) = &mut self.log {
            log.reset(self.cycle);
        }
        self.setting = None;
        self.copies = None;
        self.digest.restart();
        (
            self.cycle, self.busy, self.armed, self.irq, self.alarm, self.woken,
        ) = (0, 0, 0, 0, NEVER, 0);
        self.arrival = NEVER;
        (self.touched, self.moved) = (0, 0);
    }

    /// Edges since reset: the present time.
    pub(crate) fn now(&self) -> u64 {
        self.cycle
    }

    /// Last edge at which the host or a link exchanged data with the board, or an interrupt
    /// changed.
    pub(crate) fn touched(&self) -> u64 {
        self.touched
    }

    /// The last edge at which a packet moved on the board or its links.
    pub(crate) fn moved(&self) -> u64 {
        self.moved
    }

    /// Returns whether no write, phit or credit is on its way to the board, and no interrupt is
    /// about to wake a rank.
    pub(crate) fn is_idle(&self) -> bool {
        let link = self.link.as_ref();
        let ends = self.ends.as_ref();
        let is_calm = |(rank, lane): (usize, &Lane)| {
            let is_raised = lane.want.is_some() && self.irq >> rank & 1 != 0;
            lane.backlog() == 0 && !is_raised && lane.woken.is_none()
        };
        self.setting.is_none()
            && ends.is_none_or(|ends| ends.next(self.cycle) == NEVER && !ends.has_sent())
            && link.is_none_or(|link| link.due(self.cycle) == NEVER)
            && self.lanes.iter().enumerate().all(is_calm)
    }

    /// Returns the next edge at which the host or a link may act on the board, or a wait may end.
    /// Before this edge only the board itself can change its state.
    pub(crate) fn due(&self) -> u64 {
        let acts_now = self.busy != 0 || self.setting.is_some() || self.irq & self.armed != 0;
        if acts_now {
            return self.cycle + 1;
        }
        let link = self
            .link
            .as_ref()
            .map_or(NEVER, |link| link.due(self.cycle));
        self.alarm.min(self.arrival).min(link)
    }

    /// Skips cycles in which the host and the links are idle. The number must not reach the edge
    /// that is [due](Self::due).
    pub(crate) fn skip(&mut self, cycles: u64) {
        self.cycle += cycles;
    }

    pub(crate) fn digest(&self) -> u32 {
        let Some(ends) = &self.ends else {
            return self.digest.value();
        };
        let mut hasher = Hasher::new();
        hasher.update(&self.digest.value().to_le_bytes());
        hasher.update(&ends.digest().to_le_bytes());
        hasher.finalize()
    }

    /// The links to other boards.
    pub(crate) fn ends(&self) -> Option<&Ends> {
        self.ends.as_deref()
    }

    /// Changes the data under way on the links to other boards.
    pub(crate) fn with_ends(&mut self, action: &mut dyn FnMut(&mut Ends)) {
        if let Some(ends) = &mut self.ends {
            action(ends);
            self.arrival = ends.next(self.cycle);
        }
    }

    /// Returns whether data was sent to other boards and not carried off.
    pub(crate) fn has_sent(&self) -> bool {
        self.ends.as_ref().is_some_and(|ends| ends.has_sent())
    }

    /// Begins a write to the board's page, regardless of other users of the bus.
    pub(crate) fn set(&mut self, address: u32, value: u32) {
        self.setting = Some(Setting::new(address, value));
    }

    /// Returns whether a write to the board's page is under way.
    pub(crate) fn is_setting(&self) -> bool {
        self.setting.is_some()
    }

    pub(crate) fn has_link(&self) -> bool {
        self.link.is_some()
    }

    /// Takes copies from the board from now on, for [`Mailbox::take_copies`].
    pub(crate) fn begin_copies(&mut self) {
        self.copies.get_or_insert_default();
    }

    /// Returns whether the AXI pins have a user.
    pub(crate) fn uses_axi(&self) -> bool {
        self.link.is_some() || self.copies.is_some()
    }

    /// Returns the copies that the board has asked for since the last call.
    pub(crate) fn take_copies(&mut self) -> Vec<HostCopy> {
        let copies = self.copies.as_mut();
        copies.map_or_else(Vec::new, |copies| std::mem::take(&mut copies.taken))
    }

    /// The log, if there is one.
    pub(crate) fn log(&self) -> Option<&Log> {
        self.log.as_deref()
    }

    /// Takes over the log of the mailbox that this one replaces.
    pub(crate) fn inherit(&mut self, old: &mut Self) {
        if let Some(mut log) = old.log.take() {
            log.reset(old.cycle);
            self.log = Some(log);
        }
    }

    /// Begins run number `run` in the log.
    pub(crate) fn begin_run(&mut self, run: u32) {
        if let Some(log) = &mut self.log {
            log.begin_run(run);
        }
    }

    /// Records a note of a rank that has posted `posts` further writes.
    pub(crate) fn note(&mut self, rank: usize, posts: usize, note: Note) {
        let ahead = self.backlog(rank) + posts;
        if let Some(log) = &mut self.log {
            log.note(rank, self.cycle, ahead, note);
        }
    }

    pub(crate) fn backlog(&self, rank: usize) -> usize {
        self.lanes[rank].backlog()
    }

    /// Takes over the posts of a rank. Leaves an empty buffer.
    pub(crate) fn post(&mut self, rank: usize, posts: &mut Vec<Post>) {
        if posts.is_empty() {
            return;
        }
        let lane = &mut self.lanes[rank];
        if lane.next == lane.posts.len() {
            lane.posts.clear();
            lane.next = 0;
            std::mem::swap(&mut lane.posts, posts);
        } else {
            lane.posts.append(posts);
        }
        self.busy |= 1 << rank;
    }

    /// Returns the result of a wait that takes no time.
    pub(crate) fn at_once(&self, rank: usize, want: &Want) -> Option<Why> {
        let (lane, now) = (&self.lanes[rank], self.cycle);
        match want {
            Want::Interrupt { deadline, .. } if *deadline <= now => {
                let is_raised =
                    lane.backlog() == 0 && now >= lane.settled_at && self.irq >> rank & 1 != 0;
                let is_known = self
                    .link
                    .as_ref()
                    .is_none_or(|link| now >= heard_at(lane, link));
                Some(if is_raised && is_known {
                    Why::Interrupt
                } else {
                    Why::Deadline
                })
            }
            Want::Effect if lane.backlog() == 0 && now >= lane.effect_at => Some(Why::Done),
            Want::Room if lane.backlog() == 0 => Some(Why::Done),
            Want::Until(cycle) if *cycle <= now => Some(Why::Done),
            _ => None,
        }
    }

    /// Returns whether copies have reached the rank's ring in host memory since a wait last ended.
    /// The wait ends with this call.
    pub(crate) fn take_copied(&mut self, rank: usize) -> bool {
        std::mem::take(&mut self.lanes[rank].is_copied)
    }

    /// Begins a wait.
    pub(crate) fn wait(&mut self, rank: usize, want: Want) {
        if let Some(log) = &mut self.log {
            log.wait_began(rank, self.cycle, &want);
        }
        self.lanes[rank].want = Some(want);
    }

    /// Starts the link accesses of the waits, in the order of ranks. Called before time moves.
    pub(crate) fn begin(&mut self) {
        self.alarm = self.cycle + 1;
        if self.cycle == 0
            && let Some(ends) = &mut self.ends
        {
            ends.begin();
            self.arrival = ends.next(0);
        }
        let Some(link) = &mut self.link else { return };
        let now = self.cycle;
        for (rank, lane) in self.lanes.iter_mut().enumerate() {
            for post in lane.posts.drain(..) {
                lane.on_link += match post {
                    Post::Register { offset, data } => {
                        link.write(now, rank, offset, data);
                        if let Some(log) = &mut self.log {
                            log.sent(rank, offset, data);
                        }
                        1
                    }
                    Post::Memory { at, data } => link.post(now, rank, at, &data),
                    Post::Line(words) => {
                        let writes = HeldWrites::from_words(words).writes;
                        if let Some(log) = &mut self.log {
                            for &(PageOffset(offset), data) in &writes {
                                log.sent(rank, offset, data);
                            }
                        }
                        link.line(now, rank, words, writes.len());
                        writes.len()
                    }
                };
            }
            match &lane.want {
                Some(Want::Read { address }) => {
                    link.read(now, rank, *address);
                    lane.loads = 1;
                }
                Some(Want::Load { at, len }) if link.loads(rank, *at, *len) <= MEMORY_BAR_LOADS => {
                    lane.loads = link.load_bar(now, rank, *at, *len);
                }
                Some(Want::Load { at, len }) => link.load(now, rank, *at, *len),
                Some(Want::Store { at, data }) => link.store(now, rank, *at, data),
                _ => continue,
            }
            lane.want = Some(Want::Reply);
        }
        self.busy = 0;
    }

    /// Returns a bit for each rank whose interrupt has risen since the last call.
    pub(crate) fn take_risen(&mut self) -> u32 {
        std::mem::take(&mut self.risen)
    }

    /// Levels of the interrupts in the cycle before the last edge.
    pub(crate) fn irq(&self) -> u32 {
        self.irq
    }

    /// Bit mask of the ranks that the last edge woke.
    pub(crate) fn woken(&self) -> u32 {
        self.woken
    }

    /// Ends the wait of a woken rank. Returns the reason.
    pub(crate) fn take(&mut self, rank: usize) -> Option<Why> {
        self.woken &= !(1 << rank);
        if let Some(log) = &mut self.log {
            log.wait_ended(rank, self.cycle, true);
        }
        self.lanes[rank].woken.take()
    }

    /// Ends a rank's wait without a reason of the board.
    pub(crate) fn abandon(&mut self, rank: usize) {
        self.woken &= !(1 << rank);
        self.armed &= !(1 << rank);
        if let Some(log) = &mut self.log {
            log.wait_ended(rank, self.cycle, false);
        }
        let lane = &mut self.lanes[rank];
        (lane.want, lane.due, lane.woken) = (None, None, None);
    }

    #[inline]
    fn tick(&mut self, irq: u32, output: &mut [u32]) -> Flow {
        self.cycle += 1;
        let mut busy = self.busy;
        while busy != 0 {
            self.touched = self.cycle;
            let rank = busy.trailing_zeros() as usize;
            busy &= busy - 1;
            let lane = &mut self.lanes[rank];
            // Writes to node memory are posted over a link only.
            if let Post::Register { offset, data } = lane.posts[lane.next] {
                output[2 * rank] = VALID | offset;
                output[2 * rank + 1] = data;
                if let Some(log) = &mut self.log {
                    log.offered(rank, self.cycle, offset, data);
                }
            }
            lane.next += 1;
            if lane.next == lane.posts.len() {
                lane.delivered(self.cycle);
                self.busy &= !(1 << rank);
                self.alarm = self.cycle;
            }
        }
        if self.link.is_some() {
            self.hear(irq);
        }
        if self.arrival <= self.cycle {
            output[2 * self.lanes.len()] = 1;
            self.touched = self.cycle;
        }
        if irq != self.irq {
            self.touched = self.cycle;
        }
        self.risen |= irq & !self.irq;
        if let Some(log) = &mut self.log {
            log.interrupts(self.cycle - 1, irq);
        }
        self.irq = irq;
        if irq & self.armed != 0 || self.alarm <= self.cycle {
            self.look()
        } else {
            Flow::Continue
        }
    }

    /// Records rising interrupts, if the link delays them.
    fn hear(&mut self, irq: u32) {
        let mut rose = irq & !self.irq;
        while rose != 0 {
            self.lanes[rose.trailing_zeros() as usize].raised_at = self.cycle;
            rose &= rose - 1;
        }
    }

    /// Checks all waits, and sets the next alarm.
    #[cold]
    fn look(&mut self) -> Flow {
        let now = self.cycle;
        let mut alarm = NEVER;
        self.armed = 0;
        for (rank, lane) in self.lanes.iter_mut().enumerate() {
            if lane.want.is_none() || lane.woken.is_some() {
                continue;
            }
            let why = match &lane.due {
                Some((at, _)) if *at <= now => lane.due.take().map(|(_, why)| why),
                Some((at, _)) => {
                    alarm = alarm.min(*at);
                    None
                }
                None => {
                    let look = Look {
                        lane,
                        link: self.link.as_deref(),
                        now,
                        is_raised: self.irq >> rank & 1 != 0,
                    };
                    let (why, next, armed) = look.at_want();
                    alarm = alarm.min(next);
                    self.armed |= u32::from(armed) << rank;
                    why
                }
            };
            if let Some(why) = why {
                lane.is_copied &= why != Why::Copied;
                self.armed &= !(1 << rank);
                self.woken |= 1 << rank;
                lane.want = None;
                lane.woken = Some(why);
            }
        }
        self.alarm = alarm;
        if self.woken == 0 {
            Flow::Continue
        } else {
            Flow::Stop
        }
    }

    fn monitor(&mut self, input: &[u32]) {
        (self.touched, self.moved) = (self.cycle, self.cycle);
        let beats = &input[4..];
        for half in 0..2 {
            let mut valid = input[half];
            while valid != 0 {
                let bit = valid.trailing_zeros();
                valid &= valid - 1;
                let stream = 32 * half + bit as usize;
                let last = input[2 + half] >> bit & 1 != 0;
                let words = &beats[stream * self.beat_words..][..self.beat_words];
                self.digest.push(self.cycle, stream as u8, last, words);
                if let Some(log) = &mut self.log {
                    log.beat(stream, self.cycle - 1, last, words);
                }
            }
        }
    }

    fn link_recv(&mut self, output: &mut [u32]) {
        if let Some(ends) = &mut self.ends {
            ends.receive(self.cycle, output);
            self.arrival = ends.next(self.cycle);
        }
    }

    fn link_send(&mut self, input: &[u32]) {
        self.touched = self.cycle;
        if let Some(ends) = &mut self.ends {
            ends.send(self.cycle, input, |port, channel, arrives, phit| {
                self.moved = self.cycle;
                if let Some(log) = &mut self.log {
                    log.phit(
                        port,
                        channel,
                        self.cycle - 1,
                        arrives,
                        phit,
                        self.beat_words,
                    );
                }
            });
            self.arrival = ends.next(self.cycle);
        }
    }

    /// Records a write to node memory. The model reports these writes only if there is a log.
    fn memory(&mut self, input: &[u32]) {
        self.touched = self.cycle;
        let Some(log) = &mut self.log else { return };
        let cycle = self.cycle - 1;
        for (rank, call) in input[2..]
            .chunks_exact(4)
            .take(self.lanes.len())
            .enumerate()
        {
            let (words, phit_words) = (call[0] & 0xffff, call[0] >> 16);
            if input[0] >> rank & 1 != 0 {
                let writer = (input[1] >> (2 * rank) & 3) as usize;
                log.written(rank, writer, cycle, call[1], words.count_ones(), call[3]);
            }
            if input[0] >> (16 + rank) & 1 != 0 {
                log.written(
                    rank,
                    COLLECTIVE_UNIT,
                    cycle,
                    call[2],
                    phit_words.count_ones(),
                    0,
                );
            }
        }
    }

    fn axi_tick(&mut self, input: &[u32], output: &mut [u32]) {
        if let Some(setting) = &mut self.setting {
            if setting.tick(input, output) {
                self.setting = None;
            }
            if let Some(copies) = &mut self.copies {
                copies.is_offered = false;
            }
            return;
        }
        if let Some(copies) = &mut self.copies {
            if copies.is_offered {
                copies.taken.extend(HostCopy::of(input));
            }
            copies.is_offered = copies.taken.len() < MOST_COPIES;
            if copies.is_offered {
                output[0] = TAKES_COPIES;
            }
            return;
        }
        let Some(link) = &mut self.link else { return };
        let now = self.cycle;
        let upstream = link.figures.upstream;
        for arrival in link.tick(now, input, output).into_iter().flatten() {
            self.alarm = self.alarm.min(now + 1);
            match arrival {
                Arrival::Posted { rank, posts } => {
                    if let Some(log) = &mut self.log {
                        (0..posts).for_each(|_| log.taken(rank, now - 1));
                    }
                    let lane = &mut self.lanes[rank];
                    lane.on_link -= posts;
                    if lane.on_link == 0 {
                        lane.delivered(now);
                    }
                }
                Arrival::Loaded { rank, data } => {
                    let lane = &mut self.lanes[rank];
                    lane.loaded.extend(data);
                    lane.loads = lane.loads.saturating_sub(1);
                    if lane.loads == 0 {
                        let data = std::mem::take(&mut lane.loaded);
                        lane.reply(now + upstream, Why::Data(data));
                    }
                }
                Arrival::Moved { rank, data } => {
                    let why = if data.is_empty() {
                        Why::Done
                    } else {
                        Why::Data(data)
                    };
                    self.lanes[rank].reply(now + 1, why);
                }
                Arrival::Copied { destination, data } => {
                    let (rank, at) = (destination / HOST_RING, destination % HOST_RING);
                    let lane = rank
                        .checked_sub(1)
                        .and_then(|rank| self.lanes.get_mut(rank as usize));
                    let place = |lane: &mut Lane| {
                        let place = lane.ring.get_mut(at as usize..)?.get_mut(..data.len())?;
                        place.copy_from_slice(&data);
                        lane.is_copied = true;
                        Some(())
                    };
                    // A copy to memory that was given back is lost, as an IOMMU stops it.
                    lane.and_then(place);
                }
            }
        }
    }

    /// Makes a ring in host memory for a rank. Returns the bus address of the ring, or none without
    /// a link.
    pub(crate) fn pin(&mut self, rank: usize, bytes: usize) -> Option<u64> {
        self.link.as_ref()?;
        self.lanes[rank].ring = vec![0; bytes];
        Some((rank as u64 + 1) * HOST_RING)
    }

    /// A rank's ring in host memory.
    pub(crate) fn ring(&self, rank: usize) -> &[u8] {
        &self.lanes[rank].ring
    }
}

/// Returns the edge at which the host may see a raised interrupt.
fn heard_at(lane: &Lane, link: &Link) -> u64 {
    lane.raised_at.max(lane.settled_at) + link.figures.interrupt
}

/// The check of a lane's wait at an edge.
struct Look<'a> {
    lane: &'a Lane,
    link: Option<&'a Link>,
    now: u64,
    is_raised: bool,
}

impl Look<'_> {
    /// Returns the reason of the wait's end, if it ends; the next edge to check; and whether a
    /// raised interrupt needs an earlier check.
    fn at_want(&self) -> (Option<Why>, u64, bool) {
        let (lane, now) = (self.lane, self.now);
        let is_delivered = lane.backlog() == 0;
        match lane.want {
            Some(Want::Interrupt { entries: true, .. }) if lane.is_copied => {
                (Some(Why::Copied), NEVER, false)
            }
            Some(Want::Interrupt { deadline, .. }) => {
                if !is_delivered {
                    return self.until(deadline, Why::Deadline);
                }
                if now < lane.settled_at {
                    let (why, next, _) = self.until(deadline, Why::Deadline);
                    return (why, next.min(lane.settled_at), false);
                }
                let heard_at = self.link.map_or(now, |link| heard_at(lane, link));
                if self.is_raised && heard_at <= now {
                    return (Some(Why::Interrupt), NEVER, false);
                }
                let (why, next, _) = self.until(deadline, Why::Deadline);
                if self.is_raised {
                    (why, next.min(heard_at), false)
                } else {
                    (why, next, true)
                }
            }
            Some(Want::Effect) if is_delivered => self.until(lane.effect_at, Why::Done),
            Some(Want::Room) if is_delivered => (Some(Why::Done), NEVER, false),
            Some(Want::Until(cycle)) => self.until(cycle, Why::Done),
            _ => (None, NEVER, false),
        }
    }

    fn until(&self, cycle: u64, why: Why) -> (Option<Why>, u64, bool) {
        if cycle <= self.now {
            (Some(why), NEVER, false)
        } else {
            (None, cycle, false)
        }
    }
}

impl Dpi for Mailbox {
    fn call(&mut self, function: usize, input: &[u32], output: &mut [u32]) -> Flow {
        match function {
            HOST_TICK => return self.tick(input[0] & 0xffff, output),
            MONITOR => self.monitor(input),
            AXI_TICK => self.axi_tick(input, output),
            MEMORY => self.memory(input),
            LINK_SEND => self.link_send(input),
            LINK_RECV => self.link_recv(output),
            _ => {}
        }
        Flow::Continue
    }
}
