//! Sequences played on two daemons at once.

use std::net::Ipv4Addr;
use std::time::Instant;

use base::Random;
use scenario::{Family, Subject};
use serde_json::{Value, json};

use super::generate::{self, CLIENTS};
use super::known::Known;
use super::leases;
use super::reply::{self, Fields};
use super::value::Learned;
use crate::common::PATIENCE;
use crate::subjects::process::{Daemon, Make, Setup};

/// Sequences that share two daemons.
pub(super) const SEQUENCES: usize = 100;

/// Messages that are on their way at a time, which a socket's buffer has room for.
const BURST: usize = 32;

/// What came of a sequence.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Alike,
    Differs(Signature),
    /// Both refuse the configuration, Godwit for this reason.
    Refused(String),
}

/// Godwit, a version of Kea, and what is known of it.
pub(super) struct Comparison {
    pub(super) kea: Make,
    pub(super) known: Known,
}

/// The first thing in which two daemons differ.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    /// The messages and fields that differ.
    pub(super) text: String,
    /// What both have in those fields.
    pub(super) values: Vec<String>,
}

impl Signature {
    pub(super) const fn new(text: String) -> Self {
        Self { text, values: Vec::new() }
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
    sent: Vec<String>,
    answers: Vec<Option<Fields>>,
    leases: Vec<Fields>,
}

impl Comparison {
    /// Returns the sequences of `seed` in which the two differ. Nearly all must have been played.
    pub(super) fn differences(&self, seed: u64) -> Vec<Difference> {
        let mut random = Random::from_seed(seed);
        let globals = generate::globals(&mut random);
        let sequences: Vec<Value> =
            (0..SEQUENCES).map(|_| generate::sequence(&mut random)).collect();
        let outcomes = self.outcomes(&globals, &sequences);
        let refused: Vec<&String> = outcomes
            .iter()
            .filter_map(|outcome| match outcome {
                Outcome::Refused(reason) => Some(reason),
                Outcome::Alike | Outcome::Differs(_) => None,
            })
            .collect();
        assert!(refused.len() <= SEQUENCES / 10, "seed {seed}: {refused:?}");
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
            let ours = scope.spawn(|| play(Make::Godwit, globals, sequences));
            let theirs = play(self.kea, globals, sequences);
            (ours.join().expect("playing does not panic"), theirs)
        });
        if let (Ok(ours), Ok(theirs)) = (&ours, &theirs) {
            let pairs = ours.iter().zip(theirs);
            let found = pairs.map(|(ours, theirs)| self.first(ours, theirs));
            return found.map(|found| found.map_or(Outcome::Alike, Outcome::Differs)).collect();
        }
        if sequences.len() > 1 {
            let (some, rest) = sequences.split_at(sequences.len() / 2);
            return [self.outcomes(globals, some), self.outcomes(globals, rest)].concat();
        }
        let only = |who: &str, error: String| {
            let text = format!("configuration: only {who} refuses");
            Outcome::Differs(Signature { text, values: vec![error] })
        };
        vec![match (ours, theirs) {
            (Err(ours), Ok(_)) => only("Godwit", ours),
            (Ok(_), Err(theirs)) => only("Kea", theirs),
            (Err(ours), Err(_)) => Outcome::Refused(ours),
            (Ok(_), Ok(_)) => unreachable!("that was handled above"),
        }]
    }

    /// Returns the first thing in which the two differ that is not known.
    fn first(&self, ours: &Played, theirs: &Played) -> Option<Signature> {
        let answers = ours.answers.iter().zip(&theirs.answers);
        // What is left of a lease depends on how long ago the daemon gave it.
        let slack_s = ours.took_s.max(theirs.took_s) + 1;
        for (sent, (ours, theirs)) in ours.sent.iter().zip(answers) {
            let text = match (ours, theirs) {
                (None, None) => continue,
                (Some(ours), None) => format!("{sent}: {}, Kea is silent", reply::name(ours)),
                (None, Some(theirs)) => format!("{sent}: silence, Kea {}", reply::name(theirs)),
                (Some(ours), Some(theirs)) => {
                    let [name, other] = [ours, theirs].map(reply::name);
                    let mut differing = reply::differing(ours, theirs, slack_s);
                    differing.retain(|field| !self.known.has_field(self.kea, field, ours));
                    let value = |name: &String| {
                        let shown =
                            |fields: &Fields| fields.get(name).map_or("none", |v| v).to_owned();
                        format!("{name}: {}, Kea {}", shown(ours), shown(theirs))
                    };
                    let values = differing.iter().map(value).collect();
                    let text = if name != other {
                        format!("{sent}: {name}, Kea {other}")
                    } else if differing.is_empty() {
                        continue;
                    } else if differing.iter().any(|field| field == "yiaddr") {
                        format!("{sent}: {name} of another address")
                    } else {
                        format!("{sent}: {name} differs in {}", differing.join(", "))
                    };
                    return Some(Signature { text, values });
                }
            };
            return Some(Signature::new(text));
        }
        leases::signature(&ours.leases, &theirs.leases)
    }
}

