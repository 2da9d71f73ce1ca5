//! Every step made to fail, in every way that it has; and what is undone then.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use alcor_deploy::{Deploy, Error, Event, Step};

use crate::host::{BRIDGE, CARD, Design, Host, NEW, SECOND, address, told};

/// How the host is behind a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// No write was made.
    Untouched,
    /// All is as before.
    Undone,
    /// The functions are there without a driver, the bridge is as before.
    Unbound,
    /// The card is not there, the bridge is as before.
    Lost,
}

/// Spoils the host, or the deployment.
type Spoil = fn(&Host, &mut Deploy);

const MATRIX: [(Step, &str, Spoil, After); 30] = [
    (
        Step::Verify,
        "another bitstream",
        |host, _| fs::write(host.path("build/u280.bit"), "x").expect("a file"),
        After::Untouched,
    ),
    (
        Step::Verify,
        "no manifest",
        |_, deploy| deploy.build = "/nowhere".into(),
        After::Untouched,
    ),
    (
        Step::Programmer,
        "no program",
        |_, deploy| deploy.programmer.command[0] = "no-such-programmer".into(),
        After::Untouched,
    ),
    (
        Step::Programmer,
        "no serial",
        |_, deploy| deploy.serial = None,
        After::Untouched,
    ),
    (
        Step::Lock,
        "no folder",
        |host, _| fs::write(host.path("locks"), "").expect("a file"),
        After::Untouched,
    ),
    (
        Step::Find,
        "no card",
        |_, deploy| deploy.address = address("0000:77:00.0"),
        After::Untouched,
    ),
    (
        Step::Find,
        "another driver",
        |host, _| {
            let link = host.path("sys/bus/pci/devices").join(CARD).join("driver");
            fs::remove_file(&link).expect("removed");
            symlink("../../../../bus/pci/drivers/vfio-pci", link).expect("a link");
        },
        After::Untouched,
    ),
    (
        Step::Find,
        "no driver at all",
        |host, _| {
            let link = host.path("sys/bus/pci/devices").join(CARD).join("driver");
            fs::remove_file(link).expect("removed");
            fs::remove_dir_all(host.path("sys/bus/pci/drivers/xdma")).expect("removed");
        },
        After::Untouched,
    ),
    (
        Step::Find,
        "no bridge",
        |_, deploy| deploy.address = address(BRIDGE),
        After::Untouched,
    ),
    (
        Step::Find,
        "sysfs that makes no sense",
        |host, _| {
            let file = host
                .path("sys/bus/pci/devices")
                .join(SECOND)
                .join("resource");
            fs::write(file, "?").expect("a file");
        },
        After::Untouched,
    ),
    (
        Step::Lock,
        "a link that leads elsewhere",
        |host, _| {
            fs::create_dir(host.path("locks")).expect("a folder");
            let path = host.path("locks").join(format!("{CARD}-deploy"));
            symlink(host.path("build/manifest.toml"), path).expect("a link");
        },
        After::Untouched,
    ),
    (
        Step::Ranks,
        "no lock file",
        |host, _| {
            let path = host.path("locks").join(format!("{CARD}-rank3"));
            fs::create_dir_all(path).expect("a folder");
        },
        After::Untouched,
    ),
    (
        Step::Users,
        "an open node",
        |host, _| {
            fs::create_dir_all(host.path("proc/7/fd")).expect("a folder");
            symlink(host.path("dev/xdma3_h2c_0"), host.path("proc/7/fd/4")).expect("a link");
        },
        After::Untouched,
    ),
    (
        Step::Unbind,
        "the first function",
        |host, _| host.fail("unbind 0000:3b:00.0", 1),
        After::Undone,
    ),
    (
        Step::Unbind,
        "the second function",
        |host, _| host.fail("unbind 0000:3b:00.1", 1),
        After::Undone,
    ),
    (
        Step::Mask,
        "SERR",
        |host, _| host.fail("config 0000:3a:00.0 0x4", 1),
        After::Undone,
    ),
    (
        Step::Mask,
        "fatal reporting",
        |host, _| host.fail("config 0000:3a:00.0 0x78", 1),
        After::Undone,
    ),
    (
        Step::Remove,
        "the first that is removed",
        |host, _| host.fail("remove 0000:3b:00.1", 1),
        After::Undone,
    ),
    (
        Step::Remove,
        "the second that is removed",
        |host, _| host.fail("remove 0000:3b:00.0", 1),
        After::Undone,
    ),
    (
        Step::Program,
        "an error",
        |host, _| host.programmer("echo no cable >&2; exit 3"),
        After::Undone,
    ),
    (
        Step::Program,
        "too long",
        |host, deploy| {
            host.programmer("sleep 100");
            deploy.patience.program = Duration::from_millis(100);
        },
        After::Undone,
    ),
    (
        Step::RescanBridge,
        "the write",
        |host, _| host.fail("rescan 0000:3a:00.0", 1),
        After::Undone,
    ),
    (
        Step::RescanBridge,
        "the write, also when it is undone: the bus's finds it",
        |host, _| host.fail("rescan 0000:3a:00.0", 2),
        After::Undone,
    ),
    (
        Step::RescanBus,
        "the write",
        |host, _| host.fail("rescan", 1),
        After::Undone,
    ),
    (
        Step::RescanBus,
        "a card that stays away",
        |host, _| host.lose_card(),
        After::Lost,
    ),
    (
        Step::Compare,
        "another card",
        |host, _| {
            let design = Design { device: 1, ..NEW };
            host.programmer(&format!("echo {} > \"$FPGA\"", design.text()));
        },
        After::Unbound,
    ),
    (
        Step::Unmask,
        "the write, of which the undo is another try",
        // A fault that the test plants between two writes to the same register.
        |_, _| {},
        After::Undone,
    ),
    (
        Step::Enable,
        "the write",
        |host, _| host.fail("config 0000:3b:00.1 0x4", 1),
        After::Undone,
    ),
    (
        Step::Bind,
        "the driver",
        |host, _| {
            host.fail("bind 0000:3b:00.0 xdma", 1);
            host.fail("bind 0000:3b:00.1 xdma", 1);
        },
        After::Unbound,
    ),
    (
        Step::Identify,
        "no design",
        |host, _| {
            let design = Design { magic: 0, ..NEW };
            host.programmer(&format!("echo {} > \"$FPGA\"", design.text()));
        },
        After::Undone,
    ),
];

