"""A scenario: every key that determines a run, as typed objects.

Made by crates/python/stubs.py from ``manx schema scenario``. Times are text such as "40us", sizes
"4KiB", rates "1200MB/s".
"""

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

from . import _manx

Time = str
Size = str
Rate = str

class Section:
    """A table of a scenario. What was not set keeps the scenario's value."""

    def keys_set(self) -> Iterator[tuple[str, Any]]:
        """Keys that were set here, each with its value."""

class DeviceKeys(TypedDict, total=False):
    name: str
    summary: str
    geometry: Geometry | GeometryKeys
    feature: Features | FeaturesKeys
    timing: ArrayTiming | ArrayTimingKeys
    slc: SlcTiming | SlcTimingKeys | None
    channel: ChannelTiming | ChannelTimingKeys
    op: float | str
    endurance: int
    source: Mapping[str, Any]

class Device(Section):
    """
    A flash device as data. Every number has an entry in `source` (its dotted key, or a
    prefix of it).
    """
    def __init__(self, *, name: str = ..., summary: str = ..., geometry: Geometry | GeometryKeys = ..., feature: Features | FeaturesKeys = ..., timing: ArrayTiming | ArrayTimingKeys = ..., slc: SlcTiming | SlcTimingKeys | None = ..., channel: ChannelTiming | ChannelTimingKeys = ..., op: float | str = ..., endurance: int = ..., source: Mapping[str, Any] = ...) -> None: ...
    name: str
    """The name of the table."""
    summary: str
    """One line: what this device is."""
    @property
    def geometry(self) -> Geometry:
        """How many of everything there are."""
    @geometry.setter
    def geometry(self, value: Geometry | GeometryKeys) -> None: ...
    @property
    def feature(self) -> Features:
        """Features of the dies beyond one page at a time."""
    @feature.setter
    def feature(self, value: Features | FeaturesKeys) -> None: ...
    @property
    def timing(self) -> ArrayTiming:
        """How long the array operations take."""
    @timing.setter
    def timing(self, value: ArrayTiming | ArrayTimingKeys) -> None: ...
    @property
    def slc(self) -> SlcTiming:
        """Blocks used with one bit a cell (pseudo-SLC), where they can be."""
    @slc.setter
    def slc(self, value: SlcTiming | SlcTimingKeys | None) -> None: ...
    @property
    def channel(self) -> ChannelTiming:
        """The bus between the controller and the dies."""
    @channel.setter
    def channel(self, value: ChannelTiming | ChannelTimingKeys) -> None: ...
    op: float | str
    """
    Over-provisioning: the share of the raw capacity that the host does not see, 0 to below
    1; or a percentage as text, "7%" (spare over user capacity, as data sheets say) or "6.5%
    of raw".
    """
    endurance: int
    """Rated program/erase cycles of a block; 0: not stated."""
    source: Mapping[str, Any]
    """Where each number comes from: dotted key (or its prefix) to source."""

class GeometryKeys(TypedDict, total=False):
    channels: int
    ways: int
    dies: int
    planes: int
    blocks: int
    pages: int
    page: Size
    map_unit: Size

class Geometry(Section):
    """How many channels, dies, planes, blocks and pages there are, and how large a page is."""
    def __init__(self, *, channels: int = ..., ways: int = ..., dies: int = ..., planes: int = ..., blocks: int = ..., pages: int = ..., page: Size = ..., map_unit: Size = ...) -> None: ...
    channels: int
    """Channels."""
    ways: int
    """Chips (targets) on each channel."""
    dies: int
    """Dies in each chip."""
    planes: int
    """Planes in each die."""
    blocks: int
    """Blocks in each plane."""
    pages: int
    """Pages in each block."""
    page: Size
    """Bytes in a page of one plane."""
    map_unit: Size
    """
    Bytes that one mapping entry covers: a page, a part of one, or several planes' pages
    together.
    """

class FeaturesKeys(TypedDict, total=False):
    program_planes: int
    program_pages: int
    cache_program: bool
    cache_read: bool
    independent_planes: bool
    page_order: Literal["word-line", "paired"]

class Features(Section):
    """
    Options of a die. The defaults are the plainest die: one page at a time, registers
    without a cache.
    """
    def __init__(self, *, program_planes: int = ..., program_pages: int = ..., cache_program: bool = ..., cache_read: bool = ..., independent_planes: bool = ..., page_order: Literal["word-line", "paired"] = ...) -> None: ...
    program_planes: int
    """Planes that one program (and erase) always covers together; 1 means each plane alone."""
    program_pages: int
    """Pages of one word line that are programmed in one shot (3 for one-shot TLC)."""
    cache_program: bool
    """Cache program: the next page crosses the channel while the array still programs."""
    cache_read: bool
    """Cache read: the array reads the next page while the last one still crosses the channel."""
    independent_planes: bool
    """
    Planes of a die work independently of each other (otherwise a die does one array
    operation at a time).
    """
    page_order: Literal["word-line", "paired"]
    """The order in which the pages of a block are programmed."""

class ArrayTimingKeys(TypedDict, total=False):
    read: Sequence[Time]
    program: Sequence[Time]
    foggy: Time
    erase_step: Time
    erase_steps: int

class ArrayTiming(Section):
    """
    Times of the array operations. A list gives one time for each page type (lower, middle,
    upper), repeating over a block.
    """
    def __init__(self, *, read: Sequence[Time] = ..., program: Sequence[Time] = ..., foggy: Time = ..., erase_step: Time = ..., erase_steps: int = ...) -> None: ...
    read: Sequence[Time]
    """tR for each page type."""
    program: Sequence[Time]
    """tPROG for each page type (with one-shot programming: one time, for the whole word line)."""
    foggy: Time
    """
    The coarse pass of a word line that is programmed in two (foggy-fine): its data crosses
    twice, and `program` is the fine pass. 0: one pass.
    """
    erase_step: Time
    """One erase step (ramp, pulse, recovery, verify)."""
    erase_steps: int
    """Steps in an erase: tBERS is `erase_step` x `erase_steps`."""

class SlcTimingKeys(TypedDict, total=False):
    bits: int
    read: Time
    program: Time

class SlcTiming(Section):
    """The use of a block with one bit a cell."""
    def __init__(self, *, bits: int = ..., read: Time = ..., program: Time = ...) -> None: ...
    bits: int
    """Bits of a cell otherwise: in this mode a block holds one page in so many."""
    read: Time
    """tR."""
    program: Time
    """tPROG of a word line, over the planes that one program covers."""

class ChannelTimingKeys(TypedDict, total=False):
    rate: Rate
    command: Time
    erase_command: Time
    suspend_command: Time

class ChannelTiming(Section):
    """Times on a channel."""
    def __init__(self, *, rate: Rate = ..., command: Time = ..., erase_command: Time = ..., suspend_command: Time = ...) -> None: ...
    rate: Rate
    """Data rate in both directions."""
    command: Time
    """Command and address cycles of a read or a program."""
    erase_command: Time
    """Command and address cycles of an erase."""
    suspend_command: Time
    """
    The command that suspends an erase or a program, and the one that resumes it. 0: neither
    takes the channel, nor time.
    """

class FtlKeys(TypedDict, total=False):
    kind: Literal["page", "log-block"]
    log: Log | LogKeys
    allocation: Literal["static", "dynamic", "round-robin"]
    order: Sequence[Literal["channel", "way", "die", "plane"]]
    stripe: Literal["map-unit", "program-unit"]
    free_block: Literal["least-worn", "fifo"]
    frontiers: Literal["separate", "shared"]
    static_wear_gap: int
    map: Map | MapKeys
    placement: Literal["none", "dac", "sepbit", "2r", "2r-second-chance", "stream", "pslc"]
    dac_regions: int
    dac_age: float
    streams: int
    stream_copies: Literal["own", "shared"]
    pslc: Pslc | PslcKeys

class Ftl(Section):
    """How logical pages are placed."""
    def __init__(self, *, kind: Literal["page", "log-block"] = ..., log: Log | LogKeys = ..., allocation: Literal["static", "dynamic", "round-robin"] = ..., order: Sequence[Literal["channel", "way", "die", "plane"]] = ..., stripe: Literal["map-unit", "program-unit"] = ..., free_block: Literal["least-worn", "fifo"] = ..., frontiers: Literal["separate", "shared"] = ..., static_wear_gap: int = ..., map: Map | MapKeys = ..., placement: Literal["none", "dac", "sepbit", "2r", "2r-second-chance", "stream", "pslc"] = ..., dac_regions: int = ..., dac_age: float = ..., streams: int = ..., stream_copies: Literal["own", "shared"] = ..., pslc: Pslc | PslcKeys = ...) -> None: ...
    kind: Literal["page", "log-block"]
    """The family: what is mapped, and so how space is reclaimed."""
    @property
    def log(self) -> Log:
        """`log-block` only: which of them, and how it works."""
    @log.setter
    def log(self, value: Log | LogKeys) -> None: ...
    allocation: Literal["static", "dynamic", "round-robin"]
    """The way in which the lane (die, plane group) of a write is chosen."""
    order: Sequence[Literal["channel", "way", "die", "plane"]]
    """
    The order in which consecutive stripe units visit the dimensions, fastest first; each
    exactly once.
    """
    stripe: Literal["map-unit", "program-unit"]
    """How much goes to one lane before the next one."""
    free_block: Literal["least-worn", "fifo"]
    """Which free block is opened next."""
    frontiers: Literal["separate", "shared"]
    """Whether copies of garbage collection have open blocks of their own."""
    static_wear_gap: int
    """
    Static wear levelling: when a block's erase count is this far below the largest, its
    data moves; 0 is off.
    """
    @property
    def map(self) -> Map:
        """How much of the map DRAM holds."""
    @map.setter
    def map(self, value: Map | MapKeys) -> None: ...
    placement: Literal["none", "dac", "sepbit", "2r", "2r-second-chance", "stream", "pslc"]
    """Which data share a block: each class of pages has open blocks of its own."""
    dac_regions: int
    """`dac`: regions, from cold to hot."""
    dac_age: float
    """
    `dac`: a page rises when it was written last so long ago or less, and sinks when longer
    ago; in writes of the host, as a multiple of the user capacity. 0: always.
    """
    streams: int
    """`stream`: how many streams (placement handles) the drive keeps apart."""
    stream_copies: Literal["own", "shared"]
    """`stream`: whether copies of garbage collection keep to their stream."""
    @property
    def pslc(self) -> Pslc:
        """`pslc`: the cache of blocks with one bit a cell."""
    @pslc.setter
    def pslc(self, value: Pslc | PslcKeys) -> None: ...

