//! A store against a journal of what was promised, with kills at any moment.

mod broken;
mod journal;

use super::{Head, LOG_MOST, Store, StoreError, Woken, inspect};
use crate::desk::Kept;
use crate::front::{Ask, Kind};
use crate::machine::{Builder, Machine};
use journal::Journal;
use manx_config::{Input, Override, Scenario, builtin_scenario, load};
use manx_core::drive::{Drive, PredictableLatency, Status, Storage};
use manx_core::nvme::{AdminReply, Attributes, Controller, Options, Sqe};
use manx_core::sim::Rng;
use manx_core::units::{Duration, Instant, SECTOR};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

fn scenario(sets: &[&str]) -> Scenario {
    let scenario = builtin_scenario("quick").unwrap();
    let all = [
        "device.geometry.channels=1",
        "device.geometry.pages=32",
        "device.geometry.blocks=14",
        "recovery.keep=true",
    ];
    let overrides: Vec<Override> =
        all.iter().chain(sets).map(|set| Override::from_set(set).unwrap()).collect();
    load(&Input { scenario: &scenario, device: None, policy: None, overrides: &overrides }).unwrap()
}

/// A drive, as it is or behind its controller.
trait Model: Kept {
    const HAS_CONTROLLER: bool;

    fn of(scenario: &Scenario, drive: Drive) -> Self;
}

impl Model for Drive {
    const HAS_CONTROLLER: bool = false;

    fn of(_: &Scenario, drive: Drive) -> Self {
        drive
    }
}

impl Model for Controller {
    const HAS_CONTROLLER: bool = true;

    fn of(scenario: &Scenario, drive: Drive) -> Self {
        let attributes = Attributes::of(&drive, &scenario.drive, &scenario.gc);
        Controller::new(drive, attributes, Options::default())
    }
}

fn build<S: Model>(scenario: &Scenario, map: &[u8]) -> Result<S, String> {
    let config = scenario.drive_config();
    let mut empty = config.empty_map();
    empty.restore(map).map_err(|error| error.to_string())?;
    Ok(S::of(scenario, config.build(empty, true)))
}

fn builder<S: Model>(scenario: &Scenario) -> Builder<S> {
    let scenario = scenario.clone();
    Box::new(move |map| build(&scenario, map))
}

