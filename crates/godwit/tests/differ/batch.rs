//! Comparison of two servers that play a batch of sequences at once.

use base::Random;
use scenario::ScenarioFamily;
use serde_json::Value;

use super::commands::{self, CounterDoubts};
use super::held::{self, ClientMessage, HeldState, LastPool};
use super::known::{DifferingField, KnownKeaDifferences};
use super::leases;
use super::older;
use super::play::SequenceTranscript;
use super::protocol::{DifferProtocol, SequenceHistory};
use super::value::{self, Fields};
use super::wires::BothWires;
use crate::subjects::process::ServerMake;

/// End of signatures of sequences in a shared network.
const IN_A_NETWORK: &str = ", in a shared network";

/// End of a signature if Kea gives an address that a further reservation of the client in the same
/// subnet holds. In DHCPv6: if the client has reservations of several identifiers, or of one that
/// the servers do not look up.
const FURTHER: &str = ", reserved for it";

/// End of a signature about an address that is reserved for another client.
const RESERVED: &str = ", reserved for another";

/// End of a signature if Kea gives what is held for another client or association.
const TAKEN: &str = ", taken";

/// End of a signature after a `reservation-add` that Kea refused, part of which takes effect.
const AFTER_REFUSAL: &str = ", after a refused reservation";

/// End of a signature if a client sends the client identifier of a lease of another machine.
const SHARED: &str = ", with the client identifier of another";

/// Words of a signature if Godwit gives other addresses or prefixes than Kea, all of them free for
/// the client.
const ANOTHER_FREE_ADDRESS: &str = "another free address";

/// End of a signature if Godwit gives what is reserved for the client in place of something else,
/// some seconds after a RELEASE.
const RESERVED_AND_RELEASED: &str = ", reserved for it, seconds after a RELEASE";

/// End of a signature if Godwit gives free addresses or prefixes where Kea has none.
const MORE: &str = ", free";

/// Result of a sequence that both servers played.
#[derive(Clone, Debug)]
pub(super) enum SequenceOutcome {
    Alike,
    Differs(Signature),
    /// Refusal of the configuration by both servers, with Godwit's reason.
    Refused(String),
}

/// Godwit and a version of Kea with a protocol, and the known differences.
pub(super) struct KeaComparison {
    pub(super) protocol: &'static dyn DifferProtocol,
    pub(super) kea: ServerMake,
    pub(super) known: KnownKeaDifferences,
    /// Links of both servers, if clients are on them.
    pub(super) wires: Option<BothWires>,
}

/// First difference between two servers.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    /// Messages and fields that differ.
    pub(super) text: String,
    /// Values of those fields in both replies.
    pub(super) values: Vec<String>,
}

impl Signature {
    pub(super) const fn new(text: String) -> Self {
        Self { text, values: Vec::new() }
    }
}

/// Sequence in which two servers differ.
#[derive(Clone, Debug)]
pub(super) struct SequenceDifference {
    pub(super) signature: Signature,
    /// Seed of the batch.
    pub(super) seed: u64,
    /// Globals of the sequence.
    pub(super) globals: Value,
    pub(super) sequence: Value,
}

impl SequenceDifference {
    /// Returns true if `outcome` is this difference.
    pub(super) fn is_shown_by(&self, outcome: &SequenceOutcome) -> bool {
        matches!(outcome, SequenceOutcome::Differs(found) if found.text == self.signature.text)
    }
}

impl KeaComparison {
    /// Returns the sequences of `seed` in which the two servers differ. Asserts that nearly all
    /// were played.
    pub(super) fn differences(&self, seed: u64) -> Vec<SequenceDifference> {
        let mut random = Random::from_seed(seed);
        let mut globals = self.protocol.globals(&mut random);
        let mut sequences: Vec<Value> =
            (0..self.protocol.at_a_time()).map(|_| self.protocol.sequence(&mut random)).collect();
        if self.kea == ServerMake::Kea {
            older::leave_out_new_globals(self.protocol.family(), &mut globals);
            sequences.iter_mut().for_each(older::leave_out_new);
        }
        let outcomes = self.outcomes(&globals, &sequences);
        let refused: Vec<&String> = outcomes
            .iter()
            .filter_map(|outcome| match outcome {
                SequenceOutcome::Refused(reason) => Some(reason),
                SequenceOutcome::Alike | SequenceOutcome::Differs(_) => None,
            })
            .collect();
        assert!(refused.len() <= sequences.len() / 10, "seed {seed}: {refused:?}");
        let outcomes = sequences.into_iter().zip(outcomes);
        let different = outcomes.filter_map(|(sequence, outcome)| {
            let SequenceOutcome::Differs(signature) = outcome else { return None };
            Some(SequenceDifference { signature, seed, globals: globals.clone(), sequence })
        });
        different.collect()
    }

