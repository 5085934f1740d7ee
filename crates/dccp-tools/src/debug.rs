//! Lines of `--debug TOPIC` on the standard error: changes in the state machine of a connection.
//! The observer checks a connection whenever its command has something to do, and a line has the
//! changes since then.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::ValueEnum;
use dccp::ccid::SenderFigures;
use dccp::connection::{Connection, ConnectionDropCounts, ConnectionState};
use dccp::feature::{Feature, number};
use dccp::header::DccpPacketDefect;
use dccp_link::ConnectionKey;

/// Least time in nanoseconds between two lines with the figures of congestion control.
const FIGURES_NS: u64 = 100_000_000;

/// Topic of the lines that `--debug` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DebugTopic {
    /// States of the connection, such as REQUEST and OPEN
    Connection,
    /// Negotiated values of features, at this end and at the other end
    Features,
    /// State of the congestion control of sent data, ten times a second
    Ccid,
    /// Dropped packets, by reason
    Drops,
}

/// Names of the features that are printed, in the order of their numbers.
const FEATURES: [(u8, &str); 10] = [
    (number::CCID, "ccid"),
    (number::ALLOW_SHORT_SEQNOS, "allow-short-seqnos"),
    (number::SEQUENCE_WINDOW, "sequence-window"),
    (number::ECN_INCAPABLE, "ecn-incapable"),
    (number::ACK_RATIO, "ack-ratio"),
    (number::SEND_ACK_VECTOR, "send-ack-vector"),
    (number::SEND_NDP_COUNT, "send-ndp-count"),
    (number::MINIMUM_CHECKSUM_COVERAGE, "minimum-checksum-coverage"),
    (number::CHECK_DATA_CHECKSUM, "check-data-checksum"),
    (number::SEND_LOSS_EVENT_RATE, "send-loss-event-rate"),
];

/// State of a connection as it was printed last, to find later changes.
#[derive(Clone, Copy, Debug)]
struct PrintedConnectionState {
    state: Option<ConnectionState>,
    /// Values of this end's features and of the other end's features.
    features: Option<[[u64; 2]; FEATURES.len()]>,
    figures: Option<SenderFigures>,
    figures_ns: u64,
    counts: ConnectionDropCounts,
}

impl PrintedConnectionState {
    const NOTHING: Self = Self {
        state: None,
        features: None,
        figures: None,
        figures_ns: 0,
        counts: ConnectionDropCounts {
            malformed: [0; DccpPacketDefect::ALL.len()],
            sequence_invalid: 0,
            unexpected: 0,
            receive_queue_full: 0,
        },
    };
}

/// Observer that prints the changes of connections on the topics of `--debug`.
#[derive(Debug)]
pub(crate) struct Observer {
    topics: Vec<DebugTopic>,
    printed: BTreeMap<ConnectionKey, PrintedConnectionState>,
}

impl Observer {
    /// Returns an observer that prints these topics; `None` without a topic.
    pub(crate) fn new(topics: &[DebugTopic]) -> Option<Self> {
        (!topics.is_empty()).then(|| Self { topics: topics.to_vec(), printed: BTreeMap::new() })
    }

    /// Prints that a client has begun the connection `key`, even if its state has changed since.
    pub(crate) fn begin(&mut self, key: &ConnectionKey) {
        let seen = PrintedConnectionState {
            state: Some(ConnectionState::Request),
            ..PrintedConnectionState::NOTHING
        };
        self.printed.insert(*key, seen);
        if self.is_on(DebugTopic::Connection) {
            netio::stderr::print_line(format_args!(
                "[{} connection] client: {}",
                connection_name(key),
                ConnectionState::Request.name()
            ));
        }
    }

    /// Prints the changes of a connection since the last call.
    pub(crate) fn print_changes(
        &mut self,
        now_ns: u64,
        key: &ConnectionKey,
        connection: &Connection,
    ) {
        let text = self.changes(now_ns, key, connection);
        if !text.is_empty() {
            netio::stderr::print(&text);
        }
    }

    /// Prints that the connection `key` is gone, and forgets its state.
    pub(crate) fn forget(&mut self, key: &ConnectionKey) {
        if self.printed.remove(key).is_some() && self.is_on(DebugTopic::Connection) {
            netio::stderr::print_line(format_args!(
                "[{} connection] removed",
                connection_name(key)
            ));
        }
    }

    fn is_on(&self, topic: DebugTopic) -> bool {
        self.topics.contains(&topic)
    }

