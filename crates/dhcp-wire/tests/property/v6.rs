//! Property tests of DHCPv6: RFC 9915.

use base::Random;
use dhcp_wire::v6::arbitrary::{BUFFER_LEN, DatagramKind, datagram};
use dhcp_wire::v6::duid::Duid;
use dhcp_wire::v6::{
    Dhcp6OptionIterator, Ia, IaKind, Invalid, Malformed, Message, MessageType, MessageWriter,
    OPTIONS_MAX, Packet, RELAYS_MAX, RelayWriter, option, validity,
};

use crate::common::V6;
use crate::property::run_cases;

/// Option, with the options in it when it contains some.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OptionTree<'a> {
    code: u16,
    value: &'a [u8],
    inner: Vec<OptionTree<'a>>,
}

/// Reads the options in `octets` without any shortcut, also those in options, down to `depth`
/// further levels. Returns `None` when one does not have the required length.
fn options(octets: &[u8], depth: usize) -> Option<Vec<OptionTree<'_>>> {
    let mut found = Vec::new();
    let mut rest = octets;
    while rest.len() >= 4 {
        let code = u16::from_be_bytes([rest[0], rest[1]]);
        let len = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
        if 4 + len > rest.len() {
            break;
        }
        let value = &rest[4..4 + len];
        rest = &rest[4 + len..];
        let fixed = match code {
            3 | 25 => 12,
            4 => 4,
            5 => 24,
            26 => 25,
            _ => 0,
        };
        let is_right = match code {
            1 | 2 => (3..=130).contains(&len),
            6 => len >= 2 && len % 2 == 0,
            13 | 67 => len >= 2,
            7 | 19 => len == 1,
            8 | 135 => len == 2,
            32 | 46 | 82 | 83 => len == 4,
            12 | 80 => len == 16,
            21 | 24 | 29 | 30 | 33 | 58 => are_names(value, 0),
            51 | 57 | 64 => name_end(value, 0, 0, 0).is_some(),
            39 => len >= 1 && value[0] & 5 != 5 && are_labels(&value[1..], 0),
            16 => len >= 4 && are_tuples(&value[4..]),
            26 => len >= 25,
            _ => len >= fixed,
        };
        if !is_right {
            return None;
        }
        let inner =
            if fixed > 0 && depth > 0 { options(&value[fixed..], depth - 1)? } else { vec![] };
        found.push(OptionTree { code, value, inner });
    }
    Some(found)
}

fn are_tuples(octets: &[u8]) -> bool {
    match octets {
        [] => true,
        [high, low, rest @ ..] => {
            let len = usize::from(u16::from_be_bytes([*high, *low]));
            len <= rest.len() && are_tuples(&rest[len..])
        }
        _ => false,
    }
}

/// Returns the end of the name at `at`, which may point before `limit` and has `used` bytes so far.
fn name_end(octets: &[u8], at: usize, limit: usize, used: usize) -> Option<usize> {
    match usize::from(*octets.get(at)?) {
        0 => Some(at + 1),
        len @ 1..64 if used + len < 254 => name_end(octets, at + 1 + len, limit, used + len + 1),
        high @ 192.. => {
            let target = (high - 192) * 256 + usize::from(*octets.get(at + 1)?);
            let end = (target < limit).then(|| name_end(octets, target, target, used))?;
            end.map(|_| at + 2)
        }
        _ => None,
    }
}

fn are_names(octets: &[u8], at: usize) -> bool {
    at == octets.len() || name_end(octets, at, at, 0).is_some_and(|end| are_names(octets, end))
}

/// Returns true if a name is made of labels, with or without its final zero, which is the only one
/// that it may end in.
fn are_labels(octets: &[u8], used: usize) -> bool {
    match octets {
        [] | [0, ..] => true,
        [len, rest @ ..] => {
            let len = usize::from(*len);
            len < 64
                && used + len < 254
                && len <= rest.len()
                && (len < rest.len() || rest.last() != Some(&0))
                && are_labels(&rest[len..], used + len + 1)
        }
    }
}

