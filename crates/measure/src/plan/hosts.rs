//! More than one machine: where the server and the generators are.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Machines reached by SSH. Each has a copy of this program of the same version; what is measured and what
/// samples it runs there, and what came of it is put together here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostsPlan {
    /// What SSH knows the servers' machine by; empty when no other machine has a part.
    pub server: String,
    /// The servers' address, towards the generators.
    pub server_address: String,
    /// What SSH knows the generators' machines by; this one where there are none.
    pub generators: Vec<String>,
    /// The generators' addresses, in the same order; for DHCP each plays the relay at its own.
    pub generator_addresses: Vec<String>,
    /// The program there.
    pub godwit: String,
    /// The command that reaches a machine, words before its name.
    pub ssh: String,
    /// The UDP port of the generators; those of the servers follow it.
    pub first_port: u16,
}

impl Default for HostsPlan {
    fn default() -> Self {
        Self {
            server: String::new(),
            server_address: String::new(),
            generators: Vec::new(),
            generator_addresses: Vec::new(),
            godwit: "godwit".to_owned(),
            ssh: "ssh -o BatchMode=yes".to_owned(),
            first_port: 16_700,
        }
    }
}

impl HostsPlan {
    /// Whether another machine than this one has a part.
    #[must_use]
    pub fn is_used(&self) -> bool {
        !self.server.is_empty() || !self.generators.is_empty()
    }

    /// What does not fit together: the key, what is wrong, and what would be right.
    #[must_use]
    pub fn problems(&self) -> Vec<(&'static str, String, &'static str)> {
        let mut found = Vec::new();
        let is_address = |text: &str| text.parse::<IpAddr>().is_ok();
        if !self.is_used() {
            return found;
        }
        if self.server.is_empty() {
            found.push((
                "hosts.generators",
                "there are `hosts.generators` and no `hosts.server`".to_owned(),
                "servers of this machine are measured from this machine; name the machine of the servers",
            ));
        }
        if !is_address(&self.server_address) {
            found.push((
                "hosts.server_address",
                format!("`hosts.server_address` is `{}`, which is no address", self.server_address),
                "the address to which the generators send, as 192.0.2.1 or 2001:db8::1",
            ));
        }
        if let Some(wrong) = self.generator_addresses.iter().find(|text| !is_address(text)) {
            found.push((
                "hosts.generator_addresses",
                format!("`hosts.generator_addresses` has `{wrong}`, which is no address"),
                "the address of each generator towards the server",
            ));
        }
        let (machines, addresses) = (self.generators.len(), self.generator_addresses.len());
        if machines != addresses {
            found.push((
                "hosts.generator_addresses",
                format!(
                    "there are {machines} `hosts.generators` and {addresses} addresses of them"
                ),
                "each generator has one address, in the order of `hosts.generators`",
            ));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generator_has_an_address_and_the_server_too() {
        assert_eq!(HostsPlan::default().problems(), []);
        let mut plan = HostsPlan { server: "one".to_owned(), ..HostsPlan::default() };
        let keys =
            |plan: &HostsPlan| plan.problems().into_iter().map(|(key, ..)| key).collect::<Vec<_>>();
        assert_eq!(keys(&plan), ["hosts.server_address"]);
        plan.server_address = "192.0.2.1".to_owned();
        assert_eq!(keys(&plan), [""; 0]);
        plan.generators = vec!["two".to_owned()];
        assert_eq!(keys(&plan), ["hosts.generator_addresses"]);
        plan.generator_addresses = vec!["two".to_owned()];
        assert_eq!(keys(&plan), ["hosts.generator_addresses"], "a name is no address");
        plan.generator_addresses = vec!["2001:db8::2".to_owned()];
        assert_eq!(keys(&plan), [""; 0]);
        plan.server.clear();
        assert_eq!(keys(&plan), ["hosts.generators"], "the servers' machine is not named");
    }
}
