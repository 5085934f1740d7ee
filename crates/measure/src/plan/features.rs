//! Features: parts of a DHCP server's configuration beyond one subnet with one pool, and the words
//! for them in the names of the result table's lines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Plan, ServerDurability};

base::recorded! {
    /// Feature of a DHCP server's configuration, or of its clients' requests, whose cost is
    /// measured against another feature. Names are words of plans and of the names of the result
    /// table's lines.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    pub enum ServerFeature {
        /// Configuration of one subnet with one pool.
        #[default]
        Plain = "plain",
        /// Configuration with a hundred client classes without tests.
        EmptyClasses = "empty-classes",
        /// Configuration with a hundred client classes whose tests compare an option with a text.
        SimpleClasses = "simple-classes",
        /// Configuration with one client class that enumerates a thousand hardware addresses
        /// (DHCPv6: DUIDs) with `or`.
        OredAddresses = "ored-addresses",
        /// Configuration with a million reservations, among them those of all clients, looked up by
        /// every type of identifier in `host-reservation-identifiers`.
        Reservations = "reservations",
        /// Configuration with a million reservations as in `Reservations`, with
        /// `reservations-in-subnet` false, so that the server looks up none.
        ReservationsOff = "reservations-off",
        /// Configuration with a million reservations of clients that never come, so that every
        /// lookup fails.
        ReservationsOfOthers = "reservations-of-others",
        /// Configuration with reservations as in `Reservations`, looked up by one type of
        /// identifier in `host-reservation-identifiers`: hardware address (DHCPv6: DUID).
        ReservationsByOne = "reservations-by-one",
        /// Configuration with reservations as in `Reservations`, and with
        /// `reservations-out-of-pool`: all reserved addresses are outside of the pools.
        ReservationsOutOfPool = "reservations-out-of-pool",
        /// Configuration with reservations as in `Reservations`, for the whole server
        /// (`reservations-global`) instead of a subnet.
        ReservationsGlobal = "reservations-global",
        /// Configuration with reservations as in `ReservationsGlobal`, looked up before the server
        /// chooses the subnet (`early-global-reservations-lookup`).
        ReservationsEarlyGlobal = "reservations-early-global",
        /// Configuration in which the server does not write leases to a file (`persist` of
        /// `lease-database` is false).
        NotPersisted = "not-persisted",
        /// Configuration with log severity INFO: the server writes a line for each event of each
        /// client.
        LogInfo = "log-info",
        /// Configuration with log severity DEBUG and `debuglevel` 99: the server logs every detail.
        LogDebug = "log-debug",
        /// Configuration with the hook library `legal_log`: a line in a file for each lease.
        LegalLog = "legal-log",
        /// Configuration with the hook library `run_script`, whose script does nothing: a process
        /// for each event of a lease.
        RunScript = "run-script",
        /// Configuration with an export of the names of leases, of which there are none: the cost
        /// of a listener that reads neither message nor reply (Godwit only).
        LocalNames = "local-names",
        /// Configuration with names that the server generates for its clients, which send none, and
        /// without DNS updates: what those are measured against.
        DdnsOff = "ddns-off",
        /// Configuration as in `DdnsOff` with DNS updates (`enable-updates`): the server sends a
        /// name change request for each lease, to an updater that does not run.
        DdnsRequests = "ddns-requests",
        /// Configuration as in `DdnsOff` with the updater inside the server, whose DNS server does
        /// not run: requests stay in the queue (Godwit only).
        DdnsInside = "ddns-inside",
        /// Configuration of the primary server of a hot-standby pair (hook library `ha`): a second
        /// server of the same make has each lease before the client has its reply. Kea runs with
        /// several threads.
        HotStandby = "hot-standby",
        /// Configuration as in `HotStandby` with Kea 3 as the second server (Godwit only).
        HotStandbyKea = "hot-standby-kea",
        /// Configuration of ten thousand subnets, from which clients come in turn.
        ManySubnets = "many-subnets",
        /// Configuration of ten thousand subnets as in `ManySubnets`, while one HTTP client sends
        /// the command `statistic-get-all` ten times a second (Godwit only).
        PolledSubnets = "polled-subnets",
        /// Configuration of a hundred shared networks of fifty subnets each, from which clients
        /// come in turn.
        SharedNetworks = "shared-networks",
        /// Configuration of two worker threads instead of one, on the one processor that servers
        /// have: the cost of competition between threads for data that a message needs (Godwit
        /// only).
        TwoThreads = "two-threads",
        /// Configuration of four worker threads on one processor, as in `TwoThreads` (Godwit only).
        FourThreads = "four-threads",
        /// Configuration of `Plain` with perfdhcp as the generator, for the comparison of
        /// generators (Godwit only, DHCPv4 only).
        Perfdhcp = "perfdhcp",
        /// Datagrams received and sent in groups where the kernel joins them (UDP segmentation;
        /// Godwit only): not comparable with a server or limit responder that receives datagrams
        /// one by one.
        Segmentation = "segmentation",
        /// Store with a million leases of clients that never come, present from the beginning.
        MillionLeases = "million-leases",
        /// Store with ten million leases of clients that never come, for the memory that they take
        /// (Godwit only).
        TenMillionLeases = "ten-million-leases",
        /// Clients that send every message to the server twice.
        Chatty = "chatty",
        /// Clients that send every message twice, as in `Chatty`, to a server with lease caching:
        /// `cache-threshold` is 0.25, so it does not renew a lease in the first quarter of its
        /// lifetime.
        ChattyCached = "chatty-cached",
        /// Clients that renew their lease at once: three requests and replies per exchange instead
        /// of two.
        Renewals = "renewals",
        /// Clients that release their lease as soon as they have it (DHCPv4 only).
        Releases = "releases",
        /// Packet queue of 4 packets for all threads of Kea (`packet-queue-size`; Kea with several
        /// threads only).
        Queue4 = "queue-4",
        /// Packet queue of 28 packets for all threads of Kea (`packet-queue-size`), which Kea's
        /// manual found best for memfile.
        Queue28 = "queue-28",
        /// Packet queue of 112 packets for all threads of Kea (`packet-queue-size`; Kea with
        /// several threads only).
        Queue112 = "queue-112",
        /// Packet queue of 448 packets for all threads of Kea (`packet-queue-size`; Kea with
        /// several threads only).
        Queue448 = "queue-448",
        /// Packet queue of 1,792 packets for all threads of Kea (`packet-queue-size`; Kea with
        /// several threads only).
        Queue1792 = "queue-1792",
        /// Receive buffers of 64 KiB of the kernel's memory at the server's UDP sockets.
        Buffer64Kib = "buffer-64-kib",
        /// Receive buffers of 208 KiB at the server's sockets, the kernel's default for sockets
        /// that set no size.
        Buffer208Kib = "buffer-208-kib",
        /// Receive buffers of 1 MiB of the kernel's memory at the server's sockets.
        Buffer1Mib = "buffer-1-mib",
        /// Receive buffers of 4 MiB of the kernel's memory at the server's sockets.
        Buffer4Mib = "buffer-4-mib",
        /// Receive buffers of 16 MiB of the kernel's memory at the server's sockets.
        Buffer16Mib = "buffer-16-mib",
        /// Queueing discipline `pfifo`: 16 packets, first in first out, for packets that leave the
        /// generator or the server over the link between them.
        QdiscPfifo16 = "qdisc-pfifo-16",
        /// Queueing discipline `pfifo`: 1,000 packets, first in first out, at both ends of the link
        /// between generator and server.
        QdiscPfifo1000 = "qdisc-pfifo-1000",
        /// Queueing discipline `pfifo_fast`: three queues, first in first out, by priority, the
        /// default of interfaces with a queue of their own.
        QdiscPfifoFast = "qdisc-pfifo-fast",
        /// Queueing discipline `sfq` (stochastic fairness queueing) at both ends of the link
        /// between generator and server.
        QdiscSfq = "qdisc-sfq",
        /// Queueing discipline `fq` (fair queueing with pacing) at both ends of the link between
        /// generator and server.
        QdiscFq = "qdisc-fq",
        /// Queueing discipline `fq_codel` (fair queueing with controlled delay) at both ends of the
        /// link between generator and server.
        QdiscFqCodel = "qdisc-fq-codel",
        /// Queueing discipline `cake` (common applications kept enhanced) at both ends of the link
        /// between generator and server.
        QdiscCake = "qdisc-cake",
        /// Address pool of which half is in use all the time: every client releases its lease.
        Pool50 = "pool-50",
        /// Address pool of which 90 % is in use all the time: every client releases its lease.
        Pool90 = "pool-90",
        /// Address pool of which 96 % is in use all the time: every client releases its lease.
        Pool96 = "pool-96",
        /// Address pool of which 99 % is in use all the time: every client releases its lease.
        Pool99 = "pool-99",
        /// Address pool of which 99.9 % is in use all the time: every client releases its lease.
        Pool99_9 = "pool-99-9",
        /// Address pool of which 99.99 % is in use all the time: every client releases its lease.
        Pool99_99 = "pool-99-99",
    }
}

