//! No bytes are too strange: arbitrary ones, and good files with a few bytes changed, cut or doubled.

use proptest::prelude::*;

use crate::{PARSERS, corpus};

/// Has a file read or refused; a refusal must be fit for a terminal.
fn is_survived(parse: crate::Parser, bytes: &[u8]) -> bool {
    match parse(bytes) {
        Ok(()) => true,
        Err(error) => !error.to_string().contains(char::is_control),
    }
}

/// What is done to a file.
#[derive(Debug, Clone)]
enum Change {
    Set(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Remove(prop::sample::Index, usize),
    Double(prop::sample::Index, usize),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let range = |at: &prop::sample::Index, length: usize| {
            let at = at.index(bytes.len());
            at..(at + length).min(bytes.len())
        };
        match self {
            Change::Set(at, value) => {
                let at = at.index(bytes.len());
                bytes[at] = *value;
            }
            Change::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Change::Remove(at, length) => drop(bytes.drain(range(at, *length))),
            Change::Double(at, length) => {
                let range = range(at, *length);
                let piece = bytes[range.clone()].to_vec();
                bytes.splice(range.start..range.start, piece);
            }
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        4 => (at(), any::<u8>()).prop_map(|(at, value)| Change::Set(at, value)),
        1 => at().prop_map(Change::Cut),
        1 => (at(), 1_usize..200).prop_map(|(at, length)| Change::Remove(at, length)),
        1 => (at(), 1_usize..200).prop_map(|(at, length)| Change::Double(at, length)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn bytes_of_all_kinds_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        for (_, parse) in PARSERS {
            prop_assert!(is_survived(parse, &bytes));
        }
    }

    #[test]
    fn text_of_all_kinds_is_read_or_refused(text in "([|+ =\\[\\]\".0-9a-zA-Z-]|\\n|\\PC|WNS\\(ns\\)|Design Timing Summary\\n|Used|Available|CLB LUTs){0,80}") {
        for (_, parse) in PARSERS {
            prop_assert!(is_survived(parse, text.as_bytes()));
        }
    }

    #[test]
    fn files_of_the_corpus_are_read_or_refused_whatever_is_done_to_them(
        which: prop::sample::Index,
        changes in prop::collection::vec(change(), 1..6),
    ) {
        for (folder, parse) in PARSERS {
            let files = corpus(folder);
            let (_, mut bytes) = files[which.index(files.len())].clone();
            for change in &changes {
                change.apply(&mut bytes);
            }
            prop_assert!(is_survived(parse, &bytes));
        }
    }

    #[test]
    fn a_bit_file_that_was_cut_or_added_to_is_refused(
        at: prop::sample::Index,
        more in prop::collection::vec(any::<u8>(), 1..100),
    ) {
        let (_, parse) = PARSERS[0];
        let good = crate::kept("bit", "good-u280.bit");
        prop_assert!(parse(&good[..at.index(good.len())]).is_err());
        prop_assert!(parse(&[&good[..], &more].concat()).is_err());
    }
}
