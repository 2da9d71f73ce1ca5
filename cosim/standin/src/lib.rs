//! Simulated boards behind device nodes, without a card: `standin:<config>`.
//!
//! The library's backend for cards ([`alcor_xdma`]) opens device nodes that [`xdma::standin`]
//! serves in this process. A simulated board ([`alcor_cosim::FreeBoard`]) is behind the nodes. A
//! test therefore covers the whole path of a host to a board except the kernel's driver and the
//! bus: mapped register pages, aligned and short DMA transfers, interrupts as events, and file
//! locks.
//!
//! `profile=card` adds the delays and orders of a card in real time: writes are posted, DMA transfers
//! overtake them, interrupts are late or spurious, and signals interrupt waits. The board then has a
//! bypass BAR with node memory and the register pages, as the board for the U280 has. `card-seed` is
//! the seed of the delays; the default is 1.
//!
//! Simulated time advances with each access and during waits. Cycle counts therefore differ between
//! runs, and there is no digest of the traffic.
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

mod late;

use std::sync::Mutex;

use alcor::{Backend, Cluster, Error, Result};
use alcor_abi::{LINE_PAGES, memory_pages};
use alcor_cosim::{CosimBackend, CosimError, FreeBoard};
use alcor_xdma::{XdmaBackend, XdmaError};
use xdma::standin::{Device, Shape, StandIn};

use late::Late;

/// The option for a card in real time, and the option for the seed of its delays.
const CARD: &str = "profile=card";
const SEED: &str = "card-seed=";

/// The backend of `standin:<config>`, with the options of `cosim:` and those of this crate.
#[derive(Default)]
pub struct StandInBackend {
    cosim: CosimBackend,
}

impl StandInBackend {
    /// Scheme of the backend's URIs.
    pub const SCHEME: &'static str = "standin";

    /// A backend over boards of `CosimBackend::new`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A backend over boards of the given simulation backend.
    #[must_use]
    pub fn over(cosim: CosimBackend) -> Self {
        Self { cosim }
    }

    /// Checks configuration and options without opening anything.
    ///
    /// # Errors
    /// As [`StandInBackend::serve`].
    pub fn check(&self, rest: &str) -> Result<()> {
        let checked = own_options(rest).and_then(|(rest, _)| self.cosim.check(&rest));
        checked.map_err(|error| error.on(&format!("{}:{rest}", Self::SCHEME)))
    }

    /// Serves the nodes of a simulated board. Use the result to inject faults.
    ///
    /// # Errors
    /// The errors of the simulation, or an error if the scratch folder cannot be created.
    pub fn serve(&self, rest: &str) -> Result<StandIn> {
        let name = format!("{}:{rest}", Self::SCHEME);
        let (rest, late) = own_options(rest).map_err(|error| error.on(&name))?;
        let mut boards = self
            .cosim
            .open_free(&rest)
            .map_err(|error| error.on(&name))?;
        let (Some(board), true) = (boards.pop(), boards.is_empty()) else {
            return Err(Error::BadOption {
                option: "boards",
                value: boards.len() as u64 + 1,
                rule: "device nodes are those of one card; alcor vcard serves several",
            });
        };
        let ranks = board.shape().ranks;
        let pages = u64::from(memory_pages(ranks, board.shape().node_bytes));
        let shape = Shape {
            // The length of a BAR is a power of two.
            user_bytes: u64::from(board.register_bytes().next_power_of_two()),
            bypass_bytes: late.map_or(0, |_| 2 * pages),
            channels: ranks.min(4),
            events: ranks,
            alignment: 64,
        };
        let device = Simulated {
            name: name.clone(),
            board,
            lines: pages + u64::from(LINE_PAGES),
            failed: Mutex::new(false),
        };
        let standin = match late {
            Some(seed) => StandIn::with(shape, Late::new(device, pages, ranks, seed)),
            None => StandIn::with(shape, device),
        };
        standin.map_err(|error| Error::Board {
            board: name,
            source: Box::new(XdmaError::from(error)),
        })
    }

    /// The backend for cards, over served nodes. The lock files are in the stand-in's scratch
    /// folder.
    #[must_use]
    pub fn backend(standin: &StandIn) -> XdmaBackend {
        XdmaBackend::on(standin.machine()).locks(standin.sys().join("locks"))
    }
}

/// Returns configuration and options of the simulation, and the seed of the delays of `profile=card`.
fn own_options(rest: &str) -> std::result::Result<(String, Option<u64>), CosimError> {
    let (config, options) = rest.split_once('?').unwrap_or((rest, ""));
    let (mut is_late, mut seed, mut others) = (false, 1, Vec::new());
    for option in options.split('&').filter(|option| !option.is_empty()) {
        if option == CARD {
            is_late = true;
        } else if let Some(value) = option.strip_prefix(SEED) {
            seed = value.parse().map_err(|_| CosimError::BadOption {
                option: "card-seed".into(),
                value: value.into(),
                expected: "a number, such as card-seed=7".into(),
            })?;
        } else {
            others.push(option);
        }
    }
    let separator = if others.is_empty() { "" } else { "?" };
    let rest = format!("{config}{separator}{}", others.join("&"));
    Ok((rest, is_late.then_some(seed)))
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
    /// Address in the bypass BAR of the pages for command lines.
    lines: u64,
    failed: Mutex<bool>,
}

impl Simulated {
    /// Passes on a result. A failed model behaves as a card that does not answer; the first failure
    /// is printed.
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
        // Beyond the last page, no device answers.
        if self.board.has_register(offset) {
            self.answer(self.board.read32(offset as u32))
                .unwrap_or(u32::MAX)
        } else {
            u32::MAX
        }
    }

    fn write32(&self, offset: u64, value: u32) {
        if self.board.has_register(offset) {
            self.answer(self.board.write32(offset as u32, value));
        }
    }

    fn read(&self, at: u64, buffer: &mut [u8]) -> bool {
        self.answer(self.board.load(at, buffer)).unwrap_or(false)
    }

    fn write(&self, at: u64, data: &[u8]) -> bool {
        self.answer(self.board.store(at, data)).unwrap_or(false)
    }

    fn store(&self, at: u64, data: &[u8]) -> bool {
        let Some(offset) = at.checked_sub(self.lines) else {
            return self.write(at, data);
        };
        for (word, place) in data.as_chunks::<4>().0.iter().zip(0..) {
            let value = u32::from_le_bytes(*word);
            self.answer(self.board.write_line(offset + 4 * place, value));
        }
        true
    }

    fn pass(&self) -> Option<u32> {
        // A failed model raises no interrupt, so the waiting call reaches its own deadline.
        self.answer(self.board.pass())
    }
}
