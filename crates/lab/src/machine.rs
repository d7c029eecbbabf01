//! CPU time and memory of a run, from the machine. Nothing of it may reach a result outside
//! `machine`.

/// CPU time of the calling thread in seconds; `None` where the system does not tell.
pub fn thread_cpu_s() -> Option<f64> {
    #[cfg(unix)]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a valid place for the answer, and the call keeps no reference to it.
        let answered = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        (answered == 0).then(|| time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
    }
    #[cfg(not(unix))]
    None
}

/// The largest resident set of the process so far, in bytes; `None` where the system does not tell.
pub fn peak_rss_bytes() -> Option<u64> {
    #[cfg(unix)]
    {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: `usage` is a valid place for the answer; it is zeroed, which is a valid `rusage`
        // in any case.
        let (answered, usage) = unsafe {
            (libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()), usage.assume_init())
        };
        // Linux and the BSDs count in KiB, macOS in bytes.
        let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
        (answered == 0).then(|| usage.ru_maxrss as u64 * unit)
    }
    #[cfg(not(unix))]
    None
}

/// CPU seconds of the calling thread since its start; NaN, which means "not measured", where the
/// system does not tell.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Option<f64>);

impl Stopwatch {
    /// Starts now.
    pub fn start() -> Self {
        Self(thread_cpu_s())
    }

    /// CPU seconds since the start.
    pub fn cpu_s(&self) -> f64 {
        match (self.0, thread_cpu_s()) {
            (Some(start), Some(now)) => (now - start).max(0.0),
            _ => f64::NAN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn work_takes_cpu_time_and_sleep_takes_next_to_none() {
        let watch = Stopwatch::start();
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(watch.cpu_s() < 0.04, "{}", watch.cpu_s());
        let watch = Stopwatch::start();
        let sum: u64 = (0..20_000_000u64).map(std::hint::black_box).sum();
        assert!(sum > 0 && watch.cpu_s() > 0.0);
        assert!(peak_rss_bytes().unwrap() > 1 << 20);
    }
}
