//! The connection between the process of a rank and the process of the cluster.

use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Maximum size of a message in bytes.
const MESSAGE_BYTES: usize = 1 << 16;

/// Prefix of a cluster's name in the abstract name space.
const PREFIX: &str = "alcor-";

fn address(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{PREFIX}{name}"))
}

/// Listens for connections to the cluster of this name.
///
/// # Errors
/// [`io::ErrorKind::AddrInUse`] if a cluster of this name exists; other errors of the system.
pub fn listen(name: &str) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&address(name)?)
}

/// One end of a connection.
#[derive(Debug)]
pub struct Channel(UnixStream);

impl Channel {
    /// Connects to the cluster of this name.
    ///
    /// # Errors
    /// [`io::ErrorKind::ConnectionRefused`] if there is no such cluster.
    pub fn connect(name: &str) -> io::Result<Channel> {
        UnixStream::connect_addr(&address(name)?).map(Channel)
    }

    /// Makes the cluster's end of an accepted connection.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] if the peer is another user. A name in the abstract name
    /// space is open to all users.
    pub fn accept(stream: UnixStream) -> io::Result<Channel> {
        let peer = rustix::net::sockopt::socket_peercred(&stream)?;
        if peer.uid != rustix::process::geteuid() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(Channel(stream))
    }

    /// Duplicates this end.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn try_clone(&self) -> io::Result<Channel> {
        self.0.try_clone().map(Channel)
    }

    /// Sends a message.
    ///
    /// # Errors
    /// If the other end is gone; [`io::ErrorKind::InvalidInput`] if the message is too long.
    pub fn send(&self, message: &impl Serialize) -> io::Result<()> {
        self.send_with(message, None)
    }

    /// Sends a message together with a file descriptor.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_with(&self, message: &impl Serialize, file: Option<BorrowedFd>) -> io::Result<()> {
        let text = serde_json::to_vec(message)?;
        if text.len() > MESSAGE_BYTES {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let files = file.as_slice();
        if file.is_some() {
            // The buffer has room for one message.
            control.push(SendAncillaryMessage::ScmRights(files));
        }
        let length = (text.len() as u32).to_le_bytes();
        let sent = rustix::net::sendmsg(
            &self.0,
            &[IoSlice::new(&length)],
            &mut control,
            SendFlags::NOSIGNAL,
        )?;
        self.send_all(&length[sent..])?;
        self.send_all(&text)
    }

    fn send_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match rustix::net::send(&self.0, bytes, SendFlags::NOSIGNAL) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Receives a message.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if the other end is gone; [`io::ErrorKind::InvalidData`] if
    /// the data is not a message of this type.
    pub fn receive<T: DeserializeOwned>(&self) -> io::Result<T> {
        self.receive_with().map(|(message, _)| message)
    }

    /// Receives a message, and the file descriptor that came with it.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn receive_with<T: DeserializeOwned>(&self) -> io::Result<(T, Option<OwnedFd>)> {
        let mut length = [0; 4];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let got = loop {
            let mut parts = [IoSliceMut::new(&mut length)];
            match rustix::net::recvmsg(&self.0, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
                Ok(received) => break received.bytes,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        };
        let file = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        (&self.0).read_exact(&mut length[got..])?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MESSAGE_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut text = vec![0; length];
        (&self.0).read_exact(&mut text)?;
        Ok((serde_json::from_slice(&text)?, file))
    }

    /// Wakes the other end, which sleeps in [`doze`](Self::doze) now or later.
    ///
    /// # Errors
    /// If the other end is gone.
    pub fn ring(&self) -> io::Result<()> {
        self.send_all(&[1])
    }

    /// Sleeps until the other end rings. Returns at least once for each ring.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if the other end is gone.
    pub fn doze(&self) -> io::Result<()> {
        loop {
            match (&self.0).read(&mut [0; 64]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until the other end is gone, or this end was [hung up](Self::hang_up).
    pub fn wait_for_the_end(&self) {
        let mut polled = [PollFd::new(&self.0, PollFlags::RDHUP)];
        while let Err(rustix::io::Errno::INTR) = rustix::event::poll(&mut polled, None) {}
    }

    /// Returns whether the other end is gone, or this end was hung up.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        let mut polled = [PollFd::new(&self.0, PollFlags::RDHUP)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        matches!(rustix::event::poll(&mut polled, Some(&at_once)), Ok(1..))
    }

    /// Ends the connection for both sides.
    pub fn hang_up(&self) {
        // A failure means that the other side has ended the connection.
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn messages_arrive_with_their_files() {
        let (a, b) = UnixStream::pair().unwrap();
        let (a, b) = (Channel(a), Channel(b));
        a.send(&"first").unwrap();
        let (file, _other) = UnixStream::pair().unwrap();
        a.send_with(&"second", Some(file.as_fd())).unwrap();
        a.ring().unwrap();
        assert!(matches!(b.receive_with::<String>(), Ok((text, None)) if text == "first"));
        assert!(matches!(b.receive_with::<String>(), Ok((text, Some(_))) if text == "second"));
        b.doze().unwrap();
        assert!(a.send(&"x".repeat(MESSAGE_BYTES)).is_err());
        assert!(!b.is_gone());
        drop(a);
        b.wait_for_the_end();
        assert!(b.is_gone());
        let gone = b.doze().unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::UnexpectedEof);
        assert!(b.ring().is_err());
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let (a, b) = UnixStream::pair().unwrap();
        let (a, b) = (Channel(a), Channel(b));
        a.send_all(&u32::MAX.to_le_bytes()).unwrap();
        let kind = |error: io::Error| error.kind();
        assert_eq!(
            b.receive::<u32>().map_err(kind),
            Err(io::ErrorKind::InvalidData)
        );
        a.send(&"text").unwrap();
        assert_eq!(
            b.receive::<u32>().map_err(kind),
            Err(io::ErrorKind::InvalidData)
        );
    }
}
