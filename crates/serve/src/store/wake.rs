//! The start of a store that was not closed: its log is replayed, the power fails, the drive
//! recovers.

use super::log::Record;
use super::{Head, Store, StoreError};
use crate::content::Content;
use crate::desk::Kept;
use crate::front::{Ask, Kind};
use crate::machine::Machine;
use manx_core::drive::{DriveSpec, Recovered, Rest};
use manx_core::stats::PowerLossReport;
use manx_core::units::Instant;

/// A power loss, and what it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Commands of the log.
    pub commands: u64,
    /// Of these, under way when the power failed: none was answered.
    pub under_way: u64,
    /// The drive's recovery.
    pub report: PowerLossReport,
    /// Promises that were broken: a fault of Manx.
    pub broken: Vec<String>,
}

/// A store that can be served.
pub struct Woken {
    /// At rest, its log empty.
    pub store: Store,
    /// The power loss, if there was one.
    pub lost: Option<Lost>,
}

/// How a log ends.
#[derive(Clone, Copy)]
enum End {
    /// The server was killed.
    Open,
    /// It was killed as it made a base after that.
    Cut,
    /// It was killed as it shut down.
    Stop,
}

/// A drive at the last instant of a log.
struct Replayed<S: Kept> {
    machine: Machine<S>,
    end: End,
    last: Instant,
    commands: u64,
}

impl<S: Kept> Replayed<S> {
    /// The drive at rest after the end, and what it lost by it.
    fn ended(self) -> (Rest, Option<Lost>) {
        match self.end {
            End::Stop => (stop(self.machine, self.last), None),
            End::Open | End::Cut => cut(self.machine, self.last, self.commands),
        }
    }
}

impl Store {
    /// Brings the store to rest. `drive` makes its drive from a map; `spec` are the drive's
    /// settings.
    ///
    /// # Errors
    /// The log is damaged, or this program replays it otherwise: nothing was touched. Or the next
    /// base cannot be written: the store can be opened again.
    pub fn wake<S: Kept>(
        mut self,
        drive: impl FnOnce(&[u8]) -> Result<S, String>,
        spec: &DriveSpec,
    ) -> Result<Woken, StoreError> {
        let path = super::log_path(&self.folder, self.head.generation);
        let drive = self.drive(drive)?;
        let content = self.content(&drive).map_err(StoreError::at(&self.folder.join("data")))?;
        let replayed = self.replay(Machine::bare(drive, spec))?;
        self.log.go_on()?;
        if self.log.is_empty() {
            if self.head.has_controller != self.has_controller {
                let has_controller = self.has_controller;
                self.head = Head { has_controller, ..self.head };
                self.head.write(&self.folder)?;
            }
            return Ok(Woken { store: self, lost: None });
        }
        if matches!(replayed.end, End::Open) {
            let cut = Record::Cut { now: replayed.last };
            let noted = self.log.put(&cut).and_then(|()| self.log.send());
            noted.map_err(StoreError::at(&path))?;
        }
        let (rest, lost) = replayed.ended();
        let content = self.bytes(content, &rest)?;
        self.next(&rest, &content)?;
        Ok(Woken { store: self, lost })
    }

    /// Does what [`Store::wake`] would do, and writes nothing: what the next start will lose.
    ///
    /// # Errors
    /// The log is damaged, or this program replays it otherwise.
    pub fn rehearse<S: Kept>(
        mut self,
        drive: impl FnOnce(&[u8]) -> Result<S, String>,
        spec: &DriveSpec,
    ) -> Result<Option<Lost>, StoreError> {
        let drive = self.drive(drive)?;
        let replayed = self.replay(Machine::bare(drive, spec))?;
        Ok(if self.log.is_empty() { None } else { replayed.ended().1 })
    }

    fn drive<S: Kept>(
        &self,
        drive: impl FnOnce(&[u8]) -> Result<S, String>,
    ) -> Result<S, StoreError> {
        let path = super::base_path(&self.folder, self.head.generation);
        drive(&self.base.map).map_err(|why| StoreError::damaged(&path, why))
    }

