//! Selection of the lease that `lease#-get`, `lease#-del` or `lease#-bulk-apply` names.

use dhcp_lease::{ClientKey, Lease, LeaseState};

use super::lease_fields::{CLIENT_ID_OCTETS, DUID_OCTETS, hardware, identifier};
use super::v6::EMPTY_DUID;
use crate::answer::CommandAnswer;
use crate::arguments::{ArgumentFields, integer, not_an_address};
use crate::backend::LeaseAdministration;
use crate::family::CommandFamily;
use crate::ip_version::IpVersion;

/// Selection of one lease, by its address or by its client and subnet.
pub(super) struct LeaseSelector<F: CommandFamily> {
    /// Kind of the selected lease: address or prefix.
    pub(super) kind: F::Kind,
    /// Address or client that selects the lease.
    pub(super) by: LeaseSelectorKey<F>,
}

/// Address or client that selects a lease.
pub(super) enum LeaseSelectorKey<F: CommandFamily> {
    /// IP address of the selected lease.
    Address(F::Ip),
    /// Client and subnet of the selected lease.
    Client(LeaseSelectorClient),
}

/// Client of a selected lease, and its subnet.
pub(super) struct LeaseSelectorClient {
    /// True if `octets` are the client's hardware address.
    is_hardware: bool,
    /// Bytes of the client's identifier.
    pub(super) octets: Vec<u8>,
    subnet_id: u32,
    /// IAID of the lease's identity association, for DHCPv6.
    iaid: u32,
}

fn whole_u32(fields: &ArgumentFields<'_>, name: &str) -> Result<Option<u32>, CommandAnswer> {
    let Some(value) = fields.get(name) else { return Ok(None) };
    let number = integer(value)
        .ok_or_else(|| CommandAnswer::error(format!("'{name}' parameter is not integer.")))?;
    u32::try_from(number).map(Some).map_err(|_| {
        CommandAnswer::error(format!("'{name}' parameter is not a 32 bit unsigned integer."))
    })
}

impl<F: CommandFamily> LeaseSelector<F> {
    /// Reads the selection of a lease from a command's arguments; `purpose` is the command's word
    /// in error texts, "Query" or "Delete".
    pub(super) fn read(
        fields: Option<ArgumentFields<'_>>,
        purpose: &str,
    ) -> Result<Self, CommandAnswer> {
        let fields =
            fields.ok_or_else(|| CommandAnswer::error("Parameters missing or are not a map."))?;
        if fields.get("update-ddns").is_some_and(|value| !value.is_boolean()) {
            return Err(CommandAnswer::error("'update-ddns' is not a boolean"));
        }
        let kind = match fields.optional_text("type")? {
            None => F::USUAL_KIND,
            Some(name) => F::kind_named(name).ok_or_else(|| {
                CommandAnswer::error(format!(
                    "Invalid lease type specified: {name}, only supported values are: IA_NA, \
                     IA_PD and V4"
                ))
            })?,
        };
        let by = match fields.get("ip-address") {
            None => LeaseSelectorKey::Client(client::<F>(&fields, purpose)?),
            Some(value) => {
                let text = value
                    .as_str()
                    .ok_or_else(|| CommandAnswer::error("'ip-address' is not a string."))?;
                LeaseSelectorKey::Address(address::<F>(text)?)
            }
        };
        Ok(Self { kind, by })
    }

    /// Returns the selected lease from `leases`; `None` if there is none.
    pub(super) fn find(&self, leases: &dyn LeaseAdministration<F>) -> Option<Lease<F>> {
        let client = match &self.by {
            LeaseSelectorKey::Address(ip) => return leases.find(*ip, self.kind),
            LeaseSelectorKey::Client(client) => client,
        };
        let key = match (client.is_hardware, F::VERSION) {
            (true, _) => ClientKey::Hardware(&client.octets),
            (false, IpVersion::V4) => ClientKey::Identifier(&client.octets),
            (false, IpVersion::V6) => ClientKey::Association(&client.octets, client.iaid),
        };
        let is_selected = |lease: &Lease<F>| {
            lease.subnet_id == client.subnet_id
                && lease.kind() == self.kind
                && F::iaid(lease).is_none_or(|iaid| iaid == client.iaid)
        };
        // A client that left an address for another has a released lease, too.
        let is_active = |lease: &Lease<F>| lease.state == LeaseState::Assigned;
        let mut selected: Vec<Lease<F>> =
            client_leases(leases, key).into_iter().filter(is_selected).collect();
        let at = selected.iter().position(is_active).unwrap_or(0);
        (!selected.is_empty()).then(|| selected.swap_remove(at))
    }
}

/// Returns the leases that the client with `key` has or had last, in ascending order. Declined
/// DHCPv6 leases, which have lost their client, are those of the DUID that commands show for them.
pub(super) fn client_leases<F: CommandFamily>(
    leases: &dyn LeaseAdministration<F>,
    key: ClientKey<'_>,
) -> Vec<Lease<F>> {
    let (ClientKey::Identifier(octets) | ClientKey::Association(octets, _)) = key else {
        return leases.client_leases(key);
    };
    if F::VERSION == IpVersion::V4 || *octets != EMPTY_DUID {
        return leases.client_leases(key);
    }
    let mut found = Vec::new();
    leases.for_each(&mut |lease| {
        if F::anonymous(lease).is_some() {
            found.push(lease.clone());
        }
    });
    found
}

/// Reads an IP address of the family `F` from text.
pub(super) fn address<F: CommandFamily>(text: &str) -> Result<F::Ip, CommandAnswer> {
    text.parse().map_err(|_| match text.parse::<core::net::IpAddr>() {
        Ok(_) => {
            CommandAnswer::error(format!("Invalid {} address specified: {text}", F::VERSION.name()))
        }
        Err(_) => CommandAnswer::error(not_an_address(text)),
    })
}

fn client<F: CommandFamily>(
    fields: &ArgumentFields<'_>,
    purpose: &str,
) -> Result<LeaseSelectorClient, CommandAnswer> {
    let subnet_id = whole_u32(fields, "subnet-id")?
        .ok_or_else(|| CommandAnswer::error("Mandatory 'subnet-id' parameter missing."))?;
    if F::VERSION == IpVersion::V4 && fields.get("iaid").is_some() {
        return Err(CommandAnswer::error("'iaid' parameter is specific to DHCPv6."));
    }
    let iaid = whole_u32(fields, "iaid")?.unwrap_or(0);
    let text = |name: &str| {
        fields.get(name).and_then(serde_json::Value::as_str).ok_or_else(|| {
            CommandAnswer::error(format!(
                "No 'ip-address' provided and '{name}' is either missing or not a string."
            ))
        })
    };
    let (kind, value) = (text("identifier-type")?, text("identifier")?);
    let octets = match kind {
        "hw-address" => hardware(value).map(|hardware| hardware.octets().to_vec()),
        "client-id" => identifier(value, CLIENT_ID_OCTETS),
        "duid" => identifier(value, DUID_OCTETS),
        other => {
            return Err(CommandAnswer::error(format!(
                "Incorrect identifier type: {other}, the only supported values are: hw-address, \
                 duid, client-id"
            )));
        }
    }
    .map_err(|why| CommandAnswer::error(format!("Bad '{kind}' identifier: {why}")))?;
    let number = F::VERSION.number();
    if (kind == "duid") != (F::VERSION == IpVersion::V6) {
        return Err(CommandAnswer::error(format!(
            "{purpose} by {kind} is not allowed in v{number}."
        )));
    }
    Ok(LeaseSelectorClient { is_hardware: kind == "hw-address", octets, subnet_id, iaid })
}
