//! Programmers: their commands, what they say, and their end.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use alcor_deploy::{Error, Event, Job, Programmer, Step};

use crate::host::{Host, NEW, address, told};

fn programmer(words: &[&str]) -> Programmer {
    Programmer {
        name: "own".into(),
        command: words.iter().map(|&word| word.into()).collect(),
    }
}

fn command(words: &[&str], serial: Option<&str>) -> Result<Vec<String>, Error> {
    let job = Job {
        bit: "/b/u280.bit".into(),
        serial: serial.map(str::to_owned),
        address: address("0000:3b:00.0"),
    };
    programmer(words).command(&job, Path::new("/t.tcl"))
}

#[test]
fn placeholders_are_filled_in_each_word() {
    let words = command(
        &[
            "p",
            "-f={bit}",
            "{serial}:{address}",
            "{tcl}",
            "{",
            "}{bit}",
            "a b",
        ],
        Some("{bit}"),
    );
    assert_eq!(
        words.expect("a command"),
        [
            "p",
            "-f=/b/u280.bit",
            "{bit}:0000:3b:00.0",
            "/t.tcl",
            "{",
            "}/b/u280.bit",
            "a b"
        ]
    );
}

#[test]
fn commands_that_would_go_wrong_are_refused() {
    let error = command(&["p", "{bit}", "{serial}"], None).expect_err("no serial");
    assert!(error.to_string().contains("boards.toml"), "{error}");
    let error = command(&["p", "{bit}", "{port}"], None).expect_err("no such one");
    assert!(
        error.to_string().contains("{port}") && error.to_string().contains("{address}"),
        "{error}"
    );
    for words in [&[][..], &["p"], &["p", "{serial}"]] {
        assert!(
            matches!(command(words, Some("1")), Err(Error::NoBit { .. })),
            "{words:?}"
        );
    }
    for known in Programmer::known() {
        let job = Job {
            bit: "b".into(),
            serial: Some("s".into()),
            address: address("0000:3b:00.0"),
        };
        let words = known.command(&job, Path::new("t")).expect("a command");
        assert!(
            words.contains(&"s".into()) && words.contains(&"b".into()),
            "{words:?}"
        );
    }
}

#[test]
fn what_a_programmer_says_is_told_and_its_last_lines_are_kept() {
    let host = Host::new();
    let body = "i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i+1)); done; printf 'bad \\033[2J\\n' >&2; sleep 0.2; echo end; exit 4";
    host.programmer(body);
    let (told, result) = told(&host.deploy(), &AtomicBool::new(false));
    let failure = result.expect_err("it fails");
    let lines = told.iter().filter(|line| line.starts_with("> ")).count();
    assert_eq!(lines, 102);
    assert!(told.contains(&"> bad  [2J".to_owned()), "no escapes");
    let Error::Programmer { status, lines, .. } = &failure.error else {
        panic!("{failure}");
    };
    assert_eq!(status.code(), Some(4));
    assert_eq!(
        (lines.len(), lines.last().map(String::as_str)),
        (12, Some("end"))
    );
    assert!(failure.to_string().contains("\n  end"), "{failure}");
}

#[test]
fn a_line_without_an_end_fills_no_memory() {
    let host = Host::new();
    host.programmer("head -c 3000000 /dev/zero | tr '\\0' x; exit 1");
    let (told, result) = told(&host.deploy(), &AtomicBool::new(false));
    assert!(told.iter().all(|line| line.len() <= 2010));
    let failure = result.expect_err("it fails");
    assert!(failure.to_string().len() < 40_000);
}

