//! The program `manx`: the library's commands, with memory in huge pages and Parquet where it is
//! built in.

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

use manx_cli::{answer, commands, help};
use manx_lab::huge_pages::HugePages;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

fn main() -> ExitCode {
    manx_lab::stamp::set_commit(env!("MANX_COMMIT_HASH"));
    answer(help::parse(), |args| {
        #[cfg(feature = "parquet")]
        manx_lab::open::set_parquet_opener(|path| Ok(Box::new(manx_parquet::open(path)?)));
        commands::run(args)
    })
}
