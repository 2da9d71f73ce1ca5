//! Flow control of messages: how many may be under way to each destination, and which are sent again.
//!
//! With [`FlowControl::GoBackN`], a receiver without room refuses a message, and all later ones of
//! its source until the message comes again. The refused messages go back into the queue of their
//! destination, in the order of their serial numbers and before all new ones. When a refusal arrives,
//! the messages sent after the refused one are refused too, though their refusals may not have arrived.
//! So the sender goes back to the refused message, and sends each later one when its refusal is there.

use alcor_abi::packets::x_message;

use super::{Messages, PAUSE, Queued, longer};
use crate::request::{Held, Outcome};
use crate::{BoardInfo, Cycle, FlowControl};

/// Maximum number of messages under way to a destination, so that no two have the same number in
/// the hardware.
const WINDOW: u32 = x_message::SERIAL.max() - 1;

/// The messages to one destination.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    /// Maximum number of messages under way.
    pub(super) window: u32,
    /// Serial number of the next new message.
    new: u64,
    /// Serial number of the next message to be sent. All later ones have been refused, or are new.
    next: u64,
    /// Time at which the refused messages are sent again; `None`: now.
    resume_at: Option<Cycle>,
    /// Cycles until then, for each source that the receiver refuses.
    pause: u64,
}

/// Flow control of a rank's messages.
#[derive(Debug)]
pub(super) struct Flow {
    control: FlowControl,
    /// Maximum of [`Stream::window`].
    window: u32,
    /// By destination.
    pub(super) streams: Vec<Stream>,
    /// Serial numbers of the messages under way, by command id.
    serials: Vec<u64>,
}

impl Flow {
    /// Makes the flow control for a rank whose peers hold `quota` of its messages each.
    pub(super) fn new(control: FlowControl, quota: u32, info: &BoardInfo, nprocs: u32) -> Flow {
        // A kernel sends one message at a time.
        let own = info.kernel_messages().min(1);
        let window = match control {
            FlowControl::Credits => quota.saturating_sub(own).max(1),
            FlowControl::GoBackN => WINDOW.min(info.message_depth).max(1),
        };
        let stream = Stream {
            window,
            new: 0,
            next: 0,
            resume_at: None,
            pause: *PAUSE.start(),
        };
        Flow {
            control,
            window,
            streams: vec![stream; nprocs as usize],
            serials: match control {
                FlowControl::Credits => Vec::new(),
                FlowControl::GoBackN => vec![0; info.message_depth as usize],
            },
        }
    }

    fn goes_back(&self) -> bool {
        self.control == FlowControl::GoBackN
    }

    /// Gives a message to `target` its serial number, unless it has one. The message is posted now.
    /// Returns the number in the form of the hardware; 0 without serial numbers.
    pub(super) fn number(&mut self, target: usize, serial: &mut Option<u64>) -> u32 {
        if !self.goes_back() {
            return 0;
        }
        let stream = &mut self.streams[target];
        let serial = *serial.get_or_insert_with(|| {
            stream.new += 1;
            stream.new - 1
        });
        if serial == stream.next {
            stream.next += 1;
        }
        // 0 is no number, and 1 that of the first message.
        match serial.checked_sub(1) {
            None => 1,
            Some(later) => 2 + (later % u64::from(WINDOW)) as u32,
        }
    }

    /// Records the serial number of a message under way.
    pub(super) fn posted(&mut self, id: u16, serial: Option<u64>) {
        if let Some(serial) = serial {
            self.serials[usize::from(id)] = serial;
        }
    }

    /// Records that a receiver has taken a message.
    pub(super) fn received(&mut self, target: usize) {
        if self.goes_back() {
            let stream = &mut self.streams[target];
            stream.window = (stream.window + 1).min(self.window);
            stream.pause = *PAUSE.start();
            stream.resume_at = None;
        }
    }
}

impl Messages {
    /// Number of unexpected messages of a source for which a receiver keeps room.
    pub(crate) fn quota(&self) -> u32 {
        match self.flow.control {
            FlowControl::Credits => self.quota,
            FlowControl::GoBackN => u32::from(u16::MAX),
        }
    }

    /// Returns the least number of unexpected messages at which a source may lack room or ids.
    pub(super) fn crowd(&self) -> u32 {
        match self.flow.control {
            FlowControl::Credits => self.flow.window,
            FlowControl::GoBackN => self.flow.window.min(self.share()),
        }
    }

    /// Returns whether refused messages are sent again.
    pub(crate) fn goes_back(&self) -> bool {
        self.flow.goes_back()
    }

    /// Returns whether messages are under way that may be refused and sent again.
    pub(crate) fn may_go_back(&self) -> bool {
        self.goes_back() && self.sent.iter().any(|&sent| sent > 0)
    }

    /// Puts a refused message back into the queue of its destination, before all messages with a
    /// greater serial number. `line` is the number of sources that the destination refuses.
    pub(crate) fn go_back(&mut self, id: u16, outcome: Outcome, held: Held, line: u32, now: Cycle) {
        let Some(&message) = outcome.message() else {
            return;
        };
        let Some(target) = message.peer else {
            return;
        };
        self.left(&message);
        let target = target.0 as usize;
        let serial = self.flow.serials[usize::from(id)];
        let queue = &mut self.sends[target];
        let place = queue.partition_point(|queued| queued.serial.is_some_and(|it| it < serial));
        queue.insert(
            place,
            Queued {
                outcome,
                held,
                serial: Some(serial),
            },
        );
        self.waiting += 1;
        let stream = &mut self.flow.streams[target];
        stream.next = stream.next.min(serial);
        // The receiver holds the messages that it does not refuse.
        stream.window = stream.window.min(self.sent[target] + 1);
        if place == 0 {
            let cycles = stream.pause.saturating_mul(u64::from(line));
            stream.resume_at = Some(Cycle(now.0.saturating_add(cycles)));
            stream.pause = longer(stream.pause);
        }
    }

    /// Returns whether refused messages wait for their time.
    pub(super) fn is_paused(&self) -> bool {
        self.next_resumption() < Cycle(u64::MAX)
    }

    /// Returns the earliest time at which refused messages are sent again.
    pub(super) fn next_resumption(&self) -> Cycle {
        if !self.goes_back() {
            return Cycle(u64::MAX);
        }
        let streams = self.flow.streams.iter();
        let times = streams.filter_map(|stream| stream.resume_at);
        times.min().unwrap_or(Cycle(u64::MAX))
    }

    /// Ends the pauses that are over.
    pub(super) fn resume(&mut self, now: Cycle) {
        for stream in &mut self.flow.streams {
            stream.resume_at.take_if(|at| *at <= now);
        }
    }
}

impl Stream {
    /// Returns whether the first message of the queue may be sent while `sent` messages are under way.
    pub(super) fn may_send(&self, first: &Queued, sent: u32) -> bool {
        let is_next = first.serial.unwrap_or(self.new) == self.next;
        is_next && sent < self.window && self.resume_at.is_none()
    }
}
