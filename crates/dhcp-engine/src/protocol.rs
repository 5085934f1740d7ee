//! Interface between a shard and a protocol: how messages are read, the client that sent one, and
//! its outcome. All other code of a shard is written once for both families.

use core::fmt::Debug;

use base::{Now, Prefetch};
use dhcp_lease::{LeaseStore, PoolIndex};
use dhcp_wire::OptionParsing;

use crate::classify::Classes;
use crate::counters::ShardCounters;
use crate::events::SubnetEvents;
use crate::hosts::{HostCache, HostHashes, HostTerms, Hosts, ReservationProtocol};
use crate::in_flight::{ClientKeys, InFlight};
use crate::interfaces::InterfaceNames;
use crate::reason::DropReason;
use crate::statistic::{DropStatistic, StatisticEvent};

/// DHCPv4 ([`dhcp_lease::v4::V4`]) or DHCPv6 ([`dhcp_lease::v6::V6`]).
pub trait Protocol: ReservationProtocol {
    /// Received message, checked and borrowed from its bytes.
    type Message<'m>;
    /// Compiled configuration.
    type Snapshot: Debug;
    /// Ingress of a message: where it came in.
    type Ingress: Copy + Debug;
    /// Destination of a reply.
    type Destination: Copy + Debug;
    /// Scratch memory of a transaction, which keeps nothing for the next: allocated once for each
    /// shard.
    type Work: Debug + Default;

    /// Length of the longest reply, in bytes.
    const REPLY_LEN_MAX: usize;
    /// Names of the counted messages, in the order of [`Protocol::received_index`].
    const RECEIVED: &'static [&'static str];
    /// Names of the counted messages in Kea's statistics: `discover` in `pkt4-discover-received`.
    const RECEIVED_STATISTICS: &'static [&'static str];
    /// Names of the replies, in the order of [`WrittenReply::kind`].
    const SENT: &'static [&'static str];
    /// Names of the replies in Kea's statistics: `offer` in `pkt4-offer-sent`.
    const SENT_STATISTICS: &'static [&'static str];
    /// Prefix of Kea's statistics of packets: `pkt4`, `pkt6`.
    const PACKETS: &'static str;
    /// Names of Kea's statistics of [`StatisticEvent`]s; empty where the family has none.
    const EVENTS: [&'static str; StatisticEvent::COUNT];
    /// Names of the reasons why datagrams are malformed, in the order of [`Protocol::parse`].
    const MALFORMED: &'static [&'static str];
    /// Names of the refusals that replies may carry.
    const REFUSALS: &'static [&'static str];

    /// Reads a datagram as strictly as `snapshot` configures.
    ///
    /// # Errors
    ///
    /// The position of the reason in [`Protocol::MALFORMED`].
    fn parse<'m>(snapshot: &Self::Snapshot, octets: &'m [u8]) -> Result<Self::Message<'m>, usize>;

    /// Returns Kea's statistic for the reason at `index` of [`Protocol::MALFORMED`]; and where Kea
    /// reads the message nevertheless, the position in [`Protocol::RECEIVED`] of the kind that Kea
    /// counts.
    fn malformed_statistic(index: usize) -> (DropStatistic, Option<usize>);

    /// Returns the client classes of `snapshot`.
    fn classes(snapshot: &Self::Snapshot) -> &Classes;

    /// Returns the `id`s of the subnets, in the order of their indexes.
    fn ids_of_subnets(snapshot: &Self::Snapshot) -> impl Iterator<Item = u32>;

    /// Returns the position of the message's type in [`Protocol::RECEIVED`].
    fn received_index(message: &Self::Message<'_>) -> usize;

    /// Returns true if the message begins an exchange: under overload, messages that end an
    /// exchange are served first.
    fn begins_exchange(message: &Self::Message<'_>) -> bool;

    /// Returns the client that must not have two messages in flight; `None` when the message
    /// changes nothing and names no client.
    ///
    /// # Errors
    ///
    /// The reason why the message is dropped at once.
    fn client(
        in_flight: &InFlight,
        message: &Self::Message<'_>,
    ) -> Result<Option<ClientKeys>, DropReason>;

    /// Returns the hosts of the configuration.
    fn host_tables(snapshot: &Self::Snapshot) -> &Hosts<Self, HostTerms<Self>>;

    /// Returns the pools of the configuration.
    fn pool_set(snapshot: &Self::Snapshot) -> &Self::PoolSet;

    /// Makes `store` prefetch what the message will read, as far as the message says, and returns
    /// the other look-ups that it leads to.
    fn prefetch<S: LeaseStore<Self>>(
        snapshot: &Self::Snapshot,
        message: &Self::Message<'_>,
        ingress: Self::Ingress,
        store: &mut S,
        prefetch: Prefetch,
    ) -> LookupGuess;

    /// Runs the transaction of a message to its end and writes the reply, if there is one, into
    /// [`ServeContext::buffer`].
    fn serve<S: LeaseStore<Self>>(
        now: Now,
        snapshot: &Self::Snapshot,
        message: &Self::Message<'_>,
        ingress: Self::Ingress,
        context: ServeContext<'_, Self, S>,
    ) -> MessageOutcome<Self::Destination>;
}

/// Guess at the look-ups of a message before it is served.
#[derive(Clone, Copy, Debug, Default)]
pub struct LookupGuess {
    /// Look-ups of hosts for the message, when there are any.
    pub host_hashes: Option<HostHashes>,
    /// Pool from which the message will get a candidate, unless something is reserved for its
    /// client; `None` when the message has named the slot that it wants.
    pub pool: Option<PoolIndex>,
}

/// Expands to the names of the values in a list of `$len` places, as counters have them; names
/// after the list are `$rest`.
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

/// Returns how options are read with `lenient-option-parsing`, or without it.
pub(crate) const fn parsing_of(is_lenient: bool) -> OptionParsing {
    if is_lenient { OptionParsing::Lenient } else { OptionParsing::Strict }
}

/// Context that a shard lends to a transaction.
#[derive(Debug)]
pub struct ServeContext<'d, P: Protocol, S> {
    /// Lease store.
    pub store: &'d mut S,
    /// Scratch memory that is reused between messages; its previous content is void.
    pub work: &'d mut P::Work,
    /// Buffer for the reply.
    pub buffer: &'d mut [u8],
    /// Counters of the shard.
    pub counters: &'d ShardCounters<P>,
    /// Event counts of the snapshot's subnets.
    pub subnet_events: &'d SubnetEvents,
    /// Interfaces of the machine.
    pub interfaces: &'d InterfaceNames,
    /// Cache of hosts that were looked up outside the configuration.
    pub hosts: &'d HostCache<P>,
}

