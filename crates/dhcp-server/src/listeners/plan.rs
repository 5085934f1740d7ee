//! Plan of the listeners that `interfaces-config` requires on the machine as it is (section 1.5 of
//! the Kea reference).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netio::interface::Interface;

use super::settings::{ListenerMode, ListenerSettings};
use super::{InterfaceIdentity, ListenerEndpoint, ListenerSocketKind};

const ANYWHERE: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
/// Multicast groups that a DHCPv6 server joins: All_DHCP_Relay_Agents_and_Servers and
/// All_DHCP_Servers (RFC 9915 §7.1).
const GROUPS: [IpAddr; 2] = [
    IpAddr::V6(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2)),
    IpAddr::V6(Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 1, 3)),
];

/// Plan of the listeners that are to be open.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ListenerPlan {
    /// Endpoints of the listeners, in the order in which they are opened.
    pub(super) endpoints: Vec<ListenerEndpoint>,
    /// Interfaces and addresses that the configuration names and the machine lacks, one sentence
    /// each.
    pub(super) missing: Vec<String>,
    /// Addresses that the server answers from, by interface index, ascending.
    pub(super) addresses: Vec<(u32, Ipv4Addr)>,
    /// Addresses (IPv4) of the whole machine, in the order of its interfaces.
    pub(super) own: Vec<Ipv4Addr>,
    /// True if replies to relay agents leave by the interface that the routing table chooses (Kea's
    /// `outbound-interface` `use-routing`).
    pub(super) is_routed: bool,
}

/// Returns the plan of listeners by `settings` on a machine with the interfaces `machine`,
/// ascending by index.
pub(super) fn plan(settings: &ListenerSettings, machine: &[Interface]) -> ListenerPlan {
    let mut plan = ListenerPlan {
        addresses: answer_from(settings, machine),
        own: own_addresses(machine),
        is_routed: settings.mode == ListenerMode::Routed4,
        ..ListenerPlan::default()
    };
    if settings.everywhere {
        match settings.mode {
            // The entry `*` covers every other entry, and two sockets would split the datagrams
            // between them.
            ListenerMode::Raw4 | ListenerMode::Udp4 | ListenerMode::Routed4 => {
                if settings.mode == ListenerMode::Raw4 {
                    plan.add(ListenerSocketKind::Packet, None, ANYWHERE);
                }
                plan.add(ListenerSocketKind::Udp, None, ANYWHERE);
                return plan;
            }
            ListenerMode::Udp6 => {
                let is_linked = |interface: &&Interface| {
                    interface.is_up && interface.is_multicast && interface.link_local().is_some()
                };
                machine.iter().filter(is_linked).for_each(|interface| plan.add_link(interface));
            }
        }
    }
    for (name, address) in &settings.entries {
        match machine.iter().find(|interface| interface.name == *name) {
            Some(interface) if settings.mode == ListenerMode::Udp6 => {
                plan.add_named_v6(interface, *address);
            }
            Some(interface) if settings.mode == ListenerMode::Routed4 => {
                plan.add_addresses(interface, *address);
            }
            Some(interface) => {
                plan.add_named(interface, *address, settings.mode == ListenerMode::Raw4);
            }
            None => plan.missing.push(format!("this machine has no interface `{name}`")),
        }
    }
    plan.endpoints.sort_by_key(|endpoint| endpoint.kind != ListenerSocketKind::Packet);
    plan
}

impl ListenerPlan {
    fn add(
        &mut self,
        kind: ListenerSocketKind,
        device: Option<InterfaceIdentity>,
        address: IpAddr,
    ) {
        let endpoint = ListenerEndpoint { kind, device, address };
        if !self.endpoints.contains(&endpoint) {
            self.endpoints.push(endpoint);
        }
    }

