//! What a server's configuration has beyond one subnet with one pool, and how that shows in the
//! names of a result's lines.

use serde::{Deserialize, Serialize};

use super::{Durability, Plan};

/// One way of configuring a server (and of asking it) whose cost is measured against another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// One subnet with one pool.
    #[default]
    Plain,
    /// A hundred client classes without tests.
    EmptyClasses,
    /// A hundred classes whose tests compare an option with a text.
    SimpleClasses,
    /// One class that enumerates a thousand hardware addresses (DHCPv6: DUIDs) with `or`.
    OredAddresses,
    /// A million reservations, among them all clients, and every type of identifier looked up.
    Reservations,
    /// The same reservations, none of which is looked up.
    ReservationsOff,
    /// As many for clients that never come, so that all are looked up in vain.
    ReservationsOfOthers,
    /// As `Reservations`, but one type of identifier is looked up: hardware address (DHCPv6: DUID).
    ReservationsByOne,
    /// As `Reservations`, told to lie outside of every pool.
    ReservationsOutOfPool,
    /// As `Reservations`, but for the whole server instead of a subnet.
    ReservationsGlobal,
    /// The same, looked up before the subnet is chosen.
    ReservationsEarlyGlobal,
    /// Leases are not written to a file.
    NotPersisted,
    /// A line of log for what happens to each client: severity INFO.
    LogInfo,
    /// Severity DEBUG, with every detail.
    LogDebug,
    /// Ten thousand subnets, from which clients come in turn.
    ManySubnets,
    /// The same, while somebody asks for all statistics over HTTP, ten times a second (Godwit only).
    PolledSubnets,
    /// A hundred shared networks of fifty subnets each, from which clients come in turn.
    SharedNetworks,
    /// Two worker threads instead of one, on the one processor that servers have: what it costs that
    /// another thread may want what a message needs (Godwit only).
    TwoThreads,
    /// The same with four.
    FourThreads,
    /// Nothing more than `plain`, but the generator is perfdhcp, for the comparison of generators
    /// (Godwit only, DHCPv4 only).
    Perfdhcp,
    /// Datagrams are taken and sent in groups where the kernel joins them (Godwit only): not
    /// comparable with a server or a limit that takes them one by one.
    Segmentation,
    /// A million leases of clients that never come are there from the beginning.
    MillionLeases,
    /// The same with ten million, for the memory that they take (Godwit only).
    TenMillionLeases,
    /// Every message comes twice.
    Chatty,
    /// The same, but leases are not renewed in the first quarter of their lifetime (lease caching).
    ChattyCached,
    /// Every client renews its lease at once: three questions and answers instead of two.
    Renewals,
    /// Every client gives its lease back at once (DHCPv4 only).
    Releases,
    /// A queue of 4 packets for all threads of Kea (Kea with several threads only).
    #[serde(rename = "queue-4")]
    Queue4,
    /// The same of 28, which its manual found best for memfile.
    #[serde(rename = "queue-28")]
    Queue28,
    /// The same of 112.
    #[serde(rename = "queue-112")]
    Queue112,
    /// The same of 448.
    #[serde(rename = "queue-448")]
    Queue448,
    /// The same of 1,792.
    #[serde(rename = "queue-1792")]
    Queue1792,
    /// Receive buffers of 64 KiB of the kernel's memory at the server's sockets.
    #[serde(rename = "buffer-64-kib")]
    Buffer64Kib,
    /// The same of 208 KiB, which sockets get that ask for nothing.
    #[serde(rename = "buffer-208-kib")]
    Buffer208Kib,
    /// The same of 1 MiB.
    #[serde(rename = "buffer-1-mib")]
    Buffer1Mib,
    /// The same of 4 MiB.
    #[serde(rename = "buffer-4-mib")]
    Buffer4Mib,
    /// The same of 16 MiB.
    #[serde(rename = "buffer-16-mib")]
    Buffer16Mib,
    /// A queue of 16 packets where they leave either end of the link, first in first out.
    #[serde(rename = "qdisc-pfifo-16")]
    QdiscPfifo16,
    /// The same of 1,000 packets.
    #[serde(rename = "qdisc-pfifo-1000")]
    QdiscPfifo1000,
    /// Three such queues by priority, which interfaces with a queue of their own get.
    QdiscPfifoFast,
    /// Stochastic fairness queueing there.
    QdiscSfq,
    /// Fair queueing with pacing there.
    QdiscFq,
    /// Fair queueing with controlled delay there.
    QdiscFqCodel,
    /// Common applications kept enhanced there.
    QdiscCake,
    /// Half of the pool is in use all the time: every client gives its lease back.
    #[serde(rename = "pool-50")]
    Pool50,
    /// The same with 90 %.
    #[serde(rename = "pool-90")]
    Pool90,
    /// The same with 96 %.
    #[serde(rename = "pool-96")]
    Pool96,
    /// The same with 99 %.
    #[serde(rename = "pool-99")]
    Pool99,
    /// The same with 99.9 %.
    #[serde(rename = "pool-99-9")]
    Pool99_9,
    /// The same with 99.99 %.
    #[serde(rename = "pool-99-99")]
    Pool99_99,
}

