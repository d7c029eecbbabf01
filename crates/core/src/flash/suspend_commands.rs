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
//! policy hears commands. What sends them is in `suspend`.

use super::channel::Crossing;
use super::die::Phase;
use super::suspendable::Work;
use super::{Flash, StopCommand, Suspendable};
use crate::units::{Die, Duration};

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

    /// From a resumption until the part goes on, if the channel is free then.
    pub(super) fn time_to_resume(&self, work: &Work) -> Duration {
        let command = match self.sends_stops(work.kind) {
            true => self.timing.suspend_command,
            false => Duration::ZERO,
        };
        let time = self.suspensions.as_ref().map(|all| all.resume_time(work));
        command + time.unwrap_or(Duration::ZERO)
    }

    pub(super) fn keep(&mut self, slot: usize, work: Work) {
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
