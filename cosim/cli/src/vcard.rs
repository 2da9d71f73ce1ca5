//! `alcor vcard`: simulated boards as PCI devices of virtual machines.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use alcor_cosim::CosimBackend;
use alcor_vcard::{Socket, VirtualCard};
use log::{LevelFilter, Log, Metadata, Record};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::build;
use crate::exit::{CommandResult, Error, Exit};

/// Serve simulated boards as PCI cards for virtual machines
///
/// Each card is 10ee:903f, with the registers of an XDMA core. QEMU 10.1 or later presents it to a
/// guest, with the option that the command prints for the card. The memory of the guest must be
/// shared (memory-backend-memfd,share=on). The cards of a configuration with several boards are
/// joined by links, and may be in one virtual machine or in several. Each card serves one virtual
/// machine after the other, until a signal ends the command.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The boards: a configuration of hw/core/configs.toml, with options as after cosim:
    #[arg(long, value_name = "NAME", default_value = "rma2", value_parser = crate::build::config)]
    config: String,

    /// Folder of the sockets: card0.sock for board 0, card1.sock for board 1, and so on
    #[arg(long, value_name = "DIR")]
    socket: PathBuf,

    /// End when standard input ends
    #[arg(long, hide = true)]
    attended: bool,
}

/// Writes warnings and errors to standard error.
struct Warnings;

impl Log for Warnings {
    fn enabled(&self, _: &Metadata) -> bool {
        true
    }

    fn log(&self, record: &Record) {
        eprintln!("vcard: {}", record.args());
    }

    fn flush(&self) {}
}

/// Runs the command.
pub fn run(args: &Args) -> CommandResult {
    if args.attended {
        thread::spawn(|| {
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            let _ = signal_hook::low_level::raise(SIGTERM);
        });
    }
    // Fails only if there is a logger already, which would show the messages.
    if log::set_logger(&Warnings).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(Error::Signals)?;
    let boards = build::backend()
        .open_free(&args.config)
        .map_err(|error| error.on(&format!("{}:{}", CosimBackend::SCHEME, args.config)))?;
    fs::create_dir_all(&args.socket).map_err(Error::write(&args.socket))?;
    let mut sockets = Vec::new();
    let mut says = String::new();
    for (number, board) in boards.iter().enumerate() {
        let socket = Arc::new(Socket::bind(
            &args.socket.join(format!("card{number}.sock")),
        )?);
        says += &format!(
            "{}, board {number} of {}, ranks: {}; -device '{{\"driver\":\"vfio-user-pci\",\"socket\":{{\"type\":\"unix\",\"path\":\"{}\"}}}}'\n",
            args.config,
            boards.len(),
            board.shape().ranks,
            socket.path().display()
        );
        sockets.push(socket);
    }
    let mut out = io::stdout().lock();
    out.write_all(says.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Error::write("standard output"))?;
    drop(out);
    for (socket, board) in sockets.iter().zip(boards) {
        let (served, card) = (Arc::clone(socket), VirtualCard::new(board));
        thread::spawn(move || {
            if let Err(error) = served.serve(&card) {
                eprintln!("alcor: {error}");
                let _ = signal_hook::low_level::raise(SIGTERM);
            }
        });
    }
    signals.forever().next();
    sockets.iter().for_each(|socket| socket.close());
    Ok(Exit::Passed)
}