    /// Brings the drive of the base to where the log ends.
    fn replay<S: Kept>(&mut self, mut machine: Machine<S>) -> Result<Replayed<S>, StoreError> {
        let path = super::log_path(&self.folder, self.head.generation);
        let has_records = self.log.has_records().map_err(StoreError::at(&path))?;
        if has_records && self.head.has_controller != self.has_controller {
            return Err(StoreError::Protocol(self.folder.clone(), self.head.has_controller));
        }
        let (mut end, mut last, mut commands) = (End::Open, Instant::START, 0u64);
        let size = self.head.bytes;
        self.log.replay(&mut |record| {
            if !matches!(end, End::Open) {
                return Err("something follows the end".to_string());
            }
            let now = match &record {
                Record::Command { now, .. } | Record::Until { now, .. } => *now,
                Record::Admin { now, .. } => *now,
                Record::Cut { now } | Record::Stop { now } => *now,
            };
            if now < last {
                return Err("its time is before the last one's".to_string());
            }
            last = now;
            match record {
                Record::Command { ask, .. } => {
                    check(&ask, size)?;
                    while machine.advance_before(now).is_some() {}
                    machine.submit(now, 0, ask, &[]);
                    commands += 1;
                }
                Record::Admin { sqe, data, .. } => {
                    while machine.advance_before(now).is_some() {}
                    machine.admin(now, &sqe, &data).ok_or("there is no controller")?;
                }
                Record::Until { sum, .. } if machine.sum() != sum => {
                    return Err(
                        "this program replays the log otherwise: use the one that wrote it"
                            .to_string(),
                    );
                }
                Record::Until { .. } => {}
                Record::Cut { .. } => end = End::Cut,
                Record::Stop { .. } => end = End::Stop,
            }
            if !matches!(end, End::Stop) {
                while machine.advance_before(now).is_some() {}
            }
            Ok(())
        })?;
        Ok(Replayed { machine, end, last, commands })
    }

    /// The bytes of the versions that are left: the log once more, each page up to its version.
    fn bytes(&mut self, mut content: Content, rest: &Rest) -> Result<Content, StoreError> {
        let deallocates = true;
        content.freeze(rest.versions.clone());
        self.log.replay(&mut |record| {
            if let Record::Command { ask, data, .. } = record {
                content.take(&ask, &data, deallocates);
            }
            match content.take_failure() {
                Some(error) => Err(format!("the bytes beneath it: {error}")),
                None => Ok(()),
            }
        })?;
        self.log.go_on()?;
        Ok(content)
    }
}

/// A request as the protocols let it through.
fn check(ask: &Ask, size: u64) -> Result<(), String> {
    let end = ask.offset.checked_add(ask.length);
    let is_inside =
        end.is_some_and(|end| end <= size) && (ask.offset | ask.length).is_multiple_of(512);
    let has_length = ask.kind == Kind::Flush || ask.length > 0;
    (is_inside && has_length).then_some(()).ok_or_else(|| "it lies beyond the device".to_string())
}

fn stop<S: Kept>(mut machine: Machine<S>, now: Instant) -> Rest {
    while machine.advance_before(now).is_some() {}
    let (storage, _) = machine.into_parts();
    storage.into_drive().shut_down(now)
}

fn cut<S: Kept>(machine: Machine<S>, now: Instant, commands: u64) -> (Rest, Option<Lost>) {
    let under_way = machine.under_way() as u64;
    let (storage, mut oracle) = machine.into_parts();
    let drive = storage.into_drive();
    let Recovered { mut drive, ready, report } = drive.power_cut(now).recover();
    let broken = oracle.broken_promises(|lpn| drive.version_of(lpn));
    oracle.power_came_back(|lpn| drive.version_of(lpn));
    drive.power_up(ready);
    let broken = broken.iter().map(ToString::to_string).collect();
    (drive.shut_down(ready), Some(Lost { commands, under_way, report, broken }))
}
