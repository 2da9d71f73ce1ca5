//! `--coverage`: coverage of the hardware by the tests.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use alcor::{Cluster, Error};
use alcor_cosim::{CosimBackend, CosimError, SimCluster};
use alcor_report::{Coverage, Hit, Module, Point};

use crate::backends::Opening;

/// Opens boards that count coverage, and adds the counts.
#[derive(Default)]
pub struct Collector(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    /// Boards that tests may still be running on.
    open: Vec<Arc<SimCluster>>,
    /// The counts of all other boards.
    closed: verimodel::Coverage,
}

impl Collector {
    /// Opens the simulated boards of a URI with option `coverage`.
    pub fn open(&self, opening: &Opening, uri: &str) -> Result<Cluster, Error> {
        let rest = uri.split_once(':').map_or(uri, |(_, rest)| rest);
        let failed = |error: CosimError| error.on(uri);
        let opened = opening.cosim().open_sim(rest).map_err(failed)?;
        let cluster = opened.cluster()?;
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A board on which a test failed is not used again. A board without another owner only
        // contributes its counts.
        let (open, closed) = std::mem::take(&mut counts.open)
            .into_iter()
            .partition(is_used);
        counts.open = open;
        counts.close(closed).map_err(failed)?;
        counts.open.push(opened);
        Ok(cluster)
    }

    /// The counts of all boards, except those of abandoned tests, which still run.
    pub fn take(&self) -> Result<Coverage, Error> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, open) = std::mem::take(&mut counts.open)
            .into_iter()
            .partition(is_used);
        counts
            .close(open)
            .map_err(|error| error.on(CosimBackend::SCHEME))?;
        Ok(shown(&counts.closed))
    }
}

/// Whether the board has an owner besides the collector.
fn is_used(cluster: &Arc<SimCluster>) -> bool {
    let boards = cluster.boards();
    boards.iter().any(|board| Arc::strong_count(board) > 1)
}

impl Counts {
    fn close(&mut self, clusters: Vec<Arc<SimCluster>>) -> Result<(), CosimError> {
        for cluster in clusters {
            self.closed.merge(cluster.coverage()?);
        }
        Ok(())
    }
}

/// The counts in the form of the reports.
fn shown(counts: &verimodel::Coverage) -> Coverage {
    let hit = |hit: verimodel::Hit| Hit {
        hit: hit.hit,
        of: hit.of,
    };
    let modules = counts.modules().into_iter().map(|module| Module {
        name: module.module,
        file: module.file,
        lines: hit(module.lines),
        branches: hit(module.branches),
        toggles: hit(module.toggles),
        missed_lines: module.missed_lines,
        missed_branches: module.missed_branches,
    });
    let points = counts.points().into_iter().map(|point| Point {
        group: point.group,
        name: point.name,
        module: point.module,
        hits: point.hits,
    });
    Coverage {
        modules: modules.collect(),
        points: points.collect(),
    }
}

/// Coverage in a few lines.
pub struct Brief<'a>(pub &'a Coverage);

impl fmt::Display for Brief<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Coverage { modules, points } = self.0;
        let sum = |of: fn(&Module) -> Hit| modules.iter().map(of).sum::<Hit>();
        let never: Vec<&Point> = points.iter().filter(|point| point.hits == 0).collect();
        let all = points.len() as u64;
        let figures = [
            ("lines", sum(|module| module.lines)),
            ("branches", sum(|module| module.branches)),
            ("bit edges", sum(|module| module.toggles)),
            (
                "cover points",
                Hit {
                    hit: all - never.len() as u64,
                    of: all,
                },
            ),
        ];
        writeln!(f, "\ncoverage of {} modules", modules.len())?;
        for (what, Hit { hit, of }) in figures.into_iter().filter(|(_, hit)| hit.of > 0) {
            let percent = 100.0 * hit as f64 / of as f64;
            writeln!(f, "  {what:12}  {percent:>5.1} %  {hit} of {of}")?;
        }
        let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for point in never {
            groups.entry(&point.group).or_default().push(&point.name);
        }
        for (group, names) in groups {
            writeln!(f, "  never, of {group}: {}", names.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_leaves_out_what_is_not_there_and_names_what_never_happened() {
        let lines = Hit { hit: 1, of: 3 };
        let module = Module {
            name: "rma".into(),
            lines,
            ..Module::default()
        };
        let point = |group: &str, name: &str, hits| Point {
            group: group.into(),
            name: name.into(),
            hits,
            ..Point::default()
        };
        let points = vec![
            point("queue", "full", 0),
            point("match", "deep", 7),
            point("queue", "empty", 0),
        ];
        let text = Brief(&Coverage {
            modules: vec![module],
            points,
        })
        .to_string();
        assert_eq!(
            text,
            "\ncoverage of 1 modules\n  lines          33.3 %  1 of 3\n  cover points   33.3 %  1 of 3\n  never, of queue: full, empty\n"
        );
        assert_eq!(
            Brief(&Coverage::default()).to_string(),
            "\ncoverage of 0 modules\n"
        );
    }
}
