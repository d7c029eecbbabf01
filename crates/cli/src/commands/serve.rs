//! `manx serve`: the model of a scenario as a block device, until Ctrl-C.

mod log;
mod tls;
mod told;
mod watch;

use super::knobs::Knobs;
use super::progress::Bar;
use super::{Failure, print, requests_file, store};
use crate::args::{Compensation, Protocol, ServeArgs};
use crate::say::say_line;
use crate::screen::Screen;
use crate::signals::{self, STOP};
use manx_config::{ConfigError, Override, Scenario};
use manx_core::drive::{Drive, DriveSpec};
use manx_core::ftl::GcSpec;
use manx_core::nvme::{Attributes, Controller, Options};
use manx_core::units::{Duration, SECTOR};
use manx_lab::ask::quoted;
use manx_lab::cache::Cache;
use manx_lab::json::indented;
use manx_lab::load::Request;
use manx_lab::run::Sink;
use manx_lab::storage::{Ready, members, ready};
use manx_serve::nbd::Exports;
use manx_serve::nvme_tcp::Subsystem;
use manx_serve::vhost_user::Block;
use manx_serve::{
    Address, ArrayHost, Clock, Engine, Export, Limits, Listener, Machine, Served, Server,
    Transport, floor,
};
use std::sync::atomic::Ordering;
use std::time;
use tls::{certificates, check_tls};
use told::{bytes, in_words, report};
use watch::{Terminal, beside, tell_service_manager};

/// Members that are served one by one at most: the NVM Sets of a list.
const MEMBERS: usize = 31;

/// A signal came before anything was served.
const INTERRUPTED: Failure = Failure::Interrupted("nothing was served");

/// Serves.
pub fn run(args: &ServeArgs, screen: &Screen) -> Result<(), Failure> {
    log::begin(args.log);
    let (request, scenario) = scenario(args)?;
    let sink = args.record.as_deref().map(|file| {
        let checked = requests_file::check_one(file);
        let checked = checked.and_then(|()| requests_file::make(file, false));
        checked.map_err(|why| ConfigError::new(format!("--record {}: {why}", file.display())))
    });
    let sink = sink.transpose()?;
    let given = Listener::given().map_err(|error| ConfigError::new(error.to_string()))?;
    let address = if given.is_some() { None } else { Some(address(args)?) };
    let knobs = Knobs::new(request, args.policy.clone(), scenario.clone());
    signals::listen();
    // Before the drive is prepared: an address that cannot be should not cost minutes.
    let listener = match (given, address) {
        (Some(given), _) => checked(args, given)?,
        (None, Some(address)) => {
            Listener::bind(&address).map_err(|error| ConfigError::new(error.to_string()))?
        }
        (None, None) => return Err(ConfigError::new("there is no socket").into()),
    };
    let (scenario, listener) = (&scenario, &listener);
    Serving { args, scenario, knobs, listener, sink }.begin(screen)
}

/// A server before it has its engines.
struct Serving<'a> {
    args: &'a ServeArgs,
    scenario: &'a Scenario,
    knobs: Knobs,
    listener: &'a Listener,
    sink: Option<Box<dyn Sink>>,
}

