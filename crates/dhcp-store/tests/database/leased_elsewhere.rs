//! Client that requests a lease which another server has given to another client: the server
//! replies with another lease after a few rounds, and does each lookup once for its message.

use std::net::{Ipv6Addr, SocketAddrV6};
use std::sync::Arc;

use base::Now;
use dhcp_config::IncludeResolver;
use dhcp_engine::v6::{Ingress, Snapshot};
use dhcp_engine::{InFlight, Protocol, ReplySink, Shard};
use dhcp_lease::LeaseTable;
use dhcp_lease::v6::V6;
use dhcp_store::DatabaseStore;
use dhcp_store::database::testing::{FakeConnection, FakeDatabase, FakeFaults};
use dhcp_store::database::{DatabaseCore, Refusals, RoundEnd, SharedJournal};
use dhcp_store::log::{ShardLog, SharedLogState};

const SERVER_DUID: [u8; 10] = [0, 3, 0, 1, 2, 0, 0, 0, 0, 99];
/// Most rounds of the database that a reply takes: a lookup for each of two associations, the
/// write, and one spare.
const ROUNDS_MAX: usize = 4;
const CONFIGURATION: &str = r#"{ "Dhcp6": { "interfaces-config": { "interfaces": [ "*" ] },
    "subnet6": [ { "id": 1, "subnet": "2001:db8::/32",
        "pools": [ { "pool": "2001:db8:1::/64" } ],
        "pd-pools": [ { "prefix": "2001:db8:8000::", "prefix-len": 40, "delegated-len": 56 } ] } ] } }"#;

/// Kind of association in a client's request.
#[derive(Clone, Copy, Debug)]
enum RequestedAssociationKind {
    Address,
    Prefix,
}

struct LeasedElsewhereIncludeResolver;

impl IncludeResolver for LeasedElsewhereIncludeResolver {
    fn read(&mut self, _including: &str, path: &str) -> Result<String, String> {
        Err(format!("no file {path}"))
    }
}

#[derive(Default)]
struct LeasedElsewhereReplies(Vec<Vec<u8>>);

impl ReplySink<V6> for LeasedElsewhereReplies {
    fn transmit(
        &mut self,
        _: <V6 as Protocol>::Destination,
        _: <V6 as Protocol>::Ingress,
        octets: &[u8],
    ) -> bool {
        self.0.push(octets.to_vec());
        true
    }
}

/// Server that shares a database with others.
struct LeasedElsewhereServer {
    now: Now,
    shard: Shard<V6, DatabaseStore<V6>>,
    core: DatabaseCore<V6, FakeConnection<V6>>,
}

impl LeasedElsewhereServer {
    fn start(database: &Arc<FakeDatabase<V6>>, seed: u64) -> Self {
        let table = Arc::new(LeaseTable::new(seed));
        let checked = dhcp_config::parse_dhcp6(
            "test.conf",
            CONFIGURATION,
            &mut LeasedElsewhereIncludeResolver,
        )
        .unwrap_or_else(|problems| panic!("{}", problems[0]));
        let configure = |specs: &[_], reserved: &[_]| table.configure(specs, reserved);
        let snapshot = Arc::new(Snapshot::compile(&checked.config, &SERVER_DUID, configure));
        let shards = SharedLogState::new(1, |_| {});
        let refusals = Arc::<Refusals>::default();
        let journal = SharedJournal::new(refusals.clone(), true);
        let log = ShardLog::new(shards.clone(), 0);
        let store = DatabaseStore::with_journal(table.clone(), log, journal);
        let shard = Shard::new(store, snapshot, Arc::new(InFlight::new(seed, 64)));
        let connection = FakeConnection::new(database.clone(), FakeFaults::default(), seed);
        let core = DatabaseCore::new(shards, table, refusals, connection);
        let now = Now { mono_ns: 5_000_000_000, wall_us: 1_700_000_000_000_000 };
        Self { now, shard, core }
    }

