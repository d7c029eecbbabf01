//! The model as a block device: real clients, real data, on the wall clock or in virtual time.
//!
//! One thread owns the model, a drive or an array, and is told the wall clock as its time. A
//! front-end speaks a protocol with its clients: it asks through a [`Desk`] and gets back what was
//! done. It knows nothing of the model, and the model nothing of it.
//!
//! Reading order: [`Clock`] turns wall time into the model's; [`Content`] keeps the bytes of each
//! version of a page; [`Machine`] puts both around the model; `front` is the seam to the
//! protocols, each a folder ([`nbd`], [`nvme_tcp`], [`vhost_user`]) and a line in [`Transport`],
//! and `desk` is the model as they see it, `fleet` several drives beside each other, each an
//! [`Engine`]; `remote` is an array whose drives are elsewhere; [`Store`] is
//! a folder that outlives the server, and `upkeep` the server's care for it; `control` hears orders
//! beside the clients, `obey` carries them out; `listen` has the sockets, `connection` the bytes
//! that go through one, `tls` their encryption, `pause` the art of waking in time, `floor` the time
//! that the way itself takes, and [`Server`] the loop over all of them, `server/clients` those who
//! come and go; [`Tally`] is what it tells at its end, and what happens meanwhile goes to
//! `tracing`. [`guest`] is another loop around the same machines: a Linux in exact virtual time.

mod clock;
mod connection;
mod content;
pub mod control;
mod desk;
mod engine;
mod fleet;
mod floor;
mod front;
pub mod guest;
mod listen;
mod machine;
pub mod nbd;
pub mod nvme_tcp;
mod obey;
mod pause;
mod remote;
mod room;
mod server;
mod store;
mod tally;
mod tls;
mod upkeep;
pub mod vhost_user;
mod watch;

pub use clock::{Clock, Speed};
pub use content::Content;
pub use desk::{Kept, Served};
pub use engine::{Engine, Finished};
pub use floor::floor;
pub use front::{Ask, Desk, Done, Export, Fault, Front, Kind, Session, Stretch, Transport};
pub use listen::{Address, ListenError, Listener};
pub use machine::{Builder, Crashed, Machine};
pub use remote::{ArrayHost, ConnectError, MemberAddress};
pub use server::Server;
pub use store::{Head, Inspected, LOG_MOST, Lost, Store, StoreError, Woken, inspect};
pub use tally::Tally;
pub use tls::Tls;
pub use watch::{Limits, Watch};