    /// Plays `sequences` on both servers, and returns the first difference of each.
    pub(super) fn outcomes(&self, globals: &Value, sequences: &[Value]) -> Vec<SequenceOutcome> {
        let (ours, theirs) = std::thread::scope(|scope| {
            let ours = scope.spawn(|| self.play(ServerMake::Godwit, globals, sequences));
            let theirs = self.play(self.kea, globals, sequences);
            (ours.join().expect("playing does not panic"), theirs)
        });
        if let (Ok(ours), Ok(theirs)) = (&ours, &theirs) {
            let pairs = ours.iter().zip(theirs).zip(sequences).enumerate();
            let found = pairs.map(|(index, ((ours, theirs), sequence))| {
                let placed = self.placed(sequence, index);
                let scope = &placed["scope"];
                let mut signature =
                    self.first([ours, theirs], &placed, &sequence["relay"], globals)?;
                if !scope[self.subnets_key()].is_null() {
                    signature.text += IN_A_NETWORK;
                }
                Some(signature)
            });
            return found
                .map(|found| found.map_or(SequenceOutcome::Alike, SequenceOutcome::Differs))
                .collect();
        }
        if sequences.len() > 1 {
            let (some, rest) = sequences.split_at(sequences.len() / 2);
            return [self.outcomes(globals, some), self.outcomes(globals, rest)].concat();
        }
        let only = |who: &str, error: String| {
            let text = format!("configuration: only {who} refuses");
            SequenceOutcome::Differs(Signature { text, values: vec![error] })
        };
        vec![match (ours, theirs) {
            (Err(ours), Ok(_)) => only("Godwit", ours),
            (Ok(_), Err(theirs)) => only("Kea", theirs),
            (Err(ours), Err(_)) => SequenceOutcome::Refused(ours),
            (Ok(_), Ok(_)) => unreachable!("that was handled above"),
        }]
    }

    /// Returns the first unknown difference between the two servers in a sequence with all marks
    /// replaced, whose messages come from `relay`.
    fn first(
        &self,
        [ours, theirs]: [&SequenceTranscript; 2],
        sequence: &Value,
        relay: &Value,
        globals: &Value,
    ) -> Option<Signature> {
        let scope = &sequence["scope"];
        let answers = ours.answers.iter().zip(&theirs.answers);
        // The remaining time of a lease depends on when the server gave it.
        let slack_s = ours.took_s.max(theirs.took_s) + 1;
        let names = self.protocol.leased_fields();
        let ignores = |value: &Value| value.to_string().contains("\"match-client-id\":false");
        let mut holds = HeldState::new(ignores(globals) || ignores(scope));
        let mut last_pool = LastPool::default();
        let mut doubts = CounterDoubts::default();
        let rested = theirs.rested;
        for (at, (sent, (ours_now, theirs_now))) in ours.sent.iter().zip(answers).enumerate() {
            let name = &sent.name;
            let found = self.replies_unlike(name, [ours_now, theirs_now], slack_s);
            let [own, other] =
                [ours_now, theirs_now].map(|reply| held::leased(reply.as_ref(), names));
            let pools = [own, other].map(|leased| self.protocol.pool(scope, leased?));
            if let Some(mut found) = found {
                if last_pool.explains(pools) {
                    found.text = found.text.replace("another address", "an earlier pool");
                }
                if found.text.ends_with("another address") && holds.shares_identifier(sent) {
                    found.text += SHARED;
                }
                if let Some(theirs) = theirs_now {
                    let steps = sequence["steps"].as_array().map_or(&[][..], Vec::as_slice);
                    let (sent, answers) = (&ours.sent[..=at], &ours.answers[..=at]);
                    let history = SequenceHistory { globals, scope, steps, sent, answers, theirs };
                    self.name_choices(&mut found, &history, rested && holds.has_release());
                }
                if commands::has_refused_reservation(&theirs.sent[..at], &theirs.answers) {
                    found.text += AFTER_REFUSAL;
                }
                found.text += &holds.end(sent, other, rested);
                found.text += &self.end_about_reservations(globals, scope, sent, other);
                found.text += leases::reason_in_reply(&found.text, &ours.leases, &theirs.leases);
                found.text += self.end_about_subnets(scope, relay, [ours_now, theirs_now]);
                return Some(found);
            }
            let is_offer = ours_now.as_ref().is_some_and(|reply| self.protocol.is_offer(reply));
            holds.note(sent, own, is_offer);
            holds.note_command(name);
            last_pool.note(sent, other, pools[1], holds.has_left());
            let counters = [ours, theirs].map(|played| played.counters.get(at));
            doubts.note(sent, counters[1]);
            let after = holds.end_of_last(rested);
            if let [Some(ours), Some(theirs)] = counters
                && let Some(mut found) = self.counters_unlike(name, [ours, theirs], &doubts, &after)
            {
                found.text += &holds.end(sent, None, rested);
                return Some(found);
            }
        }
        let mut found = self.leases_unlike(ours, theirs)?;
        found.text += &holds.end_of_leases(rested);
        Some(found)
    }

