//! Checks of the file of a farm.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use xdma::PciAddress;

use super::{End, Farm, FarmCluster};
use crate::Job;

/// Link ports of the largest board.
const MOST_PORTS: u32 = 6;
/// Ranks of the largest board: the register BAR has this many pages before that of the links.
const MOST_RANKS: u32 = 31;

impl Farm {
    /// The first error, if there is one.
    pub(super) fn fault(&self) -> Option<String> {
        for (programmer, timeout) in self.programmers.values() {
            if timeout.is_some_and(|timeout| timeout.is_zero()) {
                let name = &programmer.name;
                return Some(format!("programmer {name}: timeout_s must be more than 0"));
            }
            // The placeholders of the command must be known; their values do not matter here.
            let any = Job {
                bit: PathBuf::new(),
                serial: Some(String::new()),
                address: PciAddress {
                    domain: 0,
                    bus: 0,
                    device: 0,
                    function: 0,
                },
            };
            if let Err(error) = programmer.command(&any, Path::new("")) {
                return Some(error.to_string());
            }
        }
        let mut places = BTreeMap::new();
        let mut serials = BTreeMap::new();
        for (name, board) in &self.boards {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || !name.chars().all(is_plain) {
                return Some(format!(
                    "board {name:?}: a name must consist of letters, digits, - and _"
                ));
            }
            let is_host = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
            if board.host.is_empty() || !board.host.chars().all(is_host) {
                return Some(format!(
                    "board {name}: {:?} is not the name of a host",
                    board.host
                ));
            }
            if !self.programmers.contains_key(&board.programmer) {
                let names = self.programmers.keys().map(|name| name.escape_debug());
                let known: Vec<_> = names.map(|name| name.to_string()).collect();
                return Some(format!(
                    "board {name}: there is no programmer {:?}; known are {}, and those of [programmers.<name>]",
                    board.programmer,
                    known.join(", ")
                ));
            }
            if !(0..=MOST_PORTS).contains(&board.ports) {
                return Some(format!("board {name}: no board has {} ports", board.ports));
            }
            // A card sits in a slot with all of its functions.
            let slot = PciAddress {
                function: 0,
                ..board.address
            };
            if let Some(other) = places.insert((board.host.to_ascii_lowercase(), slot), name) {
                return Some(format!(
                    "boards {other} and {name} are both at {} of {}",
                    board.address, board.host
                ));
            }
            if let Some(serial) = &board.serial
                && let Some(other) = serials.insert(serial, name)
            {
                return Some(format!(
                    "boards {other} and {name} both have serial {serial:?}"
                ));
            }
        }
        let mut ends = BTreeSet::new();
        for [one, other] in &self.links {
            if one.board == other.board {
                return Some(format!(
                    "the link from {one} to {other} joins a board with itself"
                ));
            }
            for end in [one, other] {
                match self.boards.get(&end.board) {
                    None => {
                        return Some(format!(
                            "the link from {one} to {other}: there is no board {:?}",
                            end.board
                        ));
                    }
                    Some(board) if end.port >= board.ports => {
                        return Some(format!(
                            "the link from {one} to {other}: board {} has {} ports, from 0",
                            end.board, board.ports
                        ));
                    }
                    Some(_) => {}
                }
                if !ends.insert(end) {
                    return Some(format!(
                        "two links end at {end}, and a port takes one cable"
                    ));
                }
            }
        }
        let mut clusters = self.clusters.iter();
        clusters.find_map(|(name, cluster)| {
            let what = self.fault_of(cluster)?;
            Some(format!("cluster {}: {what}", name.escape_debug()))
        })
    }

    /// The first error of a cluster, if there is one.
    fn fault_of(&self, cluster: &FarmCluster) -> Option<String> {
        let topology = match cluster.shape() {
            Ok(topology) => topology,
            Err(error) => return Some(error.to_string()),
        };
        let FarmCluster { boards, ranks, .. } = cluster;
        if boards.len() != topology.boards() as usize {
            return Some(format!(
                "it has {} boards, and topology {:?} has {}",
                boards.len(),
                cluster.topology,
                topology.boards()
            ));
        }
        if !(1..=MOST_RANKS).contains(ranks) {
            return Some(format!("no board has {ranks} ranks"));
        }
        let mut seen = BTreeSet::new();
        for name in boards {
            if !self.boards.contains_key(name) {
                return Some(format!("there is no board {name:?}"));
            }
            if !seen.insert(name) {
                return Some(format!("board {name} is in it twice"));
            }
        }
        let end = |(board, port): (u32, u32)| End {
            board: boards[board as usize].clone(),
            port,
        };
        let all = (0..topology.boards())
            .flat_map(|board| (0..topology.links()).map(move |port| (board, port)));
        for from in all {
            let Some(to) = topology.neighbour(from.0, from.1) else {
                continue;
            };
            let (from, to) = (end(from), end(to));
            let is_cabled = |[one, other]: &[End; 2]| {
                (one, other) == (&from, &to) || (one, other) == (&to, &from)
            };
            if !self.links.iter().any(is_cabled) {
                return Some(format!(
                    "there is no link from {from} to {to}, which topology {:?} has",
                    cluster.topology
                ));
            }
        }
        None
    }
}
