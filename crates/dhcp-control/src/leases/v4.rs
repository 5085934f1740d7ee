//! DHCPv4 leases as commands give and show them.

use core::net::{IpAddr, Ipv4Addr};

use dhcp_lease::v4::{Lease, V4};
use dhcp_lease::{ClientId, LeaseState};
use serde_json::{Map, Value, json};

use super::shown::{Common, Given, hardware, identifier};
use crate::answer::Answer;
use crate::arguments::Fields;
use crate::backend::SubnetFacts;
use crate::family::{Commanded, FromCommand, IpVersion};
use crate::text::colon_hex;

/// Fewest and most octets of a client identifier.
pub(super) const CLIENT_ID_OCTETS: (usize, usize) = (2, 255);

impl Commanded for V4 {
    type Ip = Ipv4Addr;
    type Kind = ();
    const VERSION: IpVersion = IpVersion::V4;
    const FIRST: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
    const USUAL_KIND: () = ();

    fn ip(address: Ipv4Addr) -> Ipv4Addr {
        address
    }

    fn address(lease: &Lease) -> Ipv4Addr {
        lease.address
    }

    fn described(lease: &Lease) -> String {
        format!("address {}", lease.address)
    }

    fn kind(_lease: &Lease) {}

    fn kind_named(name: &str) -> Option<()> {
        ["IA_NA", "0", "IA_PD", "2", "V4", "3"].contains(&name).then_some(())
    }

    fn kind_name((): ()) -> &'static str {
        "V4"
    }

    fn subnet_id(lease: &Lease) -> u32 {
        lease.subnet_id
    }

    fn state(lease: &Lease) -> LeaseState {
        lease.state
    }

    fn user_context(lease: &mut Lease) -> &mut Box<str> {
        &mut lease.user_context
    }

    fn hostname(lease: &Lease) -> &str {
        &lease.hostname
    }

    fn has_dns_entry(lease: &Lease) -> bool {
        lease.fqdn_fwd || lease.fqdn_rev
    }

    fn iaid(_lease: &Lease) -> Option<u32> {
        None
    }

    fn to_json(lease: &Lease) -> Value {
        let mut map = Map::new();
        map.insert("ip-address".to_owned(), json!(lease.address.to_string()));
        map.insert("hw-address".to_owned(), json!(colon_hex(lease.hardware.octets())));
        if let Some(client_id) = &lease.client_id {
            map.insert("client-id".to_owned(), json!(colon_hex(client_id.octets())));
        }
        Common {
            subnet_id: lease.subnet_id,
            pool_id: lease.pool_id,
            cltt_s: lease.cltt_s,
            valid_lifetime_s: lease.valid_lifetime_s,
            fqdn_fwd: lease.fqdn_fwd,
            fqdn_rev: lease.fqdn_rev,
            hostname: &lease.hostname,
            state: lease.state,
            user_context: &lease.user_context,
        }
        .show(&mut map);
        Value::Object(map)
    }
}

impl FromCommand for V4 {
    fn from_json(
        fields: &Fields<'_>,
        subnet: &dyn Fn(u32, IpAddr) -> Option<SubnetFacts>,
        now_s: u64,
    ) -> Result<Lease, Answer> {
        let address: Ipv4Addr = fields.address("ip-address", 4)?;
        let hardware = hardware(fields.text("hw-address")?).map_err(Answer::error)?;
        let subnet = super::change::subnet_for(fields, address.into(), true, subnet)?;
        let (least, most) = CLIENT_ID_OCTETS;
        let client_id = match fields.optional_text("client-id")? {
            Some(text) => Some(identifier(text, least, most).map_err(Answer::error)?),
            None => None,
        };
        let given = Given::read(fields, &subnet, &address.to_string(), now_s)?;
        Ok(Lease {
            address,
            hardware,
            client_id: client_id.as_deref().map(ClientId::new),
            valid_lifetime_s: given.valid_lifetime_s,
            cltt_s: given.cltt_s,
            subnet_id: subnet.id,
            fqdn_fwd: given.fqdn_fwd,
            fqdn_rev: given.fqdn_rev,
            hostname: given.hostname,
            state: given.state,
            user_context: given.user_context,
            pool_id: given.pool_id,
        })
    }
}
