//! The calendar: who runs next, the guest or the model, and at which instant.
//!
//! At one instant the guest comes first, then the model, as everywhere in Manx; several drives act
//! in their order. While the guest runs the calendar only answers. When it waits, the model does
//! what is due before the guest's own request; each request that is done is an interrupt, which
//! makes the guest ask to run at that instant.

use super::desk::{AllAt, At};
use super::shared::{GUEST, Shared};
use super::terms::{End, Ended, Protocol, Terms, Told};
use super::wire::{LENGTH, Mark, Message, op};
use crate::engine::Finished;
use crate::front::Front;
use crate::listen::{Listener, Stream};
use crate::machine::Machine;
use crate::vhost_user::in_band::{Disk, Gone};
use manx_core::drive::Storage;
use manx_core::units::{Duration, Instant};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::time;
use zerocopy::{FromBytes, IntoBytes};

/// The end of the guest's time: 2^63 - 1 nanoseconds, which it takes for "never".
const NEVER: u64 = i64::MAX as u64;

/// The guest runs no longer than this by itself: so a signal is heard while it sleeps.
const FREE: u64 = 1_000_000_000;

/// The time of day at the start: 2026-01-01 00:00:00 UTC.
pub(super) const DAY: u64 = 1_767_225_600_000_000_000;

/// How often the watch looks, in wall time.
const LOOK: time::Duration = time::Duration::from_millis(20);

/// A connection, or the place where it is awaited.
enum Line<T> {
    Awaited(Listener),
    There(T),
}

/// The calendar of one guest and its disks.
pub struct Calendar<'a, S: Storage> {
    machines: &'a mut [Machine<S>],
    shared: Shared,
    is_shared: bool,
    time: Line<Stream>,
    disks: Vec<Line<Disk>>,
    /// The one line carries streams to the server of this protocol, for all machines.
    is_network: bool,
    front: Option<Box<dyn Front>>,
    /// The last instant at which the guest and the model met.
    now: Instant,
    /// By messages: when the guest wants to run, and how far it may by itself.
    request: u64,
    free_until: u64,
    is_waiting: bool,
    seq: u32,
    terms: Terms,
    /// When the command began, and how long the wall took until then.
    begun: Option<(Instant, time::Duration)>,
    /// When the command last made a mark of its own.
    marked: Option<Instant>,
    answered: u64,
    /// When the drives acted, or were asked, if that is wanted; an instant may come twice.
    events: Option<Vec<Instant>>,
    looked: time::Instant,
    started: time::Instant,
}

impl<'a, S: Storage> Calendar<'a, S> {
    /// A calendar behind one socket for time and one for each machine.
    ///
    /// # Errors
    /// There is no memory to share.
    pub fn new(
        machines: &'a mut [Machine<S>],
        time: Listener,
        disks: Vec<Listener>,
        terms: Terms,
    ) -> Result<Self, String> {
        let shared = Shared::new(terms.protocol == Protocol::Shared)
            .map_err(|error| format!("no memory to share with the guest: {error}"))?;
        Ok(Self {
            machines,
            shared,
            is_shared: false,
            time: Line::Awaited(time),
            disks: disks.into_iter().map(Line::Awaited).collect(),
            is_network: false,
            front: None,
            now: Instant::START,
            request: NEVER,
            free_until: 0,
            is_waiting: false,
            seq: 0,
            terms,
            begun: None,
            marked: None,
            answered: 0,
            events: None,
            looked: time::Instant::now(),
            started: time::Instant::now(),
        })
    }

    /// The machines are no disks: the guest reaches them over streams, by a protocol.
    pub fn serve(&mut self, front: Box<dyn Front>) {
        (self.is_network, self.front) = (true, Some(front));
    }

    /// The machines, while the guest waits.
    pub fn machines(&self) -> &[Machine<S>] {
        self.machines
    }

    /// From now on it remembers when the drives act, or are asked.
    pub fn keep_events(&mut self) {
        self.events = Some(Vec::new());
    }

    /// When they did, in order; an instant may come twice.
    pub fn take_events(&mut self) -> Vec<Instant> {
        self.events.take().unwrap_or_default()
    }

    /// The run goes on to the next power loss.
    pub fn set_cut(&mut self, at: Instant) {
        self.terms.cut = Some(at);
    }