    /// Adds the listeners of the interface `interface`, whose link has an IPv6 address, to the
    /// plan.
    fn add_link(&mut self, interface: &Interface) {
        let device = InterfaceIdentity { name: interface.name.clone(), index: interface.index };
        if let Some(link_local) = interface.link_local() {
            self.add(ListenerSocketKind::Udp, Some(device.clone()), link_local.into());
        }
        for group in GROUPS {
            self.add(ListenerSocketKind::Group, Some(device.clone()), group);
        }
    }

    /// Adds the listeners of an interface to a DHCPv6 server's plan. A listener at a named address
    /// is added to the listeners of the link; it does not replace them.
    fn add_named_v6(&mut self, interface: &Interface, address: Option<IpAddr>) {
        let (name, addresses) = (&interface.name, &interface.addresses);
        if let Some(address) = address {
            if addresses.contains(&address) {
                let device = InterfaceIdentity { name: name.clone(), index: interface.index };
                self.add(ListenerSocketKind::Udp, Some(device), address);
            } else {
                self.missing.push(format!("interface `{name}` has no address {address}"));
            }
        }
        if !interface.is_up {
            self.missing.push(format!("interface `{name}` is down"));
        } else if interface.link_local().is_some() {
            self.add_link(interface);
        } else if address.is_none() {
            self.missing.push(format!("interface `{name}` has no link-local address"));
        }
    }

    /// Adds listeners without an interface to the plan: a socket that is bound to an interface
    /// sends through that interface only.
    fn add_addresses(&mut self, interface: &Interface, address: Option<IpAddr>) {
        let (name, addresses) = (&interface.name, &interface.addresses);
        match address {
            Some(address) if !addresses.contains(&address) => {
                self.missing.push(format!("interface `{name}` has no address {address}"));
            }
            Some(address) => self.add(ListenerSocketKind::Udp, None, address),
            None => {
                let of_family = || addresses.iter().filter(|address| address.is_ipv4());
                of_family().for_each(|&address| self.add(ListenerSocketKind::Udp, None, address));
                if of_family().next().is_none() {
                    self.missing.push(format!("interface `{name}` has no IPv4 address"));
                }
            }
        }
    }

    fn add_named(&mut self, interface: &Interface, address: Option<IpAddr>, is_raw: bool) {
        let (name, addresses) = (&interface.name, &interface.addresses);
        let device = Some(InterfaceIdentity { name: name.clone(), index: interface.index });
        match address {
            Some(address) if !addresses.contains(&address) => {
                return self.missing.push(format!("interface `{name}` has no address {address}"));
            }
            Some(address) => self.add(ListenerSocketKind::Udp, device.clone(), address),
            // As in Kea: replies would have no address of ours as their source and server
            // identifier.
            None if !addresses.iter().any(IpAddr::is_ipv4) => {
                return self.missing.push(format!("interface `{name}` has no IPv4 address"));
            }
            None => self.add(ListenerSocketKind::Udp, device.clone(), ANYWHERE),
        }
        // Only Ethernet has broadcasts that packet sockets are for.
        if !is_raw || interface.is_loopback || interface.mac.is_none() {
            return;
        }
        if interface.is_up {
            self.add(ListenerSocketKind::Packet, device, ANYWHERE);
        } else {
            self.missing.push(format!("interface `{name}` is down"));
        }
    }
}

/// Returns all IPv4 addresses of `machine` to which other stations can send.
fn own_addresses(machine: &[Interface]) -> Vec<Ipv4Addr> {
    let v4 = |address: &IpAddr| match address {
        IpAddr::V4(address) => Some(*address).filter(|address| !address.is_loopback()),
        IpAddr::V6(_) => None,
    };
    machine.iter().flat_map(|interface| &interface.addresses).filter_map(v4).collect()
}