/// Address of the relay agent of the link whose client ends a burst.
const LAST_RELAY: Ipv4Addr = Ipv4Addr::new(10, 255, 255, 1);

/// Returns the texts of `value` with the addresses of sequence `index` in the place of its marks.
pub(super) fn placed(value: &Value, index: usize) -> Value {
    let [high, low] = [index / 250, index % 250];
    let mut text = value.to_string().replace("@.", &format!("10.{high}.{low}."));
    for client in 1..=CLIENTS {
        let mac = format!("02:00:{high:02x}:{low:02x}:00:{client:02x}");
        text = text.replace(&format!("@mac{client}"), &mac);
    }
    text = text.replace("@net", &format!("net{index}"));
    serde_json::from_str(&text).expect("the marks are inside of texts")
}

/// Returns the configuration of a daemon: the globals with all scopes.
fn configuration(globals: &Value, sequences: &[Value]) -> String {
    let mut subnets = vec![json!({
        "id": 9_999,
        "subnet": "10.255.255.0/24",
        "pools": [{ "pool": "10.255.255.9 - 10.255.255.9" }],
    })];
    let mut networks = Vec::new();
    for (index, sequence) in sequences.iter().enumerate() {
        let mut scope = placed(&sequence["scope"], index);
        if let Some(members) = scope.get_mut("subnet4").and_then(Value::as_array_mut) {
            for (number, subnet) in members.iter_mut().enumerate() {
                subnet["id"] = json!(2 * index + number + 1);
            }
            networks.push(scope);
        } else {
            scope["id"] = json!(2 * index + 1);
            subnets.push(scope);
        }
    }
    let mut config = globals.clone();
    config["subnet4"] = Value::Array(subnets);
    config["shared-networks"] = Value::Array(networks);
    config["hooks-libraries"] = json!([{ "library": "libdhcp_lease_cmds.so" }]);
    let text = config.to_string();
    // The map's members alone: the daemon's own come beside them.
    text.trim_start_matches('{').strip_suffix('}').unwrap_or_default().to_owned()
}

