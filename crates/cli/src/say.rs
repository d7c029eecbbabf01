//! Words on stderr. Nobody may be able to hear it (a closed terminal, a full disk): that loses no
//! result.

use std::io::Write;

/// A line, or several; what cannot be said is not said.
pub fn say(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = stderr.write_all(b"\n");
    }
}

/// One line, whatever a user's text in it holds.
pub fn say_line(text: &str) {
    say(&text.replace(char::is_control, " "));
}
