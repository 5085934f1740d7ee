//! Tests of accepted and refused messages, and of the value of each field.

use super::*;
use crate::v4::arbitrary;

/// Returns a request with these options, in a buffer to cut from.
fn request(options: &[u8]) -> ([u8; 600], usize) {
    let mut octets = [0; 600];
    octets[..3].copy_from_slice(&[BOOT_REQUEST, 1, 6]);
    octets[OPTIONS_AT - COOKIE.len()..OPTIONS_AT].copy_from_slice(&COOKIE);
    octets[OPTIONS_AT..OPTIONS_AT + options.len()].copy_from_slice(options);
    (octets, OPTIONS_AT + options.len())
}

fn refusal(octets: &[u8]) -> Option<Malformed> {
    Message::parse(octets).err()
}

#[test]
fn headers_that_cannot_be_are_refused() {
    let (sound, len) = request(&[53, 1, 1, 255]);
    assert_eq!(refusal(&sound[..len]), None);
    assert_eq!(refusal(&sound[..OPTIONS_AT - 1]), Some(Malformed::TooShort));
    assert_eq!(refusal(&[]), Some(Malformed::TooShort));
    let with = |at: usize, value: u8| {
        let mut changed = sound;
        changed[at] = value;
        refusal(&changed[..len])
    };
    assert_eq!(with(0, 0), Some(Malformed::Operation));
    assert_eq!(with(0, 3), Some(Malformed::Operation));
    assert_eq!(with(2, 16), None);
    assert_eq!(with(2, 17), Some(Malformed::HardwareLength));
    assert_eq!(with(239, 0), Some(Malformed::Cookie));
    let mut long = [0; 1 << 16];
    long[..len].copy_from_slice(&sound[..len]);
    assert_eq!(refusal(&long), Some(Malformed::TooLong));
    assert_eq!(refusal(&long[..65_535]), None);
}

#[test]
fn message_types_are_one_known_octet() {
    for (options, refused) in [
        (&[53, 1, 0, 255][..], Some(Malformed::UnknownMessageType)),
        (&[53, 1, 19, 255], Some(Malformed::UnknownMessageType)),
        (&[53, 2, 1, 1, 255], Some(Malformed::MessageTypeLength)),
        (&[53, 0, 255], Some(Malformed::MessageTypeLength)),
        (&[53, 1, 1, 53, 1, 3, 255], Some(Malformed::MessageTypeLength)),
        (&[53, 1, 1, 53, 1, 1, 255], None),
        (&[53, 0, 53, 1, 18, 255], None),
        (&[255], None),
    ] {
        let (octets, len) = request(options);
        assert_eq!(refusal(&octets[..len]), refused, "{options:?}");
    }
    let (octets, len) = request(&[53, 0, 53, 1, 18, 255]);
    let message = Message::parse(&octets[..len]).unwrap();
    assert_eq!(message.message_type(), Some(MessageType::Tls));
    let (octets, len) = request(&[255, 53, 1, 1]);
    let message = Message::parse(&octets[..len]).unwrap();
    assert_eq!(message.message_type(), None, "END ends the options");
}

#[test]
fn lengths_are_judged_after_joining() {
    let (octets, len) = request(&[50, 2, 192, 0, 53, 1, 3, 50, 2, 2, 9, 61, 1, 1, 61, 1, 2]);
    let message = Message::parse(&octets[..len]).unwrap();
    assert_eq!(message.requested_address(), Some(Ipv4Addr::new(192, 0, 2, 9)));
    assert_eq!(message.client_id().unwrap(), [1, 2]);
    assert_eq!(message.client_id().unwrap().as_slice(), None);
    let (octets, len) = request(&[53, 1, 3, 50, 2, 2, 9]);
    assert_eq!(refusal(&octets[..len]), Some(Malformed::OptionLength));
    let (octets, len) = request(&[53, 1, 3, 54, 4, 1, 2, 3, 4, 54, 1, 5]);
    assert_eq!(refusal(&octets[..len]), Some(Malformed::OptionLength));
}

