//! A host: its sysfs in a folder, the kernel's part, a card behind a bridge, and a programmer.

use std::fs;
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use alcor_bitstreams::Manifest;
use alcor_deploy::{Deploy, Event, Failure, Patience, Places, Programmer, Step};
use tempfile::TempDir;
use xdma::nodes::{Dma, EventNode, Mapping, Nodes, Way};
use xdma::{Machine, PciAddress};

pub const BRIDGE: &str = "0000:3a:00.0";
pub const CARD: &str = "0000:3b:00.0";
pub const SECOND: &str = "0000:3b:00.1";
/// The ID block of the build that is deployed: as in the corpus of alcor-bitstreams.
pub const ABI: u32 = 0xa96a_a6c0;
pub const REVISION: u32 = 0x425c_d63a;
/// SERR, memory and bus master; and what shares the register of fatal reporting.
const BRIDGE_COMMAND: u16 = 0x0106;
const BRIDGE_CONTROL: u16 = 0x2817;

/// What an FPGA shows: PCI device, bytes of its BAR, MAGIC, ABI_HASH, REVISION.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Design {
    pub device: u16,
    pub bar: u64,
    pub magic: u32,
    pub abi: u32,
    pub revision: u32,
}

/// The build of the corpus, loaded.
pub const NEW: Design = Design {
    device: 0x903f,
    bar: 0x2_0000,
    magic: alcor_abi::MAGIC,
    abi: ABI,
    revision: REVISION,
};

/// What was there before.
pub const OLD: Design = Design {
    abi: 1,
    revision: 2,
    ..NEW
};

impl Design {
    /// As the file `fpga` has it.
    pub fn text(&self) -> String {
        let Design {
            device,
            bar,
            magic,
            abi,
            revision,
        } = self;
        format!("{device:x} {bar:x} {magic:x} {abi:x} {revision:x}")
    }

    fn of(text: &str) -> Design {
        let mut words = text
            .split_whitespace()
            .map(|word| u64::from_str_radix(word, 16).expect("a number"));
        let mut next = || words.next().expect("five numbers");
        Design {
            device: next() as u16,
            bar: next(),
            magic: next() as u32,
            abi: next() as u32,
            revision: next() as u32,
        }
    }
}

/// The kernel: what is written to sysfs has its effect, or fails on request.
#[derive(Debug)]
pub struct Kernel {
    root: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What was written, in order: `remove 0000:3b:00.0`.
    writes: Vec<String>,
    /// Writes that fail, and how often.
    faults: Vec<(String, usize)>,
    /// The card does not come back.
    is_lost: bool,
    /// The kernel gives a function that it finds to its driver at once.
    binds_itself: bool,
}

impl Kernel {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn design(&self) -> Design {
        Design::of(&fs::read_to_string(self.root.join("fpga")).expect("a design"))
    }

    fn device(&self, function: &str) -> PathBuf {
        self.root.join("bus/pci/devices").join(function)
    }

    fn appear(&self, function: &str) {
        let link = self.device(function);
        if link.exists() {
            return;
        }
        let folder = self.root.join("devices").join(BRIDGE).join(function);
        fs::create_dir_all(&folder).expect("a folder");
        let design = self.design();
        let last = 0xf000_0000 + design.bar - 1;
        let resource = format!(
            "0x00000000f0000000 {last:#018x} 0x40200\n0x00000000f1000000 0x00000000f100ffff 0x40200\n"
        );
        for (name, text) in [
            ("vendor", "0x10ee\n".to_owned()),
            ("device", format!("{:#06x}\n", design.device)),
            ("resource", resource),
            ("remove", String::new()),
        ] {
            fs::write(folder.join(name), text).expect("a file");
        }
        fs::write(folder.join("config"), space(0, 0)).expect("a file");
        symlink(folder, link).expect("a link");
    }

    fn bind(&self, function: &str) {
        let folder = self.device(function);
        symlink(
            self.root.join("bus/pci/drivers/xdma"),
            folder.join("driver"),
        )
        .expect("a link");
        let number = if function == CARD { 2 } else { 3 };
        for node in ["user", "control"] {
            fs::create_dir_all(folder.join(format!("xdma/xdma{number}_{node}"))).expect("a folder");
        }
    }

    fn unbind(&self, function: &str) {
        let folder = self.device(function);
        fs::remove_file(folder.join("driver")).expect("no link");
        fs::remove_dir_all(folder.join("xdma")).expect("no folder");
    }

    fn rescan(&self) {
        let (is_lost, binds_itself) = {
            let state = self.state();
            (state.is_lost, state.binds_itself)
        };
        for function in [CARD, SECOND] {
            if !is_lost && !self.device(function).exists() {
                self.appear(function);
                if binds_itself {
                    self.bind(function);
                }
            }
        }
    }
}

/// Configuration space with PCI Express's capability at 0x70.
fn space(command: u16, control: u16) -> Vec<u8> {
    let mut space = vec![0; 256];
    space[0x04..0x06].copy_from_slice(&command.to_le_bytes());
    space[0x06] = 0x10;
    space[0x34] = 0x70;
    space[0x70] = 0x10;
    space[0x78..0x7a].copy_from_slice(&control.to_le_bytes());
    space
}