impl Serving<'_> {
    /// Connects to the members, or prepares the drives, and serves them.
    fn begin(self, screen: &Screen) -> Result<(), Failure> {
        let Self { args, scenario, .. } = self;
        if let Some(members) = args.members.as_deref().filter(|members| !members.is_empty()) {
            let clock = Clock::start(args.speed);
            let unit = (scenario.device.geometry.map_unit.get() / SECTOR) as u32;
            let host = ArrayHost::connect(&scenario.array, members, unit, &clock, scenario.seed);
            let host = host.map_err(|error| ConfigError::new(format!("--members: {error}")))?;
            let host = if self.sink.is_some() { host.with_records() } else { host };
            return self.serve(vec![host], clock);
        }
        let cache = if args.no_cache { None } else { Cache::of_user() };
        let bar = Bar::new(screen, "preparing the drive", "pages");
        let mut progress = |done| {
            bar.show(done, None, "");
            !STOP.load(Ordering::Relaxed)
        };
        let is_nvme = args.protocol == Protocol::NvmeTcp;
        let behind = Behind::new(args, scenario);
        if let Some(folder) = &args.store {
            let made = (cache.as_ref(), &mut progress as &mut dyn FnMut(u64) -> bool);
            return if is_nvme {
                let machine =
                    store::machine(folder, args, scenario, made, move |drive| behind.nvme(drive));
                bar.clear();
                self.serve_model(machine?.map(|machine| vec![machine]))
            } else {
                let machine = store::machine(folder, args, scenario, made, |drive| drive);
                bar.clear();
                self.serve_model(machine?.map(|machine| vec![machine]))
            };
        }
        if serves_each(args) {
            let drives = members(scenario, cache.as_ref(), &mut progress);
            bar.clear();
            let drives = drives?.map(Vec::into_iter);
            return if is_nvme {
                let machine = |drive| Machine::new(behind.nvme(drive));
                self.serve_model(drives.map(|drives| drives.map(machine).collect()))
            } else {
                self.serve_model(drives.map(|drives| drives.map(Machine::new).collect()))
            };
        }
        let storage = ready(scenario, cache.as_ref(), &mut progress);
        bar.clear();
        match storage? {
            None => Err(INTERRUPTED),
            Some(Ready::Drive(drive)) if is_nvme => {
                self.serve_model(Some(vec![Machine::new(behind.nvme(*drive))]))
            }
            Some(Ready::Drive(drive)) => self.serve_model(Some(vec![Machine::new(*drive)])),
            Some(Ready::Array(array)) => self.serve_model(Some(vec![Machine::new(*array)])),
        }
    }

    /// Serves engines of the model, if they were prepared: their clock starts when they are ready.
    fn serve_model<S: Served>(self, machines: Option<Vec<Machine<S>>>) -> Result<(), Failure> {
        let is_recorded = self.sink.is_some();
        let recorded =
            |machine: Machine<S>| if is_recorded { machine.with_records() } else { machine };
        let machines = machines.ok_or(INTERRUPTED)?.into_iter().map(recorded).collect();
        let clock = Clock::start(self.args.speed);
        self.serve(machines, clock)
    }

    fn serve<E: Engine>(self, mut engines: Vec<E>, clock: Clock) -> Result<(), Failure> {
        let Self { args, scenario, knobs, listener, sink } = self;
        let transport = transport(args, scenario, &mut engines, listener)?;
        let of = |time: Duration| time::Duration::from_nanos(time.as_ns());
        let limits = Limits {
            connections: args.connections as usize,
            spin: of(args.spin),
            late: of(args.late),
            compensation: compensation(args, scenario, listener)?,
            ..Limits::default()
        };
        // An order may come as soon as the line below is read.
        let (orders, _control) = beside(args)?;
        let ready = format!(
            "serving {} ({} bytes) at {}\n",
            described(args, scenario),
            bytes(&engines),
            place(args, listener)
        );
        match args.json {
            true => say_line(ready.trim_end()),
            false => print(&ready)?,
        }
        tell_service_manager();
        let lasts = args.lasts.filter(|lasts| lasts.as_ns() > 0);
        let ends = lasts.and_then(|lasts| time::Instant::now().checked_add(of(lasts)));
        let mut watch = Terminal { ends, sink, orders, knobs };
        let server = Server::new(engines, clock, listener, transport, limits);
        let mut server = server.map_err(|error| Failure::Work(format!("cannot serve: {error}")))?;
        let served = server.serve(&mut watch);
        let finished = watch.sink.as_mut().map_or(Ok(()), |sink| sink.finish());
        let tally = served.map_err(Failure::Work)?;
        let report = report(args, scenario, &tally, server.engines());
        match args.json {
            true => print(&(indented(&report) + "\n"))?,
            false => print(&in_words(&tally, server.engines()))?,
        }
        finished.map_err(Failure::Work)
    }
}

