//! Replies: what one says, and its octets (RFC 9915 §18.3.9, §18.3.10).

use dhcp_lease::v6::IaKind;
use dhcp_wire::v6::{IaKind as WireKind, MessageType, MessageWriter, NoRoom, StatusCode, option};

use super::association::{Association, AssociationResult, Grant, none_available};
use super::lifetimes::{Lifetimes, timers};
use super::transaction::{Intent, Transaction};
use super::vendor;
use crate::classify::ClassSet;
use crate::options::{self, CodeSet, ScopeOptions, Wanted};

/// Options that the transaction writes itself, or that only clients and relay agents send; a
/// configured one of these codes is not added.
const WRITTEN_BY_US: CodeSet = CodeSet::of(&[
    option::CLIENTID,
    option::SERVERID,
    option::IA_NA,
    option::IA_TA,
    option::IAADDR,
    option::ORO,
    option::RELAY_MSG,
    option::STATUS_CODE,
    option::RAPID_COMMIT,
    option::IA_PD,
    option::IAPREFIX,
    option::PD_EXCLUDE,
]);

/// Whether the reply is an ADVERTISE or a REPLY.
#[must_use]
pub const fn message_type(intent: Intent) -> MessageType {
    match intent {
        Intent::Solicit => MessageType::Advertise,
        _ => MessageType::Reply,
    }
}

/// What we say beside a code: for people who read captures.
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

/// Every status in the reply but success, for counting.
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

/// Writes the reply of a transaction that has ended into `buffer` and gives its length.
///
/// # Errors
///
/// When it does not fit.
pub(super) fn emit(transaction: &Transaction<'_>, buffer: &mut [u8]) -> Result<usize, NoRoom> {
    let kind = message_type(transaction.intent);
    let mut writer = MessageWriter::reply_to(buffer, &transaction.packet, kind);
    if !transaction.duid.is_empty() {
        writer.option(option::CLIENTID, transaction.duid);
    }
    writer.option(option::SERVERID, &transaction.snapshot.server_duid);
    if transaction.intent == Intent::SolicitRapidly {
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
    if !matches!(transaction.intent, Intent::Confirm | Intent::Release | Intent::Decline) {
        put_configured(transaction, &mut writer);
    }
    writer.finish()
}

/// What an association is told that was not looked at.
const fn refusal(transaction: &Transaction<'_>, kind: WireKind) -> StatusCode {
    match transaction.intent {
        Intent::Release | Intent::Decline => StatusCode::NoBinding,
        _ => none_available(kind),
    }
}

const fn has_associations(intent: Intent) -> bool {
    !matches!(intent, Intent::Confirm | Intent::Inform)
}

fn put_association(
    transaction: &Transaction<'_>,
    association: &Association<'_>,
    writer: &mut MessageWriter<'_>,
) {
    let grant = association.grant();
    let (t1_s, t2_s) = grant.map_or((0, 0), |grant| {
        let subnet = transaction.snapshot.subnet(grant.place.subnet);
        timers(subnet, grant.lifetimes.preferred_s)
    });
    let mark = writer.ia(association.ia.kind, association.ia.iaid, t1_s, t2_s);
    if let Some(grant) = grant {
        put_grant(transaction, grant, writer);
    }
    if transaction.intent.extends() {
        // RFC 9915 §18.3.4: what the client has and should give up.
        let kept = grant.map(|grant| grant.resource);
        for resource in association.named().filter(|named| Some(*named) != kept) {
            put_resource(resource, Lifetimes::default(), None, writer);
        }
    }
    if let AssociationResult::Status(code) = association.result {
        writer.status(code, text(code));
    }
    writer.end(mark);
}

fn put_grant(transaction: &Transaction<'_>, grant: &Grant, writer: &mut MessageWriter<'_>) {
    let excluded = transaction
        .snapshot
        .pool_terms(grant.place.pool)
        .excluded
        .filter(|_| transaction.message.requests(option::PD_EXCLUDE));
    put_resource(grant.resource, grant.lifetimes, excluded, writer);
}

fn put_resource(
    resource: dhcp_lease::v6::Resource,
    lifetimes: Lifetimes,
    excluded: Option<(core::net::Ipv6Addr, u8)>,
    writer: &mut MessageWriter<'_>,
) {
    let Lifetimes { preferred_s, valid_s } = lifetimes;
    match resource.kind {
        IaKind::Address => {
            writer.ia_address(resource.address, preferred_s, valid_s);
        }
        IaKind::Prefix => {
            let mark = writer.begin_ia_prefix(resource.address, resource.len, preferred_s, valid_s);
            if let Some((prefix, len)) = excluded {
                writer.pd_exclude(resource.len, prefix, len);
            }
            writer.end(mark);
        }
    }
}

/// The configured options that the client asked for and those that are always sent; then what relay
/// agents supply and nobody else has (RFC 6422).
fn put_configured(transaction: &Transaction<'_>, writer: &mut MessageWriter<'_>) {
    let snapshot = transaction.snapshot;
    let pool_of = |kind: IaKind| {
        let mut associations = transaction.associations.iter();
        associations
            .find_map(|association| association.grant().filter(|_| association.kind == kind))
            .map(|grant| &snapshot.pool_terms(grant.place.pool).options)
    };
    let granted = transaction.associations.iter().find_map(Association::grant);
    let subnet = granted.map(|grant| grant.place.subnet).or(transaction.subnet);
    let subnet = subnet.map(|subnet| snapshot.subnet(subnet));
    let pools = [pool_of(IaKind::Address), pool_of(IaKind::Prefix)];
    let around = [
        subnet.map(|subnet| &subnet.options),
        subnet.and_then(|subnet| snapshot.network_options(subnet)),
    ];
    let scopes = || pools.into_iter().chain(around).chain([Some(&snapshot.options)]).flatten();
    let lists = || scopes().map(ScopeOptions::standard);
    let wanted = Wanted {
        asked: transaction.message.requested_options(),
        unasked: CodeSet::default(),
        withheld: WRITTEN_BY_US,
        classes: &ClassSet::default(),
    };
    let query = vendor::query(&transaction.message);
    options::put_all(scopes, &wanted, &query, &mut vendor::Options::new(writer));
    for (at, relay) in transaction.packet.relays().enumerate().rev() {
        for (code, value) in relay.supplied_options() {
            let is_allowed = snapshot.relay_supplied.binary_search(&code).is_ok();
            // Of several agents the one nearest to the client counts.
            let is_repeated = || {
                let mut nearer = transaction.packet.relays().skip(at + 1);
                nearer.any(|relay| relay.supplied_options().get(code).is_some())
            };
            if is_allowed && options::sent(lists, &wanted, code).is_none() && !is_repeated() {
                writer.option(code, value);
            }
        }
    }
}
