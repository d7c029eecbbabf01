//! `manx plot`: the program `manx-plot` beside this one, as git does it. What draws takes longer to
//! compile than what simulates, and a first comparison does not wait for it.

use super::Failure;
use std::env;
use std::path::PathBuf;
use std::process::Command;

/// Becomes `manx-plot`, with what was said after `plot`; returns only when that cannot be.
pub fn run() -> Result<(), Failure> {
    // Without /proc, as in a bare chroot, the path that it was started by.
    let by_path =
        || env::args_os().next().map(PathBuf::from).filter(|path| path.components().count() > 1);
    let manx = env::current_exe().or_else(|error| by_path().ok_or(error));
    let manx =
        manx.map_err(|error| Failure::Work(format!("cannot tell where manx is: {error}")))?;
    let plot = manx.with_file_name(format!("manx-plot{}", env::consts::EXE_SUFFIX));
    if !plot.is_file() {
        let (plot, profile) =
            (plot.display(), if cfg!(debug_assertions) { "" } else { " --release" });
        return Err(Failure::Work(format!(
            "manx plot needs {plot}, which is not built: `cargo build{profile} -p manx-plot`"
        )));
    }
    let mut command = Command::new(&plot);
    command.args(env::args_os().skip(1).skip_while(|arg| arg != "plot").skip(1));
    Err(Failure::Work(format!("cannot run {}: {}", plot.display(), replace(&mut command))))
}

/// Why the program could not take the place of this one.
#[cfg(unix)]
fn replace(command: &mut Command) -> std::io::Error {
    std::os::unix::process::CommandExt::exec(command)
}

#[cfg(not(unix))]
fn replace(command: &mut Command) -> std::io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}
