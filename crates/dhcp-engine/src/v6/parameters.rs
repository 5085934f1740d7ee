//! The configured options of a reply: what the client asks for and what is always sent, from the
//! scopes that concern it in order of precedence; options of vendors; what relay agents supply (Kea
//! reference §1.4; RFC 6422).

use dhcp_wire::v6::{MessageWriter, Options, option};

use super::association::Association;
use super::transaction::Transaction;
use crate::options::{self, CodeList, CodeSet, ScopeOptions, Wanted};

/// Options that the transaction writes itself, or that only clients and relay agents send; a
/// configured one of these codes is not added. Vendors' options are added on their own.
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
    option::VENDOR_OPTS,
    option::IA_PD,
    option::IAPREFIX,
    option::CLIENT_FQDN,
    option::PD_EXCLUDE,
]);

/// Enterprise number of CableLabs, whose devices ask for sub-options.
const CABLE_LABS: u32 = 4491;
/// CableLabs' sub-option with the codes that a device asks for.
const CABLE_LABS_ORO: u16 = 1;
/// Vendors whose options one reply has at most.
const VENDORS_MAX: usize = 8;

/// Writes the options that are configured for the client, then those that relay agents supply and
/// nobody else has.
pub(super) fn put(transaction: &Transaction<'_>, writer: &mut MessageWriter<'_>) {
    let scopes = || scopes(transaction);
    let lists = || scopes().map(ScopeOptions::standard);
    let wanted = Wanted {
        asked: transaction.message.requested_options(),
        unasked: CodeSet::default(),
        withheld: WRITTEN_BY_US,
        classes: transaction.buffers.classes,
    };
    options::put(lists, &wanted, |code, octets| {
        writer.option(code, octets);
    });
    put_vendors(transaction, scopes, writer);
    put_supplied(transaction, |code| options::sent(lists, &wanted, code).is_some(), writer);
}

/// What the scopes that concern the client set, in order of precedence.
fn scopes<'t>(transaction: &'t Transaction<'_>) -> impl Iterator<Item = &'t ScopeOptions<u16>> {
    let snapshot = transaction.snapshot;
    let host = transaction.host_terms().map(|host| &host.options);
    let grants = transaction.associations.iter().filter_map(Association::grant);
    let pools = grants.filter_map(|grant| grant.place.pool);
    let pools = pools.map(|pool| &snapshot.pool_terms(pool).scope.options);
    let subnet = transaction.served_subnet().map(|subnet| snapshot.subnet(subnet));
    let network = subnet.and_then(|subnet| snapshot.network(subnet));
    let around = subnet.map(|subnet| &subnet.scope).into_iter().chain(network);
    let around = around.map(|scope| &scope.options);
    let classes = transaction.buffers.classes.iter();
    let classes = classes.filter_map(|class| snapshot.class(class)).map(|class| &class.options);
    host.into_iter().chain(pools).chain(around).chain(classes).chain([&snapshot.options])
}

/// The options of vendors that the client names, or that it is told of when it asks for vendors'
/// options: those that CableLabs' devices ask for, and what is always sent.
fn put_vendors<'t, L>(
    transaction: &'t Transaction<'_>,
    scopes: impl Fn() -> L + Copy,
    writer: &mut MessageWriter<'_>,
) where
    L: Iterator<Item = &'t ScopeOptions<u16>>,
{
    let message = transaction.message;
    let numbered = |code| message.options().all(code).filter_map(enterprise);
    let mut vendors = [None; VENDORS_MAX];
    let mut add = |number: u32, is_told: bool| {
        let is_it =
            |place: &&mut Option<(u32, bool)>| place.is_none_or(|(other, _)| other == number);
        if let Some(place) = vendors.iter_mut().find(is_it) {
            let was_told = place.is_some_and(|(_, was_told)| was_told);
            *place = Some((number, is_told || was_told));
        }
    };
    let entries = || scopes().flat_map(|scope| scope.standard().of(option::VENDOR_OPTS));
    let is_asked = message.requests(option::VENDOR_OPTS) || entries().any(|e| e.is_always_sent);
    if is_asked && !entries().any(|entry| entry.is_never_sent) {
        let fitting = entries().filter(|entry| entry.fits(transaction.buffers.classes));
        fitting.filter_map(|entry| enterprise(&entry.octets)).for_each(|number| add(number, true));
    }
    numbered(option::VENDOR_OPTS).for_each(|number| add(number, false));
    numbered(option::VENDOR_CLASS).for_each(|number| add(number, false));
    for (number, is_told) in vendors.into_iter().flatten() {
        let asked = asked_of(transaction, number);
        let wanted = Wanted {
            asked,
            unasked: CodeSet::default(),
            withheld: CodeSet::default(),
            classes: transaction.buffers.classes,
        };
        let lists = || -> _ { scopes().filter_map(move |scope| scope.vendor(number)) };
        put_vendor((number, is_told), lists, &wanted, writer);
    }
}

fn put_vendor<'l, I, L>(
    (number, is_told): (u32, bool),
    lists: impl Fn() -> L,
    wanted: &Wanted<'_, I>,
    writer: &mut MessageWriter<'_>,
) where
    I: Iterator<Item = u16> + Clone,
    L: Iterator<Item = &'l CodeList<u16>>,
{
    let mut is_empty = !is_told;
    options::put(&lists, wanted, |_, _| is_empty = false);
    if is_empty {
        return;
    }
    let mark = writer.begin(option::VENDOR_OPTS);
    writer.octets(&number.to_be_bytes());
    options::put(&lists, wanted, |code, octets| {
        writer.option(code, octets);
    });
    writer.end(mark);
}

/// The enterprise number that a vendor's option begins with.
fn enterprise(value: &[u8]) -> Option<u32> {
    value.first_chunk().copied().map(u32::from_be_bytes)
}

/// The sub-options that a client asks a vendor's options for.
fn asked_of<'t>(
    transaction: &Transaction<'t>,
    number: u32,
) -> impl Iterator<Item = u16> + Clone + use<'t> {
    let values = transaction.message.options().all(option::VENDOR_OPTS);
    let mut of_vendor = values.filter(|value| enterprise(value) == Some(number));
    let inside = of_vendor.next().filter(|_| number == CABLE_LABS).and_then(|value| value.get(4..));
    let codes = inside.and_then(|inside| Options::new(inside).get(CABLE_LABS_ORO));
    let (codes, _) = codes.unwrap_or_default().as_chunks();
    codes.iter().copied().map(u16::from_be_bytes)
}

/// What relay agents supply of the codes that they may, where `is_ours` says that the server has
/// nothing to say.
fn put_supplied(
    transaction: &Transaction<'_>,
    is_ours: impl Fn(u16) -> bool,
    writer: &mut MessageWriter<'_>,
) {
    let packet = transaction.arrival.packet;
    for (at, relay) in packet.relays().enumerate().rev() {
        for (code, value) in relay.supplied_options() {
            let is_allowed = transaction.snapshot.relay_supplied.binary_search(&code).is_ok();
            // Of several agents the one nearest to the client counts.
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
