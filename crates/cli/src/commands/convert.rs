//! `manx trace convert`: a trace in another format, and what that format could not hold.

use super::progress::Bar;
use super::{Failure, print};
use crate::args::TraceConvertArgs;
use crate::say::say;
use crate::screen::Screen;
use crate::signals::{self, STOP};
use manx_config::ConfigError;
use manx_lab::ask::trace_spec;
use manx_lab::convert::{Conversion, ConvertError, Converted};
use manx_trace::convert::{About, Encoder, Target, fio, text_encoder};
use std::fmt::Write;
use std::path::Path;

/// Does what was asked.
pub fn convert(args: &TraceConvertArgs, screen: &Screen) -> Result<(), Failure> {
    let target = target(args)?;
    let spec = trace_spec(args.overrides())?;
    let bar = Bar::new(screen, "convert", "requests");
    let progress = |done, total| {
        signals::end_at_once(total == 0);
        let reading = if total > 0 { "" } else { "reading the trace" };
        bar.show(done, (total > 0).then_some(total), reading);
    };
    // All that is left when it ends at once is a file with another name.
    signals::end_at_once(true);
    signals::listen();
    let encoder = |about: &About| encoder(target, about, args.fio_file.as_deref());
    let (out, force) = (args.out.as_path(), args.force);
    let conversion =
        Conversion { spec: &spec, out, force, encoder: &encoder, progress: &progress, stop: &STOP };
    let converted = manx_lab::convert::convert(&conversion);
    bar.clear();
    match converted {
        Ok(converted) => {
            let text = report(&converted, target, out);
            if is_stdout(out) {
                say(&text);
                return Ok(());
            }
            print(&text)
        }
        Err(ConvertError::Closed) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn input(message: String) -> Failure {
    ConfigError::new(message).into()
}

fn is_stdout(out: &Path) -> bool {
    out == Path::new("-")
}

/// The target format, checked against the file's ending and place.
fn target(args: &TraceConvertArgs) -> Result<Target, Failure> {
    let out = args.out.display();
    let Some(target) = args.target.or_else(|| Target::of_file(&args.out)) else {
        let endings = "its ending is none of .parquet, .csv, .fio, .iolog, .trace, .ascii";
        let message = format!(
            "{out}: {endings}: --as parquet, manx, msr, fio-v3 or mqsim says what to write"
        );
        return Err(input(message));
    };
    if target == Target::Parquet {
        if cfg!(not(feature = "parquet")) {
            let built = "this manx was built without the cargo feature `parquet`, which writes it";
            return Err(input(format!("--as parquet: {built}")));
        }
        let is_packed =
            args.out.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
        if is_packed || is_stdout(&args.out) {
            let why = "Parquet needs a file of its own, and is compressed inside";
            return Err(input(format!("{out}: {why}: name one that ends in .parquet")));
        }
    }
    if let Some(name) = &args.fio_file {
        if target != Target::FioV3 {
            return Err(input(format!("--fio-file {name}: only --as fio-v3 has files")));
        }
        fio::check_name(name)
            .map_err(|expected| input(format!("--fio-file {name}: {expected}")))?;
    }
    Ok(target)
}

fn encoder(target: Target, about: &About, fio_file: Option<&str>) -> Box<dyn Encoder> {
    match text_encoder(target, about, fio_file) {
        Some(encoder) => encoder,
        #[cfg(feature = "parquet")]
        None => Box::new(manx_parquet::Encoder::new(about)),
        #[cfg(not(feature = "parquet"))]
        None => unreachable!("refused before: this manx has no Parquet"),
    }
}

/// Report of a conversion: what was read, what was written, and what is missing there.
fn report(converted: &Converted, target: Target, out: &Path) -> String {
    let Converted { summary, losses, written } = converted;
    let place =
        if is_stdout(out) { "standard output".to_string() } else { out.display().to_string() };
    let mut text =
        format!("{summary}written     {written} requests as {} to {place}\n", target.name());
    for (name, tally) in [("not held", &losses.dropped), ("held else", &losses.altered)] {
        if !tally.is_empty() {
            let _ = writeln!(text, "{name:<11} {}", tally.total());
            for (reason, count) in tally.iter() {
                let _ = writeln!(text, "{count:>20}  {reason}");
            }
        }
    }
    text
}
