//! Contract between control commands and the server that they control. The daemon implements it;
//! tests have a small server of their own.

use core::net::IpAddr;

use base::Now;
use dhcp_config::{ConfigProblem, ExtendedInfoChecks, Hook, Severity};
use dhcp_ha::HaExecution;
use dhcp_lease::{ChangesRequest, ClientKey, Family, Lease, PutMode};
use serde_json::Value;

use crate::answer::{CommandAnswer, ResultCode};
use crate::document::reservations_of;
use crate::family::CommandFamily;
use crate::host_databases::HostDatabases;
use crate::interfaces::InterfaceFacts;
use crate::service::ServiceState;
use crate::statistics::ServerCounts;
use crate::subnet_facts::SubnetFacts;

/// Server that control commands act on. The thread that executes commands calls every method, and
/// each method has finished its work when it returns.
pub trait CommandBackend {
    /// Address family of the server and its leases.
    type Family: CommandFamily;

    /// Returns the current time, which a command reads once.
    fn now(&self) -> Now;
    /// Returns the configured hook libraries; the server has the commands of these libraries only.
    fn hooks(&self) -> &[Hook];
    /// Returns the configured level of the checks of relay agents' data in leases
    /// (`sanity-checks.extended-info-checks`).
    fn extended_info_checks(&self) -> ExtendedInfoChecks;
    /// Returns the server's version for the commands `version-get` and `build-report`.
    fn version(&self) -> ServerVersion;

    /// Returns the server's running configuration with all defaults: `{ "Dhcp4": { ... } }`.
    fn configuration(&self) -> &Value;
    /// Checks a whole configuration without applying it.
    ///
    /// # Errors
    ///
    /// Returns all problems of the configuration, or the reason why [`Self::apply`] would refuse
    /// it.
    fn check(&self, document: &Value) -> Result<(), ApplyFailure>;
    /// Applies a whole configuration, `{ "Dhcp4": { ... } }`, without writing it to a file.
    /// Afterwards [`Self::configuration`] returns the configuration with defaults.
    ///
    /// # Errors
    ///
    /// Returns the failure. The old configuration stays in use unless the failure is
    /// [`ApplyFailure::Partial`].
    fn apply(&mut self, document: Value) -> Result<(), ApplyFailure>;
    /// Applies a whole configuration as [`Self::apply`] does, and ends the history of the subnets'
    /// statistics ([`Statistics::restart_subnets`]).
    ///
    /// [`Statistics::restart_subnets`]: crate::statistics::Statistics::restart_subnets
    ///
    /// # Errors
    ///
    /// See [`Self::apply`].
    fn replace(&mut self, document: Value) -> Result<(), ApplyFailure> {
        self.apply(document)
    }
    /// Changes a reservation of the subnet `subnet_id`, or a global one for 0, at its position in
    /// [`Self::configuration`], with the same effect as [`Self::apply`] of the whole configuration.
    /// A server with many reservations implements this more efficiently.
    ///
    /// # Errors
    ///
    /// See [`Self::apply`].
    fn change_host(
        &mut self,
        subnet_id: u32,
        change: HostChange<Value>,
    ) -> Result<(), ApplyFailure> {
        let mut document = self.configuration().clone();
        if let Some(hosts) = reservations_of::<Self::Family>(&mut document, subnet_id) {
            change.apply(hosts);
        }
        self.apply(document)
    }

    /// Executes the command `name` about high availability; `None` if the server has no partner.
    fn execute_ha(&mut self, _name: &str, _arguments: &Value) -> Option<HaExecution> {
        None
    }

    /// Returns true if the partner of high availability is Kea before 2.5, which does not know the
    /// state of released leases.
    fn is_partner_old(&self) -> bool {
        false
    }

    /// Returns the relationships with partners, as `status-get` shows them; `None` if the server
    /// has no partner.
    fn ha_status(&self) -> Option<Value> {
        None
    }

    /// Returns the databases of reservations, or `None` if the server has none.
    fn host_databases(&mut self) -> Option<&mut dyn HostDatabases> {
        None
    }

