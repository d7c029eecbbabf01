//! A member that is elsewhere: a namespace of an NVMe/TCP target, as an array's link.
//!
//! The target's clock is not the host's: the schedule of windows goes to it in its own time, by the
//! difference that log C0h shows. Where that log is not known, windows are refused.

use super::Elsewhere;
use super::address::MemberAddress;
use super::ledger::Shared;
use crate::clock::Clock;
use crate::nvme_tcp::host::{Names, Pair, Said, named};
use manx_core::array::MemberLink;
use manx_core::drive::{Command, CommandId, Completion, Op, Status};
use manx_core::nvme::log::{self, PredictableLog, VendorLog};
use manx_core::nvme::plm::{Config, Window};
use manx_core::nvme::{Sqe, StatusField, feature, identify};
use manx_core::units::{Instant, SECTOR};
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd};
use std::time;

/// How long a target may take for an answer while it is connected.
const PATIENCE: time::Duration = time::Duration::from_secs(5);
/// How long its clock is watched.
const WATCHED: time::Duration = time::Duration::from_millis(40);
/// How far its pace may be from the host's.
const PACE: f64 = 0.05;
/// How long a target with commands under way may be silent, at the speed of the wall.
const SILENCE: time::Duration = time::Duration::from_secs(30);
/// Properties: controller configuration, enabled with entries of 64 and 16 bytes; its status.
const CONFIGURATION: (u32, u32) = (0x14, 4 << 20 | 6 << 16 | 1);
const STATUS: u32 = 0x1c;
/// Feature 07h: two queues of each kind are more than enough.
const NUMBER_OF_QUEUES: u8 = 0x07;

/// A command at the target.
#[derive(Clone, Copy, Debug)]
struct Flying {
    op: Op,
    /// Its first byte within a page.
    from: usize,
}

/// A command that has ended.
#[derive(Debug)]
struct Arrived {
    at: Instant,
    id: CommandId,
    flying: Flying,
    status: Status,
    dnr: bool,
    result: u64,
    data: Vec<u8>,
}

/// The target's promises and its clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// Sectors of the namespace.
    pub sectors: u64,
    /// Bytes between the mark at which it begins to collect and the critical one; 0: unknown.
    pub reserve: u64,
    nvm_set: u16,
    /// Nanoseconds by which its clock is ahead of the host's.
    ahead: Option<i64>,
}

/// A member that is reached over the network.
#[derive(Debug)]
pub struct Remote {
    name: String,
    namespace: u32,
    ledger: Shared,
    page_sectors: u64,
    admin: Pair,
    io: Pair,
    facts: Facts,
    flying: BTreeMap<CommandId, Flying>,
    /// Commands that wait for room in the queue, with their bytes.
    waiting: VecDeque<(CommandId, Sqe, Vec<u8>, usize)>,
    arrived: VecDeque<Arrived>,
    /// Admin commands that are not answered, by number: their names.
    asked: BTreeMap<u64, &'static str>,
    next_ask: u64,
    is_gone: bool,
    /// When the target said something last, or was asked with nothing under way, and how long it
    /// may be silent.
    heard: time::Instant,
    silence: time::Duration,
    /// The time of the last look.
    now: Instant,
    news: Vec<String>,
}

impl Remote {
    /// Connects to a member, whose clock must run as fast as `clock`.
    pub(super) fn connect(
        address: &MemberAddress,
        host: &str,
        ledger: &Shared,
        page_sectors: u32,
        clock: &Clock,
    ) -> Result<Self, String> {
        let at = address.resolve()?;
        let names = Names { host, subsystem: &address.nqn };
        let mut admin = Pair::open(at, PATIENCE)?;
        let controller = admin.connect(names, None, 0, PATIENCE)?;
        enable(&mut admin)?;
        let carries = in_capsule(&mut admin)?;
        let mut io = Pair::open(at, PATIENCE)?;
        io.connect(names, Some(controller), 1, PATIENCE)?;
        io.carry(carries);
        let facts = facts(&mut admin, address.namespace, clock)?;
        Ok(Self {
            name: address.to_string(),
            namespace: address.namespace,
            ledger: ledger.clone(),
            page_sectors: page_sectors.into(),
            admin,
            io,
            facts,
            flying: BTreeMap::new(),
            waiting: VecDeque::new(),
            arrived: VecDeque::new(),
            asked: BTreeMap::new(),
            next_ask: 0,
            is_gone: false,
            heard: time::Instant::now(),
            silence: SILENCE.div_f64(clock.speed().factor().min(1.0)),
            now: Instant::START,
            news: Vec::new(),
        })
    }

