//! Random packet files that trafgen 0.6.8 understands and survives, from a seed.
//!
//! The generator does not write these, because trafgen hangs or aborts on them: an empty packet
//! file; raw bytes in front of a header function; UDP, TCP or ICMP on one another; IPv4 or ICMPv4
//! on IPv6, ICMPv6 on IPv4; a number as `op=` of `arp()` or `type=` of `icmp6()`; more than one
//! record in `dns()`; a range that ends at 4294967295; header functions in another packet than the
//! first (many such files are fine); `cpu()` at all packets, when another processor is named, or
//! together with `-r`; a checksum from a byte to the same one; counts of 0; division by 0; a
//! counter whose range is empty.
//!
//! The generator does not write these either, because the bytes that trafgen then sends depend on
//! memory outside of the packet: checksums over an IP header that does not end in the packet, or
//! that begin at an odd distance in front of themselves; several checksums of one packet; elements
//! that change behind header functions (their places are not zeroed when the checksum of the header
//! is computed, once); and `rnd()` in a file with `cpu()`: packets for other processors take no
//! random numbers there.

use base::Random;

/// Generator of a random packet file.
pub(crate) struct PacketFileGenerator {
    random: Random,
    /// Number of bytes of the packet so far.
    len: u64,
    /// True if the packet has a checksum among its elements.
    has_checksum: bool,
    /// True if `cpu()` is in the file.
    has_cpus: bool,
}

