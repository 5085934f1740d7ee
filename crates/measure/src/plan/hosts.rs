//! Measurements on more than one machine: the machines of the server and of the generators.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::plan_section;

plan_section! {
    /// Machines of a plan that the lab reaches by SSH. Each has a copy of this program of the same
    /// version, which runs the servers, generators and samplers there; the machine of the lab
    /// collects their results.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub struct HostsPlan in "hosts." {
        /// Name of the servers' machine for SSH; empty when the plan uses no other machine.
        server: String = String::new(), "\"\"", AnyText,
            "SSH name of the servers' machine; without it everything runs on this machine.";
        /// Address of the servers' machine at which generators reach them.
        server_address: String = String::new(), "\"\"", AnyText,
            "The servers' address towards the generators; needed if any part runs on another \
             machine.";
        /// Names of the generators' machines for SSH; empty if the lab's own machine generates the
        /// load.
        generators: Vec<String> = Vec::new(), "[]", Texts,
            "SSH names of the generators' machines, which divide the load; without any, this \
             machine sends.";
        /// Addresses of the generators, in the order of `generators`; for DHCP each generator acts
        /// as the relay agent at its own address.
        generator_addresses: Vec<String> = Vec::new(), "[]", Texts,
            "The address of each generator towards the server, in the same order; for DHCP it is \
             the relay's address.";
        /// Path of the program `godwit` on the other machines.
        godwit: String = "godwit".to_owned(), "\"godwit\"", Text,
            "Path of the program on those machines; its version must be this one's.";
        /// Command that reaches a machine: the words before the machine's name, such as `ssh -p
        /// 2222`.
        ssh: String = "ssh -o BatchMode=yes".to_owned(), "\"ssh -o BatchMode=yes\"", Text,
            "Command that reaches a machine, with everything before the machine's name.";
        /// First UDP port of the measurement: that of the generators; the servers' ports follow it.
        first_port: u16 = 16_700, "16700", Whole(1_024, 65_000),
            "UDP port of the generators; the servers have the following ones.";
    }
}

impl HostsPlan {
    /// Returns true if the plan uses machines other than this one.
    pub fn is_used(&self) -> bool {
        !self.server.is_empty() || !self.generators.is_empty()
    }

    /// Returns the settings of machines that do not fit together: the key, the mistake, and the
    /// correction.
    #[must_use]
    pub fn problems(&self) -> Vec<(&'static str, String, &'static str)> {
        let mut problems = Vec::new();
        let is_address = |text: &str| text.parse::<IpAddr>().is_ok();
        if !self.is_used() {
            return problems;
        }
        if self.server.is_empty() {
            problems.push((
                "hosts.generators",
                "there are `hosts.generators` and no `hosts.server`".to_owned(),
                "servers of this machine are measured from this machine; name the machine of the servers",
            ));
        }
        if !is_address(&self.server_address) {
            problems.push((
                "hosts.server_address",
                format!(
                    "`hosts.server_address` is `{}`, which is not an \
                         address",
                    self.server_address
                ),
                "the address to which the generators send, as 192.0.2.1 or 2001:db8::1",
            ));
        }
        if let Some(wrong) = self.generator_addresses.iter().find(|text| !is_address(text)) {
            problems.push((
                "hosts.generator_addresses",
                format!("`hosts.generator_addresses` has `{wrong}`, which is not an address"),
                "the address of each generator towards the server",
            ));
        }
        let (machines, addresses) = (self.generators.len(), self.generator_addresses.len());
        if machines != addresses {
            problems.push((
                "hosts.generator_addresses",
                format!(
                    "there are {machines} `hosts.generators` and {addresses} addresses of them"
                ),
                "each generator has one address, in the order of `hosts.generators`",
            ));
        }
        problems
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
