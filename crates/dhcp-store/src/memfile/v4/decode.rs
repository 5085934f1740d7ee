//! Parser of DHCPv4 lease file rows.

use dhcp_lease::identity::HARDWARE_ADDRESS_MAX;
use dhcp_lease::v4::{Lease, LeaseClient, LeaseState};
use dhcp_lease::{ClientId, HardwareAddress};

use super::super::plain::PlainRow;
use super::super::value::{RowFault, Values};

/// Reads a DHCPv4 lease from the values of its row.
pub(super) fn parse(values: &mut Values<'_>) -> Result<Lease, RowFault> {
    let mut next = |column| values.next(column);
    let address = next("address").address()?;
    let hardware = next("hwaddr").colon_hex()?;
    let client_id = next("client_id").colon_hex()?;
    let valid_lifetime_s = next("valid_lifetime").number()?;
    let expire_s: u64 = next("expire").number()?;
    let subnet_id = next("subnet_id").number()?;
    let fqdn_fwd = next("fqdn_fwd").flag()?;
    let fqdn_rev = next("fqdn_rev").flag()?;
    let hostname = next("hostname").hostname()?;
    let state = next("state").or("0").state()?;
    let user_context = next("user_context").or("").json()?;
    let pool_id = next("pool_id").or("0").number()?;
    if hardware.octets().len() > HARDWARE_ADDRESS_MAX {
        return Err(RowFault::Value("hwaddr"));
    }
    if hardware.is_empty() && client_id.is_empty() && state != LeaseState::Declined {
        return Err(RowFault::NoClient);
    }
    Ok(Lease {
        address,
        client: LeaseClient {
            hardware: match hardware.octets() {
                [] => HardwareAddress::default(),
                octets => HardwareAddress::new(1, octets),
            },
            client_id: (!client_id.is_empty()).then(|| ClientId::new(client_id.octets())),
        },
        valid_lifetime_s,
        cltt_s: expire_s.saturating_sub(u64::from(valid_lifetime_s)),
        subnet_id,
        fqdn_fwd,
        fqdn_rev,
        hostname,
        state,
        user_context: user_context.into_boxed_str(),
        pool_id,
        extra: (),
    })
}

/// Reads a DHCPv4 lease from a plain row; returns `None` for a row that is not plain.
pub(super) fn parse_plain(row: &mut PlainRow<'_>) -> Option<Lease> {
    let address = row.address4()?;
    let hardware = row.hardware()?;
    let client_id = row.identity()?;
    let valid_lifetime_s = row.number()?;
    let expire_s: u64 = row.number()?;
    let subnet_id = row.number()?;
    let fqdn_fwd = row.flag()?;
    let fqdn_rev = row.flag()?;
    let hostname = row.hostname()?;
    let state = row.or_default(PlainRow::state)?;
    let user_context = row.or_default(PlainRow::json)?;
    let pool_id = row.or_default(PlainRow::number)?;
    let is_nobodys = hardware.is_empty() && client_id.is_empty();
    if !row.has_ended() || (is_nobodys && state != LeaseState::Declined) {
        return None;
    }
    Some(Lease {
        address,
        client: LeaseClient {
            hardware: if hardware.is_empty() {
                HardwareAddress::NONE
            } else {
                hardware.hardware(1)?
            },
            client_id: (!client_id.is_empty()).then(|| client_id.client_id()),
        },
        valid_lifetime_s,
        cltt_s: expire_s.saturating_sub(u64::from(valid_lifetime_s)),
        subnet_id,
        fqdn_fwd,
        fqdn_rev,
        hostname,
        state,
        user_context,
        pool_id,
        extra: (),
    })
}

#[cfg(test)]
mod tests {
    use dhcp_lease::v4::V4;
    use std::net::Ipv4Addr;

    use super::*;
    use crate::memfile::columns::LeaseFileHeader;
    use crate::memfile::value::parse_row;
    use crate::memfile::{RowFileFormat, encode_row, newest};

    const FORMAT: &RowFileFormat = &RowFileFormat::for_family::<V4>();

    fn header() -> LeaseFileHeader {
        LeaseFileHeader { columns: newest::<V4>(), unknown: 0 }
    }

    fn parse(line: &str) -> Result<Lease, RowFault> {
        parse_row::<V4>(line.as_bytes(), FORMAT, header())
    }

