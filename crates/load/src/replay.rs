//! Times of recorded events, read from a capture of messages, or from the lease file of a Kea
//! server.

use core::fmt;

use base::time::NS_PER_S;
use packet_wire::captured::{self, SkipReason};
use packet_wire::pcap::{CaptureReader, PcapError};

/// Times of recorded events, for a replay of their load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Times of the events in nanoseconds since 1970, ascending; at least one.
    pub times_ns: Vec<u64>,
    /// Counts of the capture's packets; `None` for a lease file.
    pub packets: Option<PacketCounts>,
}

impl Recording {
    /// Returns a sentence about the packets of the capture `path` that are not used; `None` when
    /// all are.
    pub fn notice(&self, path: &str) -> Option<String> {
        let packets = self.packets.filter(|packets| !packets.is_complete())?;
        Some(format!("{path}: {packets}"))
    }
}

/// Counts of the packets of a capture, by use and by the reason for leaving them out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Number of packets in the capture file.
    pub read: u64,
    /// Number of packets of the capture from which the load is made.
    pub used: u64,
    /// Number of datagrams in the capture to other UDP ports than the wanted ones.
    pub other_ports: u64,
    /// Number of datagrams in the capture to the wanted UDP ports with other messages than the
    /// wanted ones.
    pub unwanted: u64,
    /// Number of packets in the capture without a usable UDP datagram, by [`SkipReason`].
    pub skipped: [u64; SkipReason::ALL.len()],
    /// True if the capture file ends inside of a packet.
    pub ends_early: bool,
}

impl PacketCounts {
    /// Returns true when every packet of the capture is used.
    pub const fn is_complete(&self) -> bool {
        self.used == self.read && !self.ends_early
    }
}

impl fmt::Display for PacketCounts {
    /// Writes a sentence such as `3 of 9 packets are used; left out: 4 to other ports, 2
    /// fragments`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} packets are used", self.used, self.read)?;
        let by_content =
            [(self.other_ports, "to other ports"), (self.unwanted, "with other messages")];
        let mut separator = "; left out: ";
        for (count, what) in by_content.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "{separator}{count} {what}")?;
            separator = ", ";
        }
        for reason in SkipReason::ALL.into_iter().filter(|r| self.skipped[r.index()] > 0) {
            write!(f, "{separator}{} {reason}", self.skipped[reason.index()])?;
            separator = ", ";
        }
        if self.ends_early {
            f.write_str("; the file ends in the middle of a packet")?;
        }
        Ok(())
    }
}

/// Returns the times of the events in `file`, ascending. Of a capture they are the times of UDP
/// datagrams to one of `ports` for which `is_first` returns true; of a lease file, the last change
/// of every lease. A lease file has whole seconds: the changes of one second are spread over it
/// evenly.
///
/// # Errors
///
/// Returns a message when the file is neither, or has no times.
pub fn times(
    file: &[u8],
    ports: &[u16],
    is_first: impl Fn(&[u8]) -> bool,
) -> Result<Recording, String> {
    let mut recording = match CaptureReader::new(file) {
        Ok(reader) => capture_times(reader, ports, is_first)?,
        Err(PcapError::Magic | PcapError::Truncated) => {
            Recording { times_ns: lease_times(file)?, packets: None }
        }
        Err(error) => return Err(format!("is {error}")),
    };
    if recording.times_ns.is_empty() {
        let why = recording.packets.map(|packets| format!(": {packets}")).unwrap_or_default();
        return Err(format!("has no messages to replay{why}"));
    }
    recording.times_ns.sort_unstable();
    Ok(recording)
}

fn capture_times(
    reader: CaptureReader<'_>,
    ports: &[u16],
    is_first: impl Fn(&[u8]) -> bool,
) -> Result<Recording, String> {
    let mut times_ns = Vec::new();
    let take = |time_ns, payload: &[u8]| {
        let is_counted = is_first(payload);
        times_ns.extend(is_counted.then_some(time_ns));
        is_counted
    };
    let packets = each_datagram(reader, ports, take)?;
    Ok(Recording { times_ns, packets: Some(packets) })
}

/// Calls `take` with every UDP datagram to one of `ports` in the capture `file` (pcap or pcapng),
/// in the file's order: the time of its capture, in nanoseconds since 1970, and its payload. `take`
/// returns true if it uses the datagram.
///
/// # Errors
///
/// Returns a message when the file is no capture, or damaged before the first packet.
pub fn datagrams(
    file: &[u8],
    ports: &[u16],
    take: impl FnMut(u64, &[u8]) -> bool,
) -> Result<PacketCounts, String> {
    let reader = CaptureReader::new(file).map_err(|error| format!("is {error}"))?;
    each_datagram(reader, ports, take)
}