fn head(scenario: &Scenario) -> Head {
    let config = scenario.drive_config();
    let drive = config.build(config.empty_map(), true);
    let page = drive.page_sectors() * SECTOR as u32;
    let bytes = drive.sectors() * SECTOR / u64::from(page) * u64::from(page);
    Head::new(&scenario.name, bytes, page, json!({ "gc": scenario.gc, "seed": scenario.seed }))
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("manx-store-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn opened(folder: &Path, scenario: &Scenario) -> Result<Woken, StoreError> {
    opened_as::<Drive>(folder, scenario)
}

fn opened_as<S: Model>(folder: &Path, scenario: &Scenario) -> Result<Woken, StoreError> {
    let head = if S::HAS_CONTROLLER { head(scenario).with_controller() } else { head(scenario) };
    if !Store::is_in(folder) {
        let map = scenario.drive_config().empty_map().snapshot();
        let store = Store::create(folder, head, &map)?;
        return Ok(Woken { store, lost: None });
    }
    Store::open(folder, &head)?.wake(|map| build::<S>(scenario, map), &scenario.drive)
}

struct Client<S: Model> {
    machine: Machine<S>,
    now: Instant,
    journal: Journal,
    rng: Rng,
    cookie: u64,
    page_sectors: usize,
}

impl<S: Model> Client<S> {
    /// A host sets windows, or lets the drive go.
    fn set(&mut self) {
        let (feature, cdw12) = match self.rng.below(3) {
            0 => (0x13, self.rng.below(2) as u32),
            _ => (0x14, 1 + self.rng.below(2) as u32),
        };
        let sqe = Sqe::set_features(feature, 1, cdw12);
        self.machine.admin(self.now, &sqe, &[0; 512]).unwrap();
    }

    /// Whether windows are on, where there is a controller.
    fn setting(&mut self) -> Option<u32> {
        match self.machine.admin(self.now, &Sqe::get_features(0x13, 1), &[])? {
            AdminReply::Done(done) => Some(done.result),
            AdminReply::Later => None,
        }
    }

    fn ask(&mut self) {
        if S::HAS_CONTROLLER && self.rng.below(8) == 0 {
            self.set();
        }
        let sectors = self.journal.sectors.len() as u64;
        let length = 1 + self.rng.below(3 * self.page_sectors as u64);
        let first = self.rng.below(sectors.min(2400) - length);
        let kind = match self.rng.below(20) {
            0..=10 => Kind::Write,
            11 => Kind::Zero { may_deallocate: true },
            12 => Kind::Zero { may_deallocate: false },
            13 => Kind::Trim,
            14 => Kind::Flush,
            _ => Kind::Read,
        };
        let (first, length) = if kind == Kind::Flush { (0, 0) } else { (first, length) };
        let fua = !matches!(kind, Kind::Read | Kind::Flush) && self.rng.below(6) == 0;
        self.cookie += 1;
        let ask = Ask {
            cookie: self.cookie,
            drive: 0,
            kind,
            offset: first * SECTOR,
            length: length * SECTOR,
            fua,
            predictable: PredictableLatency::Off,
        };
        let mut data = Vec::new();
        self.journal.next += 1;
        let number = self.journal.next;
        let value = if kind == Kind::Write { number } else { 0 };
        if kind == Kind::Write {
            data.extend((0..length * SECTOR / 4).flat_map(|_| value.to_le_bytes()));
        }
        let mut range = first as usize..(first + length) as usize;
        if kind == Kind::Trim {
            let page = self.page_sectors;
            range = range.start.next_multiple_of(page)..range.end / page * page;
        }
        match kind {
            Kind::Read => {}
            Kind::Flush => {
                let acknowledged = self.journal.acknowledged.clone();
                self.journal.flushes.insert(self.cookie, acknowledged);
            }
            _ => {
                let written: Vec<_> = range.map(|sector| (sector, number)).collect();
                let sectors = &mut self.journal.sectors;
                written.iter().for_each(|(at, _)| sectors[*at].push((number, value)));
                self.journal.under_way.insert(self.cookie, written);
            }
        }
        self.machine.submit(self.now, 0, ask, &data);
    }

    /// As the server does: what leads to the answers is kept before they are known.
    fn advance(&mut self, time: Duration) {
        self.now += time;
        assert_eq!(self.machine.commit(self.now), None);
        while let Some(finished) = self.machine.advance_before(self.now) {
            assert_eq!(finished.done.status, Status::Success);
            let ask = finished.done.ask;
            if let Some(written) = self.journal.under_way.remove(&ask.cookie) {
                if ask.fua {
                    self.journal.promise(&written);
                }
                self.journal.acknowledged.extend(written);
            }
            if let Some(acknowledged) = self.journal.flushes.remove(&ask.cookie) {
                self.journal.promise(&acknowledged);
            }
        }
    }

    fn quiesce(&mut self) {
        while self.machine.under_way() > 0 {
            self.advance(Duration::from_us(100));
        }
    }

    fn values(&mut self) -> Vec<u32> {
        let length = self.journal.sectors.len() as u64 * SECTOR;
        let ask = Ask {
            cookie: 0,
            drive: 0,
            kind: Kind::Read,
            offset: 0,
            length,
            fua: false,
            predictable: PredictableLatency::Off,
        };
        self.machine.submit(self.now, 0, ask, &[]);
        let mut bytes = Vec::new();
        while bytes.is_empty() {
            self.now = self.machine.next_event_at().max(self.now) + Duration::from_ns(1);
            assert_eq!(self.machine.commit(self.now), None);
            if let Some(finished) = self.machine.advance_before(self.now) {
                self.machine.data(&finished, &mut bytes);
            }
        }
        let sector = |sector: &[u8]| {
            let words: Vec<u32> =
                sector.as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(*four)).collect();
            assert!(words.iter().all(|word| *word == words[0]), "a sector is torn");
            words[0]
        };
        bytes.chunks_exact(SECTOR as usize).map(sector).collect()
    }
}

fn kill_and_come_back(name: &str, sets: &[&str], rounds: u32, seed: u64) {
    kill_and_come_back_as::<Drive>(name, sets, rounds, seed);
}

fn kill_and_come_back_as<S: Model>(name: &str, sets: &[&str], rounds: u32, seed: u64) {
    let (folder, scenario) = (Folder::new(name), scenario(sets));
    let protected = scenario.drive.power_loss_protection;
    let sectors = (head(&scenario).bytes / SECTOR) as usize;
    let mut rng = Rng::stream(seed, "store");
    let mut journal = Journal::new(sectors);
    let mut was_killed = false;
    for round in 0..rounds {
        let Woken { store, lost } = opened_as::<S>(&folder.0, &scenario).unwrap();
        assert!(lost.is_none() || was_killed, "round {round}");
        assert!(lost.is_none_or(|lost| lost.broken.is_empty()));
        let drive: S = build(&scenario, store.map()).unwrap();
        let page_sectors = drive.page_sectors() as usize;
        let machine = Machine::stored(drive, store, builder(&scenario)).unwrap();
        let rng_of_round = Rng::stream(rng.below(1 << 40), "round");
        let now = Instant::START;
        let mut client =
            Client { machine, now, journal, rng: rng_of_round, cookie: 0, page_sectors };
        let values = client.values();
        client.journal.lost(&values, protected || !was_killed);
        let asks = rng.below(if S::HAS_CONTROLLER { 1600 } else { 400 });
        for number in 0..asks {
            client.ask();
            let time = Duration::from_ns(client.rng.below(150_000));
            client.advance(time);
            if number == 200 {
                client.quiesce();
                let before = client.setting();
                client.machine.start_again(client.now).unwrap();
                assert_eq!(client.setting(), before);
            }
        }
        was_killed = rng.below(4) > 0;
        if !was_killed {
            client.quiesce();
            let now = client.now;
            client.machine.settle(now).unwrap();
            assert!(inspect_clean(&folder.0, client.machine));
        }
        journal = client.journal;
    }
}