impl Nodes for Kernel {
    fn map(&self, path: &Path, _first: u64, bytes: usize) -> io::Result<Box<dyn Mapping>> {
        assert!(path.ends_with("xdma2_user"), "{path:?}");
        Ok(Box::new(Registers(self.design(), bytes)))
    }

    fn dma(&self, _path: &Path, _way: Way) -> io::Result<Box<dyn Dma>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn event(&self, _path: &Path) -> io::Result<Box<dyn EventNode>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn store(&self, path: &Path, at: u64, bytes: &[u8]) -> io::Result<()> {
        let place = path.strip_prefix(&self.root).expect("a file of this host");
        let words: Vec<&str> = place
            .iter()
            .map(|word| word.to_str().expect("text"))
            .collect();
        let text = String::from_utf8_lossy(bytes);
        let write = match words[..] {
            ["bus", "pci", "rescan"] => "rescan".to_owned(),
            ["bus", "pci", "drivers", driver, what] => format!("{what} {text} {driver}"),
            ["bus", "pci", "devices", _, "driver", what] => format!("{what} {text}"),
            ["bus", "pci", "devices", function, "config"] => format!("config {function} {at:#x}"),
            ["bus", "pci", "devices", function, what] => format!("{what} {function}"),
            _ => panic!("a write to {place:?}"),
        };
        {
            let mut state = self.state();
            state.writes.push(write.clone());
            let fault = state
                .faults
                .iter_mut()
                .find(|(of, left)| *of == write && *left > 0);
            if let Some((_, left)) = fault {
                *left -= 1;
                return Err(io::Error::from_raw_os_error(5));
            }
        }
        // What is not there is not made.
        let file = fs::OpenOptions::new().write(true).open(path)?;
        match write.split(' ').collect::<Vec<_>>()[..] {
            ["rescan", ..] => self.rescan(),
            ["remove", function] => {
                let link = self.device(function);
                fs::remove_dir_all(fs::read_link(&link).expect("a link")).expect("no folder");
                fs::remove_file(link).expect("no link");
            }
            ["bind", function, "xdma"] => self.bind(function),
            ["unbind", function] => self.unbind(function),
            ["config", ..] => file.write_all_at(bytes, at)?,
            _ => panic!("a write of {write}"),
        }
        Ok(())
    }
}

struct Registers(Design, usize);

impl Mapping for Registers {
    fn bytes(&self) -> usize {
        self.1
    }
    fn read32(&self, offset: usize) -> u32 {
        use alcor_abi::board;
        match offset as u32 {
            board::MAGIC => self.0.magic,
            board::ABI_HASH => self.0.abi,
            board::REVISION => self.0.revision,
            _ => 0,
        }
    }
    fn write32(&self, _offset: usize, _value: u32) {
        panic!("a deployment writes no register");
    }
    fn read64(&self, _offset: usize) -> u64 {
        0
    }
    fn write64(&self, _offset: usize, _value: u64) {
        panic!("a deployment writes no register");
    }
}

/// The host, with a card of two functions, a build, and a programmer that loads it.
pub struct Host {
    folder: TempDir,
    pub kernel: Arc<Kernel>,
}

impl Host {
    pub fn new() -> Host {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("sys");
        for path in ["bus/pci/devices", "bus/pci/drivers/xdma", "devices"] {
            fs::create_dir_all(root.join(path)).expect("a folder");
        }
        let bridge = root.join("devices").join(BRIDGE);
        fs::create_dir(&bridge).expect("a folder");
        symlink(&bridge, root.join("bus/pci/devices").join(BRIDGE)).expect("a link");
        for (path, bytes) in [
            ("bus/pci/rescan".into(), Vec::new()),
            ("bus/pci/drivers/xdma/bind".into(), Vec::new()),
            ("bus/pci/drivers/xdma/unbind".into(), Vec::new()),
            (format!("devices/{BRIDGE}/rescan"), Vec::new()),
            (
                format!("devices/{BRIDGE}/config"),
                space(BRIDGE_COMMAND, BRIDGE_CONTROL),
            ),
            (format!("devices/{BRIDGE}/vendor"), b"0x8086\n".to_vec()),
            (format!("devices/{BRIDGE}/device"), b"0x2030\n".to_vec()),
            (format!("devices/{BRIDGE}/resource"), Vec::new()),
            ("fpga".into(), OLD.text().into_bytes()),
        ] {
            fs::write(root.join(path), bytes).expect("a file");
        }
        let kernel = Kernel {
            root,
            state: Mutex::default(),
        };
        kernel.rescan();
        for function in [CARD, SECOND] {
            kernel.bind(function);
        }
        let host = Host {
            folder,
            kernel: Arc::new(kernel),
        };
        fs::create_dir_all(host.path("proc/7")).expect("a folder");
        host.plant_build();
        host.programmer(&format!("echo {} > \"$FPGA\"", NEW.text()));
        host
    }

