//! Small server for the commands: leases in a map, a configuration that it uses as it is.

pub(crate) mod host_databases;

use std::collections::BTreeMap;
use std::net::IpAddr;

use base::Now;
use dhcp_config::{ConfigProblem, ExtendedInfoChecks, Hook, NoIncludes, parse_dhcp4, parse_dhcp6};
use dhcp_control::statistics::{LeaseCounts, PoolCounts, ServerCounts, Statistics, SubnetCounts};
use dhcp_control::{
    ApplyFailure, ChangedLeasesPage, CleanupStartResult, CommandBackend, CommandExecution,
    CommandFamily, HostDatabases, InterfaceFacts, IpVersion, LeaseAdministration, PutFailure,
    Selected, Selector, ServerVersion, ServiceState, Status, SubnetFacts, WrittenFile, execute,
};
use dhcp_lease::{ChangesRequest, ClientKey, Lease, LeaseState, PutMode};
use host_databases::FakeHostDatabases;
use serde_json::{Value, json};

/// Time of all commands: 2026-11-22 02:39:52.262110.
pub(crate) const WALL_US: u64 = 1_795_315_192_262_110;

/// Leases by address and kind; a prefix comes after an address of the same number.
pub(crate) struct FakeLeases<F: CommandFamily> {
    leases: BTreeMap<(F::Ip, bool), Lease<F>>,
    pub written: Vec<String>,
    /// Failure of the next change.
    pub refuses: Option<PutFailure>,
}

impl<F: CommandFamily> FakeLeases<F> {
    fn slot(lease: &Lease<F>) -> (F::Ip, bool) {
        (F::ip(lease.address), lease.kind() != F::USUAL_KIND)
    }

    pub(crate) fn len(&self) -> usize {
        self.leases.len()
    }
}

impl<F: CommandFamily> LeaseAdministration<F> for FakeLeases<F> {
    fn find(&self, ip: F::Ip, kind: F::Kind) -> Option<Lease<F>> {
        self.leases.get(&(ip, kind != F::USUAL_KIND)).cloned()
    }

    fn page(&self, after: Option<F::Ip>, limit: usize) -> Vec<Lease<F>> {
        let behind = |(ip, _): &(F::Ip, bool)| after.is_none_or(|after| *ip > after);
        let leases = self.leases.iter().filter(|(slot, _)| behind(slot));
        leases.map(|(_, lease)| lease.clone()).take(limit).collect()
    }

    /// A row of the fake server is a lease as commands show it.
    fn read_row(&self, row: &str) -> Option<Lease<F>> {
        let lease = serde_json::from_str(row).ok()?;
        let subnet = |id, prefix| Some(SubnetFacts { id, prefix, length: 0, valid_lifetime_s: 0 });
        dhcp_control::lease_of_partner(&lease, &subnet, WALL_US / 1_000_000).ok()
    }

    fn to_row(&self, lease: &Lease<F>) -> Option<String> {
        Some(F::to_json(lease).to_string())
    }

    fn begin_copy(&mut self) -> Option<u64> {
        Some(7)
    }

    fn changed_leases(&mut self, request: ChangesRequest) -> Option<ChangedLeasesPage<F>> {
        let leases: Vec<Lease<F>> = self.leases.values().skip(1).take(1).cloned().collect();
        let is_known = request.copy == 7;
        is_known.then(|| ChangedLeasesPage { ended: leases.clone(), leases, total: 4 })
    }

    fn client_leases(&self, key: ClientKey<'_>) -> Vec<Lease<F>> {
        let (names, octets): (&[&str], _) = match key {
            ClientKey::Hardware(octets) => (&["hw-address"], octets),
            ClientKey::Identifier(octets) => (&["client-id", "duid"], octets),
            // The caller checks the association of the leases.
            ClientKey::Association(octets, _) => (&["duid"], octets),
        };
        let octets: Vec<String> = octets.iter().map(|octet| format!("{octet:02x}")).collect();
        let text = octets.join(":");
        let is_his = |lease: &&Lease<F>| {
            // The table's index has no DHCPv6 leases without a client.
            if F::VERSION == IpVersion::V6 && F::anonymous(lease).is_some() {
                return false;
            }
            let document = F::to_json(lease);
            names.iter().any(|name| document[*name] == text.as_str())
        };
        self.leases.values().filter(is_his).cloned().collect()
    }

