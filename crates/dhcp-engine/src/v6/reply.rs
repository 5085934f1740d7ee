//! Replies of DHCPv6: their content and their bytes (RFC 9915 §18.3.9, §18.3.10).

use core::net::Ipv6Addr;

use dhcp_lease::v6::{Resource, ResourceKind};
use dhcp_wire::v6::{IaKind as WireKind, MessageType, MessageWriter, NoRoom, StatusCode, option};

use super::association::{AssociationResult, Grant, MessageAssociation, none_available};
use super::lifetimes::{Lifetimes, timers};
use super::transaction::Transaction;
use super::{Dhcp6Intent, name, parameters};

/// Returns the message type of the reply to a client with this intent: ADVERTISE, ADDR-REG-REPLY or
/// REPLY.
#[must_use]
pub const fn message_type(intent: Dhcp6Intent) -> MessageType {
    match intent {
        Dhcp6Intent::Solicit => MessageType::Advertise,
        Dhcp6Intent::Register => MessageType::AddrRegReply,
        _ => MessageType::Reply,
    }
}

/// Returns the text that accompanies a status code in replies, for people who read captures.
const fn text(code: StatusCode) -> &'static str {
    match code {
        StatusCode::Success => "Done.",
        StatusCode::NoAddrsAvail => "No address is free for this association.",
        StatusCode::NoPrefixAvail => "No prefix is free for this association.",
        StatusCode::NoBinding => "This association has no such lease here.",
        StatusCode::NotOnLink => "The address does not fit the link.",
        _ => "",
    }
}

/// Returns every status code (RFC 9915 §21.13) in the reply of `transaction` but Success, for
/// counting.
pub(super) fn refusals(transaction: &Transaction<'_>) -> impl Iterator<Item = StatusCode> {
    let of_associations =
        transaction.associations.iter().filter_map(|association| match association.result {
            AssociationResult::Status(code) => Some(code),
            AssociationResult::Granted(_) => None,
        });
    let unseen = transaction.associations.refused().map(|(kind, _)| refusal(transaction, kind));
    let has_associations = has_associations(transaction.intent);
    of_associations
        .chain(unseen)
        .filter(move |_| has_associations)
        .chain(transaction.status)
        .filter(|&code| code != StatusCode::Success)
}

/// Writes the reply of a transaction that has ended into `buffer` and returns its length.
///
/// # Errors
///
/// When the reply does not fit.
pub(super) fn emit(transaction: &Transaction<'_>, buffer: &mut [u8]) -> Result<usize, NoRoom> {
    let kind = message_type(transaction.intent);
    let mut writer = MessageWriter::reply_to(buffer, transaction.view.packet, kind);
    if let Some(duid) = transaction.message.client_id() {
        writer.option(option::CLIENTID, duid);
    }
    writer.option(option::SERVERID, &transaction.snapshot.own.server_duid);
    if transaction.intent == Dhcp6Intent::SolicitRapidly {
        writer.option(option::RAPID_COMMIT, &[]);
    }
    if let Some(code) = transaction.status {
        writer.status(code, text(code));
    }
    if has_associations(transaction.intent) {
        for association in transaction.associations.iter() {
            put_association(transaction, association, &mut writer);
        }
        for (kind, iaid) in transaction.associations.refused() {
            let mark = writer.ia(kind, iaid, 0, 0);
            let code = refusal(transaction, kind);
            writer.status(code, text(code)).end(mark);
        }
    }
    if let Some(registration) = &transaction.registration {
        registration.put(&mut writer);
    }
    if (transaction.intent.wants_lease() || transaction.registration.is_some())
        && let Some(answer) = transaction.fqdn_answer
    {
        name::put(answer, transaction.name, &mut writer);
    }
    if matches!(transaction.intent, Dhcp6Intent::Release | Dhcp6Intent::Decline) {
        parameters::put_supplied(transaction, |_| false, &mut writer);
    } else {
        parameters::put(transaction, &mut writer);
    }
    writer.finish()
}

