//! The loop: sockets, the model, and the clock, in one thread.
//!
//! Each turn does what the model owes up to now, gives the answers to their connections, and waits
//! for the next of both: the model's next event and a client's next bytes. Where nothing is asked,
//! the model is left behind and caught up with when the next request comes: its state is a function
//! of what was asked and when, and not of how often it was looked at.

mod clients;

use crate::clock::Clock;
use crate::connection::Connection;
use crate::engine::{Engine, Finished};
use crate::fleet::Fleet;
use crate::front::{Fault, Front, Transport};
use crate::listen::Listener;
use crate::pause::Pause;
use crate::room::Room;
use crate::tally::Tally;
use crate::watch::{Limits, Watch};
use manx_core::drive::Status;
use manx_core::units::{Duration, Instant};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::time;
use tracing::{error, trace, warn};

/// The number under which the listening socket is watched.
const LISTENER: u64 = 0;

/// Bit of a connection's number: its bell is watched under it.
const BELL: u64 = 1 << 63;

/// Bit of an engine's own socket: its engine's number and its own are in the halves below.
const SOCKET: u64 = 1 << 62;

/// Bytes read from a socket in one call.
const SCRATCH: usize = 256 << 10;

/// Between two looks for orders.
const LOOKS: time::Duration = time::Duration::from_millis(10);

/// Records kept before they are handed on.
const RECORDS: usize = 4096;

/// Events of one turn, and a place for the bytes that came.
struct Inbox {
    events: [epoll::Event; 64],
    scratch: Vec<u8>,
}

impl Inbox {
    fn new() -> Self {
        let (flags, data) = (epoll::EventFlags::empty(), epoll::EventData::new_u64(LISTENER));
        Self { events: [epoll::Event { flags, data }; 64], scratch: vec![0; SCRATCH] }
    }
}

/// A server of one model over one listener.
pub struct Server<'a, E: Engine> {
    pub(crate) fleet: Fleet<E>,
    pub(crate) clock: Clock,
    limits: Limits,
    front: Box<dyn Front>,
    listener: &'a Listener,
    /// No connection is accepted until then: there was none to be had.
    closed_until: Option<time::Instant>,
    epoll: OwnedFd,
    pub(crate) connections: BTreeMap<u64, Connection>,
    next: u64,
    pause: Pause,
    worked: time::Instant,
    /// Connections with answers to send.
    ready: Vec<u64>,
    /// Those that had their turn and have more.
    again: Vec<u64>,
    /// The instant at which the last requests came, where they came before they were read.
    came: Instant,
    /// When the model completed what is about to be sent.
    given: Vec<Instant>,
    pub(crate) tally: Tally,
    /// The memory that the connections share.
    room: Room,
    told_late: Option<time::Instant>,
    told_closed: Option<time::Instant>,
    told_mismatch: bool,
    /// Of this second of wall time, and of the last: where a page asks for them.
    pub(crate) seconds: Option<Box<[Tally; 2]>>,
    pub(crate) began: time::Instant,
    pub(crate) is_paused: bool,
    pub(crate) is_over: bool,
    /// Requests under way are done, and no others taken.
    is_ending: bool,
}

impl<'a, E: Engine> Server<'a, E> {
    /// A server of `engines`, one for each drive, on that clock.
    pub fn new(
        engines: Vec<E>,
        clock: Clock,
        listener: &'a Listener,
        transport: Transport,
        limits: Limits,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
        for (number, engine) in (0..).zip(&engines) {
            for (socket, file) in (0..).zip(engine.sockets()) {
                let data = epoll::EventData::new_u64(SOCKET | number << 32 | socket);
                let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT;
                epoll::add(&epoll, file, data, flags | epoll::EventFlags::ET)?;
            }
        }
        Ok(Self {
            fleet: Fleet::new(engines),
            clock,
            limits,
            front: transport.front(),
            listener,
            closed_until: None,
            epoll,
            connections: BTreeMap::new(),
            next: LISTENER + 1,
            pause: Pause::new(),
            worked: time::Instant::now(),
            ready: Vec::new(),
            again: Vec::new(),
            came: Instant::START,
            given: Vec::new(),
            tally: Tally::default(),
            room: Room::new(limits.memory),
            told_late: None,
            told_closed: None,
            told_mismatch: false,
            seconds: None,
            began: time::Instant::now(),
            is_paused: false,
            is_over: false,
            is_ending: false,
        })
    }

