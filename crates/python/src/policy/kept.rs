//! The state that Python has of a thread, kept from call to call.
//!
//! A thread that Python does not know gets a state with each call and loses it after: most of what
//! a short call takes. A thread of ours that calls a policy has one until it ends.

use pyo3::ffi;
use std::cell::RefCell;

thread_local! {
    static KEPT: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

/// The state of this thread, which does not have the interpreter's lock.
struct Kept {
    ensured: ffi::PyGILState_STATE,
    state: *mut ffi::PyThreadState,
}

/// From now on this thread has a state. Threads of Python have one anyway.
pub(super) fn keep() {
    KEPT.with_borrow_mut(|kept| {
        // SAFETY: the function may be called at any time, with the lock or without.
        if kept.is_none() && unsafe { ffi::PyGILState_GetThisThreadState() }.is_null() {
            // SAFETY: the interpreter is there: a call of its own waits for this thread's work. The
            // lock that is got here is given back at once, and the state goes with `Kept`.
            *kept = Some(unsafe {
                let ensured = ffi::PyGILState_Ensure();
                Kept { ensured, state: ffi::PyEval_SaveThread() }
            });
        }
    });
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: it is of this thread, whose last use of Python this is; who began the thread
        // waits for its end in a call of the interpreter's.
        unsafe {
            ffi::PyEval_RestoreThread(self.state);
            ffi::PyGILState_Release(self.ensured);
        }
    }
}
