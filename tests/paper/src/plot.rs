//! The exchange of table 9 as a picture: cycles a word over the words sent to each peer.

use plotters::prelude::*;

use crate::report::Row;

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
        return Err(PlotError::NoRows);
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

/// No picture could be drawn.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// The report has no exchange.
    #[error("the report has no row named exchange-RxR-H<h>; `alcor bench rma` makes them")]
    NoRows,
    /// The drawing library says why.
    #[error("the plot can't be drawn: {0}")]
    Draw(String),
}
