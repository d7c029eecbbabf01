//! The watch of a command line over a server, and what stands beside its clients.

use super::super::knobs::Knobs;
use super::super::store;
use super::Failure;
use crate::args::ServeArgs;
use crate::say::say_line;
use crate::signals::STOP;
use manx_config::ConfigError;
use manx_core::host::Records;
use manx_lab::run::Sink;
use manx_report::page::{UPLOT_CSS, UPLOT_JS, UPLOT_LICENSE};
use manx_serve::control::live::{Drawing, Live};
use manx_serve::control::{Asked, Change, Orders};
use manx_serve::{Address, Head, Listener, Watch};
use serde_json::Value;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::time;

/// The watch of a command line: a signal or the time ends it, and orders come from beside.
pub struct Terminal {
    pub ends: Option<time::Instant>,
    pub sink: Option<Box<dyn Sink>>,
    pub orders: Option<Receiver<Asked>>,
    pub knobs: Knobs,
}

impl Watch for Terminal {
    fn stops(&self) -> bool {
        STOP.load(Ordering::Relaxed) || self.ends.is_some_and(|ends| time::Instant::now() >= ends)
    }

    fn records(&mut self, records: &Records) -> Result<(), String> {
        self.sink.as_mut().map_or(Ok(()), |sink| sink.take(records))
    }

    fn is_asked(&self) -> bool {
        self.orders.is_some()
    }

    fn asked(&mut self) -> Option<Asked> {
        self.orders.as_ref().and_then(|orders| orders.try_recv().ok())
    }

    fn changed(&mut self, sets: &[String]) -> Result<Change, String> {
        self.knobs.change(sets)
    }

    fn refused(&mut self) {
        self.knobs.take_back();
    }

    fn head(&self) -> Result<Head, String> {
        let scenario = self.knobs.scenario();
        store::storable(scenario)?;
        Ok(store::head(scenario))
    }

    fn settings(&self) -> Value {
        self.knobs.told()
    }
}

/// Orders from the control socket and from the page, as they were asked for, and the socket that
/// goes with the server.
pub fn beside(args: &ServeArgs) -> Result<(Option<Receiver<Asked>>, Option<Listener>), Failure> {
    if args.control.is_none() && args.live.is_none() {
        return Ok((None, None));
    }
    let (orders, receiver) = Orders::new();
    let mut held = None;
    if let Some(path) = &args.control {
        let listener = Listener::bind(&Address::Unix(path.clone(), 0o600))
            .map_err(|error| ConfigError::new(format!("--control: {error}")))?;
        let heard = listener.orders(orders.clone());
        heard.map_err(|error| Failure::Work(format!("--control: {error}")))?;
        held = Some(listener);
    }
    if let Some(address) = args.live {
        let drawing = Drawing { script: UPLOT_JS, license: UPLOT_LICENSE, style: UPLOT_CSS };
        let live = Live::serve(address, drawing, orders)
            .map_err(|why| ConfigError::new(format!("--live {address}: {why}")))?;
        say_line(&format!("live at {}", live.url()));
    }
    Ok((Some(receiver), held))
}

/// Readiness for systemd, where it asks: `Type=notify`.
pub fn tell_service_manager() {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else { return };
    if let Ok(socket) = std::os::unix::net::UnixDatagram::unbound() {
        // It asked to be told; if it cannot be, it notices itself.
        let _ = socket.send_to(b"READY=1", path);
    }
}