    /// Reads the server's configuration file again and applies it.
    ///
    /// # Errors
    ///
    /// See [`Self::apply`].
    fn reload(&mut self) -> Result<(), ApplyFailure>;
    /// Writes the running configuration to `file`, or if that is `None` to the file that it was
    /// read from.
    ///
    /// # Errors
    ///
    /// Returns one sentence: the operation that failed with its file, or that the server must not
    /// write that file.
    fn write(&mut self, file: Option<&str>) -> Result<WrittenFile, String>;

    /// Returns the properties of the subnet with the number `id`; `None` if there is no such
    /// subnet.
    fn subnet(&self, id: u32) -> Option<SubnetFacts>;
    /// Returns the properties of the first subnet whose prefix contains `address`.
    fn subnet_of(&self, address: IpAddr) -> Option<SubnetFacts>;
    /// Returns the number (`id`) of every subnet, ascending.
    fn subnet_ids(&self) -> Vec<u32>;
    /// Returns the subnet that the server would select for a message with the properties
    /// `selector`.
    fn select_subnet(&self, selector: &Selector) -> Option<Selected>;

    /// Returns the interface through which commands read and change the server's leases.
    fn leases(&mut self) -> &mut dyn LeaseAdministration<Self::Family>;
    /// Returns the interface to the DNS updates of leases; `None` if the server makes no updates.
    fn name_updates(&self) -> Option<&dyn NameUpdates<Self::Family>> {
        None
    }
    /// Reclaims every expired lease of the server, and removes reclaimed leases if `and_removes`.
    fn reclaim(&mut self, and_removes: bool);
    /// Starts a cleanup of the server's lease file.
    fn start_cleanup(&mut self) -> CleanupStartResult;

    /// Returns the state of the DHCP service, enabled or disabled, for commands to change. The
    /// daemon checks the state after each command and once a second.
    fn service(&mut self) -> &mut ServiceState;
    /// Returns the facts about the server that `status-get` shows in addition to the service's
    /// state.
    fn status(&self) -> Status;
    /// Returns the system's network interfaces as last detected.
    fn interfaces(&self) -> Vec<InterfaceFacts>;
    /// Detects the system's network interfaces again.
    ///
    /// # Errors
    ///
    /// Names the operation that failed.
    fn detect_interfaces(&mut self) -> Result<(), String>;
    /// Serves clients on further network interfaces, named as in `interfaces-config`.
    ///
    /// # Errors
    ///
    /// Names the operation that failed and the interface.
    fn add_interfaces(&mut self, names: &[String]) -> Result<(), String>;
    /// Ends the server's process soon, after the answer to the command has been sent. `exit_value`
    /// is its exit code.
    fn shut_down(&mut self, exit_value: i32);

    /// Returns the current values of all counters of the server.
    fn counts(&self) -> ServerCounts;
}

/// DNS updates of leases, for commands.
pub trait NameUpdates<F: Family> {
    /// Has the names of the lease of `address` removed when the lease is deleted.
    fn remove_when_deleted(&self, address: F::Address);
    /// Takes [`Self::remove_when_deleted`] back: the lease was not deleted.
    fn keep(&self, address: F::Address);
}