    /// Returns the changes of a connection since the last call, as lines.
    pub(crate) fn changes(
        &mut self,
        now_ns: u64,
        key: &ConnectionKey,
        connection: &Connection,
    ) -> String {
        let mut text = String::new();
        let mut tell = |topic: &str, words: &str| {
            writeln!(text, "[{} {topic}] {words}", connection_name(key))
                .expect("a string takes everything");
        };
        let mut seen = self.printed.get(key).copied().unwrap_or(PrintedConnectionState::NOTHING);
        let state = connection.state();
        if self.is_on(DebugTopic::Connection) && seen.state != Some(state) {
            let (role, name) = (format!("{:?}", connection.role()).to_lowercase(), state.name());
            let before = seen.state.map_or(String::new(), |state| format!("{} to ", state.name()));
            tell("connection", &format!("{role}: {before}{name}"));
        }
        seen.state = Some(state);
        if self.is_on(DebugTopic::Features) && state >= ConnectionState::PartOpen {
            let features = features(connection);
            for (index, (_, name)) in FEATURES.iter().enumerate() {
                let [here, there] = features[index];
                if seen.features.is_none_or(|seen| seen[index] != [here, there]) {
                    tell("features", &format!("{name}: {here} here, {there} there"));
                }
            }
            seen.features = Some(features);
        }
        let is_due = seen.figures.is_none() || now_ns >= seen.figures_ns + FIGURES_NS;
        if self.is_on(DebugTopic::Ccid) && is_due {
            let figures = connection.sender_figures();
            if let Some(known) = figures.filter(|known| seen.figures != Some(*known)) {
                let rtt_us = connection.rtt_ns().map_or(0, |rtt_ns| rtt_ns / 1_000);
                let queue = connection.send_queue_len();
                tell(
                    "ccid",
                    &format!("{}, rtt {rtt_us} us, queue {queue}", describe_figures(known)),
                );
                seen.figures_ns = now_ns;
            }
            seen.figures = figures;
        }
        let counts = *connection.counts();
        if self.is_on(DebugTopic::Drops) && counts != seen.counts {
            let malformed: u64 = counts.malformed.iter().sum();
            let ConnectionDropCounts { sequence_invalid, unexpected, receive_queue_full, .. } =
                counts;
            tell(
                "drops",
                &format!(
                    "malformed {malformed}, sequence-invalid {sequence_invalid}, unexpected \
                     {unexpected}, receive queue full {receive_queue_full}"
                ),
            );
        }
        seen.counts = counts;
        self.printed.insert(*key, seen);
        text
    }
}

fn connection_name(key: &ConnectionKey) -> String {
    format!("{}:{}-{}:{}", key.local, key.local_port, key.remote, key.remote_port)
}

fn features(connection: &Connection) -> [[u64; 2]; FEATURES.len()] {
    let agreed = connection.features();
    FEATURES.map(|(number, _)| {
        [Feature::local(number), Feature::remote(number)].map(|f| agreed.value(f))
    })
}

/// Returns the figures of a congestion control as text for users.
pub(crate) fn describe_figures(figures: SenderFigures) -> String {
    match figures {
        SenderFigures::Window { cwnd, ssthresh, pipe, rto_ns, ack_ratio } => {
            let ssthresh = if ssthresh == u32::MAX { "-".into() } else { ssthresh.to_string() };
            format!(
                "cwnd {cwnd}, ssthresh {ssthresh}, pipe {pipe}, rto {} us, ack ratio {ack_ratio}",
                rto_ns / 1_000
            )
        }
        SenderFigures::Rate { x, x_recv, x_calc, p, interval_ns, segment_bytes } => format!(
            "x {x:.0}, x_recv {x_recv:.0}, x_calc {x_calc:.0} bytes/s, p {p:.6}, interval {} us, s \
             {segment_bytes:.0}",
            interval_ns / 1_000
        ),
    }
}

#[cfg(test)]
mod tests {
    use dccp::connection::{ConnectionConfig, ConnectionPath};
    use dccp::endpoint::Carrier;
    use dccp::header::Integrity;
    use dccp::sequence::SequenceNumber;

    use super::*;

    #[test]
    fn figures_are_words_and_a_threshold_is_shown_after_the_first_loss() {
        let figures = |ssthresh| SenderFigures::Window {
            cwnd: 18,
            ssthresh,
            pipe: 3,
            rto_ns: 200_000_000,
            ack_ratio: 2,
        };
        let expected = "cwnd 18, ssthresh -, pipe 3, rto 200000 us, ack ratio 2";
        assert_eq!(describe_figures(figures(u32::MAX)), expected);
        assert!(describe_figures(figures(9)).contains("ssthresh 9, "));
    }

    #[test]
    fn what_has_changed_is_told_once() {
        let (local, remote) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let integrity = Integrity::Addresses { source: local, destination: remote };
        let path = ConnectionPath { local_port: 40_000, remote_port: 5_001, integrity };
        let iss = SequenceNumber::new(1);
        let mut connection = Connection::connect(0, path, ConnectionConfig::default(), iss, &[]);
        let key = ConnectionKey {
            local,
            remote,
            carrier: Carrier::Ip,
            local_port: 40_000,
            remote_port: 5_001,
            scope: 0,
        };
        let mut observer = Observer::new(&[DebugTopic::Connection, DebugTopic::Features]).unwrap();
        let description = observer.changes(0, &key, &connection);
        assert_eq!(description, "[10.0.0.1:40000-10.0.0.2:5001 connection] client: REQUEST\n");
        assert_eq!(observer.changes(1, &key, &connection), "", "nothing is agreed on yet");
        connection.abort();
        let description = observer.changes(2, &key, &connection);
        assert!(description.contains("connection] client: REQUEST to "), "{description}");
        assert!(Observer::new(&[]).is_none());
    }
}
