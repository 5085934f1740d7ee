//! The command line of `godwit load dhcp4`.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::process::ExitCode;

use super::answer::is_discover;
use super::{Links, Target};
use crate::args::RunArgs;

/// The port of servers and relays.
const SERVER_PORT: u16 = 67;

/// Offer DHCPv4 exchanges to a server on an open-loop schedule, playing the relay
/// agent of new clients, and account for every exchange.
///
/// Exit codes: 0 the run is done; 1 the environment failed; 2 bad arguments; 3 more exchanges were
/// not completed on time than --max-loss allows, nothing answered at all, or an address was given
/// to several clients; 130 interrupted (with a valid record).
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "dhcp4")]
pub struct Args {
    /// Where requests go; port 67 unless given
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = parse_address)]
    server: SocketAddrV4,
    /// Own address, which is also the relay address (giaddr); port 67 unless given. Thread t uses
    /// the address t higher
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = parse_address)]
    relay: SocketAddrV4,
    /// A second server, which gets the requests of every other thread
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = parse_address)]
    second_server: Option<SocketAddrV4>,
    /// An address on the first of the links that clients are on, which the relay names in its
    /// option 82 (RFC 3527) [default: clients are on the relay's own link]
    #[arg(long, value_name = "ADDR")]
    link_selection: Option<Ipv4Addr>,
    /// Links that clients are on in turn, networks of 256 addresses
    #[arg(long, value_name = "N", default_value_t = 1, requires = "link_selection")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65_536))]
    links: u32,
    /// From one of those links to the next, in networks of 256 addresses
    #[arg(long, value_name = "N", default_value_t = 1, requires = "link_selection")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65_536))]
    link_step: u32,
    /// Clients give their leases back at once, so that as many addresses are free as before;
    /// whether an address is given twice is then not checked, and --leases lists none
    #[arg(long)]
    release: bool,
    /// Clients renew their leases at once: an exchange has two messages more, and is complete with the
    /// ACK of the renewal
    #[arg(long, conflicts_with = "release")]
    renew: bool,
    #[command(flatten)]
    run: RunArgs,
}

fn parse_address(text: &str) -> Result<SocketAddrV4, String> {
    match netio::resolve::endpoint(text, Some(SERVER_PORT), |ip| ip.is_ipv4())? {
        SocketAddr::V4(found) => Ok(found),
        SocketAddr::V6(_) => Err(format!("{text}: not an address of IPv4")),
    }
}

impl Args {
    /// Does the run and prints what came of it.
    #[must_use]
    pub fn run(&self) -> ExitCode {
        let (count, step) = (self.links, self.link_step);
        let links = self.link_selection.map(|first| Links { first, count, step });
        let target = Target {
            second: self.second_server,
            links,
            releases: self.release,
            renews: self.renew,
            ..Target::new(self.server, self.relay)
        };
        self.run.run(target, (SERVER_PORT, is_discover))
    }
}
