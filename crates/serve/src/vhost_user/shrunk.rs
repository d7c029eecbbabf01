//! Memory of a client that makes its file smaller under the server's feet.
//!
//! A touch of a page behind the end of a mapped file is SIGBUS, which ends a program. Here it puts
//! empty memory of the server's own in the mapping's place, and a mark says so: the connection
//! ends, the others are served on. A SIGBUS elsewhere does what it did before.

use std::ffi::c_void;
use std::mem::{MaybeUninit, zeroed};
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Mappings at once, of all connections.
const PLACES: usize = 4096;

/// A mapping that is watched; it begins at 0 where there is none.
struct Place {
    start: AtomicUsize,
    end: AtomicUsize,
    is_lost: AtomicBool,
}

static MAPPED: [Place; PLACES] = [const {
    Place { start: AtomicUsize::new(0), end: AtomicUsize::new(0), is_lost: AtomicBool::new(false) }
}; PLACES];

static INSTALL: Once = Once::new();

/// The disposition before ours; written once, before the handler can run.
static mut BEFORE: MaybeUninit<libc::sigaction> = MaybeUninit::uninit();

/// The watch over a mapping, until it is dropped.
#[derive(Debug)]
pub(super) struct Watched(usize);

impl Watched {
    /// Watches the mapping of `length` bytes from `start` on; `None`: there are too many.
    pub fn new(start: usize, length: usize) -> Option<Self> {
        INSTALL.call_once(install);
        let taken = |place: &Place| {
            place.start.compare_exchange(0, start, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let number = MAPPED.iter().position(taken)?;
        MAPPED[number].is_lost.store(false, Ordering::Release);
        MAPPED[number].end.store(start + length, Ordering::Release);
        Some(Self(number))
    }

    /// The file became smaller, and a page that is gone was touched.
    pub fn is_lost(&self) -> bool {
        MAPPED[self.0].is_lost.load(Ordering::Acquire)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        MAPPED[self.0].end.store(0, Ordering::Release);
        MAPPED[self.0].start.store(0, Ordering::Release);
    }
}

fn install() {
    // SAFETY: `sigaction` gets valid places, of which zeroed ones are valid values, and a handler
    // that does only what a handler may. No handler of ours runs before `BEFORE` is written.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut c_void);
        action.sa_sigaction = on_bus as Handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        let before = ptr::addr_of_mut!(BEFORE).cast::<libc::sigaction>();
        libc::sigaction(libc::SIGBUS, ptr::null(), before);
        libc::sigaction(libc::SIGBUS, &action, ptr::null_mut());
    }
}

extern "C" fn on_bus(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO a valid one.
    let at = unsafe { (*info).si_addr() } as usize;
    for place in &MAPPED {
        let (start, end) = (place.start.load(Ordering::Acquire), place.end.load(Ordering::Acquire));
        if start == 0 || !(start..end).contains(&at) {
            continue;
        }
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE,
        );
        // SAFETY: the range is a mapping of ours, and stays one.
        let mapped =
            unsafe { libc::mmap(start as *mut c_void, end - start, protection, flags, -1, 0) };
        if mapped != libc::MAP_FAILED {
            place.is_lost.store(true, Ordering::Release);
            return;
        }
    }
    // SAFETY: it was written before this handler could run; the access is repeated, and meets it.
    unsafe {
        let before = ptr::addr_of!(BEFORE).cast::<libc::sigaction>();
        libc::sigaction(libc::SIGBUS, before, ptr::null_mut());
    }
}
