//! Server that is already running and that the lab did not start (`--target`): the user's options,
//! the settings of a plan that cannot be measured on it, and the address from which it is loaded.

use std::net::{IpAddr, SocketAddr};

use measure::Plan;
use measure::plan::{DatabaseAccess, LeaseStoreKind, Restarts, ServerFeature};
use testbed::MeasurementTopology;

use crate::error::{LabError, LabResult};
use crate::family::{AddressFamily, ProtocolAddressing};
use crate::subject::TARGET_SERVER;

/// Options of the user about a running server (`--target`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetOptions {
    /// Address of the running server, with a port or without.
    pub server: String,
    /// Address of the relay agent that the generator plays, with a port or without; `None` for this
    /// machine's own address towards the server.
    pub relay: Option<String>,
    /// Number of addresses in the server's pool; `None` for as many as the plan would give a
    /// server.
    pub pool_size: Option<u32>,
}

/// Running server that the lab did not start, and the address from which it is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningTarget {
    /// Address at which the server receives messages.
    pub server: SocketAddr,
    /// Address of the generator; for DHCP it is that of the relay agent that the generator plays.
    pub relay: SocketAddr,
    /// Name of this machine's interface that has the address of the relay agent or generator.
    pub interface: String,
    /// Notes on the running server that the reader of the report must know.
    pub notes: Vec<String>,
}

impl RunningTarget {
    /// Makes the running server from `words`, and reduces `plan` to the settings that can be
    /// measured on it.
    ///
    /// # Errors
    /// Everything in `words` and in the plan that makes no sense, at once; or there is no way to
    /// the server.
    pub fn from_options(words: &TargetOptions, plan: &mut Plan) -> LabResult<Self> {
        let family = ProtocolAddressing::for_protocol(plan.protocol);
        let mut problems = Vec::new();
        let server = address(&words.server, family.port, family);
        let server = server.map_err(|why| problems.push(format!("--target {why}"))).ok();
        let relay = words.relay.as_deref().map(|text| address(text, family.relay_port, family));
        let relay = relay.transpose().map_err(|why| problems.push(format!("--relay {why}"))).ok();
        problems.extend(unsupported_settings(plan));
        if words.pool_size.is_some() && !plan.protocol.is_dhcp() {
            problems.push("--pool-size: DNS servers have no pools".to_owned());
        }
        if let (Some(server), Some(Some(relay))) = (server, relay)
            && server.is_ipv4() != relay.is_ipv4()
        {
            problems.push(format!("--relay {relay} is not of the IP version of {server}"));
        }
        let (Some(server), Some(relay), true) = (server, relay, problems.is_empty()) else {
            return Err(LabError::Usage(format!(
                "{} cannot be measured on a server that runs already:\n  {}",
                plan.name,
                problems.join("\n  ")
            )));
        };
        let relay = match relay {
            Some(relay) => relay,
            None => own_address(server, family.relay_port)?,
        };
        let notes = restrict_plan(plan, words.pool_size, server);
        Ok(Self { server, relay, interface: relay_interface(relay)?, notes })
    }

    /// Returns the network in which the running server and its generator meet.
    pub fn topology(&self) -> MeasurementTopology {
        MeasurementTopology::Network { interface: self.interface.clone() }
    }
}

/// Parses `text`, an address or the name of a host, with a port; without one the address has
/// `port`.
fn address(text: &str, port: u16, family: ProtocolAddressing) -> Result<SocketAddr, String> {
    let is_name = text.parse::<SocketAddr>().is_err() && text.parse::<IpAddr>().is_err();
    // Of several addresses of a host, choose one that the protocol can have.
    let is_usable = |ip: IpAddr| {
        let is_v4 = family.version() == AddressFamily::V4;
        !is_name || !family.protocol.is_dhcp() || ip.is_ipv4() == is_v4
    };
    let parsed = netio::resolve::endpoint(text, Some(port), is_usable)?;
    let ip = parsed.ip();
    let is_broadcast = matches!(ip, IpAddr::V4(v4) if v4.is_broadcast());
    if ip.is_unspecified() || ip.is_multicast() || is_broadcast {
        return Err(format!("{text}: not the address of one machine"));
    }
    let version = if ip.is_ipv4() { AddressFamily::V4 } else { AddressFamily::V6 };
    if family.protocol.is_dhcp() && version != family.version() {
        let (name, addresses) = match family.version() {
            AddressFamily::V4 => ("DHCPv4", "IPv4"),
            AddressFamily::V6 => ("DHCPv6", "IPv6"),
        };
        return Err(format!("{text}: the plan is for {name}, which has {addresses} addresses"));
    }
    Ok(parsed)
}

