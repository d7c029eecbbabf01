//! Every page from its own member, whatever the wait: Base of IODA, and Ideal over drives that
//! collect at zero cost.

use super::Strategy;

/// No strategy at all.
#[derive(Clone, Debug)]
pub(super) struct Direct;

impl Strategy for Direct {}
