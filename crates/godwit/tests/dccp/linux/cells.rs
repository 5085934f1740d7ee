//! Parts of the test matrix: datagrams go from one end to the other, and the test compares every
//! byte.

use std::fmt;

use super::gateway::Gateway;
use super::layers::{LayerDrops, unread_drops};
use super::machine::{GUEST, HOST, VirtualMachine};
use super::process::{HostDccpProcess, ours};

/// Length of a datagram in bytes.
const OCTETS: usize = 256;
/// Number of datagrams of most parts, of those with a blackout, and of those with many.
const DATAGRAMS: usize = 400;
const BLACKOUT_DATAGRAMS: usize = 1_200;
const MANY_DATAGRAMS: usize = 64_000;
/// Bytes that a checksum of coverage 4 covers at the beginning of the data (RFC 4340 §9.2).
const COVERED_BY_4: usize = 12;
/// Number of datagrams of this length that fit into one packet.
const PER_FULL_SIZE: usize = 5;
/// Maximum of datagrams out of 400 that the kernel may lose on its own: its Sequence Window is 50
/// packets, and it answers packets outside with a Sync and drops them (RFC 4340 §7.5.2 wants a
/// wider one).
const KERNEL_DROPS_MAX: usize = 4;
/// Number of packets before the cut of a path, and the length of the cut in seconds.
const PACKETS_BEFORE_CUT: usize = 40;
const CUT_S: usize = 3;
/// Number of packets, of both directions, of which one in ten is lost, so that Linux sees more than
/// one loss event.
const LOSSY_PACKETS: usize = 150;

/// End that is the client and sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendingEnd {
    Ours,
    Kernel,
}

/// Impairment of the path, each way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Impairment {
    None,
    Loss,
    Reorder,
    /// Corruption of one bit in one packet of twenty.
    Corruption,
    /// Loss of everything for some seconds while data flows.
    Blackout,
}

impl Impairment {
    /// Returns the impairment in the words of tc-netem(8).
    const fn netem(self) -> &'static str {
        match self {
            Self::None => "delay 1ms",
            Self::Loss => "delay 10ms loss 1%",
            Self::Reorder => "delay 10ms reorder 3% 25% duplicate 2%",
            Self::Corruption => "delay 1ms corrupt 5%",
            Self::Blackout => "delay 10ms rate 200kbit",
        }
    }
}

/// Special property of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartProperty {
    Plain,
    /// Checksum coverage that both ends request.
    Coverage(u8),
    /// Service code other than 0.
    ServiceCode,
    /// CCID 2 for one direction and 3 for the other.
    CcidsApart,
    /// DCCP in UDP at Godwit's end, with a gateway that translates.
    Gateway,
    /// Datagrams as long as the path allows.
    FullSize,
    /// Far more datagrams, one after another.
    Many,
}

/// Part of the matrix: one run between Godwit's stack and Linux's.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatrixPart {
    pub(super) sender: SendingEnd,
    /// Congestion control of both directions, with [`PartProperty::CcidsApart`] of the data only;
    /// `None` without a flag.
    pub(super) ccid: Option<u8>,
    pub(super) is_v6: bool,
    pub(super) impairment: Impairment,
    pub(super) particular: PartProperty,
}

impl fmt::Display for MatrixPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sender, ccid, is_v6, impairment, particular } = self;
        let ccid = ccid.map_or("no CCID said".to_owned(), |ccid| format!("CCID {ccid}"));
        let family = if *is_v6 { "IPv6" } else { "IPv4" };
        write!(
            f,
            "sender {sender:?}, {ccid}, {family}, path {impairment:?} ({}), {particular:?}",
            impairment.netem()
        )
    }
}

impl MatrixPart {
    const fn datagrams(self) -> usize {
        match (self.impairment, self.particular) {
            (_, PartProperty::Many) => MANY_DATAGRAMS,
            // Some datagrams must be left when the path works again.
            (Impairment::Blackout, _) => BLACKOUT_DATAGRAMS,
            _ => DATAGRAMS,
        }
    }

    /// Returns the name of the file to send.
    pub(super) fn file(self) -> String {
        format!("sent-{}", self.datagrams())
    }

    /// Returns the bytes of the file to send.
    pub(super) fn octets(self) -> Vec<u8> {
        sent(self.datagrams())
    }