class LogKeys(TypedDict, total=False):
    policy: Literal["bast", "fast", "faster", "page-mapping", "superblock", "last"]
    log_percent: float
    spare_blocks: int
    write_waits: bool
    out_of_order: bool
    log_victim: Literal["lru", "fifo"]
    sequential: Literal["off", "offset-zero", "run"]
    sequential_run: int
    switch_at_once: bool
    isolation: float
    tail: Literal["segregated", "mixed"]
    full_block: Literal["copy", "renew"]
    sparse_percent: int
    progressive: Literal["threshold", "interval"]
    progressive_threshold: float
    progressive_interval: int
    superblock_blocks: int
    superblock_updates: int
    superblock_hot: int
    superblock_compaction: Literal["least", "all"]
    superblock_cache: int
    last_sequential_share: float
    last_sequential_pages: int
    last_hot_share: float
    last_hot_age: int
    last_old: int
    last_adapts: bool
    last_epoch: int
    victim: Literal["greedy", "cost-benefit"]
    frontiers: Literal["separate", "shared"]

class Log(Section):
    """
    How a log-block FTL works (reference sections 2.1 to 2.5 and 2.8). What a policy does
    not have, it ignores.
    """
    def __init__(self, *, policy: Literal["bast", "fast", "faster", "page-mapping", "superblock", "last"] = ..., log_percent: float = ..., spare_blocks: int = ..., write_waits: bool = ..., out_of_order: bool = ..., log_victim: Literal["lru", "fifo"] = ..., sequential: Literal["off", "offset-zero", "run"] = ..., sequential_run: int = ..., switch_at_once: bool = ..., isolation: float = ..., tail: Literal["segregated", "mixed"] = ..., full_block: Literal["copy", "renew"] = ..., sparse_percent: int = ..., progressive: Literal["threshold", "interval"] = ..., progressive_threshold: float = ..., progressive_interval: int = ..., superblock_blocks: int = ..., superblock_updates: int = ..., superblock_hot: int = ..., superblock_compaction: Literal["least", "all"] = ..., superblock_cache: int = ..., last_sequential_share: float = ..., last_sequential_pages: int = ..., last_hot_share: float = ..., last_hot_age: int = ..., last_old: int = ..., last_adapts: bool = ..., last_epoch: int = ..., victim: Literal["greedy", "cost-benefit"] = ..., frontiers: Literal["separate", "shared"] = ...) -> None: ...
    policy: Literal["bast", "fast", "faster", "page-mapping", "superblock", "last"]
    """Which FTL."""
    log_percent: float
    """
    Log blocks, in percent of the data blocks; the isolation area and the log block of
    sequential writes are part of them. 0: as many as the over-provisioning leaves.
    """
    spare_blocks: int
    """
    Blocks beside data and log: the target of a full merge, or what a victim's second
    chances open before it is erased. Both never at once, so one is enough; one more where a
    drive must recover from a power loss, which may leave the first one half filled.
    """
    write_waits: bool
    """
    A write that completes on flash waits for all the work that it causes, as the response
    times of the papers do; otherwise it completes when its page is programmed.
    """
    out_of_order: bool
    """
    A data page that was never written may be written in place after later ones of its
    block: the classic FTLs on SLC. Otherwise the log takes such a write, and pages that
    were passed over stay empty.
    """
    log_victim: Literal["lru", "fifo"]
    """BAST: whose log block is merged when none is free."""
    sequential: Literal["off", "offset-zero", "run"]
    """FAST, FASTer: what goes to the log block of sequential writes."""
    sequential_run: int
    """Consecutive pages that make a run sequential (`sequential = "run"`)."""
    switch_at_once: bool
    """
    A full log block of sequential writes becomes a data block at once, not when it is in
    the way.
    """
    isolation: float
    """
    FASTer: share of the log that is the isolation area; 0: none, cold pages are merged when
    they expire.
    """
    tail: Literal["segregated", "mixed"]
    """FASTer: where second chances are written."""
    full_block: Literal["copy", "renew"]
    """
    FASTer: what becomes of an expired block with every page valid and none that had its
    second chance.
    """
    sparse_percent: int
    """
    FASTer: a victim with less than this share of valid pages gives all of them a chance
    again, in percent; 0: off.
    """
    progressive: Literal["threshold", "interval"]
    """FASTer: when isolated pages are merged."""
    progressive_threshold: float
    """
    Occupied share of the isolation area above which each write merges one data block
    (`progressive = "threshold"`).
    """
    progressive_interval: int
    """
    Writes between two merges at the start (`progressive = "interval"`); 0: a quarter of a
    block's pages.
    """
    superblock_blocks: int
    """Superblock FTL: logical blocks of a superblock."""
    superblock_updates: int
    """Superblock FTL: most U-blocks that a superblock draws from the log."""
    superblock_hot: int
    """
    Superblock FTL: updates since it was last compacted that make a page hot; 0: hot pages
    are not copied apart.
    """
    superblock_compaction: Literal["least", "all"]
    """Superblock FTL: which blocks are copied together when nothing cheaper frees one."""
    superblock_cache: int
    """Superblock FTL: tables of the page map in RAM, 8 pages each; 0: all."""
    last_sequential_share: float
    """LAST: share of the log that takes long requests."""
    last_sequential_pages: int
    """LAST: pages of the longest request that is not sequential."""
    last_hot_share: float
    """LAST: share of the random log that is for hot pages, at the start."""
    last_hot_age: int
    """
    LAST: pages written to the random log within which a page that is written again is hot,
    at the start; 0: as many as it has.
    """
    last_old: int
    """
    LAST: pages written to the random log after which a hot block without an update may be
    merged; 0: as many as it has.
    """
    last_adapts: bool
    """LAST: share and age of hot pages follow what becomes of them."""
    last_epoch: int
    """LAST: pages written to the random log between two such changes; 0: as many as it has."""
    victim: Literal["greedy", "cost-benefit"]
    """Page mapping: whose pages are copied."""
    frontiers: Literal["separate", "shared"]
    """Page mapping: where copies go."""

class MapKeys(TypedDict, total=False):
    cache: Size
    entry: Size
    stored: Size
    protected: float
    batch: bool
    lazy: bool

class Map(Section):
    """The part of the map that DRAM holds."""
    def __init__(self, *, cache: Size = ..., entry: Size = ..., stored: Size = ..., protected: float = ..., batch: bool = ..., lazy: bool = ...) -> None: ...
    cache: Size
    """
    DRAM for cached entries of the map, the rest being on flash (DFTL); 0 is the whole map
    in DRAM.
    """
    entry: Size
    """DRAM that a cached entry takes."""
    stored: Size
    """Flash that an entry takes in a translation page."""
    protected: float
    """Share of the cached entries that is protected: used again since they came."""
    batch: bool
    """
    An entry that leaves takes the others of its translation page with it to flash;
    otherwise each goes alone.
    """
    lazy: bool
    """
    Entries that garbage collection changes are only changed in the cache, where they are
    cached.
    """

class PslcKeys(TypedDict, total=False):
    static_blocks: int
    dynamic_blocks: int
    full: Literal["direct", "wait"]
    fold: Literal["idle", "worth", "pressure"]
    idle: Time
    copyback: bool

class Pslc(Section):
    """The cache of blocks with one bit a cell."""
    def __init__(self, *, static_blocks: int = ..., dynamic_blocks: int = ..., full: Literal["direct", "wait"] = ..., fold: Literal["idle", "worth", "pressure"] = ..., idle: Time = ..., copyback: bool = ...) -> None: ...
    static_blocks: int
    """Blocks of each lane that are always the cache's."""
    dynamic_blocks: int
    """Blocks of each lane that it is lent at most, while free space lies above `gc.soft`."""
    full: Literal["direct", "wait"]
    """The way of the host's data that finds the cache full."""
    fold: Literal["idle", "worth", "pressure"]
    """When blocks of the cache are folded."""
    idle: Time
    """A drive without a command for so long is idle."""
    copyback: bool
    """Folds stay inside the plane: read and program without crossing the channel."""

