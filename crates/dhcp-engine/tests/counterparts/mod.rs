//! Test that `config-get` shows the configuration: as a file, it gives a server that replies to
//! every message alike, drops alike, and ends with the same leases.
//!
//! `GODWIT_FUZZ_CASES=n` sends more messages, `GODWIT_SIM_SEED=s` starts elsewhere.

mod tally;
mod unnoticed;
mod v4;
mod v6;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use crate::common::{EngineTestServer, TestProtocol, number};
use base::Random;
use dhcp_config::testing::Generator;
use dhcp_config::{CheckedConfig, ConfigProblem, ExpiredLeases, render};
use dhcp_control::kea_json;
use dhcp_engine::InterfaceNames;
use dhcp_lease::{Expiry, Lease};
use serde_json::Value;
use tally::ComparisonCounts;

/// Number of messages to each configuration.
const MESSAGES: u64 = 60;

/// Family whose servers can be compared.
trait ComparableProtocol: TestProtocol {
    const NAME: &'static str;
    type Config;
    /// Clients of a server: their messages, and the replies that they got.
    type Clients;

    fn generator() -> &'static Generator;
    fn read(text: &str) -> Result<CheckedConfig<Self::Config>, Vec<ConfigProblem>>;
    fn expired(config: &Self::Config) -> ExpiredLeases;
    /// Returns the reserved addresses and prefixes.
    fn reserved(config: &Self::Config) -> BTreeSet<IpAddr>;
    fn clients(config: &Self::Config) -> Self::Clients;
    /// Returns the next message of a random client, and its ingress.
    fn next(clients: &mut Self::Clients, random: &mut Random) -> (Vec<u8>, Self::Ingress);
    /// Passes a reply to its client; returns its kind and the addresses that it grants.
    fn on_reply(clients: &mut Self::Clients, reply: &[u8]) -> (&'static str, Vec<IpAddr>);
}

/// Server with its state after all messages so far.
struct ComparisonServer<P: TestProtocol>(EngineTestServer<P>);

impl<P: ComparableProtocol> ComparisonServer<P> {
    fn new(text: &str) -> Self {
        let config = P::read(text).unwrap_or_else(|p| panic!("{}\n{text}", p[0])).config;
        let mut server = EngineTestServer::new(text);
        let expired = P::expired(&config);
        server.table.set_expiry(Expiry {
            reclaim_wait_s: expired.reclaim_timer_wait_s,
            hold_reclaimed_s: expired.hold_reclaimed_s,
            is_remembering: expired.flush_reclaimed_timer_wait_s > 0,
        });
        let names = InterfaceNames::new([(1, "eth0"), (2, "eth1")]);
        server.shards[0].set_interfaces(Arc::new(names));
        Self(server)
    }

    /// Returns the destinations of the replies to a message with the counters after it, and the
    /// replies.
    fn send(&mut self, octets: &[u8], ingress: P::Ingress) -> (Vec<String>, Vec<Vec<u8>>) {
        let (to, replies): (Vec<_>, _) = self.0.send_by(0, octets, ingress).into_iter().unzip();
        let counters = self.0.counters[0].entries().map(|(name, count)| format!("{name} {count}"));
        (to.iter().map(|to| format!("{to:?}")).chain(counters).collect(), replies)
    }

    fn leases(&self) -> Vec<Lease<P>> {
        let mut leases = Vec::new();
        self.0.table.for_each_lease(|lease| leases.push(lease));
        leases
    }
}

/// Returns the configuration in the form that the operator gets: the file that `config-write`
/// writes, or, if `is_answer`, the answer of `config-get`.
fn document_text(document: &Value, is_answer: bool) -> String {
    if is_answer { kea_json(document) } else { render(document) }
}

/// Plays one conversation with both servers; returns the first difference.
fn difference<P: ComparableProtocol>(
    seed: u64,
    text: &str,
    config: &P::Config,
    counterpart_text: &str,
    tally: &mut ComparisonCounts,
) -> Option<String> {
    let mut random = Random::from_seed(seed ^ 0x7715);
    let mut clients = P::clients(config);
    let reserved = <P as ComparableProtocol>::reserved(config);
    let (mut one, mut other) =
        (ComparisonServer::<P>::new(text), ComparisonServer::<P>::new(counterpart_text));
    for message in 0..MESSAGES {
        if random.chance(1, 6) {
            let seconds = *random.pick(&[1, 40, 400, 3_000, 9_000]).expect("five of them");
            one.0.pass_s(seconds);
            other.0.pass_s(seconds);
        }
        let (octets, ingress) = P::next(&mut clients, &mut random);
        let answers = [one.send(&octets, ingress), other.send(&octets, ingress)];
        if answers[0] != answers[1] {
            let [ours, theirs] = answers;
            return Some(format!("message {message}, {octets:02x?}:\n{ours:02x?}\n{theirs:02x?}"));
        }
        tally.messages += 1;
        for reply in &answers[0].1 {
            let (kind, granted) = P::on_reply(&mut clients, reply);
            tally.replied(kind, granted.iter().any(|address| reserved.contains(address)));
        }
    }
    let rows = [one.0.log.take_rows(), other.0.log.take_rows()];
    let leases = [one.leases(), other.leases()];
    tally.rows += rows[0].len() as u64;
    (rows[0] != rows[1] || leases[0] != leases[1])
        .then(|| format!("rows {rows:#?}\nleases {leases:#?}"))
}

fn counterparts_are_equal<P: ComparableProtocol>() -> ComparisonCounts {
    let configuration_count = number("GODWIT_FUZZ_CASES", 300 * MESSAGES).div_ceil(MESSAGES);
    let first = number("GODWIT_SIM_SEED", 1);
    let mut tally = ComparisonCounts::default();
    let mut seed = first;
    while tally.configurations < configuration_count {
        let text = P::generator().configuration(&mut Random::from_seed(seed));
        if let Ok(checked) = P::read(&text) {
            let counterpart_text =
                document_text(&checked.document.to_json(), seed.is_multiple_of(2));
            let difference_text =
                difference::<P>(seed, &text, &checked.config, &counterpart_text, &mut tally);
            assert!(
                difference_text.is_none(),
                "{}\n{text}\nis shown as\n{counterpart_text}\nseed {seed}; \
                 repeat with: GODWIT_SIM_SEED={seed} GODWIT_FUZZ_CASES=1 \
                 cargo test -p dhcp-engine --test main counterparts::{}",
                difference_text.unwrap_or_default(),
                P::NAME,
            );
            tally.configured(&text);
        }
        seed += 1;
    }
    println!(
        "{} from seed {first}: {} refused, {tally}",
        P::NAME,
        seed - first - configuration_count
    );
    tally
}
