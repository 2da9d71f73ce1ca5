//! A run whose ranks are processes: the parameters that a launcher passes to each.

use std::time::Duration;

use crate::{Backends, Error, GlobalRank, Job, Options, Rank, Result};

/// Environment variables of launchers: the rank of a process, and the number of ranks.
const NUMBERS: [(&str, &str); 5] = [
    (Launch::RANK, Launch::SIZE),
    ("PMI_RANK", "PMI_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    // PMIx reports the size only through its server. Launchers that set none of the other variables
    // need ALCOR_SIZE, set by hand.
    ("PMIX_RANK", Launch::SIZE),
    ("SLURM_PROCID", "SLURM_NTASKS"),
];

/// The parameters of a process of a run.
///
/// `alcor run` sets [`Launch::CLUSTER`], [`Launch::RANK`] and [`Launch::SIZE`]. Under an MPI
/// launcher or Slurm, the user sets [`Launch::CLUSTER`] to the URI that `alcor serve` prints. Rank
/// and size then come from the first of these pairs that is set: `PMI_RANK` and `PMI_SIZE`,
/// `OMPI_COMM_WORLD_RANK` and `OMPI_COMM_WORLD_SIZE`, `PMIX_RANK` and [`Launch::SIZE`],
/// `SLURM_PROCID` and `SLURM_NTASKS`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Launch {
    /// The boards' URI.
    pub cluster: String,
    /// Rank of this process.
    pub rank: GlobalRank,
    /// Number of ranks of the run.
    pub size: u32,
    /// Name of the run, which tells its processes from those of other runs on the same boards:
    /// [`Launch::RUN`], `PMIX_NAMESPACE`, or job and step of Slurm. Empty if the launcher gives
    /// none.
    pub run: String,
    /// Minimum length of a wait that the process reports on standard error
    /// ([`Launch::REPORT_WAITS`]). [`Options::report_waits`] of the program has priority.
    pub report_waits: Option<Duration>,
}

impl Launch {
    /// Name of the variable with the URI of the run's boards.
    pub const CLUSTER: &'static str = "ALCOR_CLUSTER";
    /// Name of the variable with the rank of the process.
    pub const RANK: &'static str = "ALCOR_RANK";
    /// Name of the variable with the number of ranks.
    pub const SIZE: &'static str = "ALCOR_SIZE";
    /// Name of the variable with the name of the run.
    pub const RUN: &'static str = "ALCOR_RUN";
    /// Name of the variable with the minimum length of a reported wait, in seconds.
    pub const REPORT_WAITS: &'static str = "ALCOR_REPORT_WAITS";

    /// Makes the parameters of rank `rank` of `size` ranks on the boards of a URI.
    ///
    /// # Examples
    /// ```no_run
    /// # use alcor::{Backends, GlobalRank, Job, Launch, Options, soft::Soft};
    /// let backends = Backends::new().with(Soft);
    /// let launch = Launch::new("soft:1", GlobalRank(0), 1);
    /// Job::attach_rank(&backends, &launch, Options::default())?.finish()?;
    /// # Ok::<(), alcor::Error>(())
    /// ```
    #[must_use]
    pub fn new(cluster: impl Into<String>, rank: GlobalRank, size: u32) -> Launch {
        Launch {
            cluster: cluster.into(),
            rank,
            size,
            run: String::new(),
            report_waits: None,
        }
    }

    /// Reads the parameters from the environment.
    ///
    /// # Errors
    /// [`Error::NotLaunched`] if a variable is missing, [`Error::BadVariable`] if a value is
    /// invalid.
    pub fn from_env() -> Result<Launch> {
        Launch::from_variables(|name| std::env::var(name).ok())
    }

    /// Reads the parameters from variables that `get` returns.
    ///
    /// # Errors
    /// As [`Launch::from_env`].
    ///
    /// # Examples
    /// ```
    /// use alcor::{GlobalRank, Launch};
    ///
    /// let variables = [("ALCOR_CLUSTER", "shm:lab"), ("SLURM_PROCID", "3"), ("SLURM_NTASKS", "8")];
    /// let launch = Launch::from_variables(|name| {
    ///     variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
    /// })?;
    /// assert_eq!((launch.rank, launch.size), (GlobalRank(3), 8));
    /// # Ok::<(), alcor::Error>(())
    /// ```
    pub fn from_variables(get: impl Fn(&str) -> Option<String>) -> Result<Launch> {
        let number = |variable: &'static str| {
            let value = get(variable)?;
            let number = value.trim().parse::<u32>();
            Some(number.map_err(|_| Error::BadVariable {
                variable,
                value,
                rule: "it must be a number from 0 to 4294967295",
            }))
        };
        let missing = |variable| Error::NotLaunched { variable };
        let cluster = get(Launch::CLUSTER).ok_or(missing(Launch::CLUSTER))?;
        let (rank, (_, named)) = NUMBERS
            .iter()
            .find_map(|names| Some((number(names.0)?, names)))
            .ok_or(missing(Launch::RANK))?;
        let size = number(named)
            .or_else(|| number(Launch::SIZE))
            .ok_or(missing(Launch::SIZE))??;
        let rank = rank?;
        if rank >= size {
            return Err(Error::BadVariable {
                variable: named,
                value: size.to_string(),
                rule: "the number of ranks must be larger than the rank of this process",
            });
        }
        let of_slurm = || {
            let (job, step) = (get("SLURM_JOB_ID")?, get("SLURM_STEP_ID"));
            Some(format!("{job}.{}", step.unwrap_or_default()))
        };
        let run = get(Launch::RUN).or_else(|| get("PMIX_NAMESPACE"));
        let seconds = |value: String| match value.trim().parse().map(Duration::try_from_secs_f64) {
            Ok(Ok(after)) => Ok(after),
            _ => Err(Error::BadVariable {
                variable: Launch::REPORT_WAITS,
                value,
                rule: "it must be a number of seconds",
            }),
        };
        Ok(Launch {
            cluster,
            rank: GlobalRank(rank),
            size,
            run: run.or_else(of_slurm).unwrap_or_default(),
            report_waits: get(Launch::REPORT_WAITS).map(seconds).transpose()?,
        })
    }
}