impl ServerFeature {
    /// Returns true if the lab measures the feature with Godwit alone.
    pub const fn is_godwit_only(self) -> bool {
        matches!(
            self,
            Self::PolledSubnets
                | Self::TwoThreads
                | Self::FourThreads
                | Self::Perfdhcp
                | Self::Segmentation
                | Self::TenMillionLeases
                | Self::LocalNames
                | Self::DdnsInside
                | Self::HotStandbyKea
        )
    }

    /// Returns true if the feature is a hook library that the lab measures with Kea from version 3
    /// on.
    pub const fn needs_kea_3(self) -> bool {
        matches!(self, Self::LegalLog | Self::RunScript | Self::HotStandby)
    }

    /// Returns true if a partner has each lease of the server as well.
    pub const fn has_partner(self) -> bool {
        matches!(self, Self::HotStandby | Self::HotStandbyKea)
    }

    /// Returns true if the lab measures the feature with DHCPv4 alone.
    pub const fn is_dhcp4_only(self) -> bool {
        self.releases_leases() || matches!(self, Self::Perfdhcp)
    }

    /// Returns true if the server generates names for its clients.
    pub const fn has_names(self) -> bool {
        matches!(self, Self::DdnsOff | Self::DdnsRequests | Self::DdnsInside)
    }

