//! Policies as data: each is an overlay over the scenario, on one of seven axes.
//!
//! A name is a path of parts, `base/t-es(16ms)` or `base+t-es(16ms)`, at most one for each axis. A
//! part may be an alias for a path of its own, `ttflash/t-es`, and may have a parameter, a time, a
//! size or a name, in parentheses. A new policy is a new entry here; what it switches on lives
//! where the mechanism lives.
//!
//! The policies of the axis `erase` presume a collection that lets reads pass ([`ERASE_GC`]): a
//! path that says nothing of `gc` gets it, so that `t-es` means what it means in its paper.
//! `preemptive/t-es` and `base/t-es` say otherwise. Likewise `rgc` presumes `pb` ([`TURNS_GC`]).

mod axis;
mod resolve;

pub use axis::Axis;
pub use resolve::{Chosen, resolve_policy};

/// One part of a policy's name and what it lays over a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The name, as the papers have it.
    pub name: &'static str,
    /// The axis that it decides; a path has one part an axis.
    pub axis: Axis,
    /// One line: what it does.
    pub summary: &'static str,
    /// The paper and section it is from.
    pub source: &'static str,
    /// The overlay, as TOML.
    pub overlay: &'static str,
    /// The key of the overlay's last table that a parameter sets.
    pub parameter: Option<Parameter>,
}

