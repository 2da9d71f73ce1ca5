//! The folder of a build: packing, verifying, listing.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::bit::HEAD_BYTES;
use crate::files::{failed, open, text};
use crate::report::{ReportHead, head};
use crate::{
    BitHeader, Bitstream, Build, Digest, Error, MOST_BIT_BYTES, MOST_MANIFEST_BYTES,
    MOST_REPORT_BYTES, Manifest, Report, Result, SCHEMA, Timing, Utilisation,
};

/// The name of a manifest.
pub const MANIFEST: &str = "manifest.toml";
/// The name of the description of a build.
const BUILD: &str = "build.toml";
/// Largest number of entries of a folder.
const MOST_ENTRIES: usize = 4096;

/// Parts that boards carry: the beginning of the part's name.
const BOARDS: [(&str, &str); 1] = [("u280", "xcu280-fsvh2892-2L-e")];

/// Makes the manifest of a build from its bitstream, its reports and its `build.toml`, and writes
/// it beside them.
///
/// # Errors
/// Errors of missing, malformed and too long files; [`Error::WrongPart`], [`Error::TimingFailed`],
/// and [`Error::Contradiction`] if the files are from different builds. No file is written then.
pub fn pack(folder: &Path) -> Result<Manifest> {
    let path = folder.join(BUILD);
    let build = Build::parse(
        &text(
            &path,
            MOST_MANIFEST_BYTES,
            "a board build writes it beside the bitstream",
        )?,
        &path,
    )?;
    let file = bit_file(folder)?;
    let (header, digest) = examine(&folder.join(&file))?;
    let timing_text = report(folder, Report::Timing)?;
    let utilisation_text = report(folder, Report::Utilisation)?;
    agree(&build, &header, &head(&timing_text), Report::Timing)?;
    agree(
        &build,
        &header,
        &head(&utilisation_text),
        Report::Utilisation,
    )?;
    let manifest = Manifest {
        schema: SCHEMA,
        bitstream: Bitstream {
            file,
            bytes: digest.bytes,
            crc32: digest.crc32,
            sha256: digest.sha256,
        },
        timing: Timing::parse(&timing_text)?,
        utilisation: Utilisation::parse(&utilisation_text)?.resources,
        board: build.board,
        part: build.part,
        configuration: build.configuration,
        abi_hash: build.abi_hash,
        revision: build.revision,
        tool: build.tool,
        built: format!("{} {}", header.date, header.time),
    };
    let path = folder.join(MANIFEST);
    manifest.check(&path)?;
    replace(&path, &manifest.to_toml())?;
    Ok(manifest)
}

/// Checks that the bitstream of a folder is the packed one, and is for the part that the manifest
/// names.
///
/// # Errors
/// [`Error::Changed`] if the bitstream differs; errors of missing, malformed and too long files;
/// [`Error::WrongPart`].
pub fn verify(folder: &Path) -> Result<Manifest> {
    let manifest = read_manifest(folder)?;
    let path = folder.join(&manifest.bitstream.file);
    // The cheap check first: a file of another length need not be read.
    let (_, bytes) = open_bit(&path)?;
    let changed = |(what, found, wanted)| Error::Changed {
        path: path.clone(),
        what,
        found,
        wanted,
    };
    if bytes != manifest.bitstream.bytes {
        let wanted = manifest.bitstream.bytes.to_string();
        return Err(changed(("length", bytes.to_string(), wanted)));
    }
    let (header, digest) = examine(&path)?;
    if let Some(difference) = manifest.bitstream.differs(&digest) {
        return Err(changed(difference));
    }
    right_part(&manifest.board, &header.part)?;
    same(
        "part",
        (&header.part, "the bitstream"),
        (&manifest.part, MANIFEST),
    )?;
    Ok(manifest)
}

/// A folder with a manifest, or with the reason why the manifest can't be read.
#[derive(Debug)]
pub struct Entry {
    /// The folder.
    pub folder: PathBuf,
    /// The manifest. The bitstream has not been checked.
    pub manifest: Result<Manifest>,
}

