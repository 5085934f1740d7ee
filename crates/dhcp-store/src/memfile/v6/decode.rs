//! v6 rows in: one line of text as a lease, or the reason why it is none.

use std::net::Ipv6Addr;

use dhcp_lease::identity::HARDWARE_ADDRESS_MAX;
use dhcp_lease::v6::{HardwareSource, Lease, Resource};
use dhcp_lease::{ClientId, HardwareAddress, LeaseState};

use super::EMPTY_DUID;
use crate::memfile::value::{RowFault, Value, Values};

/// Longest DUID (RFC 9915 §11.1): 128 octets behind the type.
const DUID_MAX: usize = 130;

/// Reads a row's values.
pub(super) fn parse(values: &mut Values<'_>) -> Result<Lease, RowFault> {
    let address = values.next("address");
    let duid_value = values.next("duid");
    let duid = duid_value.colon_hex()?;
    let valid_lifetime_s = values.next("valid_lifetime").number()?;
    let expire_s: u64 = values.next("expire").number()?;
    let subnet_id = values.next("subnet_id").number()?;
    let preferred_lifetime_s = values.next("pref_lifetime").number()?;
    let kind = values.next("lease_type");
    let iaid = values.next("iaid").number()?;
    let resource = resource(address, kind, values.next("prefix_len"))?;
    let fqdn_fwd = values.next("fqdn_fwd").flag()?;
    let fqdn_rev = values.next("fqdn_rev").flag()?;
    let hostname = values.next("hostname").hostname()?;
    let hardware = values.next("hwaddr").or("").colon_hex()?;
    let state = values.next("state").or("0").state()?;
    let user_context = values.next("user_context").or("").json()?;
    let htype = values.next("hwtype").or_if_empty("1").number()?;
    let source = values.next("hwaddr_source").or_if_empty("0").number()?;
    let pool_id = values.next("pool_id").or("0").number()?;
    values.end()?;
    if hardware.octets().len() > HARDWARE_ADDRESS_MAX {
        return Err(RowFault::Value("hwaddr"));
    }
    if duid.is_empty() || duid.octets().len() > DUID_MAX {
        return Err(duid_value.fault());
    }
    // Kea before 2.4 has one octet.
    let is_nobodys = EMPTY_DUID.starts_with(duid.octets());
    if is_nobodys && state != LeaseState::Declined {
        return Err(RowFault::NoClient);
    }
    let has_hardware = !hardware.is_empty();
    Ok(Lease {
        resource,
        duid: ClientId::new(if is_nobodys { &[] } else { duid.octets() }),
        iaid,
        valid_lifetime_s,
        preferred_lifetime_s,
        cltt_s: expire_s.saturating_sub(u64::from(valid_lifetime_s)),
        subnet_id,
        pool_id,
        fqdn_fwd,
        fqdn_rev,
        hostname: hostname.to_ascii_lowercase().into_boxed_str(),
        hardware: match hardware.octets() {
            [] => HardwareAddress::NONE,
            octets => HardwareAddress::new(htype, octets),
        },
        hardware_source: match has_hardware {
            true => HardwareSource::from_number(source),
            false => HardwareSource::Unknown,
        },
        state,
        user_context: user_context.into_boxed_str(),
    })
}

/// What is leased. Temporary addresses (1) are not served (RFC 9915 has made them obsolete).
fn resource(address: Value<'_>, kind: Value<'_>, len: Value<'_>) -> Result<Resource, RowFault> {
    let at: Ipv6Addr = address.address()?;
    let number: u8 = kind.number()?;
    let bits: u8 = len.number()?;
    match number {
        0 if bits == 128 => Ok(Resource::address(at)),
        2 if (1..=128).contains(&bits) => {
            let prefix = Resource::prefix(at, bits);
            if prefix.address == at { Ok(prefix) } else { Err(address.fault()) }
        }
        0 | 2 => Err(len.fault()),
        _ => Err(kind.fault()),
    }
}

#[cfg(test)]
mod tests {
    use dhcp_lease::v6::{IaKind, V6};

    use super::super::encode::{encode_row, row_of};
    use super::*;
    use crate::memfile::{Columns, Header, parse_row};

    const HEADER: Header = Header { columns: Columns::NEWEST, unknown: 0 };

    fn parse(line: &str) -> Result<Lease, RowFault> {
        parse_row::<V6>(line.as_bytes(), HEADER)
    }