fn count(options: &[OptionTree<'_>]) -> usize {
    options.iter().map(|option| 1 + count(&option.inner)).sum()
}

/// Relay level, read plainly: its fixed part and its options.
type PlainLevel<'a> = (&'a [u8], Vec<(u16, &'a [u8])>);

/// Packet, read plainly: the levels, the message and its options.
struct PlainPacket<'a> {
    levels: Vec<PlainLevel<'a>>,
    message: &'a [u8],
    options: Vec<OptionTree<'a>>,
}

/// Reads a packet; returns `None` when it is malformed.
fn plain(octets: &[u8]) -> Option<PlainPacket<'_>> {
    let mut levels = Vec::new();
    let mut message = octets;
    let mut total = 0;
    while matches!(message.first()?, 12 | 13) {
        if message[0] != octets[0] || message.len() < 34 || levels.len() == RELAYS_MAX {
            return None;
        }
        let (mut found, mut rest) = (Vec::new(), &message[34..]);
        while rest.len() >= 4 {
            let len = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
            let Some(value) = rest.get(4..4 + len) else { break };
            let code = u16::from_be_bytes([rest[0], rest[1]]);
            if (code == 37 && len < 4) || (code == 135 && len != 2) {
                return None;
            }
            found.push((code, value));
            rest = &rest[4 + len..];
        }
        total += found.len();
        let inner = found.iter().rfind(|(code, _)| *code == 9)?.1;
        levels.push((&message[..34], found));
        message = inner;
    }
    if message.len() < 4 || message[0] == 0 || message[0] > 37 {
        return None;
    }
    let options = options(&message[4..], 2)?;
    (total + count(&options) <= OPTIONS_MAX).then_some(PlainPacket { levels, message, options })
}

fn word(octets: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(octets[at..at + 4].try_into().unwrap())
}

fn short(octets: &[u8]) -> u16 {
    u16::from_be_bytes([octets[0], octets[1]])
}

/// Asserts that every view of a packet agrees with the plain reading.
fn check_reading(packet: &Packet<'_>, plain: &PlainPacket<'_>) {
    assert_eq!(packet.relay_count(), plain.levels.len());
    assert_eq!(packet.relay_type().is_some(), !plain.levels.is_empty());
    for (relay, (fixed, options)) in packet.relays().zip(&plain.levels) {
        assert_eq!(Some(fixed[0]), packet.relay_type().map(MessageType::code));
        assert_eq!(fixed[1], relay.hop_count);
        assert_eq!(fixed[2..18], relay.link_address.octets());
        assert_eq!(fixed[18..], relay.peer_address.octets());
        assert!(relay.options.eq(options.iter().copied()));
        let first = |code: u16| options.iter().find(|found| found.0 == code).map(|found| found.1);
        assert_eq!(relay.interface_id(), first(18));
        assert_eq!(relay.remote_id(), first(37).map(|value| (word(value, 0), &value[4..])));
        assert_eq!(relay.relay_port(), first(135).map(short));
        let address = first(79).filter(|value| value.len() >= 2);
        let address = address.map(|value| (short(value), &value[2..]));
        assert_eq!(relay.client_link_layer_address(), address);
        assert_eq!(relay.supplied_options().octets(), first(66).unwrap_or_default());
    }
    let message = packet.message();
    assert_eq!(message.octets(), plain.message);
    assert_eq!(message.message_type().code(), plain.message[0]);
    assert_eq!(message.transaction_id(), word(plain.message, 0) & 0x00ff_ffff);
    check_message(&message, &plain.options);
    let is_same = |alone: Message<'_>| alone.options().eq(message.options());
    assert!(Message::parse(plain.message).is_ok_and(is_same));
}

