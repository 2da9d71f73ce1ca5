//! A simulated board in one process, with device nodes in others: the board is served over a socket.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use alcor_cosim::FreeBoard;
use xdma::standin::{Device, Shape, StandIn};

pub mod process;

/// Operations of the socket protocol. A request has an operation, an address and a length; a write
/// also has data.
const READ_REGISTER: u8 = 0;
const WRITE_REGISTER: u8 = 1;
const READ: u8 = 2;
const WRITE: u8 = 3;
const PASS: u8 = 4;

/// A board in another process.
struct Remote(Mutex<UnixStream>);

impl Remote {
    fn ask(&self, what: u8, at: u64, data: &[u8], answer: &mut [u8]) -> io::Result<()> {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let length = data.len().max(answer.len()) as u32;
        let mut asked = vec![what];
        asked.extend(at.to_le_bytes());
        asked.extend(length.to_le_bytes());
        asked.extend(data);
        stream.write_all(&asked)?;
        stream.read_exact(answer)
    }
}

impl Device for Remote {
    fn read32(&self, offset: u64) -> u32 {
        let mut word = [0; 4];
        match self.ask(READ_REGISTER, offset, &[], &mut word) {
            Ok(()) => u32::from_le_bytes(word),
            Err(_) => u32::MAX,
        }
    }

    fn write32(&self, offset: u64, value: u32) {
        let _ = self.ask(WRITE_REGISTER, offset, &value.to_le_bytes(), &mut []);
    }

    fn read(&self, at: u64, buffer: &mut [u8]) -> bool {
        self.ask(READ, at, &[], buffer).is_ok()
    }

    fn write(&self, at: u64, data: &[u8]) -> bool {
        self.ask(WRITE, at, data, &mut []).is_ok()
    }

    fn pass(&self) -> Option<u32> {
        let mut word = [0; 4];
        self.ask(PASS, 0, &[], &mut word).ok()?;
        Some(u32::from_le_bytes(word))
    }
}

/// For each process, the interrupts that have risen and that the process has not read yet.
type Risen = Mutex<Vec<u32>>;

/// Serves one process until the connection ends.
fn serve(board: &FreeBoard, risen: &Risen, me: usize, mut stream: UnixStream) -> io::Result<()> {
    let wrong = io::Error::other;
    loop {
        let mut head = [0; 13];
        stream.read_exact(&mut head)?;
        let at = u64::from_le_bytes(std::array::from_fn(|i| head[1 + i]));
        let mut data = vec![0; u32::from_le_bytes(std::array::from_fn(|i| head[9 + i])) as usize];
        if matches!(head[0], WRITE_REGISTER | WRITE) {
            stream.read_exact(&mut data)?;
        }
        match head[0] {
            READ_REGISTER => {
                let word = board.read32(at as u32).map_err(wrong)?;
                stream.write_all(&word.to_le_bytes())?;
            }
            WRITE_REGISTER => {
                let word = u32::from_le_bytes(std::array::from_fn(|i| data[i]));
                board.write32(at as u32, word).map_err(wrong)?;
            }
            READ => {
                board.load(at, &mut data).map_err(wrong)?;
                stream.write_all(&data)?;
            }
            WRITE => {
                board.store(at, &data).map_err(wrong)?;
            }
            _ => {
                let new = board.pass().map_err(wrong)?;
                let mut risen = risen.lock().unwrap_or_else(PoisonError::into_inner);
                risen.iter_mut().for_each(|risen| *risen |= new);
                let mine = std::mem::take(&mut risen[me]);
                drop(risen);
                stream.write_all(&mine.to_le_bytes())?;
            }
        }
    }
}

/// Serves a board at a socket, until this process ends.
pub fn offer(board: FreeBoard, path: &Path) {
    let (board, risen) = (Arc::new(board), Arc::new(Risen::default()));
    let listener = UnixListener::bind(path).expect("a socket");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let (board, risen) = (Arc::clone(&board), Arc::clone(&risen));
            let mut all = risen.lock().unwrap_or_else(PoisonError::into_inner);
            let me = all.len();
            all.push(0);
            drop(all);
            // A read error means that the process has ended.
            thread::spawn(move || serve(&board, &risen, me, stream));
        }
    });
}

/// The nodes of this process for the board at a socket.
pub fn nodes(path: &Path, user_bytes: u64, ranks: u32) -> StandIn {
    let stream = UnixStream::connect(path).expect("the board");
    let shape = Shape {
        user_bytes,
        bypass_bytes: 0,
        channels: ranks,
        events: ranks,
        alignment: 64,
    };
    StandIn::with(shape, Remote(Mutex::new(stream))).expect("a stand-in")
}
