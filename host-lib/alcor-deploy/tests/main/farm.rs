//! The file of a board farm.

use std::fs;
use std::path::Path;
use std::time::Duration;

use alcor_deploy::{Farm, FarmError};
use proptest::prelude::*;

const GOOD: &str = r#"
schema = 1

[programmers.lab]
command = ["vivado_lab", "{serial}", "{bit}"]
timeout_s = 300

[boards.left]
host = "fpga1"
address = "0000:3b:00.0"
serial = "1"
programmer = "lab"

[boards.middle]
host = "fpga1"
address = "5e:00.0"
serial = "2"
programmer = "openfpgaloader"

[boards.right]
host = "fpga2.lab.example"
address = "0000:3b:00.0"

[[links]]
ends = ["left.0", "middle.1"]

[[links]]
ends = ["left.1", "right.0"]
"#;

fn parse(text: &str) -> Result<Farm, FarmError> {
    Farm::parse(text, Path::new("boards.toml"))
}

#[test]
fn a_farm_is_what_its_file_says() {
    let farm = parse(GOOD).expect("a farm");
    let names: Vec<_> = farm.boards().map(|(name, _)| name).collect();
    assert_eq!(names, ["left", "middle", "right"]);
    let left = farm.board("left").expect("a board");
    assert_eq!(
        (&*left.host, left.serial.as_deref(), left.ports),
        ("fpga1", Some("1"), 2)
    );
    let (programmer, timeout) = farm.programmer(&left.programmer).expect("a programmer");
    assert_eq!(programmer.command[0], "vivado_lab");
    assert_eq!(*timeout, Some(Duration::from_secs(300)));
    let right = farm.board("right").expect("a board");
    assert_eq!((&*right.programmer, &right.serial), ("vivado", &None));
    assert!(farm.programmer("vivado").is_some() && farm.programmer("none").is_none());
    let links: Vec<_> = farm
        .links()
        .iter()
        .map(|[one, other]| format!("{one}-{other}"))
        .collect();
    assert_eq!(links, ["left.0-middle.1", "left.1-right.0"]);
    let address = "0000:5e:00.0".parse().expect("an address");
    assert_eq!(
        farm.board_at(address, "fpga1").map(|(name, _)| name),
        Some("middle")
    );
    assert!(farm.board_at(address, "fpga2").is_none());
}

#[test]
fn a_board_is_in_one_host() {
    let farm = parse(GOOD).expect("a farm");
    for (name, here, is_here) in [
        ("left", "fpga1", true),
        ("left", "FPGA1.lab.example", true),
        ("left", "fpga2", false),
        ("left", "fpga11", false),
        ("right", "fpga2", true),
        ("right", "fpga2.lab.example", true),
        ("right", "fpga2.other.example", false),
    ] {
        match farm.board_on(name, here) {
            Ok(_) => assert!(is_here, "{name} on {here}"),
            Err(error) => {
                assert!(!is_here, "{name} on {here}");
                let said = error.to_string();
                assert!(
                    said.contains("run the command on") && said.contains(here),
                    "{said}"
                );
            }
        }
    }
    let error = farm.board_on("midle", "fpga1").expect_err("no such board");
    assert!(error.to_string().contains("left, middle, right"), "{error}");
    let here = parse(&GOOD.replace("\"fpga1\"", "\"localhost\"")).expect("a farm");
    here.board_on("left", "any").expect("here");
}

