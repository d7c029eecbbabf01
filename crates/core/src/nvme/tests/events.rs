//! Events, log 0Bh and asynchronous event requests.

use super::*;
use crate::nvme::plm::{Config, Window, event};

/// In the deterministic window, where the next read is told of; notices are enabled when asked for.
fn controller_with(notices: bool) -> Controller {
    let mut controller = controller();
    let cdw11 = if notices { 1 << 12 } else { 0 };
    assert!(status(&mut controller, ms(0), &Sqe::set_features(0x0b, cdw11, 0), &[]).is_success());
    // Typical are 45,760 reads.
    let config = Config { events: event::READS, reads_threshold: 45_759, ..Config::default() };
    controller.set_predictable(ms(0), &config, true).unwrap();
    enter(&mut controller, ms(300));
    controller
}

fn enter(controller: &mut Controller, now: Instant) {
    advance(controller, now);
    let AdminReply::Done(entered) = controller.select_window(now, Window::Deterministic, 0) else {
        panic!("later")
    };
    assert!(entered.status.is_success());
}

fn read(controller: &mut Controller, now: Instant) {
    advance(controller, now);
    controller.submit(now, command(1, Op::Read, 0, 8));
}

fn aggregate(controller: &mut Controller, retain: bool) -> Vec<u8> {
    done(controller, ms(301), &Sqe::get_log_page(0x0b, 0, retain, 12), &[]).data
}

/// Type 2h (notice) in bits 2:0, information 04h in 15:8, log page 0Bh in 23:16.
const NOTICE: u32 = 0x000b_0402;

#[test]
fn an_event_puts_the_set_into_log_0bh_until_log_0ah_is_read_without_retaining() {
    let mut controller = controller_with(true);
    assert_eq!(aggregate(&mut controller, false), [0; 8]);
    read(&mut controller, ms(301));
    let listed = [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
    assert_eq!(
        aggregate(&mut controller, false),
        listed,
        "reading log 0Bh does not clear the event"
    );
    assert_eq!(controller.predictable_log(ms(301), true).unwrap().events, event::READS);
    assert_eq!(aggregate(&mut controller, true), listed, "the event was retained");
    assert_eq!(controller.predictable_log(ms(301), false).unwrap().events, event::READS);
    assert_eq!(aggregate(&mut controller, true), [0; 8]);
    assert_eq!(controller.predictable_log(ms(301), true).unwrap().events, 0);
    // A warning is given once a window.
    read(&mut controller, ms(302));
    assert_eq!(controller.predictable_log(ms(302), true).unwrap().events, 0);
}

#[test]
fn a_waiting_request_completes_when_the_set_comes_into_the_log() {
    let mut controller = controller_with(true);
    assert_eq!(controller.admin(ms(300), &Sqe::event_request(5), &[]), AdminReply::Later);
    assert_eq!(controller.take_admin_completion(), None);
    read(&mut controller, ms(301));
    let told = controller.take_admin_completion().unwrap();
    assert_eq!(
        (told.cid, told.at, told.status, told.result),
        (5, ms(301), StatusField::SUCCESS, NOTICE)
    );
    assert_eq!(controller.take_admin_completion(), None);
}

#[test]
fn an_event_waits_for_a_request_and_is_told_once() {
    let mut controller = controller_with(true);
    read(&mut controller, ms(301));
    assert_eq!(controller.take_admin_completion(), None);
    assert_eq!(controller.admin(ms(302), &Sqe::event_request(5), &[]), AdminReply::Later);
    let told = controller.take_admin_completion().unwrap();
    assert_eq!((told.cid, told.at, told.result), (5, ms(302), NOTICE));
    assert_eq!(controller.admin(ms(303), &Sqe::event_request(6), &[]), AdminReply::Later);
    assert_eq!(controller.take_admin_completion(), None);
}

#[test]
fn no_notice_follows_before_log_0bh_is_read() {
    let mut controller = controller_with(true);
    for cid in 0..2 {
        controller.admin(ms(300), &Sqe::event_request(cid), &[]);
    }
    read(&mut controller, ms(301));
    assert_eq!(controller.take_admin_completion().unwrap().cid, 0);
    // Cleared and raised again in another window.
    controller.predictable_log(ms(302), false).unwrap();
    enter(&mut controller, ms(303));
    assert!(!matches!(
        controller.select_window(ms(303), Window::NonDeterministic, 0),
        AdminReply::Later
    ));
    enter(&mut controller, ms(600));
    read(&mut controller, ms(601));
    assert_eq!(controller.take_admin_completion(), None, "the host has not read log 0Bh");
    aggregate(&mut controller, false);
    controller.predictable_log(ms(602), false).unwrap();
    assert!(!matches!(
        controller.select_window(ms(602), Window::NonDeterministic, 0),
        AdminReply::Later
    ));
    enter(&mut controller, ms(900));
    read(&mut controller, ms(901));
    assert_eq!(controller.take_admin_completion().unwrap().cid, 1);
}

#[test]
fn without_the_feature_nothing_is_told_and_without_its_bit_nothing_is_noted() {
    let mut controller = controller_with(false);
    controller.admin(ms(300), &Sqe::event_request(5), &[]);
    read(&mut controller, ms(301));
    assert_eq!(controller.take_admin_completion(), None);
    assert_eq!(controller.predictable_log(ms(301), true).unwrap().events, event::READS);

    let mut deaf = controller_with(true);
    deaf.set_predictable(ms(300), &Config { reads_threshold: 45_759, ..Config::default() }, true)
        .unwrap();
    deaf.admin(ms(300), &Sqe::event_request(5), &[]);
    read(&mut deaf, ms(301));
    assert_eq!(deaf.take_admin_completion(), None);
    assert_eq!(aggregate(&mut deaf, true), [0; 8]);
}

#[test]
fn requests_are_limited_and_can_be_taken_back() {
    let mut controller = controller_with(true);
    for cid in 0..4 {
        assert_eq!(controller.admin(ms(300), &Sqe::event_request(cid), &[]), AdminReply::Later);
    }
    assert_eq!(status(&mut controller, ms(300), &Sqe::event_request(4), &[]), StatusField(0x4105));
    let abort = Sqe { opcode: 0x08, cdw10: (2u32 << 16).into(), ..Sqe::default() };
    assert_eq!(done(&mut controller, ms(300), &abort, &[]).result, 0);
    let aborted = controller.take_admin_completion().unwrap();
    assert_eq!((aborted.cid, aborted.status), (2, StatusField(0x0007)));
    assert_eq!(done(&mut controller, ms(300), &abort, &[]).result, 1);
    assert_eq!(controller.admin(ms(300), &Sqe::event_request(4), &[]), AdminReply::Later);
}
