//! Contract of the server that commands control. The daemon implements it; tests have a small
//! server of their own.

use core::net::IpAddr;

use base::Now;
use dhcp_config::{ConfigProblem, ExtendedInfoChecks, Hook, Severity};
use dhcp_lease::{ClientKey, PutMode};
use serde_json::Value;

use crate::answer::{CommandAnswer, ResultCode};
use crate::document::reservations_of;
use crate::family::CommandFamily;
use crate::interfaces::InterfaceFacts;
use crate::service::ServiceState;
use crate::statistics::ServerCounts;
use crate::subnet_facts::SubnetFacts;

/// Server behind a control socket. The thread that executes commands calls every method, and each
/// method has finished its work when it returns.
pub trait CommandBackend {
    /// Family of the server's leases.
    type Family: CommandFamily;

    /// Returns the time, read once per command.
    fn now(&self) -> Now;
    /// Returns the configured hook libraries; the server does not know the commands of others.
    fn hooks(&self) -> &[Hook];
    /// Returns the level of checks of relay agents' data in leases (`sanity-checks`).
    fn extended_info_checks(&self) -> ExtendedInfoChecks;
    /// Returns the version for `version-get` and `build-report`.
    fn version(&self) -> ServerVersion;

    /// Returns the running configuration with all defaults: `{ "Dhcp4": { ... } }`.
    fn configuration(&self) -> &Value;
    /// Checks a whole configuration without using it.
    ///
    /// # Errors Returns all of its problems, or the reason why [`Self::apply`] would refuse it.
    fn check(&self, document: &Value) -> Result<(), ApplyFailure>;
    /// Uses a whole configuration from now on, `{ "Dhcp4": { ... } }`, without writing it to a
    /// file. Afterwards [`Self::configuration`] returns it, with defaults.
    ///
    /// # Errors Returns the failure. The old configuration stays in use unless the failure is
    /// [`ApplyFailure::Partial`].
    fn apply(&mut self, document: Value) -> Result<(), ApplyFailure>;
    /// Uses a whole configuration as [`Self::apply`] does, instead of the one before: the history
    /// of the statistics of subnets ends ([`Statistics::restart_subnets`]).
    ///
    /// [`Statistics::restart_subnets`]: crate::statistics::Statistics::restart_subnets
    ///
    /// # Errors See [`Self::apply`].
    fn replace(&mut self, document: Value) -> Result<(), ApplyFailure> {
        self.apply(document)
    }
    /// Changes a reservation of the subnet `subnet_id`, or a global one for 0, at its position in
    /// [`Self::configuration`], with the same effect as [`Self::apply`] of the whole configuration.
    /// A server with many reservations implements this more efficiently.
    ///
    /// # Errors See [`Self::apply`].
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

    /// Reads the configuration file again and uses it.
    ///
    /// # Errors See [`Self::apply`].
    fn reload(&mut self) -> Result<(), ApplyFailure>;
    /// Writes the running configuration to `file`, or to the file that it was read from.
    ///
    /// # Errors Returns one sentence: the operation that failed with its file, or that the server
    /// must not write there.
    fn write(&mut self, file: Option<&str>) -> Result<WrittenFile, String>;

    /// Returns the subnet with this `id`.
    fn subnet(&self, id: u32) -> Option<SubnetFacts>;
    /// Returns the first subnet whose prefix contains `address`.
    fn subnet_of(&self, address: IpAddr) -> Option<SubnetFacts>;
    /// Returns the `id` of every subnet, ascending.
    fn subnet_ids(&self) -> Vec<u32>;
    /// Returns the subnet that the server would select for a message.
    fn select_subnet(&self, selector: &Selector) -> Option<Selected>;

    /// Returns the leases.
    fn leases(&mut self) -> &mut dyn LeaseAdministration<Self::Family>;
    /// Reclaims every expired lease, and removes reclaimed leases if `and_removes`.
    fn reclaim(&mut self, and_removes: bool);
    /// Starts a cleanup of the lease file.
    fn start_cleanup(&mut self) -> CleanupStartResult;

    /// Returns the state of the service. The daemon checks it after each command and once a second.
    fn service(&mut self) -> &mut ServiceState;
    /// Returns the further state for `status-get`.
    fn status(&self) -> Status;
    /// Returns the system's interfaces as last detected.
    fn interfaces(&self) -> Vec<InterfaceFacts>;
    /// Detects the system's interfaces again.
    ///
    /// # Errors Names the operation that failed.
    fn detect_interfaces(&mut self) -> Result<(), String>;
    /// Serves on further interfaces, named as in `interfaces-config`.
    ///
    /// # Errors Names the operation that failed and the interface.
    fn add_interfaces(&mut self, names: &[String]) -> Result<(), String>;
    /// Ends the server soon, after the answer has been sent. `exit_value` is its exit code.
    fn shut_down(&mut self, exit_value: i32);

    /// Returns all counts as of now.
    fn counts(&self) -> ServerCounts;
}

