//! Scripted life of clients: name change requests as a DHCP server sends them, and the records that
//! the zones must hold in the end.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base::Hex;
use ncr::{ConflictMode, Dhcid, NameChangeKind, NameChangeRequest, UpdateName};

use super::KEY_ZONES;

/// Life of clients, each with a name in one of the zones, an IPv4 and an IPv6 address.
pub(super) struct ClientLife {
    requests: Vec<NameChangeRequest>,
    /// Requests whose records must exist in the end.
    present: Vec<NameChangeRequest>,
}

/// Returns the request to add the records of a lease.
pub(super) fn addition(name: &str, address: IpAddr, client: u16) -> NameChangeRequest {
    let name = UpdateName::from_text(name).expect("it is a name");
    let [high, low] = client.to_be_bytes();
    let duid = [0, 3, 0, 1, 2, 0, 0, 0, high, low];
    NameChangeRequest {
        kind: NameChangeKind::Add,
        forward: true,
        reverse: true,
        dhcid: Dhcid::from_duid(&duid, &name).expect("a DUID makes a DHCID"),
        name,
        address,
        ttl_s: 600 + u32::from(client),
        conflict_mode: ConflictMode::CheckWithDhcid,
    }
}

/// Returns the request to remove the records that `request` adds.
pub(super) fn removal(request: &NameChangeRequest) -> NameChangeRequest {
    NameChangeRequest { kind: NameChangeKind::Remove, ..request.clone() }
}

impl ClientLife {
    /// Makes the life of `clients` clients: they come, get second addresses, move to other
    /// addresses and names, renew, and some of them go.
    pub(super) fn new(clients: u16) -> Self {
        let mut life = Self { requests: Vec::new(), present: Vec::new() };
        for client in 0..clients {
            let zone = client % KEY_ZONES.len() as u16;
            let [high, low] = client.to_be_bytes();
            let name = format!("c{client}.{}", KEY_ZONES[usize::from(zone)][0]);
            let v4 = |round: u8| IpAddr::V4(Ipv4Addr::new(10, zone as u8, high + round, low));
            let v6 = Ipv6Addr::new(0x2001, 0xdb8, zone, 0, 0, 0, 0, client);
            let first = addition(&name, v4(0), client);
            life.add(&first);
            let second = addition(&name, v6.into(), client);
            match client % 10 {
                // A second family, and one of both released.
                0 => {
                    life.add(&second);
                    life.remove(&first);
                }
                1 => {
                    life.add(&second);
                    life.remove(&second);
                }
                // Another address.
                2 => {
                    life.remove(&first);
                    life.add(&addition(&name, v4(100), client));
                }
                // Another name at the same address.
                3 => {
                    life.remove(&first);
                    let name = format!("New{client}.{}", KEY_ZONES[usize::from(zone)][0]);
                    life.add(&addition(&name, v4(0), client));
                }
                // A renewal, with both families.
                4 => {
                    life.add(&second);
                    life.remove(&first);
                    life.add(&first);
                }
                // A release, and one after two addresses.
                5 => life.remove(&first),
                6 => {
                    life.add(&second);
                    life.remove(&first);
                    life.remove(&second);
                }
                // A new client with the name and address of another.
                7 => {
                    life.remove(&first);
                    life.add(&addition(&name, v4(0), client + 1_000));
                }
                _ => {}
            }
        }
        life
    }

    fn add(&mut self, request: &NameChangeRequest) {
        self.requests.push(request.clone());
        self.present.push(request.clone());
    }

    fn remove(&mut self, request: &NameChangeRequest) {
        self.requests.push(removal(request));
        self.present.retain(|other| other != request);
    }

    /// Returns the requests in their order.
    pub(super) fn requests(&mut self) -> Vec<NameChangeRequest> {
        self.requests.clone()
    }

    /// Returns the number of requests.
    pub(super) fn count(&self) -> usize {
        self.requests.len()
    }

    /// Returns the records that `zone` must hold in the end.
    pub(super) fn expected(&self, zone: &str) -> BTreeSet<String> {
        let records = self.present.iter().flat_map(records_of);
        records.filter(|line| line.split(' ').next().is_some_and(|n| n.ends_with(zone))).collect()
    }
}

/// Returns the records that `request` adds, as lines.
pub(super) fn records_of(request: &NameChangeRequest) -> [String; 4] {
    let name = request.name.to_string().to_lowercase();
    let (ttl, dhcid) = (request.ttl_s, Hex(request.dhcid.as_bytes()));
    let (rtype, pointer) = match request.address {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            ("A", format!("{d}.{c}.{b}.{a}.in-addr.arpa"))
        }
        IpAddr::V6(address) => {
            let digits = Hex(&address.octets()).to_string();
            let digits: Vec<String> = digits.chars().rev().map(String::from).collect();
            ("AAAA", format!("{}.ip6.arpa", digits.join(".")))
        }
    };
    [
        format!("{name} {ttl} {rtype} {}", request.address),
        format!("{name} {ttl} DHCID {dhcid}"),
        format!("{pointer}. {ttl} PTR {name}"),
        format!("{pointer}. {ttl} DHCID {dhcid}"),
    ]
    .map(|line| line.to_lowercase())
    .map(|line| restore_types(&line))
}

/// Returns the line with its type in upper case.
fn restore_types(line: &str) -> String {
    let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    if let Some(rtype) = words.get_mut(2) {
        *rtype = rtype.to_uppercase();
    }
    words.join(" ")
}
