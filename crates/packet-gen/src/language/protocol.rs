//! Protocols that have header functions in the packet language: their names, lengths and fields.
//!
//! References: IEEE 802.3 annex 31B and 802.1Qbb (pause, PFC), 802.1Q; RFC 3032 (MPLS), 826, 791,
//! 8200, 792, 4443, 768, 9293, 1035.

base::named! {
    /// Protocol that has a header function in the packet language. Names are those of header
    /// functions, for messages.
    pub(crate) enum HeaderProtocol {
        Ethernet = "eth",
        Pause = "pause",
        Pfc = "pfc",
        Vlan = "vlan",
        Mpls = "mpls",
        Arp = "arp",
        Ip4 = "ipv4",
        Ip6 = "ipv6",
        Icmp4 = "icmpv4",
        Icmp6 = "icmpv6",
        Udp = "udp",
        Tcp = "tcp",
        Dns = "dns",
    }
}

/// Kind of a header field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderFieldKind {
    Number,
    Mac,
    Ip4,
    Ip6,
    /// Word without a value in the packet text, which sets the field to this number.
    Flag(u32),
    /// Number or word, such as `request` or `reply` (ARP), `echorequest` or `echoreply` (ICMPv6).
    Named(&'static [(&'static str, u32)]),
}

/// Field of a header in the packet language.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeaderField {
    /// Names of the field in the packet language, the documented one first.
    pub(crate) names: &'static [&'static str],
    /// Offset of the field from the start of the header in bytes; the VLAN tag's protocol precedes
    /// its header.
    pub(crate) at: isize,
    /// Number of bytes of the header that contain the field.
    pub(crate) len: usize,
    /// Number of bits to the right of the field in the bytes that contain it.
    pub(crate) shift: u32,
    /// Mask of the field's bits after shifting; 0 for fields longer than four bytes.
    pub(crate) mask: u32,
    pub(crate) kind: HeaderFieldKind,
}

impl HeaderField {
    /// Returns the position of the field as offset and shift, by which given values are recorded:
    /// flags share the position of their field.
    pub(crate) const fn position(&self) -> (isize, u32) {
        (self.at, self.shift)
    }
}

const fn octets(
    names: &'static [&'static str],
    at: isize,
    len: usize,
    kind: HeaderFieldKind,
) -> HeaderField {
    let mask = match len {
        1 => 0xff,
        2 => 0xffff,
        4 => u32::MAX,
        _ => 0,
    };
    HeaderField { names, at, len, shift: 0, mask, kind }
}

const fn number(names: &'static [&'static str], at: isize, len: usize) -> HeaderField {
    octets(names, at, len, HeaderFieldKind::Number)
}

const fn bits(
    names: &'static [&'static str],
    at: isize,
    len: usize,
    shift: u32,
    mask: u32,
) -> HeaderField {
    HeaderField { names, at, len, shift, mask, kind: HeaderFieldKind::Number }
}

const fn flag(names: &'static [&'static str], at: isize, len: usize, shift: u32) -> HeaderField {
    HeaderField { names, at, len, shift, mask: 1, kind: HeaderFieldKind::Flag(1) }
}

const fn preset(names: &'static [&'static str], at: isize, len: usize, value: u32) -> HeaderField {
    octets(names, at, len, HeaderFieldKind::Flag(value))
}

const ARP_OPERATIONS: HeaderFieldKind =
    HeaderFieldKind::Named(&[("request", 1), ("req", 1), ("reply", 2)]);
const ICMP6_TYPES: HeaderFieldKind =
    HeaderFieldKind::Named(&[("echorequest", 128), ("echoreply", 129)]);

pub(crate) const ETH_TYPE: HeaderField = number(&["type", "etype", "prot", "proto"], 12, 2);
pub(crate) const ETH_DESTINATION: HeaderField =
    octets(&["da", "daddr"], 0, 6, HeaderFieldKind::Mac);
