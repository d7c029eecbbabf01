//! Device names as a target allows them, still each its own.

use std::collections::BTreeSet;

/// Each name as `fit` makes it from the name and a number of tries: 0 at first, more as long as
/// another device has that name already.
pub(super) fn fitted(names: &[String], fit: impl Fn(&str, u32) -> String) -> Vec<String> {
    let mut taken = BTreeSet::new();
    // A name that is kept goes first: a trace of `a,0` and `a` must not rename the former.
    let kept: Vec<bool> =
        names.iter().map(|name| fit(name, 0) == *name && taken.insert(name.clone())).collect();
    let fitted = names.iter().zip(kept).map(|(name, kept)| {
        if kept {
            return name.clone();
        }
        let mut tries = 0;
        loop {
            let other = fit(name, tries);
            if taken.insert(other.clone()) {
                return other;
            }
            tries += 1;
        }
    });
    fitted.collect()
}

/// `-2` for the second try, and so on; nothing for the first.
pub(super) fn suffix(tries: u32) -> String {
    if tries == 0 { String::new() } else { format!("-{}", u64::from(tries) + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_become_alike_are_told_apart_and_one_that_fits_is_kept() {
        let names = ["a b", "a-b", "a\tb", "c"].map(String::from);
        let fit = |name: &str, tries| name.replace([' ', '\t'], "-") + &suffix(tries);
        assert_eq!(fitted(&names, fit), ["a-b-2", "a-b", "a-b-3", "c"]);
    }
}
