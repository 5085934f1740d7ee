//! Sequences played on one server.

use std::path::Path;
use std::time::{Duration, Instant};

use scenario::{ScenarioFamily, ScenarioServer};
use serde_json::{Value, json};

use super::batch::KeaComparison;
use super::choices::{CLIENTS, RESTS};
use super::commands;
use super::held::ClientMessage;
use super::leases;
use super::value::{Fields, Learned};
use super::wires::Wires;
use crate::common::PATIENCE;
use crate::subjects::process::{Daemon, ServerMake, Setup};

/// Maximum of messages in flight, which fit into a socket's buffer.
const BURST: usize = 32;

/// Pause of a batch after each message, so that a lease released one message ago has ended in Kea,
/// too, which counts whole seconds.
const REST: Duration = Duration::from_millis(1_100);

/// Messages, replies and final leases of a server in a sequence.
pub(super) struct SequenceTranscript {
    /// Time that the server took for all sequences, in whole seconds.
    pub(super) took_s: u64,
    /// True if a second passed after each message.
    pub(super) rested: bool,
    pub(super) sent: Vec<ClientMessage>,
    pub(super) answers: Vec<Option<Fields>>,
    /// Statistics of the subnets after each message, if they are compared.
    pub(super) counters: Vec<Fields>,
    pub(super) leases: Vec<Fields>,
}

impl KeaComparison {
    /// Returns `value` with the marks replaced by the values of sequence `index`.
    pub(super) fn placed(&self, value: &Value, index: usize) -> Value {
        replaced(value, &self.protocol.marks(index))
    }

