//! Differences between the DHCPv4 and the DHCPv6 daemon; the rest of the crate is written once for
//! both.

pub(crate) mod v4;
mod v6;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dhcp_config::{CheckedConfig, ConfigProblem, GlobalSettings, Reservation};
use dhcp_control::{CommandFamily, Selector, SubnetFacts};
use dhcp_engine::hosts::ReservationProtocol;
use dhcp_engine::protocol::Protocol;
use dhcp_engine::snapshot::Snapshot;
use dhcp_lease::{Lease, LeaseTable};
use dhcp_store::sql::HostFamily;
use dhcp_store::sql::SharedRows;
use netio::InboundDatagram;
use netio::packet::ReceivedPacket;

use crate::ServerError;
use crate::frames::FrameCounters;
use crate::listeners::{
    ListenerSet, ListenerSettings, ListenerSocketRole, ShardListener, Steering,
};
use crate::policy;
use crate::reload::ConfigurationReadOptions;

/// Reservation of a family as configured.
pub(crate) type HostOf<P> =
    Reservation<<P as ReservationProtocol>::Code, <P as ReservationProtocol>::Configured>;

/// Family that has a daemon: [`dhcp_lease::v4::V4`] or [`dhcp_lease::v6::V6`].
pub(crate) trait DaemonFamily:
    Protocol<Ingress: Send, Destination: Send, Work: Send>
    + ReservationProtocol<Place: Into<IpAddr>>
    + SharedRows
    + CommandFamily
{
    /// Name of the family's daemon, for log lines and its threads.
    const NAME: &'static str;
    /// File name that Kea gives to a lease file that the configuration does not name.
    const LEASE_FILE: &'static str;
    /// Rule that spreads the datagrams of a UDP port over the shards' sockets, by client where the
    /// message shows the client.
    const STEERING: Steering;
    /// Checked configuration of the family's server.
    type Config;
    /// Values of the family's server that do not change after its start, whatever the
    /// configuration, such as the DHCPv6 server's DUID.
    type Constants;

    /// Reads and checks the configuration file `path` of the family's server.
    fn read(
        path: &Path,
        terms: ConfigurationReadOptions,
    ) -> Result<CheckedConfig<Self::Config>, ServerError>;

    /// Checks the configuration `text` of the family's server, whose configuration file is
    /// `configuration`. Problems name the text `name`.
    fn parse_text(
        name: &str,
        text: &str,
        configuration: &Path,
        terms: ConfigurationReadOptions,
    ) -> Result<CheckedConfig<Self::Config>, Vec<ConfigProblem>>;

    /// Returns the settings of `config` that both families have.
    fn global(config: &Self::Config) -> &GlobalSettings;

    /// Returns the settings of the listeners that `config` requires.
    fn listening(config: &Self::Config) -> ListenerSettings;

    /// Returns the server's data folder: that of `_config`, else of the environment, else Kea's.
    fn data_folder(_config: &Self::Config) -> PathBuf {
        policy::DATA.path()
    }

    /// Makes the values that stay as they are while the server runs.
    fn constants(config: &Self::Config) -> Result<Self::Constants, ServerError>;

    /// Compiles the configuration snapshot of `config`, and opens its pools in `table`.
    fn compile(
        config: &Self::Config,
        constants: &Self::Constants,
        table: &LeaseTable<Self>,
    ) -> Arc<Snapshot<Self>>;

    /// Makes `snapshot` continue allocation in the subnets in which `previous` allocated last.
    fn follow(snapshot: &Snapshot<Self>, previous: &Snapshot<Self>);

    /// Family whose columns of hosts in databases the server reads.
    const HOST_FAMILY: HostFamily;

    /// Reads the reservation `host`, a JSON map outside of a configuration; `definitions` is the
    /// list `option-def`. Returns it with the warnings about it.
    fn read_host(
        definitions: &str,
        host: &str,
    ) -> Result<(HostOf<Self>, Vec<ConfigProblem>), Vec<ConfigProblem>>;

    /// Returns the reservations of the subnet `subnet_id`, or with 0 the global ones; `None`
    /// without such a subnet.
    fn hosts(config: &mut Self::Config, subnet_id: u32) -> Option<&mut Vec<HostOf<Self>>>;

    /// Returns summaries of the subnets of `config`, in its order.
    fn outlines(config: &Self::Config) -> Vec<SubnetSummary>;

    /// Returns the `id` of the subnet that serves a message with the properties `selector`
    /// (`subnet4-select-test`); `None` if no subnet does.
    fn select(snapshot: &Snapshot<Self>, selector: &Selector) -> Option<u32>;

    /// Returns the lease of `kind` at `ip` in `table`, with any length of a prefix.
    fn lease_at(table: &LeaseTable<Self>, ip: Self::Ip, kind: Self::Kind) -> Option<Lease<Self>>;

    /// Returns the last resource (address, or prefix of any length) at `ip` in the order in which
    /// leases are listed.
    fn last_at(ip: Self::Ip) -> Self::Address;

    /// Returns true if leases of `kind` are of delegated prefixes.
    fn counts_prefixes(kind: Self::Kind) -> bool;

    /// Returns the `id` of the subnet that `lease` fits in: the one that contains its address.
    fn fitting_subnet(snapshot: &Snapshot<Self>, lease: &Lease<Self>) -> Option<u32>;

    /// Returns the ingress of a datagram that came in at socket `lane` of listener `door` of
    /// `doors`; `None` if it is not for this server, or if another socket serves its copy.
    fn ingress(
        datagram: &InboundDatagram<'_>,
        doors: &ListenerSet,
        door: &ShardListener,
        lane: ListenerSocketRole,
    ) -> Option<Self::Ingress>;

    /// Returns the message in a packet from a packet socket and the message's ingress. Otherwise
    /// counts the packet and returns `None`.
    fn open<'p>(
        packet: &ReceivedPacket<'p>,
        doors: &ListenerSet,
        door: u16,
        counters: &FrameCounters,
    ) -> Option<(&'p [u8], Self::Ingress)>;
}

/// Summary of a subnet for commands and statistics.
#[derive(Clone, Debug)]
pub(crate) struct SubnetSummary {
    pub(crate) facts: SubnetFacts,
    /// Name of the subnet's shared network, if it has one.
    pub(crate) network: Option<String>,
    /// Pools of addresses of the subnet, by `pool-id` and size in addresses.
    pub(crate) pools: Vec<(u32, u128)>,
    /// Pools of prefixes of the subnet, by `pool-id` and size in prefixes.
    pub(crate) prefix_pools: Vec<(u32, u128)>,
}
