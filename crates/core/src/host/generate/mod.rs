//! Generated requests: what a job asks for when it replays no trace.
//!
//! ```text
//! arrival ─ when    mix (here) ─ read, write, trim, flush    sizes ─ how large    address ─ where
//!                                        tiers, zipf over alias, scatter: what address draws from
//! phases ─ when, what and whether large, as a trace did    rewrites ─ where its writes go
//! ```
//!
//! Each concern draws from a random stream of its own, and as often for a read as for a write: two
//! jobs that differ in their read mix only ask for the same addresses at the same times (common
//! random numbers). Nothing is allocated after construction.
//!
//! Not done here: no closed loop is kept going (the driver does that, with `queue_depth`, `think`
//! and `time`), and nothing is known of earlier writes: a read may ask for a sector that was never
//! written.

mod address;
mod alias;
mod arrival;
mod error;
mod phases;
mod rewrites;
mod scatter;
mod sizes;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_files;
#[cfg(test)]
mod tests_fitted;
#[cfg(test)]
mod tests_shape;
mod tiers;
mod zipf;

pub use error::GenerateError;

use crate::drive::Op;
use crate::host::{Arrival, JobSpec, Pattern, Request, RequestSource, StreamBy};
use crate::sim::Rng;
use crate::units::{Instant, Lba};
use address::Addresses;
use arrival::Arrivals;
use error::Job;
use manx_base::draw_each;
use phases::Phases;
use rewrites::Rewrites;
use sizes::{Range, Sizes};

/// The requests of one job, drawn as they are asked for.
#[derive(Clone, Debug)]
pub struct Generator {
    /// Requests still to come, flushes included; `u64::MAX` where only time bounds the job.
    left: u64,
    arrivals: Arrivals,
    mix: Mix,
    sizes: Sizes,
    addresses: Addresses,
    /// A fitted profile's; they take the place of `arrivals` and the mix, and of the addresses of
    /// writes.
    phases: Option<Box<Phases>>,
    rewrites: Option<Box<Rewrites>>,
    /// The hint of every request; by tier it is that of the tier.
    stream: u8,
    by_tier: bool,
    /// A closed loop of one size at random addresses, of reads and writes alone: nothing but the
    /// operation and the address is drawn.
    is_plain: bool,
}

impl Generator {
    /// The generator of job number `job` of a workload, for a device of `capacity` sectors, under
    /// the run's root seed.
    ///
    /// The job's range is clipped to the device. Any other setting that cannot be honoured is an
    /// error; those of a pattern or an arrival that the job does not use are not looked at.
    pub fn new(
        spec: &JobSpec,
        capacity: u64,
        root: u64,
        job: usize,
    ) -> Result<Self, GenerateError> {
        let job = Job { spec, index: job, capacity };
        if let Some(trace) = &spec.trace {
            return Err(job.error(
                "trace",
                &trace.file,
                "absent in a job that generates its requests",
            ));
        }
        if spec.requests == 0 && spec.time.is_zero() {
            return Err(job.error("requests", 0, "above 0 where `time` is 0s: the job has no end"));
        }
        let range = Range::new(job)?;
        let sizes = Sizes::new(job, range, stream(root, job, "size"))?;
        let addresses = Addresses::new(job, range, sizes.smallest(), root)?;
        let left = if spec.requests == 0 { u64::MAX } else { spec.requests };
        let by_tier = spec.stream_by == StreamBy::Tier && spec.pattern == Pattern::Tiers;
        let (arrivals, mix) = (Arrivals::new(job, root)?, Mix::new(job, root)?);
        let phases = match (&spec.phases, spec.arrival) {
            (Some(phases), Arrival::Phases) => Some(Box::new(Phases::new(job, phases, root)?)),
            _ => None,
        };
        let rewrites = match &spec.rewrites {
            Some(rewrites) => {
                Some(Box::new(Rewrites::new(job, rewrites, range, sizes.smallest(), root)?))
            }
            None => None,
        };
        let stream = spec.stream;
        let is_plain = phases.is_none()
            && rewrites.is_none()
            && arrivals.are_at_once()
            && mix.is_of_reads_and_writes()
            && sizes.are_one()
            && addresses.are_random();
        Ok(Self {
            left,
            arrivals,
            mix,
            sizes,
            addresses,
            phases,
            rewrites,
            stream,
            by_tier,
            is_plain,
        })
    }

    /// The next request where little is drawn: the answer is that of the long way.
    #[inline]
    fn next_plain(&mut self) -> Request {
        self.left -= 1;
        let is_read = self.mix.reads.holds(self.mix.ops.next_u64());
        let (op, fit) = (if is_read { Op::Read } else { Op::Write }, self.sizes.only(is_read));
        let lba = self.addresses.draw_random(fit);
        let (sectors, stream) = (fit.sectors, self.stream);
        Request { at: Instant::START, op, lba, sectors, fua: false, stream }
    }

    /// The next request of a fitted profile.
    #[cold]
    fn next_fitted(&mut self) -> Option<Request> {
        let beat = match &mut self.phases {
            Some(phases) => Some(phases.draw()?),
            None => None,
        };
        let at = match beat {
            Some(beat) => beat.at,
            None => self.arrivals.draw()?,
        };
        let (op, fua) = self.mix.draw(beat.map(|beat| beat.is_read));
        if op == Op::Flush {
            return Some(Request { at, op, lba: Lba(0), sectors: 0, fua: false, stream: 0 });
        }
        let is_read = op == Op::Read;
        let fit = self.sizes.draw(is_read, beat.map(|beat| beat.is_large));
        let (lba, sectors) = match &mut self.rewrites {
            Some(rewrites) if !is_read => {
                let (lba, sectors) = rewrites.draw(fit);
                (Lba(lba), sectors)
            }
            _ => (self.addresses.draw(fit, is_read), fit.sectors),
        };
        let stream = if self.by_tier { self.addresses.tier() } else { self.stream };
        Some(Request { at, op, lba, sectors, fua, stream })
    }
}