/// Returns the settings of `plan` that need a server started by the lab, a sentence for each.
fn unsupported_settings(plan: &Plan) -> Vec<String> {
    let server = &plan.server;
    let mut problems = Vec::new();
    if plan.hosts.is_used() {
        problems.push("hosts: the lab cannot choose the machine of a running server".to_owned());
    }
    if plan.names_features() {
        let names: Vec<&str> = server.features.iter().map(|feature| feature.name()).collect();
        problems.push(format!(
            "server.features ({}): the lab cannot change the configuration of a running server",
            names.join(", ")
        ));
    }
    if server.stores != [LeaseStoreKind::Memfile] {
        let names: Vec<&str> = server.stores.iter().map(|store| store.name()).collect();
        problems.push(format!(
            "server.stores ({}): the lab cannot change the store of a running server",
            names.join(", ")
        ));
    }
    if server.sharing != [DatabaseAccess::Open] {
        let names: Vec<&str> = server.sharing.iter().map(|sharing| sharing.name()).collect();
        problems.push(format!(
            "server.sharing ({}): the lab does not know the database of a \
                               running server",
            names.join(", ")
        ));
    }
    if plan.restart.database != Restarts::None {
        problems.push(
            "restart.database: the lab cannot stop the database of a running \
                       server"
                .to_owned(),
        );
    }
    if server.processor_share < 1.0 {
        problems.push(format!(
            "server.processor_share ({}): the lab cannot limit the processors of a running server",
            server.processor_share
        ));
    }
    if plan.has_runs() {
        problems.push(format!(
            "runs.count ({}): every run restarts its servers without leases, which the lab cannot \
             do with a running server; use a plan with rounds, such as {}-quick",
            plan.runs.count,
            plan.protocol.name()
        ));
    }
    problems
}

/// Removes from `plan` the settings that are only for servers that the lab starts; returns the
/// notes that the reader of the report must know.
fn restrict_plan(plan: &mut Plan, pool_size: Option<u32>, server: SocketAddr) -> Vec<String> {
    let mut notes = vec![format!(
        "The lab measured the running server at {server} as it is. It cannot see the server's \
         processors, memory, sockets and leases, so the report does not show them; of the limits \
         of its rate it knows only those that clients and the generator's machine show."
    )];
    if plan.blocks.limit {
        plan.blocks.limit = false;
        notes.push(
            "There is no limit responder, which would have to run on the server's machine: this \
             result does not show whether the server or the network limits a rate."
                .to_owned(),
        );
    }
    if !plan.profile.fractions.is_empty() {
        plan.profile.fractions.clear();
        notes.push("Nothing was profiled: the server is not one that the lab started.".to_owned());
    }
    plan.servers = vec![TARGET_SERVER.to_owned()];
    plan.server.features = vec![ServerFeature::Plain];
    if let Some(size) = pool_size {
        plan.server.pool_size = size;
        // The client that checks whether the server answers has one.
        plan.clients.count = plan.clients.count.min(size.saturating_sub(1)).max(1);
    }
    notes
}

/// Returns this machine's address, with `port`, from which it sends to `server`.
fn own_address(server: SocketAddr, port: u16) -> LabResult<SocketAddr> {
    let route = netio::route::to(server)?;
    Ok(SocketAddr::new(route.local, port))
}

/// Returns the name of this machine's interface that has the address of `relay`.
pub(crate) fn relay_interface(relay: SocketAddr) -> LabResult<String> {
    let all = netio::interface::list().map_err(|e| LabError::cannot("list interfaces", e))?;
    let has_it = |interface: &netio::interface::Interface| {
        interface.addresses.contains(&relay.ip())
            || interface.is_loopback && relay.ip().is_loopback()
    };
    let interface = all.into_iter().find(has_it);
    interface.map(|interface| interface.name).ok_or_else(|| {
        LabError::Usage(format!("--relay {}: no interface of this machine has it", relay.ip()))
    })
}

#[cfg(test)]
mod tests {
    use measure::plan::MeasuredProtocol;

    use super::*;

    fn words(server: &str) -> TargetOptions {
        TargetOptions { server: server.to_owned(), ..TargetOptions::default() }
    }