impl PacketFileGenerator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: Random::from_seed(seed), len: 0, has_checksum: false, has_cpus: false }
    }

    /// Returns a file of one to four packets.
    pub(crate) fn file(&mut self, is_shuffled: bool) -> String {
        let count = 1 + self.below(4);
        // In a file with header functions, the first packet has them, and no packet is restricted.
        let has_headers = self.chance(2, 3);
        let has_cpus = !has_headers && !is_shuffled;
        self.has_cpus = has_cpus;
        (0..count)
            .map(|number| {
                let is_free = !has_cpus || number + 1 == count;
                self.packet(has_headers && number == 0, is_free)
            })
            .collect()
    }

    pub(crate) fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.random.chance(numerator, denominator)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn pick(&mut self, words: &[&'static str]) -> &'static str {
        self.random.pick(words).expect("there are words")
    }

    fn packet(&mut self, has_headers: bool, is_free: bool) -> String {
        (self.len, self.has_checksum) = (0, false);
        let cpus = match self.below(8) {
            _ if is_free => "",
            0 => "cpu(0): ",
            1 => "cpu(1): ",
            2 => "cpu(1-0): ",
            _ => "",
        };
        let mut elements = Vec::new();
        if has_headers {
            self.headers(&mut elements);
        }
        let count = if has_headers { self.below(5) } else { 1 + self.below(9) };
        for _ in 0..count {
            let element = self.element(has_headers);
            elements.push(element);
        }
        format!("{cpus}{{ {} }}\n", elements.join(", "))
    }

    fn number(&mut self, bound: u64) -> String {
        let number = self.below(bound);
        match self.below(5) {
            0 => format!("0x{number:x}"),
            1 => format!("0b{number:b}"),
            2 => format!("0{number:o}"),
            3 => format!("0X{number:02X}"),
            _ => number.to_string(),
        }
    }

    fn element(&mut self, has_headers: bool) -> String {
        let (element, len) = match self.below(if has_headers { 7 } else { 15 }) {
            0 => (self.number(600), 1),
            1 => (format!("'{}'", self.pick(&["a", "Z", "7", "x", "#", "{"])), 1),
            2 => self.string(),
            3 => self.constant(),
            4 => self.filled("fill"),
            // It is not understood either whether a packet for another processor takes random
            // numbers.
            5 if !self.has_cpus => self.filled("rnd"),
            5 => self.filled("fill"),
            6 => {
                let name = self.pick(&["seqinc", "seqdec"]);
                let (start, count) = (self.number(300), 1 + self.below(20));
                let step =
                    if self.chance(1, 2) { format!(",{}", self.below(300)) } else { "".into() };
                (format!("{name}({start},{count}{step})"), count)
            }
            7 | 8 => {
                let count = 1 + self.below(6);
                if count == 1 {
                    ("drnd()".to_owned(), 1)
                } else {
                    (format!("drnd({count})"), count)
                }
            }
            9 | 10 => {
                let name = self.pick(&["dinc", "ddec"]);
                let min = self.below(200);
                let max = min + self.below(256 - min);
                let step =
                    if self.chance(1, 2) { format!(",{}", self.below(40)) } else { "".into() };
                (format!("{name}({min},{max}{step})"), 1)
            }
            11.. if self.has_checksum => ("0x5a".to_owned(), 1),
            11 | 12 => self.range_checksum(),
            _ => self.transport_checksum(),
        };
        self.len += len;
        element
    }

    fn string(&mut self) -> (String, u64) {
        if self.chance(1, 3) {
            let count = 1 + self.below(5);
            let mut octets: Vec<u64> = (0..count).map(|_| 1 + self.below(255)).collect();
            let mut len = count;
            if count > 1 && self.chance(1, 6) {
                // The string ends one byte before the zero.
                len = self.below(count - 1);
                octets[len as usize + 1] = 0;
            }
            let text: String = octets.iter().map(|octet| format!("\\x{octet:02x}")).collect();
            return (format!("\"{text}\""), len);
        }
        let text = self.pick(&["a", "hello world", "a#b;c", "x/*y*/z", "{1,2}", "drnd(4)"]);
        (format!("\"{text}\""), text.len() as u64)
    }

    fn constant(&mut self) -> (String, u64) {
        let bits = [8, 16, 32, 64][self.below(4) as usize];
        let mut text = self.operand(2);
        for _ in 0..self.below(4) {
            let operator = self.pick(&["+", "-", "*", "&", "|", "^", " + ", " * "]);
            text += operator;
            text += &self.operand(2);
        }
        if self.chance(1, 3) {
            let operator = self.pick(&["/", "%", "<<", ">>"]);
            text += &format!("{operator}{}", 1 + self.below(15));
        }
        let name = self.pick(&["c", "const"]);
        (format!("{name}{bits}({text})"), bits / 8)
    }

    fn operand(&mut self, depth: u64) -> String {
        if depth > 0 && self.chance(1, 4) {
            let (left, right) = (self.operand(depth - 1), self.operand(depth - 1));
            let operator = self.pick(&["+", "-", "*", "|"]);
            return format!("({left}{operator}{right})");
        }
        let number = self.number(70_000);
        if self.chance(1, 6) { format!("-{number}") } else { number }
    }

    fn filled(&mut self, name: &str) -> (String, u64) {
        let count = 1 + self.below(30);
        if name == "rnd" {
            return (format!("rnd({count})"), count);
        }
        (format!("fill({},{count})", self.number(300)), count)
    }

    /// Returns a checksum from a byte of the packet to another, perhaps behind its end.
    fn range_checksum(&mut self) -> (String, u64) {
        self.has_checksum = true;
        let name = self.pick(&["csumip", "csumip4", "csumicmp", "csumicmp4", "csum16"]);
        let from = self.below(self.len + 2);
        let from = from.saturating_sub((self.len + from) % 2);
        let to = from + 1 + self.below(30);
        let (from, to) = if self.chance(1, 5) { (to, from) } else { (from, to) };
        (format!("{name}({from},{to})"), 2)
    }

    fn transport_checksum(&mut self) -> (String, u64) {
        let is_v6 = self.chance(1, 2);
        let head = if is_v6 { 40 } else { 20 };
        if self.len < head + 10 {
            return (format!("fill(3,{})", head + 10), head + 10);
        }
        self.has_checksum = true;
        let ip = self.below(self.len - head);
        let names: &[&str] =
            if is_v6 { &["csumudp6", "csumtcp6", "csumicmp6"] } else { &["csumudp", "csumtcp"] };
        let name = self.pick(names);
        (format!("{name}({ip},{})", ip + head), 2)
    }

    fn headers(&mut self, elements: &mut Vec<String>) {
        let is_bare = self.chance(1, 2);
        if is_bare {
            let fields = [("da", 'm'), ("sa", 'm'), ("type", '2')];
            self.header(elements, "eth", 14, &fields, &[]);
        }
        for _ in 0..self.below(3) {
            let fields = [
                ("tci", '2'),
                ("pcp", '1'),
                ("dei", '1'),
                ("cfi", '1'),
                ("id", '2'),
                ("tpid", '2'),
            ];
            self.header(elements, "vlan", 4, &fields, &["1q", "1ad"]);
        }
        match self.below(8) {
            0 => {
                let fields = [
                    ("htype", '2'),
                    ("ptype", '2'),
                    ("smac", 'm'),
                    ("sip", '4'),
                    ("tha", 'm'),
                    ("tpa", '4'),
                ];
                let flags = ["op=reply", "op=request", "op=req", "reply", "req"];
                return self.header(elements, "arp", 28, &fields, &flags);
            }
            1 => return self.header(elements, "pause", 4, &[("code", '2'), ("time", '2')], &[]),
            2 => {
                let fields = [
                    ("code", '2'),
                    ("prio", '2'),
                    ("prio(3)", '1'),
                    ("time(0)", '2'),
                    ("time(7)", '2'),
                ];
                return self.header(elements, "pfc", 20, &fields, &[]);
            }
            _ => {}
        }
        for _ in 0..self.below(3) {
            let fields = [("label", '3'), ("tc", '1'), ("last", '1'), ("ttl", '1'), ("exp", '1')];
            self.header(elements, "mpls", 4, &fields, &[]);
            if self.chance(1, 5) {
                self.header(elements, "vlan", 4, &[("id", '2'), ("pcp", '1')], &["1q", "1ad"]);
            }
        }
        if self.chance(1, 4) { self.ip6(elements) } else { self.ip4(elements) }
    }

    fn ip4(&mut self, elements: &mut Vec<String>) {
        let fields = [
            ("ver", '1'),
            ("ihl", '1'),
            ("tos", '1'),
            ("dscp", '1'),
            ("ecn", '1'),
            ("id", '2'),
            ("flags", '1'),
            ("frag", '2'),
            ("ttl", '1'),
            ("prot", '1'),
            ("csum", '2'),
            ("len", '2'),
            ("sa", '4'),
            ("daddr", '4'),
            ("saddr", '4'),
            ("da", '4'),
        ];
        for _ in 0..=self.below(2) {
            self.header(elements, "ipv4", 20, &fields, &["df", "mf"]);
        }
        match self.below(5) {
            0 => {
                let fields = [
                    ("type", '1'),
                    ("code", '1'),
                    ("id", '2'),
                    ("seq", '2'),
                    ("mtu", '2'),
                    ("addr", '4'),
                ];
                self.header(elements, "icmp4", 8, &fields, &["echorequest", "echoreply"]);
            }
            1 => {}
            _ => self.transport(elements),
        }
    }

    fn ip6(&mut self, elements: &mut Vec<String>) {
        let fields = [
            ("ver", '1'),
            ("tc", '1'),
            ("fl", '3'),
            ("len", '2'),
            ("nh", '1'),
            ("hl", '1'),
            ("sa", '6'),
            ("da", '6'),
            ("flow", '3'),
            ("hoplimit", '1'),
        ];
        self.header(elements, "ipv6", 40, &fields, &[]);
        if self.chance(1, 4) {
            let flags = ["echorequest", "echoreply", "type=echorequest", "type=echoreply"];
            self.header(elements, "icmp6", 4, &[("code", '1'), ("csum", '2')], &flags);
        } else {
            self.transport(elements);
        }
    }

    fn transport(&mut self, elements: &mut Vec<String>) {
        if self.chance(1, 3) {
            let fields = [
                ("sp", '2'),
                ("dport", '2'),
                ("seq", '8'),
                ("ackseq", '8'),
                ("doff", '1'),
                ("win", '2'),
                ("csum", '2'),
                ("urgptr", '2'),
            ];
            let flags = ["cwr", "ece", "urg", "ack", "psh", "rst", "syn", "fin"];
            return self.header(elements, "tcp", 20, &fields, &flags);
        }
        let fields =
            [("sp", '2'), ("dp", '2'), ("sport", '2'), ("dport", '2'), ("len", '2'), ("csum", '2')];
        self.header(elements, "udp", 8, &fields, &[]);
        if self.chance(1, 3) {
            self.dns(elements);
        }
    }

    fn dns(&mut self, elements: &mut Vec<String>) {
        let fields = [
            ("id", '2'),
            ("qr", '1'),
            ("op", '1'),
            ("aa", '1'),
            ("trunc", '1'),
            ("rdesired", '1'),
            ("ravail", '1'),
            ("zero", '1'),
            ("rc", '1'),
            ("qdcount", '2'),
            ("arcount", '2'),
        ];
        let (record, len) = match self.below(6) {
            0 => ("qry(name=\"www.example.com\",type=28)", 21),
            1 => ("qry(type=5,class=3)", 24),
            2 => ("ans(name=\"a.b\",addr(192.0.2.1),ttl=60)", 19),
            3 => ("auth(name=\"a.b.\",ns(\"ns.example\"))", 27),
            4 => ("add(name=\"x\",data=\"text\",class=4)", 18),
            _ => return self.header(elements, "dns", 12, &fields, &[]),
        };
        self.header(elements, "dns", 12 + len, &fields, &[record]);
        self.len += 40;
    }

    /// Adds a header function with some of its fields. The character of a field is its kind: 1 to 3
    /// and 8 a number of as many bytes, m a hardware address, 4 and 6 IP addresses.
    fn header(
        &mut self,
        elements: &mut Vec<String>,
        name: &str,
        len: u64,
        fields: &[(&str, char)],
        flags: &[&'static str],
    ) {
        let mut arguments = Vec::new();
        for _ in 0..self.below(5) {
            if !flags.is_empty() && self.chance(1, 3) {
                // A record may appear only once.
                let flag = self.pick(flags).to_owned();
                if !arguments.contains(&flag) {
                    arguments.push(flag);
                }
                continue;
            }
            let (field, kind) = *self.random.pick(fields).expect("there are fields");
            let value = self.value(kind);
            arguments.push(format!("{field}={value}"));
            if self.chance(1, 4) {
                let function = self.function(field, kind);
                arguments.push(function);
            }
        }
        self.len += len;
        elements.push(format!("{name}({})", arguments.join(",")));
    }

    fn value(&mut self, kind: char) -> String {
        match kind {
            'm' => {
                let octets: Vec<String> =
                    (0..6).map(|_| format!("{:02x}", self.below(256))).collect();
                octets.join(":")
            }
            '4' => {
                let octets: Vec<String> = (0..4).map(|_| self.below(256).to_string()).collect();
                octets.join(".")
            }
            '6' => {
                self.pick(&["::", "::1", "2001:db8::7", "fe80::1:2", "1:2:3:4:5:6:7:8"]).to_owned()
            }
            '1' => self.number(300),
            '2' => self.number(70_000),
            '3' => self.number(1 << 21),
            _ => self.number(1 << 32),
        }
    }

    fn function(&mut self, field: &str, kind: char) -> String {
        let part = match kind {
            'm' | '4' | '6' if self.chance(1, 3) => self.pick(&["[0]", "[1]", "[2:2]", "[0:4]"]),
            '8' if self.chance(1, 3) => self.pick(&["[3]", "[1:2]"]),
            _ => "",
        };
        let min = self.below(200);
        let max = min + 1 + self.below(if kind == '1' { 200 } else { 90_000 });
        let arguments = match self.below(4) {
            0 => String::new(),
            1 => format!("{min},{max}"),
            2 => format!("{min},{max},{}", self.below(300)),
            _ => self.below(70_000).to_string(),
        };
        // The function drnd() takes no argument or two.
        let commas = arguments.matches(',').count();
        let is_random = self.chance(1, 2) && (arguments.is_empty() || commas == 1);
        format!("{field}{part}={}({arguments})", if is_random { "drnd" } else { "dinc" })
    }
}
