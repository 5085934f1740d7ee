//! Command line of `godwit load dhcp4`.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::process::ExitCode;

use super::answer::is_discover;
use super::{ClientLinks, Dhcp4LoadTarget};
use crate::args::DhcpRunArgs;

/// UDP port of DHCPv4 servers and relays.
const SERVER_PORT: u16 = 67;

/// Send DHCPv4 exchanges at a fixed rate, as the relay agent of new clients, and account for each.
///
/// Exit codes: 0 done; 1 the environment failed; 2 bad arguments; 3 more exchanges than --max-loss
/// allows were not completed on time, nothing answered at all, or several clients got one address;
/// 130 interrupted (with a valid record).
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "dhcp4")]
pub struct Dhcp4LoadArgs {
    /// Address of the DHCPv4 server [default port: 67]
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = parse_address)]
    server: SocketAddrV4,
    /// Local address, also the relay address (giaddr) [default port: 67]. Thread t uses the address
    /// plus t
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = parse_address)]
    relay: SocketAddrV4,
    /// Second DHCPv4 server, which gets the requests of every other thread
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = parse_address)]
    second_server: Option<SocketAddrV4>,
    /// Link of the clients, sent in the link selection suboption of option 82 (RFC 3527): an
    /// address on the first link [default: the relay's own link]
    #[arg(long, value_name = "ADDR")]
    link_selection: Option<Ipv4Addr>,
    /// Number of links of the clients, which use them in turn; each link is a network of 256
    /// addresses
    #[arg(long, value_name = "N", default_value_t = 1, requires = "link_selection")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65_536))]
    links: u32,
    /// Distance between the subnets of consecutive client links, in /24 networks: 1 = adjacent
    #[arg(long, value_name = "N", default_value_t = 1, requires = "link_selection")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65_536))]
    link_step: u32,
    /// Release each lease at once, so that the server's pool stays as free as before. Duplicate
    /// addresses are then not detected, and --leases lists none
    #[arg(long)]
    release: bool,
    /// Renew each lease at once: an exchange has two more messages, and ends with the ACK of the
    /// renewal
    #[arg(long, conflicts_with = "release")]
    renew: bool,
    #[command(flatten)]
    run: DhcpRunArgs,
}

fn parse_address(text: &str) -> Result<SocketAddrV4, String> {
    match netio::resolve::endpoint(text, Some(SERVER_PORT), |ip| ip.is_ipv4())? {
        SocketAddr::V4(address) => Ok(address),
        SocketAddr::V6(_) => Err(format!("{text}: not an IPv4 address")),
    }
}

impl Dhcp4LoadArgs {
    /// Runs the DHCPv4 load, prints its result and returns the exit code.
    #[must_use]
    pub fn run(&self) -> ExitCode {
        let (count, step) = (self.links, self.link_step);
        let links = self.link_selection.map(|first| ClientLinks { first, count, step });
        let target = Dhcp4LoadTarget {
            second: self.second_server,
            links,
            releases: self.release,
            renews: self.renew,
            ..Dhcp4LoadTarget::new(self.server, self.relay)
        };
        self.run.run(target, SERVER_PORT, is_discover)
    }
}
