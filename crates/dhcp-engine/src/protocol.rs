//! Interface between a shard and a protocol: how messages are read, which client sent one, and its
//! outcome. All other code of a shard is written once for both families.

use core::fmt::Debug;

use base::{Now, Prefetch};
use dhcp_config::IdentifierKind;
use dhcp_lease::{LeaseStore, PoolIndex, RecordedIngress};

use crate::counters::ShardCounters;
use crate::events::SubnetEvents;
use crate::hosts::{HostCache, HostHashes, Identifiers};
use crate::in_flight::{ClientKeys, InFlight};
use crate::interfaces::InterfaceNames;
use crate::pair_filter::PairClient;
use crate::pair_filters::PairFilters;
use crate::prefixes::SubnetIndex;
use crate::reason::DropReason;
use crate::snapshot::{ScopedProtocol, Snapshot};
use crate::statistic::{DropStatistic, StatisticEvent};
use crate::transaction::NoReply;

/// Protocol that a shard serves: DHCPv4 ([`dhcp_lease::v4::V4`]) or DHCPv6
/// ([`dhcp_lease::v6::V6`]).
pub trait Protocol: ScopedProtocol {
    /// Type of a received message, checked and borrowed from its bytes.
    type Message<'m>;
    /// Type of a message's ingress: the address and interface at which it was received.
    type Ingress: Copy + Debug;
    /// Type of a reply's destination.
    type Destination: Copy + Debug;
    /// Type of the scratch memory of a message's transaction, allocated once for each shard; a
    /// transaction leaves nothing in it for the next.
    type Work: Debug + Default;

    /// Length of the longest reply of the protocol, in bytes.
    const REPLY_LEN_MAX: usize;
    /// Names by which received messages are counted, in the order of [`Protocol::received_index`].
    const RECEIVED: &'static [&'static str];
    /// Names of received messages in Kea's statistics: `discover` in `pkt4-discover-received`.
    const RECEIVED_STATISTICS: &'static [&'static str];
    /// Names by which sent replies are counted, in the order of [`WrittenReply::kind`].
    const SENT: &'static [&'static str];
    /// Names of sent replies in Kea's statistics: `offer` in `pkt4-offer-sent`.
    const SENT_STATISTICS: &'static [&'static str];
    /// Prefix of Kea's statistics of packets: `pkt4` or `pkt6`.
    const PACKETS: &'static str;
    /// Names of Kea's statistics of [`StatisticEvent`]s; empty where the family has none.
    const EVENTS: [&'static str; StatisticEvent::COUNT];
    /// Names of the reasons for which datagrams are malformed, in the order of [`Protocol::parse`].
    const MALFORMED: &'static [&'static str];
    /// Names of the refusals that replies may carry, by which they are counted.
    const REFUSALS: &'static [&'static str];

    /// Returns the part of a message's ingress that events of leases keep.
    fn recorded_ingress(ingress: Self::Ingress) -> RecordedIngress;

    /// Returns the address for the event of a message that the server has processed without a
    /// change of a lease, unspecified if the message is about none; `None` if listeners get no
    /// event of such a message.
    fn answer_without_lease(
        message: &Self::Message<'_>,
        outcome: Result<&WrittenReply<Self::Destination>, NoReply>,
    ) -> Option<Self::Address>;

    /// Parses a datagram as strictly as `snapshot` configures; the error is the index of the reason
    /// in [`Protocol::MALFORMED`].
    ///
    /// # Errors
    ///
    /// The position of the reason in [`Protocol::MALFORMED`].
    fn parse<'m>(snapshot: &Snapshot<Self>, octets: &'m [u8]) -> Result<Self::Message<'m>, usize>;

    /// Returns Kea's statistic for the reason at `index` of [`Protocol::MALFORMED`]; and where Kea
    /// reads the message nevertheless, the position in [`Protocol::RECEIVED`] of the kind that Kea
    /// counts.
    fn malformed_statistic(index: usize) -> (DropStatistic, Option<usize>);

    /// Returns the position of the message's type in [`Protocol::RECEIVED`]; a type that `snapshot`
    /// does not serve counts as unknown.
    fn received_index(snapshot: &Snapshot<Self>, message: &Self::Message<'_>) -> usize;

    /// Returns true if the message begins an exchange: under overload, messages that end an
    /// exchange are served first.
    fn begins_exchange(message: &Self::Message<'_>) -> bool;

    /// Returns the client of a message for which one server of a pair is responsible; `None` if
    /// every server answers it.
    fn pair_client<'m>(message: &Self::Message<'m>) -> Option<PairClient<'m>>;

    /// Returns the keys of the client that sent the message, which must not have two messages in
    /// flight; `None` when the message changes nothing and names no client.
    ///
    /// # Errors
    ///
    /// The reason why the message is dropped at once.
    fn client(
        in_flight: &InFlight,
        message: &Self::Message<'_>,
    ) -> Result<Option<ClientKeys>, DropReason>;

    /// Makes `store` prefetch the memory that the message will read, as far as the message reveals
    /// it, and returns the other look-ups that it leads to.
    fn prefetch<S: LeaseStore<Self>>(
        snapshot: &Snapshot<Self>,
        message: &Self::Message<'_>,
        ingress: Self::Ingress,
        store: &mut S,
        prefetch: Prefetch,
    ) -> LookupGuess;

    /// Runs the transaction of a message to its end and writes the reply, if there is one, into
    /// [`ServeContext::buffer`].
    ///
    /// # Errors
    ///
    /// The reason why there is no reply, or none yet.
    fn serve<S: LeaseStore<Self>>(
        now: Now,
        snapshot: &Snapshot<Self>,
        message: &Self::Message<'_>,
        ingress: Self::Ingress,
        context: ServeContext<'_, Self, S>,
    ) -> Result<WrittenReply<Self::Destination>, NoReply>;
}

