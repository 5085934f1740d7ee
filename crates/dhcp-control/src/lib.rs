//! Control commands of the DHCP servers: a command is a JSON value, and so is its answer.
//!
//! [`execute`] parses a command, executes it on a [`CommandBackend`] and makes the answer, in the
//! words and numbers of ISC Kea, so that Kea's clients work unchanged. It returns commands about
//! statistics for the [`statistics`], which a server may keep in another thread, where they delay
//! nothing. No JSON input makes it panic. The crate has the commands of the server itself, those of
//! Kea's hook libraries for leases, statistics, hosts, subnets and classes, and the [`statistics`]
//! with their samples. The daemon handles sockets, HTTP, permissions, and the meaning of a
//! configuration. RFC to read first: 8259; otherwise Kea's manual.

mod answer;
mod arguments;
mod backend;
mod classes;
mod command;
mod configuration;
mod core;
mod ddns;
mod digest;
mod dispatch;
mod document;
mod exporter;
mod extended_info;
mod family;
mod high_availability;
mod host_databases;
mod hosts;
mod interfaces;
mod ip_version;
mod leases;
mod other_family;
mod prometheus;
mod secrets;
mod service;
mod stat;
pub mod statistics;
mod subnet_facts;
mod subnets;
mod text;

pub use answer::{CommandAnswer, ResultCode};
pub use backend::{
    ApplyFailure, ChangedLeasesPage, CleanupStartResult, CommandBackend, HostChange,
    LeaseAdministration, NameUpdates, PutFailure, Selected, Selector, ServerVersion, Status,
    WrittenFile,
};
pub use command::CommandExecution;
pub use ddns::{
    UpdaterBackend, UpdaterShutdown, UpdaterStatistics, UpdaterStatus, execute_updater_command,
};
pub use dispatch::{execute, test_configuration};
pub use document::reservations_of;
pub use exporter::ExporterLabels;
pub use extended_info::{ExtendedInfo, check_extended_info};
pub use family::CommandFamily;
pub use high_availability::{answer_of_relationship, checked_partner_lease, lease_of_partner};
pub use host_databases::{ClientIdentifier, HostCriterion, HostDatabases, HostPage, StoredHost};
pub use interfaces::InterfaceFacts;
pub use ip_version::IpVersion;
pub use prometheus::{Latency, MetricsSnapshot, ProcessFacts, prometheus};
pub use secrets::restore_secrets;
pub use service::{HA_LOCAL, HA_REMOTE, ServiceState};
pub use subnet_facts::SubnetFacts;
pub use text::{kea_json, time_stamp};