/// Leases of a server, as an administrator reads and changes them by commands. Such a change is as
/// durable as any, and counts in the statistics like a client's.
pub trait LeaseAdministration<F: CommandFamily> {
    /// Returns the lease of the address `ip` of the given kind; for a prefix, of any length.
    fn find(&self, ip: F::Ip, kind: F::Kind) -> Option<Lease<F>>;
    /// Returns up to `limit` leases of any kind, ascending by address, after the address `after`,
    /// or from the first lease if `after` is `None`.
    fn page(&self, after: Option<F::Ip>, limit: usize) -> Vec<Lease<F>>;
    /// Returns the leases of [`Self::page`] for a partner of a pair, with those that their clients
    /// have released and that the partner may still have.
    fn page_for_partner(&self, after: Option<F::Ip>, limit: usize) -> Vec<Lease<F>> {
        self.page(after, limit)
    }
    /// Begins to note which leases change, for another server of a pair that copies all of them.
    /// Returns the number of the copy; `None` if the server does not note changes.
    fn begin_copy(&mut self) -> Option<u64> {
        None
    }
    /// Returns a page of the leases that have changed during a copy; `None` if the server does not
    /// know all of these changes.
    fn changed_leases(&mut self, _request: ChangesRequest) -> Option<ChangedLeasesPage<F>> {
        None
    }
    /// Returns the lease in `row`, a row of a lease file with all columns and without its line end;
    /// `None` if it is none.
    fn read_row(&self, _row: &str) -> Option<Lease<F>> {
        None
    }
    /// Returns `lease` as [`Self::read_row`] reads it; `None` if the server has no such rows.
    fn to_row(&self, _lease: &Lease<F>) -> Option<String> {
        None
    }
    /// Returns true if the client of `lease` has released it later, as far as the server knows
    /// although it has no lease of the address.
    fn has_released_later(&self, _lease: &Lease<F>) -> bool {
        false
    }
    /// Has the names of the lease of `address` added to DNS again, once those of its changes so far
    /// are requested. A server without updates of names ignores it.
    fn request_names(&self, _address: F::Address) {}
    /// Returns every lease of the client with the identifier `key`, ascending by address.
    fn client_leases(&self, key: ClientKey<'_>) -> Vec<Lease<F>>;
    /// Calls `visit` with every lease, ascending by address.
    fn for_each(&self, visit: &mut dyn FnMut(&Lease<F>));
    /// Stores `lease` as `mode` demands: as a new one, instead of one that exists, or either.
    ///
    /// # Errors
    ///
    /// Returns the reason why the lease was not stored; nothing has changed.
    fn put(&mut self, lease: Lease<F>, mode: PutMode) -> Result<(), PutFailure>;
    /// Deletes the lease of `address`; returns true if there was one.
    ///
    /// # Errors
    ///
    /// Returns the reason why the lease could not be removed, in one sentence.
    fn remove(&mut self, address: F::Address) -> Result<bool, String>;
    /// Writes all leases to `file` in the format of the lease file, and returns the path of the
    /// written file.
    ///
    /// # Errors
    ///
    /// Names the operation that failed and the file.
    fn write(&mut self, file: &str) -> Result<String, String>;
}

/// Page of the leases that have changed while another server copies them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedLeasesPage<F: Family> {
    /// Present leases of the changed addresses, ascending by address.
    pub leases: Vec<Lease<F>>,
    /// Leases that these addresses had and that have ended.
    pub ended: Vec<Lease<F>>,
    /// Number of addresses in all pages of the round.
    pub total: usize,
}

/// Reason why a lease from a command was not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutFailure {
    /// The lease's address has a lease already, and the command demands a new one.
    Exists,
    /// The lease's address has no lease that could be replaced.
    Missing,
    /// The address has a lease with a later transaction, which stays.
    Later,
    /// Another change of the address's lease is under way.
    Busy,
    /// Any other reason why the lease was not stored, in one sentence.
    Failed(String),
}

/// Properties of the imaginary message in `subnet4-select-test` and `subnet6-select-test`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// Name of the interface that received the message.
    pub interface: Option<String>,
    /// Address of the client (`ciaddr`), for DHCPv4.
    pub address: Option<IpAddr>,
    /// Address of the relay agent (`giaddr`), for DHCPv4.
    pub relay: Option<IpAddr>,
    /// Address that the message was sent to, for DHCPv4.
    pub local: Option<IpAddr>,
    /// Source address of the message.
    pub remote: Option<IpAddr>,
    /// DHCPv4: link selection sub-option (RFC 3527), `None` if the configuration ignores it;
    /// DHCPv6: link address of the first relay agent.
    pub link: Option<IpAddr>,
    /// Subnet selection option of DHCPv4 (RFC 3011), `None` if `link` is set.
    pub subnet: Option<IpAddr>,
    /// Value of the option Interface-Id (18) of the relay agent nearest to the client, for DHCPv6.
    pub interface_id: Option<Vec<u8>>,
    /// Names of the client classes that the imaginary client is in.
    pub classes: Vec<String>,
}

/// Subnet that the server selects for the message of `subnet4-select-test` or
/// `subnet6-select-test`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// Name of the selected subnet's shared network; `None` if it has none.
    pub network: Option<String>,
    /// Prefix of the selected subnet as text.
    pub subnet: String,
    /// Number (`id`) of the selected subnet.
    pub id: u32,
}