    /// Returns true if the feature's clients release their leases as soon as they have them.
    pub const fn releases_leases(self) -> bool {
        self.used_per_10_000().is_some() || matches!(self, Self::Releases)
    }

    /// Returns the packets in the queue of Kea's threads (`packet-queue-size`); `None` where Kea
    /// has the size that is best for its lease store. A plan's line with a size measures only Kea,
    /// with several threads.
    pub fn queue_packets(self) -> Option<u32> {
        self.name().strip_prefix("queue-")?.parse().ok()
    }

    /// Returns the size of the receive buffer of each socket of the server, in bytes of the
    /// kernel's memory; `None` for the server's own setting.
    pub fn receive_buffer_bytes(self) -> Option<u32> {
        let (size, unit) = self.name().strip_prefix("buffer-")?.split_once('-')?;
        let shift = if unit == "kib" { 10 } else { 20 };
        size.parse::<u32>().ok().map(|size| size << shift)
    }

    /// Returns the queueing discipline at both ends of the link between generator and server, in
    /// words of `tc`, its kind first; `None` for the kernel's default.
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

    /// Returns true if the server's configuration of this feature has a million reservations.
    pub fn has_reservations(self) -> bool {
        self.name().starts_with("reservations")
    }

    /// Returns true if the feature's clients send every message twice.
    pub const fn sends_messages_twice(self) -> bool {
        matches!(self, Self::Chatty | Self::ChattyCached)
    }

    /// Returns the number of Godwit's worker threads with this feature.
    pub const fn threads(self) -> u32 {
        match self {
            Self::TwoThreads => 2,
            Self::FourThreads => 4,
            _ => 1,
        }
    }

    /// Returns the number of leases of clients that never come, which the server has from the
    /// beginning, in addition to the leases of a pool in use.
    pub const fn initial_leases(self) -> u32 {
        match self {
            Self::MillionLeases => 1_000_000,
            Self::TenMillionLeases => 10_000_000,
            _ => 0,
        }
    }

    /// Returns the share of the address pool that is in use before the first trial, in ten
    /// thousandths; `None` if the pool is empty and clients keep their leases.
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

    /// Returns the feature that the cost of this one is measured against.
    #[must_use]
    pub const fn baseline(self) -> Self {
        match self {
            Self::PolledSubnets => Self::ManySubnets,
            Self::ChattyCached => Self::Chatty,
            Self::DdnsRequests | Self::DdnsInside => Self::DdnsOff,
            _ if self.used_per_10_000().is_some() => Self::Pool50,
            _ => Self::Plain,
        }
    }
}

impl Plan {
    /// Returns true if the plan measures features, so that their words are in the names of the
    /// result table's lines.
    pub fn names_features(&self) -> bool {
        self.server.features != [ServerFeature::Plain]
    }

