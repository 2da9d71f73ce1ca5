//! Discovery of cards in sysfs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use xdma::standin::{Memory, Shape, StandIn};
use xdma::{Driver, Error, Layout, Machine, PciAddress};

fn standin(shape: Shape) -> StandIn {
    StandIn::with(shape, Memory::new(4096)).expect("a stand-in")
}

fn folder(standin: &StandIn) -> PathBuf {
    standin
        .sys()
        .join("bus/pci/devices")
        .join(standin.address().to_string())
}

/// Adds another function to the machine.
fn neighbour(standin: &StandIn, address: &str, vendor: &str) -> PathBuf {
    let folder = standin.sys().join("bus/pci/devices").join(address);
    fs::create_dir(&folder).expect("a folder");
    for (name, text) in [("vendor", vendor), ("device", "0x5678"), ("resource", "")] {
        fs::write(folder.join(name), text).expect("a file");
    }
    folder
}

#[test]
fn a_card_is_described_by_sysfs() {
    let standin = standin(Shape {
        channels: 2,
        events: 11,
        ..Shape::default()
    });
    let card = standin.machine().card(standin.address()).expect("the card");
    assert_eq!((card.vendor(), card.device()), (0x10ee, 0x903f));
    assert_eq!(card.bars(), &[0x1_0000, 0x1_0000, 0, 0, 0, 0]);
    assert_eq!(card.number(), Some(2));
    assert_eq!(card.driver().to_string(), "xdma 2025.2.0");
    assert_eq!(
        (card.h2c_channels(), card.c2h_channels()),
        (vec![0, 1], vec![0, 1])
    );
    // Numeric order: by name, 10 would come before 2.
    assert_eq!(card.events(), (0..11).collect::<Vec<_>>());
    assert!(card.is_present());
}

#[test]
fn the_nodes_determine_the_layout_of_bars() {
    let bars = |user_bytes, bypass_bytes| {
        let standin = standin(Shape {
            user_bytes,
            bypass_bytes,
            ..Shape::default()
        });
        standin.machine().only_card().expect("the card").layout()
    };
    let layout = |user, control, bypass| Layout {
        user,
        control,
        bypass,
    };
    assert_eq!(bars(4096, 0), layout(Some(0), Some(1), None));
    assert_eq!(bars(0, 4096), layout(None, Some(0), Some(1)), "not user");
    assert_eq!(bars(4096, 4096), layout(Some(0), Some(1), Some(2)));
    assert_eq!(bars(0, 0), layout(None, Some(0), None));
}

#[test]
fn cards_are_those_of_the_vendor_and_those_of_the_driver() {
    let standin = standin(Shape::default());
    neighbour(&standin, "0000:01:00.0", "0x8086");
    let own = neighbour(&standin, "0000:02:00.0", "0x1234");
    symlink("../../drivers/xdma", own.join("driver")).expect("a link");
    neighbour(&standin, "0001:02:00.0", "0x10ee");
    let machine = standin.machine();
    let found: Vec<_> = machine
        .cards()
        .expect("cards")
        .iter()
        .map(|card| card.address().to_string())
        .collect();
    assert_eq!(found, ["0000:02:00.0", "0000:3b:00.0", "0001:02:00.0"]);

    match machine.only_card() {
        Err(Error::NotOne { present }) => assert_eq!(present.len(), 3),
        other => panic!("{other:?}"),
    }
    let missing = "0000:7f:00.0".parse().expect("an address");
    let error = machine.card(missing).expect_err("no such card");
    assert!(
        matches!(&error, Error::NoCard { address, present } if *address == missing && present.len() == 3)
    );
    assert!(error.to_string().contains("0000:3b:00.0"), "{error}");
    // A function of another vendor is found by its address.
    assert!(
        machine
            .card("0000:01:00.0".parse().expect("an address"))
            .is_ok()
    );
}

#[test]
fn an_empty_machine_has_no_cards() {
    let tree = tempfile::tempdir().expect("a folder");
    let nodes = std::sync::Arc::new(xdma::nodes::System);
    let machine = xdma::Machine::at(tree.path(), "/dev", nodes);
    assert!(machine.cards().expect("none").is_empty());
    let error = machine.only_card().expect_err("none");
    assert!(error.to_string().contains("warm reboot"), "{error}");
}

#[test]
fn another_driver_is_an_error_with_a_remedy() {
    let standin = standin(Shape::default());
    let link = folder(&standin).join("driver");
    let refused = |expected: &Driver, advice: &str| {
        let card = standin.machine().only_card().expect("the card");
        assert_eq!(card.driver(), expected);
        let error = card.user_bar().expect_err("another driver");
        assert!(
            matches!(&error, Error::Driver { driver, .. } if driver == expected),
            "{error}"
        );
        assert!(error.to_string().contains(advice), "{error}");
        assert!(matches!(card.h2c(0), Err(Error::Driver { .. })));
    };
    fs::remove_file(&link).expect("no link");
    refused(&Driver::None, "load the vendor's xdma");
    fs::create_dir_all(standin.sys().join("bus/platform/drivers/xdma")).expect("a folder");
    refused(&Driver::Mainline, "unload it");
    symlink("../../drivers/vfio-pci", &link).expect("a link");
    refused(
        &Driver::Other("vfio-pci".into()),
        "drive the card from user space",
    );
    fs::remove_file(&link).expect("a link");
    symlink("../../drivers/other", &link).expect("a link");
    refused(&Driver::Other("other".into()), "unbind it");
}

