//! Parser of DHCPv6 lease file rows.

use std::net::Ipv6Addr;

use dhcp_lease::identity::{DUID_MAX, HARDWARE_ADDRESS_MAX};
use dhcp_lease::v6::{HardwareSource, Lease, LeaseClient, LeaseExtra, LeaseState, Resource};
use dhcp_lease::{ClientId, HardwareAddress};

use super::super::plain::{PlainRow, ShortIdentity};
use super::super::value::{Octets, RowFault, RowValue, Values};
use super::NOBODY;

/// Reads a DHCPv6 lease from the values of its row.
pub(super) fn parse(values: &mut Values<'_>) -> Result<Lease, RowFault> {
    let mut next = |column| values.next(column);
    let address = next("address").address()?;
    let duid = next("duid").colon_hex()?;
    let valid_lifetime_s = next("valid_lifetime").number()?;
    let expire_s: u64 = next("expire").number()?;
    let subnet_id = next("subnet_id").number()?;
    let preferred_lifetime_s = next("pref_lifetime").number()?;
    let lease_type = next("lease_type");
    let iaid = next("iaid").number()?;
    let resource = resource(address, lease_type, next("prefix_len"))?;
    let fqdn_fwd = next("fqdn_fwd").flag()?;
    let fqdn_rev = next("fqdn_rev").flag()?;
    let hostname = next("hostname").hostname()?;
    let hardware = next("hwaddr").or("").colon_hex()?;
    let state = next("state").or("0").state()?;
    let user_context = next("user_context").or("").json()?;
    let hardware_type = next("hwtype").or("").number_or(1)?;
    let hardware_source = next("hwaddr_source").or("").number_or(0)?;
    let pool_id = next("pool_id").or("0").number()?;
    if !(1..=DUID_MAX).contains(&duid.octets().len()) {
        return Err(RowFault::Value("duid"));
    }
    let is_nobodys = duid.octets() == NOBODY || duid.octets() == &NOBODY[..1];
    if is_nobodys && state != LeaseState::Declined {
        return Err(RowFault::NoClient);
    }
    let (hardware, hardware_source) = hardware_of(&hardware, hardware_type, hardware_source)?;
    Ok(Lease {
        address: resource,
        client: LeaseClient {
            duid: ClientId::new(if is_nobodys { &[] } else { duid.octets() }),
            iaid,
        },
        valid_lifetime_s,
        cltt_s: expire_s.saturating_sub(u64::from(valid_lifetime_s)),
        subnet_id,
        pool_id,
        fqdn_fwd,
        fqdn_rev,
        hostname,
        state,
        user_context: user_context.into_boxed_str(),
        extra: LeaseExtra { preferred_lifetime_s, hardware, hardware_source },
    })
}

/// Reads a DHCPv6 lease from a plain row; returns `None` for a row that is not plain.
pub(super) fn parse_plain(row: &mut PlainRow<'_>) -> Option<Lease> {
    let address = row.address6()?;
    let duid = row.identity()?;
    let valid_lifetime_s = row.number()?;
    let expire_s: u64 = row.number()?;
    let subnet_id = row.number()?;
    let preferred_lifetime_s = row.number()?;
    let lease_type: u8 = row.number()?;
    let iaid = row.number()?;
    let len: u8 = row.number()?;
    let resource = match lease_type {
        0 => Resource::address(address),
        2 if len <= 128 => Resource::prefix(address, len),
        _ => return None,
    };
    let fqdn_fwd = row.flag()?;
    let fqdn_rev = row.flag()?;
    let hostname = row.hostname()?;
    let hardware = row.or(ShortIdentity::NONE, PlainRow::hardware)?;
    let state = row.or_default(PlainRow::state)?;
    let user_context = row.or_default(PlainRow::json)?;
    let hardware_type = row.or(1, |row| row.number_or(1))?;
    let hardware_source = row.or_default(|row| row.number_or(0))?;
    let pool_id = row.or_default(PlainRow::number)?;
    // This function does not read a row without a DUID, or with the DUID that means no client.
    let is_nobodys = duid.is_empty() || duid.octets() == &NOBODY[..1] || duid.octets() == NOBODY;
    if !row.has_ended() || is_nobodys {
        return None;
    }
    let (hardware, hardware_source) = if hardware.is_empty() {
        (HardwareAddress::NONE, HardwareSource::Unknown)
    } else {
        (hardware.hardware(hardware_type)?, HardwareSource::from_number(hardware_source))
    };
    Some(Lease {
        address: resource,
        client: LeaseClient { duid: duid.client_id(), iaid },
        valid_lifetime_s,
        cltt_s: expire_s.saturating_sub(u64::from(valid_lifetime_s)),
        subnet_id,
        pool_id,
        fqdn_fwd,
        fqdn_rev,
        hostname,
        state,
        user_context,
        extra: LeaseExtra { preferred_lifetime_s, hardware, hardware_source },
    })
}

