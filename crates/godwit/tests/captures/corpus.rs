//! Captures of every link type that tcpdump writes and of every cut, built here byte by byte.

mod rare_links;

/// Capture with queries and DISCOVERs that contain its name and number.
pub(crate) struct CorpusCapture {
    pub(crate) name: String,
    pub(crate) octets: Vec<u8>,
    /// False if mergecap does not take the file: the file ends inside a packet, tshark does not
    /// know its link, or its sections have different links.
    pub(crate) is_mergeable: bool,
}

/// Frame with its number of bytes on the wire.
struct CorpusFrame {
    octets: Vec<u8>,
    original_len: usize,
}

impl From<Vec<u8>> for CorpusFrame {
    fn from(octets: Vec<u8>) -> Self {
        Self { original_len: octets.len(), octets }
    }
}

impl CorpusFrame {
    /// Cuts the frame as `tcpdump -s LEN` does.
    fn snapped(mut self, len: usize) -> Self {
        self.octets.truncate(len);
        self
    }
}

/// IP packet, with the fields that a link header needs.
struct CorpusPacket {
    is_ipv6: bool,
    octets: Vec<u8>,
}

/// Messages of one capture.
struct CorpusMessageBuilder {
    name: String,
    index: u8,
    count: u8,
}

impl CorpusMessageBuilder {
    fn new(name: &str, index: usize) -> Self {
        Self { name: name.to_owned(), index: index as u8, count: 0 }
    }

    /// Returns a query for `N.NAME A`.
    fn query(&mut self) -> Vec<u8> {
        self.count += 1;
        let number = self.count.to_string();
        let mut message = vec![0, self.count, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in [&number, &self.name] {
            message.push(label.len() as u8);
            message.extend(label.as_bytes());
        }
        message.extend([0, 0, 1, 0, 1]);
        message
    }

    fn answer(&mut self) -> Vec<u8> {
        let mut message = self.query();
        message[2] |= 0x80;
        message
    }

    /// Returns a DISCOVER.
    fn discover(&mut self) -> Vec<u8> {
        self.count += 1;
        let mut message = vec![0; 240];
        message[..8].copy_from_slice(&[1, 1, 6, 0, 0xca, 0, self.index, self.count]);
        message[28..34].copy_from_slice(&[2, 0, 0, 0, self.index, self.count]);
        message[236..].copy_from_slice(&[99, 130, 83, 99]);
        message.extend([53, 1, 1, 255]);
        message
    }

    /// Returns a query over each family, a DISCOVER, an answer and a query to another port, as
    /// packets.
    fn packets(&mut self) -> Vec<CorpusPacket> {
        let (query, query6, discover) = (self.query(), self.query(), self.discover());
        let (answer, other) = (self.answer(), self.query());
        vec![
            ipv4(&udp(53, &query)),
            ipv6(17, &udp(53, &query6)),
            ipv4(&udp(67, &discover)),
            ipv4(&udp(4_000, &answer)),
            ipv4(&udp(9, &other)),
        ]
    }
}

/// Returns a datagram without a checksum, as IPv4 allows.
fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let source: u16 = if port == 67 { 68 } else { 40_000 };
    let len = 8 + payload.len() as u16;
    [&source.to_be_bytes()[..], &port.to_be_bytes(), &len.to_be_bytes(), &[0, 0], payload].concat()
}

fn ipv4(datagram: &[u8]) -> CorpusPacket {
    ipv4_with(&[], 0, datagram)
}

/// Returns an IPv4 packet with `options` and the bytes 6 and 7 of its header.
fn ipv4_with(options: &[u8], fragment_field: u16, payload: &[u8]) -> CorpusPacket {
    let head_len = 20 + options.len();
    let total_len = (head_len + payload.len()) as u16;
    let mut octets = vec![0x40 | (head_len / 4) as u8, 0];
    octets.extend(total_len.to_be_bytes());
    octets.extend([0, 7]);
    octets.extend(fragment_field.to_be_bytes());
    octets.extend([64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 53]);
    octets.extend(options);
    octets.extend(payload);
    CorpusPacket { is_ipv6: false, octets }
}

