//! Configured options of a DHCPv6 reply: those that the client requests and those that are always
//! sent, from the scopes that concern it in order of precedence; options of vendors; options that
//! relay agents supply (Kea reference §1.4; RFC 6422).

use dhcp_wire::v6::{MessageWriter, option};

use super::association::MessageAssociation;
use super::transaction::Transaction;
use super::vendor;
use crate::options::{self, CodeSet, OptionSelection, ScopeOptions};

/// Codes of the options that the transaction writes itself, or that only clients and relay agents
/// send; configured ones with these codes are not added.
const WRITTEN_BY_US: CodeSet = CodeSet::from_codes(&[
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
    option::CLIENT_FQDN,
    option::PD_EXCLUDE,
]);

/// Writes the options that are configured for the client into the reply, then those that only relay
/// agents supply (Relay-Supplied Options, RFC 6422).
pub(super) fn put(transaction: &Transaction<'_>, writer: &mut MessageWriter<'_>) {
    let around = ClientOptionScopes::from_transaction(transaction);
    let scopes = || scopes(transaction, &around);
    let lists = || scopes().map(ScopeOptions::standard);
    let selection = OptionSelection {
        requested: transaction.message.requested_options(),
        unconditional: CodeSet::default(),
        withheld: WRITTEN_BY_US,
        classes: &transaction.client_facts.classes,
    };
    let query = vendor::query(&transaction.message);
    options::put_all(scopes, &selection, &query, &mut vendor::Dhcp6OptionWriter::new(writer));
    put_supplied(
        transaction,
        |code| options::selected_entry(lists, &selection, code).is_some(),
        writer,
    );
}

/// Scopes with configured options that are equal for all leases of the client, found once for each
/// reply.
struct ClientOptionScopes<'t> {
    host: Option<&'t ScopeOptions<u16>>,
    subnet: Option<&'t ScopeOptions<u16>>,
    network: Option<&'t ScopeOptions<u16>>,
}

impl<'t> ClientOptionScopes<'t> {
    fn from_transaction(transaction: &'t Transaction<'_>) -> Self {
        let snapshot = transaction.snapshot;
        let subnet = transaction.served_subnet().map(|subnet| snapshot.subnet(subnet));
        let network = subnet.and_then(|subnet| snapshot.network(subnet));
        Self {
            host: transaction.host_terms().map(|host| &host.options),
            subnet: subnet.map(|subnet| &subnet.scope.options),
            network: network.map(|network| &network.options),
        }
    }
}

/// Returns the options of the scopes that concern the client of the transaction, in order of
/// precedence.
fn scopes<'t>(
    transaction: &'t Transaction<'_>,
    around: &ClientOptionScopes<'t>,
) -> impl Iterator<Item = &'t ScopeOptions<u16>> {
    let snapshot = transaction.snapshot;
    let grants = transaction.associations.iter().filter_map(MessageAssociation::grant);
    let pools = grants.filter_map(|grant| grant.location.pool);
    let pools = pools.map(|pool| &snapshot.pool_terms(pool).scope.options);
    let classes = transaction.client_facts.classes.iter();
    let classes = classes.filter_map(|class| snapshot.class(class)).map(|class| &class.options);
    let outer = around.subnet.into_iter().chain(around.network);
    around.host.into_iter().chain(pools).chain(outer).chain(classes).chain([&snapshot.options])
}

/// Writes the options that relay agents supply (RFC 6422) into the reply, as far as
/// `relay-supplied-options` permits their codes, except those for which `is_ours` returns true: the
/// server has its own.
pub(super) fn put_supplied(
    transaction: &Transaction<'_>,
    is_ours: impl Fn(u16) -> bool,
    writer: &mut MessageWriter<'_>,
) {
    let packet = transaction.view.packet;
    for (at, relay) in packet.relays().enumerate().rev() {
        for (code, value) in relay.supplied_options() {
            let is_allowed = transaction.snapshot.own.relay_supplied.binary_search(&code).is_ok();
            // If several agents supply an option, the one nearest to the client counts.
            let is_repeated = || {
                let mut nearer = packet.relays().skip(at + 1);
                nearer.any(|relay| relay.supplied_options().get(code).is_some())
            };
            if is_allowed && !is_ours(code) && !is_repeated() {
                writer.option(code, value);
            }
        }
    }
}