    /// Rows and verdicts of kea-lfc 2.2.0, except where the comment says otherwise.
    #[test]
    fn rows_are_judged_as_kea_judges_them() {
        let good = [
            "10.0.0.1,02:00:00:00:00:01,,3600,1795297386,7,0,1,a&#x2cb&#x26c&#xff,0,{ \"a\": \"x&#x2cy\" },5",
            "10.0.0.2,,01:02,3600,1795297386,7,0,1,,1,,5",
            "10.0.0.4,,01:02:03,3600,1795297386,7,1,1,nohw,0,,5",
            "10.0.0.6,02:00:00:00:00:01,,3600,1795297386,7,0,1,neg,0,",
            "10.0.0.7,02:00:00:00:00:01,,3600,1795297386,7,0,1,\"quo\"\"ted\",0,,0",
            "10.0.0.9,2:0:0:0:0:1,,3600,1795297386,7,0,1,x,0,,0",
            "10.0.0.7,3a:35:c9:8c:7f:49,,60,1800027019,1709558924,1,1,x\u{1}\u{7f}y,0,",
            "10.0.0.16,02:00:00:00:00:01,,3600,1795297386,7,0,1,CR,0,,0\r",
        ];
        for line in good {
            parse(line).unwrap_or_else(|fault| panic!("{line}: {fault}"));
        }
        let bad = [
            ("10.0.0.5,,,3600,1795297386,7,1,1,nohw,2,,5", RowFault::NoClient),
            ("10.0.0.8,02-00,,3600,1795297386,7,1,1,x,0,,0", RowFault::Value("hwaddr")),
            ("10.0.0.10,020000000001,0102,3600,1,7,0,1,x,9,,0", RowFault::Value("hwaddr")),
            ("10.0.0.11,02:00,,3600, 1795297386,7,0,1,x,0,,0", RowFault::Value("expire")),
            ("10.0.0.12,02:00,,3600,1795297386,7,0,1,x,0,null,0", RowFault::Value("user_context")),
            // Kea takes this for an infinite lifetime.
            ("10.0.0.14,02:00,,-1,1795297386,7,0,1,x,0,,0", RowFault::Value("valid_lifetime")),
            ("10.0.0.15,02:00,,3600,1795297386,7,0,1", RowFault::ValueCount),
            ("10.0.0.15,02:00,,3600,1795297386,7,0,1,x,0,,0,0", RowFault::ValueCount),
            ("10.0.0.15\0,02:00,,3600,1795297386,7,0,1,x,0,,0", RowFault::Rubbish),
            ("10.0.0.15,02:00,,3600,1795297386,7,0,1,x,0,,4294967296", RowFault::Value("pool_id")),
        ];
        for (line, fault) in bad {
            assert_eq!(parse(line), Err(fault), "{line}");
        }
    }

    #[test]
    fn a_name_of_an_earlier_version_that_is_too_long_is_cut() {
        for (name, octets) in [("x".repeat(256), 255), ("&#xc3&#xbc".repeat(200), 254)] {
            let lease = parse(&format!("10.0.0.1,02:00,,3600,1795297386,7,0,1,{name},0,,0"));
            assert_eq!(lease.map(|lease| lease.hostname.len()), Ok(octets));
        }
    }

    #[test]
    fn every_value_is_read() {
        let lease = parse(
            "10.0.0.1,02:00:00:00:00:0a,01:aB,4294967295,6090261088,7,0,1,A&#x2cb&#xzz,3,{ \"a\": 1 },5",
        );
        let expected = Lease {
            address: Ipv4Addr::new(10, 0, 0, 1),
            client: LeaseClient {
                hardware: HardwareAddress::new(1, &[2, 0, 0, 0, 0, 10]),
                client_id: Some(ClientId::new(&[1, 0xab])),
            },
            valid_lifetime_s: u32::MAX,
            cltt_s: 1_795_293_793,
            subnet_id: 7,
            fqdn_fwd: false,
            fqdn_rev: true,
            hostname: "a,b&#xzz".into(),
            state: LeaseState::Released,
            user_context: "{ \"a\": 1 }".into(),
            pool_id: 5,
            extra: (),
        };
        assert_eq!(lease, Ok(expected));
    }

    #[test]
    fn a_row_survives_writing_and_reading() {
        let mut random = base::Random::from_seed(5);
        for _ in 0..500 {
            let mut octets = [0; 255];
            random.fill(&mut octets);
            let client_id = &octets[..random.below(256) as usize];
            let lease = Lease {
                address: Ipv4Addr::from_bits(random.next_u32()),
                client: LeaseClient {
                    hardware: HardwareAddress::new(1, &octets[..1 + random.below(20) as usize]),
                    client_id: (!client_id.is_empty()).then(|| ClientId::new(client_id)),
                },
                valid_lifetime_s: random.next_u32(),
                cltt_s: u64::from(random.next_u32()),
                subnet_id: random.next_u32(),
                fqdn_fwd: random.chance(1, 2),
                fqdn_rev: random.chance(1, 2),
                hostname: String::from_utf8_lossy(&octets[..80]).to_ascii_lowercase().into(),
                state: LeaseState::from_number(random.below(4) as u8).unwrap(),
                user_context: "{ \"name\": \"ä,&\" }".into(),
                pool_id: random.next_u32(),
                extra: (),
            };
            let mut line = Vec::new();
            encode_row(&lease.row(), newest::<V4>(), &mut line);
            assert_eq!(
                parse_row::<V4>(line.strip_suffix(b"\n").unwrap(), FORMAT, header()),
                Ok(lease)
            );
        }
    }
}
