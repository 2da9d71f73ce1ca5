//! Finds Verilator and the C++ compiler.

use std::collections::HashMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::Error;
use crate::cache::user_folder;

/// Environment variable with the path of a Verilator executable.
pub const VERILATOR_VARIABLE: &str = "ALCOR_VERILATOR";

/// Inputs of the search for tools: workspace, Verilator's executable, the named compiler, and
/// `PATH`.
type Place = (PathBuf, PathBuf, Option<String>, Option<OsString>);

/// Tools that this process has found. A search starts three processes, and boards are opened
/// hundreds of times.
static FOUND: LazyLock<Mutex<HashMap<Place, Toolchain>>> = LazyLock::new(Mutex::default);

/// The programs that build a model from SystemVerilog. A process searches for the same tools once.
#[derive(Debug, Clone)]
pub struct Toolchain {
    workspace: PathBuf,
    verilator: PathBuf,
    root: PathBuf,
    version: String,
    compiler: Vec<OsString>,
    compiler_version: String,
    /// Target machine that the compiler reports.
    target: String,
    /// Folder of built models, if the builder set one.
    models: Option<PathBuf>,
}

/// Builder of a [`Toolchain`] with individual settings. [`Toolchain::find`] describes the defaults.
///
/// ```no_run
/// use verimodel::Toolchain;
///
/// # fn main() -> Result<(), verimodel::Error> {
/// let toolchain = Toolchain::builder()
///     .verilator("/opt/verilator/bin/verilator")
///     .compiler("clang++ -stdlib=libstdc++")
///     .models("target/models")
///     .find()?;
/// println!("{}", toolchain.verilator_version());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "nothing is looked for until `find` is called"]
pub struct ToolchainBuilder {
    workspace: Option<PathBuf>,
    verilator: Option<PathBuf>,
    compiler: Option<String>,
    models: Option<PathBuf>,
}

impl ToolchainBuilder {
    /// Sets the workspace. Source files are named relative to this folder, and tools are searched
    /// in its `target/tools`.
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// Sets Verilator's executable.
    pub fn verilator(mut self, program: impl Into<PathBuf>) -> Self {
        self.verilator = Some(program.into());
        self
    }

    /// Sets the C++ compiler: g++, clang++, or a program with the same arguments. Words after the
    /// first are arguments of every call.
    pub fn compiler(mut self, command: impl Into<String>) -> Self {
        self.compiler = Some(command.into());
        self
    }

    /// Sets the folder of built models. [`Build::cache_dir`](crate::Build::cache_dir) takes
    /// precedence for a single build.
    pub fn models(mut self, folder: impl Into<PathBuf>) -> Self {
        self.models = Some(folder.into());
        self
    }

    /// Finds the tools.
    ///
    /// # Errors
    /// The errors of [`Toolchain::find`].
    pub fn find(self) -> Result<Toolchain, Error> {
        let workspace = match self.workspace {
            Some(folder) => folder,
            None => current_workspace()?,
        };
        let workspace = std::path::absolute(&workspace).map_err(Error::io("find", workspace))?;
        let named = env::var_os(VERILATOR_VARIABLE).filter(|value| !value.is_empty());
        let verilator = match self.verilator.or(named.map(PathBuf::from)) {
            Some(path) => named_verilator(path)?,
            None => installed_verilator(&workspace.join("target/tools"))
                .or_else(|| installed_verilator(&Toolchain::tools_folder().ok()?))
                .or_else(|| in_path("verilator"))
                .ok_or_else(missing_verilator)?,
        };
        let compiler = self.compiler.or_else(|| env::var("CXX").ok());
        let compiler = compiler.filter(|command| !command.trim().is_empty());
        let place = (workspace, verilator, compiler, env::var_os("PATH"));
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        let mut toolchain = match found.get(&place) {
            Some(known) => known.clone(),
            None => {
                let toolchain = Toolchain::identified(&place.0, &place.1, place.2.as_deref())?;
                found.insert(place, toolchain.clone());
                toolchain
            }
        };
        toolchain.models = self.models;
        Ok(toolchain)
    }
}

/// The Cargo workspace that contains the current folder, else the current folder.
fn current_workspace() -> Result<PathBuf, Error> {
    let current = env::current_dir().map_err(Error::io("read", "."))?;
    let is_workspace = |folder: &&Path| {
        fs::read_to_string(folder.join("Cargo.toml"))
            .is_ok_and(|text| text.lines().any(|line| line.trim_end() == "[workspace]"))
    };
    let found = current.ancestors().find(is_workspace).map(Path::to_owned);
    Ok(found.unwrap_or(current))
}

impl Toolchain {
    /// A builder with individual settings.
    pub fn builder() -> ToolchainBuilder {
        ToolchainBuilder::default()
    }

