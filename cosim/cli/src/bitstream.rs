//! `alcor bitstream`: manifests of board builds.

use std::path::PathBuf;

use alcor_bitstreams::{Entry, Manifest, list, pack, verify};
use clap::Subcommand;
use comfy_table::{Cell, CellAlignment, Table, presets::UTF8_HORIZONTAL_ONLY};

use crate::exit::{CommandResult, Error, Exit};

/// Pack, verify or list the bitstreams of board builds
///
/// A build is a folder with NAME.bit, timing.rpt, utilisation.rpt and build.toml, which a board
/// build writes, and manifest.toml, which `pack` makes from them.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make the manifest of a build; refuses a wrong part, failed timing, and files of different
    /// builds
    Pack {
        /// The folder of the build
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
    /// Check that bitstreams are the packed ones
    Verify {
        /// The folders of the builds
        #[arg(value_name = "FOLDER", required = true)]
        folders: Vec<PathBuf>,
    },
    /// Show the manifests in a folder and in its subfolders
    List {
        /// The folder of the builds
        #[arg(value_name = "FOLDER", default_value = ".")]
        folder: PathBuf,
    },
}

/// Runs the command.
pub fn run(command: &Command) -> CommandResult {
    match command {
        Command::Pack { folder } => {
            print(&pack(folder)?);
            Ok(Exit::Passed)
        }
        Command::Verify { folders } => {
            let mut exit = Exit::Passed;
            for folder in folders {
                // After a wrong bitstream, the next ones are still checked.
                match verify(folder) {
                    Ok(manifest) => {
                        let file = folder.join(&manifest.bitstream.file);
                        println!("{} is as packed", file.display());
                        warn_of_another_abi(&manifest);
                    }
                    Err(error) => {
                        let error = Error::from(error);
                        eprintln!("alcor: {error}");
                        exit = match exit {
                            Exit::Passed => Exit::from(&error),
                            first => first,
                        };
                    }
                }
            }
            Ok(exit)
        }
        Command::List { folder } => Ok(show(&list(folder)?)),
    }
}

fn print(manifest: &Manifest) {
    print!("{}", manifest.to_toml());
    warn_of_another_abi(manifest);
}

/// The bitstream is valid, but not for this program.
pub fn warn_of_another_abi(manifest: &Manifest) {
    let own = alcor_bitstreams::Word(alcor_abi::ABI_HASH);
    if manifest.abi_hash != own {
        eprintln!(
            "alcor: this bitstream has ABI hash {}, and this program {own}: a library of the bitstream's source drives it, this one does not",
            manifest.abi_hash
        );
    }
}

fn show(entries: &[Entry]) -> Exit {
    let mut table = Table::new();
    table.load_preset(UTF8_HORIZONTAL_ONLY);
    table.set_header([
        "folder",
        "board",
        "configuration",
        "revision",
        "ABI",
        "slack",
        "LUTs",
        "built",
    ]);
    let mut failed = 0;
    for entry in entries {
        let folder = entry.folder.display().to_string();
        let manifest = match &entry.manifest {
            Ok(manifest) => manifest,
            Err(error) => {
                eprintln!("alcor: {error}");
                failed += 1;
                continue;
            }
        };
        let luts = manifest
            .utilisation
            .iter()
            .find(|resource| resource.name == "CLB LUTs");
        let luts = luts.map_or(String::new(), |luts| {
            format!("{:.1} %", 100.0 * luts.used / luts.available.max(1) as f64)
        });
        let worst = manifest.timing.setup_ns.min(manifest.timing.hold_ns);
        let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
        table.add_row([
            Cell::new(folder),
            Cell::new(&manifest.board),
            Cell::new(&manifest.configuration),
            Cell::new(manifest.revision),
            Cell::new(if manifest.abi_hash.0 == alcor_abi::ABI_HASH {
                "this program's".into()
            } else {
                manifest.abi_hash.to_string()
            }),
            right(format!("{worst:.3} ns")),
            right(luts),
            Cell::new(&manifest.built),
        ]);
    }
    if !table.is_empty() {
        println!("{table}");
    }
    println!(
        "{} builds, {failed} of them with a manifest that can't be used",
        entries.len()
    );
    match failed {
        0 => Exit::Passed,
        _ => Exit::Failed,
    }
}
