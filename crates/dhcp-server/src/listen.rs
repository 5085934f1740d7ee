//! Which sockets the configuration asks for (Kea reference §1.5), and opening them for each shard.

use std::net::Ipv4Addr;
use std::path::Path;

use dhcp_config::v4::{InterfaceSelection, InterfacesConfig};
use netio::UdpSocket;
use netio::udp::UdpOptions;

use crate::ServerError;

/// Kernel memory for waiting messages: at 768 octets each 10,000 messages, 100 ms at 100,000/s.
const RECEIVE_BUFFER_BYTES: usize = 8 << 20;
/// Kernel memory for replies on their way out.
const SEND_BUFFER_BYTES: usize = 4 << 20;

/// One place to listen at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Door {
    /// `None`: all interfaces.
    pub(crate) device: Option<String>,
    /// Unspecified: all addresses.
    pub(crate) address: Ipv4Addr,
}

/// The doors of `interfaces`; problems name the entry.
pub(crate) fn doors(config: &InterfacesConfig) -> Result<Vec<Door>, ServerError> {
    let mut doors = Vec::new();
    for entry in &config.interfaces {
        let door = door(entry)?;
        if !doors.contains(&door) {
            doors.push(door);
        }
    }
    if doors.iter().any(|door| door.device.is_none() && door.address.is_unspecified()) {
        // `*` covers every other entry, and two sockets would split the datagrams between them.
        doors.retain(|door| door.device.is_none() && door.address.is_unspecified());
    }
    Ok(doors)
}

fn door(entry: &InterfaceSelection) -> Result<Door, ServerError> {
    let (name, address) = match entry {
        InterfaceSelection::All => {
            return Ok(Door { device: None, address: Ipv4Addr::UNSPECIFIED });
        }
        InterfaceSelection::Named { name, address } => (name, *address),
    };
    if !Path::new("/sys/class/net").join(name).exists() {
        return Err(ServerError::NoInterface(name.clone()));
    }
    let address = address.unwrap_or(Ipv4Addr::UNSPECIFIED);
    Ok(Door { device: Some(name.clone()), address })
}

/// Octets of a DHCPv4 message in front of the last four of an Ethernet `chaddr`.
const CLIENT_OFFSET: u32 = 30;

/// Spreads the datagrams of a port over the shards' sockets by hardware address.
pub(crate) fn steer_by_client(socket: &UdpSocket, shards: u16) -> Result<(), ServerError> {
    netio::steer::by_payload(socket, CLIENT_OFFSET, u32::from(shards))
        .map_err(|cause| ServerError::System { tried: "steer clients to shards", cause })
}

/// Opens one socket per door for one of `shards` shards.
pub(crate) fn open(doors: &[Door], port: u16, shards: u16) -> Result<Vec<UdpSocket>, ServerError> {
    doors.iter().map(|door| open_one(door, port, shards)).collect()
}

fn open_one(door: &Door, port: u16, shards: u16) -> Result<UdpSocket, ServerError> {
    let mut options = UdpOptions::at((door.address, port));
    options.device.clone_from(&door.device);
    options.reuse_port = shards > 1;
    options.reuse_address = false;
    options.broadcast = true;
    options.packet_info = true;
    options.receive_buffer_bytes = Some(RECEIVE_BUFFER_BYTES);
    options.send_buffer_bytes = Some(SEND_BUFFER_BYTES);
    UdpSocket::open(&options).map_err(ServerError::Socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_name_interface_and_address() {
        let named = |name: &str, address| InterfaceSelection::Named { name: name.into(), address };
        let config = |interfaces| InterfacesConfig { interfaces, ..InterfacesConfig::default() };
        let everywhere = Door { device: None, address: Ipv4Addr::UNSPECIFIED };
        let on_loopback = Door { device: Some("lo".into()), address: Ipv4Addr::LOCALHOST };
        let local = named("lo", Some(Ipv4Addr::LOCALHOST));
        let twice = config(vec![local.clone(), local.clone()]);
        assert_eq!(doors(&twice).unwrap(), [on_loopback]);
        assert_eq!(doors(&config(vec![local, InterfaceSelection::All])).unwrap(), [everywhere]);
        let missing = doors(&config(vec![named("no-such-device0", None)])).unwrap_err();
        assert!(missing.to_string().contains("no-such-device0"));
        assert!(doors(&config(Vec::new())).unwrap().is_empty());
    }
}
