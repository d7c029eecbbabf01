//! `manx why`: from arguments to the lab's findings.

use super::progress::Bars;
use super::{Failure, print};
use crate::args::WhyArgs;
use crate::screen::Screen;
use crate::signals::{self, STOP};
use manx_lab::cache::Cache;
use manx_lab::compare::Options;
use manx_lab::load::Request;
use manx_lab::run::{Beside, Moment};
use manx_lab::why::ask::{POLICIES, ask};
use manx_lab::why::show;
use std::num::NonZero;
use std::sync::atomic::Ordering;

/// Does what was asked.
pub fn run(args: &WhyArgs, screen: &Screen) -> Result<(), Failure> {
    let request = Request::read(&args.scenario, args.overrides()?)?.with_trace_from_here();
    let policies = match args.policies.is_empty() {
        true => POLICIES.map(str::to_string).to_vec(),
        false => args.policies.clone(),
    };
    // Nothing is written but the cache, whose files get their names when they are whole.
    signals::end_at_once(true);
    signals::listen();
    let cache = if args.no_cache { None } else { Cache::of_user() };
    let bars = Bars::new(screen, policies.iter().map(String::as_str));
    let observer = |moment: &Moment<'_>| bars.show(moment);
    let options = Options {
        jobs: args.jobs.and_then(|jobs| NonZero::new(jobs as usize)),
        verify: false,
        cache: cache.as_ref(),
        beside: Beside::default(),
        stop: &STOP,
        observer: &observer,
        finished: None,
        limits: None,
    };
    let why = ask(&request, &policies, &options);
    bars.clear();
    let why = why?;
    if STOP.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted("nothing was reported"));
    }
    let plain = |text: String| text.replace(|c: char| c.is_control() && c != '\n', " ");
    print(&if args.json { show::document(&why) } else { plain(show::text(&why)) })
}
