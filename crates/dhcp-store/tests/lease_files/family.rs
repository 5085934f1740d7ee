//! Differences between the two families' lease files.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};

use base::Random;
use dhcp_lease::v4::{self, V4};
use dhcp_lease::v6::{self, HardwareSource, Resource, V6};
use dhcp_lease::{ClientId, HardwareAddress, Lease, LeaseState};
use dhcp_store::memfile::LeaseFileFamily;

const DATA: &str = "../../conformance/data";

/// Family for which Kea has a server.
pub(crate) trait KeaFamily: LeaseFileFamily {
    /// Number of the family, 4 or 6.
    const NUMBER: u32;
    /// Row of a pool, with a column that no version has yet.
    const NEWER_ROW: &'static str;
    /// Longest client identifier that Kea 2.2 accepts, bytes.
    const CLIENT_MAX: u64;

    /// Returns the key by which Kea identifies and sorts leases.
    fn key(lease: &Lease<Self>) -> IpAddr;

    /// Returns a lease number `number` with all values that Kea 2.2 keeps.
    fn lease(random: &mut Random, number: u64) -> Lease<Self>;

    /// Returns the file that Kea wrote.
    fn written() -> Vec<u8> {
        fs::read(format!("{DATA}/kea-2.2-leases{}.csv", Self::NUMBER)).unwrap()
    }

    /// Returns the file that kea-lfc made of it, in the form of Kea 2.4 and later.
    fn cleaned() -> String {
        let path = format!("{DATA}/kea-2.2-leases{}.cleaned.csv", Self::NUMBER);
        fs::read_to_string(path).unwrap()
    }
}

/// Values that leases of both families have.
struct CommonLeaseValues {
    octets: [u8; 200],
    client_len: usize,
    is_declined: bool,
    valid_lifetime_s: u32,
    cltt_s: u64,
    subnet_id: u32,
    hostname: &'static str,
    user_context: &'static str,
}

impl CommonLeaseValues {
    fn draw(random: &mut Random, client_max: u64) -> Self {
        let mut octets = [0; 200];
        random.fill(&mut octets);
        Self {
            octets,
            client_len: 4 + random.below(client_max - 3) as usize,
            is_declined: random.chance(1, 10),
            valid_lifetime_s: *random.pick(&[0, 60, 3600, u32::MAX]).unwrap(),
            cltt_s: 1_800_000_000 + random.below(100_000),
            subnet_id: random.next_u32(),
            hostname: random.pick(&["", "host", "a,b&c", "x\u{1}\u{7f}y"]).unwrap(),
            user_context: random.pick(&["", "{ \"a\": 1, \"b\": 2 }"]).unwrap(),
        }
    }

    fn client(&self) -> &[u8] {
        &self.octets[..self.client_len]
    }

    const fn state(&self) -> LeaseState {
        if self.is_declined { LeaseState::Declined } else { LeaseState::Assigned }
    }

    fn hardware(&self, htype: u8) -> HardwareAddress {
        if self.is_declined {
            HardwareAddress::NONE
        } else {
            HardwareAddress::new(htype, &self.octets[150..156])
        }
    }
}

impl KeaFamily for V4 {
    const NUMBER: u32 = 4;
    const NEWER_ROW: &'static str = "10.0.0.1,02:00:00:00:00:01,,60,1800000060,1,0,0,a,0,,7,red\n";
    const CLIENT_MAX: u64 = 128;

    fn key(lease: &v4::Lease) -> IpAddr {
        lease.address.into()
    }

    fn lease(random: &mut Random, number: u64) -> v4::Lease {
        let common = CommonLeaseValues::draw(random, Self::CLIENT_MAX);
        let has_client_id = !common.is_declined && random.chance(1, 2);
        v4::Lease {
            address: Ipv4Addr::from_bits(0x0a00_0000 + number as u32),
            client: v4::LeaseClient {
                hardware: common.hardware(1),
                client_id: has_client_id.then(|| ClientId::new(common.client())),
            },
            valid_lifetime_s: common.valid_lifetime_s,
            cltt_s: common.cltt_s,
            subnet_id: common.subnet_id,
            fqdn_fwd: random.chance(1, 2),
            fqdn_rev: random.chance(1, 2),
            hostname: common.hostname.into(),
            state: common.state(),
            user_context: common.user_context.into(),
            pool_id: 0,
            extra: (),
        }
    }
}

impl KeaFamily for V6 {
    const NUMBER: u32 = 6;
    const NEWER_ROW: &'static str =
        "2001:db8::1,00:01:02,60,1800000060,1,30,0,1,128,0,0,a,,0,,,,7,red\n";
    // The limit is 130 since 2.4.
    const CLIENT_MAX: u64 = 128;

    fn key(lease: &v6::Lease) -> IpAddr {
        lease.address.address.into()
    }

    fn lease(random: &mut Random, number: u64) -> v6::Lease {
        let common = CommonLeaseValues::draw(random, Self::CLIENT_MAX);
        let address = (0x2001_0db8_0000 + u128::from(number)) << 80;
        let resource = match number % 2 {
            0 => Resource::address((address | 1).into()),
            _ => Resource::prefix(address.into(), 48 + (number % 16) as u8),
        };
        let has_hardware = !common.is_declined && random.chance(2, 3);
        let source = HardwareSource::from_number(1 << random.below(8));
        v6::Lease {
            address: resource,
            client: v6::LeaseClient {
                duid: ClientId::new(if common.is_declined { &[] } else { common.client() }),
                iaid: random.next_u32(),
            },
            valid_lifetime_s: common.valid_lifetime_s,
            cltt_s: common.cltt_s,
            subnet_id: common.subnet_id,
            pool_id: 0,
            fqdn_fwd: random.chance(1, 2),
            fqdn_rev: random.chance(1, 2),
            hostname: common.hostname.into(),
            state: common.state(),
            user_context: common.user_context.into(),
            extra: v6::LeaseExtra {
                preferred_lifetime_s: *random.pick(&[0, 30, u32::MAX]).unwrap(),
                hardware: if has_hardware { common.hardware(6) } else { HardwareAddress::NONE },
                hardware_source: if has_hardware { source } else { HardwareSource::Unknown },
            },
        }
    }

    fn cleaned() -> String {
        let path = format!("{DATA}/kea-2.2-leases6.cleaned.csv");
        let text = fs::read_to_string(path).unwrap();
        // A DUID of one zero means no client up to 2.2, and is invalid since.
        text.replace(",00,86400,", ",00:00:00,86400,")
    }
}