class GcKeys(TypedDict, total=False):
    mode: Literal["nogc", "base", "controller", "preemptive", "channel-preemptive", "plane-blocking"]
    when: Literal["background", "foreground"]
    victim: Literal["greedy", "cost-benefit", "fifo", "windowed-greedy", "d-choices", "random", "uniform"]
    unit: Literal["block", "plane-group", "superblock"]
    soft: float | str
    hard: float | str
    last_block_soft: float | str
    last_block_hard: float | str
    reads_first: bool
    pace: Literal["off", "writes"]
    copyback: bool
    window: int
    choices: int
    per_channel: int
    cut_transfers: bool
    rotate: Literal["off", "static", "dynamic"]
    rotate_erases: bool
    rotate_urgent: bool
    rotate_window: Time
    rotate_hysteresis: float

class Gc(Section):
    """How space is reclaimed."""
    def __init__(self, *, mode: Literal["nogc", "base", "controller", "preemptive", "channel-preemptive", "plane-blocking"] = ..., when: Literal["background", "foreground"] = ..., victim: Literal["greedy", "cost-benefit", "fifo", "windowed-greedy", "d-choices", "random", "uniform"] = ..., unit: Literal["block", "plane-group", "superblock"] = ..., soft: float | str = ..., hard: float | str = ..., last_block_soft: float | str = ..., last_block_hard: float | str = ..., reads_first: bool = ..., pace: Literal["off", "writes"] = ..., copyback: bool = ..., window: int = ..., choices: int = ..., per_channel: int = ..., cut_transfers: bool = ..., rotate: Literal["off", "static", "dynamic"] = ..., rotate_erases: bool = ..., rotate_urgent: bool = ..., rotate_window: Time = ..., rotate_hysteresis: float = ...) -> None: ...
    mode: Literal["nogc", "base", "controller", "preemptive", "channel-preemptive", "plane-blocking"]
    """The resource that a GC run blocks."""
    when: Literal["background", "foreground"]
    """When a GC run may start."""
    victim: Literal["greedy", "cost-benefit", "fifo", "windowed-greedy", "d-choices", "random", "uniform"]
    """How the victim is chosen."""
    unit: Literal["block", "plane-group", "superblock"]
    """The blocks that are reclaimed at once."""
    soft: float | str
    """
    Collect when the free share of a reclaim pool (free pages / raw pages) falls below this,
    or its erased blocks ("3 blocks") do.
    """
    hard: float | str
    """
    At or below this free share, or so many erased blocks, GC goes before the host's
    requests, whatever `when` says.
    """
    last_block_soft: float | str
    """
    With only the reserve left: collect when at most this share of the host's last block is
    left.
    """
    last_block_hard: float | str
    """Likewise: GC goes before the host's requests; above the soft share it is that one."""
    reads_first: bool
    """
    `preemptive` only: waiting reads go before a GC run even at or below `hard` (Kim et al.,
    ATC '19).
    """
    pace: Literal["off", "writes"]
    """`preemptive` only: whether copies wait for the host's writes."""
    copyback: bool
    """Copies stay inside the plane: read and program without crossing the channel."""
    window: int
    """Window of `windowed-greedy`: the oldest blocks that are looked at."""
    choices: int
    """Candidates of `d-choices`."""
    per_channel: int
    """`plane-blocking`: GC runs of a channel that may copy at once; 0 is any number."""
    cut_transfers: bool
    """`plane-blocking`: a GC run's commands cut the host's transfers at the next sector."""
    rotate: Literal["off", "static", "dynamic"]
    """
    `plane-blocking`: whether the planes of a group (a RAIN stripe's, or one of each
    channel) collect in turn.
    """
    rotate_erases: bool
    """A plane that is erased for its GC run keeps the others of its group waiting too."""
    rotate_urgent: bool
    """`static`: a plane at or below `hard` waits for its turn as well."""
    rotate_window: Time
    """`dynamic`: over so long the rate of writes is measured."""
    rotate_hysteresis: float
    """
    `dynamic`: by this share the rate must lie below the sustainable one before planes take
    turns again.
    """

class RainKeys(TypedDict, total=False):
    width: int
    update: Literal["in-place", "superblock"]
    evict: Literal["stripe", "page", "stripe-lru"]
    reconstruct: Literal["never", "full", "cost", "always"]
    cost_rule: Literal["estimate", "rotation", "rotation-as-coded"]
    update_reads: Literal["wait", "reconstruct"]
    xor: Time
    xor_engines: int

class Rain(Section):
    """Parity inside the drive (RAIN; ttFlash, FAST '17, section 4.2)."""
    def __init__(self, *, width: int = ..., update: Literal["in-place", "superblock"] = ..., evict: Literal["stripe", "page", "stripe-lru"] = ..., reconstruct: Literal["never", "full", "cost", "always"] = ..., cost_rule: Literal["estimate", "rotation", "rotation-as-coded"] = ..., update_reads: Literal["wait", "reconstruct"] = ..., xor: Time = ..., xor_engines: int = ...) -> None: ...
    width: int
    """Members of a stripe, one of which is parity; 0 is no parity."""
    update: Literal["in-place", "superblock"]
    """How the parity of a stripe comes to flash."""
    evict: Literal["stripe", "page", "stripe-lru"]
    """Pages that leave the write buffer together."""
    reconstruct: Literal["never", "full", "cost", "always"]
    """Which pages of user reads are computed from the other members of their stripe."""
    cost_rule: Literal["estimate", "rotation", "rotation-as-coded"]
    """`full` and `cost`: how a stripe is judged."""
    update_reads: Literal["wait", "reconstruct"]
    """How the reads of a parity update deal with garbage collection."""
    xor: Time
    """From the last member's arrival to the page: the XOR."""
    xor_engines: int
    """Engines of the controller that compute pages; 0 is one for each page."""

class EraseKeys(TypedDict, total=False):
    mode: Literal["none", "ideal", "es", "i-es", "d-es", "t-es"]
    timeout: Time
    suspend: Time
    resume: Time
    verify: Time
    gc_reads: bool
    safe_points: int
    max_suspensions: int
    min_run: Time
    rber_per_1000: float
    hold: Time
    hold_max: Time
    hold_victims: int
    length: Literal["fixed", "adaptive"]
    need_least: float
    need_spread: float
    need_all_at: int
    fractions: int
    shallow: int

class Erase(Section):
    """How reads suspend an erase."""
    def __init__(self, *, mode: Literal["none", "ideal", "es", "i-es", "d-es", "t-es"] = ..., timeout: Time = ..., suspend: Time = ..., resume: Time = ..., verify: Time = ..., gc_reads: bool = ..., safe_points: int = ..., max_suspensions: int = ..., min_run: Time = ..., rber_per_1000: float = ..., hold: Time = ..., hold_max: Time = ..., hold_victims: int = ..., length: Literal["fixed", "adaptive"] = ..., need_least: float = ..., need_spread: float = ..., need_all_at: int = ..., fractions: int = ..., shallow: int = ...) -> None: ...
    mode: Literal["none", "ideal", "es", "i-es", "d-es", "t-es"]
    """The policy."""
    timeout: Time
    """`t-es`: from so long after its issue on an erase is suspended at safe points only."""
    suspend: Time
    """From the stop of a pulse to the first read (voltage recovery)."""
    resume: Time
    """`es`: before the rest of a pulse (voltage ramp)."""
    verify: Time
    """`i-es`, `t-es`: before a pulse that begins anew (verify)."""
    gc_reads: bool
    """Reads of garbage collection suspend an erase too."""
    safe_points: int
    """
    Safe points in a step, its end included: an erase that may stop inside a step at
    multiples of step / points.
    """
    max_suspensions: int
    """The most suspensions of one erase, which then runs to its end; 0 is any number."""
    min_run: Time
    """An erase that was suspended runs for so long before it may be suspended again."""
    rber_per_1000: float
    """
    By this share the raw bit error rate of a block has grown after 1000 erase suspensions
    that cost a ramp.
    """
    hold: Time
    """
    An erase starts only when its die has had no host read for this long, unless space is
    urgent; 0 is off.
    """
    hold_max: Time
    """An erase held back for so long starts whatever the reads do."""
    hold_victims: int
    """
    Victims of a pool that may be copied before the first of them is erased, while erases
    are held back.
    """
    length: Literal["fixed", "adaptive"]
    """How long an erase takes: the worst case of the device table, or what its block needs."""
    need_least: float
    """`adaptive`: the least that a new block needs, as a share of the worst case."""
    need_spread: float
    """`adaptive`: by how much new blocks differ, as such a share."""
    need_all_at: int
    """
    `adaptive`: erases after which a block needs the worst case, growing linearly; 0 is
    never.
    """
    fractions: int
    """`adaptive`: parts of a step in which a pulse is measured."""
    shallow: int
    """
    `adaptive`: fractions of the first, shallow pulse, which is followed by `verify`; 0 is
    none.
    """

class ProgramKeys(TypedDict, total=False):
    mode: Literal["none", "ideal", "ips", "ipc"]
    loops: int
    verify_percent: int
    suspend: Time
    resume: Time
    gc_reads: bool
    max_suspensions: int
    min_run: Time

