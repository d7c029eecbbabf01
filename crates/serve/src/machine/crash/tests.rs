//! Power losses at any instant against the history of every page, kept plainly.

use super::super::tests::{ask, drive, scenario, settle};
use super::super::{Ask, Kind, Machine};
use manx_config::Scenario;
use manx_core::drive::{Drive, Status};
use manx_core::sim::Rng;
use manx_core::units::{Duration, Instant};
use std::collections::BTreeMap;

const PAGE: u64 = 4096;

/// Fillings of a page in their order, the first of zeros, and how many of them are durable.
#[derive(Clone, Default)]
struct Page {
    fillings: Vec<u8>,
    answered: usize,
    durable: usize,
}

/// A load of writes, some of them durable by themselves, and flushes, and what it was answered.
struct Load {
    rng: Rng,
    pages: Vec<Page>,
    busy: BTreeMap<u64, Busy>,
    now: Instant,
    log: Vec<(u64, Instant)>,
}

enum Busy {
    Write {
        page: usize,
        filling: usize,
        is_durable: bool,
    },
    /// The fillings that had been answered when the flush came.
    Flush(Vec<usize>),
}

impl Load {
    fn new(machine: &Machine<Drive>) -> Self {
        let pages = (machine.size() / PAGE) as usize;
        let page = Page { fillings: vec![0], ..Page::default() };
        Self {
            rng: Rng::stream(25, "crash"),
            pages: vec![page; pages],
            busy: BTreeMap::new(),
            now: Instant::START,
            log: Vec::new(),
        }
    }

    fn step(&mut self, machine: &mut Machine<Drive>, round: u64) {
        if self.rng.below(12) == 0 {
            let answered = self.pages.iter().map(|page| page.answered).collect();
            self.busy.insert(round, Busy::Flush(answered));
            machine.submit(self.now, 1, Ask { cookie: round, ..ask(Kind::Flush, 0, 0) }, &[]);
        } else {
            self.write(machine, round);
        }
        self.now += Duration::from_ns(self.rng.below(300_000));
        while let Some(finished) = machine.advance_before(self.now) {
            assert_eq!(finished.done.status, Status::Success);
            self.answer(finished.done.ask.cookie);
            self.log.push((finished.done.ask.cookie, finished.at));
        }
    }

    fn write(&mut self, machine: &mut Machine<Drive>, round: u64) {
        let number = self.rng.below(self.pages.len() as u64 / 2) as usize;
        let is_free = !self
            .busy
            .values()
            .any(|busy| matches!(busy, Busy::Write { page, .. } if *page == number));
        if !is_free {
            return;
        }
        let (byte, is_durable) = (1 + (round % 255) as u8, self.rng.below(6) == 0);
        let page = &mut self.pages[number];
        page.fillings.push(byte);
        let filling = page.fillings.len() - 1;
        self.busy.insert(round, Busy::Write { page: number, filling, is_durable });
        let write = ask(Kind::Write, number as u64 * PAGE, PAGE);
        let write = Ask { cookie: round, fua: is_durable, ..write };
        machine.submit(self.now, 1, write, &[byte; PAGE as usize]);
    }

    fn answer(&mut self, cookie: u64) {
        match self.busy.remove(&cookie).expect("each is answered once") {
            Busy::Write { page, filling, is_durable } => {
                self.pages[page].answered = filling;
                if is_durable {
                    self.pages[page].durable = filling;
                }
            }
            Busy::Flush(answered) => {
                for (page, answered) in self.pages.iter_mut().zip(answered) {
                    page.durable = page.durable.max(answered);
                }
            }
        }
    }
}

/// Cuts the power every so often; pages that lost something that was answered.
fn cut_often(scenario: &Scenario, keeps_all: bool) -> usize {
    let config = scenario.drive_config();
    let mut machine = Machine::losing_power(drive(scenario));
    let mut plain = Machine::new(drive(scenario));
    let (mut load, mut other) = (Load::new(&machine), Load::new(&plain));
    let mut lost = 0;
    for round in 0..3_000 {
        load.step(&mut machine, round);
        other.step(&mut plain, round);
        if round % 150 != 149 {
            continue;
        }
        let crashed = machine.crash(load.now).unwrap();
        for (number, page) in load.pages.iter().enumerate() {
            let mut bytes = Vec::new();
            let (of, length) = (number as u32, PAGE as usize);
            let version = crashed.content.version(of);
            crashed.content.read(of, version, 0, length, &mut bytes).unwrap();
            let least = if keeps_all { page.answered } else { page.durable };
            let allowed = &page.fillings[least..];
            assert!(allowed.contains(&bytes[0]), "page {number} at {:?}", load.now);
            assert!(bytes.iter().all(|byte| *byte == bytes[0]), "page {number} is torn");
            lost += usize::from(!page.fillings[page.answered..].contains(&bytes[0]));
        }
        // The next machine brings the same bytes, through its drive.
        let mut map = config.empty_map();
        map.restore(&crashed.rest.map.snapshot()).unwrap();
        let mut after = Machine::after(config.build(map, true), crashed.content);
        after.submit(load.now, 1, ask(Kind::Read, 0, PAGE * 8), &[]);
        let mut now = load.now;
        let bytes = settle(&mut after, &mut now);
        for (page, bytes) in load.pages.iter().zip(bytes.chunks(PAGE as usize)) {
            assert!(page.fillings[page.durable..].contains(&bytes[0]));
        }
    }
    assert!(load.log == other.log, "a look at what would be left changes nothing");
    lost
}

#[test]
fn a_power_loss_leaves_what_was_flushed_and_loses_of_the_rest() {
    let keep = ["recovery.keep=true", "drive.power_loss_protection=false"];
    assert!(cut_often(&scenario(&keep), false) > 0, "the buffer holds what can be lost");
}

#[test]
fn a_drive_with_a_capacitor_leaves_what_was_answered() {
    let keep = ["recovery.keep=true", "drive.power_loss_protection=true"];
    assert_eq!(cut_often(&scenario(&keep), true), 0);
}

#[test]
fn a_machine_without_a_journal_has_nothing_left() {
    let machine = Machine::new(drive(&scenario(&[])));
    assert!(machine.crash(Instant::START).is_none());
}
