//! Name of a DHCPv6 client: the content of its Client FQDN option (39), the name in the reply and
//! the name in its lease, and the DNS updates for it (RFC 4704; Kea reference §5.9).

use core::net::{IpAddr, Ipv6Addr};

use dhcp_wire::v6::{ClientFqdn, MessageWriter, option};

use crate::client_name::{self, DnsUpdates, NameTerms};
use crate::name_characters::NameOctets;
use crate::name_tuning::NameTuning;
use crate::omission::{Omission, Omissions};

/// Flag S of the Client FQDN option: the server makes the DNS entry from name to address (RFC 4704
/// §4.1).
const FLAG_S: u8 = 1;
/// Flag O of the Client FQDN option: the server decides otherwise than the client wants (RFC 4704
/// §4.1).
const FLAG_O: u8 = 2;
/// Flag N of the Client FQDN option: the server makes no DNS update (RFC 4704 §4.1).
const FLAG_N: u8 = 4;

/// Client FQDN option of the reply, without its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FqdnAnswer {
    flags: u8,
    /// DNS updates that the server makes for the client's leases.
    pub(super) updates: DnsUpdates,
}

impl FqdnAnswer {
    /// Returns the option of a server that makes `updates`; `requests_entry` is flag S of the
    /// client.
    const fn new(updates: DnsUpdates, requests_entry: bool) -> Self {
        let no_update = if updates.reverse { 0 } else { FLAG_N };
        let forward = if updates.forward { FLAG_S } else { 0 };
        let overridden = if updates.forward == requests_entry { 0 } else { FLAG_O };
        Self { flags: no_update | forward | overridden, updates }
    }
}

/// Makes the name of a client in `name`: the `reserved` one, else the name in its Client FQDN
/// option (39), with characters replaced and the suffix appended. `name` is empty when there is
/// none, and where [`generate`] must make one. Returns the Client FQDN option of the reply; `None`
/// when the reply has no such option. As in Kea, a client that sends no option gets one if the
/// server registers generated names.
pub(super) fn make(
    fqdn: Option<ClientFqdn<'_>>,
    reserved: &str,
    terms: &NameTerms,
    name: &mut String,
    omissions: &mut Omissions,
) -> Option<FqdnAnswer> {
    name.clear();
    let Some(fqdn) = fqdn else {
        if terms.updates.is_enabled && terms.replaces_missing() {
            if !reserved.is_empty() {
                name.push_str(reserved);
                complete(terms, name, omissions);
                name.make_ascii_lowercase();
            }
            return Some(FqdnAnswer::new(terms.updates.decide(true, false), true));
        }
        if !reserved.is_empty() {
            name.push_str(reserved);
            note(terms.qualify(name), omissions);
        }
        return None;
    };
    if !reserved.is_empty() {
        name.push_str(reserved);
        complete(terms, name, omissions);
    } else if !fqdn.name.is_empty() && !terms.replaces_client_name() {
        let mut raw = NameOctets::new();
        let is_name = fqdn.read_name(|octet| raw.push(&[octet.to_ascii_lowercase()]));
        let labels = if is_name { raw.get().unwrap_or_default() } else { &[] };
        if !terms.characters.clean_labels(labels, fqdn.is_partial(), name) {
            // The result is no name: the reply has no answer about it either, as in Kea.
            name.clear();
            return None;
        }
        if fqdn.is_partial() {
            complete(terms, name, omissions);
        }
    }
    name.make_ascii_lowercase();
    let requests_entry = fqdn.requests_entry();
    let updates = terms.updates.decide(requests_entry, fqdn.declines_entries());
    Some(FqdnAnswer::new(updates, requests_entry))
}

/// Applies the hook library ddns_tuning to the client's name `name` and to `answer`, the Client
/// FQDN option of the reply. A name that `is_reserved` stays: Kea stores the computed one in the
/// lease, but answers and registers the reserved one.
pub(super) fn tune(
    answer: &mut FqdnAnswer,
    mut tuning: NameTuning<'_>,
    is_reserved: bool,
    terms: &NameTerms,
    name: &mut String,
) -> Option<Omission> {
    let tuned = tuning.make(name, terms, true);
    let is_replaced = tuned.is_replaced && !is_reserved;
    if is_replaced {
        tuning.replace(name);
    }
    if tuned.skips_updates && answer.updates != DnsUpdates::default() {
        answer.updates = DnsUpdates::default();
        answer.flags = answer.flags & !FLAG_S | FLAG_N;
    }
    tuned.omission.filter(|_| is_replaced)
}