/// Returns an IPv6 packet whose header has the next header `next`.
fn ipv6(next: u8, payload: &[u8]) -> CorpusPacket {
    let mut octets = vec![0x60, 0, 0, 0];
    octets.extend((payload.len() as u16).to_be_bytes());
    octets.extend([next, 64]);
    for last in [1, 53] {
        octets.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    octets.extend(payload);
    CorpusPacket { is_ipv6: true, octets }
}

fn ether_type(packet: &CorpusPacket) -> [u8; 2] {
    if packet.is_ipv6 { [0x86, 0xdd] } else { [8, 0] }
}

fn ppp_type(packet: &CorpusPacket) -> u8 {
    if packet.is_ipv6 { 0x57 } else { 0x21 }
}

const MACS: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

/// Returns an Ethernet frame with `between` before the type.
fn ethernet(between: &[u8], packet: &CorpusPacket) -> Vec<u8> {
    [&MACS[..], between, &ether_type(packet), &packet.octets].concat()
}

fn snap(packet: &CorpusPacket) -> Vec<u8> {
    [&[0xaa, 0xaa, 3, 0, 0, 0][..], &ether_type(packet), &packet.octets].concat()
}

/// Returns an 802.11 data frame from an access point, with the bytes `more` after its header.
fn wireless(control: u8, more: &[u8], packet: &CorpusPacket) -> Vec<u8> {
    [&[control, 2, 0, 0][..], &MACS, &[2, 0, 0, 0, 0, 3, 0, 0], more, &snap(packet)].concat()
}

/// Returns a PPP frame in the PPPoE session 5.
fn pppoe(packet: &CorpusPacket) -> Vec<u8> {
    let len = packet.octets.len() as u16 + 2;
    let head = [&[0x11, 0, 0, 5][..], &len.to_be_bytes(), &[0, ppp_type(packet)]].concat();
    [&head[..], &packet.octets].concat()
}

/// Returns BSD's number of the address family of a packet.
fn family(packet: &CorpusPacket) -> u8 {
    if packet.is_ipv6 { 24 } else { 2 }
}

/// Function that returns the frame of a packet on a link.
type Link = fn(&CorpusPacket) -> Vec<u8>;

/// Links by the names of their captures, with their types.
const LINKS: &[(&str, u32, Link)] = &[
    ("null", 0, |packet| [&[family(packet), 0, 0, 0][..], &packet.octets].concat()),
    ("loop", 108, |packet| [&[0, 0, 0, family(packet)][..], &packet.octets].concat()),
    ("raw", 101, |packet| packet.octets.clone()),
    ("raw-bsd", 12, |packet| packet.octets.clone()),
    ("raw-openbsd", 14, |packet| packet.octets.clone()),
    ("ethernet", 1, |packet| ethernet(&[], packet)),
    ("vlan", 1, |packet| ethernet(&[0x81, 0, 0, 5], packet)),
    ("qinq", 1, |packet| ethernet(&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6], packet)),
    ("qinq-old", 1, |packet| ethernet(&[0x91, 0, 0, 5, 0x81, 0, 0, 6], packet)),
    ("mpls", 1, |packet| {
        [&MACS[..], &[0x88, 0x47, 0, 1, 0, 64, 0, 1, 1, 64], &packet.octets].concat()
    }),
    ("pppoe", 1, |packet| [&MACS[..], &[0x88, 0x64], &pppoe(packet)].concat()),
    ("llc-snap", 1, |packet| {
        let snap = snap(packet);
        [&MACS[..], &(snap.len() as u16).to_be_bytes(), &snap].concat()
    }),
    ("trailer", 1, |packet| [&ethernet(&[], packet)[..], &[0x55; 6]].concat()),
    ("ppp", 9, |packet| [&[0xff, 3, 0, ppp_type(packet)][..], &packet.octets].concat()),
    ("ppp-short", 9, |packet| [&[ppp_type(packet)][..], &packet.octets].concat()),
    ("ppp-serial", 50, |packet| [&[0xff, 3, 0, ppp_type(packet)][..], &packet.octets].concat()),
    ("ppp-hdlc", 50, |packet| [&[0x0f, 0][..], &ether_type(packet), &packet.octets].concat()),
    ("ppp-ether", 51, |packet| pppoe(packet)),
    ("hdlc", 104, |packet| [&[0x0f, 0][..], &ether_type(packet), &packet.octets].concat()),
    ("llc", 100, |packet| snap(packet)),
    ("fddi", 10, |packet| [&[0x50][..], &MACS, &snap(packet)].concat()),
    ("wireless", 105, |packet| wireless(0x08, &[], packet)),
    ("wireless-qos", 105, |packet| wireless(0x88, &[0, 0], packet)),
    ("radiotap", 127, |packet| {
        [&[0, 0, 8, 0, 0, 0, 0, 0][..], &wireless(0x08, &[], packet)].concat()
    }),
    ("per-packet", 192, |packet| [&[0, 0, 8, 0, 1, 0, 0, 0][..], &ethernet(&[], packet)].concat()),
    ("cooked", 113, |packet| {
        let head = [0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
        [&head[..], &ether_type(packet), &packet.octets].concat()
    }),
    ("cooked-2", 276, |packet| {
        let rest = [0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
        [&ether_type(packet)[..], &rest, &packet.octets].concat()
    }),
    ("cooked-vlan", 113, |packet| {
        let head = [0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0x81, 0, 0, 5];
        [&head[..], &ether_type(packet), &packet.octets].concat()
    }),
    ("ipsec", 109, |packet| {
        [&[family(packet), 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0][..], &packet.octets].concat()
    }),
    ("pflog", 117, |packet| {
        let mut head = [0; 64];
        (head[0], head[1]) = (61, family(packet));
        [&head[..], &packet.octets].concat()
    }),
    ("firewire", 138, |packet| [&[2; 16][..], &ether_type(packet), &packet.octets].concat()),
    ("nflog", 239, |packet| {
        let kind = if packet.is_ipv6 { 10 } else { 2 };
        let len = (packet.octets.len() as u16 + 4).to_le_bytes();
        let head = [kind, 0, 0, 1, 8, 0, 1, 0, 8, 0, 1, 0, len[0], len[1], 9, 0];
        let padding = vec![0; packet.octets.len().next_multiple_of(4) - packet.octets.len()];
        [&head[..], &packet.octets, &padding].concat()
    }),
    ("packet-tap", 258, |packet| {
        let mut head = [0; 108];
        (head[0], head[4], head[8]) = (108, 1, 1);
        head[12..15].copy_from_slice(b"en0");
        [&head[..], &ethernet(&[], packet)].concat()
    }),
    ("switch-broadcom", 281, |packet| ethernet(&[0, 0, 0, 1], packet)),
    ("switch-marvell", 283, |packet| ethernet(&[0xc0, 0x10, 0, 0], packet)),
    ("unknown-link", 147, |packet| packet.octets.clone()),
];

/// Captures of link types that tshark 4.0 does not know.
const UNKNOWN_TO_TSHARK: [&str; 5] =
    ["switch-broadcom", "slip-bsd-os", "frame-relay-links", "juniper-pppoe-atm", "juniper-monitor"];

/// Forms of a classic file.
#[derive(Clone, Copy)]
struct PcapFormat {
    is_big: bool,
    has_nanoseconds: bool,
}

const PLAIN: PcapFormat = PcapFormat { is_big: false, has_nanoseconds: false };

/// Returns a classic capture file whose frames are one microsecond apart.
fn classic(form: PcapFormat, link_type: u32, frames: &[CorpusFrame]) -> Vec<u8> {
    let word = |value: u32| if form.is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let half = |value: u16| if form.is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let magic = if form.has_nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let mut file = [&word(magic)[..], &half(2), &half(4), &[0; 8], &word(65_535)].concat();
    file.extend(word(link_type));
    for (number, frame) in (0..).zip(frames) {
        let unit = if form.has_nanoseconds { 1_000 } else { 1 };
        for value in [1_700_000_000, number * unit, frame.octets.len() as u32] {
            file.extend(word(value));
        }
        file.extend(word(frame.original_len as u32));
        file.extend(&frame.octets);
    }
    file
}

/// File of pcapng in either byte order.
struct PcapngFile {
    is_big: bool,
    file: Vec<u8>,
}

impl PcapngFile {
    fn new(is_big: bool) -> Self {
        let mut blocks = Self { is_big, file: Vec::new() };
        let body = [blocks.words(&[0x1a2b_3c4d]), blocks.halves(&[1, 0]), vec![0xff; 8]].concat();
        blocks.block(0x0a0d_0d0a, &body);
        blocks
    }

    fn words(&self, values: &[u32]) -> Vec<u8> {
        let word =
            |value: &u32| if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() };
        values.iter().flat_map(word).collect()
    }

    fn halves(&self, values: &[u16]) -> Vec<u8> {
        let half =
            |value: &u16| if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() };
        values.iter().flat_map(half).collect()
    }

    fn block(&mut self, kind: u32, body: &[u8]) {
        let padding = vec![0; body.len().next_multiple_of(4) - body.len()];
        let len = (12 + body.len() + padding.len()) as u32;
        let (head, tail) = (self.words(&[kind, len]), self.words(&[len]));
        self.file.extend([&head[..], body, &padding, &tail].concat());
    }

    /// Adds an interface whose times are in units of 10 to the power of minus `digits` seconds.
    fn interface(&mut self, link_type: u16, digits: u8) {
        let mut body = self.halves(&[link_type, 0]);
        body.extend(self.words(&[65_535]));
        body.extend(self.halves(&[9, 1]));
        body.extend([digits, 0, 0, 0]);
        body.extend(self.halves(&[0, 0]));
        self.block(1, &body);
    }

    fn packet(&mut self, interface: u32, time: u64, frame: &CorpusFrame) {
        let len = frame.octets.len() as u32;
        let times = [(time >> 32) as u32, time as u32];
        let mut body = self.words(&[interface, times[0], times[1], len]);
        body.extend(self.words(&[frame.original_len as u32]));
        body.extend(&frame.octets);
        self.block(6, &body);
    }

    /// Adds a packet of the first interface without a time.
    fn simple_packet(&mut self, frame: &CorpusFrame) {
        let mut body = self.words(&[frame.original_len as u32]);
        body.extend(&frame.octets);
        self.block(3, &body);
    }
}

