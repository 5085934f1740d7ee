//! What commands need of the server that they command. The daemon implements it; tests have a
//! small one of their own.

use core::net::IpAddr;

use base::Now;
use dhcp_config::{ExtendedInfoChecks, Hook, Problem};
use dhcp_lease::ClientKey;
use serde_json::Value;

use crate::document::reservations_of;
use crate::family::Commanded;
use crate::interfaces::Interface;
use crate::service::ServiceState;
use crate::statistics::Counts;

/// The server behind a control socket. Every method is called from the one thread that executes
/// commands, and is done with when it returns.
pub trait Backend {
    /// The family of its leases.
    type Family: Commanded;

    /// The time, read once per command.
    fn now(&self) -> Now;
    /// The hook libraries that are configured; commands of others are unknown.
    fn hooks(&self) -> &[Hook];
    /// How what leases keep of relay agents is checked (`sanity-checks`).
    fn extended_info_checks(&self) -> ExtendedInfoChecks;
    /// What `version-get` and `build-report` tell.
    fn version(&self) -> Version;

    /// The running configuration with all defaults: `{ "Dhcp4": { ... } }`.
    fn configuration(&self) -> &Value;
    /// Checks a whole configuration without using it.
    ///
    /// # Errors
    /// Every problem of it, or why [`Self::apply`] would refuse it.
    fn check(&self, document: &Value) -> Result<(), ApplyFailure>;
    /// Uses a whole configuration from now on, `{ "Dhcp4": { ... } }`, without writing it anywhere.
    /// Afterwards [`Self::configuration`] is it, with defaults.
    ///
    /// # Errors
    /// The old configuration goes on, unless the failure says otherwise.
    fn apply(&mut self, document: Value) -> Result<(), ApplyFailure>;
    /// Uses a whole configuration as [`Self::apply`] does, in place of the one before: the history of
    /// the statistics of subnets ends ([`Statistics::restart_subnets`]).
    ///
    /// [`Statistics::restart_subnets`]: crate::statistics::Statistics::restart_subnets
    ///
    /// # Errors
    /// As [`Self::apply`].
    fn replace(&mut self, document: Value) -> Result<(), ApplyFailure> {
        self.apply(document)
    }
    /// Changes a reservation of the subnet `subnet_id`, or with 0 a global one, at its position in
    /// [`Self::configuration`], as [`Self::apply`] of all that would. A server with many of them
    /// does better than this.
    ///
    /// # Errors
    /// As for [`Self::apply`].
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
    /// # Errors
    /// As for [`Self::apply`].
    fn reload(&mut self) -> Result<(), ApplyFailure>;
    /// Writes the running configuration to `file`, or to the file that it was read from.
    ///
    /// # Errors
    /// One sentence: what was tried on which file, or that there may not be written.
    fn write(&mut self, file: Option<&str>) -> Result<Written, String>;

    /// The subnet with this `id`.
    fn subnet(&self, id: u32) -> Option<SubnetFacts>;
    /// The first subnet whose prefix holds `address`.
    fn subnet_of(&self, address: IpAddr) -> Option<SubnetFacts>;
    /// The `id` of every subnet, ascending.
    fn subnet_ids(&self) -> Vec<u32>;
    /// The subnet that the server would select for a message.
    fn select_subnet(&self, selector: &Selector) -> Option<Selected>;

    /// The leases.
    fn leases(&mut self) -> &mut dyn Leases<Self::Family>;
    /// Reclaims every lease that has run out, and removes those that were reclaimed if
    /// `and_removes`.
    fn reclaim(&mut self, and_removes: bool);
    /// Starts a cleanup of the lease file.
    fn start_cleanup(&mut self) -> Cleanup;