pub(crate) const ETH_SOURCE: HeaderField = octets(&["sa", "saddr"], 6, 6, HeaderFieldKind::Mac);
pub(crate) const VLAN_TPID: HeaderField = number(&["tpid", "prot", "proto"], -2, 2);
/// EtherType field after a VLAN tag, for which the packet language has no name.
pub(crate) const VLAN_TYPE: HeaderField = number(&[], 2, 2);
pub(crate) const MPLS_LAST: HeaderField = bits(&["last"], 0, 4, 8, 1);
pub(crate) const IP4_PROTOCOL: HeaderField = number(&["proto", "prot"], 9, 1);
pub(crate) const IP4_LENGTH: HeaderField = number(&["len", "length"], 2, 2);
pub(crate) const IP4_CHECKSUM: HeaderField = number(&["csum"], 10, 2);
pub(crate) const IP4_SOURCE: HeaderField = octets(&["sa", "saddr"], 12, 4, HeaderFieldKind::Ip4);
pub(crate) const IP6_LENGTH: HeaderField = number(&["len", "length"], 4, 2);
pub(crate) const IP6_NEXT: HeaderField = number(&["nh", "nexthdr"], 6, 1);
pub(crate) const IP6_SOURCE: HeaderField = octets(&["sa", "saddr"], 8, 16, HeaderFieldKind::Ip6);
pub(crate) const ICMP_CHECKSUM: HeaderField = number(&["csum"], 2, 2);
pub(crate) const UDP_LENGTH: HeaderField = number(&["len", "length"], 4, 2);
pub(crate) const UDP_CHECKSUM: HeaderField = number(&["csum"], 6, 2);
pub(crate) const TCP_CHECKSUM: HeaderField = number(&["csum"], 16, 2);
pub(crate) const DESTINATION_PORT: HeaderField = number(&["dp", "dport"], 2, 2);
pub(crate) const DNS_RESPONSE: HeaderField = bits(&["qr"], 2, 2, 15, 1);
/// Numbers of records in the four sections, fields of a DNS header (RFC 1035 §4.1.1).
pub(crate) const DNS_COUNTS: [HeaderField; 4] = [
    number(&["qdcount"], 4, 2),
    number(&["ancount"], 6, 2),
    number(&["nscount"], 8, 2),
    number(&["arcount"], 10, 2),
];

const ETHERNET: &[HeaderField] = &[ETH_DESTINATION, ETH_SOURCE, ETH_TYPE];
const PAUSE: &[HeaderField] = &[number(&["code"], 0, 2), number(&["time"], 2, 2)];
const PFC: &[HeaderField] = &[number(&["code"], 0, 2), number(&["prio", "pri"], 2, 2)];
const VLAN: &[HeaderField] = &[
    VLAN_TPID,
    number(&["tci"], 0, 2),
    bits(&["pcp"], 0, 2, 13, 7),
    bits(&["dei", "cfi"], 0, 2, 12, 1),
    bits(&["id"], 0, 2, 0, 0xfff),
    preset(&["1q"], -2, 2, 0x8100),
    preset(&["1ad"], -2, 2, 0x88a8),
];
const MPLS: &[HeaderField] = &[
    bits(&["label", "lbl"], 0, 4, 12, 0xf_ffff),
    bits(&["tc", "tclass", "exp"], 0, 4, 9, 7),
    MPLS_LAST,
    bits(&["ttl"], 0, 4, 0, 0xff),
];
const ARP: &[HeaderField] = &[
    number(&["htype"], 0, 2),
    number(&["ptype"], 2, 2),
    octets(&["op", "oper"], 6, 2, ARP_OPERATIONS),
    preset(&["request", "req"], 6, 2, 1),
    preset(&["reply"], 6, 2, 2),
    octets(&["smac", "sha"], 8, 6, HeaderFieldKind::Mac),
    octets(&["sip", "spa"], 14, 4, HeaderFieldKind::Ip4),
    octets(&["tmac", "tha"], 18, 6, HeaderFieldKind::Mac),
    octets(&["tip", "tpa"], 24, 4, HeaderFieldKind::Ip4),
];
const IP4: &[HeaderField] = &[
    bits(&["ver", "version"], 0, 1, 4, 0xf),
    bits(&["ihl"], 0, 1, 0, 0xf),
    number(&["tos"], 1, 1),
    bits(&["dscp"], 1, 1, 2, 0x3f),
    bits(&["ecn"], 1, 1, 0, 3),
    IP4_LENGTH,
    number(&["id"], 4, 2),
    bits(&["flags"], 6, 2, 13, 7),
    flag(&["df"], 6, 2, 14),
    flag(&["mf"], 6, 2, 13),
    bits(&["frag"], 6, 2, 0, 0x1fff),
    number(&["ttl"], 8, 1),
    IP4_PROTOCOL,
    IP4_CHECKSUM,
    IP4_SOURCE,
    octets(&["da", "daddr"], 16, 4, HeaderFieldKind::Ip4),
];
const IP6: &[HeaderField] = &[
    bits(&["ver", "version"], 0, 4, 28, 0xf),
    bits(&["tc", "tclass", "class"], 0, 4, 20, 0xff),
    bits(&["fl", "flow"], 0, 4, 0, 0xf_ffff),
    IP6_LENGTH,
    IP6_NEXT,
    number(&["hl", "hoplimit", "ttl"], 7, 1),
    IP6_SOURCE,
    octets(&["da", "daddr"], 24, 16, HeaderFieldKind::Ip6),
];
const ICMP4: &[HeaderField] = &[
    number(&["type"], 0, 1),
    number(&["code"], 1, 1),
    ICMP_CHECKSUM,
    number(&["id"], 4, 2),
    number(&["seq"], 6, 2),
    number(&["mtu"], 6, 2),
    octets(&["addr"], 4, 4, HeaderFieldKind::Ip4),
    preset(&["echorequest"], 0, 2, 0x0800),
    preset(&["echoreply"], 0, 2, 0),
];
const ICMP6: &[HeaderField] = &[
    octets(&["type"], 0, 1, ICMP6_TYPES),
    number(&["code"], 1, 1),
    ICMP_CHECKSUM,
    preset(&["echorequest"], 0, 1, 128),
    preset(&["echoreply"], 0, 1, 129),
];
const UDP: &[HeaderField] =
    &[number(&["sp", "sport"], 0, 2), DESTINATION_PORT, UDP_LENGTH, UDP_CHECKSUM];
