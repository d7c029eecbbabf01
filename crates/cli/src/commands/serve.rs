//! `manx serve`: the model of a scenario as a block device, until Ctrl-C.

use super::progress::Bar;
use super::{Failure, print, requests_file, store};
use crate::args::{Protocol, ServeArgs, quoted};
use crate::say::say_line;
use crate::screen::Screen;
use crate::signals::{self, STOP};
use manx_core::config::{ConfigError, Override, Scenario};
use manx_core::drive::{Drive, Storage};
use manx_core::host::Records;
use manx_core::nvme::{Attributes, Controller, Options};
use manx_core::stats::{Histogram, Percentiles};
use manx_core::units::Duration;
use manx_lab::cache::Cache;
use manx_lab::json::indented;
use manx_lab::load::Request;
use manx_lab::run::Sink;
use manx_lab::storage::{Ready, members, ready};
use manx_serve::nvme_tcp::Subsystem;
use manx_serve::vhost_user::Block;
use manx_serve::{
    Address, Clock, Export, Limits, Listener, Machine, Served, Server, Tally, Transport, Watch,
};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::time;

/// Members that are served one by one at most: the NVM Sets of a list.
const MEMBERS: usize = 31;

/// Serves.
pub fn run(args: &ServeArgs, screen: &Screen) -> Result<(), Failure> {
    let scenario = scenario(args)?;
    let sink = args.record.as_deref().map(|file| {
        let checked = requests_file::check(file).and_then(|()| requests_file::make(file, false));
        checked.map_err(|why| ConfigError::new(format!("--record {}: {why}", file.display())))
    });
    let sink = sink.transpose()?;
    let address = address(args)?;
    signals::listen();
    // Before the drive is prepared: an address that cannot be should not cost minutes.
    let listener = Listener::bind(&address).map_err(|error| ConfigError::new(error.to_string()))?;
    let cache = if args.no_cache { None } else { Cache::of_user() };
    let bar = Bar::new(screen, "preparing the drive", "pages");
    let mut progress = |done| {
        bar.show(done, None, "");
        !STOP.load(Ordering::Relaxed)
    };
    if let Some(folder) = &args.store {
        let machine = store::machine(folder, args, &scenario, cache.as_ref(), &mut progress);
        bar.clear();
        let Some(machine) = machine? else {
            return Err(Failure::Interrupted("nothing was served"));
        };
        return serve(args, &scenario, vec![machine], &listener, sink);
    }
    if args.members {
        let drives = members(&scenario, cache.as_ref(), &mut progress);
        bar.clear();
        let Some(drives) = drives? else { return Err(Failure::Interrupted("nothing was served")) };
        let machine = |drive| Machine::new(behind_nvme(args, &scenario, drive));
        let machines = drives.into_iter().map(machine).collect();
        return serve(args, &scenario, machines, &listener, sink);
    }
    let storage = ready(&scenario, cache.as_ref(), &mut progress);
    bar.clear();
    match storage? {
        None => Err(Failure::Interrupted("nothing was served")),
        Some(Ready::Drive(drive)) if args.protocol == Protocol::NvmeTcp => {
            let controller = behind_nvme(args, &scenario, *drive);
            serve(args, &scenario, vec![Machine::new(controller)], &listener, sink)
        }
        Some(Ready::Drive(drive)) => {
            serve(args, &scenario, vec![Machine::new(*drive)], &listener, sink)
        }
        Some(Ready::Array(array)) => {
            serve(args, &scenario, vec![Machine::new(*array)], &listener, sink)
        }
    }
}

fn scenario(args: &ServeArgs) -> Result<Scenario, Failure> {
    if let Some(set) = args.keys.sets.iter().find(|set| set.trim_start().starts_with("measure.")) {
        let why = format!("--set {set}: a server has no use for it: allowed are keys of the drive");
        return Err(ConfigError::new(why).into());
    }
    let device = args
        .device
        .as_deref()
        .map(|device| Override::new("device.name", quoted(device), format!("--device {device}")));
    let mut overrides: Vec<Override> = device.into_iter().collect();
    if let Some(folder) = &args.store {
        let by = format!("--store {}", folder.display());
        overrides.push(Override::new("recovery.keep", "true", by));
    }
    overrides.extend(args.keys.overrides()?);
    let request = Request::read(&args.scenario, overrides)?;
    let scenario = match &args.policy {
        Some(policy) => request.under(policy)?,
        None => request.plain()?,
    };
    let at = |key: &str| ConfigError::new(format!("{key}: a drive that is served has none"));
    if args.members && args.protocol != Protocol::NvmeTcp {
        let why = "--members: the protocol shows one: --protocol nvme-tcp";
        return Err(ConfigError::new(why).into());
    }
    let members = scenario.array.members as usize;
    if args.members && !(scenario.array.is_on() && members <= MEMBERS) {
        let why = format!("--members: the scenario needs array.members of 2 to {MEMBERS}");
        return Err(ConfigError::new(why).into());
    }
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
    Ok(scenario)
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
                "--listen {address}: other machines reach it, and there is neither password nor \
                 encryption: add --remote if that is meant"
            )))
        }
        (None, Some(address)) => Ok(Address::Tcp(address)),
        (None, None) => Err(ConfigError::new("--socket PATH or --listen ADDRESS:PORT is missing")),
    }
}