    /// Who wants the service disabled. The daemon looks at it after each command and once a second.
    fn service(&mut self) -> &mut ServiceState;
    /// What `status-get` tells beyond that.
    fn status(&self) -> Status;
    /// The system's interfaces as last seen.
    fn interfaces(&self) -> Vec<Interface>;
    /// Looks for interfaces again.
    ///
    /// # Errors
    /// What was tried and failed.
    fn detect_interfaces(&mut self) -> Result<(), String>;
    /// Serves on further interfaces, named as in `interfaces-config`.
    ///
    /// # Errors
    /// What was tried on which.
    fn add_interfaces(&mut self, names: &[String]) -> Result<(), String>;
    /// Ends the server soon, after the answer has left. `exit_value` is its exit code.
    fn shut_down(&mut self, exit_value: i32);

    /// Everything that is counted, as of now.
    fn counts(&self) -> Counts;
}

/// The leases of a server, for the administrator. A change here is as durable as any, and counts
/// in the statistics like one made by a client.
pub trait Leases<F: Commanded> {
    /// The lease of `ip` as `kind`; a prefix is found whatever its length.
    fn find(&self, ip: F::Ip, kind: F::Kind) -> Option<F::Lease>;
    /// Up to `limit` leases in ascending order of their addresses, whatever kind they are of,
    /// behind `after`, or from the first.
    fn page(&self, after: Option<F::Ip>, limit: usize) -> Vec<F::Lease>;
    /// Every lease of one client, ascending by address.
    fn of_client(&self, key: ClientKey<'_>) -> Vec<F::Lease>;
    /// Shows every lease, ascending by address.
    fn for_each(&self, visit: &mut dyn FnMut(&F::Lease));
    /// Stores `lease`.
    ///
    /// # Errors
    /// Nothing has changed.
    fn put(&mut self, lease: F::Lease, mode: PutMode) -> Result<(), PutFailure>;
    /// Deletes the lease of `address`; whether there was one.
    ///
    /// # Errors
    /// Why it could not be removed, one sentence.
    fn remove(&mut self, address: F::Address) -> Result<bool, String>;
    /// Writes all leases to `file` in the format of the lease file; the path of what was written.
    ///
    /// # Errors
    /// What was tried on which file.
    fn write(&mut self, file: &str) -> Result<String, String>;
}

/// What a lease that is put may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutMode {
    /// Nothing: there must be none.
    Add,
    /// Another one: there must be one.
    Replace,
    /// Either.
    Either,
}

/// Why a lease was not put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutFailure {
    /// There is one already.
    Exists,
    /// There is none.
    Missing,
    /// Somebody else is changing it right now.
    Busy,
    /// Anything else, one sentence.
    Failed(String),
}

/// What lease commands know of a subnet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubnetFacts {
    /// `id`.
    pub id: u32,
    /// The prefix's address.
    pub prefix: IpAddr,
    /// The prefix's length.
    pub length: u8,
    /// `valid-lifetime` there, seconds.
    pub valid_lifetime_s: u32,
}

impl SubnetFacts {
    /// Whether `address` belongs to the prefix.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let shifted = |bits: u128, width: u32| {
            bits.checked_shr(width - u32::from(self.length).min(width)).unwrap_or_default()
        };
        match (self.prefix, address) {
            (IpAddr::V4(prefix), IpAddr::V4(address)) => {
                shifted(prefix.to_bits().into(), 32) == shifted(address.to_bits().into(), 32)
            }
            (IpAddr::V6(prefix), IpAddr::V6(address)) => {
                shifted(prefix.to_bits(), 128) == shifted(address.to_bits(), 128)
            }
            _ => false,
        }
    }

    /// The prefix as text.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}/{}", self.prefix, self.length)
    }
}

/// What `subnet#-select-test` tells of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// The receiving interface.
    pub interface: Option<String>,
    /// v4: the client's address.
    pub address: Option<IpAddr>,
    /// v4: the relay agent's address.
    pub relay: Option<IpAddr>,
    /// v4: the address that the message was sent to.
    pub local: Option<IpAddr>,
    /// The address that the message came from.
    pub remote: Option<IpAddr>,
    /// v4: the link selection sub-option (RFC 3527), already left out when the configuration
    /// ignores it. v6: the first relay agent's link address.
    pub link: Option<IpAddr>,
    /// v4: the subnet selection option (RFC 3011), already left out when `link` is set.
    pub subnet: Option<IpAddr>,
    /// v6: the first relay agent's interface-id.
    pub interface_id: Option<Vec<u8>>,
    /// The client's classes.
    pub classes: Vec<String>,
}

