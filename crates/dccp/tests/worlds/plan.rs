//! Plan of a world: all random choices, made before the world begins.

use core::fmt;

use base::Random;
use dccp::connection::{ConnectionConfig, QueuePolicy};
use dccp::endpoint::Carrier;
use dccp::header::ServiceCode;
use netem::LinkSettings;

use crate::worlds::world::{MS, SECOND};

/// Widths of paths in bytes per packet, with the IP header.
const PATH_BYTES: [usize; 5] = [600, 800, 1_006, 1_280, 1_500];

/// Event of a world that its plan contains.
#[derive(Clone, Debug)]
pub(crate) enum PlannedDccpEvent {
    /// Connection that the client's application makes, from this port.
    Connect { local_port: u16 },
    /// End that loses all its state, and starts again.
    Restart { is_server: bool },
    /// Link whose settings change while it runs.
    ChangeLink { is_to_client: bool, settings: Box<LinkSettings> },
    /// Path that gets another width.
    ChangePath { packet_bytes_max: usize },
    /// Applications of an end that close all their connections.
    CloseAll { is_server: bool, is_rude: bool },
}

/// Behaviour of the applications of one end.
#[derive(Clone, Debug)]
pub(crate) struct ApplicationBehavior {
    pub(crate) config: ConnectionConfig,
    /// Time between two bursts of datagrams, in nanoseconds; 0 if the applications never send.
    pub(crate) period_ns: u64,
    /// Largest number of datagrams in a burst.
    pub(crate) burst_count: u64,
    pub(crate) data_bytes_max: usize,
    /// Number of datagrams after which the application stops reading; `None` if it never stops.
    pub(crate) deaf_after: Option<u64>,
}

/// Plan of a world, made from its seed before the world begins.
#[derive(Clone, Debug)]
pub(crate) struct DccpSimulationPlan {
    pub(crate) seed: u64,
    pub(crate) carrier: Carrier,
    pub(crate) is_v6: bool,
    pub(crate) uses_init_cookies: bool,
    /// Behaviour of the applications of the client and of the server.
    pub(crate) habits: [ApplicationBehavior; 2],
    /// Settings of the links to the server and to the client.
    pub(crate) links: [LinkSettings; 2],
    pub(crate) packet_bytes_max: usize,
    /// True if the path reports packets that are too big for it to their sender.
    pub(crate) tells_too_big: bool,
    pub(crate) request_data_len: usize,
    /// Time for which the applications send, in nanoseconds.
    pub(crate) talk_ns: u64,
    /// End that speaks as Linux does: true for the server, false for the client; `None` in most
    /// worlds.
    pub(crate) linux: Option<bool>,
    pub(crate) events: Vec<(u64, PlannedDccpEvent)>,
}

/// Kind of a world with an end that speaks as Linux does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinuxKind {
    /// World without losses.
    Clean,
    Lossy,
    /// World without losses that sends so much that the acknowledgements of a round trip exceed the
    /// Sequence Window of Linux.
    Fast,
    /// World without losses whose ends have one congestion control each, not the same.
    NoCommonCcid,
}

/// Time at which the applications have closed all connections, in nanoseconds of the virtual clock.
pub(crate) const TALK_NS: u64 = 4 * SECOND;

impl DccpSimulationPlan {
    /// Returns the plan of the world of `seed`.
    pub(crate) fn from_seed(seed: u64) -> Self {
        let mut random = Random::from_seed(seed ^ 0xdcc0_0000);
        let random = &mut random;
        let in_udp = Carrier::Udp { local_port: 6_511, remote_port: 6_511 };
        let allows_partial = random.chance(1, 10);
        let mut events = Vec::new();
        for _ in 0..=random.below(3) {
            // Ports come again, so that a connection meets remains of another one.
            let local_port = 40_000 + random.below(2) as u16;
            events.push((random.below(TALK_NS * 3 / 4), PlannedDccpEvent::Connect { local_port }));
        }
        events[0].0 = 0;
        for _ in 0..random.below(3) {
            let at_ns = random.below(TALK_NS * 2);
            events.push((at_ns, planned_event(random, !allows_partial)));
        }
        for is_server in [random.chance(1, 2), random.chance(1, 2)] {
            let at_ns = TALK_NS / 2 + random.below(TALK_NS / 2);
            events.push((
                at_ns,
                PlannedDccpEvent::CloseAll { is_server, is_rude: random.chance(1, 12) },
            ));
        }
        Self {
            seed,
            carrier: if random.chance(1, 3) { in_udp } else { Carrier::Ip },
            is_v6: random.chance(1, 4),
            uses_init_cookies: random.chance(1, 4),
            habits: [habit(random, allows_partial), habit(random, allows_partial)],
            links: [link(random, !allows_partial), link(random, !allows_partial)],
            packet_bytes_max: path(random),
            tells_too_big: random.chance(3, 4),
            request_data_len: if random.chance(1, 4) { 40 } else { 0 },
            talk_ns: TALK_NS,
            linux: None,
            events,
        }
    }

