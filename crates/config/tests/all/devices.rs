//! Device tables of other simulators: that they say what those do, as far as a table can.

use manx_config::{builtin_device, load_device};
use manx_core::flash::Capacity;
use manx_core::units::Duration;

/// Both are forks of SSDsim with the same parameter file; what is said of one drive holds for the
/// other.
#[test]
fn the_two_drives_of_ssdsim_have_the_same_numbers() {
    let [ours, theirs] = ["ssdsim-ioda", "ttflash-256g"]
        .map(|name| load_device(&builtin_device(name).unwrap()).unwrap());
    assert_eq!(
        (&ours.geometry, &ours.timing, &ours.channel),
        (&theirs.geometry, &theirs.timing, &theirs.channel)
    );
    assert_eq!((&ours.feature, ours.op), (&theirs.feature, theirs.op));
}

#[test]
fn a_page_type_has_its_own_times_in_the_drives_of_other_simulators() {
    let simplessd = load_device(&builtin_device("simplessd-sample").unwrap()).unwrap();
    assert_eq!(simplessd.timing.program, [Duration::from_us(500), Duration::from_us(1300)]);
    assert_eq!(
        Capacity::of(&simplessd).to_string(),
        "raw 512 GiB, user 384 GiB, OP 33.3 % of user (25.0 % of raw)"
    );
    let nvmevirt = load_device(&builtin_device("nvmevirt-970pro").unwrap()).unwrap();
    let mean = (nvmevirt.timing.read[0].as_ns() + nvmevirt.timing.read[1].as_ns()) / 2;
    assert_eq!((nvmevirt.timing.read.len(), mean), (2, 36_013));
    // 100 / 107 of 512 GiB.
    assert_eq!(
        Capacity::of(&nvmevirt).to_string(),
        "raw 512 GiB, user 478.5 GiB, OP 7.0 % of user (6.5 % of raw)"
    );
}
