//! `manx plan`: calculators that show their formula and their inputs.

use super::{Failure, print};
use crate::args::{PlanCommand, SheetArgs};
use crate::signals::{self, STOP};
use manx_lab::cache::Cache;
use manx_lab::compare::Options;
use manx_lab::plan::buffer::Buffer;
use manx_lab::plan::check;
use manx_lab::plan::endurance::{Endurance, Rated};
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
            let question = args.question()?;
            let plan = question.answer()?;
            let check = checked(args.check, &|options| check::windows(&question, options))?;
            print(&match (args.json, &check) {
                (true, check) => show::document(&plan, check.as_ref()),
                (false, None) => show::text(&plan),
                (false, Some(check)) => show::text(&plan) + &check.text(),
            })
        }
        PlanCommand::Timeout(args) => {
            let question = Timeout { gc: args.gc, below: args.writes_below };
            let answer = question.answer()?;
            let check = checked(args.check, &|options| check::longest(&answer, options))?;
            print(&match (args.json, &check) {
                (true, check) => question.document(&answer, check.as_ref()),
                (false, None) => question.text(&answer),
                (false, Some(check)) => question.text(&answer) + &check.text(),
            })
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
            let drive = Rated::of(args.op, args.cycles, args.device.as_deref())?;
            let (waf, dwpd, years) = (args.waf, args.dwpd, args.years);
            let asked = Endurance { drive, waf, dwpd, years };
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

/// Result of a check, where one was asked for.
fn checked<T>(
    asked: bool,
    check: &dyn Fn(&Options<'_>) -> Result<T, RunError>,
) -> Result<Option<T>, Failure> {
    if !asked {
        return Ok(None);
    }
    signals::listen();
    let cache = Cache::of_user();
    Ok(Some(check(&Options::plain(cache.as_ref(), &STOP))?))
}

/// A check of a sheet.
type Check<'a> = &'a dyn Fn(&mut Sheet, &Options<'_>) -> Result<(), RunError>;

/// Prints a sheet, with a run beside it where that was asked for.
fn told(sheet: Sheet, args: SheetArgs, check: Check<'_>) -> Result<(), Failure> {
    let checked = checked(args.check, &|options| {
        let mut beside = sheet.clone();
        check(&mut beside, options).map(|()| beside)
    })?;
    let sheet = checked.unwrap_or(sheet);
    print(&if args.json { sheet.document() } else { sheet.text() })
}