    /// Returns the difference between the leases after a sequence, if they differ.
    fn leases_unlike(
        &self,
        ours: &SequenceTranscript,
        theirs: &SequenceTranscript,
    ) -> Option<Signature> {
        let mut found = leases::signature(&self.known, &ours.leases, &theirs.leases)?;
        found.text += leases::reason(&found.text, &ours.sent);
        if commands::has_refused_reservation(&theirs.sent, &theirs.answers) {
            found.text += AFTER_REFUSAL;
        }
        Some(found)
    }

    /// Returns the end of a signature that says for whom what Kea gives or the client names is
    /// reserved; `leased` is what Kea gives.
    fn end_about_reservations(
        &self,
        globals: &Value,
        scope: &Value,
        sent: &ClientMessage,
        leased: Option<&str>,
    ) -> String {
        let is_own =
            leased.is_some_and(|it| self.protocol.is_reserved_for_it(globals, scope, sent, it));
        let is_of_another = self.protocol.is_reserved_for_another(scope, sent);
        let ends = [(is_own, FURTHER), (is_of_another, RESERVED)];
        ends.into_iter().filter(|(applies, _)| *applies).map(|(_, end)| end).collect()
    }

    /// Returns the difference between the replies to the message or command `name`, if they differ.
    fn replies_unlike(
        &self,
        name: &str,
        replies: [&Option<Fields>; 2],
        slack_s: u64,
    ) -> Option<Signature> {
        match replies {
            [None, None] => None,
            [Some(ours), None] => {
                Some(Signature::new(format!("{name}: {}, Kea is silent", self.gist(ours))))
            }
            [None, Some(theirs)] => {
                Some(Signature::new(format!("{name}: silence, Kea {}", self.gist(theirs))))
            }
            [Some(ours), Some(theirs)] => self.unlike(name, ours, theirs, slack_s),
        }
    }