    /// Finds the tools for the Cargo workspace that contains the current folder. Without a
    /// workspace, the current folder is used.
    ///
    /// Verilator is searched in this order: the environment variable `ALCOR_VERILATOR`, the folder
    /// of `ci/setup` below the workspace, the folder of `alcor setup`
    /// ([`tools_folder`](Self::tools_folder)), and `PATH`. The compiler is `$CXX`, else `g++`.
    ///
    /// # Errors
    /// If a tool is missing, or if Verilator is older than version 5. The error names the command
    /// that installs the tool.
    pub fn find() -> Result<Self, Error> {
        Self::builder().find()
    }

    /// The folder of the tools that `alcor setup` installs: `alcor/tools` in the user's cache
    /// folder (`XDG_CACHE_HOME`, else `.cache` in the home folder).
    ///
    /// # Errors
    /// If the user has no home folder.
    pub fn tools_folder() -> Result<PathBuf, Error> {
        user_folder("tools")
    }

    /// Finds the tools for a given folder instead of the workspace, otherwise as
    /// [`find`](Self::find).
    ///
    /// # Errors
    /// The errors of [`find`](Self::find).
    pub fn find_in(workspace: &Path) -> Result<Self, Error> {
        Self::builder().workspace(workspace).find()
    }

    fn identified(
        workspace: &Path,
        verilator: &Path,
        compiler: Option<&str>,
    ) -> Result<Self, Error> {
        if starts_with_perl(verilator) && in_path("perl").is_none() {
            return Err(Error::MissingTool {
                tool: "perl",
                searched: "PATH, for Verilator's start script".into(),
                remedy: "apt-get install perl",
            });
        }
        let (root, version) = identify(verilator)?;
        let (compiler, compiler_version) = find_compiler(compiler)?;
        let target = Command::new(&compiler[0])
            .args(&compiler[1..])
            .arg("-dumpmachine")
            .output()
            .map_err(Error::io("run", PathBuf::from(&compiler[0])))?;
        Ok(Self {
            workspace: workspace.into(),
            verilator: verilator.into(),
            root,
            version,
            compiler,
            compiler_version,
            target: String::from_utf8_lossy(&target.stdout).trim().into(),
            models: None,
        })
    }

    /// Folder of the workspace.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Path of Verilator's executable.
    pub fn verilator(&self) -> &Path {
        &self.verilator
    }

    /// Folder of Verilator's own files, its `VERILATOR_ROOT`.
    pub fn verilator_root(&self) -> &Path {
        &self.root
    }

    /// Version text of Verilator.
    pub fn verilator_version(&self) -> &str {
        &self.version
    }

    /// Version text of the compiler.
    pub fn compiler_version(&self) -> &str {
        &self.compiler_version
    }

    /// All properties of the compiler that determine its objects: version, target, arguments in
    /// `CXX`, and, for code that is specific to this machine, the machine's processor. Contains no
    /// path.
    pub(crate) fn compiler_identity(&self, arguments: &[String]) -> String {
        let words = self.compiler[1..].iter().map(|word| word.to_string_lossy());
        let words: Vec<_> = words.collect();
        let all = words.iter().map(|word| &**word);
        let is_native = all
            .chain(arguments.iter().map(String::as_str))
            .any(is_native);
        let processor = if is_native {
            processor()
        } else {
            String::new()
        };
        format!(
            "{}\n{}\n{}\n{processor}",
            self.compiler_version,
            self.target,
            words.join(" ")
        )
    }

    /// Folder of built models, if the builder set one.
    pub(crate) fn models(&self) -> Option<&Path> {
        self.models.as_deref()
    }

    pub(crate) fn include_dir(&self) -> PathBuf {
        self.root.join("include")
    }

    pub(crate) fn verilate(&self) -> Command {
        verilator_command(&self.verilator, &self.root)
    }

    pub(crate) fn is_clang(&self) -> bool {
        self.compiler_version.contains("clang")
    }

    pub(crate) fn compile(&self) -> Command {
        let mut command = Command::new(&self.compiler[0]);
        command.args(&self.compiler[1..]);
        // Prevents symbols that are unique in a process. Clang generates none, and does not accept
        // the argument.
        if !self.is_clang() {
            command.arg("-fno-gnu-unique");
        }
        command
    }
}

/// The ways to install Verilator.
pub(crate) const SETUP: &str =
    "`alcor setup` (in a clone of Alcor: ci/setup), or any Verilator 5 in PATH";

fn missing_verilator() -> Error {
    let cache = Toolchain::tools_folder();
    let cache = cache.map_or("no cache folder".into(), |folder| {
        folder.display().to_string()
    });
    Error::MissingTool {
        tool: "verilator",
        searched: format!("{VERILATOR_VARIABLE}, target/tools, {cache}, PATH"),
        remedy: SETUP,
    }
}

fn named_verilator(path: PathBuf) -> Result<PathBuf, Error> {
    if path.is_file() {
        return std::path::absolute(&path).map_err(Error::io("find", &path));
    }
    Err(Error::MissingTool {
        tool: "verilator",
        searched: path.display().to_string(),
        remedy: SETUP,
    })
}

