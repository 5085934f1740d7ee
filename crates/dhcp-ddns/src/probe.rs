//! Probes: an update that changes nothing shows if a server takes the updates of a zone.

use core::net::SocketAddr;

use dhcp_config::TsigKey;
use domain::base::iana::{Rcode, Rtype};
use ncr::UpdateName;

use crate::message::{self, UpdateAnswer};
use crate::tsig::{self, TsigFault};
use crate::updater::UpdateFailure;
use crate::zones::{DnsZones, UpdateServer, UpdateZone};

/// Ending of the names of zones of addresses.
const REVERSE: &[u8] = b"\x04arpa\0";

/// Probe of one server of a zone.
#[derive(Debug)]
pub struct ZoneProbe<'z> {
    zone: &'z UpdateZone,
    server: UpdateServer,
    key: Option<&'z TsigKey>,
}

/// Message of a probe, which judges the answers to it.
#[derive(Debug)]
pub struct ProbeMessage<'z> {
    id: u16,
    bytes: Vec<u8>,
    signature: Option<(&'z TsigKey, Vec<u8>)>,
}

/// Meaning of an answer to a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeAnswer {
    /// The server takes updates of the zone.
    Accepted,
    /// The server does not take updates of the zone, for this reason.
    Refused(String),
    /// Anyone may have sent the answer, so the server's own is awaited; the reason not to trust it.
    Untrusted(String),
}

impl DnsZones {
    /// Returns the probes of all servers of all zones, in the order of the configuration.
    pub fn probes(&self) -> impl Iterator<Item = ZoneProbe<'_>> {
        self.zones.iter().flat_map(|zone| {
            zone.servers.iter().map(|&server| ZoneProbe {
                zone,
                server,
                key: server.key.and_then(|index| self.keys.get(index)),
            })
        })
    }
}

impl<'z> ZoneProbe<'z> {
    /// Returns the name of the zone.
    #[must_use]
    pub const fn zone(&self) -> &UpdateName {
        &self.zone.name
    }

    /// Returns the address of the server.
    #[must_use]
    pub const fn server(&self) -> SocketAddr {
        self.server.address
    }

    /// Returns the name of the key that signs updates; `None` if they are not signed.
    #[must_use]
    pub fn key(&self) -> Option<&UpdateName> {
        self.key.map(|key| &key.name)
    }

    /// Returns the message with the identifier `id`: it deletes the records of the name `label` in
    /// the zone, which must not exist. Returns `None` if the zone's name is too long for that.
    #[must_use]
    pub fn message(&self, id: u16, label: &str, now_unix_s: u64) -> Option<ProbeMessage<'z>> {
        let zone = &self.zone.name;
        let rtype = if zone.canonical_wire().ends_with(REVERSE) { Rtype::PTR } else { Rtype::A };
        let owner = UpdateName::from_text(&format!("{label}.{zone}"))?;
        let mut bytes = message::deletion(id, zone, &owner, rtype);
        let signature = self.key.map(|key| (key, tsig::sign(key, &mut bytes, now_unix_s)));
        Some(ProbeMessage { id, bytes, signature })
    }
}

impl ProbeMessage<'_> {
    /// Returns the content of the datagram.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the meaning of a datagram from the server; `None` if it is no answer to this
    /// message.
    #[must_use]
    pub fn judge(&self, datagram: &[u8], now_unix_s: u64) -> Option<ProbeAnswer> {
        let answer = UpdateAnswer::parse(datagram).filter(|answer| answer.id == self.id)?;
        let verified = self
            .signature
            .as_ref()
            .map_or(Ok(()), |(key, signature)| tsig::verify(key, signature, datagram, now_unix_s));
        Some(match verified {
            Ok(()) if answer.rcode == Rcode::NOERROR => ProbeAnswer::Accepted,
            Ok(()) => ProbeAnswer::Refused(UpdateFailure::Refused(answer.rcode).to_string()),
            Err(TsigFault::Refused(code)) => {
                ProbeAnswer::Refused(UpdateFailure::Key(code).to_string())
            }
            Err(fault) => ProbeAnswer::Untrusted(UpdateFailure::Unsigned(fault).to_string()),
        })
    }
}
