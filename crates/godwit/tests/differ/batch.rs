//! Sequences played on two daemons at once.

use std::time::{Duration, Instant};

use base::Random;
use scenario::{Family, Subject};
use serde_json::{Value, json};

use super::choices::{CLIENTS, RESTS};
use super::held::{self, ClientMessage, Holds};
use super::known::{Differing, Known};
use super::leases;
use super::older;
use super::protocol::Protocol;
use super::value::{self, Fields, Learned};
use super::wires::{BothWires, Wires};
use crate::common::PATIENCE;
use crate::subjects::process::{Daemon, Make, Setup};

/// Messages that are on their way at a time, which a socket's buffer has room for.
const BURST: usize = 32;

/// The pause of a batch in which a lease that was released a message ago has ended in Kea, too,
/// which counts whole seconds.
const REST: Duration = Duration::from_millis(1_100);

/// Ends the signatures of sequences in a shared network.
const IN_A_NETWORK: &str = ", in a shared network";

/// What came of a sequence.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Alike,
    Differs(Signature),
    /// Both refuse the configuration, Godwit for this reason.
    Refused(String),
}

/// Godwit and a version of Kea with a protocol, and the differences that are known.
pub(super) struct Comparison {
    pub(super) protocol: &'static dyn Protocol,
    pub(super) kea: Make,
    pub(super) known: Known,
    /// The links of both daemons where clients are on them.
    pub(super) wires: Option<BothWires>,
}

/// The first thing in which two daemons differ.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    /// The messages and fields that differ.
    pub(super) text: String,
    /// What both have in those fields.
    pub(super) values: Vec<String>,
    /// The replies of both servers to the client.
    pub(super) leased: Option<[String; 2]>,
}

impl Signature {
    pub(super) const fn new(text: String) -> Self {
        Self { text, values: Vec::new(), leased: None }
    }
}

/// A sequence in which two daemons differ.
#[derive(Clone, Debug)]
pub(super) struct Difference {
    pub(super) signature: Signature,
    /// Seed of the batch.
    pub(super) seed: u64,
    /// The globals with the sequence.
    pub(super) globals: Value,
    pub(super) sequence: Value,
}

impl Difference {
    /// Returns whether `outcome` is this difference.
    pub(super) fn is_shown_by(&self, outcome: &Outcome) -> bool {
        matches!(outcome, Outcome::Differs(found) if found.text == self.signature.text)
    }
}

/// What a daemon was sent in a sequence, what it answered, and its leases in the end.
pub(super) struct Played {
    /// How long the daemon took for all sequences, whole seconds.
    took_s: u64,
    /// True when a second passed after each message.
    rested: bool,
    sent: Vec<ClientMessage>,
    answers: Vec<Option<Fields>>,
    leases: Vec<Fields>,
}

impl Comparison {
    /// Returns the sequences of `seed` in which the two differ. Nearly all must have been played.
    pub(super) fn differences(&self, seed: u64) -> Vec<Difference> {
        let mut random = Random::from_seed(seed);
        let mut globals = self.protocol.globals(&mut random);
        let mut sequences: Vec<Value> =
            (0..self.protocol.at_a_time()).map(|_| self.protocol.sequence(&mut random)).collect();
        if self.kea == Make::Kea {
            sequences.iter_mut().chain([&mut globals]).for_each(older::leave_out_new);
        }
        let outcomes = self.outcomes(&globals, &sequences);
        let refused: Vec<&String> = outcomes
            .iter()
            .filter_map(|outcome| match outcome {
                Outcome::Refused(reason) => Some(reason),
                Outcome::Alike | Outcome::Differs(_) => None,
            })
            .collect();
        assert!(refused.len() <= sequences.len() / 10, "seed {seed}: {refused:?}");
        let outcomes = sequences.into_iter().zip(outcomes);
        let different = outcomes.filter_map(|(sequence, outcome)| {
            let Outcome::Differs(signature) = outcome else { return None };
            Some(Difference { signature, seed, globals: globals.clone(), sequence })
        });
        different.collect()
    }

