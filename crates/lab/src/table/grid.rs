//! Cells in columns, as plain text: heads of one or more lines, a rule, one line a row.

/// A cell, and how it stands out where there are colours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) paint: Paint,
}

/// Why a cell stands out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Paint {
    /// It does not.
    #[default]
    Plain,
    /// The best of its column.
    Best,
    /// The worst of its column.
    Worst,
    /// It takes no part in the comparison.
    Dim,
}

impl Paint {
    /// The text in this colour, for a terminal.
    fn on(self, text: &str) -> String {
        let code = match self {
            Paint::Plain => return text.to_string(),
            Paint::Best => 32,
            Paint::Worst => 31,
            Paint::Dim => 2,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, paint: Paint::Plain }
    }
}

/// A table to draw.
#[derive(Debug)]
pub(crate) struct Grid {
    /// Of each column what stands above it; `\n` begins another line, and the last lines stand
    /// level.
    pub(crate) heads: Vec<String>,
    /// Of each column whether it is flush left.
    pub(crate) left: Vec<bool>,
    /// The rows, each with a cell a column.
    pub(crate) rows: Vec<Vec<Cell>>,
    /// Spaces between two columns.
    pub(crate) gap: usize,
}

impl Grid {
    /// Heads, and no row yet; the first column is flush left, the others are numbers.
    pub(crate) fn new(heads: &[&str], gap: usize) -> Self {
        let left = (0..heads.len()).map(|at| at == 0).collect();
        Self {
            heads: heads.iter().map(|head| head.to_string()).collect(),
            left,
            rows: Vec::new(),
            gap,
        }
    }

    /// One more row, with a cell a column.
    pub(crate) fn add_row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(Cell::from).collect());
    }

    /// Columns of the terminal that each column takes.
    fn widths(&self) -> Vec<usize> {
        let width = |at: usize| {
            let head = self.heads[at].lines().map(letters).max().unwrap_or(0);
            self.rows.iter().map(|row| letters(&row[at].text)).max().unwrap_or(0).max(head)
        };
        (0..self.heads.len()).map(width).collect()
    }

    /// Columns of the terminal that all of it takes.
    pub(crate) fn width(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + self.gap * widths.len().saturating_sub(1)
    }

    /// The drawing; `colour` paints the cells that stand out.
    pub(crate) fn draw(&self, colour: bool) -> String {
        let widths = self.widths();
        let lines = self.heads.iter().map(|head| head.lines().count()).max().unwrap_or(0);
        let mut text = String::new();
        for line in 0..lines {
            let of = |head: &String| {
                let from = lines - head.lines().count();
                Cell::from(
                    line.checked_sub(from)
                        .and_then(|at| head.lines().nth(at))
                        .unwrap_or("")
                        .to_string(),
                )
            };
            text += &self.line(&self.heads.iter().map(of).collect::<Vec<_>>(), &widths, false);
        }
        text += &format!("{}\n", "-".repeat(self.width()));
        self.rows.iter().for_each(|row| text += &self.line(row, &widths, colour));
        text
    }

    fn line(&self, cells: &[Cell], widths: &[usize], colour: bool) -> String {
        let mut line = String::new();
        // Spaces are owed until something follows them: no line ends in one.
        let mut owed = 0;
        for (at, Cell { text, paint }) in cells.iter().enumerate() {
            let pad = widths[at] - letters(text);
            owed += if at > 0 { self.gap } else { 0 } + if self.left[at] { 0 } else { pad };
            if !text.is_empty() {
                line += &" ".repeat(std::mem::take(&mut owed));
                line += &if colour { paint.on(text) } else { text.clone() };
            }
            owed += if self.left[at] { pad } else { 0 };
        }
        line + "\n"
    }
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

/// `text` in lines of at most `width` letters where its words allow it, all but the first indented
/// by `indent`.
pub fn wrap(text: &str, width: Option<usize>, indent: usize) -> String {
    let Some(width) = width else { return text.to_string() };
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if letters(line) + 1 + letters(word) <= width || line.trim().is_empty() => {
                *line += " ";
                *line += word;
            }
            None => lines.push(word.to_string()),
            Some(_) => lines.push(format!("{:indent$}{word}", "")),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_no_line_ends_in_a_space() {
        let cell = |text: &str, paint| Cell { text: text.to_string(), paint };
        let grid = Grid {
            heads: vec!["name".into(), "long\nhead".into(), "note".into()],
            left: vec![true, false, true],
            rows: vec![
                vec![cell("a", Paint::Plain), cell("1", Paint::Best), cell("said", Paint::Plain)],
                vec![
                    cell("bcdef", Paint::Dim),
                    cell("12345", Paint::Worst),
                    cell("", Paint::Plain),
                ],
            ],
            gap: 2,
        };
        let plain = "\n        long\nname    head  note\n------------------\n\
                     a          1  said\nbcdef  12345\n";
        assert_eq!(format!("\n{}", grid.draw(false)), plain);
        let painted = grid.draw(true);
        assert!(painted.contains("    \x1b[32m1\x1b[0m  said"), "{painted}");
        assert!(painted.contains("\x1b[2mbcdef\x1b[0m  \x1b[31m12345\x1b[0m\n"), "{painted}");
    }

    #[test]
    fn text_is_wrapped_between_words_and_never_inside_one() {
        let text = "one two three4567890 five";
        assert_eq!(wrap(text, None, 2), text);
        assert_eq!(wrap(text, Some(8), 2), "one two\n  three4567890\n  five");
        assert_eq!(wrap("  indented words", Some(10), 4), "  indented\n    words");
    }
}