    pub(super) fn facts(&self) -> Facts {
        self.facts
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Admin commands are under way.
    pub(super) fn is_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    fn arrive(&mut self, now: Instant, said: Said) {
        let id = CommandId(said.tag as u32);
        let Some(flying) = self.flying.remove(&id) else { return };
        let status = match (said.status.sct(), said.status.sc()) {
            (0, 0) => Status::Success,
            (7, 1) => Status::PredictableLatencyNotMet,
            (0, 0x80) => Status::LbaOutOfRange,
            _ => failed(flying.op),
        };
        let (dnr, result) = (said.status.dnr(), said.result);
        self.arrived.push_back(Arrived {
            at: now,
            id,
            flying,
            status,
            dnr,
            result,
            data: said.data,
        });
    }

    /// The connection is lost: commands under way have failed, and so do all that come.
    fn go(&mut self, now: Instant, why: &str) {
        self.is_gone = true;
        self.news.push(format!("{} is gone: {why}", self.name));
        self.waiting.clear();
        self.asked.clear();
        for (id, flying) in std::mem::take(&mut self.flying) {
            self.fail(now, id, flying);
        }
    }

    fn fail(&mut self, at: Instant, id: CommandId, flying: Flying) {
        let status = failed(flying.op);
        let (dnr, result, data) = (true, 0, Vec::new());
        self.arrived.push_back(Arrived { at, id, flying, status, dnr, result, data });
    }

    /// The bytes of a write, where all of them are known.
    fn written(&self, command: &Command) -> Option<Vec<u8>> {
        let ledger = self.ledger.0.borrow();
        let page = (self.page_sectors * SECTOR) as usize;
        let stamps = command.payload.iter().flatten();
        let pages: Option<Vec<&[u8]>> =
            stamps.map(|stamp| ledger.get(stamp.version, 0, page)).collect();
        Some(pages?.concat())
    }

    fn ask_admin(&mut self, sqe: Sqe, data: &[u8], what: &'static str) {
        if self.is_gone {
            return;
        }
        if !self.admin.has_room() {
            return self.news.push(format!("{}: no room for {what}", self.name));
        }
        self.asked.insert(self.next_ask, what);
        self.admin.send(self.next_ask, sqe, data, 0);
        self.next_ask += 1;
    }
}

impl Elsewhere for Remote {
    fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.admin.as_fd(), self.io.as_fd()]
    }

    fn hear(&mut self, now: Instant) {
        if self.is_gone {
            return;
        }
        (self.heard, self.now) = (time::Instant::now(), now);
        let heard = self.admin.hear().and_then(|()| self.io.hear());
        while let Some(said) = self.admin.next() {
            let what = self.asked.remove(&said.tag).unwrap_or("a command");
            if !said.status.is_success() {
                let (name, status) = (&self.name, named(said.status));
                self.news.push(format!("{name} refuses {what}: {status}"));
            }
        }
        while let Some(said) = self.io.next() {
            self.arrive(now, said);
        }
        if let Err(why) = heard {
            self.go(now, &why);
        }
    }

    fn send(&mut self, now: Instant) {
        if self.is_gone {
            return;
        }
        self.now = self.now.max(now);
        while self.io.has_room()
            && let Some((id, sqe, data, read)) = self.waiting.pop_front()
        {
            self.io.send(id.0.into(), sqe, &data, read);
        }
        if let Err(why) = self.admin.flush().and_then(|()| self.io.flush()) {
            self.go(now, &why);
        }
    }

    fn take_news(&mut self) -> Vec<String> {
        if !self.is_gone && !self.flying.is_empty() && self.heard.elapsed() > self.silence {
            let seconds = self.silence.as_secs();
            self.go(self.now, &format!("no answer within {seconds} s"));
        }
        std::mem::take(&mut self.news)
    }
}

