//! Plots of reports: instructions and the exchange of the coprocessor's paper; streams; collectives
//! over size and over boards; messages over size, over queue length and over position in the queue.

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use crate::collectives::{self, Op, Path};
use crate::queues::Case;
use crate::report::{Report, Row};

/// A picture with its title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Title of the picture.
    pub title: String,
    /// The picture as SVG.
    pub svg: String,
}

/// Draws all pictures that the rows of a report allow, for any benchmark.
///
/// # Errors
/// An error of the drawing library.
pub fn all(report: &Report) -> Result<Vec<Picture>, PlotError> {
    let rows = &report.rows;
    let drawn = match report.bench.as_str() {
        "rma" => vec![
            (
                "Put and get of a few words: cycles over size",
                instructions(rows),
            ),
            ("Total exchange: cycles a word over size", exchange(rows)),
            (
                "Streams: bytes a cycle over the size of a transfer",
                streams(rows),
            ),
        ],
        "alpu" => vec![("Cycles over the length of the queue", queues(report))],
        "messages" => vec![
            ("Latency of a message: cycles over size", latency(report)),
            ("Bandwidth: bytes a cycle over size", bandwidth(report)),
        ],
        "modes" => vec![(
            "Messages over size and collectives over boards, in both modes",
            modes(report),
        )],
        "collectives" => vec![("Cycles over size", collectives(report))],
        _ => Vec::new(),
    };
    let mut pictures = Vec::new();
    for (title, svg) in drawn {
        match svg {
            Ok(svg) => pictures.push(Picture {
                title: title.to_owned(),
                svg,
            }),
            Err(PlotError::NoRows(..)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(pictures)
}

/// Adds a point to the named curve.
fn add(curves: &mut Vec<Curve>, name: impl Into<String>, point: Point) {
    let name = name.into();
    match curves.iter_mut().find(|curve| curve.name == name) {
        Some(curve) => curve.points.push(point),
        None => curves.push(Curve {
            name,
            points: vec![point],
        }),
    }
}

/// Draws the rows named `put-<n>` and `get-<n>` as an SVG: cycles over words, measured and from the
/// paper.
///
/// # Errors
/// An error of the drawing library, or [`PlotError::NoRows`].
pub fn instructions(rows: &[Row]) -> Result<String, PlotError> {
    let mut curves = Vec::new();
    for row in rows {
        let Some((what @ ("put" | "get"), words)) = row.name.split_once('-') else {
            continue;
        };
        let Ok(words) = words.parse::<f64>() else {
            continue;
        };
        if let Some(paper) = row.paper {
            add(&mut curves, format!("{what}, paper"), (words, paper));
        }
        add(&mut curves, format!("{what}, Alcor"), (words, row.measured));
    }
    Chart {
        caption: "Put and get, barrier included",
        x: "words",
        y: "cycles",
        legend: SeriesLabelPosition::UpperLeft,
        colours: &[PALE_BLUE, BLUE, PALE_RED, RED],
        ranges: None,
        is_linear: false,
        curves,
    }
    .draw(("put-<n>", "rma"))
}

/// Draws the rows of streams as an SVG: bytes per cycle over transfer length, and the bound.
///
/// # Errors
/// An error of the drawing library, or [`PlotError::NoRows`].
pub fn streams(rows: &[Row]) -> Result<String, PlotError> {
    let mut curves = Vec::new();
    for row in rows {
        let Some((way @ ("put-bandwidth" | "get-bandwidth" | "bidirectional"), bytes)) =
            row.name.rsplit_once('-')
        else {
            continue;
        };
        let Ok(bytes) = bytes.parse::<f64>() else {
            continue;
        };
        // The bound is the same for all directions.
        if let (Some(limit), "put-bandwidth") = (row.limit, way) {
            add(&mut curves, "limit", (bytes, limit));
        }
        add(
            &mut curves,
            way.trim_end_matches("-bandwidth"),
            (bytes, row.measured),
        );
    }
    Chart {
        caption: "Streams between two ranks of a board",
        x: "bytes of a transfer",
        y: "bytes a cycle",
        legend: SeriesLabelPosition::LowerRight,
        colours: &[GREY, BLUE, RED, GREEN],
        ranges: None,
        is_linear: false,
        curves,
    }
    .draw(("put-bandwidth-<bytes>", "rma"))
}

/// Draws half of the round trip of a message as an SVG: cycles over size, and the bound.
///
/// # Errors
/// An error of the drawing library, or [`PlotError::NoRows`].
pub fn latency(report: &Report) -> Result<String, PlotError> {
    Chart {
        caption: "Half of a round trip between two ranks",
        x: "bytes of a message",
        y: "cycles",
        legend: SeriesLabelPosition::UpperLeft,
        colours: &[GREY, BLUE, PALE_RED, RED],
        ranges: None,
        is_linear: false,
        curves: by_size(report, &[("ping-pong", "half a round trip")]),
    }
    .draw(("ping-pong-<bytes>", "messages"))
}

/// Draws the rows of both modes, without and with protocols, as an SVG with a panel for each of figures 4
/// to 8, and three for figure 9, of the `SeaStar` paper (Brightwell et al. 2006).
///
/// # Errors
/// An error of the drawing library, or [`PlotError::NoRows`].
pub fn modes(report: &Report) -> Result<String, PlotError> {
    let panels: Vec<(ModePanel, Vec<Curve>)> = MODE_PANELS
        .into_iter()
        .map(|panel| (panel, mode_curves(panel, report)))
        .filter(|(_, curves)| !curves.is_empty())
        .collect();
    if panels.is_empty() {
        return Err(PlotError::NoRows("latency-<bytes>", "modes"));
    }
    let mut svg = String::new();
    draw_modes(&panels, &mut svg).map_err(|error| PlotError::Draw(error.to_string()))?;
    Ok(svg)
}

/// Draws the bandwidth of messages as an SVG: bytes per cycle over size, and the bound of a stream.
///
/// # Errors
/// An error of the drawing library, or [`PlotError::NoRows`].
pub fn bandwidth(report: &Report) -> Result<String, PlotError> {
    let kinds = [
        ("stream", "stream of 64"),
        ("bidirectional", "both ways, each"),
        ("bandwidth", "ping-pong"),
    ];
    Chart {
        caption: "Messages between two ranks",
        x: "bytes of a message",
        y: "bytes per cycle",
        legend: SeriesLabelPosition::LowerRight,
        colours: &[GREY, BLUE, GREEN, RED, BROWN, PALE_BLUE, ORANGE, PALE_RED],
        ranges: None,
        is_linear: false,
        curves: by_size(report, &kinds),
    }
    .draw(("stream-<bytes>", "messages"))
}

/// The curves of rows `<kind>-<bytes>`. The bound is that of the first kind. In a report with
/// several configurations, the names of the curves begin with the configuration.
fn by_size(report: &Report, kinds: &[(&str, &str)]) -> Vec<Curve> {
    let mut curves = Vec::new();
    for row in &report.rows {
        let (config, name) = match row.name.split_once('/') {
            Some((config, name)) => (format!("{config}: "), name),
            None => (String::new(), row.name.as_str()),
        };
        let Some((kind, bytes)) = name.rsplit_once('-') else {
            continue;
        };
        let found = kinds.iter().position(|&(known, _)| known == kind);
        // A logarithmic axis has no zero.
        let bytes = bytes.parse::<f64>().ok().filter(|&bytes| bytes > 0.0);
        let (Some(place), Some(bytes)) = (found, bytes) else {
            continue;
        };
        if let (0, Some(limit)) = (place, row.limit) {
            add(&mut curves, format!("{config}limit"), (bytes, limit));
        }
        let curve = format!("{config}{}", kinds[place].1);
        add(&mut curves, curve, (bytes, row.measured));
    }
    // Each configuration has its bound first, and its kinds in order.
    let order = |curve: &Curve| {
        let (config, name) = curve.name.rsplit_once(": ").unwrap_or(("", &curve.name));
        let kind = kinds.iter().position(|&(_, known)| known == name);
        (config.to_owned(), kind.map_or(0, |kind| kind + 1))
    };
    curves.sort_by_key(order);
    curves
}

/// Draws collectives of `bytes` over the number of boards as an SVG. `reports` may have any
/// configurations. `boards` returns the number of boards of a configuration.
///
/// # Errors
/// An error of the drawing library, or [`PlotError::NoRows`].
pub fn boards<'a>(
    reports: impl IntoIterator<Item = &'a Report>,
    bytes: usize,
    boards: impl Fn(&str) -> Option<u32>,
) -> Result<String, PlotError> {
    let mut curves: Vec<Curve> = Vec::new();
    for report in reports {
        for row in &report.rows {
            let (config, name) = row
                .name
                .split_once('/')
                .unwrap_or((&report.config, &row.name));
            let found = collectives::parse_name(name).filter(|&(path, op, size)| {
                path == Path::Hardware && (size == bytes || op == Op::Barrier)
            });
            let (Some((_, op, _)), Some(boards)) = (found, boards(config)) else {
                continue;
            };
            let (x, is_new) = (f64::from(boards), |curve: &Curve| {
                curve.name != op.name()
                    || curve
                        .points
                        .iter()
                        .all(|point| point.0 != f64::from(boards))
            });
            if curves.iter().all(is_new) {
                add(&mut curves, op.name(), (x, row.measured));
            }
        }
    }
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    Chart {
        caption: &format!("Collectives of {bytes} bytes, and the barrier"),
        x: "boards",
        y: "cycles",
        // The range includes one board, for which there are no measurements.
        legend: SeriesLabelPosition::UpperLeft,
        colours: &[BLUE, RED, GREEN, GREY, PURPLE, ORANGE, BROWN, PALE_RED],
        ranges: None,
        is_linear: true,
        curves,
    }
    .draw(("<op>-<bytes>", "collectives"))
}

const GREY: RGBColor = RGBColor(150, 150, 150);
const BLUE: RGBColor = RGBColor(0, 90, 181);
const PALE_BLUE: RGBColor = RGBColor(140, 185, 225);
const RED: RGBColor = RGBColor(220, 50, 32);
const PALE_RED: RGBColor = RGBColor(236, 160, 150);
const GREEN: RGBColor = RGBColor(30, 130, 60);
const PURPLE: RGBColor = RGBColor(120, 60, 160);
const ORANGE: RGBColor = RGBColor(230, 140, 0);
const BROWN: RGBColor = RGBColor(110, 70, 40);

/// Curves over axes.
struct Chart<'a> {
    caption: &'a str,
    x: &'a str,
    y: &'a str,
    legend: SeriesLabelPosition,
    /// Colours of the curves, used cyclically.
    colours: &'a [RGBColor],
    /// Ranges of the logarithmic axes; `None` for the range of the curves.
    ranges: Option<[(f64, f64); 2]>,
    /// Whether the horizontal axis is linear. An axis with few whole numbers is.
    is_linear: bool,
    curves: Vec<Curve>,
}

impl Chart<'_> {
    /// Draws the picture. `rows` names the required rows and their benchmark, for an error.
    fn draw(&self, rows: (&'static str, &'static str)) -> Result<String, PlotError> {
        if self.curves.is_empty() {
            return Err(PlotError::NoRows(rows.0, rows.1));
        }
        let mut svg = String::new();
        self.draw_to(&mut svg)
            .map_err(|error| PlotError::Draw(error.to_string()))?;
        Ok(svg)
    }

    fn draw_to(&self, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        if let Some([x, y]) = self.ranges {
            return self.draw_on(svg, (x.0..x.1).log_scale(), (y.0..y.1).log_scale());
        }
        let x = extent(&self.curves, |point| point.0);
        let y = extent(&self.curves, |point| point.1);
        if self.is_linear {
            return self.draw_on(svg, 0.0..x.1 + 1.0, 0.0..1.1 * y.1);
        }
        let x = (0.8 * x.0..1.25 * x.1).log_scale().base(2.0);
        // A long logarithmic axis has labels at powers of ten only.
        if y.1 > 30.0 * y.0 {
            self.draw_on(svg, x, (0.8 * y.0..1.25 * y.1).log_scale())
        } else {
            self.draw_on(svg, x, 0.0..1.1 * y.1)
        }
    }

    fn draw_on<X, Y>(&self, svg: &mut String, x: X, y: Y) -> Result<(), Box<dyn std::error::Error>>
    where
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let area = SVGBackend::with_string(svg, (720, 420)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(self.caption, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(58)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .x_label_formatter(&|x| grouped(*x))
            .y_label_formatter(&|y| grouped(*y))
            .light_line_style(WHITE)
            .draw()?;
        for (curve, &colour) in self.curves.iter().zip(self.colours.iter().cycle()) {
            chart
                .draw_series(
                    LineSeries::new(curve.points.iter().copied(), colour.stroke_width(2))
                        .point_size(3),
                )?
                .label(&curve.name)
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2))
                });
        }
        chart
            .configure_series_labels()
            .position(self.legend.clone())
            .background_style(WHITE)
            .border_style(BLACK.mix(0.3))
            .draw()?;
        area.present()?;
        drop(chart);
        drop(area);
        Ok(())
    }
}

