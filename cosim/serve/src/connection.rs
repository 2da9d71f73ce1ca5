//! One connection: requests about boards, and possibly a rank.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use alcor::{Board, Causes, Cycle, Error, NodeAddr, PageOffset, Port, Wake};
use alcor_cosim::SimBoard;
use alcor_shm::channel::Channel;
use alcor_shm::fault::Fault;
use alcor_shm::mailbox::{Answer, Ask, Asked, ClusterEnd, Posted};
use alcor_shm::wire::{self, Hello, Reply, Request, VERSION, Welcome};

use crate::server::{End, Shared};

/// Serves the requests of a connection until its other end is closed.
pub(crate) fn serve(channel: Channel, shared: &Shared) {
    // The client reports an error of the connection; the end of a rank has been recorded.
    let _ = converse(channel, shared);
}

fn converse(channel: Channel, shared: &Shared) -> io::Result<()> {
    let Hello { version } = channel.receive()?;
    if version != VERSION {
        return channel.send(&Welcome::OtherVersion { version: VERSION });
    }
    channel.send(&Welcome::Cluster(shared.description()))?;
    loop {
        let request: Request = channel.receive()?;
        if let Request::Attach { board, rank } = request {
            let watched = channel.try_clone()?;
            let attached =
                board_of(shared, board).and_then(|board| Ok((board, shared.attach(board, rank)?)));
            match attached {
                Ok((board, port)) => return host(channel, &watched, shared, board, rank, port),
                Err(error) => channel.send(&Reply::Failed(Fault::from(&error)))?,
            }
            continue;
        }
        let reply = answer(shared, &request);
        channel.send(&reply.unwrap_or_else(|error| Reply::Failed(Fault::from(&error))))?;
    }
}

fn board_of(shared: &Shared, number: u32) -> Result<&SimBoard, Error> {
    let board = shared.sim.boards().get(number as usize);
    board.map(Arc::as_ref).ok_or_else(|| Error::BadOption {
        option: "board",
        value: u64::from(number),
        rule: "it must be the number of one of the cluster's boards",
    })
}

fn answer(shared: &Shared, request: &Request) -> Result<Reply, Error> {
    match *request {
        Request::Read { board, offset } => {
            let value = board_of(shared, board)?.read32(PageOffset(offset))?;
            Ok(Reply::Value(value))
        }
        Request::Write {
            board,
            offset,
            value,
        } => {
            board_of(shared, board)?.write32(PageOffset(offset), value)?;
            Ok(Reply::Done)
        }
        Request::Reset { board } => {
            shared.reset(board_of(shared, board)?)?;
            Ok(Reply::Done)
        }
        Request::Expect { board, ports } => {
            board_of(shared, board)?.expect(ports)?;
            Ok(Reply::Done)
        }
        Request::Digest { board } => {
            let digest = board_of(shared, board)?.traffic_digest();
            Ok(Reply::Digest(digest))
        }
        Request::Attach { .. } => Ok(Reply::Done),
    }
}

/// Serves a rank until its port is gone or its process dies. Another thread watches for the death,
/// because this thread may be waiting in the port.
fn host(
    channel: Channel,
    watched: &Channel,
    shared: &Shared,
    board: &SimBoard,
    rank: u32,
    mut port: Box<dyn Port>,
) -> io::Result<()> {
    let attachment = Attachment {
        shared,
        board,
        rank,
        has_ended: AtomicBool::new(false),
    };
    let attached = Reply::Attached {
        now: port.now().map_or(0, |now| now.0),
        wants_notes: port.run_view().is_some_and(|view| view.wants_notes()),
    };
    let mut port = Some(port);
    let hosted = thread::scope(|scope| {
        let mut client = Client {
            attachment: &attachment,
            end: ClusterEnd::create(board.shape().node_bytes as usize, channel)?,
            data: Vec::new(),
        };
        client
            .end
            .channel()
            .send_with(&attached, Some(client.end.segment().file()))?;
        scope.spawn(|| {
            watched.wait_for_the_end();
            attachment.died();
        });
        let served = client.serve(&mut port);
        client.end.channel().hang_up();
        served
    });
    if let Some(port) = port {
        // The process may have died before the other thread began to watch.
        attachment.died();
        shared.part(board, rank, port, End::Died);
    }
    hosted
}

/// The attachment of a rank of another process.
struct Attachment<'a> {
    shared: &'a Shared,
    board: &'a SimBoard,
    rank: u32,
    /// Whether the port was dropped, or the death of the process was reported. The flag is set
    /// before the process learns of the drop, so a later end of the connection does not count as a
    /// death.
    has_ended: AtomicBool,
}

