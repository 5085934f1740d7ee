//! The message transaction: from a parsed message to a reply, silence or a counted drop.
//!
//! It steps until it has an outcome. Each step names what it needs next (facts, or the result of
//! a commit) and is given it in the next call; the decisions themselves are in `decide`. Reasons
//! to step again are bounded: after [`COMMIT_TRIES_MAX`] lost races the message is dropped and
//! counted, and the client's retransmission starts afresh.

use core::net::Ipv4Addr;

use base::Now;
use dhcp_lease::v4::{Change, Facts, FetchKeys, LeaseStore, Receipt, Refusal, V4};
use dhcp_lease::{HardwareAddress, Identity};
use dhcp_wire::v4::{Message, MessageType, option, relay};

use super::decide::{self, Decision};
use super::reply::{Reply, Terms};
use super::{DropReason, Ingress, Snapshot, select};
use crate::InterfaceNames;
use crate::prefixes::SubnetIndex;

/// Commits that one message may lose to others before it is dropped. Each loss means that the
/// slot went to someone else in the microseconds since it was fetched.
pub const COMMIT_TRIES_MAX: u8 = 8;

/// What the client wants, told by message type and fields (RFC 2131 §4.3.2, table 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// DHCPDISCOVER; the address is a wish.
    Discover(Option<Ipv4Addr>),
    /// DHCPREQUEST that answers our offer.
    Select(Option<Ipv4Addr>),
    /// DHCPREQUEST that answers the offer of another server: ours is not needed.
    TakeOtherOffer,
    /// DHCPREQUEST of a client that has restarted and remembers an address.
    Reboot(Ipv4Addr),
    /// DHCPREQUEST in RENEWING or REBINDING, or without any address at all.
    Renew(Ipv4Addr),
    /// DHCPDECLINE.
    Decline(Ipv4Addr),
    /// DHCPRELEASE.
    Release(Ipv4Addr),
    /// DHCPINFORM.
    Inform,
}

/// What a transaction needs or has come to.
#[derive(Debug)]
pub enum Step<'t> {
    /// Fetch these and step with [`Input::Facts`].
    Fetch(FetchKeys<'t>),
    /// Commit this and step with [`Input::Committed`].
    Commit(Change<'t>),
    /// The end.
    Done(Outcome),
}

/// What the last step asked for.
#[derive(Debug)]
pub enum Input<'f> {
    /// Nothing yet: the first step.
    Begin,
    /// The facts.
    Facts(&'f Facts),
    /// The commit's result.
    Committed(Result<Receipt, Refusal>),
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// Send this once its epoch is settled.
    Reply(Reply),
    /// Done without a reply, as the protocol has it (RELEASE, DECLINE, an offer not taken).
    Silence,
    /// The slot's last row is not settled: run the message again after this epoch.
    Wait(u64),
    /// No reply, counted.
    Drop(DropReason),
}

/// A host name as the lease keeps it: lower case, printable ASCII.
#[derive(Clone, Debug)]
pub(super) struct HostName {
    len: u8,
    octets: [u8; 255],
}

impl HostName {
    fn of(message: &Message<'_>) -> Self {
        let mut name = Self { len: 0, octets: [0; 255] };
        let Some(value) = message.option(option::HOST_NAME) else { return name };
        for octet in value.octets().take(255) {
            if octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_') {
                name.octets[usize::from(name.len)] = octet.to_ascii_lowercase();
                name.len += 1;
            }
        }
        name
    }

    pub(super) fn as_str(&self) -> &str {
        core::str::from_utf8(&self.octets[..usize::from(self.len)])
            .expect("only ASCII octets are kept")
    }
}

/// One message on its way.
#[derive(Debug)]
pub struct Transaction<'m> {
    pub(super) snapshot: &'m Snapshot,
    pub(super) message: Message<'m>,
    pub(super) intent: Intent,
    pub(super) identity: Identity<'m>,
    pub(super) subnet: SubnetIndex,
    pub(super) server_id: Ipv4Addr,
    pub(super) host_name: HostName,
    /// The reply that follows the change on its way, if any does.
    reply_after_commit: Option<Terms>,
    tries: u8,
    wish: Wish,
}

/// Whether the next fetch claims a free address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    /// No.
    Nothing,
    /// Only when the client has no slot at all.
    SpareCandidate,
    /// Yes: nothing that the client has or asked for will do.
    Candidate,
}