    /// Rows and verdicts of kea-lfc 2.2.0, but where the comment says otherwise.
    #[test]
    fn rows_are_judged_as_kea_judges_them() {
        let good = [
            "2001:db8::1,00:01,1000,1795308854,7,600,0,1,128,0,0,,,0,,,",
            "2001:db8::3,00,1000,1795308854,7,600,0,1,128,0,0,,,1,,,",
            "2001:db8::5,00:00:00,1000,1795308854,7,600,0,1,128,0,0,,,1,,,",
            "2001:db8:8::,00:01:02,1000,1795308854,7,600,2,1,64,0,0,,,0,,,",
            "2001:db8::d,00:01:02,1000,1795308854,7,600,0,1,128,0,0,,02:00:00:00:00:01,0,,1,2",
            "2001:db8::e,00:01:02,1000,1795308854,7,600,0,1,128,0,0,,02:00:00:00:00:01,0,,,",
            "2001:db8::10,00:01:02,1000,1795308854,7,600,0,1,128,0,0,,,0,,7,2",
            "2001:db8::11,00:01:02,1000,1795308854,7,600,0,1,128,0,0,A&#x2cb,,0,{ \"a\": 1&#x2c \"b\": 2 },,",
            "2001:0db8:0:0::14,1:2:a,1000,1795308854,7,600,0,4294967295,128,1,1,x,,0,,,",
            // Kea wants as many values as the header has columns.
            "2001:db8::13,00:01:02,1000,1795308854,7,600,0,1,128,1,1,",
        ];
        for line in good {
            parse(line).unwrap_or_else(|fault| panic!("{line}: {fault}"));
        }
        let long_duid = format!(
            "2001:db8::33,{}ab,1,1795308854,7,600,0,1,128,0,0,,,0,,,",
            "ab:".repeat(DUID_MAX)
        );
        let bad = [
            ("2001:db8::2,00,1000,1795308854,7,600,0,1,128,0,0,,,0,,,", RowFault::NoClient),
            ("2001:db8::6,,1000,1795308854,7,600,0,1,128,0,0,,,1,,,", RowFault::Value("duid")),
            (long_duid.as_str(), RowFault::Value("duid")),
            ("2001:db8::7,00:01:02,1000,1795308854,7,600,0", RowFault::ValueCount),
            // Kea 2.2 takes these; what they would mean is nothing that is given here.
            ("2001:db8::4,00:00:00,1000,1795308854,7,600,0,1,128,0,0,,,0,,,", RowFault::NoClient),
            (
                "2001:db8::7,00:01:02,1000,1795308854,7,600,0,1,64,0,0,,,0,,,",
                RowFault::Value("prefix_len"),
            ),
            (
                "2001:db8:a::,00:01:02,1000,1795308854,7,600,2,1,129,0,0,,,0,,,",
                RowFault::Value("prefix_len"),
            ),
            (
                "2001:db8::16,00:01:02,1000,1795308854,7,600,2,1,64,0,0,,,0,,,",
                RowFault::Value("address"),
            ),
            (
                "2001:db8::b,00:01:02,1000,1795308854,7,600,1,1,128,0,0,,,0,,,",
                RowFault::Value("lease_type"),
            ),
            (
                "10.0.0.1,00:01:02,1000,1795308854,7,600,0,1,128,0,0,,,0,,,",
                RowFault::Value("address"),
            ),
            (
                "2001:db8::15,00:01:02,1000,1795308854,7,600,0,-1,128,0,0,,,0,,,",
                RowFault::Value("iaid"),
            ),
        ];
        for (line, fault) in bad {
            assert_eq!(parse(line), Err(fault), "{line}");
        }
    }

    #[test]
    fn every_value_is_read() {
        let lease = parse(
            "2001:db8:1:89a0::,00:04:aB,4294967295,6090261088,7,600,2,4294967295,60,1,0,A.b,02:00,3,\
             { \"a\": 1 },6,2,5",
        );
        let expected = Lease {
            resource: Resource::prefix("2001:db8:1:89a0::".parse().unwrap(), 60),
            duid: ClientId::new(&[0, 4, 0xab]),
            iaid: u32::MAX,
            valid_lifetime_s: u32::MAX,
            preferred_lifetime_s: 600,
            cltt_s: 1_795_293_793,
            subnet_id: 7,
            pool_id: 5,
            fqdn_fwd: true,
            fqdn_rev: false,
            hostname: "a.b".into(),
            hardware: HardwareAddress::new(6, &[2, 0]),
            hardware_source: HardwareSource::Duid,
            state: LeaseState::Released,
            user_context: "{ \"a\": 1 }".into(),
        };
        assert_eq!(lease, Ok(expected));
    }

    #[test]
    fn a_row_survives_writing_and_reading() {
        let mut random = base::Random::from_seed(5);
        for _ in 0..500 {
            let mut octets = [0; 160];
            random.fill(&mut octets);
            let is_prefix = random.chance(1, 2);
            let at = Ipv6Addr::from_bits(u128::from(random.next_u64()) << random.below(65));
            let state = LeaseState::from_number(random.below(4) as u8).unwrap();
            let is_nobodys = state == LeaseState::Declined && random.chance(1, 2);
            let duid = if is_nobodys { &[] } else { &octets[..4 + random.below(127) as usize] };
            let has_hardware = random.chance(1, 2);
            let hardware = &octets[140..141 + random.below(20) as usize];
            let lease = Lease {
                resource: match is_prefix {
                    true => Resource::prefix(at, 1 + random.below(128) as u8),
                    false => Resource::address(at),
                },
                duid: ClientId::new(duid),
                iaid: random.next_u32(),
                valid_lifetime_s: random.next_u32(),
                preferred_lifetime_s: random.next_u32(),
                cltt_s: u64::from(random.next_u32()),
                subnet_id: random.next_u32(),
                pool_id: random.next_u32(),
                fqdn_fwd: random.chance(1, 2),
                fqdn_rev: random.chance(1, 2),
                hostname: String::from_utf8_lossy(&octets[..80]).to_ascii_lowercase().into(),
                hardware: match has_hardware {
                    true => HardwareAddress::new(random.next_u32() as u8, hardware),
                    false => HardwareAddress::NONE,
                },
                hardware_source: match has_hardware {
                    true => HardwareSource::from_number(1 << random.below(8)),
                    false => HardwareSource::Unknown,
                },
                state,
                user_context: "{ \"name\": \"ä,&\" }".into(),
            };
            assert!(lease.resource.kind != IaKind::Address || lease.resource.len == 128);
            let mut line = Vec::new();
            encode_row(&row_of(&lease), Columns::NEWEST, &mut line);
            assert_eq!(parse_row::<V6>(line.strip_suffix(b"\n").unwrap(), HEADER), Ok(lease));
        }
    }
}
