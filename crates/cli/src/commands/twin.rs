//! `manx twin report`: how near twins are, for the terminal and as a page.

use super::{Failure, print};
use crate::args::{TwinCommand, TwinReportArgs};
use crate::say::say;
use manx_config::ConfigError;
use manx_lab::load::{read_bounded, read_device};
use manx_lab::twin::shipped;
use manx_report::twin::{Fit, page, text};

/// Does what was asked.
pub fn run(command: &TwinCommand) -> Result<(), Failure> {
    let TwinCommand::Report(args) = command;
    let fits = fits(args)?;
    if let Some(path) = &args.html {
        let shown = path.display();
        if path.exists() && !args.force {
            let message = format!("{shown}: it is there already; --force replaces it");
            return Err(Failure::Input(ConfigError::new(message)));
        }
        std::fs::write(path, page(&fits))
            .map_err(|error| Failure::Work(format!("{shown}: cannot write here: {error}")))?;
    }
    print(&text(&fits))?;
    if let Some(path) = &args.html {
        say(&format!("wrote {}", path.display()));
    }
    Ok(())
}

fn fits(args: &TwinReportArgs) -> Result<Vec<Fit>, Failure> {
    let refused =
        |name: &str, why: String| Failure::Input(ConfigError::new(format!("{name}: {why}")));
    if args.files.is_empty() {
        let fit = |(name, document): (&'static str, &'static str)| {
            let summary = read_device(name).ok().map(|device| device.summary);
            Fit::read(document, summary).map_err(|why| refused(name, why))
        };
        return shipped().map(fit).collect();
    }
    let fit = |path: &std::path::PathBuf| {
        let name = path.display().to_string();
        let bytes =
            read_bounded(path).map_err(|why| refused(&name, format!("cannot read it: {why}")))?;
        let document = String::from_utf8_lossy(&bytes);
        Fit::read(&document, None).map_err(|why| refused(&name, why))
    };
    args.files.iter().map(fit).collect()
}