/// Returns the leased address or prefix of a row's values. Kea accepts any prefix length with an
/// address.
fn resource(
    address: Ipv6Addr,
    lease_type: RowValue<'_>,
    len: RowValue<'_>,
) -> Result<Resource, RowFault> {
    let len_bits: u8 = len.number()?;
    match lease_type.number::<u8>()? {
        0 => Ok(Resource::address(address)),
        2 if len_bits <= 128 => Ok(Resource::prefix(address, len_bits)),
        2 => Err(len.fault()),
        // Temporary addresses are obsolete.
        _ => Err(lease_type.fault()),
    }
}

fn hardware_of(
    octets: &Octets,
    hardware_type: u16,
    source: u32,
) -> Result<(HardwareAddress, HardwareSource), RowFault> {
    if octets.is_empty() {
        return Ok((HardwareAddress::NONE, HardwareSource::Unknown));
    }
    if octets.octets().len() > HARDWARE_ADDRESS_MAX {
        return Err(RowFault::Value("hwaddr"));
    }
    // Hardware types wider than DHCPv4's field belong to no link that has addresses.
    let htype = u8::try_from(hardware_type).map_err(|_| RowFault::Value("hwtype"))?;
    Ok((HardwareAddress::new(htype, octets.octets()), HardwareSource::from_number(source)))
}

#[cfg(test)]
mod tests {
    use dhcp_lease::v6::V6;

    use super::*;
    use crate::memfile::columns::LeaseFileHeader;
    use crate::memfile::value::parse_row;
    use crate::memfile::{RowFileFormat, encode_row, newest};

    const FORMAT: &RowFileFormat = &RowFileFormat::for_family::<V6>();

    fn header() -> LeaseFileHeader {
        LeaseFileHeader { columns: newest::<V6>(), unknown: 0 }
    }

    fn parse(line: &str) -> Result<Lease, RowFault> {
        parse_row::<V6>(line.as_bytes(), FORMAT, header())
    }

    const START: &str = "2001:db8::1,00:03:00:01:02:00:00:00:00:09,4000,1795297786,7,3000";

    #[test]
    fn every_value_is_read() {
        let lease = parse(&format!("{START},0,9,128,0,1,A&#x2cb,02:00:00:00:00:09,3,{{ }},6,8,5"));
        let expected = Lease {
            address: Resource::address("2001:db8::1".parse().unwrap()),
            client: LeaseClient { duid: ClientId::new(&[0, 3, 0, 1, 2, 0, 0, 0, 0, 9]), iaid: 9 },
            valid_lifetime_s: 4000,
            cltt_s: 1_795_293_786,
            subnet_id: 7,
            pool_id: 5,
            fqdn_fwd: false,
            fqdn_rev: true,
            hostname: "a,b".into(),
            state: LeaseState::Released,
            user_context: "{ }".into(),
            extra: LeaseExtra {
                preferred_lifetime_s: 3000,
                hardware: HardwareAddress::new(6, &[2, 0, 0, 0, 0, 9]),
                hardware_source: HardwareSource::ClientLinkAddress,
            },
        };
        assert_eq!(lease, Ok(expected));
    }

