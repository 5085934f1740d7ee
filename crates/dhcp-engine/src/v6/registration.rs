//! Registration of addresses that DHCPv6 clients chose themselves (RFC 9686): ADDR-REG-INFORM to
//! ADDR-REG-REPLY. The server allocates nothing; the client that registered an address last is
//! stored as its user.

use core::net::Ipv6Addr;

use dhcp_lease::v6::{
    Action, Change, Facts, FetchKeys, IaIdentity, LeaseExtra, LeaseState, LeaseTerms, Resource,
    ResourceKind, SlotOccupancy, SlotView, V6,
};
use dhcp_wire::v6::{MessageWriter, option};

use super::client::RequestingClient;
use super::transaction::Step;
use super::{DropReason, Snapshot, Transaction};
use crate::classify::PacketView6;
use crate::hosts::{HostBook, ReservationScope};
use crate::prefixes::SubnetIndex;
use crate::transaction::{NoReply, TransactionStep};

/// Address that a client registers by ADDR-REG-INFORM (RFC 9686).
#[derive(Clone, Copy, Debug)]
pub(super) struct Registration<'m> {
    address: Ipv6Addr,
    preferred_s: u32,
    valid_s: u32,
    subnet: SubnetIndex,
    /// Content of the client's IA Address option (5), which the ADDR-REG-REPLY repeats.
    option: &'m [u8],
    /// Version of the address's lease slot when the server decided; 0 when the address has no slot.
    version: u32,
}

impl<'m> Registration<'m> {
    /// Returns the registration that an ADDR-REG-INFORM requests.
    ///
    /// # Errors
    ///
    /// The reason why the message is dropped: registration is disabled, or the message breaks a
    /// rule of RFC 9686 §4.2.
    pub(super) fn from_packet(
        snapshot: &Snapshot,
        view: &PacketView6<'m>,
        client: &RequestingClient<'_>,
    ) -> Result<Self, DropReason> {
        if !snapshot.own.allows_registration {
            return Err(DropReason::Filtered);
        }
        let subnet = client.subnet.ok_or(DropReason::NoSubnet)?;
        let message = view.packet.message();
        if message.ias().next().is_some() {
            return Err(DropReason::UnexpectedAssociation);
        }
        let mut options = message.options().all(option::IAADDR);
        let only_option = match (options.next(), options.next()) {
            (Some(option), None) => Some(option),
            _ => None,
        };
        let registration = only_option.and_then(|option| {
            let (address, rest) = option.split_first_chunk::<16>()?;
            let (preferred, rest) = rest.split_first_chunk()?;
            Some(Self {
                address: Ipv6Addr::from(*address),
                preferred_s: u32::from_be_bytes(*preferred),
                valid_s: u32::from_be_bytes(*rest.first_chunk()?),
                subnet,
                option,
                version: 0,
            })
        });
        let registration = registration.ok_or(DropReason::InvalidRegistration)?;
        let nearest = view.packet.relays().next_back();
        let source = nearest.map_or_else(|| *view.ingress.source.ip(), |relay| relay.peer_address);
        let is_sound = source == registration.address
            && snapshot.is_on_link(subnet, source)
            && !is_reserved(snapshot, client.hosts, subnet, Resource::address(source));
        if is_sound { Ok(registration) } else { Err(DropReason::InvalidRegistration) }
    }

    fn resource(&self) -> Resource {
        Resource::address(self.address)
    }

    /// Writes the registered address into the ADDR-REG-REPLY.
    pub(super) fn put(&self, writer: &mut MessageWriter<'_>) {
        writer.option(option::IAADDR, self.option);
    }
}

/// Returns true if an address is reserved for any client, in a subnet of the link or globally.
fn is_reserved(
    snapshot: &Snapshot,
    hosts: HostBook<'_, V6>,
    subnet: SubnetIndex,
    resource: Resource,
) -> bool {
    let subnets = snapshot.link_subnets(subnet).iter();
    let scopes = subnets.map(|&member| ReservationScope::Subnet(snapshot.subnet(member).id));
    let mut scopes = scopes.chain([ReservationScope::Global]);
    !hosts.is_empty() && scopes.any(|scope| hosts.owner_of(scope, resource).is_some())
}

impl Transaction<'_> {
    /// Fetches the lease slot of the address to register (RFC 9686), then registers the address.
    pub(super) fn register(&mut self, facts: &[Facts]) -> Step<'_> {
        let Some(registration) = self.registration else {
            return TransactionStep::Done(Err(DropReason::InvalidRegistration.into()));
        };
        let Some(facts) = facts.first() else {
            let mut addresses = [None; dhcp_lease::v6::FETCHED_ADDRESSES_MAX];
            addresses[0] = Some(registration.resource());
            let keys = FetchKeys {
                identity: self.registrant(),
                addresses,
                pools: self.snapshot.pools(),
                candidate_pools: &[],
                is_candidate_spare: false,
            };
            return TransactionStep::Fetch(0, keys);
        };
        let slot = facts.address_slots[0];
        if slot.is_some_and(|slot| slot.occupancy == SlotOccupancy::Releasing) {
            return TransactionStep::Done(Err(NoReply::Wait(
                slot.map_or(0, |slot| slot.row_epoch),
            )));
        }
        if slot.is_some_and(|slot| is_leased(&slot)) {
            return TransactionStep::Done(Err(DropReason::InvalidRegistration.into()));
        }
        let version = slot.map_or(0, |slot| slot.version);
        self.gate_epoch = slot.map_or(0, |slot| slot.row_epoch);
        self.registration = Some(Registration { version, ..registration });
        TransactionStep::Commit
    }

    fn registrant(&self) -> IaIdentity<'_> {
        IaIdentity { duid: self.client.duid, kind: ResourceKind::Address, iaid: 0 }
    }

    /// Returns the change of the lease by which the address is registered.
    pub(super) fn registering(&self, registration: &Registration<'_>) -> Change<'_> {
        Change {
            identity: self.registrant(),
            address: registration.resource(),
            expected_version: registration.version,
            action: Action::Register(LeaseTerms {
                valid_lifetime_s: registration.valid_s,
                subnet_id: self.snapshot.subnet(registration.subnet).id,
                pool_id: 0,
                fqdn_fwd: self.updates().forward,
                fqdn_rev: self.updates().reverse,
                hostname: self.name,
                user_context: "",
                extra: LeaseExtra {
                    preferred_lifetime_s: registration.preferred_s,
                    hardware: self.client.hardware.0,
                    hardware_source: self.client.hardware.1,
                },
            }),
        }
    }
}

/// Returns true if the server leased the address in `slot` itself, or if a client declined it.
fn is_leased(slot: &SlotView) -> bool {
    match slot.occupancy {
        SlotOccupancy::Leased => slot.state != LeaseState::Registered,
        SlotOccupancy::Declined => true,
        SlotOccupancy::Free | SlotOccupancy::Held | SlotOccupancy::Releasing => false,
    }
}