fn ethernet_frames(packets: &[CorpusPacket]) -> Vec<CorpusFrame> {
    packets.iter().map(|packet| ethernet(&[], packet).into()).collect()
}

/// Returns all captures.
pub(crate) fn all() -> Vec<CorpusCapture> {
    let mut captures = Vec::new();
    let mut add =
        |name: &str, is_mergeable: bool, make: &dyn Fn(&mut CorpusMessageBuilder) -> Vec<u8>| {
            let octets = make(&mut CorpusMessageBuilder::new(name, captures.len()));
            captures.push(CorpusCapture { name: name.to_owned(), octets, is_mergeable });
        };
    for &(name, link_type, link) in LINKS.iter().chain(rare_links::LINKS) {
        add(name, !UNKNOWN_TO_TSHARK.contains(&name), &|messages| {
            let frames = messages.packets().into_iter().map(|packet| link(&packet).into());
            classic(PLAIN, link_type, &frames.collect::<Vec<_>>())
        });
    }
    for (name, link_type, is_ipv6) in [("ipv4-only", 228, false), ("ipv6-only", 229, true)] {
        add(name, true, &|messages| {
            let mut packets = messages.packets();
            packets.retain(|packet| packet.is_ipv6 == is_ipv6);
            let frames = packets.into_iter().map(|packet| packet.octets.into());
            classic(PLAIN, link_type, &frames.collect::<Vec<_>>())
        });
    }
    for (name, is_big, has_nanoseconds) in
        [("big-endian", true, false), ("nanoseconds", false, true), ("big-nanoseconds", true, true)]
    {
        add(name, true, &|messages| {
            let form = PcapFormat { is_big, has_nanoseconds };
            classic(form, 1, &ethernet_frames(&messages.packets()))
        });
    }
    add("null-big", true, &|messages| {
        let link =
            |packet: &CorpusPacket| [&[0, 0, 0, family(packet)][..], &packet.octets].concat();
        let frames = messages.packets().into_iter().map(|packet| link(&packet).into());
        classic(PcapFormat { is_big: true, ..PLAIN }, 0, &frames.collect::<Vec<_>>())
    });
    add("check-sequence", true, &|messages| {
        // The upper half of the type says that frames end with four bytes of a check sequence.
        let frames = messages.packets();
        let frames =
            frames.iter().map(|packet| [&ethernet(&[], packet)[..], &[1; 4]].concat().into());
        classic(PLAIN, 1 | 0x2400_0000, &frames.collect::<Vec<_>>())
    });
    headers(&mut add);
    cuts(&mut add);
    blocks(&mut add);
    captures
}