/// Change of one reservation of a subnet, or of a global one. `T` is a reservation.
#[derive(Clone, Debug, PartialEq)]
pub enum HostChange<T> {
    /// Add this reservation at the end of the list.
    Add(T),
    /// Replace the reservation at this position of the list by another.
    Replace(usize, T),
    /// Remove the reservation at this position of the list.
    Remove(usize),
}

impl<T> HostChange<T> {
    /// Applies the change to `list`, the reservations of one subnet or the global ones.
    pub fn apply(self, list: &mut Vec<T>) {
        match self {
            Self::Add(host) => list.push(host),
            Self::Replace(at, host) => list[at] = host,
            Self::Remove(at) => drop(list.remove(at)),
        }
    }

    /// Returns the reservation that the change adds, and the position of the one that it removes.
    #[must_use]
    pub const fn parts(&self) -> (Option<&T>, Option<usize>) {
        match self {
            Self::Add(host) => (Some(host), None),
            Self::Replace(at, host) => (Some(host), Some(*at)),
            Self::Remove(at) => (None, Some(*at)),
        }
    }
}

/// Reason why the server did not apply a configuration completely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyFailure {
    /// The configuration is invalid, with the problems that the parser found.
    Invalid(Vec<ConfigProblem>),
    /// The configuration could not be read or applied, in one sentence; the previous one stays in
    /// use.
    Refused(String),
    /// The configuration could not be applied completely, in one sentence; a part of the previous
    /// one is gone.
    Partial(String),
}

impl ApplyFailure {
    /// Returns the answer to a command whose configuration was not applied.
    pub(crate) fn into_answer(self) -> CommandAnswer {
        match self {
            Self::Invalid(problems) => CommandAnswer::error(error_lines(&problems)),
            Self::Refused(why) => CommandAnswer::error(why),
            Self::Partial(why) => CommandAnswer::text(ResultCode::Fatal, why),
        }
    }
}

/// Returns every error among `problems`, one per line, each with its position as Kea writes it.
fn error_lines(problems: &[ConfigProblem]) -> String {
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error);
    let lines: Vec<String> = errors
        .map(|ConfigProblem { message, file, line, column, .. }| {
            format!("{message} ({file}:{line}:{column})")
        })
        .collect();
    if lines.is_empty() {
        "undefined configuration processing error".to_owned()
    } else {
        lines.join("\n")
    }
}

/// Configuration file that `config-write` has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// Path of the written configuration file.
    pub file: String,
    /// Size of the written configuration file, in bytes.
    pub size_bytes: u64,
}

/// Result of a request to start a cleanup of the lease file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CleanupStartResult {
    /// The cleanup of the lease file has begun.
    Started,
    /// A cleanup of the lease file is running already.
    Running,
    /// The server has no lease file to clean up.
    NoLeaseFile,
    /// The cleanup of the lease file could not begin.
    Failed,
}

/// Version texts of the server, for `version-get` and `build-report`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerVersion {
    /// Version number of the server alone.
    pub short: String,
    /// Version of the server with details, several lines.
    pub extended: String,
    /// Information about the server's build, several lines.
    pub build: String,
}

/// State of the server, for `status-get`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// Process identifier of the server.
    pub pid: u32,
    /// Time since the server started, in seconds.
    pub uptime_s: u64,
    /// Seconds since the server last applied a configuration.
    pub since_reload_s: u64,
    /// Number of threads that process clients' messages.
    pub threads: u32,
    /// Maximum number of messages that each thread holds back, for `status-get`.
    pub queue_size: u32,
    /// Mean length of a thread's queue of messages over the last 10, 100 and 1000 messages, for
    /// `status-get`.
    pub queue_means: [f64; 3],
    /// Failures to open or use sockets, one sentence each.
    pub socket_errors: Vec<String>,
    /// True if the server tries again to open sockets that failed.
    pub retries_sockets: bool,
    /// True if the server finds DHCPv6 leases by relay agent (`extended-info-tables-enabled` of the
    /// hook library `lease_query`).
    pub has_extended_info_tables: bool,
    /// Path of the server's lease file; `None` without one.
    pub lease_file: Option<String>,
    /// Size of the server's lease file, in bytes; `None` without one.
    pub lease_file_bytes: Option<u64>,
}
