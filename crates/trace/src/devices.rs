//! The devices of a trace, numbered as they appear.

use super::MAX_DEVICES;
use super::decode::DeviceName;
use super::error::shorten;
use std::collections::BTreeMap;

/// Numbers devices in the order in which they appear. Only the first record of a device allocates.
#[derive(Default)]
pub(super) struct Devices {
    /// The number of the device of a file that names none.
    only: Option<u32>,
    texts: BTreeMap<Box<[u8]>, u32>,
    numbers: BTreeMap<u64, u32>,
    nodes: BTreeMap<u32, u32>,
    keys: Vec<Key>,
    /// Names of the devices, by number.
    pub(super) names: Vec<String>,
    /// Most records are of the same device as the one before.
    last: u32,
}

/// A name as it is compared.
enum Key {
    Only,
    Text(Box<[u8]>),
    Number(u64),
    Node(u32),
}

impl Devices {
    /// The number of a device; `None` if there are too many.
    #[inline]
    pub(super) fn number(&mut self, name: DeviceName<'_>) -> Option<u32> {
        match self.keys.get(self.last as usize) {
            Some(key) if key.is(name) => {}
            _ => self.last = self.find(name)?,
        }
        Some(self.last)
    }

    fn find(&mut self, name: DeviceName<'_>) -> Option<u32> {
        let known = match name {
            DeviceName::Only => self.only,
            DeviceName::Text(text) => self.texts.get(text).copied(),
            DeviceName::Number(number) => self.numbers.get(&number).copied(),
            DeviceName::Node(node) => self.nodes.get(&node).copied(),
        };
        known.or_else(|| self.add(name))
    }

    #[cold]
    fn add(&mut self, name: DeviceName<'_>) -> Option<u32> {
        let next = u32::try_from(self.names.len()).ok().filter(|n| *n < MAX_DEVICES)?;
        let (key, shown) = match name {
            DeviceName::Only => {
                self.only = Some(next);
                (Key::Only, "0".to_string())
            }
            DeviceName::Text(text) => {
                self.texts.insert(text.into(), next);
                (Key::Text(text.into()), shorten(text))
            }
            DeviceName::Number(number) => {
                self.numbers.insert(number, next);
                (Key::Number(number), number.to_string())
            }
            DeviceName::Node(node) => {
                self.nodes.insert(node, next);
                (Key::Node(node), format!("{},{}", node >> 20, node & 0xf_ffff))
            }
        };
        self.keys.push(key);
        self.names.push(shown);
        Some(next)
    }
}

impl Key {
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
}