impl Feature {
    /// All of them.
    pub const ALL: [Self; 50] = [
        Self::Plain,
        Self::EmptyClasses,
        Self::SimpleClasses,
        Self::OredAddresses,
        Self::Reservations,
        Self::ReservationsOff,
        Self::ReservationsOfOthers,
        Self::ReservationsByOne,
        Self::ReservationsOutOfPool,
        Self::ReservationsGlobal,
        Self::ReservationsEarlyGlobal,
        Self::NotPersisted,
        Self::LogInfo,
        Self::LogDebug,
        Self::ManySubnets,
        Self::PolledSubnets,
        Self::SharedNetworks,
        Self::TwoThreads,
        Self::FourThreads,
        Self::Perfdhcp,
        Self::Segmentation,
        Self::MillionLeases,
        Self::TenMillionLeases,
        Self::Chatty,
        Self::ChattyCached,
        Self::Renewals,
        Self::Releases,
        Self::Queue4,
        Self::Queue28,
        Self::Queue112,
        Self::Queue448,
        Self::Queue1792,
        Self::Buffer64Kib,
        Self::Buffer208Kib,
        Self::Buffer1Mib,
        Self::Buffer4Mib,
        Self::Buffer16Mib,
        Self::QdiscPfifo16,
        Self::QdiscPfifo1000,
        Self::QdiscPfifoFast,
        Self::QdiscSfq,
        Self::QdiscFq,
        Self::QdiscFqCodel,
        Self::QdiscCake,
        Self::Pool50,
        Self::Pool90,
        Self::Pool96,
        Self::Pool99,
        Self::Pool99_9,
        Self::Pool99_99,
    ];

