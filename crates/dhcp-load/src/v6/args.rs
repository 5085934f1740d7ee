//! Command line of `godwit load dhcp6`.

use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};
use std::process::ExitCode;

use super::answer::is_solicit;
use super::{Access, Dhcp6LoadTarget, RequestedAssociations};
use crate::args::DhcpRunArgs;

/// UDP port of DHCPv6 servers and relays; clients have the port one lower (RFC 9915 §7.2).
const SERVER_PORT: u16 = 547;
const CLIENT_PORT: u16 = 546;
/// Multicast address All_DHCP_Relay_Agents_and_Servers (RFC 9915 §7.1).
const SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);

/// Kinds of leases that DHCPv6 clients request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LeaseKindsArg {
    /// Request addresses
    Na,
    /// Request delegated prefixes
    Pd,
    /// Request both, addresses and delegated prefixes, in one message
    #[value(name = "na+pd")]
    NaPd,
}

/// Send DHCPv6 exchanges at a fixed rate, as relay agents of new clients or as the clients, and
/// account for each.
///
/// Exit codes: 0 done; 1 the environment failed; 2 bad arguments; 3 more exchanges than --max-loss
/// allows were not completed on time, nothing answered at all, or several clients got one address;
/// 130 interrupted (with a valid record).
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "dhcp6")]
#[command(group = clap::ArgGroup::new("access").required(true).args(["relay", "direct"]))]
pub struct Dhcp6LoadArgs {
    /// Address of the DHCPv6 server [default port: 547; default with --direct: ff02::1:2]
    #[arg(long, value_name = "ADDR|[ADDR]:PORT", value_parser = parse_server)]
    #[arg(required_unless_present = "direct")]
    server: Option<SocketAddrV6>,
    /// Local addresses of relay agents [default port: 547]. With one address, thread t uses the
    /// address plus t; otherwise give one per thread, or any number for one thread
    #[arg(long, value_name = "ADDR|[ADDR]:PORT", value_parser = parse_server)]
    #[arg(value_delimiter = ',')]
    relay: Vec<SocketAddrV6>,
    /// Link addresses in relayed messages, which clients use in turn [default: the relay's]
    #[arg(long, value_name = "ADDR", value_delimiter = ',', conflicts_with = "direct")]
    link_address: Vec<Ipv6Addr>,
    /// Number of links from each --link-address on, each a /64 network
    #[arg(long, value_name = "N", default_value_t = 1, requires = "link_address")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65_536))]
    links: u32,
    /// Distance between two consecutive links, in /64 networks: 1 = adjacent
    #[arg(long, value_name = "N", default_value_t = 1, requires = "link_address")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65_536))]
    link_step: u32,
    /// Act as clients on the link of this interface, without a relay agent
    #[arg(long, value_name = "INTERFACE", conflicts_with = "interface")]
    direct: Option<String>,
    /// UDP port of the clients with --direct
    #[arg(long, value_name = "PORT", default_value_t = CLIENT_PORT)]
    client_port: u16,
    /// Kinds of leases that clients request
    #[arg(long, value_enum, default_value_t = LeaseKindsArg::Na)]
    ia: LeaseKindsArg,
    /// Number of identity associations of each type per message
    #[arg(long, value_name = "N", default_value_t = 1)]
    ias: u8,
    /// Request leases without REQUEST (Rapid Commit); if the server does not support it, REQUEST
    /// follows as usual
    #[arg(long)]
    rapid_commit: bool,
    /// Renew each lease at once: an exchange has two more messages, and ends with the REPLY to the
    /// RENEW
    #[arg(long)]
    renew: bool,
    #[command(flatten)]
    run: DhcpRunArgs,
}

fn parse_server(text: &str) -> Result<SocketAddrV6, String> {
    match netio::resolve::endpoint(text, Some(SERVER_PORT), |ip| ip.is_ipv6())? {
        SocketAddr::V6(address) => Ok(address),
        SocketAddr::V4(_) => Err(format!("{text}: not an IPv6 address")),
    }
}

