//! When something happened, read from what it left behind: a capture of its messages, or the lease file
//! of a Kea server.

use base::time::NS_PER_S;
use packet_wire::pcap::{self, LINK_ETHERNET, LINK_RAW_IP, PcapError, Reader};
use packet_wire::{ethernet, frame, ipv6, protocol, udp};

/// The times in `file`, ascending: of UDP datagrams to `port` that `is_first` says yes to, if it is a
/// capture; of the last change of every lease, if it is a lease file, which has whole seconds: those
/// of one second are spread over it evenly.
///
/// # Errors
///
/// In words, when it is neither, or has none.
pub fn times(file: &[u8], port: u16, is_first: impl Fn(&[u8]) -> bool) -> Result<Vec<u64>, String> {
    let mut times_ns = match Reader::new(file) {
        Ok(reader) => of_capture(reader, port, is_first)?,
        Err(PcapError::Magic | PcapError::Truncated) => of_leases(file)?,
        Err(error) => return Err(error.to_string()),
    };
    if times_ns.is_empty() {
        return Err("has nothing to be replayed".into());
    }
    times_ns.sort_unstable();
    Ok(times_ns)
}

fn of_capture(
    reader: Reader<'_>,
    port: u16,
    is_first: impl Fn(&[u8]) -> bool,
) -> Result<Vec<u64>, String> {
    let mut times_ns = Vec::new();
    let take = |time_ns, payload: &[u8]| times_ns.extend(is_first(payload).then_some(time_ns));
    each_datagram(reader, &[port], take)?;
    Ok(times_ns)
}

/// Gives `take` every UDP datagram to one of `ports` in the capture `file` (pcap or pcapng), in its order: when it
/// was captured, nanoseconds since 1970, and what it carries.
///
/// # Errors
///
/// In words, when it is no such file, or damaged before the first of them.
pub fn datagrams(file: &[u8], ports: &[u16], take: impl FnMut(u64, &[u8])) -> Result<(), String> {
    let reader = Reader::new(file).map_err(|error| format!("is {error}"))?;
    each_datagram(reader, ports, take)
}

fn each_datagram(
    reader: Reader<'_>,
    ports: &[u16],
    mut take: impl FnMut(u64, &[u8]),
) -> Result<(), String> {
    let link_type = reader.link_type();
    if ![LINK_ETHERNET, LINK_RAW_IP].contains(&link_type) {
        return Err(format!("is a capture of link type {link_type}, neither Ethernet nor IP"));
    }
    let mut has_some = false;
    for record in reader {
        let record: pcap::Record<'_> = match record {
            Ok(record) => record,
            // What a capture that was cut short holds before is good.
            Err(PcapError::Truncated) if has_some => break,
            Err(error) => return Err(error.to_string()),
        };
        if let Some(payload) = payload_to(record.octets, link_type, ports) {
            has_some = true;
            take(record.time_ns, payload);
        }
    }
    Ok(())
}

/// What a packet carries to one of these UDP ports.
fn payload_to<'p>(octets: &'p [u8], link_type: u32, ports: &[u16]) -> Option<&'p [u8]> {
    let packet =
        if link_type == LINK_ETHERNET { ethernet::Header::parse(octets).ok()?.1 } else { octets };
    let (found, payload) = if packet.first()? >> 4 == 6 {
        let (header, segment) = ipv6::Header::parse(packet).ok()?;
        let is_udp = header.next_header == protocol::UDP;
        let (udp, payload) = udp::Header::parse(segment).ok().filter(|_| is_udp)?;
        (udp.destination_port, payload)
    } else {
        let datagram = frame::open_packet(packet).ok()?;
        (datagram.destination.port(), datagram.payload)
    };
    ports.contains(&found).then_some(payload)
}

fn of_leases(file: &[u8]) -> Result<Vec<u64>, String> {
    let other = || "is neither a capture nor a lease file of Kea".to_owned();
    let text = str::from_utf8(file).map_err(|_| other())?;
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name| head.iter().position(|&found| found == name).ok_or_else(other);
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

    /// The first lines of what Kea 2.2 wrote.
    const LEASES: &[u8] = b"address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,\
fqdn_rev,hostname,state,user_context\n\
192.0.2.10,00:0c:01:02:03:04,,3600,1700003601,1,0,0,,0,\n\
192.0.2.11,00:0c:01:02:03:05,,3600,1700003600,1,0,0,,0,\n\
192.0.2.12,00:0c:01:02:03:06,,7200,1700007201,1,0,0,,0,\n";

    #[test]
    fn leases_tell_when_they_were_given() {
        let s = |tenths| 170_000_000_000_000_000 * 10 + tenths * NS_PER_S / 10;
        assert_eq!(times(LEASES, 67, |_| true), Ok(vec![s(0), s(10), s(15)]));
        assert!(times(b"a,b\n1,2\n", 67, |_| true).unwrap_err().contains("neither"));
        let cut = &LEASES[..LEASES.len() - 40];
        assert!(times(cut, 67, |_| true).unwrap_err().contains("line 4"));
        assert!(times(&LEASES[..99], 67, |_| true).unwrap_err().contains("nothing"));
    }

    #[test]
    fn of_a_capture_the_messages_to_the_port_count() {
        use base::Writer;
        use packet_wire::ipv4;
        use packet_wire::pcap::{ByteOrder, Resolution};
        let mut file = pcap::Writer::new(LINK_RAW_IP, ByteOrder::Big, Resolution::Microseconds);
        let address = std::net::Ipv4Addr::LOCALHOST;
        for (time_us, port, payload) in [(9, 67, b"a"), (5, 67, b"a"), (6, 68, b"a"), (7, 67, b"b")]
        {
            let mut buffer = [0; 64];
            let mut writer = Writer::new(&mut buffer);
            ipv4::Header::new(protocol::UDP, address, address).emit(9, &mut writer);
            let (from, to) = ((address, 1).into(), (address, port).into());
            writer.put(&udp::header_for(from, to, payload)).put(payload);
            file.packet(time_us * 1_000, writer.written());
        }
        let found = times(file.octets(), 67, |payload| payload == b"a");
        assert_eq!(found, Ok(vec![5_000, 9_000]));
        assert!(times(file.octets(), 69, |_| true).is_err());
    }
}