    /// The word in plans and in the names of lines.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::EmptyClasses => "empty-classes",
            Self::SimpleClasses => "simple-classes",
            Self::OredAddresses => "ored-addresses",
            Self::Reservations => "reservations",
            Self::ReservationsOff => "reservations-off",
            Self::ReservationsOfOthers => "reservations-of-others",
            Self::ReservationsByOne => "reservations-by-one",
            Self::ReservationsOutOfPool => "reservations-out-of-pool",
            Self::ReservationsGlobal => "reservations-global",
            Self::ReservationsEarlyGlobal => "reservations-early-global",
            Self::NotPersisted => "not-persisted",
            Self::LogInfo => "log-info",
            Self::LogDebug => "log-debug",
            Self::ManySubnets => "many-subnets",
            Self::PolledSubnets => "polled-subnets",
            Self::SharedNetworks => "shared-networks",
            Self::TwoThreads => "two-threads",
            Self::FourThreads => "four-threads",
            Self::Perfdhcp => "perfdhcp",
            Self::Segmentation => "segmentation",
            Self::MillionLeases => "million-leases",
            Self::TenMillionLeases => "ten-million-leases",
            Self::Chatty => "chatty",
            Self::ChattyCached => "chatty-cached",
            Self::Renewals => "renewals",
            Self::Releases => "releases",
            Self::Queue4 => "queue-4",
            Self::Queue28 => "queue-28",
            Self::Queue112 => "queue-112",
            Self::Queue448 => "queue-448",
            Self::Queue1792 => "queue-1792",
            Self::Buffer64Kib => "buffer-64-kib",
            Self::Buffer208Kib => "buffer-208-kib",
            Self::Buffer1Mib => "buffer-1-mib",
            Self::Buffer4Mib => "buffer-4-mib",
            Self::Buffer16Mib => "buffer-16-mib",
            Self::QdiscPfifo16 => "qdisc-pfifo-16",
            Self::QdiscPfifo1000 => "qdisc-pfifo-1000",
            Self::QdiscPfifoFast => "qdisc-pfifo-fast",
            Self::QdiscSfq => "qdisc-sfq",
            Self::QdiscFq => "qdisc-fq",
            Self::QdiscFqCodel => "qdisc-fq-codel",
            Self::QdiscCake => "qdisc-cake",
            Self::Pool50 => "pool-50",
            Self::Pool90 => "pool-90",
            Self::Pool96 => "pool-96",
            Self::Pool99 => "pool-99",
            Self::Pool99_9 => "pool-99-9",
            Self::Pool99_99 => "pool-99-99",
        }
    }

    /// Whether it is measured with Godwit alone.
    #[must_use]
    pub const fn is_godwits(self) -> bool {
        matches!(
            self,
            Self::PolledSubnets
                | Self::TwoThreads
                | Self::FourThreads
                | Self::Perfdhcp
                | Self::Segmentation
                | Self::TenMillionLeases
        )
    }

    /// Whether it is measured with DHCPv4 alone.
    #[must_use]
    pub const fn is_of_dhcp4(self) -> bool {
        self.gives_back() || matches!(self, Self::Perfdhcp)
    }

    /// Whether clients give their leases back at once.
    #[must_use]
    pub const fn gives_back(self) -> bool {
        self.used_per_10_000().is_some() || matches!(self, Self::Releases)
    }

    /// Packets in the queue of Kea's threads; `None` where Kea has what is best for its store. With a
    /// figure only Kea is measured, with several threads.
    #[must_use]
    pub const fn queue_packets(self) -> Option<u32> {
        match self {
            Self::Queue4 => Some(4),
            Self::Queue28 => Some(28),
            Self::Queue112 => Some(112),
            Self::Queue448 => Some(448),
            Self::Queue1792 => Some(1_792),
            _ => None,
        }
    }

    /// Octets of the kernel's memory for what waits at each socket of the server; `None` where that is
    /// as the server has it.
    #[must_use]
    pub const fn receive_buffer_bytes(self) -> Option<u32> {
        match self {
            Self::Buffer64Kib => Some(64 << 10),
            Self::Buffer208Kib => Some(208 << 10),
            Self::Buffer1Mib => Some(1 << 20),
            Self::Buffer4Mib => Some(4 << 20),
            Self::Buffer16Mib => Some(16 << 20),
            _ => None,
        }
    }

    /// The queueing discipline where packets leave either end of the link, in words of `tc`, its kind
    /// first; `None` where it is what the kernel gives the interfaces.
    #[must_use]
    pub const fn qdisc(self) -> Option<&'static [&'static str]> {
        match self {
            Self::QdiscPfifo16 => Some(&["pfifo", "limit", "16"]),
            Self::QdiscPfifo1000 => Some(&["pfifo", "limit", "1000"]),
            Self::QdiscPfifoFast => Some(&["pfifo_fast"]),
            Self::QdiscSfq => Some(&["sfq"]),
            Self::QdiscFq => Some(&["fq"]),
            Self::QdiscFqCodel => Some(&["fq_codel"]),
            Self::QdiscCake => Some(&["cake"]),
            _ => None,
        }
    }

    /// Whether a million reservations are in the configuration.
    #[must_use]
    pub const fn has_reservations(self) -> bool {
        matches!(
            self,
            Self::Reservations
                | Self::ReservationsOff
                | Self::ReservationsOfOthers
                | Self::ReservationsByOne
                | Self::ReservationsOutOfPool
                | Self::ReservationsGlobal
                | Self::ReservationsEarlyGlobal
        )
    }

    /// Whether every message comes twice.
    #[must_use]
    pub const fn is_chatty(self) -> bool {
        matches!(self, Self::Chatty | Self::ChattyCached)
    }

    /// Worker threads of Godwit.
    #[must_use]
    pub const fn threads(self) -> u32 {
        match self {
            Self::TwoThreads => 2,
            Self::FourThreads => 4,
            _ => 1,
        }
    }

    /// Leases of clients that never come, which are there from the beginning beside those of a pool in
    /// use.
    #[must_use]
    pub const fn leases_before(self) -> u32 {
        match self {
            Self::MillionLeases => 1_000_000,
            Self::TenMillionLeases => 10_000_000,
            _ => 0,
        }
    }

    /// Share of the pool that is in use before the first trial, in ten thousandths; `None` where
    /// the pool is empty and clients keep their leases.
    #[must_use]
    pub const fn used_per_10_000(self) -> Option<u32> {
        match self {
            Self::Pool50 => Some(5_000),
            Self::Pool90 => Some(9_000),
            Self::Pool96 => Some(9_600),
            Self::Pool99 => Some(9_900),
            Self::Pool99_9 => Some(9_990),
            Self::Pool99_99 => Some(9_999),
            _ => None,
        }
    }

    /// What it is compared with.
    #[must_use]
    pub const fn baseline(self) -> Self {
        match self {
            Self::PolledSubnets => Self::ManySubnets,
            Self::ChattyCached => Self::Chatty,
            _ if self.used_per_10_000().is_some() => Self::Pool50,
            _ => Self::Plain,
        }
    }
}

