//! `manx sweep`.

use super::{SharedArgs, whole};
use clap::Args as ClapArgs;

const EXAMPLES: &str = "Examples:
  manx sweep quick --grid device.op=0.2..0.4+0.05 --grid gc.soft=0.05,0.08 \
--pareto p99_9,waf --out op-gc
  manx sweep quick --policies base,preemptive --random workload.rate=500..8000:log \
--points 100 --out rates
  manx sweep --pareto p99,max:iops --out rates      the Pareto front of what lies there, \
without a run
  manx sweep quick --grid device.op=0.2..0.4+0.05 --where 'p99_9<20ms' --minimise device.op \
--out least
  manx sweep quick --grid gc.soft=0.05,0.08 --seeds 20 --dask tcp://127.0.0.1:8786 --out seeds";

/// `manx sweep`.
#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES)]
pub struct SweepArgs {
    /// The policies, each with every point [default: the scenario as it is written]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub policies: Vec<String>,
    /// A key and its values, a list of values and ranges LOW..HIGH+STEP and LOW..HIGH*FACTOR;
    /// several keys are multiplied, the first being the slowest (repeatable)
    #[arg(long, value_name = "KEY=V1,V2,..")]
    pub grid: Vec<String>,
    /// A key and where its values are drawn from: LOW..HIGH evenly, LOW..HIGH:log evenly in the
    /// logarithm, or a set V1|V2|.. (repeatable)
    #[arg(long, value_name = "KEY=LOW..HIGH")]
    pub random: Vec<String>,
    /// Loads, as shares of the scenario's rate or of the trace's: 0.5..1.2 (in steps of 0.1) or
    /// 0.5..1.2+0.05; prints latency against throughput and the knee
    #[arg(long, value_name = "LOW..HIGH", conflicts_with_all = ["pareto", "minimise"])]
    pub load: Option<String>,
    /// Draw so many points for --random; more points begin with the same ones
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub points: Option<u64>,
    /// Repeat each point with so many seeds, from --seed on [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub seeds: Option<u64>,
    /// The numbers of each row: short names (p99_99, waf) and paths in result.json (write.p99_us)
    /// [default: every short name]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Print the points that no other point beats in all of these quantities; max:NAME where more
    /// is better; NAME<VALUE and NAME>VALUE leave out points beyond a bound
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub pareto: Vec<String>,
    /// Print the point with the least of this, a quantity or device.op, among those that --where
    /// leaves
    #[arg(long, value_name = "NAME", conflicts_with = "pareto")]
    pub minimise: Option<String>,
    /// Leave out points beyond this: p99_99<2ms, iops>5000 (repeatable)
    #[arg(long = "where", value_name = "NAME<VALUE")]
    pub bounds: Vec<String>,
    /// Leave out points that cannot be run, and list them in skipped.txt
    #[arg(long)]
    pub skip_invalid: bool,
    /// Run the points on the workers of this Dask scheduler; needs a Python with this build of
    /// manx-ssd and with Dask, which MANX_PYTHON names [default: python3]
    #[arg(long, value_name = "ADDRESS")]
    pub dask: Option<String>,
    /// Ask this in a folder that was asked something else; what both need is not run again
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub shared: SharedArgs,
}
