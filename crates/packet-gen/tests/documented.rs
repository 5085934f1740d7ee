//! Tests of the meaning of packet texts by default: as trafgen's manual states. The expected bytes
//! were worked out by hand from the manual and the RFCs, or are those of trafgen where both agree.

use packet_gen::FrameStream;
use packet_gen::language::{self, InterfaceAddresses, PacketParserSettings, PacketProgram};

fn compile(text: &str) -> PacketProgram {
    language::compile(text.as_bytes(), &PacketParserSettings::default())
        .unwrap_or_else(|problems| panic!("{text}\n{}", problems[0]))
}

/// Returns the first `count` frames of the packet text `text` in hexadecimal digits.
fn frames(text: &str, count: usize) -> Vec<String> {
    let program = compile(text);
    let mut stream = FrameStream::new(&program, None, program.random.clone(), false);
    (0..count).map(|_| hex(stream.frame().expect("a packet takes part"))).collect()
}

fn frame(text: &str) -> String {
    frames(text, 1).remove(0)
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Returns all problems of the packet text `text`, as users see them.
fn problems(text: &str) -> Vec<String> {
    let problems = language::compile(text.as_bytes(), &PacketParserSettings::default());
    let problems = problems.expect_err("it has mistakes");
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn counters_stay_in_their_range() {
    assert_eq!(frames("{ ddec(1,3) }", 6), ["02", "01", "03", "02", "01", "03"]);
    assert_eq!(frames("{ dinc(5,10,4) }", 4), ["09", "07", "05", "09"]);
}

#[test]
fn the_manuals_example_of_a_part_counts_from_its_first_frame() {
    let text = "{ eth(da=11:22:33:44:55:66, da[0]=dinc()), tcp() }";
    let starts: Vec<String> = frames(text, 3).iter().map(|frame| frame[..12].to_owned()).collect();
    assert_eq!(starts, ["112233445566", "122233445566", "132233445566"]);
}

#[test]
fn fields_without_a_range_use_all_their_numbers() {
    let numbers: Vec<String> = frames("{ tcp(seq=4294967294, seq=dinc()) }", 3)
        .iter()
        .map(|frame| frame[76..84].to_owned())
        .collect();
    assert_eq!(numbers, ["fffffffe", "ffffffff", "00000000"]);
}

#[test]
fn checksums_are_right_wherever_they_stand() {
    // 0102 + 0304 = 0406.
    assert_eq!(frame("{ 1,2,3,4, csumip(0,3) }"), "01020304fbf9");
    // An odd last byte counts as the high half of a word (RFC 1071): 0102 + 0300.
    assert_eq!(frame("{ 1,2,3, csumip(0,2), 9 }"), "010203fbfd09");
    // Frames whose payload changes have new checksums; otherwise 0x0102 + sums of the header alone.
    for frame in frames("{ ipv4(sa=192.0.2.1, da=192.0.2.2), udp(sport=1), drnd(5) }", 4) {
        assert_right(&frame, 17, 34);
    }
    for frame in frames("{ ipv4(ttl=dinc()), tcp(syn), drnd(5) }", 4) {
        assert_right(&frame, 6, 34);
    }
}

/// Checks the UDP or TCP checksum over IPv4 behind Ethernet, computed word by word.
fn assert_right(frame: &str, protocol: u32, at: usize) {
    let octets: Vec<u8> = (0..frame.len() / 2)
        .map(|n| u8::from_str_radix(&frame[2 * n..2 * n + 2], 16).expect("hex"))
        .collect();
    let words = |octets: &[u8]| -> u32 {
        let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        octets.chunks(2).map(word).sum()
    };
    let len = (octets.len() - at) as u32;
    let mut sum = words(&octets[26..34]) + protocol + len + words(&octets[at..]);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    assert_eq!(sum, 0xffff, "{frame}");
}

#[test]
fn a_udp_checksum_of_zero_is_sent_as_ones() {
    // The sum of addresses, protocol, lengths and ports is made to be ffff.
    let text = "{ ipv4(sa=0.0.0.0, da=0.0.0.0), udp(sp=0xffde, dp=0) }";
    assert!(frame(text).ends_with("ffde00000008ffff"), "{}", frame(text));
}

#[test]
fn ipv6_stands_on_ethernet_and_in_ipv4() {
    let text = "{ ipv6(sa=2001:db8::1, da=2001:db8::2), udp(sp=1, dp=2) }";
    assert!(frame(text).starts_with("00000000000000000000000086dd6000000000081100"));
    assert_eq!(&frame("{ ipv4(), ipv6(), udp() }")[46..48], "29");
}

#[test]
fn tunnels_get_what_they_need_between() {
    let nested = frame("{ udp(), udp() }");
    assert_eq!(nested.len() / 2, 14 + 20 + 8 + 20 + 8);
    assert_eq!(&nested[84..88], "4500", "IPv4 below the inner datagram");
    assert_eq!(&frame("{ eth(), ipv4(), tcp(), udp() }")[108..112], "4500");
}

#[test]
fn dns_messages_have_all_sections_in_order() {
    let text = "{ dns(id=1, ans(name=\"b\", addr(192.0.2.1)), qry(name=\"a\"), \
                add(name=\"c\", ns(\"d.e\")), auth(data=\"xy\")) }";
    let message = &frame(text)[84..];
    let expected = "000180000001000100010001\
                    01610000010001\
                    0162000001000100000001000\
                    4c0000201\
                    000000000100000001000\
                    27879\
                    0163000002000100000001000\
                    50164016500";
    assert_eq!(message, expected.replace(char::is_whitespace, ""));
    assert_eq!(
        &frame("{ dns(qry()) }")[108..],
        "03777777".to_owned() + "0b" + &hex(b"netsniff-ng") + "03636f6d0000010001"
    );
}

#[test]
fn the_query_of_the_slides_is_85_octets() {
    // Slides 7 and 8 of the talk, with the braces that its listing lacks.
    let text = r#"{
        # Ethernet header
        0xa0, 0x36, 0x9f, 0x28, 0x96, 0x11, # Destination MAC
        0xa0, 0x36, 0x9f, 0x28, 0x95, 0xb1, # Source MAC
        const16(0x0800), # Ethernet protocol: IPv4
        # IP header
        0b01000101, # IP version (4b), header length (4b)
        0, # TOS
        const16(71), # Total length
        drnd(2), # Fragment ID (randomized)
        0b00000000, 0, # Flags (3b), fragment offset (13b)
        64, # IP TTL
        17, # IP protocol: UDP
        csumip(14, 33), # IP checksum
        192, 168, 0, 1, # Source IP address
        192, 168, 0, 53, # Destination IP address
        # UDP header
        drnd(2), # UDP source port (randomized)
        const16(53053), # UDP destination port
        const16(51), # UDP length
        const16(0), # UDP checksum (disabled)
        # DNS header
        drnd(2), # ID (randomized)
        const16(0x0100), # Flags: RD=1
        const16(1), const16(0), const16(0), const16(1),
        # DNS question section
        0x03, "www",
        0x06, "google",
        0x03, "com",
        0x00,
        const16(28), const16(1),
        # DNS additional section
        0x00, const16(41), const16(4096), 0x00, 0x00,
        0x00, 0x00
        const16(0)
    }"#;
    for frame in frames(text, 3) {
        assert_eq!(frame.len(), 2 * 85);
        // The sum over the IP header with its checksum is ffff.
        let words = (14..34)
            .step_by(2)
            .map(|n| u32::from_str_radix(&frame[2 * n..2 * n + 4], 16).expect("hex"));
        let sum: u32 = words.sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }
}

#[test]
fn the_examples_of_the_manual_are_understood() {
    let settings = PacketParserSettings { preprocess: true, ..PacketParserSettings::default() };
    // The built-in example, with the shared names.
    let text = r#"/* Note: dynamic elements make trafgen slower! */
        #include <stddef.h>
        {
          fill(0xff, ETH_ALEN), 0x00, 0x02, 0xb3, drnd(3), c16(ETH_P_IP),
          0b01000101, 0, c16(59), drnd(2), 0b01000000, 0, 64, 0x06, csumip(14, 33),
          drnd(4), drnd(4), drnd(2), c16(80), drnd(4), c32(0),
          c16((8 << 12) | TCP_FLAG_SYN | TCP_FLAG_ECE)
          c16(16), csumtcp(14, 34),
          0x00, 0x00, 0x01, 0x01, 0x08, 0x0a, 0x06, 0x91, 0x68, 0x7d, 0x06, 0x91, 0x68, 0x6f,
          "gotcha!",
        }"#;
    let program = language::compile(text.as_bytes(), &settings).expect("it is right");
    let mut stream = FrameStream::new(&program, None, program.random.clone(), false);
    let first = hex(stream.frame().expect("a packet"));
    // Its length field says 59, but 73 bytes - 14 follow.
    assert_eq!(first.len() / 2, 73);
    assert_right(&first, 6, 34);
    for text in [
        "{ fill(0xff, 64) csum16(0, 64) }",
        "cpu(1): { rnd(64), 0b11001100, 0xaa }",
        "cpu(1-2): { drnd(64),'a',csum16(1, 8),'b',42 }",
        "{ 0xca, 0xfe, 0xba 0xbe }",
        "{ 0xca, 42, 0b11110000, 011, 'a', \"hello world\", \"\\x31\\xdb\\x8d\\x43\\x17\\x99\" }",
        "{ eth(saddr=aa:bb:cc:dd:ee:ff, saddr=dinc()), ipv4(saddr=dinc()), \
         udp(sport=dinc(1, 13, 2), dport=drnd(80, 100)) }",
        "{ icmpv4(echorequest, seq=1, id=1326) }",
        "{ eth(da=11:22:33:44:55:66), ipv4(daddr=1.2.3.4) udp(dp=7), \"Hello world\" }",
        "{ eth(da=00:1b:21:3c:9d:f8, da=90:e2:ba:0a:56:b4) ipv4(id=drnd(), mf, ttl=64, \
         sa=192.168.51.1, da=192.168.51.2) udp(sport=48054, dport=43514, csum=0) 'A', \
         fill(0x41, 11), }",
        "{ fill(0xff, 6), 0x00, 0x02, 0xb3, rnd(3), c16(0x0800), fill(0xca, 64) }",
        "{ tcp(ecn, syn) }",
    ] {
        compile(text);
    }
}

#[test]
fn blanks_and_comments_stand_anywhere() {
    let expected = frame("{ udp(dp=5,sp=6), 1, 2 }");
    for text in [
        "{ udp( dp = 5 , sp=6 ) , 1, /* x */ 2 }",
        "/* a */ { udp (dp=5, // b\n sp=6)\n1\n# c\n2 ; d\n}",
        "{udp(dp=5,sp=6)1/**/2}",
    ] {
        assert_eq!(frame(text), expected, "{text}");
    }
}

#[test]
fn cpu_restricts_the_packet_that_it_stands_at() {
    let program = compile("cpu(1): { 1 } { 2 } cpu(3-2): { 3 }");
    let packets =
        |cpu| FrameStream::new(&program, Some(cpu), program.random.clone(), false).packets();
    assert_eq!([0, 1, 2, 3].map(packets), [1, 2, 2, 2]);
    let quirks = PacketParserSettings { quirks: true, ..PacketParserSettings::default() };
    let program = language::compile(b"cpu(1): { 1 } { 2 }", &quirks).expect("it is right");
    let mut stream = FrameStream::new(&program, Some(0), program.random.clone(), false);
    assert_eq!((stream.packets(), stream.frame()), (1, Some(&[1][..])), "it restricts the next");
}

#[test]
fn packets_are_drawn_as_the_reference_draws_them() {
    // The frames of trafgen 0.6.8 -r -E 1 with three packets.
    let program = compile("{ 1 } { 2 } { 3 }");
    let mut stream = FrameStream::new(&program, None, program.random.clone(), true);
    let drawn: Vec<u8> = (0..12).map(|_| stream.frame().expect("a packet")[0]).collect();
    assert_eq!(drawn, [1, 2, 2, 1, 2, 3, 2, 2, 1, 1, 2, 3]);
    let program = compile("{ drnd(1) } { dinc(1,9) }");
    let mut stream = FrameStream::new(&program, None, program.random.clone(), true);
    let drawn: Vec<u8> = (0..12).map(|_| stream.frame().expect("a packet")[0]).collect();
    assert_eq!(drawn, [0x67, 0x69, 2, 3, 4, 0xec, 5, 6, 0xab, 0xfb, 7, 0x7c]);
}

#[test]
fn devices_give_their_addresses() {
    let device = InterfaceAddresses {
        mac: [2, 0, 0, 0, 0, 7],
        ip4: [192, 0, 2, 7].into(),
        ip6: "2001:db8::7".parse().expect("an address"),
    };
    let settings =
        PacketParserSettings { device, is_to_file: false, ..PacketParserSettings::default() };
    let frame_hex = |text: &str| {
        let program = language::compile(text.as_bytes(), &settings).expect("it is right");
        hex(&program.packets[0].octets)
    };
    assert_eq!(&frame_hex("{ eth() }")[12..24], "020000000007");
    assert_eq!(&frame_hex("{ ipv4() }")[52..60], "c0000207");
    assert!(frame_hex("{ ipv6() }").contains("20010db8000000000000000000000007"));
    let arp = frame_hex("{ arp() }");
    assert_eq!(&arp[44..], "020000000007c0000207000000000000c0000207");
}

#[test]
fn all_mistakes_are_named_at_once_with_their_place() {
    let text = "{ 1, nothing(3), 2 }\n{ udp(sp=1, speed=7) }\n{ c16(1/0), fill(1) }\n{ }";
    let positions: Vec<String> = problems(text)
        .iter()
        .map(|problem| problem.splitn(3, ':').take(2).collect::<Vec<_>>().join(":"))
        .collect();
    assert_eq!(positions, ["1:6", "2:13", "3:8", "3:13", "4:1"]);
    assert_eq!(
        problems("{ udp(dport=7), \"abc }")[0],
        "1:17: a string without its closing quote\n\
         \x20   { udp(dport=7), \"abc }\n                    ^"
    );
}

#[test]
fn a_mistake_makes_no_further_ones() {
    for text in [
        "{ fill(?, 3), 1 }",
        "{ udp(nothing=7, sport=8), 2 }",
        "{ udp(sport=(1), dport=8), 2 }",
        "{ drnd(1, ?, (2)), \"a, b\", 3 }",
        "{ 1, ) }",
        "{ nothing(fill(1, 2), 3), 4 }",
        "{ ipv4(daddr=1.2.3), udp() }",
        "{ 1, /* 2 }",
        "{ dns(nothing(a, b), id=1) }",
    ] {
        assert_eq!(problems(text).len(), 1, "{text}: {:?}", problems(text));
    }
    assert!(problems("{ 1, /* 2 }")[0].starts_with("1:6: a comment without its closing `*/`"));
}

#[test]
fn a_mistake_of_the_preprocessor_is_named_once() {
    for text in [
        "#define V(a) a\n{ V(1,2,3) }",
        "#define V(a) a\n{ fill(V(1,2), 3), 1, 2 }",
        "{ 1,\n#include \"not-there\"\n}",
        "{\n#if (\n 1\n#endif\n}",
        "#include \"not-there\"\n{ 1 }",
    ] {
        let settings = PacketParserSettings { preprocess: true, ..PacketParserSettings::default() };
        let problems = language::compile(text.as_bytes(), &settings).expect_err(text);
        assert_eq!(problems.len(), 1, "{text}: {problems:?}");
    }
}

#[test]
fn mistakes_are_said_in_words() {
    for (text, words) in [
        ("", "no packet"),
        ("1, 2", "a packet in braces"),
        ("{ 1,,2 }", "nothing between two commas"),
        ("{ 1", "without its closing `}`"),
        ("{ { 1 } }", "a `{` inside"),
        ("{ -1 }", "a sign is allowed inside c8()"),
        ("{ 08 }", "not octal"),
        ("{ bogus }", "neither a number nor a function"),
        ("{ fill(1+2, 3) }", "only c8() to c64() take expressions"),
        ("{ dinc(3,1) }", "3 to 1 is not a valid range"),
        ("{ dinc(0,300) }", "one byte"),
        ("{ rnd(0) }", "the count must not be 0"),
        ("{ fill(0, 99999999999) }", "at most"),
        ("{ csumip(5,9), 1 }", "byte 5, counted from 0, is beyond"),
        ("{ 1, csumip(0,0) }", "covers nothing"),
        ("{ fill(5,30), csumudp(14,28) }", "the IP header at 14"),
        ("{ ipv4(sa=300.1.1.1) }", "not an IPv4 address"),
        ("{ ipv6(sa=1::2::3) }", "neither a hardware nor an IPv6 address"),
        ("{ eth(da=1.2.3.4) }", "a hardware address expected"),
        ("{ ipv4(da[3:2]=dinc()) }", "only bytes 0 to 3"),
        ("{ ipv4(da[0:3]=dinc()) }", "1, 2 or 4 bytes"),
        ("{ ipv4(da[0]=5) }", "only dinc() or drnd()"),
        ("{ ipv4(ttl=dinc(1,256)) }", "255 at most"),
        ("{ ipv4(id=drnd(5)) }", "drnd(min, max)"),
        ("{ pfc(prio(8)=1) }", "from 0 to 7"),
        ("{ dns(qry(name=\"a..b\")) }", "an empty label"),
        ("{ dns(qry(ttl=5)) }", "fields are name, type and class"),
        ("{ \"\" }", "an empty string"),
        ("cpu(x", "`)` expected"),
    ] {
        let messages = problems(text);
        assert!(messages[0].contains(words), "{text}: {messages:?}");
    }
}

#[test]
fn what_is_cut_or_surprising_is_warned_of() {
    let warned = |text: &str| compile(text).warnings.len();
    assert_eq!(warned("{ 256, c8(0x1ff), c16(2+3*4), udp(sp=65536) }"), 4);
    assert_eq!(warned("{ 255, c8(0xff), c8(-1), c16(2*3+4), c16(2+(3*4)), udp(sp=65535) }"), 0);
    assert_eq!(frame("{ 256, 0x1ff }"), "00ff");
}

/// Pieces of the packet language, from which a test makes random texts.
const PIECES: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    ",",
    " ",
    "=",
    "\"",
    "'",
    "\\",
    "[0]",
    "[1:2]",
    "udp",
    "ipv4",
    "dns",
    "qry",
    "eth",
    "vlan",
    "pfc",
    "prio",
    "dinc()",
    "drnd(1,2)",
    "csumip(0,9)",
    "csumudp(0,1)",
    "c16(",
    "1",
    "0x",
    "-",
    "<<",
    "/*",
    "*/",
    "#",
    "\n",
    "cpu(1):",
    "name",
    "sa",
    "1.2.3.4",
    "::1",
    "a:b:c:d:e:f",
    "fill(1,2)",
    "seqinc(1,2,3)",
    "\u{e9}",
    "99999999999999999999",
    "mpls(last=1)",
    "1q",
    "data",
];

#[test]
fn no_text_brings_the_parser_down() {
    // Pieces of the language in random order, and texts with a hole: problems or packets, nothing
    // else.
    let mut random = base::Random::from_seed(7);
    for quirks in [false, true] {
        let settings =
            PacketParserSettings { quirks, preprocess: quirks, ..PacketParserSettings::default() };
        for _ in 0..20_000 {
            let count = random.below(14);
            let mut text = "{ ".to_owned();
            for _ in 0..count {
                text += random.pick(PIECES).expect("there are some");
            }
            text += if random.chance(1, 2) { " }" } else { "" };
            if let Ok(program) = language::compile(text.as_bytes(), &settings) {
                let mut stream = FrameStream::new(&program, None, program.random.clone(), true);
                for _ in 0..3 {
                    stream.frame();
                }
            }
        }
    }
}
