//! The settings of the log-block FTLs, and the blocks that they ask of a lane.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a log-block FTL works (reference sections 2.1 to 2.5 and 2.8). What a policy does not have,
/// it ignores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LogSpec {
    /// Which FTL.
    pub policy: LogPolicy,
    /// Log blocks, in percent of the data blocks; the isolation area and the log block of
    /// sequential writes are part of them. 0: as many as the over-provisioning leaves.
    pub log_percent: f64,
    /// Blocks beside data and log: the target of a full merge, or what a victim's second chances
    /// open before it is erased. Both never at once, so one is enough; one more where a drive must
    /// recover from a power loss, which may leave the first one half filled.
    pub spare_blocks: u32,
    /// A write that completes on flash waits for all the work that it causes, as the response times
    /// of the papers do; otherwise it completes when its page is programmed.
    pub write_waits: bool,
    /// A data page that was never written may be written in place after later ones of its block:
    /// the classic FTLs on SLC. Otherwise the log takes such a write, and pages that were passed
    /// over stay empty.
    pub out_of_order: bool,
    /// BAST: whose log block is merged when none is free.
    pub log_victim: LogVictim,
    /// FAST, FASTer: what goes to the log block of sequential writes.
    pub sequential: Sequential,
    /// Consecutive pages that make a run sequential (`sequential = "run"`).
    pub sequential_run: u32,
    /// A full log block of sequential writes becomes a data block at once, not when it is in the
    /// way.
    pub switch_at_once: bool,
    /// FASTer: share of the log that is the isolation area; 0: none, cold pages are merged when
    /// they expire.
    pub isolation: f64,
    /// FASTer: where second chances are written.
    pub tail: Tail,
    /// FASTer: what becomes of an expired block with every page valid and none that had its second
    /// chance.
    pub full_block: FullBlock,
    /// FASTer: a victim with less than this share of valid pages gives all of them a chance again,
    /// in percent; 0: off.
    pub sparse_percent: u32,
    /// FASTer: when isolated pages are merged.
    pub progressive: Progressive,
    /// Occupied share of the isolation area above which each write merges one data block
    /// (`progressive = "threshold"`).
    pub progressive_threshold: f64,
    /// Writes between two merges at the start (`progressive = "interval"`); 0: a quarter of a
    /// block's pages.
    pub progressive_interval: u32,
    /// Superblock FTL: logical blocks of a superblock.
    pub superblock_blocks: u32,
    /// Superblock FTL: most U-blocks that a superblock draws from the log.
    pub superblock_updates: u32,
    /// Superblock FTL: updates since it was last compacted that make a page hot; 0: hot pages are
    /// not copied apart.
    pub superblock_hot: u32,
    /// Superblock FTL: which blocks are copied together when nothing cheaper frees one.
    pub superblock_compaction: Compaction,
    /// Superblock FTL: tables of the page map in RAM, 8 pages each; 0: all.
    pub superblock_cache: u32,
    /// LAST: share of the log that takes long requests.
    pub last_sequential_share: f64,
    /// LAST: pages of the longest request that is not sequential.
    pub last_sequential_pages: u32,
    /// LAST: share of the random log that is for hot pages, at the start.
    pub last_hot_share: f64,
    /// LAST: pages written to the random log within which a page that is written again is hot, at
    /// the start; 0: as many as it has.
    pub last_hot_age: u32,
    /// LAST: pages written to the random log after which a hot block without an update may be
    /// merged; 0: as many as it has.
    pub last_old: u32,
    /// LAST: share and age of hot pages follow what becomes of them.
    pub last_adapts: bool,
    /// LAST: pages written to the random log between two such changes; 0: as many as it has.
    pub last_epoch: u32,
    /// Page mapping: whose pages are copied.
    pub victim: Victim,
    /// Page mapping: where copies go.
    pub frontiers: Frontiers,
}

impl Default for LogSpec {
    fn default() -> Self {
        Self {
            policy: LogPolicy::Faster,
            log_percent: 0.0,
            spare_blocks: 1,
            write_waits: false,
            out_of_order: true,
            log_victim: LogVictim::Lru,
            sequential: Sequential::OffsetZero,
            sequential_run: 5,
            switch_at_once: false,
            isolation: 0.2,
            tail: Tail::Segregated,
            full_block: FullBlock::Copy,
            sparse_percent: 0,
            progressive: Progressive::Threshold,
            progressive_threshold: 0.5,
            progressive_interval: 0,
            superblock_blocks: 8,
            superblock_updates: 8,
            superblock_hot: 1,
            superblock_compaction: Compaction::Least,
            superblock_cache: 0,
            last_sequential_share: 0.5,
            last_sequential_pages: 2,
            last_hot_share: 0.5,
            last_hot_age: 0,
            last_old: 0,
            last_adapts: true,
            last_epoch: 0,
            victim: Victim::Greedy,
            frontiers: Frontiers::Separate,
        }
    }
}

