//! Which doors `interfaces-config` asks for on the machine as it is (Kea reference §1.5).

use std::net::{IpAddr, Ipv4Addr};

use dhcp_config::v4::{InterfaceSelection, InterfacesConfig, SocketType};
use netio::interface::Interface;

use super::{Device, Kind, Place};

const ANYWHERE: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// What there shall be.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// In the order in which they are opened.
    pub(super) places: Vec<Place>,
    /// What the configuration names and the machine does not have, one sentence each.
    pub(super) missing: Vec<String>,
    /// The address to answer from, by interface index, ascending.
    pub(super) addresses: Vec<(u32, Ipv4Addr)>,
}

/// The doors of `config` on a machine with the interfaces `machine`, ascending by index.
pub(super) fn plan(config: &InterfacesConfig, machine: &[Interface]) -> Plan {
    let mut plan = Plan { addresses: answer_from(config, machine), ..Plan::default() };
    let is_raw = config.socket_type == SocketType::Raw;
    if config.interfaces.contains(&InterfaceSelection::All) {
        // It covers every other entry, and two sockets would split the datagrams between them.
        if is_raw {
            plan.add(Kind::Packet, None, ANYWHERE);
        }
        plan.add(Kind::Udp, None, ANYWHERE);
        return plan;
    }
    for entry in &config.interfaces {
        if let InterfaceSelection::Named { name, address } = entry {
            match machine.iter().find(|interface| interface.name == *name) {
                Some(interface) => plan.add_named(interface, *address, is_raw),
                None => plan.missing.push(format!("this machine has no interface `{name}`")),
            }
        }
    }
    plan.places.sort_by_key(|place| place.kind == Kind::Udp);
    plan
}

impl Plan {
    fn add(&mut self, kind: Kind, device: Option<Device>, address: IpAddr) {
        let place = Place { kind, device, address };
        if !self.places.contains(&place) {
            self.places.push(place);
        }
    }

    fn add_named(&mut self, interface: &Interface, address: Option<Ipv4Addr>, is_raw: bool) {
        let (name, addresses) = (&interface.name, &interface.addresses);
        let device = Some(Device { name: name.clone(), index: interface.index });
        match address {
            Some(address) if !addresses.contains(&address.into()) => {
                return self.missing.push(format!("interface `{name}` has no address {address}"));
            }
            Some(address) => self.add(Kind::Udp, device.clone(), address.into()),
            None => self.add(Kind::Udp, device.clone(), ANYWHERE),
        }
        // Only Ethernet has broadcasts that packet sockets are for.
        if !is_raw || interface.is_loopback || interface.mac.is_none() {
            return;
        }
        if !interface.is_up {
            self.missing.push(format!("interface `{name}` is down"));
        } else if addresses.iter().any(IpAddr::is_ipv4) {
            self.add(Kind::Packet, device, ANYWHERE);
        } else {
            self.missing.push(format!("interface `{name}` has no IPv4 address"));
        }
    }
}