/// Outcome of a message.
#[derive(Clone, Copy, Debug)]
pub enum MessageOutcome<D> {
    /// The buffer has a reply.
    Reply(WrittenReply<D>),
    /// The message gets no reply, by the rules of the protocol.
    Silence,
    /// A row that matters is not settled: run the message again after this epoch.
    Wait(u64),
    /// Hosts that the transaction needs are not looked up yet: run the message again when they are.
    AwaitHosts,
    /// The message gets no reply, and its reason is counted.
    Drop(DropReason),
}

/// Reply in the buffer.
#[derive(Clone, Copy, Debug)]
pub struct WrittenReply<D> {
    /// Length of the reply, in bytes.
    pub len: usize,
    /// Destination of the reply.
    pub destination: D,
    /// Position of the reply's kind in [`Protocol::SENT`].
    pub kind: usize,
    /// Row epoch that must be settled before the reply may leave; 0: it may leave at once.
    pub gate_epoch: u64,
}

/// Data of a request that measurements need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeasuredRequest {
    /// Position of the request's type in [`Protocol::RECEIVED`].
    pub kind: usize,
    /// Monotonic time at which the request came, in nanoseconds.
    pub since_ns: u64,
    /// Number of the request at its shard, from 1; 0 before it is to enter.
    pub number: u64,
}

/// Outcome of a message, as the shard reports it to a listening [`ReplySink`].
#[derive(Clone, Copy, Debug)]
pub enum Notice<D> {
    /// The message came in and is well formed.
    Received,
    /// The message is malformed; the position of the reason in [`Protocol::MALFORMED`].
    Malformed(usize),
    /// The message gets no reply, and its reason is counted.
    Dropped(DropReason),
    /// The message gets no reply, by the rules of the protocol.
    Silent,
    /// A reply has left.
    Sent {
        /// Destination of the reply.
        destination: D,
        /// Request that the reply answers.
        request: MeasuredRequest,
    },
}

/// Receiver of replies: the socket's transmit batch, or a test's list.
pub trait ReplySink<P: Protocol> {
    /// Takes one reply; returns false when it could not take it.
    fn transmit(&mut self, destination: P::Destination, ingress: P::Ingress, octets: &[u8])
    -> bool;

    /// Receives the request whose reply [`ReplySink::transmit`] just took.
    fn on_transmitted(&mut self, _asked: MeasuredRequest) {}

    /// Returns true if [`ReplySink::on_notice`] does anything: the shard calls this for every
    /// message, so the result has to be known already.
    fn is_listening(&self) -> bool {
        false
    }

    /// Receives the outcome of the message `octets`, which came in by `ingress`. `octets` are the
    /// reply's when the reply has left, or could not leave.
    fn on_notice(&self, _notice: Notice<P::Destination>, _octets: &[u8], _ingress: P::Ingress) {}
}
