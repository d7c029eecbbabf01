//! Scenarios, device tables and policies: read, merged, validated into types that cannot be wrong.

mod scenario;

pub use scenario::{MeasureSpec, Scenario};
