//! Calculators that show their formula and where each input is from: `manx plan`.
//!
//! Reading order: [`tw`] is the arithmetic of IODA's windows, for a device, an array's width and
//! GC's thresholds, and knows no text; [`question`] brings a user's options together and remembers
//! where each value is from; [`show`] prints, as text or as JSON. [`timeout`] is the timeout of
//! T-ES, from the option to the text in one small file. The others are sheets ([`sheet`]): [`op`],
//! [`rain`], [`buffer`], [`endurance`], [`fleet`]; each can put a run beside its formula, and
//! [`check`] does it for the first two.

pub mod buffer;
pub mod check;
pub mod endurance;
pub mod fleet;
pub mod op;
pub mod question;
pub mod rain;
pub mod sheet;
pub mod show;
pub mod timeout;
pub mod tw;

pub use question::{Plan, Question};
