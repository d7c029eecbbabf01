//! `manx plot`.

use clap::Args as ClapArgs;
use std::path::PathBuf;

/// `manx plot`, and `manx-plot`, which does it.
#[derive(Debug, ClapArgs)]
pub struct PlotArgs {
    /// A result.json, or a folder of --out; NAME=RESULT gives its run another name
    #[arg(required = true, value_name = "RESULT")]
    pub results: Vec<String>,
    /// The file to write; its ending says what: .svg, .pdf or .png
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The picture: cdf, time, attribution or bars
    #[arg(long, value_name = "KIND", default_value = "cdf")]
    pub kind: String,
    /// Of which requests: read or write
    #[arg(long, value_name = "OP", default_value = "read")]
    pub op: String,
    /// A title above it [default: none, as a paper has its caption]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Width, from 20mm to 500mm: 88mm, 3.5in or 252pt; the default is a column of a paper
    #[arg(long, value_name = "LENGTH", default_value = "88mm", allow_hyphen_values = true)]
    pub width: String,
    /// Height, likewise; many runs need more
    #[arg(long, value_name = "LENGTH", default_value = "58mm", allow_hyphen_values = true)]
    pub height: String,
}