/// The FTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogPolicy {
    /// A log block belongs to one data block (Kim et al., IEEE TCE 2002).
    Bast,
    /// Log blocks are shared by all data blocks (Lee et al., ACM TECS 2007).
    Fast,
    /// FAST with a second chance and an isolation area (Lim, Lee and Moon, SNAPI 2010).
    Faster,
    /// Every page anywhere (after Kawaguchi et al., USENIX 1995); "log" is what is not data.
    PageMapping,
    /// Adjacent data blocks share log blocks, every page anywhere within them (Kang et al., EMSOFT
    /// 2006).
    Superblock,
    /// Log blocks for long requests, for hot pages and for cold ones (Lee et al., SPEED 2008).
    Last,
}

/// The blocks that the superblock FTL copies together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compaction {
    /// The blocks with the fewest valid pages, as many as save one block.
    Least,
    /// All blocks of the superblock.
    All,
}

/// Whose pages page mapping copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// The block with the fewest valid pages.
    Greedy,
    /// The one with the most age * (1 - u) / 2u, u its share of valid pages, its age since its last
    /// change.
    CostBenefit,
}

/// Where page mapping writes copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Frontiers {
    /// To an open block of their own; a write copies one victim at most.
    Separate,
    /// To the open block of the host's writes, which a victim's pages begin (the classic form).
    Shared,
}

/// Whose log block BAST merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogVictim {
    /// The one written least recently.
    Lru,
    /// The one opened first.
    Fifo,
}

/// The writes that go to the log block of sequential writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sequential {
    /// Nothing: there is no such block.
    Off,
    /// A write of the first page of a data block begins one (FAST).
    OffsetZero,
    /// A run of consecutive pages begins one; the pages before it are copied there (the firmware of
    /// FASTer's author).
    Run,
}

/// Where second chances are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tail {
    /// To log blocks of their own: only so does FASTer without isolation fluctuate as Table II
    /// says.
    Segregated,
    /// To the block that host writes go to next (the firmware).
    Mixed,
}

/// The treatment of an expired block whose pages are all valid and had no second chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FullBlock {
    /// Its pages are copied, as of any other.
    Copy,
    /// It goes to the end of the queue as it is; its pages have had their second chance (the
    /// firmware).
    Renew,
}

/// When isolated pages are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Progressive {
    /// One data block a write while more than `progressive_threshold` of the area is occupied.
    Threshold,
    /// The firmware's: each write while at most two blocks of the area are free, otherwise one in
    /// an interval that adapts itself.
    Interval,
}

/// The blocks of a lane and what they are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Data blocks.
    pub data: u32,
    /// Log blocks of random writes.
    pub random: u32,
    /// Log blocks of sequential writes: none or one; LAST: its share.
    pub sequential: u32,
    /// Blocks of the isolation area.
    pub isolation: u32,
    /// All blocks that the FTL needs.
    pub blocks: u32,
}

impl LogSpec {
    /// FAST as published.
    pub fn fast(log_percent: f64) -> Self {
        Self { policy: LogPolicy::Fast, log_percent, isolation: 0.0, ..Self::default() }
    }

    /// BAST as published.
    pub fn bast(log_percent: f64) -> Self {
        Self { policy: LogPolicy::Bast, log_percent, isolation: 0.0, ..Self::default() }
    }

    /// Page mapping with as many blocks.
    pub fn page_mapping(log_percent: f64) -> Self {
        Self { policy: LogPolicy::PageMapping, log_percent, isolation: 0.0, ..Self::default() }
    }

    /// The superblock FTL with superblocks of 8 blocks.
    pub fn superblock(log_percent: f64) -> Self {
        Self { policy: LogPolicy::Superblock, log_percent, isolation: 0.0, ..Self::default() }
    }

    /// LAST with half of the log for long requests.
    pub fn last(log_percent: f64) -> Self {
        Self { policy: LogPolicy::Last, log_percent, isolation: 0.0, ..Self::default() }
    }

    /// FASTer as published.
    pub fn faster(log_percent: f64) -> Self {
        Self { log_percent, ..Self::default() }
    }

    /// FASTer as in the firmware of its first author (OpenSSD Jasmine).
    pub fn firmware(log_percent: f64) -> Self {
        Self {
            sequential: Sequential::Run,
            tail: Tail::Mixed,
            full_block: FullBlock::Renew,
            sparse_percent: 50,
            progressive: Progressive::Interval,
            ..Self::faster(log_percent)
        }
    }

    /// True when the policy isolates cold pages.
    pub fn isolates(&self) -> bool {
        self.policy == LogPolicy::Faster && self.isolation > 0.0
    }

    /// True when the policy has a log block of sequential writes.
    pub fn has_sequential(&self) -> bool {
        matches!(self.policy, LogPolicy::Fast | LogPolicy::Faster)
            && self.sequential != Sequential::Off
    }