/// Receiver of a capture: its name, whether mergecap takes it, and the function that builds it.
type Add<'a> = dyn FnMut(&str, bool, &dyn Fn(&mut CorpusMessageBuilder) -> Vec<u8>) + 'a;

/// Adds captures with other IP headers, and of packets with other contents.
fn headers(add: &mut Add<'_>) {
    add("ipv4-options", true, &|messages| {
        let (query, discover) = (messages.query(), messages.discover());
        let packets = [
            ipv4_with(&[1, 1, 1, 0], 0, &udp(53, &query)),
            ipv4_with(&[0x94, 4, 0, 0], 0x4000, &udp(67, &discover)),
        ];
        classic(PLAIN, 1, &ethernet_frames(&packets))
    });
    add("ipv4-fragments", true, &|messages| {
        let (query, whole, discover) = (messages.query(), messages.query(), messages.discover());
        let datagram = udp(53, &query);
        let (first, second) = datagram.split_at(16);
        let packets = [
            ipv4_with(&[], 0x2000, first),
            ipv4_with(&[], 2, second),
            ipv4(&udp(53, &whole)),
            ipv4(&udp(67, &discover)),
        ];
        classic(PLAIN, 1, &ethernet_frames(&packets))
    });
    add("ipv6-extensions", true, &|messages| {
        let routing = |next: u8| [next, 0, 0, 0, 0, 0, 0, 0];
        let options = |next: u8| [next, 0, 1, 4, 0, 0, 0, 0];
        let [by_hop, by_all, discover] = [messages.query(), messages.query(), messages.discover()];
        let all = [&options(43)[..], &routing(60), &options(17), &udp(53, &by_all)].concat();
        let packets = [
            ipv6(0, &[&options(17)[..], &udp(53, &by_hop)].concat()),
            ipv6(0, &all),
            ipv4(&udp(67, &discover)),
        ];
        classic(PLAIN, 1, &ethernet_frames(&packets))
    });
    add("authentication", true, &|messages| {
        let [query, query6, discover] = [messages.query(), messages.query(), messages.discover()];
        let head = |next: u8| [&[next, 4, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1][..], &[0x5a; 12]].concat();
        let mut packet = ipv4(&[&head(17)[..], &udp(53, &query)].concat());
        packet.octets[9] = 51;
        let packet6 = ipv6(51, &[&head(17)[..], &udp(53, &query6)].concat());
        classic(PLAIN, 1, &ethernet_frames(&[packet, packet6, ipv4(&udp(67, &discover))]))
    });
    add("ipv6-fragments", true, &|messages| {
        let (whole, cut, discover) = (messages.query(), messages.query(), messages.discover());
        let part = |fragment_field: u16, id: u8, octets: &[u8]| {
            ipv6(
                44,
                &[&[17, 0][..], &fragment_field.to_be_bytes(), &[0, 0, 0, id], octets].concat(),
            )
        };
        let datagram = udp(53, &cut);
        let (first, second) = datagram.split_at(16);
        let packets = [
            part(0, 1, &udp(53, &whole)),
            part(1, 2, first),
            part(16, 2, second),
            ipv4(&udp(67, &discover)),
        ];
        classic(PLAIN, 1, &ethernet_frames(&packets))
    });
    add("other-protocols", true, &|messages| {
        let arp = [&MACS[..], &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1], &[0; 20]].concat();
        let mut segment = ipv4(&[0; 20]);
        segment.octets[9] = 6;
        let mut frames = ethernet_frames(&[segment, ipv4(&udp(53, b"no message"))]);
        frames.push(arp.into());
        frames.extend(ethernet_frames(&messages.packets()));
        classic(PLAIN, 1, &frames)
    });
}

