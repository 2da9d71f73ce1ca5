//! The page as a reader and a browser see it.

mod checks;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use alcor_report::{
    Bench, Change, Comparison, Coverage, Ending, Explanation, File, Hit, Module, Overview,
    OverviewRow, Page, PastRun, Plot, Point, Row, Run, Test,
};
use checks::{read, select, text};

/// Text that is none of the page's markup.
const ODD: &str = "<script>alert(1)</script> & \"quoted\" 'text' ]]> <!-- </pre>";

fn test(name: &str, ending: Ending, milliseconds: u64) -> Test {
    Test {
        name: name.into(),
        ending,
        run_seed: 1,
        seed: 0xab,
        cycles: 1000 * milliseconds,
        time: Duration::from_millis(milliseconds),
        ..Test::default()
    }
}

fn run() -> Run {
    Run {
        backend: "cosim:rma4?profile=gen3x16&away=100".into(),
        tier: "quick tier".into(),
        seeds: "seed 1".into(),
        jobs: 2,
        revision: "0123456789ab".into(),
        ended: 1_700_000_000,
        elapsed: Duration::from_millis(61_500),
        digest: "00c0ffee".into(),
        command: "alcor regress --seed 1".into(),
        ..Run::default()
    }
}

/// A page with something in every section, and odd text wherever text comes from elsewhere.
fn full() -> Page {
    let failed = Test {
        message: Some(format!("rank 1: expected 0x40, found {ODD}")),
        repeat: Some(format!(
            "alcor regress --filter '^put.typed$' --seed 1 {ODD}"
        )),
        change: Some(Change::NewlyFailing),
        earlier: vec![Ending::Passed, Ending::Skipped, Ending::Failed],
        explanation: Some(Explanation {
            files: vec![File {
                path: "put.typed/waits.txt".into(),
                what: ODD.into(),
            }],
            notes: vec![ODD.into()],
            waits: Some(format!(
                "rank 0 -> rank 1: {ODD}\n{}",
                "0123456789".repeat(40)
            )),
        }),
        ..test("put.typed", Ending::Failed, 5)
    };
    let skipped = |name| Test {
        message: Some("needs 3 ranks, there are 2".into()),
        ..test(name, Ending::Skipped, 1)
    };
    let slower = Test {
        change: Some(Change::Cycles {
            before: 1_234_000,
            now: 1_235_000,
        }),
        ..test(
            "collectives.with_a_name_that_is_quite_long_and_goes_on_for_a_while",
            Ending::Passed,
            1235,
        )
    };
    let row = |name: &str, measured| Row {
        name: name.into(),
        measured,
        ..Row::default()
    };
    Page {
        run: run(),
        tests: vec![
            failed,
            Test {
                summary: format!("A put of words arrives. {ODD}"),
                ..test("put.words", Ending::Passed, 7)
            },
            slower,
            skipped("abort.by_two"),
            skipped("abort.a"),
        ],
        remembers: true,
        comparison: Comparison {
            compared: 4,
            unknown: 1,
            latest: Some(1_699_990_000),
        },
        history: vec![
            PastRun {
                ended: 1_699_990_000,
                tier: "quick".into(),
                passed: 5,
                cycles: 1_234_567,
                ..PastRun::default()
            },
            PastRun {
                ended: 1_700_000_000,
                tier: "quick".into(),
                passed: 2,
                failed: 1,
                skipped: 2,
                elapsed: Some(Duration::from_millis(61_500)),
                ..PastRun::default()
            },
        ],
        coverage: Some(Coverage {
            modules: vec![
                Module {
                    name: "rma_coprocessor".into(),
                    lines: Hit {
                        hit: 1500,
                        of: 2000,
                    },
                    toggles: Hit { hit: 3, of: 3 },
                    file: "hw/rma/rtl/rma_coprocessor.sv".into(),
                    missed_lines: vec![(14, 16), (30, 30)],
                    missed_branches: vec![(30, "else".into())],
                    ..Module::default()
                },
                Module {
                    name: ODD.into(),
                    ..Module::default()
                },
            ],
            points: vec![
                Point {
                    group: "match".into(),
                    name: "depth 5".into(),
                    hits: 0,
                    ..Point::default()
                },
                Point {
                    group: "match".into(),
                    name: ODD.into(),
                    hits: 12_345,
                    ..Point::default()
                },
                Point {
                    group: "empty".into(),
                    name: "never".into(),
                    ..Point::default()
                },
            ],
        }),
        coverage_command: Some("alcor regress --coverage".into()),
        benches: vec![Bench {
            name: "rma".into(),
            config: ODD.into(),
            unit: "cycles".into(),
            revision: "abc".into(),
            ended: 1_699_000_000,
            before: Some(1_698_000_000),
            command: "alcor bench rma".into(),
            rows: vec![
                Row {
                    paper: Some(8.0),
                    limit: Some(4.0),
                    before: Some(8.0),
                    ..row("barrier", 7.0)
                },
                Row {
                    limit: Some(0.0),
                    before: Some(0.0),
                    note: Some(ODD.into()),
                    ..row(ODD, 1234.5)
                },
            ],
            plots: vec![Plot {
                title: "Cycles over words".into(),
                svg: r#"<svg width="1200" height="60" viewBox="0 0 1200 60" xmlns="http://www.w3.org/2000/svg"><rect width="1200" height="60" fill="white"/></svg>"#.into(),
            }],
        }],
        missing_benches: vec!["alcor bench sim".into()],
    }
}

