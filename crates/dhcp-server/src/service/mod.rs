//! Differences between the DHCPv4 and the DHCPv6 daemon; the rest of the crate is written once for
//! both.

pub(crate) mod v4;
mod v6;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use dhcp_config::{ConfigReservation, DhcpConfig, ReadConfig, SubnetConfig};
use dhcp_control::{CommandFamily, Selector, SubnetFacts};
use dhcp_engine::bulk::BulkProtocol;
use dhcp_engine::classify::Classes;
use dhcp_engine::protocol::Protocol;
use dhcp_engine::snapshot::Snapshot;
use dhcp_lease::{Lease, LeaseTable};
use dhcp_store::sql::HostFamily;
use dhcp_store::sql::SharedRows;
use netio::InboundDatagram;
use netio::packet::ReceivedPacket;
use serde_json::Value;

use crate::ServerError;
use crate::events::{DelegatedPrefix, LegalLogFamily, NameChangeFamily, ScriptFamily};
use crate::frames::FrameCounters;
use crate::listeners::{
    ListenerSet, ListenerSettings, ListenerSocketRole, ShardListener, Steering,
};
use crate::policy;

/// Reservation of a family as configured.
pub(crate) type HostOf<P> = ConfigReservation<P>;

/// Family that has a daemon: [`dhcp_lease::v4::V4`] or [`dhcp_lease::v6::V6`].
pub(crate) trait DaemonFamily:
    Protocol<Ingress: Send, Destination: Send, Work: Send>
    + ReadConfig<IpAddress: Into<IpAddr>>
    + SharedRows
    + CommandFamily
    + BulkProtocol
    + LegalLogFamily
    + NameChangeFamily
    + ScriptFamily
{
    /// Name of the family's daemon, for log lines and its threads.
    const NAME: &'static str;
    /// File name that Kea gives to a lease file that the configuration does not name.
    const LEASE_FILE: &'static str;
    /// Rule that spreads the datagrams of a UDP port over the shards' sockets, by client where the
    /// message shows the client.
    const STEERING: Steering;
    /// Values of the family's server that do not change after its start, whatever the
    /// configuration, such as the DHCPv6 server's DUID.
    type Constants;

    /// Compiles the client classes of `config` for expressions over messages outside of the engine.
    fn client_classes(config: &DhcpConfig<Self>) -> Classes;

    /// Returns the settings of the listeners that `config` requires.
    fn listening(config: &DhcpConfig<Self>) -> ListenerSettings;

    /// Returns the server's data folder: that of `_config`, else of the environment, else Kea's.
    fn data_folder(_config: &DhcpConfig<Self>) -> PathBuf {
        policy::DATA.path()
    }

    /// Makes the values that stay as they are while the server runs.
    fn constants(config: &DhcpConfig<Self>) -> Result<Self::Constants, ServerError>;

    /// Compiles the configuration snapshot of `config`, and opens its pools in `table`.
    fn compile(
        config: &DhcpConfig<Self>,
        constants: &Self::Constants,
        table: &LeaseTable<Self>,
    ) -> Arc<Snapshot<Self>>;

    /// Makes `snapshot` continue allocation in the subnets in which `previous` allocated last.
    fn follow(snapshot: &Snapshot<Self>, previous: &Snapshot<Self>) {
        snapshot.preference.follow(&previous.preference);
    }

    /// Family whose columns of hosts in databases the server reads.
    const HOST_FAMILY: HostFamily;

    /// Returns the reservation `host`, a JSON map outside of a configuration, as `config-get` shows
    /// one; `definitions` is the list `option-def`.
    fn host_document(definitions: &Value, host: Value) -> Value;

    /// Returns the addresses and prefixes, of any length, that begin at `address`; none if that is
    /// of the other family.
    fn addresses_at(address: IpAddr) -> Vec<Self::Address>;

    /// Returns the reservations of the subnet `subnet_id`, or with 0 the global ones; `None`
    /// without such a subnet.
    fn hosts(config: &mut DhcpConfig<Self>, subnet_id: u32) -> Option<&mut Vec<HostOf<Self>>> {
        if subnet_id == 0 {
            return Some(&mut config.reservations);
        }
        let subnet = config.subnets.iter_mut().find(|subnet| subnet.id == subnet_id)?;
        Some(&mut subnet.reservations)
    }

    /// Returns the `pool-id` and size in prefixes of each pool of prefixes of `subnet`.
    fn prefix_pools(_subnet: &SubnetConfig<Self>) -> Vec<(u32, u128)> {
        Vec::new()
    }

    /// Returns summaries of the subnets of `config`, in its order.
    fn outlines(config: &DhcpConfig<Self>) -> Vec<SubnetSummary> {
        let bits = |address| -> u128 { Self::Bits::from(address).into() };
        let outline = |subnet: &SubnetConfig<Self>| SubnetSummary {
            facts: SubnetFacts {
                id: subnet.id,
                prefix: subnet.prefix.0.into(),
                length: subnet.prefix.1,
                valid_lifetime_s: subnet.valid_lifetime.default_s,
            },
            network: subnet.network.map(|at| config.networks[at].name.clone()),
            pools: subnet
                .pools
                .iter()
                .map(|pool| (pool.pool_id, (bits(pool.last) - bits(pool.first)).saturating_add(1)))
                .collect(),
            prefix_pools: Self::prefix_pools(subnet),
            relationship: subnet.relationship,
        };
        config.subnets.iter().map(outline).collect()
    }

    /// Returns the `id` of the subnet that serves a message with the properties `selector`
    /// (`subnet4-select-test`); `None` if no subnet does.
    fn select(snapshot: &Snapshot<Self>, selector: &Selector) -> Option<u32>;

    /// Returns the lease of `kind` at `ip` in `table`, with any length of a prefix.
    fn lease_at(table: &LeaseTable<Self>, ip: Self::Ip, kind: Self::Kind) -> Option<Lease<Self>>;

    /// Returns the last resource (address, or prefix of any length) at `ip` in the order in which
    /// leases are listed.
    fn last_at(ip: Self::Ip) -> Self::Address;

    /// Name of the file with the names for local resolvers, without its extension.
    const LOCAL_NAMES: &'static str;

    /// Returns the IP address of a host that `address` stands for; `None` for a prefix.
    fn host_address(address: Self::Address) -> Option<IpAddr>;

    /// Returns the addresses that reservations in `config` keep for clients with a host name.
    fn reserved_names(config: &DhcpConfig<Self>) -> Vec<(IpAddr, &str)>;

    /// Returns the prefix that `address` stands for; `None` for an address.
    fn delegated_prefix(_address: Self::Address) -> Option<DelegatedPrefix> {
        None
    }

    /// Returns true if leases of `kind` are of delegated prefixes.
    fn counts_prefixes(kind: Self::Kind) -> bool;

    /// Returns the `id` of the subnet that `lease` fits in: the one that contains its address.
    fn fitting_subnet(snapshot: &Snapshot<Self>, lease: &Lease<Self>) -> Option<u32>;

    /// Returns the name of the type of the client's message `octets`, a UDP payload; `None` if it
    /// has no type.
    fn message_name(octets: &[u8]) -> Option<&'static str>;

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
    /// Position of the subnet's relationship of high availability; `None` if it names none.
    pub(crate) relationship: Option<usize>,
}
