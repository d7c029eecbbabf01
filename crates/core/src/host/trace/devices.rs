//! The devices of a trace, numbered as they appear.

use super::MAX_DEVICES;
use super::decode::DeviceName;
use super::error::shorten;
use std::collections::BTreeMap;

/// A name that is kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Only,
    Text(Box<[u8]>),
    Number(u64),
    Node(u32),
}

/// Numbers devices in the order in which they appear.
#[derive(Default)]
pub(super) struct Devices {
    numbers: BTreeMap<Key, u32>,
    /// What to call each, by number.
    pub(super) names: Vec<String>,
    /// Most records are of the same device as the one before.
    last: Option<(Key, u32)>,
}

impl Devices {
    /// The number of a device; `None` if there are too many.
    #[inline]
    pub(super) fn number(&mut self, name: DeviceName<'_>) -> Option<u32> {
        match (&self.last, name) {
            (Some((key, number)), name) if key.is(name) => Some(*number),
            _ => self.find(name),
        }
    }

    fn find(&mut self, name: DeviceName<'_>) -> Option<u32> {
        let key = Key::of(name);
        let number = match self.numbers.get(&key) {
            Some(number) => *number,
            None => {
                let number = u32::try_from(self.names.len()).ok().filter(|n| *n < MAX_DEVICES)?;
                self.numbers.insert(key.clone(), number);
                self.names.push(key.text());
                number
            }
        };
        self.last = Some((key, number));
        Some(number)
    }
}

impl Key {
    fn of(name: DeviceName<'_>) -> Self {
        match name {
            DeviceName::Only => Key::Only,
            DeviceName::Text(text) => Key::Text(text.into()),
            DeviceName::Number(number) => Key::Number(number),
            DeviceName::Node(node) => Key::Node(node),
        }
    }

    #[inline]
    fn is(&self, name: DeviceName<'_>) -> bool {
        match (self, name) {
            (Key::Only, DeviceName::Only) => true,
            (Key::Text(key), DeviceName::Text(text)) => **key == *text,
            (Key::Number(key), DeviceName::Number(number)) => *key == number,
            (Key::Node(key), DeviceName::Node(node)) => *key == node,
            _ => false,
        }
    }

    fn text(&self) -> String {
        match self {
            Key::Only => "0".to_string(),
            Key::Text(text) => shorten(text),
            Key::Number(number) => number.to_string(),
            Key::Node(node) => format!("{},{}", node >> 20, node & 0xf_ffff),
        }
    }
}
