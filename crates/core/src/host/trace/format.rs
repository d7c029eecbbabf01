//! The table of formats: how each is named, what its lines look like, what it leaves open, and who reads it.
//!
//! A new format is a file in [`super::formats`], a variant of [`TraceFormat`], a row here, and a recogniser in
//! [`super::sniff`].

use super::decode::{Decoder, Reading};
use super::{LbaUnit, TimeUnit, TraceFormat, formats};

/// What is known of a format.
pub struct Format {
    /// Which.
    pub id: TraceFormat,
    /// Its name on the command line and in scenarios.
    pub name: &'static str,
    /// Whose it is, for a list.
    pub title: &'static str,
    /// What a record looks like.
    pub shape: &'static str,
    /// The unit of its times where the file does not state it; `None` where the format does.
    pub time: Option<Open<TimeUnit>>,
    /// The unit of its addresses and sizes where the file does not state it.
    pub lba: Option<Open<LbaUnit>>,
    /// Records are events of the block layer, of which one kind is played.
    pub has_events: bool,
    /// Its reader. `head` is the beginning of the file, or all of a small one.
    pub decoder: fn(head: &[u8], reading: Reading) -> Box<dyn Decoder>,
}

/// A unit that a format leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open<U> {
    /// This one unless the user says otherwise.
    Default(U),
    /// Judged by the file's own numbers; asked for where they leave doubt.
    Judged(U),
}

impl<U: Copy> Open<U> {
    /// The unit that is tried first.
    pub fn first(self) -> U {
        match self {
            Open::Default(unit) | Open::Judged(unit) => unit,
        }
    }
}

/// Bytes of the head that a decoder may ask to see.
pub(super) const DECODER_HEAD: usize = 4096;

/// Every format, in the order of a list.
pub static FORMATS: [Format; 6] = [
    Format {
        id: TraceFormat::Msr,
        name: "msr",
        title: "MSR Cambridge csv",
        shape: "`ticks,host,disk,Read|Write,offset,size,response`",
        time: None,
        lba: None,
        has_events: false,
        decoder: |_, _| Box::new(formats::msr::Msr),
    },
    Format {
        id: TraceFormat::Mqsim,
        name: "mqsim",
        title: "MQSim ascii",
        shape: "`time device sector sectors type`, type 1 for a read",
        time: Some(Open::Judged(TimeUnit::Ns)),
        lba: None,
        has_events: false,
        decoder: |_, reading| Box::new(formats::ascii::Ascii::new(reading)),
    },
    Format {
        id: TraceFormat::Ssdsim,
        name: "ssdsim",
        title: "SSDsim ascii",
        shape: "`time device sector sectors type`, type 1 for a read",
        time: Some(Open::Judged(TimeUnit::Ns)),
        lba: None,
        has_events: false,
        decoder: |_, reading| Box::new(formats::ascii::Ascii::new(reading)),
    },
    Format {
        id: TraceFormat::Disksim,
        name: "disksim",
        title: "DiskSim ascii",
        shape: "`ms device block blocks flags`, flags hexadecimal, bit 0 for a read",
        time: Some(Open::Judged(TimeUnit::Ms)),
        lba: None,
        has_events: false,
        decoder: |_, reading| Box::new(formats::disksim::Disksim::new(reading)),
    },
    Format {
        id: TraceFormat::Ucare,
        name: "ucare",
        title: "UCARE replayer ascii",
        shape: "`ms device offset size type`, type 1 for a read",
        time: Some(Open::Judged(TimeUnit::Ms)),
        lba: Some(Open::Judged(LbaUnit::Bytes)),
        has_events: false,
        decoder: |_, reading| Box::new(formats::ucare::Ucare::new(reading)),
    },
    Format {
        id: TraceFormat::Blkparse,
        name: "blkparse",
        title: "blkparse text",
        shape: "`maj,min cpu seq sec.ns pid action rwbs sector + sectors [process]`",
        time: None,
        lba: None,
        has_events: true,
        decoder: |_, reading| Box::new(formats::blkparse::Blkparse::new(reading.event)),
    },
];

impl TraceFormat {
    /// What is known of it.
    pub fn info(self) -> &'static Format {
        FORMATS.iter().find(|format| format.id == self).expect("every format has a row in the table")
    }

    /// How it is named on the command line and in scenarios.
    pub fn name(self) -> &'static str {
        self.info().name
    }
}
