//! Reports of benchmarks: rows with measured figures, the paper's figures and the physical bounds.

use comfy_table::{CellAlignment, Table, presets};
use serde::{Deserialize, Serialize};

/// One row of a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Name of the row. Runs are compared by this name.
    pub name: String,
    /// The measured figure, in the report's unit.
    pub measured: f64,
    /// The figure in the paper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper: Option<f64>,
    /// The physical bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// Explanation or unit, where the name is not sufficient.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Row {
    /// A row with the measured figure only.
    #[must_use]
    pub fn new(name: impl Into<String>, measured: f64) -> Row {
        Row {
            name: name.into(),
            measured,
            paper: None,
            limit: None,
            note: None,
        }
    }
    /// Adds the paper's figure.
    #[must_use]
    pub fn paper(mut self, paper: impl Into<Option<f64>>) -> Row {
        self.paper = paper.into();
        self
    }
    /// Adds the physical bound.
    #[must_use]
    pub fn limit(mut self, limit: f64) -> Row {
        self.limit = Some(limit);
        self
    }
    /// Adds the configuration to the name, for a report with several configurations:
    /// `ring4/allreduce-8`.
    #[must_use]
    pub fn of(mut self, config: &str) -> Row {
        self.name = format!("{config}/{}", self.name);
        self
    }
    /// Ratio of the figure to the physical bound.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        self.limit.map(|limit| self.measured / limit)
    }
    /// Adds an explanation.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Row {
        self.note = Some(note.into());
        self
    }
}

/// A row without a figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    /// Name of the row.
    pub name: String,
    /// Missing requirement, and how to meet it.
    pub why: String,
}

/// Output format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A table for readers.
    Table,
    /// One JSON object.
    Json,
    /// Comma-separated values with a header line.
    Csv,
}

/// Report of a benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Name of the benchmark.
    pub bench: String,
    /// Configuration of the hardware.
    pub config: String,
    /// Unit of the figures, unless a row's note names another.
    pub unit: String,
    /// Seed of the data.
    pub seed: u64,
    /// Source revision of the run.
    pub revision: String,
    /// Rows with figures.
    pub rows: Vec<Row>,
    /// Rows without figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Absent>,
}

impl Report {
    /// Formats the report as text that ends with a line feed.
    ///
    /// # Errors
    /// The errors of the serialisers. None are expected.
    pub fn render(&self, format: Format) -> Result<String, RenderError> {
        match format {
            Format::Table => Ok(self.table()),
            Format::Json => Ok(serde_json::to_string(self)? + "\n"),
            Format::Csv => self.csv(),
        }
    }

    fn table(&self) -> String {
        let has = |present: fn(&Row) -> bool| self.rows.iter().any(present);
        let (paper, limit, note) = (
            has(|r| r.paper.is_some()),
            has(|r| r.limit.is_some()),
            has(|r| r.note.is_some()),
        );
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN);
        let mut header = vec!["row".to_string(), "measured".to_string()];
        header.extend(paper.then(|| "paper".to_string()));
        header.extend(limit.then(|| "limit".to_string()));
        header.extend(limit.then(|| "ratio".to_string()));
        header.extend(note.then(|| "note".to_string()));
        let figures = header.len() - usize::from(note);
        table.set_header(header);
        for row in &self.rows {
            let mut cells = vec![row.name.clone(), figure(row.measured)];
            cells.extend(paper.then(|| row.paper.map_or(String::new(), figure)));
            cells.extend(limit.then(|| row.limit.map_or(String::new(), figure)));
            let ratio = |ratio| format!("{ratio:.2}");
            cells.extend(limit.then(|| row.ratio().map_or(String::new(), ratio)));
            cells.extend(note.then(|| row.note.clone().unwrap_or_default()));
            table.add_row(cells);
        }
        for column in 1..figures {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let absent = self.absent.iter();
        let absent = absent.map(|row| format!("no {}: {}\n", row.name, row.why));
        format!(
            "{} on {}, {}, revision {}\n\n{table}\n{}",
            self.bench,
            self.config,
            self.unit,
            self.revision,
            absent.collect::<String>()
        )
    }