/// The manifests of a folder and of the folders in it, by name.
///
/// # Errors
/// [`Error::Io`] when the folder can't be read, [`Error::TooMany`].
pub fn list(folder: &Path) -> Result<Vec<Entry>> {
    let mut folders = vec![folder.to_owned()];
    for (count, entry) in fs::read_dir(folder)
        .map_err(failed("read", folder))?
        .enumerate()
    {
        let entry = entry.map_err(failed("read", folder))?;
        if count == MOST_ENTRIES {
            return Err(Error::TooMany {
                folder: folder.to_owned(),
                most: MOST_ENTRIES,
            });
        }
        // An entry that was removed in the meantime is no folder.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            folders.push(entry.path());
        }
    }
    folders.sort();
    let has_manifest = |folder: &PathBuf| folder.join(MANIFEST).symlink_metadata().is_ok();
    Ok(folders
        .into_iter()
        .filter(has_manifest)
        .map(|folder| Entry {
            manifest: read_manifest(&folder),
            folder,
        })
        .collect())
}

fn read_manifest(folder: &Path) -> Result<Manifest> {
    let path = folder.join(MANIFEST);
    let advice = "make it with `alcor bitstream pack`";
    Manifest::parse(&text(&path, MOST_MANIFEST_BYTES, advice)?, &path)
}

fn report(folder: &Path, report: Report) -> Result<String> {
    let advice = "a board build writes it beside the bitstream";
    text(&folder.join(report.file()), MOST_REPORT_BYTES, advice)
}

/// The name of the only .bit file.
fn bit_file(folder: &Path) -> Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)
        .map_err(failed("read", folder))?
        .take(MOST_ENTRIES)
    {
        let name = entry.map_err(failed("read", folder))?.file_name();
        if Path::new(&name)
            .extension()
            .is_some_and(|extension| extension == "bit")
        {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    let found = names.len();
    match (names.pop(), found) {
        (Some(name), 1) => Ok(name),
        _ => Err(Error::NotOneBit {
            folder: folder.to_owned(),
            found,
        }),
    }
}

fn open_bit(path: &Path) -> Result<(File, u64)> {
    open(path, MOST_BIT_BYTES, "copy it beside its manifest")
}

/// Reads a bitstream once for its header and once for its digest.
fn examine(path: &Path) -> Result<(BitHeader, Digest)> {
    let (mut file, bytes) = open_bit(path)?;
    let mut head = Vec::new();
    let read = (&file).take(HEAD_BYTES as u64).read_to_end(&mut head);
    read.map_err(failed("read", path))?;
    let header = BitHeader::parse(&head, bytes)?;
    file.rewind().map_err(failed("read", path))?;
    let digest = Digest::of(file.take(MOST_BIT_BYTES)).map_err(failed("read", path))?;
    Ok((header, digest))
}

/// Refuses a bitstream for another part than the board's. For an unknown board, the part of its
/// build counts.
fn right_part(board: &str, found: &str) -> Result<()> {
    let known = BOARDS.iter().find(|(name, _)| *name == board);
    match known {
        Some((_, wanted)) if !found.eq_ignore_ascii_case(wanted) => Err(Error::WrongPart {
            board: board.to_owned(),
            wanted,
            found: found.to_owned(),
        }),
        _ => Ok(()),
    }
}

fn same(
    key: &'static str,
    (left, left_in): (&str, &'static str),
    (right, right_in): (&str, &'static str),
) -> Result<()> {
    if left.eq_ignore_ascii_case(right) {
        Ok(())
    } else {
        Err(Error::Contradiction {
            key,
            left: left.to_owned(),
            left_in,
            right: right.to_owned(),
            right_in,
        })
    }
}

/// Checks that `build.toml`, the bitstream and a report belong to one build, as far as they name
/// it.
fn agree(build: &Build, bit: &BitHeader, head: &ReportHead, report: Report) -> Result<()> {
    right_part(&build.board, &bit.part)?;
    same("part", (&bit.part, "the bitstream"), (&build.part, BUILD))?;
    if let Some(device) = &head.device {
        // A report may leave the speed out.
        let is_same = build.part.get(..device.len());
        let is_same = is_same.is_some_and(|part| part.eq_ignore_ascii_case(device));
        if !is_same {
            same("part", (device, report.file()), (&build.part, BUILD))?;
        }
    }
    // `Vivado 2023.1`, where the others have 2023.1.
    let version = build.tool.rsplit(' ').next().unwrap_or_default();
    for (found, place) in [
        (&bit.version, "the bitstream"),
        (&head.version, report.file()),
    ] {
        if let Some(found) = found {
            same("the tool's version", (found, place), (version, BUILD))?;
        }
    }
    Ok(())
}

/// Writes a file whole or not at all.
fn replace(path: &Path, text: &str) -> Result<()> {
    let aside = path.with_extension("toml.new");
    let write = || -> io::Result<()> {
        let mut file = File::create(&aside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&aside, path)
    };
    write().map_err(failed("write", path))
}
