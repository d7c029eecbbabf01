//! Attribution of an array's requests: the way that led to each completion, step by step, without a
//! gap.
//!
//! Every action of an array follows from an event: a request arrives, a member's command completes,
//! a timer fires. A command or a timer that is begun then remembers the way to that event; when it
//! ends, its way is longer by a step. A request that waits for several goes on with the last of
//! them, so the way that led to its completion is the critical path: each nanosecond of it is a
//! command's, which its drive has split ([`crate::drive::Attributed`]), or a wait of the array's
//! own. A way begins where the request came, or where the update of its row did: before that it
//! waited for the row. What another update or request did to the row is not followed further: the
//! wait is the row's.
//!
//! Kept only where asked for; nothing of it changes what the array does.

use super::piece::RebuildId;
use super::rows::RowId;
use super::under_way::RequestId;
use super::{Array, Io, MemberLink, Owner, Timer};
use crate::drive::{Attributed, CommandId, Op, Status, Step};
use crate::units::{Cause, Id, Instant, Split, Stage};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The steps that led to an event, the last one first. Ways share their beginnings.
pub(super) type Way = Option<Arc<Link>>;

#[derive(Clone, Debug)]
pub(super) struct Link {
    step: Step,
    before: Way,
}

/// The books of requests under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Books {
    now: Instant,
    /// The way to the event that is handled now.
    way: Way,
    /// The drive's attribution of the command that completes.
    said: Option<Attributed>,
    /// By request: when it came.
    came: Vec<Instant>,
    /// By command at a member: what led to it.
    ios: Vec<Way>,
    /// By number of a timer: since when it runs, and what led to it.
    timers: BTreeMap<u64, (Instant, Way)>,
    /// By computation that may not enter its rows, and by update that may not be written: since
    /// when, and the way.
    blocked: Vec<(Instant, Way)>,
    ready: Vec<(Instant, Way)>,
    /// Of the completions that are to be given out, in their order.
    done: VecDeque<Told>,
    given: Option<Told>,
}

/// A request's time, as a whole and step by step.
#[derive(Clone, Debug)]
struct Told {
    attributed: Attributed,
    steps: Vec<Step>,
}

fn at<T: Clone + Default>(list: &mut Vec<T>, index: impl Id) -> &mut T {
    let index = index.index();
    if index >= list.len() {
        list.resize(index + 1, T::default());
    }
    &mut list[index]
}

/// A step in which nothing but `cause` was waited for.
fn waited(stage: Stage, cause: Cause, drive: Option<u32>, from: Instant, to: Instant) -> Step {
    let mut split = Split::NONE;
    split.add(cause, to.since(from));
    Step { stage, drive, from, to, split, story: None }
}

fn extended(before: Way, step: Step) -> Way {
    if step.from == step.to { before } else { Some(Arc::new(Link { step, before })) }
}

impl Array {
    /// Keeps books of the array and of its drives.
    pub(super) fn keep_books(&mut self) {
        self.members.iter_mut().for_each(|member| member.drive_mut().attribute());
        if let Some(spare) = &mut self.spare {
            spare.drive_mut().attribute();
        }
        self.books = Some(Box::default());
    }
}

impl<L: MemberLink> Array<L> {
    /// A request comes.
    #[inline]
    pub(super) fn book_request(&mut self, now: Instant, request: RequestId) {
        if let Some(books) = &mut self.books {
            (books.now, books.way) = (now, None);
            *at(&mut books.came, request) = now;
        }
    }

    /// A command goes to a member.
    #[inline]
    pub(super) fn book_io(&mut self, io: CommandId) {
        if let Some(books) = &mut self.books {
            *at(&mut books.ios, io) = books.way.clone();
        }
    }

    /// A member's command is about to end: what its drive says of it.
    #[inline]
    pub(super) fn book_said(&mut self, member: usize) {
        if let Some(books) = &mut self.books {
            books.said = self.members[member].link().attributed().copied();
        }
    }

    /// A member's command has ended. A read that failed was in vain, and so was what a dead member
    /// does not answer.
    pub(super) fn book_io_end(&mut self, now: Instant, id: CommandId, status: Status) {
        let Some(books) = &mut self.books else { return };
        let Io { owner, member, at: from, is_read, .. } = self.ios[id];
        let said = books.said.take().filter(|_| status == Status::Success || !is_read);
        let step = match said {
            Some(Attributed { split, story }) => {
                let stage = match owner {
                    Owner::Direct { .. } => Stage::Read,
                    Owner::Rest { .. } => Stage::Reconstruct,
                    Owner::Old { .. } => Stage::PreRead,
                    Owner::Write { .. } => Stage::Write,
                    Owner::Flush { .. } => Stage::Flush,
                };
                Step { stage, drive: Some(member.0), from, to: now, split, story }
            }
            None => waited(Stage::Retry, Cause::Retry, Some(member.0), from, now),
        };
        (books.now, books.way) = (now, extended(books.ios[id.index()].take(), step));
    }

    /// A timer is set. Who waits for a row to be restored is nobody's request.
    pub(super) fn book_timer(&mut self, number: u64, timer: Timer) {
        if let Some(books) = &mut self.books
            && !matches!(
                timer,
                Timer::Fail | Timer::Bury { .. } | Timer::Replace { .. } | Timer::Restore
            )
        {
            books.timers.insert(number, (books.now, books.way.clone()));
        }
    }

