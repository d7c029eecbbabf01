//! Clients come, say something, and go.

use super::{BELL, LISTENER, Server};
use crate::connection::{Connection, CountingDesk};
use crate::desk::AtNow;
use crate::engine::Engine;
use crate::front::Fault;
use manx_core::units::Instant;
use rustix::event::epoll;
use std::io::{self, ErrorKind};
use std::time;
use tracing::{debug, debug_span, warn};

/// So long nobody is accepted when there is no descriptor for one.
const CLOSED: time::Duration = time::Duration::from_millis(100);

impl<E: Engine> Server<'_, E> {
    pub(super) fn accept(&mut self, now: Instant) {
        loop {
            let stream = match self.listener.accept() {
                Ok(stream) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The client has gone while it waited; the next may be there.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return self.close_doors(&error),
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

    /// No connection is to be had, for want of descriptors or of memory: the listener would tell of
    /// the same one at once, again and again.
    fn close_doors(&mut self, error: &io::Error) {
        if self.told_closed.is_none_or(|told| told.elapsed().as_secs() >= 1) {
            self.told_closed = Some(time::Instant::now());
            warn!("cannot accept a connection: {error}");
        }
        self.closed_until = Some(time::Instant::now() + CLOSED);
        self.watch_doors(epoll::EventFlags::empty());
    }

    /// Accepts connections again, when it is time.
    pub(super) fn open_again(&mut self) {
        if self.closed_until.is_some_and(|until| time::Instant::now() >= until) {
            self.closed_until = None;
            self.watch_doors(epoll::EventFlags::IN);
        }
    }

    fn watch_doors(&self, flags: epoll::EventFlags) {
        let data = epoll::EventData::new_u64(LISTENER);
        if let Err(error) = epoll::modify(&self.epoll, self.listener, data, flags) {
            warn!("the listener is not watched: {error}");
        }
    }

    /// From now on nobody is heard, and what is under way is answered.
    pub(super) fn leave_all(&mut self) {
        self.is_ending = true;
        self.closed_until = None;
        self.watch_doors(epoll::EventFlags::empty());
        self.connections.values_mut().for_each(Connection::leave);
        self.ready.extend(self.connections.keys());
        self.send_ready();
    }

    pub(super) fn hear(
        &mut self,
        number: u64,
        flags: epoll::EventFlags,
        now: Instant,
        scratch: &mut [u8],
    ) {
        if flags.intersects(epoll::EventFlags::OUT) {
            self.ready.push(number);
        }
        if self.connections.get(&number).is_some_and(|connection| connection.is_leaving) {
            // It is not read any more; an end of both ways leaves nobody to answer.
            if flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR) {
                self.close(number, &Fault::Closed);
            }
            return;
        }
        if flags.intersects(epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR)
        {
            self.act_on(number, now, Some(scratch));
        }
    }

    /// A connection has work that its socket does not tell of.
    pub(super) fn hear_bell(&mut self, number: u64, now: Instant) {
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.hear_bell();
            self.take_up(number, now);
        }
    }

    /// A connection has more to do than what its socket brings.
    pub(super) fn take_up(&mut self, number: u64, now: Instant) {
        if self.connections.get(&number).is_some_and(|connection| !connection.is_leaving) {
            self.act_on(number, now, None);
        }
    }

    /// Reads what came, if there is a place to read to, and acts on it.
    pub(super) fn act_on(&mut self, number: u64, now: Instant, scratch: Option<&mut [u8]>) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let _within = debug_span!("connection", number).entered();
        let mut desk = AtNow { fleet: &mut self.fleet, now, owner: number };
        let mut desk = CountingDesk::new(&mut desk);
        let acted = match scratch {
            Some(scratch) => loop {
                match connection.receive(scratch, &mut desk) {
                    Ok(true) if !connection.is_deaf => {}
                    acted => break acted.map(drop),
                }
            },
            None => connection.go_on(&mut desk),
        };
        self.tally.refused_requests += desk.refused;
        self.ready.push(number);
        if connection.has_more && !self.again.contains(&number) {
            self.again.push(number);
        }
        match acted {
            Ok(()) => {}
            Err(Fault::Finished) => connection.leave(),
            Err(fault) => {
                // Answers that are due still go, as far as the socket takes them.
                connection.send();
                self.close(number, &fault);
            }
        }
    }

    /// Watches a socket for what matters now.
    pub(super) fn watch_for(&mut self, number: u64) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let is_unheard = connection.is_deaf || connection.is_leaving;
        let wanted = (connection.has_unsent(), is_unheard);
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

    pub(super) fn close(&mut self, number: u64, fault: &Fault) {
        let Some(mut connection) = self.connections.remove(&number) else { return };
        connection.end();
        let _ = epoll::delete(&self.epoll, &connection.stream);
        match fault {
            Fault::Closed | Fault::Finished => debug!("connection {number} ends"),
            Fault::Protocol(why) => {
                self.tally.faults += 1;
                warn!("connection {number} is closed: {why}");
            }
        }
    }

    /// Lets the connections act on time that passed, or on what the drive's controller answered.
    pub(super) fn tick(&mut self) {
        if self.is_ending {
            return;
        }
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
    pub(super) fn close_slow(&mut self) {
        let seconds = self.limits.negotiation_s;
        let slow = self.connections.iter().filter(|(_, connection)| connection.is_slow(seconds));
        let slow: Vec<u64> = slow.map(|(number, _)| *number).collect();
        let fault = Fault::Protocol(format!("no negotiation within {seconds} s"));
        slow.into_iter().for_each(|number| self.close(number, &fault));
        // One that has nothing more to ask, or whose memory others need.
        let is_full = self.room.is_full();
        let has_time = |other: &Connection| !(is_full || other.is_leaving);
        let unread = self.connections.iter().filter(|(_, other)| other.is_unread(seconds));
        let unread = unread.filter(|(_, other)| !has_time(other)).map(|(number, _)| *number);
        let unread: Vec<u64> = unread.collect();
        let fault = Fault::Protocol(format!("answers were not read for {seconds} s"));
        unread.into_iter().for_each(|number| self.close(number, &fault));
        // Others may have let go of memory that they wait for.
        let deaf = self.connections.iter().filter(|(_, connection)| connection.is_deaf);
        self.ready.extend(deaf.map(|(number, _)| *number));
    }
}