fn each_datagram(
    reader: CaptureReader<'_>,
    ports: &[u16],
    mut take: impl FnMut(u64, &[u8]) -> bool,
) -> Result<PacketCounts, String> {
    let mut counts = PacketCounts::default();
    for record in reader {
        let record = match record {
            Ok(record) => record,
            // The packets before the end of a capture that was cut short are good.
            Err(PcapError::Truncated) if counts.read > 0 => {
                counts.ends_early = true;
                break;
            }
            Err(error) => return Err(format!("is damaged: {error}")),
        };
        counts.read += 1;
        match captured::datagram(&record) {
            Ok(datagram) if !ports.contains(&datagram.destination.port()) => {
                counts.other_ports += 1;
            }
            Ok(datagram) if take(record.time_ns, datagram.payload) => counts.used += 1,
            Ok(_) => counts.unwanted += 1,
            Err(reason) => counts.skipped[reason.index()] += 1,
        }
    }
    Ok(counts)
}

fn lease_times(file: &[u8]) -> Result<Vec<u64>, String> {
    let other = || "is neither a capture nor a lease file of Kea".to_owned();
    let text = str::from_utf8(file).map_err(|_| other())?;
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name| head.iter().position(|&field| field == name).ok_or_else(other);
    let (expire, lifetime) = (column("expire")?, column("valid_lifetime")?);
    let mut seconds = Vec::new();
    for (number, line) in (2..).zip(lines).filter(|(_, line)| !line.is_empty()) {
        let cells: Vec<&str> = line.split(',').collect();
        let at = |column: usize| cells.get(column).and_then(|cell| cell.parse::<u64>().ok());
        let time = at(expire).zip(at(lifetime)).and_then(|(end, length)| end.checked_sub(length));
        seconds.push(time.ok_or_else(|| format!("line {number} has no time"))?);
    }
    seconds.sort_unstable();
    let spread = seconds.chunk_by(|a, b| a == b).flat_map(|same| {
        let count = same.len() as u64;
        same.iter().zip(0..count).map(move |(s, n)| s * NS_PER_S + n * NS_PER_S / count)
    });
    Ok(spread.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First lines of a lease file that Kea 2.2 wrote.
    const LEASES: &[u8] = b"address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,\
fqdn_rev,hostname,state,user_context\n\
192.0.2.10,00:0c:01:02:03:04,,3600,1700003601,1,0,0,,0,\n\
192.0.2.11,00:0c:01:02:03:05,,3600,1700003600,1,0,0,,0,\n\
192.0.2.12,00:0c:01:02:03:06,,7200,1700007201,1,0,0,,0,\n";

    #[test]
    fn leases_tell_when_they_were_given() {
        let s = |tenths| 170_000_000_000_000_000 * 10 + tenths * NS_PER_S / 10;
        let recording = times(LEASES, &[67], |_| true).unwrap();
        assert_eq!(recording, Recording { times_ns: vec![s(0), s(10), s(15)], packets: None });
        assert_eq!(recording.notice("leases"), None);
        assert!(times(b"a,b\n1,2\n", &[67], |_| true).unwrap_err().contains("neither"));
        let cut = &LEASES[..LEASES.len() - 40];
        assert!(times(cut, &[67], |_| true).unwrap_err().contains("line 4"));
        assert!(times(&LEASES[..99], &[67], |_| true).unwrap_err().contains("no messages"));
    }

    #[test]
    fn of_a_capture_the_messages_to_the_port_count() {
        use base::ByteWriter;
        use packet_wire::pcap::{ByteOrder, CaptureWriter as PcapWriter, LINK_RAW_IP, Resolution};
        use packet_wire::{ipv4, protocol, udp};
        let mut file = PcapWriter::new(LINK_RAW_IP, ByteOrder::Big, Resolution::Microseconds);
        let address = std::net::Ipv4Addr::LOCALHOST;
        for (time_us, port, payload) in [(9, 67, b"a"), (5, 67, b"a"), (6, 68, b"a"), (7, 67, b"b")]
        {
            let mut buffer = [0; 64];
            let mut writer = ByteWriter::new(&mut buffer);
            ipv4::Header::new(protocol::UDP, address, address).emit(9, &mut writer);
            let (from, to) = ((address, 1).into(), (address, port).into());
            writer.put(&udp::header_for(from, to, payload)).put(payload);
            file.packet(time_us * 1_000, writer.written());
        }
        let recording = times(file.octets(), &[67], |payload| payload == b"a");
        let recording = recording.unwrap();
        assert_eq!(recording.times_ns, [5_000, 9_000]);
        assert_eq!(
            recording.notice("x.pcap").unwrap(),
            "x.pcap: 2 of 4 packets are used; left out: 1 to other ports, 1 with other messages"
        );
        let none = times(file.octets(), &[69], |_| true).unwrap_err();
        assert!(none.starts_with("has no messages to replay: 0 of 4 packets"), "{none}");
        let cut = &file.octets()[..file.octets().len() - 1];
        let cut = times(cut, &[67], |_| true).unwrap().notice("x.pcap").unwrap();
        assert!(cut.ends_with("; the file ends in the middle of a packet"), "{cut}");
    }
}
