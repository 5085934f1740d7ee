//! Subjects of a measurement (servers, variants of servers, limit responder), and the lines of the
//! result table that they belong to.

use std::net::SocketAddr;

use measure::Plan;
use measure::plan::{DatabaseAccess, LeaseStoreKind, ServerDurability, ServerFeature};
use measure::record::LIMIT_SERVER;

use crate::driver::DnsServer;
use crate::error::{LabError, LabResult};
use crate::peers::PEERS;
use crate::terms::MeasurementTerms;

/// Name in the result of a server given by `--server-command`.
pub const COMMAND_SERVER: &str = "command";

/// Name in the result of a server that the lab did not start.
pub const TARGET_SERVER: &str = "target";

/// Kind of a subject (a server or responder that a run measures), by the way in which it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubjectKind {
    /// Godwit's own DHCP server with this durability.
    Godwit(ServerDurability),
    /// Kea's DHCP server, with one thread or more.
    Kea {
        /// Version of Kea, one of those that the lab knows.
        version: KeaVersion,
        /// Value of `multi-threading` in the configuration of this Kea.
        multi_threaded: bool,
    },
    /// DHCP server ISC dhcpd, for DHCPv4.
    IscDhcpd,
    /// DHCP server dnsmasq, for DHCPv4.
    Dnsmasq,
    /// DNS server that the lab starts.
    Dns(DnsServer),
    /// Server that the user gives by a command with placeholders.
    Command(String),
    /// Server at this address, which was running before the lab.
    Running(SocketAddr),
    /// Limit responder, which sends every datagram back: the most that kernel and generator can do.
    Limit,
}

base::named! {
    /// Source of a Kea server. Names are those of the command line and of results.
    pub enum KeaVersion {
        /// Kea of the package that is installed on the machine, `kea` on the command line.
        Installed = "kea",
        /// Kea 3.0 of Debian 13's package, run in a root folder with Debian 13; `kea3` on the
        /// command line.
        Debian13 = "kea3",
    }
}

/// Subject of a measurement: a server (in one variant) or the limit responder, which runs next to
/// the others and is loaded in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasurementSubject {
    /// Name of the line of the result table that the subject belongs to, such as `godwit-none`.
    pub server: String,
    /// Variant of the server, the way in which it is run, such as `multi-threaded`; empty when
    /// there is only one. Of several, the best one represents the server.
    pub variant: String,
    /// Kind of the subject, by the way in which its server or responder is run.
    pub kind: SubjectKind,
    /// Store of the measured server's leases.
    pub store: LeaseStoreKind,
    /// Way in which the measured server uses a database.
    pub sharing: DatabaseAccess,
    /// Feature of the measured server's configuration beyond one subnet with one pool.
    pub feature: ServerFeature,
}

impl MeasurementSubject {
    /// Makes a measured server of kind `kind` that keeps its leases in a file.
    pub(crate) fn new(server: &str, variant: &str, kind: SubjectKind) -> Self {
        let (server, variant) = (server.to_owned(), variant.to_owned());
        let (store, sharing, feature) =
            (LeaseStoreKind::Memfile, DatabaseAccess::Open, ServerFeature::Plain);
        Self { server, variant, kind, store, sharing, feature }
    }

    /// Makes the subject for a server that is already running at `address`.
    pub fn running(address: SocketAddr) -> Self {
        Self::new(TARGET_SERVER, &address.to_string(), SubjectKind::Running(address))
    }

    fn with_store(self, access: StoreAccess) -> Self {
        Self { store: access.store, sharing: access.sharing, ..self }
    }

    /// Returns the label of the measured server: "kea (multi-threaded)", or its name alone.
    pub fn label(&self) -> String {
        if self.variant.is_empty() {
            self.server.clone()
        } else {
            format!("{} ({})", self.server, self.variant)
        }
    }

    /// Returns the measured server's name for files: letters, digits and dashes.
    pub fn file_name(&self) -> String {
        let label = format!("{}-{}", self.server, self.variant);
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        label.chars().map(plain).collect::<String>().trim_matches('-').to_owned()
    }

