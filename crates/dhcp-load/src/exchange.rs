//! State machine of one DHCP exchange of the load generator: it gets the meaning of a reply and
//! returns the effect on the exchange.
//!
//! An exchange is on time when the server's grant (DHCPACK, REPLY) comes within the deadline,
//! counted from the due time of the first request. The generator sends nothing twice, because a
//! client's retransmission would hide a loss.

use load::{AwaitedReply, ExchangeClass};

use crate::fault::{ReplyFault, ServerRefusal};
use crate::protocol::Judgment;

/// Effect of a server's reply on its exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyEffect<O> {
    /// The client takes the offer up: the generator must send the second request.
    TakeUp(O),
    /// The client renews the granted lease at once (`--renew`): the generator must send the third
    /// request.
    Continue,
    /// The server granted the leases: the exchange ended, and the client holds them.
    Granted {
        /// Class of the completed exchange: on time or late.
        class: ExchangeClass,
        /// True if the server granted another address or prefix than it had offered.
        is_moved: bool,
    },
    /// The exchange ended without a lease, in this class.
    Ended(ExchangeClass),
    /// The exchange ended because the server refused the lease.
    Refused(ServerRefusal),
    /// The exchange ended because the server's reply is invalid.
    Faulty(ReplyFault),
    /// The reply was superfluous: the exchange already had one.
    Repeated,
    /// The reply belongs to no request that the generator sent.
    Unmatched,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExchangeStage<O> {
    AwaitOffer,
    AwaitGrant(O),
    Ended(ExchangeClass),
}

/// DHCP exchange of one simulated client, with its progress.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<O> {
    client: u32,
    /// Time at which the exchange's first request left, in nanoseconds of the monotonic clock; 0
    /// before that.
    pub(crate) sent_ns: u64,
    stage: ExchangeStage<O>,
    again: bool,
}

impl<O: Copy> Exchange<O> {
    /// Creates an exchange of `client` whose first request has not left.
    pub const fn new(client: u32) -> Self {
        Self { client, sent_ns: 0, stage: ExchangeStage::AwaitOffer, again: false }
    }

    /// Returns the number of the exchange's client.
    pub const fn client(&self) -> u32 {
        self.client
    }

    /// Returns true once the exchange has ended.
    pub const fn has_ended(&self) -> bool {
        matches!(self.stage, ExchangeStage::Ended(_))
    }

    /// Returns the reply that the exchange waits for, or waited for when it ended before it took up
    /// an offer.
    pub const fn awaited(&self) -> AwaitedReply {
        match self.stage {
            ExchangeStage::AwaitGrant(_) => AwaitedReply::Grant,
            ExchangeStage::AwaitOffer | ExchangeStage::Ended(_) => AwaitedReply::Offer,
        }
    }

    /// Returns the class in which the exchange ends if no further reply comes.
    pub const fn class(&self) -> ExchangeClass {
        match self.stage {
            ExchangeStage::Ended(ExchangeClass::OnTime) if self.again => {
                ExchangeClass::DuplicateAnswered
            }
            ExchangeStage::Ended(class) => class,
            ExchangeStage::AwaitOffer | ExchangeStage::AwaitGrant(_) => ExchangeClass::Lost,
        }
    }

    /// Processes a reply that has this exchange's transaction identifier, and returns its effect.
    /// `judge` returns the reply's meaning, given the client and the offer that the exchange took
    /// up.
    pub fn process_reply(
        &mut self,
        is_late: bool,
        judge: impl FnOnce(u32, Option<O>) -> Judgment<O>,
    ) -> ReplyEffect<O> {
        let accepted_offer = match self.stage {
            ExchangeStage::Ended(_) => {
                self.again = true;
                return ReplyEffect::Repeated;
            }
            ExchangeStage::AwaitOffer => None,
            ExchangeStage::AwaitGrant(offer) => Some(offer),
        };
        let end = |class| (ExchangeStage::Ended(class), ReplyEffect::Ended(class));
        let (stage, event) = match judge(self.client, accepted_offer) {
            Judgment::Unmatched => return ReplyEffect::Unmatched,
            Judgment::OtherClient => end(ExchangeClass::WrongClient),
            Judgment::Faulty(fault) => {
                (ExchangeStage::Ended(ExchangeClass::Invalid), ReplyEffect::Faulty(fault))
            }
            Judgment::Refused(refusal) => {
                (ExchangeStage::Ended(ExchangeClass::Nak), ReplyEffect::Refused(refusal))
            }
            Judgment::Offer(_) if accepted_offer.is_some() => {
                self.again = true;
                return ReplyEffect::Repeated;
            }
            Judgment::Offer(_) if is_late => end(ExchangeClass::Late),
            Judgment::Offer(offer) => {
                (ExchangeStage::AwaitGrant(offer), ReplyEffect::TakeUp(offer))
            }
            Judgment::Continued(_) if is_late => {
                let class = ExchangeClass::Late;
                (ExchangeStage::Ended(class), ReplyEffect::Granted { class, is_moved: false })
            }
            Judgment::Continued(offer) => (ExchangeStage::AwaitGrant(offer), ReplyEffect::Continue),
            Judgment::Granted { is_moved } => {
                let class = if is_late { ExchangeClass::Late } else { ExchangeClass::OnTime };
                (ExchangeStage::Ended(class), ReplyEffect::Granted { class, is_moved })
            }
        };
        self.stage = stage;
        event
    }
}