/// Guess at the look-ups of hosts and pools that the transaction of a message will make.
#[derive(Clone, Copy, Debug, Default)]
pub struct LookupGuess {
    /// Hashes of the host look-ups that the message will make, when it makes any.
    pub host_hashes: Option<HostHashes>,
    /// Pool from which the message will get a candidate, unless an address is reserved for its
    /// client; `None` when the message names the address that the client wants.
    pub pool: Option<PoolIndex>,
}

impl LookupGuess {
    /// Returns the guess for a message that likely belongs to the subnet that `subnet` finds, and
    /// in which `octets` finds identifiers by which hosts are looked up. `takes_any`: the client
    /// wants any address.
    pub(crate) fn new<'i, F: ScopedProtocol>(
        snapshot: &Snapshot<F>,
        takes_any: bool,
        subnet: impl FnOnce() -> Option<SubnetIndex>,
        octets: impl Fn(IdentifierKind) -> Option<&'i [u8]>,
    ) -> Self {
        let has_hosts = !snapshot.hosts.is_empty();
        let subnet = if has_hosts || takes_any { subnet() } else { None };
        let Some(subnet) = subnet else { return Self::default() };
        let host_hashes = has_hosts.then(|| {
            let identifiers = Identifiers::new(&snapshot.host_identifiers, octets);
            let terms = snapshot.subnet(subnet);
            HostHashes::new(&snapshot.hosts, terms.id, terms.reservation_modes, &identifiers)
        });
        let order = snapshot.links.pool_order_from(snapshot.preference.first(subnet));
        Self { host_hashes, pool: if takes_any { order.first().copied() } else { None } }
    }
}

/// Expands to a list of `$len` counter names: those of the `$values`, then `$rest` up to the end.
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

/// Context that a shard lends to the transaction of a message.
#[derive(Debug)]
pub struct ServeContext<'d, P: Protocol, S> {
    /// Lease store of the shard.
    pub store: &'d mut S,
    /// Scratch memory of the transaction, reused between messages; its previous content is void.
    pub work: &'d mut P::Work,
    /// Buffer into which the transaction writes the reply.
    pub buffer: &'d mut [u8],
    /// Counters of the shard that serves the message.
    pub counters: &'d ShardCounters<P>,
    /// Event counts of the subnets in the snapshot.
    pub subnet_events: &'d SubnetEvents,
    /// Names of the machine's network interfaces.
    pub interfaces: &'d InterfaceNames,
    /// Cache of the shard for hosts that were looked up outside the configuration.
    pub hosts: &'d HostCache<P>,
    /// Filters of the relationships of high availability.
    pub pairs: &'d PairFilters,
}

/// Reply that a transaction has written into the buffer.
#[derive(Clone, Copy, Debug)]
pub struct WrittenReply<D> {
    /// Length of the reply, in bytes.
    pub len: usize,
    /// Destination to send the reply to.
    pub destination: D,
    /// Position of the reply's kind in [`Protocol::SENT`].
    pub kind: usize,
    /// Row epoch that must be settled, its lease rows durable, before the reply may leave; 0: the
    /// reply may leave at once.
    pub gate_epoch: u64,
}

/// Data of a received request that measurements of latency and load need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeasuredRequest {
    /// Position of the request's type in [`Protocol::RECEIVED`].
    pub kind: usize,
    /// Monotonic time at which the request was received, in nanoseconds.
    pub since_ns: u64,
    /// Number of the request at its shard, from 1; 0 before the request is to enter.
    pub number: u64,
}

/// Outcome of a message, as the shard reports it to a listening [`ReplySink`].
#[derive(Clone, Copy, Debug)]
pub enum Notice<D> {
    /// Receipt of a well-formed message.
    Received,
    /// Receipt of a malformed message, with the position of the reason in [`Protocol::MALFORMED`].
    Malformed(usize),
    /// Drop of the message without a reply; the counter of this reason is increased.
    Dropped(DropReason),
    /// End of the message without a reply, since the protocol requires none.
    Silent,
    /// Departure of a reply.
    Sent {
        /// Destination that the reply was sent to.
        destination: D,
        /// Request that the sent reply answers.
        request: MeasuredRequest,
    },
}

/// Receiver of a shard's replies: the socket's transmit batch, or a test's list.
pub trait ReplySink<P: Protocol> {
    /// Takes one reply to send; returns false when the sink could not take it.
    fn transmit(&mut self, destination: P::Destination, ingress: P::Ingress, octets: &[u8])
    -> bool;

    /// Receives the request whose reply [`ReplySink::transmit`] just took.
    fn on_transmitted(&mut self, _asked: MeasuredRequest) {}

    /// Returns true if [`ReplySink::on_notice`] has an effect: the shard calls this for every
    /// message, so the result has to be known already.
    fn is_listening(&self) -> bool {
        false
    }

    /// Receives the outcome of the message `octets`, which was received by `ingress`. `octets` are
    /// the reply's when the reply has left, or could not leave.
    fn on_notice(&self, _notice: Notice<P::Destination>, _octets: &[u8], _ingress: P::Ingress) {}
}
