//! `manx linux --cuts`: the power fails under a guest, a new one boots on the drive that recovered,
//! and a checker judges.
//!
//! A cut takes nothing from the first guest: it is a look at what the drive would have left at that
//! instant. So one run serves all cuts, and each is the cut of a run of its own to that instant.

use super::{LAST_WORDS, RANDOM, check_root, heed, image, mission, terms};
use crate::args::{Cuts, LinuxArgs};
use crate::commands::progress::Bar;
use crate::commands::{Failure, print};
use crate::say::{say, say_line};
use crate::screen::Screen;
use crate::signals::STOP;
use manx_config::{ConfigError, Scenario};
use manx_core::drive::Drive;
use manx_core::sim::Rng;
use manx_core::units::{Duration, Instant};
use manx_lab::cache::Cache;
use manx_lab::storage::{Ready, ready, restored};
use manx_serve::Machine;
use manx_serve::guest::{Calendar, Ended, Guest, Image, Mission, OneCore, Terms, Told};
use std::sync::atomic::Ordering;

/// The most events after which the power fails, one by one: each is a boot and a checker.
const EVENTS_MAX: usize = 100_000;

/// Cuts the power of a guest, and checks each time what is left.
pub(super) fn run(args: &LinuxArgs, scenario: &Scenario, screen: &Screen) -> Result<(), Failure> {
    if scenario.array.is_on() || args.drives > 1 {
        return Err(ConfigError::new("--cuts and --cut-at: they are of one drive").into());
    }
    let image = image(args)?;
    check_root(args)?;
    let cache = if args.no_cache { None } else { Cache::of_user() };
    let bar = Bar::new(screen, "preparing the drive", "pages");
    let mut progress = |done| {
        bar.show(done, None, "");
        !STOP.load(Ordering::Relaxed)
    };
    let storage = ready(scenario, cache.as_ref(), &mut progress)?;
    bar.clear();
    let Some(Ready::Drive(drive)) = storage else {
        return Err(Failure::Interrupted("no guest was started"));
    };
    let _one = OneCore::here();
    let campaign = Campaign { args, scenario, image: &image };
    let cuts = match (args.cut_at, args.cuts) {
        (Some(at), _) => vec![Instant::START + at],
        (None, Some(Cuts::All)) => campaign.every_event(&drive)?,
        (None, Some(Cuts::Drawn(count))) => campaign.draw(&drive, count)?,
        (None, None) => Vec::new(),
    };
    campaign.cut(&drive, &cuts, screen)
}

/// Cuts of one scenario.
struct Campaign<'a> {
    args: &'a LinuxArgs,
    scenario: &'a Scenario,
    image: &'a Image,
}

/// A watch that tells nothing.
struct Silent<'a>(&'a mut Guest);

impl Told for Silent<'_> {
    fn look(&mut self, _: Instant, _: u64) -> Option<Ended> {
        heed(self.0)
    }
}

