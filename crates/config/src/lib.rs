//! Scenarios, device tables and policies: read, merged, validated into types that cannot be wrong.
//!
//! The order of a load is the order of the files: `library` holds what is compiled in, [`load`]
//! lays device table, scenario, policy and overrides over each other, `keys` knows every key,
//! [`validate`] says what a value may be. `workload` reads the profiles that take the place of a
//! scenario's workload, `unread` knows the keys that a choice leaves without a use. Each complaint
//! is one [`ConfigError`] that names the place, the key, the value and what is allowed.
//!
//! Architecture invariant: nothing here opens a file. Text comes in; who reads it (the lab) says
//! what it is called. The types of the settings are the model's, in the rooms that they set; the
//! model reads no text.

mod error;
mod keys;
mod layer;
mod library;
mod load;
mod path;
mod policy;
mod replaced;
mod scenario;
mod tree;
mod unread;
mod validate;
mod workload;

pub use error::ConfigError;
pub use keys::{nearest, nearest_few, scenario_schema};
pub use library::{
    builtin_device, builtin_scenario, builtin_workload, device_names, devices, scenario_names,
    workload_names,
};
pub use load::{Input, Override, Source, device_name, load, load_device, overlaid};
pub use path::PolicyPath;
pub use policy::{
    ALIASES, Alias, Axis, Chosen, ERASE_GC, POLICIES, Parameter, Policy, resolve_policy,
};
pub use replaced::Overlaid;
pub use scenario::{MeasureSpec, Scenario};
pub use unread::why_unread;
pub use validate::{Invalid, validate, validate_device};
pub use workload::{Profile, load_profile, split_parameter};