#[test]
fn a_page_is_well_formed_and_odd_text_is_text() {
    let (html, files) = read(&full().render());
    assert_eq!(files, ["put.typed/waits.txt"]);
    let plain = ODD.split_whitespace().collect::<Vec<_>>().join(" ");
    for place in [
        ".message",
        ".failure .command",
        ".files",
        ".note",
        "pre",
        ".coverage",
        ".points",
        ".bench h3",
        ".bench td",
    ] {
        assert!(
            text(&html, place).contains(&plain),
            "{place}: {}",
            text(&html, place)
        );
    }
}

#[test]
fn the_verdict_stands_first_and_says_what_the_exit_code_does() {
    let of = |endings: &[Ending]| {
        let tests = endings.iter().map(|&ending| test("put.a", ending, 1));
        let (html, _) = read(
            &Page {
                run: run(),
                tests: tests.collect(),
                ..Page::default()
            }
            .render(),
        );
        let class = select(&html, "header")[0]
            .value()
            .attr("class")
            .unwrap()
            .to_owned();
        (class, text(&html, "h1"))
    };
    use Ending::{Failed, Passed, Skipped};
    for (endings, class, words) in [
        (
            &[Passed, Passed][..],
            "good",
            "✔ All is well: 2 tests passed",
        ),
        (
            &[Passed, Skipped],
            "good",
            "✔ All is well: 1 test passed, 1 skipped",
        ),
        (&[Passed, Failed, Skipped], "bad", "✘ 1 of 3 tests failed"),
        (&[Failed], "bad", "✘ 1 of 1 test failed"),
        (
            &[Skipped, Skipped],
            "nothing",
            "○ Nothing was tested: all tests were skipped",
        ),
        (&[], "nothing", "○ This part has no tests"),
    ] {
        assert_eq!(of(endings), (class.to_owned(), words.to_owned()));
    }
}

#[test]
fn figures_have_units_and_separators() {
    let (html, _) = read(&full().render());
    assert!(
        text(&html, "#slowest").contains("1,235,000 cycles"),
        "{}",
        text(&html, "#slowest")
    );
    assert!(
        text(&html, "#slowest").contains("1.23 s"),
        "{}",
        text(&html, "#slowest")
    );
    assert!(
        text(&html, "#run").contains("61.50 s, 2 boards at once, 20,309 cycles a second"),
        "{}",
        text(&html, "#run")
    );
    assert!(text(&html, "#run").contains("2023-11-14 22:13:20 UTC"));
    assert!(text(&html, "#coverage").contains("75.0 %, 1,500 of 2,000"));
    assert!(text(&html, ".bench table").contains("1,234.500"));
    assert!(text(&html, ".bench caption").contains("Figures in cycles"));
    assert!(text(&html, "#news").contains("1,234,000"));
}