#[test]
fn every_step_is_undone() {
    for step in Step::ALL {
        assert!(
            MATRIX.iter().any(|(of, ..)| *of == step),
            "{step} is in the matrix"
        );
    }
    for (step, way, spoil, after) in MATRIX {
        let name = format!("{step}, {way}");
        let host = Host::new();
        let mut deploy = host.deploy();
        spoil(&host, &mut deploy);
        let failure = deploy
            .run(&AtomicBool::new(false), &mut |event| {
                if step == Step::Unmask && matches!(event, Event::Begins(Step::Unmask, _)) {
                    host.fail("config 0000:3a:00.0 0x78", 1);
                }
            })
            .expect_err(&name);
        assert_eq!(failure.step, step, "{name}: {failure}");
        assert!(
            failure
                .to_string()
                .starts_with(&format!("step {} of 17", step.number())),
            "{failure}"
        );
        match after {
            After::Untouched => {
                assert!(host.writes().is_empty(), "{name}: {:?}", host.writes());
                assert!(failure.undone.is_empty(), "{name}");
                let said = failure.to_string();
                assert!(said.contains("Nothing has been changed"), "{name}: {said}");
            }
            After::Undone => {
                host.assert_untouched(&name);
                assert!(failure.is_undone(), "{name}: {failure}");
            }
            After::Unbound => {
                for function in [CARD, SECOND] {
                    assert!(host.is_present(function), "{name}");
                    assert_eq!(host.driver(function), None, "{name}");
                }
                host.assert_bridge_restored(&name);
            }
            After::Lost => {
                assert!(!host.is_present(CARD), "{name}");
                assert!(!failure.is_undone(), "{name}");
                host.assert_bridge_restored(&name);
                let said = failure.to_string();
                assert!(
                    said.contains("Not undone") && said.contains("reboot"),
                    "{said}"
                );
            }
        }
        // Locks are let go, so the next one can begin where the card is fit for it.
        if after == After::Undone {
            host.programmer(&format!("echo {} > \"$FPGA\"", NEW.text()));
            host.run()
                .unwrap_or_else(|failure| panic!("{name}, again: {failure}"));
        }
    }
}

