//! Values, keys and checks that the configurations of both servers have in common.
//!
//! A family of addresses is a type ([`family::ConfigFamily`]); the readers here are written once
//! and take names, examples and tables from it. Settings of one family alone are in its own module.

mod character_set;
pub(crate) mod class_list;
mod classes;
mod config;
mod control;
pub(crate) mod database;
mod ddns_tuning;
mod extended_regex;
pub(crate) mod family;
pub(crate) mod global;
pub(crate) mod godwit;
mod ha_own;
mod ha_peer;
mod ha_relationship;
pub(crate) mod ha_subnets;
pub(crate) mod high_availability;
pub(crate) mod hooks;
pub(crate) mod hosts;
pub(crate) mod inactive;
pub(crate) mod interfaces;
mod lease_query;
pub(crate) mod legal_log;
mod local_names;
pub(crate) mod loggers;
mod name_updates;
pub(crate) mod names;
pub(crate) mod networks;
pub(crate) mod options;
pub(crate) mod other_keys;
pub(crate) mod policy;
pub(crate) mod pools;
mod reservations;
pub(crate) mod root;
pub(crate) mod security;
pub(crate) mod sockets;
mod sql;
pub(crate) mod subnets;
pub(crate) mod terms;
mod types;
mod webhooks;
pub(crate) mod written_files;

pub use character_set::CharacterSet;
pub use classes::*;
pub use config::*;
pub use control::*;
pub use ddns_tuning::{DdnsTuning, SubnetHostname};
pub use global::{GlobalSettings, SampleLimits};
pub use high_availability::{
    HA_BACKUPS_MAX, HA_RELATIONSHIPS_MAX, HaLimits, HaMode, HaPause, HaPeer, HaRelationship, HaRole,
};
pub use inactive::{InactiveFeature, inactive_feature_names};
pub use lease_query::{BulkLeaseQuery, LeaseQuery};
pub use legal_log::{LegalLog, LegalLogDestination, LegalLogFiles, LegalLogSyslog, RotationUnit};
pub use local_names::{LocalNames, is_local_label};
pub use name_updates::{LifetimePart, NameUpdateKeys, NameUpdateSender};
pub use names::{NameKeys, ReplaceName};
pub use reservations::*;
pub use security::{Enforcement, Folders, SecurityPolicy};
pub use sql::{SqlDatabase, SqlKind, SqlTls, SslMode};
pub use types::*;
pub use webhooks::{WEBHOOKS_MAX, Webhook};
