//! Readers, sniffer and errors by hand-made fixtures.