    /// When the command began, by the guest's last word before it.
    pub fn begun(&self) -> Option<Instant> {
        self.begun.map(|(at, _)| at)
    }

    /// When the command made its last mark; when it began where it made none.
    pub fn marked(&self) -> Option<Instant> {
        self.marked.or(self.begun())
    }

    /// How long the wall took until the command began.
    pub fn boot(&self) -> Option<time::Duration> {
        self.begun.map(|(_, boot)| boot)
    }

    /// Requests that the drives have answered.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    /// The last instant at which the guest and the model met.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Goes on until the run ends.
    ///
    /// # Errors
    /// The guest broke a protocol, or a socket of ours failed.
    pub fn run(&mut self, told: &mut dyn Told) -> Result<Ended, String> {
        loop {
            let turn = match self.is_waiting {
                true => self.turn(),
                false => self.hear(told),
            };
            let looked = turn.and_then(|()| self.look(told));
            match looked {
                Ok(()) => {}
                Err(End::Ended(ended)) => return Ok(ended),
                Err(End::Failed(why)) => return Err(why),
            }
        }
    }

    fn look(&mut self, told: &mut dyn Told) -> Result<(), End> {
        if self.looked.elapsed() < LOOK {
            return Ok(());
        }
        self.looked = time::Instant::now();
        if let Some(ended) = told.look(self.now, self.answered) {
            return Err(End::Ended(ended));
        }
        match self.terms.wall.is_some_and(|wall| self.started.elapsed() > wall) {
            true => Err(End::Ended(Ended::Slow)),
            false => Ok(()),
        }
    }

    /// The guest waits: it runs, or the model does something.
    fn turn(&mut self) -> Result<(), End> {
        let wanted = if self.is_shared { self.shared.request() } else { Some(self.request) };
        let wanted = wanted.unwrap_or(NEVER);
        let (first, event) = self.next_event();
        let event_ns = event.as_ns().min(NEVER);
        let at = Instant::from_ns(wanted.min(event_ns));
        if self.terms.cut.is_some_and(|cut| at >= cut) {
            return Err(End::Ended(Ended::Cut));
        }
        if at > self.terms.until {
            return Err(End::Ended(Ended::Late));
        }
        if wanted <= event_ns {
            return match wanted {
                NEVER => Err(End::Ended(Ended::Asleep)),
                _ => self.give(Instant::from_ns(wanted), event_ns),
            };
        }
        // Another drive may act at the same instant, after this one.
        let others = self.machines.iter().enumerate().filter(|(number, _)| *number != first);
        let others = others.map(|(_, machine)| machine.next_event_at()).min();
        let next = event + Duration::from_ns(1);
        let limit = others.unwrap_or(Instant::NEVER).min(Instant::from_ns(wanted));
        let mut limit = limit.min(self.stop_at()).max(next);
        if let Some(events) = &mut self.events {
            events.push(event);
            limit = next;
        }
        match self.machines[first].advance_before(limit) {
            Some(finished) => self.deliver(first, &finished),
            None => Ok(()),
        }
    }

    /// The model does nothing beyond: the run ends there.
    fn stop_at(&self) -> Instant {
        let until = self.terms.until + Duration::from_ns(1);
        self.terms.cut.map_or(until, |cut| cut.min(until))
    }

    /// The drive that acts next, and when.
    fn next_event(&self) -> (usize, Instant) {
        let events = self.machines.iter().map(Machine::next_event_at).enumerate();
        events.min_by_key(|(number, at)| (*at, *number)).unwrap_or((0, Instant::NEVER))
    }

    /// How far the guest may run by itself.
    fn free_until(&self, event_ns: u64) -> u64 {
        let stop = self.stop_at().as_ns();
        event_ns.min(self.now.as_ns().saturating_add(FREE)).min(stop).min(NEVER)
    }

    /// The guest runs.
    fn give(&mut self, at: Instant, event_ns: u64) -> Result<(), End> {
        self.now = at;
        self.is_waiting = false;
        let free_until = self.free_until(event_ns);
        if self.is_shared {
            self.shared.give(at.as_ns(), free_until);
            return self.tell(op::RUN, at.as_ns());
        }
        self.free_until = 0;
        self.set_free(free_until)?;
        self.tell(op::RUN, at.as_ns())
    }

