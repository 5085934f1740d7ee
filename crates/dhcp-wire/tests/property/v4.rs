//! Property tests of DHCPv4: RFC 2131, 2132, 3396.

use base::Random;
use dhcp_wire::v4::arbitrary::{BUFFER_LEN, DatagramKind, datagram};
use dhcp_wire::v4::relay::{SubOptions, is_well_formed};
use dhcp_wire::v4::{
    Dhcp4Header, INSTANCES_MAX, Malformed, Message, MessageWriter, OptionValue, option,
};

use crate::common::V4;
use crate::property::run_cases;

/// Reads the options of a datagram with a valid header, without any shortcut: code and value of
/// each piece in the order of RFC 3396 §5.
fn pieces(octets: &[u8]) -> Vec<(u8, &[u8])> {
    let mut all = place(&octets[240..]);
    let overload: Vec<u8> =
        all.iter().filter(|(code, _)| *code == 52).flat_map(|(_, value)| *value).copied().collect();
    let overload = overload.first().copied().unwrap_or_default();
    if overload == 1 || overload == 3 {
        all.extend(place(&octets[108..236]));
    }
    if overload == 2 || overload == 3 {
        all.extend(place(&octets[44..108]));
    }
    all
}

fn place(octets: &[u8]) -> Vec<(u8, &[u8])> {
    let mut found = Vec::new();
    let mut rest = octets;
    loop {
        match rest {
            [] | [255, ..] => return found,
            [0, tail @ ..] => rest = tail,
            [code, len, tail @ ..] if tail.len() >= usize::from(*len) => {
                let (value, tail) = tail.split_at(usize::from(*len));
                found.push((*code, value));
                rest = tail;
            }
            _ => return found,
        }
    }
}

/// Returns the options without option 52, which describes the places of options, not the meaning of
/// the message.
fn meant<'a>(message: &Message<'a>) -> impl Iterator<Item = (u8, OptionValue<'a>)> {
    message.options().filter(|&(code, _)| code != option::OVERLOAD)
}

/// Returns true if an option is one number, address or truth value of `len` bytes: repeated it
/// counts once.
fn is_one_value(code: u8, len: usize) -> bool {
    let codes: &[u8] = match len {
        1 => &[19, 20, 23, 27, 29, 30, 31, 34, 36, 37, 39, 46, 53, 116, 156, 157],
        2 => &[13, 22, 26, 57],
        4 => &[1, 2, 16, 24, 28, 32, 35, 38, 50, 51, 54, 58, 59, 91, 108, 118, 152, 153, 154, 155],
        _ => &[],
    };
    codes.contains(&code)
}

/// Asserts that every view of a message agrees with the plain reading.
fn check_reading(message: &Message<'_>) {
    let octets = message.octets();
    let pieces = pieces(octets);
    assert!(message.instances().eq(pieces.iter().copied()));
    assert!(pieces.len() <= INSTANCES_MAX, "bounded work");
    let mut joined: Vec<(u8, Vec<u8>)> = Vec::new();
    for (code, piece) in &pieces {
        match joined.iter_mut().find(|(known, _)| known == code) {
            Some((_, whole)) => whole.extend_from_slice(piece),
            None => joined.push((*code, piece.to_vec())),
        }
    }
    for (code, whole) in &mut joined {
        let again: Vec<&[u8]> =
            pieces.iter().filter(|(other, _)| other == code).map(|(_, piece)| *piece).collect();
        if is_one_value(*code, again[0].len()) && again.iter().all(|piece| *piece == again[0]) {
            *whole = again[0].to_vec();
        }
    }
    let mut count = 0;
    let mut copy = [0; BUFFER_LEN];
    for ((code, value), (known, whole)) in message.options().zip(&joined) {
        assert_eq!((code, value.len()), (*known, whole.len()));
        assert_eq!(value.copy_to(&mut copy), Some(whole.len()));
        assert_eq!(copy[..whole.len()], whole[..]);
        assert_eq!(value.as_slice().unwrap_or(whole), whole);
        assert_eq!(message.option(code), Some(value));
        assert_eq!(value.u32(), whole[..].try_into().ok().map(u32::from_be_bytes));
        assert_eq!(value.address().map(u32::from), value.u32());
        assert_eq!(value.u16(), whole[..].try_into().ok().map(u16::from_be_bytes));
        assert_eq!(value.u8().is_some(), whole.len() == 1);
        let middle = whole.len() / 2;
        let tail = value.range(middle, whole.len() - middle).unwrap();
        assert!(tail.octets().eq(whole[middle..].iter().copied()));
        count += 1;
    }
    assert_eq!(count, joined.len());
    let mut is_present = [false; 256];
    joined.iter().for_each(|(code, _)| is_present[usize::from(*code)] = true);
    assert!(
        (0..=255).all(|code| { is_present[usize::from(code)] || message.option(code).is_none() })
    );
    check_typed(message, &joined);
}