class Program(Section):
    """How reads suspend a program."""
    def __init__(self, *, mode: Literal["none", "ideal", "ips", "ipc"] = ..., loops: int = ..., verify_percent: int = ..., suspend: Time = ..., resume: Time = ..., gc_reads: bool = ..., max_suspensions: int = ..., min_run: Time = ...) -> None: ...
    mode: Literal["none", "ideal", "ips", "ipc"]
    """The policy."""
    loops: int
    """Loops of ISPP in a program, each a pulse and a verify."""
    verify_percent: int
    """Percent of a loop that its verify takes."""
    suspend: Time
    """`ipc`: from the stop of a phase to the first read (voltage recovery)."""
    resume: Time
    """Before the next phase (the page register gets the program's data back)."""
    gc_reads: bool
    """Reads of garbage collection suspend a program too."""
    max_suspensions: int
    """The most suspensions of one program, which then runs to its end; 0 is any number."""
    min_run: Time
    """A program that was suspended runs for so long before it may be suspended again."""

class ScrubKeys(TypedDict, total=False):
    errors: bool
    rber: float
    codeword: Size
    correctable: int
    rate: float
    rewrite_at: int

class Scrub(Section):
    """Bit errors, their correction, and scrubbing."""
    def __init__(self, *, errors: bool = ..., rber: float = ..., codeword: Size = ..., correctable: int = ..., rate: float = ..., rewrite_at: int = ...) -> None: ...
    errors: bool
    """Bit errors are modelled; with a `rate` above 0 they are in any case."""
    rber: float
    """Raw bit error rate: the probability that a bit is wrong after it was programmed."""
    codeword: Size
    """Data that the error correction takes as one codeword."""
    correctable: int
    """Wrong bits that it corrects in a codeword."""
    rate: float
    """Pages that are scrubbed in a second, over the whole drive; 0 is no scrubbing."""
    rewrite_at: int
    """A scrubbed page with so many wrong bits in a codeword is written anew; 0 is never."""

class RetryKeys(TypedDict, total=False):
    mode: Literal["none", "plain", "pipelined", "on-die"]
    start: Literal["default", "block"]
    entries: int
    correctable: int
    decode: Time
    soft_reads: int
    soft_correctable: int
    soft_decode: Time
    shorten: float
    short_errors: int
    check: Time
    reset: Time
    refresh_at: int

class Retry(Section):
    """Read retry."""
    def __init__(self, *, mode: Literal["none", "plain", "pipelined", "on-die"] = ..., start: Literal["default", "block"] = ..., entries: int = ..., correctable: int = ..., decode: Time = ..., soft_reads: int = ..., soft_correctable: int = ..., soft_decode: Time = ..., shorten: float = ..., short_errors: int = ..., check: Time = ..., reset: Time = ..., refresh_at: int = ...) -> None: ...
    mode: Literal["none", "plain", "pipelined", "on-die"]
    """How; with `none` no page holds an error of age, and nothing of `[ageing]` is modelled."""
    start: Literal["default", "block"]
    """The voltages of the first read."""
    entries: int
    """Entries of the retry table behind the default voltages."""
    correctable: int
    """Wrong bits of a codeword that the hard decoder corrects."""
    decode: Time
    """A hard decoding."""
    soft_reads: int
    """Senses whose data the soft decoder takes, after the table; 0: there is none."""
    soft_correctable: int
    """Wrong bits of a codeword that the soft decoder corrects."""
    soft_decode: Time
    """A soft decoding."""
    shorten: float
    """Share by which the tR of a retry is shorter."""
    short_errors: int
    """Wrong bits that the shorter tR adds."""
    check: Time
    """On the die: how long it takes to find that a page will not decode."""
    reset: Time
    """Pipelined: a RESET stops the sense that is not needed."""
    refresh_at: int
    """A block is refreshed when a read of it takes this many retries; 0 is never."""

class AgeingKeys(TypedDict, total=False):
    pe_cycles: int
    retention: Time
    reads: int
    drift: float
    drift_wear: float
    disturb: float
    floor: float
    floor_wear: float
    slope: float
    spread: float
    page_types: Sequence[float]

class Ageing(Section):
    """The age of the flash at the start, and how it ages."""
    def __init__(self, *, pe_cycles: int = ..., retention: Time = ..., reads: int = ..., drift: float = ..., drift_wear: float = ..., disturb: float = ..., floor: float = ..., floor_wear: float = ..., slope: float = ..., spread: float = ..., page_types: Sequence[float] = ...) -> None: ...
    pe_cycles: int
    """P/E cycles of every block at the start; those of the run are added."""
    retention: Time
    """For how long the data of preconditioning was stored before the run."""
    reads: int
    """Reads that every block has seen since it was written, at the start."""
    drift: float
    """Entries of the retry table by which a page shifts while ln(1 + days) rises by one."""
    drift_wear: float
    """Share by which 1000 P/E cycles raise that."""
    disturb: float
    """Entries by which 100,000 reads of a block shift its pages."""
    floor: float
    """Wrong bits of a codeword at the best voltages, new."""
    floor_wear: float
    """Share by which 1000 P/E cycles raise that."""
    slope: float
    """Wrong bits grow e^slope times with each entry away from the best voltages."""
    spread: float
    """Pages differ in their shift by up to this share, either way."""
    page_types: Sequence[float]
    """Wrong bits of each page type over `floor`, repeating like `device.timing.read`."""

class FaultKeys(TypedDict, total=False):
    factory_bad: float
    program_fail: float
    erase_fail: float
    growth_per_1000: float
    wear_out: bool

class Fault(Section):
    """Bad blocks: factory bad ones, and programs and erases that fail."""
    def __init__(self, *, factory_bad: float = ..., program_fail: float = ..., erase_fail: float = ..., growth_per_1000: float = ..., wear_out: bool = ...) -> None: ...
    factory_bad: float
    """Share of the blocks that are bad from the start."""
    program_fail: float
    """Probability that a program fails."""
    erase_fail: float
    """Probability that an erase fails."""
    growth_per_1000: float
    """Both probabilities grow by this share of themselves with every 1000 erases of the block."""
    wear_out: bool
    """The erase of a block that has had its rated cycles (`device.endurance`) fails."""

class DriveKeys(TypedDict, total=False):
    buffer: Size
    buffer_hit: Time
    flush_above: float | str
    background_flush: bool
    full_buffer: Literal["any", "own"]
    write_through: bool
    power_loss_protection: bool
    scheduler: Literal["read-first", "out-of-order", "fifo"]
    channel_order: Literal["first-come", "data-first", "round-robin"]
    channel_take: Literal["early", "with-slot"]
    queue_depth: int
    controller: Time
    firmware: Firmware | FirmwareKeys
    power: Power | PowerKeys
    link: Rate
    link_fetch: Size
    link_command: Size
    link_completion: Size
    brt: Literal["forecast", "exact"]
    fast_fail: Literal["gc", "internal"]

class Drive(Section):
    """The drive around the flash."""
    def __init__(self, *, buffer: Size = ..., buffer_hit: Time = ..., flush_above: float | str = ..., background_flush: bool = ..., full_buffer: Literal["any", "own"] = ..., write_through: bool = ..., power_loss_protection: bool = ..., scheduler: Literal["read-first", "out-of-order", "fifo"] = ..., channel_order: Literal["first-come", "data-first", "round-robin"] = ..., channel_take: Literal["early", "with-slot"] = ..., queue_depth: int = ..., controller: Time = ..., firmware: Firmware | FirmwareKeys = ..., power: Power | PowerKeys = ..., link: Rate = ..., link_fetch: Size = ..., link_command: Size = ..., link_completion: Size = ..., brt: Literal["forecast", "exact"] = ..., fast_fail: Literal["gc", "internal"] = ...) -> None: ...
    buffer: Size
    """DRAM write buffer."""
    buffer_hit: Time
    """Time to serve a page from the buffer, or to take one into it."""
    flush_above: float | str
    """
    Pages are written to flash in the background while more than this share of the buffer is
    dirty.
    """
    background_flush: bool
    """
    Pages are written to flash in the background; otherwise only when a write waits for room
    in the buffer.
    """
    full_buffer: Literal["any", "own"]
    """Without a flush in the background: what a write waits for that finds the buffer full."""
    write_through: bool
    """A write completes when it is on flash, not when it is in the buffer."""
    power_loss_protection: bool
    """
    Power-loss protection: what is in the buffer counts as durable, so FLUSH and FUA cost
    nothing more.
    """
    scheduler: Literal["read-first", "out-of-order", "fifo"]
    """Which waiting flash operation a die serves next."""
    channel_order: Literal["first-come", "data-first", "round-robin"]
    """The order in which a channel serves the commands and data that wait for it."""
    channel_take: Literal["early", "with-slot"]
    """
    When an operation takes its die: as soon as that is free, or with its slot on the
    channel.
    """
    queue_depth: int
    """Commands that the drive works on at once; more wait in their order. 0 is unlimited."""
    controller: Time
    """Controller time of each command (a delay; what commands share is in `firmware`)."""
    @property
    def firmware(self) -> Firmware:
        """The controller as a shared resource."""
    @firmware.setter
    def firmware(self, value: Firmware | FirmwareKeys) -> None: ...
    @property
    def power(self) -> Power:
        """Programs and erases that are under way at once, by their power."""
    @power.setter
    def power(self, value: Power | PowerKeys) -> None: ...
    link: Rate
    """Data rate of the host link, each direction."""
    link_fetch: Size
    """Bytes with which the drive asks for a command: they queue behind data that was read."""
    link_command: Size
    """Bytes of a command on the link, before the data of a write."""
    link_completion: Size
    """Bytes of a completion on the link, behind the data of a read."""
    brt: Literal["forecast", "exact"]
    """How the busy remaining time of a read that fails fast is found."""
    fast_fail: Literal["gc", "internal"]
    """Operations of the drive that fail a read fast."""