    /// By messages: how far the guest may run by itself, once it knows.
    fn set_free(&mut self, free_until: u64) -> Result<(), End> {
        if free_until == self.free_until || free_until <= self.now.as_ns() {
            return Ok(());
        }
        self.free_until = free_until;
        self.tell(op::FREE_UNTIL, free_until)?;
        let seq = self.seq;
        loop {
            let message = self.read()?;
            match message.op.get() {
                op::ACK if message.seq.get() == seq => return Ok(()),
                op::ACK => {}
                _ => self.act(message)?,
            }
        }
    }

    /// A request of a drive is done: its bytes go to the guest, which is interrupted.
    fn deliver(&mut self, number: usize, finished: &Finished) -> Result<(), End> {
        self.now = finished.at;
        self.answered += 1;
        if self.is_shared {
            self.shared.take(self.now.as_ns());
        }
        let machine = &self.machines[number];
        let line = if self.is_network { 0 } else { number };
        if let Line::There(disk) = &mut self.disks[line] {
            disk.done(&finished.done, &|out| machine.data(finished, out))?;
        }
        self.call(line)
    }

    /// Interrupts the guest, where it wants that, and waits until it has taken note.
    fn call(&mut self, number: usize) -> Result<(), End> {
        loop {
            let Line::There(disk) = &mut self.disks[number] else { return Ok(()) };
            if !disk.call().map_err(|_| Gone::Closed)? {
                return Ok(());
            }
            loop {
                let (Line::There(disk), Line::There(time)) = (&self.disks[number], &self.time)
                else {
                    return Ok(());
                };
                let Some(channel) = disk.channel() else { return Ok(()) };
                let ready = ready(&[channel, time.as_fd()], None)?;
                if ready & 2 != 0 {
                    let message = self.read()?;
                    self.act(message)?;
                }
                if ready & 1 != 0 {
                    break;
                }
            }
            if let Line::There(disk) = &mut self.disks[number] {
                disk.answered()?;
            }
        }
    }

    /// Waits for a word of the guest, and acts on it.
    fn hear(&mut self, told: &mut dyn Told) -> Result<(), End> {
        let mut places: Vec<BorrowedFd<'_>> = Vec::with_capacity(1 + self.disks.len());
        places.push(match &self.time {
            Line::Awaited(listener) => listener.as_fd(),
            Line::There(stream) => stream.as_fd(),
        });
        places.extend(self.disks.iter().map(|disk| match disk {
            Line::Awaited(listener) => listener.as_fd(),
            Line::There(disk) => disk.socket(),
        }));
        let ready = ready(&places, Some(LOOK))?;
        if ready == 0 {
            self.looked = self.started;
            return self.look(told);
        }
        if ready & 1 != 0 {
            if let Line::Awaited(listener) = &self.time {
                let stream = listener.accept().map_err(failed)?;
                self.time = Line::There(stream);
                return Ok(());
            }
            let message = self.read()?;
            return self.act(message);
        }
        self.hear_disk(ready.trailing_zeros() as usize - 1)
    }

    fn hear_disk(&mut self, number: usize) -> Result<(), End> {
        if let Line::Awaited(listener) = &self.disks[number] {
            let stream = listener.accept().map_err(failed)?;
            let page = self.machines[number].page_bytes() as u32;
            self.disks[number] = Line::There(match self.front.take() {
                Some(front) => Disk::of_streams(stream, front),
                None => Disk::new(stream, format!("manx{number}"), page, self.terms.lies),
            });
            return Ok(());
        }
        if self.is_shared {
            self.now = self.now.max(Instant::from_ns(self.shared.current()));
        }
        let now = self.now;
        let Line::There(disk) = &mut self.disks[number] else { return Ok(()) };
        let is_whole = match self.is_network {
            true => disk.hear(&mut AllAt { machines: self.machines, now })?,
            false => disk.hear(&mut At { machine: &mut self.machines[number], now })?,
        };
        if !is_whole {
            return Ok(());
        }
        if let Some(events) = &mut self.events {
            events.push(self.now);
        }
        // Requests that are done at once interrupt the guest before it goes on.
        self.call(number)?;
        let free_until = self.free_until(self.next_event().1.as_ns());
        match self.is_shared {
            true => self.shared.limit(free_until),
            false => self.set_free(free_until)?,
        }
        match &mut self.disks[number] {
            Line::There(disk) => disk.answer().map_err(|_| End::Ended(Ended::Died)),
            Line::Awaited(_) => Ok(()),
        }
    }

