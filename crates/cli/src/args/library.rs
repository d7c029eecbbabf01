//! Arguments of the commands that look up built-in tables and files.

use clap::Subcommand;

/// `manx scenario`.
#[derive(Debug, Subcommand)]
pub enum ScenarioCommand {
    /// List the built-in scenarios: what each shows, its drive, load and policies
    List {
        /// One JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// Show a scenario as it is written, with the reasons; a file to begin one's own with
    Show {
        /// A name of `manx scenario list`, or the path of a scenario
        name: String,
        /// Every key with its value, device and workload merged in, as a run takes them
        #[arg(long)]
        resolved: bool,
    },
}

/// `manx device`.
#[derive(Debug, Subcommand)]
pub enum DeviceCommand {
    /// List the built-in devices
    List,
    /// Show a device: capacities, numbers, and where each number is from
    Show {
        /// A name of `manx device list` or the path of a table
        name: String,
    },
}

/// `manx policy`.
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// List the policies
    List,
    /// Show a policy: what it does, where it is from, what it changes
    Show {
        /// A name of `manx policy list`, or a path of names
        name: String,
    },
}