/// Adds captures that end early, or whose packets do.
fn cuts(add: &mut Add<'_>) {
    let frames = |messages: &mut CorpusMessageBuilder| ethernet_frames(&messages.packets());
    for (name, len) in [("snapped-60", 60), ("snapped-44", 44), ("snapped-20", 20)] {
        add(name, true, &|messages| {
            let snapped = frames(messages).into_iter().map(|frame| frame.snapped(len));
            classic(PLAIN, 1, &snapped.collect::<Vec<_>>())
        });
    }
    add("snapped-96", true, &|messages| {
        // The queries fit, the DISCOVER does not.
        let snapped = frames(messages).into_iter().map(|frame| frame.snapped(96));
        classic(PLAIN, 1, &snapped.collect::<Vec<_>>())
    });
    add("cut-in-packet", false, &|messages| {
        let mut file = classic(PLAIN, 1, &frames(messages));
        file.truncate(file.len() - 5);
        file
    });
    add("cut-in-head", false, &|messages| {
        let frames = frames(messages);
        let last = frames.last().map_or(0, |frame| frame.octets.len());
        let mut file = classic(PLAIN, 1, &frames);
        file.truncate(file.len() - last - 7);
        file
    });
    add("no-packets", true, &|_| classic(PLAIN, 1, &[]));
}