/// The watch of a command line: a signal or the time ends it.
struct Terminal {
    ends: Option<time::Instant>,
    sink: Option<Box<dyn Sink>>,
}

impl Watch for Terminal {
    fn stops(&self) -> bool {
        STOP.load(Ordering::Relaxed) || self.ends.is_some_and(|ends| time::Instant::now() >= ends)
    }

    fn tell(&mut self, line: &str) {
        say_line(line);
    }

    fn records(&mut self, records: &Records) -> Result<(), String> {
        self.sink.as_mut().map_or(Ok(()), |sink| sink.take(records))
    }
}

fn behind_nvme(args: &ServeArgs, scenario: &Scenario, drive: Drive) -> Controller {
    let attributes = Attributes::of(&drive, &scenario.drive, &scenario.gc);
    Controller::new(drive, attributes, options(args))
}

/// The drive's controller as hosts see it. A Linux takes no two drives with one identity, which
/// comes from the serial number: it is the name's FNV-1a.
fn options(args: &ServeArgs) -> Options {
    let hash = args.nqn.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let serial = format!("MANX{hash:016X}");
    Options { name: args.nqn.clone(), serial, ..Options::default() }
}

/// The protocol with what it shows of the model.
fn transport<S: Served>(
    args: &ServeArgs,
    scenario: &Scenario,
    machines: &mut [Machine<S>],
    listener: &Listener,
) -> Transport {
    let drives = machines.len() as u32;
    let machine = &mut machines[0];
    match args.protocol {
        Protocol::Nbd => Transport::Nbd(Export {
            name: args.export.clone(),
            description: described(scenario),
            preferred: machine.page_bytes() as u32,
        }),
        Protocol::NvmeTcp => {
            let drive = machine.storage().drive(0);
            Transport::NvmeTcp(Box::new(Subsystem {
                drives,
                attributes: Attributes::of(drive, &scenario.drive, &scenario.gc),
                options: options(args),
                has_controller: machine.storage_mut().controller().is_some(),
                address: listener.tcp(),
            }))
        }
        Protocol::VhostUser => Transport::VhostUser(Block {
            name: args.export.clone(),
            preferred: machine.page_bytes() as u32,
        }),
    }
}

fn described(scenario: &Scenario) -> String {
    format!("{}, a model of {}", scenario.name, scenario.device.name)
}

/// How a client connects.
fn place(args: &ServeArgs, listener: &Listener) -> String {
    match (args.protocol, listener.tcp()) {
        (Protocol::NvmeTcp, Some(address)) => {
            format!("nvme connect -t tcp -a {} -s {} -n {}", address.ip(), address.port(), args.nqn)
        }
        (Protocol::VhostUser, _) => match &args.socket {
            Some(path) => format!("vhost-user-blk at {}", path.display()),
            None => listener.uri(),
        },
        _ => listener.uri(),
    }
}

fn serve<S: Served>(
    args: &ServeArgs,
    scenario: &Scenario,
    machines: Vec<Machine<S>>,
    listener: &Listener,
    sink: Option<Box<dyn Sink>>,
) -> Result<(), Failure> {
    let recorded = |machine: Machine<S>| {
        if sink.is_some() { machine.with_records() } else { machine }
    };
    let mut machines: Vec<Machine<S>> = machines.into_iter().map(recorded).collect();
    let transport = transport(args, scenario, &mut machines, listener);
    let of = |time: Duration| time::Duration::from_nanos(time.as_ns());
    let limits = Limits {
        connections: args.connections as usize,
        spin: of(args.spin),
        late: of(args.late),
        ..Limits::default()
    };
    let ready = format!(
        "serving {} ({} bytes) at {}\n",
        described(scenario),
        bytes(&machines),
        place(args, listener)
    );
    match args.json {
        true => say_line(ready.trim_end()),
        false => print(&ready)?,
    }
    tell_service_manager();
    let lasts = args.lasts.filter(|lasts| lasts.as_ns() > 0);
    let ends = lasts.and_then(|lasts| time::Instant::now().checked_add(of(lasts)));
    let mut watch = Terminal { ends, sink };
    let clock = Clock::start(args.speed);
    let server = Server::new(machines, clock, listener, transport, limits);
    let mut server = server.map_err(|error| Failure::Work(format!("cannot serve: {error}")))?;
    let served = server.serve(&mut watch);
    let finished = watch.sink.as_mut().map_or(Ok(()), |sink| sink.finish());
    let tally = served.map_err(Failure::Work)?;
    let report = report(args, scenario, &tally, server.machines());
    match args.json {
        true => print(&(indented(&report) + "\n"))?,
        false => print(&in_words(&tally, server.machines()))?,
    }
    finished.map_err(Failure::Work)
}