    fn for_each(&self, visit: &mut dyn FnMut(&Lease<F>)) {
        self.leases.values().for_each(visit);
    }

    fn put(&mut self, lease: Lease<F>, mode: PutMode) -> Result<(), PutFailure> {
        if let Some(failure) = self.refuses.take() {
            return Err(failure);
        }
        let slot = Self::slot(&lease);
        match (mode, self.leases.contains_key(&slot)) {
            (PutMode::Add, true) => Err(PutFailure::Exists),
            (PutMode::Update, false) => Err(PutFailure::Missing),
            (PutMode::UnlessTaken, true) if is_later(&self.leases[&slot], &lease) => {
                Err(PutFailure::Later)
            }
            _ => {
                self.leases.insert(slot, lease);
                Ok(())
            }
        }
    }

    fn remove(&mut self, address: F::Address) -> Result<bool, String> {
        let before = self.leases.len();
        self.leases.retain(|_, lease| lease.address != address);
        Ok(self.leases.len() < before)
    }

    fn write(&mut self, file: &str) -> Result<String, String> {
        if file.starts_with('/') {
            Err(format!("cannot create '{file}'"))
        } else {
            self.written.push(file.to_owned());
            Ok(file.to_owned())
        }
    }
}

/// Server for the tests.
pub(crate) struct Fake<F: CommandFamily> {
    pub document: Value,
    pub hooks: Vec<Hook>,
    pub extended_info_checks: ExtendedInfoChecks,
    pub leases: FakeLeases<F>,
    pub service: ServiceState,
    pub statistics: Statistics,
    /// Counts of the whole server.
    pub server: Vec<(&'static str, u64)>,
    pub now: Now,
    pub status: Status,
    pub cleanup: CleanupStartResult,
    pub exit: Option<i32>,
    pub reclaimed: Vec<bool>,
    pub added_interfaces: Vec<String>,
    pub reload: Option<ApplyFailure>,
    pub selected: Option<Selected>,
    pub selector: std::cell::RefCell<Option<Selector>>,
    pub host_databases: FakeHostDatabases,
    pub is_partner_old: bool,
}

/// Hook libraries that have commands.
pub(crate) const HOOKS: [Hook; 5] = [
    Hook::LeaseCommands,
    Hook::StatCommands,
    Hook::HostCommands,
    Hook::SubnetCommands,
    Hook::ClassCommands,
];

impl<F: CommandFamily> Fake<F> {
    /// Creates a server with the configuration below its root and all hook libraries.
    pub(crate) fn new(root: Value) -> Self {
        Self {
            document: json!({ F::VERSION.root(): root }),
            hooks: HOOKS.to_vec(),
            extended_info_checks: ExtendedInfoChecks::default(),
            leases: FakeLeases { leases: BTreeMap::new(), written: Vec::new(), refuses: None },
            service: ServiceState::default(),
            statistics: Statistics::new(F::VERSION),
            server: Vec::new(),
            now: Now { mono_ns: 0, wall_us: WALL_US },
            status: Status {
                pid: 7,
                uptime_s: 60,
                since_reload_s: 5,
                threads: 2,
                ..Status::default()
            },
            cleanup: CleanupStartResult::Started,
            exit: None,
            reclaimed: Vec::new(),
            added_interfaces: Vec::new(),
            reload: None,
            selected: None,
            selector: None.into(),
            host_databases: FakeHostDatabases::default(),
            is_partner_old: false,
        }
    }

    /// Creates a server with two small DHCPv4 subnets, or with one DHCPv6 subnet.
    pub(crate) fn with_subnets() -> Self {
        Self::new(match F::VERSION {
            IpVersion::V4 => json!({
                "valid-lifetime": 7200,
                "subnet4": [
                    { "id": 1, "subnet": "192.0.2.0/24",
                      "pools": [{ "pool": "192.0.2.10-192.0.2.19", "pool-id": 0 }] },
                    { "id": 7, "subnet": "10.0.0.0/24",
                      "pools": [{ "pool": "10.0.0.10-10.0.0.19", "pool-id": 3 }] },
                ],
            }),
            IpVersion::V6 => json!({
                "valid-lifetime": 7200,
                "subnet6": [
                    { "id": 1, "subnet": "2001:db8::/32",
                      "pools": [{ "pool": "2001:db8::10-2001:db8::19" }],
                      "pd-pools": [{ "prefix": "2001:db8:8000::", "prefix-len": 40,
                                     "delegated-len": 48 }] },
                ],
            }),
        })
    }

