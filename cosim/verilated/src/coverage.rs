//! Coverage: executed parts of the SystemVerilog, from the counters of a model.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::Error;

/// Upper bound on the length of a line in a coverage file.
const LONGEST: u64 = 64 << 10;
/// Maximum number of points.
const MOST: usize = 1 << 24;
/// First line of a coverage file.
const HEADER: &str = "# SystemC::Coverage-3";
/// Highest supported number of a source line.
const LAST_LINE: u32 = 1 << 20;

/// Defect of a coverage file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CoverageProblem {
    /// The first line is not the header of a coverage file.
    #[error("expected `{HEADER}`; was the file written by Verilator 5?")]
    Header,
    /// A line has no end, or is too long.
    #[error("a line is cut off, or longer than {LONGEST} bytes; was the file written to its end?")]
    Length,
    /// The file contains bytes that are not UTF-8.
    #[error("the file is not UTF-8 text")]
    Text,
    /// A line does not describe a point.
    #[error("expected C '...' and a number, found `{found}`")]
    Point {
        /// Beginning of the line.
        found: String,
    },
    /// A point lacks a field, or the field's value is invalid.
    #[error("field {field} is `{found}`, expected {expected}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// The value found.
        found: String,
        /// The expected value.
        expected: &'static str,
    },
    /// The file has too many points.
    #[error("more than {MOST} points")]
    TooMany,
}

/// Number of hit items and of all items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hit {
    /// Number of hit items.
    pub hit: u64,
    /// Number of all items.
    pub of: u64,
}

impl Hit {
    fn count(&mut self, is_hit: bool) {
        self.hit += u64::from(is_hit);
        self.of += 1;
    }
}

/// Coverage of a module, over all instances and parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleCoverage {
    /// Name of the module.
    pub module: String,
    /// The source file, as given to the build.
    pub file: String,
    /// Source lines.
    pub lines: Hit,
    /// Arms of branches.
    pub branches: Hit,
    /// Edges of bits, rising and falling.
    pub toggles: Hit,
    /// Source lines that were never hit: first and last of each stretch, ascending.
    pub missed_lines: Vec<(u32, u32)>,
    /// Arms of branches that were never hit, ascending: source line and kind, such as `if` or
    /// `else`.
    pub missed_branches: Vec<(u32, String)>,
}

/// A cover point with its number of hits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CoverPoint {
    /// The group in the label, or the module's name if the label does not begin with `c_`.
    pub group: String,
    /// The point in the label.
    pub name: String,
    /// The module that contains the point.
    pub module: String,
    /// Number of cycles in which the point was hit, over all instances.
    pub hits: u64,
}

/// Coverage counts of one or several models.
///
/// A model that is built with [`Build::coverage`](crate::Build::coverage) counts, and
/// [`Instance::coverage`](crate::Instance::coverage) returns the counts. Counts of several
/// instances, models and runs can be [merged](Self::merge). All instances and parameterisations of
/// a module are counted as one module: an item is hit if any of them hits it.
///
/// Lines are those with statements in procedural code. Branches are the arms of `if`, `case` and
/// `?:`, including an `else` that is not written. Toggles are the rising and the falling edge of
/// each bit of signals up to 256 bits. Continuous assignments have no lines: the toggles of their
/// signals cover them. Assertions are not counted.
///
/// Cover points are `cover property` statements. Their labels have the form `c_<group>_<name>`. The
/// group is one word, and underscores in the name are spaces: `c_wildcard_source_and_tag` is
/// point `source and tag` of group `wildcard`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    modules: BTreeMap<String, Module>,
    points: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Module {
    file: String,
    points: BTreeMap<Point, Count>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Block,
    Arm,
    Toggle,
    Cover,
}

/// Identity of a point: equal for the same point in different instances.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    kind: Kind,
    line: u32,
    column: u32,
    name: Box<str>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Count {
    hits: u64,
    /// Source lines of a block or arm as ascending ranges, each with first and last line.
    lines: Box<[(u32, u32)]>,
}

