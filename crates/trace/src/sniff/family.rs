//! The look-alikes: MQSim, SSDsim, DiskSim and the UCARE replayer share lines of five numbers, and
//! none says in which unit its times are, nor (UCARE) its addresses.
//!
//! Files of these records go round under one name in ns, us and ms, in sectors and in bytes. So a
//! reading follows from evidence that is stated, with the alternatives and the options that choose
//! them; where the evidence does not decide, the file is refused with the candidates. What the user
//! gives is taken as it is.
//!
//! The evidence, strongest first:
//! * a last column beyond 0 and 1 is flags: DiskSim;
//! * every offset and size a multiple of 512 is bytes: UCARE, unless that may be large blocks in
//!   sectors;
//! * a time with a fraction is not in ns, and three decimals of a ms are a clock's microseconds:
//!   DiskSim or UCARE;
//! * the pace: requests and bytes per second that each unit would mean for a device (`pace`).

use super::super::decode::{Decoder, Entry, Line};
use super::super::formats::ascii::{Columns, columns};
use super::super::formats::disksim;
use super::super::{LbaUnit, MAX_SECTOR, TimeUnit, TraceError, TraceFormat, unit_name};
use super::evidence::{Evidence as BlockEvidence, Look};
use super::pace::{Pace, UNITS, Verdict};
use super::{Guess, Head, Sniffed};
use manx_base::units::{Op, SECTOR};
use std::collections::BTreeSet;

/// More different last columns than this are no flags.
const KINDS: usize = 16;

/// Fewer requests than this, all on multiples of 512, may be so by chance.
const ENOUGH_FOR_BYTES: u64 = 10;

/// The format is one of the look-alikes.
pub(super) fn has(format: TraceFormat) -> bool {
    use TraceFormat::{Disksim, Mqsim, Ssdsim, Ucare};
    matches!(format, Mqsim | Ssdsim | Disksim | Ucare)
}

/// Knows the family by its five numbers; which of it, `settle` says.
pub(super) fn recognise(head: &Head<'_>) -> Option<Guess> {
    let (mut kinds, mut block) = (BTreeSet::new(), BlockEvidence::default());
    for columns in head.lines.iter().filter_map(|line| five(line)) {
        kinds.insert(columns.kind);
        block.add(thousandths(&columns), columns.address, columns.size);
        if kinds.len() > KINDS {
            return None;
        }
    }
    let guess = head.by_lines(TraceFormat::Ssdsim, &mut AnyOfThem, Look::Unmistakable, |_| true)?;
    Some(Guess { doubt: block.doubt(Look::Sectors), ..guess })
}

/// Reads what any of the family reads.
struct AnyOfThem;

impl Decoder for AnyOfThem {
    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        five(piece).map(|_| Line::Request(Entry::new(0, Op::Read, 0, 1)))
    }

    fn expected(&self) -> &'static str {
        "five numbers"
    }
}

fn five(line: &[u8]) -> Option<Columns<'_>> {
    let columns = columns(line)?;
    let fits =
        columns.address < MAX_SECTOR * SECTOR && u32::try_from(columns.size / SECTOR).is_ok();
    (fits && disksim::flags(columns.kind).is_some()).then_some(columns)
}

/// Settles what a file of the family is: format and units. `given` is the format that the user
/// named.
pub(super) fn settle(
    head: &Head<'_>,
    mut sniffed: Sniffed,
    given: Option<TraceFormat>,
) -> Result<Sniffed, TraceError> {
    let evidence = Evidence::of(&head.lines);
    let case = Case {
        head,
        evidence: &evidence,
        given,
        time: sniffed.reading.time,
        lba: sniffed.reading.lba,
    };
    let (lba, lba_why) = case.addresses()?;
    let (format, format_why) = case.format(lba);
    // Without a format named, `sectors` is what all but UCARE have anyway.
    let is_stated = format.info().lba.is_none() && (given.is_some() || lba == LbaUnit::Bytes);
    if case.lba.is_some() && is_stated {
        return Err(TraceError::UnitIsStated {
            file: head.file.clone(),
            format,
            option: "--lba-unit",
        });
    }
    let (time, time_why) = case.times(format, lba)?;
    sniffed.format = format;
    if given.is_none() {
        let lines =
            sniffed.why.split_once(" are ").map_or(sniffed.why.as_str(), |(lines, _)| lines);
        sniffed.why = format!("{lines} are {}; {format_why}", format.info().shape);
    }
    sniffed.reading.time = Some(time);
    sniffed.reading.lba = format.info().lba.map(|_| lba);
    sniffed.units_why = Some(format!("{time_why}; {lba_why}"));
    Ok(sniffed)
}

