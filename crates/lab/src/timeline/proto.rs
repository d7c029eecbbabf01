//! The few messages of Perfetto's trace format that a timeline needs, written field by field
//! (protobuf wire format).

use manx_core::units::Instant;

/// Field numbers: protos/perfetto/trace/trace_packet.proto and track_event/*.proto.
mod field {
    pub const TRACE_PACKET: u64 = 1;
    pub const TIMESTAMP: u64 = 8;
    pub const SEQUENCE_ID: u64 = 10;
    pub const TRACK_EVENT: u64 = 11;
    pub const INTERNED_DATA: u64 = 12;
    pub const SEQUENCE_FLAGS: u64 = 13;
    pub const TRACK_DESCRIPTOR: u64 = 60;
    pub const DESCRIPTOR_UUID: u64 = 1;
    pub const DESCRIPTOR_NAME: u64 = 2;
    pub const DESCRIPTOR_PARENT: u64 = 5;
    pub const DESCRIPTOR_CHILD_ORDERING: u64 = 11;
    pub const DESCRIPTOR_RANK: u64 = 12;
    pub const EVENT_ANNOTATION: u64 = 4;
    pub const EVENT_TYPE: u64 = 9;
    pub const EVENT_NAME_IID: u64 = 10;
    pub const EVENT_TRACK: u64 = 11;
    pub const ANNOTATION_NAME_IID: u64 = 1;
    pub const ANNOTATION_UINT: u64 = 3;
    pub const ANNOTATION_STRING: u64 = 6;
    pub const INTERNED_EVENT_NAMES: u64 = 2;
    pub const INTERNED_ANNOTATION_NAMES: u64 = 3;
    pub const INTERNED_IID: u64 = 1;
    pub const INTERNED_NAME: u64 = 2;
}

/// TrackEvent.Type.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
/// TrackDescriptor.ChildTracksOrdering: by `sibling_order_rank`.
const EXPLICIT: u64 = 3;
/// TracePacket.SequenceFlags.
const INCREMENTAL_STATE_CLEARED: u64 = 1;
const NEEDS_INCREMENTAL_STATE: u64 = 2;

/// A track, by its identifier in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Track(u64);

/// A trace under way. Names are interned where they first occur.
#[derive(Debug)]
pub(super) struct Trace {
    bytes: Vec<u8>,
    tracks: u64,
    event_names: Vec<&'static str>,
    annotation_names: Vec<&'static str>,
}

