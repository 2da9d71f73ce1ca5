//! `alcor completions` and `alcor man`: shell completions and manual pages, made from the command
//! line definitions.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::exit::{CommandResult, Error, Exit};
use crate::{Cli, build, regress};

/// Print completions for a shell
///
/// The completions include the configurations and profiles of the repository in which this command
/// runs.
///
/// For bash: alcor completions bash > ~/.local/share/bash-completion/completions/alcor
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Write the manual: a page for the program, and one for each command
///
/// Read a page by man -l FOLDER/alcor-regress.1, or install the pages into a man1 folder of
/// MANPATH.
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// Folder of the pages; created if it does not exist
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// The program, with the possible values of options: the configurations and profiles of the
/// repository.
fn command_with_values() -> Command {
    let configs: Vec<String> = build::backend()
        .configs()
        .map(|configs| configs.iter().map(|(name, _)| name.to_owned()).collect())
        .unwrap_or_default();
    let schemes = ["cosim", "serve", "standin"];
    let boards = |scheme| configs.iter().map(move |name| format!("{scheme}:{name}"));
    let boards = schemes.into_iter().flat_map(boards).collect();
    // The command line wants them for as long as the program runs, which ends with the script.
    let kept = |values: Vec<String>| values.into_iter().map(|it| &*it.leak()).collect();
    let values: [(&str, Vec<&'static str>); 3] = [
        ("backend", kept(boards)),
        ("config", kept(configs.clone())),
        ("profile", kept(regress::profiles())),
    ];
    Cli::command().mut_subcommands(|mut command| {
        for (name, values) in &values {
            let is_there = command.get_arguments().any(|arg| arg.get_id() == name);
            if is_there && !values.is_empty() {
                command = command.mut_arg(name, |arg| {
                    arg.value_parser(PossibleValuesParser::new(values.clone()))
                });
            }
        }
        command
    })
}

/// Prints completions.
pub fn completions(args: &CompletionsArgs) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command_with_values(), "alcor", &mut script);
    io::stdout()
        .write_all(&script)
        .map_err(Error::write("standard output"))?;
    Ok(Exit::Passed)
}

/// Writes manual pages.
pub fn pages(args: &ManArgs) -> CommandResult {
    let failed = || Error::write(&args.folder);
    fs::create_dir_all(&args.folder).map_err(failed())?;
    clap_mangen::generate_to(Cli::command(), &args.folder).map_err(failed())?;
    Ok(Exit::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    /// The help of every command, and of those below it.
    fn helps(command: &mut clap::Command, path: &str, found: &mut Vec<(String, String)>) {
        let path = format!("{path} {}", command.get_name());
        found.push((path.clone(), command.render_long_help().to_string()));
        for below in command
            .get_subcommands_mut()
            .filter(|below| !below.is_hide_set())
        {
            helps(below, &path, found);
        }
    }

    #[test]
    fn every_command_and_flag_says_what_it_is_for() {
        let mut found = Vec::new();
        helps(&mut Cli::command().term_width(80), "", &mut found);
        assert!(found.len() > 10);
        for (path, help) in found {
            assert!(
                help.lines().next().is_some_and(|line| line.len() > 10),
                "{path}: {help}"
            );
            for line in help.lines() {
                assert!(line.chars().count() <= 80, "{path}: too wide: {line}");
            }
        }
        fn check(command: &clap::Command) {
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                assert!(
                    arg.get_help().is_some(),
                    "{}: {}",
                    command.get_name(),
                    arg.get_id()
                );
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }

    #[test]
    fn manual_and_completions_know_every_command() {
        let folder = tempfile::tempdir().unwrap();
        let args = ManArgs {
            folder: folder.path().join("man1"),
        };
        assert!(matches!(pages(&args), Ok(Exit::Passed)));
        for command in Cli::command()
            .get_subcommands()
            .filter(|below| !below.is_hide_set())
        {
            let page = args.folder.join(format!("alcor-{}.1", command.get_name()));
            assert!(page.is_file(), "{page:?}");
        }
        let mut script = Vec::new();
        clap_complete::generate(Shell::Bash, &mut Cli::command(), "alcor", &mut script);
        assert!(String::from_utf8(script).unwrap().contains("regress"));
    }
}
