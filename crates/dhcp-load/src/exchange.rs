//! The life of one exchange: what an answer, once judged, leads to.
//!
//! An exchange is due as a whole, and it is on time when its grant comes within the deadline
//! counted from the due time of its first request. Nothing is sent twice: a client's
//! retransmission would hide a loss.

use load::{Awaited, Class};

use crate::fault::{Fault, Refusal};
use crate::protocol::Judgment;

/// What an answer led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<O> {
    /// The offer is taken up: the second request must be sent.
    TakeUp(O),
    /// A grant came that is renewed at once: the third request must be sent.
    Continue,
    /// The grant came: the exchange ended, and the client holds leases.
    Granted {
        /// On time or late.
        class: Class,
        /// Something else was granted than was offered.
        is_moved: bool,
    },
    /// The exchange ended without a lease.
    Ended(Class),
    /// The exchange ended because the server refused.
    Refused(Refusal),
    /// The exchange ended because the answer is invalid.
    Faulty(Fault),
    /// The answer was superfluous.
    Repeated,
    /// The answer belongs to nothing that was sent.
    Unmatched,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage<O> {
    AwaitOffer,
    AwaitGrant(O),
    Ended(Class),
}

/// One exchange.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<O> {
    client: u32,
    /// When the first request left; 0 when it has not.
    pub(crate) sent_ns: u64,
    stage: Stage<O>,
    again: bool,
}

impl<O: Copy> Exchange<O> {
    /// An exchange of `client` whose first request has not left.
    #[must_use]
    pub const fn new(client: u32) -> Self {
        Self { client, sent_ns: 0, stage: Stage::AwaitOffer, again: false }
    }

    /// The client's number.
    #[must_use]
    pub const fn client(&self) -> u32 {
        self.client
    }

    /// True once the exchange has ended.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        matches!(self.stage, Stage::Ended(_))
    }

    /// What it waits for, or waited for when no offer was taken up before it ended.
    #[must_use]
    pub const fn awaited(&self) -> Awaited {
        match self.stage {
            Stage::AwaitGrant(_) => Awaited::Grant,
            Stage::AwaitOffer | Stage::Ended(_) => Awaited::Offer,
        }
    }

    /// The class of the exchange if nothing more comes for it.
    #[must_use]
    pub const fn class(&self) -> Class {
        match self.stage {
            Stage::Ended(Class::OnTime) if self.again => Class::DuplicateAnswered,
            Stage::Ended(class) => class,
            Stage::AwaitOffer | Stage::AwaitGrant(_) => Class::Lost,
        }
    }

    /// Takes in an answer that carries this exchange's transaction identifier. `judge` tells what
    /// it means, given the client and the offer taken up.
    pub fn take(
        &mut self,
        is_late: bool,
        judge: impl FnOnce(u32, Option<O>) -> Judgment<O>,
    ) -> Event<O> {
        let taken = match self.stage {
            Stage::Ended(_) => {
                self.again = true;
                return Event::Repeated;
            }
            Stage::AwaitOffer => None,
            Stage::AwaitGrant(offer) => Some(offer),
        };
        let end = |class| (Stage::Ended(class), Event::Ended(class));
        let (stage, event) = match judge(self.client, taken) {
            Judgment::Unmatched => return Event::Unmatched,
            Judgment::OtherClient => end(Class::WrongClient),
            Judgment::Faulty(fault) => (Stage::Ended(Class::Invalid), Event::Faulty(fault)),
            Judgment::Refused(refusal) => (Stage::Ended(Class::Nak), Event::Refused(refusal)),
            Judgment::Offer(_) if taken.is_some() => {
                self.again = true;
                return Event::Repeated;
            }
            Judgment::Offer(_) if is_late => end(Class::Late),
            Judgment::Offer(offer) => (Stage::AwaitGrant(offer), Event::TakeUp(offer)),
            Judgment::Continued(_) if is_late => {
                let class = Class::Late;
                (Stage::Ended(class), Event::Granted { class, is_moved: false })
            }
            Judgment::Continued(offer) => (Stage::AwaitGrant(offer), Event::Continue),
            Judgment::Granted { is_moved } => {
                let class = if is_late { Class::Late } else { Class::OnTime };
                (Stage::Ended(class), Event::Granted { class, is_moved })
            }
        };
        self.stage = stage;
        event
    }
}
