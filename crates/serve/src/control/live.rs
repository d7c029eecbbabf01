//! The live page: a server of HTTP for one page, a stream of states, and orders.
//!
//! The page asks for nothing from elsewhere. States go as server-sent events (HTML Living Standard,
//! 9.2). An order is a POST that only a page of the same origin can send: it needs a header that
//! others may not set without being asked, and a Host that is this server's address.

use super::{Order, Orders};
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tiny_http::{Header, Method, Request, Response, Server};

/// Between two states of a stream.
const EVERY: Duration = Duration::from_millis(250);
/// Pages at once.
const PAGES: usize = 8;
/// Bytes of an order at most.
const LONGEST: u64 = 64 << 10;
/// The header of an order.
const ORDER: &str = "X-Manx-Order";

/// The parts of the page that others draw with.
#[derive(Clone, Copy, Debug)]
pub struct Drawing {
    /// uPlot's script, with its licence.
    pub script: &'static str,
    /// Its licence.
    pub license: &'static str,
    /// Its style.
    pub style: &'static str,
}

/// A page that is served; it ends with the process.
#[derive(Debug)]
pub struct Live {
    address: SocketAddr,
}

impl Live {
    /// Serves the page at `address`, port 0 taking a free one.
    ///
    /// # Errors
    /// Nothing can listen there.
    pub fn serve(address: SocketAddr, drawing: Drawing, orders: Orders) -> Result<Self, String> {
        let server = Server::http(address).map_err(|why| why.to_string())?;
        let address = server.server_addr().to_ip().unwrap_or(address);
        let page = page(drawing);
        let pages = Arc::new(AtomicUsize::new(0));
        let serve = move || {
            for request in server.incoming_requests() {
                // A browser that goes away is its own affair.
                let _ = answer(request, address, &page, &orders, &pages);
            }
        };
        let thread = std::thread::Builder::new().name("live".to_string()).spawn(serve);
        thread.map(|_| Self { address }).map_err(|error| error.to_string())
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

fn page(drawing: Drawing) -> String {
    let Drawing { script, license, style } = drawing;
    include_str!("page.html")
        .replace("/*STYLE*/", &format!("{style}\n{}", include_str!("page.css")))
        .replace("/*DRAWING*/", &format!("/*\n{license}\n*/\n{script}"))
        .replace("/*SCRIPT*/", include_str!("page.js"))
}

fn answer(
    mut request: Request,
    address: SocketAddr,
    page: &str,
    orders: &Orders,
    pages: &Arc<AtomicUsize>,
) -> io::Result<()> {
    let host = |header: &Header| header.field.equiv("Host");
    let host = request.headers().iter().find(|header| host(header));
    let is_own = host.is_some_and(|header| is_own(header.value.as_str(), address));
    if !is_own {
        return request.respond(text(403, "text/plain", "another host's name"));
    }
    match (request.method(), request.url()) {
        (Method::Get, "/") => request.respond(text(200, "text/html", page)),
        (Method::Get, "/state") => {
            let state = orders.give(Order::State);
            request.respond(told(state))
        }
        (Method::Get, "/states") => stream(request, orders.clone(), pages),
        (Method::Post, "/order") => {
            if !request.headers().iter().any(|header| header.field.equiv(ORDER)) {
                return request.respond(text(403, "text/plain", "not from this page"));
            }
            let mut body = String::new();
            request.as_reader().take(LONGEST).read_to_string(&mut body)?;
            let order = order(&body);
            request.respond(told(order.and_then(|order| orders.give(order))))
        }
        _ => request.respond(text(404, "text/plain", "there is /, /state, /states and /order")),
    }
}

/// A name of this server: a page of another origin that a name leads here has that name.
fn is_own(host: &str, address: SocketAddr) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || name.parse() == Ok(address.ip()) || address.ip().is_unspecified()
}

/// Orders of the page: all but the end.
fn order(body: &str) -> Result<Order, String> {
    let value: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
    match (value["order"].as_str(), value["sets"].as_array()) {
        (Some("pause"), _) => Ok(Order::Pause),
        (Some("resume"), _) => Ok(Order::Resume),
        (Some("set"), Some(sets)) => {
            let sets = sets.iter().map(|set| set.as_str().map(str::to_string));
            sets.collect::<Option<_>>().map(Order::Set).ok_or_else(|| "sets are texts".to_string())
        }
        _ => Err("an order is pause, resume or set".to_string()),
    }
}

fn text(status: u16, kind: &str, body: &str) -> Response<io::Cursor<Vec<u8>>> {
    let headers = [
        ("Content-Type", format!("{kind}; charset=utf-8")),
        ("Cache-Control", "no-store".to_string()),
        ("X-Content-Type-Options", "nosniff".to_string()),
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
             connect-src 'self'; img-src data:; frame-ancestors 'none'"
                .to_string(),
        ),
    ];
    let headers =
        headers.iter().filter_map(|(name, value)| Header::from_bytes(*name, value.as_str()).ok());
    headers.fold(Response::from_string(body).with_status_code(status), Response::with_header)
}

fn told(answer: Result<Value, String>) -> Response<io::Cursor<Vec<u8>>> {
    let (status, value) = match answer {
        Ok(state) => (200, json!({ "ok": state })),
        Err(why) => (400, json!({ "error": why })),
    };
    text(status, "application/json", &value.to_string())
}

/// Sends states until the page goes, in a thread of its own.
fn stream(request: Request, orders: Orders, pages: &Arc<AtomicUsize>) -> io::Result<()> {
    if pages.fetch_add(1, Ordering::Relaxed) >= PAGES {
        pages.fetch_sub(1, Ordering::Relaxed);
        return request.respond(text(503, "text/plain", "too many pages are open"));
    }
    let pages = pages.clone();
    let send = move || {
        let mut out = request.into_writer();
        let mut sent = out.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n\
              Connection: close\r\n\r\n",
        );
        while sent.is_ok()
            && let Ok(state) = orders.give(Order::State)
        {
            sent = write!(out, "data: {state}\n\n").and_then(|()| out.flush());
            std::thread::sleep(EVERY);
        }
        pages.fetch_sub(1, Ordering::Relaxed);
    };
    std::thread::Builder::new().name("live page".to_string()).spawn(send).map(drop)
}
