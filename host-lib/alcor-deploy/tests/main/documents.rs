//! docs/deploy.md says what the program does.

use std::path::Path;

use alcor_deploy::{Farm, Programmer, Step};

const PAGE: &str = include_str!("../../../../docs/deploy.md");

#[test]
fn the_steps_are_those_of_the_program() {
    let rows = PAGE.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let number: usize = cells.next()?.parse().ok()?;
        Some((number, cells.next()?.to_owned()))
    });
    let steps = Step::ALL.map(|step| (step.number(), step.name().to_owned()));
    assert_eq!(rows.collect::<Vec<_>>(), steps);
}

#[test]
fn the_programmers_are_those_that_are_known() {
    for Programmer { name, command } in Programmer::known() {
        let row = format!("| `{name}` | `{}`", command.join(" "));
        assert!(PAGE.contains(&row), "{row}");
    }
}

#[test]
fn the_farm_is_one() {
    let (_, text) = PAGE.split_once("```toml\n").expect("a farm");
    let (text, _) = text.split_once("```").expect("its end");
    let farm = Farm::parse(text, Path::new("docs/deploy.md")).expect("a farm");
    assert_eq!((farm.boards().count(), farm.links().len()), (2, 2));
    assert!(farm.programmer("lab").is_some());
}
