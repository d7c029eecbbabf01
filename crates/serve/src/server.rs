//! The loop: sockets, the model, and the clock, in one thread.
//!
//! Each turn does what the model owes up to now, gives the answers to their connections, and waits
//! for the next of both: the model's next event and a client's next bytes. Where nothing is asked,
//! the model is left behind and caught up with when the next request comes: its state is a function
//! of what was asked and when, and not of how often it was looked at.

use crate::clock::Clock;
use crate::connection::{Connection, CountingDesk};
use crate::desk::AtNow;
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
use std::io::{self, ErrorKind};
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::time;
use tracing::{debug, debug_span, error, trace, warn};

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

/// A server of one model over one listener.
pub struct Server<'a, E: Engine> {
    pub(crate) fleet: Fleet<E>,
    pub(crate) clock: Clock,
    limits: Limits,
    front: Box<dyn Front>,
    listener: &'a Listener,
    epoll: OwnedFd,
    pub(crate) connections: BTreeMap<u64, Connection>,
    next: u64,
    pause: Pause,
    worked: time::Instant,
    /// Connections with answers to send.
    ready: Vec<u64>,
    /// The instant at which the last requests came, where they came before they were read.
    came: Instant,
    /// When the model completed what is about to be sent.
    given: Vec<Instant>,
    pub(crate) tally: Tally,
    /// The memory that the connections share.
    room: Room,
    told_late: Option<time::Instant>,
    told_mismatch: bool,
    /// Of this second of wall time, and of the last: where a page asks for them.
    pub(crate) seconds: Option<Box<[Tally; 2]>>,
    pub(crate) began: time::Instant,
    pub(crate) is_paused: bool,
    pub(crate) is_over: bool,
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
            epoll,
            connections: BTreeMap::new(),
            next: LISTENER + 1,
            pause: Pause::new(),
            worked: time::Instant::now(),
            ready: Vec::new(),
            came: Instant::START,
            given: Vec::new(),
            tally: Tally::default(),
            room: Room::new(limits.memory),
            told_late: None,
            told_mismatch: false,
            seconds: None,
            began: time::Instant::now(),
            is_paused: false,
            is_over: false,
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
        let mut scratch = vec![0; SCRATCH];
        let mut events = [epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(LISTENER),
        }; 64];
        let (mut swept, mut looked) = (self.began, self.began);
        while !watch.stops() && !self.is_over {
            self.catch_up(watch)?;
            let count = self.wait(&mut events).map_err(|why| format!("epoll: {why}"))?;
            if count > 0 {
                self.worked = time::Instant::now();
                // All that was due before these requests came is done before them.
                let now = self.catch_up(watch)?;
                for event in &events[..count] {
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
                        number => self.hear(number, event.flags, now, &mut scratch),
                    }
                }
                if self.front.calls() {
                    self.tick();
                }
                self.send_ready();
            }
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

    fn accept(&mut self, now: Instant) {
        loop {
            let stream = match self.listener.accept() {
                Ok(stream) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => return warn!("cannot accept a connection: {error}"),
            };
            self.tally.connections += 1;
            if self.connections.len() >= self.limits.connections {
                if self.tally.refused == 0 {
                    let most = self.limits.connections;
                    warn!("more than {most} connections: closed (--connections)");
                }
                self.tally.refused += 1;
                continue;
            }
            let number = self.next;
            self.next += 1;
            debug!("connection {number} begins");
            let data = epoll::EventData::new_u64(number);
            if epoll::add(&self.epoll, &stream, data, epoll::EventFlags::IN).is_err() {
                continue;
            }
            let session = self.front.session(stream.local());
            let mut connection = Connection::new(stream, session, self.room.part());
            if let Some(bell) = connection.bell() {
                let data = epoll::EventData::new_u64(number | BELL);
                if epoll::add(&self.epoll, bell, data, epoll::EventFlags::IN).is_err() {
                    continue;
                }
            }
            let mut desk = AtNow { fleet: &mut self.fleet, now, owner: number };
            // The greeting cannot fail.
            let _ = connection.greet(&mut desk);
            self.connections.insert(number, connection);
            self.ready.push(number);
        }
    }

    fn hear(&mut self, number: u64, flags: epoll::EventFlags, now: Instant, scratch: &mut [u8]) {
        if flags.intersects(epoll::EventFlags::OUT) {
            self.ready.push(number);
        }
        if flags.intersects(epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR)
        {
            self.act_on(number, now, Some(scratch));
        }
    }

    /// A connection has work that its socket does not tell of.
    fn hear_bell(&mut self, number: u64, now: Instant) {
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.hear_bell();
            self.act_on(number, now, None);
        }
    }

    /// Reads what came, if there is a place to read to, and acts on it.
    fn act_on(&mut self, number: u64, now: Instant, scratch: Option<&mut [u8]>) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let _within = debug_span!("connection", number).entered();
        let mut desk = AtNow { fleet: &mut self.fleet, now, owner: number };
        let mut desk = CountingDesk { desk: &mut desk, submitted: 0, bytes: 0 };
        let acted = match scratch {
            Some(scratch) => loop {
                match connection.receive(scratch, &mut desk) {
                    Ok(true) if !connection.is_deaf => {}
                    acted => break acted.map(drop),
                }
            },
            None => connection.go_on(&mut desk),
        };
        self.ready.push(number);
        if let Err(fault) = acted {
            // Answers that are due still go, as far as the socket takes them.
            connection.send();
            self.close(number, &fault);
        }
    }

    /// Watches a socket for what matters now.
    fn watch_for(&mut self, number: u64) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let wanted = (connection.has_unsent(), connection.is_deaf);
        if wanted == (connection.awaits_room, connection.was_deaf) {
            return;
        }
        (connection.awaits_room, connection.was_deaf) = wanted;
        let mut flags = epoll::EventFlags::empty();
        flags.set(epoll::EventFlags::OUT, wanted.0);
        flags.set(epoll::EventFlags::IN, !wanted.1);
        let data = epoll::EventData::new_u64(number);
        if epoll::modify(&self.epoll, &connection.stream, data, flags).is_err() {
            self.close(number, &Fault::Closed);
        }
    }

    fn close(&mut self, number: u64, fault: &Fault) {
        let Some(mut connection) = self.connections.remove(&number) else { return };
        connection.end();
        let _ = epoll::delete(&self.epoll, &connection.stream);
        match fault {
            Fault::Closed => debug!("connection {number} ends"),
            Fault::Protocol(why) => {
                self.tally.faults += 1;
                warn!("connection {number} is closed: {why}");
            }
        }
    }

    /// Lets the connections act on time that passed, or on what the drive's controller answered.
    fn tick(&mut self) {
        let now = self.present();
        let mut desk = AtNow { fleet: &mut self.fleet, now, owner: LISTENER };
        self.front.look(&mut desk);
        let mut faults = Vec::new();
        for (number, connection) in &mut self.connections {
            if let Err(fault) = connection.tick(&mut desk) {
                connection.send();
                faults.push((*number, fault));
            } else if connection.has_unsent() {
                self.ready.push(*number);
            }
        }
        faults.into_iter().for_each(|(number, fault)| self.close(number, &fault));
    }

    /// Closes clients that do not come to the point.
    fn close_slow(&mut self) {
        let seconds = self.limits.negotiation_s;
        let slow = self.connections.iter().filter(|(_, connection)| connection.is_slow(seconds));
        let slow: Vec<u64> = slow.map(|(number, _)| *number).collect();
        let fault = Fault::Protocol(format!("no negotiation within {seconds} s"));
        slow.into_iter().for_each(|number| self.close(number, &fault));
        if self.room.is_full() {
            let unread = self.connections.iter().filter(|(_, other)| other.is_unread(seconds));
            let unread: Vec<u64> = unread.map(|(number, _)| *number).collect();
            let fault = Fault::Protocol(format!("answers were not read for {seconds} s"));
            unread.into_iter().for_each(|number| self.close(number, &fault));
        }
        // Others may have let go of memory that they wait for.
        let deaf = self.connections.iter().filter(|(_, connection)| connection.is_deaf);
        self.ready.extend(deaf.map(|(number, _)| *number));
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
