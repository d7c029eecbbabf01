//! When a request arrives: at once (closed loop), at exponential gaps, at equal ones, or at
//! exponential ones in bursts.

use super::error::{GenerateError, Job};
use super::stream;
use crate::host::Arrival;
use crate::sim::Rng;
use crate::sim::math::ln;
use crate::units::{Duration, Instant};

/// The arrival times of a job's requests.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    process: Process,
    /// No request arrives at this time or later.
    end: u64,
}

#[derive(Clone, Debug)]
enum Process {
    Closed,
    Poisson(Poisson),
    Fixed(Fixed),
    Bursty(Bursty),
}

impl Arrivals {
    pub(super) fn new(job: Job, root: u64) -> Result<Self, GenerateError> {
        let process = match job.spec.arrival {
            Arrival::Closed | Arrival::Paced | Arrival::PacedSmooth
                if job.spec.queue_depth == 0 =>
            {
                return Err(job.error(
                    "queue_depth",
                    0,
                    "at least 1 with arrival = \"closed\" and \"paced\"",
                ));
            }
            Arrival::Closed => Process::Closed,
            // The threads keep their own schedule: only the rate is looked at here.
            Arrival::Paced | Arrival::PacedSmooth => rate(job).map(|_| Process::Closed)?,
            Arrival::Poisson => {
                Process::Poisson(Poisson::new(rate(job)?, stream(root, job, "arrival")))
            }
            Arrival::Fixed => Process::Fixed(Fixed::new(rate(job)?)),
            Arrival::Bursty => Process::Bursty(Bursty::new(job, root)?),
            // They have times of their own.
            Arrival::Phases if job.spec.phases.is_some() => Process::Closed,
            Arrival::Trace | Arrival::Phases => {
                let allowed = "closed, poisson, fixed, bursty or paced for a job without a trace";
                return Err(job.error("arrival", "trace", allowed));
            }
        };
        // A closed loop does not know the time: its driver stops it.
        let bound = if job.spec.time.is_zero() { Duration::MAX } else { job.spec.time };
        Ok(Self { process, end: bound.as_ns() })
    }

    /// True when every request may be issued at once.
    pub(super) fn are_at_once(&self) -> bool {
        matches!(self.process, Process::Closed)
    }

    /// When the next request arrives, or `None` beyond the end of the job.
    #[inline]
    pub(super) fn draw(&mut self) -> Option<Instant> {
        let at = match &mut self.process {
            Process::Closed => return Some(Instant::START),
            Process::Poisson(poisson) => poisson.draw(),
            Process::Fixed(fixed) => fixed.draw(),
            Process::Bursty(bursty) => bursty.draw(),
        };
        (at < self.end).then_some(Instant::from_ns(at))
    }
}

/// Billionths of a request per second.
const NANO: f64 = 1e9;

/// The job's rate in billionths of a request per second: exact for whole numbers and for up to nine
/// decimals.
fn rate(job: Job) -> Result<u64, GenerateError> {
    let rate = job.spec.rate;
    if !(1e-6..=NANO).contains(&rate) {
        return Err(job.error(
            "rate",
            rate,
            "at least 0.000001 and at most 1000000000 requests per second",
        ));
    }
    Ok((rate * NANO + 0.5).floor() as u64)
}

/// Arrivals drawn at once: their logarithms do not depend on each other, so the processor overlaps
/// them (measured: a request with its arrival takes 19 ns instead of 34).
const BATCH: usize = 16;

/// Exponential gaps, summed in fixed point: rounding each to a nanosecond would change the mean of
/// short ones.
#[derive(Clone, Debug)]
struct Poisson {
    rng: Rng,
    /// Nanoseconds; a parameter, not state.
    mean_gap: f64,
    /// Arrivals in nanoseconds, of which so many are used.
    batch: [u64; BATCH],
    used: usize,
    /// 2^-32 parts of a nanosecond that the last arrival of the batch was rounded down by.
    fraction: u64,
}

