//! `manx plan`: calculators that show their formula and their inputs.

use super::{Failure, print};
use crate::args::PlanCommand;
use manx_lab::plan::show;
use manx_lab::plan::timeout::Timeout;

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
    }
}
