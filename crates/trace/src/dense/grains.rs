//! The touched grains of one chunk: as sorted runs while they are few, as bits beyond.

/// Runs that take as much memory as bits do.
const RUNS_MAX: usize = 2048;

const WORD: usize = 64;
/// Words of bits in a chunk.
const WORDS: usize = super::CHUNK as usize / WORD;
/// Words in a line, before which the touched grains are counted.
const LINE: usize = 4;

/// A set of grains that grows.
#[derive(Debug)]
pub(super) enum Grains {
    /// First and last of each run; sorted, with gaps between.
    Runs(Vec<(u16, u16)>),
    Bits(Box<[u64; WORDS]>),
}

/// The same, once it is complete: how many grains lie below another is known.
#[derive(Debug)]
pub(super) enum Ranked {
    /// First of each run and the grains before it; and the grains in all.
    Runs(Vec<(u16, u16)>, u32),
    Bits(Box<Bits>),
}

#[derive(Debug)]
pub(super) struct Bits {
    words: Box<[u64; WORDS]>,
    /// Grains before each line.
    before: [u16; WORDS / LINE],
    count: u32,
}

impl Default for Grains {
    fn default() -> Self {
        Self::Runs(Vec::new())
    }
}

impl Grains {
    /// Adds the grains from `first` to `last`.
    pub(super) fn add(&mut self, first: u16, last: u16) {
        match self {
            Self::Bits(words) => set(words, first, last),
            Self::Runs(runs) => {
                add_run(runs, first, last);
                if runs.len() > RUNS_MAX {
                    let mut words = Box::new([0; WORDS]);
                    runs.iter().for_each(|(first, last)| set(&mut words, *first, *last));
                    *self = Self::Bits(words);
                }
            }
        }
    }

    /// Counts the grains. Runs stay where they are in memory.
    pub(super) fn ranked(self) -> Ranked {
        match self {
            Self::Runs(runs) => {
                let mut count = 0;
                let ranked = |(first, last): (u16, u16)| {
                    let before = count;
                    count += u32::from(last - first) + 1;
                    // Below 2^16, since the run itself comes after them.
                    (first, before as u16)
                };
                let runs = runs.into_iter().map(ranked).collect();
                Ranked::Runs(runs, count)
            }
            Self::Bits(words) => {
                let (mut before, mut count) = ([0; WORDS / LINE], 0);
                for (line, before) in words.chunks_exact(LINE).zip(&mut before) {
                    // In the last line the grains before it are at most those of all other lines.
                    *before = count as u16;
                    count += line.iter().map(|word| word.count_ones()).sum::<u32>();
                }
                Ranked::Bits(Box::new(Bits { words, before, count }))
            }
        }
    }
}

/// Adds a run, joined with those that it overlaps or touches.
fn add_run(runs: &mut Vec<(u16, u16)>, first: u16, last: u16) {
    let from = runs.partition_point(|run| run.1 < first.saturating_sub(1));
    let joined = runs[from..].iter().take_while(|run| run.0 <= last.saturating_add(1)).count();
    if joined == 0 {
        if runs.len() == runs.capacity() {
            // By a quarter: doubled, half of the memory would lie idle.
            runs.reserve_exact(runs.len() / 4 + 4);
        }
        runs.insert(from, (first, last));
        return;
    }
    runs[from] = (first.min(runs[from].0), last.max(runs[from + joined - 1].1));
    runs.drain(from + 1..from + joined);
}

fn set(words: &mut [u64; WORDS], first: u16, last: u16) {
    let (from, to) = (usize::from(first) / WORD, usize::from(last) / WORD);
    for (index, word) in words.iter_mut().enumerate().take(to + 1).skip(from) {
        let low = if index == from { u64::MAX << (first % 64) } else { u64::MAX };
        let high = if index == to { u64::MAX >> (63 - last % 64) } else { u64::MAX };
        *word |= low & high;
    }
}

impl Ranked {
    /// Grains in all.
    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Runs(_, count) => u64::from(*count),
            Self::Bits(bits) => u64::from(bits.count),
        }
    }

    /// How many grains of the set lie below `grain`, and whether it is one of them itself.
    pub(super) fn rank(&self, grain: u16) -> (u64, bool) {
        match self {
            Self::Runs(runs, count) => {
                let after = runs.partition_point(|run| run.0 <= grain);
                let Some((first, before)) = after.checked_sub(1).map(|index| runs[index]) else {
                    return (0, false);
                };
                let end = runs.get(after).map_or(*count, |next| u32::from(next.1));
                let (before, offset) = (u32::from(before), u32::from(grain - first));
                (u64::from(end.min(before + offset)), before + offset < end)
            }
            Self::Bits(bits) => {
                let (word, bit) = (usize::from(grain) / WORD, grain % 64);
                let line = word / LINE;
                let below =
                    bits.words[line * LINE..word].iter().map(|word| word.count_ones()).sum::<u32>()
                        + (bits.words[word] & !(u64::MAX << bit)).count_ones();
                (u64::from(bits.before[line]) + u64::from(below), bits.words[word] >> bit & 1 == 1)
            }
        }
    }
}