/// Leases of a server, for the administrator. A change here is as durable as any, and counts in the
/// statistics like a client's.
pub trait LeaseAdministration<F: CommandFamily> {
    /// Returns the lease of `ip` as `kind`; it finds a prefix of any length.
    fn find(&self, ip: F::Ip, kind: F::Kind) -> Option<F::Lease>;
    /// Returns up to `limit` leases of any kind in ascending order of their addresses, after the
    /// address `after`, or from the first.
    fn page(&self, after: Option<F::Ip>, limit: usize) -> Vec<F::Lease>;
    /// Returns every lease of one client, ascending by address.
    fn client_leases(&self, key: ClientKey<'_>) -> Vec<F::Lease>;
    /// Passes every lease to `visit`, ascending by address.
    fn for_each(&self, visit: &mut dyn FnMut(&F::Lease));
    /// Stores `lease`.
    ///
    /// # Errors Returns the reason; nothing has changed.
    fn put(&mut self, lease: F::Lease, mode: PutMode) -> Result<(), PutFailure>;
    /// Deletes the lease of `address`; returns true if there was one.
    ///
    /// # Errors Returns the reason why it could not be removed, in one sentence.
    fn remove(&mut self, address: F::Address) -> Result<bool, String>;
    /// Writes all leases to `file` in the format of the lease file; returns the path of the written
    /// file.
    ///
    /// # Errors Names the operation that failed and the file.
    fn write(&mut self, file: &str) -> Result<String, String>;
}

/// Reason why a lease was not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutFailure {
    /// The address has a lease already.
    Exists,
    /// The address has no lease.
    Missing,
    /// Another change of the lease is under way.
    Busy,
    /// Any other reason, one sentence.
    Failed(String),
}

/// Properties of a message in `subnet#-select-test`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// Interface that received the message.
    pub interface: Option<String>,
    /// v4: address of the client.
    pub address: Option<IpAddr>,
    /// v4: address of the relay agent.
    pub relay: Option<IpAddr>,
    /// v4: address that the message was sent to.
    pub local: Option<IpAddr>,
    /// Address that the message came from.
    pub remote: Option<IpAddr>,
    /// v4: link selection sub-option (RFC 3527), left out if the configuration ignores it. v6: link
    /// address of the first relay agent.
    pub link: Option<IpAddr>,
    /// v4: subnet selection option (RFC 3011), left out if `link` is set.
    pub subnet: Option<IpAddr>,
    /// v6: interface-id of the first relay agent.
    pub interface_id: Option<Vec<u8>>,
    /// Classes of the client.
    pub classes: Vec<String>,
}

/// Subnet that a server selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// Name of its shared network.
    pub network: Option<String>,
    /// Prefix of the subnet as text.
    pub subnet: String,
    /// Number of the subnet, `id`.
    pub id: u32,
}

/// Change of one host reservation of a subnet, or of the global ones. `T` is a reservation.
#[derive(Clone, Debug, PartialEq)]
pub enum HostChange<T> {
    /// Add a reservation.
    Add(T),
    /// Replace the reservation at this position.
    Replace(usize, T),
    /// Remove the reservation at this position.
    Remove(usize),
}

impl<T> HostChange<T> {
    /// Changes `list`, which must have the position.
    pub fn apply(self, list: &mut Vec<T>) {
        match self {
            Self::Add(host) => list.push(host),
            Self::Replace(at, host) => list[at] = host,
            Self::Remove(at) => drop(list.remove(at)),
        }
    }

    /// Returns the new reservation, and the position of the one that is removed.
    #[must_use]
    pub const fn parts(&self) -> (Option<&T>, Option<usize>) {
        match self {
            Self::Add(host) => (Some(host), None),
            Self::Replace(at, host) => (Some(host), Some(*at)),
            Self::Remove(at) => (None, Some(*at)),
        }
    }
}

/// Reason why a configuration is not in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyFailure {
    /// The configuration is invalid; these are its problems.
    Invalid(Vec<ConfigProblem>),
    /// The configuration could not be used or read: one sentence. The old one stays in use.
    Refused(String),
    /// The configuration could not be used completely: one sentence. A part of the old one is gone.
    Partial(String),
}

impl ApplyFailure {
    /// Returns the answer to a command whose configuration is not in use.
    pub(crate) fn into_answer(self) -> CommandAnswer {
        match self {
            Self::Invalid(problems) => CommandAnswer::error(error_lines(&problems)),
            Self::Refused(why) => CommandAnswer::error(why),
            Self::Partial(why) => CommandAnswer::text(ResultCode::Fatal, why),
        }
    }
}

/// Returns every error, one per line, each with its position as Kea writes it.
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

/// Configuration file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// Name of the file.
    pub file: String,
    /// Size of the file, bytes.
    pub size_bytes: u64,
}

/// Result of a request to clean up the lease file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CleanupStartResult {
    /// The cleanup has begun.
    Started,
    /// A cleanup is running already.
    Running,
    /// The server has no lease file.
    NoLeaseFile,
    /// The cleanup could not begin.
    Failed,
}

/// Version of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerVersion {
    /// Version number alone.
    pub short: String,
    /// Version with details, several lines.
    pub extended: String,
    /// Build information, several lines.
    pub build: String,
}

/// State of the server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// Process number.
    pub pid: u32,
    /// Seconds since the server started.
    pub uptime_s: u64,
    /// Seconds since the server last began to use a configuration.
    pub since_reload_s: u64,
    /// Number of threads that serve packets.
    pub threads: u32,
    /// Most packets that each thread holds.
    pub queue_size: u32,
    /// Mean length of the queue over the last 10, 100 and 1000 packets.
    pub queue_means: [f64; 3],
    /// Failures of sockets, one sentence each.
    pub socket_errors: Vec<String>,
    /// True if the server tries again to open sockets.
    pub retries_sockets: bool,
    /// Path of the lease file; `None` without one.
    pub lease_file: Option<String>,
    /// Size of the lease file, in bytes; `None` without one.
    pub lease_file_bytes: Option<u64>,
}