    /// Returns the configuration of a server: the globals with all scopes.
    fn configuration(&self, make: ServerMake, globals: &Value, sequences: &[Value]) -> String {
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
                    subnet["id"] = json!(commands::subnet_id(index, number));
                }
                networks.push(scope);
            } else {
                scope["id"] = json!(commands::subnet_id(index, 0));
                config[key].as_array_mut().expect("the last link's subnet is there").push(scope);
            }
        }
        config["shared-networks"] = Value::Array(networks);
        // Debian's Kea 2.2 has no commands for reservations.
        let libraries: &[&str] = if self.kea == ServerMake::Kea {
            &["lease_cmds"]
        } else {
            &["lease_cmds", "host_cmds"]
        };
        let library = |name: &&str| json!({ "library": format!("libdhcp_{name}.so") });
        config["hooks-libraries"] = libraries.iter().map(library).collect();
        config["statistic-default-sample-count"] = json!(1);
        // On a busy machine chance would decide which of the two reclaims by its timer before a
        // message.
        config["expired-leases-processing"] = json!({ "reclaim-timer-wait-time": 3600 });
        if make == ServerMake::Kea {
            // Kea repeats no leases by default, and refuses the setting that says so.
            config.as_object_mut().map(|members| members.remove("cache-threshold"));
        }
        let text = config.to_string();
        // Only the members of the map: the server's own are added to them.
        text.trim_start_matches('{').strip_suffix('}').unwrap_or_default().to_owned()
    }

    /// Plays `sequences` on one server, all first messages, then all second ones.
    pub(super) fn play(
        &self,
        make: ServerMake,
        globals: &Value,
        sequences: &[Value],
    ) -> Result<Vec<SequenceTranscript>, String> {
        let config = self.configuration(make, globals, sequences);
        let family = self.protocol.family();
        let wires = self.wires.as_ref().map(|wires| wires.of(make));
        let link = wires.map(Wires::served);
        let setup = Setup { family, config: &config, has_commands: true, persists: false, link };
        let mut daemon = Daemon::start(make, setup, 0, PATIENCE)?;
        let begin = Instant::now();
        let mut players: Vec<RunningSequence<'_>> = sequences
            .iter()
            .enumerate()
            .map(|(index, sequence)| RunningSequence {
                index,
                steps: sequence["steps"].as_array().map_or(&[], Vec::as_slice),
                relay: self.placed(&sequence["relay"], index),
                clients: self.protocol.clients(index),
                sent: Vec::new(),
                answers: Vec::new(),
                counters: Vec::new(),
            })
            .collect();
        let rested = globals[RESTS] == true;
        let rounds = players.iter().map(|player| player.steps.len()).max().unwrap_or_default();
        for round in 0..rounds {
            let here = players.iter_mut().filter(|player| round < player.steps.len());
            let (commanded, mut here): (Vec<_>, Vec<_>) =
                here.partition(|player| commands::is_command(&player.steps[round]));
            match wires {
                Some(wires) => self.play_on_wires(wires, round, &mut here)?,
                None => {
                    for burst in here.chunks_mut(BURST) {
                        self.play_burst(&daemon, round, burst)?;
                    }
                }
            }
            for player in commanded {
                self.play_command(&mut daemon, round, player)?;
            }
            if self.kea == ServerMake::Kea3 {
                take_counters(&mut daemon, round, &mut players)?;
            }
            let is_release = |player: &RunningSequence<'_>| {
                player.sent.get(round).is_some_and(|sent| sent.is_release)
            };
            if rested && players.iter().any(is_release) {
                std::thread::sleep(REST);
            }
        }
        let command = match family {
            ScenarioFamily::V4 => r#"{ "command": "lease4-get-all" }"#,
            ScenarioFamily::V6 => r#"{ "command": "lease6-get-all" }"#,
        };
        let leases = leases::by_sequence(&daemon.command(command)?, sequences.len())?;
        let took_s = begin.elapsed().as_secs();
        let played = players.into_iter().zip(leases).map(|(player, leases)| {
            let RunningSequence { sent, answers, counters, .. } = player;
            SequenceTranscript { took_s, rested, sent, answers, counters, leases }
        });
        Ok(played.collect())
    }

    /// Sends the server the command of a sequence's step `round`, and reads the answer.
    fn play_command(
        &self,
        daemon: &mut Daemon,
        round: usize,
        player: &mut RunningSequence<'_>,
    ) -> Result<(), String> {
        let learned = self.protocol.learned_marks(&player.clients);
        let step = replaced(&player.steps[round], &learned);
        let command = commands::command(&self.placed(&step, player.index), player.index);
        let answer = daemon.command(&command.to_string())?;
        let mut name = command["command"].as_str().unwrap_or_default().to_owned();
        if command["arguments"]["type"] == "IA_PD" {
            name += " pd";
        }
        player.sent.push(ClientMessage { name, ..ClientMessage::default() });
        player.answers.push(Some(commands::fields(&answer)?));
        Ok(())
    }

    /// Sends the messages of some sequences, number `round` of each, and reads the replies.
    fn play_burst(
        &self,
        daemon: &Daemon,
        round: usize,
        burst: &mut [&mut RunningSequence<'_>],
    ) -> Result<(), String> {
        let protocol = self.protocol;
        let message = |player: &&mut RunningSequence<'_>| {
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
            player.sent.push(protocol.client_message(message, learned));
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

    /// Sends the messages of the sequences, number `round` of each, on a link for each, and reads
    /// the replies.
    fn play_on_wires(
        &self,
        wires: &Wires,
        round: usize,
        here: &mut [&mut RunningSequence<'_>],
    ) -> Result<(), String> {
        let protocol = self.protocol;
        for player in here {
            let step = &player.steps[round];
            let learned = &mut player.clients[client_of(step)];
            let own_xid = xid(round, player.index);
            let message = protocol.message(step, &player.relay, own_xid, learned);
            let replies = wires.exchange(player.index, step, &message)?;
            let own: Vec<_> =
                replies.iter().filter(|(reply, _)| protocol.xid(reply) == Some(own_xid)).collect();
            player.sent.push(protocol.client_message(&message, learned));
            let fields = own.first().map(|(reply, addressing)| {
                protocol.learn(reply, learned);
                let mut fields = protocol.fields(reply);
                fields.extend(addressing.clone());
                if own.len() > 1 {
                    fields.insert("replies".to_owned(), own.len().to_string());
                }
                fields
            });
            player.answers.push(fields);
        }
        Ok(())
    }

    /// Returns the replies to `messages`. A client on a link of its own sends a DISCOVER or SOLICIT
    /// after them, so the offer to it proves that the server has read all. Then it requests its
    /// lease, whose reply has to wait for a commit as others may: no more replies come after that
    /// one.
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

/// Sequence on its way through a server.
struct RunningSequence<'s> {
    index: usize,
    steps: &'s [Value],
    relay: Value,
    clients: Vec<Learned>,
    sent: Vec<ClientMessage>,
    answers: Vec<Option<Fields>>,
    counters: Vec<Fields>,
}

/// Returns `value` with the marks of `marks` replaced.
fn replaced(value: &Value, marks: &[(String, String)]) -> Value {
    let replace = |text: String, (mark, own): &(String, String)| text.replace(mark.as_str(), own);
    let text = marks.iter().fold(value.to_string(), replace);
    serde_json::from_str(&text).expect("the marks are inside of texts")
}

/// Reads the statistics of the subnets of those sequences that have a step `round`.
fn take_counters(
    daemon: &mut Daemon,
    round: usize,
    players: &mut [RunningSequence<'_>],
) -> Result<(), String> {
    let answer = daemon.command(r#"{ "command": "statistic-get-all" }"#)?;
    let counters = commands::counters(&answer, players.len())?;
    let taking = players.iter_mut().zip(counters);
    for (player, counters) in taking.filter(|(player, _)| round < player.steps.len()) {
        player.counters.push(counters);
    }
    Ok(())
}

/// Bit that marks the transaction ids of the messages that end a burst.
const LAST_BIT: u32 = 0x80_0000;

fn xid(round: usize, index: usize) -> u32 {
    (round as u32 + 1) << 16 | index as u32
}

fn client_of(step: &Value) -> usize {
    (step["client"].as_u64().unwrap_or(1).clamp(1, CLIENTS) - 1) as usize
}

/// Plays the sequence in a file and prints the replies of both servers, with their statistics.
pub(super) fn show(comparison: &KeaComparison, path: &Path) {
    let text = std::fs::read_to_string(path).unwrap_or_else(|why| panic!("{path:?}: {why}"));
    let input: Value = serde_json::from_str(&text).unwrap_or_else(|why| panic!("{path:?}: {why}"));
    let sequence = std::slice::from_ref(&input["sequence"]);
    let played = [ServerMake::Godwit, comparison.kea]
        .map(|make| comparison.play(make, &input["globals"], sequence));
    let [ours, theirs] = played.map(|played| played.unwrap_or_else(|why| panic!("{why}")));
    for (ours, theirs) in ours.iter().zip(&theirs) {
        for (at, sent) in ours.sent.iter().enumerate() {
            println!("{at} {}", sent.name);
            for (who, played) in [("Godwit", ours), ("Kea", theirs)] {
                let counters = played.counters.get(at);
                let counters = counters.into_iter().flatten().filter(|(_, value)| *value != "0");
                println!("  {who}: {:?}", played.answers.get(at));
                println!("  {who}: {:?}", counters.collect::<Vec<_>>());
            }
        }
        println!("leases of Godwit: {:?}\nleases of Kea: {:?}", ours.leases, theirs.leases);
    }
    println!("{:?}", comparison.outcomes(&input["globals"], sequence));
}
