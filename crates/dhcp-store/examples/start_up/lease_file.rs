//! Lease file as Kea 2.2 writes it, and the identifiers of its clients.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// First address of the DHCPv4 pool, 10.0.0.1 to 10.255.255.254.
pub(crate) const V4_FIRST: u32 = 0x0a00_0001;
pub(crate) const V4_LAST: u32 = 0x0aff_fffe;
/// First address of the DHCPv6 pool, 2001:db8::/64 without its first address.
pub(crate) const V6_FIRST: u128 = (0x2001_0db8 << 96) + 1;
pub(crate) const V6_LAST: u128 = (0x2001_0db8 << 96) + u64::MAX as u128;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartUpFamily {
    V4,
    V6,
}

impl StartUpFamily {
    /// Returns the name of the server, which is also the section of its configuration but for a
    /// capital.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::V4 => "dhcp4",
            Self::V6 => "dhcp6",
        }
    }
}

/// Contents of a lease file.
pub(crate) struct LeaseFileContents {
    pub(crate) family: StartUpFamily,
    pub(crate) leases: u32,
    pub(crate) has_names: bool,
    /// Time at which all leases were granted for a day, in seconds since 1970.
    pub(crate) now_s: u64,
}

const LIFETIME_S: u64 = 86_400;

/// Returns the hardware address of client `number`.
pub(crate) fn hardware(number: u32) -> [u8; 6] {
    let [a, b, c, d] = number.to_be_bytes();
    [2, 0, a, b, c, d]
}

/// Returns the client identifier of client `number`, in the form that most clients use.
pub(crate) fn client_id(number: u32) -> Vec<u8> {
    [&[1], &hardware(number)[..]].concat()
}

/// Returns the DUID-LLT of client `number`.
pub(crate) fn duid(number: u32) -> Vec<u8> {
    [&[0, 1, 0, 1, 0x32, 0x94, 0xf6, 0xd8], &hardware(number)[..]].concat()
}

pub(crate) fn address4(number: u32) -> Ipv4Addr {
    (V4_FIRST + number).into()
}

pub(crate) fn address6(number: u32) -> Ipv6Addr {
    (V6_FIRST + u128::from(number)).into()
}

fn colon_hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect::<Vec<_>>().join(":")
}

impl LeaseFileContents {
    /// Writes the file at `path` and returns its length in bytes.
    pub(crate) fn write(&self, path: &Path) -> u64 {
        let mut file = BufWriter::new(File::create(path).expect("the folder can be written"));
        let header = match self.family {
            StartUpFamily::V4 => {
                "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,\
                 hostname,state,user_context"
            }
            StartUpFamily::V6 => {
                "address,duid,valid_lifetime,expire,subnet_id,pref_lifetime,lease_type,iaid,\
                 prefix_len,fqdn_fwd,fqdn_rev,hostname,hwaddr,state,user_context,hwtype,\
                 hwaddr_source"
            }
        };
        writeln!(file, "{header}").expect("there is room");
        let expires_s = self.now_s + LIFETIME_S;
        for number in 0..self.leases {
            let name =
                if self.has_names { format!("client-{number}.example.org") } else { String::new() };
            let hardware = colon_hex(&hardware(number));
            match self.family {
                StartUpFamily::V4 => writeln!(
                    file,
                    "{},{hardware},{},{LIFETIME_S},{expires_s},1,0,0,{name},0,",
                    address4(number),
                    colon_hex(&client_id(number)),
                ),
                StartUpFamily::V6 => writeln!(
                    file,
                    "{},{},{LIFETIME_S},{expires_s},1,{LIFETIME_S},0,1,128,0,0,{name},{hardware},0,,1,2",
                    address6(number),
                    colon_hex(&duid(number)),
                ),
            }
            .expect("there is room");
        }
        file.flush().expect("there is room");
        drop(file);
        std::fs::metadata(path).map_or(0, |metadata| metadata.len())
    }
}
