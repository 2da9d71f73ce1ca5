//! Reports as pictures: the exchange of table 9, the time of collectives over their size, and that of a
//! message over the length of its queue.

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::collectives::{self, Op, Path};
use crate::report::{Report, Row};

/// Draws the rows named `exchange-RxR-H<h>` as an SVG: g = t/(R·H) in cycles a word, ours and the
/// paper's, on logarithmic axes.
///
/// # Errors
/// What the drawing library says, and when there is no such row.
pub fn exchange(rows: &[Row]) -> Result<String, PlotError> {
    let mut curves: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
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
        let mut point = |name: String, cycles: f64| {
            let at = (h, cycles / (ranks * h));
            match curves.iter_mut().find(|(other, _)| *other == name) {
                Some((_, points)) => points.push(at),
                None => curves.push((name, vec![at])),
            }
        };
        if let Some(paper) = row.paper {
            point(format!("{size}, paper"), paper);
        }
        point(format!("{size}, Alcor"), row.measured);
    }
    if curves.is_empty() {
        return Err(PlotError::NoRows("exchange-RxR-H<h>", "rma"));
    }
    let mut svg = String::new();
    draw(&curves, &mut svg).map_err(|error| PlotError::Draw(error.to_string()))?;
    Ok(svg)
}

fn draw(
    curves: &[(String, Vec<(f64, f64)>)],
    svg: &mut String,
) -> Result<(), Box<dyn std::error::Error>> {
    let colours = [
        RGBColor(150, 150, 150),
        RGBColor(0, 90, 181),
        RGBColor(220, 50, 32),
    ];
    let area = SVGBackend::with_string(svg, (720, 420)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption("Total exchange, barrier included", ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(58)
        .build_cartesian_2d((1f64..1024f64).log_scale(), (0.9f64..40f64).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("H: words from each rank to each rank")
        .y_desc("g: cycles a word")
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .light_line_style(WHITE)
        .draw()?;
    for ((name, points), colour) in curves.iter().zip(colours.into_iter().cycle()) {
        chart
            .draw_series(
                LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(3),
            )?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .background_style(WHITE)
        .border_style(BLACK.mix(0.3))
        .draw()?;
    area.present()?;
    drop(chart);
    drop(area);
    Ok(())
}

/// Draws the rows of `alcor bench alpu` that are of queues as an SVG, a panel for posted receives and
/// one for unexpected messages: cycles over the queue's length, with the matching units and without.
///
/// # Errors
/// What the drawing library says, and when there is no such row.
pub fn queues(report: &Report) -> Result<String, PlotError> {
    let mut panels = [
        ("Posted receives", Vec::<Curve>::new()),
        ("Unexpected messages", Vec::new()),
    ];
    for row in &report.rows {
        let name = row.name.rsplit('/').next().unwrap_or(&row.name);
        let (way, name) = match name.strip_prefix("list-") {
            Some(rest) => ("walked", rest),
            None => ("matching unit", name),
        };
        let parts: Vec<&str> = name.split('-').collect();
        let (panel, length, curve) = match parts[..] {
            ["preposted", length, percent] => (0, length, format!("{way}, {percent} % in front")),
            ["unexpected", length] => (1, length, way.to_owned()),
            _ => continue,
        };
        let Ok(length) = length.parse::<f64>() else {
            continue;
        };
        let curves = &mut panels[panel].1;
        match curves.iter_mut().find(|other| other.name == curve) {
            Some(other) => other.points.push((length, row.measured)),
            None => curves.push(Curve {
                name: curve,
                points: vec![(length, row.measured)],
            }),
        }
    }
    if panels.iter().any(|(_, curves)| curves.is_empty()) {
        return Err(PlotError::NoRows(
            "preposted-<length>-<percent> and unexpected-<length>",
            "alpu",
        ));
    }
    let mut svg = String::new();
    draw_queues(&panels, &mut svg).map_err(|error| PlotError::Draw(error.to_string()))?;
    Ok(svg)
}

/// Cycles over length.
struct Curve {
    name: String,
    points: Vec<Point>,
}

fn draw_queues(
    panels: &[(&str, Vec<Curve>)],
    svg: &mut String,
) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::with_string(svg, (960, 380)).into_drawing_area();
    area.fill(&WHITE)?;
    let most = panels
        .iter()
        .flat_map(|(_, curves)| curves.iter().flat_map(|curve| &curve.points))
        .fold((1f64, 1f64), |most, point| {
            (most.0.max(point.0), most.1.max(point.1))
        });
    for ((title, curves), place) in panels.iter().zip(area.split_evenly((1, panels.len()))) {
        let mut chart = ChartBuilder::on(&place)
            .caption(*title, ("sans-serif", 18))
            .margin(10)
            .x_label_area_size(38)
            .y_label_area_size(52)
            .build_cartesian_2d(0f64..most.0, 0f64..1.1 * most.1)?;
        chart
            .configure_mesh()
            .x_desc("entries in the queue")
            .y_desc("cycles, barrier included")
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| format!("{y:.0}"))
            .light_line_style(WHITE)
            .draw()?;
        let (mut walked, mut unit) = (0, 0);
        for curve in curves {
            let (place, colour) = match curve.name.starts_with("walked") {
                true => (&mut walked, RGBColor(220, 50, 32)),
                false => (&mut unit, RGBColor(0, 90, 181)),
            };
            // The curves of a colour become paler.
            let colour = colour.mix(1.0 - 0.3 * f64::from(*place));
            *place += 1;
            chart
                .draw_series(
                    LineSeries::new(curve.points.iter().copied(), colour.stroke_width(2))
                        .point_size(2),
                )?
                .label(&curve.name)
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2))
                });
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE)
            .border_style(BLACK.mix(0.3))
            .draw()?;
    }
    area.present()?;
    drop(area);
    Ok(())
}

