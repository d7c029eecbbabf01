//! Work without the interpreter's lock, which Ctrl-C ends, and which is told how far it is.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// So often Ctrl-C is looked for, and progress is told.
const TICK: Duration = Duration::from_millis(50);

/// Does `work` on a thread of its own. `stop` is set where the user interrupts or `tick` fails; the
/// work then ends soon, and the exception goes on.
pub fn watched<T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    mut tick: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let done = (Mutex::new(false), Condvar::new());
    let mut failed = None;
    let ended = std::thread::scope(|scope| {
        let done = &done;
        let worker = scope.spawn(move || {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            *done.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            done.1.notify_all();
            result
        });
        loop {
            let is_done = py.detach(|| {
                let waiting = done.0.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = done.1.wait_timeout_while(waiting, TICK, |is_done| !*is_done);
                *waited.unwrap_or_else(PoisonError::into_inner).0
            });
            if failed.is_none() {
                failed = py.check_signals().and_then(|()| tick(py)).err();
                if failed.is_some() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            if is_done {
                break py.detach(|| worker.join());
            }
        }
    });
    match (failed, ended) {
        (Some(error), _) => Err(error),
        (None, Ok(Ok(result))) => Ok(result),
        (None, _) => Err(PyRuntimeError::new_err(
            "a defect of manx: a thread of it panicked (what it said is on stderr)",
        )),
    }
}