#[test]
fn what_is_new_leads_to_its_failure() {
    let (html, _) = read(&full().render());
    let news = text(&html, "#news");
    assert!(
        news.contains("4 tests ran before") && news.contains("2 new; 1 ran for the first time"),
        "{news}"
    );
    let link = select(&html, "#news a")[0].value().attr("href").unwrap();
    assert_eq!(link, "#put.typed-1");
    assert_eq!(text(&html, ".failure .strip"), "✔ ○ ✘");
    assert!(
        text(&html, ".tiles").contains("newly failing 1"),
        "{}",
        text(&html, ".tiles")
    );
}

#[test]
fn lines_and_branches_that_were_never_run_are_named() {
    let (html, _) = read(&full().render());
    let missed = text(&html, ".missed");
    for words in [
        "hw/rma/rtl/rma_coprocessor.sv 2 stretches of lines, 1 branches",
        "Lines: 14\u{2013}16, 30",
        "the line of the arm: 30 (else)",
    ] {
        assert!(missed.contains(words), "{words}: {missed}");
    }
}

#[test]
fn the_least_covered_module_is_first_and_a_group_without_hits_is_brief() {
    let module = |name: &str, hit| Module {
        name: name.into(),
        lines: Hit { hit, of: 10 },
        ..Module::default()
    };
    let point = |name: &str| Point {
        group: "queue".into(),
        name: name.into(),
        ..Point::default()
    };
    let page = Page {
        coverage: Some(Coverage {
            modules: vec![module("half", 5), module("whole", 10), module("none", 0)],
            points: vec![point("full"), point("empty")],
        }),
        ..full()
    };
    let (html, _) = read(&page.render());
    let table = text(&html, "table.coverage");
    let at = |name: &str| {
        table
            .find(&format!(" {name} "))
            .unwrap_or_else(|| panic!("{name}: {table}"))
    };
    assert!(
        at("none") < at("half") && at("half") < at("whole"),
        "{table}"
    );
    assert!(select(&html, ".never").is_empty());
    assert!(text(&html, ".points").contains("0 %, 0 of 2"));
}

#[test]
fn cover_points_that_were_never_hit_are_named() {
    let (html, _) = read(&full().render());
    assert_eq!(text(&html, ".never"), "depth 5");
    assert!(text(&html, ".points").contains("50.0 %, 1 of 2"));
}

#[test]
fn figures_of_benchmarks_stand_beside_paper_limit_and_what_was_before() {
    let (html, _) = read(&full().render());
    let cells: Vec<String> = select(&html, ".bench tr.changed")
        .iter()
        .map(|row| {
            row.text()
                .map(str::trim)
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join("|")
        })
        .collect();
    assert_eq!(cells[0], "barrier|7|8|4|1.75|8|−12.5 %");
    assert!(cells[1].contains("|1,234.500|0|–|0|–|"), "{}", cells[1]);
    assert!(text(&html, "#benches").contains("2 figures changed"));
    assert!(text(&html, "#benches").contains("Never run here alcor bench sim"));
}

