//! Boards as a host sees them, without one: `standin:<config>`.
//!
//! The library's backend for boards ([`alcor_xdma`]) opens device nodes that [`xdma::standin`] serves in this process, and behind
//! these is a simulated board ([`alcor_cosim::FreeBoard`]). So all that a host does with a board is done, but the kernel's driver and
//! the bus: register pages by mapping, DMA by transfers that are aligned and short, interrupts by events, locks by files.
//!
//! Time moves with each access and while somebody waits, so cycle counts are not the same in every run, and digests of traffic are not there.
//!
//! ```no_run
//! use alcor::{Backends, Job};
//! use alcor_standin::StandInBackend;
//!
//! let board = Backends::new().with(StandInBackend::new()).open("standin:rma2")?;
//! Job::new(board)?.run(2, |rank| rank.barrier())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

use std::sync::Mutex;

use alcor::{Backend, Cluster, Error, Result};
use alcor_cosim::{CosimBackend, CosimError, FreeBoard};
use alcor_xdma::{XdmaBackend, XdmaError};
use xdma::standin::{Device, Shape, StandIn};

/// The backend of `standin:<config>`, with the options of `cosim:`.
#[derive(Default)]
pub struct StandInBackend {
    cosim: CosimBackend,
}

impl StandInBackend {
    /// The scheme of its URIs.
    pub const SCHEME: &'static str = "standin";

    /// Over boards that `CosimBackend::new` opens.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Over the boards of another.
    #[must_use]
    pub fn over(cosim: CosimBackend) -> Self {
        Self { cosim }
    }

    /// Serves the nodes of a simulated board, for who wants to cause faults.
    ///
    /// # Errors
    /// What the simulation says, or when there is no scratch folder.
    pub fn serve(&self, rest: &str) -> Result<StandIn> {
        let name = format!("{}:{rest}", Self::SCHEME);
        let board = self
            .cosim
            .open_free(rest)
            .map_err(|error| error.on(&name))?;
        let ranks = board.shape().ranks;
        let shape = Shape {
            // A BAR is as long as a power of two.
            user_bytes: u64::from(board.register_bytes().next_power_of_two()),
            bypass_bytes: 0,
            channels: ranks.min(4),
            events: ranks,
            alignment: 64,
        };
        let device = Simulated {
            name: name.clone(),
            board,
            failed: Mutex::new(false),
        };
        StandIn::with(shape, device).map_err(|error| Error::Board {
            board: name,
            source: Box::new(XdmaError::from(error)),
        })
    }

    /// The backend for boards over such nodes; lock files lie in the stand-in's scratch folder.
    #[must_use]
    pub fn backend(standin: &StandIn) -> XdmaBackend {
        XdmaBackend::on(standin.machine()).locks(standin.sys().join("locks"))
    }
}

impl Backend for StandInBackend {
    fn scheme(&self) -> &str {
        Self::SCHEME
    }

    fn open(&self, rest: &str) -> Result<Cluster> {
        Self::backend(&self.serve(rest)?).open("auto")
    }
}

/// A simulated board as the design behind the nodes.
struct Simulated {
    name: String,
    board: FreeBoard,
    failed: Mutex<bool>,
}

impl Simulated {
    /// A model that has failed is a card that no longer answers; why is said once.
    fn answer<T>(&self, result: std::result::Result<T, CosimError>) -> Option<T> {
        result
            .map_err(|error| {
                let mut failed = self
                    .failed
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                if !std::mem::replace(&mut failed, true) {
                    eprintln!("{}: {error}", self.name);
                }
            })
            .ok()
    }
}

impl Device for Simulated {
    fn read32(&self, offset: u64) -> u32 {
        // Behind the last page nobody answers.
        match offset < u64::from(self.board.register_bytes()) {
            true => self
                .answer(self.board.read32(offset as u32))
                .unwrap_or(u32::MAX),
            false => u32::MAX,
        }
    }

    fn write32(&self, offset: u64, value: u32) {
        if offset < u64::from(self.board.register_bytes()) {
            self.answer(self.board.write32(offset as u32, value));
        }
    }

    fn read(&self, at: u64, buffer: &mut [u8]) -> bool {
        self.answer(self.board.load(at, buffer)).unwrap_or(false)
    }

    fn write(&self, at: u64, data: &[u8]) -> bool {
        self.answer(self.board.store(at, data)).unwrap_or(false)
    }

    fn pass(&self) -> Option<u32> {
        // One that has failed stays silent, and who waits meets its own deadline.
        self.answer(self.board.pass())
    }
}
