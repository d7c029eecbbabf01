//! Every parser of what `manx serve` reads of strangers keeps its promises on the saved corpora of
//! `fuzz/`, and on what is drawn from them.

use crate::{drawn, parsers};
use std::io;

#[test]
fn parsers_keep_their_promises_on_the_corpora_and_on_what_is_drawn_from_them() -> io::Result<()> {
    let mut checked = 0;
    for corpus in drawn::corpora()?.iter().filter(|corpus| corpus.starts_with("serve-")) {
        checked += drawn::each(corpus, |input| parsers::check(corpus, input))?;
    }
    assert!(checked > 5_000, "{checked} inputs");
    Ok(())
}
