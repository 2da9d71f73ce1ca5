//! View files for GTKWave and Surfer: the main signals of each rank, around a cycle.

use std::fmt::Write;
use std::fs::File;
use std::io::BufReader;
use std::panic::catch_unwind;
use std::path::Path;

use fst_reader::{FstHierarchyEntry, FstReader};

/// Clock period of a model in picoseconds.
const PERIOD: u64 = verimodel::DEFAULT_PERIOD_PS;
/// Scope of a rank's coprocessor, behind the rank's number.
const RANK: &str = "].u_tile.u_coprocessor";
/// Scope in front of the rank's number.
const RANKS: &str = ".u_core.g_rank[";

/// Signals of a coprocessor in groups: title, then scope below the coprocessor and name of each
/// signal.
const OF_RANK: [(&str, &[(&str, &str)]); 5] = [
    (
        "command queue",
        &[
            ("u_issue.u_command_queue", "write_i"),
            ("u_issue.u_command_queue", "opcode_i"),
            ("u_issue.u_command_queue", "data_i"),
            ("u_issue.u_command_queue", "command_valid_o"),
            ("u_issue.u_command_queue", "command_ready_i"),
            ("u_issue.u_command_queue", "command_opcode_o"),
            ("u_issue.u_command_queue", "command_data_o"),
            ("u_issue.u_command_queue", "overflow_o"),
        ],
    ),
    (
        "packets out: requests, replies",
        &[
            ("", "tx_valid_o"),
            ("", "tx_ready_i"),
            ("", "tx_last_o"),
            ("", "tx_data_o"),
        ],
    ),
    (
        "packets in: requests, replies",
        &[
            ("", "rx_valid_i"),
            ("", "rx_ready_o"),
            ("", "rx_last_i"),
            ("", "rx_data_i"),
        ],
    ),
    (
        "completion queue",
        &[
            ("u_reports.u_completion_queue", "head_q"),
            ("u_reports.u_completion_queue", "settings_i.tail"),
            ("u_reports.u_completion_queue", "write_valid_o"),
            ("u_reports.u_completion_queue", "write_ready_i"),
            ("u_reports.u_completion_queue", "write_data_o"),
            ("u_reports.u_completion_queue", "state_o.overflow"),
            ("", "irq_o"),
        ],
    ),
    (
        "sync",
        &[
            ("", "sync_o.valid"),
            ("", "sync_o.kind"),
            ("", "quiet_o"),
            ("", "sync_i.fire"),
            ("", "begun_o"),
            ("", "aborted_i"),
        ],
    ),
];

/// Signals of a board.
const OF_BOARD: [&str; 4] = [
    "clk_i",
    "u_control.u_sync.fire_o",
    "u_control.u_sync.verdict_o",
    "u_control.u_sync.network_empty_i",
];

/// A variable of a trace: its full name, and its bit range as in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Variable {
    path: String,
    range: String,
}

/// Signals with a title.
type Group = (String, Vec<Variable>);

/// Position in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// This number of cycles after the start.
    AfterStart(u64),
    /// This number of cycles before the end.
    BeforeEnd(u64),
}

/// The view of a trace.
#[derive(Debug)]
pub struct View {
    groups: Vec<Group>,
    start: u64,
    /// The time of the failure.
    marker: u64,
}