impl<'m> Transaction<'m> {
    /// Opens the transaction of `message`: what it wants, who asks, which subnet it belongs to.
    ///
    /// # Errors
    ///
    /// The reason why it is dropped at once.
    pub fn begin(
        snapshot: &'m Snapshot,
        message: Message<'m>,
        ingress: Ingress,
        interfaces: &InterfaceNames,
    ) -> Result<Self, DropReason> {
        if message.op() != 1 {
            return Err(DropReason::NotARequest);
        }
        let server_id = server_identifier(&message, ingress);
        let intent = intent_of(&message, server_id)?;
        if intent == Intent::Inform && !has_address(&message, ingress) {
            return Err(DropReason::NoAddress);
        }
        let subnet =
            select::subnet(snapshot, &message, ingress, interfaces).ok_or(DropReason::NoSubnet)?;
        let hardware = HardwareAddress::new(message.htype(), message.chaddr());
        let client_id = client_id(&message)?;
        if hardware.is_empty() && client_id.is_none() {
            return Err(DropReason::NoIdentity);
        }
        let match_client_id = snapshot.subnet(subnet).match_client_id;
        Ok(Self {
            snapshot,
            intent,
            identity: Identity { hardware, client_id, match_client_id },
            subnet,
            server_id,
            host_name: HostName::of(&message),
            message,
            reply_after_commit: None,
            tries: 0,
            wish: match intent {
                Intent::Discover(None) | Intent::Select(None) => Wish::SpareCandidate,
                _ => Wish::Nothing,
            },
        })
    }

    /// Who asks.
    #[must_use]
    pub const fn identity(&self) -> &Identity<'m> {
        &self.identity
    }

    /// Goes on with what the last step asked for.
    pub fn step(&mut self, now: Now, input: &Input<'_>) -> Step<'_> {
        match input {
            Input::Begin if self.intent == Intent::Inform => self.finish(decide::inform()),
            Input::Begin => self.fetch(),
            Input::Facts(facts) => self.decide(now, facts),
            Input::Committed(Ok(receipt)) => Step::Done(self.committed(*receipt)),
            Input::Committed(Err(refusal)) => self.refused(*refusal),
        }
    }

    fn fetch(&self) -> Step<'_> {
        let asked = match self.intent {
            Intent::Discover(address) | Intent::Select(address) => address,
            Intent::Reboot(address)
            | Intent::Renew(address)
            | Intent::Decline(address)
            | Intent::Release(address) => Some(address),
            Intent::TakeOtherOffer | Intent::Inform => None,
        };
        let candidate_pools = match self.wish {
            Wish::Nothing => &[],
            Wish::SpareCandidate | Wish::Candidate => self.snapshot.pool_order(self.subnet),
        };
        Step::Fetch(FetchKeys {
            identity: self.identity,
            addresses: [asked, None, None, None],
            pools: self.snapshot.pools(),
            candidate_pools,
            is_candidate_spare: self.wish == Wish::SpareCandidate,
        })
    }

    fn decide(&mut self, now: Now, facts: &Facts) -> Step<'_> {
        match decide::decide(self, now, facts) {
            Decision::NeedCandidate => {
                let was_claimed = match self.wish {
                    Wish::Nothing => false,
                    Wish::SpareCandidate => facts.mine_count == 0,
                    Wish::Candidate => true,
                };
                if was_claimed {
                    return Step::Done(Outcome::Drop(DropReason::PoolExhausted));
                }
                self.wish = Wish::Candidate;
                self.fetch()
            }
            Decision::Change { change_of, action, reply } => {
                self.reply_after_commit = reply;
                let change = Change {
                    identity: self.identity,
                    address: change_of.address,
                    expected_version: change_of.version,
                    action: action.with_host_name(self),
                };
                Step::Commit(change)
            }
            other => self.finish(other),
        }
    }

    fn finish(&self, decision: Decision) -> Step<'_> {
        Step::Done(match decision {
            Decision::Reply(terms, gate_epoch) => Outcome::Reply(self.reply(terms, gate_epoch)),
            Decision::Wait(epoch) => Outcome::Wait(epoch),
            Decision::Drop(reason) => Outcome::Drop(reason),
            Decision::Silence | Decision::Change { .. } | Decision::NeedCandidate => {
                Outcome::Silence
            }
        })
    }

    fn committed(&self, receipt: Receipt) -> Outcome {
        match self.reply_after_commit {
            Some(terms) => Outcome::Reply(self.reply(terms, receipt.row_epoch)),
            None => Outcome::Silence,
        }
    }

    fn refused(&mut self, refusal: Refusal) -> Step<'_> {
        match refusal {
            Refusal::Stale if self.tries < COMMIT_TRIES_MAX => {
                self.tries += 1;
                self.fetch()
            }
            Refusal::Stale | Refusal::NoSuchSlot => {
                Step::Done(Outcome::Drop(DropReason::Contention))
            }
            Refusal::Unsettled(epoch) => Step::Done(Outcome::Wait(epoch)),
            Refusal::Failed => Step::Done(Outcome::Drop(DropReason::StoreFailed)),
        }
    }

    const fn reply(&self, terms: Terms, gate_epoch: u64) -> Reply {
        Reply { terms, subnet: self.subnet, server_id: self.server_id, gate_epoch }
    }

    /// The parsed message.
    #[must_use]
    pub const fn message(&self) -> &Message<'m> {
        &self.message
    }
}

