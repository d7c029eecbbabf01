//! Parity inside the drive: `in_place` with the pages or `log_structured` behind them, over
//! superblocks; reads that are reconstructed (`reconstruct`, `log_structured_read`) on the
//! controller's engines (`xor`), and those of pages that no error correction brings back
//! (`repair`); `ended` acts on the end of an operation.

crate::id! {
    /// A page that is computed from the others of its stripe.
    pub(in crate::drive) RebuildId, or NIL
}

crate::id! {
    /// An update of a stripe.
    pub(in crate::drive) UpdateId, or NIL
}

pub(in crate::drive) mod ended;
pub(in crate::drive) mod in_place;
pub(in crate::drive) mod log_structured;
pub(in crate::drive) mod log_structured_read;
pub(in crate::drive) mod reconstruct;
pub(in crate::drive) mod repair;
pub(in crate::drive) mod xor;
