//! The tests of the command line, one module each: one executable links once.

mod act;
mod bad_input;
mod command_line;
mod commands;
mod conversions;
mod convert;
mod docs;
mod documents;
mod explain;
mod lab;
mod outputs;
mod packaging;
mod plan;
mod plot;
mod recipes;
mod report_browser;
mod robust;
mod schema;
mod screens;
mod state;
mod support;
mod sweep;
mod timeline;
mod trace_info;
mod words;
mod workload;