/// A key that the parameter of a policy sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// A key whose value is a time; the scenario's own where none is said.
    Time(&'static str),
    /// A key whose value is a size, and the one where none is said.
    Size(&'static str, &'static str),
    /// A key whose value is one of these names; the first where none is said.
    OneOf(&'static str, &'static [&'static str]),
}

/// A paper's name for a path of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The name.
    pub name: &'static str,
    /// The path that it stands for.
    pub path: &'static str,
}

/// Every policy, in the order they are listed.
pub const POLICIES: &[Policy] = &[
    Policy {
        name: "cost-benefit",
        axis: Axis::Ftl,
        summary: "separate open blocks for copies; the victim has the highest benefit over cost, \
                  age x (1 - u) / 2u",
        source: "Kawaguchi, Nishioka, Motoda, USENIX '95, sections 2.2 and 2.3 (cost-benefit, and \
                 separate cleaning)",
        overlay: "[ftl]\nplacement = \"none\"\nfrontiers = \"separate\"\n\n[gc]\n\
                  victim = \"cost-benefit\"\n",
        parameter: None,
    },
    Policy {
        name: "dac",
        axis: Axis::Ftl,
        summary: "four regions: a page rises when it is written and sinks when it is copied; \
                  cost-benefit victims",
        source: "Chiang, Lee, Chang, SP&E 29(3), 1999 (DAC), as OpenSSD's Jasmine firmware has it: \
                 without the ages",
        overlay: "[ftl]\nplacement = \"dac\"\nfrontiers = \"shared\"\n\n[gc]\n\
                  victim = \"cost-benefit\"\n",
        parameter: None,
    },
    Policy {
        name: "sepbit",
        axis: Axis::Ftl,
        summary: "six classes by the inferred time of invalidation: two of the host's pages, four \
                  of copies",
        source: "Wang et al., Separating Data via Block Invalidation Time Inference, FAST '22, \
                 Algorithm 1",
        overlay: "[ftl]\nplacement = \"sepbit\"\nfrontiers = \"separate\"\n",
        parameter: None,
    },
    Policy {
        name: "2r",
        axis: Axis::Ftl,
        summary: "pages that GC copies go to a cold region until they are written again; also \
                  2r(fifo)",
        source: "Kang et al., 2R, PVLDB 13(11), 2020 (the abstract; which region is collected is \
                 not public)",
        overlay: "[ftl]\nplacement = \"2r\"\nfrontiers = \"separate\"\n\n[gc]\n",
        parameter: Some(Parameter::OneOf("victim", &["greedy", "fifo"])),
    },
    Policy {
        name: "2r-second-chance",
        axis: Axis::Ftl,
        summary: "as 2r, and a page is copied once among the others before it counts as cold",
        source: "An, Lee, 2R++, KIPS Transactions on Computer and Communication Systems 11(12), \
                 2022 (the abstract)",
        overlay: "[ftl]\nplacement = \"2r-second-chance\"\nfrontiers = \"separate\"\n\n[gc]\n",
        parameter: Some(Parameter::OneOf("victim", &["greedy", "fifo"])),
    },
    Policy {
        name: "streams",
        axis: Axis::Ftl,
        summary: "the host's hint chooses the open block: workload.stream, or by tier; copies keep \
                  to their stream",
        source: "NVM Express Base 2.1, 8.1.8 (streams directive) and 8.1.10 (flexible data \
                 placement)",
        overlay: "[ftl]\nplacement = \"stream\"\nfrontiers = \"separate\"\n",
        parameter: None,
    },
    Policy {
        name: "nogc",
        axis: Axis::Gc,
        summary: "GC costs nothing and blocks nothing: a baseline that no drive can have",
        source: "ttFlash, FAST '17, the NoGC line of the evaluation's figures",
        overlay: "[gc]\nmode = \"nogc\"\n",
        parameter: None,
    },
    Policy {
        name: "base",
        axis: Axis::Gc,
        summary: "a GC run blocks its channel while it copies, then its die while it erases",
        source: "ttFlash, FAST '17, section 3 (channel-blocking GC)",
        overlay: "[gc]\nmode = \"base\"\n",
        parameter: None,
    },
    Policy {
        name: "controller",
        axis: Axis::Gc,
        summary: "a GC run blocks the whole drive while it copies, then its die while it erases",
        source: "ttFlash, FAST '17, section 3 (controller-blocking GC)",
        overlay: "[gc]\nmode = \"controller\"\n",
        parameter: None,
    },
    Policy {
        name: "preemptive",
        axis: Axis::Gc,
        summary: "host requests preempt a GC run between its page operations, except at or below \
                  gc.hard",
        source: "Lee et al., A Semi-Preemptive Garbage Collector for Solid State Drives, ISPASS \
                 '11",
        overlay: "[gc]\nmode = \"preemptive\"\nwhen = \"background\"\n",
        parameter: None,
    },
    Policy {
        name: "reads-first",
        axis: Axis::Gc,
        summary: "as preemptive, and host reads go first even at or below gc.hard: what the \
                  policies of erase presume",
        source: "Kim et al., USENIX ATC '19, section 1 (reads pass between the operations of a GC \
                 run)",
        overlay: "[gc]\nmode = \"preemptive\"\nwhen = \"background\"\nreads_first = true\n",
        parameter: None,
    },
    Policy {
        name: "paced",
        axis: Axis::Gc,
        summary: "as preemptive, and copies advance in proportion to the host's writes",
        source: "what current drives do (copies owed for each write); the rule is ours",
        overlay: "[gc]\nmode = \"preemptive\"\nwhen = \"background\"\npace = \"writes\"\n",
        parameter: None,
    },
    Policy {
        name: "channel-preemptive",
        axis: Axis::Gc,
        summary: "a GC run yields to the host while no write waits on its channel; one victim a \
                  channel at a time",
        source: "ours: Lee et al., ISPASS '11, by channels, as the drive of IODA, SOSP '21, may \
                 have had it",
        overlay: "[gc]\nmode = \"channel-preemptive\"\nwhen = \"background\"\n",
        parameter: None,
    },
    Policy {
        name: "pb",
        axis: Axis::Gc,
        summary: "a GC run blocks its die alone, from the first copy to the end of the erase; \
                  copies stay in the plane",
        source: "ttFlash, FAST '17, section 4.1 (plane-blocking GC)",
        overlay: "[gc]\nmode = \"plane-blocking\"\nunit = \"block\"\ncopyback = true\n",
        parameter: None,
    },
    Policy {
        name: "rgc",
        axis: Axis::Turns,
        summary: "of the planes of a stripe one collects at a time, while that keeps up; with \
                  rgc(static) always",
        source: "ttFlash, FAST '17, section 4.3 (rotating GC, and when it is disabled)",
        overlay: "[rain]\ncost_rule = \"rotation\"\n\n[gc]\n",
        parameter: Some(Parameter::OneOf("rotate", &["dynamic", "static"])),
    },
    Policy {
        name: "page",
        axis: Axis::Ftl,
        summary: "page mapping: every page anywhere, victims are copied; what scenarios have \
                  unless they say otherwise",
        source: "Kawaguchi, Nishioka and Motoda, A Flash-Memory Based File System, USENIX 1995",
        overlay: "[ftl]\nkind = \"page\"\n",
        parameter: None,
    },
    Policy {
        name: "bast",
        axis: Axis::Ftl,
        summary: "log blocks, each of one data block",
        source: "Kim et al., A Space-Efficient Flash Translation Layer, IEEE Trans. Consumer \
                 Electronics 2002",
        overlay: "[ftl]\nkind = \"log-block\"\nallocation = \"static\"\nlog.policy = \"bast\"\n",
        parameter: None,
    },
    Policy {
        name: "fast",
        axis: Axis::Ftl,
        summary: "log blocks that all data blocks share, the oldest merged when the log is full",
        source: "Lee et al., A Log Buffer-Based Flash Translation Layer, ACM TECS 2007",
        overlay: "[ftl]\nkind = \"log-block\"\nallocation = \"static\"\nlog.policy = \"fast\"\n",
        parameter: None,
    },
    Policy {
        name: "faster",
        axis: Axis::Ftl,
        summary: "fast with a second chance for what expires, and an isolation area for cold \
                  pages, merged one a write",
        source: "Lim, Lee and Moon, FASTer FTL for Enterprise-Class Flash Memory SSDs, SNAPI 2010",
        overlay: "[ftl]\nkind = \"log-block\"\nallocation = \"static\"\nlog.policy = \"faster\"\n",
        parameter: None,
    },
    Policy {
        name: "faster-no-isolation",
        axis: Axis::Ftl,
        summary: "faster without the isolation area: cold pages are merged when they expire, many \
                  in one write",
        source: "Lim, Lee and Moon, FASTer FTL for Enterprise-Class Flash Memory SSDs, SNAPI 2010, \
                 Table II",
        overlay: "[ftl]\nkind = \"log-block\"\nallocation = \"static\"\nlog.policy = \"faster\"\n\
                  log.isolation = 0.0\n",
        parameter: None,
    },
    Policy {
        name: "superblock",
        axis: Axis::Ftl,
        summary: "adjacent data blocks share log blocks, every page anywhere within them",
        source: "Kang et al., A Superblock-Based Flash Translation Layer for NAND Flash Memory, \
                 EMSOFT 2006",
        overlay: "[ftl]\nkind = \"log-block\"\nallocation = \"static\"\n\
                  log.policy = \"superblock\"\n",
        parameter: None,
    },
    Policy {
        name: "last",
        axis: Axis::Ftl,
        summary: "log blocks for long requests, for hot pages and for cold ones",
        source: "Lee et al., LAST: Locality-Aware Sector Translation for NAND Flash Memory-Based \
                 Storage, SPEED 2008",
        overlay: "[ftl]\nkind = \"log-block\"\nallocation = \"static\"\nlog.policy = \"last\"\n",
        parameter: None,
    },
    Policy {
        name: "rain",
        axis: Axis::Rain,
        summary: "seven pages in eight are data, one is the parity of their stripe, each on a \
                  channel of its own",
        source: "ttFlash, FAST '17, section 4.2 (RAIN, as GC-tolerant reads presume it)",
        overlay: "[ftl]\nallocation = \"static\"\n\n[rain]\nwidth = 8\n",
        parameter: None,
    },
    Policy {
        name: "gtr",
        axis: Axis::Rain,
        summary: "as rain, and a page that garbage collection keeps is computed from its stripe \
                  where that is faster",
        source: "ttFlash, FAST '17, section 4.2 (GC-tolerant reads)",
        overlay: "[ftl]\nallocation = \"static\"\n\n[rain]\nwidth = 8\nreconstruct = \"cost\"\n",
        parameter: None,
    },
    Policy {
        name: "rain-superblock",
        axis: Axis::Rain,
        summary: "one row in eight of a superblock is the parity of the others, written once, \
                  never updated",
        source: "what current drives do; the stripe over channels as in ttFlash, FAST '17, section \
                 4.2",
        overlay: "[ftl]\nallocation = \"dynamic\"\nfrontiers = \"separate\"\n\n[gc]\n\
                  unit = \"superblock\"\n\n[rain]\nwidth = 8\nupdate = \"superblock\"\n",
        parameter: None,
    },
    Policy {
        name: "gtf",
        axis: Axis::Buffer,
        summary: "writes end in a buffer that a capacitor keeps, which is flushed in the \
                  background before it is full",
        source: "ttFlash, FAST '17, section 4.4 (GC-tolerant flush)",
        overlay: "[drive]\nbackground_flush = true\npower_loss_protection = true\n\
                  write_through = false\n",
        parameter: None,
    },
    Policy {
        name: "dftl",
        axis: Axis::Ftl,
        summary: "the map lies on flash and DRAM caches some of it: 64KiB, or dftl(X); a miss \
                  reads a translation page",
        source: "Gupta et al., DFTL, ASPLOS '09, section 3; the 64 KB of its authors' simulator",
        overlay: "[ftl.map]\n",
        parameter: Some(Parameter::Size("cache", "64KiB")),
    },
    Policy {
        name: "baseline",
        axis: Axis::Erase,
        summary: "a read waits for the end of an erase",
        source: "Kim et al., USENIX ATC '19, section 3 (Baseline)",
        overlay: "[erase]\nmode = \"none\"\n",
        parameter: None,
    },
    Policy {
        name: "ideal-es",
        axis: Axis::Erase,
        summary: "an erase stops for a read at once, and goes on, at no cost: a baseline that no \
                  drive can have",
        source: "Kim et al., USENIX ATC '19, section 3 (Ideal-ES)",
        overlay: "[erase]\nmode = \"ideal\"\n",
        parameter: None,
    },
    Policy {
        name: "es",
        axis: Axis::Erase,
        summary: "an erase stops for a read at any point and keeps what is left of its pulse",
        source: "Wu & He, FAST '12 (program and erase suspension); ES of Kim et al., ATC '19, \
                 section 3",
        overlay: "[erase]\nmode = \"es\"\n",
        parameter: None,
    },
    Policy {
        name: "i-es",
        axis: Axis::Erase,
        summary: "an erase stops for a read at once and gives up its step (erase.suspend, \
                  erase.verify)",
        source: "Kim et al., USENIX ATC '19, section 2.2 (Immediate Erase Suspension)",
        overlay: "[erase]\nmode = \"i-es\"\n",
        parameter: None,
    },
    Policy {
        name: "d-es",
        axis: Axis::Erase,
        summary: "an erase ends its step, then the reads that wait are served",
        source: "Kim et al., USENIX ATC '19, section 2.3 (Deferred Erase Suspension)",
        overlay: "[erase]\nmode = \"d-es\"\n",
        parameter: None,
    },
    Policy {
        name: "t-es",
        axis: Axis::Erase,
        summary: "i-es until an erase is so old, t-es(X) or erase.timeout, then d-es",
        source: "Kim et al., USENIX ATC '19, section 2.4 (Timeout-based Erase Suspension)",
        overlay: "[erase]\nmode = \"t-es\"\n",
        parameter: Some(Parameter::Time("timeout")),
    },
    Policy {
        name: "pes",
        axis: Axis::Erase,
        summary: "es, and a program stops for a read at the end of its phase; with pes(ipc) at \
                  once, and gives it up",
        source: "Wu & He, FAST '12, section 3 (program and erase suspension: IPS, IPC)",
        overlay: "[erase]\nmode = \"es\"\n[program]\n",
        parameter: Some(Parameter::OneOf("mode", &["ips", "ipc"])),
    },
    Policy {
        name: "limited-pes",
        axis: Axis::Erase,
        summary: "pes within limits of a part: 8 stops of an erase and 4 of a program, some work \
                  between",
        source: "assumed; Microchip's serial flash states 1 ms from resume to suspend (TLRS)",
        overlay: "[erase]\nmode = \"es\"\nmax_suspensions = 8\nmin_run = \"300us\"\n\n\
                  [program]\nmode = \"ips\"\nmax_suspensions = 4\nmin_run = \"50us\"\n",
        parameter: None,
    },
    Policy {
        name: "raid",
        axis: Axis::Array,
        summary: "an array that reads every page from its own drive, whatever the wait (IODA's \
                  Base)",
        source: "Li et al., IODA, SOSP '21 (Base)",
        overlay: "[array]\nstrategy = \"direct\"\n",
        parameter: None,
    },
    Policy {
        name: "proactive",
        axis: Axis::Array,
        summary: "every read asks for its whole stripe at once; the first pages that suffice count",
        source: "Li et al., IODA, SOSP '21 (proactive reads, a rival)",
        overlay: "[array]\nstrategy = \"proactive\"\n",
        parameter: None,
    },
    Policy {
        name: "hedged",
        axis: Axis::Array,
        summary: "after a while, hedged(X) or what 95 of 100 reads take, a read asks for the rest \
                  of its stripe too",
        source: "Dean and Barroso, The Tail at Scale, CACM 56(2), 2013",
        overlay: "[array]\nstrategy = \"hedged\"\n",
        parameter: Some(Parameter::Time("hedge_after")),
    },
    Policy {
        name: "iod1",
        axis: Axis::Array,
        summary: "reads that would wait for GC fail fast, and are reconstructed from the other \
                  drives",
        source: "Li et al., IODA, SOSP '21 (IOD1: the PL flag)",
        overlay: "[array]\nstrategy = \"iod1\"\n",
        parameter: None,
    },
    Policy {
        name: "iod2",
        axis: Axis::Array,
        summary: "iod1; of two that failed, the one that would take longest is computed",
        source: "Li et al., IODA, SOSP '21 (IOD2: busy remaining time)",
        overlay: "[array]\nstrategy = \"iod2\"\n",
        parameter: None,
    },
    Policy {
        name: "iod3",
        axis: Axis::Array,
        summary: "drives collect in turn, in windows of array.window or iod3(X), and are not read \
                  then",
        source: "Li et al., IODA, SOSP '21 (IOD3: busy time windows)",
        overlay: "[array]\nstrategy = \"iod3\"\n",
        parameter: Some(Parameter::Time("window")),
    },
    Policy {
        name: "ioda",
        axis: Axis::Array,
        summary: "iod2 over drives that collect in windows of array.window or ioda(X)",
        source: "Li et al., IODA, SOSP '21",
        overlay: "[array]\nstrategy = \"ioda\"\n",
        parameter: Some(Parameter::Time("window")),
    },
    Policy {
        name: "ioda-adaptive",
        axis: Axis::Array,
        summary: "ioda; windows of array.window_norm in peace, and of array.window in bursts",
        source: "this project",
        overlay: "[array]\nstrategy = \"ioda-adaptive\"\n",
        parameter: Some(Parameter::Time("window")),
    },
    Policy {
        name: "harmonia",
        axis: Axis::Array,
        summary: "all drives collect in the same window, one in N",
        source: "Kim et al., Harmonia, MSST '11",
        overlay: "[array]\nstrategy = \"harmonia\"\n",
        parameter: Some(Parameter::Time("window")),
    },
    Policy {
        name: "rails",
        axis: Axis::Array,
        summary: "writes wait in 1 GiB of memory for their drive's window; drives are not read in \
                  it",
        source: "Skourtis et al., Flash on Rails, ATC '14",
        overlay: "[array]\nstrategy = \"rails\"\ncache = \"1GiB\"\ndestage_depth = 262144\n",
        parameter: Some(Parameter::Time("window")),
    },
    Policy {
        name: "mittos",
        axis: Axis::Array,
        summary: "who has a read older than mittos(X), or array.slo, is not read: prediction \
                  without a drive's help",
        source: "Hao et al., MittOS, SOSP '17",
        overlay: "[array]\nstrategy = \"mittos\"\n",
        parameter: Some(Parameter::Time("slo")),
    },
    Policy {
        name: "plm-rotation",
        axis: Axis::Array,
        summary: "the host sends drives into their non-deterministic windows in turn (standard \
                  NVMe)",
        source: "NVM Express Base 2.1 (Predictable Latency Mode)",
        overlay: "[array]\nstrategy = \"plm-rotation\"\n",
        parameter: Some(Parameter::Time("window")),
    },
];

/// Every alias: the papers' own names for paths.
pub const ALIASES: &[Alias] = &[
    Alias { name: "ttflash", path: "pb+gtr+rgc+gtf" },
    Alias { name: "modern", path: "paced+limited-pes" },
    Alias { name: "semi-preemptive", path: "preemptive" },
    Alias { name: "ideal", path: "raid/nogc" },
    Alias { name: "pgc", path: "raid/preemptive" },
    Alias { name: "2r++", path: "2r-second-chance" },
];

/// The collection that a policy of the axis `erase` presumes where a path names none.
pub const ERASE_GC: &str = "reads-first";

/// The collection that a policy of the axis `turns` presumes where a path names none.
pub const TURNS_GC: &str = "pb";