/// A failed command as the array takes it: it does without the member, or says so.
fn failed(op: Op) -> Status {
    match op {
        Op::Read => Status::UnrecoveredRead,
        Op::Write | Op::Flush | Op::Trim => Status::NamespaceWriteProtected,
    }
}

impl MemberLink for Remote {
    type Matter = Shared;

    fn submit(&mut self, now: Instant, command: Command) {
        let page = self.page_sectors * SECTOR;
        let flying = Flying { op: command.op, from: (command.lba.0 * SECTOR % page) as usize };
        let data = match command.op {
            Op::Write => self.written(&command),
            _ => Some(Vec::new()),
        };
        let read = if command.op == Op::Read { command.bytes() as usize } else { 0 };
        let (Some(data), Some((sqe, _)), false) = (data, Sqe::encode(&command), self.is_gone)
        else {
            return self.fail(now, command.id, flying);
        };
        if self.flying.is_empty() {
            self.heard = time::Instant::now();
        }
        self.flying.insert(command.id, flying);
        let sqe = Sqe { nsid: self.namespace.into(), ..sqe };
        match self.io.has_room() && self.waiting.is_empty() {
            true => self.io.send(command.id.0.into(), sqe, &data, read),
            false => self.waiting.push_back((command.id, sqe, data, read)),
        }
    }

    fn advance_before(&mut self, limit: Instant) -> Option<Completion> {
        let Arrived { at, id, flying, status, dnr, result, data } =
            self.arrived.pop_front_if(|arrived| arrived.at < limit)?;
        let payload = (flying.op == Op::Read && status == Status::Success).then(|| {
            let (mut ledger, page) = (self.ledger.0.borrow_mut(), self.page_sectors * SECTOR);
            let offset = flying.from as u64;
            let mut rest = data.as_slice();
            let put = |(_, from, length): (u32, usize, usize)| {
                let (part, behind) = rest.split_at(length);
                rest = behind;
                ledger.put(from, part)
            };
            crate::content::pages(page, offset, data.len() as u64).map(put).collect()
        });
        Some(Completion {
            id,
            at,
            status,
            dnr,
            result64: result,
            gc_blocked: false,
            gc_blocked_at_split: false,
            payload,
        })
    }

    fn next_event_at(&self) -> Instant {
        self.arrived.front().map_or(Instant::NEVER, |arrived| arrived.at)
    }

    fn set_predictable(&mut self, _: Instant, config: &Config) {
        let mut config = *config;
        if let Some(schedule) = &mut config.schedule {
            let Some(ahead) = self.facts.ahead else {
                let why = "it does not tell its clock (log C0h), which windows by schedule need";
                return self.news.push(format!("{} refuses windows: {why}", self.name));
            };
            let start = schedule.windows.cycle_start.as_ns().saturating_add_signed(ahead);
            schedule.windows.cycle_start = Instant::from_ns(start);
        }
        let set = self.facts.nvm_set.into();
        let Some(data) = config.encode() else {
            return self.news.push(format!("{} refuses windows of that length", self.name));
        };
        self.ask_admin(Sqe::set_features(feature::PLM_CONFIG, set, 1), &data, "windows");
    }

    fn select_window(&mut self, _: Instant, window: Window) {
        let set = self.facts.nvm_set.into();
        let sqe = Sqe::set_features(feature::PLM_WINDOW, set, window as u32);
        self.ask_admin(sqe, &[], "a window");
    }
}

fn asked(admin: &mut Pair, sqe: Sqe, read: usize, what: &str) -> Result<Said, String> {
    let said = admin.ask(sqe, &[], read, PATIENCE)?;
    match said.status.is_success() {
        true => Ok(said),
        false => Err(format!("{what} is refused: {}", named(said.status))),
    }
}

