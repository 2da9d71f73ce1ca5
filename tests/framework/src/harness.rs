//! Runs one test on a board, for Rust's test harness.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use alcor::soft::Soft;
use alcor::{Backends, Cluster};
use alcor_cosim::CosimBackend;
use alcor_farm::{ClusterBackend, FarmBackend};
use alcor_shm::ShmBackend;
use alcor_xdma::XdmaBackend;

use crate::explain::uri::check_waves;
use crate::explain::{Explainer, WAVES_CYCLES, Waves, is_explicable};
use crate::{Outcome, Settings, Test, Tier, Verdict, run_test_within};

/// Settings of a test run.
#[derive(Debug, PartialEq)]
struct Plan {
    backend: String,
    settings: Settings,
    waves: Waves,
    report: PathBuf,
}

/// An environment variable has an invalid value.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("{name} is `{value}`; it has to be {expected}")]
struct Wrong {
    name: &'static str,
    value: String,
    expected: &'static str,
}

/// Board if the environment names none.
const BACKEND: &str = "cosim:rma4";
/// Folder of explanations if the environment names none.
const REPORT: &str = "target/alcor-report";
/// Time limit of a test if the environment sets none.
const TIMEOUT: Duration = Duration::from_secs(600);

impl Plan {
    /// Reads the settings from the environment. An empty variable counts as unset.
    fn of(value: impl Fn(&str) -> Option<String>) -> Result<Plan, Wrong> {
        let get = |name: &str| value(name).filter(|value| !value.is_empty());
        let backend = get("ALCOR_TEST_BACKEND").unwrap_or_else(|| BACKEND.to_owned());
        let default = Settings::default();
        let seed = parsed(&get, "ALCOR_TEST_SEED", "a number, also as 0x...", number)?;
        let tier = parsed(
            &get,
            "ALCOR_TEST_TIER",
            "`quick` or `full`",
            |text| match text {
                "quick" => Some(Tier::Quick),
                "full" => Some(Tier::Full),
                _ => None,
            },
        )?;
        let cycles = |text: &str| number(text).filter(|cycles| *cycles > 0);
        let watchdog = parsed(&get, "ALCOR_TEST_WATCHDOG", "a number of cycles", cycles)?;
        let above_0 = "a number of seconds above 0";
        let timeout = parsed(&get, "ALCOR_TEST_TIMEOUT", above_0, |text| {
            let seconds = text.parse().ok().filter(|seconds| *seconds > 0.0)?;
            Duration::try_from_secs_f64(seconds).ok()
        })?;
        let waves = parsed(
            &get,
            "ALCOR_TEST_WAVES",
            "`never` or `on-failure`",
            |text| match text {
                "never" => Some(Waves::Never),
                "on-failure" => Some(Waves::OnFailure),
                _ => None,
            },
        )?;
        let by_default = match check_waves(&backend) {
            Ok(()) => Waves::OnFailure,
            Err(_) => Waves::Never,
        };
        Ok(Plan {
            settings: Settings {
                seed: seed.unwrap_or(1),
                tier: tier.unwrap_or_default(),
                watchdog_cycles: watchdog.unwrap_or(default.watchdog_cycles),
                time_limit: timeout.or(Some(TIMEOUT)),
                ..default
            },
            waves: waves.unwrap_or(by_default),
            report: get("ALCOR_TEST_REPORT")
                .unwrap_or_else(|| REPORT.to_owned())
                .into(),
            backend,
        })
    }
}