fn scenario(args: &ServeArgs) -> Result<(Request, Scenario), Failure> {
    if let Some(set) = args.keys.sets.iter().find(|set| set.trim_start().starts_with("measure.")) {
        let why = format!("--set {set}: a server has no use for it: allowed are keys of the drive");
        return Err(ConfigError::new(why).into());
    }
    let (request, scenario) = match (&args.store, &args.control) {
        (Some(folder), _) => read(args, Some(format!("--store {}", folder.display())))?,
        // For a snapshot, where a store can hold it; it changes no instant.
        (None, Some(_)) => match read(args, Some("--control".to_string())) {
            Ok((request, scenario)) if store::storable(&scenario).is_ok() => (request, scenario),
            _ => read(args, None)?,
        },
        (None, None) => read(args, None)?,
    };
    let at = |key: &str| ConfigError::new(format!("{key}: a drive that is served has none"));
    check_names(args)?;
    check_members(args, &scenario)?;
    check_tls(args)?;
    if args.store.is_some() {
        store::check(args, &scenario)?;
    }
    if scenario.recovery.cut_at.is_some() {
        return Err(at("recovery.cut_at").into());
    }
    if scenario.workload.act.is_some() {
        return Err(at("workload.act").into());
    }
    if scenario.measure.attribution {
        say_line("measure.attribution is not used: what is served has no attribution");
    }
    check_beside(args)?;
    Ok((request, scenario))
}

/// The scenario with the options' settings; what a recovery needs is kept where that is `kept_by`
/// something.
fn read(args: &ServeArgs, kept_by: Option<String>) -> Result<(Request, Scenario), Failure> {
    let device = args
        .device
        .as_deref()
        .map(|device| Override::new("device.name", quoted(device), format!("--device {device}")));
    let mut overrides: Vec<Override> = device.into_iter().collect();
    overrides.extend(kept_by.map(|by| Override::new("recovery.keep", "true", by)));
    overrides.extend(args.keys.overrides()?);
    let request = Request::read(&args.scenario, overrides)?;
    let scenario = match &args.policy {
        Some(policy) => request.under(policy)?,
        None => request.plain()?,
    };
    Ok((request, scenario))
}

/// Checks the options for services beside the drive.
fn check_beside(args: &ServeArgs) -> Result<(), ConfigError> {
    match args.live {
        Some(address) if !address.ip().is_loopback() => Err(ConfigError::new(format!(
            "--live {address}: the page takes orders, without a password: an address \
             of the loopback, such as 127.0.0.1:8080"
        ))),
        _ => Ok(()),
    }
}

/// The array's members are served one by one.
fn serves_each(args: &ServeArgs) -> bool {
    args.members.as_ref().is_some_and(Vec::is_empty)
}

/// Checks that the names given are those of the protocol.
fn check_names(args: &ServeArgs) -> Result<(), ConfigError> {
    match (args.protocol, &args.nqn, &args.export) {
        (Protocol::NvmeTcp, _, Some(name)) => Err(ConfigError::new(format!(
            "--export {name}: NVMe/TCP has no exports: the subsystem's name is --nqn"
        ))),
        (Protocol::Nbd | Protocol::VhostUser, Some(nqn), _) => {
            Err(ConfigError::new(format!("--nqn {nqn}: it goes with --protocol nvme-tcp")))
        }
        _ => Ok(()),
    }
}

