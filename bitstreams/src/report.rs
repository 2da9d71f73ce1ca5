//! Vivado's reports: the summary of timing, and the utilisation.

use serde::{Deserialize, Serialize};

use crate::{Error, Report, Result};

/// The worst slacks of all paths, in nanoseconds. A negative slack is a failure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Worst slack against setup times.
    pub setup_ns: f64,
    /// Worst slack against hold times.
    pub hold_ns: f64,
    /// Worst slack of pulse widths.
    pub pulse_ns: f64,
}

/// The header of a report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReportHead {
    /// The part: `xcu280-fsvh2892`, or the same with its speed grade.
    pub device: Option<String>,
    /// Version of the tool: `2023.1`.
    pub version: Option<String>,
    /// State of the design: `Routed`.
    pub state: Option<String>,
}

impl Timing {
    /// Returns whether no slack is negative. A slack that the tool rounded to `-0.000` is negative.
    #[must_use]
    pub fn is_met(&self) -> bool {
        [self.setup_ns, self.hold_ns, self.pulse_ns]
            .iter()
            .all(|slack| slack.is_finite() && slack.is_sign_positive())
    }

    /// Reads `report_timing_summary` of a routed design, and refuses one that failed.
    ///
    /// # Errors
    /// [`Error::Report`] if the text has no summary, or no path with a constraint;
    /// [`Error::TimingFailed`].
    ///
    /// # Examples
    /// ```
    /// use alcor_bitstreams::Timing;
    ///
    /// let report = "| Design Timing Summary
    ///   WNS(ns)  TNS(ns)  TNS Failing Endpoints  WHS(ns)  THS(ns)  THS Failing Endpoints  WPWS(ns)  TPWS Failing Endpoints
    ///   -------  -------  ---------------------  -------  -------  ---------------------  --------  ----------------------
    ///     0.031    0.000                      0    0.010    0.000                      0     0.500                       0";
    /// assert_eq!(Timing::parse(report)?.setup_ns, 0.031);
    /// assert!(Timing::parse(&report.replace("  0.031", " -0.031")).is_err());
    /// # Ok::<(), alcor_bitstreams::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Timing> {
        let missing = |missing| Error::Report {
            report: Report::Timing,
            missing,
        };
        let state = head(text).state;
        if state.is_some_and(|state| !state.eq_ignore_ascii_case("routed")) {
            return Err(missing(
                "timing of a routed design: before, it is an estimate",
            ));
        }
        let mut lines = text.lines().skip_while(|line| {
            line.trim_start_matches(['|', ' ']).trim_end() != "Design Timing Summary"
        });
        let titles = lines
            .find(|line| line.trim_start().starts_with("WNS(ns)"))
            .ok_or_else(|| missing("table below the heading 'Design Timing Summary'"))?;
        let titles = columns(titles);
        // A line of dashes, then one of numbers, in the order of the titles.
        let numbers: Vec<&str> = lines
            .nth(1)
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        if numbers.len() != titles.len() {
            return Err(missing("number for each column of the design's summary"));
        }
        let field = |title: &str| {
            let place = titles.iter().position(|found| *found == title)?;
            numbers
                .get(place)?
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite())
        };
        let timing = Timing {
            setup_ns: field("WNS(ns)")
                .ok_or_else(|| missing("number for WNS: no path has a constraint"))?,
            hold_ns: field("WHS(ns)")
                .ok_or_else(|| missing("number for WHS: no path has a constraint"))?,
            pulse_ns: field("WPWS(ns)").ok_or_else(|| missing("number for WPWS"))?,
        };
        let mut failing = 0;
        for title in [
            "TNS Failing Endpoints",
            "THS Failing Endpoints",
            "TPWS Failing Endpoints",
        ] {
            let count = field(title).filter(|count| *count >= 0.0);
            failing += count.ok_or_else(|| missing("count of failing endpoints"))? as u64;
        }
        if timing.is_met() && failing == 0 {
            Ok(timing)
        } else {
            Err(Error::TimingFailed { timing, failing })
        }
    }
}