class FirmwareKeys(TypedDict, total=False):
    cores: int
    command: Time
    look_up: Time
    dram: Rate
    throttle: Rate
    cooling: Rate
    heat: Size
    arbitration: Literal["first-come", "round-robin"]
    weights: Sequence[int]

class Firmware(Section):
    """
    The controller as a shared resource: firmware cores, DRAM, throttled writes, heat, and
    which queue is served next. By default nothing of it takes time.
    """
    def __init__(self, *, cores: int = ..., command: Time = ..., look_up: Time = ..., dram: Rate = ..., throttle: Rate = ..., cooling: Rate = ..., heat: Size = ..., arbitration: Literal["first-come", "round-robin"] = ..., weights: Sequence[int] = ...) -> None: ...
    cores: int
    """Cores, each of which works on one command at a time; 0 is no limit."""
    command: Time
    """Time of a core for each command."""
    look_up: Time
    """
    Time of a core for each look-up of the map: one for each mapping unit of a read or a
    write.
    """
    dram: Rate
    """Data rate of the DRAM, which each byte of the host crosses twice."""
    throttle: Rate
    """
    Data rate at which writes of the host are admitted while the drive lives on what garbage
    collection gives it.
    """
    cooling: Rate
    """
    Data rate, of reads and writes together, whose heat the drive gives off; beyond it the
    drive warms up.
    """
    heat: Size
    """Bytes beyond `cooling` that a cold drive absorbs before its host is held to that rate."""
    arbitration: Literal["first-come", "round-robin"]
    """Which waiting command is fetched next."""
    weights: Sequence[int]
    """
    `round-robin`: commands in a row of the queue of the first job, of the second, ..; 1
    where none is given.
    """

class PowerKeys(TypedDict, total=False):
    budget: str
    program: str
    erase: str

class Power(Section):
    """The power budget of a drive's dies, and what their operations draw."""
    def __init__(self, *, budget: str = ..., program: str = ..., erase: str = ...) -> None: ...
    budget: str
    """Power of all dies together that work on programs and erases; 0W is no limit."""
    program: str
    """Power of a die while it works on a program, over however many planes."""
    erase: str
    """Power of a die while it works on an erase."""

class RecoveryKeys(TypedDict, total=False):
    keep: bool
    read: Size
    checkpoint_every: Size | None
    cut_at: Time | None

class Recovery(Section):
    """Metadata that a drive keeps to recover from a power loss."""
    def __init__(self, *, keep: bool = ..., read: Size = ..., checkpoint_every: Size | None = ..., cut_at: Time | None = ...) -> None: ...
    keep: bool
    """The spare area of each page is kept, and deallocations are journalled."""
    read: Size
    """Bytes that cross the channel for each mapping unit that is scanned."""
    checkpoint_every: Size | None
    """
    A checkpoint of the map is written each time that so much has been programmed; never
    without it.
    """
    cut_at: Time | None
    """The power fails at this time of the run, and comes back at once; never without it."""

class ArrayKeys(TypedDict, total=False):
    members: int
    level: Literal["raid0", "raid1", "raid5", "raid6", "ec"]
    parities: int
    extra_reads: int
    chunk: Size
    strategy: Literal["direct", "proactive", "hedged", "iod1", "iod2", "iod3", "ioda", "ioda-adaptive", "harmonia", "rails", "mittos", "plm-rotation"]
    window: Time
    guard: Time
    window_norm: Time
    hedge_after: Time
    slo: Time
    cache: Size
    destage_depth: int
    xor: Time
    fail_member: int
    fail_at: Time
    replace_after: Time
    rebuild_depth: int

class Array(Section):
    """An array of drives."""
    def __init__(self, *, members: int = ..., level: Literal["raid0", "raid1", "raid5", "raid6", "ec"] = ..., parities: int = ..., extra_reads: int = ..., chunk: Size = ..., strategy: Literal["direct", "proactive", "hedged", "iod1", "iod2", "iod3", "ioda", "ioda-adaptive", "harmonia", "rails", "mittos", "plm-rotation"] = ..., window: Time = ..., guard: Time = ..., window_norm: Time = ..., hedge_after: Time = ..., slo: Time = ..., cache: Size = ..., destage_depth: int = ..., xor: Time = ..., fail_member: int = ..., fail_at: Time = ..., replace_after: Time = ..., rebuild_depth: int = ...) -> None: ...
    members: int
    """Drives, N; 1 is a drive alone."""
    level: Literal["raid0", "raid1", "raid5", "raid6", "ec"]
    """How data is kept on them."""
    parities: int
    """`ec`: parities in a row, r."""
    extra_reads: int
    """
    Reads of other members beyond those that a reconstructed page needs: of all that were
    asked those count that come first (late binding).
    """
    chunk: Size
    """Consecutive bytes on one member."""
    strategy: Literal["direct", "proactive", "hedged", "iod1", "iod2", "iod3", "ioda", "ioda-adaptive", "harmonia", "rails", "mittos", "plm-rotation"]
    """How it reads."""
    window: Time
    """The length of a member's busy window, where members collect in windows (TW)."""
    guard: Time
    """The distance that a step of a GC run keeps from the end of its window."""
    window_norm: Time
    """`ioda-adaptive`: the window while little is written; 0s: four times `window`."""
    hedge_after: Time
    """`hedged`: how long a read waits alone; 0s: as long as 95 of 100 reads take."""
    slo: Time
    """`mittos`: a read that is predicted to take longer is computed from the rest."""
    cache: Size
    """
    Protected memory for writes: they complete in it; 0B: they complete when the members
    have them.
    """
    destage_depth: int
    """Rows that are written out of the cache at a time."""
    xor: Time
    """Time to compute a page from the rest of its row."""
    fail_member: int
    """The member that fails; none if it is not among the members."""
    fail_at: Time
    """When it fails; 0s: it never does."""
    replace_after: Time
    """When an empty drive takes its place, counted from the failure; 0s: none does."""
    rebuild_depth: int
    """Rows that are rebuilt at a time."""

class PreconditionKeys(TypedDict, total=False):
    state: Literal["empty", "fill", "steady", "aged"]
    ratio: float | str
    passes_max: int
    settled_below: float | str
    overwrite: Literal["random", "workload"]

class Precondition(Section):
    """State of the drive when the run starts."""
    def __init__(self, *, state: Literal["empty", "fill", "steady", "aged"] = ..., ratio: float | str = ..., passes_max: int = ..., settled_below: float | str = ..., overwrite: Literal["random", "workload"] = ...) -> None: ...
    state: Literal["empty", "fill", "steady", "aged"]
    """The kind of state."""
    ratio: float | str
    """`aged`: share of the raw pages that are used, half of them valid (SSDsim's make_aged)."""
    passes_max: int
    """`steady`: give up after overwriting the user capacity this many times."""
    settled_below: float | str
    """`steady`: settled when the WAF of two windows in a row differs by less than this share."""
    overwrite: Literal["random", "workload"]
    """`steady`: the addresses of the overwrites."""

class WorkloadKeys(TypedDict, total=False):
    jobs: Sequence[Job | JobKeys]
    act: Act | ActKeys | None
    trace: Trace | TraceKeys | None
    read_percent: float
    block_sizes: Sequence[Sequence[Size | float]]
    write_block_sizes: Sequence[Sequence[Size | float]]
    align: Size
    pattern: Literal["random", "sequential", "shuffle", "zipf", "tiers"]
    zipf_theta: float
    tiers: Sequence[Sequence[float]]
    write_tiers: Sequence[Sequence[float]]
    cyclic_tiers: int
    tier_block: Size
    run: Size
    offset: Size
    size: Size
    files: int
    sequence: int
    arrival: Literal["closed", "poisson", "fixed", "paced", "paced-smooth", "bursty", "trace", "phases"]
    queue_depth: int
    think: Time
    start: Time
    host_delay: Time
    host_busy: Time
    host_page: Time
    rate: float
    peak_to_mean: float
    burst: Time
    phases: Phases | PhasesKeys | None
    rewrites: Rewrites | RewritesKeys | None
    requests: int
    time: Time
    fua_percent: float
    flush_every: int
    trim_percent: float
    stream: int
    stream_by: Literal["job", "tier"]

