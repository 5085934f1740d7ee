//! Runs of one emulated link on a virtual clock.

use netem::{EmulatedLink, LinkSettings};

/// Nanoseconds in a millisecond, in which times of the virtual clock are written.
pub(crate) const MS: u64 = 1_000_000;
/// Nanoseconds in a second, in which times of the virtual clock are written.
pub(crate) const SECOND: u64 = 1_000 * MS;

/// Returns the link settings of `words`, which must be valid.
pub(crate) fn settings(words: &str) -> LinkSettings {
    LinkSettings::parse(words).unwrap_or_else(|problems| panic!("{words}: {problems:?}"))
}

pub(crate) fn link(words: &str) -> EmulatedLink {
    EmulatedLink::new(settings(words), 1)
}

/// Packet that left the link, with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeliveredPacket {
    pub(crate) at_ns: u64,
    pub(crate) octets: Vec<u8>,
    pub(crate) ecn: u8,
}

/// Advances the clock to `end_ns` and returns the packets that leave, each with its time.
pub(crate) fn pass(link: &mut EmulatedLink, end_ns: u64) -> Vec<DeliveredPacket> {
    let mut out = Vec::new();
    let mut buffer = [0; 2_048];
    while let Some(at_ns) = link.poll_timeout()
        && at_ns <= end_ns
    {
        link.handle_timeout(at_ns);
        while let Some(transmit) = link.poll_transmit(at_ns, &mut buffer) {
            out.push(DeliveredPacket {
                at_ns,
                octets: buffer[..transmit.len].to_vec(),
                ecn: transmit.ecn,
            });
        }
    }
    out
}

/// Sends `count` packets of `len` bytes through `link`, one every `period_ns`, each with its
/// number; returns the packets that leave.
pub(crate) fn run(
    link: &mut EmulatedLink,
    count: u64,
    period_ns: u64,
    len: usize,
) -> Vec<DeliveredPacket> {
    let mut out = Vec::new();
    let mut octets = vec![0; len];
    for number in 0..count {
        let now_ns = number * period_ns;
        // Packets that are due at the same time leave before the new packet comes.
        out.extend(pass(link, now_ns));
        octets[..8].copy_from_slice(&number.to_be_bytes());
        link.handle_datagram(now_ns, 0, &octets);
    }
    out.extend(pass(link, u64::MAX / 4));
    out
}

/// Returns the number that [`run`] wrote into the packet.
pub(crate) fn number(out: &DeliveredPacket) -> u64 {
    u64::from_be_bytes(out.octets[..8].try_into().unwrap())
}

/// Returns the number and the time of each packet that left the link.
pub(crate) fn numbers(out: &[DeliveredPacket]) -> Vec<(u64, u64)> {
    out.iter().map(|out| (number(out), out.at_ns)).collect()
}
