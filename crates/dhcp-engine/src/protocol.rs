//! What a shard has to know of a protocol to serve it: how messages are read, who sent them, and
//! what becomes of one. Everything else of a shard is written once for both families.

use core::fmt::Debug;

use base::{Now, Prefetch};
use dhcp_lease::{LeaseStore, PoolIndex};
use dhcp_wire::Parsing;

use crate::classify::Classes;
use crate::counters::ShardCounters;
use crate::events::SubnetEvents;
use crate::hosts::{HostCache, HostTerms, HostTrails, Hosts, Reserving};
use crate::in_flight::{ClientKeys, InFlight};
use crate::interfaces::InterfaceNames;
use crate::reason::DropReason;
use crate::statistic::{DropStatistic, Event};

/// DHCPv4 ([`dhcp_lease::v4::V4`]) or DHCPv6 ([`dhcp_lease::v6::V6`]).
pub trait Protocol: Reserving {
    /// A received message, checked and borrowed from its octets.
    type Message<'m>;
    /// The compiled configuration.
    type Snapshot: Debug;
    /// How a message came in.
    type Ingress: Copy + Debug;
    /// Where a reply goes.
    type Destination: Copy + Debug;
    /// What a transaction needs and need not keep: allocated once for each shard.
    type Work: Debug + Default;

    /// Octets of the longest reply.
    const REPLY_LEN_MAX: usize;
    /// Names of the messages that are counted, in the order of [`Protocol::received_index`].
    const RECEIVED: &'static [&'static str];
    /// What Kea's statistics call these kinds: `discover` in `pkt4-discover-received`.
    const RECEIVED_STATISTICS: &'static [&'static str];
    /// Names of the replies, in the order of [`Emitted::kind`].
    const SENT: &'static [&'static str];
    /// What Kea's statistics call these kinds: `offer` in `pkt4-offer-sent`.
    const SENT_STATISTICS: &'static [&'static str];
    /// What Kea's statistics of packets begin with: `pkt4`, `pkt6`.
    const PACKETS: &'static str;
    /// Names of Kea's statistics of [`Event`]s; empty where the family has none.
    const EVENTS: [&'static str; Event::COUNT];
    /// Names of the reasons why datagrams are malformed, in the order of [`Protocol::parse`].
    const MALFORMED: &'static [&'static str];
    /// Names of the refusals that replies may carry.
    const REFUSALS: &'static [&'static str];

    /// Reads a datagram as strictly as `snapshot` wants it.
    ///
    /// # Errors
    ///
    /// The position of the reason in [`Protocol::MALFORMED`].
    fn parse<'m>(snapshot: &Self::Snapshot, octets: &'m [u8]) -> Result<Self::Message<'m>, usize>;

    /// Kea's statistic for the reason at `index` of [`Protocol::MALFORMED`]; and where Kea reads the
    /// message all the same, the kind in [`Protocol::RECEIVED`] that it counts it under.
    fn malformed_statistic(index: usize) -> (DropStatistic, Option<usize>);

    /// Who is in which class under `snapshot`.
    fn classes(snapshot: &Self::Snapshot) -> &Classes;

    /// `id`s of the subnets, in the order of their indexes.
    fn ids_of_subnets(snapshot: &Self::Snapshot) -> impl Iterator<Item = u32>;

    /// Position of the message's type in [`Protocol::RECEIVED`].
    fn received_index(message: &Self::Message<'_>) -> usize;

    /// Whether the message begins an exchange: under overload those that end one go first.
    fn begins_exchange(message: &Self::Message<'_>) -> bool;

    /// The client that must not have two messages in flight; `None` when the message changes
    /// nothing and names no client.
    ///
    /// # Errors
    ///
    /// Why the message is dropped at once.
    fn client(
        in_flight: &InFlight,
        message: &Self::Message<'_>,
    ) -> Result<Option<ClientKeys>, DropReason>;

    /// The hosts of the configuration.
    fn host_tables(snapshot: &Self::Snapshot) -> &Hosts<Self, HostTerms<Self>>;

    /// The pools of the configuration.
    fn pool_set(snapshot: &Self::Snapshot) -> &Self::PoolSet;

    /// Tells `store` what it may bring near before the message is served, as far as the message
    /// says, and returns what else it leads to.
    fn expect<S: LeaseStore<Self>>(
        snapshot: &Self::Snapshot,
        message: &Self::Message<'_>,
        ingress: Self::Ingress,
        store: &mut S,
        prefetch: Prefetch,
    ) -> Ahead;

    /// Runs the transaction of a message to its end and writes the reply, if there is one, into
    /// [`Desk::buffer`].
    fn serve<S: LeaseStore<Self>>(
        now: Now,
        snapshot: &Self::Snapshot,
        message: &Self::Message<'_>,
        ingress: Self::Ingress,
        desk: Desk<'_, Self, S>,
    ) -> Served<Self::Destination>;
}

/// What a message leads to before it is served: a guess.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ahead {
    /// Its look-ups of hosts, when there are any.
    pub trails: Option<HostTrails>,
    /// The pool that it will have a candidate of, unless something is reserved; `None` when it has
    /// said which slot it wants.
    pub pool: Option<PoolIndex>,
}

