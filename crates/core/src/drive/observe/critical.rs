//! The causes of a wait for the buffer: the operations that led to a write's room, one after the
//! other.
//!
//! Room comes with the end of a flash operation: a row is on flash, or garbage collection has given
//! its lane a block. That operation came to its die because another had ended before (its row was
//! sealed when room came, or a page was filled up), and so on. These are the *links* of a chain
//! that ends when the write goes on, each beginning where the one before ended. A write's wait is
//! cut along its chain, from the last link back to the instant at which it came: each link gives
//! what its own operation spent within that time, on its die, on the channel, on its own work. What
//! is before the first link nobody held up: that is the buffer's own part.
//!
//! A link that began before the write gives only its later part. What its die did then is read from
//! the die's past ([`crate::flash::Flash::kept_at`]). A link keeps what it and all before it gave,
//! so a long chain is one subtraction.

use crate::drive::RequestId;
use crate::drive::observe::attribution::{OpBooks, Story};
use crate::flash::{Flash, Keeper, Waits, add_kept, kept_between};
use crate::sim::Ring;
use crate::units::Die;
use crate::units::{Cause, Duration, Instant, Split};
use std::collections::BTreeSet;

/// No link.
pub(in crate::drive) const NO_LINK: u64 = u64::MAX;

/// So many links are kept before those are let go that nobody asks for.
const LINKS_KEPT: usize = 16;
/// Links in which a story is looked for.
const STORY_LINKS: usize = 64;

/// The kind of an operation, as those see it that waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drive) enum Work {
    /// A program of what is in the buffer.
    Program,
    /// A read without which a page of the buffer cannot leave.
    Read,
    /// Garbage collection, or a read that held up an erase: all that its die did before led to its
    /// end.
    Other,
}

/// An operation that has ended.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct Ended {
    pub at: Instant,
    pub die: Die,
    pub work: Work,
    pub books: OpBooks,
    pub waits: Waits,
    /// The cause of its wait while its die was idle.
    pub idle: Cause,
    /// From when on it counts, and what led to that; later than it came for who came while it was
    /// on its way.
    pub from: Instant,
    pub led_by: u64,
    /// It is a link already.
    pub link: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Link {
    ended: Ended,
    parent: u64,
    /// Some link before, to get back in long steps, and how many links there are before this one.
    jump: u64,
    depth: u32,
    /// The sum of what this and all links before it gave.
    sum: Split,
}

/// The links of a wait that are the request's own work, and not another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drive) enum Own {
    Nothing,
    /// The reads that came last.
    Reads,
    /// The program that came last, and the reads before it.
    Program,
}

/// The links that a request may still ask for, and what is under way.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct Critical {
    links: Ring<Link>,
    /// The number of the first of them.
    first: u64,
    /// The operation that ended last.
    pub ended: Ended,
    /// Those that wait for flash itself, by when they began; and when, by request.
    awaiting: BTreeSet<(Instant, RequestId)>,
    by_request: Vec<Instant>,
}

impl Default for Ended {
    /// Nothing has ended yet.
    fn default() -> Self {
        let books = OpBooks::none(Instant::NEVER);
        let (die, waits, idle) = (Die(0), Waits::default(), Cause::Space);
        let (at, from, led_by, link) = (Instant::NEVER, Instant::START, NO_LINK, NO_LINK);
        Self { at, die, work: Work::Other, books, waits, idle, from, led_by, link }
    }
}

impl Ended {
    /// An operation of which no books are kept has ended: what its die did is all that counts.
    #[inline]
    pub fn without_books(&mut self, at: Instant, die: Die, idle: Cause) {
        (self.at, self.die, self.work, self.idle) = (at, die, Work::Other, idle);
        (self.from, self.led_by, self.link) = (Instant::START, NO_LINK, NO_LINK);
        self.books.enqueued = at;
    }