impl ListenerPlan {
    /// Returns the addresses to which stations on the link of the packet listener `endpoint` may
    /// send messages: the addresses of the UDP listeners of the same device.
    pub(super) fn udp_addresses(&self, endpoint: &ListenerEndpoint) -> Vec<Ipv4Addr> {
        let is_same_device = |other: &&ListenerEndpoint| {
            other.kind == ListenerSocketKind::Udp && other.device == endpoint.device
        };
        let mut addresses: Vec<Ipv4Addr> = Vec::new();
        for listener in self.endpoints.iter().filter(is_same_device) {
            match listener.address {
                IpAddr::V4(Ipv4Addr::UNSPECIFIED) => addresses.extend(&self.own),
                IpAddr::V4(address) => addresses.push(address),
                IpAddr::V6(_) => {}
            }
        }
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }
}

/// Returns for each interface with an IPv4 address the address by which clients know the server:
/// the first that the configuration names, else the interface's first.
fn answer_from(settings: &ListenerSettings, machine: &[Interface]) -> Vec<(u32, Ipv4Addr)> {
    let chosen = |interface: &Interface| {
        settings.entries.iter().find_map(|(name, address)| match address {
            Some(IpAddr::V4(address))
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

    use dhcp_config::{
        InterfaceSelection, InterfacesConfig, OutboundInterface, SocketTerms4, SocketType,
    };

    fn entry(name: &str, address: Option<Ipv4Addr>) -> InterfaceSelection {
        InterfaceSelection::Named { name: name.into(), address }
    }

    fn config(socket_type: SocketType, interfaces: Vec<InterfaceSelection>) -> ListenerSettings {
        ListenerSettings::v4(&InterfacesConfig {
            interfaces,
            own: SocketTerms4 { socket_type, ..SocketTerms4::default() },
            ..InterfacesConfig::default()
        })
    }

    fn interface(name: &str, index: u32, addresses: &[[u8; 4]]) -> Interface {
        Interface {
            name: name.into(),
            index,
            is_up: true,
            is_loopback: name == "lo",
            is_multicast: true,
            mac: Some([2, 0, 0, 0, 0, index as u8]),
            is_set_up: true,
            link_layer: None,
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

    /// Returns the texts of the plan's endpoints.
    fn endpoint_texts(plan: &ListenerPlan) -> Vec<String> {
        plan.endpoints.iter().map(ToString::to_string).collect()
    }

    const DIRECT: &str = "eth0 for clients on the link";

    #[test]
    fn names_and_addresses_get_listeners_of_both_kinds() {
        let entries = vec![
            entry("eth0", Some([192, 0, 2, 2].into())),
            entry("eth0", Some([192, 0, 2, 1].into())),
            entry("lo", None),
        ];
        let raw = plan(&config(SocketType::Raw, entries.clone()), &machine());
        assert_eq!(endpoint_texts(&raw), [DIRECT, "eth0, 192.0.2.2", "eth0, 192.0.2.1", "lo"]);
        assert_eq!(raw.missing, Vec::<String>::new());
        // The first address that is named, not the interface's first.
        assert_eq!(raw.addresses, [(1, [127, 0, 0, 1].into()), (2, [192, 0, 2, 2].into())]);
        let udp = plan(&config(SocketType::Udp, entries), &machine());
        assert_eq!(endpoint_texts(&udp), ["eth0, 192.0.2.2", "eth0, 192.0.2.1", "lo"]);
    }

    #[test]
    fn routed_answers_leave_through_listeners_that_belong_to_no_interface() {
        let routed = |entries, socket_type| {
            let config = InterfacesConfig {
                interfaces: entries,
                own: SocketTerms4 { socket_type, outbound: OutboundInterface::UseRouting },
                ..InterfacesConfig::default()
            };
            plan(&ListenerSettings::v4(&config), &machine())
        };
        let entries = vec![
            entry("eth0", Some([192, 0, 2, 2].into())),
            entry("eth0", None),
            entry("lo", None),
            entry("eth1", None),
        ];
        let udp = routed(entries.clone(), SocketType::Udp);
        let at = |address: &str| format!("all interfaces, {address}");
        assert_eq!(endpoint_texts(&udp), ["192.0.2.2", "192.0.2.1", "127.0.0.1"].map(at));
        assert_eq!(udp.missing, ["interface `eth1` has no IPv4 address"]);
        assert!(udp.is_routed && routed(vec![InterfaceSelection::All], SocketType::Udp).is_routed);
        // As in Kea, the setting is for UDP sockets only.
        let raw = routed(entries, SocketType::Raw);
        assert!(!raw.is_routed);
        assert_eq!(endpoint_texts(&raw), [DIRECT, "eth0, 192.0.2.2", "eth0", "lo"]);
    }

    #[test]
    fn everywhere_is_one_listener_of_each_kind_whatever_else_is_named() {
        let entries = vec![entry("eth9", None), InterfaceSelection::All];
        let raw = plan(&config(SocketType::Raw, entries.clone()), &machine());
        let direct = "all interfaces for clients on the link";
        assert_eq!(endpoint_texts(&raw), [direct, "all interfaces"]);
        assert!(raw.missing.is_empty());
        let udp = plan(&config(SocketType::Udp, entries), &machine());
        assert_eq!(endpoint_texts(&udp), ["all interfaces"]);
        assert!(plan(&config(SocketType::Raw, Vec::new()), &machine()).endpoints.is_empty());
    }

    #[test]
    fn what_is_not_there_yet_is_named_and_waited_for() {
        let entries = vec![
            entry("eth7", None),
            entry("eth0", Some([10, 0, 0, 1].into())),
            entry("eth1", None),
        ];
        let config = config(SocketType::Raw, entries);
        let mut machine = machine();
        let early = plan(&config, &machine);
        assert_eq!(endpoint_texts(&early), [""; 0]);
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
        assert_eq!(endpoint_texts(&later).len(), 4);
        // The same name is another endpoint when the interface is another one.
        machine[3].index = 10;
        assert_ne!(plan(&config, &machine).endpoints, later.endpoints);
    }

    #[test]
    fn what_is_no_ethernet_gets_no_packet_socket() {
        let mut machine = machine();
        machine[1].mac = None;
        let config = config(SocketType::Raw, vec![entry("eth0", None)]);
        assert_eq!(endpoint_texts(&plan(&config, &machine)), ["eth0"]);
    }

    #[test]
    fn an_ipv6_link_has_its_own_address_and_the_groups() {
        let mut machine = machine();
        let link_local: IpAddr = "fe80::2".parse().unwrap();
        let global: IpAddr = "2001:db8::2".parse().unwrap();
        machine[1].addresses.extend([global, link_local]);
        let entry = |address: Option<&str>| InterfaceSelection::Named {
            name: "eth0".into(),
            address: address.map(|address| address.parse().unwrap()),
        };
        let of = |interfaces| {
            let config = InterfacesConfig { interfaces, ..InterfacesConfig::default() };
            plan(&ListenerSettings::v6(&config), &machine)
        };
        let link = ["eth0, fe80::2", "eth0, ff02::1:2", "eth0, ff05::1:3"];
        assert_eq!(endpoint_texts(&of(vec![entry(None)])), link);
        // Loopback has no link-local address, eth1 no address at all.
        assert_eq!(endpoint_texts(&of(vec![InterfaceSelection::All])), link);
        let with_address = endpoint_texts(&of(vec![entry(Some("2001:db8::2"))]));
        assert_eq!(with_address, [&["eth0, 2001:db8::2"], &link[..]].concat());
        let absent = of(vec![entry(Some("2001:db8::3"))]);
        assert_eq!(endpoint_texts(&absent), link);
        assert_eq!(absent.missing, ["interface `eth0` has no address 2001:db8::3"]);
        let bare = InterfaceSelection::Named { name: "eth1".into(), address: None };
        assert_eq!(of(vec![bare]).missing, ["interface `eth1` has no link-local address"]);
    }
}
