//! `alcor deploy`: loads a bitstream into a card, without a reboot.

mod show;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use alcor_deploy::{Deploy, Farm, Patience, Places, Programmer};
use clap::Args as ClapArgs;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use xdma::{Machine, PciAddress};

use crate::bitstream::warn_of_another_abi;
use crate::exit::{CommandResult, Error, Exit};
use crate::farm;
use show::Show;

/// Load a bitstream into a card, without a reboot
///
/// The command takes the card from its driver and the bus, lets the programmer configure the FPGA,
/// and finds the card again. Each step is shown. If a step fails, and on Ctrl-C, the completed
/// steps are undone. The card must have been on the bus at boot, and its PCIe configuration must
/// not change; otherwise the command refuses, and a warm reboot is needed. Needs root. This has
/// never run with a card: see docs/deploy.md.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The folder of the build, packed by `alcor bitstream pack`
    #[arg(value_name = "BUILD")]
    build: PathBuf,

    /// PCI address of the card, for example 0000:3b:00.0
    #[arg(
        long,
        value_name = "ADDRESS",
        required_unless_present = "board",
        conflicts_with = "board"
    )]
    card: Option<PciAddress>,

    /// Name of a board of boards.toml in this host
    #[arg(long, value_name = "NAME")]
    board: Option<String>,

    /// The file of the board farm, with serial numbers and programmers [default: the file that
    /// ALCOR_BOARDS names, or boards.toml]
    #[arg(long, value_name = "FILE")]
    boards: Option<PathBuf>,

    /// Programmer: vivado, openfpgaloader, or one of boards.toml [default: the board's, or vivado]
    #[arg(long, value_name = "NAME")]
    programmer: Option<String>,

    /// Serial number of the card's cable [default: the board's]
    #[arg(long, value_name = "SERIAL")]
    serial: Option<String>,

    /// Time limit of the programmer in seconds [default: the programmer's, or 600]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: Option<u64>,

    /// Show the steps and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Another root of sysfs, for tests
    #[arg(long, hide = true, default_value = "/sys")]
    sys: PathBuf,

    /// Another folder of locks, for tests
    #[arg(long, hide = true, default_value = "/run/lock/alcor")]
    locks: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> CommandResult {
    let deploy = prepare(args)?;
    if args.dry_run {
        for (step, what) in deploy.plan()? {
            println!("{}", show::line(step, &what));
        }
        println!("nothing was changed; without --dry-run, these steps are done");
        return Ok(Exit::Passed);
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Without the handler, a signal ends the program without undos; the deployment runs
        // nevertheless.
        if let Err(error) = signal_hook::flag::register(signal, Arc::clone(&stop)) {
            eprintln!("alcor: signal {signal} will not be waited for: {error}");
        }
    }
    let mut show = Show::new();
    let result = deploy.run(&stop, &mut |event| show.tell(event));
    show.finish();
    let manifest = result?;
    println!(
        "{} holds {}, configuration {}, revision {}",
        deploy.address, manifest.board, manifest.configuration, manifest.revision
    );
    warn_of_another_abi(&manifest);
    Ok(Exit::Passed)
}

fn prepare(args: &Args) -> Result<Deploy, Error> {
    let here = farm::here()?;
    // A card by its address needs no farm; the farm may have its serial number.
    let path = farm::path(args.boards.as_deref());
    let is_needed = args.board.is_some() || args.boards.is_some();
    let farm = if is_needed || path.exists() {
        Some(Farm::read(&path)?)
    } else {
        None
    };
    let board = match (&farm, &args.board, args.card) {
        (Some(farm), Some(name), _) => Some(farm.board_on(name, &here)?),
        (Some(farm), None, Some(card)) => farm.board_at(card, &here).map(|(_, board)| board),
        _ => None,
    };
    let Some(address) = board.map(|board| board.address).or(args.card) else {
        return Err(Error::NoCard);
    };
    let name = args.programmer.as_deref();
    let name = name
        .or(board.map(|board| board.programmer.as_str()))
        .unwrap_or("vivado");
    let (programmer, timeout) = programmer(farm.as_ref(), name)?;
    let sys: &Path = &args.sys;
    let mut deploy = Deploy::new(
        Machine::at(sys, "/dev", Arc::new(xdma::nodes::System)),
        address,
        &args.build,
        programmer,
    );
    deploy.serial = args
        .serial
        .clone()
        .or(board.and_then(|board| board.serial.clone()));
    deploy.places = Places {
        locks: args.locks.clone(),
        ..Places::default()
    };
    let usual = Patience::default();
    deploy.patience = Patience {
        program: args
            .timeout
            .map(Duration::from_secs)
            .or(timeout)
            .unwrap_or(usual.program),
        ..usual
    };
    Ok(deploy)
}

fn programmer(farm: Option<&Farm>, name: &str) -> Result<(Programmer, Option<Duration>), Error> {
    let known = || {
        Programmer::known()
            .into_iter()
            .find(|programmer| programmer.name == name)
    };
    let found = match farm {
        Some(farm) => farm.programmer(name).cloned(),
        None => known().map(|programmer| (programmer, None)),
    };
    found.ok_or_else(|| Error::NoProgrammer(name.to_owned()))
}