    /// Acts on a message of the guest.
    fn act(&mut self, message: Message) -> Result<(), End> {
        let (op, seq, at) = (message.op.get(), message.seq.get(), message.time.get());
        let mut reply = 0;
        match op {
            op::ACK => return Ok(()),
            op::START => return self.start(seq),
            op::REQUEST => self.request = at,
            op::WAIT => {
                self.is_waiting = true;
                if self.is_shared {
                    return Ok(());
                }
            }
            op::GET => reply = self.now.as_ns(),
            op::UPDATE => self.now = self.now.max(Instant::from_ns(at)),
            op::GET_TOD => reply = DAY + self.now.as_ns(),
            op::BROADCAST => match Mark::from(at) {
                Mark::Begin => self.begun = Some((self.now, self.started.elapsed())),
                Mark::End(code) => {
                    self.send(Message::new(op::ACK, seq, 0))?;
                    return Err(End::Ended(Ended::Exit(code as u8)));
                }
                Mark::Failed(error) => return Err(End::Ended(Ended::Setup(error))),
                Mark::Own(_) => self.marked = Some(self.now),
            },
            other => return Err(End::Failed(format!("the guest's message of kind {other}"))),
        }
        self.send(Message::new(op::ACK, seq, reply))
    }

    /// The guest is there: it gets the memory, with its number.
    fn start(&mut self, seq: u32) -> Result<(), End> {
        let free_until = self.free_until(self.next_event().1.as_ns());
        self.shared.give(0, free_until);
        let Line::There(stream) = &self.time else { return Ok(()) };
        let message = Message::new(op::ACK, seq, GUEST.into());
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        // The second is for a log, which the guest does not keep.
        let files = [self.shared.file.as_fd(), self.shared.file.as_fd()];
        ancillary.push(SendAncillaryMessage::ScmRights(&files));
        let bytes = [IoSlice::new(message.as_bytes())];
        sendmsg(stream, &bytes, &mut ancillary, SendFlags::NOSIGNAL)
            .map_err(|_| End::Ended(Ended::Died))?;
        // It says so before its next message: at the first one it is known.
        self.wait_for_choice()
    }

    /// The guest maps the memory before it says anything else, if it knows its version.
    fn wait_for_choice(&mut self) -> Result<(), End> {
        if self.terms.protocol == Protocol::Messages {
            return Ok(());
        }
        let message = self.read()?;
        self.is_shared = self.shared.is_taken();
        self.act(message)
    }

    fn tell(&mut self, op: u32, at: u64) -> Result<(), End> {
        self.seq = self.seq.wrapping_add(1);
        self.send(Message::new(op, self.seq, at))
    }

    fn send(&mut self, message: Message) -> Result<(), End> {
        let Line::There(stream) = &mut self.time else { return Ok(()) };
        stream.write_all(message.as_bytes()).map_err(|_| End::Ended(Ended::Died))
    }

    fn read(&mut self) -> Result<Message, End> {
        let Line::There(stream) = &mut self.time else { return Err(End::Ended(Ended::Died)) };
        let (mut bytes, mut count) = ([0; LENGTH], 0);
        while count < LENGTH {
            match stream.read(&mut bytes[count..]) {
                Ok(0) => return Err(End::Ended(Ended::Died)),
                Ok(more) => count += more,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    ready(&[stream.as_fd()], None)?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(End::Ended(Ended::Died)),
            }
        }
        Message::read_from_bytes(&bytes).map_err(|_| End::Ended(Ended::Died))
    }
}

/// Bits of the places that can be read, after a wait; none after `most`.
fn ready(places: &[BorrowedFd<'_>], most: Option<time::Duration>) -> Result<u64, End> {
    let mut all: Vec<PollFd<'_>> =
        places.iter().map(|place| PollFd::from_borrowed_fd(*place, PollFlags::IN)).collect();
    let most = most.map(|most| Timespec { tv_sec: 0, tv_nsec: most.subsec_nanos().into() });
    match poll(&mut all, most.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(failed(error.into())),
    }
    let bits = all.iter().enumerate();
    Ok(bits.fold(0, |bits, (place, one)| bits | u64::from(!one.revents().is_empty()) << place))
}

fn failed(error: std::io::Error) -> End {
    End::Failed(format!("the calendar's sockets: {error}"))
}
