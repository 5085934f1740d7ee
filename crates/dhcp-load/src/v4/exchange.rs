//! The life of one exchange: what an answer means for it.
//!
//! An exchange is a whole DISCOVER, OFFER, REQUEST, ACK. It is due as a whole, and it is on time
//! when its ACK comes within the deadline counted from the due time of its DISCOVER. Nothing is
//! sent twice: a client's retransmission would hide a loss.

use std::net::Ipv4Addr;

use load::Class;

use super::answer::{Answer, Fault, kind};
use super::client::mac_of;

/// What counts as an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    /// Answers of a DHCP server.
    #[default]
    Dhcp,
    /// The own messages, sent back by a plain responder: a DISCOVER counts as its OFFER, a REQUEST
    /// as its ACK. This measures generator and kernel, not a server.
    Echo,
}

/// What an answer is judged by besides the exchange itself.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    /// What counts as an answer.
    pub expect: Expect,
    /// The relay's address.
    pub giaddr: Ipv4Addr,
    /// The deadline of the exchange has passed.
    pub is_late: bool,
}

/// An address with the server that gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// `yiaddr`.
    pub address: Ipv4Addr,
    /// The server identifier.
    pub server: Ipv4Addr,
}

/// What an answer led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The offer is taken up: a REQUEST must be sent.
    Request(Offered),
    /// The ACK came: the exchange ended on time or late, and the client holds a lease.
    Granted {
        /// The leased address.
        address: Ipv4Addr,
        /// For how long, seconds.
        lease_time_s: u32,
        /// On time or late.
        class: Class,
    },
    /// The exchange ended without a lease.
    Ended(Class),
    /// The exchange ended because the answer is invalid.
    Faulty(Fault),
    /// The answer was superfluous.
    Repeated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    AwaitOffer,
    AwaitAck(Offered),
    Ended(Class),
}

/// One exchange.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    client: u32,
    /// When the DISCOVER left; 0 when it has not.
    pub(crate) sent_ns: u64,
    stage: Stage,
    again: bool,
}

enum Meaning {
    Offer(Offered),
    Ack(Offered, u32),
    Nak,
}

fn meaning(answer: &Answer<'_>, circumstances: &Circumstances) -> Result<Meaning, Fault> {
    if circumstances.expect == Expect::Echo {
        let nothing = Offered { address: Ipv4Addr::UNSPECIFIED, server: Ipv4Addr::UNSPECIFIED };
        return match answer.kind {
            kind::DISCOVER => Ok(Meaning::Offer(nothing)),
            kind::REQUEST => Ok(Meaning::Ack(nothing, 0)),
            _ => Err(Fault::Kind),
        };
    }
    answer.check_header(circumstances.giaddr)?;
    match answer.kind {
        kind::NAK => Ok(Meaning::Nak),
        kind::OFFER | kind::ACK => {
            let (address, server, lease_time_s) = answer.lease()?;
            let offered = Offered { address, server };
            Ok(if answer.kind == kind::OFFER {
                Meaning::Offer(offered)
            } else {
                Meaning::Ack(offered, lease_time_s)
            })
        }
        _ => Err(Fault::Kind),
    }
}

impl Exchange {
    /// An exchange of `client` whose DISCOVER has not left.
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

    /// True when an OFFER has been taken up and no ACK has come.
    #[must_use]
    pub const fn awaits_ack(&self) -> bool {
        matches!(self.stage, Stage::AwaitAck(_))
    }

    /// The class of the exchange if nothing more comes for it.
    #[must_use]
    pub const fn class(&self) -> Class {
        match self.stage {
            Stage::Ended(Class::OnTime) if self.again => Class::DuplicateAnswered,
            Stage::Ended(class) => class,
            Stage::AwaitOffer | Stage::AwaitAck(_) => Class::Lost,
        }
    }

    /// Takes in an answer that carries this exchange's transaction identifier.
    pub fn take(&mut self, answer: &Answer<'_>, circumstances: &Circumstances) -> Event {
        if self.has_ended() {
            self.again = true;
            return Event::Repeated;
        }
        if !answer.names(mac_of(self.client)) {
            return self.end(Class::WrongClient);
        }
        let judged = meaning(answer, circumstances).and_then(|meaning| self.fits(meaning));
        let (meaning, late) = match judged {
            Ok(meaning) => (meaning, circumstances.is_late),
            Err(fault) => {
                self.stage = Stage::Ended(Class::Invalid);
                return Event::Faulty(fault);
            }
        };
        match meaning {
            Meaning::Nak => self.end(Class::Nak),
            Meaning::Offer(_) if self.awaits_ack() => {
                self.again = true;
                Event::Repeated
            }
            Meaning::Offer(_) if late => self.end(Class::Late),
            Meaning::Offer(offered) => {
                self.stage = Stage::AwaitAck(offered);
                Event::Request(offered)
            }
            Meaning::Ack(Offered { address, .. }, lease_time_s) => {
                let class = if late { Class::Late } else { Class::OnTime };
                self.stage = Stage::Ended(class);
                Event::Granted { address, lease_time_s, class }
            }
        }
    }

    /// Checks an ACK against the stage and the offer.
    fn fits(&self, meaning: Meaning) -> Result<Meaning, Fault> {
        if let Meaning::Ack(given, _) = &meaning {
            let Stage::AwaitAck(offered) = self.stage else { return Err(Fault::Kind) };
            if given.address != offered.address {
                return Err(Fault::AddressChanged);
            }
            if given.server != offered.server {
                return Err(Fault::ServerChanged);
            }
        }
        Ok(meaning)
    }

    const fn end(&mut self, class: Class) -> Event {
        self.stage = Stage::Ended(class);
        Event::Ended(class)
    }
}