#[test]
fn a_bridge_that_does_not_answer_is_not_written_to() {
    let ones = "head -c 256 /dev/zero | tr '\\0' '\\377' >";
    let config = |host: &Host| host.path("sys/bus/pci/devices").join(BRIDGE).join("config");
    // From the beginning, and from when the card was off the bus.
    let host = Host::new();
    fs::write(config(&host), [0xff; 256]).expect("a file");
    let failure = host.run().expect_err("a dead bridge");
    assert_eq!(failure.step, Step::Mask, "{failure}");
    assert!(
        matches!(failure.error, Error::DeadBridge { .. }),
        "{failure}"
    );
    assert!(failure.is_undone(), "{failure}");

    let host = Host::new();
    host.programmer(&format!(
        "echo {} > \"$FPGA\"; {ones} \"$BUS/{BRIDGE}/config\"",
        NEW.text()
    ));
    let failure = host.run().expect_err("a dead bridge");
    assert_eq!(failure.step, Step::Unmask, "{failure}");
    assert!(!failure.is_undone());
    let said = failure.to_string();
    assert!(
        said.contains("Not undone: restore SERR of bridge 0000:3a:00.0"),
        "{said}"
    );
    // The card is back with its driver, all the same.
    for function in [CARD, SECOND] {
        assert_eq!(host.driver(function).as_deref(), Some("xdma"));
    }
    assert_eq!(fs::read(config(&host)).expect("a file"), [0xff; 256]);
}

#[test]
fn what_is_undone_is_told_last_first() {
    let host = Host::new();
    host.programmer("exit 1");
    let (told, result) = told(&host.deploy(), &AtomicBool::new(false));
    assert!(result.is_err());
    let undone: Vec<_> = told
        .iter()
        .filter(|line| line.starts_with("undo"))
        .collect();
    assert_eq!(
        undone,
        [
            "undo find 0000:3b:00.0, 0000:3b:00.1 again, behind bridge 0000:3a:00.0: true",
            "undo restore fatal reporting of bridge 0000:3a:00.0: true",
            "undo restore SERR of bridge 0000:3a:00.0: true",
            "undo bind 0000:3b:00.1 to xdma: true",
            "undo bind 0000:3b:00.0 to xdma: true",
        ]
    );
}

#[test]
fn one_undo_that_fails_keeps_no_other_from_it() {
    let host = Host::new();
    host.programmer("exit 1");
    host.fail("bind 0000:3b:00.1 xdma", 1);
    let failure = host.run().expect_err("the programmer");
    assert!(!failure.is_undone());
    let said = failure.to_string();
    assert!(
        said.contains("Not undone: bind 0000:3b:00.1 to xdma"),
        "{said}"
    );
    assert_eq!(host.driver(CARD).as_deref(), Some("xdma"));
    assert_eq!(host.driver(SECOND), None);
    host.assert_bridge_restored("undo");
}

#[test]
fn a_function_whose_driver_refuses_it_keeps_no_other_from_its_own() {
    let host = Host::new();
    host.fail(&format!("bind {CARD} xdma"), 1);
    let failure = host.run().expect_err("the driver");
    assert_eq!(failure.step, Step::Bind, "{failure}");
    assert!(
        failure.to_string().contains("drivers/xdma/bind"),
        "{failure}"
    );
    assert_eq!(host.driver(CARD), None);
    assert_eq!(host.driver(SECOND).as_deref(), Some("xdma"));
}

#[test]
fn it_can_be_stopped_before_any_step() {
    for last in Step::ALL {
        let host = Host::new();
        let stop = AtomicBool::new(false);
        let result = host.deploy().run(&stop, &mut |event| {
            if matches!(event, Event::Begins(step, _) if *step == last) {
                stop.store(true, Ordering::Relaxed);
            }
        });
        let failure = result.expect_err("stopped");
        assert!(matches!(failure.error, Error::Stopped), "{last}: {failure}");
        assert_eq!(failure.step, last);
        host.assert_untouched(last.name());
    }
}
