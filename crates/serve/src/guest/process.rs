//! A guest as a process of this machine: its files, its start, what it writes, and its end.
//!
//! It writes into files without a name, which never make it wait; so its course does not depend on
//! who reads. Its folder goes with it, and so do its processes, whichever way the run ends.

use super::addresses::FixedAddresses;
use super::blocks;
use super::image::FileSystem;
use crate::listen::{Address, Listener};
use manx_core::host::BlockRequest;
use manx_core::units;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::fcntl_dupfd_cloexec;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The kernel that `make linux` built, and the first process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// User Mode Linux, one program.
    pub kernel: PathBuf,
    /// The first process, without libraries.
    pub init: PathBuf,
    /// Random numbers of the guest's kernel for programs that take the processor's.
    pub random_device: PathBuf,
}

impl Image {
    /// The image in a folder.
    pub fn of(folder: &Path) -> Self {
        let [kernel, init, random_device] =
            ["linux", "init", "random_device.so"].map(|name| folder.join(name));
        Self { kernel, init, random_device }
    }

    /// The first of its files that is not there.
    pub fn missing(&self) -> Option<&Path> {
        let files = [&self.kernel, &self.init, &self.random_device];
        files.into_iter().find(|file| !file.is_file()).map(PathBuf::as_path)
    }
}

/// A guest's task.
#[derive(Clone, Debug)]
pub struct Mission {
    /// Folder of the host that is the guest's root, beneath an overlay.
    pub root: PathBuf,
    /// Working folder in the guest.
    pub work: PathBuf,
    /// The command and its arguments.
    pub command: Vec<Vec<u8>>,
    /// Bytes of memory.
    pub memory: u64,
    /// Of the guest's random numbers.
    pub seed: u64,
    /// Disks; with a network its one device.
    pub disks: usize,
    /// The name of the NVMe subsystem that the guest connects to, in place of disks, and how many
    /// namespaces it has.
    pub network: Option<(String, usize)>,
    /// After a power loss: what the guest before had said.
    pub before: Option<Vec<u8>>,
    /// The root is the file system in a file of the folder `root`.
    pub image: Option<RootImage>,
    /// Processor time of the guest that things cost.
    pub cost: Cost,
    /// The block layer's events are kept.
    pub has_events: bool,
}

/// A file system in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootImage {
    /// The file's name within its folder.
    pub file: OsString,
    /// The kind of file system.
    pub kind: FileSystem,
}

/// Processor time of a guest; none of it is taken where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Of a system call, before it is carried out.
    pub syscall: units::Duration,
    /// Of a request of a disk, when the system call under way ends.
    pub request: units::Duration,
}

/// Output of a guest since it was last asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// To standard output.
    pub out: Vec<u8>,
    /// To standard error.
    pub err: Vec<u8>,
}

/// A file without a name that the guest writes.
#[derive(Debug)]
struct Written {
    file: File,
    read: u64,
}

impl Written {
    fn new(name: &str) -> io::Result<Self> {
        let file: OwnedFd = memfd_create(name, MemfdFlags::CLOEXEC)?;
        // Not one of the numbers under which the guest gets them.
        Ok(Self { file: fcntl_dupfd_cloexec(&file, 16)?.into(), read: 0 })
    }

    fn more(&mut self) -> Vec<u8> {
        let length = self.file.metadata().map_or(0, |about| about.len());
        let mut bytes = vec![0; length.saturating_sub(self.read) as usize];
        let count = self.file.read_at(&mut bytes, self.read).unwrap_or(0);
        bytes.truncate(count);
        self.read += count as u64;
        bytes
    }
}

/// A guest, from its folder to its end.
#[derive(Debug)]
pub struct Guest {
    folder: PathBuf,
    child: Option<Child>,
    console: Written,
    out: Written,
    err: Written,
    /// Its block layer's events, where they are wanted.
    events: Option<Written>,
    has_fixed_addresses: bool,
}

impl Guest {
    /// Its addresses, and with them the size of its memory, are those of every run.
    pub fn has_fixed_addresses(&self) -> bool {
        self.has_fixed_addresses
    }

    /// Makes the folder of a guest.
    ///
    /// # Errors
    /// It cannot be made, in words.
    pub fn prepare(image: &Image, mission: &Mission) -> Result<Self, String> {
        clear_stale();
        let folder = new_folder().map_err(|error| format!("a folder for the guest: {error}"))?;
        let files = || Ok((Written::new("console")?, Written::new("out")?, Written::new("err")?));
        let files: io::Result<_> = files();
        let (console, out, err) = files.map_err(|error| format!("files for output: {error}"))?;
        let events = mission.has_events.then(|| Written::new("events")).transpose();
        let events = events.map_err(|error| format!("a file for events: {error}"))?;
        let has_fixed_addresses = false;
        let guest = Self { folder, child: None, console, out, err, events, has_fixed_addresses };
        guest.fill(image, mission).map_err(|error| format!("the guest's folder: {error}"))?;
        Ok(guest)
    }

