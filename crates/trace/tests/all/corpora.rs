//! Every reader of traces keeps its promises on the saved corpora of `fuzz/`, and on what is drawn
//! from them.

use crate::{drawn, readers};
use std::io;

#[test]
fn readers_keep_their_promises_on_the_corpora_and_on_what_is_drawn_from_them() -> io::Result<()> {
    let mut checked = 0;
    for corpus in drawn::corpora()?.iter().filter(|corpus| !corpus.starts_with("serve-")) {
        let format = (corpus != "any").then(|| readers::named(corpus));
        checked += drawn::each(corpus, |input| readers::check(format, input))?;
    }
    assert!(checked > 30_000, "{checked} inputs");
    Ok(())
}