fn complete(terms: &NameTerms, name: &mut String, omissions: &mut Omissions) {
    note(terms.qualify(name), omissions);
    client_name::end_in_dot(name);
}

/// Generates the name of a client from its address into `name`, which is empty when the generated
/// name does not fit.
pub(super) fn generate(
    address: Ipv6Addr,
    terms: &NameTerms,
    name: &mut String,
    omissions: &mut Omissions,
) {
    note(terms.generate(IpAddr::V6(address), name), omissions);
    if !name.is_empty() {
        client_name::end_in_dot(name);
    }
    name.make_ascii_lowercase();
}

/// Adds the omission from a name, if any, to `omissions`.
pub(super) fn note(omission: Option<Omission>, omissions: &mut Omissions) {
    omission.into_iter().for_each(|omission| omissions.note(omission));
}

/// Writes the Client FQDN option (39) into the reply, with a complete name or an empty one.
pub(super) fn put(answer: FqdnAnswer, name: &str, writer: &mut MessageWriter<'_>) {
    let mark = writer.begin(option::CLIENT_FQDN);
    writer.octets(&[answer.flags]);
    client_name::labels(name, |label| {
        // A computed name may have capital letters.
        let mut lower = [0; 63];
        let lower = &mut lower[..label.len()];
        lower.copy_from_slice(label);
        lower.make_ascii_lowercase();
        writer.octets(&[lower.len() as u8]).octets(lower);
    });
    if !name.is_empty() {
        writer.octets(&[0]);
    }
    writer.end(mark);
}

#[cfg(test)]
mod tests {
    use dhcp_wire::v6::{Message, MessageType};

    use super::*;

    fn make_name(fqdn: Option<&[u8]>, reserved: &str) -> (Option<u8>, String) {
        let mut name = "before".to_owned();
        let fqdn = fqdn.and_then(ClientFqdn::parse);
        let omissions = &mut Omissions::default();
        let answer = make(fqdn, reserved, &NameTerms::default(), &mut name, omissions);
        (answer.map(|answer| answer.flags), name)
    }

    #[test]
    fn a_name_is_cleaned_completed_and_answered() {
        for (fqdn, flags, name) in [
            (&b"\x00\x03Foo\x07example\x00"[..], FLAG_N, "foo.example."),
            (b"\x01\x04f_o!", FLAG_N | FLAG_O, "fo."),
            (b"\x04\x03foo\x02ba", FLAG_N, "foo.ba."),
            (b"\x01", FLAG_N | FLAG_O, ""),
        ] {
            assert_eq!(make_name(Some(fqdn), ""), (Some(flags), name.to_owned()), "{fqdn:?}");
        }
        for fqdn in [&b"\x00\x03__!"[..], b"\x00\x09foo", b"\x01\x00"] {
            assert_eq!(make_name(Some(fqdn), ""), (None, String::new()), "{fqdn:?}");
        }
        assert_eq!(make_name(Some(b"\x00\x03foo\x00\x03foo"), "").1, "foo.");
    }

    #[test]
    fn a_reserved_name_wins() {
        assert_eq!(make_name(None, "Host.Example"), (None, "Host.Example".to_owned()));
        assert_eq!(make_name(None, ""), (None, String::new()));
        let answered = (Some(FLAG_N), "host.example.".to_owned());
        assert_eq!(make_name(Some(b"\x00\x03foo"), "Host.Example"), answered);
    }

    #[test]
    fn a_nameless_client_is_named_after_its_address() {
        let mut name = String::new();
        let (address, omissions) = ("2001:db8::1f".parse().unwrap(), &mut Omissions::default());
        generate(address, &NameTerms::default(), &mut name, omissions);
        assert_eq!(name, "myhost-2001-db8--1f.");
    }

    #[test]
    fn the_option_holds_flags_and_labels() {
        let option_of = |name: &str| {
            let mut buffer = [0; 100];
            let mut writer = MessageWriter::new(&mut buffer, MessageType::Reply, 1);
            put(FqdnAnswer::new(DnsUpdates::default(), false), name, &mut writer);
            let len = writer.finish().unwrap();
            let message = Message::parse(&buffer[..len]).unwrap();
            message.option(option::CLIENT_FQDN).unwrap().to_vec()
        };
        assert_eq!(option_of("foo.example."), b"\x04\x03foo\x07example\x00");
        assert_eq!(option_of(""), [FLAG_N]);
    }
}