    /// Executes a command, given as JSON.
    pub(crate) fn run(&mut self, command: &Value) -> Value {
        match execute(command, self) {
            CommandExecution::Answer(answer) => answer.to_json(),
            CommandExecution::Deferred => panic!("{command} has no answer yet"),
            CommandExecution::Statistics(command) => {
                let counts = self.counts();
                self.statistics.sample(self.now.wall_us, &counts);
                let text = self.statistics.execute(&command);
                serde_json::from_str(&text).expect("an answer is JSON")
            }
        }
    }

    /// Executes `name` with `arguments`.
    pub(crate) fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.run(&json!({ "command": name, "arguments": arguments }))
    }

    /// Compares the answers to commands, in order.
    pub(crate) fn answers(&mut self, table: &[(&str, Value, Value)]) {
        for (name, arguments, expected) in table {
            let mut command = json!({ "command": name });
            if !arguments.is_null() {
                command["arguments"] = arguments.clone();
            }
            let answer = self.run(&command);
            assert_eq!(&answer, expected, "{command}");
        }
    }

    /// Compares the answers to commands with a table of JSON lines, `[name, arguments, answer]`. In
    /// the table `#` means 4 or 6 and `PREFIX` the prefix of a subnet.
    pub(crate) fn answers_of(&mut self, table: &str) {
        let (number, prefix) = match F::VERSION {
            IpVersion::V4 => ("4", "10.9.0.0/16"),
            IpVersion::V6 => ("6", "2001:db8:9::/48"),
        };
        let table = table.replace('#', number).replace("PREFIX", prefix);
        for line in table.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let name = row[0].as_str().unwrap();
            self.answers(&[(name, row[1].clone(), row[2].clone())]);
        }
    }

    fn all_subnets(&self) -> Vec<&Value> {
        let key = F::VERSION.subnets();
        let root = &self.document[F::VERSION.root()];
        let list = |scope: &Value| scope[key].as_array().cloned().unwrap_or_default().len();
        let mut subnets: Vec<&Value> = Vec::new();
        subnets.extend((0..list(root)).map(|index| &root[key][index]));
        let networks = root["shared-networks"].as_array().map_or(&[][..], Vec::as_slice);
        for network in networks {
            subnets.extend((0..list(network)).map(|index| &network[key][index]));
        }
        subnets
    }

    fn facts(&self) -> Vec<SubnetFacts> {
        let lifetime = &self.document[F::VERSION.root()]["valid-lifetime"];
        let facts = self.all_subnets().into_iter().filter_map(|subnet| {
            let (prefix, length) = subnet["subnet"].as_str()?.split_once('/')?;
            let valid = subnet["valid-lifetime"].as_u64().or(lifetime.as_u64()).unwrap_or(7200);
            Some(SubnetFacts {
                id: u32::try_from(subnet["id"].as_u64()?).ok()?,
                prefix: prefix.parse().ok()?,
                length: length.parse().ok()?,
                valid_lifetime_s: valid as u32,
            })
        });
        facts.collect()
    }

    fn problems(&self, document: &Value) -> Vec<ConfigProblem> {
        let text = document.to_string();
        match F::VERSION {
            IpVersion::V4 => parse_dhcp4("command", &text, &mut NoIncludes).unwrap_err(),
            IpVersion::V6 => parse_dhcp6("command", &text, &mut NoIncludes).unwrap_err(),
        }
    }
}

impl<F: CommandFamily> CommandBackend for Fake<F> {
    type Family = F;

    fn now(&self) -> Now {
        self.now
    }

    fn hooks(&self) -> &[Hook] {
        &self.hooks
    }

    fn is_partner_old(&self) -> bool {
        self.is_partner_old
    }

    fn extended_info_checks(&self) -> ExtendedInfoChecks {
        self.extended_info_checks
    }

    fn version(&self) -> ServerVersion {
        let [short, extended, build] = ["1.2.3", "1.2.3\nsource", "built"].map(str::to_owned);
        ServerVersion { short, extended, build }
    }

    fn configuration(&self) -> &Value {
        &self.document
    }

    /// Refuses a document with the key `wrong`, as the real reader of configurations does.
    fn check(&self, document: &Value) -> Result<(), ApplyFailure> {
        if document.to_string().contains("\"wrong\":") {
            Err(ApplyFailure::Invalid(self.problems(document)))
        } else {
            Ok(())
        }
    }

