//! Cards of this host, and the boards of boards.toml.

use alcor::{LinkState, PageOffset};
use alcor_abi::{self as abi, board};
use alcor_deploy::{Board, Farm, host_name};
use xdma::{BarOffset, Card, Machine, PciAddress};

use super::{Finding, program};
use crate::farm;

/// Cards, then boards and cables.
pub fn findings() -> Vec<(String, Finding)> {
    let machine = Machine::local();
    let mut findings = cards(&machine);
    let path = farm::path(None);
    // A farm is optional.
    if path.exists() {
        match Farm::read(&path) {
            Ok(farm) => findings.extend(boards(&farm, &machine, &host_name().unwrap_or_default())),
            Err(error) => findings.push(("boards".into(), Err(error.to_string()))),
        }
    }
    findings
}

/// Cards on the bus. A host without cards is not faulty: simulated boards need none.
fn cards(machine: &Machine) -> Vec<(String, Finding)> {
    match machine.cards() {
        Err(error) => vec![("cards".into(), Err(error.to_string()))],
        Ok(cards) if cards.is_empty() => {
            let none = "none on the bus; simulated boards need none (lspci -d 10ee: shows them)";
            vec![("cards".into(), Ok(none.into()))]
        }
        Ok(cards) => cards
            .iter()
            .map(|card| ("card".into(), describe(card)))
            .collect(),
    }
}

fn describe(card: &Card) -> Finding {
    let (address, driver) = (card.address(), card.driver());
    let about = format!(
        "{address} {:04x}:{:04x}, {driver}",
        card.vendor(),
        card.device()
    );
    if !driver.is_xdma() {
        // Not every card of that vendor is for Alcor.
        return Ok(format!(
            "{about}: not a board of Alcor, or without the vendor's xdma module (?driver=vfio needs \
             none)"
        ));
    }
    match identify(card) {
        Ok(found) => Ok(format!("{about}: {found}")),
        Err(error) => Err(format!("{about}: {error}")),
    }
}

/// Describes a card by its ID block.
fn identify(card: &Card) -> Result<String, String> {
    let text = |error: xdma::Error| error.to_string();
    let page = card
        .user_pages(BarOffset(0), u64::from(abi::PAGE_BYTES))
        .map_err(text)?;
    let read = |register: u32| page.read32(BarOffset(register.into())).map_err(text);
    match read(board::MAGIC)? {
        abi::MAGIC => {}
        u32::MAX => {
            return Err(
                "its registers read all ones: deploy a bitstream (`alcor deploy`), or reboot warm"
                    .into(),
            );
        }
        found => {
            return Err(format!(
                "MAGIC reads {found:#010x}: the FPGA does not hold a design of Alcor; deploy one (`alcor deploy`)"
            ));
        }
    }
    let (hash, revision) = (read(board::ABI_HASH)?, read(board::REVISION)?);
    if hash != abi::ABI_HASH {
        return Err(format!(
            "ABI hash {hash:#010x}, revision {revision:#010x}, and this program has {:#010x}: deploy a bitstream of this source (`alcor deploy`)",
            abi::ABI_HASH
        ));
    }
    let geometry = read(board::GEOMETRY)?;
    let ranks = board::geometry::RANKS.get(geometry);
    let links = links(card, board::geometry::LINKS.get(geometry)).map_err(text)?;
    Ok(format!(
        "an Alcor board of {ranks} ranks, revision {revision:#010x}{links}"
    ))
}

/// The state of a card's link ends.
fn links(card: &Card, ports: u32) -> xdma::Result<String> {
    let Some(page) = alcor_xdma::links_page(card)?.filter(|_| ports != 0) else {
        return Ok(String::new());
    };
    let mut text = String::new();
    for port in 0..ports.min(abi::links::LINK_STATUS_COUNT) {
        let read = |offset: PageOffset| page.read32(BarOffset(offset.0.into())).map(Some);
        // A card does not know its number in a cluster.
        if let Some(link) = LinkState::read(0, port, read)? {
            text += &format!("; {}", link.of_one_board());
        }
    }
    Ok(text)
}

/// The boards of a farm, whether those of this host exist, and the cables.
fn boards(farm: &Farm, machine: &Machine, here: &str) -> Vec<(String, Finding)> {
    let mut findings: Vec<_> = farm
        .boards()
        .map(|(name, board)| (format!("board {name}"), look_at(farm, board, machine, here)))
        .collect();
    let links: Vec<_> = farm
        .links()
        .iter()
        .map(|[one, other]| format!("{one} to {other}"))
        .collect();
    if !links.is_empty() {
        findings.push(("cables".into(), Ok(links.join(", "))));
    }
    findings
}