    /// Returns the flags of the sending or receiving end.
    fn flags(self, is_sender: bool) -> String {
        let ccids = match (self.ccid, self.particular) {
            (None, _) => String::new(),
            (Some(data), PartProperty::CcidsApart) => {
                let back = 5 - data;
                let (tx, rx) = if is_sender { (data, back) } else { (back, data) };
                format!(" --tx-ccid {tx} --rx-ccid {rx}")
            }
            (Some(ccid), _) => format!(" --ccid {ccid}"),
        };
        let more = match self.particular {
            PartProperty::Coverage(coverage) => format!(" --cscov {coverage}"),
            PartProperty::ServiceCode => " --service-code SC:GODW".to_owned(),
            _ => String::new(),
        };
        let family = if self.is_v6 { "-6" } else { "-4" };
        // Linux repeats a Request after 3, 9 and 21 s, and each try meets the losses of the path.
        let patience = if is_sender { " --connect-timeout 60" } else { "" };
        format!("{family} -p 5001{ccids}{more}{patience}")
    }

    fn length_flag(self) -> String {
        match (self.particular, self.sender) {
            // A loss would shift the datagrams after it, but nothing is lost here.
            (PartProperty::FullSize, SendingEnd::Kernel) => String::new(),
            (PartProperty::FullSize, SendingEnd::Ours) => format!("-l {}", OCTETS * PER_FULL_SIZE),
            _ => format!("-l {OCTETS}"),
        }
    }
}

/// Returns all parts of the matrix.
pub(super) fn cells() -> Vec<MatrixPart> {
    let mut cells = Vec::new();
    for sender in [SendingEnd::Ours, SendingEnd::Kernel] {
        for ccid in [Some(2), Some(3), None] {
            for is_v6 in [false, true] {
                for impairment in [Impairment::None, Impairment::Loss, Impairment::Reorder] {
                    let particular = PartProperty::Plain;
                    cells.push(MatrixPart { sender, ccid, is_v6, impairment, particular });
                }
            }
        }
        let cell = |ccid, is_v6, impairment, particular| MatrixPart {
            sender,
            ccid: Some(ccid),
            is_v6,
            impairment,
            particular,
        };
        for ccid in [2, 3] {
            let clean = |particular| cell(ccid, false, Impairment::None, particular);
            cells.extend([
                cell(ccid, false, Impairment::Blackout, PartProperty::Plain),
                cell(ccid, false, Impairment::Corruption, PartProperty::Plain),
                cell(ccid, false, Impairment::Corruption, PartProperty::Coverage(1)),
                cell(ccid, false, Impairment::Corruption, PartProperty::Coverage(4)),
                cell(ccid, true, Impairment::Corruption, PartProperty::Coverage(1)),
                clean(PartProperty::CcidsApart),
                clean(PartProperty::ServiceCode),
                clean(PartProperty::FullSize),
                clean(PartProperty::Gateway),
                cell(ccid, true, Impairment::None, PartProperty::Gateway),
                cell(ccid, false, Impairment::Loss, PartProperty::Gateway),
                clean(PartProperty::Many),
            ]);
        }
    }
    cells
}

/// Returns the datagram with a number: the number, then bytes that follow from it.
fn datagram(number: u32) -> Vec<u8> {
    let pattern = (4..OCTETS as u32).map(|offset| (number.wrapping_add(offset) % 251) as u8);
    number.to_be_bytes().into_iter().chain(pattern).collect()
}

/// Returns the data that a part sends.
pub(super) fn sent(datagrams: usize) -> Vec<u8> {
    (0..datagrams as u32).flat_map(datagram).collect()
}

/// Datagrams that arrived.
struct ReceivedDatagrams {
    /// Numbers of the datagrams that arrived unchanged, in order.
    numbers: Vec<u32>,
    /// Number of datagrams that arrived changed.
    altered: usize,
    /// Packets dropped on the way.
    drops: LayerDrops,
}