/// Minimum and maximum of the positive coordinates.
fn extent(curves: &[Curve], of: fn(&Point) -> f64) -> (f64, f64) {
    let values = || curves.iter().flat_map(|curve| &curve.points).map(of);
    let least = values().fold(f64::INFINITY, f64::min).max(0.001);
    (least, values().fold(least, f64::max))
}

/// A number with thousands separators. Small numbers that are not whole have one decimal.
fn grouped(value: f64) -> String {
    if value.fract() != 0.0 && value.abs() < 10.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let separated = |(place, digit): (usize, char)| {
        let is_first = place == 0 || !(digits.len() - place).is_multiple_of(3);
        [(!is_first).then_some(','), Some(digit)]
    };
    digits
        .chars()
        .enumerate()
        .flat_map(separated)
        .flatten()
        .collect()
}

/// Draws the rows named `exchange-RxR-H<h>` as an SVG: g = t/(R·H) in cycles per word, measured and
/// from the paper, on logarithmic axes.
///
/// # Errors
/// An error of the drawing library, or [`PlotError::NoRows`].
pub fn exchange(rows: &[Row]) -> Result<String, PlotError> {
    let mut curves = Vec::new();
    for row in rows {
        let Some((size, h)) = row
            .name
            .strip_prefix("exchange-")
            .and_then(|rest| rest.split_once("-H"))
        else {
            continue;
        };
        let ranks = size
            .split_once('x')
            .and_then(|(ranks, _)| ranks.parse::<f64>().ok());
        let (Some(ranks), Ok(h)) = (ranks, h.parse::<f64>()) else {
            continue;
        };
        let at = |cycles| (h, cycles / (ranks * h));
        if let Some(paper) = row.paper {
            add(&mut curves, format!("{size}, paper"), at(paper));
        }
        add(&mut curves, format!("{size}, Alcor"), at(row.measured));
    }
    Chart {
        caption: "Total exchange, barrier included",
        x: "H: words from each rank to each rank",
        y: "g: cycles a word",
        legend: SeriesLabelPosition::MiddleRight,
        colours: &[GREY, BLUE, RED],
        ranges: Some([(1.0, 1024.0), (0.9, 40.0)]),
        is_linear: false,
        curves,
    }
    .draw(("exchange-RxR-H<h>", "rma"))
}

