//! The Python package, by an interpreter in the virtual environment of the tests (`make deps`).

mod python;
