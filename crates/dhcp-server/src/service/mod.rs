//! What differs between the two daemons; everything else of the crate is written once for both.

pub(crate) mod v4;
mod v6;

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use dhcp_config::{
    Checked, ControlSocket, ExpiredLeases, ExtendedInfoChecks, GodwitSettings, Hook,
    InactiveFeature, LeaseChecks, LeaseDatabase, Logger, Problem, Reservation, SqlDatabase,
};
use dhcp_control::{Commanded, Selector, SubnetFacts};
use dhcp_engine::hosts::Reserving;
use dhcp_engine::protocol::Protocol;
use dhcp_lease::{LeaseTable, Leased};
use dhcp_store::sql::HostFamily;
use dhcp_store::sql::SharedRows;
use netio::Datagram;
use netio::packet::Packet;

use crate::ServerError;
use crate::doors::{Door, Doors, Lane, Listening, Steering};
use crate::frames::FrameCounters;
use crate::reload::Terms;

/// A reservation of a family as configured.
pub(crate) type HostOf<P> = Reservation<<P as Reserving>::Code, <P as Reserving>::Configured>;

/// A family that there is a daemon for: [`dhcp_lease::v4::V4`] or [`dhcp_lease::v6::V6`].
pub(crate) trait Service:
    Protocol<Ingress: Send, Destination: Send, Snapshot: Send + Sync, Work: Send>
    + Reserving<Place: Into<IpAddr>>
    + SharedRows
    + Commanded
{
    /// Name of the daemon, in log lines and of its threads.
    const NAME: &'static str;
    /// Kea's name for a lease file that the configuration does not name.
    const LEASE_FILE: &'static str;
    /// How the datagrams of a port are spread over the shards' sockets, by client where it can be told.
    const STEERING: Steering;
    /// The checked configuration.
    type Config;
    /// What stays as it was when the server started, however often it is configured anew.
    type Constants;

    /// Reads and checks the configuration in `path`.
    fn read(path: &Path, terms: Terms) -> Result<Checked<Self::Config>, ServerError>;

    /// Checks the configuration `text`, which problems call `name`, for a server whose configuration
    /// file is `configuration`.
    fn parse_text(
        name: &str,
        text: &str,
        configuration: &Path,
        terms: Terms,
    ) -> Result<Checked<Self::Config>, Vec<Problem>>;

    /// What both families configure alike.
    fn shared(config: &Self::Config) -> Common<'_>;

    /// Makes what stays.
    fn constants(config: &Self::Config) -> Result<Self::Constants, ServerError>;

    /// The snapshot to serve `config` by, its pools opened in `table`.
    fn compile(
        config: &Self::Config,
        constants: &Self::Constants,
        table: &LeaseTable<Self>,
    ) -> Arc<Self::Snapshot>;

    /// Whose columns of hosts in databases count.
    const HOST_FAMILY: HostFamily;

    /// Reads a reservation that stands outside of a configuration, a JSON map; `definitions` is the
    /// list `option-def`. Returns it with the warnings about it.
    fn read_host(
        definitions: &str,
        host: &str,
    ) -> Result<(HostOf<Self>, Vec<Problem>), Vec<Problem>>;

    /// The reservations of a subnet, or with 0 the global ones; `None` without such a subnet.
    fn hosts(config: &mut Self::Config, subnet_id: u32) -> Option<&mut Vec<HostOf<Self>>>;

    /// The subnets of `config`, in its order.
    fn outlines(config: &Self::Config) -> Vec<Outline>;

    /// The `id` of the subnet that a message would be given that came as `selector` says.
    fn select(snapshot: &Self::Snapshot, selector: &Selector) -> Option<u32>;

    /// The lease of `ip` as `kind`, whatever the length of a prefix.
    fn lease_at(
        table: &LeaseTable<Self>,
        ip: Self::Ip,
        kind: <Self as Commanded>::Kind,
    ) -> Option<Self::Lease>;

    /// What comes last of all that can be leased at `ip`, in the order of lists.
    fn last_at(ip: Self::Ip) -> Self::Address;

    /// Whether leases of `kind` are of prefixes.
    fn counts_prefixes(kind: <Self as Leased>::Kind) -> bool;

    /// How many subnets `snapshot` serves.
    fn subnet_count(snapshot: &Self::Snapshot) -> usize;

    /// The `id` of the subnet that a lease names, and of the one that holds it.
    fn subnets_of_lease<'l>(
        snapshot: &Self::Snapshot,
        lease: &'l mut Self::Lease,
    ) -> (&'l mut u32, Option<u32>);

    /// Returns how a datagram came in `at` a door of `doors`; `None` when it
    /// is not for us, or when another socket has a copy of it to serve.
    fn ingress(datagram: &Datagram<'_>, doors: &Doors, at: (&Door, Lane)) -> Option<Self::Ingress>;

    /// The message in a packet from a packet socket and how it came in; `None`, counted, when
    /// there is none for us.
    fn open<'p>(
        packet: &Packet<'p>,
        doors: &Doors,
        door: u16,
        counters: &FrameCounters,
    ) -> Option<(&'p [u8], Self::Ingress)>;
}

/// What both families configure alike.
pub(crate) struct Common<'c> {
    pub(crate) listening: Listening,
    pub(crate) godwit: &'c GodwitSettings,
    pub(crate) lease_database: &'c LeaseDatabase,
    pub(crate) hosts_databases: &'c [SqlDatabase],
    pub(crate) lease_checks: LeaseChecks,
    pub(crate) extended_info_checks: ExtendedInfoChecks,
    pub(crate) loggers: &'c [Logger],
    pub(crate) decline_probation_period_s: u32,
    pub(crate) control_sockets: &'c [ControlSocket],
    pub(crate) expired: &'c ExpiredLeases,
    pub(crate) hooks: &'c [Hook],
    pub(crate) inactive: &'c [InactiveFeature],
    /// `statistic-default-sample-count` and `statistic-default-sample-age`.
    pub(crate) samples: (u32, u32),
    /// `data-directory`.
    pub(crate) data_directory: Option<&'c str>,
}

/// A subnet as commands and statistics see it.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    pub(crate) facts: SubnetFacts,
    /// Its shared network.
    pub(crate) network: Option<String>,
    /// `pool-id` and size of its pools of addresses.
    pub(crate) pools: Vec<(u32, u128)>,
    /// The same of its pools of prefixes.
    pub(crate) prefix_pools: Vec<(u32, u128)>,
}