#[test]
fn what_can_not_be_is_refused_with_its_reason() {
    for (from, to, words) in [
        ("schema = 1", "schema = 2", "schema 2"),
        ("schema = 1", "", "schema"),
        ("boards.left", "boards.\"le ft\"", "letters, digits"),
        ("boards.left", "boards.\"\"", "letters, digits"),
        ("\"fpga1\"", "\"fpga 1\"", "not the name of a host"),
        ("\"fpga1\"", "\"\"", "not the name of a host"),
        ("0000:3b:00.0", "3b:0.0", "not a PCI address"),
        (
            "\"5e:00.0\"",
            "\"3b:00.1\"",
            "boards left and middle are both at",
        ),
        ("serial = \"2\"", "serial = \"1\"", "both have serial"),
        (
            "programmer = \"lab\"",
            "programmer = \"none\"",
            "lab, openfpgaloader, vivado",
        ),
        ("serial = \"2\"", "ports = 7", "no board has 7 ports"),
        ("serial = \"2\"", "slot = 7", "slot"),
        ("\"middle.1\"", "\"left.1\"", "with itself"),
        ("\"middle.1\"", "\"left.0\"", "with itself"),
        ("\"middle.1\"", "\"center.1\"", "no board \"center\""),
        ("\"middle.1\"", "\"middle.2\"", "has 2 ports"),
        ("\"left.1\"", "\"left.0\"", "two links end at left.0"),
        ("\"right.0\"", "\"middle.1\"", "two links end at middle.1"),
        ("\"middle.1\"", "\"middle\"", "board.port"),
        ("\"middle.1\"", "\"middle.+1\"", "board.port"),
        ("\"middle.1\"", "\"middle.1\", \"right.1\"", "has 3 ends"),
        ("timeout_s = 300", "timeout_s = -1", "line"),
        ("timeout_s = 300", "timeout_s = 0", "more than 0"),
        ("\"{serial}\", \"{bit}\"", "\"{serial}\"", "no {bit}"),
        ("\"{serial}\"", "\"{server}\"", "{server}"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let text = GOOD.replacen(from, to, 1);
        let error = parse(&text).expect_err(to);
        assert!(error.to_string().contains(words), "{from} to {to}: {error}");
        assert!(!error.to_string().contains(char::is_control), "{error}");
    }
}

/// A ring of three boards, as cluster `lab`.
const RING: &str = r#"
schema = 1
[boards.a]
host = "one"
address = "3b:00.0"
[boards.b]
host = "one"
address = "5e:00.0"
[boards.c]
host = "two"
address = "3b:00.0"
[boards.spare]
host = "two"
address = "5e:00.0"
[[links]]
ends = ["a.0", "b.1"]
[[links]]
ends = ["c.1", "b.0"]
[[links]]
ends = ["c.0", "a.1"]
[clusters.lab]
boards = ["a", "b", "c"]
topology = [3]
ranks = 2
"#;

#[test]
fn a_cluster_is_boards_with_the_cables_of_their_topology() {
    let farm = parse(RING).expect("a farm");
    let cluster = farm.cluster("lab").expect("a cluster");
    assert_eq!(cluster.boards, ["a", "b", "c"]);
    assert_eq!((cluster.ranks, cluster.port), (2, 7280));
    assert_eq!(cluster.shape().expect("a topology").boards(), 3);
    assert_eq!(farm.clusters().count(), 1);
    let error = farm.cluster("lob").expect_err("no cluster");
    assert!(
        error.to_string().contains("no cluster `lob`; it has lab"),
        "{error}"
    );
    for (from, to, words) in [
        (
            "\"c.0\", \"a.1\"",
            "\"c.0\", \"spare.1\"",
            "lab: there is no link from a.1 to c.0",
        ),
        (
            "\"a.0\", \"b.1\"",
            "\"a.0\", \"spare.1\"",
            "no link from a.0 to b.1, which topology [3] has",
        ),
        (
            "\"a\", \"b\", \"c\"",
            "\"b\", \"a\", \"c\"",
            "no link from b.0 to a.1",
        ),
        (
            "\"a\", \"b\", \"c\"",
            "\"a\", \"b\"",
            "2 boards, and topology [3] has 3",
        ),
        (
            "\"a\", \"b\", \"c\"",
            "\"a\", \"b\", \"d\"",
            "no board \"d\"",
        ),
        (
            "\"a\", \"b\", \"c\"",
            "\"a\", \"b\", \"b\"",
            "board b is in it twice",
        ),
        ("[3]", "[]", "one to three dimensions"),
        ("[3]", "[1]", "at least two boards"),
        ("ranks = 2", "ranks = 0", "no board has 0 ranks"),
        ("ranks = 2", "ranks = 32", "no board has 32 ranks"),
        ("ranks = 2", "", "ranks"),
        ("ranks = 2", "ranks = 2\nport = 65536", "65536"),
        ("ranks = 2", "ranks = 2\nhosts = []", "hosts"),
    ] {
        assert!(RING.contains(from), "{from}");
        let error = parse(&RING.replacen(from, to, 1)).expect_err(to);
        assert!(error.to_string().contains(words), "{from} to {to}: {error}");
    }
}

#[test]
fn a_file_that_is_not_there_or_too_long_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("boards.toml");
    let error = Farm::read(&path).expect_err("no file");
    assert!(matches!(error, FarmError::Read { .. }), "{error}");
    fs::write(&path, GOOD).expect("a file");
    assert_eq!(Farm::read(&path).expect("a farm").path(), path);
    let file = fs::File::create(&path).expect("a file");
    file.set_len(1 << 40).expect("a length");
    let error = Farm::read(&path).expect_err("too long");
    assert!(error.to_string().contains("longer than"), "{error}");
}

#[test]
fn a_control_character_in_a_name_is_shown_escaped() {
    let wrong = [
        GOOD.replace(r#""left.0""#, r#""\u001bleft.0""#),
        GOOD.replace("programmers.lab", r#"programmers."\u001b""#),
    ];
    for text in wrong {
        let error = parse(&text).expect_err("no such name").to_string();
        assert!(
            !error.contains(char::is_control) && error.contains("u{1b}"),
            "{error:?}"
        );
    }
}

proptest! {
    #[test]
    fn no_farm_is_too_strange(text in "(schema = 1\\n|\\[boards\\.[a-c]\\]\\n|host = \"h\"\\n|address = \"3b:00.0\"\\n|\\[\\[links\\]\\]\\n|ends = \\[\"a.0\", \"b.1\"\\]\\n|\\PC){0,20}") {
        let _ = parse(&text);
    }

    #[test]
    fn a_farm_whose_text_was_changed_is_read_or_refused(at: prop::sample::Index, by in "\\PC{0,3}", gone in 0_usize..10) {
        let mut text: Vec<char> = GOOD.chars().collect();
        let at = at.index(text.len());
        let end = (at + gone).min(text.len());
        text.splice(at..end, by.chars());
        let text: String = text.into_iter().collect();
        if let Err(error) = parse(&text) {
            prop_assert!(!error.to_string().contains(char::is_control), "{error}");
        }
    }
}