#[test]
fn sections_without_anything_say_why() {
    let (html, _) = read(&Page::default().render());
    for (section, words) in [
        ("#news", "--no-store"),
        ("#skips", "No test was skipped."),
        ("#slowest", "No test took any time."),
        ("#tests", "This part has no tests"),
        ("#coverage", "coverage is of simulated boards"),
        ("#benches", "has no result store"),
        ("#history", "has no result store"),
    ] {
        assert!(
            text(&html, section).contains(words),
            "{section}: {}",
            text(&html, section)
        );
    }
    assert!(select(&html, "#failures").is_empty());

    let first = Page {
        remembers: true,
        tests: vec![test("put.a", Ending::Passed, 0)],
        coverage_command: Some("alcor regress --coverage".into()),
        coverage: None,
        ..Page::default()
    };
    let (html, _) = read(&first.render());
    assert!(text(&html, "#news").contains("Nothing to compare with"));
    assert!(text(&html, "#coverage").contains("fills the section: alcor regress --coverage"));
    assert!(text(&html, "#history").contains("No run is remembered."));
    let nothing = Page {
        coverage: Some(Coverage::default()),
        benches: vec![Bench::default()],
        ..first
    };
    let (html, _) = read(&nothing.render());
    assert!(text(&html, "#coverage").contains("Nothing was counted"));
}

#[test]
fn each_test_says_what_it_shows_and_the_commands_name_their_program() {
    let (html, _) = read(&full().render());
    let row = text(&html, "#tests tbody tr:nth-child(2)");
    assert!(row.contains("A put of words arrives."), "{row}");
    assert!(!text(&html, "#run").contains("The program of this run"));
    let mut page = full();
    page.tests[0].summary = "Typed puts arrive.".into();
    page.run.program = Some("/opt/alcor".into());
    let (html, _) = read(&page.render());
    assert!(text(&html, "#failures").contains("Typed puts arrive."));
    let run = text(&html, "#run");
    assert!(
        run.contains("The program of this run is /opt/alcor"),
        "{run}"
    );
}

#[test]
fn the_wall_time_is_the_same_in_headline_and_history() {
    let (html, _) = read(&full().render());
    let tiles = text(&html, ".tiles");
    assert!(tiles.contains("wall time of the tests 61.50 s"), "{tiles}");
    let last = text(&html, "#history tbody tr:first-child td:last-child");
    assert_eq!(last, "61.50 s");
    let ended_from_outside = text(&html, "#history tbody tr:last-child td:last-child");
    assert_eq!(ended_from_outside, "–");
}

#[test]
fn groups_without_a_hit_are_folded() {
    let (html, _) = read(&full().render());
    assert_eq!(text(&html, "details.empty h4"), "empty");
    assert_eq!(
        text(&html, "details.empty > summary"),
        "1 group without a hit"
    );
    assert_eq!(select(&html, "#coverage article.points").len(), 2);
}

#[test]
fn repetitions_of_a_test_share_a_row_and_failures_are_bounded() {
    let tests = (1..=1000).map(|seed| Test {
        run_seed: seed,
        ..test(
            "put.a",
            if seed == 3 {
                Ending::Passed
            } else {
                Ending::Failed
            },
            1,
        )
    });
    let (html, files) = read(
        &Page {
            run: run(),
            tests: tests.collect(),
            ..Page::default()
        }
        .render(),
    );
    assert_eq!(select(&html, "#tests tbody tr").len(), 1);
    assert!(
        text(&html, "#tests").contains("failed : 999 of 1,000"),
        "{}",
        text(&html, "#tests")
    );
    assert_eq!(select(&html, ".failure").len(), 200);
    assert!(text(&html, "#failures").contains("799 more failed"));
    assert_eq!(files, ["report.json"]);
    assert!(
        text(&html, "#failures h3").contains("put.a seed 1000")
            || text(&html, ".failure").contains("put.a seed 201")
    );
}

