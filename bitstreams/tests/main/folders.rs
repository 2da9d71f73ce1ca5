//! Folders of builds: packed, verified, listed, and all that can be wrong with their files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use alcor_bitstreams::{Digest, Error, MANIFEST, MOST_BIT_BYTES, Report, list, pack, verify};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::kept;

/// The folder of a build that can be packed.
fn build() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fill(folder.path());
    folder
}

fn fill(folder: &Path) {
    for (name, kind, file) in [
        ("u280.bit", "bit", "good-u280.bit"),
        ("timing.rpt", "timing", "good-met.rpt"),
        ("utilisation.rpt", "utilisation", "good-routed.rpt"),
        ("build.toml", "build", "good-u280.toml"),
    ] {
        fs::write(folder.join(name), kept(kind, file)).expect("a file");
    }
}

/// Changes the text of a file.
fn edit(folder: &Path, file: &str, from: &str, to: &str) {
    let path = folder.join(file);
    let text = fs::read_to_string(&path).expect("text");
    assert!(text.contains(from), "{file} has {from}");
    fs::write(path, text.replace(from, to)).expect("a file");
}

#[test]
fn a_build_is_packed_and_verified() {
    let folder = build();
    let packed = pack(folder.path()).expect("packed");
    let written = fs::read_to_string(folder.path().join(MANIFEST)).expect("a manifest");
    let kept = String::from_utf8(kept("manifest", "good-u280.toml")).expect("text");
    assert_eq!(written, kept, "the manifest of the corpus is of this build");
    assert_eq!(verify(folder.path()).expect("verified"), packed);
    // Again, over what is there; and nothing else is left behind.
    assert_eq!(pack(folder.path()).expect("packed"), packed);
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 5);
}

#[test]
fn what_does_not_fit_together_is_not_packed() {
    type Spoil = fn(&Path);
    type Expect = fn(&Error) -> bool;
    let cases: [(&str, Spoil, Expect); 13] = [
        (
            "part of build.toml",
            |folder| edit(folder, "build.toml", "2L-e", "2-e"),
            |error| matches!(error, Error::Contradiction { key: "part", .. }),
        ),
        (
            "part of another board",
            |folder| {
                let bit = crate::kept("bit", "good-u280.bit");
                let place = bit
                    .windows(6)
                    .position(|word| word == b"xcu280")
                    .expect("a part");
                let mut other = bit.clone();
                other[place..place + 6].copy_from_slice(b"xcu250");
                fs::write(folder.join("u280.bit"), other).expect("a file");
            },
            |error| matches!(error, Error::WrongPart { found, .. } if found.starts_with("xcu250")),
        ),
        (
            "device of the timing report",
            |folder| edit(folder, "timing.rpt", "xcu280-fsvh2892", "xcu250-figd2104"),
            |error| {
                matches!(
                    error,
                    Error::Contradiction {
                        key: "part",
                        left_in: "timing.rpt",
                        ..
                    }
                )
            },
        ),
        (
            "device of the utilisation report",
            |folder| {
                edit(
                    folder,
                    "utilisation.rpt",
                    "xcu280-fsvh2892",
                    "xcu250-figd2104",
                )
            },
            |error| {
                matches!(
                    error,
                    Error::Contradiction {
                        left_in: "utilisation.rpt",
                        ..
                    }
                )
            },
        ),
        (
            "tool of build.toml",
            |folder| edit(folder, "build.toml", "2023.1", "2022.2"),
            |error| {
                matches!(
                    error,
                    Error::Contradiction {
                        key: "the tool's version",
                        left_in: "the bitstream",
                        ..
                    }
                )
            },
        ),
        (
            "tool of a report",
            |folder| edit(folder, "timing.rpt", "v.2023.1", "v.2022.2"),
            |error| {
                matches!(
                    error,
                    Error::Contradiction {
                        key: "the tool's version",
                        left_in: "timing.rpt",
                        ..
                    }
                )
            },
        ),
        (
            "failed timing",
            |folder| {
                let failed = crate::kept("timing", "bad-hold.rpt");
                fs::write(folder.join("timing.rpt"), failed).expect("a file");
            },
            |error| matches!(error, Error::TimingFailed { failing: 4, .. }),
        ),
        (
            "no table of utilisation",
            |folder| edit(folder, "utilisation.rpt", "CLB LUTs", "Slice LUTs"),
            |error| {
                matches!(
                    error,
                    Error::Report {
                        report: Report::Utilisation,
                        ..
                    }
                )
            },
        ),
        (
            "no report",
            |folder| fs::remove_file(folder.join("timing.rpt")).expect("removed"),
            |error| matches!(error, Error::Missing { path, .. } if path.ends_with("timing.rpt")),
        ),
        (
            "no bitstream",
            |folder| fs::remove_file(folder.join("u280.bit")).expect("removed"),
            |error| matches!(error, Error::NotOneBit { found: 0, .. }),
        ),
        (
            "two bitstreams",
            |folder| fs::write(folder.join("old.bit"), "").expect("a file"),
            |error| matches!(error, Error::NotOneBit { found: 2, .. }),
        ),
        (
            "bitstream by a name that no manifest may have",
            |folder| {
                fs::rename(folder.join("u280.bit"), folder.join(".u280.bit")).expect("renamed");
            },
            |error| {
                matches!(
                    error,
                    Error::BadValue {
                        key: "bitstream.file",
                        ..
                    }
                )
            },
        ),
        (
            "report that is no text",
            |folder| fs::write(folder.join("timing.rpt"), b"WNS\xff").expect("a file"),
            |error| matches!(error, Error::NotText { at: 3, .. }),
        ),
    ];
    for (name, spoil, expect) in cases {
        let folder = build();
        spoil(folder.path());
        let error = pack(folder.path()).expect_err(name);
        assert!(expect(&error), "{name}: {error}");
        assert!(
            !folder.path().join(MANIFEST).exists(),
            "{name}: nothing is written"
        );
    }
}

