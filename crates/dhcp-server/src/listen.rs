//! Which sockets the configuration asks for (Kea reference §1.5), and opening them for each shard.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;

use dhcp_config::v4::InterfacesConfig;
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

fn door(entry: &str) -> Result<Door, ServerError> {
    if entry == "*" {
        return Ok(Door { device: None, address: Ipv4Addr::UNSPECIFIED });
    }
    let (device, address) = entry.split_once('/').unwrap_or((entry, "0.0.0.0"));
    let address = address.parse().map_err(|_| ServerError::Interface {
        entry: entry.to_owned(),
        reason: format!("`{address}` is not an IPv4 address"),
    })?;
    if !Path::new("/sys/class/net").join(device).exists() {
        return Err(ServerError::Interface {
            entry: entry.to_owned(),
            reason: format!("there is no interface `{device}` on this machine"),
        });
    }
    Ok(Door { device: Some(device.to_owned()), address })
}

/// Opens one socket per door for one of `shards` shards.
pub(crate) fn open(doors: &[Door], port: u16, shards: u16) -> Result<Vec<UdpSocket>, ServerError> {
    doors.iter().map(|door| open_one(door, port, shards)).collect()
}

fn open_one(door: &Door, port: u16, shards: u16) -> Result<UdpSocket, ServerError> {
    let mut options = UdpOptions::at(SocketAddrV4::new(door.address, port));
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
        let all = door("*").unwrap();
        assert_eq!(all, Door { device: None, address: Ipv4Addr::UNSPECIFIED });
        let one = door("lo/127.0.0.1").unwrap();
        assert_eq!(one, Door { device: Some("lo".into()), address: Ipv4Addr::LOCALHOST });
        assert!(door("lo/127.0.0").unwrap_err().to_string().contains("not an IPv4 address"));
        assert!(door("no-such-device0").unwrap_err().to_string().contains("no interface"));
    }
}