    /// Returns true if the lab sets the size of the measured server's pool at each start.
    pub fn has_lab_pool(&self) -> bool {
        matches!(
            self.kind,
            SubjectKind::Godwit(_) | SubjectKind::Kea { .. } | SubjectKind::IscDhcpd
        )
    }

    /// Returns true if the subject is the limit responder, a program that returns every datagram.
    pub fn is_limit(&self) -> bool {
        self.kind == SubjectKind::Limit
    }
}

/// Returns the subjects (servers to measure) for the names `servers` and an optional server
/// command, with the limit responder last when the plan wants it.
///
/// Godwit runs with each durability of the plan, on a line of the result table that names it:
/// `godwit` is `always` and `godwit-none` is `none`, with or without other servers.
///
/// # Errors
/// A name that the lab does not know.
pub fn subjects(
    plan: &Plan,
    servers: &[String],
    server_command: Option<&str>,
) -> LabResult<Vec<MeasurementSubject>> {
    let mut subjects = if plan.protocol.is_dhcp() {
        dhcp_subjects(plan, servers)?
    } else {
        dns_subjects(servers)?
    };
    if let Some(command) = server_command {
        subjects.push(MeasurementSubject::new(
            COMMAND_SERVER,
            "",
            SubjectKind::Command(command.to_owned()),
        ));
    }
    if plan.names_features() {
        subjects = with_features(plan, subjects);
    }
    // Among DNS servers the plain responder has a name of its own.
    let is_there = subjects.iter().any(|subject| subject.kind == SubjectKind::Dns(DnsServer::Echo));
    if plan.blocks.limit && !is_there {
        subjects.push(MeasurementSubject::new(LIMIT_SERVER, "", SubjectKind::Limit));
    }
    Ok(subjects)
}

/// Makes the error that the lab knows no server called `name` for the plan's protocol; the error
/// lists `names`.
fn unknown(name: &str, names: &[&str]) -> LabError {
    if let Some(peer) = PEERS.iter().find(|peer| peer.name == name) {
        return LabError::Usage(format!(
            "{name} serves {}, which this plan does not measure; it can measure: {}",
            peer.serves,
            names.join(", ")
        ));
    }
    LabError::Usage(format!(
        "no server is called {name}; known servers: {} (any other program: --server-command)",
        names.join(", ")
    ))
}

fn dns_subjects(servers: &[String]) -> LabResult<Vec<MeasurementSubject>> {
    let subject = |name: &String| {
        let server = DnsServer::by_name(name)
            .ok_or_else(|| unknown(name, &DnsServer::ALL.map(DnsServer::name)))?;
        Ok(MeasurementSubject::new(name, "", SubjectKind::Dns(server)))
    };
    servers.iter().map(subject).collect()
}

fn dhcp_subjects(plan: &Plan, servers: &[String]) -> LabResult<Vec<MeasurementSubject>> {
    let mut subjects = Vec::new();
    for name in servers {
        match name.as_str() {
            "godwit" => subjects.extend(stores_with_access(plan).flat_map(|at| godwit(plan, at))),
            "kea" => subjects.extend(keas(plan, KeaVersion::Installed)),
            "kea3" => subjects.extend(keas(plan, KeaVersion::Debian13)),
            "isc-dhcpd" => subjects.push(with_reduced_terms(name, SubjectKind::IscDhcpd, plan)),
            "dnsmasq" => subjects.push(with_reduced_terms(name, SubjectKind::Dnsmasq, plan)),
            other => {
                return Err(unknown(other, &["godwit", "kea", "kea3", "isc-dhcpd", "dnsmasq"]));
            }
        }
    }
    Ok(subjects)
}