const TCP: &[HeaderField] = &[
    number(&["sp", "sport"], 0, 2),
    DESTINATION_PORT,
    number(&["seq"], 4, 4),
    number(&["aseq", "ackseq"], 8, 4),
    bits(&["doff", "hlen"], 12, 1, 4, 0xf),
    flag(&["cwr"], 13, 1, 7),
    flag(&["ece", "ecn"], 13, 1, 6),
    flag(&["urg"], 13, 1, 5),
    flag(&["ack"], 13, 1, 4),
    flag(&["psh"], 13, 1, 3),
    flag(&["rst"], 13, 1, 2),
    flag(&["syn"], 13, 1, 1),
    flag(&["fin"], 13, 1, 0),
    number(&["win", "window"], 14, 2),
    TCP_CHECKSUM,
    number(&["urgptr"], 18, 2),
];
const DNS: &[HeaderField] = &[
    number(&["id"], 0, 2),
    DNS_RESPONSE,
    bits(&["op", "oper"], 2, 2, 11, 0xf),
    bits(&["aa", "aanswer"], 2, 2, 10, 1),
    bits(&["trunc"], 2, 2, 9, 1),
    bits(&["rdesired"], 2, 2, 8, 1),
    bits(&["ravail"], 2, 2, 7, 1),
    bits(&["zero"], 2, 2, 4, 7),
    bits(&["rc", "rcode"], 2, 2, 0, 0xf),
    DNS_COUNTS[0],
    DNS_COUNTS[1],
    DNS_COUNTS[2],
    DNS_COUNTS[3],
];

/// Mask of the reserved bits of a DNS header as far as trafgen 0.6.8 covers them.
pub(crate) const DNS_ZERO_QUIRK: u32 = 3;