/// The names of the values in a list of `$len` places, as counters have them; places behind the
/// list are called `$rest`.
macro_rules! names {
    ($values:expr, $len:expr, $rest:literal) => {
        &{
            let mut names = [$rest; $len];
            let mut at = 0;
            while at < $len && at < $values.len() {
                names[at] = $values[at].name();
                at += 1;
            }
            names
        }
    };
}

pub(crate) use names;

/// How options are read under `lenient-option-parsing`, or without.
pub(crate) const fn parsing_of(is_lenient: bool) -> Parsing {
    if is_lenient { Parsing::Lenient } else { Parsing::Strict }
}

/// What a shard lends to a transaction.
#[derive(Debug)]
pub struct Desk<'d, P: Protocol, S> {
    /// The leases.
    pub store: &'d mut S,
    /// Reused between messages; whatever it held is void.
    pub work: &'d mut P::Work,
    /// Where the reply is written.
    pub buffer: &'d mut [u8],
    /// The shard's counters.
    pub counters: &'d ShardCounters<P>,
    /// Where events of the snapshot's subnets are counted.
    pub subnet_events: &'d SubnetEvents,
    /// The machine's interfaces.
    pub interfaces: &'d InterfaceNames,
    /// Hosts that were looked up elsewhere.
    pub hosts: &'d HostCache<P>,
}

/// How a message ended.
#[derive(Clone, Copy, Debug)]
pub enum Served<D> {
    /// A reply is in the buffer.
    Reply(Emitted<D>),
    /// No reply, as the protocol has it.
    Silence,
    /// A row that matters is not settled: run the message again after this epoch.
    Wait(u64),
    /// Hosts were looked for that are not known yet: run the message again when they are.
    AwaitHosts,
    /// No reply, counted.
    Drop(DropReason),
}

/// A reply in the buffer.
#[derive(Clone, Copy, Debug)]
pub struct Emitted<D> {
    /// Its octets.
    pub len: usize,
    /// Where it goes.
    pub destination: D,
    /// Position of its kind in [`Protocol::SENT`].
    pub kind: usize,
    /// It may leave once this row epoch is settled; 0: at once.
    pub gate_epoch: u64,
}

/// A message as far as whoever measures cares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Position of its type in [`Protocol::RECEIVED`].
    pub kind: usize,
    /// When it came, on the monotonic clock.
    pub since_ns: u64,
    /// Its number at its shard, from 1; 0 before it is to enter.
    pub number: u64,
}

/// What became of a message, for whoever listens.
#[derive(Clone, Copy, Debug)]
pub enum Notice<D> {
    /// It came in and is well formed.
    Received,
    /// It is malformed; the position of the reason in [`Protocol::MALFORMED`].
    Malformed(usize),
    /// It gets no reply, counted.
    Dropped(DropReason),
    /// It gets no reply, as the protocol has it.
    Silent,
    /// A reply has left.
    Sent {
        /// Where it goes.
        destination: D,
        /// What it answers.
        asked: Asked,
    },
}

/// Where replies go: the socket's transmit batch, or a test's list.
pub trait Transmit<P: Protocol> {
    /// Takes one reply; false when it could not be taken.
    fn transmit(&mut self, destination: P::Destination, ingress: P::Ingress, octets: &[u8])
    -> bool;

    /// Hears what the reply answers that was just taken.
    fn answered(&mut self, _asked: Asked) {}

    /// Whether anybody listens to [`Transmit::hear`]: asked with every message, so it has to be
    /// known already.
    fn is_listening(&self) -> bool {
        false
    }

    /// Hears what became of the message `octets`, which came in by `ingress`. `octets` are the
    /// reply's when that has left, or could not.
    fn hear(&self, _notice: Notice<P::Destination>, _octets: &[u8], _ingress: P::Ingress) {}
}
