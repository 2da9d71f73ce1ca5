//! Output for GitHub Actions: annotations, and a summary of the step.

use std::env;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;

use alcor_test::{Outcome, Verdict};

use super::lane::Lane;
use super::summary::Whole;

/// Number of failures that the summary of a step lists; it counts the others.
const NAMED: usize = 50;

/// Whether the program runs in GitHub Actions.
pub fn is_there() -> bool {
    env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// The annotation of a failed test; none for other tests.
pub fn annotation(lane: &Lane, outcome: &Outcome) -> Option<String> {
    let Verdict::Failed(failure) = &outcome.verdict else {
        return None;
    };
    let title = format!("{} on {}", outcome.test.name, lane.backend);
    Some(error(
        &title,
        &format!("{failure}\nrepeat: {}", lane.repeat(outcome)),
    ))
}

/// An annotation. GitHub also reads annotations from the standard error of a step.
pub fn error(title: &str, message: &str) -> String {
    let escaped = |text: &str| {
        text.replace('%', "%25")
            .replace('\r', "%0D")
            .replace('\n', "%0A")
    };
    let title = escaped(title).replace(':', "%3A").replace(',', "%2C");
    format!("::error title={title}::{}", escaped(message))
}

/// Adds a table of the run to the summary of the step, where GITHUB_STEP_SUMMARY names its file.
pub fn add_summary(whole: &Whole<'_>) -> std::io::Result<()> {
    let Some(path) = env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(markdown(whole).as_bytes())
}

fn markdown(whole: &Whole<'_>) -> String {
    let mut text = format!(
        "### alcor regress: {}\n\n| backend | tier | seed | passed | failed | skipped | not run | time |\n|---|---|---|---:|---:|---:|---:|---:|\n",
        whole.counts()
    );
    let cell = |text: &str| text.replace('|', "\\|").replace(['\n', '\r'], " ");
    for part in &whole.parts {
        let (lane, counts) = (part.lane, part.counts());
        // Writing to a String can't fail.
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | {} | {} | {:.1} s |",
            cell(&lane.backend),
            lane.tier(),
            lane.seed,
            counts.passed,
            counts.failed,
            counts.skipped,
            counts.not_run,
            part.elapsed.as_secs_f64()
        );
    }
    let failures: Vec<_> = whole
        .parts
        .iter()
        .flat_map(|part| part.outcomes.iter().map(move |it| (part, it)))
        .filter(|(_, outcome)| outcome.verdict.is_failed())
        .collect();
    if !failures.is_empty() {
        text += "\n| failed | message | repeat |\n|---|---|---|\n";
    }
    for (part, outcome) in failures.iter().take(NAMED) {
        let _ = writeln!(
            text,
            "| {} on `{}` | {} | `{}` |",
            part.name(outcome),
            cell(&part.lane.backend),
            cell(&outcome.verdict.to_string()),
            cell(&part.lane.repeat(outcome))
        );
    }
    if failures.len() > NAMED {
        let _ = writeln!(text, "\nand {} more failed", failures.len() - NAMED);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_command_is_escaped() {
        assert_eq!(
            error("put.typed on cosim:rma2, a", "50 %\nnext"),
            "::error title=put.typed on cosim%3Arma2%2C a::50 %25%0Anext"
        );
    }
}
