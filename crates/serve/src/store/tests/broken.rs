//! A store whose files cannot be written, or are not there.

use super::{Folder, build, builder, killed, opened, scenario};
use crate::front::{Ask, Kind};
use crate::machine::Machine;
use crate::store::StoreError;
use manx_core::drive::{Drive, PredictableLatency, Status};
use manx_core::units::{Duration, Instant};
use std::fs;

#[test]
fn a_store_that_takes_no_more_is_read_as_it_was() {
    let (folder, scenario) = (Folder::new("full"), scenario(&[]));
    let mut store = opened(&folder.0, &scenario).unwrap().store;
    store.fail(&std::io::Error::other("full"));
    let drive: Drive = build(&scenario, store.map()).unwrap();
    let mut machine = Machine::stored(drive, store, builder(&scenario)).unwrap().with_records();
    let (mut now, page) = (Instant::START, machine.page_bytes());
    let mut ask = |kind, length, fua| {
        let predictable = PredictableLatency::Off;
        let ask = Ask { cookie: 0, drive: 0, kind, offset: 0, length, fua, predictable };
        let data = vec![7; if kind == Kind::Write { length as usize } else { 0 }];
        machine.submit(now, 0, ask, &data);
        now += Duration::from_ms(100);
        let finished = machine.advance_before(now).unwrap();
        let mut bytes = Vec::new();
        if kind == Kind::Read {
            machine.data(&finished, &mut bytes);
        }
        (finished.done.status, bytes)
    };
    let refused = (Status::NamespaceWriteProtected, Vec::new());
    for kind in [Kind::Write, Kind::Zero { may_deallocate: true }, Kind::Trim] {
        for fua in [false, true] {
            assert_eq!(ask(kind, page, fua), refused, "{kind:?}");
        }
    }
    assert_eq!(ask(Kind::Read, page, false), (Status::Success, vec![0; page as usize]));
    assert_eq!(machine.take_records().unwrap().requests.len(), 1, "the read");
}

#[test]
fn a_file_that_is_missing_is_not_made() {
    let (folder, scenario) = (Folder::new("missing"), scenario(&[]));
    killed::<Drive>(&folder.0, &scenario);
    for name in ["data", "base-0", "log-0"] {
        let (path, aside) = (folder.0.join(name), folder.0.join("aside"));
        fs::rename(&path, &aside).unwrap();
        let refused = opened(&folder.0, &scenario);
        assert!(matches!(refused, Err(StoreError::File(found, _)) if found == path), "{name}");
        assert!(!path.exists(), "{name}");
        fs::rename(&aside, &path).unwrap();
    }
    opened(&folder.0, &scenario).unwrap();
}