    /// Returns the plan of a world with one connection between an end of this crate and one that
    /// speaks as Linux does. One of them sends. The path reorders and duplicates packets; without
    /// losses all data must arrive.
    pub(crate) fn with_linux(seed: u64, kind: LinuxKind) -> Self {
        let mut random = Random::from_seed(seed ^ 0x11_0600);
        let is_server = random.chance(1, 2);
        // A server of Linux with data to send would not be silent.
        let does_client_send = is_server || random.chance(3, 4);
        let links = [0, 1].map(|_| linux_link(&mut random, kind, is_server));
        let ours = [&[2][..], &[3], &[2, 3], &[3, 2]];
        let ours = *random.pick(&ours).unwrap();
        let (ours, theirs): (&[u8], &[u8]) = match (kind, ours[0]) {
            (LinuxKind::NoCommonCcid, 2) => (&[2], &[3]),
            (LinuxKind::NoCommonCcid, _) => (&[3], &[2]),
            _ => (ours, &[2, 3]),
        };
        let config = |is_linux: bool| ConnectionConfig {
            service_code: ServiceCode::new(7),
            tx_ccids: if is_linux { theirs.to_vec() } else { ours.to_vec() },
            rx_ccids: if is_linux { theirs.to_vec() } else { ours.to_vec() },
            sequence_window: if is_linux { 50 } else { 100 },
            is_ecn_capable: !is_linux,
            receive_queue_len: 10_000,
            send_queue_len: if kind == LinuxKind::Fast { 100 } else { 5 },
            ..ConnectionConfig::default()
        };
        let data_bytes_max = match random.below(4) {
            // Most datagrams are as long as the path permits, so that no options fit next to them.
            0 => 10 * PATH_BYTES[4],
            _ => 16 + random.below(1_424) as usize,
        };
        let habit = |is_linux: bool, sends: bool| ApplicationBehavior {
            config: config(is_linux),
            period_ns: if sends { 20 * MS } else { 0 },
            burst_count: if kind == LinuxKind::Fast { 60 } else { 2 },
            data_bytes_max,
            deaf_after: None,
        };
        let habits = [habit(!is_server, does_client_send), habit(is_server, !does_client_send)];
        Self {
            seed,
            carrier: Carrier::Ip,
            is_v6: false,
            uses_init_cookies: false,
            habits,
            links,
            packet_bytes_max: 1_500,
            tells_too_big: false,
            request_data_len: 0,
            talk_ns: TALK_NS / 2,
            linux: Some(is_server),
            events: vec![(0, PlannedDccpEvent::Connect { local_port: 40_000 })],
        }
    }
}

impl fmt::Display for DccpSimulationPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { carrier, packet_bytes_max, tells_too_big, request_data_len, .. } = self;
        let cookies = self.uses_init_cookies;
        writeln!(f, "seed {}, {carrier:?}, IPv6: {}, cookies: {cookies}", self.seed, self.is_v6)?;
        writeln!(f, "width {packet_bytes_max}, told: {tells_too_big}, first: {request_data_len}")?;
        for (name, habit) in ["client", "server"].iter().zip(&self.habits) {
            writeln!(f, "{name}: {habit:?}")?;
        }
        for (name, link) in ["to the server", "to the client"].iter().zip(&self.links) {
            writeln!(f, "{name}: {link}")?;
        }
        for (at_ns, planned_event) in &self.events {
            match planned_event {
                PlannedDccpEvent::ChangeLink { is_to_client, settings } => {
                    writeln!(f, "{at_ns}: link to client {is_to_client}: {settings}")?;
                }
                planned_event => writeln!(f, "{at_ns}: {planned_event:?}")?,
            }
        }
        Ok(())
    }
}

fn path(random: &mut Random) -> usize {
    if random.chance(1, 2) { 1_500 } else { *random.pick(&PATH_BYTES).unwrap() }
}

fn planned_event(random: &mut Random, may_corrupt: bool) -> PlannedDccpEvent {
    match random.below(3) {
        0 => PlannedDccpEvent::Restart { is_server: random.chance(1, 2) },
        1 => PlannedDccpEvent::ChangePath { packet_bytes_max: path(random) },
        _ => {
            let is_down = random.chance(1, 5);
            let down = "loss 100%".parse_link();
            let settings = if is_down { down } else { link(random, may_corrupt) };
            let settings = Box::new(settings);
            PlannedDccpEvent::ChangeLink { is_to_client: random.chance(1, 2), settings }
        }
    }
}

/// Parser of link settings from words that are known to be right.
trait ParseLink {
    fn parse_link(&self) -> LinkSettings;
}

