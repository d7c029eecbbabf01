//! Expression of a claim: a formula over the results of named runs, such as `p99_99(ttflash) /
//! p99_99(nogc)`.
//!
//! ```text
//! sum     = product (("+" | "-") product)*
//! product = signed (("*" | "/") signed)*
//! signed  = "-" signed | power
//! power   = atom ("^" signed)?                       -2^2 is -4, 2^3^2 is 2^9, 2^-1 is 0.5
//! atom    = number | "(" sum ")" | name | function "(" sum ("," sum)* ")"
//!         | quantity "(" run ")" | "param" "(" run "," path ")"
//! ```
//! A name alone is one of the experiment's definitions. Functions are min, max, abs, sqrt, exp and
//! ln; any other name before a parenthesis is a quantity (`crate::quantity`; the longest latency is
//! `read.max_us`, for `max` is a function). A run's name may stand as it is if it has only letters,
//! digits and `- _ . + /`; otherwise it stands in quotes, `'t-es(64ms)'` or `"t-es(64ms)"`. All
//! arithmetic is IEEE or the core's own, so the digits are the same on every machine.

use manx_core::sim::math;
use std::fmt;

/// Parentheses, signs and powers within one another: far beyond what a person writes, far below
/// what a stack holds.
const DEPTH_MAX: usize = 64;
/// Bytes of an expression; it also bounds the depth of a tree that grows to the left.
const LENGTH_MAX: usize = 4_000;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression(Node);

/// A number of a run that an expression asks for, or a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// A quantity of the result of a run.
    Quantity {
        /// Its name.
        name: String,
        /// The run.
        run: String,
    },
    /// A setting of the scenario of a run.
    Param {
        /// The path of its key.
        path: String,
        /// The run.
        run: String,
    },
    /// Another expression by its name.
    Defined(String),
}

/// A place that cannot be read: columns count characters from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Where.
    pub column: usize,
    /// The mistake, and what was expected.
    pub message: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column, self.message)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Reference { column: usize, reference: Reference },
    Negative(Box<Node>),
    Operation(char, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Min,
    Max,
    Abs,
    Sqrt,
    Exp,
    Ln,
}

const FUNCTIONS: [(&str, Function); 6] = [
    ("min", Function::Min),
    ("max", Function::Max),
    ("abs", Function::Abs),
    ("sqrt", Function::Sqrt),
    ("exp", Function::Exp),
    ("ln", Function::Ln),
];

impl Expression {
    /// Reads an expression.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        if text.len() > LENGTH_MAX {
            return Err(
                parser.error(0, format!("the expression is longer than {LENGTH_MAX} bytes"))
            );
        }
        let node = parser.sum()?;
        match parser.peek() {
            None => Ok(Self(node)),
            Some(_) => Err(parser.expected("an operator or the end")),
        }
    }

    /// Everything it asks for, with the column where.
    pub fn references(&self) -> Vec<(usize, &Reference)> {
        let mut found = Vec::new();
        self.0.references(&mut found);
        found
    }

    /// Its value, with the numbers that `look` finds; the first that is missing is the error.
    pub fn value<E>(&self, look: &mut dyn FnMut(&Reference) -> Result<f64, E>) -> Result<f64, E> {
        self.0.value(look)
    }
}

impl Node {
    fn references<'a>(&'a self, found: &mut Vec<(usize, &'a Reference)>) {
        match self {
            Node::Number(_) => {}
            Node::Reference { column, reference } => found.push((*column, reference)),
            Node::Negative(node) => node.references(found),
            Node::Operation(_, left, right) => {
                [left, right].into_iter().for_each(|node| node.references(found))
            }
            Node::Call(_, nodes) => nodes.iter().for_each(|node| node.references(found)),
        }
    }

    fn value<E>(&self, look: &mut dyn FnMut(&Reference) -> Result<f64, E>) -> Result<f64, E> {
        Ok(match self {
            Node::Number(number) => *number,
            Node::Reference { reference, .. } => look(reference)?,
            Node::Negative(node) => -node.value(look)?,
            Node::Operation(operator, left, right) => {
                let (left, right) = (left.value(look)?, right.value(look)?);
                match operator {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    '/' => left / right,
                    _ => power(left, right),
                }
            }
            Node::Call(function, nodes) => {
                let values =
                    nodes.iter().map(|node| node.value(look)).collect::<Result<Vec<_>, E>>()?;
                function.of(&values)
            }
        })
    }
}

impl Function {
    fn of(self, values: &[f64]) -> f64 {
        let first = values.first().copied().unwrap_or(f64::NAN);
        match self {
            // Rust's own pass over what is no number: a claim would be held against the rest.
            Function::Min | Function::Max if values.iter().any(|value| value.is_nan()) => f64::NAN,
            Function::Min => values.iter().copied().fold(first, f64::min),
            Function::Max => values.iter().copied().fold(first, f64::max),
            Function::Abs => first.abs(),
            Function::Sqrt => first.sqrt(),
            Function::Exp => math::exp(first),
            Function::Ln => math::ln(first),
        }
    }