/// Readiness for systemd, where it asks: `Type=notify`.
fn tell_service_manager() {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else { return };
    if let Ok(socket) = std::os::unix::net::UnixDatagram::unbound() {
        // It asked to be told; if it cannot be, it notices itself.
        let _ = socket.send_to(b"READY=1", path);
    }
}

fn report<S: Served>(
    args: &ServeArgs,
    scenario: &Scenario,
    tally: &Tally,
    machines: &[Machine<S>],
) -> Value {
    let drives = machines.iter().flat_map(|machine| {
        (0..machine.storage().drives()).map(|number| machine.storage().drive(number))
    });
    let operations: u64 = drives.map(|drive| drive.flash().operations().total()).sum();
    json!({
        "schema": "manx-serve-1",
        "scenario": scenario.name,
        "policy": args.policy,
        "device": scenario.device.name,
        "bytes": bytes(machines),
        "speed": args.speed.factor(),
        "wall_s": tally.wall_ns as f64 / 1e9,
        "model_s": tally.span.as_s_f64(),
        "requests": tally.requests(),
        "errors": tally.errors,
        "connections": tally.connections,
        "refused_connections": tally.refused,
        "faulty_connections": tally.faults,
        "read": tally.read.summary(tally.span),
        "write": tally.write.summary(tally.span),
        "trim": tally.trim.count_summary(),
        "flush": tally.flush.count_summary(),
        "lateness_us": lateness(&tally.lateness),
        "flash_operations": operations,
        "content_bytes": content_bytes(machines),
        "store": store::report(machines),
    })
}

fn lateness(histogram: &Histogram) -> Value {
    let Percentiles { p50, p99, p99_9, p99_99, .. } = Percentiles::of(histogram);
    let max = histogram.max().map(Duration::as_us_f64);
    json!({ "p50": p50.us, "p99": p99.us, "p99_9": p99_9.us, "p99_99": p99_99.us, "max": max })
}

/// Bytes that are served.
fn bytes<S: Storage>(machines: &[Machine<S>]) -> u64 {
    machines.iter().map(Machine::size).sum()
}

/// Bytes of memory for what clients wrote.
fn content_bytes<S: Storage>(machines: &[Machine<S>]) -> u64 {
    machines.iter().map(|machine| machine.content().memory_bytes()).sum()
}

fn in_words<S: Storage>(tally: &Tally, machines: &[Machine<S>]) -> String {
    let mut text = String::new();
    let shown = |us: Option<f64>| us.map_or("-".to_string(), |us| format!("{us:.1}"));
    let mut line = |name: &str, histogram: &Histogram| {
        let Percentiles { p50, p99, p99_9, .. } = Percentiles::of(histogram);
        let max = histogram.max().map(Duration::as_us_f64);
        let [p50, p99, p99_9, max] = [p50.us, p99.us, p99_9.us, max].map(shown);
        let count = histogram.count();
        text += &format!("{name:<10} {count:>10} {p50:>10} {p99:>10} {p99_9:>10} {max:>10}\n");
    };
    line("reads", &tally.read.histogram);
    line("writes", &tally.write.histogram);
    line("trims", &tally.trim.histogram);
    line("flushes", &tally.flush.histogram);
    line("lateness", &tally.lateness);
    let head = format!(
        "{:<10} {:>10} {:>10} {:>10} {:>10} {:>10}\n",
        "us", "count", "p50", "p99", "p99.9", "max"
    );
    let Tally { connections, refused, faults, errors, span, wall_ns, .. } = tally;
    format!(
        "{head}{text}{} requests, {errors} errors, {connections} connections ({refused} refused, \
         {faults} faulty), {:.3} s of the model in {:.3} s, {} bytes of content\n\
         lateness: from the model's completion to the socket, in wall time; the others are the \
         model's own time\n",
        tally.requests(),
        span.as_s_f64(),
        *wall_ns as f64 / 1e9,
        content_bytes(machines),
    )
}
