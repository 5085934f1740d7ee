//! Messages as frames of an interface, past UDP of the kernel (`AF_XDP`, [`Outbox::of_frames`]): what is
//! asked for by `--interface`, and the way that comes of it. Answers come to the socket as otherwise.

use std::net::{IpAddr, SocketAddr};

use netio::{FrameRoute, NetError, Outbox, Route, UdpSocket, neighbor};

/// The flags.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct FrameArgs {
    /// Send messages as frames of this interface by AF_XDP, bypassing the kernel's UDP, one
    /// transmit queue per thread, never in groups (needs CAP_NET_RAW)
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Option<String>,
    /// With --interface: hardware address of the server, or of the router to it [default: from the
    /// kernel's ARP table]
    #[arg(long, value_name = "MAC", value_parser = neighbor::parse_mac, requires = "interface")]
    pub(crate) server_mac: Option<[u8; 6]>,
}

impl FrameArgs {
    /// The frames that are asked for.
    pub(crate) fn frames(&self) -> Option<Frames> {
        let interface = self.interface.clone()?;
        Some(Frames { interface, server_mac: self.server_mac })
    }
}

/// Frames instead of datagrams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frames {
    /// The interface that they leave by.
    pub interface: String,
    /// Hardware address of the server, or of the router on the way there; `None` for the one that the
    /// kernel knows.
    pub server_mac: Option<[u8; 6]>,
}

impl Frames {
    /// Why they cannot go to `server`, in words.
    pub(crate) fn problem(server: SocketAddr) -> Option<String> {
        let is_one = match server.ip() {
            IpAddr::V4(ip) => !ip.is_multicast() && !ip.is_broadcast(),
            IpAddr::V6(ip) => !ip.is_multicast(),
        };
        (!is_one).then(|| format!("--interface: frames go to one server, which {server} is not"))
    }

    /// An outbox on `route` by queue `queue`, whose messages of up to `message_bytes` leave from where
    /// `socket` awaits the answers. `None` when no hardware address is known ([`neighbor::unknown`]).
    ///
    /// # Errors
    ///
    /// As [`FrameRoute::to`] and [`Outbox::of_frames`].
    pub(crate) fn outbox(
        &self,
        route: Route,
        socket: &UdpSocket,
        queue: u32,
        message_bytes: usize,
    ) -> Result<Option<Outbox>, NetError> {
        let local = socket
            .local_address()
            .map_err(NetError::on("ask for the address of", "the generator's socket"))?;
        let bound = Some(local.ip()).filter(|ip| !ip.is_unspecified());
        let source = bound.or_else(|| route.sources.first().map(|source| source.address));
        let (mac, name) = (self.server_mac, &self.interface);
        let Some(way) = FrameRoute::to(route.destination, name, mac, source)? else {
            return Ok(None);
        };
        let mut outbox = Outbox::of_frames(route, &FrameRoute { queue, ..way }, message_bytes)?;
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
