//! Coverage of the hardware by its benches, as a table in Markdown.
//!
//! usage: `coverage FOLDER [--missed]`
//!
//! FOLDER has the counts that benches wrote with `ALCOR_COVERAGE`. With `--missed`, the lines, branches
//! and cover points that no bench has hit follow. Modules outside of `hw/*/rtl` are left out.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use verimodel::{Coverage, Hit, ModuleCoverage};

/// Macros of assertions, each once a property.
const ASSERTIONS: [&str; 4] = [
    "`ALCOR_ASSERT(",
    "`ALCOR_IMPLIES(",
    "`ALCOR_STABLE(",
    "`ALCOR_NEXT(",
];

/// A row of the table: a module, or a block.
#[derive(Default)]
struct Row {
    lines: Hit,
    branches: Hit,
    points: Hit,
    assertions: usize,
}

impl Row {
    fn add(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.lines, other.lines),
            (&mut self.branches, other.branches),
            (&mut self.points, other.points),
        ] {
            sum.hit += more.hit;
            sum.of += more.of;
        }
        self.assertions += other.assertions;
    }

    fn line(&self, name: &str) -> String {
        let cells = [self.lines, self.branches, self.points].map(|hit| match hit.of {
            0 => "–".to_owned(),
            of => format!("{} of {of}", hit.hit),
        });
        let share = match self.lines.of + self.branches.of {
            0 => "–".to_owned(),
            of => {
                let hit = self.lines.hit + self.branches.hit;
                // Rounded down, so that only what is whole has 100 %.
                format!("{}.{} %", hit * 100 / of, hit * 1000 / of % 10)
            }
        };
        format!(
            "| {name} | {} | {} | {share} | {} | {} |\n",
            cells[0], cells[1], cells[2], self.assertions
        )
    }
}

/// Reads and merges all counts in a folder.
fn read(folder: &Path) -> Result<Coverage, String> {
    let in_folder = |error| format!("{}: {error}", folder.display());
    let mut coverage = Coverage::default();
    for entry in fs::read_dir(folder).map_err(in_folder)? {
        let path = entry.map_err(in_folder)?.path();
        if path.extension().is_some_and(|extension| extension == "dat") {
            coverage.merge(Coverage::read(&path).map_err(|error| error.to_string())?);
        }
    }
    if coverage.is_empty() {
        return Err(format!(
            "{}: no counts; run the benches with ALCOR_COVERAGE={0}",
            folder.display()
        ));
    }
    Ok(coverage)
}

/// The block and the source of a module, if it is a module of `hw/*/rtl`.
fn place(module: &ModuleCoverage) -> Option<(String, PathBuf)> {
    let hardware = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let name = Path::new(&module.file).file_name()?;
    for entry in fs::read_dir(hardware).ok()?.flatten() {
        let path = entry.path().join("rtl").join(name);
        if path.is_file() {
            return Some((entry.file_name().to_string_lossy().into_owned(), path));
        }
    }
    None
}

fn table(coverage: &Coverage, shows_missed: bool) -> Result<String, String> {
    let mut points: BTreeMap<String, Hit> = BTreeMap::new();
    let mut missed = String::new();
    for point in coverage.points() {
        let hit = points.entry(point.module.clone()).or_default();
        hit.of += 1;
        hit.hit += u64::from(point.hits > 0);
        if point.hits == 0 {
            let _ = writeln!(
                missed,
                "{}: never, {}: {}",
                point.module, point.group, point.name
            );
        }
    }
    let mut blocks: BTreeMap<String, (Row, String)> = BTreeMap::new();
    for module in coverage.modules() {
        let Some((block, source)) = place(&module) else {
            continue;
        };
        let text = fs::read_to_string(&source)
            .map_err(|error| format!("{}: {error}", source.display()))?;
        let row = Row {
            lines: module.lines,
            branches: module.branches,
            points: points.get(&module.module).copied().unwrap_or_default(),
            assertions: ASSERTIONS
                .iter()
                .map(|name| text.matches(name).count())
                .sum(),
        };
        let (sum, rows) = blocks.entry(block).or_default();
        sum.add(&row);
        rows.push_str(&row.line(&format!("`{}`", module.module)));
        for (first, last) in module.missed_lines {
            let _ = writeln!(missed, "{}: lines {first} to {last}", source.display());
        }
        for (line, kind) in module.missed_branches {
            let _ = writeln!(missed, "{}: {kind} of line {line}", source.display());
        }
    }
    let mut text = String::from(
        "| module | lines | branches | both | cover points | assertions |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for (block, (sum, rows)) in blocks {
        text.push_str(&sum.line(&format!("**{block}**")));
        text.push_str(&rows);
    }
    if shows_missed {
        text.push_str(&missed);
    }
    Ok(text)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (folder, shows_missed) = match arguments[..] {
        [folder] => (folder, false),
        [folder, "--missed"] => (folder, true),
        _ => {
            eprintln!("usage: coverage FOLDER [--missed]");
            return ExitCode::from(2);
        }
    };
    match read(Path::new(folder)).and_then(|coverage| table(&coverage, shows_missed)) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("coverage: {error}");
            ExitCode::FAILURE
        }
    }
}