impl RequestSource for Generator {
    fn next_requests(&mut self, places: &mut [Request]) -> usize {
        if self.is_plain {
            let drawn = self.left.min(places.len() as u64) as usize;
            places[..drawn].iter_mut().for_each(|place| *place = self.next_plain());
            return drawn;
        }
        draw_each(self, places)
    }

    #[inline]
    fn next_request(&mut self) -> Option<Request> {
        if self.left == 0 {
            return None;
        }
        if self.is_plain {
            return Some(self.next_plain());
        }
        if self.phases.is_some() || self.rewrites.is_some() {
            let request = self.next_fitted();
            self.left = if request.is_some() { self.left - 1 } else { 0 };
            return request;
        }
        let Some(at) = self.arrivals.draw() else {
            self.left = 0;
            return None;
        };
        self.left -= 1;
        let (op, fua) = self.mix.draw(None);
        if op == Op::Flush {
            return Some(Request { at, op, lba: Lba(0), sectors: 0, fua: false, stream: 0 });
        }
        let is_read = op == Op::Read;
        let fit = self.sizes.draw(is_read, None);
        let lba = self.addresses.draw(fit, is_read);
        let stream = if self.by_tier { self.addresses.tier() } else { self.stream };
        Some(Request { at, op, lba, sectors: fit.sectors, fua, stream })
    }
}

/// The mix of reads, writes, deallocations and flushes.
#[derive(Clone, Debug)]
struct Mix {
    reads: Chance,
    trims: Chance,
    fua: Chance,
    flush_every: u32,
    writes_since_flush: u32,
    ops: Rng,
    fuas: Rng,
}

impl Mix {
    fn new(job: Job, root: u64) -> Result<Self, GenerateError> {
        let spec = job.spec;
        let reads = job.percent("read_percent", spec.read_percent)?;
        let trims = job.percent("trim_percent", spec.trim_percent)?;
        // A millionth of a percent for the rounding of decimals such as 99.9 and 0.1.
        if reads + trims > 100.0 + 1e-6 {
            let allowed = format!("at most what read_percent = {reads} leaves of 100");
            return Err(job.error("trim_percent", trims, allowed));
        }
        Ok(Self {
            reads: Chance::new(reads),
            trims: Chance::new(trims),
            fua: Chance::new(job.percent("fua_percent", spec.fua_percent)?),
            flush_every: spec.flush_every,
            writes_since_flush: 0,
            ops: stream(root, job, "op"),
            fuas: stream(root, job, "fua"),
        })
    }

    /// True when nothing but a number for each request decides.
    fn is_of_reads_and_writes(&self) -> bool {
        self.flush_every == 0 && !self.trims.may_hold() && !self.fua.may_hold()
    }

    /// The next operation, and whether it carries FUA.
    #[inline]
    fn draw(&mut self, told: Option<bool>) -> (Op, bool) {
        let flushes = self.flush_every > 0 && self.writes_since_flush == self.flush_every;
        // Where a phase has told what is a read, a flush is one of those that are none.
        if flushes && told != Some(true) {
            self.writes_since_flush = 0;
            return (Op::Flush, false);
        }
        let random = self.ops.next_u64();
        // Drawn for every request, so that the read mix does not shift it; not at all where no
        // write carries FUA.
        let fua = self.fua.may_hold() && self.fua.holds(self.fuas.next_u64());
        // One number decides: its low end reads, its high end trims, what lies between writes.
        // Where a phase has told what is no read, trims have their share of all that is none.
        let (is_read, random) = match told {
            Some(is_read) => (is_read, self.reads.spread(random)),
            None => (self.reads.holds(random), random),
        };
        if is_read {
            (Op::Read, false)
        } else if self.trims.holds(!random) {
            (Op::Trim, false)
        } else {
            self.writes_since_flush += u32::from(self.flush_every > 0);
            (Op::Write, fua)
        }
    }
}

/// A probability in units of 2^-53, so that 0 % is never and 100 % is always.
#[derive(Clone, Copy, Debug)]
struct Chance(u64);

impl Chance {
    fn may_hold(self) -> bool {
        self.0 > 0
    }

    fn new(percent: f64) -> Self {
        Self((percent / 100.0 * (1u64 << 53) as f64 + 0.5).floor() as u64)
    }

    /// `random` put evenly among the numbers for which it does not happen.
    fn spread(self, random: u64) -> u64 {
        let room = (1u64 << 53) - self.0.min((1 << 53) - 1);
        (((u128::from(random) * u128::from(room)) >> 64) as u64 + self.0.min((1 << 53) - 1)) << 11
    }

    /// Does it happen, given 64 random bits?
    #[inline]
    fn holds(self, random: u64) -> bool {
        (random >> 11) < self.0
    }
}

/// The random stream of one concern of a job, or of all jobs of a sequence.
fn stream(root: u64, job: Job, concern: &str) -> Rng {
    let name = match job.spec.sequence {
        0 => format!("workload/{}/{concern}", job.index),
        sequence => format!("workload/sequence {sequence}/{concern}"),
    };
    Rng::stream(root, &name)
}