/// The reason why a trace cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    #[error("{0}")]
    Open(#[from] std::io::Error),
    #[error("{0}")]
    Read(#[from] fst_reader::ReaderError),
    #[error("the reader does not support the file")]
    Panicked,
    #[error("it contains none of the expected signals")]
    Nothing,
}

impl View {
    /// Creates the view of a trace around a cycle.
    pub fn of(trace: &Path, at: At) -> Result<View, ViewError> {
        // The reader panics on malformed files.
        catch_unwind(|| View::read(trace, at)).unwrap_or(Err(ViewError::Panicked))
    }

    fn read(trace: &Path, at: At) -> Result<View, ViewError> {
        let mut reader = FstReader::open(BufReader::new(File::open(trace)?))?;
        let header = reader.get_header();
        let mut scopes: Vec<String> = Vec::new();
        let mut variables = Vec::new();
        reader.read_hierarchy(|entry| match entry {
            FstHierarchyEntry::Scope { name, .. } => scopes.push(name),
            FstHierarchyEntry::UpScope => drop(scopes.pop()),
            FstHierarchyEntry::Var { name, .. } => {
                let (name, range) = name.split_once(' ').unwrap_or((&name, ""));
                variables.push(Variable {
                    path: format!("{}.{name}", scopes.join(".")),
                    range: range.trim().to_owned(),
                });
            }
            _ => {}
        })?;
        let groups = groups(&variables);
        if groups.is_empty() {
            return Err(ViewError::Nothing);
        }
        let (start, end) = (header.start_time, header.end_time);
        let marker = match at {
            At::AfterStart(cycles) => start.saturating_add(cycles.saturating_mul(PERIOD)),
            At::BeforeEnd(cycles) => end.saturating_sub(cycles.saturating_mul(PERIOD)),
        };
        Ok(View {
            groups,
            start,
            marker: marker.min(end).max(start),
        })
    }

    /// The view as a save file of GTKWave.
    pub fn gtkw(&self, trace: &str) -> String {
        // 2^-zoom pixels a picosecond: about 200 cycles in a window.
        let zoom = -(PERIOD as f64 * 200.0 / 1000.0).log2();
        let first = self.marker.saturating_sub(150 * PERIOD).max(self.start);
        let mut text = format!(
            "[*] Written by alcor regress\n[dumpfile] \"{trace}\"\n[timestart] {first}\n[size] 1600 900\n\
             [pos] -1 -1\n*{zoom:.6} {}{}\n[sst_expanded] 0\n",
            self.marker,
            " -1".repeat(26)
        );
        for (headline, variables) in &self.groups {
            // Writing to a String can't fail. @200 is a comment, @28 a bit, @22 hexadecimal.
            let _ = writeln!(text, "@200\n-{headline}");
            for Variable { path, range } in variables {
                let format = if range.is_empty() { "@28" } else { "@22" };
                let _ = writeln!(text, "{format}\n{path}{range}");
            }
        }
        text
    }

    /// The view as a command file of Surfer.
    pub fn sucl(&self) -> String {
        let mut text = String::new();
        for (headline, variables) in &self.groups {
            let _ = writeln!(text, "divider_add {headline}");
            for Variable { path, .. } in variables {
                let _ = writeln!(text, "variable_add {path}");
            }
        }
        // Each step halves the visible range.
        let _ = writeln!(
            text,
            "cursor_set {}\nzoom_fit\n{}goto_cursor",
            self.marker,
            "zoom_in\n".repeat(4)
        );
        text
    }
}

/// The main signals that the trace contains, in groups.
fn groups(variables: &[Variable]) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut add = |headline: String, wanted: Vec<String>| {
        let found = wanted
            .iter()
            .flat_map(|path| variables.iter().filter(move |it| is(it, path)))
            .cloned();
        // The trace may contain a port and also the signal connected to the port.
        let mut found: Vec<Variable> = found.collect();
        found.dedup();
        if !found.is_empty() {
            groups.push((headline, found));
        }
    };
    let mut cores: Vec<&str> = Vec::new();
    let mut ranks: Vec<&str> = Vec::new();
    for Variable { path, .. } in variables {
        let Some(at) = path.find(RANKS) else { continue };
        let core = &path[..at + RANKS.len() - ".g_rank[".len()];
        let Some(end) = path[at..].find(RANK) else {
            continue;
        };
        let rank = &path[..at + end + RANK.len()];
        if !cores.contains(&core) {
            cores.push(core);
        }
        if !ranks.contains(&rank) {
            ranks.push(rank);
        }
    }
    for core in cores {
        let wanted = OF_BOARD.iter().map(|name| format!("{core}.{name}"));
        add("board".to_owned(), wanted.collect());
    }
    for rank in ranks {
        let number: String = rank
            .rsplit_once(RANKS)
            .map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect())
            .unwrap_or_default();
        for (what, signals) in OF_RANK {
            let path = |(scope, name): &(&str, &str)| match *scope {
                "" => format!("{rank}.{name}"),
                scope => format!("{rank}.{scope}.{name}"),
            };
            add(
                format!("rank {number}: {what}"),
                signals.iter().map(path).collect(),
            );
        }
    }
    groups
}

