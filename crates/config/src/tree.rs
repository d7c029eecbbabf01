//! TOML values as trees: dotted paths, deep merges.

use toml::{Table, Value};

/// A dotted path, cut into its parts. An index of an array is a part of digits.
pub(crate) type Path = Vec<String>;

/// Cuts `key` at its dots.
pub(crate) fn path(key: &str) -> Path {
    key.split('.').map(|part| part.trim().to_string()).collect()
}

/// Puts a path together again.
pub(crate) fn dotted(path: &[String]) -> String {
    path.join(".")
}

/// The value at `path`, if there is one.
pub(crate) fn get<'a>(table: &'a Table, path: &[String]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(table.get(first)?, |value, part| match value {
        Value::Table(table) => table.get(part),
        Value::Array(array) => array.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Puts `value` at `path`, making the tables on the way; says why where that cannot be.
pub(crate) fn set(table: &mut Table, path: &[String], value: Value) -> Result<(), String> {
    let Some((first, rest)) = path.split_first() else {
        return Err("the key is empty".to_string());
    };
    if rest.is_empty() {
        table.insert(first.clone(), value);
        return Ok(());
    }
    // The only list whose elements can be made by naming them is that of the jobs: `jobs.0` is the
    // first of none.
    let list = rest[0].parse::<usize>().is_ok();
    let empty = if list { Value::Array(Vec::new()) } else { Value::Table(Table::new()) };
    set_in(table.entry(first.clone()).or_insert(empty), rest, value)
}

fn set_in(target: &mut Value, path: &[String], value: Value) -> Result<(), String> {
    let Some((first, rest)) = path.split_first() else {
        *target = value;
        return Ok(());
    };
    match target {
        Value::Table(table) => set(table, path, value),
        Value::Array(array) => {
            let count = array.len();
            match first.parse::<usize>() {
                Ok(index) if index < count => set_in(&mut array[index], rest, value),
                Ok(index) if index == count => {
                    array.push(Value::Table(Table::new()));
                    set_in(&mut array[index], rest, value)
                }
                _ => Err(format!(
                    "`{first}` is not an element of a list of {count}; they count from 0"
                )),
            }
        }
        _ => Err(format!("there is a plain value above `{first}`, not a table")),
    }
}

/// Lays `over` over `base`: tables merge key by key, everything else replaces.
pub(crate) fn merge(base: &mut Table, over: &Table) {
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (Some(Value::Table(base)), Value::Table(over)) => merge(base, over),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

/// A value in one short line, for a message.
pub(crate) fn shown(value: &Value) -> String {
    let text = match value {
        Value::Table(table) if table.is_empty() => "{}".to_string(),
        Value::Table(table) => {
            format!("{{ {}, .. }}", table.keys().cloned().collect::<Vec<_>>().join(", "))
        }
        value => value.to_string(),
    };
    match text.char_indices().nth(60) {
        Some((cut, _)) => format!("{}..", &text[..cut]),
        None => text,
    }
}
