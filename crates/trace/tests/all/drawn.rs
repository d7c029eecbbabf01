//! The saved corpora of `fuzz/corpus`, and inputs drawn from them.

use crate::dice::Dice;
use std::io;
use std::path::{Path, PathBuf};

/// Inputs that are drawn from each saved one; with `MANX_LONG`, a hundred times as many.
const DRAWN: u64 = 1_000;
/// Bytes of an input at most, as `fuzz/run.sh` asks.
const BYTES_MAX: usize = 4096;
/// Words that turn up at the ends of what fields hold.
const WORDS: [&[u8]; 8] = [
    b"\0",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\0\0\0\x80",
    b"-1",
    b"18446744073709551616",
    b",",
    b"\n",
];

/// Names of the corpora.
pub fn corpora() -> io::Result<Vec<String>> {
    let name = |file: &PathBuf| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(entries(&folder())?.iter().map(name).collect())
}

/// Checks every saved input of a corpus, and those that are drawn from it. Returns how many.
pub fn each(corpus: &str, mut check: impl FnMut(&[u8])) -> io::Result<u64> {
    let drawn = if std::env::var_os("MANX_LONG").is_some() { 100 * DRAWN } else { DRAWN };
    let files = entries(&folder().join(corpus))?;
    let seeds = files.iter().map(std::fs::read).collect::<io::Result<Vec<Vec<u8>>>>()?;
    let mut dice = Dice::of(corpus.as_bytes());
    let mut checked = 0;
    for (file, seed) in files.iter().zip(&seeds) {
        for number in 0..=drawn {
            let mut input = seed.clone();
            // The saved input itself comes first.
            for _ in 0..number.min(1 + dice.below(4)) {
                let other = &seeds[dice.below(seeds.len() as u64) as usize];
                change(&mut input, other, &mut dice);
            }
            let _told = Told { file, number, input: &input };
            check(&input);
            checked += 1;
        }
    }
    Ok(checked)
}

/// Paths of a folder's entries, in the order of their names.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let told =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", folder.display()));
    let paths = std::fs::read_dir(folder).map_err(told)?.map(|entry| Ok(entry?.path()));
    let mut paths = paths.collect::<io::Result<Vec<PathBuf>>>().map_err(told)?;
    paths.sort();
    Ok(paths)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

/// One change: a bit, a byte, a word, a piece lost, doubled, or of another input.
fn change(input: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    let at = dice.below(input.len() as u64 + 1) as usize;
    let length = (1 + dice.below(16) as usize).min(input.len() - at);
    let word = WORDS[dice.below(WORDS.len() as u64) as usize];
    match dice.below(7) {
        0 => input.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << (at % 8)),
        1 => input.iter_mut().skip(at).take(1).for_each(|byte| *byte = dice.below(256) as u8),
        2 => drop(input.splice(at..at + length.min(word.len()), word.iter().copied())),
        3 => drop(input.splice(at..at, word.iter().copied())),
        4 => drop(input.drain(at..at + length)),
        5 => input.extend_from_within(at..at + length),
        _ => {
            input.truncate(at);
            input.extend_from_slice(&other[dice.below(other.len() as u64 + 1) as usize..]);
        }
    }
    input.truncate(BYTES_MAX);
}

/// Tells the input of a check that panics.
struct Told<'a> {
    file: &'a Path,
    number: u64,
    input: &'a [u8],
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let text = self.input.escape_ascii();
            println!("input {} drawn from {}: {text}", self.number, self.file.display());
        }
    }
}
