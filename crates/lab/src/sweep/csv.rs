//! Rows as comma-separated text (RFC 4180, lines ending in a line feed), and such text as rows.
//!
//! Nothing between two commas is a missing value; an empty text is `""`. A text that a spreadsheet
//! would run as a formula (it begins with = + - or @) stands behind a `'`, which takes that meaning
//! from it and is left out when it is read.

use super::value::Cell;

/// One line with its end.
pub fn line(cells: &[Cell]) -> String {
    let mut text = String::new();
    for (number, cell) in cells.iter().enumerate() {
        if number > 0 {
            text.push(',');
        }
        match cell {
            Cell::Text(plain) => text += &quoted(plain),
            other => text += &other.to_string(),
        }
    }
    text + "\n"
}

fn quoted(text: &str) -> String {
    let text =
        &if runs(text.trim_start_matches('\'')) { format!("'{text}") } else { text.to_string() };
    let plain = !text.is_empty() && !text.contains([',', '"', '\n', '\r']);
    if plain { text.to_string() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

/// Whether a spreadsheet would run it.
fn runs(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r'])
}

/// The text behind a `'` that [`quoted`] put there.
fn plain(field: Option<String>) -> Option<String> {
    let inner = |text: &str| {
        text.strip_prefix('\'')
            .filter(|rest| runs(rest.trim_start_matches('\'')))
            .map(str::to_string)
    };
    field.map(|text| inner(&text).unwrap_or(text))
}

/// The fields of every whole line; `None` for what is missing. A last line without its end was cut
/// short.
pub fn read(text: &str) -> Vec<Vec<Option<String>>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), None::<String>);
    let (mut quoted, mut chars) = (false, text.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.get_or_insert_default().push('"');
            }
            '"' => {
                quoted = !quoted;
                field.get_or_insert_default();
            }
            ',' if !quoted => row.push(plain(field.take())),
            '\n' if !quoted => {
                row.push(plain(field.take()));
                rows.push(std::mem::take(&mut row));
            }
            c => field.get_or_insert_default().push(c),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_a_formula_and_each_reads_back() {
        for plain in ["=1+1", "@x", "-a", "+a", "'=1", "'a", "a=1", "''-"] {
            let line = line(&[Cell::Text(plain.to_string()), Cell::Integer(1)]);
            assert!(!line.starts_with(['=', '+', '-', '@']), "{line}");
            assert_eq!(read(&line), [vec![Some(plain.to_string()), Some("1".to_string())]]);
        }
        assert_eq!(line(&[Cell::Integer(-3), Cell::Number(-0.5)]), "-3,-0.5\n");
    }

    #[test]
    fn what_is_written_reads_back() {
        let text = |text: &str| Cell::Text(text.to_string());
        let row = [
            text("a,b"),
            text("say \"x\"\n"),
            text(""),
            Cell::Missing,
            Cell::Integer(-3),
            Cell::Number(1000.0),
        ];
        let line = line(&row);
        assert_eq!(line, "\"a,b\",\"say \"\"x\"\"\n\",\"\",,-3,1000.0\n");
        let some = |text: &str| Some(text.to_string());
        let read = read(&format!("{line}1,2\n3,cut"));
        let first =
            vec![some("a,b"), some("say \"x\"\n"), some(""), None, some("-3"), some("1000.0")];
        assert_eq!(read, [first, vec![some("1"), some("2")]]);
    }
}