impl Attachment<'_> {
    /// Reports the death of the process, unless the attachment has ended.
    fn died(&self) {
        if !self.has_ended.swap(true, Ordering::SeqCst) {
            self.shared.died(self.board, self.rank);
        }
    }
}

/// A rank of another process.
struct Client<'a> {
    attachment: &'a Attachment<'a>,
    end: ClusterEnd,
    /// Bytes on their way between the mailbox and node memory.
    data: Vec<u8>,
}

impl Client<'_> {
    /// Serves the rank's requests until its port is gone.
    fn serve(&mut self, port: &mut Option<Box<dyn Port>>) -> io::Result<()> {
        while let Some(present) = port {
            let asked = self.end.asked()?;
            let result = self.take(&mut **present, asked);
            let now = present.now().map_or(0, |now| now.0);
            let end = match asked.ask {
                Some(Ask::Leave) => Some(End::Left),
                Some(Ask::Drop) => Some(End::Dropped),
                _ => None,
            };
            if let Some((end, port)) = end.zip(port.take_if(|_| end.is_some())) {
                let Attachment {
                    shared,
                    board,
                    rank,
                    ..
                } = *self.attachment;
                self.attachment.has_ended.store(true, Ordering::SeqCst);
                shared.part(board, rank, port, end);
            }
            if result.is_err() && self.end.channel().is_gone() {
                // The server has closed the connection to end. The rank gets this error, and not
                // that of its port.
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Err(Error::RankAway { ranks, .. }) = &result {
                self.attachment.shared.are_away(ranks);
            }
            let result = result.map_err(|error| Fault::from(&error));
            self.end.answer(&Answer { now, result })?;
        }
        Ok(())
    }

    fn take(&mut self, port: &mut dyn Port, asked: Asked) -> Result<u32, Error> {
        for posted in self.end.posts(&asked) {
            match posted {
                Posted::Write { offset, value } => port.write32(PageOffset(offset), value)?,
                Posted::Note(note) => {
                    if let Some(view) = port.run_view() {
                        view.note(note);
                    }
                }
            }
        }
        match asked.ask {
            Some(Ask::Take) => Ok(0),
            Some(Ask::Read { offset }) => port.read32(PageOffset(offset)),
            Some(Ask::ReadBoard { offset }) => port.read_board32(PageOffset(offset)),
            Some(Ask::WriteMemory { at, bytes }) => {
                self.room_for(bytes)?;
                // The data that fits has been copied.
                let _ = self.end.load(&mut self.data);
                port.write_memory(NodeAddr(at), &self.data)?;
                Ok(0)
            }
            Some(Ask::ReadMemory { at, bytes }) => {
                self.room_for(bytes)?;
                port.read_memory(NodeAddr(at), &mut self.data)?;
                let _ = self.end.store(&self.data);
                Ok(0)
            }
            Some(Ask::Wait { awaited, deadline }) => {
                Ok(match port.wait(Causes(awaited), Cycle(deadline))? {
                    Wake::Raised(raised) => raised.0,
                    _ => 0,
                })
            }
            Some(Ask::TellWait { bytes }) => {
                self.room_for(bytes)?;
                // The data that fits has been copied.
                let _ = self.end.load(&mut self.data);
                let wait = wire::wait_of(&self.data);
                if let Some(view) = port.run_view() {
                    view.tell_wait(wait.as_ref())?;
                }
                Ok(0)
            }
            Some(Ask::Sight) => {
                let view = port.run_view();
                let sight = view.map_or(Ok(None), |view| view.sight())?;
                let text = sight.as_ref().map(wire::bytes_of_sight);
                let text = text.filter(|text| self.end.store(text));
                Ok(text.map_or(0, |text| text.len() as u32))
            }
            Some(Ask::Deaths) => {
                let Some(ranks) = port.deaths()? else {
                    return Ok(0);
                };
                let words: Vec<u8> = ranks.iter().flat_map(|rank| rank.0.to_le_bytes()).collect();
                // The mailbox has room for the numbers of all ranks of a run.
                let is_there = self.end.store(&words);
                Ok(if is_there { 1 + ranks.len() as u32 } else { 0 })
            }
            Some(Ask::Leave) => port.leave().map(|()| 0),
            Some(Ask::Drop) => Ok(0),
            None => Err(Error::BadOption {
                option: "request",
                value: 0,
                rule: "it must be one of those of the mailbox",
            }),
        }
    }

    /// Resizes the buffer for this number of bytes, if the mailbox has room for them.
    fn room_for(&mut self, bytes: u32) -> Result<(), Error> {
        if bytes as usize > self.end.data_bytes() {
            return Err(Error::BadOption {
                option: "bytes",
                value: u64::from(bytes),
                rule: "there are no more than the mailbox has room for",
            });
        }
        self.data.clear();
        self.data.resize(bytes as usize, 0);
        Ok(())
    }
}