#[test]
fn a_card_that_vfio_cannot_open_is_an_error_with_a_remedy() {
    let standin = standin(Shape::default());
    let card = || {
        let nodes = Arc::new(xdma::nodes::System);
        let machine = Machine::at(standin.sys(), standin.sys().join("dev"), nodes);
        machine.only_card().expect("the card")
    };
    let vfio = || card().vfio().expect_err("no VFIO");
    let without_iommu = || card().vfio_without_iommu().expect_err("no VFIO");
    let error = vfio();
    assert!(
        matches!(&error, Error::NotVfio { driver, .. } if driver.is_xdma()),
        "{error}"
    );
    assert!(error.to_string().contains("driver_override"), "{error}");
    assert!(matches!(without_iommu(), Error::NotVfio { .. }));
    let link = folder(&standin).join("driver");
    fs::remove_file(&link).expect("a link");
    // vfio-pci has not taken a card without a group.
    assert!(matches!(vfio(), Error::NoIommu { .. }));
    let error = without_iommu();
    assert!(matches!(error, Error::NoGroup { .. }), "{error}");
    let advice = "enable_unsafe_noiommu_mode";
    assert!(error.to_string().contains(advice), "{error}");
    symlink("../../drivers/vfio-pci", &link).expect("a link");
    let error = vfio();
    assert!(matches!(error, Error::NoIommu { .. }), "{error}");
    assert!(error.to_string().contains("intel_iommu=on"), "{error}");
    assert!(error.to_string().contains("iommu=none"), "{error}");
    assert!(matches!(without_iommu(), Error::NoGroup { .. }));
    let group = folder(&standin).join("iommu_group");
    symlink("../../../kernel/iommu_groups/7", &group).expect("a link");
    let error = without_iommu();
    assert!(matches!(error, Error::HasIommu { .. }), "{error}");
    let error = vfio();
    let text = error.to_string();
    assert!(
        text.contains("opening") && text.contains("dev/vfio/vfio"),
        "{text}"
    );
    // Files in their places that do not know the requests.
    let dev = standin.sys().join("dev/vfio");
    fs::create_dir_all(&dev).expect("a folder");
    fs::write(dev.join("vfio"), "").expect("a file");
    let text = vfio().to_string();
    assert!(text.contains("dev/vfio/7"), "{text}");
    fs::write(dev.join("7"), "").expect("a file");
    let text = vfio().to_string();
    assert!(
        text.contains("dev/vfio/7") && text.contains("Inappropriate ioctl"),
        "{text}"
    );
    // A group that VFIO has made for a card without an IOMMU.
    fs::remove_file(&group).expect("a link");
    let groups = standin.sys().join("7");
    fs::create_dir_all(&groups).expect("a folder");
    fs::write(groups.join("name"), "vfio-noiommu\n").expect("a file");
    symlink(&groups, &group).expect("a link");
    assert!(matches!(vfio(), Error::NoIommu { .. }));
    let text = without_iommu().to_string();
    assert!(text.contains("dev/vfio/noiommu-7"), "{text}");
}

#[test]
fn missing_nodes_of_the_design_are_errors() {
    let standin = standin(Shape {
        user_bytes: 0,
        ..Shape::default()
    });
    let card = standin.machine().only_card().expect("the card");
    let lacks = |error: Error, node: &str| {
        assert!(
            matches!(&error, Error::NoNode { what, .. } if what == node),
            "{error}"
        );
    };
    lacks(card.user_bar().expect_err("none"), "user");
    lacks(card.bypass_bar().expect_err("none"), "bypass");
    lacks(card.h2c(1).expect_err("none"), "h2c_1");
    lacks(card.c2h(7).expect_err("none"), "c2h_7");
    lacks(card.event(16).expect_err("none"), "events_16");
}

#[test]
fn a_malformed_file_is_an_error() {
    for (name, text) in [
        ("vendor", ""),
        ("vendor", "10ee"),
        ("vendor", "0x+10e"),
        ("device", "0x12345"),
        ("resource", "0x0 0xfff"),
        ("resource", "0x1000 0x0fff 0x0\n"),
        ("resource", "0x1000 beyond 0x0\n"),
        ("resource", "0x0 0xffffffffffffffff 0x0\n"),
    ] {
        let standin = standin(Shape::default());
        fs::write(folder(&standin).join(name), text).expect("a file");
        match (standin.machine().only_card(), text) {
            // Flags are not read.
            (Ok(card), "0x0 0xfff") => assert_eq!(card.bars()[0], 0x1000),
            (Err(Error::Malformed { path, .. }), _) => assert!(path.ends_with(name)),
            (other, _) => panic!("{name} of '{text}': {other:?}"),
        }
    }
}

proptest! {
    #[test]
    fn addresses_are_read_as_they_are_written(domain in 0_u32.., bus: u8, device in 0_u8..32, function in 0_u8..8) {
        let address = PciAddress { domain, bus, device, function };
        prop_assert_eq!(address.to_string().parse(), Ok(address));
    }

    #[test]
    fn any_text_is_parsed_without_panic(text in "\\PC*") {
        let _ = text.parse::<PciAddress>();
    }

    #[test]
    fn only_addresses_are_addresses(text in "[0-9a-f+:. ]{0,14}") {
        if let Ok(address) = text.parse::<PciAddress>() {
            prop_assert!(address.to_string().ends_with(&text), "{address} from '{text}'");
        }
    }

    #[test]
    fn any_resources_are_parsed_without_panic(text in "(0x[0-9a-f]{0,17} ?|\\n|\\PC){0,30}") {
        let standin = standin(Shape::default());
        fs::write(folder(&standin).join("resource"), text).expect("a file");
        let _ = standin.machine().cards();
    }
}
