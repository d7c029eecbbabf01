//! A path of policies, resolved: its parts in order, each with its parameter in its overlay.

use super::{ALIASES, Axis, ERASE_GC, POLICIES, Parameter, Policy, TURNS_GC};
use crate::error::ConfigError;
use crate::nearest_few;
use manx_core::units::{Bytes, Duration};

/// A policy as a path names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Which one.
    pub policy: &'static Policy,
    /// The part of the path, with its parameter.
    pub name: String,
    /// The overlay, as TOML, with the parameter.
    pub overlay: String,
}

/// Characters that join the parts of a path.
const JOINTS: [char; 2] = ['/', '+'];

/// The policies that `name` stands for, in the order they are laid over a scenario.
pub fn resolve_policy(name: &str) -> Result<Vec<Chosen>, ConfigError> {
    // An alias may hold what joins the parts of a path.
    let with_joints = ALIASES.iter().filter(|alias| alias.name.contains(JOINTS));
    let spelled =
        with_joints.fold(name.to_string(), |name, alias| name.replace(alias.name, alias.path));
    let plain =
        |part| ALIASES.iter().find(|alias| alias.name == part).map_or(part, |alias| alias.path);
    if !name.trim().is_empty() && spelled.split(JOINTS).any(|part| part.trim().is_empty()) {
        return Err(ConfigError::new(format!("policy `{name}`: a part of the path is empty")));
    }
    let words = spelled
        .split(JOINTS)
        .flat_map(|word| plain(word).split(JOINTS).map(move |part| (word, part)));
    let (words, mut parts): (Vec<&str>, Vec<Chosen>) = words
        .map(|(word, name)| Ok((word, part(name)?)))
        .collect::<Result<Vec<_>, ConfigError>>()?
        .into_iter()
        .unzip();
    for (i, later) in parts.iter().enumerate() {
        if let Some(at) =
            parts[..i].iter().position(|earlier| earlier.policy.axis == later.policy.axis)
        {
            // A paper's name stands for parts that nobody wrote.
            let named = |at: usize| match words[at] == parts[at].name {
                true => parts[at].name.clone(),
                false => format!("{} (part of {})", parts[at].name, words[at]),
            };
            let (a, b, axis) = (named(at), named(i), later.policy.axis);
            return Err(ConfigError::new(format!(
                "policy `{name}`: {a} and {b} both decide {axis}; a path has at most one part for \
                 each axis"
            )));
        }
    }
    let decides = |axis| parts.iter().any(|part| part.policy.axis == axis);
    let presumed = match decides(Axis::Turns) {
        true => Some(TURNS_GC),
        false => decides(Axis::Erase).then_some(ERASE_GC),
    };
    if let Some(presumed) = presumed.filter(|_| !decides(Axis::Gc)) {
        parts.insert(0, part(presumed)?);
    }
    Ok(parts)
}

fn part(name: &str) -> Result<Chosen, ConfigError> {
    let (plain, parameter) = match name.strip_suffix(')').and_then(|name| name.split_once('(')) {
        Some((plain, parameter)) => (plain, Some(parameter.trim())),
        None => (name, None),
    };
    let Some(policy) = POLICIES.iter().find(|policy| policy.name == plain) else {
        let names =
            POLICIES.iter().map(|policy| policy.name).chain(ALIASES.iter().map(|alias| alias.name));
        let all = "(`manx policy list` has them all: nogc, base, preemptive, ..)";
        return Err(ConfigError::new(format!(
            "there is no policy `{name}`{} {all}",
            nearest_few(plain, names)
        )));
    };
    let overlay = match (parameter, policy.parameter) {
        (None, Some(Parameter::OneOf(key, values))) => {
            format!("{}{key} = \"{}\"\n", policy.overlay, values[0])
        }
        (None, Some(Parameter::Size(key, size))) => {
            format!("{}{key} = \"{size}\"\n", policy.overlay)
        }
        (None, _) => policy.overlay.to_string(),
        (Some(_), None) => {
            return Err(ConfigError::new(format!("policy `{name}`: {plain} has no parameter")));
        }
        (Some(value), Some(Parameter::OneOf(key, values))) => {
            if !values.contains(&value) {
                let all = values.join(", ");
                let why = format!(
                    "policy `{name}`: `{value}` is not allowed for {key}: it is one of {all}"
                );
                return Err(ConfigError::new(why));
            }
            format!("{}{key} = \"{value}\"\n", policy.overlay)
        }
        (Some(value), Some(Parameter::Size(key, _))) => match value.parse::<Bytes>() {
            Ok(size) => format!("{}{key} = \"{size}\"\n", policy.overlay),
            Err(why) => {
                return Err(ConfigError::new(format!(
                    "policy `{name}`: `{value}` is not allowed for {key}: {why}"
                )));
            }
        },
        (Some(value), Some(Parameter::Time(key))) => match value.parse::<Duration>() {
            Ok(time) => format!("{}{key} = \"{time}\"\n", policy.overlay),
            Err(why) => {
                return Err(ConfigError::new(format!(
                    "policy `{name}`: `{value}` is not allowed for {key}: {why}"
                )));
            }
        },
    };
    Ok(Chosen { policy, name: name.to_string(), overlay })
}