    fn plant_build(&self) {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bitstreams/tests/corpus");
        let build = self.path("build");
        fs::create_dir(&build).expect("a folder");
        for (name, from) in [
            ("u280.bit", "bit/good-u280.bit"),
            ("manifest.toml", "manifest/good-u280.toml"),
        ] {
            fs::copy(corpus.join(from), build.join(name)).expect("a file");
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Has the programmer do this, in a shell. It notes what the bus was like while it ran.
    pub fn programmer(&self, body: &str) {
        let root = self.kernel.root.display();
        let text = format!(
            "#!/bin/sh\nFPGA={root}/fpga\nBUS={root}/bus/pci/devices\nls $BUS > {0}/during\ncp $BUS/{BRIDGE}/config {0}/during-config\necho \"$@\" > {0}/arguments\n{body}\n",
            self.folder.path().display()
        );
        // Written aside: a file that is open for writing can't be run, and another test's child may hold it for a moment.
        let path = self.path("programmer");
        let _ = fs::remove_file(&path);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("rights");
    }

    pub fn machine(&self) -> Machine {
        let nodes = Arc::clone(&self.kernel);
        Machine::at(self.path("sys"), self.path("dev"), nodes)
    }

    pub fn deploy(&self) -> Deploy {
        Deploy {
            machine: self.machine(),
            address: address(CARD),
            build: self.path("build"),
            programmer: Programmer {
                name: "script".into(),
                // Through the shell, so that nobody runs a file that is being written.
                command: [
                    "/bin/sh".into(),
                    self.path("programmer").display().to_string(),
                    "{serial}".into(),
                    "{bit}".into(),
                ]
                .into(),
            },
            serial: Some("SERIAL".into()),
            places: Places {
                locks: self.path("locks"),
                proc: self.path("proc"),
                dev: self.path("dev"),
            },
            patience: Patience {
                program: Duration::from_secs(20),
                appear: Duration::from_millis(100),
            },
        }
    }

    pub fn run(&self) -> Result<Manifest, Box<Failure>> {
        self.deploy().run(&AtomicBool::new(false), &mut |_| {})
    }

    /// Has the next `times` of these writes fail.
    pub fn fail(&self, write: &str, times: usize) {
        self.kernel.state().faults.push((write.to_owned(), times));
    }

    pub fn lose_card(&self) {
        self.kernel.state().is_lost = true;
    }

    pub fn bind_by_itself(&self) {
        self.kernel.state().binds_itself = true;
    }

    pub fn writes(&self) -> Vec<String> {
        self.kernel.state().writes.clone()
    }

    pub fn is_present(&self, function: &str) -> bool {
        self.kernel.device(function).exists()
    }

    pub fn driver(&self, function: &str) -> Option<String> {
        self.machine().driver_of(address(function))
    }

    /// The bridge's command and device control registers.
    pub fn bridge(&self) -> (u16, u16) {
        let config = self.machine().config(address(BRIDGE));
        let read = |offset| config.read16(offset).expect("a register");
        (read(4), read(0x78))
    }

    /// Whether all is as before a deployment.
    pub fn assert_untouched(&self, name: &str) {
        for function in [CARD, SECOND] {
            assert!(self.is_present(function), "{name}: {function} is there");
            let driver = self.driver(function);
            assert_eq!(
                driver.as_deref(),
                Some("xdma"),
                "{name}: driver of {function}"
            );
        }
        self.assert_bridge_restored(name);
    }

    pub fn assert_bridge_restored(&self, name: &str) {
        assert_eq!(
            self.bridge(),
            (BRIDGE_COMMAND, BRIDGE_CONTROL),
            "{name}: the bridge"
        );
    }

    /// The whole host, to see that nothing of it has changed.
    pub fn snapshot(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let about = path.symlink_metadata().expect("metadata");
                if about.is_dir() {
                    folders.push(path.clone());
                    found.push((path, Vec::new()));
                } else if about.is_symlink() {
                    let target = fs::read_link(&path).expect("a link");
                    found.push((path, target.into_os_string().into_encoded_bytes()));
                } else {
                    let bytes = fs::read(&path).expect("a file");
                    found.push((path, bytes));
                }
            }
        }
        found.sort();
        found
    }
}

pub fn address(text: &str) -> PciAddress {
    text.parse().expect("an address")
}

/// Runs a deployment and keeps what it tells: names of steps, `done` behind them, lines, and what was undone.
pub fn told(deploy: &Deploy, stop: &AtomicBool) -> (Vec<String>, Result<Manifest, Box<Failure>>) {
    let mut told = Vec::new();
    let result = deploy.run(stop, &mut |event| {
        told.push(match event {
            Event::Begins(step, _) => step.name().to_owned(),
            Event::Done(step) => format!("{step} done"),
            Event::Line(line) => format!("> {line}"),
            Event::Undone(undone) => format!("undo {}: {}", undone.what, undone.result.is_ok()),
            other => panic!("{other:?}"),
        });
    });
    (told, result)
}

/// All steps, each begun and done.
pub fn all_steps() -> Vec<String> {
    let names = |step: Step| [step.name().to_owned(), format!("{step} done")];
    Step::ALL.into_iter().flat_map(names).collect()
}
