//! The table of formats: how each is named, what its lines look like, what it leaves open, and who
//! reads it.
//!
//! A new format is a file in [`super::formats`], a variant of [`TraceFormat`], a row here, and a
//! recogniser in [`super::sniff`].

use super::decode::{Decoder, Reading};
use super::{LbaUnit, TimeUnit, TraceFormat, formats};

/// Entry of the table of formats.
pub struct Format {
    /// Which.
    pub id: TraceFormat,
    /// Its name on the command line and in scenarios.
    pub name: &'static str,
    /// Whose it is, for a list.
    pub title: &'static str,
    /// Form of a record.
    pub shape: &'static str,
    /// How to get such a trace: from a live system where that is possible, else where it is from.
    pub source: &'static str,
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
pub static FORMATS: [Format; 25] = [
    Format {
        id: TraceFormat::Msr,
        name: "msr",
        title: "MSR Cambridge csv",
        shape: "`ticks,host,disk,Read|Write,offset,size,response`",
        source: "SNIA IOTTA trace 388 (MSR Cambridge); \
                 `manx trace convert FILE -o OUT --as msr` writes it too",
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
        source: "MQSim's `traces` folder; `manx trace convert FILE -o OUT --as mqsim` \
                 writes it from any trace",
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
        source: "SSDsim's examples; UMass Financial and WebSearch go round in this form",
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
        source: "DiskSim's validation folder; `iotrace` formats of DiskSim's tools",
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
        source: "the replayers of ttFlash, IODA and Heimdall (UCARE, \
                 Chicago) and their trace cutters",
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
        source: "`blktrace -d /dev/sdX -w 60 -o - | blkparse -i - > sdX.blkparse` \
                 (root; package blktrace)",
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
        source: "UMass Trace Repository (Financial1, Financial2, WebSearch1 to 3)",
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
        source: "Windows: `xperf -on DISK_IO`, `xperf -d x.etl`, \
                 `xperf -i x.etl -o x.csv`; SNIA has Microsoft's",
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
        source: "github.com/alibaba/block-traces",
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
        source: "SNIA IOTTA trace 27917 (Tencent CBS)",
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
        source: "SNIA IOTTA trace 4928 (SYSTOR '17)",
        time: None,
        lba: None,
        has_events: false,
        decoder: |_, _| Box::new(formats::systor::Systor),
    },
    Format {
        id: TraceFormat::Wpa,
        name: "wpa",
        title: "Windows Performance Analyzer Disk Usage",
        shape: "a header of `IO Type`, `Init Time (s)`, `Size (B)`, \
                `Min Offset`, ..., then their values",
        source: "Windows: `wpr -start DiskIO`, `wpr -stop x.etl`; \
                 in Performance Analyzer export Disk Usage as csv",
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
        source: "libCacheSim's `data` folder (CloudPhysics)",
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
        source: "the log that the UCARE replayers write of a replay",
        time: None,
        lba: None,
        has_events: false,
        decoder: |_, _| Box::new(formats::ucare_log::UcareLog),
    },
    Format {
        id: TraceFormat::Manx,
        name: "manx",
        title: "Manx csv",
        shape: "a header of `t_us` and `op,offset,bytes` or \
                `rwbs,sector,nsectors`, then their values",
        source: "a script of your own over any log of requests, such as \
                 `nbdkit --filter=log` writes",
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
        source: "`blktrace -d /dev/sdX -w 60 -o sdX` (root; package blktrace), then `--trace sdX`",
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
        source: "`fio --write_iolog=FILE` before fio 3.31",
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
        source: "`fio --write_iolog=FILE` since fio 3.31; \
                 `manx trace convert FILE -o OUT --as fio-v3`",
        time: Some(Open::Default(TimeUnit::Us)),
        lba: None,
        has_events: false,
        decoder: |_, reading| Box::new(formats::fio::FioV3::new(reading)),
    },
    Format {
        id: TraceFormat::FioLat,
        name: "fio-lat",
        title: "fio's latency log, with offsets",
        shape: "`ms, latency in ns, 0|1|2, bytes, offset, priority`, 0 for a read",
        source: "`fio --write_lat_log=NAME --log_offset=1 ...` writes \
                 NAME_clat.1.log (not with log_avg_msec)",
        time: None,
        lba: None,
        has_events: false,
        decoder: |_, _| Box::new(formats::fio_lat::FioLat),
    },
    Format {
        id: TraceFormat::Ftrace,
        name: "ftrace",
        title: "ftrace block events",
        shape: "`comm-pid [cpu] flags seconds: block_rq_issue: maj,min rwbs bytes () \
                sector + sectors [comm]`",
        source: "`trace-cmd record -e block_rq_issue -e block_rq_complete sleep 60`, \
                 `trace-cmd report > x.ftrace`",
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
        source: "blkreplay's `example-load` folder, and its scripts that convert blktrace",
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
        source: "SNIA IOTTA trace 391 (FIU IODedup)",
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
        source: "`vscsiStats -s -t -w WORLD` on VMware ESXi, `logchannellogger` for the \
                 channel; CloudPhysics' set",
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
        source: "libCacheSim's `traceConv`, and its set of cache traces",
        time: None,
        lba: Some(Open::Default(LbaUnit::Sectors)),
        has_events: false,
        decoder: |_, reading| Box::new(formats::oracle::OracleGeneral::new(reading)),
    },
    Format {
        id: TraceFormat::ManxRecords,
        name: "manx-records",
        title: "Manx Parquet",
        shape: "columns `t_us, op, offset, bytes[, latency_us, device, fua]`, \
                handed on as 40-byte records",
        source: "pandas, Polars or DuckDB: write these columns as Parquet; \
                 `manx trace convert FILE -o OUT.parquet`",
        time: None,
        lba: None,
        has_events: false,
        decoder: |head, _| Box::new(formats::manx_records::ManxRecords::new(head)),
    },
];

impl TraceFormat {
    /// Its entry of the table.
    pub fn info(self) -> &'static Format {
        FORMATS
            .iter()
            .find(|format| format.id == self)
            .expect("every format has a row in the table")
    }

    /// How it is named on the command line and in scenarios.
    pub fn name(self) -> &'static str {
        self.info().name
    }
}
