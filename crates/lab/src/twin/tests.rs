//! Fits of drives that Manx itself measured.
