//! Engine without sockets: one shard over a lease table in memory, on a virtual clock. Of the
//! control commands it knows `lease4-get` and `lease6-get` by address, and returns only the state
//! of a lease.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};
use std::sync::Arc;

use base::Now;
use base::time::{NS_PER_MS, NS_PER_S};
use dhcp_config::{ExpiredLeases, NoIncludes};
use dhcp_engine::{InFlight, InterfaceNames, Protocol, ReplySink, Shard, reclaim};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::{Resource, ResourceKind, V6};
use dhcp_lease::{LeaseState, LeaseTable, MemoryStore, TableFamily};
use scenario::{Scenario, ScenarioFamily, ScenarioServer, ScenarioServerError};
use serde_json::{Value, json};

use super::document;

/// Virtual time for the reclamation of a lease, in nanoseconds.
const RECLAIM_NS: u64 = NS_PER_MS;
/// Index of the interface `lo`, by which messages of clients and relay agents come.
const LOOPBACK: u32 = 1;
/// Identifier of the DHCPv6 server.
const SERVER_DUID: [u8; 10] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 99];

/// Family (DHCPv4 or DHCPv6) of the engine in these tests.
pub(crate) trait EngineTestFamily: Protocol + TableFamily {
    const INGRESS: Self::Ingress;

    fn compile(
        text: &str,
        table: &LeaseTable<Self>,
    ) -> Result<(dhcp_engine::snapshot::Snapshot<Self>, ExpiredLeases), String>;

    /// Returns the state of the lease of an address.
    fn state(table: &LeaseTable<Self>, address: &str) -> Option<LeaseState>;
}

impl EngineTestFamily for V4 {
    const INGRESS: Self::Ingress = dhcp_engine::v4::Ingress::routed(
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, 67),
        Ipv4Addr::LOCALHOST,
    );

    fn compile(
        text: &str,
        table: &LeaseTable<Self>,
    ) -> Result<(dhcp_engine::snapshot::Snapshot<Self>, ExpiredLeases), String> {
        let checked =
            dhcp_config::parse_dhcp4("scenario", text, &mut NoIncludes).map_err(|p| joined(&p))?;
        let configure = |specs: &[_], reserved: &[_]| table.configure(specs, reserved);
        let snapshot = dhcp_engine::v4::Snapshot::compile(&checked.config, configure);
        Ok((snapshot, checked.config.global.expired_leases))
    }

    fn state(table: &LeaseTable<Self>, address: &str) -> Option<LeaseState> {
        table.lease(address.parse().ok()?).map(|lease| lease.state)
    }
}

impl EngineTestFamily for V6 {
    const INGRESS: Self::Ingress = dhcp_engine::v6::Ingress {
        source: SocketAddrV6::new(Ipv6Addr::LOCALHOST, 547, 0, 0),
        local: Ipv6Addr::LOCALHOST,
        interface: LOOPBACK,
        is_multicast: false,
        listener_index: 0,
    };

    fn compile(
        text: &str,
        table: &LeaseTable<Self>,
    ) -> Result<(dhcp_engine::snapshot::Snapshot<Self>, ExpiredLeases), String> {
        let checked =
            dhcp_config::parse_dhcp6("scenario", text, &mut NoIncludes).map_err(|p| joined(&p))?;
        let configure = |specs: &[_], reserved: &[_]| table.configure(specs, reserved);
        let snapshot = dhcp_engine::v6::Snapshot::compile(&checked.config, &SERVER_DUID, configure);
        Ok((snapshot, checked.config.global.expired_leases))
    }

    fn state(table: &LeaseTable<Self>, address: &str) -> Option<LeaseState> {
        let address = address.parse().ok()?;
        let resource = Resource { kind: ResourceKind::Address, len: 128, address };
        table.lease(resource).map(|lease| lease.state)
    }
}

fn joined(problems: &[dhcp_config::ConfigProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Engine with the configuration of a scenario, on a virtual clock.
pub(crate) struct EngineSubject<P: EngineTestFamily> {
    family: ScenarioFamily,
    now: Now,
    table: Arc<LeaseTable<P>>,
    shard: Shard<P, MemoryStore<P>>,
}

struct TransmittedReplies(Vec<Vec<u8>>);

impl<P: Protocol> ReplySink<P> for TransmittedReplies {
    fn transmit(&mut self, _to: P::Destination, _ingress: P::Ingress, octets: &[u8]) -> bool {
        self.0.push(octets.to_vec());
        true
    }
}

/// Starts the engine with the configuration of `scenario`.
pub(crate) fn start(scenario: &Scenario) -> Result<Box<dyn ScenarioServer>, String> {
    Ok(match scenario.family {
        ScenarioFamily::V4 => Box::new(EngineSubject::<V4>::start(scenario)?),
        ScenarioFamily::V6 => Box::new(EngineSubject::<V6>::start(scenario)?),
    })
}

impl<P: EngineTestFamily> EngineSubject<P> {
    fn start(scenario: &Scenario) -> Result<Self, String> {
        let table = Arc::new(LeaseTable::new(7));
        let text = document(scenario.family, &scenario.config, "");
        let (snapshot, expired) = P::compile(&text, &table)?;
        reclaim::apply_expiry(&table, &expired);
        let snapshot = Arc::new(snapshot);
        let store = MemoryStore::new(Arc::clone(&table));
        let mut shard = Shard::new(store, snapshot, Arc::new(InFlight::new(7, 64)));
        shard.set_interfaces(Arc::new(InterfaceNames::new([(LOOPBACK, "lo")])));
        let now = Now { mono_ns: NS_PER_S, wall_us: 1_700_000_000_000_000 };
        Ok(Self { family: scenario.family, now, table, shard })
    }
}

impl<P: EngineTestFamily> ScenarioServer for EngineSubject<P> {
    fn exchange(
        &mut self,
        octets: &[u8],
        _expects_none: bool,
        _is_answer: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Vec<Vec<u8>>, ScenarioServerError> {
        let mut replies = TransmittedReplies(Vec::new());
        self.shard.handle(self.now, octets, P::INGRESS, &mut replies);
        self.shard.end_batch(self.now, &mut replies);
        Ok(replies.0)
    }

    fn wait_s(&mut self, seconds: u64) -> Result<(), ScenarioServerError> {
        // As often as the server does its periodic work.
        for _ in 0..seconds {
            self.now = self.now.after_ns(NS_PER_S);
            loop {
                let swept = self.shard.housekeeping(self.now, 1);
                self.table.spend_reclaim_time(u64::from(swept.reclaimed()) * RECLAIM_NS);
                if !swept.is_more_due {
                    break;
                }
            }
        }
        Ok(())
    }

    fn reload(&mut self, config: &str) -> Result<(), ScenarioServerError> {
        let (snapshot, expired) = P::compile(&document(self.family, config, ""), &self.table)?;
        reclaim::apply_expiry(&self.table, &expired);
        self.shard.reload(Arc::new(snapshot));
        Ok(())
    }

    fn command(&mut self, command: &str) -> Result<String, ScenarioServerError> {
        let command: Value = serde_json::from_str(command).map_err(|error| error.to_string())?;
        let (Some("lease4-get" | "lease6-get"), Some(address)) =
            (command["command"].as_str(), command["arguments"]["ip-address"].as_str())
        else {
            return Err(format!("the engine has no command {command}"));
        };
        let answer = match P::state(&self.table, address) {
            Some(state) => json!({ "result": 0, "arguments": { "state": state as u8 } }),
            None => json!({ "result": 3 }),
        };
        Ok(answer.to_string())
    }
}
