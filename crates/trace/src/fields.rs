//! The fields of a line: digits, words, decimal times.

/// The place of the first `byte`.
pub fn find(bytes: &[u8], byte: u8) -> Option<usize> {
    memchr::memchr(byte, bytes)
}

/// True if no text file holds such bytes: control characters other than tab, line and page ends, or
/// broken UTF-8.
pub fn is_binary(text: &[u8]) -> bool {
    let control = |b: &u8| (*b < 0x20 && !matches!(*b, b'\t' | b'\n' | b'\r' | 0x0c)) || *b == 0x7f;
    text.iter().any(control) || std::str::from_utf8(text).is_err_and(|e| e.error_len().is_some())
}

/// Takes leading decimal digits off `rest`: their value, or `None` without any or beyond 64 bits.
pub fn digits(rest: &mut &[u8]) -> Option<u64> {
    let (mut value, mut count) = (0u64, 0);
    for byte in *rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        // Nineteen digits always fit; only then is a check needed.
        value = match count {
            0..19 => value * 10 + u64::from(digit),
            _ => value.checked_mul(10)?.checked_add(u64::from(digit))?,
        };
        count += 1;
    }
    *rest = &rest[count..];
    (count > 0).then_some(value)
}

/// Takes one `byte` off `rest`.
pub fn expect(rest: &mut &[u8], byte: u8) -> Option<()> {
    match rest {
        [first, tail @ ..] if *first == byte => {
            *rest = tail;
            Some(())
        }
        _ => None,
    }
}

/// Takes the next word (up to a space or tab) off `rest`; empty at the end.
pub fn word<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let text = rest.trim_ascii_start();
    let end = text.iter().position(|b| matches!(b, b' ' | b'\t')).unwrap_or(text.len());
    *rest = &text[end..];
    &text[..end]
}

/// A word that is one whole number.
pub fn whole(mut word: &[u8]) -> Option<u64> {
    let value = digits(&mut word)?;
    word.is_empty().then_some(value)
}

/// Takes a decimal number (`12`, `12.345`) off `rest`, in parts of `10^-places`: exactly, or `None`
/// where it has more decimals than that (zeros aside) or does not fit.
pub fn decimal(rest: &mut &[u8], places: u32) -> Option<u64> {
    let mut value = digits(rest)?.checked_mul(10u64.checked_pow(places)?)?;
    if expect(rest, b'.').is_none() {
        return Some(value);
    }
    let mut place = 10u64.pow(places);
    let count = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    for digit in &rest[..count] {
        let digit = u64::from(digit - b'0');
        if digit != 0 && place == 1 {
            return None;
        }
        place = (place / 10).max(1);
        value = value.checked_add(if digit == 0 { 0 } else { digit * place })?;
    }
    *rest = &rest[count..];
    Some(value)
}

/// Takes the next field, up to a `comma` or the end, off `rest`, and the comma with it. `None` when
/// nothing is left.
pub fn field<'a>(rest: &mut Option<&'a [u8]>, comma: u8) -> Option<&'a [u8]> {
    let text = (*rest)?;
    match find(text, comma) {
        Some(end) => {
            *rest = Some(&text[end + 1..]);
            Some(&text[..end])
        }
        None => {
            *rest = None;
            Some(text)
        }
    }
}

/// Takes the last word off `rest`; empty at its beginning.
pub fn last_word<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let text = rest.trim_ascii_end();
    let start = text.iter().rposition(|b| matches!(b, b' ' | b'\t')).map_or(0, |space| space + 1);
    *rest = &text[..start];
    &text[start..]
}

/// The little endian number of 16 bits at `at`.
#[inline]
pub fn le16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The little endian number of 32 bits at `at`.
#[inline]
pub fn le32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The little endian number of 64 bits at `at`.
#[inline]
pub fn le64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