impl Job {
    /// Attaches the rank of this process to a run of processes. [`Rank::finish`] ends the rank.
    ///
    /// The [environment](Launch) selects boards, rank and number of ranks. `backends` lists the
    /// kinds of boards that can be opened. The topology of the boards replaces the topology in
    /// `options`.
    ///
    /// # Errors
    /// As [`Launch::from_env`], [`Backends::join`] and [`Rank::attach`].
    ///
    /// # Examples
    /// ```no_run
    /// use alcor::{Backends, Job, Launch, Options, soft::Soft};
    ///
    /// // As `Job::from_env(&backends, Options::default())`.
    /// let backends = Backends::new().with(Soft);
    /// let launch = Launch::from_env()?;
    /// let mut rank = Job::attach_rank(&backends, &launch, Options::default())?;
    /// rank.barrier()?;
    /// rank.finish()?;
    /// # Ok::<(), alcor::Error>(())
    /// ```
    pub fn from_env(backends: &Backends, options: Options) -> Result<Rank> {
        Job::attach_rank(backends, &Launch::from_env()?, options)
    }

    /// Attaches the rank of `launch`, for parameters that do not come from the environment.
    ///
    /// # Errors
    /// As [`Backends::join`] and [`Rank::attach`].
    pub fn attach_rank(backends: &Backends, launch: &Launch, mut options: Options) -> Result<Rank> {
        if let (None, Some(after)) = (options.report, launch.report_waits) {
            options = options.report_waits(after, |wait| eprintln!("alcor: still waiting: {wait}"));
        }
        let cluster = backends.join(launch)?;
        Rank::attach_to(&cluster, launch.rank, launch.size, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(variables: &[(&str, &str)]) -> Result<Launch> {
        Launch::from_variables(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_time_for_reports_is_a_number_of_seconds() {
        let with = |value| {
            launch(&[
                ("ALCOR_CLUSTER", "shm:x"),
                ("ALCOR_RANK", "0"),
                ("ALCOR_SIZE", "1"),
                ("ALCOR_REPORT_WAITS", value),
            ])
        };
        let half = with(" 0.5").expect("a launch").report_waits;
        assert_eq!(half, Some(Duration::from_millis(500)));
        for value in ["", "soon", "-1", "1e300"] {
            let error = with(value).expect_err("no time").to_string();
            assert!(error.contains("a number of seconds"), "{error}");
        }
    }

    #[test]
    fn each_launcher_is_understood() {
        for (rank, size) in [
            ("ALCOR_RANK", "ALCOR_SIZE"),
            ("PMI_RANK", "PMI_SIZE"),
            ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
            ("PMIX_RANK", "ALCOR_SIZE"),
            ("PMI_RANK", "ALCOR_SIZE"),
            ("SLURM_PROCID", "SLURM_NTASKS"),
        ] {
            let found = launch(&[("ALCOR_CLUSTER", "shm:x"), (rank, "2"), (size, " 3\n")]);
            let expected = Launch::new("shm:x", GlobalRank(2), 3);
            assert_eq!(found.unwrap(), expected, "{rank}");
        }
    }

    #[test]
    fn our_own_word_comes_before_the_launchers() {
        let found = launch(&[
            ("ALCOR_CLUSTER", "shm:x"),
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", "1"),
            ("ALCOR_RANK", "4"),
            ("ALCOR_SIZE", "5"),
        ]);
        assert_eq!(found.unwrap().rank, GlobalRank(4));
    }

    #[test]
    fn runs_are_told_apart_by_the_launchers_name() {
        let run = |variables: &[(&str, &str)]| {
            let common = [
                ("ALCOR_CLUSTER", "shm:x"),
                ("ALCOR_RANK", "0"),
                ("ALCOR_SIZE", "1"),
            ];
            launch(&[&common[..], variables].concat()).unwrap().run
        };
        let slurm = [("SLURM_JOB_ID", "17"), ("SLURM_STEP_ID", "2")];
        let pmix = [("PMIX_NAMESPACE", "prterun-1")];
        assert_eq!(run(&[]), "");
        assert_eq!(run(&slurm), "17.2");
        assert_eq!(run(&[&slurm[..], &pmix].concat()), "prterun-1");
        assert_eq!(run(&[&pmix[..], &[("ALCOR_RUN", "own")]].concat()), "own");
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let says = |variables: &[_]| launch(variables).unwrap_err().to_string();
        assert!(says(&[]).contains("ALCOR_CLUSTER is not set"));
        assert!(says(&[("ALCOR_CLUSTER", "shm:x")]).contains("ALCOR_RANK is not set"));
        let of = |rank, size| {
            says(&[
                ("ALCOR_CLUSTER", "shm:x"),
                ("ALCOR_RANK", rank),
                ("ALCOR_SIZE", size),
            ])
        };
        assert!(of("-1", "2").contains("ALCOR_RANK=-1"));
        assert!(of("1", "two").contains("ALCOR_SIZE=two"));
        assert!(of("2", "2").contains("larger than the rank"));
    }
}
