//! Relay addresses of the switch `-J`, and the addresses among them that this machine has itself.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};

use super::args::PerfdhcpArgs;
use super::plan::{self, PerfdhcpResult};

/// Number of relay addresses that a message for people names; it counts the others.
const LISTED_MAX: usize = 3;

/// Relay addresses of DHCPv4 that `-J` lists: those that this machine has, and others. A DHCPv4
/// server sends its replies to the relay address in the message (`giaddr`), whatever the source
/// address of the message.
#[derive(Clone, Debug, Default)]
pub(crate) struct RelayAddresses {
    own: Vec<Ipv4Addr>,
    foreign: Vec<Ipv4Addr>,
}

impl RelayAddresses {
    /// Reads the addresses of `-J`; there are none without it, and for DHCPv6, whose servers answer
    /// the source of a message.
    pub(crate) fn from_args(args: &PerfdhcpArgs, local: IpAddr) -> PerfdhcpResult<Self> {
        if args.relay_list.is_none() || args.is_v6() {
            return Ok(Self::default());
        }
        let (own, foreign) =
            plan::v4(&plan::links(args, local)?).into_iter().partition(|&relay| is_own(relay));
        Ok(Self { own, foreign })
    }

    /// Returns true if replies come to an address of this machine other than `local`.
    pub(crate) fn needs_other_than(&self, local: IpAddr) -> bool {
        self.own.iter().any(|&relay| relay != local)
    }

    /// Returns a warning when servers send replies to relay addresses that this machine does not
    /// have.
    pub(crate) fn warning(&self) -> Option<String> {
        let verb = if self.foreign.len() == 1 { "is not an address" } else { "are not addresses" };
        (!self.foreign.is_empty()).then(|| {
            format!(
                "-J: {} {verb} of this machine: answers to such an address arrive only if the server answers \
                 the source of a message (KEA_TEST_SEND_RESPONSES_TO_SOURCE)",
                list_text(&self.foreign)
            )
        })
    }

    /// Returns the relay addresses for people; `None` without any.
    pub(crate) fn list_text(&self) -> Option<String> {
        let all: Vec<_> = self.own.iter().chain(&self.foreign).copied().collect();
        (!all.is_empty()).then(|| list_text(&all))
    }
}

/// Returns true if this machine has `address`: only a machine's own addresses can be bound.
fn is_own(address: Ipv4Addr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

fn list_text(addresses: &[Ipv4Addr]) -> String {
    let texts: Vec<_> = addresses.iter().take(LISTED_MAX).map(Ipv4Addr::to_string).collect();
    match addresses.len() - texts.len() {
        0 => texts.join(", "),
        more => format!("{} and {more} others", texts.join(", ")),
    }
}