    fn takes_several(self) -> bool {
        matches!(self, Function::Min | Function::Max)
    }
}

/// Whole exponents by multiplication, so that a negative base has a power too.
fn power(base: f64, exponent: f64) -> f64 {
    if exponent.fract() == 0.0 && exponent.abs() <= 64.0 {
        let whole = (0..exponent.abs() as u32).fold(1.0, |product, _| product * base);
        return if exponent < 0.0 { 1.0 / whole } else { whole };
    }
    math::pow(base, exponent)
}

struct Parser<'a> {
    text: &'a str,
    /// The next byte.
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn sum(&mut self) -> Result<Node, SyntaxError> {
        self.chain(&['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<Node, SyntaxError> {
        self.chain(&['*', '/'], Self::signed)
    }

    fn chain(
        &mut self,
        operators: &[char],
        operand: fn(&mut Self) -> Result<Node, SyntaxError>,
    ) -> Result<Node, SyntaxError> {
        let mut left = operand(self)?;
        while let Some(operator) = self.peek().filter(|next| operators.contains(next)) {
            self.at += 1;
            left = Node::Operation(operator, Box::new(left), Box::new(operand(self)?));
        }
        Ok(left)
    }

    /// Everything that nests comes through here.
    fn signed(&mut self) -> Result<Node, SyntaxError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(
                self.error(self.at, format!("more than {DEPTH_MAX} levels within one another"))
            );
        }
        let node =
            if self.takes('-') { Node::Negative(Box::new(self.signed()?)) } else { self.power()? };
        self.depth -= 1;
        Ok(node)
    }

    fn power(&mut self) -> Result<Node, SyntaxError> {
        let base = self.atom()?;
        if !self.takes('^') {
            return Ok(base);
        }
        Ok(Node::Operation('^', Box::new(base), Box::new(self.signed()?)))
    }

    fn atom(&mut self) -> Result<Node, SyntaxError> {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let inside = self.sum()?;
                self.close()?;
                Ok(inside)
            }
            Some(next) if next.is_ascii_digit() || next == '.' => self.number(),
            Some(next) if next.is_ascii_alphabetic() || next == '_' => self.named(),
            _ => Err(self.expected("a number, a name or `(`")),
        }
    }

    fn number(&mut self) -> Result<Node, SyntaxError> {
        let (start, rest) = (self.at, &self.text[self.at..]);
        let digits =
            |text: &str| text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let mut end = digits(rest);
        if let Some(exponent) = rest[end..].strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['+', '-']));
            let length = exponent[sign..].bytes().take_while(u8::is_ascii_digit).count();
            end += if length > 0 { 1 + sign + length } else { 0 };
        }
        self.at += end;
        match rest[..end].parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Node::Number(number)),
            _ => Err(self.error(start, format!("`{}` is no number", &rest[..end]))),
        }
    }

    /// A definition, a function or a quantity.
    fn named(&mut self) -> Result<Node, SyntaxError> {
        let start = self.at;
        let name = self.word(|c| c.is_ascii_alphanumeric() || "_.".contains(c));
        if !self.takes('(') {
            let reference = Reference::Defined(name.to_string());
            return Ok(Node::Reference { column: self.column(start), reference });
        }
        if let Some((_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name) {
            let mut arguments = vec![self.sum()?];
            while function.takes_several() && self.takes(',') {
                arguments.push(self.sum()?);
            }
            self.close()?;
            return Ok(Node::Call(*function, arguments));
        }
        let run = self.run("the name of a run")?;
        let reference = if name == "param" {
            if !self.takes(',') {
                return Err(self.expected("`,` and the path of a key, as in param(base, gc.soft)"));
            }
            Reference::Param { run, path: self.run("the path of a key")? }
        } else {
            Reference::Quantity { name: name.to_string(), run }
        };
        self.close()?;
        Ok(Node::Reference { column: self.column(start), reference })
    }

    /// A name as it is, or in quotes.
    fn run(&mut self, what: &str) -> Result<String, SyntaxError> {
        let next = self.peek();
        if let Some(quote) = next.filter(|next| "'\"".contains(*next)) {
            let start = self.at;
            self.at += 1;
            let name = self.word(|c| c != quote);
            return match self.takes(quote) {
                true => Ok(name.to_string()),
                false => {
                    Err(self
                        .error(start, format!("the name that begins here has no closing {quote}")))
                }
            };
        }
        let name = self.word(|c| c.is_ascii_alphanumeric() || "-_.+/".contains(c));
        if name.is_empty() { Err(self.expected(what)) } else { Ok(name.to_string()) }
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn close(&mut self) -> Result<(), SyntaxError> {
        if self.takes(')') { Ok(()) } else { Err(self.expected("`)`")) }
    }

    fn takes(&mut self, wanted: char) -> bool {
        let is_next = self.peek() == Some(wanted);
        self.at += if is_next { wanted.len_utf8() } else { 0 };
        is_next
    }

    /// The next character that is no space.
    fn peek(&mut self) -> Option<char> {
        self.word(char::is_whitespace);
        self.text[self.at..].chars().next()
    }

    fn expected(&mut self, what: &str) -> SyntaxError {
        let found = self.peek().map_or("the end".to_string(), |next| format!("`{next}`"));
        self.error(self.at, format!("expected {what}, found {found}"))
    }

    fn error(&self, at: usize, message: String) -> SyntaxError {
        SyntaxError { column: self.column(at), message }
    }

    fn column(&self, at: usize) -> usize {
        self.text[..at].chars().count() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Without any run: a definition counts as the number of letters of its name.
    fn value(text: &str) -> f64 {
        let mut look = |reference: &Reference| match reference {
            Reference::Defined(name) => Ok(name.len() as f64),
            other => Err(format!("{other:?}")),
        };
        Expression::parse(text).unwrap().value(&mut look).unwrap()
    }

    fn error(text: &str) -> String {
        Expression::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn operators_bind_as_in_school() {
        for (text, expected) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("7 - 2 - 1", 4.0),
            ("12 / 3 / 2", 2.0),
            ("-2^2", -4.0),
            ("(-2)^3", -8.0),
            ("2^3^2", 512.0),
            ("2^-1", 0.5),
            ("- -3", 3.0),
            ("2 - -3", 5.0),
            ("1.5e3 + .5", 1500.5),
            ("2e-1*10", 2.0),
            ("min(3, 1, 2) + max(4, 5)", 6.0),
            ("abs(-2) * sqrt(9)", 6.0),
            ("exp(0) + ln(1)", 1.0),
            ("rho + 1", 4.0),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
        assert!((value("1 - (1 - 0.1)^2.5") - 0.231_566_5).abs() < 1e-6);
        assert!((value("4^0.5") - 2.0).abs() < 1e-14);
    }

    /// `max((a - b) / (a - b), 0.01)` of equal a and b was 0.01, and a claim held that had measured
    /// nothing.
    #[test]
    fn regression_what_is_no_number_stays_none_in_min_and_max() {
        for text in [
            "max(0 / 0, 0.01)",
            "max(0.01, 0 / 0)",
            "min(0 / 0, 0.01)",
            "min(1, ln(-1), 2)",
            "max(sqrt(-1))",
        ] {
            assert!(value(text).is_nan(), "{text}");
        }
    }

    #[test]
    fn what_is_asked_of_runs_is_found_with_its_column() {
        let text = "p99_99('t-es(64ms)') / flash.waf(op-15.1+x/y) + param(\"a b\", device.op)";
        let parsed = Expression::parse(text).unwrap();
        let quantity = |name: &str, run: &str| Reference::Quantity {
            name: name.to_string(),
            run: run.to_string(),
        };
        let param = Reference::Param { run: "a b".to_string(), path: "device.op".to_string() };
        let (first, second) =
            (quantity("p99_99", "t-es(64ms)"), quantity("flash.waf", "op-15.1+x/y"));
        assert_eq!(parsed.references(), [(1, &first), (24, &second), (49, &param)]);
        let mut look =
            |reference: &Reference| if *reference == second { Err("null") } else { Ok(1.0) };
        assert_eq!(parsed.value(&mut look), Err("null"));
    }

    #[test]
    fn a_mistake_is_said_with_its_column() {
        for (text, expected) in [
            ("", "column 1: expected a number, a name or `(`, found the end"),
            ("1 +", "column 4: expected a number, a name or `(`, found the end"),
            ("(1 + 2", "column 7: expected `)`, found the end"),
            ("1 2", "column 3: expected an operator or the end, found `2`"),
            ("1.2.3", "column 1: `1.2.3` is no number"),
            ("p99(", "column 5: expected the name of a run, found the end"),
            ("p99('a", "column 5: the name that begins here has no closing '"),
            ("p99(t-es(64ms))", "column 9: expected `)`, found `(`"),
            (
                "param(a)",
                "column 8: expected `,` and the path of a key, as in \
                 param(base, gc.soft), found `)`",
            ),
            ("abs(1, 2)", "column 6: expected `)`, found `,`"),
            ("é", "column 1: expected a number, a name or `(`, found `é`"),
        ] {
            assert_eq!(error(text), expected, "{text}");
        }
        assert!(error(&"(".repeat(100)).contains("more than 64 levels"));
        assert!(error(&"-".repeat(100)).contains("more than 64 levels"));
        assert!(error(&"1+".repeat(3_000)).contains("longer than"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn no_text_panics_and_what_parses_has_a_value(
            text in "([0-9.eE+*/^(), -]|[a-z]|p99\\(a\\)|max\\(|'|é){0,40}",
        ) {
            if let Ok(parsed) = Expression::parse(&text) {
                let seen = parsed.references().len();
                let value = parsed.value(&mut |_: &Reference| Ok::<f64, ()>(1.5));
                prop_assert!(value.is_ok() && seen <= text.len());
            }
        }
        #[test]
        fn nor_does_any_string(text in any::<String>()) {
            let _ = Expression::parse(&text);
        }
    }
}
