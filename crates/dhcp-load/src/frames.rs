//! DHCP messages as Ethernet frames of an interface (`AF_XDP`, [`MessageOutbox::for_frames`]),
//! which bypass the kernel's UDP: the flags around `--interface`, and the outbox that they select.
//! The server's replies come to the UDP socket as they do without frames.

use std::net::{IpAddr, SocketAddr};

use netio::{FrameRoute, MessageOutbox, MessageRoute, NetError, UdpSocket, neighbor};

/// Flags for sending messages as Ethernet frames.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct FrameArgs {
    /// Send messages as frames of this interface by AF_XDP, bypassing the kernel's UDP: one
    /// transmit queue per thread, each message in a frame of its own (needs CAP_NET_RAW)
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Option<String>,
    /// With --interface: hardware address of the server, or of the router to it [default: from the
    /// kernel's ARP table]
    #[arg(long, value_name = "MAC", value_parser = neighbor::parse_mac, requires = "interface")]
    pub(crate) server_mac: Option<[u8; 6]>,
}

impl FrameArgs {
    /// Returns the frame settings that the flags select; `None` without `--interface`.
    pub(crate) fn frames(&self) -> Option<Frames> {
        let interface = self.interface.clone()?;
        Some(Frames { interface, server_mac: self.server_mac })
    }
}

/// Settings for sending messages as Ethernet frames instead of UDP datagrams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frames {
    /// Name of the interface that sends the frames.
    pub interface: String,
    /// Hardware address of the server, or of the router to it; `None` for the address that the
    /// kernel knows.
    pub server_mac: Option<[u8; 6]>,
}

impl Frames {
    /// Returns the reason why frames cannot go to `server`, as a text; `None` when they can.
    pub(crate) fn problem(server: SocketAddr) -> Option<String> {
        let is_one = match server.ip() {
            IpAddr::V4(ip) => !ip.is_multicast() && !ip.is_broadcast(),
            IpAddr::V6(ip) => !ip.is_multicast(),
        };
        (!is_one).then(|| {
            format!(
                "--interface: frames go to one server, and {server} is not the \
                                   address of one"
            )
        })
    }

    /// Creates an outbox that sends messages of up to `message_bytes` bytes as frames on `route`,
    /// by queue `queue` of the interface. The messages leave from the address at which `socket`
    /// waits for replies. Returns `None` when no hardware address is known ([`neighbor::unknown`]).
    ///
    /// # Errors
    ///
    /// Fails as [`FrameRoute::to`] and [`MessageOutbox::for_frames`] do.
    pub(crate) fn outbox(
        &self,
        route: MessageRoute,
        socket: &UdpSocket,
        queue: u32,
        message_bytes: usize,
    ) -> Result<Option<MessageOutbox>, NetError> {
        let local = socket
            .local_address()
            .map_err(NetError::on("get the address of", "the generator's socket"))?;
        let bound = Some(local.ip()).filter(|ip| !ip.is_unspecified());
        let source = bound.or_else(|| route.sources.first().map(|source| source.address));
        let (mac, name) = (self.server_mac, &self.interface);
        let Some(frame_route) = FrameRoute::to(route.destination, name, mac, source)? else {
            return Ok(None);
        };
        let mut outbox =
            MessageOutbox::for_frames(route, &FrameRoute { queue, ..frame_route }, message_bytes)?;
        outbox.leave_from(local);
        Ok(Some(outbox))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_go_to_one_server() {
        for (server, is_one) in [
            ("10.0.0.1:67", true),
            ("255.255.255.255:67", false),
            ("224.0.0.1:67", false),
            ("[2001:db8::1]:547", true),
            ("[ff02::1:2]:547", false),
        ] {
            let problem = Frames::problem(server.parse().unwrap());
            assert_eq!(problem.is_none(), is_one, "{server}");
        }
    }
}