fn check_message(message: &Message<'_>, plain: &[OptionTree<'_>]) {
    let first =
        |code: u16| plain.iter().find(|option| option.code == code).map(|found| found.value);
    assert!(message.options().eq(plain.iter().map(|option| (option.code, option.value))));
    let read: usize = plain.iter().map(|option| 4 + option.value.len()).sum();
    assert_eq!(message.is_cut(), 4 + read != message.octets().len());
    for code in plain.iter().map(|option| option.code).chain([0, 3, 39, 300]) {
        assert_eq!(message.option(code), first(code), "{code}");
        let instances = plain.iter().filter(|option| option.code == code).count();
        assert_eq!(message.repeats(code), instances > 1, "{code}");
    }
    assert_eq!((message.client_id(), message.server_id()), (first(1), first(2)));
    assert_eq!(message.has_rapid_commit(), first(14).is_some());
    assert_eq!(message.elapsed_time(), first(8).map(short));
    assert_eq!(message.status(), first(13).map(|value| (short(value), &value[2..])));
    let requested: Vec<u16> = first(6).unwrap_or_default().chunks(2).map(short).collect();
    assert!(message.requested_options().eq(requested.iter().copied()));
    assert!(requested.iter().all(|&code| message.requests(code)));
    assert_eq!(message.requests(23), requested.contains(&23));
    let (number, data) = first(16).map_or((0, 0), |value| (word(value, 0), value.len() - 4));
    let (known, tuples) = message.vendor_class().map_or((0, 0), |(number, tuples)| {
        (number, tuples.map(|piece| 2 + piece.len()).sum::<usize>())
    });
    assert_eq!((known, tuples), (number, data));
    assert_eq!(message.user_class().is_some(), first(15).is_some());
    let ias: Vec<&OptionTree<'_>> =
        plain.iter().filter(|option| matches!(option.code, 3 | 4 | 25)).collect();
    assert_eq!(message.ias().count(), ias.len());
    message.ias().zip(ias).for_each(|(ia, plain)| check_ia(&ia, plain));
    for duid in [message.client_id(), message.server_id()].into_iter().flatten() {
        let mut copy = [0; 130];
        let len = Duid::parse(duid).write(&mut copy).unwrap();
        assert_eq!(copy[..len], *duid);
    }
}

fn check_ia(ia: &Ia<'_>, plain: &OptionTree<'_>) {
    assert_eq!(ia.kind.code(), plain.code);
    assert_eq!(ia.iaid, word(plain.value, 0));
    if ia.kind != IaKind::Ta {
        assert_eq!((ia.t1_s, ia.t2_s), (word(plain.value, 4), word(plain.value, 8)));
    }
    check_inner(ia.options, &plain.inner);
    let of = |code: u16| plain.inner.iter().filter(move |option| option.code == code);
    assert_eq!(ia.addresses().count(), of(5).count());
    for (address, plain) in ia.addresses().zip(of(5)) {
        assert_eq!(plain.value[..16], address.address.octets());
        let times = (word(plain.value, 16), word(plain.value, 20));
        assert_eq!((address.preferred_s, address.valid_s), times);
        check_inner(address.options, &plain.inner);
    }
    let possible = || of(26).filter(|plain| plain.value[8] <= 128);
    assert_eq!(ia.prefixes().count(), possible().count());
    for (prefix, plain) in ia.prefixes().zip(possible()) {
        let times = (word(plain.value, 0), word(plain.value, 4));
        assert_eq!((prefix.preferred_s, prefix.valid_s), times);
        assert_eq!(prefix.len, plain.value[8]);
        assert_eq!(plain.value[9..25], prefix.prefix.octets());
        check_inner(prefix.options, &plain.inner);
        if let Some((excluded, len)) = prefix.excluded() {
            assert!(len > prefix.len && len <= 128);
            let differing = u128::from(excluded) ^ u128::from(prefix.prefix);
            assert!(differing.leading_zeros() >= u32::from(prefix.len));
        }
    }
}

fn check_inner(options: Dhcp6OptionIterator<'_>, plain: &[OptionTree<'_>]) {
    assert!(options.eq(plain.iter().map(|option| (option.code, option.value))));
    let status = plain.iter().find(|option| option.code == 13).map(|found| found.value);
    assert_eq!(options.status(), status.map(|value| (short(value), &value[2..])));
}

/// Asserts that `validity` agrees with RFC 9915 §16, except for §16.12: Kea answers an
/// INFORMATION-REQUEST with an IA.
fn check_validity(message: &Message<'_>, plain: &[OptionTree<'_>]) {
    let of = |code: u16| plain.iter().filter(|option| option.code == code).count();
    let (clients, servers) = (of(1), of(2));
    let is_valid = match message.message_type().code() {
        1 | 4 | 6 | 36 => clients == 1 && servers == 0,
        2 | 3 | 5 | 8 | 9 | 10 => clients == 1 && servers == 1,
        7 | 15 => clients <= 1 && servers == 1,
        14 | 37 => clients == 1 && servers <= 1,
        _ => clients <= 1 && servers <= 1,
    };
    let found = validity(message);
    assert_eq!(found.is_ok(), is_valid);
    if let Err(reason) = found {
        assert_eq!(Invalid::ALL[reason.index()], reason);
    }
}