impl Dhcp6LoadArgs {
    /// Returns the link addresses of `--link-address`, each followed by those that `--links`
    /// derives from it.
    fn all_links(&self) -> Vec<Ipv6Addr> {
        let further = |link: u32| (u128::from(link) * u128::from(self.link_step)) << 64;
        let of = |first: &Ipv6Addr, link| {
            Ipv6Addr::from_bits(first.to_bits().wrapping_add(further(link)))
        };
        let from = |first| (0..self.links).map(move |link| of(first, link));
        self.link_address.iter().flat_map(from).collect()
    }

    fn target(&self) -> Dhcp6LoadTarget {
        let access = match &self.direct {
            Some(interface) => {
                Access::Direct { interface: interface.clone(), port: self.client_port }
            }
            None => Access::Relayed { relays: self.relay.clone(), links: self.all_links() },
        };
        Dhcp6LoadTarget {
            server: self.server.unwrap_or(SocketAddrV6::new(SERVERS, SERVER_PORT, 0, 0)),
            access,
            requested: RequestedAssociations {
                na: self.ia != LeaseKindsArg::Pd,
                pd: self.ia != LeaseKindsArg::Na,
                ias: self.ias,
                rapid_commit: self.rapid_commit,
            },
            renews: self.renew,
        }
    }

    /// Runs the DHCPv6 load, prints its result and returns the exit code.
    #[must_use]
    pub fn run(&self) -> ExitCode {
        self.run.run(self.target(), SERVER_PORT, is_solicit)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn target(line: &str) -> Result<Dhcp6LoadTarget, clap::Error> {
        let words = std::iter::once("dhcp6").chain(line.split_whitespace());
        Dhcp6LoadArgs::try_parse_from(words).map(|args| args.target())
    }

    #[test]
    fn relays_and_their_links_may_be_many() {
        let line = "--server [2001:db8::1]:1547 --relay 2001:db8::2,[2001:db8::3] --rate 1 \
                    --link-address 2001:db8:1::1,2001:db8:2::1 --ia na+pd --ias 2 --rapid-commit";
        let target = target(line).unwrap();
        assert_eq!(target.server, "[2001:db8::1]:1547".parse().unwrap());
        assert_eq!((target.requested.addresses(), target.requested.prefixes()), (2, 2));
        let Access::Relayed { relays, links } = &target.access else { panic!("{target:?}") };
        assert_eq!((relays[1], links.len()), ("[2001:db8::3]:547".parse().unwrap(), 2));
    }

    #[test]
    fn links_are_counted_from_each_address() {
        let line = "--server 2001:db8::1 --relay 2001:db8::2 --rate 1 --link-address \
                    2001:db8:1::1,2001:db8:8::1 --links 2 --link-step 3";
        let Access::Relayed { links, .. } = target(line).unwrap().access else { panic!() };
        let links: Vec<_> = links.iter().map(ToString::to_string).collect();
        assert_eq!(links, ["2001:db8:1::1", "2001:db8:1:3::1", "2001:db8:8::1", "2001:db8:8:3::1"]);
        assert!(target("--server 2001:db8::1 --relay 2001:db8::2 --rate 1 --links 2").is_err());
    }

    #[test]
    fn a_client_on_the_link_needs_no_server_and_has_no_relay() {
        let direct = target("--direct eth0 --rate 1 --ia pd").unwrap();
        assert_eq!(direct.server, "[ff02::1:2]:547".parse().unwrap());
        assert_eq!((direct.requested.addresses(), direct.requested.prefixes()), (0, 1));
        for wrong in [
            "--direct eth0 --relay 2001:db8::2 --rate 1",
            "--server 2001:db8::1 --rate 1",
            "--relay 2001:db8::1 --rate 1",
            "--direct eth0 --link-address 2001:db8::1 --rate 1",
            "--server 10.0.0.1 --relay 2001:db8::2 --rate 1",
        ] {
            assert!(target(wrong).is_err(), "{wrong}");
        }
    }
}