/// Annotations of a slice, shown when it is clicked on.
#[derive(Debug, Default)]
pub(super) struct Args(Vec<(&'static str, Value)>);

#[derive(Debug)]
enum Value {
    Uint(u64),
    Text(&'static str),
}

impl Args {
    pub fn uint(mut self, name: &'static str, value: u64) -> Self {
        self.0.push((name, Value::Uint(value)));
        self
    }

    pub fn text(mut self, name: &'static str, value: &'static str) -> Self {
        self.0.push((name, Value::Text(value)));
        self
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn uint(out: &mut Vec<u8>, field: u64, value: u64) {
    varint(out, field << 3);
    varint(out, value);
}

fn bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
    varint(out, field << 3 | 2);
    varint(out, value.len() as u64);
    out.extend(value);
}

/// The identifier of an interned name, and the message that introduces it if it is new.
fn intern(names: &mut Vec<&'static str>, kind: u64, name: &'static str, news: &mut Vec<u8>) -> u64 {
    if let Some(at) = names.iter().position(|known| *known == name) {
        return at as u64 + 1;
    }
    names.push(name);
    let iid = names.len() as u64;
    let mut entry = Vec::new();
    uint(&mut entry, field::INTERNED_IID, iid);
    bytes(&mut entry, field::INTERNED_NAME, name.as_bytes());
    bytes(news, kind, &entry);
    iid
}

impl Trace {
    pub fn new() -> Self {
        let mut trace = Self {
            bytes: Vec::new(),
            tracks: 0,
            event_names: Vec::new(),
            annotation_names: Vec::new(),
        };
        let mut first = Vec::new();
        uint(&mut first, field::SEQUENCE_FLAGS, INCREMENTAL_STATE_CLEARED);
        trace.packet(first);
        trace
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A track for other tracks, shown by their ranks.
    pub fn group(&mut self, parent: Option<Track>, name: &str, rank: u32) -> Track {
        self.describe(parent, name, rank, true)
    }

    /// A track for slices.
    pub fn track(&mut self, parent: Track, name: &str, rank: u32) -> Track {
        self.describe(Some(parent), name, rank, false)
    }

    fn describe(&mut self, parent: Option<Track>, name: &str, rank: u32, is_group: bool) -> Track {
        self.tracks += 1;
        let mut descriptor = Vec::new();
        uint(&mut descriptor, field::DESCRIPTOR_UUID, self.tracks);
        bytes(&mut descriptor, field::DESCRIPTOR_NAME, name.as_bytes());
        if let Some(Track(parent)) = parent {
            uint(&mut descriptor, field::DESCRIPTOR_PARENT, parent);
        }
        if is_group {
            uint(&mut descriptor, field::DESCRIPTOR_CHILD_ORDERING, EXPLICIT);
        }
        uint(&mut descriptor, field::DESCRIPTOR_RANK, rank.into());
        let mut packet = Vec::new();
        bytes(&mut packet, field::TRACK_DESCRIPTOR, &descriptor);
        self.packet(packet);
        Track(self.tracks)
    }

    pub fn slice(
        &mut self,
        track: Track,
        (start, end): (Instant, Instant),
        name: &'static str,
        args: &Args,
    ) {
        self.begin(track, start, name, args);
        self.end(track, end);
    }

    pub fn begin(&mut self, track: Track, at: Instant, name: &'static str, args: &Args) {
        self.event(track, at, SLICE_BEGIN, Some(name), args);
    }

    pub fn end(&mut self, track: Track, at: Instant) {
        self.event(track, at, SLICE_END, None, &Args::default());
    }

    pub fn instant(&mut self, track: Track, at: Instant, name: &'static str, args: &Args) {
        self.event(track, at, INSTANT, Some(name), args);
    }

    fn event(
        &mut self,
        Track(track): Track,
        at: Instant,
        kind: u64,
        name: Option<&'static str>,
        args: &Args,
    ) {
        let (mut event, mut news) = (Vec::new(), Vec::new());
        uint(&mut event, field::EVENT_TYPE, kind);
        uint(&mut event, field::EVENT_TRACK, track);
        if let Some(name) = name {
            let iid = intern(&mut self.event_names, field::INTERNED_EVENT_NAMES, name, &mut news);
            uint(&mut event, field::EVENT_NAME_IID, iid);
        }
        for (name, value) in &args.0 {
            let iid = intern(
                &mut self.annotation_names,
                field::INTERNED_ANNOTATION_NAMES,
                name,
                &mut news,
            );
            let mut annotation = Vec::new();
            uint(&mut annotation, field::ANNOTATION_NAME_IID, iid);
            match value {
                Value::Uint(value) => uint(&mut annotation, field::ANNOTATION_UINT, *value),
                Value::Text(text) => {
                    bytes(&mut annotation, field::ANNOTATION_STRING, text.as_bytes())
                }
            }
            bytes(&mut event, field::EVENT_ANNOTATION, &annotation);
        }
        let mut packet = Vec::new();
        uint(&mut packet, field::TIMESTAMP, at.as_ns());
        uint(&mut packet, field::SEQUENCE_FLAGS, NEEDS_INCREMENTAL_STATE);
        if !news.is_empty() {
            bytes(&mut packet, field::INTERNED_DATA, &news);
        }
        bytes(&mut packet, field::TRACK_EVENT, &event);
        self.packet(packet);
    }

    fn packet(&mut self, mut packet: Vec<u8>) {
        uint(&mut packet, field::SEQUENCE_ID, 1);
        bytes(&mut self.bytes, field::TRACE_PACKET, &packet);
    }
}
