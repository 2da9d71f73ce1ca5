//! A run with its ranks as processes: what a launcher tells each.

use crate::{Backends, Error, GlobalRank, Job, Options, Rank, Result};

/// Where a launcher says which rank a process is, and how many there are.
const NUMBERS: [(&str, &str); 5] = [
    (Launch::RANK, Launch::SIZE),
    ("PMI_RANK", "PMI_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    // PMIx gives the size to who asks its server; the launchers that start without one of the others are told by hand.
    ("PMIX_RANK", Launch::SIZE),
    ("SLURM_PROCID", "SLURM_NTASKS"),
];

/// What a process is told of the run that it belongs to.
///
/// `alcor run` tells each process by [`Launch::CLUSTER`], [`Launch::RANK`] and [`Launch::SIZE`]. Where processes are started by an MPI launcher
/// or by Slurm, the first is set by hand to what `alcor serve` shows, and rank and size come from `PMI_RANK` and
/// `PMI_SIZE`, `OMPI_COMM_WORLD_RANK` and `OMPI_COMM_WORLD_SIZE`, `PMIX_RANK`, or `SLURM_PROCID` and
/// `SLURM_NTASKS`, the first of these that is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The boards' URI.
    pub cluster: String,
    /// This process's rank.
    pub rank: GlobalRank,
    /// Ranks of the run.
    pub size: u32,
}

impl Launch {
    /// The variable with the URI of the run's boards.
    pub const CLUSTER: &'static str = "ALCOR_CLUSTER";
    /// The variable with the process's rank.
    pub const RANK: &'static str = "ALCOR_RANK";
    /// The variable with the number of ranks.
    pub const SIZE: &'static str = "ALCOR_SIZE";

    /// What the environment says.
    ///
    /// # Errors
    /// [`Error::NotLaunched`] when a variable is missing, [`Error::BadVariable`] when one can't be used.
    pub fn from_env() -> Result<Launch> {
        Launch::from_variables(|name| std::env::var(name).ok())
    }

    /// What an environment says whose variables `get` knows.
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
                rule: "there must be more ranks than this process's number says",
            });
        }
        Ok(Launch {
            cluster,
            rank: GlobalRank(rank),
            size,
        })
    }
}

impl Job {
    /// Attaches the rank that this process is, of a run of processes; it ends with [`Rank::finish`].
    ///
    /// Which boards these are, which rank and of how many is for the [environment](Launch) to say; which kinds of boards can be opened, for
    /// `backends`. Of `options`, the topology is taken from the boards.
    ///
    /// # Errors
    /// As [`Launch::from_env`], [`Backends::open`] and [`Rank::attach`].
    pub fn from_env(backends: &Backends, options: Options) -> Result<Rank> {
        Job::attach_rank(backends, &Launch::from_env()?, options)
    }

    /// Attaches the rank that `launch` names, which whoever has started this process told it by other means than the environment.
    ///
    /// # Errors
    /// As [`Backends::open`] and [`Rank::attach`].
    pub fn attach_rank(backends: &Backends, launch: &Launch, options: Options) -> Result<Rank> {
        let cluster = backends.open(&launch.cluster)?;
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
            let expected = Launch {
                cluster: "shm:x".into(),
                rank: GlobalRank(2),
                size: 3,
            };
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
        assert!(of("2", "2").contains("more ranks"));
    }
}