    fn apply(&mut self, document: Value) -> Result<(), ApplyFailure> {
        self.check(&document)?;
        if document.to_string().contains("\"half\":") {
            return Err(ApplyFailure::Partial("the sockets are gone".to_owned()));
        }
        self.document = document;
        Ok(())
    }

    fn host_databases(&mut self) -> Option<&mut dyn HostDatabases> {
        let databases = &mut self.host_databases;
        (databases.count() > 0).then_some(databases as &mut dyn HostDatabases)
    }

    fn reload(&mut self) -> Result<(), ApplyFailure> {
        self.reload.take().map_or(Ok(()), Err)
    }

    fn write(&mut self, file: Option<&str>) -> Result<WrittenFile, String> {
        match file {
            Some("/etc/passwd") => Err("not there".to_owned()),
            file => Ok(WrittenFile { file: file.unwrap_or("own.conf").to_owned(), size_bytes: 10 }),
        }
    }

    fn subnet(&self, id: u32) -> Option<SubnetFacts> {
        self.facts().into_iter().find(|subnet| subnet.id == id)
    }

    fn subnet_of(&self, address: IpAddr) -> Option<SubnetFacts> {
        self.facts().into_iter().find(|subnet| subnet.contains(address))
    }

    fn subnet_ids(&self) -> Vec<u32> {
        self.facts().into_iter().map(|subnet| subnet.id).collect()
    }

    fn select_subnet(&self, selector: &Selector) -> Option<Selected> {
        *self.selector.borrow_mut() = Some(selector.clone());
        self.selected.clone()
    }

    fn leases(&mut self) -> &mut dyn LeaseAdministration<F> {
        &mut self.leases
    }

    fn reclaim(&mut self, and_removes: bool) {
        self.reclaimed.push(and_removes);
    }

    fn start_cleanup(&mut self) -> CleanupStartResult {
        self.cleanup.clone()
    }

    fn service(&mut self) -> &mut ServiceState {
        &mut self.service
    }

    fn status(&self) -> Status {
        self.status.clone()
    }

    fn interfaces(&self) -> Vec<InterfaceFacts> {
        vec![InterfaceFacts {
            name: "eth0".to_owned(),
            index: 2,
            hardware: vec![2, 0, 0, 0, 0, 1],
            hardware_type: 1,
            is_up: true,
            addresses: vec!["192.0.2.1".parse().unwrap(), "fe80::1".parse().unwrap()],
            ..InterfaceFacts::default()
        }]
    }

    fn detect_interfaces(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn add_interfaces(&mut self, names: &[String]) -> Result<(), String> {
        if names.iter().any(|name| name == "none") {
            return Err("no interface 'none'".to_owned());
        }
        self.added_interfaces.extend_from_slice(names);
        Ok(())
    }

    fn shut_down(&mut self, exit_value: i32) {
        self.exit = Some(exit_value);
    }

    fn counts(&self) -> ServerCounts {
        let mut counts = ServerCounts { server: self.server.clone(), ..ServerCounts::default() };
        for facts in self.facts() {
            let mut pool = PoolCounts { id: 0, total: 10, leases: LeaseCounts::default() };
            let mut prefixes = PoolCounts { id: 0, total: 256, leases: LeaseCounts::default() };
            self.leases.for_each(&mut |lease| {
                if lease.subnet_id != facts.id {
                    return;
                }
                let usual = lease.kind() == F::USUAL_KIND;
                let leases = if usual { &mut pool.leases } else { &mut prefixes.leases };
                leases.assigned += 1;
                leases.declined += u64::from(lease.state == LeaseState::Declined);
            });
            counts.subnets.push(SubnetCounts {
                id: facts.id,
                pools: vec![pool],
                prefix_pools: if F::VERSION == IpVersion::V6 { vec![prefixes] } else { vec![] },
                ..SubnetCounts::default()
            });
        }
        counts
    }
}

/// Returns true if `stored` stays although a partner has `lease`.
fn is_later<F: CommandFamily>(stored: &Lease<F>, lease: &Lease<F>) -> bool {
    let is_other = !F::may_be_one(&stored.client, &lease.client);
    stored.cltt_s > lease.cltt_s || (is_other && stored.cltt_s == lease.cltt_s)
}