    /// Plays `sequences` on both; the first difference of each.
    pub(super) fn outcomes(&self, globals: &Value, sequences: &[Value]) -> Vec<Outcome> {
        let (ours, theirs) = std::thread::scope(|scope| {
            let ours = scope.spawn(|| self.play(Make::Godwit, globals, sequences));
            let theirs = self.play(self.kea, globals, sequences);
            (ours.join().expect("playing does not panic"), theirs)
        });
        if let (Ok(ours), Ok(theirs)) = (&ours, &theirs) {
            let pairs = ours.iter().zip(theirs).zip(sequences);
            let found = pairs.map(|((ours, theirs), sequence)| {
                let has = |value: &Value| value.to_string().contains("\"match-client-id\":false");
                let ignores_client_ids = has(globals) || has(&sequence["scope"]);
                let mut signature = self.first(ours, theirs, ignores_client_ids)?;
                let pools = signature.leased.as_ref().map(|addresses| {
                    addresses.each_ref().map(|of| self.protocol.pool(&sequence["scope"], of))
                });
                if let Some([Some(ours), Some(theirs)]) = pools
                    && ours != theirs
                {
                    signature.text = signature.text.replace("another address", "another pool");
                }
                if !sequence["scope"][self.subnets_key()].is_null() {
                    signature.text += IN_A_NETWORK;
                }
                Some(signature)
            });
            return found.map(|found| found.map_or(Outcome::Alike, Outcome::Differs)).collect();
        }
        if sequences.len() > 1 {
            let (some, rest) = sequences.split_at(sequences.len() / 2);
            return [self.outcomes(globals, some), self.outcomes(globals, rest)].concat();
        }
        let only = |who: &str, error: String| {
            let text = format!("configuration: only {who} refuses");
            Outcome::Differs(Signature { values: vec![error], ..Signature::new(text) })
        };
        vec![match (ours, theirs) {
            (Err(ours), Ok(_)) => only("Godwit", ours),
            (Ok(_), Err(theirs)) => only("Kea", theirs),
            (Err(ours), Err(_)) => Outcome::Refused(ours),
            (Ok(_), Ok(_)) => unreachable!("that was handled above"),
        }]
    }

    /// Returns the first thing in which the two differ that is not known.
    fn first(&self, ours: &Played, theirs: &Played, ignores_client_ids: bool) -> Option<Signature> {
        let answers = ours.answers.iter().zip(&theirs.answers);
        // What is left of a lease depends on how long ago the daemon gave it.
        let slack_s = ours.took_s.max(theirs.took_s) + 1;
        let gist = |reply: &Fields| self.protocol.reply_gist(reply);
        let names = self.protocol.leased_fields();
        let mut holds = Holds::new(ignores_client_ids);
        for (sent, (ours_now, theirs_now)) in ours.sent.iter().zip(answers) {
            let name = &sent.name;
            let found = match (ours_now, theirs_now) {
                (None, None) => None,
                (Some(ours), None) => {
                    Some(Signature::new(format!("{name}: {}, Kea is silent", gist(ours))))
                }
                (None, Some(theirs)) => {
                    Some(Signature::new(format!("{name}: silence, Kea {}", gist(theirs))))
                }
                (Some(ours), Some(theirs)) => self.unlike(name, ours, theirs, slack_s),
            };
            if let Some(mut found) = found {
                let leased = held::leased(theirs_now.as_ref(), names);
                found.text += &holds.end(sent, leased, theirs.rested);
                return Some(found);
            }
            let leased = held::leased(ours_now.as_ref(), names);
            let is_offer = ours_now.as_ref().is_some_and(|reply| self.protocol.is_offer(reply));
            holds.note(sent, leased, is_offer);
        }
        let mut found = leases::signature(&self.known, &ours.leases, &theirs.leases)?;
        found.text += &holds.end_of_leases(theirs.rested);
        Some(found)
    }

    /// Returns what is different in two replies to the message `sent`.
    fn unlike(
        &self,
        sent: &str,
        ours: &Fields,
        theirs: &Fields,
        slack_s: u64,
    ) -> Option<Signature> {
        let [name, other] = [ours, theirs].map(|reply| self.protocol.reply_name(reply));
        let lifetimes = self.protocol.lifetime_fields();
        let mut differing = value::differing(ours, theirs, |field, ours, theirs| {
            lifetimes.contains(&field) && value::are_close(ours, theirs, slack_s)
        });
        differing.retain(|field| {
            !self.known.has_field(Differing { field, sent, reply: &name, ours, theirs })
        });
        // A time that is left out since it is not shorter than the next one may be so a second
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
        let [gist, other_gist] = [ours, theirs].map(|reply| self.protocol.reply_gist(reply));
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
        let names = self.protocol.leased_fields();
        let [given, other] = [ours, theirs].map(|reply| held::leased(Some(reply), names));
        Some(Signature {
            values: value::values(ours, theirs, &differing),
            leased: given.zip(other).map(|(ours, theirs)| [ours, theirs].map(str::to_owned)),
            ..Signature::new(text)
        })
    }