    /// Adds what it spent from `from` on; its own work goes to `own`.
    pub(super) fn add_to(&self, flash: &Flash, split: &mut Split, from: Instant, own: Cause) {
        let Self { at, die, books, waits, idle, .. } = self;
        let kept = |from, to| kept_between(&flash.kept_at(from, *die), &flash.kept_at(to, *die));
        if self.is_read_from_the_die() {
            return add_kept(split, &kept(from, *at), *idle);
        }
        let within = from > books.issued;
        if within && (!waits.reads.is_zero() || !waits.suspension.is_zero()) {
            let mut kept = kept(from, *at);
            let own_time = std::mem::take(&mut kept[self.keeper() as usize]);
            split.add(own, Duration::from_ns(own_time));
            return add_kept(split, &kept, *idle);
        }
        if !within {
            add_kept(split, &kept(from, books.issued), *idle);
            books.add_work_to(split, waits, *at, own);
            return;
        }
        // It waited for the channel first, and then, preloaded, for the program before it.
        let mut left = (books.issued + waits.total()).max(from).since(from);
        for (cause, time) in [
            (Cause::Program, waits.program),
            (Cause::GcCopy, waits.gc),
            (Cause::Channel, waits.channel),
        ] {
            let part = left.min(time);
            split.add(cause, part);
            left = left - part;
        }
        split.add(own, at.since((books.issued + waits.total()).max(from)));
    }

    /// Adds all that it spent from when on it counts.
    fn add_whole_to(&self, flash: &Flash, split: &mut Split) {
        match self.work {
            Work::Other => {}
            // The flash does not remember the die from then on: nobody asks for the whole, whose
            // request came before.
            _ if self.is_read_from_the_die() && !flash.remembers(self.from) => {}
            _ if self.is_read_from_the_die() => {
                self.add_to(flash, split, self.from, self.others_cause())
            }
            _ => self.books.add_all_to(split, &self.waits, self.at, self.idle, self.others_cause()),
        }
    }

    /// All that counts is what its die did.
    fn is_read_from_the_die(&self) -> bool {
        self.work == Work::Other || self.from > self.books.enqueued
    }

    /// The cause that its own work is for others.
    fn others_cause(&self) -> Cause {
        match self.work {
            Work::Read => Cause::Reads,
            _ if self.books.by_flush => Cause::Flush,
            _ => Cause::Program,
        }
    }

    /// The work of its die while it is programmed.
    fn keeper(&self) -> Keeper {
        if self.books.by_flush { Keeper::Flush } else { Keeper::Program }
    }

    fn story(&self) -> Option<Story> {
        let OpBooks { enqueued, issued, met, forced, .. } = self.books;
        let times = [enqueued, issued, self.at];
        (self.work != Work::Other).then_some(Story {
            die: self.die,
            met,
            times,
            forced,
            makes_room: true,
        })
    }
}

