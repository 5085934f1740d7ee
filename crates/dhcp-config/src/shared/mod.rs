//! Values, keys and checks that the configurations of both servers have in common.
//!
//! A family of addresses is a type ([`family::ConfigFamily`]); the readers here are written once
//! and take names, examples and tables from it. Settings of one family alone are in its own module.

mod character_set;
pub(crate) mod class_list;
mod classes;
mod control;
pub(crate) mod database;
mod extended_regex;
pub(crate) mod family;
pub(crate) mod global;
pub(crate) mod godwit;
pub(crate) mod hooks;
pub(crate) mod hosts;
pub(crate) mod inactive;
pub(crate) mod interfaces;
pub(crate) mod loggers;
pub(crate) mod names;
pub(crate) mod networks;
pub(crate) mod options;
pub(crate) mod other_keys;
pub(crate) mod policy;
pub(crate) mod pools;
mod reservations;
pub(crate) mod security;
pub(crate) mod sockets;
mod sql;
pub(crate) mod subnets;
pub(crate) mod terms;
mod types;
pub(crate) mod written_files;

pub use character_set::CharacterSet;
pub use classes::*;
pub use control::*;
pub use global::{GlobalSettings, SampleLimits};
pub use inactive::{InactiveFeature, inactive_feature_names};
pub use names::{NameKeys, ReplaceName};
pub use reservations::*;
pub use security::{Enforcement, Folders, SecurityPolicy};
pub use sql::{SqlDatabase, SqlKind, SqlTls, SslMode};
pub use types::*;