#[test]
fn a_bitstream_that_changed_is_not_verified() {
    let changed = |spoil: fn(&Path, Vec<u8>), expected: &str| {
        let folder = build();
        pack(folder.path()).expect("packed");
        spoil(folder.path(), kept("bit", "good-u280.bit"));
        let error = verify(folder.path()).expect_err(expected);
        assert!(
            matches!(&error, Error::Changed { what, .. } if *what == expected),
            "{expected}: {error}"
        );
    };
    changed(
        |folder, mut bit| {
            bit.push(0);
            fs::write(folder.join("u280.bit"), bit).expect("a file");
        },
        "length",
    );
    changed(
        |folder, mut bit| {
            *bit.last_mut().expect("a byte") ^= 1;
            fs::write(folder.join("u280.bit"), bit).expect("a file");
        },
        "CRC-32",
    );
    changed(
        |folder, _| {
            let path = folder.join(MANIFEST);
            let text = fs::read_to_string(&path).expect("text");
            let (front, back) = text.split_once("sha256 = \"").expect("a digest");
            let digit = if back.starts_with('0') { "1" } else { "0" };
            fs::write(path, format!("{front}sha256 = \"{digit}{}", &back[1..])).expect("a file");
        },
        "SHA-256",
    );
}

#[test]
fn a_manifest_of_another_part_or_without_its_bitstream_is_not_verified() {
    let folder = build();
    pack(folder.path()).expect("packed");
    edit(folder.path(), MANIFEST, "2L-e", "3-e");
    let error = verify(folder.path()).expect_err("another part");
    assert!(
        matches!(error, Error::Contradiction { key: "part", .. }),
        "{error}"
    );

    // A manifest that somebody wrote for a bitstream of another board.
    let folder = build();
    let bit = kept("bit", "good-u280.bit");
    let place = bit.windows(6).position(|word| word == b"xcu280");
    let place = place.expect("a part");
    let mut other = bit.clone();
    other[place..place + 6].copy_from_slice(b"xcu250");
    fs::write(folder.path().join("u280.bit"), other).expect("a file");
    edit(folder.path(), "build.toml", "u280", "u250");
    edit(folder.path(), "timing.rpt", "xcu280", "xcu250");
    edit(folder.path(), "utilisation.rpt", "xcu280", "xcu250");
    pack(folder.path()).expect("packed, for a board that is not known here");
    edit(
        folder.path(),
        MANIFEST,
        "board = \"u250\"",
        "board = \"u280\"",
    );
    let error = verify(folder.path()).expect_err("another board");
    assert!(matches!(error, Error::WrongPart { .. }), "{error}");

    let folder = build();
    pack(folder.path()).expect("packed");
    fs::remove_file(folder.path().join("u280.bit")).expect("removed");
    let error = verify(folder.path()).expect_err("no bitstream");
    assert!(matches!(error, Error::Missing { .. }), "{error}");

    let empty = tempfile::tempdir().expect("a folder");
    let error = verify(empty.path()).expect_err("no manifest");
    assert!(
        error.to_string().contains("alcor bitstream pack"),
        "{error}"
    );
}