impl Critical {
    fn get(&self, number: u64) -> Option<&Link> {
        self.links.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// The operation that ends now led to something that waited for it from `from` on only, when
    /// `led_by` had ended.
    pub fn joined(&mut self, now: Instant, from: Instant, led_by: u64) {
        let ended = &mut self.ended;
        if ended.at == now && from > ended.books.enqueued {
            (ended.from, ended.led_by, ended.link) = (from, led_by, NO_LINK);
        }
    }

    /// The link that ends now, by its number.
    pub fn link(&mut self, flash: &Flash, now: Instant) -> u64 {
        if self.ended.at != now || self.ended.link != NO_LINK {
            return if self.ended.at == now { self.ended.link } else { NO_LINK };
        }
        let number = self.first + self.links.len() as u64;
        let led_by = self.ended.led_by;
        let (mut parent, mut jump, mut depth, mut sum) = (NO_LINK, number, 0, Split::NONE);
        if let Some(before) = self.get(led_by) {
            (parent, jump, depth, sum) = (led_by, led_by, before.depth + 1, before.sum);
            // Jumps double, as in a skew-binary list.
            if let Some(far) = self.get(before.jump)
                && let Some(farther) = self.get(far.jump)
                && before.depth - far.depth == far.depth - farther.depth
            {
                jump = far.jump;
            }
        }
        self.ended.link = number;
        self.ended.add_whole_to(flash, &mut sum);
        *self.links.push_place() = Link { ended: self.ended, parent, jump, depth, sum };
        number
    }

    /// Adds the wait from `from` until link `number` ended, and tells of its longest part; `own`
    /// says what of it is the request's own work.
    pub fn add_wait(
        &self,
        flash: &Flash,
        split: &mut Split,
        (from, to): (Instant, Instant),
        number: u64,
        own: Own,
    ) -> Option<Story> {
        let (mut own, mut number, mut to) = (own, number, to);
        let story = self.story(number, from);
        while let Some(link) = self.get(number).filter(|_| from < to) {
            let Ended { work, books, .. } = link.ended;
            let is_own = match own {
                Own::Nothing => false,
                Own::Reads => work == Work::Read,
                // A program that had begun before the request came belongs to another request.
                Own::Program => work == Work::Program && books.issued >= from,
            };
            if !is_own {
                break;
            }
            link.ended.add_to(flash, split, from.max(link.ended.from), Cause::Service);
            (own, number, to) = (Own::Reads, link.parent, link.ended.from.max(from));
        }
        if from == to {
            return story;
        }
        let Some(last) = self.get(number) else {
            split.add(Cause::Buffer, to.since(from));
            return story;
        };
        let first = self.reaching(number, from);
        *split += last.sum.beyond(&first.sum);
        first.ended.add_to(flash, split, from.max(first.ended.from), first.ended.others_cause());
        split.add(Cause::Buffer, first.ended.from.max(from).since(from));
        story
    }

    /// The link of the chain that was there at `from`, or the first one.
    fn reaching(&self, number: u64, from: Instant) -> &Link {
        let mut link = self.get(number).expect("the caller saw it");
        while link.ended.from > from {
            let far = self
                .get(link.jump)
                .filter(|far| far.ended.from > from && far.ended.from < link.ended.from);
            match far.or_else(|| self.get(link.parent)) {
                Some(before) => link = before,
                None => break,
            }
        }
        link
    }

    /// The story of the link that takes most of a wait.
    fn story(&self, number: u64, from: Instant) -> Option<Story> {
        let chain = std::iter::successors(self.get(number), |link| self.get(link.parent));
        let within = chain.take_while(|link| link.ended.at > from).take(STORY_LINKS);
        let longest = within.max_by_key(|link| link.ended.at.since(link.ended.from.max(from)))?;
        longest.ended.story()
    }

    /// A request that came at `begun` waits for flash itself.
    pub fn awaits(&mut self, request: RequestId, begun: Instant) {
        let at = request.index();
        if at >= self.by_request.len() {
            self.by_request.resize(at + 1, Instant::NEVER);
        }
        self.by_request[at] = begun;
        self.awaiting.insert((begun, request));
    }

    /// A request is done; true when it waited for flash itself.
    pub fn is_done(&mut self, request: RequestId) -> bool {
        let Some(begun) = self.by_request.get_mut(request.index()) else { return false };
        self.awaiting.remove(&(std::mem::replace(begun, Instant::NEVER), request))
    }

    /// True when it pays to look for what nobody asks for any more.
    #[inline]
    pub fn lets_go_now(&self) -> bool {
        self.links.len() >= LINKS_KEPT
    }

    /// The first that waits for the buffer came at `waiting`: lets go what nobody asks for any
    /// more. Says from when on the past may be asked for.
    pub fn lets_go(&mut self, waiting: Instant) -> Instant {
        let from = self.awaiting.first().map_or(waiting, |(begun, _)| waiting.min(*begun));
        let before = self.links.len();
        self.links.drop_while(|link| link.ended.at < from);
        self.first += (before - self.links.len()) as u64;
        from
    }
}
