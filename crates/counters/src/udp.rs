//! Reader of `/proc/net/snmp` and `/proc/net/snmp6`: the counters of UDP in a network namespace.

/// Counters of UDP over IPv4 and IPv6 together, since the network namespace was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpCounters {
    /// Number of received datagrams to a port that no socket had.
    pub no_port: u64,
    /// Number of received datagrams that the kernel dropped because a socket's receive buffer was
    /// full.
    pub receive_full: u64,
    /// Number of datagrams to be sent that the kernel dropped because a socket's send buffer was
    /// full.
    pub send_full: u64,
}

/// Returns the UDP counters in the texts of `/proc/net/snmp` and `/proc/net/snmp6`; a missing
/// counter is 0.
pub fn parse_udp_counters(snmp: &str, snmp6: &str) -> UdpCounters {
    let mut rows = snmp.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (rows.next().unwrap_or(""), rows.next().unwrap_or(""));
    let v4 = |wanted: &str| {
        let mut columns = names.split_ascii_whitespace().zip(values.split_ascii_whitespace());
        let value = columns.find_map(|(name, value)| (name == wanted).then_some(value));
        value.and_then(|value| value.parse::<u64>().ok()).unwrap_or(0)
    };
    let v6 = |wanted: &str| {
        let of_line = |line: &str| {
            let name = line.strip_prefix("Udp6")?.strip_prefix(wanted)?;
            if !name.starts_with([' ', '\t']) {
                return None;
            }
            name.trim().parse::<u64>().ok()
        };
        snmp6.lines().find_map(of_line).unwrap_or(0)
    };
    let both = |name: &str| v4(name) + v6(name);
    UdpCounters {
        no_port: both("NoPorts"),
        receive_full: both("RcvbufErrors"),
        send_full: both("SndbufErrors"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_their_names_and_families_add_up() {
        // A text in the form of Linux 6.18, with numbers in place of zeros.
        let snmp = "Tcp: RtoAlgorithm RtoMin\nTcp: 1 200\n\
                    Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors\n\
                    Udp: 30 324 7 31 5 2\n\
                    UdpLite: InDatagrams NoPorts\nUdpLite: 1 99\n";
        let snmp6 = "Ip6InReceives                   \t12\nUdp6InDatagrams                 \t9\n\
                     Udp6NoPorts                     \t6\nUdp6RcvbufErrors                \t10\n\
                     UdpLite6NoPorts                 \t50\n";
        let counters = parse_udp_counters(snmp, snmp6);
        assert_eq!(counters, UdpCounters { no_port: 330, receive_full: 15, send_full: 2 });
        assert_eq!(parse_udp_counters("", ""), UdpCounters::default());
        assert_eq!(parse_udp_counters("Udp: NoPorts\n", "Udp6NoPorts"), UdpCounters::default());
    }
}