impl Coverage {
    /// Reads a file that Verilator's runtime has written.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged. The error names the line.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file = File::open(path).map_err(Error::io("read", path))?;
        Self::parse(path, BufReader::new(file))
    }

    /// Parses the content of a coverage file from `input`. `path` is used in messages.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    pub fn parse(path: impl AsRef<Path>, mut input: impl BufRead) -> Result<Self, Error> {
        let path = path.as_ref();
        let mut coverage = Self::default();
        let (mut bytes, mut line) = (Vec::new(), 0);
        loop {
            bytes.clear();
            let mut limited = (&mut input).take(LONGEST);
            let length = limited
                .read_until(b'\n', &mut bytes)
                .map_err(Error::io("read", path))?;
            if length == 0 && line > 0 {
                return Ok(coverage);
            }
            line += 1;
            coverage
                .take(&bytes, line == 1)
                .map_err(|problem| Error::Coverage {
                    path: path.into(),
                    line,
                    problem,
                })?;
        }
    }

    fn take(&mut self, bytes: &[u8], is_first: bool) -> Result<(), CoverageProblem> {
        let bytes = match bytes.strip_suffix(b"\n") {
            Some(bytes) => bytes,
            None if is_first => return Err(CoverageProblem::Header),
            None => return Err(CoverageProblem::Length),
        };
        let text = std::str::from_utf8(bytes).map_err(|_| CoverageProblem::Text)?;
        if is_first {
            return if text == HEADER {
                Ok(())
            } else {
                Err(CoverageProblem::Header)
            };
        }
        let Some(entry) = Entry::of(text)? else {
            return Ok(());
        };
        if self.points >= MOST {
            return Err(CoverageProblem::TooMany);
        }
        self.add(entry.module, entry.file, entry.point, entry.count);
        Ok(())
    }

    fn add(&mut self, module: &str, file: &str, point: Point, count: Count) {
        if !self.modules.contains_key(module) {
            self.modules.insert(
                module.into(),
                Module {
                    file: file.into(),
                    points: BTreeMap::new(),
                },
            );
        }
        let Some(module) = self.modules.get_mut(module) else {
            return;
        };
        let old = module.points.entry(point).or_insert_with(|| {
            self.points += 1;
            Count {
                hits: 0,
                lines: count.lines,
            }
        });
        old.hits = old.hits.saturating_add(count.hits);
    }

    /// Merges other counts into these.
    pub fn merge(&mut self, other: Self) {
        for (name, module) in other.modules {
            for (point, count) in module.points {
                self.add(&name, &module.file, point, count);
            }
        }
    }

    /// Returns whether there are no points.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points == 0
    }

    /// Coverage of each module, in order of name.
    #[must_use]
    pub fn modules(&self) -> Vec<ModuleCoverage> {
        self.modules
            .iter()
            .map(|(name, module)| module.coverage(name))
            .collect()
    }

    /// The cover points, in order of group and name.
    #[must_use]
    pub fn points(&self) -> Vec<CoverPoint> {
        let mut points = BTreeMap::new();
        for (module, Module { points: all, .. }) in &self.modules {
            for (point, count) in all.iter().filter(|(point, _)| point.kind == Kind::Cover) {
                let (group, name) = titled(module, &point.name);
                let hits: &mut u64 = points.entry((group, name, module.clone())).or_default();
                *hits = hits.saturating_add(count.hits);
            }
        }
        points
            .into_iter()
            .map(|((group, name, module), hits)| CoverPoint {
                group,
                name,
                module,
                hits,
            })
            .collect()
    }
}

impl Module {
    fn coverage(&self, module: &str) -> ModuleCoverage {
        let (mut lines, mut branches, mut toggles) =
            (BTreeMap::new(), Hit::default(), Hit::default());
        let mut missed_branches = Vec::new();
        for (point, count) in &self.points {
            let is_hit = count.hits != 0;
            match point.kind {
                Kind::Block => {}
                Kind::Arm => {
                    branches.count(is_hit);
                    if !is_hit {
                        missed_branches.push((point.line, point.name.to_string()));
                    }
                }
                Kind::Toggle => toggles.count(is_hit),
                Kind::Cover => continue,
            }
            for line in count.lines.iter().flat_map(|&(first, last)| first..=last) {
                *lines.entry(line).or_insert(false) |= is_hit;
            }
        }
        let mut of_lines = Hit::default();
        lines.values().for_each(|&is_hit| of_lines.count(is_hit));
        let mut missed_lines: Vec<(u32, u32)> = Vec::new();
        for (&line, _) in lines.iter().filter(|(_, is_hit)| !**is_hit) {
            match missed_lines.last_mut() {
                Some((_, last)) if *last + 1 == line => *last = line,
                _ => missed_lines.push((line, line)),
            }
        }
        ModuleCoverage {
            module: module.into(),
            file: self.file.clone(),
            lines: of_lines,
            branches,
            toggles,
            missed_lines,
            missed_branches,
        }
    }
}

