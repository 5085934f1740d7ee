//! Several relationships of high availability: Kea's checks of them together, and the relationship
//! that a subnet belongs to (`ha-server-name` in the user context of the subnet or of its shared
//! network).

use core::net::IpAddr;
use std::borrow::Cow;
use std::collections::BTreeMap;

use super::ha_peer::ReadPeer;
use super::high_availability::HaMode;
use crate::context::ParseContext;
use crate::json::{JsonContent, JsonValue};
use crate::source::SourcePosition;

/// Key of the name of a server in the user context of a subnet or shared network.
const SERVER_NAME: &str = "ha-server-name";

/// Relationships of a configuration, as far as other parts of it refer to them.
#[derive(Debug, Default)]
pub(crate) struct ReadRelationships {
    /// Number of relationships in the list.
    pub(super) count: usize,
    /// Positions of the relationships in the list, and of the peers in the file, by the names of
    /// the peers.
    servers: BTreeMap<String, (usize, SourcePosition)>,
    /// Positions of the peers that are the server itself, by their addresses and ports.
    listeners: BTreeMap<(IpAddr, u16), SourcePosition>,
}

impl ParseContext {
    /// Notes the servers `peers` of the relationship number `number`, which has the mode of
    /// `relationship`. If there are several relationships, each must be of the mode hot-standby,
    /// and no two have a server of one name.
    pub(super) fn check_hub(
        &mut self,
        number: usize,
        relationship: (SourcePosition, HaMode),
        peers: &[ReadPeer],
    ) {
        let (at, mode) = relationship;
        if self.relationships.count > 1 && mode != HaMode::HotStandby {
            let message = "multiple HA relationships are only supported for 'hot-standby' mode";
            self.error(at, message);
        }
        for ReadPeer { peer, at } in peers {
            let known = self.relationships.servers.get(&peer.name);
            match known.filter(|(other, _)| *other != number) {
                Some(&(_, other)) => {
                    let message = format!(
                        "server names must be unique for different relationships: a relationship \
                         '{}' already exists",
                        peer.name
                    );
                    self.error_with_second_position(*at, message, "the other is at", other);
                }
                None => {
                    self.relationships.servers.insert(peer.name.clone(), (number, *at));
                }
            }
        }
    }

    /// Checks that no other relationship has its socket for the partner at the address of `own`,
    /// the server itself.
    pub(super) fn check_listener(&mut self, own: &ReadPeer) {
        let address = (own.peer.address, own.peer.port);
        match self.relationships.listeners.insert(address, own.at) {
            None => {}
            Some(other) => {
                let url = &own.peer.url;
                let message = format!("`{url}` is the server itself in another relationship, too");
                self.error_with_second_position(own.at, message, "the other is at", other);
            }
        }
    }

    /// Returns the position of the relationship that the subnet at `subnet` belongs to, by `name`,
    /// the value of its `ha-server-name`. Warns if there are several relationships, and the subnet
    /// belongs to none: then the server drops the messages of its clients, as in Kea.
    pub(super) fn relationship_of_subnet(
        &mut self,
        subnet: SourcePosition,
        name: Option<&JsonValue>,
    ) -> Option<usize> {
        let has_several = self.relationships.count > 1;
        let Some(value) = name else {
            if has_several {
                let message =
                    format!("no relationship serves the subnet: it lacks `{SERVER_NAME}`");
                let help = "set it in the `user-context` of the subnet or its shared network to \
                            the name of a server of its relationship";
                self.warn_help(subnet, message, help);
            }
            return None;
        };
        let name = match &value.kind {
            JsonContent::Text(octets) => String::from_utf8_lossy(octets),
            _ => Cow::default(),
        };
        if name.is_empty() {
            self.warn(value.at, format!("'{SERVER_NAME}' must be a non-empty string"));
            return None;
        }
        let number = self.relationships.servers.get(&*name).map(|(number, _)| *number);
        if number.is_none() && has_several {
            let message =
                format!("no relationship serves the subnet: none has the server `{name}`");
            self.warn(value.at, message);
        }
        number
    }
}

/// Returns the value of `ha-server-name` in `context`, the user context of a subnet or shared
/// network.
pub(super) fn server_name(context: Option<&JsonValue>) -> Option<&JsonValue> {
    let JsonContent::Map(entries) = &context?.kind else { return None };
    entries.iter().find(|entry| *entry.key == *SERVER_NAME).map(|entry| &entry.value)
}
