//! DHCP daemon for both families: reads Kea's configuration, opens sockets and the lease file, runs
//! one thread per shard and one that writes lease rows, reloads on SIGHUP and ends cleanly on
//! SIGTERM.
//!
//! `dhcp-engine` decides the outcome of a message, and `dhcp-store` makes leases durable. This
//! crate only connects them to sockets, files and signals.

mod admission;
mod control;
mod ddns;
mod error;
mod events;
mod frames;
#[cfg(test)]
mod free_port;
mod ha;
mod hosts;
mod http_client;
mod latency;
mod lease_query;
mod leases;
mod listeners;
mod loading;
mod log;
mod loggers;
mod message_log;
mod panics;
mod pid_file;
mod policy;
mod published;
mod reload;
mod server;
mod server_id;
mod service;
mod service_switch;
mod shard_loop;
mod supervisor;
mod transmit;
mod version;
mod watchdog;

pub use admission::refuse_dangerous;
pub use ddns::{
    UpdaterSettings, ZoneCheck, check_zones, read_update_zones, read_updater_configuration,
    run_ddns,
};
pub use dhcp_control::IpVersion;
pub use error::ServerError;
pub use http_client::{ClientTls, CommandFailure, CommandRequest, CommandResponse, send_command};
pub use listeners::{missing_dhcp4, missing_dhcp6};
pub use log::{counted, identifier};
pub use reload::{
    ConfigurationReadOptions, FileIncludeResolver, RequiredValidity, read_configuration,
};
pub use server::{DaemonSettings, run_dhcp4, run_dhcp6};
pub use version::{KEA_LEVEL, build_report, extended_version, updater_extended_version};
