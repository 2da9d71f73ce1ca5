//! What is done, in which order, and that a plan does nothing.

use std::fs;
use std::sync::atomic::AtomicBool;

use alcor_deploy::{Error, Step};

use crate::host::{BRIDGE, CARD, Design, Host, NEW, OLD, SECOND, all_steps, told};

#[test]
fn a_bitstream_is_loaded_step_by_step() {
    let host = Host::new();
    let (told, result) = told(&host.deploy(), &AtomicBool::new(false));
    let manifest = result.expect("deployed");
    assert_eq!(manifest.configuration, "u280");
    assert_eq!(told, all_steps());
    assert_eq!(
        host.writes(),
        [
            "unbind 0000:3b:00.0",
            "unbind 0000:3b:00.1",
            "config 0000:3a:00.0 0x4",
            "config 0000:3a:00.0 0x78",
            "remove 0000:3b:00.1",
            "remove 0000:3b:00.0",
            "rescan 0000:3a:00.0",
            "rescan",
            "config 0000:3a:00.0 0x78",
            "config 0000:3a:00.0 0x4",
            "config 0000:3b:00.0 0x4",
            "config 0000:3b:00.1 0x4",
            "bind 0000:3b:00.0 xdma",
            "bind 0000:3b:00.1 xdma",
        ]
    );
    host.assert_untouched("deployed");
    // While the FPGA was configured: the card was off the bus, and the bridge reported nothing, with all else as it was.
    assert_eq!(
        fs::read_to_string(host.path("during"))
            .expect("a file")
            .trim(),
        BRIDGE
    );
    let during = fs::read(host.path("during-config")).expect("a file");
    assert_eq!(
        (during[4], during[5], during[0x78], during[0x79]),
        (0x06, 0x00, 0x13, 0x28)
    );
    let arguments = fs::read_to_string(host.path("arguments")).expect("a file");
    let bit = host.path("build/u280.bit");
    assert_eq!(arguments.trim(), format!("SERIAL {}", bit.display()));
    // The functions answer to memory accesses.
    for function in [CARD, SECOND] {
        let config = host.machine().config(function.parse().expect("an address"));
        assert_eq!(config.read16(4).expect("a register") & 2, 2, "{function}");
    }
    // And again, over itself.
    host.run().expect("deployed");
}

#[test]
fn a_plan_changes_nothing() {
    let host = Host::new();
    let before = host.snapshot();
    let plan = host.deploy().plan().expect("a plan");
    assert_eq!(host.snapshot(), before);
    assert!(host.writes().is_empty(), "{:?}", host.writes());
    let steps: Vec<Step> = plan.iter().map(|(step, _)| *step).collect();
    assert_eq!(steps, Step::ALL);
    let what = |step: Step| &plan[step.number() - 1].1;
    assert!(what(Step::Verify).contains("0x425cd63a"), "{plan:?}");
    assert!(what(Step::Find).contains("10ee:903f"), "{plan:?}");
    assert!(what(Step::Remove).contains("0000:3b:00.1"), "{plan:?}");
    assert!(what(Step::Mask).contains(BRIDGE), "{plan:?}");
    assert!(
        what(Step::Program).contains("programmer SERIAL"),
        "{plan:?}"
    );
}

#[test]
fn a_plan_says_what_would_end_it() {
    let host = Host::new();
    fs::remove_file(host.path("build/u280.bit")).expect("removed");
    let failure = host.deploy().plan().expect_err("no bitstream");
    assert_eq!(failure.step, Step::Verify);
    assert!(
        failure.to_string().contains("Nothing has been changed"),
        "{failure}"
    );

    let host = Host::new();
    let mut deploy = host.deploy();
    deploy.serial = None;
    let failure = deploy.plan().expect_err("no serial");
    assert_eq!(failure.step, Step::Programmer);
    assert!(failure.to_string().contains("--serial"), "{failure}");
}

#[test]
fn bits_that_were_clear_stay_so() {
    let host = Host::new();
    let config = host.machine().config(BRIDGE.parse().expect("an address"));
    config.write16(4, 0x0006).expect("a register");
    config.write16(0x78, 0x2813).expect("a register");
    let before = host.writes().len();
    host.run().expect("deployed");
    assert_eq!(host.bridge(), (0x0006, 0x2813));
    let bridge = format!("config {BRIDGE}");
    let written = host.writes()[before..]
        .iter()
        .any(|write| write.starts_with(&bridge));
    assert!(!written, "{:?}", host.writes());
}

#[test]
fn a_kernel_that_binds_by_itself_is_let() {
    let host = Host::new();
    host.bind_by_itself();
    host.run().expect("deployed");
    host.assert_untouched("deployed");
    assert!(!host.writes().iter().any(|write| write.starts_with("bind")));
}

#[test]
fn a_function_without_a_driver_gets_one_where_it_is_the_cards_own() {
    let host = Host::new();
    for function in [CARD, SECOND] {
        host.machine()
            .unbind(function.parse().expect("an address"))
            .expect("unbound");
    }
    host.run().expect("deployed");
    assert_eq!(host.driver(CARD).as_deref(), Some("xdma"));
    assert_eq!(host.driver(SECOND), None);
}

#[test]
fn a_card_that_came_back_as_another_waits_for_a_reboot() {
    for (name, design) in [
        (
            "device",
            Design {
                device: 0x9038,
                ..NEW
            },
        ),
        (
            "BAR",
            Design {
                bar: 0x4_0000,
                ..NEW
            },
        ),
    ] {
        let host = Host::new();
        host.programmer(&format!("echo {} > \"$FPGA\"", design.text()));
        let failure = host.run().expect_err(name);
        assert_eq!(failure.step, Step::Compare, "{name}: {failure}");
        assert!(
            matches!(failure.error, Error::Differs { .. }),
            "{name}: {failure}"
        );
        assert!(
            failure.to_string().contains("Reboot the host warm"),
            "{name}: {failure}"
        );
        // The driver is not let loose on it; the bridge is as it was.
        assert_eq!(
            (host.driver(CARD), host.driver(SECOND)),
            (None, None),
            "{name}"
        );
        assert!(!failure.is_undone(), "{name}");
        host.assert_bridge_restored(name);
    }
}

#[test]
fn another_build_in_the_fpga_is_told_from_a_dead_link() {
    let refused = |design: Design| {
        let host = Host::new();
        host.programmer(&format!("echo {} > \"$FPGA\"", design.text()));
        let failure = host.run().expect_err("another design");
        assert_eq!(failure.step, Step::Identify, "{failure}");
        host.assert_untouched("identify");
        failure.error
    };
    let register = |error: Error| match error {
        Error::OtherBuild { register, .. } => register,
        other => panic!("{other}"),
    };
    let dead = refused(Design {
        magic: u32::MAX,
        ..NEW
    });
    assert!(matches!(dead, Error::DeadLink { .. }), "{dead}");
    assert_eq!(register(refused(Design { magic: 7, ..NEW })), "MAGIC");
    assert_eq!(register(refused(Design { abi: 7, ..NEW })), "ABI_HASH");
    // The programmer has loaded another card, so this one is as it was.
    assert_eq!(register(refused(OLD)), "ABI_HASH");
    assert_eq!(register(refused(Design { revision: 7, ..NEW })), "REVISION");
    assert_eq!(
        register(refused(Design {
            revision: u32::MAX,
            ..NEW
        })),
        "REVISION"
    );
}