/// Returns every measured server once with each feature of the plan. Of Godwit's durabilities only
/// the plan's first is measured with features: the others would add lines to the result table for
/// each feature.
fn with_features(plan: &Plan, subjects: Vec<MeasurementSubject>) -> Vec<MeasurementSubject> {
    let first = plan.server.durability[0];
    let is_kind = |subject: &MeasurementSubject| !matches!(subject.kind, SubjectKind::Godwit(other) if other != first);
    let takes = |subject: &MeasurementSubject| {
        matches!(subject.kind, SubjectKind::Godwit(_) | SubjectKind::Kea { .. })
    };
    let mut lines = Vec::new();
    for subject in subjects.iter().filter(|subject| is_kind(subject)) {
        if !takes(subject) {
            lines.push(subject.clone());
            continue;
        }
        let has = |feature: &&ServerFeature| match subject.kind {
            SubjectKind::Kea { multi_threaded, version } => {
                let is_too_old = feature.needs_kea_3() && version == KeaVersion::Installed;
                // Kea's pairs without threads need the control agent.
                let needs_threads = feature.queue_packets().is_some() || feature.has_partner();
                !feature.is_godwit_only() && !is_too_old && (multi_threaded || !needs_threads)
            }
            _ => feature.queue_packets().is_none(),
        };
        for &feature in plan.server.features.iter().filter(has) {
            let (server, durability) = match subject.kind {
                SubjectKind::Godwit(_) => ServerDurability::split_line(&subject.server),
                _ => (subject.server.as_str(), ServerDurability::Always),
            };
            let server = format!("{server}-{}{}", feature.name(), durability.suffix());
            lines.push(MeasurementSubject { server, feature, ..subject.clone() });
        }
    }
    lines
}

/// Makes a measured server whose variant names its reduced terms: pool and clients that are less
/// than the plan's.
fn with_reduced_terms(name: &str, kind: SubjectKind, plan: &Plan) -> MeasurementSubject {
    let whole = MeasurementSubject::new(name, "", kind);
    let variant = MeasurementTerms::for_subject(&whole, plan).variant(plan);
    MeasurementSubject { variant, ..whole }
}

/// Store of a measured server's leases, and the way in which the server uses the store.
#[derive(Clone, Copy)]
struct StoreAccess {
    store: LeaseStoreKind,
    sharing: DatabaseAccess,
}

/// Returns the lease stores of `plan`, databases once for each way of using them.
fn stores_with_access(plan: &Plan) -> impl Iterator<Item = StoreAccess> {
    plan.server.stores.iter().flat_map(|&store| {
        let sharing =
            if store.is_database() { &plan.server.sharing[..] } else { &[DatabaseAccess::Open] };
        sharing.iter().map(move |&sharing| StoreAccess { store, sharing })
    })
}

/// Returns the name of the result table's line for `server` with a lease store and a way of using
/// it: `godwit-mysql-exclusive`.
fn line_name(plan: &Plan, server: &str, access: StoreAccess) -> String {
    let StoreAccess { store, sharing } = access;
    let mut name = server.to_owned();
    if plan.names_stores() {
        name = format!("{name}-{}", store.name());
    }
    if sharing != DatabaseAccess::Open {
        name = format!("{name}-{}", sharing.name());
    }
    name
}

fn godwit(plan: &Plan, at: StoreAccess) -> Vec<MeasurementSubject> {
    let store = at.store;
    let variant = |durability: ServerDurability| format!("durability {}", durability.name());
    let name = line_name(plan, "godwit", at);
    // A database server decides by itself when a row is on the disk.
    if store.is_database() {
        return vec![
            MeasurementSubject::new(&name, "", SubjectKind::Godwit(ServerDurability::Always))
                .with_store(at),
        ];
    }
    let line = |&durability: &ServerDurability| {
        let name = format!("{name}{}", durability.suffix());
        MeasurementSubject::new(&name, &variant(durability), SubjectKind::Godwit(durability))
            .with_store(at)
    };
    let mut lines: Vec<MeasurementSubject> = plan.server.durability.iter().map(line).collect();
    // SQLite flushes each transaction or none.
    lines.retain(|line| {
        store != LeaseStoreKind::Sqlite
            || line.kind != SubjectKind::Godwit(ServerDurability::Interval)
    });
    lines
}

/// Returns the variants of Kea's server of `version` with all stores of `plan`.
fn keas(plan: &Plan, version: KeaVersion) -> impl Iterator<Item = MeasurementSubject> {
    stores_with_access(plan).flat_map(move |at| kea(plan, version, at))
}

