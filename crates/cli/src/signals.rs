//! SIGINT (Ctrl-C), SIGTERM and SIGHUP: the first one asks the runs to end, the next one ends the
//! program.
//!
//! A terminal that closes may send SIGHUP more than once, and nobody pressed anything: a second one
//! changes nothing. Under `nohup` SIGHUP is ignored, and stays so.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set by the first signal.
pub static STOP: AtomicBool = AtomicBool::new(false);

/// Nothing would have to be saved or cleared away: the first signal ends the program.
static AT_ONCE: AtomicBool = AtomicBool::new(false);

const STOPPING: &[u8] = b"stopping; press again to quit at once\n";
const INTERRUPTED: &[u8] = b"error: interrupted; nothing was written\n";

/// From now on a signal sets [`STOP`].
pub fn listen() {
    system::listen();
}

/// Whether the first signal ends the program, now that there is nothing, or something, to save.
pub fn end_at_once(yes: bool) {
    AT_ONCE.store(yes, Ordering::Relaxed);
}

/// The answer to a signal: something to say, and whether the program ends.
fn answer(is_hangup: bool) -> (&'static [u8], bool) {
    match STOP.swap(true, Ordering::Relaxed) {
        false if AT_ONCE.load(Ordering::Relaxed) => (INTERRUPTED, true),
        false => (STOPPING, false),
        true => (b"", !is_hangup),
    }
}

#[cfg(unix)]
mod system {
    use super::answer;
    use std::io::IsTerminal;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A progress line has no end of its own there.
    static ON_TERMINAL: AtomicBool = AtomicBool::new(false);

    pub fn listen() {
        ON_TERMINAL.store(std::io::stderr().is_terminal(), Ordering::Relaxed);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            // SAFETY: `sigaction` gets valid places, of which zeroed ones are valid values, and a
            // handler that does only what a handler may. Where it refuses, the signal ends the
            // program at once, as without it.
            unsafe {
                let mut before: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &mut before);
                if signal == libc::SIGHUP && before.sa_sigaction == libc::SIG_IGN {
                    continue;
                }
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
    }

    extern "C" fn on_signal(signal: libc::c_int) {
        let before = errno();
        let (text, ends) = answer(signal == libc::SIGHUP);
        if !text.is_empty() && ON_TERMINAL.load(Ordering::Relaxed) {
            write(b"\n");
        }
        write(text);
        if ends {
            // SAFETY: it may be called by a handler, unlike `exit`.
            unsafe { libc::_exit(130) }
        }
        if let (Some(place), Some(before)) = (errno_place(), before) {
            // SAFETY: the place is this thread's own.
            unsafe { *place = before }
        }
    }

    fn write(text: &[u8]) {
        // SAFETY: `write` may be called by a handler; the buffer is whole. Nobody may be there to
        // read it.
        let _ = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
    }

    /// The last error of the call that the signal broke into.
    fn errno() -> Option<libc::c_int> {
        // SAFETY: the place is this thread's own.
        errno_place().map(|place| unsafe { *place })
    }

    fn errno_place() -> Option<*mut libc::c_int> {
        // SAFETY: these only say where it is.
        #[cfg(target_os = "linux")]
        return Some(unsafe { libc::__errno_location() });
        #[cfg(target_vendor = "apple")]
        return Some(unsafe { libc::__error() });
        #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
        None
    }
}

#[cfg(not(unix))]
mod system {
    use super::answer;
    use crate::say::say;

    pub fn listen() {
        // Without a handler Ctrl-C ends the program at once, which is no reason not to run.
        let _ = ctrlc::set_handler(|| {
            let (text, ends) = answer(false);
            say(&String::from_utf8_lossy(text));
            if ends {
                std::process::exit(130);
            }
        });
    }
}
