//! Advice: which drive and which settings keep the goals, at what cost.
//!
//! Reading order: [`goal`] is what must be kept, [`question`] what is asked and of which drives,
//! [`cost`] what they cost. [`bounds`] says what is possible at all, [`search`] finds the cheapest
//! setting among [`families`] by way of [`shots`] and [`prices`]; [`seen`] is what it knows of
//! each, [`causes`] says what broke those that failed. [`answer`] puts it together, with
//! [`remarks`] and, where nothing keeps the goals, why that is [`impossible`]; [`show`] prints
//! it, [`page`] is its page.
//!
//! The answer is a function of the question: the same bytes for any number of threads and however
//! often it was interrupted.

pub mod answer;
pub mod bounds;
pub mod causes;
pub mod cost;
pub mod families;
pub mod goal;
mod impossible;
pub mod page;
pub mod prices;
pub mod question;
mod remarks;
pub mod search;
pub mod seen;
pub mod shots;
pub mod show;
