//! The part of a machine that has a store: what goes into it, and what is answered without it.

use super::{Builder, Machine};
use crate::content::{self, Content};
use crate::desk::Served;
use crate::front::{Ask, Kind};
use crate::store::{Head, Store};
use manx_core::drive::{DriveSpec, Status, Storage};
use manx_core::host::Oracle;
use manx_core::nvme::admin::opcode;
use manx_core::nvme::{AdminReply, Sqe, StatusField};
use manx_core::units::Instant;
use std::io;
use std::path::Path;

/// Bytes of the longest feature (13h).
const FEATURE_DATA: usize = 512;

impl<S: Storage> Machine<S> {
    /// A machine without bytes, which notes the promises of its drive: for a replay.
    pub(crate) fn bare(storage: S, spec: &DriveSpec) -> Self {
        let content = Content::new(0, storage.page_sectors(), |_| false);
        let mut machine = Self { is_bare: true, ..Self::with_content(storage, content) };
        machine.oracle.note_promises(spec);
        machine
    }

    /// A machine whose bytes and commands lie in a store, too.
    ///
    /// # Errors
    /// The store's file cannot be opened once more.
    pub fn stored(storage: S, store: Store, builder: Builder<S>) -> io::Result<Self> {
        let content = store.content(&storage)?;
        let (store, builder) = (Some(Box::new(store)), Some(builder));
        Ok(Self { store, builder, ..Self::with_content(storage, content) })
    }

    /// The answer of the controller to an admin command at `now`, before which everything has been
    /// done; `None`: there is no controller.
    pub fn admin(&mut self, now: Instant, sqe: &Sqe, data: &[u8]) -> Option<AdminReply>
    where
        S: Served,
    {
        let reply = self.storage.controller()?.admin(now, sqe, data);
        let is_taken = match &reply {
            AdminReply::Done(done) => done.status == StatusField::SUCCESS,
            AdminReply::Later => true,
        };
        if let Some(store) = &mut self.store
            && is_taken
            && [opcode::SET_FEATURES, opcode::ABORT].contains(&sqe.opcode)
        {
            let data = &data[..data.len().min(FEATURE_DATA)];
            store.note_admin(now, sqe, data);
            if sqe.opcode == opcode::SET_FEATURES {
                let set = (*sqe, data.into());
                match self.features.iter_mut().find(|(old, _)| subject(old) == subject(sqe)) {
                    Some(old) => *old = set,
                    None => self.features.push(set),
                }
            }
        }
        Some(reply)
    }

    /// The store, if there is one.
    pub fn store(&self) -> Option<&Store> {
        self.store.as_deref()
    }

    /// A sum over every completion so far.
    pub(crate) fn sum(&self) -> u64 {
        self.sum
    }

    /// The model, with the promises that were made for it.
    pub fn into_parts(self) -> (S, Oracle) {
        (self.storage, self.oracle)
    }

    /// Before answers leave that are due before `now`: what led to them is in the store. A reason
    /// why that cannot be is told once; from then on the machine takes no writes.
    pub fn commit(&mut self, now: Instant) -> Option<String> {
        let (store, sum) = (self.store.as_mut()?, self.sum);
        if let Some(error) = self.content.take_failure() {
            store.fail(&error);
        }
        store.commit(now, sum);
        store.take_failure()
    }

    /// Whether the log has grown so long that it should be put into the base.
    pub fn is_log_full(&self) -> bool {
        self.store.as_ref().is_some_and(|store| store.is_full())
    }

    /// Puts the log into the base, when nothing is under way: the drive shuts down and comes up.
    ///
    /// # Errors
    /// The store says why not; it is as it was.
    pub fn settle(&mut self, now: Instant) -> Result<(), String>
    where
        S: Served,
    {
        let Some(mut store) = self.store.take() else { return Ok(()) };
        let settled = match self.storage.rest(now, 0) {
            Some(rest) => store.stop(now, &rest, &self.content),
            None => Err("a store keeps one drive".to_string()),
        };
        self.store = Some(store);
        settled
    }

    /// Writes the drive into a new store, as a clean stop would leave it when what is under way at
    /// `now` is done; it goes on as if nothing had been.
    ///
    /// # Errors
    /// The drive keeps too little, or the folder cannot be written, in words.
    pub fn snapshot(&self, now: Instant, folder: &Path, head: Head) -> Result<(), String>
    where
        S: Served,
    {
        let rest = self.storage.rest(now, self.parts.len());
        let rest = rest.ok_or("a store holds a drive with recovery.keep = true, and no array")?;
        Store::create_with(folder, head, &rest, &self.content).map(drop)
    }

    /// As [`Machine::settle`], and goes on with the drive of the new base.
    ///
    /// # Errors
    /// As of [`Machine::settle`], or the base makes no drive.
    pub fn start_again(&mut self, now: Instant) -> Result<(), String>
    where
        S: Served,
    {
        self.settle(now)?;
        let (Some(store), Some(build)) = (&mut self.store, &self.builder) else { return Ok(()) };
        let made = build(store.map()).and_then(|storage| {
            let content = store.content(&storage).map_err(|error| error.to_string())?;
            Ok((storage, content))
        });
        let (storage, content) = made.inspect_err(|why| {
            // The log is of the new base's drive, and this one is not it: nothing may follow.
            store.fail(&io::Error::other(why.clone()));
        })?;
        self.content = content;
        (self.oracle, self.storage, self.sum) = (Oracle::new(&storage), storage, 0);
        // Hosts have set this controller, and know of no other.
        for (sqe, data) in std::mem::take(&mut self.features) {
            self.admin(now, &sqe, &data);
        }
        Ok(())
    }

    /// A store that takes no more takes no request that would change what it holds: reads would
    /// bring what was refused, and what was acknowledged would be back after the next start.
    pub(super) fn refuses(&self, ask: &Ask) -> bool {
        let changes = !matches!(ask.kind, Kind::Read | Kind::Flush);
        changes && self.store.as_ref().is_some_and(|store| store.is_broken())
    }

    /// A request's end as its client hears it: a store that takes no more takes no writes, and
    /// bytes that it does not give are a read error.
    pub(super) fn answer(&mut self, ask: &Ask, status: Status, versions: &[u32]) -> Status {
        let Some(store) = self.store.as_deref().filter(|_| status == Status::Success) else {
            return status;
        };
        if ask.kind != Kind::Read {
            let is_lost = store.is_broken();
            return if is_lost { Status::NamespaceWriteProtected } else { status };
        }
        self.fetched.clear();
        for ((page, from, length), version) in
            content::pages(self.page_bytes(), ask.offset, ask.length).zip(versions)
        {
            if self.content.read(page, *version, from, length, &mut self.fetched).is_err() {
                return Status::UnrecoveredRead;
            }
        }
        status
    }
}

/// The feature that a command sets; recovery levels and predictable latency (12h to 14h) are of an
/// NVM Set.
fn subject(sqe: &Sqe) -> (u8, u32) {
    match sqe.cdw10.get() as u8 {
        feature @ 0x12..=0x14 => (feature, sqe.cdw11.get() & 0xffff),
        feature => (feature, 0),
    }
}