/// Checks the options that go with `--members`, in both of its forms.
fn check_members(args: &ServeArgs, scenario: &Scenario) -> Result<(), ConfigError> {
    let Some(addresses) = &args.members else { return Ok(()) };
    let refused = |why: String| Err(ConfigError::new(format!("--members: {why}")));
    let (array, members) = (&scenario.array, scenario.array.members as usize);
    if addresses.is_empty() {
        return match () {
            () if args.protocol == Protocol::VhostUser => {
                refused("the protocol shows one: --protocol nbd, nvme-tcp".to_string())
            }
            () if !(array.is_on() && members <= MEMBERS) => {
                refused(format!("the scenario needs array.members of 2 to {MEMBERS}"))
            }
            () if args.record.is_some() => {
                refused("with --record there is one record of several drives".to_string())
            }
            () => Ok(()),
        };
    }
    let twice = addresses.iter().enumerate().find(|(at, one)| addresses[..*at].contains(one));
    match () {
        () if !array.is_on() || members != addresses.len() => refused(format!(
            "{} are given, and the scenario has array.members={members}",
            addresses.len()
        )),
        () if twice.is_some() => refused("a member is given twice".to_string()),
        () if args.protocol == Protocol::NvmeTcp => {
            refused("a host of members serves NBD or vhost-user".to_string())
        }
        () if args.compensate != Compensation::Of(Duration::ZERO) => {
            refused("--compensate: the drives answer in their own time".to_string())
        }
        () if !array.replace_after.is_zero() => {
            refused("array.replace_after: there is no spare drive on the network".to_string())
        }
        () => Ok(()),
    }
}

fn address(args: &ServeArgs) -> Result<Address, ConfigError> {
    match (&args.socket, args.listen) {
        (Some(path), _) if args.protocol == Protocol::NvmeTcp => Err(ConfigError::new(format!(
            "--socket {}: NVMe/TCP goes by TCP: --listen ADDRESS:PORT",
            path.display()
        ))),
        (None, Some(address)) if args.protocol == Protocol::VhostUser => Err(ConfigError::new(
            format!("--listen {address}: vhost-user shares memory on this machine: --socket PATH"),
        )),
        (Some(path), _) => Ok(Address::Unix(path.clone(), args.mode)),
        (None, Some(address)) if !address.ip().is_loopback() && !args.remote => {
            Err(ConfigError::new(format!(
                "--listen {address}: other machines reach it{}: add --remote if that is meant",
                if args.tls_verify_peer { "" } else { " without showing a certificate" }
            )))
        }
        (None, Some(address)) => Ok(Address::Tcp(address)),
        (None, None) => Err(ConfigError::new("--socket PATH or --listen ADDRESS:PORT is missing")),
    }
}

/// The way to put a drive behind an NVMe controller.
struct Behind {
    options: Options,
    drive: DriveSpec,
    gc: GcSpec,
}

impl Behind {
    fn new(args: &ServeArgs, scenario: &Scenario) -> Self {
        let Scenario { drive, gc, .. } = scenario;
        Self { options: options(args), drive: drive.clone(), gc: gc.clone() }
    }

    fn nvme(&self, drive: Drive) -> Controller {
        let attributes = Attributes::of(&drive, &self.drive, &self.gc);
        Controller::new(drive, attributes, self.options.clone())
    }
}

/// The drive's controller as hosts see it. A Linux takes no two drives with one identity, which
/// comes from the serial number: it is the name's FNV-1a.
fn options(args: &ServeArgs) -> Options {
    let hash = args.nqn().bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let serial = format!("MANX{hash:016X}");
    Options { name: args.nqn().to_string(), serial, ..Options::default() }
}

