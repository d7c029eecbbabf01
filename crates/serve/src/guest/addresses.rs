//! Addresses that are the same in every run: User Mode Linux adds the gap between its program and
//! its heap to its memory (Linux 6.12, `arch/um/kernel/um_arch.c`, "exec-shield gap"), and the host
//! makes that gap random. A guest with a little more memory reclaims and writes back other pages.

use std::ffi::{c_int, c_ulong};

/// The value with which personality(2) only tells.
const ASK: c_ulong = 0xffff_ffff;

/// While it lives, programs that this thread starts have no random addresses.
#[derive(Debug)]
pub struct FixedAddresses {
    before: c_int,
}

impl FixedAddresses {
    /// `None` where the system refuses it, as some containers do.
    pub fn here() -> Option<Self> {
        let before = personality(ASK)?;
        personality(c_ulong::from(before.cast_unsigned() | libc::ADDR_NO_RANDOMIZE.cast_unsigned()))
            .map(|_| Self { before })
    }
}

impl Drop for FixedAddresses {
    fn drop(&mut self) {
        personality(c_ulong::from(self.before.cast_unsigned()));
    }
}

/// The personality before.
fn personality(persona: c_ulong) -> Option<c_int> {
    // SAFETY: a number goes in and one comes out; this thread's next programs alone are concerned.
    let before = unsafe { libc::personality(persona) };
    (before != -1).then_some(before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn of_a_program() -> u32 {
        let told = Command::new("cat").arg("/proc/self/personality").output().unwrap().stdout;
        u32::from_str_radix(String::from_utf8(told).unwrap().trim(), 16).unwrap()
    }

    #[test]
    fn programs_have_fixed_addresses_while_it_lives() {
        let (fixed, before) = (libc::ADDR_NO_RANDOMIZE.cast_unsigned(), of_a_program());
        let Some(addresses) = FixedAddresses::here() else {
            println!("SKIPPED: this system refuses personality(ADDR_NO_RANDOMIZE)");
            return;
        };
        assert_eq!(of_a_program(), before | fixed);
        drop(addresses);
        assert_eq!(of_a_program(), before);
    }
}