#[test]
fn a_snapshot_holds_what_was_asked_before_it_and_the_drive_goes_on() {
    for (name, sets, is_stored) in [
        ("snap", &["drive.power_loss_protection=false"][..], false),
        ("snap-gc", &["gc.mode=\"preemptive\"", "ftl.map.cache=\"16 KiB\""], false),
        ("snap-of-store", &[], true),
    ] {
        let (folder, scenario) = (Folder::new(name), scenario(sets));
        let store = opened(&folder.0, &scenario).unwrap().store;
        let drive: Drive = build(&scenario, store.map()).unwrap();
        let page_sectors = drive.page_sectors() as usize;
        let machine = match is_stored {
            true => Machine::stored(drive, store, builder(&scenario)).unwrap(),
            false => Machine::new(drive),
        };
        let journal = Journal::new((head(&scenario).bytes / SECTOR) as usize);
        let (now, rng) = (Instant::START, Rng::stream(11, "snapshot"));
        let mut client = Client { machine, now, journal, rng, cookie: 0, page_sectors };
        let expected = |client: &Client<Drive>| -> Vec<u32> {
            client.journal.sectors.iter().map(|history| history.last().unwrap().1).collect()
        };
        for round in 0..12 {
            for _ in 0..60 {
                client.ask();
                let time = Duration::from_ns(client.rng.below(100_000));
                client.advance(time);
            }
            let under_way = client.machine.under_way();
            let copy = Folder::new(&format!("{name}-copy"));
            client.machine.snapshot(client.now, &copy.0, head(&scenario)).unwrap();
            assert_eq!(client.machine.under_way(), under_way);
            assert!(client.machine.snapshot(client.now, &copy.0, head(&scenario)).is_err());
            let Woken { store, lost } = opened(&copy.0, &scenario).unwrap();
            assert_eq!(lost, None);
            let drive: Drive = build(&scenario, store.map()).unwrap();
            let machine = Machine::stored(drive, store, builder(&scenario)).unwrap();
            let (journal, rng) = (Journal::new(0), Rng::stream(1, "copy"));
            let mut copied = Client { machine, now, journal, rng, cookie: 0, page_sectors };
            copied.journal.sectors = vec![Vec::new(); client.journal.sectors.len()];
            assert!(copied.values() == expected(&client), "{name}, round {round}");
        }
        client.quiesce();
        let wanted = expected(&client);
        assert!(client.values() == wanted, "{name}: the drive itself");
    }
}

fn inspect_clean<S: Model>(folder: &Path, machine: Machine<S>) -> bool {
    drop(machine);
    inspect(folder).unwrap().is_clean
}

#[test]
fn a_killed_server_comes_back_with_what_was_promised() {
    kill_and_come_back("plain", &["drive.power_loss_protection=false"], 40, 1);
}

#[test]
fn with_power_loss_protection_nothing_acknowledged_is_lost() {
    kill_and_come_back("protected", &["drive.power_loss_protection=true"], 40, 2);
}

#[test]
fn a_controllers_settings_are_replayed_with_what_hosts_asked() {
    for (name, sets) in [
        ("nvme", &["drive.power_loss_protection=false"][..]),
        ("nvme-protected", &["gc.mode=\"preemptive\""]),
        ("nvme-windows", &["gc.mode=\"preemptive\"", "drive.power_loss_protection=false"]),
    ] {
        kill_and_come_back_as::<Controller>(name, sets, 20, 4);
    }
    let (folder, scenario) = (Folder::new("nvme-then-nbd"), scenario(&[]));
    killed::<Controller>(&folder.0, &scenario);
    let refused = opened(&folder.0, &scenario).map(drop).unwrap_err().to_string();
    assert!(refused.contains("--protocol nvme-tcp"), "{refused}");
    drop(opened_as::<Controller>(&folder.0, &scenario).unwrap());
    // It is closed now: any protocol will do.
    killed::<Drive>(&folder.0, &scenario);
    let refused = opened_as::<Controller>(&folder.0, &scenario).map(drop).unwrap_err().to_string();
    assert!(refused.contains("--protocol nbd"), "{refused}");
}