/// Verilator in a folder that `hw/tools/install` has filled. The installer writes its stamp last.
fn installed_verilator(tools: &Path) -> Option<PathBuf> {
    if !tools.join("stamp").is_file() {
        return None;
    }
    let mut found: Vec<PathBuf> = fs::read_dir(tools.join("venv/lib"))
        .ok()?
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
        .map(|entry| entry.path().join("site-packages/verilator/bin/verilator"))
        .filter(|path| path.is_file())
        .collect();
    found.sort();
    found.pop()
}

fn in_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

fn starts_with_perl(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| {
        let first = bytes
            .split(|&byte| byte == b'\n')
            .next()
            .unwrap_or_default();
        first.starts_with(b"#!") && String::from_utf8_lossy(first).contains("perl")
    })
}

fn verilator_command(verilator: &Path, root: &Path) -> Command {
    let mut command = Command::new(verilator);
    command
        .env("VERILATOR_ROOT", root)
        .env_remove("VERILATOR_BIN");
    command
}

/// Returns the folder with `include/`, and the version.
fn identify(verilator: &Path) -> Result<(PathBuf, String), Error> {
    let real = fs::canonicalize(verilator).map_err(Error::io("find", verilator))?;
    let above = real
        .parent()
        .and_then(Path::parent)
        .unwrap_or(Path::new("/"));
    let root = [above.to_path_buf(), above.join("share/verilator")]
        .into_iter()
        .find(|folder| folder.join("include/verilated.h").is_file())
        .or_else(|| asked_root(verilator))
        .ok_or_else(|| Error::MissingTool {
            tool: "include/verilated.h",
            searched: format!("next to {}", verilator.display()),
            remedy: SETUP,
        })?;

    let output = verilator_command(verilator, &root)
        .arg("--version")
        .output()
        .map_err(Error::io("run", verilator))?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_string();
    let config = fs::read_to_string(root.join("include/verilated_config.h")).unwrap_or_default();
    let configured = config
        .lines()
        .find_map(|line| line.strip_prefix("#define VERILATOR_VERSION "))
        .map(|value| value.trim().trim_matches('"').to_string())
        .unwrap_or_default();
    // Some packages omit the number in the output of `--version`. The header contains the number.
    let number = said
        .strip_prefix("Verilator ")
        .filter(|rest| major(rest).is_some())
        .unwrap_or(&configured);
    match major(number) {
        Some(found) if output.status.success() && found >= 5 => {
            Ok((root, format!("{configured} ({said})")))
        }
        _ => Err(Error::VerilatorVersion {
            path: verilator.to_path_buf(),
            found: format!(
                "{number} {said} {}",
                String::from_utf8_lossy(&output.stderr)
            )
            .trim()
            .to_string(),
        }),
    }
}

fn asked_root(verilator: &Path) -> Option<PathBuf> {
    let output = Command::new(verilator)
        .args(["--getenv", "VERILATOR_ROOT"])
        .output()
        .ok()?;
    let root = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    root.join("include/verilated.h").is_file().then_some(root)
}

fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.trim().parse().ok()
}

fn find_compiler(named: Option<&str>) -> Result<(Vec<OsString>, String), Error> {
    let words: Vec<OsString> = named
        .unwrap_or("g++")
        .split_whitespace()
        .map(OsString::from)
        .collect();
    let missing = || Error::MissingTool {
        tool: "C++ compiler",
        searched: named.map_or("g++ in PATH".into(), |command| format!("`{command}`")),
        remedy: "apt-get install g++, or name another by CXX",
    };
    let output = Command::new(&words[0])
        .args(&words[1..])
        .arg("--version")
        .output()
        .map_err(|_| missing())?;
    if !output.status.success() {
        return Err(missing());
    }
    let version = String::from_utf8_lossy(&output.stdout)
        .lines()
        .next()
        .unwrap_or_default()
        .to_string();
    Ok((words, version))
}

/// Returns whether a compiler argument requests code for the machine that runs the compiler.
fn is_native(argument: &str) -> bool {
    ["-march=native", "-mcpu=native", "-mtune=native"].contains(&argument)
}

/// The kernel's description of the first processor, without values that change over time.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let is_fixed = |line: &&str| !line.contains("MHz") && !line.to_lowercase().contains("bogomips");
    let first = text.lines().take_while(|line| !line.is_empty());
    first.filter(is_fixed).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{is_native, major, processor};

    #[test]
    fn a_native_compiler_is_known_by_its_processor() {
        assert!(is_native("-march=native") && !is_native("-march=x86-64-v3"));
        assert!(!processor().is_empty());
        assert_eq!(processor(), processor());
    }

    #[test]
    fn major_version_is_read() {
        assert_eq!(major("5.048 2026-05-16"), Some(5));
        assert_eq!(major("4.228"), Some(4));
        assert_eq!(major(" rev vUNKNOWN"), None);
    }
}
