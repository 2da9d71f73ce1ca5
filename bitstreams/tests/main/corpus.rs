//! The kept corpus: a file says by its name whether it is good.

use std::path::Path;

use alcor_bitstreams::{BitHeader, BitProblem, Error, Manifest, Timing, Utilisation, Word};

use crate::{PARSERS, corpus, kept};

#[test]
fn every_file_is_taken_or_refused_as_its_name_says() {
    for (folder, parse) in PARSERS {
        let (mut good, mut bad) = (0, 0);
        for (name, bytes) in corpus(folder) {
            match (parse(&bytes), name.starts_with("good-")) {
                (Ok(()), true) => good += 1,
                (Err(error), false) => {
                    assert!(name.starts_with("bad-"), "{folder}/{name}");
                    // For a terminal, whatever the file holds.
                    let text = error.to_string();
                    let is_plain = text.len() < 500 && !text.contains(char::is_control);
                    assert!(is_plain, "{folder}/{name}: {text:?}");
                    bad += 1;
                }
                (found, _) => panic!("{folder}/{name}: {found:?}"),
            }
        }
        assert!(good >= 2 && bad >= 8, "{folder}: {good} good, {bad} bad");
    }
}

#[test]
fn a_bit_header_is_read_to_its_fields() {
    let bytes = kept("bit", "good-compressed.bit");
    let header = BitHeader::parse(&bytes, bytes.len() as u64).expect("a header");
    assert_eq!(header.design, "u280");
    assert_eq!(header.user_id.as_deref(), Some("0X12345678"));
    assert_eq!(header.version.as_deref(), Some("2023.1"));
    assert_eq!(header.part, "xcu280-fsvh2892-2L-e");
    assert_eq!((&*header.date, &*header.time), ("2026/01/31", "12:00:00"));
    assert_eq!(
        header.data_at as u64 + header.data_bytes,
        bytes.len() as u64
    );
    assert_eq!(bytes[header.data_at..][..64], [0xff; 64]);
}

#[test]
fn what_is_wrong_with_a_bit_file_is_said_with_its_place() {
    let problem = |name: &str| {
        let bytes = kept("bit", name);
        match BitHeader::parse(&bytes, bytes.len() as u64) {
            Err(Error::Bit { at, problem }) => (at, problem),
            other => panic!("{name}: {other:?}"),
        }
    };
    assert_eq!(problem("bad-preamble.bit"), (0, BitProblem::Preamble));
    assert_eq!(problem("bad-bin.bit"), (0, BitProblem::Preamble));
    assert_eq!(problem("bad-empty.bit"), (0, BitProblem::Ends));
    assert_eq!(problem("bad-cut-in-name.bit"), (20, BitProblem::Ends));
    assert_eq!(
        problem("bad-field-order.bit"),
        (13, BitProblem::Letter('a'))
    );
    assert_eq!(problem("bad-name-control.bit"), (14, BitProblem::Text('a')));
    assert_eq!(problem("bad-partial.bit").1, BitProblem::Partial);
    assert_eq!(problem("bad-no-sync.bit").1, BitProblem::NoSync);
    let cut = problem("bad-cut-in-data.bit").1;
    assert!(
        matches!(cut, BitProblem::Length { said, found } if said == found + 1),
        "{cut:?}"
    );
}

#[test]
fn slacks_and_resources_are_those_of_the_reports() {
    let report = String::from_utf8(kept("timing", "good-met.rpt")).expect("text");
    let timing = Timing::parse(&report).expect("a summary");
    assert_eq!(
        (timing.setup_ns, timing.hold_ns, timing.pulse_ns),
        (0.031, 0.010, 0.500)
    );
    let report = String::from_utf8(kept("timing", "bad-setup.rpt")).expect("text");
    match Timing::parse(&report) {
        Err(Error::TimingFailed { timing, failing }) => {
            assert_eq!((timing.setup_ns, failing), (-0.012, 271));
        }
        other => panic!("{other:?}"),
    }
    for name in ["good-routed.rpt", "good-older-columns.rpt"] {
        let report = String::from_utf8(kept("utilisation", name)).expect("text");
        let found = Utilisation::parse(&report).expect("tables").resources;
        let found: Vec<_> = found
            .iter()
            .map(|resource| (&*resource.name, resource.used, resource.available))
            .collect();
        assert_eq!(
            found,
            [
                ("CLB LUTs", 212_345.0, 1_303_680),
                ("CLB Registers", 298_765.0, 2_607_360),
                ("Block RAM Tile", 310.5, 2016),
                ("URAM", 128.0, 960),
                ("DSPs", 96.0, 9024),
            ],
            "{name}"
        );
    }
}

#[test]
fn a_manifest_is_written_as_it_is_read() {
    let text = String::from_utf8(kept("manifest", "good-u280.toml")).expect("text");
    let manifest = Manifest::parse(&text, Path::new("m")).expect("a manifest");
    assert_eq!(manifest.abi_hash, Word(0xa96a_a6c0));
    assert_eq!(manifest.revision, Word(0x425c_d63a));
    assert_eq!(manifest.to_toml(), text, "what is kept is what is written");
}

#[test]
fn another_schema_is_refused_with_advice_whatever_follows() {
    for (name, version, advice) in [
        ("bad-schema-2.toml", 2, "newer program"),
        ("bad-later-schema.toml", 99, "newer program"),
        ("bad-schema-0.toml", 0, "older program"),
    ] {
        let text = String::from_utf8(kept("manifest", name)).expect("text");
        let error = Manifest::parse(&text, Path::new("m")).expect_err("another schema");
        assert!(
            matches!(error, Error::Schema { found, .. } if found == version),
            "{name}: {error}"
        );
        assert!(error.to_string().contains(advice), "{name}: {error}");
    }
}

#[test]
fn the_manifest_of_the_readme_is_that_of_the_corpus() {
    let readme = include_str!("../../README.md");
    let (_, text) = readme.split_once("```toml\n").expect("a manifest");
    let (text, _) = text.split_once("```").expect("its end");
    let shown = Manifest::parse(text, Path::new("README.md")).expect("a manifest");
    let kept = String::from_utf8(kept("manifest", "good-u280.toml")).expect("text");
    let mut kept = Manifest::parse(&kept, Path::new("m")).expect("a manifest");
    kept.utilisation.truncate(1);
    assert_eq!(shown, kept);
}