#[test]
fn every_policy_and_a_checkpoint_come_back() {
    for (name, sets) in [
        (
            "checkpoint",
            &["recovery.checkpoint_every=\"1 MiB\"", "drive.power_loss_protection=false"],
        ),
        ("suspended", &["gc.mode=\"preemptive\"", "drive.power_loss_protection=false"]),
        ("map", &["ftl.map.cache=\"16 KiB\"", "drive.power_loss_protection=false"]),
    ] {
        kill_and_come_back(name, sets, 12, 3);
    }
}

/// A store with a few writes that was killed.
fn killed<S: Model>(folder: &Path, scenario: &Scenario) {
    let Woken { store, .. } = opened_as::<S>(folder, scenario).unwrap();
    let drive: S = build(scenario, store.map()).unwrap();
    let page_sectors = drive.page_sectors() as usize;
    let machine = Machine::stored(drive, store, builder(scenario)).unwrap();
    let sectors = (head(scenario).bytes / SECTOR) as usize;
    let (now, rng) = (Instant::START, Rng::stream(5, "store"));
    let journal = Journal::new(sectors);
    let mut client = Client { machine, now, journal, rng, cookie: 0, page_sectors };
    for _ in 0..50 {
        client.ask();
        client.advance(Duration::from_us(50));
    }
}

#[test]
fn damage_is_refused_and_a_torn_end_is_passed_over() {
    let (folder, scenario) = (Folder::new("damage"), scenario(&[]));
    killed::<Drive>(&folder.0, &scenario);
    let path = folder.0.join("log-0");
    let whole = fs::read(&path).unwrap();
    let mut rng = Rng::stream(9, "store");
    for _ in 0..200 {
        let mut damaged = whole.clone();
        let at = rng.below(whole.len() as u64) as usize;
        damaged[at] ^= 1 << rng.below(8);
        fs::write(&path, &damaged).unwrap();
        let refused = opened(&folder.0, &scenario);
        assert!(matches!(refused, Err(StoreError::Damaged(..))), "byte {at}");
        assert_eq!(fs::read(&path).unwrap(), damaged, "nothing is touched");
    }
    for _ in 0..20 {
        let length = 8 + rng.below(whole.len() as u64 - 8) as usize;
        fs::write(&path, &whole[..length]).unwrap();
        let copy = Folder::new("copy");
        fs::create_dir_all(&copy.0).unwrap();
        for name in ["store.json", "base-0", "log-0", "data"] {
            fs::copy(folder.0.join(name), copy.0.join(name)).unwrap();
        }
        opened(&copy.0, &scenario).unwrap();
    }
}

#[test]
fn a_store_of_another_drive_or_of_another_server_is_refused() {
    let (folder, own) = (Folder::new("other"), scenario(&[]));
    let first = opened(&folder.0, &own).unwrap();
    let busy = opened(&folder.0, &own).map(drop).unwrap_err().to_string();
    assert!(busy.contains("another server"), "{busy}");
    drop(first);
    let other = scenario(&["gc.mode=\"preemptive\""]);
    let other = opened(&folder.0, &other).map(drop).unwrap_err().to_string();
    assert!(other.contains("gc.") && other.contains("nothing was touched"), "{other}");
    let strange = Folder::new("strange");
    fs::create_dir_all(&strange.0).unwrap();
    fs::write(strange.0.join("thesis.tex"), "x").unwrap();
    let refused = opened(&strange.0, &own).map(drop).unwrap_err().to_string();
    assert!(refused.contains("thesis.tex"), "{refused}");
    assert_eq!(LOG_MOST, 1 << 30);
}

#[test]
fn a_start_that_is_killed_as_it_makes_the_base_begins_again() {
    let (folder, scenario) =
        (Folder::new("again"), scenario(&["drive.power_loss_protection=false"]));
    killed::<Drive>(&folder.0, &scenario);
    let copy = |from: &Path, to: &Path, name: &str| drop(fs::copy(from.join(name), to.join(name)));
    let kept = Folder::new("kept");
    fs::create_dir_all(&kept.0).unwrap();
    ["store.json", "base-0", "log-0"].iter().for_each(|name| copy(&folder.0, &kept.0, name));
    drop(opened(&folder.0, &scenario).unwrap());
    let after = fs::read(folder.0.join("data")).unwrap();
    // All but the head was written: the data are those of the next base already.
    ["store.json", "base-0", "log-0"].iter().for_each(|name| copy(&kept.0, &folder.0, name));
    drop(opened(&folder.0, &scenario).unwrap());
    assert_eq!(fs::read(folder.0.join("data")).unwrap(), after);
}