/// Splits the received data into datagrams. Bytes that a checksum covered must be as sent.
fn taken_apart(cell: MatrixPart, received: &[u8]) -> ReceivedDatagrams {
    let (datagrams, rest) = received.as_chunks::<OCTETS>();
    assert!(rest.is_empty(), "{cell}: {} octets behind the last datagram", rest.len());
    let covered = match cell.particular {
        PartProperty::Coverage(1) => 0,
        PartProperty::Coverage(_) => COVERED_BY_4,
        _ => OCTETS,
    };
    let mut arrived =
        ReceivedDatagrams { numbers: Vec::new(), altered: 0, drops: LayerDrops::default() };
    for octets in datagrams {
        let [a, b, c, d, ..] = *octets;
        let number = u32::from_be_bytes([a, b, c, d]);
        let sent = datagram(number);
        if octets[..] == sent[..] {
            arrived.numbers.push(number);
        } else {
            assert!(octets[..covered] == sent[..covered], "{cell}: datagram {number} was altered");
            assert!(covered < OCTETS, "{cell}: datagram {number} was altered");
            arrived.altered += 1;
        }
    }
    arrived
}

/// Sets up the path of a part.
fn impair(machine: &mut VirtualMachine, cell: MatrixPart) {
    let netem = cell.impairment.netem();
    for device in ["eth0", "ifb0"] {
        // A replaced netem keeps properties that the new words do not name.
        machine.run(&format!(
            "/bin/tc qdisc del dev {device} root 2>/dev/null; \
             /bin/tc qdisc add dev {device} root netem {netem} limit 10000"
        ));
    }
    machine.run("rm -f /tmp/cut");
    if cell.impairment == Impairment::Blackout {
        cut(machine, cell);
    }
}

/// Cuts the path for some seconds while data flows. Some packets are lost before if Linux receives
/// with CCID 3: the rate that it reports after its first loss event stays until the second one, and
/// a blackout as the first would make that one packet per second. They are lost one by one: on a
/// busy machine even a short cut would be a blackout.
fn cut(machine: &mut VirtualMachine, cell: MatrixPart) {
    let set = |netem: &str| {
        format!(
            "for d in eth0 ifb0; do /bin/tc qdisc replace dev $d root netem {netem} limit 10000; \
             done"
        )
    };
    let (whole, broken) = (set(cell.impairment.netem()), set("loss 100%"));
    let count = "$(cat /sys/class/net/eth0/statistics/[rt]x_packets | { read a; read b; echo \
                 $((a + b)); })";
    let pass = |packets: usize| {
        format!("end=$(({count} + {packets})); until [ {count} -gt $end ]; do sleep 0.02; done")
    };
    let before = if cell.sender == SendingEnd::Ours && cell.ccid == Some(3) {
        let lossy = set(&format!("{} loss 10%", cell.impairment.netem()));
        format!("{}; {lossy}; {}; ", pass(PACKETS_BEFORE_CUT), pass(LOSSY_PACKETS))
    } else {
        String::new()
    };
    machine.run(&format!(
        "({before}{}; {broken}; sleep {CUT_S}; {whole}; echo cut >/tmp/cut) >/tmp/cutting 2>&1 &",
        pass(PACKETS_BEFORE_CUT)
    ));
}

/// Plays a part, and returns the arrived datagrams.
fn play(machine: &mut VirtualMachine, cell: MatrixPart) -> ReceivedDatagrams {
    impair(machine, cell);
    let before = LayerDrops::read(machine);
    let family = usize::from(cell.is_v6);
    let gateway = (cell.particular == PartProperty::Gateway)
        .then(|| Gateway::start(machine.namespace(), cell.is_v6));
    let (sending, receiving) = (cell.flags(true), cell.flags(false));
    let name = cell.file();
    let length = cell.length_flag();
    let (received, output_text) = match cell.sender {
        SendingEnd::Ours => {
            let command = format!("/godwit dccp recv /tmp/got --carrier kernel {receiving}");
            machine.begin("recv", &command, "listening");
            let file = machine.folder.path().join(&name);
            let (host, carrier) = match &gateway {
                Some(gateway) => {
                    let port = gateway.udp_address.port();
                    (gateway.udp_address.ip().to_string(), format!("udp --udp-port {port}"))
                }
                None => (GUEST[family].to_owned(), "raw".to_owned()),
            };
            let words = format!(
                "dccp send {host} {} --carrier {carrier} {length} {sending}",
                file.display()
            );
            let output = ours(machine, &words).output().expect("the binary runs");
            // Without a client the kernel's end would wait forever.
            assert!(output.status.success(), "{cell}: {output:?}");
            let (code, printed) = machine.end("recv");
            assert_eq!(code, 0, "{cell}: {printed}");
            (machine.read("/tmp/got"), printed)
        }
        SendingEnd::Kernel => {
            let file = machine.folder.path().join("got");
            let carrier = if gateway.is_some() { "udp" } else { "raw" };
            let words = format!("dccp recv {} --carrier {carrier} {receiving}", file.display());
            let receiver = HostDccpProcess::start(machine, &words);
            let (code, printed) = machine.attempt(&format!(
                "/godwit dccp send {} /{name} --carrier kernel {length} {sending}",
                HOST[family]
            ));
            assert_eq!(code, 0, "{cell}: {printed}");
            let (status, _, errors) = receiver.wait();
            assert!(status.success(), "{cell}: {status}: {errors}");
            (std::fs::read(file).expect("recv wrote it"), errors)
        }
    };
    if cell.impairment == Impairment::Blackout {
        // The path works again before another part begins.
        machine.run("until test -s /tmp/cut; do sleep 0.1; done");
    }
    let mut arrived = taken_apart(cell, &received);
    arrived.drops = LayerDrops::read(machine).since(before);
    arrived.drops.gateway = gateway.map_or(0, |gateway| gateway.end().into());
    arrived.drops.receiver = unread_drops(&output_text);
    arrived
}

