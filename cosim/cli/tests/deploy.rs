//! `alcor deploy` and `board:<name>` from outside, on a sysfs of plain files: what is written to it has no effect.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CARD: &str = "0000:3b:00.0";
const BRIDGE: &str = "0000:3a:00.0";

/// A host with a card behind a bridge, a packed build, a programmer, and the file of a farm.
struct Host(tempfile::TempDir);

impl Host {
    fn new() -> Host {
        let host = Host(tempfile::tempdir().expect("a folder"));
        let driver = host.path("sys/bus/pci/drivers/xdma");
        fs::create_dir_all(&driver).expect("a folder");
        fs::create_dir_all(host.path("sys/bus/pci/devices")).expect("a folder");
        for (name, inside) in [(BRIDGE, "sys/devices"), (CARD, "sys/devices/0000:3a:00.0")] {
            let folder = host.path(inside).join(name);
            fs::create_dir_all(&folder).expect("a folder");
            symlink(&folder, host.path("sys/bus/pci/devices").join(name)).expect("a link");
            let mut space = vec![0; 256];
            // SERR, a list of capabilities with PCI Express's, fatal reporting.
            for (at, byte) in [(5, 1), (6, 0x10), (0x34, 0x70), (0x70, 0x10), (0x78, 4)] {
                space[at] = byte;
            }
            for (file, bytes) in [
                ("vendor", b"0x10ee".to_vec()),
                ("device", b"0x903f".to_vec()),
                ("resource", b"0xf0000000 0xf000ffff 0x0".to_vec()),
                ("rescan", Vec::new()),
                ("remove", Vec::new()),
                ("config", space),
            ] {
                fs::write(folder.join(file), bytes).expect("a file");
            }
        }
        for file in ["bind", "unbind", "../../rescan"] {
            fs::write(driver.join(file), "").expect("a file");
        }
        let card = host.path("sys/bus/pci/devices").join(CARD);
        symlink(&driver, card.join("driver")).expect("a link");

        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bitstreams/tests/corpus");
        let build = host.path("build");
        fs::create_dir(&build).expect("a folder");
        for (name, from) in [
            ("u280.bit", "bit/good-u280.bit"),
            ("manifest.toml", "manifest/good-u280.toml"),
        ] {
            fs::copy(corpus.join(from), build.join(name)).expect("a file");
        }
        let programmer = host.path("programmer");
        fs::write(&programmer, "echo no cable with $1\nexit 1\n").expect("a file");
        fs::set_permissions(&programmer, fs::Permissions::from_mode(0o644)).expect("rights");
        let farm = format!(
            "schema = 1\n\
             [programmers.own]\ncommand = [\"/bin/sh\", \"{}\", \"{{serial}}\", \"{{bit}}\"]\n\
             [boards.left]\nhost = \"localhost\"\naddress = \"{CARD}\"\nserial = \"S1\"\nprogrammer = \"own\"\n\
             [boards.far]\nhost = \"no-such-host.example\"\naddress = \"{CARD}\"\n",
            programmer.display()
        );
        fs::write(host.path("boards.toml"), farm).expect("a file");
        host
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn alcor(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_alcor"))
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("ALCOR_BOARDS")
            .output()
            .expect("alcor runs")
    }

    fn deploy(&self, arguments: &[&str]) -> Output {
        let own = ["deploy", "build", "--sys", "sys", "--locks", "locks"];
        self.alcor(&[&own[..], arguments].concat())
    }

    /// Command and device control of the bridge.
    fn bridge(&self) -> (u8, u8) {
        let config = self.path("sys/bus/pci/devices").join(BRIDGE).join("config");
        let bytes = fs::read(config).expect("a file");
        (bytes[5], bytes[0x78])
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_dry_run_shows_the_steps_and_writes_nothing() {
    let host = Host::new();
    for which in [
        &["--board", "left"][..],
        &["--card", CARD],
        &["--card", "3b:00.0"],
    ] {
        let output = host.deploy(&[which, &["--dry-run"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let said = text(&output.stdout);
        assert_eq!(said.lines().count(), 18, "{said}");
        for words in [
            "[ 1/17] verify        u280.bit is as packed",
            "[ 9/17] remove        take 0000:3b:00.0 off the bus",
            "programmer S1 build/u280.bit",
            "[17/17] identify",
            "nothing was changed",
        ] {
            assert!(said.contains(words), "{words} in {said}");
        }
    }
    assert!(!host.path("locks").exists());
    let driver = host.path("sys/bus/pci/drivers/xdma/unbind");
    assert_eq!(fs::read_to_string(driver).expect("a file"), "");
    assert_eq!(host.bridge(), (1, 4));
}

#[test]
fn a_step_that_fails_is_shown_with_what_was_undone() {
    let host = Host::new();
    let output = host.deploy(&["--board", "left"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    for words in [
        "[10/17] program",
        "        | no cable with S1",
        "[undo ] find 0000:3b:00.0 again, behind bridge 0000:3a:00.0",
        "[undo ] restore SERR of bridge 0000:3a:00.0",
        "[undo ] bind 0000:3b:00.0 to xdma",
        "step 10 of 17, program: `/bin/sh` ended with exit status: 1; its last lines:\n  no cable with S1",
        "All completed steps are undone.",
    ] {
        assert!(said.contains(words), "{words} in {said}");
    }
    assert_eq!(text(&output.stdout), "");
    assert_eq!(host.bridge(), (1, 4));
    let remove = host.path("sys/bus/pci/devices").join(CARD).join("remove");
    assert_eq!(fs::read_to_string(remove).expect("a file"), "1");
    assert!(host.path("locks").join(format!("{CARD}-deploy")).exists());
}

#[test]
fn a_signal_is_an_error_whose_steps_are_undone() {
    let host = Host::new();
    fs::write(host.path("programmer"), "echo loading\nsleep 60\n").expect("a file");
    let log = fs::File::create(host.path("log")).expect("a file");
    let mut child = Command::new(env!("CARGO_BIN_EXE_alcor"))
        .args([
            "deploy", "build", "--sys", "sys", "--locks", "locks", "--board", "left",
        ])
        .current_dir(host.0.path())
        .stderr(log)
        .spawn()
        .expect("alcor runs");
    let log = || fs::read_to_string(host.path("log")).expect("a file");
    for _ in 0..1000 {
        if log().contains("| loading") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(host.bridge(), (0, 0), "masked while it is loading");
    let killed = Command::new("/bin/sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status();
    assert!(killed.expect("kill runs").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(1), "{}", log());
    assert!(
        log().contains("stopped on request") && log().contains("steps are undone"),
        "{}",
        log()
    );
    assert_eq!(host.bridge(), (1, 4));
}

#[test]
fn wrong_commands_and_lacking_environments_are_told_apart() {
    let host = Host::new();
    for (arguments, code, words) in [
        (&[][..], 2, "--card"),
        (
            &["--card", CARD, "--board", "left"],
            2,
            "cannot be used with",
        ),
        (&["--card", "3b"], 2, "lspci -D"),
        (&["--board", "right"], 2, "far, left"),
        (&["--board", "far"], 2, "run the command on"),
        (
            &["--board", "left", "--programmer", "none"],
            2,
            "there is no programmer `none`",
        ),
        (&["--board", "left", "--timeout", "0"], 2, "0"),
        (
            &["--board", "left", "--boards", "none.toml"],
            3,
            "none.toml",
        ),
        (
            &[
                "--card",
                "0000:77:00.0",
                "--programmer",
                "own",
                "--serial",
                "1",
            ],
            3,
            "warm",
        ),
        (
            &["--card", CARD, "--programmer", "vivado"],
            3,
            "not in PATH",
        ),
        (
            &["--card", "0000:77:00.0", "--programmer", "own"],
            2,
            "--serial",
        ),
    ] {
        let output = host.deploy(&[arguments, &["--dry-run"]].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    fs::remove_file(host.path("build/manifest.toml")).expect("removed");
    let output = host.deploy(&["--board", "left"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("alcor bitstream pack"));
    fs::write(host.path("boards.toml"), "schema = 9").expect("a file");
    let output = host.deploy(&["--board", "left"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("schema 9"));
}

#[test]
fn a_board_of_the_farm_is_a_backend() {
    let host = Host::new();
    let regress = |board: &str| host.alcor(&["regress", "--backend", board]);
    for (board, code, words) in [
        ("board:far", 2, "no-such-host.example"),
        ("board:right", 2, "far, left"),
        // This host has no card there.
        ("board:left", 2, CARD),
    ] {
        let output = regress(board);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{board}: {said}");
        assert!(said.contains(words), "{board}: {said}");
    }
    // A card is one board.
    for board in ["board:left", "xdma:auto"] {
        let output = host.alcor(&["regress", "--backend", board, "--jobs", "2"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            text(&output.stderr).contains("is one board"),
            "{}",
            text(&output.stderr)
        );
    }
    fs::rename(host.path("boards.toml"), host.path("other.toml")).expect("renamed");
    let output = regress("board:left");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("docs/deploy.md"));
    let output = Command::new(env!("CARGO_BIN_EXE_alcor"))
        .args(["regress", "--backend", "board:far"])
        .env("ALCOR_BOARDS", host.path("other.toml"))
        .output()
        .expect("alcor runs");
    assert!(text(&output.stderr).contains("run the command on"));
}

#[test]
fn the_doctor_sees_the_farm() {
    let host = Host::new();
    let output = host.alcor(&["doctor"]);
    let said = text(&output.stdout);
    assert!(
        said.contains("board far") && said.contains("another host"),
        "{said}"
    );
    let missing = said
        .lines()
        .find(|line| line.contains("board left"))
        .expect("a line");
    assert!(
        missing.starts_with("missing") && missing.contains(CARD),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(3));
    fs::write(host.path("boards.toml"), "schema = 9").expect("a file");
    assert!(text(&host.alcor(&["doctor"]).stdout).contains("schema 9"));
}