fn look_at(farm: &Farm, board: &Board, machine: &Machine, here: &str) -> Finding {
    let Board {
        host,
        address,
        serial,
        ..
    } = board;
    if !board.is_on(here) {
        return Ok(format!("at {address} of {host}, another host"));
    }
    let is_there = |address: PciAddress| machine.card(address).is_ok();
    if !is_there(*address) {
        return Err(format!(
            "no card at {address}: see lspci -d 10ee:; a card that was on the bus at boot comes back with `echo 1 > /sys/bus/pci/rescan`; \
             any other card needs a bitstream and a warm reboot"
        ));
    }
    let mut lacks = Vec::new();
    if serial.is_none() {
        lacks.push("its serial number is not in the file".to_owned());
    }
    let programmer = farm.programmer(&board.programmer);
    let command = programmer.and_then(|(programmer, _)| programmer.command.first());
    if let Some(Err(remedy)) = command.map(|command| program(command, "install it")) {
        lacks.push(format!("programmer {}: {remedy}", board.programmer));
    }
    if lacks.is_empty() {
        let serial = serial.as_deref().unwrap_or_default();
        return Ok(format!("at {address}, serial {serial}"));
    }
    // The card can be used, but not programmed.
    let lacks = lacks.join("; ");
    Ok(format!("at {address}; can't be deployed to: {lacks}"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use xdma::standin::{Memory, StandIn};

    use super::*;

    #[test]
    fn a_card_is_shown_with_what_it_holds_or_what_to_do() {
        let standin = StandIn::new(Memory::new(64)).unwrap();
        let machine = standin.machine();
        let registers = machine.only_card().unwrap().user_bar().unwrap();
        let write = |register: u32, value| {
            registers
                .write32(BarOffset(register.into()), value)
                .unwrap()
        };
        let only = || match &cards(&machine)[..] {
            [(name, finding)] if name == "card" => finding.clone(),
            other => panic!("{other:?}"),
        };
        assert!(only().unwrap_err().contains("a design of Alcor"));
        write(board::MAGIC, abi::MAGIC);
        write(board::REVISION, 0x1234);
        assert!(only().unwrap_err().contains("of this source"));
        write(board::ABI_HASH, abi::ABI_HASH);
        write(board::GEOMETRY, board::geometry::RANKS.put(2));
        let found = only().unwrap();
        for word in [
            "0000:3b:00.0",
            "10ee:903f",
            "xdma 2025.2.0",
            "2 ranks",
            "0x00001234",
        ] {
            assert!(found.contains(word), "{word} in {found}");
        }
        write(board::MAGIC, u32::MAX);
        assert!(only().unwrap_err().contains("all ones"));
        standin.remove_by_surprise();
        assert!(only().is_err());
        fs::remove_file(standin.sys().join("bus/pci/devices/0000:3b:00.0/driver")).unwrap();
        assert!(only().unwrap().contains("without the vendor's xdma module"));
        standin.unplug().unwrap();
        let none = &cards(&machine)[0];
        assert!(none.0 == "cards" && none.1.as_ref().unwrap().contains("none on the bus"));
    }

    #[test]
    fn boards_of_the_farm_are_shown_with_what_is_missing() {
        let standin = StandIn::new(Memory::new(64)).unwrap();
        let farm = "schema = 1\n\
            [programmers.here]\ncommand = [\"/bin/sh\", \"{bit}\"]\n\
            [boards.a]\nhost = \"one\"\naddress = \"3b:00.0\"\nserial = \"S1\"\nprogrammer = \"here\"\n\
            [boards.b]\nhost = \"one\"\naddress = \"5e:00.0\"\n\
            [boards.c]\nhost = \"two\"\naddress = \"3b:00.0\"\n\
            [[links]]\nends = [\"a.0\", \"b.1\"]\n";
        let farm = Farm::parse(farm, Path::new("boards.toml")).unwrap();
        let found = boards(&farm, &standin.machine(), "one");
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["board a", "board b", "board c", "cables"]);
        let [a, b, c, cables] = [0, 1, 2, 3].map(|place: usize| &found[place].1);
        assert!(a.as_ref().unwrap().contains("serial S1"), "{a:?}");
        assert!(
            b.as_ref().unwrap_err().contains("no card at 0000:5e:00.0"),
            "{b:?}"
        );
        assert!(c.as_ref().unwrap().contains("two, another host"), "{c:?}");
        assert_eq!(cables.as_deref(), Ok("a.0 to b.1"));

        let farm = "schema = 1\n[programmers.gone]\ncommand = [\"no-such-programmer\", \"{bit}\"]\n\
            [boards.a]\nhost = \"localhost\"\naddress = \"3b:00.0\"\nprogrammer = \"gone\"\n";
        let farm = Farm::parse(farm, Path::new("boards.toml")).unwrap();
        let found = boards(&farm, &standin.machine(), "one")
            .remove(0)
            .1
            .unwrap();
        assert!(
            found.contains("serial number") && found.contains("gone: not in PATH"),
            "{found}"
        );
    }
}