/// Group and name of a cover point.
fn titled(module: &str, label: &str) -> (String, String) {
    let words = |text: &str| text.replace('_', " ").to_ascii_lowercase();
    match label
        .strip_prefix("c_")
        .and_then(|rest| rest.split_once('_'))
    {
        Some((group, name)) => (words(group), words(name)),
        None => (module.into(), label.into()),
    }
}

/// A line of the file.
struct Entry<'a> {
    module: &'a str,
    file: &'a str,
    point: Point,
    count: Count,
}

impl<'a> Entry<'a> {
    /// `None` for an unsupported kind of point.
    fn of(text: &'a str) -> Result<Option<Self>, CoverageProblem> {
        let not_a_point = || CoverageProblem::Point {
            found: text.chars().take(80).collect(),
        };
        // Fields may contain quotes.
        let (fields, hits) = text
            .strip_prefix("C '")
            .and_then(|rest| rest.rsplit_once("' "))
            .ok_or_else(not_a_point)?;
        let hits = number(hits).ok_or_else(not_a_point)?;
        let (mut file, mut line, mut column, mut page, mut name, mut lines) =
            ("", "", "", "", "", "");
        for field in fields.split('\x01').skip(1) {
            let (key, value) = field.split_once('\x02').ok_or_else(not_a_point)?;
            match key {
                "f" => file = value,
                "l" => line = value,
                "n" => column = value,
                "page" => page = value,
                "o" => name = value,
                "S" => lines = value,
                _ => {}
            }
        }
        let field = |field, found: &str, expected| CoverageProblem::Field {
            field,
            found: found.into(),
            expected,
        };
        let (kind, module) = page
            .strip_prefix("v_")
            .and_then(|page| page.split_once('/'))
            .filter(|(_, module)| !module.is_empty())
            .ok_or_else(|| field("page", page, "v_KIND/MODULE"))?;
        let kind = match (kind, name) {
            ("toggle", _) => Kind::Toggle,
            ("user", _) => Kind::Cover,
            ("branch", _) | ("line", "if" | "elsif" | "else" | "case") => Kind::Arm,
            ("line", _) => Kind::Block,
            _ => return Ok(None),
        };
        let line = source_line(line).ok_or_else(|| field("l", line, "a source line"))?;
        let column = number(column)
            .and_then(|column| u32::try_from(column).ok())
            .ok_or_else(|| field("n", column, "a column"))?;
        if name.is_empty() {
            return Err(field("o", name, "a name"));
        }
        let lines = stretches(lines).ok_or_else(|| field("S", lines, "ascending source lines"))?;
        Ok(Some(Self {
            // Verilator appends parameters after two underscores.
            module: module.split("__").next().unwrap_or(module),
            file,
            point: Point {
                kind,
                line,
                column,
                name: plain(name).into(),
            },
            count: Count {
                hits,
                lines: match kind {
                    Kind::Block | Kind::Arm => lines,
                    Kind::Toggle | Kind::Cover => Box::default(),
                },
            },
        }))
    }
}

