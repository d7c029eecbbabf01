//! Sizes as fio writes them.

/// The bytes of one of fio's sizes: a whole number and k, m, g or t, of 1024 alone or with b, of
/// 1000 with i or ib. So fio has it where `kb_base` is 1024, its default, for the sake of old job
/// files.
pub fn fio_size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let mut unit = text[digits..].chars();
    let power = match unit.next() {
        None | Some('b') => 0,
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some(_) => return None,
    };
    let base: u64 = match unit.as_str() {
        "" | "b" => 1024,
        "i" | "ib" if power > 0 => 1000,
        _ => return None,
    };
    number.checked_mul(base.pow(power)).filter(|bytes| *bytes > 0)
}