#[test]
fn only_plain_files_of_a_bounded_length_are_read() {
    // A link may lead out of the folder.
    let folder = build();
    pack(folder.path()).expect("packed");
    let elsewhere = build();
    let bit = folder.path().join("u280.bit");
    fs::remove_file(&bit).expect("removed");
    symlink(elsewhere.path().join("u280.bit"), &bit).expect("a link");
    for result in [pack(folder.path()), verify(folder.path())] {
        assert!(matches!(result, Err(Error::NotAFile { .. })), "{result:?}");
    }
    // A device that never ends.
    for file in ["build.toml", MANIFEST, "timing.rpt"] {
        let folder = build();
        pack(folder.path()).expect("packed");
        fs::remove_file(folder.path().join(file)).expect("removed");
        symlink("/dev/zero", folder.path().join(file)).expect("a link");
        let result = match file {
            MANIFEST => verify(folder.path()),
            _ => pack(folder.path()),
        };
        assert!(
            matches!(result, Err(Error::NotAFile { .. })),
            "{file}: {result:?}"
        );
    }
    // Files with a hole have a length and take no room.
    for (file, bytes) in [
        ("u280.bit", MOST_BIT_BYTES + 1),
        ("timing.rpt", (16 << 20) + 1),
        ("build.toml", (64 << 10) + 1),
    ] {
        let folder = build();
        let file = fs::File::create(folder.path().join(file)).expect("a file");
        file.set_len(bytes).expect("a length");
        let result = pack(folder.path());
        assert!(matches!(result, Err(Error::TooLong { .. })), "{result:?}");
    }
    let folder = build();
    let manifest = fs::File::create(folder.path().join(MANIFEST)).expect("a file");
    manifest.set_len(1 << 40).expect("a length");
    let result = verify(folder.path());
    assert!(matches!(result, Err(Error::TooLong { .. })), "{result:?}");
}

#[test]
fn builds_are_listed_by_name_and_a_bad_one_hides_none() {
    let root = tempfile::tempdir().expect("a folder");
    for name in ["b", "a", "c", "none"] {
        fs::create_dir(root.path().join(name)).expect("a folder");
        if name != "none" {
            fill(&root.path().join(name));
            pack(&root.path().join(name)).expect("packed");
        }
    }
    edit(&root.path().join("b"), MANIFEST, "schema = 1", "schema = 7");
    let found = list(root.path()).expect("a list");
    let names: Vec<_> = found
        .iter()
        .map(|entry| {
            (
                entry.folder.file_name().expect("a name").to_str(),
                entry.manifest.is_ok(),
            )
        })
        .collect();
    assert_eq!(
        names,
        [(Some("a"), true), (Some("b"), false), (Some("c"), true)]
    );
    // The folder of one build is a list of one.
    assert_eq!(list(&root.path().join("a")).expect("a list").len(), 1);
    assert!(matches!(
        list(&root.path().join("d")),
        Err(Error::Io { .. })
    ));
}

proptest! {
    #[test]
    fn a_digest_depends_on_no_piece(bytes in prop::collection::vec(any::<u8>(), 0..500), piece in 1_usize..40) {
        use std::io::Read;
        let digest = Digest::of(&bytes[..]).expect("bytes");
        // A reader that gives little at a time.
        let little = bytes.chunks(piece).fold(Box::new(std::io::empty()) as Box<dyn Read>, |front, piece| Box::new(front.chain(piece)));
        prop_assert_eq!(Digest::of(little).expect("bytes"), digest.clone());
        prop_assert_eq!(digest.crc32, format!("{:08x}", crc32fast::hash(&bytes)));
    }
}

#[test]
fn a_digest_is_of_all_pieces() {
    let bytes: Vec<u8> = (0..1_000_003_u32)
        .map(|n| (n.wrapping_mul(n) >> 7) as u8)
        .collect();
    let digest = Digest::of(&bytes[..]).expect("bytes");
    assert_eq!(digest.bytes, 1_000_003);
    assert_eq!(digest.crc32, format!("{:08x}", crc32fast::hash(&bytes)));
    // The last byte, and one in the middle, count.
    for place in [500_000, 1_000_002] {
        let mut other = bytes.clone();
        other[place] ^= 0x10;
        let other = Digest::of(&other[..]).expect("bytes");
        assert!(other.crc32 != digest.crc32 && other.sha256 != digest.sha256);
    }
    let million = vec![b'a'; 1_000_000];
    let known = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
    assert_eq!(
        Digest::of(&million[..]).expect("bytes").sha256,
        known,
        "of FIPS 180"
    );
}