/// Draws the queue rows of `alcor bench alpu` as an SVG, as figures 5 and 6 of the matching unit's
/// paper: lines for posted receives and for unexpected messages, over queue length, and a surface
/// for each way to search posted receives, over queue length and over the share of the queue in
/// front of the matching receive.
///
/// # Errors
/// An error of the drawing library, or [`PlotError::NoRows`].
pub fn queues(report: &Report) -> Result<String, PlotError> {
    let mut searches: Vec<Search> = Vec::new();
    for row in &report.rows {
        let name = row.name.rsplit('/').next().unwrap_or(&row.name);
        let Some(case) = Case::named(name) else {
            continue;
        };
        let place = searches.iter().position(|known| known.name == case.search);
        let place = place.unwrap_or_else(|| {
            searches.push(Search::new(case.search));
            searches.len() - 1
        });
        let search = &mut searches[place];
        if case.is_posted {
            search.cells.push(Cell {
                length: case.length,
                percent: case.percent,
                cycles: row.measured,
            });
        } else {
            let point = (f64::from(case.length), row.measured);
            search.unexpected.push(point);
        }
    }
    searches.sort_by_key(Search::order);
    let has = |is: fn(&Search) -> bool| searches.iter().any(is);
    if !has(|search| !search.cells.is_empty()) || !has(|search| !search.unexpected.is_empty()) {
        return Err(PlotError::NoRows(
            "list-preposted-<length>-<percent> and list-unexpected-<length>",
            "alpu",
        ));
    }
    let mut svg = String::new();
    draw_queues(&searches, &mut svg).map_err(|error| PlotError::Draw(error.to_string()))?;
    Ok(svg)
}

