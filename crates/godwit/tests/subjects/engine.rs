//! The engine without sockets: one shard over a lease table in memory, on a virtual clock.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};
use std::sync::Arc;

use base::Now;
use base::time::NS_PER_S;
use dhcp_config::NoIncludes;
use dhcp_engine::{InFlight, Protocol, Shard, Transmit};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_lease::{LeaseTable, Leased, MemoryStore};
use scenario::{Family, Scenario, Subject, SubjectError};

use super::document;

/// The server's identifier in DHCPv6.
const SERVER_DUID: [u8; 10] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 99];

/// What the engine needs of a family here.
pub(crate) trait Rig: Protocol + Leased {
    const INGRESS: Self::Ingress;

    fn compile(text: &str, table: &LeaseTable<Self>) -> Result<Self::Snapshot, String>;
}

impl Rig for V4 {
    const INGRESS: Self::Ingress = dhcp_engine::v4::Ingress::routed(
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, 67),
        Ipv4Addr::LOCALHOST,
    );

    fn compile(text: &str, table: &LeaseTable<Self>) -> Result<Self::Snapshot, String> {
        let checked =
            dhcp_config::parse_dhcp4("scenario", text, &mut NoIncludes).map_err(|p| told(&p))?;
        table.set_expiry(dhcp_server::expiry(&checked.config.expired_leases));
        let configure = |specs: &[_], reserved: &[_]| table.configure(specs, reserved);
        Ok(dhcp_engine::v4::Snapshot::compile(&checked.config, configure))
    }
}

impl Rig for V6 {
    const INGRESS: Self::Ingress = dhcp_engine::v6::Ingress {
        source: SocketAddrV6::new(Ipv6Addr::LOCALHOST, 547, 0, 0),
        local: Ipv6Addr::LOCALHOST,
        interface: 0,
        is_multicast: false,
        door: 0,
    };

    fn compile(text: &str, table: &LeaseTable<Self>) -> Result<Self::Snapshot, String> {
        let checked =
            dhcp_config::parse_dhcp6("scenario", text, &mut NoIncludes).map_err(|p| told(&p))?;
        table.set_expiry(dhcp_server::expiry(&checked.config.expired_leases));
        let configure = |specs: &[_], reserved: &[_]| table.configure(specs, reserved);
        Ok(dhcp_engine::v6::Snapshot::compile(&checked.config, &SERVER_DUID, configure))
    }
}

fn told(problems: &[dhcp_config::Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The engine under a configuration.
pub(crate) struct Engine<P: Rig> {
    family: Family,
    now: Now,
    table: Arc<LeaseTable<P>>,
    shard: Shard<P, MemoryStore<P>>,
}

struct Replies(Vec<Vec<u8>>);

impl<P: Protocol> Transmit<P> for Replies {
    fn transmit(&mut self, _to: P::Destination, _ingress: P::Ingress, octets: &[u8]) -> bool {
        self.0.push(octets.to_vec());
        true
    }
}

/// Starts the engine with the configuration of `scenario`.
pub(crate) fn start(scenario: &Scenario) -> Result<Box<dyn Subject>, String> {
    Ok(match scenario.family {
        Family::V4 => Box::new(Engine::<V4>::start(scenario)?),
        Family::V6 => Box::new(Engine::<V6>::start(scenario)?),
    })
}

impl<P: Rig> Engine<P> {
    fn start(scenario: &Scenario) -> Result<Self, String> {
        let table = Arc::new(LeaseTable::new(7));
        let text = document(scenario.family, &scenario.config, "");
        let snapshot = Arc::new(P::compile(&text, &table)?);
        let store = MemoryStore::new(Arc::clone(&table));
        let shard = Shard::new(store, snapshot, Arc::new(InFlight::new(7, 64)));
        let now = Now { mono_ns: NS_PER_S, wall_us: 1_700_000_000_000_000 };
        Ok(Self { family: scenario.family, now, table, shard })
    }
}

impl<P: Rig> Subject for Engine<P> {
    fn exchange(
        &mut self,
        octets: &[u8],
        _expects_none: bool,
        _is_answer: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Vec<Vec<u8>>, SubjectError> {
        let mut replies = Replies(Vec::new());
        self.shard.handle(self.now, octets, P::INGRESS, &mut replies);
        self.shard.end_batch(self.now, &mut replies);
        Ok(replies.0)
    }

    fn wait_s(&mut self, seconds: u64) -> Result<(), SubjectError> {
        // As often as the daemon keeps house.
        for _ in 0..seconds {
            self.now = self.now.after_ns(NS_PER_S);
            while self.shard.housekeeping(self.now, 1_000).is_more_due {}
        }
        Ok(())
    }

    fn reload(&mut self, config: &str) -> Result<(), SubjectError> {
        let snapshot = P::compile(&document(self.family, config, ""), &self.table)?;
        self.shard.reload(Arc::new(snapshot));
        Ok(())
    }

    fn command(&mut self, _command: &str) -> Result<String, SubjectError> {
        Err("the engine has no control channel".to_owned())
    }
}