/// Evidence of the lines.
#[derive(Debug, Default)]
struct Evidence {
    /// The pace with sizes as they stand, as if they were bytes.
    pace: Pace,
    /// The most decimals that a time has, zeros at the end aside.
    decimals: usize,
    has_fraction: bool,
    /// The last column is no 0 or 1 somewhere.
    has_flags: bool,
    /// Requests whose offset and size are multiples of 512, the size not 0.
    multiples: u64,
    /// Different sizes, up to 2.
    sizes: BTreeSet<u64>,
    /// Greatest common divisor of all times: the step of the clock.
    step: u64,
    largest_end: u64,
}

impl Evidence {
    fn of(lines: &[&[u8]]) -> Self {
        let mut all = Self::default();
        let (mut first, mut last) = (u128::MAX, 0);
        let mut devices = BTreeSet::new();
        for columns in lines.iter().filter_map(|line| five(line)) {
            all.pace.requests += 1;
            all.pace.bytes = all.pace.bytes.saturating_add(columns.size);
            let is_multiple =
                (columns.address | columns.size).is_multiple_of(SECTOR) && columns.size > 0;
            all.multiples += u64::from(is_multiple);
            all.largest_end = all.largest_end.max(columns.address.saturating_add(columns.size));
            if all.sizes.len() < 2 {
                all.sizes.insert(columns.size);
            }
            all.has_flags |= !matches!(columns.kind, b"0" | b"1");
            all.has_fraction |= !columns.fraction.is_empty();
            let zeros = columns.fraction.iter().rev().take_while(|digit| **digit == b'0').count();
            all.decimals = all.decimals.max(columns.fraction.len() - zeros);
            all.step = common_divisor(all.step, columns.time);
            let time = thousandths(&columns);
            (first, last) = (first.min(time), last.max(time));
            devices.insert(columns.device);
        }
        all.pace.devices = devices.len() as u64;
        all.pace.span = last.saturating_sub(first);
        all
    }

    fn pace(&self, lba: LbaUnit) -> Pace {
        Pace { bytes: self.pace.bytes.saturating_mul(lba.bytes()), ..self.pace }
    }

    /// Nobody can have served it, whatever the unit of the times, or no device has such addresses.
    fn cannot_be_sectors(&self, time: Option<TimeUnit>) -> bool {
        let pace = self.pace(LbaUnit::Sectors);
        let too_fast = |unit: &TimeUnit| pace.verdict(*unit) == Verdict::Implausible;
        // Of the units these formats have, ms is the slowest.
        let is_too_fast = pace.is_enough() && too_fast(&time.unwrap_or(TimeUnit::Ms));
        self.largest_end >= MAX_SECTOR || is_too_fast
    }
}

/// A time in thousandths of its unit.
fn thousandths(columns: &Columns<'_>) -> u128 {
    let digit =
        |place: usize| columns.fraction.get(place).map_or(0, |digit| u128::from(digit - b'0'));
    u128::from(columns.time) * 1000 + digit(0) * 100 + digit(1) * 10 + digit(2)
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A case to decide, and the options that the user gave.
struct Case<'a> {
    head: &'a Head<'a>,
    evidence: &'a Evidence,
    given: Option<TraceFormat>,
    time: Option<TimeUnit>,
    lba: Option<LbaUnit>,
}