/// Asserts that the typed accessors agree with the joined options.
fn check_typed(message: &Message<'_>, joined: &[(u8, Vec<u8>)]) {
    let whole = |code: u8| joined.iter().find(|(known, _)| *known == code).map(|(_, whole)| whole);
    let word = |code: u8| whole(code).map(|w| u32::from_be_bytes(w[..4].try_into().unwrap()));
    assert_eq!(message.requested_address().map(u32::from), word(50));
    assert_eq!(message.lease_time(), word(51));
    assert_eq!(message.server_identifier().map(u32::from), word(54));
    assert_eq!(message.subnet_selection().map(u32::from), word(118));
    assert_eq!(message.message_type().map(|kind| vec![kind.code()]).as_ref(), whole(53));
    let size = whole(57).map(|w| u16::from_be_bytes([w[0], w[1]]));
    assert_eq!(message.max_message_size(), size);
    for (value, code) in [
        (message.host_name(), 12),
        (message.parameter_request_list(), 55),
        (message.vendor_class(), 60),
        (message.client_id(), 61),
        (message.relay_agent_information(), 82),
    ] {
        assert_eq!(value.map(|value| value.octets().collect()), whole(code).cloned());
    }
    let fqdn = message.client_fqdn().map(|fqdn| fqdn.name.octets().collect::<Vec<_>>());
    assert_eq!(fqdn.as_deref(), whole(81).map(|whole| &whole[3..]));
    if let (Some(value), Some(whole)) = (message.relay_agent_information(), whole(82)) {
        let mut again = Vec::new();
        for (code, sub) in SubOptions::new(value) {
            again.extend([code, sub.len() as u8]);
            again.extend(sub.octets());
        }
        assert!(whole.starts_with(&again));
        assert_eq!(is_well_formed(value), again.len() == whole.len());
    }
    let octets = message.octets();
    assert_eq!(octets[..4], [message.op(), message.htype(), message.hlen(), message.hops()]);
    assert_eq!(octets[4..8], message.xid().to_be_bytes());
    assert_eq!(octets[8..10], message.secs().to_be_bytes());
    assert_eq!(octets[10..12], message.flags().to_be_bytes());
    assert_eq!(message.is_broadcast(), octets[10] >= 0x80);
    let addresses = [message.ciaddr(), message.yiaddr(), message.siaddr(), message.giaddr()];
    assert_eq!(octets[12..28], addresses.map(|address| address.octets()).concat());
    assert_eq!(octets[28..28 + usize::from(octets[2])], *message.chaddr());
}

/// Asserts that a message written again has the same meaning, in a large buffer and in one that is
/// too small without overload.
fn check_writing(random: &mut Random, message: &Message<'_>, buffer: &mut [u8]) {
    let header = Dhcp4Header::from_message(message);
    let write = |buffer: &mut [u8], may_overload: bool| {
        let mut writer = MessageWriter::new(buffer, &header);
        writer.allow_overload(may_overload).sname(message.sname()).file(message.file());
        for (code, value) in message.options() {
            writer.option_value(code, value);
        }
        writer.finish(0)
    };
    let assert_fixed = |again: &Message<'_>| {
        assert_eq!(Dhcp4Header::from_message(again), header);
        assert_eq!((again.sname(), again.file()), (message.sname(), message.file()));
    };
    let len = write(buffer, false).unwrap();
    let again = Message::parse(&buffer[..len]).unwrap();
    assert_fixed(&again);
    assert!(meant(&again).eq(meant(message)));
    let less = len - random.below(150.min(len as u64 - 241) + 1) as usize;
    if let Ok(len) = write(&mut buffer[..less], true) {
        let again = Message::parse(&buffer[..len]).unwrap();
        assert_fixed(&again);
        assert!(meant(message).all(|(code, value)| again.option(code) == Some(value)));
        assert_eq!(meant(&again).count(), meant(message).count());
    }
}

/// Runs the case that belongs to `seed`; returns true if the message was accepted.
fn run(seed: u64, captures: &[&[u8]], input: &mut [u8], output: &mut [u8]) -> bool {
    let mut random = Random::from_seed(seed);
    let (kind, len) = datagram(&mut random, captures, input);
    match Message::parse(&input[..len]) {
        Ok(message) => {
            check_reading(&message);
            check_writing(&mut random, &message, output);
            true
        }
        Err(reason) => {
            assert!(kind != DatagramKind::Sound, "refused: {reason}");
            assert_eq!(Malformed::ALL[reason.index()], reason);
            false
        }
    }
}

#[test]
fn any_datagram_is_refused_or_read_as_the_rfcs_say() {
    let payloads = V4.all_payloads();
    let captures: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
    let (mut input, mut output) = ([0; BUFFER_LEN], [0; 2 * BUFFER_LEN]);
    run_cases("v4::", |seed| run(seed, &captures, &mut input, &mut output));
}
