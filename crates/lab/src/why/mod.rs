//! Why a recorded tail is there: what a trace's own latencies say, beside what the model says.
//!
//! Reading order: [`rows`] brings the recorded requests in; [`points`] finds where their latency
//! changes, `typical` what is usual; [`finding`] weighs causes by the slow time that each explains,
//! `shift` a change for good; [`ask`] puts the model's runs beside them, [`show`] prints.
//!
//! The causes are weighed by what is known without the latency itself: when requests came, where
//! they went, what was written before. A slow device makes queues of its own, so the depth of the
//! queue is no cause here.

pub mod ask;
pub mod finding;
pub mod points;
pub mod rows;
mod shift;
pub mod show;
mod typical;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod writes;
