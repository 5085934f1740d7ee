//! Hardware addresses of neighbours from the kernel's ARP table, for IPv4 only
//! (`/proc/thread-self/net/arp`). Nothing is sent.

use std::net::IpAddr;
use std::{fs, io};

use crate::NetError;

/// Path of the kernel's ARP table (`proc_net(5)`).
const TABLE: &str = "/proc/thread-self/net/arp";
/// Flag `ATF_COM` of a complete entry of the ARP table.
const COMPLETE: u32 = 2;

/// Returns the hardware address of the neighbour `address`; `None` if the kernel does not know it.
///
/// # Errors
///
/// The kernel's table cannot be read.
pub fn known(address: IpAddr) -> Result<Option<[u8; 6]>, NetError> {
    let table = fs::read_to_string(TABLE).map_err(NetError::on("read", TABLE))?;
    Ok(in_table(&table, address))
}

/// Returns the error message that the hardware address of `server` is not known, with advice to
/// state it.
pub fn unknown(server: IpAddr) -> String {
    format!(
        "the hardware address of {server} is not in the kernel's ARP table: give it, or that of \
         the router on the way to the server, with --server-mac"
    )
}

fn in_table(table: &str, address: IpAddr) -> Option<[u8; 6]> {
    table.lines().skip(1).find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let is_same_address = words.next()?.parse() == Ok(address);
        let flags = u32::from_str_radix(words.nth(1)?.trim_start_matches("0x"), 16).ok()?;
        let mac = parse_mac(words.next()?).ok()?;
        (is_same_address && flags & COMPLETE != 0).then_some(mac)
    })
}

/// Parses a hardware address: six bytes in hexadecimal with colons between them.
///
/// # Errors
///
/// `InvalidInput` for anything else.
pub fn parse_mac(text: &str) -> io::Result<[u8; 6]> {
    let wrong = || {
        let message = "six bytes in hexadecimal with colons between them are expected";
        io::Error::new(io::ErrorKind::InvalidInput, message)
    };
    let octet = |digits: &str| match digits.len() {
        2 => u8::from_str_radix(digits, 16).ok(),
        _ => None,
    };
    let octets: Vec<u8> = text.split(':').map(octet).collect::<Option<_>>().ok_or_else(wrong)?;
    octets.try_into().map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_entries_are_known() {
        let table = "\
IP address       HW type     Flags       HW address            Mask     Device
10.98.0.1        0x1         0x6         02:00:5e:00:10:0a     *        dv1
10.98.0.3        0x1         0x0         00:00:00:00:00:00     *        dv1
10.98.0.10       0x1         0x2         02:00:00:00:00:0a     *        dv1
";
        let of = |address: &str| in_table(table, address.parse().unwrap());
        assert_eq!(of("10.98.0.1"), Some([2, 0, 0x5e, 0, 0x10, 10]));
        assert_eq!(of("10.98.0.10"), Some([2, 0, 0, 0, 0, 10]));
        for unknown in ["10.98.0.3", "10.98.0.2", "::1"] {
            assert_eq!(of(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn hardware_addresses_are_six_octets() {
        assert_eq!(parse_mac("02:00:00:0f:F0:01").unwrap(), [2, 0, 0, 15, 240, 1]);
        for wrong in [
            "",
            "02:00:00:00:00",
            "02:00:00:00:00:00:00",
            "2:0:0:0:0:0",
            "02-00-00-00-00-01",
            "02:00:00:00:00:g0",
        ] {
            assert!(parse_mac(wrong).is_err(), "{wrong}");
        }
    }
}