    fn usage_error(words: &TargetOptions, plan: &mut Plan) -> String {
        let error = RunningTarget::from_options(words, plan).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        error.to_string()
    }

    #[test]
    fn ports_are_the_protocols_where_none_is_named() {
        let of = |protocol, server: &str, relay: Option<&str>| {
            let mut plan = Plan { protocol, ..Plan::default() };
            let words = TargetOptions { relay: relay.map(str::to_owned), ..words(server) };
            let target = RunningTarget::from_options(&words, &mut plan).unwrap();
            assert_eq!(target.interface, "lo");
            (target.server.to_string(), target.relay.to_string())
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        for (actual, expected) in [
            (of(MeasuredProtocol::Dhcp4, "127.0.0.1", None), pair("127.0.0.1:67", "127.0.0.1:67")),
            (
                of(MeasuredProtocol::Dhcp4, "127.0.0.1:6767", Some("127.0.0.2:6768")),
                pair("127.0.0.1:6767", "127.0.0.2:6768"),
            ),
            (of(MeasuredProtocol::Dhcp6, "::1", None), pair("[::1]:547", "[::1]:547")),
            (
                of(MeasuredProtocol::Dhcp6, "[::1]", Some("[::1]:6768")),
                pair("[::1]:547", "[::1]:6768"),
            ),
            (of(MeasuredProtocol::Dns, "127.0.0.1", None), pair("127.0.0.1:53", "127.0.0.1:0")),
            (of(MeasuredProtocol::Dns, "[::1]:5300", None), pair("[::1]:5300", "[::1]:0")),
        ] {
            assert_eq!(actual, expected);
        }
    }

    #[test]
    fn addresses_that_are_none_are_refused() {
        for (server, why) in [
            ("no such host", "neither an address nor the name of a known host"),
            ("0.0.0.0", "not the address of one machine"),
            ("255.255.255.255", "not the address of one machine"),
            ("239.1.1.1", "not the address of one machine"),
            ("::1", "the plan is for DHCPv4, which has IPv4 addresses"),
        ] {
            let usage_error = usage_error(&words(server), &mut Plan::default());
            assert!(usage_error.contains(&format!("--target {server}: {why}")), "{usage_error}");
        }
        let far = TargetOptions { relay: Some("203.0.113.9".to_owned()), ..words("127.0.0.1") };
        assert!(
            usage_error(&far, &mut Plan::default()).contains("no interface of this machine has it")
        );
    }

    #[test]
    fn all_that_a_plan_wants_of_its_own_servers_is_refused_at_once() {
        let mut plan = Plan { name: "x".to_owned(), ..Plan::default() };
        plan.server.features = vec![ServerFeature::Plain, ServerFeature::NotPersisted];
        plan.server.stores = vec![LeaseStoreKind::Mysql];
        plan.server.sharing = vec![DatabaseAccess::TwoServers];
        plan.server.processor_share = 0.5;
        plan.restart.database = Restarts::Both;
        plan.runs.count = 9;
        plan.hosts.server = "one".to_owned();
        let usage_error = usage_error(&words("no host"), &mut plan);
        for part in [
            "x cannot be measured on a server that runs already:",
            "--target no host: neither an address",
            "server.features (plain, not-persisted)",
            "server.stores (mysql)",
            "server.sharing (two-servers)",
            "server.processor_share (0.5)",
            "restart.database",
            "runs.count (9)",
            "dhcp4-quick",
            "hosts: the lab cannot choose the machine",
        ] {
            assert!(usage_error.contains(part), "{part}: {usage_error}");
        }
    }

    #[test]
    fn a_plan_keeps_its_load_and_loses_what_is_for_servers_of_the_lab() {
        let servers = vec!["godwit".to_owned(), "kea".to_owned()];
        let mut plan = Plan { servers, ..Plan::default() };
        plan.profile.fractions = vec![0.5];
        let before = plan.clone();
        let words = TargetOptions { pool_size: Some(1_000), ..words("127.0.0.1") };
        let target = RunningTarget::from_options(&words, &mut plan).unwrap();
        assert_eq!(target.notes.len(), 3, "{:?}", target.notes);
        assert!(!plan.blocks.limit && plan.profile.fractions.is_empty());
        assert_eq!((plan.servers, plan.server.pool_size), (vec!["target".to_owned()], 1_000));
        assert_eq!(
            (plan.clients.count, plan.search, plan.curve),
            (999, before.search, before.curve)
        );
    }
}
