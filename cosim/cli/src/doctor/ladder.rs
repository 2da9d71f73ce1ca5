//! `alcor doctor --card`: the ladder of checks for cards.

use std::sync::Arc;

use alcor::Cluster;
use alcor_farm::{ClusterBackend, FarmBackend};
use alcor_xdma::{Ladder, Peers, Rung, RungResult, XdmaBackend, XdmaBoard};

use crate::exit::{CommandResult, Error, Exit};

/// The boards of a URI with their names, and the cluster of several boards.
type Opened = (Vec<(String, Arc<XdmaBoard>)>, Option<Cluster>);

/// Checks the cards of a URI, up to the first failure.
pub fn run(uri: &str) -> CommandResult {
    let (boards, cluster) = open(uri)?;
    let ladder = Ladder::default();
    let are_well = boards
        .iter()
        .all(|(name, board)| ladder.board(board, |rung, result| say(name, rung, &result)));
    let has_passed = are_well
        && cluster
            .is_none_or(|cluster| ladder.cluster(&cluster, |rung, result| say(uri, rung, &result)));
    if has_passed {
        println!("all checks have passed");
        return Ok(Exit::Passed);
    }
    println!("the checks after this one rely on it, and were not made");
    Ok(Exit::Failed)
}

fn say(name: &str, rung: Rung, result: &RungResult) {
    match result {
        Ok(found) => println!("ok       {name} {:<10} {found}", rung.to_string()),
        Err(found) => {
            println!("failed   {name} {:<10} {found}", rung.to_string());
            println!("         {}", rung.remedy());
        }
    }
}

fn open(uri: &str) -> Result<Opened, Error> {
    let single = |board| (vec![(uri.to_owned(), board)], None);
    match uri.split_once(':') {
        Some((XdmaBackend::SCHEME, rest)) => {
            let board = XdmaBackend::new().board(rest, &Peers::default());
            let board = board.map_err(|error| alcor::Error::Board {
                board: uri.to_owned(),
                source: Box::new(error),
            })?;
            Ok(single(board))
        }
        Some((FarmBackend::SCHEME, rest)) => Ok(single(FarmBackend::new().card(rest)?)),
        Some((ClusterBackend::SCHEME, rest)) => {
            let (cluster, boards) = ClusterBackend::new().cards(rest)?;
            let named = |board: Arc<XdmaBoard>| (alcor::Board::name(&*board).to_owned(), board);
            Ok((boards.into_iter().map(named).collect(), Some(cluster)))
        }
        _ => Err(Error::NotACard(uri.to_owned())),
    }
}
