//! Tests of DHCPv6 packets against tshark's reading of them.

mod reading;
mod writing;

use dhcp_wire::OptionParsing;
use dhcp_wire::v6::{MessageType, Packet, validity};
use reading::Field;

use crate::common::V6;
use crate::vectors::tshark::check_twins;
use crate::vectors::{check_verdicts, octets};

fn twin(capture: &str) -> Vec<Vec<Field>> {
    reading::parse(&std::fs::read_to_string(V6.file(&format!("{capture}.txt"))).unwrap())
}

#[test]
fn the_twins_are_what_tshark_reads() {
    check_twins(V6, reading::render);
}

#[test]
fn we_read_what_tshark_reads() {
    let mut compared = 0;
    for capture in V6.captures {
        let theirs = twin(capture);
        let payloads = V6.payloads(capture);
        assert_eq!(payloads.len(), theirs.len());
        for (number, (payload, theirs)) in payloads.iter().zip(&theirs).enumerate() {
            let packet = Packet::parse(payload).unwrap();
            let ours = reading::ours(&packet);
            let without = |fields: &[Field], others: &[Field]| -> Vec<Field> {
                fields.iter().filter(|field| !others.contains(field)).cloned().collect()
            };
            let place = format!("{capture}, packet {}", number + 1);
            assert_eq!(without(&ours, theirs), without(theirs, &ours), "{place}");
            assert_eq!(ours.len(), theirs.len(), "{place}");
            compared += theirs.len();
        }
    }
    assert!(compared >= 2_000, "{compared}");
}

const NOT_READ: &str = "nothing here reads the option in that place";
const CONTENT: &str = "what is in the option is for who reads it";
const ENGINE: &str = "for the engine to drop";
const RFC_DUID: &str = "RFC 9915 §11.1 allows 130 octets, as does Kea 3";
/// Reason: since 3.1.9 Kea drops it, unless it is lenient.
const LONG: &str = "longer than its definition says";
const RELAYS: &str = "no relay agent does it";

/// Datagrams on which our verdict differs from that of Kea 2.2, each with the reason.
const DIFFERENT: [(&str, &str); 31] = [
    ("elapsed time length 3", LONG),
    ("elapsed time length 4", LONG),
    ("preference length 3", LONG),
    ("server unicast length 17", LONG),
    ("reconfigure message length 2", LONG),
    ("information refresh time length 5", LONG),
    ("relay: relay port length 3", LONG),
    ("DNS servers length 1", NOT_READ),
    ("DNS servers length 15", NOT_READ),
    ("DNS servers length 17", NOT_READ),
    ("client architecture length 0", NOT_READ),
    ("client architecture length 1", NOT_READ),
    ("client architecture length 3", NOT_READ),
    ("network interface length 0", NOT_READ),
    ("network interface length 1", NOT_READ),
    ("network interface length 2", NOT_READ),
    ("relay: ERO length 0", NOT_READ),
    ("relay: ERO length 3", NOT_READ),
    ("relay: IA_NA in the level, short", NOT_READ),
    ("relay: ORO in the level, odd", NOT_READ),
    ("remote id length 0 in the message", NOT_READ),
    ("remote id length 3 in the message", NOT_READ),
    ("PD exclude length 2", CONTENT),
    ("PD exclude length 3", CONTENT),
    ("CONFIRM without addresses", ENGINE),
    ("REQUEST with another server id", ENGINE),
    ("client id length 129", RFC_DUID),
    ("client id length 130", RFC_DUID),
    ("relay: 33 levels", RELAYS),
    ("relay: FORW in REPL", RELAYS),
    ("relay: REPL in FORW", RELAYS),
];

#[test]
fn we_refuse_what_kea_drops_and_take_what_it_answers() {
    check_verdicts(V6, &DIFFERENT, |columns| is_taken(columns, OptionParsing::Strict));
}

/// Datagrams that Kea 2.2 drops and that lenient parsing accepts, each with the reason.
const LENIENT: [(&str, &str); 4] = [
    ("FQDN: flags N and S", "since Kea 3.1"),
    ("FQDN: label too long", "since Kea 2.5"),
    ("domain list: bad", "since Kea 2.7"),
    ("vendor class: tuple too long", "what is left is the class"),
];

#[test]
fn what_is_not_as_defined_is_taken_where_parsing_is_lenient() {
    let now = |(_, reason): &(&str, &str)| *reason != LONG;
    let different: Vec<_> = DIFFERENT.into_iter().filter(now).chain(LENIENT).collect();
    check_verdicts(V6, &different, |columns| is_taken(columns, OptionParsing::Lenient));
}

/// Returns true if the datagram of a verdict is accepted.
fn is_taken(columns: &[&str], parsing: OptionParsing) -> bool {
    use MessageType as M;
    let [datagram] = columns[..] else { panic!("{columns:?}") };
    let datagram = octets(datagram);
    let Ok(packet) = Packet::parse_as(&datagram, parsing) else { return false };
    let is_for_servers = matches!(
        packet.message().message_type(),
        M::Solicit
            | M::Request
            | M::Confirm
            | M::Renew
            | M::Rebind
            | M::Release
            | M::Decline
            | M::InformationRequest
    );
    is_for_servers && validity(&packet.message()).is_ok()
}

/// Checks the contents of the captures, so that a comparison of nothing cannot pass.
#[test]
fn the_captures_hold_what_they_are_for() {
    use MessageType::{
        Advertise, Confirm, Decline, InformationRequest, Rebind, Release, Renew, Reply, Request,
        Solicit,
    };
    let types = |capture: &str| -> Vec<MessageType> {
        let payloads = V6.payloads(capture);
        payloads.iter().map(|p| Packet::parse(p).unwrap().message().message_type()).collect()
    };
    let sarr = [Solicit, Advertise, Request, Reply];
    let with = |capture: &str, kinds: &[MessageType]| {
        let types = types(capture);
        assert!(sarr.iter().chain(kinds).all(|kind| types.contains(kind)), "{capture}");
    };
    with("perfdhcp", &[Renew, Release]);
    with("dhclient", &[Confirm, Renew, Rebind, Release, InformationRequest]);
    with("dhcpcd", &[Renew]);
    with("odd", &[Decline, Confirm, InformationRequest]);
    let payloads = V6.all_payloads();
    let has = |test: &dyn Fn(&Packet<'_>) -> bool| {
        payloads.iter().any(|payload| test(&Packet::parse(payload).unwrap()))
    };
    assert!(has(&|p| p.relay_count() == 3 && p.relay(1).remote_id().is_some()));
    assert!(has(&|p| p.relay_count() == 3 && p.relay(1).supplied_options().get(65).is_some()));
    assert!(has(&|p| p.relays().any(|relay| relay.client_link_layer_address().is_some())));
    assert!(has(&|p| p.message().ias().count() == 5 && p.message().user_class().is_some()));
    assert!(has(&|p| p.message().option(2_300).is_some_and(|value| value.len() == 600)));
    assert!(has(&|p| p.message().is_cut()) && has(&|p| p.message().has_rapid_commit()));
    let excluded = "2001:db8:8000:0:8000::".parse().unwrap();
    assert!(has(&|p| {
        let mut prefixes = p.message().ias().flat_map(|ia| ia.prefixes());
        prefixes.any(|prefix| prefix.excluded() == Some((excluded, 72)))
    }));
    assert!(payloads.iter().all(|p| validity(&Packet::parse(p).unwrap().message()).is_ok()));
}