/// What a browser makes of a page in so many pixels: how wide it is, how wide what it shows is, and what is
/// narrower than it can be read. None where there is no browser.
fn laid_out(page: &str, width: u32) -> Option<String> {
    const PROBE: &str = "<script>
        const root = document.documentElement;
        const narrow = [...document.querySelectorAll('th, td.num, h3')].filter(it => it.textContent.trim().length > 4
            && it.checkVisibility() && it.getBoundingClientRect().width < 36);
        parent.document.documentElement.dataset.layout = `window ${innerWidth} wide ${root.scrollWidth} narrow ${narrow.map(it => it.textContent)}`;
    </script></body>";
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let is_there = |name: &&str| {
        Command::new(name)
            .arg("--version")
            .output()
            .is_ok_and(|output| output.status.success())
    };
    let Some(browser) = names.into_iter().find(is_there) else {
        alcor_skips::skip("there is no Chromium (Debian: chromium)");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    // A window can't be as narrow as a frame.
    let framed = page
        .replace("</body>", PROBE)
        .replace('&', "&amp;")
        .replace('"', "&quot;");
    let frame = format!(
        "<!DOCTYPE html><iframe width={width} height=1000 style='border:0' srcdoc=\"{framed}\"></iframe>"
    );
    std::fs::write(&file, frame).unwrap();
    let dom = std::fs::File::create(folder.path().join("dom.html")).unwrap();
    let mut child = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ))
        .arg("--window-size=1400,1100")
        .args(["--dump-dom", &format!("file://{}", file.display())])
        .stdout(dom)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(300) {
            child.kill().unwrap();
            panic!("{browser} does not end");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let dom = std::fs::read_to_string(folder.path().join("dom.html")).unwrap();
    let (_, found) = dom
        .split_once("data-layout=\"")
        .unwrap_or_else(|| panic!("{browser} has run no script: {dom}"));
    Some(found.split_once('"').unwrap().0.to_owned())
}

#[test]
fn nothing_is_cut_off_or_squeezed_in_a_browser_wide_and_narrow() {
    let page = full().render();
    for width in [1280, 640, 480, 360] {
        let Some(found) = laid_out(&page, width) else {
            return;
        };
        assert_eq!(
            found,
            format!("window {width} wide {width} narrow "),
            "{width} pixels"
        );
    }
}

#[test]
fn an_overview_leads_to_the_pages_of_backends_and_names_what_is_missing() {
    let row = |backend: &str, failed, not_run| OverviewRow {
        backend: backend.to_owned(),
        page: format!("{}/index.html", backend.replace(':', "-")),
        passed: 3,
        failed,
        not_run,
        reason: (not_run > 0).then(|| "no board: <gone>".to_owned()),
        failures: vec!["put.typed".to_owned(); failed],
        ..OverviewRow::default()
    };
    let page = |rows: &[OverviewRow]| {
        let overview = Overview {
            rows: rows.to_vec(),
            ..Overview::default()
        };
        let (html, files) = read(&overview.render());
        (text(&html, "h1"), text(&html, "main"), files)
    };
    let (verdict, _, files) = page(&[row("soft:2", 0, 0), row("soft:3", 0, 0)]);
    assert_eq!(verdict, "✔ All is well: 6 tests passed on 2 backends");
    assert_eq!(files, ["soft-2/index.html", "soft-3/index.html"]);
    let (verdict, main, _) = page(&[row("soft:2", 0, 4), row("soft:3", 0, 0)]);
    assert_eq!(verdict, "✘ 4 tests not run on 2 backends");
    assert!(main.contains("4 tests not run: no board: <gone>"), "{main}");
    let (verdict, main, _) = page(&[row("soft:2", 1, 4), row("soft:3", 0, 0)]);
    assert_eq!(verdict, "✘ 1 test failed on 2 backends");
    assert!(main.contains("put.typed"), "{main}");
}

#[test]
fn tests_that_were_not_run_make_no_good_page() {
    let test = |ending| Test {
        name: "put.typed".into(),
        ending,
        message: Some("SIGTERM ended the run".into()),
        ..Test::default()
    };
    let page = Page {
        tests: vec![test(Ending::Passed), test(Ending::NotRun)],
        ..Page::default()
    };
    let (html, _) = read(&page.render());
    assert_eq!(text(&html, "h1"), "✘ 1 of 2 tests not run");
    let section = text(&html, "#skips");
    assert!(section.starts_with("Skipped or not run"), "{section}");
    assert!(section.contains("SIGTERM ended the run"), "{section}");
    // A test that was not run has no time.
    let rows = text(&html, "#tests tr");
    assert!(rows.contains("not run : 1 of 2 – – –"), "{rows}");
}