    /// Returns the differences between two replies to the message `sent`.
    fn unlike(
        &self,
        sent: &str,
        ours: &Fields,
        theirs: &Fields,
        slack_s: u64,
    ) -> Option<Signature> {
        let [name, other] = [ours, theirs].map(|reply| match commands::result(reply) {
            Some(result) => result,
            None => self.protocol.reply_name(reply),
        });
        // Answers to commands have the fields of leases.
        let known_name = if ours.contains_key(commands::RESULT) { "lease" } else { &name };
        let lifetimes = self.protocol.lifetime_fields();
        let mut differing = value::differing(ours, theirs, |field, ours, theirs| {
            lifetimes.contains(&field) && value::are_close(ours, theirs, slack_s)
        });
        differing.retain(|field| {
            let reply = known_name;
            !self.known.has_field(DifferingField { field, sent, reply, ours, theirs, after: "" })
        });
        // A time that is left out because it is not shorter than the next one may be so a second
        // later.
        differing.retain(|field| {
            let Some(longer) = self.protocol.longer_lifetime(field) else { return true };
            let given = if ours.contains_key(field) { ours } else { theirs };
            let is_in_one = ours.contains_key(field) != theirs.contains_key(field);
            !(is_in_one && value::are_close(given.get(field), given.get(longer), slack_s))
        });
        let is_other_lease = |field: &String| {
            self.protocol.leased_fields().contains(&field.as_str())
                && ours.contains_key(field)
                && theirs.contains_key(field)
        };
        let [gist, other_gist] = [ours, theirs].map(|reply| self.gist(reply));
        let is_told = |field: &String| {
            let told = [self.protocol.status_fields(), self.protocol.leased_fields()];
            told.iter().any(|fields| fields.contains(&field.as_str()))
        };
        let text = if name != other {
            format!("{sent}: {name}, Kea {other}")
        } else if differing.is_empty() {
            return None;
        } else if gist != other_gist && differing.iter().any(is_told) {
            format!("{sent}: {gist}, Kea {other_gist}")
        } else if differing.iter().any(is_other_lease) {
            format!("{sent}: {name} of another address")
        } else {
            format!("{sent}: {name} differs in {}", differing.join(", "))
        };
        Some(Signature { values: value::values(ours, theirs, &differing), text })
    }

    /// Puts words about the addresses and prefixes of the last replies into the signature `found`.
    /// `has_released_before` tells if a client released a lease some seconds before.
    fn name_choices(
        &self,
        found: &mut Signature,
        history: &SequenceHistory<'_>,
        has_released_before: bool,
    ) {
        let choices = self.protocol.compare_choices(history);
        if choices.gives_free_ones {
            found.text = found.text.replace("another address", ANOTHER_FREE_ADDRESS);
            let mut statuses = self.protocol.status_fields().iter();
            let has_status = statuses.any(|name| history.theirs.contains_key(*name));
            if choices.gives_more && has_status {
                found.text += MORE;
            }
        }
        if choices.lacks_taken_ones {
            found.text += TAKEN;
        }
        let is_reserved = choices.gives_reserved_ones && has_released_before;
        if is_reserved && found.text.ends_with("another address") {
            found.text += RESERVED_AND_RELEASED;
        }
    }

    fn gist(&self, reply: &Fields) -> String {
        commands::result(reply).unwrap_or_else(|| self.protocol.reply_gist(reply))
    }

    /// Returns the differences in the statistics that Kea has after the message or command `name`,
    /// where `after` describes earlier events.
    fn counters_unlike(
        &self,
        name: &str,
        [ours, theirs]: [&Fields; 2],
        doubts: &CounterDoubts,
        after: &str,
    ) -> Option<Signature> {
        let mut differing = value::differing(ours, theirs, |_, _, theirs| theirs.is_none());
        differing.retain(|counter| {
            // Kea makes some counters of a foreign subnet when a command names it.
            let subnet = counter.split('.').next().unwrap_or_default();
            let is_there = ours.keys().any(|own| own.split('.').next() == Some(subnet));
            let kind = commands::kind(counter);
            let [ours, theirs] = [ours, theirs].map(|counters| {
                let value = counters.get(counter).map(|value| (kind.clone(), value.clone()));
                value.into_iter().collect::<Fields>()
            });
            let differing = DifferingField {
                field: &kind,
                sent: name,
                reply: commands::COUNTERS,
                ours: &ours,
                theirs: &theirs,
                after,
            };
            is_there
                && !doubts.concern(&kind, [&ours, &theirs])
                && !commands::is_incomparable(counter)
                && !self.known.has_field(differing)
        });
        if differing.is_empty() {
            return None;
        }
        let kinds = commands::kinds(&differing);
        let values = value::values(ours, theirs, &differing);
        let text = format!("{} after {name}: {kinds}", commands::COUNTERS);
        Some(Signature { text, values })
    }

    /// Returns the key of the list of subnets, in a configuration and in a shared network.
    pub(super) fn subnets_key(&self) -> &'static str {
        match self.protocol.family() {
            ScenarioFamily::V4 => "subnet4",
            ScenarioFamily::V6 => "subnet6",
        }
    }
}