/// The figures of a way to search.
struct Search {
    /// Name in the rows.
    name: String,
    /// Of posted receives.
    cells: Vec<Cell>,
    /// Of unexpected messages, over queue length.
    unexpected: Vec<Point>,
}

/// A point of a surface.
struct Cell {
    length: u32,
    percent: u32,
    cycles: f64,
}

impl Search {
    fn new(name: &str) -> Search {
        Search {
            name: name.to_owned(),
            cells: Vec::new(),
            unexpected: Vec::new(),
        }
    }

    /// Cells of the matching unit.
    fn unit(&self) -> Option<u32> {
        self.name.strip_prefix("unit")?.parse().ok()
    }

    fn title(&self) -> String {
        match (self.unit(), &*self.name) {
            (Some(cells), _) => format!("unit of {cells} cells"),
            (None, "processor") => "processor (model)".to_owned(),
            (None, _) => "walk".to_owned(),
        }
    }

    /// The slowest way comes first.
    fn order(&self) -> (u8, u32) {
        match (self.unit(), &*self.name) {
            (None, "processor") => (0, 0),
            (None, _) => (1, 0),
            (Some(cells), _) => (2, cells),
        }
    }

    fn colour(&self) -> RGBColor {
        match self.order() {
            (0, _) => ORANGE,
            (1, _) => RED,
            (_, ..=128) => BLUE,
            _ => GREEN,
        }
    }

    /// Cycles of posted receives over queue length, for a share of the queue.
    fn posted(&self, percent: u32) -> Vec<Point> {
        let cells = self.cells.iter().filter(|cell| cell.percent == percent);
        cells
            .map(|cell| (f64::from(cell.length), cell.cycles))
            .collect()
    }
}

/// Size of a panel of lines and of a surface, in pixels.
const LINES: (u32, u32) = (480, 380);
const SURFACE: (u32, u32) = (480, 330);

fn draw_queues(searches: &[Search], svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let surfaces: Vec<&Search> = searches
        .iter()
        .filter(|search| !search.cells.is_empty())
        .collect();
    let rows = surfaces.len().div_ceil(2);
    let size = (2 * LINES.0, LINES.1 + rows as u32 * SURFACE.1);
    let area = SVGBackend::with_string(svg, size).into_drawing_area();
    area.fill(&WHITE)?;
    let (above, below) = area.split_vertically(LINES.1);
    let (left, right) = above.split_horizontally(LINES.0);
    let posted = [(100, "", 1.0), (50, ", half passed", 0.45)];
    let posted = lines(searches, &posted, |search, percent| search.posted(percent));
    let unexpected = lines(searches, &[(100, "", 1.0)], |search, _| {
        search.unexpected.clone()
    });
    draw_lines("Posted receives, whole queue passed", &posted, &left)?;
    draw_lines("Unexpected messages", &unexpected, &right)?;
    for (search, place) in surfaces.iter().zip(below.split_evenly((rows, 2))) {
        draw_surface(search, &place)?;
    }
    area.present()?;
    drop(area);
    Ok(())
}

/// The lines of all searches: for each share of the queue its points, the end of its name, and the
/// strength of its colour.
fn lines(
    searches: &[Search],
    shares: &[(u32, &str, f64)],
    points: impl Fn(&Search, u32) -> Vec<Point>,
) -> Vec<Line> {
    let lines = searches.iter().flat_map(|search| {
        shares.iter().map(|&(percent, end, strength)| Line {
            name: search.title() + end,
            points: points(search, percent),
            colour: search.colour().mix(strength),
        })
    });
    lines.filter(|line| !line.points.is_empty()).collect()
}

/// A line of a panel.
struct Line {
    name: String,
    points: Vec<Point>,
    colour: RGBAColor,
}