    /// Returns the key of the list of subnets, in a configuration and in a shared network.
    fn subnets_key(&self) -> &'static str {
        match self.protocol.family() {
            Family::V4 => "subnet4",
            Family::V6 => "subnet6",
        }
    }

    /// Returns `value` with what sequence `index` has in the place of its marks.
    fn placed(&self, value: &Value, index: usize) -> Value {
        let marks = self.protocol.marks(index);
        let text = marks
            .iter()
            .fold(value.to_string(), |text, (mark, own)| text.replace(mark.as_str(), own));
        serde_json::from_str(&text).expect("the marks are inside of texts")
    }

    /// Returns the configuration of a daemon: the globals with all scopes.
    fn configuration(&self, globals: &Value, sequences: &[Value]) -> String {
        let key = self.subnets_key();
        let mut config = globals.clone();
        config.as_object_mut().map(|members| members.remove(RESTS));
        for (name, member) in self.protocol.base().as_object().into_iter().flatten() {
            config[name] = member.clone();
        }
        let mut networks = Vec::new();
        for (index, sequence) in sequences.iter().enumerate() {
            let mut scope = self.placed(&sequence["scope"], index);
            if let Some(members) = scope.get_mut(key).and_then(Value::as_array_mut) {
                for (number, subnet) in members.iter_mut().enumerate() {
                    subnet["id"] = json!(2 * index + number + 1);
                }
                networks.push(scope);
            } else {
                scope["id"] = json!(2 * index + 1);
                config[key].as_array_mut().expect("the last link's subnet is there").push(scope);
            }
        }
        config["shared-networks"] = Value::Array(networks);
        config["hooks-libraries"] = json!([{ "library": "libdhcp_lease_cmds.so" }]);
        let text = config.to_string();
        // The map's members alone: the daemon's own come beside them.
        text.trim_start_matches('{').strip_suffix('}').unwrap_or_default().to_owned()
    }

    /// Plays `sequences` on one daemon, all first messages, then all second ones.
    fn play(
        &self,
        make: Make,
        globals: &Value,
        sequences: &[Value],
    ) -> Result<Vec<Played>, String> {
        let config = self.configuration(globals, sequences);
        let family = self.protocol.family();
        let wires = self.wires.as_ref().map(|wires| wires.of(make));
        let link = wires.map(Wires::served);
        let setup = Setup { family, config: &config, has_commands: true, persists: false, link };
        let mut daemon = Daemon::start(make, setup, 0, PATIENCE)?;
        let begin = Instant::now();
        let mut players: Vec<Player<'_>> = sequences
            .iter()
            .enumerate()
            .map(|(index, sequence)| Player {
                index,
                steps: sequence["steps"].as_array().map_or(&[], Vec::as_slice),
                relay: self.placed(&sequence["relay"], index),
                clients: self.protocol.clients(index),
                sent: Vec::new(),
                answers: Vec::new(),
            })
            .collect();
        let rested = globals[RESTS] == true;
        let rounds = players.iter().map(|player| player.steps.len()).max().unwrap_or_default();
        for round in 0..rounds {
            let mut here: Vec<&mut Player<'_>> =
                players.iter_mut().filter(|player| round < player.steps.len()).collect();
            match wires {
                Some(wires) => self.play_on_wires(wires, round, &mut here)?,
                None => {
                    for burst in here.chunks_mut(BURST) {
                        self.play_burst(&daemon, round, burst)?;
                    }
                }
            }
            let is_release =
                |player: &Player<'_>| player.sent.get(round).is_some_and(|sent| sent.is_release);
            if rested && players.iter().any(is_release) {
                std::thread::sleep(REST);
            }
        }
        let command = match family {
            Family::V4 => r#"{ "command": "lease4-get-all" }"#,
            Family::V6 => r#"{ "command": "lease6-get-all" }"#,
        };
        let leases = leases::by_sequence(&daemon.command(command)?, sequences.len())?;
        let took_s = begin.elapsed().as_secs();
        let played = players.into_iter().zip(leases).map(|(player, leases)| {
            let Player { sent, answers, .. } = player;
            Played { took_s, rested, sent, answers, leases }
        });
        Ok(played.collect())
    }

    /// Sends the messages of some sequences, number `round` of each, and takes the replies.
    fn play_burst(
        &self,
        daemon: &Daemon,
        round: usize,
        burst: &mut [&mut Player<'_>],
    ) -> Result<(), String> {
        let protocol = self.protocol;
        let message = |player: &&mut Player<'_>| {
            let step = &player.steps[round];
            let learned = &player.clients[client_of(step)];
            protocol.message(step, &player.relay, xid(round, player.index), learned)
        };
        let messages: Vec<Vec<u8>> = burst.iter().map(message).collect();
        let last = burst.first().map_or(0, |player| xid(round, player.index)) | LAST_BIT;
        let replies = self.replies(daemon, &messages, last)?;
        for (player, message) in burst.iter_mut().zip(&messages) {
            let own_xid = Some(xid(round, player.index));
            let own: Vec<&Vec<u8>> =
                replies.iter().filter(|reply| protocol.xid(reply) == own_xid).collect();
            let learned = &mut player.clients[client_of(&player.steps[round])];
            player.sent.push(protocol.asked(message, learned));
            let fields = own.first().map(|reply| {
                protocol.learn(reply, learned);
                let mut fields = protocol.fields(reply);
                if own.len() > 1 {
                    fields.insert("replies".to_owned(), own.len().to_string());
                }
                fields
            });
            player.answers.push(fields);
        }
        Ok(())
    }

    /// Sends the messages of the sequences, number `round` of each, on a link for each, and takes
    /// the replies.
    fn play_on_wires(
        &self,
        wires: &Wires,
        round: usize,
        here: &mut [&mut Player<'_>],
    ) -> Result<(), String> {
        let protocol = self.protocol;
        for player in here {
            let step = &player.steps[round];
            let learned = &mut player.clients[client_of(step)];
            let own_xid = xid(round, player.index);
            let message = protocol.message(step, &player.relay, own_xid, learned);
            let replies = wires.exchange(player.index, step["unicast"] == true, &message)?;
            let own: Vec<_> =
                replies.iter().filter(|(reply, _)| protocol.xid(reply) == Some(own_xid)).collect();
            player.sent.push(protocol.asked(&message, learned));
            let fields = own.first().map(|(reply, way)| {
                protocol.learn(reply, learned);
                let mut fields = protocol.fields(reply);
                fields.extend(way.clone());
                if own.len() > 1 {
                    fields.insert("replies".to_owned(), own.len().to_string());
                }
                fields
            });
            player.answers.push(fields);
        }
        Ok(())
    }

    /// Returns the replies to `messages`. A client on a link of its own looks for a server after
    /// them, so the offer to it says that all were read. Then it asks for its lease, whose answer has
    /// to wait for a commit as others may: there are no more replies after that one.
    fn replies(
        &self,
        daemon: &Daemon,
        messages: &[Vec<u8>],
        xid: u32,
    ) -> Result<Vec<Vec<u8>>, String> {
        let last = self.protocol.last_messages(xid);
        let is_last = |answer: &[u8]| self.protocol.xid(answer) == Some(xid);
        let told = |error: String| format!("{error}\n{}", daemon.log());
        let mut replies = daemon.exchange_all(messages, &last[0], &is_last).map_err(told)?;
        replies.extend(daemon.exchange_all(&[], &last[1], &is_last).map_err(told)?);
        Ok(replies)
    }
}

/// A sequence on its way through a daemon.
struct Player<'s> {
    index: usize,
    steps: &'s [Value],
    relay: Value,
    clients: Vec<Learned>,
    sent: Vec<ClientMessage>,
    answers: Vec<Option<Fields>>,
}

/// Tells the transaction ids of the messages that end a burst.
const LAST_BIT: u32 = 0x80_0000;

fn xid(round: usize, index: usize) -> u32 {
    (round as u32 + 1) << 16 | index as u32
}

fn client_of(step: &Value) -> usize {
    (step["client"].as_u64().unwrap_or(1).clamp(1, CLIENTS) - 1) as usize
}