/// Plays a part, asserts that as much arrived as the path lets through, and returns a summary as
/// text.
pub(super) fn play_and_check(machine: &mut VirtualMachine, cell: MatrixPart) -> String {
    let arrived = play(machine, cell);
    check(cell, &arrived);
    let (count, altered) = (arrived.numbers.len(), arrived.altered);
    let mut text = format!("{count} of {}, {altered} altered", cell.datagrams());
    let is_lossless = matches!(cell.impairment, Impairment::None | Impairment::Reorder);
    if is_lossless && count < cell.datagrams() {
        text += &format!(" ({})", arrived.drops);
    }
    text
}

/// Asserts that as much arrived as the path lets through.
fn check(cell: MatrixPart, arrived: &ReceivedDatagrams) {
    let datagrams = cell.datagrams();
    let mut distinct = arrived.numbers.clone();
    distinct.sort_unstable();
    distinct.dedup();
    if cell.sender == SendingEnd::Kernel {
        let count = arrived.numbers.len();
        assert_eq!(distinct.len(), count, "{cell}: ours delivered a datagram twice");
    }
    let missing: Vec<u32> =
        (0..datagrams as u32).filter(|number| distinct.binary_search(number).is_err()).collect();
    let lost = missing.len();
    let lost_max = match (cell.impairment, cell.sender) {
        (Impairment::Blackout, _) => {
            assert!(lost > 0, "{cell}: nothing was lost while the path was cut");
            let last = *distinct.last().expect("some arrive") as usize;
            assert!(last + DATAGRAMS / 8 > datagrams, "{cell}: nothing arrived behind {last}");
            datagrams * 3 / 4
        }
        (Impairment::Corruption, _) => datagrams / 3,
        // Far more than 1 % of the packets would have to be lost.
        (Impairment::Loss, _) => datagrams / 8,
        // The datagrams go as fast as congestion control allows, and DCCP has no flow control: a
        // delayed machine drops what exceeds its buffers, and counts it.
        _ if cell.particular == PartProperty::Many => {
            let counted = arrived.drops.sum() as usize;
            counted.min(datagrams * 3 / 4) + datagrams / 1_000
        }
        (_, SendingEnd::Ours) if cell.particular == PartProperty::FullSize => {
            KERNEL_DROPS_MAX * PER_FULL_SIZE
        }
        (_, SendingEnd::Ours) => datagrams / DATAGRAMS * KERNEL_DROPS_MAX,
        (_, SendingEnd::Kernel) => 0,
    };
    let shown = &missing[..lost.min(100)];
    let drops = arrived.drops;
    assert!(lost <= lost_max, "{cell}: {lost} datagrams are missing: {shown:?}; {drops}");
    // One datagram in thirty arrives altered; the probability that none of 400 does is one in a
    // million.
    let is_altered = cell.impairment == Impairment::Corruption
        && matches!(cell.particular, PartProperty::Coverage(_));
    assert_eq!(arrived.altered > 0, is_altered, "{cell}: {} datagrams altered", arrived.altered);
}