/// Returns Kea's two variants, single-threaded and multi-threaded; none if Kea lacks the lease
/// store or has no setting for the way of using the database.
fn kea(plan: &Plan, version: KeaVersion, at: StoreAccess) -> Vec<MeasurementSubject> {
    if at.store == LeaseStoreKind::Sqlite || at.sharing == DatabaseAccess::Exclusive {
        return Vec::new();
    }
    let name = line_name(plan, version.name(), at);
    let subject = |variant: &str, multi_threaded| {
        MeasurementSubject::new(&name, variant, SubjectKind::Kea { version, multi_threaded })
            .with_store(at)
    };
    vec![subject("single-threaded", false), subject("multi-threaded", true)]
}

#[cfg(test)]
mod tests {
    use measure::plan::MeasuredProtocol;

    use super::*;

    fn labels(servers: &[&str], command: Option<&str>) -> Vec<String> {
        let servers: Vec<String> = servers.iter().map(|&s| s.to_owned()).collect();
        let subjects = subjects(&Plan::default(), &servers, command).unwrap();
        subjects.iter().map(MeasurementSubject::label).collect()
    }

    #[test]
    fn a_line_of_godwit_names_its_durability_alone_as_beside_kea() {
        assert_eq!(
            labels(&["godwit"], None),
            ["godwit-none (durability none)", "godwit (durability always)", "limit"]
        );
        assert_eq!(
            labels(&["godwit", "kea"], None),
            [
                "godwit-none (durability none)",
                "godwit (durability always)",
                "kea (single-threaded)",
                "kea (multi-threaded)",
                "limit"
            ]
        );
        assert_eq!(
            labels(&["isc-dhcpd", "dnsmasq"], None),
            ["isc-dhcpd (pool of 16,384)", "dnsmasq (1,000 clients)", "limit"]
        );
        assert_eq!(labels(&[], Some("dhcpd")), ["command", "limit"]);
    }

    #[test]
    fn every_store_is_a_line_of_the_servers_that_have_it() {
        let mut plan = Plan::default();
        plan.server.stores = LeaseStoreKind::ALL.to_vec();
        plan.server.durability.insert(1, ServerDurability::Interval);
        let of = |plan: &Plan, servers: &[&str]| -> Vec<String> {
            let servers: Vec<String> = servers.iter().map(|&s| s.to_owned()).collect();
            subjects(plan, &servers, None).unwrap().iter().map(MeasurementSubject::label).collect()
        };
        assert_eq!(
            of(&plan, &["godwit", "kea"]),
            [
                "godwit-memfile-none (durability none)",
                "godwit-memfile-interval (durability interval)",
                "godwit-memfile (durability always)",
                "godwit-mysql",
                "godwit-postgresql",
                "godwit-sqlite-none (durability none)",
                "godwit-sqlite (durability always)",
                "kea-memfile (single-threaded)",
                "kea-memfile (multi-threaded)",
                "kea-mysql (single-threaded)",
                "kea-mysql (multi-threaded)",
                "kea-postgresql (single-threaded)",
                "kea-postgresql (multi-threaded)",
                "limit"
            ]
        );
        plan.server.stores = vec![LeaseStoreKind::Postgresql];
        plan.server.sharing =
            vec![DatabaseAccess::Open, DatabaseAccess::Exclusive, DatabaseAccess::TwoServers];
        assert_eq!(
            of(&plan, &["kea", "godwit"]),
            [
                "kea-postgresql (single-threaded)",
                "kea-postgresql (multi-threaded)",
                "kea-postgresql-two-servers (single-threaded)",
                "kea-postgresql-two-servers (multi-threaded)",
                "godwit-postgresql",
                "godwit-postgresql-exclusive",
                "godwit-postgresql-two-servers",
                "limit"
            ]
        );
    }