#[test]
fn a_programmer_that_takes_too_long_is_ended_with_all_it_has_started() {
    let host = Host::new();
    // It does not listen, and its child would go on.
    host.programmer("trap '' TERM; sleep 60 & echo $! > \"$FPGA.pid\"; echo waiting; while :; do sleep 60; done");
    let mut deploy = host.deploy();
    deploy.patience.program = Duration::from_millis(300);
    let began = Instant::now();
    let (told, result) = told(&deploy, &AtomicBool::new(false));
    let failure = result.expect_err("it takes too long");
    assert!(
        began.elapsed() < Duration::from_secs(15),
        "{:?}",
        began.elapsed()
    );
    assert!(
        matches!(&failure.error, Error::ProgrammerTimedOut { lines, .. } if *lines == ["waiting"]),
        "{failure}"
    );
    assert!(told.contains(&"> waiting".to_owned()));
    host.assert_untouched("timed out");
    let pid = fs::read_to_string(host.path("sys/fpga.pid")).expect("a number");
    let pid: u32 = pid.trim().parse().expect("a number");
    let is_gone = || match fs::read_to_string(format!("/proc/{pid}/stat")) {
        // One that nobody has asked about yet is as good as gone.
        Ok(stat) => stat.contains(") Z "),
        Err(_) => true,
    };
    while !is_gone() {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "process {pid} is there"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_programmer_is_ended_when_the_user_asks() {
    let host = Host::new();
    host.programmer("echo loading; sleep 60");
    let stop = AtomicBool::new(false);
    let began = Instant::now();
    let result = host.deploy().run(&stop, &mut |event| {
        if matches!(event, Event::Line("loading")) {
            stop.store(true, Ordering::Relaxed);
        }
    });
    let failure = result.expect_err("stopped");
    assert!(matches!(failure.error, Error::Stopped), "{failure}");
    assert_eq!(failure.step, Step::Program);
    assert!(began.elapsed() < Duration::from_secs(15));
    host.assert_untouched("stopped");
}

#[test]
fn a_server_that_a_programmer_leaves_behind_holds_nobody_up() {
    let host = Host::new();
    host.programmer(&format!(
        "echo {} > \"$FPGA\"; sleep 20 & echo loaded",
        NEW.text()
    ));
    let began = Instant::now();
    let (told, result) = told(&host.deploy(), &AtomicBool::new(false));
    result.expect("deployed");
    assert!(told.contains(&"> loaded".to_owned()));
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn one_that_goes_on_talking_holds_nobody_up_either() {
    let host = Host::new();
    let talk = "timeout 20 yes talk &";
    host.programmer(&format!("echo {} > \"$FPGA\"; {talk}", NEW.text()));
    let began = Instant::now();
    host.run().expect("deployed");
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn a_file_that_can_not_be_run_is_said() {
    let host = Host::new();
    let mut deploy = host.deploy();
    fs::write(host.path("text"), "no program").expect("a file");
    deploy.programmer = programmer(&[&host.path("text").display().to_string(), "{bit}"]);
    let failure = deploy
        .run(&AtomicBool::new(false), &mut |_| {})
        .expect_err("no program");
    assert!(matches!(failure.error, Error::Start { .. }), "{failure}");
    assert_eq!(failure.step, Step::Program);
    host.assert_untouched("no program");
}

/// Vivado's commands, recorded; a cable and a device behind it.
const VIVADO: &str = r#"
foreach command {open_hw_manager connect_hw_server current_hw_target open_hw_target current_hw_device set_property program_hw_devices
                 close_hw_target disconnect_hw_server close_hw_manager} {
    proc $command {args} "puts \"$command \$args\""
}
proc get_hw_targets {} { return $::all_targets }
proc get_hw_devices {} { return $::all_devices }
set script [lindex $argv 0]
set all_targets [lindex $argv 1]
set all_devices [lindex $argv 2]
set argv [lrange $argv 3 end]
set argc [llength $argv]
source $script
"#;

#[test]
fn the_script_for_vivado_loads_by_serial_and_refuses_a_choice() {
    let folder = tempfile::tempdir().expect("a folder");
    let stubs = folder.path().join("vivado.tcl");
    fs::write(&stubs, VIVADO).expect("a file");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/program.tcl");
    let run = |targets: &str, devices: &str, arguments: &[&str]| {
        let output = std::process::Command::new("tclsh")
            .arg(&stubs)
            .arg(&script)
            .args([targets, devices])
            .args(arguments)
            .output()
            .ok()?;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Some((
            output.status.success(),
            text(&output.stdout),
            text(&output.stderr),
        ))
    };
    let two = "localhost:3121/xilinx_tcf/Xilinx/111 localhost:3121/xilinx_tcf/Xilinx/222A";
    let Some((is_loaded, said, _)) = run(two, "xcu280_u55c_0", &["222", "/b/u280.bit"]) else {
        return alcor_skips::skip("there is no tclsh (Debian: tcl)");
    };
    assert!(is_loaded, "{said}");
    let calls: Vec<&str> = said.lines().collect();
    assert_eq!(
        calls[1..6],
        [
            "connect_hw_server -url localhost:3121",
            "current_hw_target localhost:3121/xilinx_tcf/Xilinx/222A",
            "open_hw_target ",
            "current_hw_device xcu280_u55c_0",
            "set_property PROGRAM.FILE /b/u280.bit xcu280_u55c_0",
        ]
    );
    assert_eq!(calls[6], "program_hw_devices xcu280_u55c_0");
    for (targets, devices, arguments, word) in [
        (two, "d", &["333", "b"][..], "0 cables with serial 333"),
        ("s/x/y/1 t/x/y/1", "d", &["1", "b"], "2 cables"),
        (two, "d e", &["111", "b"], "expected one device"),
        (two, "", &["111", "b"], "expected one device"),
        (two, "d", &["111"], "usage"),
    ] {
        let (is_loaded, said, error) = run(targets, devices, arguments).expect("tclsh runs");
        assert!(!is_loaded && error.contains(word), "{arguments:?}: {error}");
        assert!(!said.contains("program_hw_devices"), "{said}");
    }
    let server = ["111", "b", "lab:3121"];
    let (_, said, _) = run(two, "d", &server).expect("tclsh runs");
    assert!(said.contains("-url lab:3121"), "{said}");
}
