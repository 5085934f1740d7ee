//! Differences between the families: configurations, messages, and the reading of replies.

use base::Random;
use scenario::ScenarioFamily;
use serde_json::Value;

use super::held::{ClientMessage, PoolNumber};
use super::networks::AssociationCounts;
use super::value::{Fields, Learned};

/// Part of a sequence up to a message in whose replies the servers differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct SequenceHistory<'a> {
    /// Global settings of the sequence's batch.
    pub(super) globals: &'a Value,
    /// Subnet or shared network of the sequence.
    pub(super) scope: &'a Value,
    /// All steps of the sequence.
    pub(super) steps: &'a [Value],
    /// Messages and commands up to that message.
    pub(super) sent: &'a [ClientMessage],
    /// Godwit's replies to them.
    pub(super) answers: &'a [Option<Fields>],
    /// Kea's reply to the last of them.
    pub(super) theirs: &'a Fields,
}

/// Comparison of the addresses and prefixes that both servers give in reply to a message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChoiceComparison {
    /// True if those that Godwit gives and Kea does not are free for the client, and those are not
    /// that Godwit withdraws and Kea gives.
    pub(super) gives_free_ones: bool,
    /// True if Godwit gives some that Kea does not, or withdraws.
    pub(super) gives_more: bool,
    /// True if Kea gives some that Godwit does not, and all of these are taken.
    pub(super) lacks_taken_ones: bool,
    /// True if Godwit gives some that Kea does not, and all of these are reserved for the client.
    pub(super) gives_reserved_ones: bool,
}

/// Protocol of a family.
///
/// A sequence does not say where it is played. Its texts have marks such as `@mac1`, which are
/// replaced by values of the sequence. Its bytes are hexadecimal digits with names such as `$net`,
/// which are replaced by values that a client knows.
pub(super) trait DifferProtocol: Sync {
    /// Returns how many sequences share two daemons.
    fn at_a_time(&self) -> usize {
        100
    }

    /// Returns the family.
    fn family(&self) -> ScenarioFamily;

    /// Returns the common part of all sequences of a batch: the classes, and random globals.
    fn globals(&self, random: &mut Random) -> Value;

    /// Returns a sequence: its `scope` (a subnet, or a shared network), its `relay`, and its
    /// `steps`.
    fn sequence(&self, random: &mut Random) -> Value;

    /// Returns the marks of texts, each with its value in sequence `index`.
    fn marks(&self, index: usize) -> Vec<(String, String)>;

    /// Returns the marks for values that `clients` learned, each as text, or with a value of the
    /// sequence that no client has.
    fn learned_marks(&self, clients: &[Learned]) -> Vec<(String, String)>;

    /// Returns the common part of every configuration: the link whose client ends a burst, among
    /// the subnets.
    fn base(&self) -> Value;

    /// Returns the values that the clients of sequence `index` know at the start.
    fn clients(&self, index: usize) -> Vec<Learned>;

    /// Returns the bytes of the message of `step` under transaction id `xid` by way of `relay`.
    fn message(&self, step: &Value, relay: &Value, xid: u32, learned: &Learned) -> Vec<u8>;

    /// Returns the two messages that end a burst: the client of the last link sends a DISCOVER or
    /// SOLICIT, and requests its lease.
    fn last_messages(&self, xid: u32) -> [Vec<u8>; 2];

    /// Returns the transaction id of a message, of 24 bits at most.
    fn xid(&self, message: &[u8]) -> Option<u32>;

    /// Returns the fields of a message; an unreadable message has a single field.
    fn fields(&self, message: &[u8]) -> Fields;

    /// Adds the values that the client of a reply knows from then on.
    fn learn(&self, reply: &[u8], learned: &mut Learned);

    /// Returns the contents of a client's message; `learned` are the values that its client knew
    /// before.
    fn client_message(&self, message: &[u8], learned: &Learned) -> ClientMessage;

    /// Returns true if a reply promises a lease that the server has not written.
    fn is_offer(&self, reply: &Fields) -> bool;

    /// Returns the name of the type of a reply.
    fn reply_name(&self, reply: &Fields) -> String;

    /// Returns the name of the type of a reply with its overall result.
    fn reply_gist(&self, reply: &Fields) -> String {
        self.reply_name(reply)
    }

    /// Returns the fields with status codes.
    fn status_fields(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the fields that contain leased addresses and prefixes.
    fn leased_fields(&self) -> &'static [&'static str];

    /// Returns the pool of `scope` that contains a leased address, if pools are compared.
    fn pool(&self, _scope: &Value, _address: &str) -> Option<PoolNumber> {
        None
    }

    /// Returns true if the address in a message is reserved in `scope`, and not for its client.
    fn is_reserved_for_another(&self, _scope: &Value, _asked: &ClientMessage) -> bool {
        false
    }

    /// Returns true if `leased` is what a further reservation in `scope` holds for the client of a
    /// message.
    fn is_reserved_for_it(
        &self,
        _globals: &Value,
        _scope: &Value,
        _asked: &ClientMessage,
        _leased: &str,
    ) -> bool {
        false
    }

    /// Returns true if `reply` gives an address or prefix of another subnet of `scope` than the one
    /// that the relay agents `relay` select.
    fn is_from_another_subnet(&self, _scope: &Value, _relay: &Value, _reply: &Fields) -> bool {
        false
    }

    /// Returns the numbers of the associations in a reply; a protocol without them has none.
    fn association_counts(&self, _reply: &Fields) -> AssociationCounts {
        AssociationCounts::default()
    }

    /// Returns the comparison of the addresses and prefixes in the last replies of both servers; by
    /// default nothing is known about them.
    fn compare_choices(&self, _history: &SequenceHistory<'_>) -> ChoiceComparison {
        ChoiceComparison::default()
    }

    /// Returns the field of the lifetime that has to be longer than that in `field`.
    fn longer_lifetime(&self, _field: &str) -> Option<&'static str> {
        None
    }

    /// Returns the fields that hold lifetimes, as hexadecimal numbers.
    fn lifetime_fields(&self) -> &'static [&'static str];
}