class Workload(Section):
    """A workload: fio-like jobs that run side by side."""
    def __init__(self, *, jobs: Sequence[Job | JobKeys] = ..., act: Act | ActKeys | None = ..., trace: Trace | TraceKeys | None = ..., read_percent: float = ..., block_sizes: Sequence[Sequence[Size | float]] = ..., write_block_sizes: Sequence[Sequence[Size | float]] = ..., align: Size = ..., pattern: Literal["random", "sequential", "shuffle", "zipf", "tiers"] = ..., zipf_theta: float = ..., tiers: Sequence[Sequence[float]] = ..., write_tiers: Sequence[Sequence[float]] = ..., cyclic_tiers: int = ..., tier_block: Size = ..., run: Size = ..., offset: Size = ..., size: Size = ..., files: int = ..., sequence: int = ..., arrival: Literal["closed", "poisson", "fixed", "paced", "paced-smooth", "bursty", "trace", "phases"] = ..., queue_depth: int = ..., think: Time = ..., start: Time = ..., host_delay: Time = ..., host_busy: Time = ..., host_page: Time = ..., rate: float = ..., peak_to_mean: float = ..., burst: Time = ..., phases: Phases | PhasesKeys | None = ..., rewrites: Rewrites | RewritesKeys | None = ..., requests: int = ..., time: Time = ..., fua_percent: float = ..., flush_every: int = ..., trim_percent: float = ..., stream: int = ..., stream_by: Literal["job", "tier"] = ...) -> None: ...
    jobs: Sequence[Job]
    """
    The jobs. In a scenario file the keys of `[workload]` are the defaults of each
    `[[workload.jobs]]`; without any, there is one job.
    """
    @property
    def act(self) -> Act:
        """The load of the Aerospike Certification Tool: its jobs take the place of those above."""
    @act.setter
    def act(self, value: Act | ActKeys | None) -> None: ...
    @property
    def trace(self) -> Trace:
        """Replay this trace instead of generating requests."""
    @trace.setter
    def trace(self, value: Trace | TraceKeys | None) -> None: ...
    read_percent: float
    """Share of reads, percent, 0 to 100."""
    block_sizes: Sequence[Sequence[Size | float]]
    """Block sizes and their weights: [["4KiB", 70], ["64KiB", 30]]."""
    write_block_sizes: Sequence[Sequence[Size | float]]
    """Block sizes of writes, where they differ."""
    align: Size
    """Every offset is a multiple of this; 0B means of the request's own size."""
    pattern: Literal["random", "sequential", "shuffle", "zipf", "tiers"]
    """How addresses are chosen."""
    zipf_theta: float
    """`zipf`: the exponent theta, above 0."""
    tiers: Sequence[Sequence[float]]
    """
    `tiers`: percent of the space and percent of the requests of each tier; what is left of
    the space gets the rest of the requests.
    """
    write_tiers: Sequence[Sequence[float]]
    """
    `tiers`: those of writes and trims, where they differ; their first pages are those of
    `tiers`.
    """
    cyclic_tiers: int
    """
    `tiers`: so many of the first tiers are visited in a fixed order, round and round, and
    not at random.
    """
    tier_block: Size
    """
    `tiers`: they are made of blocks of this size, in which a smaller request lies anywhere;
    0B means of the smallest request.
    """
    run: Size
    """
    The pattern chooses where a run of so many bytes starts, and requests follow one another
    in it; 0B is no run.
    """
    offset: Size
    """First byte of the job's range."""
    size: Size
    """Length of the job's range; 0B means up to the end of the device."""
    files: int
    """
    The range is so many files, or devices, of one size, and requests go to them in turn, as
    fio's do where a job has several.
    """
    sequence: int
    """
    Jobs of the same number draw the same sizes and addresses in the same order, as fio's
    processes do (`randrepeat`); 0 is a sequence of its own.
    """
    arrival: Literal["closed", "poisson", "fixed", "paced", "paced-smooth", "bursty", "trace", "phases"]
    """When requests are issued."""
    queue_depth: int
    """`closed`: requests kept outstanding; `paced`: threads."""
    think: Time
    """`closed`: pause between a completion and the next request of that slot."""
    start: Time
    """`closed`: the job begins so long after the run."""
    host_delay: Time
    """
    `closed`: what the host adds to each request beside its thread's work: interrupt, wake-
    up.
    """
    host_busy: Time
    """
    `closed`: the job's one thread works so long for each request, one after the other: no
    more requests a second than that allows. Latencies contain both.
    """
    host_page: Time
    """
    `closed`: the thread works so much longer for each 4 KiB of a request behind the first:
    pages that it maps or copies.
    """
    rate: float
    """
    `poisson`, `fixed`, `bursty` (the mean), `paced` (of all threads together): requests per
    second.
    """
    peak_to_mean: float
    """
    `bursty`: the rate in a burst over the mean rate; so the share of the time without a
    request is 1 - 1 / this.
    """
    burst: Time
    """`bursty`: how long a burst lasts on average."""
    @property
    def phases(self) -> Phases:
        """`phases`: what a trace did piece by piece; the rate is `rate`."""
    @phases.setter
    def phases(self, value: Phases | PhasesKeys | None) -> None: ...
    @property
    def rewrites(self) -> Rewrites:
        """
        Writes come back to what was written before, as a trace's do; `pattern` places the
        reads.
        """
    @rewrites.setter
    def rewrites(self, value: Rewrites | RewritesKeys | None) -> None: ...
    requests: int
    """Stop after this many requests; 0 means no bound by count."""
    time: Time
    """Stop issuing at this time; 0s means no bound by time."""
    fua_percent: float
    """Share of the writes that carry FUA, percent."""
    flush_every: int
    """A FLUSH after every so many writes; 0 is never."""
    trim_percent: float
    """Share of the requests that are TRIM, percent (taken from the writes' share)."""
    stream: int
    """The hint that its writes carry (`ftl.placement = "stream"`)."""
    stream_by: Literal["job", "tier"]
    """The source of the hint."""

class JobKeys(TypedDict, total=False):
    trace: Trace | TraceKeys | None
    read_percent: float
    block_sizes: Sequence[Sequence[Size | float]]
    write_block_sizes: Sequence[Sequence[Size | float]]
    align: Size
    pattern: Literal["random", "sequential", "shuffle", "zipf", "tiers"]
    zipf_theta: float
    tiers: Sequence[Sequence[float]]
    write_tiers: Sequence[Sequence[float]]
    cyclic_tiers: int
    tier_block: Size
    run: Size
    offset: Size
    size: Size
    files: int
    sequence: int
    arrival: Literal["closed", "poisson", "fixed", "paced", "paced-smooth", "bursty", "trace", "phases"]
    queue_depth: int
    think: Time
    start: Time
    host_delay: Time
    host_busy: Time
    host_page: Time
    rate: float
    peak_to_mean: float
    burst: Time
    phases: Phases | PhasesKeys | None
    rewrites: Rewrites | RewritesKeys | None
    requests: int
    time: Time
    fua_percent: float
    flush_every: int
    trim_percent: float
    stream: int
    stream_by: Literal["job", "tier"]

