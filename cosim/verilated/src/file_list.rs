//! File lists in the format of the simulators' option `-f`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

/// Maximum depth of nested lists.
const DEEPEST: usize = 16;

/// The contents of file lists.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Listed {
    pub(crate) sources: Vec<PathBuf>,
    pub(crate) include_dirs: Vec<PathBuf>,
    pub(crate) defines: Vec<(String, String)>,
    pub(crate) cpp_sources: Vec<PathBuf>,
    /// Arguments of Verilator.
    pub(crate) arguments: Vec<String>,
}

impl Listed {
    /// Adds the contents of a list whose paths start from `base`.
    pub(crate) fn add(&mut self, list: &Path, base: &Path) -> Result<(), Error> {
        self.add_at(list, base, 0)
    }

    fn add_at(&mut self, list: &Path, base: &Path, depth: usize) -> Result<(), Error> {
        let text = fs::read_to_string(list).map_err(Error::io("read file list", list))?;
        let refused = |word: &str, expected| {
            Err(Error::FileList {
                path: list.into(),
                word: word.into(),
                expected,
            })
        };
        let mut words = words(&text, &|name| env::var(name).ok()).into_iter();
        while let Some(word) = words.next() {
            let word = match word {
                Ok(word) => word,
                Err(name) => return refused(&name, "an environment variable that is set"),
            };
            let plus = |prefix: &str| word.strip_prefix(prefix).map(|rest| rest.split('+'));
            if let "-f" | "-F" | "-v" | "-y" = &*word {
                let Some(Ok(value)) = words.next() else {
                    return refused(&word, "a path behind it");
                };
                let path = base.join(value);
                match &*word {
                    "-v" => self.sources.push(path),
                    "-y" => self.include_dirs.push(path),
                    _ if depth == DEEPEST => {
                        return refused(&word, "lists that do not name each other");
                    }
                    "-f" => self.add_at(&path, base, depth + 1)?,
                    _ => {
                        let base = path.parent().unwrap_or(base).to_owned();
                        self.add_at(&path, &base, depth + 1)?;
                    }
                }
            } else if let Some(folders) = plus("+incdir+") {
                self.include_dirs
                    .extend(folders.map(|folder| base.join(folder)));
            } else if let Some(folder) = word.strip_prefix("-I") {
                self.include_dirs.push(base.join(folder));
            } else if let Some(defines) = plus("+define+") {
                self.defines.extend(defines.map(define));
            } else if let Some(text) = word.strip_prefix("-D") {
                self.defines.push(define(text));
            } else if word.starts_with("-W") || word.starts_with("+libext+") {
                self.arguments.push(word);
            } else if word.starts_with(['-', '+']) {
                return refused(
                    &word,
                    "a file, -f, -F, -v, -y, -I, -D, -W.., +incdir+, +define+ or +libext+",
                );
            } else if is_cpp(&word) {
                self.cpp_sources.push(base.join(word));
            } else {
                self.sources.push(base.join(word));
            }
        }
        Ok(())
    }
}

fn is_cpp(file: &str) -> bool {
    let extension = Path::new(file).extension();
    extension.is_some_and(|found| {
        ["c", "cc", "cpp", "cxx"]
            .iter()
            .any(|known| found == *known)
    })
}

/// Name and value of `NAME` or `NAME=VALUE`.
fn define(text: &str) -> (String, String) {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    (name.into(), value.into())
}

/// Words of a list without comments, with environment variables replaced by their values. `Err`
/// names an unset variable.
fn words(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Vec<Result<String, String>> {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = ["//", "/*", "#"]
        .iter()
        .filter_map(|it| rest.find(it))
        .min()
    {
        plain += &rest[..at];
        plain.push(' ');
        let (end, length) = if rest[at..].starts_with("/*") {
            ("*/", 2)
        } else {
            ("\n", 0)
        };
        let found = rest[at..].find(end).map(|length| at + length);
        rest = found.map_or("", |found| &rest[found + length..]);
    }
    plain += rest;
    plain
        .split_whitespace()
        .map(|word| expanded(word.trim_matches('"'), variable))
        .collect()
}

/// Replaces `$NAME`, `${NAME}` and `$(NAME)` in a word by their values.
fn expanded(word: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let (mut text, mut rest) = (String::new(), word);
    while let Some((before, behind)) = rest.split_once('$') {
        text += before;
        let (name, after) = match behind.chars().next() {
            Some('{') => behind[1..].split_once('}').unwrap_or((&behind[1..], "")),
            Some('(') => behind[1..].split_once(')').unwrap_or((&behind[1..], "")),
            _ => {
                let is_other = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
                behind.split_at(behind.find(is_other).unwrap_or(behind.len()))
            }
        };
        text += &variable(name).ok_or_else(|| format!("${name}"))?;
        rest = after;
    }
    Ok(text + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_lists_folders_macros_and_files() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("ip")).unwrap();
        fs::write(
            at("all.f"),
            "// Everything.\n+incdir+inc+ip/inc -Iother\n+define+A=1+B -DC=2 /* not\nthis.sv */\n\
             -Wno-WIDTH # nor that.sv\ntop.sv \"quoted.sv\"\n-F ip/ip.f\n-f ip/same.f\nmodel.cpp\n-v lib.v -y lib",
        )
        .unwrap();
        fs::write(at("ip/ip.f"), "ip.sv").unwrap();
        fs::write(at("ip/same.f"), "ip/other.sv").unwrap();
        let mut listed = Listed::default();
        listed.add(&at("all.f"), folder.path()).unwrap();
        let names = |paths: &[PathBuf]| -> Vec<String> {
            let name = |path: &PathBuf| path.strip_prefix(folder.path()).unwrap().to_owned();
            paths
                .iter()
                .map(|path| name(path).display().to_string())
                .collect()
        };
        assert_eq!(
            names(&listed.sources),
            ["top.sv", "quoted.sv", "ip/ip.sv", "ip/other.sv", "lib.v"]
        );
        assert_eq!(
            names(&listed.include_dirs),
            ["inc", "ip/inc", "other", "lib"]
        );
        assert_eq!(names(&listed.cpp_sources), ["model.cpp"]);
        let defines = [("A", "1"), ("B", ""), ("C", "2")];
        let defines = defines.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(listed.defines, defines);
        assert_eq!(listed.arguments, ["-Wno-WIDTH"]);
    }

    #[test]
    fn variables_are_replaced() {
        let variable = |name: &str| (name == "IP").then(|| "/ip".to_owned());
        let expect = |text: &str| words(text, &variable);
        assert_eq!(
            expect("$IP/a.sv ${IP}b $(IP)/c $UVM/d"),
            [
                Ok("/ip/a.sv".into()),
                Ok("/ipb".into()),
                Ok("/ip/c".into()),
                Err("$UVM".into())
            ]
        );
    }

    #[test]
    fn what_a_list_may_not_have_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("a.f");
        let said = |text: &str| {
            fs::write(&list, text).unwrap();
            let refused = Listed::default().add(&list, folder.path()).unwrap_err();
            refused.to_string()
        };
        for (text, words) in [
            ("--binary", "`--binary`, expected a file, -f"),
            ("a.sv -f", "`-f`, expected a path"),
            ("-f a.f", "do not name each other"),
            ("$NOT_SET_ANYWHERE/a.sv", "`$NOT_SET_ANYWHERE`"),
            ("-f missing.f", "missing.f"),
        ] {
            let said = said(text);
            assert!(said.contains(words), "{said}");
        }
    }
}