/// Returns whether the variable has this name, or is an element of an array of this name: elements
/// are in a scope of the array's name.
fn is(variable: &Variable, path: &str) -> bool {
    let Some(rest) = variable.path.strip_prefix(path) else {
        return false;
    };
    let (_, name) = path.rsplit_once('.').unwrap_or(("", path));
    let element = rest
        .strip_prefix('.')
        .and_then(|rest| rest.strip_prefix(name));
    rest.is_empty() || element.is_some_and(|rest| rest.starts_with('['))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(path: &str, range: &str) -> Variable {
        Variable {
            path: path.to_owned(),
            range: range.to_owned(),
        }
    }

    fn view() -> View {
        let core = "TOP.sim_top.u_core";
        let rank = format!("{core}.g_rank[1].u_tile.u_coprocessor");
        let variables = [
            variable(&format!("{core}.clk_i"), ""),
            variable(&format!("{rank}.clk_i"), ""),
            variable(&format!("{rank}.tx_data_o.tx_data_o[1]"), "[31:0]"),
            variable(&format!("{rank}.tx_data_o.tx_data_o[0]"), "[31:0]"),
            variable(&format!("{rank}.tx_data_o_more"), ""),
            variable(
                &format!("{rank}.u_reports.u_completion_queue.head_q"),
                "[31:0]",
            ),
        ];
        View {
            groups: groups(&variables),
            start: 0,
            marker: 1_000_000,
        }
    }

    #[test]
    fn signals_are_grouped_by_rank_and_purpose() {
        let view = view();
        let headlines: Vec<&str> = view
            .groups
            .iter()
            .map(|(headline, _)| headline.as_str())
            .collect();
        assert_eq!(
            headlines,
            [
                "board",
                "rank 1: packets out: requests, replies",
                "rank 1: completion queue"
            ]
        );
        assert_eq!(view.groups[1].1.len(), 2);
    }

    #[test]
    fn gtkwave_opens_the_file_at_the_marker() {
        let text = view().gtkw("waves.fst");
        let has = |line: &str| assert!(text.lines().any(|it| it == line), "{line}: {text}");
        has("[dumpfile] \"waves.fst\"");
        has("[timestart] 400000");
        has("-rank 1: completion queue");
        has(
            "TOP.sim_top.u_core.g_rank[1].u_tile.u_coprocessor.u_reports.u_completion_queue.head_q[31:0]",
        );
        let marker = text.lines().find(|line| line.starts_with("*-")).unwrap();
        assert_eq!(marker.split(' ').nth(1), Some("1000000"));
    }

    #[test]
    fn surfer_gets_commands_that_end_at_the_cursor() {
        let text = view().sucl();
        assert!(text.contains("divider_add rank 1: completion queue\nvariable_add TOP.sim_top.u_core.g_rank[1].u_tile.u_coprocessor.u_reports.u_completion_queue.head_q\n"), "{text}");
        assert!(text.contains("cursor_set 1000000\n"));
        assert!(text.ends_with("goto_cursor\n"));
    }

    #[test]
    fn a_malformed_trace_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(View::of(file.path(), At::BeforeEnd(0)).is_err());
        assert!(View::of(Path::new("/none"), At::BeforeEnd(0)).is_err());
    }
}