    #[test]
    fn dns_servers_are_those_of_dns_plans_and_echo_is_their_limit() {
        let plan = Plan { protocol: MeasuredProtocol::Dns, ..Plan::default() };
        let of = |servers: &[&str]| -> Vec<String> {
            let servers: Vec<String> = servers.iter().map(|&s| s.to_owned()).collect();
            subjects(&plan, &servers, None).unwrap().iter().map(MeasurementSubject::label).collect()
        };
        assert_eq!(of(&["bind", "knot"]), ["bind", "knot", "limit"]);
        assert_eq!(of(&["nsd", "echo"]), ["nsd", "echo"]);
        for (plan, name) in [(&plan, "kea"), (&Plan::default(), "bind")] {
            let error = subjects(plan, &[name.to_owned()], None).unwrap_err();
            let message = error.to_string();
            assert!(message.starts_with(&format!("{name} serves D")), "{message}");
        }
        let error = subjects(&plan, &["nobody".to_owned()], None).unwrap_err();
        assert!(error.to_string().contains("no server is called"), "{error}");
    }

    #[test]
    fn every_feature_is_a_line_of_servers_with_the_first_durability() {
        let mut plan = Plan::default();
        plan.server.features = vec![ServerFeature::Plain, ServerFeature::Pool99];
        let servers = ["godwit".to_owned(), "kea".to_owned(), "dnsmasq".to_owned()];
        let lines = subjects(&plan, &servers, None).unwrap();
        assert_eq!(
            lines.iter().map(MeasurementSubject::label).collect::<Vec<_>>(),
            [
                "godwit-plain-none (durability none)",
                "godwit-pool-99-none (durability none)",
                "kea-plain (single-threaded)",
                "kea-pool-99 (single-threaded)",
                "kea-plain (multi-threaded)",
                "kea-pool-99 (multi-threaded)",
                "dnsmasq (1,000 clients)",
                "limit"
            ]
        );
        assert_eq!(lines[1].feature, ServerFeature::Pool99);
    }

    #[test]
    fn a_queue_is_of_kea_with_several_threads() {
        let mut plan = Plan::default();
        plan.server.features = vec![ServerFeature::Plain, ServerFeature::Queue28];
        plan.blocks.limit = false;
        let lines = subjects(&plan, &["godwit".to_owned(), "kea".to_owned()], None).unwrap();
        assert_eq!(
            lines.iter().map(MeasurementSubject::label).collect::<Vec<_>>(),
            [
                "godwit-plain-none (durability none)",
                "kea-plain (single-threaded)",
                "kea-plain (multi-threaded)",
                "kea-queue-28 (multi-threaded)",
            ]
        );
    }

    #[test]
    fn hook_libraries_are_measured_with_kea_3_and_listeners_with_godwit_alone() {
        let mut plan = Plan::default();
        plan.server.features = vec![
            ServerFeature::LegalLog,
            ServerFeature::LocalNames,
            ServerFeature::DdnsRequests,
            ServerFeature::DdnsInside,
            ServerFeature::HotStandby,
            ServerFeature::HotStandbyKea,
        ];
        plan.blocks.limit = false;
        let servers = ["godwit", "kea", "kea3"].map(str::to_owned);
        let lines = subjects(&plan, &servers, None).unwrap();
        assert_eq!(
            lines.iter().map(MeasurementSubject::label).collect::<Vec<_>>(),
            [
                "godwit-legal-log-none (durability none)",
                "godwit-local-names-none (durability none)",
                "godwit-ddns-requests-none (durability none)",
                "godwit-ddns-inside-none (durability none)",
                "godwit-hot-standby-none (durability none)",
                "godwit-hot-standby-kea-none (durability none)",
                "kea-ddns-requests (single-threaded)",
                "kea-ddns-requests (multi-threaded)",
                "kea3-legal-log (single-threaded)",
                "kea3-ddns-requests (single-threaded)",
                "kea3-legal-log (multi-threaded)",
                "kea3-ddns-requests (multi-threaded)",
                "kea3-hot-standby (multi-threaded)",
            ]
        );
    }

    #[test]
    fn unknown_servers_are_refused_with_the_known_ones() {
        let error = subjects(&Plan::default(), &["dhcpd".to_owned()], None).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("godwit, kea, kea3, isc-dhcpd, dnsmasq "), "{error}");
    }

    #[test]
    fn file_names_are_plain() {
        let subject = MeasurementSubject::new("kea", "multi-threaded", SubjectKind::Limit);
        assert_eq!(subject.file_name(), "kea-multi-threaded");
        assert_eq!(MeasurementSubject::new("limit", "", SubjectKind::Limit).file_name(), "limit");
    }
}