/// The subnet that a server selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// Its shared network.
    pub network: Option<String>,
    /// Its prefix as text.
    pub subnet: String,
    /// Its `id`.
    pub id: u32,
}

/// A change of one reservation in the list of those of its scope. `T` is a reservation.
#[derive(Clone, Debug, PartialEq)]
pub enum HostChange<T> {
    /// A further one.
    Add(T),
    /// The one at this position is another.
    Replace(usize, T),
    /// The one at this position goes.
    Remove(usize),
}

impl<T> HostChange<T> {
    /// Changes `list`, which has the position.
    pub fn apply(self, list: &mut Vec<T>) {
        match self {
            Self::Add(host) => list.push(host),
            Self::Replace(at, host) => list[at] = host,
            Self::Remove(at) => drop(list.remove(at)),
        }
    }

    /// The reservation that there will be, and the position of the one that goes.
    #[must_use]
    pub const fn parts(&self) -> (Option<&T>, Option<usize>) {
        match self {
            Self::Add(host) => (Some(host), None),
            Self::Replace(at, host) => (Some(host), Some(*at)),
            Self::Remove(at) => (None, Some(*at)),
        }
    }
}

/// Why a configuration is not in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyFailure {
    /// It is wrong.
    Invalid(Vec<Problem>),
    /// It could not be used, or read: one sentence. The old one goes on.
    Refused(String),
    /// It could not be used to the end: one sentence. The old one is gone in part.
    Partial(String),
}

/// A configuration file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its name.
    pub file: String,
    /// Its size.
    pub size_bytes: u64,
}

/// What became of a request to clean up the lease file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cleanup {
    /// It has begun.
    Started,
    /// One is under way.
    Running,
    /// There is no lease file.
    NotKept,
    /// It could not begin.
    Failed,
}

/// The version of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The number alone.
    pub short: String,
    /// Several lines.
    pub extended: String,
    /// How it was built, several lines.
    pub build: String,
}

/// The state of the server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// Its process.
    pub pid: u32,
    /// Seconds since it started.
    pub uptime_s: u64,
    /// Seconds since the configuration was last taken into use.
    pub since_reload_s: u64,
    /// Threads that serve packets.
    pub threads: u32,
    /// Packets that each of them holds at most.
    pub queue_size: u32,
    /// Mean length of the queue over the last 10, 100 and 1000 packets.
    pub queue_means: [f64; 3],
    /// What does not work with sockets, a sentence each.
    pub socket_errors: Vec<String>,
    /// Whether it is being tried again.
    pub retries_sockets: bool,
    /// Path of the lease file; `None` without one.
    pub lease_file: Option<String>,
    /// Size of the lease file, in bytes; `None` without one.
    pub lease_file_bytes: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subnet_holds_the_addresses_of_its_prefix() {
        let facts = |prefix: &str, length| SubnetFacts {
            id: 1,
            prefix: prefix.parse().unwrap(),
            length,
            valid_lifetime_s: 0,
        };
        for (prefix, length, address, holds) in [
            ("192.0.2.0", 24, "192.0.2.255", true),
            ("192.0.2.0", 24, "192.0.3.0", false),
            ("0.0.0.0", 0, "255.1.2.3", true),
            ("192.0.2.1", 32, "192.0.2.2", false),
            ("192.0.2.0", 24, "::1", false),
            ("2001:db8::", 32, "2001:db8:ffff::", true),
            ("2001:db8::", 32, "2001:db9::", false),
            ("::", 0, "ffff::", true),
            ("::1", 128, "::2", false),
        ] {
            let address = address.parse().unwrap();
            assert_eq!(facts(prefix, length).contains(address), holds, "{address}");
        }
    }
}