/// Runs a transaction to its end against a store that answers at once.
pub fn drive(
    transaction: &mut Transaction<'_>,
    now: Now,
    store: &mut impl LeaseStore<V4>,
    facts: &mut Facts,
) -> Outcome {
    let mut input_is_facts = false;
    let mut committed = None;
    loop {
        let input = match committed.take() {
            Some(result) => Input::Committed(result),
            None if input_is_facts => Input::Facts(facts),
            None => Input::Begin,
        };
        match transaction.step(now, &input) {
            Step::Fetch(keys) => {
                store.fetch(now, &keys, facts);
                input_is_facts = true;
            }
            Step::Commit(change) => {
                committed = Some(store.commit(now, &[change]));
            }
            Step::Done(outcome) => return outcome,
        }
    }
}

/// The client identifier. One in pieces is longer than 255 octets, more than a lease keeps.
pub(super) fn client_id<'m>(message: &Message<'m>) -> Result<Option<&'m [u8]>, DropReason> {
    match message.client_id().filter(|id| !id.is_empty()) {
        Some(id) => id.as_slice().map(Some).ok_or(DropReason::ClientIdTooLong),
        None => Ok(None),
    }
}

/// Our identifier towards this client: the override of the relay (RFC 5107), else our address.
fn server_identifier(message: &Message<'_>, ingress: Ingress) -> Ipv4Addr {
    message
        .relay_agent_information()
        .and_then(relay::server_identifier_override)
        .unwrap_or(ingress.local)
}

fn intent_of(message: &Message<'_>, server_id: Ipv4Addr) -> Result<Intent, DropReason> {
    let kind = message.message_type().ok_or(DropReason::UnexpectedMessageType)?;
    let chosen = message.server_identifier();
    let is_ours = chosen.is_none_or(|chosen| chosen == server_id);
    let requested = message.requested_address().filter(|address| !address.is_unspecified());
    let current = Some(message.ciaddr()).filter(|address| !address.is_unspecified());
    match kind {
        MessageType::Discover => Ok(Intent::Discover(requested)),
        MessageType::Request if !is_ours => Ok(Intent::TakeOtherOffer),
        MessageType::Request => Ok(match (chosen, current, requested) {
            (Some(_), current, requested) => Intent::Select(requested.or(current)),
            (None, Some(current), _) => Intent::Renew(current),
            (None, None, Some(requested)) => Intent::Reboot(requested),
            (None, None, None) => Intent::Select(None),
        }),
        MessageType::Decline | MessageType::Release if !is_ours => {
            Err(DropReason::ClientChoseOtherServer)
        }
        MessageType::Decline => {
            requested.map(Intent::Decline).ok_or(DropReason::NotTheClientsLease)
        }
        MessageType::Release => current.map(Intent::Release).ok_or(DropReason::NotTheClientsLease),
        MessageType::Inform => Ok(Intent::Inform),
        _ => Err(DropReason::UnexpectedMessageType),
    }
}

/// Whether there is an address that a reply with parameters alone can be sent to.
fn has_address(message: &Message<'_>, ingress: Ingress) -> bool {
    let addresses = [message.giaddr(), message.ciaddr(), *ingress.source.ip()];
    addresses.iter().any(|address| !address.is_unspecified())
}
