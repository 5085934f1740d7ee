//! What the families have of their own: configurations, messages, and how replies are read.

use base::Random;
use scenario::Family;
use serde_json::Value;

use super::held::{ClientMessage, PoolNumber};
use super::value::{Fields, Learned};

/// The protocol of a family.
///
/// A sequence does not say where it is played. Its texts have marks such as `@mac1`, which stand for
/// values of the sequence's own; octets are hexadecimal digits with names such as `$net`, which stand
/// for what a client knows.
pub(super) trait Protocol: Sync {
    /// Returns how many sequences share two daemons.
    fn at_a_time(&self) -> usize {
        100
    }

    /// Returns the family.
    fn family(&self) -> Family;

    /// Returns what all sequences of a batch share: the classes, and globals at random.
    fn globals(&self, random: &mut Random) -> Value;

    /// Returns a sequence: its `scope` (a subnet, or a shared network), its `relay`, and its `steps`.
    fn sequence(&self, random: &mut Random) -> Value;

    /// Returns the marks of texts, each with what sequence `index` has in its place.
    fn marks(&self, index: usize) -> Vec<(String, String)>;

    /// Returns the marks for what `clients` learned, each with it as text, or with something of the
    /// sequence that no client has.
    fn learned_marks(&self, clients: &[Learned]) -> Vec<(String, String)>;

    /// Returns what every configuration has: the link whose client ends a burst, among the subnets.
    fn base(&self) -> Value;

    /// Returns what the clients of sequence `index` know at the start.
    fn clients(&self, index: usize) -> Vec<Learned>;

    /// Returns the octets of the message of `step` under transaction id `xid` by way of `relay`.
    fn message(&self, step: &Value, relay: &Value, xid: u32, learned: &Learned) -> Vec<u8>;

    /// Returns the two messages that end a burst: the client of the last link looks for a server,
    /// and asks for its lease.
    fn last_messages(&self, xid: u32) -> [Vec<u8>; 2];

    /// Returns the transaction id of a message, of 24 bits at most.
    fn xid(&self, message: &[u8]) -> Option<u32>;

    /// Returns the fields of a message; one that cannot be read has a single field.
    fn fields(&self, message: &[u8]) -> Fields;

    /// Adds what the client of a reply knows from then on.
    fn learn(&self, reply: &[u8], learned: &mut Learned);

    /// Returns what a client's message says; `learned` is what its client knew before.
    fn asked(&self, message: &[u8], learned: &Learned) -> ClientMessage;

    /// Returns whether a reply promises a lease that the server has not written.
    fn is_offer(&self, reply: &Fields) -> bool;

    /// Returns the name of the type of a reply.
    fn reply_name(&self, reply: &Fields) -> String;

    /// Returns the name of the type of a reply with what it says on the whole.
    fn reply_gist(&self, reply: &Fields) -> String {
        self.reply_name(reply)
    }

    /// Returns the fields with status codes.
    fn status_fields(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the fields that hold what is leased.
    fn leased_fields(&self) -> &'static [&'static str];

    /// Returns which pool of `scope` a leased address is in, if that is to be told.
    fn pool(&self, _scope: &Value, _address: &str) -> Option<PoolNumber> {
        None
    }

    /// Returns whether the address that a message names is reserved in `scope`, and not for its
    /// client.
    fn is_reserved_for_another(&self, _scope: &Value, _asked: &ClientMessage) -> bool {
        false
    }

    /// Returns whether what is `leased` is reserved in `scope` for the client of a message.
    fn is_reserved_for_it(&self, _: &Value, _asked: &ClientMessage, _leased: &str) -> bool {
        false
    }

    /// Returns whether `reply` gives something of another subnet than that whose link `relay` names.
    fn is_from_another_subnet(&self, _relay: &Value, _reply: &Fields) -> bool {
        false
    }

    /// Returns the field of the lifetime that has to be longer than that in `field`.
    fn longer_lifetime(&self, _field: &str) -> Option<&'static str> {
        None
    }

    /// Returns the fields that hold lifetimes, as hexadecimal numbers.
    fn lifetime_fields(&self) -> &'static [&'static str];
}