impl Poisson {
    fn new(rate_nano: u64, rng: Rng) -> Self {
        Self {
            rng,
            mean_gap: NANO * NANO / rate_nano as f64,
            batch: [0; BATCH],
            used: BATCH,
            fraction: 0,
        }
    }

    #[inline]
    fn draw(&mut self) -> u64 {
        if self.used == BATCH {
            self.refill();
        }
        let at = self.batch[self.used];
        self.used += 1;
        at
    }

    #[inline(never)]
    fn refill(&mut self) {
        // u in (0, 1]: the least is 2^-53, so the longest gap is 36.7 mean gaps.
        let uniform: [f64; BATCH] = std::array::from_fn(|_| 1.0 - self.rng.unit());
        let gaps = uniform.map(|u| self.mean_gap * -ln(u));
        let mut last = self.batch[BATCH - 1];
        for (at, gap) in self.batch.iter_mut().zip(gaps) {
            // Below 3.7e16 ns (the least rate), so the signed conversion, which costs less, does.
            let whole = gap as i64;
            self.fraction += ((gap - whole as f64) * (1u64 << 32) as f64) as i64 as u64;
            last = last.saturating_add(whole as u64 + (self.fraction >> 32));
            self.fraction &= (1 << 32) - 1;
            *at = last;
        }
        self.used = 0;
    }
}

/// Fewer requests than this in a mean burst are no burst, and drawing the empty ones would take for
/// ever.
const REQUESTS_OF_A_BURST: f64 = 0.01;

/// An interrupted Poisson process: exponential bursts with Poisson arrivals, exponential silences
/// between them.
///
/// With a mean rate m, a peak p m and bursts of mean length b, the mean silence is (p - 1) b and
/// the rate's autocorrelation falls as e^(-rt) with r = p / ((p - 1) b). Its variance is (p - 1)
/// m^2, so the index of dispersion of the counts in a time t is IDC(t) = 1 + 2 m (p - 1) / r (1 -
/// (1 - e^(-rt)) / (rt)) (Cox and Lewis 1966: the variance of a count is that of the integrated
/// rate, and its mean). `host::fit` solves this for p and b.
///
/// Arrivals are drawn on a clock that runs in bursts only; the silences before them are added.
#[derive(Clone, Debug)]
struct Bursty {
    poisson: Poisson,
    rng: Rng,
    /// Nanoseconds; parameters, not state.
    mean_burst: f64,
    mean_silence: f64,
    /// Where the present burst ends, on the clock of the bursts.
    burst_end: u64,
    /// The silences so far.
    silences: u64,
}

impl Bursty {
    fn new(job: Job, root: u64) -> Result<Self, GenerateError> {
        let (peak, mean_burst) = (job.spec.peak_to_mean, job.spec.burst.as_ns() as f64);
        if !(peak >= 1.0 && peak * job.spec.rate <= NANO) {
            return Err(job.error(
                "peak_to_mean",
                peak,
                "at least 1, and below 1e9 requests per second in a burst",
            ));
        }
        let peak_rate = rate(job)? as f64 * peak;
        if mean_burst * peak_rate / (NANO * NANO) < REQUESTS_OF_A_BURST {
            let allowed = format!(
                "long enough for {REQUESTS_OF_A_BURST} requests on average at {peak} times the rate"
            );
            return Err(job.error("burst", job.spec.burst, allowed));
        }
        let mut rng = stream(root, job, "burst");
        let mean_silence = mean_burst * (peak - 1.0);
        // In the steady state one in `peak` moments is in a burst; what is left of a period is
        // exponential again.
        let silent = rng.unit() * peak >= 1.0;
        let silences = if silent { exponential(&mut rng, mean_silence) } else { 0 };
        let burst_end = exponential(&mut rng, mean_burst);
        let poisson = Poisson::new((peak_rate + 0.5) as u64, stream(root, job, "arrival"));
        Ok(Self { poisson, rng, mean_burst, mean_silence, burst_end, silences })
    }