    /// Returns the reply to a message.
    fn answer(&mut self, message: &[u8]) -> Vec<u8> {
        let mut replies = LeasedElsewhereReplies::default();
        let source = SocketAddrV6::new("2001:db8::77".parse().unwrap(), 546, 0, 0);
        let local = Ipv6Addr::LOCALHOST;
        let ingress =
            Ingress { source, local, interface: 0, is_multicast: true, listener_index: 0 };
        self.shard.handle(self.now, message, ingress, &mut replies);
        for _ in 0..ROUNDS_MAX {
            self.shard.end_batch(self.now, &mut replies);
            self.now = self.now.after_ns(1_000_000);
            assert_eq!(self.core.round(self.now), RoundEnd::Done);
            self.shard.end_batch(self.now, &mut replies);
            if let Some(reply) = replies.0.pop() {
                return reply;
            }
        }
        panic!("no reply after {ROUNDS_MAX} rounds");
    }
}

fn option(code: u16, value: &[u8]) -> Vec<u8> {
    let len = u16::try_from(value.len()).unwrap();
    [&code.to_be_bytes()[..], &len.to_be_bytes(), value].concat()
}

/// Returns a REQUEST of a client for `requested`, one address or prefix for each association.
fn request(client: u8, requested: &[(RequestedAssociationKind, Option<Ipv6Addr>)]) -> Vec<u8> {
    let mut octets = vec![3, 0, 0, client];
    octets.extend(option(1, &[0, 3, 0, 1, 2, 0, 0, 0, 0, client]));
    octets.extend(option(2, &SERVER_DUID));
    for (iaid, &(kind, address)) in (1_u32..).zip(requested) {
        let suboption = address.map_or(Vec::new(), |address| match kind {
            RequestedAssociationKind::Address => {
                option(5, &[&address.octets()[..], &[0; 8]].concat())
            }
            RequestedAssociationKind::Prefix => {
                option(26, &[&[0; 8][..], &[56], &address.octets()].concat())
            }
        });
        let code = if matches!(kind, RequestedAssociationKind::Address) { 3 } else { 25 };
        octets.extend(option(code, &[&iaid.to_be_bytes()[..], &[0; 8], &suboption].concat()));
    }
    octets
}

/// Returns the address or prefix in each association of a REPLY, in their order.
fn leased_in(reply: &[u8]) -> Vec<Ipv6Addr> {
    assert_eq!(reply[0], 7, "{reply:?}");
    let mut addresses = Vec::new();
    let mut rest = &reply[4..];
    while let [c0, c1, l0, l1, value @ ..] = rest {
        let (code, len) = (u16::from_be_bytes([*c0, *c1]), u16::from_be_bytes([*l0, *l1]));
        let (value, behind) = value.split_at(usize::from(len));
        let at = match code {
            3 => Some(16),
            25 => Some(25),
            _ => None,
        };
        if let Some(at) = at {
            let octets: [u8; 16] = value[at..at + 16].try_into().unwrap();
            addresses.push(octets.into());
        }
        rest = behind;
    }
    addresses
}

fn is_answered_with_others(kinds: &[RequestedAssociationKind]) {
    let database = Arc::<FakeDatabase<V6>>::default();
    let (mut one, mut two) =
        (LeasedElsewhereServer::start(&database, 1), LeasedElsewhereServer::start(&database, 2));
    let anything: Vec<_> = kinds.iter().map(|&kind| (kind, None)).collect();
    let leased = leased_in(&one.answer(&request(1, &anything)));
    assert_eq!(leased.len(), kinds.len());
    let requested: Vec<_> = kinds.iter().copied().zip(leased.iter().copied().map(Some)).collect();
    for client in 2..20 {
        let others = leased_in(&two.answer(&request(client, &requested)));
        assert_eq!(others.len(), kinds.len());
        assert!(others.iter().all(|other| !leased.contains(other)), "{others:?} of {leased:?}");
    }
}

#[test]
fn an_address_or_prefix_that_another_server_has_given_is_answered_with_another() {
    is_answered_with_others(&[RequestedAssociationKind::Address]);
    is_answered_with_others(&[RequestedAssociationKind::Prefix]);
}

#[test]
fn the_questions_of_several_associations_are_asked_once_each() {
    is_answered_with_others(&[RequestedAssociationKind::Address, RequestedAssociationKind::Prefix]);
}
