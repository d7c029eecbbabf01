//! `manx plan`: calculators that show their formula and their inputs.

use super::{Failure, print};
use crate::args::{PlanCommand, SheetArgs};
use crate::signals::{self, STOP};
use manx_lab::cache::Cache;
use manx_lab::compare::Options;
use manx_lab::plan::buffer::Buffer;
use manx_lab::plan::endurance::Endurance;
use manx_lab::plan::fleet::Fleet;
use manx_lab::plan::op::Op;
use manx_lab::plan::rain::Rain;
use manx_lab::plan::sheet::Sheet;
use manx_lab::plan::show;
use manx_lab::plan::timeout::Timeout;
use manx_lab::run::RunError;

/// Seed of what is drawn in a check.
const SEED: u64 = 1;

/// Does what was asked.
pub fn run(command: &PlanCommand) -> Result<(), Failure> {
    match command {
        PlanCommand::Tw(args) => {
            let plan = args.question()?.answer()?;
            print(&if args.json { show::document(&plan) } else { show::text(&plan) })
        }
        PlanCommand::Timeout(args) => {
            let question = Timeout { gc: args.gc, below: args.writes_below };
            let answer = question.answer()?;
            let document = || question.document(&answer);
            print(&if args.json { document() } else { question.text(&answer) })
        }
        PlanCommand::Op(args) => {
            let asked = Op { op: args.op.clone(), pages: args.pages };
            told(asked.sheet()?, args.sheet, &|sheet, options| asked.check(sheet, options))
        }
        PlanCommand::Rain(args) => {
            let asked = Rain { width: args.width, op: args.op, failure: args.failure };
            told(asked.sheet()?, args.sheet, &|sheet, options| asked.check(sheet, options))
        }
        PlanCommand::Buffer(args) => {
            let (burst, lasts, waf) = (args.burst, args.lasts, args.waf);
            let asked = Buffer { device: args.device.clone(), burst, lasts, waf };
            told(asked.sheet()?, args.sheet, &|sheet, options| asked.check(sheet, options))
        }
        PlanCommand::Endurance(args) => {
            let (op, waf, cycles) = (args.op, args.waf, args.cycles);
            let asked = Endurance { op, waf, cycles, dwpd: args.dwpd, years: args.years };
            told(asked.sheet()?, args.sheet, &|sheet, options| asked.check(sheet, options))
        }
        PlanCommand::Fleet(args) => {
            let asked = Fleet {
                drives: args.drives,
                members: args.members,
                parity: args.parity,
                afr: args.afr,
                rebuild: args.rebuild,
                delivery: args.delivery,
            };
            told(asked.sheet()?, args.sheet, &|sheet, _| {
                asked.check(sheet, SEED);
                Ok(())
            })
        }
    }
}

/// A check of a sheet.
type Check<'a> = &'a dyn Fn(&mut Sheet, &Options<'_>) -> Result<(), RunError>;

/// Prints a sheet, with a run beside it where that was asked for.
fn told(mut sheet: Sheet, args: SheetArgs, check: Check<'_>) -> Result<(), Failure> {
    if args.check {
        signals::listen();
        let cache = Cache::of_user();
        check(&mut sheet, &Options::plain(cache.as_ref(), &STOP))?;
    }
    print(&if args.json { sheet.document() } else { sheet.text() })
}