impl HeaderProtocol {
    /// Returns the protocol whose header function is called `name`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "eth" => Self::Ethernet,
            "pause" => Self::Pause,
            "pfc" => Self::Pfc,
            "vlan" => Self::Vlan,
            "mpls" => Self::Mpls,
            "arp" => Self::Arp,
            "ip4" | "ipv4" => Self::Ip4,
            "ip6" | "ipv6" => Self::Ip6,
            "icmp4" | "icmpv4" => Self::Icmp4,
            "icmp6" | "icmpv6" => Self::Icmp6,
            "udp" => Self::Udp,
            "tcp" => Self::Tcp,
            "dns" => Self::Dns,
            _ => return None,
        })
    }

    pub(crate) const fn fields(self) -> &'static [HeaderField] {
        match self {
            Self::Ethernet => ETHERNET,
            Self::Pause => PAUSE,
            Self::Pfc => PFC,
            Self::Vlan => VLAN,
            Self::Mpls => MPLS,
            Self::Arp => ARP,
            Self::Ip4 => IP4,
            Self::Ip6 => IP6,
            Self::Icmp4 => ICMP4,
            Self::Icmp6 => ICMP6,
            Self::Udp => UDP,
            Self::Tcp => TCP,
            Self::Dns => DNS,
        }
    }

    /// Returns the bytes of the protocol's header, with the fields that are not 0 by default. (A
    /// VLAN tag counts from after its protocol, which is written over the EtherType before it.)
    pub(crate) const fn template(self) -> &'static [u8] {
        match self {
            Self::Ethernet => &[0; 14],
            Self::Pause => &[0, 1, 0, 0],
            Self::Pfc => &[1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            Self::Vlan => &[0; 4],
            Self::Mpls => &[0, 0, 1, 0],
            Self::Arp => &[
                0, 1, 8, 0, 6, 4, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            ],
            Self::Ip4 => &[0x45, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            Self::Ip6 => {
                const FIRST: [u8; 40] = {
                    let mut octets = [0; 40];
                    octets[0] = 0x60;
                    octets
                };
                &FIRST
            }
            Self::Icmp4 | Self::Udp => &[0; 8],
            Self::Icmp6 => &[0; 4],
            Self::Tcp => &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0, 0, 0, 0, 0, 0, 0],
            Self::Dns => &[0; 12],
        }
    }

    /// Returns the protocol's checksum field, which is written last: the checksum over the
    /// following bytes, or over the header (IPv4).
    pub(crate) const fn checksum(self) -> Option<HeaderField> {
        match self {
            Self::Ip4 => Some(IP4_CHECKSUM),
            Self::Icmp4 | Self::Icmp6 => Some(ICMP_CHECKSUM),
            Self::Udp => Some(UDP_CHECKSUM),
            Self::Tcp => Some(TCP_CHECKSUM),
            _ => None,
        }
    }

    /// Returns the protocol's field with the length of the following bytes, and the number of bytes
    /// of the header that this length does not count.
    pub(crate) const fn length(self) -> Option<(HeaderField, usize)> {
        match self {
            Self::Ip4 => Some((IP4_LENGTH, 0)),
            Self::Ip6 => Some((IP6_LENGTH, 40)),
            Self::Udp => Some((UDP_LENGTH, 0)),
            _ => None,
        }
    }

    /// Returns the protocol's field that names the next header.
    pub(crate) const fn next_field(self) -> Option<HeaderField> {
        match self {
            Self::Ethernet => Some(ETH_TYPE),
            Self::Vlan => Some(VLAN_TYPE),
            Self::Ip4 => Some(IP4_PROTOCOL),
            Self::Ip6 => Some(IP6_NEXT),
            Self::Udp | Self::Tcp => Some(DESTINATION_PORT),
            _ => None,
        }
    }

    /// Returns the number of this protocol in the field [`Self::next_field`] of a `lower` header;
    /// `None` if it has none there.
    pub(crate) const fn number_in(self, lower: Self) -> Option<u32> {
        match (lower, self) {
            (Self::Ethernet | Self::Vlan, Self::Pause | Self::Pfc) => Some(0x8808),
            (Self::Ethernet | Self::Vlan, Self::Vlan) => Some(0x8100),
            (Self::Ethernet | Self::Vlan, Self::Mpls) => Some(0x8847),
            (Self::Ethernet | Self::Vlan, Self::Arp) => Some(0x0806),
            (Self::Ethernet | Self::Vlan, Self::Ip4) => Some(0x0800),
            (Self::Ethernet | Self::Vlan, Self::Ip6) => Some(0x86dd),
            (Self::Ip4 | Self::Ip6, Self::Ip4) => Some(4),
            (Self::Ip4 | Self::Ip6, Self::Ip6) => Some(41),
            (Self::Ip4 | Self::Ip6, Self::Icmp4) => Some(1),
            (Self::Ip4 | Self::Ip6, Self::Icmp6) => Some(58),
            (Self::Ip4 | Self::Ip6, Self::Udp) => Some(17),
            (Self::Ip4 | Self::Ip6, Self::Tcp) => Some(6),
            (Self::Udp | Self::Tcp, Self::Dns) => Some(53),
            _ => None,
        }
    }

    /// Returns true if a header of this protocol can be directly after one of `lower`; otherwise
    /// [`Self::usual_lower`] comes between.
    pub(crate) const fn may_follow(self, lower: Self) -> bool {
        match self {
            Self::Ethernet => true,
            Self::Icmp4 | Self::Udp | Self::Tcp => matches!(lower, Self::Ip4 | Self::Ip6),
            Self::Icmp6 => matches!(lower, Self::Ip6),
            Self::Dns => matches!(lower, Self::Udp | Self::Tcp | Self::Dns),
            Self::Vlan => matches!(lower, Self::Ethernet | Self::Vlan),
            Self::Pause | Self::Pfc | Self::Arp => {
                matches!(lower, Self::Ethernet | Self::Vlan | Self::Mpls)
            }
            // A tunnel may begin after any header.
            Self::Mpls | Self::Ip4 | Self::Ip6 => true,
        }
    }

    /// Returns the protocol of the header that is added below this one, if it needs another.
    pub(crate) const fn usual_lower(self) -> Option<Self> {
        match self {
            Self::Ethernet => None,
            Self::Icmp4 | Self::Udp | Self::Tcp => Some(Self::Ip4),
            Self::Icmp6 => Some(Self::Ip6),
            Self::Dns => Some(Self::Udp),
            _ => Some(Self::Ethernet),
        }
    }
}
