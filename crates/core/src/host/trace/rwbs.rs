//! The rwbs column of the block layer's traces: what a request is, in letters (blkparse(1), kernel `blk_fill_rwbs`).

use crate::drive::Op;

/// What the column says: `[F]` preflush, one of R W D F N, then any of `F` FUA, `A` ahead, `S` sync, `M` meta, `B` barrier,
/// `E` erase.
pub struct Flags {
    /// A flush goes before it.
    pub preflush: bool,
    /// What is asked.
    pub op: Op,
    /// Neither a read nor a write (N).
    pub dataless: bool,
    /// Force unit access.
    pub fua: bool,
}

impl Flags {
    /// Reads the column; `None` for a kind that is not known.
    pub fn read(flags: &[u8]) -> Option<Self> {
        let (preflush, rest) = match flags {
            [b'F', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let (op, dataless, rest) = match rest {
            [b'R', rest @ ..] => (Op::Read, false, rest),
            [b'W', rest @ ..] => (Op::Write, false, rest),
            [b'D', rest @ ..] => (Op::Trim, false, rest),
            [b'F', rest @ ..] => (Op::Flush, false, rest),
            [b'N', rest @ ..] if preflush => (Op::Flush, true, rest),
            [b'N', rest @ ..] => (Op::Read, true, rest),
            [] if preflush => (Op::Flush, true, rest),
            _ => return None,
        };
        // A barrier (kernels before 2.6.37) ordered and made durable; FUA is what is left of it.
        let fua = op == Op::Write && rest.iter().any(|b| matches!(b, b'F' | b'B'));
        Some(Self { preflush, op, dataless, fua })
    }
}