impl ParseLink for str {
    fn parse_link(&self) -> LinkSettings {
        LinkSettings::parse(self).unwrap_or_else(|problems| panic!("{self}: {problems:?}"))
    }
}

/// Returns the settings of a link in a world with an end like Linux, which is the server or the
/// client.
fn linux_link(random: &mut Random, kind: LinuxKind, is_server: bool) -> LinkSettings {
    let delay_ms = 1 + random.below(60);
    let mut words = format!("limit 1000 delay {delay_ms}ms");
    words += &match random.below(3) {
        _ if kind == LinuxKind::Fast => String::new(),
        0 => String::new(),
        1 => format!(" reorder {}%", 1 + random.below(40)),
        _ => format!(" {}us", random.below(delay_ms * 900)),
    };
    // A second Request would draw a second Reset of an end of this crate, which names no feature.
    let may_double = !(kind == LinuxKind::NoCommonCcid && is_server);
    if random.chance(1, 2) && may_double {
        words += &format!(" duplicate {}%", 1 + random.below(20));
    }
    if kind == LinuxKind::Lossy {
        words += " loss 1%";
    }
    words.parse_link()
}

fn link(random: &mut Random, may_corrupt: bool) -> LinkSettings {
    let mut words = format!("limit {}", 5 + random.below(100));
    let delay_ms = random.below(250);
    if delay_ms > 0 {
        let jitter_us = random.below(3) * random.below(delay_ms * 500);
        words += &format!(" delay {delay_ms}ms {jitter_us}us {}%", random.below(90));
        if jitter_us > 0 && random.chance(1, 2) {
            words += " distribution pareto";
        }
        if random.chance(1, 3) {
            words += &format!(" reorder {}% gap {}", 1 + random.below(50), 1 + random.below(5));
        }
    }
    words += &match random.below(5) {
        0 => String::new(),
        1 => format!(" loss {}%", 1 + random.below(10)),
        2 => format!(" loss {}%", 1 + random.below(50)),
        // At most half of the packets: the bad state begins no more often than it ends.
        3 => format!(" loss gemodel {}% {}%", 1 + random.below(10), 10 + random.below(60)),
        _ => format!(" loss state {}% {}% 5% 50% 2%", 1 + random.below(10), 20 + random.below(60)),
    };
    if random.chance(1, 2) {
        words += &format!(" duplicate {}%", 1 + random.below(20));
    }
    if may_corrupt && random.chance(1, 2) {
        words += &format!(" corrupt {}%", 1 + random.below(10));
    }
    if words.contains("loss") && random.chance(1, 4) {
        words += " ecn";
    }
    // There is always some limit; an unlimited link would carry more than a test has time for.
    let rate_kbit = 100 + random.below(900);
    words += &match random.below(2) {
        0 => format!(" rate {rate_kbit}kbit 20"),
        _ => format!(" tbf rate {rate_kbit}kbit burst 3kb latency 200ms overhead 20"),
    };
    words.parse_link()
}

fn habit(random: &mut Random, allows_partial: bool) -> ApplicationBehavior {
    let ccids: [&[u8]; 5] = [&[2], &[3], &[2, 3], &[3, 2], &[2, 3]];
    let mut pick = || random.pick(&ccids).unwrap().to_vec();
    let (tx_ccids, rx_ccids) = (pick(), pick());
    // CCIDs without a common value end the connection, which is right but tests little.
    let or_both = |ccids: Vec<u8>, keep: bool| if keep { ccids } else { vec![2, 3] };
    let tx_ccids = or_both(tx_ccids, random.chance(4, 5));
    let rx_ccids = or_both(rx_ccids, random.chance(1, 2));
    let config = ConnectionConfig {
        service_code: ServiceCode::new(7),
        tx_ccids,
        rx_ccids,
        sequence_window: 100 + random.below(2) * random.below(500),
        allows_short_sequence: random.chance(1, 4),
        send_coverage: if allows_partial { random.below(4) as u8 } else { 0 },
        minimum_coverage: if allows_partial { random.below(4) as u8 } else { 0 },
        requests_data_checksum: random.chance(1, 4),
        is_ecn_capable: random.chance(1, 2),
        send_queue_len: 1 + random.below(10) as usize,
        queue_policy: *random.pick(&[QueuePolicy::Simple, QueuePolicy::Priority]).unwrap(),
        receive_queue_len: 1 + random.below(20) as usize,
        server_holds_time_wait: random.chance(1, 3),
        time_wait_ns: (1 + random.below(240)) * SECOND,
        ..ConnectionConfig::default()
    };
    ApplicationBehavior {
        config,
        period_ns: random.below(4).min(1) * (1 + random.below(200)) * MS,
        burst_count: 1 + random.below(8),
        data_bytes_max: 30 + random.below(1_400) as usize,
        deaf_after: random.chance(1, 12).then(|| random.below(20)),
    }
}
