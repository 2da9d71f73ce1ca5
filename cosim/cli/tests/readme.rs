//! The README's figures are those that `alcor bench rma` measures.

use std::collections::BTreeMap;
use std::process::Command;

/// The cells of every table row of `text`.
fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|line| line.split(" | ").collect())
        .collect()
}

#[test]
fn the_papers_tables_are_as_measured() {
    let output = Command::new(env!("CARGO_BIN_EXE_alcor"))
        .args(["bench", "rma", "--format", "json"])
        .output()
        .expect("alcor runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let figures: BTreeMap<&str, (f64, Option<f64>)> = report["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| {
            let name = row["name"].as_str().expect("a name");
            (
                name,
                (
                    row["measured"].as_f64().expect("a figure"),
                    row["paper"].as_f64(),
                ),
            )
        })
        .collect();

    let readme = include_str!("../../../README.md");
    let mut compared = 0;
    let mut compare = |shown: &str, name: &str, paper: bool| {
        let (measured, papers) = figures[name];
        let expected = if paper {
            papers.expect("the paper's figure")
        } else {
            measured
        };
        let decimals = shown
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len());
        assert_eq!(
            shown,
            format!("{expected:.decimals$}"),
            "README, row {name}"
        );
        compared += 1;
    };
    for row in rows(readme) {
        match row[..] {
            [
                name @ ("barrier" | "register" | "deregister"),
                measured,
                paper,
            ] => {
                compare(measured, name, false);
                compare(paper, name, true);
            }
            [n, put, put_paper, get, get_paper] if n.parse::<u32>().is_ok() => {
                compare(put, &format!("put-{n}"), false);
                compare(put_paper, &format!("put-{n}"), true);
                compare(get, &format!("get-{n}"), false);
                compare(get_paper, &format!("get-{n}"), true);
            }
            [h, two, paper, four] if h.parse::<u32>().is_ok() => {
                compare(two, &format!("exchange-2x2-H{h}"), false);
                compare(paper, &format!("exchange-2x2-H{h}"), true);
                compare(four, &format!("exchange-4x4-H{h}"), false);
            }
            ["g, cycles a word", two, paper, four] => {
                compare(two, "g-2x2", false);
                compare(paper, "g-2x2", true);
                compare(four, "g-4x4", false);
            }
            _ => {}
        }
    }
    assert_eq!(
        compared,
        3 * 2 + 6 * 4 + 11 * 3 + 3,
        "figures found in the README"
    );
}