    /// Returns true if the plan varies receive buffers or queueing disciplines, so that every trial
    /// samples the queues.
    pub fn varies_queues(&self) -> bool {
        let is_one =
            |of: &ServerFeature| of.receive_buffer_bytes().is_some() || of.qdisc().is_some();
        self.server.features.iter().any(is_one)
    }

    /// Returns the server and the feature in the name of a line of the result table (`kea` and
    /// `plain` of `kea-plain`); `None` when the plan does not name features, and for lines of other
    /// servers.
    pub fn server_and_feature<'n>(&self, line: &'n str) -> Option<(&'n str, ServerFeature)> {
        if !self.names_features() {
            return None;
        }
        self.servers.iter().find_map(|server| {
            let rest = line.strip_prefix(server.as_str())?.strip_prefix('-')?;
            let (rest, _) = ServerDurability::split_line(rest);
            let feature = ServerFeature::ALL.into_iter().find(|feature| feature.name() == rest)?;
            Some((&line[..server.len()], feature))
        })
    }

    /// Returns true if the ratio of line `a` of the result table over line `b` is meaningful: one
    /// server with a feature over its baseline, or the first of two servers over the second with
    /// the same feature.
    pub(super) fn is_feature_pair(&self, a: &str, b: &str) -> bool {
        let (Some((of, feature)), Some((to, other))) =
            (self.server_and_feature(a), self.server_and_feature(b))
        else {
            return false;
        };
        let position = |name: &str| self.servers.iter().position(|server| server == name);
        if of == to {
            feature != other && feature.baseline() == other
        } else {
            feature == other && position(of) < position(to)
        }
    }

    /// Returns the position of a line of the result table among the lines of its server: features
    /// in the order of the plan.
    pub fn feature_position(&self, line: &str) -> usize {
        let feature = self.server_and_feature(line).map(|(_, feature)| feature);
        let features = &self.server.features;
        features.iter().position(|other| Some(*other) == feature).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(features: &[ServerFeature]) -> Plan {
        let mut plan = Plan { servers: vec!["godwit".into(), "kea".into()], ..Plan::default() };
        plan.server.features = features.to_vec();
        plan
    }

    #[test]
    fn words_are_those_of_plans() {
        for feature in ServerFeature::ALL {
            let text = serde_json::to_string(&feature).unwrap();
            assert_eq!(text, format!("\"{}\"", feature.name()));
        }
    }

    #[test]
    fn sizes_are_those_of_the_names() {
        let queues = ServerFeature::ALL.into_iter().filter_map(ServerFeature::queue_packets);
        assert_eq!(queues.collect::<Vec<_>>(), [4, 28, 112, 448, 1_792]);
        let buffers =
            ServerFeature::ALL.into_iter().filter_map(ServerFeature::receive_buffer_bytes);
        let sizes = [64 << 10, 208 << 10, 1 << 20, 4 << 20, 16 << 20];
        assert_eq!(buffers.collect::<Vec<_>>(), sizes);
    }

    #[test]
    fn features_are_read_from_the_names_of_lines() {
        let plan = plan(&[ServerFeature::Plain, ServerFeature::Pool99]);
        assert_eq!(plan.server_and_feature("godwit-plain"), Some(("godwit", ServerFeature::Plain)));
        let none = plan.server_and_feature("godwit-pool-99-none");
        assert_eq!(none, Some(("godwit", ServerFeature::Pool99)));
        assert_eq!(plan.server_and_feature("kea-pool-99"), Some(("kea", ServerFeature::Pool99)));
        assert_eq!(
            (plan.server_and_feature("limit"), plan.server_and_feature("kea-pool-9")),
            (None, None)
        );
        let positions =
            ["kea-pool-99", "godwit-plain", "x"].map(|line| plan.feature_position(line));
        assert_eq!(positions, [1, 0, 0]);
        let without = Plan::default();
        assert_eq!(
            (without.names_features(), without.server_and_feature("godwit-plain")),
            (false, None)
        );
    }

    #[test]
    fn a_line_is_set_over_its_baseline_and_over_the_next_servers() {
        let plan = plan(&ServerFeature::ALL);
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
            ("godwit-ddns-inside", "godwit-ddns-off", true),
            ("godwit-ddns-inside", "godwit-plain", false),
        ] {
            assert_eq!(plan.is_feature_pair(a, b), is_pair, "{a} {b}");
            assert_eq!(plan.is_pair(a, b), is_pair, "{a} {b}");
        }
        assert!(plan.is_main_pair("kea-reservations", "kea-plain"));
    }
}