impl Campaign<'_> {
    /// Instants within the command's time, from the scenario's seed.
    fn draw(&self, drive: &Drive, count: u32) -> Result<Vec<Instant>, Failure> {
        let ((from, to), _) = self.rehearse(drive, false)?;
        let mut rng = Rng::stream(self.scenario.seed, "linux.cuts");
        let span = to.since(from.min(to)).as_ns().max(1);
        let mut cuts: Vec<Instant> =
            (0..count).map(|_| from + Duration::from_ns(rng.below(span))).collect();
        cuts.sort_unstable();
        Ok(cuts)
    }

    /// The instant after every event of the drive within the command's time: between two of them
    /// nothing changes that a power loss could tell.
    fn every_event(&self, drive: &Drive) -> Result<Vec<Instant>, Failure> {
        let ((from, _), mut events) = self.rehearse(drive, true)?;
        events.retain(|at| *at >= from);
        events.dedup();
        let refused = |why: String| Err(ConfigError::new(format!("--cuts all: {why}")).into());
        if events.is_empty() {
            return refused("the command asks nothing of the drive".to_string());
        }
        if events.len() > EVENTS_MAX {
            return refused(format!(
                "the drive has {} events within the command, {EVENTS_MAX} are the most: give a \
                 shorter command, or draw instants with --cuts N",
                events.len()
            ));
        }
        Ok(events.into_iter().map(|at| at + Duration::from_ns(1)).collect())
    }

    /// The command without a cut: from when on it is cut, when it ends, and the drive's events
    /// where they are asked for.
    fn rehearse(
        &self,
        drive: &Drive,
        with_events: bool,
    ) -> Result<((Instant, Instant), Vec<Instant>), Failure> {
        let mut machines = [Machine::new(drive.clone())];
        let (mut guest, mut calendar) = self.begin(&mut machines, None)?;
        if with_events {
            calendar.keep_events();
        }
        let ended = calendar.run(&mut Silent(&mut guest)).map_err(Failure::Work)?;
        if !matches!(ended, Ended::Exit(_)) {
            return Err(self.without_end(ended, &mut guest));
        }
        let events = calendar.take_events();
        let from = calendar.marked().unwrap_or_default();
        Ok(((from, calendar.now()), events))
    }

    fn begin<'m>(
        &self,
        machines: &'m mut [Machine<Drive>],
        cut: Option<Instant>,
    ) -> Result<(Guest, Calendar<'m, Drive>), Failure> {
        let mission = mission(self.args, self.scenario.seed, 1).map_err(Failure::Work)?;
        let terms = Terms { cut, ..terms(self.args) };
        begin(self.image, &mission, machines, terms)
    }

    /// Runs to each cut, and checks.
    fn cut(&self, drive: &Drive, cuts: &[Instant], screen: &Screen) -> Result<(), Failure> {
        let mut machines = [Machine::losing_power(drive.clone())];
        let (mut guest, mut calendar) = self.begin(&mut machines, cuts.first().copied())?;
        if !guest.has_fixed_addresses() {
            say_line(&format!("warning: {RANDOM}"));
        }
        let bar = Bar::new(screen, "power cuts", "cuts");
        let mut first = None;
        let mut violations = 0;
        for (number, at) in (1u64..).zip(cuts) {
            calendar.set_cut(*at);
            let ended = calendar.run(&mut Silent(&mut guest)).map_err(Failure::Work)?;
            if ended != Ended::Cut {
                return Err(self.without_end(ended, &mut guest));
            }
            let crashed = calendar.machines()[0].crash(*at);
            let Some(crashed) = crashed else {
                return Err(Failure::Work("the drive keeps nothing for a power loss".to_string()));
            };
            let snapshot = crashed.rest.map.snapshot();
            let drive = restored(self.scenario, &snapshot).map_err(Failure::Work)?;
            let report = crashed.report;
            let mut after = [Machine::after(drive, crashed.content)];
            let (is_right, said) = self.check(&mut after, guest.said())?;
            let ns = at.as_ns();
            let (lost, torn) = (report.pages_lost, report.torn_rows);
            let verdict = if is_right { "kept" } else { "VIOLATED" };
            print(&format!(
                "cut {number} at {ns}ns: {lost} pages of the buffer lost, {torn} torn rows: \
                 {verdict}\n"
            ))?;
            if !is_right {
                violations += 1;
                first.get_or_insert((ns, said));
            }
            bar.show(number, Some(cuts.len() as u64), "");
        }
        bar.clear();
        print(&format!("{} cuts, {violations} violations\n", cuts.len()))?;
        match first {
            None => Ok(()),
            Some((ns, said)) => {
                say(&String::from_utf8_lossy(&said));
                let count = cuts.len();
                Err(Failure::Work(format!(
                    "{violations} of {count} cuts broke what was promised; the first checker's \
                     words are above; that cut again: --cut-at {ns}ns"
                )))
            }
        }
    }

    /// Boots on what is left; whether the checker is content, and what it said.
    fn check(
        &self,
        machines: &mut [Machine<Drive>],
        before: Vec<u8>,
    ) -> Result<(bool, Vec<u8>), Failure> {
        let check = self.args.check.clone().unwrap_or_default();
        let command = ["sh", "-c", &check].map(|word| word.as_bytes().to_vec()).to_vec();
        let mission = mission(self.args, self.scenario.seed, 1).map_err(Failure::Work)?;
        let mission = Mission { command, before: Some(before), ..mission };
        let terms = Terms { cut: None, lies: false, ..terms(self.args) };
        let (mut guest, mut calendar) = begin(self.image, &mission, machines, terms)?;
        let ended = calendar.run(&mut Silent(&mut guest)).map_err(Failure::Work)?;
        let mut said = guest.said();
        match ended {
            Ended::Exit(code) => Ok((code == 0, said)),
            Ended::Stopped => Err(Failure::Interrupted("the campaign is not whole")),
            ended => {
                // A guest that dies on what it finds has not found what was promised.
                let words = guest.last_words(LAST_WORDS).join("\n");
                said.extend_from_slice(format!("the guest ended: {ended:?}\n{words}\n").as_bytes());
                Ok((false, said))
            }
        }
    }

    /// The guest did not come to its end, or to the cut.
    fn without_end(&self, ended: Ended, guest: &mut Guest) -> Failure {
        match ended {
            Ended::Stopped => Failure::Interrupted("the campaign is not whole"),
            Ended::Exit(_) => Failure::Work(
                "the command ended before the power failed: choose an earlier --cut-at".to_string(),
            ),
            ended => {
                let words = guest.last_words(LAST_WORDS).join("\n  ");
                Failure::Work(format!("the guest ended: {ended:?}\n  {words}"))
            }
        }
    }
}

fn begin<'m>(
    image: &Image,
    mission: &Mission,
    machines: &'m mut [Machine<Drive>],
    terms: Terms,
) -> Result<(Guest, Calendar<'m, Drive>), Failure> {
    let mut guest = Guest::prepare(image, mission).map_err(Failure::Work)?;
    let (clock, disks) = guest.sockets(machines.len()).map_err(Failure::Work)?;
    let calendar = Calendar::new(machines, clock, disks, terms).map_err(Failure::Work)?;
    guest.start(image, mission).map_err(Failure::Work)?;
    Ok((guest, calendar))
}