    fn fill(&self, image: &Image, mission: &Mission) -> io::Result<()> {
        let root = self.folder.join("root");
        for name in ["", "dev", "sys", "host", "lower", "upper", "new"] {
            fs::create_dir(root.join(name))?;
        }
        fs::copy(&image.init, root.join("init"))?;
        fs::copy(&image.random_device, root.join("random_device.so"))?;
        let places = [mission.root.as_os_str().as_bytes(), mission.work.as_os_str().as_bytes()];
        let words = places.into_iter().chain(mission.command.iter().map(Vec::as_slice));
        let job: Vec<u8> = words.flat_map(|word| [word, b"\0"].concat()).collect();
        if let Some(before) = &mission.before {
            fs::write(root.join("before"), before)?;
        }
        if let Some((name, namespaces)) = &mission.network {
            fs::write(root.join("subsystem"), format!("{name}\0/dev/nvme0n{namespaces}\0"))?;
        }
        if let Some(RootImage { file, kind }) = &mission.image {
            let words = [file.as_bytes(), kind.name().as_bytes(), kind.options().as_bytes()];
            fs::write(root.join("image"), [words.join(&b'\0'), vec![0]].concat())?;
        }
        fs::write(root.join("job"), job)
    }

    /// The sockets that the guest will connect to: of time, and of each disk.
    ///
    /// # Errors
    /// They cannot be made, in words.
    pub fn sockets(&self, disks: usize) -> Result<(Listener, Vec<Listener>), String> {
        let listen = |name: String| {
            let address = Address::Unix(self.folder.join(name), 0o600);
            Listener::bind(&address).map_err(|error| error.to_string())
        };
        let time = listen("time".to_string())?;
        let disks = (0..disks).map(|number| listen(format!("disk{number}")));
        Ok((time, disks.collect::<Result<_, _>>()?))
    }

    /// Starts it.
    ///
    /// # Errors
    /// The kernel cannot be run, in words.
    pub fn start(&mut self, image: &Image, mission: &Mission) -> Result<(), String> {
        let failed = |error: io::Error| format!("{}: {error}", image.kernel.display());
        let kind = if mission.network.is_some() { STREAMS } else { DISK };
        let (out, err) = (self.out.file.as_raw_fd(), self.err.file.as_raw_fd());
        let events = self.events.as_ref().map(|events| events.file.as_raw_fd());
        let console = || self.console.file.try_clone().map(Stdio::from).map_err(failed);
        let mut command = Command::new(std::path::absolute(&image.kernel).map_err(failed)?);
        command
            .arg(format!("mem={}M", mission.memory >> 20))
            .args(["rootfstype=hostfs", "rw", "init=/init", "norandmaps", "umid=guest"])
            // The guest's random numbers begin with this line: no word of it may differ from run to
            // run, and the folder's name does. A hostfs has no path but from the host's root.
            .arg("rootflags=/proc/self/cwd/root")
            .args(["con=null", "con0=null,fd:1", "con1=null,fd:3", "con2=null,fd:4"])
            .args(["uml_dir=uml", "time-travel=ext:time"])
            .args((0..mission.disks).map(|disk| format!("virtio_uml.device=disk{disk}:{kind}")))
            .env_clear()
            .env("MANX_GUEST_SEED", mission.seed.to_string())
            .env("MANX_GUEST_SYSCALL_NS", mission.cost.syscall.as_ns().to_string())
            .env("MANX_GUEST_REQUEST_NS", mission.cost.request.as_ns().to_string())
            .env("MANX_GUEST_EVENTS", u8::from(mission.has_events).to_string())
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(console()?)
            .stderr(console()?)
            .process_group(0);
        // SAFETY: between fork and exec only calls that a signal handler may make.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                libc::setrlimit(libc::RLIMIT_CORE, &none);
                let is_without = libc::dup2(out, 3) < 0
                    || libc::dup2(err, 4) < 0
                    || events.is_some_and(|events| libc::dup2(events, 5) < 0);
                match is_without {
                    true => Err(io::Error::last_os_error()),
                    false => Ok(()),
                }
            });
        }
        let addresses = FixedAddresses::here();
        self.has_fixed_addresses = addresses.is_some();
        self.child = Some(command.spawn().map_err(failed)?);
        Ok(())
    }

    /// Its output since this was last asked.
    pub fn output(&mut self) -> Output {
        Output { out: self.out.more(), err: self.err.more() }
    }

    /// Requests of its disks until now, as its block layer saw them.
    pub fn asked(&mut self) -> Vec<BlockRequest> {
        self.events.as_mut().map_or_else(Vec::new, |events| {
            events.read = 0;
            blocks::asked(&events.more())
        })
    }

    /// All that its command said so far.
    pub fn said(&mut self) -> Vec<u8> {
        self.out.read = 0;
        self.out.more()
    }

    /// The last lines of its console.
    pub fn last_words(&mut self, lines: usize) -> Vec<String> {
        self.console.read = 0;
        let text = String::from_utf8_lossy(&self.console.more()).replace('\r', "");
        let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        all[all.len().saturating_sub(lines)..].iter().map(ToString::to_string).collect()
    }

    /// Waits a moment for a process that ends by itself; how it ended, in words.
    pub fn ended(&mut self) -> Option<String> {
        let child = self.child.as_mut()?;
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(1) {
            if let Ok(Some(status)) = child.try_wait() {
                return Some(status.to_string());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        None
    }

    /// Its first process has ended.
    pub fn is_gone(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(Some(_))))
    }

    /// Ends all of its processes.
    pub fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        // SAFETY: the group is the child's own, and any of its processes that is left keeps its
        // number; without any the call fails.
        unsafe { libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL) };
        let _ = child.wait();
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Kinds of virtio devices (Virtio 1.2, 5).
const DISK: u32 = 2;
const STREAMS: u32 = 19;

const PREFIX: &str = "manx-guest-";

fn new_folder() -> io::Result<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("{PREFIX}{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    DirBuilder::new().mode(0o700).create(&folder)?;
    Ok(folder)
}

/// Takes away folders whose program was killed.
fn clear_stale() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let owner = owner.and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