    fn csv(&self) -> Result<String, RenderError> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record([
            "bench", "config", "unit", "name", "measured", "paper", "limit", "note",
        ])?;
        let optional = |value: Option<f64>| value.map_or(String::new(), |v| v.to_string());
        for row in &self.rows {
            writer.write_record([
                &self.bench,
                &self.config,
                &self.unit,
                &row.name,
                &row.measured.to_string(),
                &optional(row.paper),
                &optional(row.limit),
                row.note.as_deref().unwrap_or_default(),
            ])?;
        }
        for row in &self.absent {
            writer.write_record([
                &self.bench,
                &self.config,
                &self.unit,
                &row.name,
                "",
                "",
                "",
                &row.why,
            ])?;
        }
        let bytes = writer.into_inner().map_err(|e| e.into_error())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Formats whole numbers without decimals, large numbers without decimals, and others with three.
fn figure(value: f64) -> String {
    if value.fract() == 0.0 || value.abs() >= 10_000.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.3}")
    }
}

/// The reason why a report cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// Serialisation as JSON failed.
    #[error("cannot write the report as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Serialisation as CSV failed.
    #[error("cannot write the report as CSV: {0}")]
    Csv(#[from] csv::Error),
    /// The end of the CSV output could not be written.
    #[error("cannot write the end of the CSV report: {0}")]
    Flush(#[from] std::io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report {
            bench: "rma".into(),
            config: "rma2".into(),
            unit: "cycles".into(),
            seed: 1,
            revision: "abc".into(),
            rows: vec![
                Row::new("barrier", 7.0).paper(8.0),
                Row::new("g", 1.0456).limit(1.0),
            ],
            absent: Vec::new(),
        }
    }

    #[test]
    fn json_has_the_fields_that_tools_read() {
        let json: serde_json::Value =
            serde_json::from_str(&report().render(Format::Json).unwrap()).unwrap();
        assert_eq!(json["rows"][0]["name"], "barrier");
        assert_eq!(json["rows"][0]["paper"], 8.0);
        assert!(json["rows"][0].get("limit").is_none());
        assert_eq!(json["unit"], "cycles");
    }

    #[test]
    fn the_table_shows_figures_as_people_read_them() {
        let table = report().render(Format::Table).unwrap();
        assert!(table.contains("| barrier |        7 |     8 |"), "{table}");
        assert!(table.contains("1.046"), "{table}");
    }

    #[test]
    fn the_table_sets_figures_in_relation_to_the_bound() {
        let table = report().render(Format::Table).unwrap();
        assert!(table.contains("| limit | ratio |"), "{table}");
        assert!(table.contains("|     1 |  1.05 |"), "{table}");
        assert_eq!(report().rows[0].ratio(), None);
        assert_eq!(Row::new("bcast-8", 1.0).of("ring4").name, "ring4/bcast-8");
    }

    #[test]
    fn what_could_not_be_measured_is_said_in_every_format() {
        let mut report = report();
        assert!(!report.render(Format::Json).unwrap().contains("absent"));
        report.absent.push(Absent {
            name: "cocotb".into(),
            why: "not here".into(),
        });
        let json: serde_json::Value =
            serde_json::from_str(&report.render(Format::Json).unwrap()).unwrap();
        assert_eq!(json["absent"][0]["name"], "cocotb");
        assert_eq!(json["rows"].as_array().map(Vec::len), Some(2));
        let table = report.render(Format::Table).unwrap();
        assert!(table.ends_with("\nno cocotb: not here\n"), "{table}");
        let csv = report.render(Format::Csv).unwrap();
        assert!(csv.ends_with(",cocotb,,,,not here\n"), "{csv}");
    }

    #[test]
    fn csv_has_a_line_a_row() {
        assert_eq!(report().render(Format::Csv).unwrap().lines().count(), 3);
    }
}
