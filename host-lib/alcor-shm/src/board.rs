//! A board that another process simulates.

use std::sync::{Arc, Mutex, PoisonError};

use alcor::{Board, Error, LocalRank, PageOffset, Port};

use crate::ShmError;
use crate::backend::connect;
use crate::channel::Channel;
use crate::mailbox::RankEnd;
use crate::port::{ShmPort, check_register};
use crate::segment::Segment;
use crate::wire::{Reply, Request};

/// A board of a cluster. Boards that were opened together share a connection. Each port has a
/// connection of its own.
pub(crate) struct ShmBoard {
    cluster: String,
    name: String,
    number: u32,
    channel: Arc<Mutex<Channel>>,
}

impl ShmBoard {
    pub(crate) fn new(
        cluster: &str,
        name: String,
        number: u32,
        channel: Arc<Mutex<Channel>>,
    ) -> ShmBoard {
        ShmBoard {
            cluster: cluster.into(),
            name,
            number,
            channel,
        }
    }

    fn ask(&self, request: &Request) -> Result<Reply, Error> {
        let channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = channel.send(request).and_then(|()| channel.receive());
        self.reply(reply.map_err(|_| ShmError::Gone.on(&self.name))?)
    }

    fn reply(&self, reply: Reply) -> Result<Reply, Error> {
        match reply {
            Reply::Failed(fault) => Err(fault.into_error(&self.name)),
            reply => Ok(reply),
        }
    }

    fn unexpected(&self) -> Error {
        ShmError::Simulator {
            message: "the answer belongs to another request".into(),
        }
        .on(&self.name)
    }

    fn tell(&self, request: &Request) -> Result<(), Error> {
        match self.ask(request)? {
            Reply::Done => Ok(()),
            _ => Err(self.unexpected()),
        }
    }

    fn on(&self) -> impl FnOnce(ShmError) -> Error {
        |error| error.on(&self.name)
    }

    fn attach_rank(&self, rank: u32) -> Result<ShmPort, Error> {
        let (channel, _) = connect(&self.cluster).map_err(self.on())?;
        let request = Request::Attach {
            board: self.number,
            rank,
        };
        let reply = channel
            .send(&request)
            .and_then(|()| channel.receive_with::<Reply>());
        let (reply, memory) = reply.map_err(|_| ShmError::Gone.on(&self.name))?;
        let (Reply::Attached { now, wants_notes }, Some(memory)) = (self.reply(reply)?, memory)
        else {
            return Err(self.unexpected());
        };
        let segment = Segment::open(memory).map_err(|error| error.to_string());
        let end = segment.and_then(|segment| RankEnd::open(segment, channel));
        let end = end.map_err(|problem| ShmError::BadMailbox { rank, problem }.on(&self.name))?;
        Ok(ShmPort::new(self.name.clone(), rank, end, now, wants_notes))
    }
}

impl Board for ShmBoard {
    fn name(&self) -> &str {
        &self.name
    }

    fn read32(&self, offset: PageOffset) -> Result<u32, Error> {
        check_register(offset, &self.name)?;
        let request = Request::Read {
            board: self.number,
            offset: offset.0,
        };
        match self.ask(&request)? {
            Reply::Value(value) => Ok(value),
            _ => Err(self.unexpected()),
        }
    }

    fn write32(&self, offset: PageOffset, value: u32) -> Result<(), Error> {
        check_register(offset, &self.name)?;
        self.tell(&Request::Write {
            board: self.number,
            offset: offset.0,
            value,
        })
    }

    fn reset(&self) -> Result<(), Error> {
        self.tell(&Request::Reset { board: self.number })
    }

    fn expect(&self, ports: u32) -> Result<(), Error> {
        self.tell(&Request::Expect {
            board: self.number,
            ports,
        })
    }

    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>, Error> {
        Ok(Box::new(self.attach_rank(rank.0)?))
    }

    fn traffic_digest(&self) -> Option<u32> {
        match self.ask(&Request::Digest { board: self.number }) {
            Ok(Reply::Digest(digest)) => digest,
            _ => None,
        }
    }

    fn time_stands_still(&self) -> bool {
        true
    }
}
