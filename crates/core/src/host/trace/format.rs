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
pub static FORMATS: [Format; 24] = [
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
    Format {
        id: TraceFormat::Spc,
        name: "spc",
        title: "SPC (UMass)",
        shape: "`ASU,LBA,size,r|w,seconds[,...]`",
        time: None,
        lba: None,
        has_events: false,
        decoder: |_, _| Box::new(formats::spc::Spc),
    },
    Format {
        id: TraceFormat::Etw,
        name: "etw",
        title: "Microsoft ETW csv (SNIA)",
        shape: "`DiskRead|DiskWrite,time,process (PID),thread,IRP,offset,size,elapsed,disk,...`",
        time: None,
        lba: None,
        has_events: false,
        decoder: |_, _| Box::new(formats::etw::Etw::new()),
    },
    Format {
        id: TraceFormat::Alibaba,
        name: "alibaba",
        title: "Alibaba block traces",
        shape: "`device,R|W,offset,length,microseconds`",
        time: None,
        lba: None,
        has_events: false,
        decoder: |_, _| Box::new(formats::alibaba::Alibaba),
    },
    Format {
        id: TraceFormat::Tencent,
        name: "tencent",
        title: "Tencent CBS",
        shape: "`seconds,sector,sectors,0|1,volume`, 0 for a read",
        time: None,
        lba: None,
        has_events: false,
        decoder: |_, _| Box::new(formats::tencent::Tencent),
    },
    Format {
        id: TraceFormat::Systor,
        name: "systor",
        title: "SYSTOR '17",
        shape: "`seconds,response,R|W|blank,LUN,offset,size`",
        time: None,
        lba: None,
        has_events: false,
        decoder: |_, _| Box::new(formats::systor::Systor),
    },
    Format {
        id: TraceFormat::Wpa,
        name: "wpa",
        title: "Windows Performance Analyzer Disk Usage",
        shape: "a header of `IO Type`, `Init Time (s)`, `Size (B)`, `Min Offset`, ..., then their values",
        time: None,
        lba: None,
        has_events: false,
        decoder: |_, _| Box::new(formats::wpa::Wpa::default()),
    },
    Format {
        id: TraceFormat::Libcachesim,
        name: "libcachesim",
        title: "libCacheSim csv (CloudPhysics)",
        shape: "`version,seconds,SCSI command,size,block`",
        time: None,
        lba: None,
        has_events: false,
        decoder: |_, _| Box::new(formats::libcachesim::Libcachesim),
    },
    Format {
        id: TraceFormat::UcareLog,
        name: "ucare-log",
        title: "UCARE replayer log",
        shape: "`ms,latency,type,size,offset[,submitted,done]`, type 1 for a read",
        time: None,
        lba: None,
        has_events: false,
        decoder: |_, _| Box::new(formats::ucare_log::UcareLog),
    },
    Format {
        id: TraceFormat::Manx,
        name: "manx",
        title: "Manx csv",
        shape: "a header of `t_us` and `op,offset,bytes` or `rwbs,sector,nsectors`, then their values",
        time: None,
        lba: None,
        has_events: false,
        decoder: |_, _| Box::new(formats::manx::Manx::default()),
    },
    Format {
        id: TraceFormat::Blktrace,
        name: "blktrace",
        title: "blktrace binary, one file a CPU",
        shape: "48-byte events with the magic number 0x65617407",
        time: None,
        lba: None,
        has_events: true,
        decoder: |_, reading| Box::new(formats::blktrace::Blktrace::new(reading.event)),
    },
    Format {
        id: TraceFormat::FioV2,
        name: "fio-v2",
        title: "fio iolog version 2",
        shape: "`file action [offset length]`",
        time: Some(Open::Default(TimeUnit::Ms)),
        lba: None,
        has_events: false,
        decoder: |_, reading| Box::new(formats::fio::FioV2::new(reading)),
    },
    Format {
        id: TraceFormat::FioV3,
        name: "fio-v3",
        title: "fio iolog version 3",
        shape: "`timestamp file action [offset length]`",
        time: Some(Open::Default(TimeUnit::Us)),
        lba: None,
        has_events: false,
        decoder: |_, reading| Box::new(formats::fio::FioV3::new(reading)),
    },
    Format {
        id: TraceFormat::Ftrace,
        name: "ftrace",
        title: "ftrace block events",
        shape: "`comm-pid [cpu] flags seconds: block_rq_issue: maj,min rwbs bytes () sector + sectors [comm]`",
        time: None,
        lba: None,
        has_events: true,
        decoder: |_, reading| Box::new(formats::ftrace::Ftrace::new(reading.event)),
    },
    Format {
        id: TraceFormat::Blkreplay,
        name: "blkreplay",
        title: "blkreplay .load",
        shape: "`start ; sector ; sectors ; op ; delay ; duration`",
        time: None,
        lba: None,
        has_events: false,
        decoder: |_, _| Box::new(formats::blkreplay::Blkreplay),
    },
    Format {
        id: TraceFormat::Fiu,
        name: "fiu",
        title: "FIU IODedup text",
        shape: "`ns pid process sector sectors R|W major minor md5`",
        time: None,
        lba: None,
        has_events: false,
        decoder: |_, _| Box::new(formats::fiu::Fiu),
    },
    Format {
        id: TraceFormat::Vscsi,
        name: "vscsi",
        title: "VMware vscsiStats (CloudPhysics)",
        shape: "32- or 40-byte records of SCSI commands",
        time: None,
        lba: None,
        has_events: false,
        decoder: |head, _| Box::new(formats::vscsi::Vscsi::new(head)),
    },
    Format {
        id: TraceFormat::OracleGeneral,
        name: "oracle-general",
        title: "libCacheSim oracleGeneral",
        shape: "24-byte records of time, object, size, next access",
        time: None,
        lba: Some(Open::Default(LbaUnit::Sectors)),
        has_events: false,
        decoder: |_, reading| Box::new(formats::oracle::OracleGeneral::new(reading)),
    },
    Format {
        id: TraceFormat::ManxRecords,
        name: "manx-records",
        title: "Manx Parquet",
        shape: "columns `t_us, op, offset, bytes[, latency_us, device, fua]`, handed on as 40-byte records",
        time: None,
        lba: None,
        has_events: false,
        decoder: |head, _| Box::new(formats::manx_records::ManxRecords::new(head)),
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
