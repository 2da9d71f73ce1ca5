//! The README's figures are those that `alcor bench` measures.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const README: &str = include_str!("../../../README.md");

/// The cells of every table row below a heading.
fn rows(heading: &str) -> Vec<Vec<&'static str>> {
    let (_, text) = README
        .split_once(&format!("## {heading}\n"))
        .expect("the heading");
    let section = text
        .split_once("\n## ")
        .map_or(text, |(section, _)| section);
    section
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|line| line.split(" | ").collect())
        .collect()
}

/// What a benchmark gives, by row.
fn measure(arguments: &[&str]) -> BTreeMap<String, serde_json::Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_alcor"))
        .arg("bench")
        .args(arguments)
        .args(["--format", "json", "--no-store"])
        .output()
        .expect("alcor runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    rows.iter()
        .map(|row| (row["name"].as_str().expect("a name").into(), row.clone()))
        .collect()
}

#[test]
fn the_collectives_are_as_measured() {
    let figures = measure(&[
        "collectives",
        "--config",
        "torus8",
        "--ops",
        "allreduce,bcast",
    ]);
    let mut compared = 0;
    for row in rows("Measured: collectives computed in the network") {
        let [bytes, ref cells @ ..] = row[..] else {
            continue;
        };
        let bytes = bytes.replace(',', "");
        if bytes.parse::<u32>().is_err() || cells.len() != 6 {
            continue;
        }
        let names = ["allreduce", "bcast"].into_iter().flat_map(|op| {
            let name = format!("{op}-{bytes}");
            [
                (name.clone(), "measured"),
                (name.clone(), "limit"),
                (format!("software-{name}"), "measured"),
            ]
        });
        for (&shown, (name, what)) in cells.iter().zip(names) {
            if shown != "–" {
                let found = figures[&name][what].as_f64().expect("a figure");
                assert_eq!(
                    shown.replace(',', ""),
                    found.to_string(),
                    "README, {what} of row {name}"
                );
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 3 * 6 + 4, "figures found in the README");
}

/// The table of allreduces on single communicators, and on several at once, in the document of the collective unit.
#[test]
fn allreduces_of_any_row_are_as_measured() {
    let document = include_str!("../../../hw/switch/doc/collectives.md");
    let (_, table) = document
        .split_once("| | row | ring4 | limit | u280 | limit |\n")
        .expect("the table");
    let (table, _) = table.split_once("\n\n").expect("its end");
    let measured = ["ring4", "u280"]
        .map(|config| measure(&["collectives", "--config", config, "--ops", "allreduce"]));
    let mut compared = 0;
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = cells[2].trim_matches('`');
        for (shown, figures) in cells[3..7].chunks(2).zip(&measured) {
            for (shown, what) in shown.iter().zip(["measured", "limit"]) {
                let found = figures[name][what].as_f64().expect("a figure");
                assert_eq!(
                    shown.replace(',', ""),
                    found.to_string(),
                    "collectives.md, {what} of row {name}"
                );
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 4 * 4, "figures found in the document");
}

#[test]
fn the_matching_unit_is_as_measured() {
    let units = ["alpu128", "alpu256"].map(|config| measure(&["alpu", "--config", config]));
    let mut compared = 0;
    for row in rows("Measured: the matching unit") {
        let [what, ref cells @ ..] = row[..] else {
            continue;
        };
        let name = match what {
            "from match to match" => "match-interval",
            "from match to match, all of the same kind" => "match-interval-same",
            "from insert to insert" => "insert-interval",
            "from a request to its result" => "match-latency",
            _ => continue,
        };
        assert_eq!(cells.len(), 4, "{what}");
        for ((shown, unit), size) in cells.chunks(2).zip(&units).zip([128, 256]) {
            let row = &unit[&format!("{name}-{size}-16")];
            for (&shown, what) in shown.iter().zip(["measured", "paper"]) {
                let found = row[what].as_f64().expect("a figure");
                assert_eq!(
                    shown,
                    found.to_string(),
                    "README, {what} of {name}-{size}-16"
                );
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 4 * 4, "figures found in the README");
}

#[test]
fn messages_are_as_measured() {
    let mut figures = measure(&["alpu", "--config", "mpi2"]);
    figures.extend(measure(&["alpu", "--config", "mpi2?MATCH_CELLS=256"]));
    let mut compared = 0;
    for row in rows("Measured: messages matched in hardware") {
        let [passed, ref cells @ ..] = row[..] else {
            continue;
        };
        if passed.parse::<u32>().is_err() {
            continue;
        }
        let searches = ["unit128", "unit256", "list", "processor"];
        let posted = searches.map(|search| format!("{search}-preposted-{passed}-100"));
        let unexpected = searches.map(|search| format!("{search}-unexpected-{passed}"));
        let names: Vec<String> = posted.into_iter().chain(unexpected).collect();
        assert_eq!(cells.len(), names.len(), "{passed}");
        for (shown, name) in cells.iter().zip(names) {
            let found = figures[&name]["measured"].as_f64().expect("a figure");
            let shown = shown.replace(',', "");
            assert_eq!(shown, found.to_string(), "README, row {name}");
            compared += 1;
        }
    }
    assert_eq!(compared, 8 * 7, "figures found in the README");
    let long = &figures["unit128-preposted-0-100-8192"]["measured"];
    assert_eq!(long.as_f64(), Some(2172.0), "README, 8,192 bytes");
    assert!(README.contains("8,192 bytes take 2,172 cycles"));
    the_unit_costs_little(&figures);
    crossings_are_as_documented(&figures);
}

/// The README's claim, for every case: the unit costs up to three cycles behind up to three
/// entries, and no time elsewhere.
fn the_unit_costs_little(figures: &BTreeMap<String, serde_json::Value>) {
    let measured = |name: &str| figures[name]["measured"].as_f64().expect("a figure");
    let (mut compared, mut most) = (0, 0.0f64);
    for name in figures.keys() {
        let Some(rest) = name.strip_prefix("list-") else {
            continue;
        };
        let numbers: Vec<u32> = rest.split('-').flat_map(str::parse).collect();
        let passed = match (rest.starts_with("preposted"), &numbers[..]) {
            (true, [length, percent, ..]) => length * percent / 100,
            (false, [length, ..]) => *length,
            _ => panic!("row {name}"),
        };
        for unit in ["unit128", "unit256"] {
            let unit = format!("{unit}-{rest}");
            let cost = measured(&unit) - measured(name);
            let limit = if passed <= 3 { 3.0 } else { 0.0 };
            assert!(cost <= limit, "{unit}: {cost} cycles more than the walk");
            (compared, most) = (compared + 1, most.max(cost));
        }
    }
    assert!(compared > 200, "{compared} cases");
    assert_eq!(most, 3.0);
}

/// The crossing points in the engine's document.
fn crossings_are_as_documented(figures: &BTreeMap<String, serde_json::Value>) {
    const NIC: &str = include_str!("../../../hw/nic/doc/nic.md");
    let (_, text) = NIC.split_once("<!-- crossings -->").expect("the table");
    let (table, _) = text.split_once("<!-- end -->").expect("its end");
    let mut compared = 0;
    for line in table.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, queue, unit, walk, processor, paper, _] = cells[..] else {
            continue;
        };
        for (shown, other, what) in [
            (walk, "list", "measured"),
            (processor, "processor", "measured"),
            (paper, "processor", "paper"),
        ] {
            let Some(row) = figures.get(&format!("crossing-{queue}-{unit}-{other}")) else {
                continue;
            };
            assert_eq!(row[what].as_f64(), shown.parse().ok(), "{line}: {other}");
            compared += 1;
        }
    }
    assert_eq!(compared, 4 * 3, "figures found in the document");
}

/// The README's table of messages between two ranks, and the longer one of the engine's document.
#[test]
fn messages_of_two_ranks_are_as_measured() {
    let boards = ["mpi2", "rma2-wide"].map(|config| measure(&["messages", "--config", config]));
    let figure = |board: &BTreeMap<String, serde_json::Value>, name: &str, what: &str| {
        format!("{:.1}", board[name][what].as_f64().expect("a figure"))
    };
    let mut compared = 0;
    for row in rows("Measured: messages of two ranks") {
        let [name, _, ref cells @ ..] = row[..] else {
            continue;
        };
        let Some(name) = name
            .strip_prefix('`')
            .and_then(|name| name.strip_suffix('`'))
        else {
            continue;
        };
        assert_eq!(cells.len(), 4, "{name}");
        for (shown, board) in cells.chunks(2).zip(&boards) {
            for (&shown, what) in shown.iter().zip(["measured", "limit"]) {
                // A walk through 1,024 entries needs as many.
                if shown != "–" {
                    let shown = shown.replace(',', "");
                    let found = figure(board, name, what);
                    let found = found.trim_end_matches(".0");
                    assert_eq!(shown, found, "README, {what} of {name}");
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(compared, 4 * 10 - 6, "figures found in the README");

    let document = include_str!("../../../hw/nic/doc/nic.md");
    let (_, table) = document.split_once("<!-- messages -->").expect("the table");
    let (table, _) = table.split_once("<!-- end -->").expect("its end");
    let mut bytes = 8;
    for line in table.trim().lines().skip(2) {
        let cells = boards.iter().flat_map(|board| {
            [
                ("ping-pong", "measured"),
                ("ping-pong", "limit"),
                ("stream", "measured"),
                ("stream", "limit"),
                ("bidirectional", "measured"),
            ]
            .map(|(kind, what)| figure(board, &format!("{kind}-{bytes}"), what))
        });
        let cells: Vec<String> = cells.collect();
        assert_eq!(line, format!("| {bytes} | {} |", cells.join(" | ")));
        bytes *= 2;
    }
    assert_eq!(bytes, 1 << 17, "rows of the document");
}

/// The coprocessor document's table of accumulates.
fn accumulates_are_as_documented(boards: &[&BTreeMap<String, serde_json::Value>]) {
    const RMA: &str = include_str!("../../../hw/rma/doc/rma.md");
    let (_, table) = RMA.split_once("<!-- accumulates -->").expect("the table");
    let (table, _) = table.split_once("<!-- end -->").expect("its end");
    let lines: Vec<&str> = table.trim().lines().skip(2).collect();
    assert_eq!(lines.len(), 4);
    for (line, bytes) in lines.into_iter().zip([8, 64, 512, 4096]) {
        let cells = boards.iter().flat_map(|board| {
            ["accumulate", "get-accumulate"]
                .into_iter()
                .flat_map(move |kind| {
                    let row = &board[&format!("{kind}-{bytes}")];
                    ["measured", "limit"]
                        .map(|what| row[what].as_f64().expect("a figure").to_string())
                })
        });
        let cells: Vec<String> = cells.collect();
        assert_eq!(line, format!("| {bytes} | {} |", cells.join(" | ")));
    }
}

/// Both tables of streams: the README's, and the longer one of the coprocessor's document.
#[test]
fn streams_are_as_measured() {
    let board = measure(&["rma", "--config", "u280"]);
    let fast = measure(&["rma", "--config", "rma2-wide"]);
    let accumulates = "accumulate,get-accumulate";
    let narrow = measure(&["rma", "--config", "rma2", "--rows", accumulates]);
    accumulates_are_as_documented(&[&narrow, &fast]);
    let figure = |figures: &BTreeMap<String, serde_json::Value>, way: &str, bytes: u32| {
        let row = &figures[&format!("{way}-{bytes}")];
        format!("{:.1}", row["measured"].as_f64().expect("a figure"))
    };
    let ways = ["put-bandwidth", "get-bandwidth", "bidirectional"];
    let mut compared = 0;
    for row in rows("Measured: streams between two ranks of a board") {
        let [bytes, ref cells @ ..] = row[..] else {
            continue;
        };
        let Ok(bytes) = bytes.replace(',', "").parse() else {
            continue;
        };
        for (&shown, way) in cells.iter().zip(ways) {
            assert_eq!(shown, figure(&board, way, bytes), "README, {way}-{bytes}");
            compared += 1;
        }
    }
    assert_eq!(compared, 3 * 5, "figures found in the README");

    let document = include_str!("../../../hw/rma/doc/rma.md");
    let (_, table) = document.split_once("<!-- streams -->").expect("the table");
    let (table, _) = table.split_once("<!-- end -->").expect("its end");
    let shown: Vec<&str> = table.trim().lines().skip(2).collect();
    let mut bytes = 64;
    for &line in &shown {
        let cells: Vec<String> = [&fast, &board]
            .into_iter()
            .flat_map(|figures| ways.map(|way| figure(figures, way, bytes)))
            .collect();
        assert_eq!(line, format!("| {bytes} | {} |", cells.join(" | ")));
        bytes *= 2;
    }
    assert_eq!(bytes, 1 << 17, "rows of the document");
}

#[test]
fn operations_behind_pcie_are_as_measured() {
    let figures = measure(&["host", "--profile", "gen3x16"]);
    let names = [
        "put-8-us",
        "put-8-host-us",
        "barrier-us",
        "send-recv-8-us",
        "allreduce-8-us",
    ];
    let shown = rows("Measured: whole operations behind PCIe");
    let shown: Vec<&str> = shown.iter().skip(1).map(|row| row[1]).collect();
    let measured = names.map(|name| {
        let value = figures[name]["measured"].as_f64();
        format!("{:.2}", value.expect("a figure"))
    });
    assert_eq!(shown, measured);
    for (name, text) in [
        ("put-1MiB-GBps", "moves {} GB/s"),
        ("put-1MiB-512-GBps", "{} GB/s with beats of 512 bits"),
    ] {
        let rate = figures[name]["measured"].as_f64().expect("a figure");
        let text = text.replace("{}", &format!("{rate:.2}"));
        assert!(README.contains(&text), "README: {text}");
    }
    let stream = figures["put-8-stream"]["measured"].as_f64();
    let text = format!("a put takes {:.1} cycles", stream.expect("a figure"));
    assert!(README.contains(&text), "README: {text}");
    for operation in ["put-8", "barrier", "send-recv-8", "allreduce-8"] {
        for kind in ["loads", "interrupts", "calls"] {
            let none = format!("{operation}-{kind}");
            assert_eq!(figures[&none]["measured"].as_f64(), Some(0.0), "{none}");
        }
    }
    let calls = figures["put-1MiB-calls"]["measured"].as_f64();
    let text = format!("makes {} system calls", calls.expect("a figure"));
    assert!(README.contains(&text), "README: {text}");
    let transfers = ["put-8", "barrier", "send-recv-8", "allreduce-8"]
        .map(|operation| figures[&format!("{operation}-transfers")]["measured"].as_f64());
    assert_eq!(transfers, [Some(0.0), Some(0.0), Some(0.5), Some(2.0)]);
}

#[test]
fn ten_rounds_of_the_example_take_as_many_cycles() {
    let program = Path::new(env!("CARGO_BIN_EXE_alcor")).with_file_name("examples/exchange");
    let output = Command::new(program)
        .args(["10", "cosim:rma4?profile=gen3x16"])
        .output()
        .expect("cargo build --examples makes it");
    let text = String::from_utf8_lossy(&output.stdout);
    let ends = text.lines().filter_map(|line| line.rsplit_once("cycle "));
    let last: u64 = ends
        .map(|(_, cycle)| cycle.parse().expect("a number"))
        .max()
        .unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)));
    let shown = format!("{},{:03} cycles", last / 1000, last % 1000);
    assert!(README.contains(&shown), "README: {shown}");
}

/// The column of `rma4-pairs` in the document of the message engine, and the README's figures of it.
#[test]
fn messages_with_queue_pairs_are_as_measured() {
    let document = include_str!("../../../hw/nic/doc/nic.md");
    let (_, table) = document
        .split_once("| row | meaning | rma4-pairs | rma4?MESSAGES=512 |\n")
        .expect("the table");
    let (table, _) = table.split_once("\n\n").expect("its end");
    let shown: Vec<(&str, &str)> = table
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            (cells[1].trim_matches('`'), cells[3])
        })
        .collect();
    assert_eq!(shown.len(), 11, "rows of the document");
    let names: Vec<&str> = shown.iter().map(|&(name, _)| name).collect();
    let rows = names.join(",");
    let figures = measure(&["messages", "--config", "rma4-pairs", "--rows", &rows]);
    let figure = |name: &str, decimals: usize| {
        let found = figures[name]["measured"].as_f64().expect("a figure");
        format!("{found:.decimals$}")
    };
    for (name, cell) in shown {
        let decimals = cell.split_once('.').map_or(0, |(_, rest)| rest.len());
        assert_eq!(cell, figure(name, decimals), "nic.md, row {name}");
    }
    for text in [
        format!(
            "another communicator takes {} cycles, as without that search",
            figure("send-during-walk-256", 0)
        ),
        format!(
            "`send-8` takes {} cycles, `rate-pair` is {}.",
            figure("send-8", 0),
            figure("rate-pair", 0)
        ),
    ] {
        assert!(README.contains(&text), "README: {text}");
    }
    assert_eq!(
        figure("send-during-walk-256", 0),
        figure("send-without-walk-256", 0)
    );
    // A model of its own, which takes minutes to build.
    if std::env::var_os("ALCOR_FULL").is_some() {
        let config = "rma4?MATCH_CELLS=128";
        let figures = measure(&["messages", "--config", config, "--rows", "rate-all"]);
        let rate = &figures["rate-all"];
        assert_eq!(rate["measured"].as_f64(), Some(1000.0));
        assert_eq!(rate["limit"].as_f64(), Some(1000.0));
        assert!(README.contains(&format!("is 1,000, its limit (`--config '{config}'`)")));

        let config = "ring4?RANKS=8";
        let names = [
            "incast-credits",
            "incast-go-back-n",
            "incast-go-back-n-refused",
        ];
        let rows = names.join(",");
        let figures = measure(&["messages", "--config", config, "--rows", &rows]);
        let shown =
            names.map(|name| format!("{:.1}", figures[name]["measured"].as_f64().expect(name)));
        assert_eq!(shown, ["45.8", "45.8", "2.0"]);
        assert!(README.contains(
            "31 ranks that send to one at the same time take 45.8 cycles a message in both"
        ));
        assert!(README.contains(&format!("`alcor bench messages --config '{config}'`")));
    }
}

/// Compares the table of `bench modes`: the row of `ring2`, and in the full tier all rows.
#[test]
fn modes_of_completion_are_as_measured() {
    let is_full = std::env::var_os("ALCOR_FULL").is_some();
    let arguments: &[&str] = if is_full {
        &["modes"]
    } else {
        &["modes", "--config", "ring2", "--rows", "barrier-2"]
    };
    let figures = measure(arguments);
    let page = include_str!("../../../docs/book/src/links.md");
    let (_, table) = page.split_once("<!-- modes -->").expect("the table");
    let (table, _) = table.split_once("<!-- end -->").expect("its end");
    let names = [
        "latency-8",
        "latency-1024",
        "latency-65536",
        "bandwidth-65536",
        "stream-8",
        "stream-8192",
        "bidirectional-8192",
        "barrier-2",
        "barrier-8",
        "allreduce-16-8",
        "reduce-16-8",
        "allgather-16-8",
    ];
    let modes = [
        "nic",
        "host",
        "nic+frames",
        "host+frames",
        "nic+go-back-n",
        "host+go-back-n",
    ];
    let shown: Vec<&str> = table.trim().lines().skip(2).collect();
    assert_eq!(shown.len(), names.len());
    let mut compared = 0;
    for (line, name) in shown.into_iter().zip(names) {
        if !is_full && name != "barrier-2" {
            continue;
        }
        let measured = modes.map(|mode| {
            // Collectives send no messages.
            let row = figures.get(&format!("{mode}/{name}"));
            match row.map(|row| row["measured"].as_f64().expect("a figure")) {
                None => "–".to_owned(),
                Some(value) if value < 1000.0 => format!("{value:.2}"),
                Some(value) => format!("{:.0},{:03.0}", (value / 1000.0).floor(), value % 1000.0),
            }
        });
        let cells = format!(" | {} |", measured.join(" | "));
        assert!(line.ends_with(&cells), "{line}: measured {cells}");
        compared += 1;
    }
    assert_eq!(compared, if is_full { names.len() } else { 1 });
}

#[test]
fn the_papers_tables_are_as_measured() {
    let puts = ["put", "get"].map(|name| [1, 2, 4, 8, 16, 30].map(|n| format!("{name}-{n}")));
    let names = puts.concat().join(",");
    let names = format!("barrier,register,deregister,exchange,g,{names}");
    let figures = measure(&["rma", "--rows", &names]);
    let mut compared = 0;
    let mut compare = |shown: &str, name: &str, paper: bool| {
        let what = if paper { "paper" } else { "measured" };
        let expected = figures[name][what].as_f64().expect("a figure");
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
    for row in rows("Measured: the coprocessor paper's tables") {
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