/// For each interface with an IPv4 address the one that clients shall know us by: the first that
/// the configuration names, else its first.
fn answer_from(config: &InterfacesConfig, machine: &[Interface]) -> Vec<(u32, Ipv4Addr)> {
    let chosen = |interface: &Interface| {
        config.interfaces.iter().find_map(|entry| match entry {
            InterfaceSelection::Named { name, address: Some(address) }
                if *name == interface.name && interface.addresses.contains(&(*address).into()) =>
            {
                Some(*address)
            }
            _ => None,
        })
    };
    let first = |interface: &Interface| {
        interface.addresses.iter().find_map(|address| match address {
            IpAddr::V4(address) => Some(*address),
            IpAddr::V6(_) => None,
        })
    };
    machine
        .iter()
        .filter_map(|interface| {
            let address = chosen(interface).or_else(|| first(interface))?;
            Some((interface.index, address))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, address: Option<Ipv4Addr>) -> InterfaceSelection {
        InterfaceSelection::Named { name: name.into(), address }
    }

    fn config(socket_type: SocketType, interfaces: Vec<InterfaceSelection>) -> InterfacesConfig {
        InterfacesConfig { interfaces, socket_type, ..InterfacesConfig::default() }
    }

    fn interface(name: &str, index: u32, addresses: &[[u8; 4]]) -> Interface {
        Interface {
            name: name.into(),
            index,
            is_up: true,
            is_loopback: name == "lo",
            is_multicast: true,
            mac: Some([2, 0, 0, 0, 0, index as u8]),
            addresses: addresses.iter().map(|&octets| octets.into()).collect(),
        }
    }

    fn machine() -> Vec<Interface> {
        vec![
            interface("lo", 1, &[[127, 0, 0, 1]]),
            interface("eth0", 2, &[[192, 0, 2, 1], [192, 0, 2, 2]]),
            interface("eth1", 5, &[]),
        ]
    }

    /// The plan's places in words.
    fn places(plan: &Plan) -> Vec<String> {
        plan.places.iter().map(ToString::to_string).collect()
    }

    const DIRECT: &str = "eth0 for clients without an address";

    #[test]
    fn names_and_addresses_get_doors_of_both_kinds() {
        let entries = vec![
            named("eth0", Some([192, 0, 2, 2].into())),
            named("eth0", Some([192, 0, 2, 1].into())),
            named("lo", None),
        ];
        let raw = plan(&config(SocketType::Raw, entries.clone()), &machine());
        assert_eq!(places(&raw), [DIRECT, "eth0, 192.0.2.2", "eth0, 192.0.2.1", "lo"]);
        assert_eq!(raw.missing, Vec::<String>::new());
        // The first address that is named, not the interface's first.
        assert_eq!(raw.addresses, [(1, [127, 0, 0, 1].into()), (2, [192, 0, 2, 2].into())]);
        let udp = plan(&config(SocketType::Udp, entries), &machine());
        assert_eq!(places(&udp), ["eth0, 192.0.2.2", "eth0, 192.0.2.1", "lo"]);
    }

    #[test]
    fn everywhere_is_one_door_of_each_kind_whatever_else_is_named() {
        let entries = vec![named("eth9", None), InterfaceSelection::All];
        let raw = plan(&config(SocketType::Raw, entries.clone()), &machine());
        let direct = "all interfaces for clients without an address";
        assert_eq!(places(&raw), [direct, "all interfaces"]);
        assert!(raw.missing.is_empty());
        let udp = plan(&config(SocketType::Udp, entries), &machine());
        assert_eq!(places(&udp), ["all interfaces"]);
        assert!(plan(&config(SocketType::Raw, Vec::new()), &machine()).places.is_empty());
    }

    #[test]
    fn what_is_not_there_yet_is_named_and_waited_for() {
        let entries = vec![
            named("eth7", None),
            named("eth0", Some([10, 0, 0, 1].into())),
            named("eth1", None),
        ];
        let config = config(SocketType::Raw, entries);
        let mut machine = machine();
        let early = plan(&config, &machine);
        assert_eq!(places(&early), ["eth1"]);
        assert_eq!(
            early.missing,
            [
                "this machine has no interface `eth7`",
                "interface `eth0` has no address 10.0.0.1",
                "interface `eth1` has no IPv4 address",
            ]
        );
        machine[2].addresses.push([10, 1, 0, 1].into());
        machine[2].is_up = false;
        assert!(plan(&config, &machine).missing[2].contains("`eth1` is down"));
        machine[2].is_up = true;
        machine.push(interface("eth7", 9, &[[10, 7, 0, 1]]));
        let later = plan(&config, &machine);
        assert_eq!(later.missing.len(), 1);
        assert_eq!(places(&later).len(), 4);
        // The same name is another place when the interface is another one.
        machine[3].index = 10;
        assert_ne!(plan(&config, &machine).places, later.places);
    }

    #[test]
    fn what_is_no_ethernet_gets_no_packet_socket() {
        let mut machine = machine();
        machine[1].mac = None;
        let config = config(SocketType::Raw, vec![named("eth0", None)]);
        assert_eq!(places(&plan(&config, &machine)), ["eth0"]);
    }
}