    /// It fires.
    pub(super) fn book_timer_end(&mut self, now: Instant, number: u64, timer: Timer) {
        let Some(books) = &mut self.books else { return };
        (books.now, books.way) = (now, None);
        let Some((from, before)) = books.timers.remove(&number) else { return };
        let step = match timer {
            Timer::Computed { .. } => waited(Stage::Xor, Cause::Reconstruct, None, from, now),
            Timer::Hedge { piece, .. } => {
                waited(Stage::Retry, Cause::Retry, Some(self.pieces[piece].member.0), from, now)
            }
            // Under `rails` only, where no request waits for a write but for the memory that it
            // frees.
            _ => waited(Stage::Cache, Cause::Buffer, None, from, now),
        };
        books.way = extended(before, step);
    }

    /// Makes `way` the way to what is begun from now on; returns the one before.
    fn led_by(&mut self, way: Way) -> Way {
        self.books.as_mut().and_then(|books| std::mem::replace(&mut books.way, way))
    }

    /// Does something of which the array's own turn is the reason, and not what happens now.
    pub(super) fn led_by_nothing(&mut self, action: impl FnOnce(&mut Self)) {
        let before = self.led_by(None);
        action(self);
        self.led_by(before);
    }

    /// A computation waits to enter its rows.
    pub(super) fn book_blocked(&mut self, rebuild: RebuildId) {
        if let Some(books) = &mut self.books {
            *at(&mut books.blocked, rebuild) = (books.now, books.way.clone());
        }
    }

    /// It need not any more: it does `action`.
    pub(super) fn led_by_rows(&mut self, rebuild: RebuildId, action: impl FnOnce(&mut Self)) {
        let since =
            self.books.as_mut().map(|books| std::mem::take(&mut books.blocked[rebuild.index()]));
        self.led_by_wait(since, Stage::Stripe, Cause::Stripe, action);
    }

    /// An update waits for who reads its row whole.
    pub(super) fn book_ready(&mut self, slot: RowId) {
        if let Some(books) = &mut self.books {
            *at(&mut books.ready, slot) = (books.now, books.way.clone());
        }
    }

    /// They have left, and it does `action`.
    pub(super) fn led_by_readers(&mut self, slot: RowId, action: impl FnOnce(&mut Self)) {
        let since = self.books.as_mut().map(|books| std::mem::take(&mut books.ready[slot.index()]));
        self.led_by_wait(since, Stage::Stripe, Cause::Stripe, action);
    }

    /// There is room for a request in the memory, which it takes.
    pub(super) fn led_by_room(&mut self, request: RequestId, action: impl FnOnce(&mut Self)) {
        let since = self.books.as_ref().map(|books| (books.came[request.index()], None));
        self.led_by_wait(since, Stage::Cache, Cause::Buffer, action);
    }

    /// Does something that waited since then, when this had led to it.
    fn led_by_wait(
        &mut self,
        since: Option<(Instant, Way)>,
        stage: Stage,
        cause: Cause,
        action: impl FnOnce(&mut Self),
    ) {
        let to = self.books.as_ref().map_or(Instant::START, |books| books.now);
        let way =
            since.and_then(|(from, before)| extended(before, waited(stage, cause, None, from, to)));
        let before = self.led_by(way);
        action(self);
        self.led_by(before);
    }

    /// A request is done; what led here is its way.
    #[inline]
    pub(super) fn book_completion(&mut self, now: Instant, request: RequestId) {
        if self.books.is_some() {
            self.walk_back(now, request);
        }
    }

    #[inline(never)]
    fn walk_back(&mut self, now: Instant, request: RequestId) {
        let Some(books) = &mut self.books else { return };
        let (came, mut steps, mut link) =
            (books.came[request.index()], Vec::new(), books.way.as_ref());
        while let Some(this) = link {
            steps.push(this.step);
            link = this.before.as_ref();
        }
        let from = steps.last().map_or(now, |first| first.from);
        if from > came {
            debug_assert_eq!(
                self.requests[request].command.op,
                Op::Write,
                "only an update begins later than its request"
            );
            steps.push(waited(Stage::Stripe, Cause::Stripe, None, came, from));
        }
        steps.reverse();
        debug_assert!(
            steps.iter().zip(steps.iter().skip(1)).all(|(one, next)| one.to == next.from),
            "{steps:?}"
        );
        debug_assert!(
            steps.last().is_none_or(|last| last.to == now),
            "{steps:?} end before {now:?}"
        );
        let mut attributed = Attributed::default();
        steps.iter().for_each(|step| attributed.split += step.split);
        let at_dies = steps.iter().filter(|step| step.story.is_some());
        // Of equals, the first.
        attributed.story =
            at_dies.rev().max_by_key(|step| step.to.since(step.from)).and_then(|step| step.story);
        books.done.push_back(Told { attributed, steps });
    }

    /// The next completion is given out.
    #[inline]
    pub(super) fn book_given(&mut self) {
        if let Some(books) = &mut self.books {
            books.given = books.done.pop_front();
        }
    }

    pub(super) fn attributed_last(&self) -> Option<&Attributed> {
        self.books.as_ref()?.given.as_ref().map(|told| &told.attributed)
    }

    pub(super) fn steps_last(&self) -> &[Step] {
        let given = self.books.as_ref().and_then(|books| books.given.as_ref());
        given.map_or(&[], |told| &told.steps)
    }
}

impl Books {
    /// Of the request that completed last.
    pub fn latest(&self) -> Option<(&Attributed, &[Step])> {
        self.done.back().map(|told| (&told.attributed, told.steps.as_slice()))
    }
}