/// Plays `sequences` on one daemon, all first messages, then all second ones.
fn play(make: Make, globals: &Value, sequences: &[Value]) -> Result<Vec<Played>, String> {
    let config = configuration(globals, sequences);
    let setup = Setup { family: Family::V4, config: &config, has_commands: true, persists: false };
    let mut daemon = Daemon::start(make, setup, 0, PATIENCE)?;
    let mut clients: Vec<Vec<Learned>> = (0..sequences.len()).map(clients_of).collect();
    let begin = Instant::now();
    let mut sent: Vec<Vec<String>> = vec![Vec::new(); sequences.len()];
    let mut played: Vec<Vec<Option<Fields>>> = vec![Vec::new(); sequences.len()];
    let steps = |sequence: &Value| sequence["steps"].as_array().map_or(0, Vec::len);
    let rounds = sequences.iter().map(steps).max().unwrap_or_default();
    for round in 0..rounds {
        let here: Vec<usize> =
            (0..sequences.len()).filter(|&i| round < steps(&sequences[i])).collect();
        for burst in here.chunks(BURST) {
            let message = |&index: &usize| {
                let step = &sequences[index]["steps"][round];
                let relay = placed(&sequences[index]["relay"], index);
                let relay = relay.as_str().and_then(|text| text.parse().ok());
                let learned = &clients[index][client_of(step)];
                let relay = relay.unwrap_or(Ipv4Addr::UNSPECIFIED);
                reply::message(step, relay, xid(round, index), learned)
            };
            let messages: Vec<Vec<u8>> = burst.iter().map(message).collect();
            let replies = answers(&daemon, &messages, xid(round, burst[0]) | LAST_BIT)?;
            for (&index, message) in burst.iter().zip(&messages) {
                let client = client_of(&sequences[index]["steps"][round]);
                let was_offered = clients[index][client].contains_key("address");
                sent[index].push(reply::sent_name(message, was_offered));
                let own =
                    replies.iter().filter(|reply| reply::xid(reply) == Some(xid(round, index)));
                let own: Vec<&Vec<u8>> = own.collect();
                let mut fields = own.first().map(|reply| reply::fields(reply));
                if let Some(fields) = &mut fields {
                    if own.len() > 1 {
                        fields.insert("replies".to_owned(), own.len().to_string());
                    }
                    reply::learn(fields, &mut clients[index][client]);
                }
                played[index].push(fields);
            }
        }
    }
    let mut leases = leases::by_sequence(&daemon.command(leases::COMMAND)?, sequences.len())?;
    let played = played.into_iter().zip(sent).enumerate();
    Ok(played
        .map(|(index, (answers, sent))| Played {
            took_s: begin.elapsed().as_secs(),
            sent,
            answers,
            leases: std::mem::take(&mut leases[index]),
        })
        .collect())
}

/// Tells the transaction ids of the messages that end a burst.
const LAST_BIT: u32 = 0x8000_0000;

fn xid(round: usize, index: usize) -> u32 {
    (round as u32 + 1) << 16 | index as u32
}

fn client_of(step: &Value) -> usize {
    (step["client"].as_u64().unwrap_or(1).clamp(1, CLIENTS) - 1) as usize
}

/// Returns what the clients of sequence `index` know at the start.
fn clients_of(index: usize) -> Vec<Learned> {
    let [high, low] = [(index / 250) as u8, (index % 250) as u8];
    let client = |number: u64| {
        let mac = vec![2, 0, high, low, 0, number as u8];
        Learned::from([("mac", mac), ("net", vec![10, high, low])])
    };
    (1..=CLIENTS).map(client).collect()
}

/// Returns the replies to `messages`. A client on a link of its own discovers after them, so its offer
/// says that all were read. Then it asks for its lease, whose answer has to wait for a commit as others
/// may: there are no more replies after that one.
fn answers(daemon: &Daemon, messages: &[Vec<u8>], xid: u32) -> Result<Vec<Vec<u8>>, String> {
    let message = |kind: u8, options: Value| {
        let step = json!({ "type": kind, "mac": "0200ffff0001", "options": options });
        reply::message(&step, LAST_RELAY, xid, &Learned::new())
    };
    let last = [message(1, json!([])), message(3, json!([[50, "0affff09"], [54, "7f000001"]]))];
    let is_last = |answer: &[u8]| reply::xid(answer) == Some(xid);
    let told = |error: String| format!("{error}\n{}", daemon.log());
    let mut replies = daemon.exchange_all(messages, &last[0], &is_last).map_err(told)?;
    replies.extend(daemon.exchange_all(&[], &last[1], &is_last).map_err(told)?);
    Ok(replies)
}