/// The protocol with what it shows of the model.
fn transport<E: Engine>(
    args: &ServeArgs,
    scenario: &Scenario,
    engines: &mut [E],
    listener: &Listener,
) -> Result<Transport, ConfigError> {
    let drives = engines.len() as u32;
    let engine = &mut engines[0];
    let preferred = engine.page_bytes() as u32;
    let has_controller = engine.controller().is_some();
    Ok(match (args.protocol, engine.drive(0)) {
        (Protocol::NvmeTcp, Some(drive)) => Transport::NvmeTcp(Box::new(Subsystem {
            drives,
            attributes: Attributes::of(drive, &scenario.drive, &scenario.gc),
            options: options(args),
            has_controller,
            address: listener.tcp(),
        })),
        (Protocol::VhostUser, _) => {
            Transport::VhostUser(Block { name: args.export().to_string(), preferred })
        }
        // A host of members is no NVMe subsystem, and was refused as one.
        (Protocol::Nbd | Protocol::NvmeTcp, _) => {
            let export = |drive: u32| Export {
                name: match serves_each(args) {
                    true => format!("{}-{}", args.export(), drive + 1),
                    false => args.export().to_string(),
                },
                description: described(args, scenario),
                preferred,
            };
            Transport::Nbd(Exports {
                all: (0..drives).map(export).collect(),
                tls: certificates(args)?,
            })
        }
    })
}

fn described(args: &ServeArgs, scenario: &Scenario) -> String {
    match args.members.as_ref().map_or(0, Vec::len) {
        0 if serves_each(args) => {
            format!("{}, a drive of an array, a model of {}", scenario.name, scenario.device.name)
        }
        0 => format!("{}, a model of {}", scenario.name, scenario.device.name),
        members => format!("{}, an array of {members} drives elsewhere", scenario.name),
    }
}

/// A socket of systemd's, if the protocol goes by it.
fn checked(args: &ServeArgs, given: Listener) -> Result<Listener, ConfigError> {
    let refused = |why: &str| Err(ConfigError::new(format!("LISTEN_FDS: {why}")));
    match (args.protocol, given.tcp()) {
        _ if args.socket.is_some() || args.listen.is_some() => {
            refused("the socket is systemd's: neither --socket nor --listen goes with it")
        }
        (Protocol::NvmeTcp, None) => refused("NVMe/TCP goes by TCP, and it is no socket of TCP"),
        (Protocol::VhostUser, Some(_)) => refused("vhost-user goes by a socket in the file system"),
        (_, Some(address)) if !address.ip().is_loopback() && !args.remote => {
            refused("other machines reach it: add --remote if that is meant")
        }
        _ => Ok(given),
    }
}

/// The transport's time that is taken off, measured where that is asked for.
fn compensation(
    args: &ServeArgs,
    scenario: &Scenario,
    listener: &Listener,
) -> Result<time::Duration, Failure> {
    match args.compensate {
        Compensation::Of(time) => Ok(time::Duration::from_nanos(time.as_ns())),
        Compensation::Auto if args.protocol == Protocol::VhostUser => Err(ConfigError::new(
            "--compensate auto: a guest's requests come through its memory: a time is wanted",
        )
        .into()),
        Compensation::Auto => {
            let read = scenario.device.timing.read.iter().min().map_or(0, |read| read.as_ns());
            let read = time::Duration::from_nanos(args.speed.wall_ns(read).min(10_000_000));
            let floor = floor(listener, read).map_err(|error| {
                Failure::Work(format!("--compensate auto: no round trip could be made: {error}"))
            })?;
            let shown = floor.as_nanos() as f64 / 1e3;
            say_line(&format!(
                "a round trip takes {shown:.1} us beside the drive: it is taken off"
            ));
            Ok(floor.min(time::Duration::from_millis(1)))
        }
    }
}

/// How a client connects.
fn place(args: &ServeArgs, listener: &Listener) -> String {
    match (args.protocol, listener.tcp()) {
        (Protocol::NvmeTcp, Some(address)) => {
            format!(
                "nvme connect -t tcp -a {} -s {} -n {}",
                address.ip(),
                address.port(),
                args.nqn()
            )
        }
        (Protocol::VhostUser, _) => match &args.socket {
            Some(path) => format!("vhost-user-blk at {}", path.display()),
            None => listener.uri(false),
        },
        _ => listener.uri(args.tls_certificates.is_some()),
    }
}