/// Checks that a value that a client repeats is accepted, as in Kea.
#[test]
fn one_value_that_is_said_again_counts_once() {
    let pieces: [&[u8]; 4] =
        [&[50, 4, 192, 0, 2, 9], &[53, 1, 3], &[54, 4, 192, 0, 2, 1], &[57, 2, 2, 0]];
    for piece in pieces {
        let (code, value) = (piece[0], &piece[2..]);
        for count in [2, 3] {
            let mut options = [0; 32];
            for at in 0..count {
                options[at * 8..at * 8 + piece.len()].copy_from_slice(piece);
            }
            options[24..27].copy_from_slice(&[12, 1, b'h']);
            let (octets, len) = request(&options[..27]);
            let message = Message::parse(&octets[..len]).unwrap();
            assert_eq!(message.option(code).unwrap().as_slice(), Some(value));
            assert_eq!(message.options().find(|option| option.0 == code).unwrap().1, *value);
            assert_eq!(message.host_name().unwrap(), *b"h");
        }
        // With another value it is not known which one is meant.
        for other in [0, 8] {
            let mut options = [0; 16];
            options[..piece.len()].copy_from_slice(piece);
            options[8..8 + piece.len()].copy_from_slice(piece);
            options[other + 2] ^= 1;
            let (octets, len) = request(&options);
            let is_type = code == option::DHCP_MESSAGE_TYPE;
            let reason =
                if is_type { Malformed::MessageTypeLength } else { Malformed::OptionLength };
            assert_eq!(refusal(&octets[..len]), Some(reason), "{code}");
        }
    }
    // Names and lists are joined as usual.
    let (octets, len) = request(&[12, 1, b'h', 55, 1, 3, 12, 1, b'h', 55, 1, 3]);
    let message = Message::parse(&octets[..len]).unwrap();
    assert_eq!(message.host_name().unwrap(), *b"hh");
    assert_eq!(message.parameter_request_list().unwrap(), [3, 3]);
}

#[test]
fn an_option_that_is_cut_off_counts_as_not_sent() {
    for (options, is_cut) in [
        (&[53, 1, 1, 12, 3, b'a', b'b'][..], true),
        (&[53, 1, 1, 12], true),
        (&[53, 1, 1], false),
        (&[53, 1, 1, 255, 12, 9], false),
    ] {
        let (octets, len) = request(options);
        let message = Message::parse(&octets[..len]).unwrap();
        assert_eq!(message.is_cut(), is_cut, "{options:?}");
        assert_eq!(message.options().count(), 1, "{options:?}");
        assert!(message.host_name().is_none());
    }
}

#[test]
fn pieces_are_joined_over_all_three_places_in_order() {
    let (mut octets, len) = request(&[53, 1, 1, 52, 1, 3, 61, 2, b'a', b'b', 255]);
    // `sname` is full to its last byte, without END; `file` contains bytes that look like a second
    // option 52.
    octets[SNAME].copy_from_slice(&[0; 64]);
    octets[SNAME.end - 5..SNAME.end].copy_from_slice(&[61, 3, b'e', b'f', b'g']);
    octets[FILE.start..FILE.start + 9].copy_from_slice(b"\x3d\x02cd\x34\x01\x00\xffx");
    let message = Message::parse(&octets[..len]).unwrap();
    let client_id = message.client_id().unwrap();
    assert_eq!(client_id, *b"abcdefg");
    assert_eq!(client_id.fragments().count(), 3);
    assert_eq!(client_id.range(1, 4).unwrap(), *b"bcde");
    assert_eq!(client_id.range(4, 3).unwrap().as_slice(), Some(&b"efg"[..]));
    assert_eq!(client_id.leading(), Some(*b"abcde"));
    assert_eq!((message.sname(), message.file()), (&[][..], &[][..]));
    assert!(message.options().map(|(code, _)| code).eq([53, 52, 61]));
    assert!(message.instances().map(|(code, _)| code).eq([53, 52, 61, 61, 52, 61]));
}

#[test]
fn a_place_that_holds_no_options_is_not_read_into() {
    // The first piece of 61 ends where `file` begins, which contains a name that looks like another
    // piece.
    let (mut octets, len) = request(&[12, 1, b'h', 12, 0, 52, 1, 2, 255]);
    octets[SNAME.end - 5..SNAME.end].copy_from_slice(&[61, 3, b'e', b'f', b'g']);
    octets[FILE.start..FILE.start + 4].copy_from_slice(&[61, 2, b'z', b'z']);
    let message = Message::parse(&octets[..len]).unwrap();
    assert_eq!(message.client_id().unwrap(), *b"efg");
    assert_eq!(message.file(), [61, 2, b'z', b'z']);
}