fn draw_lines(
    title: &str,
    lines: &[Line],
    place: &Place<'_>,
) -> Result<(), Box<dyn std::error::Error>> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let longest = points().fold(1f64, |longest, point| longest.max(point.0));
    let most = points().fold(100f64, |most, point| most.max(point.1));
    let least = points().fold(most, |least, point| least.min(point.1));
    let mut chart = ChartBuilder::on(place)
        .caption(title, ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(38)
        .y_label_area_size(58)
        .build_cartesian_2d(0f64..longest, (0.8 * least..14.0 * most).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("entries in the queue")
        .y_desc("cycles, barrier included")
        .x_label_formatter(&|x| grouped(*x))
        .y_label_formatter(&|y| grouped(*y))
        .light_line_style(WHITE)
        .draw()?;
    for line in lines {
        let style = line.colour.stroke_width(2);
        chart
            .draw_series(LineSeries::new(line.points.iter().copied(), style).point_size(2))?
            .label(&line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}

/// Draws cycles over queue length and over the share of the queue in front of the receive.
fn draw_surface(search: &Search, place: &Place<'_>) -> Result<(), Box<dyn std::error::Error>> {
    let sorted = |of: fn(&Cell) -> u32| {
        let mut values: Vec<u32> = search.cells.iter().map(of).collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    let (lengths, percents) = (sorted(|cell| cell.length), sorted(|cell| cell.percent));
    let extent = |values: &[u32]| f64::from(values.last().copied().unwrap_or_default().max(1));
    let most = search
        .cells
        .iter()
        .fold(1f64, |most, cell| most.max(cell.cycles));
    let corner = |length: u32, percent: u32| {
        let is_there = |cell: &&Cell| (cell.length, cell.percent) == (length, percent);
        let cell = search.cells.iter().find(is_there)?;
        Some((f64::from(length), cell.cycles, f64::from(percent)))
    };
    let title = format!("{}: cycles over entries and % in front", search.title());
    let mut chart = ChartBuilder::on(place)
        .caption(title, ("sans-serif", 15))
        .margin(8)
        .build_cartesian_3d(0f64..extent(&lengths), 0f64..most, 0f64..extent(&percents))?;
    chart.with_projection(|mut projection| {
        projection.yaw = 0.6;
        projection.pitch = 0.25;
        projection.scale = 0.8;
        projection.into_matrix()
    });
    chart
        .configure_axes()
        .x_labels(5)
        .y_labels(5)
        .z_labels(4)
        .x_formatter(&|x| grouped(*x))
        .y_formatter(&|y| grouped(*y))
        .z_formatter(&|z| format!("{z:.0} %"))
        .max_light_lines(1)
        .draw()?;
    // A face for each pair of neighbouring lengths and shares, from back to front.
    let pairs = percents.windows(2).flat_map(|share| {
        lengths
            .windows(2)
            .map(move |length| [length[0], length[1], share[0], share[1]])
    });
    let faces = pairs.filter_map(|[short, long, few, many]| {
        let corners = [(short, few), (long, few), (long, many), (short, many)]
            .map(|(length, percent)| corner(length, percent));
        let corners: Option<Vec<_>> = corners.into_iter().collect();
        corners
    });
    let colour = search.colour();
    chart.draw_series(faces.flat_map(|corners| {
        let outline = corners.iter().copied().chain(corners.first().copied());
        let outline = PathElement::new(outline.collect::<Vec<_>>(), BLACK.mix(0.5));
        let face = Polygon::new(corners, colour.mix(0.35).filled());
        [face.into_dyn(), outline.into_dyn()]
    }))?;
    Ok(())
}

/// A curve.
struct Curve {
    name: String,
    points: Vec<Point>,
}

/// Draws the rows of `alcor bench collectives` as an SVG with a panel for each collective: cycles
/// over bytes in hardware, in software, and the bound, on logarithmic axes. In a report with
/// several configurations, each configuration has a band of panels.
///
/// # Errors
/// An error of the drawing library, or [`PlotError::NoRows`].
pub fn collectives(report: &Report) -> Result<String, PlotError> {
    let mut bands: Vec<Band<'_>> = Vec::new();
    for row in &report.rows {
        let (config, name) = row
            .name
            .split_once('/')
            .unwrap_or((&report.config, &row.name));
        let Some((path, op, bytes)) = collectives::parse_name(name) else {
            continue;
        };
        let band = match bands.iter().position(|band| band.config == config) {
            Some(known) => &mut bands[known],
            None => {
                bands.push(Band::new(config));
                let last = bands.len() - 1;
                &mut bands[last]
            }
        };
        let Some(panel) = band.panels.iter_mut().find(|panel| panel.op == op) else {
            continue;
        };
        let at = |cycles| (bytes as f64, cycles);
        match path {
            Path::Hardware => panel.hardware.push(at(row.measured)),
            Path::Software => panel.software.push(at(row.measured)),
        }
        panel.limit.extend(row.limit.map(at));
    }
    bands.retain(|band| band.points().next().is_some());
    if bands.is_empty() {
        return Err(PlotError::NoRows("<op>-<bytes>", "collectives"));
    }
    let mut svg = String::new();
    draw_bands(&bands, &mut svg).map_err(|error| PlotError::Draw(error.to_string()))?;
    Ok(svg)
}

/// Horizontal and vertical coordinate.
type Point = (f64, f64);

/// The panels of a configuration.
struct Band<'a> {
    config: &'a str,
    panels: Vec<Panel>,
}

/// The curves of a collective, by size.
struct Panel {
    op: Op,
    hardware: Vec<Point>,
    software: Vec<Point>,
    limit: Vec<Point>,
}

impl<'a> Band<'a> {
    fn new(config: &'a str) -> Band<'a> {
        let sized = Op::ALL.iter().filter(|&&op| op != Op::Barrier);
        Band {
            config,
            panels: sized
                .map(|&op| Panel {
                    op,
                    hardware: Vec::new(),
                    software: Vec::new(),
                    limit: Vec::new(),
                })
                .collect(),
        }
    }

    fn points(&self) -> impl Iterator<Item = Point> {
        self.panels
            .iter()
            .flat_map(|panel| panel.curves())
            .flat_map(|(_, points, _)| points.iter().copied())
    }
}

impl Panel {
    /// The curves, from back to front.
    fn curves(&self) -> [(&'static str, &[Point], RGBColor); 3] {
        [
            ("limit", &self.limit, GREY),
            ("software", &self.software, RED),
            ("hardware", &self.hardware, BLUE),
        ]
    }
}

/// Number of panels side by side. The legend is in the free space of the last row.
const COLUMNS: usize = 4;
const PANEL_ROWS: usize = Op::ALL.len() / COLUMNS;
const PANEL: (u32, u32) = (300, 240);
const HEADING: u32 = 34;

fn draw_bands(bands: &[Band<'_>], svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let height = HEADING + PANEL_ROWS as u32 * PANEL.1;
    let size = (COLUMNS as u32 * PANEL.0, bands.len() as u32 * height);
    let area = SVGBackend::with_string(svg, size).into_drawing_area();
    area.fill(&WHITE)?;
    for (band, part) in bands.iter().zip(area.split_evenly((bands.len(), 1))) {
        let title = format!("Collectives on {}, one call", band.config);
        let part = part.titled(&title, ("sans-serif", 20))?;
        let most = band.points().fold((4f64, 100f64), |most, point| {
            (most.0.max(point.0), most.1.max(point.1))
        });
        let least = band.points().map(|point| point.1).fold(most.1, f64::min);
        let places = part.split_evenly((PANEL_ROWS, COLUMNS));
        for (panel, place) in band.panels.iter().zip(&places) {
            draw_panel(panel, place, most.0, (0.8 * least, 1.3 * most.1))?;
        }
        if let (Some(place), Some(panel)) = (places.last(), band.panels.first()) {
            draw_legend(panel, place)?;
        }
    }
    area.present()?;
    drop(area);
    Ok(())
}

type Place<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn draw_panel(
    panel: &Panel,
    place: &Place<'_>,
    bytes: f64,
    cycles: (f64, f64),
) -> Result<(), Box<dyn std::error::Error>> {
    let curves = panel.curves();
    Small {
        caption: panel.op.name(),
        x: ("bytes", (4.0, bytes), 4.0),
        y: ("cycles", cycles),
    }
    .draw(
        place,
        curves.iter().map(|&(_, points, colour)| (points, colour)),
    )
}

/// A panel of a picture with many. The horizontal axis is logarithmic.
struct Small<'a> {
    caption: &'a str,
    /// Description, range and base of the horizontal axis.
    x: (&'a str, Point, f64),
    /// Description and range of the vertical axis, which is linear if the range begins at 0.
    y: (&'a str, Point),
}

impl Small<'_> {
    fn draw<'a>(
        &self,
        place: &Place<'_>,
        curves: impl Iterator<Item = (&'a [Point], RGBColor)>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let (low, high) = self.y.1;
        if low == 0.0 {
            self.draw_on(place, low..high, curves)
        } else {
            self.draw_on(place, (low..high).log_scale(), curves)
        }
    }

    fn draw_on<'a, Y>(
        &self,
        place: &Place<'_>,
        y: Y,
        curves: impl Iterator<Item = (&'a [Point], RGBColor)>,
    ) -> Result<(), Box<dyn std::error::Error>>
    where
        Y: AsRangedCoord<Value = f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let (x, (left, right), base) = self.x;
        let mut chart = ChartBuilder::on(place)
            .caption(self.caption, ("sans-serif", 15))
            .margin(8)
            .margin_right(18)
            .x_label_area_size(34)
            .y_label_area_size(52)
            .build_cartesian_2d((left..right).log_scale().base(base), y)?;
        chart
            .configure_mesh()
            .x_desc(x)
            .y_desc(self.y.0)
            .x_labels(5)
            .x_label_formatter(&|&x| short_bytes(x))
            .y_label_formatter(&|y| grouped(*y))
            .light_line_style(WHITE)
            .draw()?;
        for (points, colour) in curves {
            chart.draw_series(
                LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(2),
            )?;
        }
        Ok(())
    }
}

/// A panel of the picture of both modes: kind of its rows, caption, and descriptions of both axes.
type ModePanel = [&'static str; 4];

const MODE_PANELS: [ModePanel; 8] = [
    ["latency", "Half of a round trip", "bytes", TIME],
    ["bandwidth", "Ping-pong", "bytes", "MB/s"],
    ["stream", "Stream", "bytes", "MB/s"],
    ["bidirectional", "Both ways, each", "bytes", "MB/s"],
    ["barrier", "Barrier", "boards", TIME],
    ["allreduce-16", "Allreduce of 16 bytes", "boards", TIME],
    ["reduce-16", "Reduce of 16 bytes", "boards", TIME],
    ["allgather-16", "Allgather of 16 bytes", "boards", TIME],
];
/// Times are on a linear axis.
const TIME: &str = "us";
/// Longest message of a panel with times.
const SHORT: f64 = 8192.0;

/// The curves of a panel: one for each mode and protocol.
fn mode_curves([kind, _, _, y]: ModePanel, report: &Report) -> Vec<Curve> {
    let mut curves = by_size(report, &[(kind, "")]);
    for curve in &mut curves {
        curve.name = curve.name.trim_end_matches(": ").to_owned();
        curve.points.retain(|point| y != TIME || point.0 <= SHORT);
    }
    curves
}

/// Colours of modes and protocols, in the order of their names.
const MODE_COLOURS: [RGBColor; 6] = [RED, PALE_RED, ORANGE, BLUE, PALE_BLUE, GREEN];

fn draw_modes(
    panels: &[(ModePanel, Vec<Curve>)],
    svg: &mut String,
) -> Result<(), Box<dyn std::error::Error>> {
    let rows = panels.len().div_ceil(COLUMNS);
    let size = (COLUMNS as u32 * PANEL.0, HEADING + rows as u32 * PANEL.1);
    let area = SVGBackend::with_string(svg, size).into_drawing_area();
    area.fill(&WHITE)?;
    // The same curve has the same colour in each panel.
    let mut names: Vec<&str> = Vec::new();
    for curve in panels.iter().flat_map(|(_, curves)| curves) {
        if !names.contains(&&*curve.name) {
            names.push(&curve.name);
        }
    }
    names.sort_unstable();
    let colour = |name: &str| {
        let place = names.iter().position(|&known| known == name);
        MODE_COLOURS[place.unwrap_or_default() % MODE_COLOURS.len()]
    };
    let (heading, body) = area.split_vertically(HEADING);
    for (at, name) in (0..).zip(&names) {
        let (x, y) = (20 + 195 * at, HEADING as i32 / 2);
        heading.draw(&PathElement::new(
            [(x, y), (x + 26, y)],
            colour(name).stroke_width(2),
        ))?;
        heading.draw(&Text::new(*name, (x + 34, y - 7), ("sans-serif", 15)))?;
    }
    for ((panel, curves), place) in panels.iter().zip(&body.split_evenly((rows, COLUMNS))) {
        let [_, caption, x, y] = *panel;
        let (left, right) = extent(curves, |point| point.0);
        let (low, high) = extent(curves, |point| point.1);
        let range = match y {
            TIME => (0.0, 1.1 * high),
            _ => (0.8 * low, 1.3 * high),
        };
        let curves = curves
            .iter()
            .map(|curve| (&*curve.points, colour(&curve.name)));
        Small {
            caption,
            x: (x, (0.8 * left, 1.25 * right), 2.0),
            y: (y, range),
        }
        .draw(place, curves)?;
    }
    area.present()?;
    drop((heading, body));
    drop(area);
    Ok(())
}

fn draw_legend(panel: &Panel, place: &Place<'_>) -> Result<(), Box<dyn std::error::Error>> {
    for (at, (name, _, colour)) in (0..).zip(panel.curves().into_iter().rev()) {
        let (x, y) = (70, 70 + 26 * at);
        place.draw(&PathElement::new(
            [(x, y), (x + 26, y)],
            colour.stroke_width(2),
        ))?;
        place.draw(&Circle::new((x + 13, y), 3, colour.filled()))?;
        place.draw(&Text::new(name, (x + 36, y - 7), ("sans-serif", 15)))?;
    }
    Ok(())
}

/// Formats a byte count: `512`, `64K`, `4M`.
fn short_bytes(bytes: f64) -> String {
    const KIB: f64 = 1024.0;
    if bytes >= KIB * KIB {
        format!("{:.0}M", bytes / KIB / KIB)
    } else if bytes >= KIB {
        format!("{:.0}K", bytes / KIB)
    } else {
        format!("{bytes:.0}")
    }
}

/// The reason why a picture cannot be drawn.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// The report has no row of the required kind. Contains the kind and the benchmark.
    #[error("the report has no row named {0}; run `alcor bench {1}` for them")]
    NoRows(&'static str, &'static str),
    /// An error of the drawing library.
    #[error("the plot can't be drawn: {0}")]
    Draw(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(rows: Vec<Row>) -> Report {
        Report {
            bench: "collectives".into(),
            config: "ring4".into(),
            unit: "cycles".into(),
            seed: 1,
            revision: "abc".into(),
            rows,
            absent: Vec::new(),
        }
    }

    #[test]
    fn collectives_have_a_panel_each_and_a_band_for_each_configuration() {
        let rows = ["bcast-8", "bcast-64", "software-bcast-8"]
            .map(|name| Row::new(name, 300.0).limit(226.0));
        let one = collectives(&report(rows.to_vec())).unwrap();
        assert!(one.contains("Collectives on ring4"), "{one}");
        assert!(one.contains("reduce_scatter") && one.contains("software"));
        let two = rows
            .iter()
            .flat_map(|row| ["ring4", "torus8"].map(|config| row.clone().of(config)));
        let two = collectives(&report(two.collect())).unwrap();
        assert!(
            two.contains("on ring4") && two.contains("on torus8"),
            "{two}"
        );
        let barrier = vec![Row::new("barrier", 278.0)];
        assert!(matches!(
            collectives(&report(barrier)),
            Err(PlotError::NoRows(..))
        ));
    }

    #[test]
    fn queues_have_lines_for_each_kind_and_a_surface_for_each_search() {
        let names = [
            "unit256-preposted-8-100",
            "unit128-preposted-0-50",
            "unit128-preposted-8-50",
            "unit128-preposted-0-100",
            "unit128-preposted-8-100",
            "processor-preposted-8-100",
            "list-preposted-8-50",
            "list-preposted-8-100-128",
            "unit128-unexpected-8",
        ];
        let rows = names.map(|name| Row::new(name, 50.0));
        let picture = queues(&report(rows.to_vec())).unwrap();
        for text in [
            "Unexpected messages",
            "walk, half passed",
            "processor (model)",
            "processor (model): cycles over entries",
            "walk: cycles over entries",
            "unit of 128 cells: cycles over entries",
            "unit of 256 cells: cycles over entries",
        ] {
            assert!(picture.contains(text), "{text}: {picture}");
        }
        assert!(!picture.contains("NaN"), "{picture}");
        // Each surface has three walls. That of two lengths and two shares has a face.
        let polygons = picture.matches("<polygon").count();
        assert_eq!(polygons, 4 * 3 + 1, "{picture}");
        assert!(matches!(
            queues(&report(rows[..8].to_vec())),
            Err(PlotError::NoRows(..))
        ));
    }

    #[test]
    fn each_benchmark_has_the_pictures_that_its_rows_make() {
        let titles = |bench: &str, names: &[&str]| {
            let rows = names
                .iter()
                .map(|&name| Row::new(name, 40.0).paper(50.0).limit(32.0));
            let report = Report {
                bench: bench.into(),
                ..report(rows.collect())
            };
            let pictures = all(&report).unwrap();
            assert!(
                pictures
                    .iter()
                    .all(|picture| picture.svg.ends_with("</svg>\n"))
            );
            pictures
                .into_iter()
                .map(|picture| picture.title)
                .collect::<Vec<_>>()
        };
        assert_eq!(titles("rma", &["put-1", "barrier"]).len(), 1);
        let rma = titles(
            "rma",
            &["put-1", "get-4", "exchange-2x2-H4", "put-bandwidth-64"],
        );
        assert_eq!(rma.len(), 3, "{rma:?}");
        let queues = ["list-preposted-8-50", "list-unexpected-8"];
        assert_eq!(titles("alpu", &queues).len(), 1);
        let messages = titles("messages", &["ping-pong-0", "ping-pong-8", "stream-8"]);
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert_eq!(titles("messages", &["rate-pair", "send-8"]).len(), 0);
        assert_eq!(titles("collectives", &["bcast-8"]), ["Cycles over size"]);
        assert_eq!(titles("modes", &["barrier-2", "latency-8"]).len(), 1);
        assert_eq!(titles("modes", &["else-2"]).len(), 0);
        assert_eq!(titles("host", &["put-8-memory"]), Vec::<String>::new());
        assert_eq!(titles("rma", &[]), Vec::<String>::new());
    }

    #[test]
    fn instructions_and_streams_stand_beside_paper_and_limit() {
        let rows = ["put-1", "put-30", "get-1", "put-bandwidth-64"]
            .map(|name| Row::new(name, 40.0).paper(50.0).limit(32.0));
        let picture = instructions(&rows).unwrap();
        for text in ["put, paper", "get, Alcor", "words"] {
            assert!(picture.contains(text), "{text}: {picture}");
        }
        let picture = streams(&rows).unwrap();
        assert!(
            picture.contains("limit") && !picture.contains("paper"),
            "{picture}"
        );
    }

    #[test]
    fn messages_have_curves_for_each_configuration() {
        let rows = ["bidirectional-64", "stream-8", "ping-pong-8"]
            .map(|name| Row::new(name, 3.0).limit(4.0));
        let one = bandwidth(&report(rows.to_vec())).unwrap();
        assert!(
            one.contains("both ways, each") && one.contains("limit"),
            "{one}"
        );
        assert!(!one.contains("half a round trip"), "{one}");
        let two = rows
            .iter()
            .flat_map(|row| ["mpi2", "rma2-wide"].map(|config| row.clone().of(config)));
        let two = bandwidth(&report(two.collect())).unwrap();
        assert!(
            two.contains("mpi2: limit") && two.contains("rma2-wide: stream of 64"),
            "{two}"
        );
    }

    #[test]
    fn modes_have_a_panel_for_each_kind_and_one_name_for_each_curve() {
        let rows = ["latency-8", "latency-64", "barrier-2"].map(|name| Row::new(name, 3.0));
        let rows = rows
            .iter()
            .flat_map(|row| ["nic", "host+frames"].map(|mode| row.clone().of(mode)));
        let picture = modes(&report(rows.collect())).unwrap();
        for (text, count) in [
            ("Half of a round trip", 1),
            ("Barrier", 1),
            ("Stream", 0),
            ("\nnic\n", 1),
            ("\nhost+frames\n", 1),
        ] {
            assert_eq!(picture.matches(text).count(), count, "{text}: {picture}");
        }
        // One barrier and two latencies, in each mode.
        assert_eq!(picture.matches("<circle").count(), 6, "{picture}");
    }

    #[test]
    fn boards_are_named_by_configuration_and_the_first_report_counts() {
        let on = |config: &str, cycles| Report {
            config: config.into(),
            ..report(vec![Row::new("bcast-8", cycles), Row::new("bcast-64", 1.0)])
        };
        let reports = [
            on("ring4", 300.0),
            on("ring4", 900.0),
            on("ring2", 200.0),
            on("else", 10.0),
        ];
        let known = |config: &str| config.strip_prefix("ring")?.parse().ok();
        let picture = boards(&reports, 8, known).unwrap();
        assert_eq!(picture.matches("<circle").count(), 2, "{picture}");
        assert!(matches!(
            boards(&reports, 16, known),
            Err(PlotError::NoRows(..))
        ));
        assert!(matches!(
            boards(&reports, 8, |_| None),
            Err(PlotError::NoRows(..))
        ));
    }

    #[test]
    fn names_in_pictures_are_text() {
        let report = report(vec![Row::new("bcast-8", 1.0).of("<b>&\"")]);
        let picture = collectives(&report).unwrap();
        assert!(
            !picture.contains("<b>") && picture.contains("&lt;b&gt;&amp;"),
            "{picture}"
        );
    }

    #[test]
    fn numbers_of_axes_are_grouped() {
        assert_eq!(
            [0.0, 0.5, 20.5, 999.0, 1000.0, 1_234_567.0].map(grouped),
            ["0", "0.5", "20", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn bytes_are_short() {
        assert_eq!(
            [4.0, 1024.0, 65_536.0, 4_194_304.0].map(short_bytes),
            ["4", "1K", "64K", "4M"]
        );
    }
}