/// Draws the rows of `alcor bench collectives` as an SVG, a panel for each collective: cycles over
/// bytes, in hardware, in software and the bound, on logarithmic axes. Of a report with several
/// configurations, each has a band of panels.
///
/// # Errors
/// What the drawing library says, and when there is no such row.
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

/// Bytes and cycles.
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
    /// From the back to the front.
    fn curves(&self) -> [(&'static str, &[Point], RGBColor); 3] {
        [
            ("limit", &self.limit, RGBColor(150, 150, 150)),
            ("software", &self.software, RGBColor(220, 50, 32)),
            ("hardware", &self.hardware, RGBColor(0, 90, 181)),
        ]
    }
}

/// Panels side by side; the place that is left over in the last row has the legend.
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
    let mut chart = ChartBuilder::on(place)
        .caption(panel.op.name(), ("sans-serif", 15))
        .margin(8)
        .margin_right(18)
        .x_label_area_size(34)
        .y_label_area_size(52)
        .build_cartesian_2d(
            (4f64..bytes).log_scale().base(4.0),
            (cycles.0..cycles.1).log_scale(),
        )?;
    chart
        .configure_mesh()
        .x_desc("bytes")
        .y_desc("cycles")
        .x_labels(5)
        .x_label_formatter(&|&bytes| short_bytes(bytes))
        .y_label_formatter(&|cycles| format!("{cycles:.0}"))
        .light_line_style(WHITE)
        .draw()?;
    for (_, points, colour) in panel.curves() {
        chart.draw_series(
            LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(2),
        )?;
    }
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

/// `512`, `64K`, `4M`.
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

/// No picture could be drawn.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// The report has no row of the kind that is drawn; who makes them.
    #[error("the report has no row named {0}; `alcor bench {1}` makes them")]
    NoRows(&'static str, &'static str),
    /// The drawing library says why.
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
    fn queues_have_a_panel_for_each_kind() {
        let names = ["preposted-0-50", "list-preposted-8-100", "unexpected-8"];
        let rows = names.map(|name| Row::new(name, 50.0).of("mpi2"));
        let picture = queues(&report(rows.to_vec())).unwrap();
        for text in [
            "Posted receives",
            "Unexpected messages",
            "walked, 100 %",
            "matching unit",
        ] {
            assert!(picture.contains(text), "{text}: {picture}");
        }
        assert!(matches!(
            queues(&report(rows[..2].to_vec())),
            Err(PlotError::NoRows(..))
        ));
    }

    #[test]
    fn bytes_are_short() {
        assert_eq!(
            [4.0, 1024.0, 65_536.0, 4_194_304.0].map(short_bytes),
            ["4", "1K", "64K", "4M"]
        );
    }
}