/// Returns the status code of an identity association that the transaction did not consider.
const fn refusal(transaction: &Transaction<'_>, kind: WireKind) -> StatusCode {
    match transaction.intent {
        Dhcp6Intent::Release | Dhcp6Intent::Decline => StatusCode::NoBinding,
        _ => none_available(kind),
    }
}

const fn has_associations(intent: Dhcp6Intent) -> bool {
    !matches!(intent, Dhcp6Intent::Confirm | Dhcp6Intent::Inform | Dhcp6Intent::Register)
}

fn put_association(
    transaction: &Transaction<'_>,
    association: &MessageAssociation<'_>,
    writer: &mut MessageWriter<'_>,
) {
    let grant = association.grant();
    let (t1_s, t2_s) = grant.map_or((0, 0), |grant| {
        let subnet = transaction.snapshot.subnet(grant.location.subnet);
        timers(subnet, grant.lifetimes.preferred_s)
    });
    let mark = writer.ia(association.ia.kind, association.ia.iaid, t1_s, t2_s);
    if let Some(grant) = grant {
        put_grant(transaction, grant, writer);
    }
    let knows_link = transaction.client.subnet.is_some();
    if transaction.intent.extends() && knows_link && !transaction.client.is_rejected {
        // RFC 9915 §18.3.4: resources that the client has and should give up. A prefix with an
        // unspecified address is only a request for its length.
        let granted = grant.map(|grant| grant.resource);
        let is_withdrawn = |resource: &Resource| {
            let is_length_hint =
                resource.kind == ResourceKind::Prefix && resource.address.is_unspecified();
            Some(*resource) != granted && !is_length_hint
        };
        for resource in association.requested_resources().filter(is_withdrawn) {
            put_resource(resource, Lifetimes::default(), None, writer);
        }
        for &withdrawn in association.withdrawn.iter().flatten() {
            if !association.requested_resources().any(|resource| resource == withdrawn) {
                put_resource(withdrawn, Lifetimes::default(), None, writer);
            }
        }
    }
    if let AssociationResult::Status(code) = association.result {
        writer.status(code, text(code));
    }
    writer.end(mark);
}

fn put_grant(transaction: &Transaction<'_>, grant: &Grant, writer: &mut MessageWriter<'_>) {
    let excluded = if transaction.message.requests(option::PD_EXCLUDE) {
        excluded(transaction, grant)
    } else {
        None
    };
    put_resource(grant.resource, grant.lifetimes, excluded, writer);
}

/// Returns the prefix that is excluded from a granted one (PD Exclude, RFC 6603): that of the
/// reservation, else that of the pool if the pool delegates prefixes of the granted length.
/// Prefixes of another length in a pool come from reservations and commands.
fn excluded(transaction: &Transaction<'_>, grant: &Grant) -> Option<(Ipv6Addr, u8)> {
    let (snapshot, granted) = (transaction.snapshot, grant.resource);
    let host = transaction.client_facts.current_host(snapshot, grant.location.subnet);
    let mut reserved = host.iter().flat_map(|&host| transaction.client.hosts.get(host).reserved);
    let excluded = match reserved.find(|reserved| reserved.resource == granted) {
        Some(reserved) => reserved.excluded,
        None => {
            let pool = grant.location.pool?;
            let has_pool_len = snapshot.pools().specs()[pool.0 as usize].first.len == granted.len;
            snapshot.own.excluded[pool.0 as usize].filter(|_| has_pool_len)
        }
    };
    // A row of a host database may name any prefix.
    excluded.filter(|&(_, len)| granted.len < len && len <= 128)
}

fn put_resource(
    resource: Resource,
    lifetimes: Lifetimes,
    excluded: Option<(Ipv6Addr, u8)>,
    writer: &mut MessageWriter<'_>,
) {
    let Lifetimes { preferred_s, valid_s } = lifetimes;
    match resource.kind {
        ResourceKind::Address => {
            writer.ia_address(resource.address, preferred_s, valid_s);
        }
        ResourceKind::Prefix => {
            let mark = writer.begin_ia_prefix(resource.address, resource.len, preferred_s, valid_s);
            if let Some((prefix, len)) = excluded {
                writer.pd_exclude(resource.len, prefix, len);
            }
            writer.end(mark);
        }
    }
}
