//! The terminal and the wishes of the user: width, colour, ASCII, progress.

use clap::{Args as ClapArgs, ValueEnum};
use console::Term;
use manx_core::units::Duration;
use manx_lab::table::Look;

/// When there is colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal that has it, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Options that every command understands.
#[derive(Clone, Copy, Debug, ClapArgs)]
#[command(next_help_heading = "Output")]
pub struct Screen {
    /// The best and the worst of a column in colour: always, never, or auto: on a terminal without
    /// NO_COLOR
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub color: When,
    /// No progress on stderr
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Where stderr is no terminal: a line of progress every so often; 0s: at every step
    #[arg(long, global = true, value_name = "TIME", default_value = "10s",
        value_parser = crate::args::time, allow_hyphen_values = true)]
    pub progress_every: Duration,
}

impl Screen {
    /// How a table looks that goes to this stream.
    pub fn look(&self, term: &Term, wide: bool) -> Look {
        let is_term = term.is_term();
        let (_, columns) = term.size();
        let width = is_term.then_some(usize::from(columns));
        let env = |name: &str| std::env::var(name).ok();
        Look {
            width,
            wide,
            colour: has_colour(self.color, is_term, env),
            ascii: is_ascii(is_term, env),
        }
    }
}

/// Whether cells are painted: what was said, or else what the environment says, or else whether it
/// is a terminal.
fn has_colour(when: When, is_term: bool, env: impl Fn(&str) -> Option<String>) -> bool {
    let is_set = |name| env(name).is_some_and(|value| !value.is_empty());
    let is_zero = |name| env(name).is_some_and(|value| value == "0");
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto if is_set("NO_COLOR") => false,
        When::Auto if is_set("CLICOLOR_FORCE") && !is_zero("CLICOLOR_FORCE") => true,
        When::Auto => is_term && !is_zero("CLICOLOR") && !is_dumb(env),
    }
}

/// A locale that is said not to be of UTF-8, or a terminal that can show nothing but letters. Where
/// nothing is said, as in most containers, UTF-8 is what the terminal understands.
pub fn is_ascii(is_term: bool, env: impl Fn(&str) -> Option<String>) -> bool {
    let said =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(&env).find(|value| !value.is_empty());
    let is_utf8 = |locale: String| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    };
    said.is_some_and(|locale| !is_utf8(locale)) || (is_term && is_dumb(env))
}

/// A terminal on which nothing can be drawn anew.
pub fn is_dumb(env: impl Fn(&str) -> Option<String>) -> bool {
    env("TERM").is_some_and(|term| term == "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + Copy + 'a {
        |name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
    }

    #[test]
    fn colour_is_for_terminals_unless_somebody_says_otherwise() {
        let auto = |is_term, pairs: &[_]| has_colour(When::Auto, is_term, env(pairs));
        assert!(auto(true, &[]) && !auto(false, &[]));
        assert!(!auto(true, &[("NO_COLOR", "1")]) && auto(true, &[("NO_COLOR", "")]));
        assert!(!auto(true, &[("CLICOLOR", "0")]) && auto(true, &[("CLICOLOR", "1")]));
        assert!(!auto(true, &[("TERM", "dumb")]) && auto(true, &[("TERM", "xterm")]));
        assert!(
            auto(false, &[("CLICOLOR_FORCE", "1")]) && !auto(false, &[("CLICOLOR_FORCE", "0")])
        );
        assert!(!auto(false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
        assert!(has_colour(When::Always, false, env(&[("NO_COLOR", "1")])));
        assert!(!has_colour(When::Never, true, env(&[("CLICOLOR_FORCE", "1")])));
    }

    #[test]
    fn a_locale_without_utf_8_and_a_dumb_terminal_get_ascii() {
        assert!(!is_ascii(true, env(&[])), "nothing is said in a container");
        assert!(
            is_ascii(false, env(&[("LANG", "C")]))
                && is_ascii(true, env(&[("LANG", "en_US.ISO-8859-1")]))
        );
        assert!(
            !is_ascii(true, env(&[("LANG", "C.UTF-8")]))
                && !is_ascii(true, env(&[("LANG", "de_DE.utf8")]))
        );
        assert!(
            is_ascii(true, env(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")])),
            "LC_ALL is over LANG"
        );
        assert!(!is_ascii(true, env(&[("LC_ALL", ""), ("LC_CTYPE", "C.UTF-8"), ("LANG", "C")])));
        assert!(
            is_ascii(true, env(&[("TERM", "dumb")])) && !is_ascii(false, env(&[("TERM", "dumb")]))
        );
    }
}