class Job(Section):
    """One job: what it asks for and when."""
    def __init__(self, *, trace: Trace | TraceKeys | None = ..., read_percent: float = ..., block_sizes: Sequence[Sequence[Size | float]] = ..., write_block_sizes: Sequence[Sequence[Size | float]] = ..., align: Size = ..., pattern: Literal["random", "sequential", "shuffle", "zipf", "tiers"] = ..., zipf_theta: float = ..., tiers: Sequence[Sequence[float]] = ..., write_tiers: Sequence[Sequence[float]] = ..., cyclic_tiers: int = ..., tier_block: Size = ..., run: Size = ..., offset: Size = ..., size: Size = ..., files: int = ..., sequence: int = ..., arrival: Literal["closed", "poisson", "fixed", "paced", "paced-smooth", "bursty", "trace", "phases"] = ..., queue_depth: int = ..., think: Time = ..., start: Time = ..., host_delay: Time = ..., host_busy: Time = ..., host_page: Time = ..., rate: float = ..., peak_to_mean: float = ..., burst: Time = ..., phases: Phases | PhasesKeys | None = ..., rewrites: Rewrites | RewritesKeys | None = ..., requests: int = ..., time: Time = ..., fua_percent: float = ..., flush_every: int = ..., trim_percent: float = ..., stream: int = ..., stream_by: Literal["job", "tier"] = ...) -> None: ...
    @property
    def trace(self) -> Trace:
        """Replay this trace instead of generating requests."""
    @trace.setter
    def trace(self, value: Trace | TraceKeys | None) -> None: ...
    read_percent: float
    """Share of reads, percent, 0 to 100."""
    block_sizes: Sequence[Sequence[Size | float]]
    """Block sizes and their weights: [["4KiB", 70], ["64KiB", 30]]."""
    write_block_sizes: Sequence[Sequence[Size | float]]
    """Block sizes of writes, where they differ."""
    align: Size
    """Every offset is a multiple of this; 0B means of the request's own size."""
    pattern: Literal["random", "sequential", "shuffle", "zipf", "tiers"]
    """How addresses are chosen."""
    zipf_theta: float
    """`zipf`: the exponent theta, above 0."""
    tiers: Sequence[Sequence[float]]
    """
    `tiers`: percent of the space and percent of the requests of each tier; what is left of
    the space gets the rest of the requests.
    """
    write_tiers: Sequence[Sequence[float]]
    """
    `tiers`: those of writes and trims, where they differ; their first pages are those of
    `tiers`.
    """
    cyclic_tiers: int
    """
    `tiers`: so many of the first tiers are visited in a fixed order, round and round, and
    not at random.
    """
    tier_block: Size
    """
    `tiers`: they are made of blocks of this size, in which a smaller request lies anywhere;
    0B means of the smallest request.
    """
    run: Size
    """
    The pattern chooses where a run of so many bytes starts, and requests follow one another
    in it; 0B is no run.
    """
    offset: Size
    """First byte of the job's range."""
    size: Size
    """Length of the job's range; 0B means up to the end of the device."""
    files: int
    """
    The range is so many files, or devices, of one size, and requests go to them in turn, as
    fio's do where a job has several.
    """
    sequence: int
    """
    Jobs of the same number draw the same sizes and addresses in the same order, as fio's
    processes do (`randrepeat`); 0 is a sequence of its own.
    """
    arrival: Literal["closed", "poisson", "fixed", "paced", "paced-smooth", "bursty", "trace", "phases"]
    """When requests are issued."""
    queue_depth: int
    """`closed`: requests kept outstanding; `paced`: threads."""
    think: Time
    """`closed`: pause between a completion and the next request of that slot."""
    start: Time
    """`closed`: the job begins so long after the run."""
    host_delay: Time
    """
    `closed`: what the host adds to each request beside its thread's work: interrupt, wake-
    up.
    """
    host_busy: Time
    """
    `closed`: the job's one thread works so long for each request, one after the other: no
    more requests a second than that allows. Latencies contain both.
    """
    host_page: Time
    """
    `closed`: the thread works so much longer for each 4 KiB of a request behind the first:
    pages that it maps or copies.
    """
    rate: float
    """
    `poisson`, `fixed`, `bursty` (the mean), `paced` (of all threads together): requests per
    second.
    """
    peak_to_mean: float
    """
    `bursty`: the rate in a burst over the mean rate; so the share of the time without a
    request is 1 - 1 / this.
    """
    burst: Time
    """`bursty`: how long a burst lasts on average."""
    @property
    def phases(self) -> Phases:
        """`phases`: what a trace did piece by piece; the rate is `rate`."""
    @phases.setter
    def phases(self, value: Phases | PhasesKeys | None) -> None: ...
    @property
    def rewrites(self) -> Rewrites:
        """
        Writes come back to what was written before, as a trace's do; `pattern` places the
        reads.
        """
    @rewrites.setter
    def rewrites(self, value: Rewrites | RewritesKeys | None) -> None: ...
    requests: int
    """Stop after this many requests; 0 means no bound by count."""
    time: Time
    """Stop issuing at this time; 0s means no bound by time."""
    fua_percent: float
    """Share of the writes that carry FUA, percent."""
    flush_every: int
    """A FLUSH after every so many writes; 0 is never."""
    trim_percent: float
    """Share of the requests that are TRIM, percent (taken from the writes' share)."""
    stream: int
    """The hint that its writes carry (`ftl.placement = "stream"`)."""
    stream_by: Literal["job", "tier"]
    """The source of the hint."""

TraceKeys = Mapping[str, Any]

class Trace(Section):
    """
    A trace to replay and how to treat it. The order of the treatment, for each request of
    the file. First what is replayed, in this order: `to` ends the reading, as does `head`;
    then `devices`, `ignore`, `from` and `skip` leave requests out, each counted under the
    first reason that applies (so `skip` and `head` count requests that all else would
    replay). Times are rebased on the first request that is left. Then how: the devices are
    laid out (`layout`), requests widened to `align`, fitted to the device (`remap`), and
    times scaled (`rate_scale`). All of it is the same in each pass of `repeat`.
    """
    def __init__(self, *, file: str = ..., format: Literal["msr", "mqsim", "ssdsim", "disksim", "ucare", "blkparse", "spc", "etw", "alibaba", "tencent", "systor", "wpa", "libcachesim", "ucare-log", "manx", "blktrace", "fio-v2", "fio-v3", "fio-lat", "ftrace", "blkreplay", "fiu", "vscsi", "oracle-general", "manx-records"] | None = ..., time_unit: Literal["ns", "us", "ms", "s"] | None = ..., lba_unit: Literal["bytes", "sectors"] | None = ..., event: Literal["queue", "issue", "complete"] = ..., spread: Literal["even", "none"] = ..., devices: Sequence[str] = ..., layout: Literal["concat", "overlay", "separate"] = ..., ignore: Sequence[Literal["read", "write", "flush", "trim", "fua"]] = ..., to: Time = ..., skip: int = ..., head: int = ..., rebase: bool = ..., rate_scale: float = ..., repeat: int = ..., align: Size = ..., remap: Literal["none", "modulo", "dense", "scale"] = ...) -> None: ...
    file: str
    """The file; .gz, .zst, .xz, .bz2 and members of a .tar (`a.tar:member`) are read in place."""
    format: Literal["msr", "mqsim", "ssdsim", "disksim", "ucare", "blkparse", "spc", "etw", "alibaba", "tencent", "systor", "wpa", "libcachesim", "ucare-log", "manx", "blktrace", "fio-v2", "fio-v3", "fio-lat", "ftrace", "blkreplay", "fiu", "vscsi", "oracle-general", "manx-records"] | None
    """Its format; found by looking at it when absent."""
    time_unit: Literal["ns", "us", "ms", "s"] | None
    """The unit of its times, where the format leaves it open."""
    lba_unit: Literal["bytes", "sectors"] | None
    """The unit of its addresses and sizes, where the format leaves it open."""
    event: Literal["queue", "issue", "complete"]
    """Which event of a request counts, in traces of the block layer."""
    spread: Literal["even", "none"]
    """Treatment of requests within one second, where the format's clock has whole seconds."""
    devices: Sequence[str]
    """The devices of the trace that are replayed, by name; all when empty."""
    layout: Literal["concat", "overlay", "separate"]
    """How the address spaces of several devices become one."""
    ignore: Sequence[Literal["read", "write", "flush", "trim", "fua"]]
    """Kinds of requests that are left out."""
    to: Time
    """End of the window (exclusive), likewise; 0s is the trace's end."""
    skip: int
    """Requests of the window that are skipped."""
    head: int
    """Requests that are replayed at most; 0 is no bound."""
    rebase: bool
    """
    The first request that is replayed arrives at 0; false keeps its distance from the start
    of the trace, in each pass of `repeat`.
    """
    rate_scale: float
    """Requests arrive at this multiple of the trace's own rate: 2 replays twice as fast."""
    repeat: int
    """Replay the trace this many times, one after the other."""
    align: Size
    """Requests are widened to multiples of this, trims narrowed; 0B leaves them as they are."""
    remap: Literal["none", "modulo", "dense", "scale"]
    """Treatment of addresses beyond the device."""

PhasesKeys = Mapping[str, Any]

class Phases(Section):
    """A trace piece by piece: busy and idle, reading and writing."""
    def __init__(self, *, list: Sequence[Sequence[float]] = ..., read_runs: Sequence[Sequence[int | float]] = ..., write_runs: Sequence[Sequence[int | float]] = ..., gaps: Sequence[Sequence[Sequence[float]]] = ...) -> None: ...
    list: Sequence[Sequence[float]]
    """
    Phases in order: [seconds, requests, percent of reads, percent of the reads that are
    large, percent of the writes that are]. Large is above the mean of the sizes.
    """
    read_runs: Sequence[Sequence[int | float]]
    """Reads that follow one another: [length, weight]."""
    write_runs: Sequence[Sequence[int | float]]
    """Writes that follow one another: [length, weight]."""
    gaps: Sequence[Sequence[Sequence[float]]]
    """
    Gaps over the mean of their phase: [gap, weight], from a read to a read, from a read to
    a write, from a write to a read, from a write to a write.
    """

class RewritesKeys(TypedDict, total=False):
    extents: int
    span: float
    sequential: float
    after: Sequence[Sequence[float]]
    depths: Sequence[Sequence[int | float]]

class Rewrites(Section):
    """How writes come back: the LRU stack model, and runs of what was written together."""
    def __init__(self, *, extents: int = ..., span: float = ..., sequential: float = ..., after: Sequence[Sequence[float]] = ..., depths: Sequence[Sequence[int | float]] = ...) -> None: ...
    extents: int
    """Extents that are written."""
    span: float
    """Percent of the range that they cover, at its end."""
    sequential: float
    """Percent of the extents that lie behind the one that was written before them."""
    after: Sequence[Sequence[float]]
    """
    Weights of what a write goes to, [the oldest extent, the one that followed last time, a
    jump], after each of the three.
    """
    depths: Sequence[Sequence[int | float]]
    """
    Jumps: [depth, weight], depths in rising order; so many extents were written since, even
    between the depth before and this one.
    """

class ActKeys(TypedDict, total=False):
    multiplier: float
    read_reqs_per_sec: int | None
    write_reqs_per_sec: int | None
    service_threads: int
    record_bytes: int
    record_bytes_range_max: int
    large_block_kbytes: int
    replication_factor: int
    update_pct: int
    defrag_lwm_pct: int
    no_defrag_reads: bool
    commit_to_device: bool
    disable_odsync: bool
    min_op: Size
    max_lag: Time
    smooth: bool
    time: Time
    slice: Time
    report_interval: Time
    microsecond_histograms: bool