#[test]
fn the_number_of_options_is_bounded() {
    let mut octets = [0; OPTIONS_AT + 3 + 2 * INSTANCES_MAX];
    let (start, _) = request(&[53, 1, 1]);
    octets[..OPTIONS_AT + 3].copy_from_slice(&start[..OPTIONS_AT + 3]);
    for (pair, octet) in octets[OPTIONS_AT + 3..].chunks_mut(2).zip((200..210).cycle()) {
        pair.copy_from_slice(&[octet, 0]);
    }
    assert_eq!(refusal(&octets), Some(Malformed::TooManyOptions));
    assert_eq!(refusal(&octets[..octets.len() - 2]), None);
}

#[test]
fn the_table_finds_what_a_walk_finds() {
    let mut random = base::Random::from_seed(55);
    let mut buffer = [0; arbitrary::BUFFER_LEN];
    for _ in 0..5_000 {
        let len = arbitrary::sound(&mut random, &mut buffer);
        let message = Message::parse(&buffer[..len]).unwrap();
        for code in 1..255 {
            let walked = message.options().find(|&(found, _)| found == code);
            assert_eq!(message.option(code), walked.map(|(_, value)| value), "{code}");
        }
    }
}

/// Returns the verdicts on `options`: strictly, and leniently.
fn verdicts(options: &[u8]) -> [Option<Malformed>; 2] {
    let (octets, len) = request(options);
    [OptionParsing::Strict, OptionParsing::Lenient]
        .map(|parsing| Message::parse_as(&octets[..len], parsing).err())
}

#[test]
fn what_is_longer_than_its_definition_is_taken_where_parsing_is_lenient() {
    for options in [
        &[50, 5, 192, 0, 2, 1, 0][..],
        &[57, 3, 5, 0xdc, 0],
        &[53, 2, 1, 0],
        &[118, 5, 10, 0, 0, 0, 0],
        &[116, 2, 1, 1],
        &[91, 5, 0, 0, 0, 1, 0],
    ] {
        assert!(matches!(verdicts(options), [Some(_), None]), "{options:?}");
    }
    for short in [&[50, 3, 192, 0, 2][..], &[2, 3, 0, 0, 0], &[116, 0]] {
        assert_eq!(verdicts(short), [Some(Malformed::OptionLength); 2], "{short:?}");
    }
    let (octets, len) = request(&[53, 1, 1, 50, 5, 192, 0, 2, 1, 9]);
    let message = Message::parse_as(&octets[..len], OptionParsing::Lenient).unwrap();
    assert_eq!(message.requested_address(), Some(Ipv4Addr::new(192, 0, 2, 1)));
}

#[test]
fn what_is_no_name_counts_as_not_sent_where_parsing_is_lenient() {
    let fqdn = Some(Malformed::ClientFqdn);
    assert_eq!(verdicts(b"\x51\x04\x09\0\0f"), [fqdn, None]);
    for bad in [&b"\x51\x07\x04\0\0\x04foo"[..], b"\x51\x07\0\0\0f..o"] {
        assert_eq!(verdicts(bad), [fqdn, None], "{bad:?}");
        let (octets, len) = request(bad);
        let message = Message::parse_as(&octets[..len], OptionParsing::Lenient).unwrap();
        assert!(message.option(81).is_none() && message.client_fqdn().is_none());
    }
    for bad in [&b"\x77\x03\x03fo"[..], b"\x58\x01\x40", b"\x89\0", b"\xd5\x02\x02f"] {
        assert_eq!(verdicts(bad), [Some(Malformed::DomainName), None], "{bad:?}");
    }
    for sound in [&b"\x77\x07\x02fo\0\x01b\0"[..], b"\x77\0", b"\x89\x03\x01f\0", b"\x51\x03\0\0\0"]
    {
        assert_eq!(verdicts(sound), [None; 2], "{sound:?}");
    }
}