impl Case<'_> {
    /// The unit of addresses and sizes, and why.
    fn addresses(&self) -> Result<(LbaUnit, String), TraceError> {
        let Evidence { multiples, pace, sizes, .. } = self.evidence;
        let requests = pace.requests;
        if let Some(lba) = self.lba {
            return Ok((lba, format!("addresses in {}, as given", lba.name())));
        }
        let every = "every offset and size is a multiple of 512";
        if let Some(format) = self.given.filter(|format| *format != TraceFormat::Ucare) {
            let doubt = match *multiples == requests && requests >= ENOUGH_FOR_BYTES {
                true => format!(", though {every}: if they are bytes, give `--format ucare`"),
                false => String::new(),
            };
            return Ok((
                LbaUnit::Sectors,
                format!("addresses in sectors, as {} has them{doubt}", format.name()),
            ));
        }
        if self.evidence.has_flags || *multiples * 2 <= requests {
            let why = match requests - multiples {
                0 => String::new(),
                others => format!(
                    ": {others} of {requests} requests are on no multiples \
                     of 512, as bytes would be"
                ),
            };
            return Ok((LbaUnit::Sectors, format!("addresses in sectors{why}")));
        }
        let impossible = self.evidence.cannot_be_sectors(self.time);
        let are_bytes = *multiples == requests
            && requests >= ENOUGH_FOR_BYTES
            && (impossible || sizes.len() > 1);
        if are_bytes {
            let otherwise = match impossible {
                true => "as sectors they would be more than a device has or serves",
                false => {
                    "as sectors each request would be of 256 KiB or more on such a \
                     boundary: `--lba-unit sectors`"
                }
            };
            return Ok((LbaUnit::Bytes, format!("addresses in bytes: {every} ({otherwise})")));
        }
        let why = match *multiples == requests {
            true if requests < ENOUGH_FOR_BYTES => {
                format!("{every}, but {requests} requests are too few to judge by")
            }
            true => {
                format!("{every} and of one size, which bytes are, and large blocks in sectors too")
            }
            false => format!(
                "{multiples} of {requests} requests are on multiples of 512 in offset and size, as \
                 bytes would be; the others are not"
            ),
        };
        let candidates =
            "bytes (read as ucare), or sectors (`--format ssdsim|disksim` says so too)".to_string();
        Err(TraceError::LbaUnit { file: self.head.file.clone(), why, candidates })
    }

    /// Which of the family it is, and why.
    fn format(&self, lba: LbaUnit) -> (TraceFormat, String) {
        use TraceFormat::{Disksim, Ssdsim, Ucare};
        let Evidence { has_flags, has_fraction, .. } = self.evidence;
        match (self.given, lba) {
            (Some(format), _) => (format, String::new()),
            (None, _) if *has_flags => {
                (Disksim, "the last column is not only 0 and 1, so it is flags".to_string())
            }
            (None, LbaUnit::Bytes) => (Ucare, "bytes are the UCARE replayer's".to_string()),
            (None, LbaUnit::Sectors) if *has_fraction => {
                let why = "times with a fraction are DiskSim's, or of early UCARE files \
                           (`--format ucare`), which read the same; SSDsim and MQSim have \
                           whole ns (`--format ssdsim`)";
                (Disksim, why.to_string())
            }
            (None, LbaUnit::Sectors) => {
                let why = "whole times are SSDsim's and MQSim's, which read the same \
                           (`--format disksim|ucare` chooses the formats in ms)";
                (Ssdsim, why.to_string())
            }
        }
    }

    /// The unit of the times, and why it is believable.
    fn times(&self, format: TraceFormat, lba: LbaUnit) -> Result<(TimeUnit, String), TraceError> {
        let pace = self.evidence.pace(lba);
        let usual = format.info().time.map_or(TimeUnit::Ns, super::Open::first);
        if let Some(unit) = self.time {
            return Ok((unit, time_as_given(&pace, unit)));
        }
        if self.evidence.has_fraction && usual == TimeUnit::Ns {
            return Err(self.ask(
                &pace,
                "They have a decimal fraction, so they are not nanoseconds".to_string(),
            ));
        }
        if self.evidence.decimals > 3 && self.given.is_none() && !self.evidence.has_flags {
            let why = "They have more than three decimals: seconds have those, \
                       and milliseconds of a fine clock";
            return Err(self.ask(&pace, why.to_string()));
        }
        if !pace.is_enough() {
            let said = format!(
                "time unit not stated: assumed {} (too few requests to judge by the rate), \
                 as {} has; `--time-unit` overrides",
                unit_name(usual),
                format.name()
            );
            return Ok((usual, said));
        }
        self.judged_by_pace(format, &pace, usual)
    }

    /// The unit that is usual for the format, where the rate in it is believable.
    fn judged_by_pace(
        &self,
        format: TraceFormat,
        pace: &Pace,
        usual: TimeUnit,
    ) -> Result<(TimeUnit, String), TraceError> {
        let name = unit_name(usual);
        let verdict = pace.verdict(usual);
        let devices = if pace.devices == 1 {
            "one device".to_string()
        } else {
            format!("{} devices", pace.devices)
        };
        // There is no finer unit than ns, so a slow trace in ns is just slow.
        let is_slow = verdict == Verdict::Slow && usual != TimeUnit::Ns;
        if verdict > Verdict::Ordinary || is_slow {
            let judged = match verdict {
                Verdict::Implausible => "implausible",
                Verdict::Fast => "more than most devices of such traces serve",
                _ => "hardly any",
            };
            let why = format!(
                "As {name} this trace runs at {} on {devices}: {judged}",
                runs(pace, usual)
            );
            return Err(self.ask(pace, why));
        }
        let is_whole = self.given.is_none() && !self.evidence.has_fraction;
        if is_whole && usual == TimeUnit::Ms && pace.verdict(TimeUnit::Us) <= Verdict::Ordinary {
            let why = "They are whole numbers, which microseconds are as well as milliseconds";
            return Err(self.ask(pace, why.to_string()));
        }
        let others = UNITS.iter().filter(|unit| **unit != usual && **unit != TimeUnit::S);
        let others: Vec<String> = others
            .filter(|unit| **unit != TimeUnit::Ns || !self.evidence.has_fraction)
            .map(|unit| pace.means(*unit))
            .collect();
        let said = format!(
            "time unit not stated: assumed {name}, as {} has, plausible: \
             the head runs at {} on {devices}{} (by `--time-unit`, {})",
            format.name(),
            runs(pace, usual),
            self.clock(usual),
            others.join("; ")
        );
        Ok((usual, said))
    }

    /// Remark on the clock's step, where times are whole numbers of something coarser.
    fn clock(&self, unit: TimeUnit) -> String {
        match self.evidence.step {
            step if step >= 1000 && !self.evidence.has_fraction => {
                format!(", its clock steps by {step} {}", unit_name(unit))
            }
            _ => String::new(),
        }
    }

    fn ask(&self, pace: &Pace, why: String) -> TraceError {
        let units =
            UNITS.iter().filter(|unit| **unit != TimeUnit::Ns || !self.evidence.has_fraction);
        let is_ordinary = |unit: &&TimeUnit| pace.verdict(**unit) == Verdict::Ordinary;
        let likely = units.clone().find(is_ordinary).filter(|_| pace.is_enough()).copied();
        let candidates: Vec<String> = match pace.is_enough() {
            true => units.map(|unit| pace.means(*unit)).collect(),
            false => units.map(|unit| unit_name(*unit).to_string()).collect(),
        };
        TraceError::TimeUnit {
            file: self.head.file.clone(),
            why,
            candidates: candidates.join("; "),
            likely,
        }
    }
}

/// A unit that the user gave, and how fast the head of the trace is in it.
fn time_as_given(pace: &Pace, unit: TimeUnit) -> String {
    let doubt = match pace.is_enough().then(|| pace.verdict(unit)) {
        Some(Verdict::Implausible) => {
            format!(", though the head then runs at {}: implausible", runs(pace, unit))
        }
        Some(_) => format!(": the head runs at {}", runs(pace, unit)),
        None => String::new(),
    };
    format!("time unit {}, as given{doubt}", unit_name(unit))
}

fn runs(pace: &Pace, unit: TimeUnit) -> String {
    format!("{} requests/s and {} MB/s", pace.rate(unit), pace.megabytes(unit))
}
