//! Writes to sysfs for resets, and conditions under which nothing is written.

use std::fs;

use xdma::standin::{Memory, StandIn};
use xdma::{Error, PciAddress};

fn standin() -> StandIn {
    StandIn::new(Memory::new(64)).expect("a stand-in")
}

fn file(standin: &StandIn, name: &str) -> std::path::PathBuf {
    let folder = standin.sys().join("bus/pci/devices");
    folder.join(standin.address().to_string()).join(name)
}

fn text(standin: &StandIn, name: &str) -> String {
    fs::read_to_string(file(standin, name)).expect("a file")
}

#[test]
fn a_hot_reset_is_one_of_the_bus() {
    let standin = standin();
    standin
        .machine()
        .hot_reset(standin.address())
        .expect("a reset");
    assert_eq!(text(&standin, "reset"), "1");
    assert_eq!(text(&standin, "reset_method"), "flr bus\n", "as before");
}

#[test]
fn a_reset_that_is_not_offered_is_said() {
    for (name, content) in [
        ("reset", None),
        ("reset_method", None),
        ("reset_method", Some("flr pm\n")),
    ] {
        let standin = standin();
        match content {
            Some(content) => fs::write(file(&standin, name), content).expect("a file"),
            None => fs::remove_file(file(&standin, name)).expect("no file"),
        }
        let error = standin
            .machine()
            .hot_reset(standin.address())
            .expect_err("no reset");
        assert!(matches!(error, Error::NoReset { .. }), "{error}");
        if name != "reset" {
            assert_eq!(text(&standin, "reset"), "", "no write");
        }
    }
}

#[test]
fn a_card_is_removed_and_looked_for() {
    let standin = standin();
    let machine = standin.machine();
    machine.remove(standin.address()).expect("removed");
    assert_eq!(text(&standin, "remove"), "1");
    machine.rescan().expect("a rescan");
    let rescan = standin.sys().join("bus/pci/rescan");
    assert_eq!(fs::read_to_string(&rescan).expect("a file"), "1");

    let other: PciAddress = "0000:01:00.0".parse().expect("an address");
    assert!(matches!(machine.remove(other), Err(Error::NoCard { .. })));
    assert!(matches!(
        machine.hot_reset(other),
        Err(Error::NoCard { .. })
    ));
    fs::remove_file(&rescan).expect("no file");
    fs::create_dir(&rescan).expect("a folder");
    let error = machine.rescan().expect_err("not a file");
    assert!(error.to_string().contains("rescan"), "{error}");
}
