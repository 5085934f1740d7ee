//! DHCPv4 leases in control commands and their answers.

use core::net::{IpAddr, Ipv4Addr};

use dhcp_lease::ClientId;
use dhcp_lease::v4::{Lease, LeaseClient, V4};
use serde_json::{Map, Value, json};

use super::lease_fields::{CLIENT_ID_OCTETS, hardware, identifier, read_common, subnet_for};
use crate::answer::CommandAnswer;
use crate::arguments::ArgumentFields;
use crate::family::{CommandFamily, FromCommand};
use crate::ip_version::IpVersion;
use crate::subnet_facts::SubnetFacts;
use crate::text::colon_hex;

impl CommandFamily for V4 {
    type Ip = Ipv4Addr;
    type Other = dhcp_lease::v6::V6;
    const VERSION: IpVersion = IpVersion::V4;
    const FIRST: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
    const USUAL_KIND: () = ();

    fn ip(address: Ipv4Addr) -> Ipv4Addr {
        address
    }

    fn resource_text(lease: &Lease) -> String {
        format!("address {}", lease.address)
    }

    fn kind_named(name: &str) -> Option<()> {
        ["IA_NA", "0", "IA_PD", "2", "V4", "3"].contains(&name).then_some(())
    }

    fn kind_name(_kind: ()) -> &'static str {
        "V4"
    }

    fn iaid(_lease: &Lease) -> Option<u32> {
        None
    }

    fn anonymous(lease: &Lease) -> Option<&'static str> {
        let has_client_id = lease.client.identifier().is_some_and(|id| !id.is_empty());
        let is_somebodys = has_client_id || !lease.client.hardware.is_empty();
        (!is_somebodys).then_some(" has neither hardware address or client id")
    }

    fn show_own(lease: &Lease, map: &mut Map<String, Value>) {
        map.insert("ip-address".to_owned(), json!(lease.address.to_string()));
        map.insert("hw-address".to_owned(), json!(colon_hex(lease.client.hardware.octets())));
        if let Some(client_id) = lease.client.identifier() {
            map.insert("client-id".to_owned(), json!(colon_hex(client_id)));
        }
    }
}

impl FromCommand for V4 {
    fn from_json(
        fields: &ArgumentFields<'_>,
        subnet: &dyn Fn(u32, IpAddr) -> Option<SubnetFacts>,
        now_s: u64,
    ) -> Result<Lease, CommandAnswer> {
        let address: Ipv4Addr = fields.address("ip-address", 4)?;
        let hardware = hardware(fields.text("hw-address")?).map_err(CommandAnswer::error)?;
        let subnet = subnet_for(fields, address.into(), true, subnet)?;
        let client_id = match fields.optional_text("client-id")? {
            Some(text) => Some(identifier(text, CLIENT_ID_OCTETS).map_err(CommandAnswer::error)?),
            None => None,
        };
        let client = LeaseClient { hardware, client_id: client_id.as_deref().map(ClientId::new) };
        read_common(fields, address, client, &subnet, now_s)
    }
}