/// Writes options as they were read.
fn write(writer: &mut MessageWriter<'_>, options: &[OptionTree<'_>]) {
    for OptionTree { code, value, inner } in options {
        if inner.is_empty() {
            writer.option(*code, value);
            continue;
        }
        let fixed_len = match *code {
            option::IA_TA => 4,
            option::IAADDR => 24,
            option::IAPREFIX => 25,
            _ => 12,
        };
        let mark = writer.begin(*code);
        writer.octets(&value[..fixed_len]);
        write(writer, inner);
        writer.end(mark);
    }
}

/// Asserts that a packet written again has the same meaning, and that a reply mirrors its levels.
fn check_writing(packet: &Packet<'_>, plain: &PlainPacket<'_>, buffer: &mut [u8]) {
    let message = packet.message();
    let levels = match packet.relay_type() {
        Some(MessageType::RelayRepl) => RelayWriter::reply(buffer),
        _ => RelayWriter::forward(buffer),
    };
    let levels = packet.relays().fold(levels, |levels, relay| {
        let level = levels.level(relay.hop_count, relay.link_address, relay.peer_address);
        let others = relay.options.filter(|&(code, _)| code != option::RELAY_MSG);
        others.fold(level, |level, (code, value)| level.option(code, value))
    });
    let mut writer = levels.message(message.message_type(), message.transaction_id());
    write(&mut writer, &plain.options);
    let len = writer.finish().unwrap();
    let again = Packet::parse(&buffer[..len]).unwrap();
    assert_eq!(again.relay_count(), packet.relay_count());
    let again_options = options(&again.message().octets()[4..], 2).unwrap();
    assert!(is_same(&again_options, &plain.options));

    let mut writer = MessageWriter::reply_to(buffer, packet, MessageType::Reply);
    let len = writer.option(option::RAPID_COMMIT, &[]).finish().unwrap();
    let answer = Packet::parse(&buffer[..len]).unwrap();
    assert_eq!(answer.message().transaction_id(), message.transaction_id());
    assert_eq!(answer.relay_count(), packet.relay_count());
    for (theirs, ours) in packet.relays().zip(answer.relays()) {
        assert_eq!(ours.hop_count, theirs.hop_count);
        assert_eq!(ours.link_address, theirs.link_address);
        assert_eq!(ours.peer_address, theirs.peer_address);
        assert_eq!(ours.interface_id(), theirs.interface_id());
        assert_eq!(ours.relay_port(), theirs.relay_port());
    }
}

/// Returns true if options are the same except for bytes in IAs that are no option.
fn is_same(left: &[OptionTree<'_>], right: &[OptionTree<'_>]) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).all(|(left, right)| {
            let is_value_same = left.value == right.value || !left.inner.is_empty();
            left.code == right.code && is_value_same && is_same(&left.inner, &right.inner)
        })
}

/// Runs the case that belongs to `seed`; returns true if the packet was accepted.
fn run(seed: u64, captures: &[&[u8]], input: &mut [u8], output: &mut [u8]) -> bool {
    let mut random = Random::from_seed(seed);
    let (kind, len) = datagram(&mut random, captures, input);
    let plain = plain(&input[..len]);
    match Packet::parse(&input[..len]) {
        Ok(packet) => {
            let plain = plain.expect("what is malformed is refused");
            check_reading(&packet, &plain);
            check_validity(&packet.message(), &plain.options);
            check_writing(&packet, &plain, output);
            true
        }
        Err(reason) => {
            assert!(kind != DatagramKind::Sound && plain.is_none(), "refused: {reason}");
            assert_eq!(Malformed::ALL[reason.index()], reason);
            false
        }
    }
}

#[test]
fn any_datagram_is_refused_or_read_as_the_rfc_says() {
    let payloads = V6.all_payloads();
    let captures: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
    let (mut input, mut output) = ([0; BUFFER_LEN], [0; 2 * BUFFER_LEN]);
    run_cases("v6::", |seed| run(seed, &captures, &mut input, &mut output));
}