    #[test]
    fn rows_of_all_ages_are_read_and_odd_ones_are_told() {
        // These have the columns of Kea 0.8, of 2.2 without a hardware address, and a prefix.
        let good = [
            format!("{START},0,9,128,0,1,host"),
            format!("{START},0,9,128,0,1,host,,0,,,"),
            format!("{START},2,9,56,0,1,host,,0,,,,0"),
        ];
        for line in &good {
            parse(line).unwrap_or_else(|fault| panic!("{line}: {fault}"));
        }
        for nobody in ["00:00:00", "00"] {
            let declined = format!("2001:db8::1,{nobody},86400,1795297786,7,0,0,9,128,0,0,,,1,,,");
            assert_eq!(parse(&declined).map(|lease| lease.client.duid), Ok(ClientId::new(&[])));
        }
        let bad = [
            (format!("{START},1,9,128,0,1,host"), RowFault::Value("lease_type")),
            (format!("{START},2,9,129,0,1,host"), RowFault::Value("prefix_len")),
            (format!("{START},0,9,128,0,1"), RowFault::ValueCount),
            (format!("{START},0,9,128,0,1,host,,0,,,,0,0"), RowFault::ValueCount),
            (format!("{START},0,9,128,0,1,host,02-00,0"), RowFault::Value("hwaddr")),
            ("2001:db8::1,00:00:00,1,2,7,0,0,9,128,0,0,,,0".to_owned(), RowFault::NoClient),
            ("2001:db8::1,00,1,2,7,0,0,9,128,0,0,,,0".to_owned(), RowFault::NoClient),
            ("2001:db8::1,,1,2,7,0,0,9,128,0,0,,,0".to_owned(), RowFault::Value("duid")),
            ("10.0.0.1,00:01,1,2,7,0,0,9,128,0,0,,,0".to_owned(), RowFault::Value("address")),
        ];
        for (line, fault) in bad {
            assert_eq!(parse(&line), Err(fault), "{line}");
        }
    }

    #[test]
    fn a_row_survives_writing_and_reading() {
        let mut random = base::Random::from_seed(6);
        for _ in 0..500 {
            let mut octets = [0; 255];
            random.fill(&mut octets);
            let address = Ipv6Addr::from(<[u8; 16]>::try_from(&octets[..16]).unwrap());
            let resource = if random.chance(1, 2) {
                Resource::address(address)
            } else {
                Resource::prefix(address, random.below(129) as u8)
            };
            let has_hardware = random.chance(1, 2);
            let lease = Lease {
                address: resource,
                client: LeaseClient {
                    duid: ClientId::new(&octets[..4 + random.below(127) as usize]),
                    iaid: random.next_u32(),
                },
                valid_lifetime_s: random.next_u32(),
                cltt_s: u64::from(random.next_u32()),
                subnet_id: random.next_u32(),
                pool_id: random.next_u32(),
                fqdn_fwd: random.chance(1, 2),
                fqdn_rev: random.chance(1, 2),
                hostname: String::from_utf8_lossy(&octets[..80]).to_ascii_lowercase().into(),
                state: LeaseState::from_number(random.below(4) as u8).unwrap(),
                user_context: "{ \"name\": \"ä,&\" }".into(),
                extra: if has_hardware {
                    LeaseExtra {
                        preferred_lifetime_s: random.next_u32(),
                        hardware: HardwareAddress::new(1, &octets[..1 + random.below(20) as usize]),
                        hardware_source: HardwareSource::RemoteId,
                    }
                } else {
                    LeaseExtra { preferred_lifetime_s: random.next_u32(), ..LeaseExtra::default() }
                },
            };
            let mut line = Vec::new();
            encode_row(&lease.row(), newest::<V6>(), &mut line);
            let line = line.strip_suffix(b"\n").unwrap();
            assert_eq!(parse_row::<V6>(line, FORMAT, header()), Ok(lease));
        }
    }
}