/// Titles of several words have one space between these, and more between each other.
fn columns(titles: &str) -> Vec<&str> {
    let titles = titles.split("  ").map(str::trim);
    titles.filter(|title| !title.is_empty()).collect()
}

/// The utilisation of a part by a build.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// Name of the resource in the tool: `CLB LUTs`.
    pub name: String,
    /// The used number. Halves are halves of a block RAM.
    pub used: f64,
    /// The number in the part.
    pub available: u64,
}

/// Resources in a manifest, by their names in the tool.
const RESOURCES: [&str; 5] = [
    "CLB LUTs",
    "CLB Registers",
    "Block RAM Tile",
    "URAM",
    "DSPs",
];

/// Reads `report_utilization`.
#[derive(Debug, Clone, PartialEq)]
pub struct Utilisation {
    /// LUTs and registers at least; block RAM, UltraRAM and DSPs where the report has them.
    pub resources: Vec<Resource>,
}

impl Utilisation {
    /// Reads `report_utilization`.
    ///
    /// # Errors
    /// [`Error::Report`] if the text lacks LUTs or registers.
    pub fn parse(text: &str) -> Result<Utilisation> {
        let mut found: Vec<Resource> = Vec::new();
        let mut places = None;
        for line in text.lines() {
            let Some(row) = line.trim().strip_prefix('|') else {
                continue;
            };
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            // Columns have come and gone between the tool's versions.
            let titled = |title| cells.iter().position(|cell| *cell == title);
            if let (Some(used), Some(available)) = (titled("Used"), titled("Available")) {
                places = Some((used, available));
                continue;
            }
            let (Some((used, available)), Some(name)) = (places, cells.first()) else {
                continue;
            };
            // A star marks a footnote.
            let name = name.trim_end_matches('*');
            let is_new = found.iter().all(|resource| resource.name != name);
            if !RESOURCES.contains(&name) || !is_new {
                continue;
            }
            let used = cells.get(used).and_then(|cell| cell.parse::<f64>().ok());
            let available = cells
                .get(available)
                .and_then(|cell| cell.parse::<u64>().ok());
            if let (Some(used), Some(available)) = (used, available) {
                let resource = Resource {
                    name: name.to_owned(),
                    used,
                    available,
                };
                if resource.is_possible() {
                    found.push(resource);
                }
            }
        }
        for missing in ["CLB LUTs", "CLB Registers"] {
            if found.iter().all(|resource| resource.name != missing) {
                return Err(Error::Report {
                    report: Report::Utilisation,
                    missing,
                });
            }
        }
        Ok(Utilisation { resources: found })
    }
}

impl Resource {
    /// Returns whether the used number is at most the number in the part.
    pub(crate) fn is_possible(&self) -> bool {
        self.used >= 0.0 && self.used <= self.available as f64
    }
}

/// Reads the header of a report: lines of a bar, a key, a colon and a value, before any table.
pub(crate) fn head(text: &str) -> ReportHead {
    let mut head = ReportHead::default();
    for line in text.lines().take(40) {
        let field = line
            .trim()
            .strip_prefix('|')
            .and_then(|line| line.split_once(':'));
        let Some((key, value)) = field else {
            continue;
        };
        // An error may show the value.
        let value: String = value.trim().chars().take(128).collect();
        let value = Some(value).filter(|value| !value.is_empty());
        match key.trim() {
            "Device" => head.device = value,
            "Design State" => head.state = value,
            // `Vivado v.2023.1 (lin64) Build 3865809 ...`
            "Tool Version" => {
                let version = value.as_deref().and_then(|value| value.split_once("v."));
                let version = version.and_then(|(_, rest)| rest.split_whitespace().next());
                head.version = version.map(str::to_owned);
            }
            _ => {}
        }
    }
    head
}