/// Enables the controller, and waits until it is ready.
fn enable(admin: &mut Pair) -> Result<(), String> {
    let property = |kind: u32, at: u32, value: u32| Sqe {
        opcode: 0x7f,
        nsid: kind.into(),
        cdw11: at.into(),
        cdw12: value.into(),
        ..Sqe::default()
    };
    let (at, value) = CONFIGURATION;
    asked(admin, property(0, at, value), 0, "Property Set")?;
    let began = time::Instant::now();
    while asked(admin, property(4, STATUS, 0), 0, "Property Get")?.result & 1 == 0 {
        if began.elapsed() > PATIENCE {
            return Err("its controller does not become ready".to_string());
        }
        std::thread::sleep(time::Duration::from_millis(1));
    }
    let queues = Sqe {
        opcode: manx_core::nvme::admin::opcode::SET_FEATURES,
        cdw10: u32::from(NUMBER_OF_QUEUES).into(),
        cdw11: (1 | 1 << 16).into(),
        ..Sqe::default()
    };
    asked(admin, queues, 0, "Number of Queues").map(drop)
}

/// Data that a command may carry with it, by Identify Controller.
fn in_capsule(admin: &mut Pair) -> Result<usize, String> {
    let sqe = Sqe::identify(identify::cns::CONTROLLER, 0, 0);
    let said = asked(admin, sqe, identify::IDENTIFY_BYTES, "Identify Controller")?;
    let capsule =
        said.data[1792..1796].iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    Ok((capsule * 16).saturating_sub(64).min(1 << 20))
}

fn facts(admin: &mut Pair, namespace: u32, clock: &Clock) -> Result<Facts, String> {
    let sqe = Sqe::identify(identify::cns::NAMESPACE, namespace, 0);
    let page = asked(admin, sqe, identify::IDENTIFY_BYTES, "Identify Namespace")?.data;
    let at = |from: usize, bytes: usize| {
        page[from..from + bytes].iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    };
    let format = 128 + 4 * (at(26, 1) & 0xf) as usize;
    if at(0, 8) == 0 {
        return Err(format!("it has no namespace {namespace}"));
    }
    if at(format + 2, 1) != 9 || at(format, 2) != 0 {
        return Err("its blocks are not of 512 bytes without metadata".to_string());
    }
    let (nvm_set, optimal) = (at(100, 2) as u16, (at(72, 2) + 1) * SECTOR);
    let mut facts = Facts { sectors: at(0, 8), reserve: 0, nvm_set, ahead: None };
    if nvm_set > 0 {
        let sqe = Sqe::get_log_page(log::PREDICTABLE, nvm_set, true, 512);
        if let Ok(said) = asked(admin, sqe, 512, "log 0Ah")
            && let Ok(told) = PredictableLog::decode(&said.data)
        {
            facts.reserve = told.writes.0.saturating_mul(optimal);
        }
        facts.ahead = clock_of(admin, namespace, clock)?;
    }
    Ok(facts)
}

/// The host's time and the target's at one moment, and how exactly.
fn times(
    admin: &mut Pair,
    namespace: u32,
    clock: &Clock,
) -> Result<Option<(u64, u64, u64)>, String> {
    let before = clock.now().as_ns();
    let sqe = Sqe { nsid: namespace.into(), ..Sqe::get_log_page(log::VENDOR, 0, true, 512) };
    let said = admin.ask(sqe, &[], 512, PATIENCE)?;
    let after = clock.now().as_ns();
    let told = (said.status == StatusField::SUCCESS).then(|| VendorLog::decode(&said.data).ok());
    Ok(told.flatten().map(|log| (u64::midpoint(before, after), log.now.as_ns(), after - before)))
}

/// By how much the target's clock is ahead, if it tells it.
fn clock_of(admin: &mut Pair, namespace: u32, clock: &Clock) -> Result<Option<i64>, String> {
    let Some(first) = times(admin, namespace, clock)? else { return Ok(None) };
    std::thread::sleep(WATCHED);
    let Some(second) = times(admin, namespace, clock)? else { return Ok(None) };
    let passed = (second.0 - first.0) as f64;
    let pace = second.1.saturating_sub(first.1) as f64 / passed;
    if (pace - 1.0).abs() > PACE + (first.2 + second.2) as f64 / passed {
        return Err(format!(
            "its clock goes {pace:.3} times as fast as this host's: --speed must be the same"
        ));
    }
    let best = if first.2 < second.2 { first } else { second };
    Ok(Some(best.1.cast_signed() - best.0.cast_signed()))
}