    /// These settings with the log that `log_percent = 0` stands for, on a lane of `blocks` blocks
    /// of `pages` pages of which the host sees `logical` pages.
    pub fn fitted(&self, logical: u32, pages: u32, blocks: u32) -> Self {
        if self.log_percent != 0.0 {
            return self.clone();
        }
        let data = logical.div_ceil(pages.max(1)).max(1);
        let with = |log: u32| Self {
            log_percent: 100.0 * f64::from(log) / f64::from(data),
            ..self.clone()
        };
        let fits = |spec: &Self| spec.shape(data, pages).is_ok_and(|shape| shape.blocks <= blocks);
        let spare = blocks.saturating_sub(data);
        // A log that does not fit at all is refused with the blocks that there would be.
        (0..=spare).rev().map(with).find(fits).unwrap_or_else(|| with(spare))
    }

    /// The blocks of a lane of `blocks` blocks of `pages` pages of which the host sees `logical`
    /// pages; the error names the key, its value and what is allowed.
    pub fn shape_within(&self, logical: u32, pages: u32, blocks: u32) -> Result<Shape, String> {
        let shape = self.shape(logical.div_ceil(pages.max(1)), pages)?;
        if shape.blocks > blocks {
            let (percent, needed) = (self.log_percent, shape.blocks);
            return Err(format!(
                "log_percent = {percent}: a lane needs {needed} blocks with it and has {blocks}"
            ));
        }
        Ok(shape)
    }

    /// The blocks that `data` data blocks of `pages` pages each ask for; the error names the key,
    /// its value and what is allowed.
    pub fn shape(&self, data: u32, pages: u32) -> Result<Shape, String> {
        self.check(data, pages)?;
        let log = (self.log_percent / 100.0 * f64::from(data)).round() as u32;
        let sequential = match self.policy {
            LogPolicy::Last if self.last_sequential_share > 0.0 => {
                ((self.last_sequential_share * f64::from(log)).round() as u32).max(1)
            }
            _ => u32::from(self.has_sequential()),
        };
        let isolation = match self.isolates() {
            true => ((self.isolation * f64::from(log)).round() as u32).max(2),
            false => 0,
        };
        // FASTer with a segregated tail: one block takes second chances, one the host's writes.
        // Page mapping: the open blocks and the free ones, beside what makes a victim worth it.
        // LAST: an open block for hot pages, one for cold pages, a victim.
        let random = match (self.policy, self.frontiers) {
            (LogPolicy::Bast | LogPolicy::Fast | LogPolicy::Superblock, _) => 1,
            (LogPolicy::Faster, _) | (LogPolicy::PageMapping, Frontiers::Shared) => 2,
            (LogPolicy::Last, _) => 3,
            (LogPolicy::PageMapping, Frontiers::Separate) => 5,
        };
        if log < sequential + isolation + random {
            let least = sequential + isolation + random;
            let percent = self.log_percent;
            return Err(format!(
                "log_percent = {percent}: {log} log blocks beside {data} data blocks of a lane; at \
                 least {least} needed"
            ));
        }
        let random = log - sequential - isolation;
        let spare = self.spare_blocks + u32::from(self.policy == LogPolicy::Superblock);
        Ok(Shape { data, random, sequential, isolation, blocks: data + log + spare })
    }

    fn check(&self, data: u32, pages: u32) -> Result<(), String> {
        let within =
            |key: &str, value: f64, least: f64, most: f64| match value >= least && value <= most {
                true => Ok(()),
                false => Err(format!("{key} = {value}: must be from {least} to {most}")),
            };
        within("log_percent", self.log_percent, 0.0, 1000.0)?;
        within("spare_blocks", f64::from(self.spare_blocks), 1.0, 1000.0)?;
        within("isolation", self.isolation, 0.0, 0.9)?;
        within("progressive_threshold", self.progressive_threshold, 0.0, 1.0)?;
        within("sparse_percent", f64::from(self.sparse_percent), 0.0, 100.0)?;
        if self.has_sequential() && self.sequential == Sequential::Run {
            within("sequential_run", f64::from(self.sequential_run), 2.0, f64::from(pages.max(2)))?;
        }
        within("superblock_blocks", f64::from(self.superblock_blocks), 1.0, 65_536.0)?;
        within("superblock_updates", f64::from(self.superblock_updates), 1.0, 65_536.0)?;
        within("superblock_hot", f64::from(self.superblock_hot), 0.0, 255.0)?;
        within("last_sequential_share", self.last_sequential_share, 0.0, 0.9)?;
        within("last_hot_share", self.last_hot_share, 0.0, 1.0)?;
        within("pages of a block", f64::from(pages), 2.0, 65_536.0)?;
        within("data blocks of a lane", f64::from(data), 1.0, f64::from(u32::MAX / pages))
    }
}
