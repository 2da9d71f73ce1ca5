//! Builds as they are, as they should not be, and as nobody would write them.

mod corpus;
mod folders;
mod mutations;

use std::path::Path;

use alcor_bitstreams::{BitHeader, Build, HEAD_BYTES, Manifest, Result, Timing, Utilisation};

/// What reads the files of a folder of the corpus.
type Parser = fn(&[u8]) -> Result<()>;

/// The parsers, by their folder of the corpus.
const PARSERS: [(&str, Parser); 5] = [
    ("bit", |bytes| {
        let head = &bytes[..bytes.len().min(HEAD_BYTES)];
        BitHeader::parse(head, bytes.len() as u64).map(drop)
    }),
    ("timing", |bytes| Timing::parse(&text(bytes)).map(drop)),
    ("utilisation", |bytes| {
        Utilisation::parse(&text(bytes)).map(drop)
    }),
    ("build", |bytes| {
        Build::parse(&text(bytes), Path::new("build.toml")).map(drop)
    }),
    ("manifest", |bytes| {
        Manifest::parse(&text(bytes), Path::new("manifest.toml")).map(drop)
    }),
];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The corpus of one parser, by name.
fn corpus(folder: &str) -> Vec<(String, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let entries = std::fs::read_dir(root.join(folder)).expect("the corpus");
    let mut files: Vec<_> = entries
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy();
            (name.into_owned(), std::fs::read(&path).expect("a file"))
        })
        .collect();
    files.sort();
    files
}

/// A file of the corpus.
fn kept(folder: &str, name: &str) -> Vec<u8> {
    let mut files = corpus(folder).into_iter();
    let found = files.find(|(file, _)| file == name);
    found.expect("a file of the corpus").1
}
