//! The programs of a configuration file, as a regression runs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with a configuration file.
struct Project(tempfile::TempDir);

/// The exit code, standard output and standard error.
type Said = (i32, String, String);

impl Project {
    fn new(tables: &str) -> Project {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("regress.toml"), tables).unwrap();
        Project(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn regress(&self, options: &[&str]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_alcor"));
        command
            .arg("regress")
            .args(options)
            .args(["--store", "results"])
            .current_dir(self.0.path())
            .env("ALCOR_ROOT", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let code = output.status.code().unwrap();
        (code, text(output.stdout), text(output.stderr))
    }
}

fn exchange() -> String {
    let path = Path::new(env!("CARGO_BIN_EXE_alcor")).with_file_name("examples/exchange");
    assert!(path.is_file(), "{path:?}: cargo build --examples makes it");
    path.to_str().unwrap().to_owned()
}

#[test]
fn programs_run_with_seeds_and_arguments_and_their_cycles_are_known() {
    let exchange = exchange();
    let project = Project::new(&format!(
        r#"
        [[program]]
        name = "exchange"
        run = ["{exchange}", "{{seed}}"]
        backends = ["cosim:rma2", "cosim:rma2?away=1"]
        seeds = [2, "0x3"]
        stdout = '^rank [01] of 2: [23] rounds'
        tags = ["smoke"]

        [[program]]
        name = "seed"
        run = ["sh", "-c", "test {{seed}} -gt 1 && test {{seed}} = $ALCOR_SEED"]
        backends = ["cosim:rma2"]
        seeds = [2, 3]

        [[program]]
        name = "arguments"
        run = ["sh", "-c", 'echo "rank $ALCOR_RANK seed $ALCOR_SEED: $0 $1"; exit 7']
        backends = ["cosim:rma2"]
        arguments = [["a", "b"], ["c"]]
        exit = 7
        stdout = 'rank 1 seed 1: (a b|c)'
        "#
    ));
    let (code, out, err) = project.regress(&[]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("8 passed, 0 failed"), "{out}");
    for name in [
        "program.exchange seed 2",
        "program.exchange seed 3",
        "program.arguments(a b)",
        "program.arguments(c)",
    ] {
        assert!(err.contains(name), "{name}: {err}");
    }
    // A second run has the same cycles and traffic, and is compared with the first.
    let digest = |out: &str| {
        let mut rows = out.lines().filter(|line| line.starts_with("cosim:rma2 "));
        let row = rows.next().unwrap().split_whitespace();
        row.last().unwrap().to_owned()
    };
    let (code, again, _) = project.regress(&[]);
    assert_eq!((code, digest(&again)), (0, digest(&out)), "{again}");
    assert!(
        again.contains("nothing new of 6 tests that ran before"),
        "{again}"
    );

    let (code, out, _) = project.regress(&["--tag", "smoke", "--backend", "cosim:rma2", "--list"]);
    assert_eq!(code, 0);
    assert_eq!(
        out,
        format!("program.exchange: {exchange} {{seed}} on cosim:rma2.\n")
    );
}

#[test]
fn a_program_that_is_not_as_expected_fails_and_leaves_its_output() {
    let exchange = exchange();
    let project = Project::new(&format!(
        r#"
        [[program]]
        name = "code"
        run = ["sh", "-c", "echo out; echo err >&2; exit 7"]
        backends = ["cosim:rma2"]

        [[program]]
        name = "output"
        run = ["echo", "yes"]
        backends = ["cosim:rma2"]
        stdout = '^no$'

        [[program]]
        name = "slow"
        run = ["sh", "-c", "echo asleep; exec sleep 100"]
        backends = ["cosim:rma2"]
        timeout = 3

        [[program]]
        name = "cycles"
        run = ["{exchange}", "2"]
        backends = ["cosim:rma2"]
        cycles = {{ "cosim:rma2" = 100 }}
        drift = 50
        "#
    ));
    let (code, out, _) = project.regress(&["--junit", "junit.xml"]);
    assert_eq!(code, 1, "{out}");
    for words in [
        "exit 7: expected exit code 0, found exit code 7; the last lines that it printed:\n",
        "echo yes: expected output that matches `^no$`, found none; the last lines that it printed:\n  yes\n",
        "exec sleep 100: expected an end within 3 s, found it running; the last lines that it printed:\n  asleep\n",
        "expected 100 cycles, 50 % more or less, found ",
        "repeat: alcor regress --programs --backend cosim:rma2 --filter '^program\\.code$' --seed 1\n",
    ] {
        assert!(out.contains(words), "{words}: {out}");
    }
    let folder = project.path("alcor-report/program.code");
    let text = fs::read_to_string(folder.join("output.txt")).unwrap();
    assert!(text.contains("out\n") && text.contains("err\n"), "{text}");
    assert!(folder.join("failure.txt").is_file());
    // The same explanation as of a test: commands, packets and waves, also of a program that is ended.
    let explained = |name: &str, file: &str| {
        let path = project.path("alcor-report").join(name).join(file);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    assert!(explained("program.cycles", "commands.txt").contains("X_PUT to rank 1"));
    assert!(explained("program.cycles", "packets.txt").contains("PUT"));
    assert!(explained("program.slow", "commands.txt").starts_with("The last commands"));
    let text = explained("program.cycles", "failure.txt");
    for words in [
        "waves.fst ",
        "waves, from 10000 cycles before the failure on\n",
        "gtkwave waves.fst waves.gtkw",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("note: "), "{text}");
    let waves = project.path("alcor-report/program.cycles/waves.fst");
    assert!(fs::metadata(waves).unwrap().len() > 1000);
    let junit = fs::read_to_string(project.path("junit.xml")).unwrap();
    assert!(junit.contains("program.code"), "{junit}");
    // One of them alone, by the command that was printed.
    let options = [
        "--programs",
        "--backend",
        "cosim:rma2",
        "--filter",
        r"^program\.code$",
        "--seed",
        "1",
    ];
    let (code, out, _) = project.regress(&options);
    assert!(code == 1 && out.contains("0 passed, 1 failed"), "{out}");
}

#[test]
fn a_mistake_in_the_file_is_named() {
    for (table, words) in [
        (
            "name = 'a b'\nrun = ['true']",
            "`name` must consist of letters",
        ),
        ("name = 'a'\nrun = []", "`run` names no program"),
        ("name = 'a'\nrun = ['true']\nstdout = '('", "regex"),
        (
            "name = 'a'\nrun = ['true']\nspeed = 1",
            "unknown field `speed`",
        ),
        ("name = 'a'\nrun = ['true']\ntimeout = -1", "above 0"),
        (
            "name = 'a'\nrun = ['true']\ncycles = { 'cosim:x' = 1 }",
            "which `backends` does not",
        ),
        (
            "name = 'a'\nrun = ['true']\n[[program]]\nname = 'a'\nrun = ['true']",
            "two programs `program.a`",
        ),
    ] {
        let project = Project::new(&format!("[[program]]\n{table}\n"));
        let (code, out, err) = project.regress(&[]);
        assert!(code == 2 && err.contains(words), "{table}: {out}{err}");
    }
    let project = Project::new("");
    let (code, _, err) = project.regress(&["--programs"]);
    assert!(
        code == 2 && err.contains("has no table [[program]]"),
        "{err}"
    );
    let (code, _, err) = project.regress(&["--tag", "x", "--config-file", "none.toml"]);
    assert!(code == 2 && err.contains("none.toml"), "{err}");
}
