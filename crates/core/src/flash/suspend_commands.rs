//! The commands of a suspension, where the device gives them a time on the channel
//! (`channel.suspend_command`).
//!
//! Kim et al., Practical Erase Suspension for Modern Low-latency SSDs, USENIX ATC '19, section 3:
//! the controller sends one to stop (`d-es` and `t-es`: or to stop at the next safe point) and one
//! to go on. Each takes its place on the channel as the command of a read does. An operation works
//! on until a command to stop has crossed; then it stops, or does at the first safe point from then
//! on. One that ends before has heard nothing, and what crosses then is lost. A die has one command
//! to stop at a time: a second one would say the same. A resumption begins when its command has
//! crossed.
//!
//! Where the time is 0 nothing of this runs: a stop is an act of the die. No die of an `ideal`
//! policy hears commands.

use super::activity::Act;
use super::blame::Whose;
use super::channel::Crossing;
use super::die::{Operation, Phase};
use super::suspendable::Work;
use super::{Flash, Stop, StopCommand, Suspendable};
use crate::units::{Die, Duration, Instant};

impl Flash {
    /// True when stops and resumptions of such operations are commands on the channel.
    pub fn sends_stops(&self, kind: Suspendable) -> bool {
        !self.timing.suspend_command.is_zero()
            && self.suspensions.as_ref().is_some_and(|all| all.has_commands(kind))
    }

    /// The command to stop that the die's operation was sent and has not heeded.
    pub fn sent_stop(&self, die: Die) -> Option<StopCommand> {
        self.suspensions.as_ref()?.dies[die.index()].as_ref()?.sent
    }

    /// Sends the die's operation the command to stop: a part of it in this way when it arrives, or
    /// (`None`) at the first safe point from then on. It is asked for a read of the host, or of
    /// garbage collection.
    pub fn send_stop(&mut self, now: Instant, die: Die, stop: Option<Stop>, gc: bool) {
        let slot = die.index();
        let Some(work) = self.suspensions.as_ref().and_then(|all| all.dies[slot]) else { return };
        let operation = Operation { gc, ..work.operation };
        let arrives = self.send(now, slot, Crossing::Suspend, &operation);
        let sent = Some(StopCommand { arrives, stop });
        let work = Work { sent, ..work };
        self.keep(slot, work);
        let due = match self.dies[slot].phase {
            Phase::Resuming => work.or_command(now, work.resumed),
            _ => work.next_turn(now),
        };
        self.timers.set(slot, due);
    }

    /// Sends the command to go on, if it is one; how long it is until the part goes on.
    pub(super) fn send_resume(&mut self, now: Instant, slot: usize, work: &Work) -> Duration {
        let crosses = match self.sends_stops(work.kind) {
            true => self.send(now, slot, Crossing::Resume, &work.operation).since(now),
            false => Duration::ZERO,
        };
        let time = self.suspensions.as_ref().map(|all| all.resume_time(work));
        crosses + time.unwrap_or(Duration::ZERO)
    }

    /// [`Flash::send_resume`], if the channel is free then.
    pub(super) fn time_to_resume(&self, work: &Work) -> Duration {
        let command = match self.sends_stops(work.kind) {
            true => self.timing.suspend_command,
            false => Duration::ZERO,
        };
        let time = self.suspensions.as_ref().map(|all| all.resume_time(work));
        command + time.unwrap_or(Duration::ZERO)
    }

    /// A command takes its place on the channel; when it has crossed.
    fn send(&mut self, now: Instant, slot: usize, what: Crossing, of: &Operation) -> Instant {
        let at = (slot, self.dies[slot].channel);
        let place = self.reserve(now, at, Whose::Suspension, what, of);
        let act = if what == Crossing::Resume { Act::ResumeCommand } else { Act::SuspendCommand };
        self.log(slot, (place.start, place.end), act, of);
        place.end
    }

    fn keep(&mut self, slot: usize, work: Work) {
        if let Some(suspensions) = &mut self.suspensions {
            suspensions.dies[slot] = Some(work);
        }
    }

    /// A command that has its place on the channel comes later after all. It is on its way, so what
    /// it is about has not begun.
    #[inline(never)]
    pub(super) fn suspension_comes_later(
        &mut self,
        slot: usize,
        crossing: Crossing,
        delay: Duration,
    ) {
        let Some(mut work) = self.suspensions.as_ref().and_then(|all| all.dies[slot]) else {
            return;
        };
        let phase = self.dies[slot].phase;
        match (crossing, &mut work.sent) {
            (Crossing::Resume, _) if phase == Phase::Resuming => work.resumed += delay,
            (Crossing::Suspend, Some(sent)) => sent.arrives += delay,
            // The operation that it was sent to is over.
            _ => return,
        }
        self.keep(slot, work);
        let due = if phase == Phase::Resuming { work.resumed } else { work.part_ends() };
        let arrives = work.sent.map_or(due, |sent| sent.arrives);
        self.timers.set(slot, arrives.min(due));
    }
}
