//! Numbers in readable form.

use std::time::Duration;

use chrono::DateTime;

/// The text for a missing number.
pub const NONE: &str = "–";

/// A number with separators of thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number: whole numbers and large ones without decimals, others with three.
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let decimals = if value.fract() == 0.0 || value.abs() >= 10_000.0 {
        0
    } else {
        3
    };
    decimal(value, decimals)
}

/// A number with the given decimals, and separators of thousands.
pub fn decimal(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    // Numbers with more digits than a u64 stay ungrouped.
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), grouped);
    let sign = if value < 0.0 { "−" } else { "" };
    match fraction {
        "" => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{fraction}"),
    }
}

/// Seconds, to a millisecond where they are less than one.
pub fn seconds(time: Duration) -> String {
    let decimals = if time.as_secs() == 0 { 3 } else { 2 };
    format!("{} s", decimal(time.as_secs_f64(), decimals))
}

/// A share of one, in per cent.
pub fn percent(share: Option<f64>) -> String {
    match share {
        // 0 % and 100 % are exact; other shares are never rounded to them.
        Some(share) if share > 0.0 && share < 1.0 => {
            format!("{:.1} %", (share * 100.0).clamp(0.1, 99.9))
        }
        Some(share) => format!("{:.0} %", share * 100.0),
        None => NONE.to_owned(),
    }
}

/// A change in per cent.
pub fn change(before: f64, now: f64) -> String {
    let percent = (now / before - 1.0) * 100.0;
    match percent.is_finite() {
        true if now == before => "same".to_owned(),
        true => format!(
            "{}{:.1} %",
            if percent < 0.0 { "−" } else { "+" },
            percent.abs()
        ),
        false => NONE.to_owned(),
    }
}

/// A date and time, of seconds since 1970.
pub fn date(seconds: u64) -> String {
    let date = i64::try_from(seconds)
        .ok()
        .and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    date.map_or_else(
        || NONE.to_owned(),
        |date| date.format("%Y-%m-%d %H:%M:%S UTC").to_string(),
    )
}

/// A number with its noun, in the plural if needed.
///
/// # Examples
/// ```
/// assert_eq!(alcor_report::count(1, "board"), "1 board");
/// assert_eq!(alcor_report::count(1200, "test"), "1,200 tests");
/// ```
#[must_use]
pub fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (12_345_678, "12,345,678"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(seconds(Duration::from_millis(1_234_567)), "1,234.57 s");
        assert_eq!(seconds(Duration::from_millis(4)), "0.004 s");
    }

    #[test]
    fn figures_have_as_many_decimals_as_say_something() {
        for (value, text) in [
            (7.0, "7"),
            (1.0456, "1.046"),
            (-1234.5, "−1,234.500"),
            (12_345.6, "12,346"),
            (1e30, "1000000000000000019884624838656"),
            (f64::NAN, "–"),
            (f64::INFINITY, "–"),
        ] {
            assert_eq!(figure(value), text);
        }
    }

    #[test]
    fn shares_are_only_all_or_none_if_they_are() {
        for (share, text) in [
            (Some(1.0), "100 %"),
            (Some(0.99999), "99.9 %"),
            (Some(0.00001), "0.1 %"),
            (Some(0.0), "0 %"),
            (Some(0.256), "25.6 %"),
            (None, "–"),
        ] {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn changes_from_nothing_are_no_figure() {
        assert_eq!(change(100.0, 103.0), "+3.0 %");
        assert_eq!(change(100.0, 50.0), "−50.0 %");
        assert_eq!(change(0.0, 0.0), "–");
        assert_eq!(change(0.0, 1.0), "–");
        assert_eq!(change(2.0, 2.0), "same");
    }

    #[test]
    fn dates_are_of_the_calendar() {
        assert_eq!(date(1_000_000_000), "2001-09-09 01:46:40 UTC");
        assert_eq!(date(u64::MAX), "–");
        assert_eq!(
            (count(1, "test"), count(1200, "test")),
            ("1 test".into(), "1,200 tests".into())
        );
    }
}