    /// The drives, for their counters.
    pub fn engines(&self) -> &[E] {
        self.fleet.all()
    }

    /// Serves until the watch says stop.
    pub fn serve(&mut self, watch: &mut dyn Watch) -> Result<Tally, String> {
        // Without it a sleep ends 50 us later than it was asked to.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        (self.began, self.seconds) = (time::Instant::now(), watch.is_asked().then(Box::default));
        let mut inbox = Inbox::new();
        let (mut swept, mut looked) = (self.began, self.began);
        while !watch.stops() && !self.is_over {
            self.turn(watch, &mut inbox)?;
            if self.seconds.is_some() && looked.elapsed() >= LOOKS {
                looked = time::Instant::now();
                self.obey(watch)?;
            }
            if swept.elapsed().as_secs() >= 1 {
                swept = time::Instant::now();
                if let Some(seconds) = &mut self.seconds {
                    seconds[1] = std::mem::take(&mut seconds[0]);
                }
                self.close_slow();
                self.tick();
                self.tell_news();
                self.keep();
            }
        }
        self.end_in_time(watch, &mut inbox)?;
        let settled = self.settle(false);
        self.send_ready();
        self.connections.values_mut().for_each(Connection::end);
        self.hand_on(watch, 0)?;
        settled?;
        self.tally.span = self.clock.now().since(Instant::START);
        self.tally.compensation = self.limits.compensation;
        self.tally.wall_ns = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Ok(self.tally.clone())
    }

    /// Does what is due, and hears those who have something to say.
    fn turn(&mut self, watch: &mut dyn Watch, inbox: &mut Inbox) -> Result<(), String> {
        self.catch_up(watch)?;
        let count = self.wait(&mut inbox.events).map_err(|why| format!("epoll: {why}"))?;
        if count > 0 || !self.again.is_empty() {
            self.worked = time::Instant::now();
            // All that was due before these requests came is done before them.
            let now = self.catch_up(watch)?;
            for event in &inbox.events[..count] {
                match event.data.u64() {
                    LISTENER => self.accept(now),
                    number if number & SOCKET != 0 => {
                        let engine = (number & !SOCKET) >> 32;
                        self.fleet.of_mut(engine as u32).hear(number as u32 as usize, now);
                        self.tell_news();
                    }
                    number if number & BELL != 0 => {
                        self.hear_bell(number & !BELL, now);
                    }
                    number => self.hear(number, event.flags, now, &mut inbox.scratch),
                }
            }
            for number in std::mem::take(&mut self.again) {
                self.take_up(number, now);
            }
            if self.front.calls() {
                self.tick();
            }
            self.send_ready();
        }
        self.open_again();
        Ok(())
    }

    /// Does what is under way, as long as [`Limits::ending`] allows: no client is heard any more.
    fn end_in_time(&mut self, watch: &mut dyn Watch, inbox: &mut Inbox) -> Result<(), String> {
        let began = time::Instant::now();
        self.leave_all();
        while began.elapsed() < self.limits.ending
            && self.connections.values().any(|connection| !connection.is_over())
        {
            self.turn(watch, inbox)?;
        }
        Ok(())
    }

    /// Does what the model owes up to now, and gives the answers to their connections.
    pub(crate) fn catch_up(&mut self, watch: &mut dyn Watch) -> Result<Instant, String> {
        // A base that was made in service has brought the model beyond the clock.
        let now = self.clock.now().max(self.fleet.done_until());
        if self.fleet.under_way() > 0 && self.fleet.next_event_at() < now {
            self.commit(now);
        }
        self.came = self.advance(now).max(self.came);
        let now = self.present();
        self.hand_on(watch, RECORDS)?;
        if self.fleet.has_news() {
            self.tick();
        }
        self.send_ready();
        self.note_lateness();
        Ok(now)
    }

    /// Does what is due before `now`; the instant at which requests come that are read then.
    ///
    /// Where the transport's time is taken off, they came so much earlier, but not before what the
    /// model has done: it is brought no further than to its last event.
    fn advance(&mut self, now: Instant) -> Instant {
        let ahead = self.limits.compensation.as_nanos() as u64;
        if ahead == 0 {
            while let Some(finished) = self.fleet.advance_before(now) {
                self.give(&finished);
            }
            return now;
        }
        while self.fleet.next_event_at() < now {
            let limit = self.fleet.next_event_at() + Duration::from_ns(1);
            while let Some(finished) = self.fleet.advance_before(limit) {
                self.give(&finished);
            }
        }
        let ahead = Duration::from_ns(self.clock.speed().model_ns(ahead));
        self.fleet.done_until().max(now - ahead.min(now.since(Instant::START)))
    }

