//! `alcor new`: makes a project whose tests pass without changes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::exit::{CommandResult, Error, Exit};

/// Make a project with programs in Rust and C, a kernel in SystemVerilog, tests and regressions
///
/// The project is a folder of that name, with a crate. Its script `check` builds and runs all
/// parts; README.md lists the files. The project depends on the crates of Alcor by the path of a
/// clone, or by the address of a clone. With an address, the project also has a workflow for
/// GitHub.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder of the project, which must not exist; its last part is the name of the crate
    #[arg(value_name = "NAME")]
    folder: PathBuf,

    /// Clone of Alcor that the project depends on [default: the clone that this program was built
    /// from]
    #[arg(long, value_name = "DIR", conflicts_with = "git")]
    alcor: Option<PathBuf>,

    /// Address of a clone that the project depends on, as for git
    #[arg(long, value_name = "URL")]
    git: Option<String>,
}

/// The crates of Alcor that a project depends on, and their folders in a clone.
const CRATES: [(&str, &str); 4] = [
    ("alcor", "host-lib/alcor"),
    ("alcor-cosim", "cosim/engine"),
    ("alcor-shm", "host-lib/alcor-shm"),
    ("alcor-test", "tests/framework"),
];

/// The clone that this program was built from.
const CLONE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The workflow for GitHub.
const WORKFLOW: &str = ".github/workflows/check.yml";
/// The script that builds and runs all parts.
const CHECK: &str = "check";

macro_rules! files {
    ($($name:literal from $file:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../template/", $file)))),+]
    };
}

/// The files of a project, and their texts with words in double braces to be filled in.
const FILES: [(&str, &str); 15] = files![
    "Cargo.toml" from "Cargo.toml.in",
    ".gitignore" from "gitignore",
    ".cargo/config.toml" from "cargo-config.toml",
    "src/lib.rs" from "src/lib.rs",
    "src/main.rs" from "src/main.rs",
    "tests/board.rs" from "tests/board.rs",
    "tests/kernel.rs" from "tests/kernel.rs",
    "hw/configs.toml" from "hw/configs.toml",
    "hw/ring_put.sv" from "hw/ring_put.sv",
    "c/sum.c" from "c/sum.c",
    "c/Makefile" from "c/Makefile",
    "regress.toml" from "regress.toml",
    "README.md" from "README.md",
    "check" from "check",
    ".github/workflows/check.yml" from "check.yml",
];

/// Reasons why no project was made.
#[derive(Debug, thiserror::Error)]
pub enum NewError {
    /// A crate can't have this name.
    #[error(
        "`{0}` can't be the name of a crate: take letters, digits, `-` and `_`, and begin with a letter"
    )]
    Name(String),
    /// The folder exists.
    #[error("{path} exists already; choose another name", path = .0.display())]
    IsThere(PathBuf),
    /// The folder is no clone.
    #[error("there is no clone of Alcor at {path}; name one by --alcor DIR or --git URL", path = .0.display())]
    NoClone(PathBuf),
}

/// Runs the command.
pub fn run(args: &Args) -> CommandResult {
    let name = args
        .folder
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(is_plain) {
        return Err(NewError::Name(name).into());
    }
    if args.folder.exists() {
        return Err(NewError::IsThere(args.folder.clone()).into());
    }
    let mut words = match &args.git {
        Some(url) => of_git(url),
        None => of_clone(args.alcor.as_deref().unwrap_or(Path::new(CLONE)))?,
    };
    words.push(("crate", name.replace('-', "_")));
    words.push(("name", name));
    for (file, text) in FILES {
        if file == WORKFLOW && args.git.is_none() {
            continue;
        }
        let path = args.folder.join(file);
        let folder = path.parent().unwrap_or(&args.folder);
        fs::create_dir_all(folder).map_err(Error::write(folder))?;
        fs::write(&path, filled_in(text, &words)).map_err(Error::write(&path))?;
        if file == CHECK {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&path, mode).map_err(Error::write(&path))?;
        }
    }
    println!(
        "made {0}; {0}/check builds and runs all of it",
        args.folder.display()
    );
    Ok(Exit::Passed)
}

/// Words of the templates, and the texts that replace them.
type Words = Vec<(&'static str, String)>;

fn of_git(url: &str) -> Words {
    let mut words: Words = CRATES
        .iter()
        .map(|&(name, _)| (name, format!("git = {url:?}")))
        .collect();
    words.push(("clone", "../target/alcor".to_owned()));
    words.push(("install", format!("--git {url} alcor-cli")));
    words.push((
        "fetch",
        format!("      - run: git clone --depth 1 {url} target/alcor\n"),
    ));
    words.push(("ci", format!("; `{WORKFLOW}` runs it on GitHub")));
    words
}

fn of_clone(clone: &Path) -> Result<Words, Error> {
    let whole = fs::canonicalize(clone).unwrap_or_else(|_| clone.to_owned());
    if !CRATES
        .iter()
        .all(|(_, folder)| whole.join(folder).join("Cargo.toml").is_file())
    {
        return Err(NewError::NoClone(whole).into());
    }
    let path = |folder: &str| whole.join(folder).display().to_string();
    let mut words: Words = CRATES
        .iter()
        .map(|&(name, folder)| (name, format!("path = {:?}", path(folder))))
        .collect();
    words.push(("clone", whole.display().to_string()));
    words.push(("install", format!("--path {}", path("cosim/cli"))));
    words.push(("fetch", String::new()));
    words.push(("ci", String::new()));
    Ok(words)
}

fn filled_in(text: &str, words: &Words) -> String {
    let fill = |text: String, (word, with): &(&str, String)| {
        text.replace(&format!("{{{{{word}}}}}"), with)
    };
    words.iter().fold(text.to_owned(), fill)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_filled_in() {
        let clone = of_clone(Path::new(CLONE)).unwrap();
        for mut words in [clone, of_git("https://example.org/alcor.git")] {
            words.push(("crate", "a_b".to_owned()));
            words.push(("name", "a-b".to_owned()));
            for (file, text) in FILES {
                let text = filled_in(text, &words);
                // GitHub's own words have a dollar sign.
                assert!(!text.replace("${{", "").contains("{{"), "{file}: {text}");
                assert!(text.lines().count() <= 60, "{file} is longer than a page");
            }
        }
    }
}
