//! Writes the list of embedded files.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs, io};

mod lists;

fn main() -> io::Result<()> {
    let mut names = BTreeSet::from([lists::CONFIGS.to_owned()]);
    let sources = lists::sources(&lists::AROUND, |name| {
        names.insert(name.to_owned());
        fs::read_to_string(here(name))
    })?;
    names.extend(sources);
    for folder in [lists::INCLUDES, lists::KERNELS] {
        for entry in fs::read_dir(here(folder))? {
            let file = entry?.file_name();
            names.insert(format!("{folder}/{}", file.to_string_lossy()));
        }
        // A new file in this folder must trigger a rebuild.
        println!("cargo::rerun-if-changed={}", here(folder));
    }
    let mut list = String::from("&[\n");
    for name in &names {
        let path = fs::canonicalize(here(name))?;
        println!("cargo::rerun-if-changed={}", here(name));
        writeln!(list, "({name:?}, include_str!({path:?})),").map_err(io::Error::other)?;
    }
    list.push(']');
    let folder = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    fs::write(Path::new(&folder).join("files.rs"), list)
}

/// Path of a file relative to this crate's folder, which is `hw` in the repository.
fn here(name: &str) -> &str {
    name.strip_prefix("hw/").unwrap_or(name)
}
