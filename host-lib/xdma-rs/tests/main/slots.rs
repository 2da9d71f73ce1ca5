//! Functions of a card, the bridge above them, their drivers, and configuration space.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use xdma::nodes::System;
use xdma::{Config, Error, Machine, PciAddress, command, device_control};

/// A machine with a bridge, two functions of a card behind the bridge, and another function.
/// Folders nest as in sysfs.
struct Tree {
    folder: tempfile::TempDir,
}

const BRIDGE: &str = "0000:3a:00.0";
const CARD: &str = "0000:3b:00.0";

fn address(text: &str) -> PciAddress {
    text.parse().expect("an address")
}

impl Tree {
    fn new() -> Tree {
        let tree = Tree {
            folder: tempfile::tempdir().expect("a folder"),
        };
        fs::create_dir_all(tree.path("bus/pci/devices")).expect("a folder");
        for (name, inside) in [
            (BRIDGE, "devices/pci0000:3a"),
            (CARD, "devices/pci0000:3a/0000:3a:00.0"),
            ("0000:3b:00.1", "devices/pci0000:3a/0000:3a:00.0"),
            ("0000:3b:01.0", "devices/pci0000:3a/0000:3a:00.0"),
            ("0000:00:00.0", "devices/pci0000:00"),
        ] {
            let folder = tree.path(inside).join(name);
            fs::create_dir_all(&folder).expect("a folder");
            symlink(&folder, tree.path("bus/pci/devices").join(name)).expect("a link");
            for (file, text) in [
                ("vendor", "0x10ee"),
                ("device", "0x903f"),
                ("resource", ""),
                ("rescan", ""),
            ] {
                fs::write(folder.join(file), text).expect("a file");
            }
        }
        tree
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    fn of(&self, function: &str, name: &str) -> PathBuf {
        self.path("bus/pci/devices").join(function).join(name)
    }

    fn machine(&self) -> Machine {
        Machine::at(self.folder.path(), "/dev", Arc::new(System))
    }

    fn config(&self, bytes: &[u8]) -> Config {
        fs::write(self.of(CARD, "config"), bytes).expect("a file");
        self.machine().config(address(CARD))
    }
}

/// Configuration space with the PCI Express capability as the second one in the list. The low bits
/// of a pointer are reserved.
fn space() -> Vec<u8> {
    let mut space = vec![0; 256];
    space[0x06] = 0x10;
    space[0x34] = 0x42;
    space[0x40..0x42].copy_from_slice(&[0x01, 0x71]); // power management
    space[0x70..0x72].copy_from_slice(&[0x10, 0x00]);
    space
}

#[test]
fn a_card_has_functions_and_a_bridge() {
    let tree = Tree::new();
    let machine = tree.machine();
    let functions = machine
        .functions(address("0000:3b:00.1"))
        .expect("functions");
    assert_eq!(functions, [address(CARD), address("0000:3b:00.1")]);
    assert_eq!(
        machine.bridge(address(CARD)).expect("a bridge"),
        address(BRIDGE)
    );
    assert!(matches!(
        machine.bridge(address(BRIDGE)),
        Err(Error::NoBridge { .. })
    ));
    let none = address("0000:7f:00.0");
    assert!(matches!(machine.functions(none), Err(Error::NoCard { .. })));
    assert!(matches!(machine.bridge(none), Err(Error::NoCard { .. })));
    machine.rescan_behind(address(BRIDGE)).expect("a rescan");
    assert_eq!(
        fs::read_to_string(tree.of(BRIDGE, "rescan")).expect("a file"),
        "1"
    );
}

#[test]
fn a_driver_is_taken_and_given_by_address() {
    let tree = Tree::new();
    let machine = tree.machine();
    let driver = tree.path("bus/pci/drivers/xdma");
    fs::create_dir_all(&driver).expect("a folder");
    for file in ["bind", "unbind"] {
        fs::write(driver.join(file), "").expect("a file");
    }
    assert_eq!(machine.driver_of(address(CARD)), None);
    assert!(machine.has_driver("xdma") && !machine.has_driver("none"));
    assert!(machine.unbind(address(CARD)).is_err(), "nothing has it");
    symlink(&driver, tree.of(CARD, "driver")).expect("a link");
    assert_eq!(machine.driver_of(address(CARD)).as_deref(), Some("xdma"));
    machine.unbind(address(CARD)).expect("unbound");
    machine
        .bind(address("0000:3b:00.1"), "xdma")
        .expect("bound");
    assert_eq!(
        fs::read_to_string(driver.join("unbind")).expect("a file"),
        CARD
    );
    assert_eq!(
        fs::read_to_string(driver.join("bind")).expect("a file"),
        "0000:3b:00.1"
    );
    // A missing file is not created.
    let error = machine.bind(address(CARD), "none").expect_err("no driver");
    assert!(error.to_string().contains("none/bind"), "{error}");
    assert!(!tree.path("bus/pci/drivers/none").exists());
    fs::remove_file(tree.of(BRIDGE, "rescan")).expect("removed");
    assert!(machine.rescan_behind(address(BRIDGE)).is_err());
    assert!(!tree.of(BRIDGE, "rescan").exists());
}

#[test]
fn a_register_of_configuration_space_is_read_and_written() {
    let tree = Tree::new();
    let config = tree.config(&space());
    config
        .write16(Config::COMMAND, command::SERR | command::MEMORY)
        .expect("written");
    assert_eq!(config.read16(Config::COMMAND).expect("a register"), 0x102);
    let control = config.device_control().expect("a capability");
    assert_eq!(control, 0x78);
    config
        .write16(control, device_control::FATAL)
        .expect("written");
    let bytes = fs::read(tree.of(CARD, "config")).expect("a file");
    assert_eq!(
        (bytes.len(), bytes[0x78], bytes[4], bytes[5]),
        (256, 4, 2, 1)
    );
    let error = config.read16(0x100).expect_err("beyond");
    assert!(error.to_string().contains("0x100"), "{error}");
}

#[test]
fn a_list_of_capabilities_that_does_not_end_is_left() {
    let tree = Tree::new();
    let none = |space: &[u8]| {
        let config = tree.config(space);
        assert!(matches!(
            config.device_control(),
            Err(Error::NoCapability { .. })
        ));
    };
    let mut round = space();
    round[0x70..0x72].copy_from_slice(&[0x05, 0x40]);
    none(&round);
    let mut last = space();
    last[0x41] = 0;
    none(&last);
    let mut no_list = space();
    no_list[0x06] = 0;
    none(&no_list);
    // The part of configuration space that users other than root can read.
    none(&space()[..64]);
    fs::remove_file(tree.of(CARD, "config")).expect("removed");
    let gone = tree.machine().config(address(CARD)).device_control();
    assert!(matches!(gone, Err(Error::Node { .. })), "{gone:?}");
}

proptest! {
    #[test]
    fn no_configuration_space_is_too_strange(space in prop::collection::vec(any::<u8>(), 0..300)) {
        let tree = Tree::new();
        let _ = tree.config(&space).device_control();
    }
}