impl Plan {
    /// Whether features are what is measured, and stand in the names of lines.
    #[must_use]
    pub fn names_features(&self) -> bool {
        self.server.features != [Feature::Plain]
    }

    /// Whether it is measured how much waits where, so that queues are looked at in every trial.
    #[must_use]
    pub fn is_about_queues(&self) -> bool {
        let is_one = |of: &Feature| of.receive_buffer_bytes().is_some() || of.qdisc().is_some();
        self.server.features.iter().any(is_one)
    }

    /// The server and the feature in the name of a line (`kea` and `plain` of `kea-plain`); `None`
    /// when the plan does not name features, and for lines of other servers.
    #[must_use]
    pub fn feature_of<'n>(&self, line: &'n str) -> Option<(&'n str, Feature)> {
        if !self.names_features() {
            return None;
        }
        self.servers.iter().find_map(|server| {
            let rest = line.strip_prefix(server.as_str())?.strip_prefix('-')?;
            let (rest, _) = Durability::of_line(rest);
            let feature = Feature::ALL.into_iter().find(|feature| feature.name() == rest)?;
            Some((&line[..server.len()], feature))
        })
    }

    /// Whether the line `a` over the line `b` says something: the same server with a feature over
    /// its baseline, or the first of two servers over the second with the same feature.
    pub(super) fn is_feature_pair(&self, a: &str, b: &str) -> bool {
        let (Some((of, feature)), Some((to, other))) = (self.feature_of(a), self.feature_of(b))
        else {
            return false;
        };
        let place = |name: &str| self.servers.iter().position(|server| server == name);
        if of == to {
            feature != other && feature.baseline() == other
        } else {
            feature == other && place(of) < place(to)
        }
    }

    /// Where a line stands among those of its server: features in the order of the plan.
    #[must_use]
    pub fn feature_place(&self, line: &str) -> usize {
        let feature = self.feature_of(line).map(|(_, feature)| feature);
        let features = &self.server.features;
        features.iter().position(|other| Some(*other) == feature).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(features: &[Feature]) -> Plan {
        let mut plan = Plan { servers: vec!["godwit".into(), "kea".into()], ..Plan::default() };
        plan.server.features = features.to_vec();
        plan
    }

    #[test]
    fn words_are_those_of_plans() {
        for feature in Feature::ALL {
            let text = serde_json::to_string(&feature).unwrap();
            assert_eq!(text, format!("\"{}\"", feature.name()));
        }
    }

    #[test]
    fn features_are_read_from_the_names_of_lines() {
        let plan = plan(&[Feature::Plain, Feature::Pool99]);
        assert_eq!(plan.feature_of("godwit-plain"), Some(("godwit", Feature::Plain)));
        let none = plan.feature_of("godwit-pool-99-none");
        assert_eq!(none, Some(("godwit", Feature::Pool99)));
        assert_eq!(plan.feature_of("kea-pool-99"), Some(("kea", Feature::Pool99)));
        assert_eq!((plan.feature_of("limit"), plan.feature_of("kea-pool-9")), (None, None));
        let places = ["kea-pool-99", "godwit-plain", "x"].map(|line| plan.feature_place(line));
        assert_eq!(places, [1, 0, 0]);
        let without = Plan::default();
        assert_eq!((without.names_features(), without.feature_of("godwit-plain")), (false, None));
    }

    #[test]
    fn a_line_is_set_over_its_baseline_and_over_the_next_servers() {
        let plan = plan(&Feature::ALL);
        for (a, b, is_pair) in [
            ("godwit-empty-classes", "godwit-plain", true),
            ("godwit-plain", "godwit-empty-classes", false),
            ("godwit-pool-99", "godwit-pool-50", true),
            ("godwit-pool-99", "godwit-plain", false),
            ("godwit-pool-50", "godwit-plain", false),
            ("godwit-plain", "kea-plain", true),
            ("kea-plain", "godwit-plain", false),
            ("godwit-plain", "kea-empty-classes", false),
            ("kea-reservations", "kea-plain", true),
        ] {
            assert_eq!(plan.is_feature_pair(a, b), is_pair, "{a} {b}");
            assert_eq!(plan.is_pair(a, b), is_pair, "{a} {b}");
        }
        assert!(plan.is_main_pair("kea-reservations", "kea-plain"));
    }
}
