//! What is counted: histograms, percentiles, the result of a run.