/// The parsed value of a variable; `None` if the variable is unset.
fn parsed<T>(
    get: &dyn Fn(&str) -> Option<String>,
    name: &'static str,
    expected: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Wrong> {
    let Some(value) = get(name) else {
        return Ok(None);
    };
    match parse(&value) {
        Some(parsed) => Ok(Some(parsed)),
        None => Err(Wrong {
            name,
            value,
            expected,
        }),
    }
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn open(uri: &str) -> Result<Cluster, alcor::Error> {
    Backends::new()
        .with(XdmaBackend::new())
        .with(FarmBackend::new())
        .with(ClusterBackend::new())
        .with(CosimBackend::new())
        .with(ShmBackend)
        .with(Soft)
        .open(uri)
}

/// Runs a test with the settings of the environment, and explains a failure. The attribute
/// [`alcor_test`](crate::alcor_test) generates a Rust test that calls this function.
///
/// # Panics
/// If the test fails or cannot be run, or if the board lacks ranks or blocks and `ALCOR_SKIPS`
/// names no file.
#[track_caller]
pub fn run_or_panic(test: &'static Test) {
    let plan = Plan::of(|name| env::var(name).ok()).unwrap_or_else(|wrong| panic!("{wrong}"));
    let cluster = open(&plan.backend).unwrap_or_else(|error| panic!("{error}"));
    let outcome = run_test_within(test, cluster, &plan.settings);
    match &outcome.verdict {
        Verdict::Passed => {}
        Verdict::Skipped(unmet) => {
            let skips = env::var_os(alcor_skips::FILE).is_some_and(|file| !file.is_empty());
            let (name, board) = (test.name, &plan.backend);
            assert!(
                skips,
                "{name} can't run on {board}: it {unmet}. ALCOR_TEST_BACKEND names another board; where {} names a file, \
                 such a test is skipped, and the file has the reason",
                alcor_skips::FILE
            );
            alcor_skips::skip(&format!("{name} on {board}: {unmet}"));
        }
        Verdict::Failed(_) | Verdict::NotRun(_) => panic!("{}", plan.text(&outcome)),
    }
}

impl Plan {
    /// The text of a failure, with the folder of its explanation.
    fn text(&self, outcome: &Outcome) -> String {
        let name = outcome.test.name;
        let mut text = format!(
            "{name} {}\nbackend {}, {} tier, seed {}, its own seed 0x{:016x}",
            outcome.verdict, self.backend, self.settings.tier, outcome.run_seed, outcome.seed
        );
        if !is_explicable(outcome) {
            return text;
        }
        let explainer = Explainer {
            backend: &self.backend,
            open: &open,
            settings: self.settings,
            folder: self.report.join(name),
            waves: self.waves.clone(),
            waves_cycles: WAVES_CYCLES,
            repeat: self.repeat(outcome),
        };
        let explanation = explainer.explain(outcome);
        if let Some(waits) = &explanation.waits {
            text += &format!("\n{waits}");
        }
        for note in &explanation.notes {
            text += &format!("\nnote: {note}");
        }
        let folder = explanation.folder.display();
        text + &format!(
            "\nrepeat: {}\nexplained in {folder}: {}",
            self.repeat(outcome),
            explanation.files.join(", ")
        )
    }

    /// The command that repeats a test.
    fn repeat(&self, outcome: &Outcome) -> String {
        let function = outcome.test.name.rsplit('.').next().unwrap_or_default();
        format!(
            "ALCOR_TEST_BACKEND='{}' ALCOR_TEST_SEED={} ALCOR_TEST_TIER={} cargo test {function}",
            self.backend, outcome.run_seed, self.settings.tier
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(variables: &[(&str, &str)]) -> Result<Plan, Wrong> {
        Plan::of(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn settings_come_from_the_environment() {
        let default = plan(&[("ALCOR_TEST_SEED", "")]).unwrap();
        assert_eq!(default.backend, BACKEND);
        assert_eq!(
            (default.settings.seed, default.waves),
            (1, Waves::OnFailure)
        );
        let other = plan(&[
            ("ALCOR_TEST_BACKEND", "soft:3"),
            ("ALCOR_TEST_SEED", "0x10"),
            ("ALCOR_TEST_TIER", "full"),
            ("ALCOR_TEST_TIMEOUT", "0.5"),
            ("ALCOR_TEST_REPORT", "out"),
        ])
        .unwrap();
        assert_eq!((other.settings.seed, other.settings.tier), (16, Tier::Full));
        assert_eq!(other.settings.time_limit, Some(Duration::from_millis(500)));
        // A software board records no waves.
        assert_eq!((other.waves, other.report), (Waves::Never, "out".into()));
    }

    #[test]
    fn an_invalid_variable_is_named() {
        for (name, value) in [
            ("ALCOR_TEST_SEED", "-1"),
            ("ALCOR_TEST_TIER", "long"),
            ("ALCOR_TEST_WATCHDOG", "0"),
            ("ALCOR_TEST_TIMEOUT", "-2"),
            ("ALCOR_TEST_WAVES", "always"),
        ] {
            let text = plan(&[(name, value)]).unwrap_err().to_string();
            assert!(
                text.starts_with(&format!("{name} is `{value}`; it has to be ")),
                "{text}"
            );
        }
    }
}