    /// Everything before it has been done, and nothing was asked after it.
    pub(crate) fn present(&self) -> Instant {
        self.fleet.done_until().max(self.came)
    }

    /// Tells the news of the engines.
    fn tell_news(&mut self) {
        for engine in self.fleet.all_mut() {
            engine.take_news().iter().for_each(|line| warn!("{line}"));
        }
    }

    pub(crate) fn give(&mut self, finished: &Finished) {
        let Finished { done, came, at, .. } = finished;
        let [came_ns, at_ns] = [came, at].map(|instant| instant.as_ns());
        trace!(owner = finished.owner, ?done.ask, ?done.status, came_ns, at_ns);
        self.given.push(*at);
        let (kind, latency) = (done.ask.kind, at.since(*came));
        self.tally.count(kind, latency, done.ask.length);
        if let Some(seconds) = &mut self.seconds {
            seconds[0].count(kind, latency, done.ask.length);
        }
        self.tally.errors += u64::from(done.status != Status::Success);
        if !self.told_mismatch
            && let Some(what) = self.fleet.first_mismatch()
        {
            self.told_mismatch = true;
            error!("a fault of Manx, an I/O error for the client: {what}");
        }
        let fleet = &self.fleet;
        let Some(connection) = self.connections.get_mut(&finished.owner) else { return };
        connection.done(done, &|out| fleet.data(finished, out));
        self.ready.push(finished.owner);
    }

    /// How late the answers left that were just sent.
    fn note_lateness(&mut self) {
        if self.given.is_empty() {
            return;
        }
        let (now, speed) = (self.clock.now(), self.clock.speed());
        let mut latest = 0;
        for at in self.given.drain(..) {
            let late = speed.wall_ns(now.since(at.min(now)).as_ns());
            self.tally.lateness.record(late);
            if let Some(seconds) = &mut self.seconds {
                seconds[0].lateness.record(late);
            }
            latest = latest.max(late);
        }
        if u128::from(latest) > self.limits.late.as_nanos()
            && self.told_late.is_none_or(|told| told.elapsed().as_secs() >= 1)
        {
            self.told_late = Some(time::Instant::now());
            warn!(
                "an answer left {:.1} ms after its time: the machine is busy, not the drive slow",
                latest as f64 / 1e6
            );
        }
    }

    /// Sends what the connections have, and takes up those that waited for it.
    pub(crate) fn send_ready(&mut self) {
        self.fleet.send(self.fleet.done_until());
        while let Some(number) = self.ready.pop() {
            let Some(connection) = self.connections.get_mut(&number) else { continue };
            if !connection.send() {
                self.close(number, &Fault::Closed);
                continue;
            }
            if connection.is_over() && !self.is_ending {
                self.close(number, &Fault::Closed);
                continue;
            }
            if connection.is_deaf && !connection.is_full() {
                let now = self.present();
                self.act_on(number, now, None);
            }
            self.watch_for(number);
        }
    }

    /// Waits for bytes, but no longer than the model allows.
    fn wait(&mut self, events: &mut [epoll::Event]) -> Result<usize, Errno> {
        let idle = self.worked.elapsed();
        let due = match self.fleet.keeps_time() {
            false => None,
            true => self.clock.wall_until(self.clock.now(), self.fleet.next_event_at()),
        };
        let longest = time::Duration::from_millis(100);
        let sleep = match due {
            _ if !self.again.is_empty() => time::Duration::ZERO,
            Some(due) => self.pause.before(due).min(longest),
            None if idle < self.limits.spin => time::Duration::ZERO,
            None => longest,
        };
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(sleep.subsec_nanos()) };
        match epoll::wait(&self.epoll, &mut *events, Some(&timeout)) {
            Ok(count) => {
                self.pause.over(count == 0 && due.is_some() && sleep < longest);
                Ok(count)
            }
            Err(Errno::INTR) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Hands on records where there are more than `most`.
    fn hand_on(&mut self, watch: &mut dyn Watch, most: usize) -> Result<(), String> {
        for drive in 0..self.fleet.all().len() {
            let machine = self.fleet.of_mut(drive as u32);
            if machine.records() > most
                && let Some(records) = machine.take_records()
            {
                watch.records(&records)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