    #[inline]
    fn draw(&mut self) -> u64 {
        let at = self.poisson.draw();
        while at >= self.burst_end {
            self.burst_end =
                self.burst_end.saturating_add(exponential(&mut self.rng, self.mean_burst).max(1));
            self.silences =
                self.silences.saturating_add(exponential(&mut self.rng, self.mean_silence));
        }
        at.saturating_add(self.silences)
    }
}

/// An exponential time of this mean, in whole nanoseconds.
fn exponential(rng: &mut Rng, mean: f64) -> u64 {
    (mean * -ln(1.0 - rng.unit()) + 0.5) as u64
}

/// Equal gaps without drift: request i at floor(i 1e9 / rate), by adding the quotient and carrying
/// the remainder.
#[derive(Clone, Debug)]
struct Fixed {
    rate_nano: u64,
    /// Nanoseconds of the next arrival, and what its rounding down left, in units of 1 /
    /// `rate_nano`.
    next: u64,
    remainder: u64,
}

impl Fixed {
    fn new(rate_nano: u64) -> Self {
        Self { rate_nano, next: 0, remainder: 0 }
    }

    #[inline]
    fn draw(&mut self) -> u64 {
        const NANO_SQUARED: u64 = 1_000_000_000_000_000_000;
        let at = self.next;
        self.remainder += NANO_SQUARED % self.rate_nano;
        let carry = u64::from(self.remainder >= self.rate_nano);
        self.remainder -= carry * self.rate_nano;
        self.next = at.saturating_add(NANO_SQUARED / self.rate_nano + carry);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_rate_never_drifts() {
        for rate_nano in
            [1_000_000_000, 3_000_000_000, 70_000 * 1_000_000_000, 123_456_789_012_345, 100_000_000]
        {
            let mut fixed = Fixed::new(rate_nano);
            for i in 0..1_000_000u128 {
                let exact = i * 1_000_000_000_000_000_000 / u128::from(rate_nano);
                assert_eq!(
                    u128::from(fixed.draw()),
                    exact,
                    "request {i} at {rate_nano}e-9 per second"
                );
            }
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_of_the_rate_and_a_coefficient_of_variation_of_one() {
        let draws = 1_000_000;
        for rate in [0.5, 1e3, 3e5, 7e8] {
            let mut poisson = Poisson::new((rate * NANO) as u64, Rng::stream(1, "poisson"));
            let (mut last, mut sum, mut squares) = (0, 0.0, 0.0);
            for _ in 0..draws {
                let at = poisson.draw();
                let gap = (at - last) as f64 * rate / 1e9;
                (last, sum, squares) = (at, sum + gap, squares + gap * gap);
            }
            let mean = sum / f64::from(draws);
            let variance = squares / f64::from(draws) - mean * mean;
            // Cutting both ends of a gap to whole nanoseconds adds a sixth of ns^2, seen at 7e8 per
            // second only.
            let rounding = (rate / 1e9) * (rate / 1e9) / 6.0;
            // Standard errors: 1 / sqrt(n) of the mean, sqrt(8 / n) of the variance.
            assert!((mean - 1.0).abs() < 4e-3, "{rate}: mean {mean}");
            assert!((variance - rounding - 1.0).abs() < 1.2e-2, "{rate}: variance {variance}");
        }
    }

    #[test]
    fn the_end_of_time_is_an_end() {
        let mut fixed = Arrivals { process: Process::Fixed(Fixed::new(1)), end: u64::MAX };
        let times: Vec<_> =
            std::iter::from_fn(|| fixed.draw()).map(Instant::as_ns).take(100).collect();
        assert_eq!(times.len(), 19, "2^64 ns are 18.4 gaps of 1e18 ns");
    }
}