class Act(Section):
    """The load of the Aerospike Certification Tool (`act_storage` 6.6) on one device."""
    def __init__(self, *, multiplier: float = ..., read_reqs_per_sec: int | None = ..., write_reqs_per_sec: int | None = ..., service_threads: int = ..., record_bytes: int = ..., record_bytes_range_max: int = ..., large_block_kbytes: int = ..., replication_factor: int = ..., update_pct: int = ..., defrag_lwm_pct: int = ..., no_defrag_reads: bool = ..., commit_to_device: bool = ..., disable_odsync: bool = ..., min_op: Size = ..., max_lag: Time = ..., smooth: bool = ..., time: Time = ..., slice: Time = ..., report_interval: Time = ..., microsecond_histograms: bool = ...) -> None: ...
    multiplier: float
    """The "x" of the test: 1 is 2000 reads and 1000 writes of records per second."""
    read_reqs_per_sec: int | None
    """Reads of records per second; 2000 times the multiplier if absent."""
    write_reqs_per_sec: int | None
    """Writes of records per second; 1000 times the multiplier if absent."""
    service_threads: int
    """Threads that read records (the tool's default is five for each processor)."""
    record_bytes: int
    """Size of a record, bytes."""
    record_bytes_range_max: int
    """Size of the largest record, bytes; 0 if all are `record_bytes` large."""
    large_block_kbytes: int
    """Size of the large reads and writes, KiB, a power of two."""
    replication_factor: int
    """Copies of each record in the cluster: multiplies the writes."""
    update_pct: int
    """Share of the writes that read the record first, percent."""
    defrag_lwm_pct: int
    """Blocks that hold less than this are emptied, percent: 50 doubles what is written."""
    no_defrag_reads: bool
    """Defragmentation reads from memory: no large reads."""
    commit_to_device: bool
    """Each record is written by itself, and only defragmentation writes large blocks."""
    disable_odsync: bool
    """Writes do not carry FUA."""
    min_op: Size
    """The least size and alignment of a request that the device takes."""
    max_lag: Time
    """
    How far a thread may be behind its schedule before the test is stopped; 0s never stops
    it.
    """
    smooth: bool
    """
    The threads' starts are spread over one period, unlike the tool's, which fire in lock
    step.
    """
    time: Time
    """How long the test takes; 0s is one slice."""
    slice: Time
    """The time over which shares of slow reads are taken; the tool's own rule has 1h."""
    report_interval: Time
    """The time between two reports in the log."""
    microsecond_histograms: bool
    """The log's histograms count microseconds instead of milliseconds."""

class HostKeys(TypedDict, total=False):
    on_timeout: Literal["end", "reset"]
    abort: bool
    reset: Time
    retries: int

class Host(Section):
    """The host's driver, when a request waits too long."""
    def __init__(self, *, on_timeout: Literal["end", "reset"] = ..., abort: bool = ..., reset: Time = ..., retries: int = ...) -> None: ...
    on_timeout: Literal["end", "reset"]
    """The way with a request that is older than `measure.timeout`."""
    abort: bool
    """
    The first time an Abort is sent, which the drive does not heed: the request has another
    `measure.timeout` before the reset.
    """
    reset: Time
    """From the reset until the drive takes commands again."""
    retries: int
    """So often is a command sent again; then it ends with an error."""

class MeasureKeys(TypedDict, total=False):
    warmup: Time
    warmup_requests: int
    attribution: bool
    timeout: Time

class Measure(Section):
    """The measured part of a run."""
    def __init__(self, *, warmup: Time = ..., warmup_requests: int = ..., attribution: bool = ..., timeout: Time = ...) -> None: ...
    warmup: Time
    """Warm-up: requests that arrive before this time are issued but not counted."""
    warmup_requests: int
    """Warm-up: so many first requests are issued but not counted."""
    attribution: bool
    """Split every latency into what it was spent on; a run takes 1.4 to 1.9 times as long."""
    timeout: Time
    """
    A request that waits longer than this ends the run as starved, or makes the host reset
    the drive (`host.on_timeout`); 0s: never.
    """

class Scenario(Section):
    """A scenario: a built-in one, a file, or a text, and what lies over it."""
    def __init__(self, base: str | PathLike[str] = "oltp", *, text: str | None = None,
                 trace: str | PathLike[str] | None = None, name: str = ..., summary: str = ..., seed: int = ..., policies: Sequence[str] = ..., device: Device | DeviceKeys | str | PathLike[str] = ..., ftl: Ftl | FtlKeys = ..., gc: Gc | GcKeys = ..., rain: Rain | RainKeys = ..., erase: Erase | EraseKeys = ..., program: Program | ProgramKeys = ..., scrub: Scrub | ScrubKeys = ..., retry: Retry | RetryKeys = ..., ageing: Ageing | AgeingKeys = ..., faults: Fault | FaultKeys = ..., drive: Drive | DriveKeys = ..., recovery: Recovery | RecoveryKeys = ..., array: Array | ArrayKeys = ..., precondition: Precondition | PreconditionKeys = ..., workload: Workload | WorkloadKeys | str | PathLike[str] = ..., host: Host | HostKeys = ..., measure: Measure | MeasureKeys = ...) -> None: ...
    @classmethod
    def from_toml(cls, text: str, name: str = "scenario") -> Scenario:
        """The scenario of a text, as a scenario file has it."""
    def asked(self, sets: list[tuple[str, str, str]] | None = None,
              attribution: bool = False) -> _manx.Asked:
        """It, read; `sets` over its own keys."""
    def settings(self, policy: str | None = None) -> dict[str, Any]:
        """Every key with its value, as the run will have it; under `policy`, if one is named.

        Raises :class:`~manx.errors.InputError` where a value is not allowed.
        """
    def check(self) -> Scenario:
        """Itself, if it can be run.

        Raises :class:`~manx.errors.InputError` if it cannot.
        """
    def to_toml(self, policy: str | None = None) -> str:
        """The whole scenario as a file that ``manx run`` takes."""
    def copy(self) -> Scenario:
        """Another one with the same keys."""
    _whole: dict[str, str | None]
    name: str
    """The scenario's name."""
    summary: str
    """One line: what it shows."""
    seed: int
    """The root seed of every random stream."""
    policies: Sequence[str]
    """The policies that `compare` runs, the first being the baseline."""
    @property
    def device(self) -> Device:
        """
        The device: in a file, `name` picks a table of the library and the other keys override
        it.
        """
    @device.setter
    def device(self, value: Device | DeviceKeys) -> None: ...
    @property
    def ftl(self) -> Ftl:
        """Placement."""
    @ftl.setter
    def ftl(self, value: Ftl | FtlKeys) -> None: ...
    @property
    def gc(self) -> Gc:
        """Reclaiming."""
    @gc.setter
    def gc(self, value: Gc | GcKeys) -> None: ...
    @property
    def rain(self) -> Rain:
        """Parity inside the drive."""
    @rain.setter
    def rain(self, value: Rain | RainKeys) -> None: ...
    @property
    def erase(self) -> Erase:
        """How reads suspend an erase."""
    @erase.setter
    def erase(self, value: Erase | EraseKeys) -> None: ...
    @property
    def program(self) -> Program:
        """How reads suspend a program."""
    @program.setter
    def program(self, value: Program | ProgramKeys) -> None: ...
    @property
    def scrub(self) -> Scrub:
        """Bit errors and scrubbing."""
    @scrub.setter
    def scrub(self, value: Scrub | ScrubKeys) -> None: ...
    @property
    def retry(self) -> Retry:
        """Reads that do not decode at once."""
    @retry.setter
    def retry(self, value: Retry | RetryKeys) -> None: ...
    @property
    def ageing(self) -> Ageing:
        """The age of the flash, which the reads of `[retry]` meet."""
    @ageing.setter
    def ageing(self, value: Ageing | AgeingKeys) -> None: ...
    @property
    def faults(self) -> Fault:
        """Bad blocks: factory bad ones, and programs and erases that fail."""
    @faults.setter
    def faults(self, value: Fault | FaultKeys) -> None: ...
    @property
    def drive(self) -> Drive:
        """The drive around the flash."""
    @drive.setter
    def drive(self, value: Drive | DriveKeys) -> None: ...
    @property
    def recovery(self) -> Recovery:
        """Metadata that a drive keeps to recover from a power loss, and when there is one."""
    @recovery.setter
    def recovery(self, value: Recovery | RecoveryKeys) -> None: ...
    @property
    def array(self) -> Array:
        """The array, where there are several drives."""
    @array.setter
    def array(self, value: Array | ArrayKeys) -> None: ...
    @property
    def precondition(self) -> Precondition:
        """The state of the drive at the start."""
    @precondition.setter
    def precondition(self, value: Precondition | PreconditionKeys) -> None: ...
    @property
    def workload(self) -> Workload:
        """The requests of the host."""
    @workload.setter
    def workload(self, value: Workload | WorkloadKeys) -> None: ...
    @property
    def host(self) -> Host:
        """The host's driver, when a request waits too long."""
    @host.setter
    def host(self, value: Host | HostKeys) -> None: ...
    @property
    def measure(self) -> Measure:
        """The measured part of the run."""
    @measure.setter
    def measure(self, value: Measure | MeasureKeys) -> None: ...