/// Parses a number without a sign.
fn number(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

fn source_line(text: &str) -> Option<u32> {
    let line = u32::try_from(number(text)?).ok()?;
    (1..=LAST_LINE).contains(&line).then_some(line)
}

/// Parses ranges of lines, for example `14-15,17`.
fn stretches(text: &str) -> Option<Box<[(u32, u32)]>> {
    let mut stretches = Vec::new();
    let mut end = 0;
    for item in text.split(',').filter(|_| !text.is_empty()) {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let (first, last) = (source_line(first)?, source_line(last)?);
        if first <= end || last < first {
            return None;
        }
        end = last;
        stretches.push((first, last));
    }
    Some(stretches.into())
}

/// A name as in the source: Verilator writes `__05F` for the second of two underscores.
fn plain(name: &str) -> String {
    name.replace("___05F", "__")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A file as written by Verilator 5.048, with `{` for the byte before a key and `=` for the
    /// byte after a key.
    const FILE: &str = "\
# SystemC::Coverage-3
C '{f=/hw/sub.sv{l=14{n=3{t=line{page=v_line/sub{o=block{S=14-15,19{h=TOP.top.u_*' 162
C '{f=/hw/sub.sv{l=14{n=3{t=line{page=v_line/sub__W4{o=block{S=14-15,19{h=TOP.top.u_a' 121
C '{f=/hw/sub.sv{l=16{n=28{t=line{page=v_line/sub{o=case{S=16{h=TOP.top.u_*' 0
C '{f=/hw/sub.sv{l=16{n=28{t=line{page=v_line/sub__W4{o=case{S=16{h=TOP.top.u_a' 3
C '{f=/hw/sub.sv{l=17{n=5{t=branch{page=v_branch/sub{o=if{S=17{h=TOP.top.u_*' 0
C '{f=/hw/sub.sv{l=17{n=6{t=branch{page=v_branch/sub{o=else{h=TOP.top.u_*' 144
C '{f=/hw/sub.sv{l=17{n=28{t=expr{page=v_expr/sub{o=((a_i == 32'sh3)==1) => 1{h=TOP.top.u_*' 18
C '{f=/hw/sub.sv{l=1{n=95{t=toggle{page=v_toggle/sub{o=a_i[1]:0->1{h=TOP.top.u_*' 0
C '{f=/hw/sub.sv{l=1{n=95{t=toggle{page=v_toggle/sub__W4{o=a_i[1]:0->1{h=TOP.top.u_a' 7
C '{f=/hw/sub.sv{l=1{n=95{t=toggle{page=v_toggle/sub__W4{o=a_i[3]:0->1{h=TOP.top.u_a' 0
C '{f=/hw/sub.sv{l=20{n=19{t=user{page=v_user/sub__W4{o=c_depth_posted_3_to_4{S=20{h=TOP.top.u_a.c' 0
C '{f=/hw/sub.sv{l=20{n=19{t=user{page=v_user/sub{o=c_depth_posted_3_to_4{S=20{h=TOP.top.u_a.c' 5
C '{f=/hw/sub.sv{l=21{n=19{t=user{page=v_user/sub{o=c_answers_local_BAD_ID{S=21{h=TOP.top.u_a.c' 2
C '{f=/hw/sub.sv{l=24{n=19{t=user{page=v_user/sub{o=own___05Flabel{S=24{h=TOP.top.u_a.c' 1
C '{f=/hw/top.sv{l=29{n=24{t=toggle{page=v_toggle/top{o=clk_i:0->1{h=TOP.top' 40
";

    fn file() -> Vec<u8> {
        FILE.replace('{', "\x01").replace('=', "\x02").into()
    }

    fn parse(bytes: &[u8]) -> Result<Coverage, Error> {
        Coverage::parse("test.dat", bytes)
    }

    fn problem(bytes: &[u8]) -> (u64, CoverageProblem) {
        match parse(bytes) {
            Err(Error::Coverage { line, problem, .. }) => (line, problem),
            other => panic!("{other:?}"),
        }
    }

    /// The first line of the file and one more line.
    fn with(line: &str) -> Vec<u8> {
        format!("{HEADER}\n{line}\n")
            .replace('{', "\x01")
            .replace('=', "\x02")
            .into()
    }

    #[test]
    fn parameterisations_are_one_module() {
        let coverage = parse(&file()).unwrap();
        let modules = coverage.modules();
        let hit = |hit, of| Hit { hit, of };
        let sub = ModuleCoverage {
            module: "sub".into(),
            file: "/hw/sub.sv".into(),
            // Of lines 14 to 17 and 19: 14, 15, 16 and 19.
            lines: hit(4, 5),
            // Of `if`, `else` and `case`: the `case` and the `else`.
            branches: hit(2, 3),
            toggles: hit(1, 2),
            // Line 17 is run in its else, which has no line of its own.
            missed_lines: vec![(17, 17)],
            missed_branches: vec![(17, "if".into())],
        };
        assert_eq!(modules.len(), 2);
        assert_eq!(modules[0], sub);
        assert_eq!(
            (&*modules[1].module, modules[1].toggles),
            ("top", hit(1, 1))
        );
    }

    #[test]
    fn labels_are_taken_apart() {
        let points = parse(&file()).unwrap().points();
        let told: Vec<_> = points
            .iter()
            .map(|point| (&*point.group, &*point.name, &*point.module, point.hits))
            .collect();
        assert_eq!(
            told,
            [
                ("answers", "local bad id", "sub", 2),
                ("depth", "posted 3 to 4", "sub", 5),
                ("sub", "own__label", "sub", 1),
            ]
        );
    }

    #[test]
    fn counts_are_added_when_merged() {
        let one = parse(&file()).unwrap();
        let mut two = one.clone();
        two.merge(one.clone());
        assert_eq!(two.modules(), one.modules());
        for (before, after) in one.points().iter().zip(two.points()) {
            assert_eq!(2 * before.hits, after.hits);
        }
        // Each file adds the points that the other lacks.
        let other = "C '{f=/x.sv{l=3{n=1{page=v_branch/x{o=if{S=3' 1";
        two.merge(parse(&with(other)).unwrap());
        assert_eq!(two.modules().len(), 3);
        two.merge(Coverage::default());
        assert_eq!(two.modules().len(), 3);
        assert!(Coverage::default().is_empty() && !two.is_empty());
    }

    #[test]
    fn counts_stay_at_the_end_of_their_range() {
        let line = format!("C '{{l=3{{n=1{{page=v_user/x{{o=c_a_b' {}", u64::MAX);
        let mut coverage = parse(&with(&line)).unwrap();
        coverage.merge(coverage.clone());
        assert_eq!(coverage.points()[0].hits, u64::MAX);
    }

    #[test]
    fn what_is_damaged_is_named() {
        assert_eq!(problem(b""), (1, CoverageProblem::Header));
        assert_eq!(problem(b"# lcov\n"), (1, CoverageProblem::Header));
        let cut = file();
        assert_eq!(
            problem(&cut[..cut.len() - 1]),
            (16, CoverageProblem::Length)
        );
        let long = with(&"x".repeat(LONGEST as usize + 1));
        assert_eq!(problem(&long), (2, CoverageProblem::Length));
        let mut binary = with("C 'x' 1");
        binary[HEADER.len() + 3] = 0xff;
        assert_eq!(problem(&binary), (2, CoverageProblem::Text));
        for line in [
            "",
            "D '{l=1' 1",
            "C '{l=1'",
            "C '{l=1' -1",
            "C '{l=1' 1 1",
            "C '{l' 1",
        ] {
            let (at, problem) = problem(&with(line));
            assert!(
                matches!(problem, CoverageProblem::Point { .. }),
                "{line}: {problem}"
            );
            assert_eq!(at, 2);
        }
        for (wrong, line) in [
            ("page", "C '{l=1{n=1{o=x' 1"),
            ("page", "C '{l=1{n=1{page=v_line/{o=x' 1"),
            ("l", "C '{n=1{page=v_line/x{o=x' 1"),
            ("l", "C '{l=0{n=1{page=v_line/x{o=x' 1"),
            ("l", "C '{l=99999999{n=1{page=v_line/x{o=x' 1"),
            ("n", "C '{l=1{n=+1{page=v_line/x{o=x' 1"),
            ("o", "C '{l=1{n=1{page=v_line/x' 1"),
            ("S", "C '{l=1{n=1{page=v_line/x{o=block{S=5-4' 1"),
            ("S", "C '{l=1{n=1{page=v_line/x{o=block{S=4,4' 1"),
            ("S", "C '{l=1{n=1{page=v_line/x{o=block{S=4,' 1"),
        ] {
            match problem(&with(line)).1 {
                CoverageProblem::Field { field, .. } => assert_eq!(field, wrong, "{line}"),
                other => panic!("{line}: {other}"),
            }
        }
    }

    proptest! {
        /// Damaged input leads to an error, never to a panic.
        #[test]
        fn damage_is_survived(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
            end in any::<prop::sample::Index>(),
        ) {
            let mut bytes = file();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes.truncate(end.index(bytes.len() + 1));
            if let Ok(coverage) = parse(&bytes) {
                for module in coverage.modules() {
                    for hit in [module.lines, module.branches, module.toggles] {
                        prop_assert!(hit.hit <= hit.of);
                    }
                }
                prop_assert!(coverage.points().len() <= 3);
            }
        }
    }
}