/// Adds captures in the newer format.
fn blocks(add: &mut Add<'_>) {
    for (name, is_big) in [("blocks", false), ("blocks-big", true)] {
        add(name, true, &|messages| {
            let mut blocks = PcapngFile::new(is_big);
            blocks.interface(1, 9);
            for (time, frame) in (0..).zip(ethernet_frames(&messages.packets())) {
                blocks.packet(0, 1_700_000_000_000_000_000 + 1_000 * time, &frame);
            }
            blocks.file
        });
    }
    add("blocks-interfaces", true, &|messages| {
        let mut blocks = PcapngFile::new(false);
        blocks.interface(1, 9);
        blocks.interface(113, 6);
        for (time, packet) in (0..).zip(messages.packets()) {
            let frame = ethernet(&[], &packet).into();
            blocks.packet(0, 1_700_000_000_000_000_000 + 1_000 * time, &frame);
        }
        // Interfaces may be described later.
        blocks.interface(101, 3);
        let cooked = [0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0];
        let query = ipv4(&udp(53, &messages.query())).octets;
        blocks.packet(1, 1_700_000_000_000_000, &[&cooked[..], &query].concat().into());
        let query = ipv4(&udp(53, &messages.query())).octets;
        blocks.packet(2, 1_700_000_000_000, &query.into());
        blocks.file
    });
    add("blocks-sections", false, &|messages| {
        let mut first = PcapngFile::new(true);
        first.interface(1, 9);
        first.packet(0, 1_700_000_000_000_000_000, &ethernet_frames(&messages.packets())[0]);
        let mut second = PcapngFile::new(false);
        second.interface(101, 6);
        for packet in messages.packets() {
            second.packet(0, 1_700_000_000_000_000, &packet.octets.into());
        }
        [first.file, second.file].concat()
    });
    add("blocks-simple", true, &|messages| {
        let mut blocks = PcapngFile::new(false);
        // Names of hosts and statistics, which have no packets.
        blocks.interface(1, 9);
        blocks.block(4, &[0; 4]);
        for frame in ethernet_frames(&messages.packets()) {
            blocks.simple_packet(&frame);
        }
        blocks.block(5, &[0; 12]);
        blocks.block(0x0bad_cafe, b"unknown!");
        blocks.file
    });
    add("blocks-cut", false, &|messages| {
        let mut blocks = PcapngFile::new(false);
        blocks.interface(1, 6);
        for frame in ethernet_frames(&messages.packets()) {
            blocks.packet(0, 1_700_000_000_000_000, &frame);
        }
        blocks.file.truncate(blocks.file.len() - 9);
        blocks.file
    });
}
