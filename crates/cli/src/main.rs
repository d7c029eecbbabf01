//! manx
fn main() {}
