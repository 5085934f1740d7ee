//! Reader of `/proc/net/udp` and `/proc/net/udp6`: the UDP sockets of a network namespace.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// UDP socket as a row of `/proc/net/udp` or `/proc/net/udp6`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpRow {
    /// Address and port that the UDP socket is bound to.
    pub local: SocketAddr,
    /// Kernel's inode number of the socket; links in `/proc/PID/fd` name it.
    pub inode: u64,
    /// Number of bytes that wait in the socket to be read, the kernel's overhead included.
    pub waiting_bytes: u64,
    /// Number of datagrams that the kernel dropped at this socket since it was opened.
    pub drops: u64,
}

/// Returns the UDP sockets in the text of `/proc/net/udp` or `/proc/net/udp6`.
pub fn parse_udp_rows(text: &str) -> Vec<UdpRow> {
    text.lines().skip(1).filter_map(parse_udp_row).collect()
}

fn parse_udp_row(line: &str) -> Option<UdpRow> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (address, port) = fields.get(1)?.split_once(':')?;
    let local = SocketAddr::new(parse_ip(address)?, u16::from_str_radix(port, 16).ok()?);
    let (_, waiting) = fields.get(4)?.split_once(':')?;
    Some(UdpRow {
        local,
        inode: fields.get(9)?.parse().ok()?,
        waiting_bytes: u64::from_str_radix(waiting, 16).ok()?,
        drops: fields.last()?.parse().ok()?,
    })
}

/// Parses an IP address of `/proc/net/udp`, in which the kernel prints every four bytes as one
/// number of the machine's own byte order.
fn parse_ip(text: &str) -> Option<IpAddr> {
    let word = |at| {
        let digits = text.get(at * 8..at * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    match text.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let mut octets = [0; 16];
            for (at, bytes) in octets.chunks_exact_mut(4).enumerate() {
                bytes.copy_from_slice(&word(at)?);
            }
            Some(Ipv6Addr::from(octets).into())
        }
        _ => None,
    }
}

/// Returns the UDP sockets among `rows` that receive datagrams sent to `address`.
pub fn rows_at(rows: &[UdpRow], address: SocketAddr) -> impl Iterator<Item = &UdpRow> {
    rows.iter()
        .filter(move |row| row.local.port() == address.port())
        .filter(move |row| row.local.ip() == address.ip() || row.local.ip().is_unspecified())
}

/// Returns the number of datagrams dropped at the UDP sockets that receive datagrams sent to
/// `address`, and the number of those sockets.
pub fn drops_at(rows: &[UdpRow], address: SocketAddr) -> (u64, usize) {
    rows_at(rows, address).fold((0, 0), |(drops, sockets), row| (drops + row.drops, sockets + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_told_apart_by_address_and_port() {
        let text = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   \
                    uid  timeout inode ref pointer drops\n  \
            12: 0100000A:0043 00000000:0000 07 00000000:00000D00 00:00000000 00000000     0        \
                    0 36105 2 0000000000000000 41\n  \
            13: 00000000:0043 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        \
                    0 36106 2 0000000000000000 1\n  \
            14: 0200000A:0043 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        \
                    0 36107 2 0000000000000000 500\n";
        let rows = parse_udp_rows(text);
        assert_eq!(rows.len(), 3);
        let expected = IpAddr::from(0x0100_000A_u32.to_ne_bytes());
        assert_eq!((rows[0].local.ip(), rows[0].waiting_bytes), (expected, 0xd00));
        if cfg!(target_endian = "little") {
            let server = SocketAddr::from(([10, 0, 0, 1], 67));
            assert_eq!(drops_at(&rows, server), (42, 2));
            let inodes = rows_at(&rows, server).map(|row| row.inode);
            assert_eq!(inodes.collect::<Vec<_>>(), [36_105, 36_106]);
        }
    }

    #[test]
    fn sockets_of_ipv6_are_read_too() {
        // The text printed by Linux 6.12 for sockets at [2001:db8::1]:547 and [::]:547.
        let text = "  sl  local_address                         remote_address                        st\n \
            9: B80D0120000000000000000001000000:0223 00000000000000000000000000000000:0000 07 \
            00000000:00000300 00:00000000 00000000     0        0 36105 2 0000000000000000 7\n \
            10: 00000000000000000000000000000000:0223 00000000000000000000000000000000:0000 07 \
            00000000:00000000 00:00000000 00000000     0        0 36106 2 0000000000000000 1\n";
        let rows = parse_udp_rows(text);
        assert_eq!(rows.len(), 2);
        if cfg!(target_endian = "little") {
            let server = "[2001:db8::1]:547".parse().unwrap();
            assert_eq!((rows[0].local, rows[0].waiting_bytes), (server, 0x300));
            assert_eq!(drops_at(&rows, server), (8, 2));
        }
    }
}
