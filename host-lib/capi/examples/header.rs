//! Writes `include/alcor.h` from the sources of the C interface; with `--check`, compares it with them.

use std::error::Error;
use std::fs;
use std::path::Path;

/// Files with the public items, in the order of the header.
const SOURCES: [&str; 9] = [
    "types",
    "run",
    "memory",
    "windows",
    "atomics",
    "requests",
    "communicators",
    "messages",
    "collectives",
];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml"))?;
    let sources = SOURCES.map(|name| root.join(format!("src/{name}.rs")));
    let builder = cbindgen::Builder::new().with_config(config);
    let builder = sources
        .iter()
        .fold(builder, |builder, source| builder.with_src(source));
    let mut header = Vec::new();
    builder.generate()?.write(&mut header);
    let file = root.join("include/alcor.h");
    match std::env::args().nth(1).as_deref() {
        None => fs::write(file, header)?,
        Some("--check") if fs::read(file)? == header => {}
        Some("--check") => {
            return Err("include/alcor.h is not what src/ has: `cargo run -p alcor-capi --example header` writes it".into());
        }
        Some(other) => return Err(format!("{other}: there is only --check").into()),
    }
    Ok(())
}
