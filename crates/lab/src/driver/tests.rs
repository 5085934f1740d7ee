//! Configurations and command lines of DHCP servers, checked by the servers themselves if they are
//! installed.

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;

use measure::plan::ServerDurability;
use serde_json::{Value, json};
use testbed::DatabaseEngine;
use testkit::TempFolder;

use super::deployment::common_configuration;
use super::*;
use crate::family::AddressFamily;

/// Deployment whose folder is removed with the value.
pub(super) struct TestDeployment {
    deployment: ServerDeployment,
    _folder: TempFolder,
}

impl TestDeployment {
    /// Makes the folder, and the deployment that `make` returns for its path.
    pub(super) fn new(name: &str, make: impl FnOnce(PathBuf) -> ServerDeployment) -> Self {
        let folder = TempFolder::new(name);
        Self { deployment: make(folder.path().to_owned()), _folder: folder }
    }
}

impl Deref for TestDeployment {
    type Target = ServerDeployment;

    fn deref(&self) -> &ServerDeployment {
        &self.deployment
    }
}

impl DerefMut for TestDeployment {
    fn deref_mut(&mut self) -> &mut ServerDeployment {
        &mut self.deployment
    }
}

fn deployment(name: &str) -> TestDeployment {
    TestDeployment::new(name, |folder| ServerDeployment {
        folder,
        family: ProtocolAddressing::for_protocol(MeasuredProtocol::Dhcp4),
        address: "127.0.0.1:6767".parse().unwrap(),
        relay: "127.0.0.1:6768".parse().unwrap(),
        relays: 1,
        further_relays: Vec::new(),
        interface: "lo".to_owned(),
        pool: ProtocolAddressing::for_protocol(MeasuredProtocol::Dhcp4).pool(1000),
        lease_time_s: 3600,
        threads: 1,
        godwit: PathBuf::from("/bin/true"),
        store: StoreLocation::Memfile,
        feature: ServerFeature::Plain,
        reservations: 10,
        pair: None,
    })
}

/// Returns a deployment as in namespaces.
fn own_deployment(name: &str) -> TestDeployment {
    let mut deployment = deployment(name);
    deployment.address = "10.0.0.3:67".parse().unwrap();
    deployment.relay = "10.0.255.254:67".parse().unwrap();
    "gw0".clone_into(&mut deployment.interface);
    deployment
}

/// Returns a deployment as in namespaces for DHCPv6.
fn own_deployment_v6(name: &str) -> TestDeployment {
    let family = ProtocolAddressing::for_protocol(MeasuredProtocol::Dhcp6);
    let mut deployment = own_deployment(name);
    deployment.family = family;
    deployment.address = "[2001:db8::3]:547".parse().unwrap();
    deployment.relay = SocketAddr::new(family.relay, 547);
    deployment.pool = family.pool(1000);
    deployment
}

/// Moves a deployment to the loopback interface: interfaces of a configuration must exist when Kea
/// checks it.
fn on_loopback(mut deployment: TestDeployment) -> TestDeployment {
    deployment.address = SocketAddr::new(deployment.family.loopback, deployment.family.port);
    "lo".clone_into(&mut deployment.interface);
    deployment
}

/// Returns true when `program` is installed; prints the reason otherwise.
fn is_installed(program: &LabResult<PathBuf>) -> bool {
    if let Err(e) = program {
        testkit::skip(e);
    }
    program.is_ok()
}

fn subject(kind: SubjectKind) -> MeasurementSubject {
    MeasurementSubject::new("x", "", kind)
}

#[test]
fn godwit_gets_its_durability_beside_keas_keys() {
    let deployment = deployment("godwit");
    let prepared =
        prepare(&subject(SubjectKind::Godwit(ServerDurability::Interval)), &deployment).unwrap();
    let words = prepared.command.words();
    assert_eq!(words[1..3], ["dhcp4", "-c"]);
    assert_eq!(words[4..], ["-p", "6767", "-P", "6768"]);
    let text = std::fs::read_to_string(&words[3]).unwrap();
    let dhcp4 = &serde_json::from_str::<Value>(&text).unwrap()["Dhcp4"];
    assert_eq!(dhcp4["user-context"]["godwit"]["durability"], "interval");
    assert_eq!(dhcp4["subnet4"][0]["pools"][0]["pool"], "10.1.0.0 - 10.1.3.231");
    assert_eq!(dhcp4["interfaces-config"]["interfaces"][0], "lo/127.0.0.1");
}

#[test]
fn both_servers_of_a_pair_know_each_other() {
    let of = |own: usize| {
        let mut deployment = own_deployment_v6("pair");
        deployment.feature = ServerFeature::HotStandby;
        let addresses = ["[2001:db8::3]:547", "[2001:db8::9]:547"].map(|one| one.parse().unwrap());
        deployment.pair = Some(PairPlace { addresses, own });
        let libraries = &common_configuration(&deployment)["hooks-libraries"];
        assert_eq!(libraries[0]["library"], "libdhcp_lease_cmds.so");
        libraries[1]["parameters"]["high-availability"][0].clone()
    };
    let [mut primary, mut standby] = [0, 1].map(of);
    assert_eq!(primary["peers"][1]["url"], "http://[2001:db8::9]:547/");
    let name = |config: &mut Value| config["this-server-name"].take();
    assert_eq!((name(&mut primary), name(&mut standby)), (json!("primary"), json!("standby")));
    assert_eq!(primary, standby);
}

#[test]
fn kea_itself_accepts_all_configurations() {
    for (multi_threaded, deployment) in [
        (false, deployment("kea-st")),
        (true, deployment("kea-mt")),
        (false, on_loopback(own_deployment_v6("kea-st6"))),
        (true, on_loopback(own_deployment_v6("kea-mt6"))),
    ] {
        if is_installed(&kea::program(deployment.family.version())) {
            let kind = SubjectKind::Kea { version: KeaVersion::Installed, multi_threaded };
            let prepared = prepare(&subject(kind), &deployment).unwrap();
            let words = prepared.command.words();
            let config = words.iter().position(|word| word == "-c").unwrap() + 1;
            // Kea's own check of a configuration.
            let check = CommandLine::new(words[0].clone()).args(["-t", &words[config]]);
            check.run().unwrap();
            assert!(prepared.version.starts_with(|c: char| c.is_ascii_digit()), "{prepared:?}");
        }
    }
}

#[test]
fn kea_itself_accepts_every_feature() {
    // Kea 3 is tried with the features that need it in the next test.
    let features = ServerFeature::ALL.into_iter().filter(|feature| !feature.needs_kea_3());
    for (number, feature) in features.enumerate() {
        let v6 = on_loopback(own_deployment_v6(&format!("kea-f6-{number}")));
        for mut deployment in [deployment(&format!("kea-f4-{number}")), v6] {
            deployment.feature = feature;
            if is_installed(&kea::program(deployment.family.version())) {
                let kind =
                    SubjectKind::Kea { version: KeaVersion::Installed, multi_threaded: false };
                let prepared = prepare(&subject(kind), &deployment).unwrap();
                let program = prepared.command.words()[0].clone();
                let config = deployment.folder.join(CONFIGURATION).to_string_lossy().into_owned();
                CommandLine::new(program).args(["-t", &config]).run().unwrap();
            }
        }
    }
}

/// Returns true if Kea 3 can run here; if it is required, its absence fails the test.
fn has_kea_3() -> bool {
    let reason = match kea::debian_13(AddressFamily::V4) {
        Err(error) => error.to_string(),
        Ok(_) if !testkit::is_user_root() => "chroot needs root".to_owned(),
        Ok(_) => return true,
    };
    testkit::skip(reason)
}

#[test]
fn kea_3_accepts_every_feature_and_finds_its_databases() {
    if !has_kea_3() {
        return;
    }
    let stores = [
        StoreLocation::Memfile,
        database(DatabaseEngine::MariaDb),
        database(DatabaseEngine::PostgreSql),
    ];
    let memfile = ServerFeature::ALL.map(|feature| (feature, &stores[0]));
    let databases = stores[1..].iter().map(|store| (ServerFeature::Plain, store));
    for (number, (feature, store)) in memfile.into_iter().chain(databases).enumerate() {
        let v6 = on_loopback(own_deployment_v6(&format!("kea3-f6-{number}")));
        for mut deployment in [deployment(&format!("kea3-f4-{number}")), v6] {
            deployment.feature = feature;
            deployment.store = store.clone();
            let kind = SubjectKind::Kea { version: KeaVersion::Debian13, multi_threaded: true };
            let prepared = prepare(&subject(kind), &deployment).unwrap();
            assert!(prepared.version.starts_with('3'), "{prepared:?}");
            // Kea's own check of a configuration, instead of its start.
            let words = prepared.command.words();
            let start = words.iter().rposition(|word| word == "-c").unwrap();
            let check = words[1..start].iter().map(String::as_str);
            let check = CommandLine::new(words[0].clone()).args(check);
            check.args(["-t", &words[start + 1]]).run().unwrap();
        }
    }
}

fn database(engine: DatabaseEngine) -> StoreLocation {
    StoreLocation::Database { engine, name: "leases".to_owned(), port: 4321, is_exclusive: true }
}

#[test]
fn databases_are_told_to_kea_and_godwit_in_keas_words() {
    for (engine, kind, threads) in [
        (DatabaseEngine::MariaDb, "mysql", [12, 792]),
        (DatabaseEngine::PostgreSql, "postgresql", [8, 88]),
    ] {
        let (v4, v6) =
            (deployment(&format!("db-{kind}")), own_deployment_v6(&format!("db6-{kind}")));
        for mut deployment in [v4, on_loopback(v6)] {
            deployment.store = database(engine);
            let read = |prepared: &PreparedServer| -> Value {
                let words = prepared.command.words();
                let at = words.iter().position(|word| word == "-c").unwrap() + 1;
                let text = std::fs::read_to_string(&words[at]).unwrap();
                let whole: Value = serde_json::from_str(&text).unwrap();
                whole[format!("Dhcp{}", deployment.digit())].clone()
            };
            let ours = read(
                &prepare(&subject(SubjectKind::Godwit(ServerDurability::Always)), &deployment)
                    .unwrap(),
            );
            assert_eq!(ours["lease-database"]["type"], kind);
            assert_eq!(ours["user-context"]["godwit"]["lease-database"]["exclusive"], true);
            if is_installed(&kea::program(deployment.family.version())) {
                let kind =
                    SubjectKind::Kea { version: KeaVersion::Installed, multi_threaded: true };
                let prepared = prepare(&subject(kind), &deployment).unwrap();
                let theirs = read(&prepared);
                assert_eq!(theirs["lease-database"], ours["lease-database"]);
                let pool = &theirs["multi-threading"];
                assert_eq!(pool["thread-pool-size"], threads[0]);
                assert_eq!(pool["packet-queue-size"], threads[1]);
                let config = deployment.folder.join(CONFIGURATION).to_string_lossy().into_owned();
                let program = prepared.command.words()[0].clone();
                CommandLine::new(program).args(["-t", &config]).run().unwrap();
            }
        }
    }
}

#[test]
fn a_file_of_sqlite_is_told_in_godwits_own_part() {
    let mut deployment = deployment("sqlite");
    deployment.store = StoreLocation::Sqlite(deployment.folder.join("leases.sqlite"));
    let prepared =
        prepare(&subject(SubjectKind::Godwit(ServerDurability::Always)), &deployment).unwrap();
    let text = std::fs::read_to_string(&prepared.command.words()[3]).unwrap();
    let dhcp4 = &serde_json::from_str::<Value>(&text).unwrap()["Dhcp4"];
    let own = &dhcp4["user-context"]["godwit"];
    assert_eq!(dhcp4["lease-database"]["type"], "memfile");
    assert_eq!(own["lease-database"]["sqlite"], json!(deployment.folder.join("leases.sqlite")));
    assert_eq!(own["durability"], "always");
}

#[test]
fn two_relays_are_both_known_to_the_subnet() {
    let mut deployment = deployment("relays");
    deployment.relays = 2;
    let configuration = common_configuration(&deployment);
    let relays = &configuration["subnet4"][0]["relay"]["ip-addresses"];
    assert_eq!(relays, &json!(["127.0.0.1", "127.0.0.2"]));
}

#[test]
fn configurations_for_dhcpv6_are_those_of_dhcpv4_in_its_words() {
    let deployment = own_deployment_v6("common6");
    let kind = SubjectKind::Godwit(ServerDurability::None);
    let prepared = prepare(&subject(kind), &deployment).unwrap();
    let words = prepared.command.words();
    assert_eq!((words[1].as_str(), words.len()), ("dhcp6", 4));
    let text = std::fs::read_to_string(&words[3]).unwrap();
    let dhcp6 = &serde_json::from_str::<Value>(&text).unwrap()["Dhcp6"];
    let subnet = &dhcp6["subnet6"][0];
    assert_eq!(subnet["subnet"], "2001:db8::/64");
    assert_eq!(subnet["pools"][0]["pool"], "2001:db8::1:0:0 - 2001:db8::1:0:3e7");
    assert_eq!(subnet["relay"]["ip-addresses"][0], "2001:db8::ffff");
    assert_eq!(dhcp6["interfaces-config"]["interfaces"][0], "gw0/2001:db8::3");
    assert_eq!(dhcp6["preferred-lifetime"], 3600);
}

#[test]
fn dhcpd_gets_one_subnet_and_its_own_check_accepts_it() {
    let deployment = own_deployment("dhcpd");
    let text = isc_dhcpd::configuration(&deployment);
    assert_eq!(
        text,
        "local-address 10.0.0.3;\nping-check false;\nddns-update-style none;\n\
         dont-use-fsync true;\ndhcp-cache-threshold 0;\ndefault-lease-time 3600;\n\
         min-lease-time 3600;\nmax-lease-time 3600;\n\
         subnet 10.0.0.0 netmask 255.0.0.0 {\n    range 10.1.0.0 10.1.3.231;\n}\n"
    );
    accepted_by_dhcpd(&deployment, "-4", true);
    let deployment = own_deployment_v6("dhcpd6");
    let text = isc_dhcpd::configuration(&deployment);
    let end = "subnet6 2001:db8::/64 {\n    range6 2001:db8::1:0:0 2001:db8::1:0:3e7;\n}\n";
    assert!(text.starts_with("preferred-lifetime 3600;\n") && text.ends_with(end), "{text}");
    accepted_by_dhcpd(&deployment, "-6", false);
}

fn accepted_by_dhcpd(deployment: &ServerDeployment, family: &str, reads_frames: bool) {
    if !is_installed(&isc_dhcpd::program()) {
        return;
    }
    let prepared = prepare(&subject(SubjectKind::IscDhcpd), deployment).unwrap();
    assert_eq!(prepared.reads_frames, reads_frames);
    assert!(prepared.version.starts_with("isc-dhcpd-"), "{prepared:?}");
    let words = prepared.command.words();
    let program = words.iter().position(|word| word.ends_with("/dhcpd")).unwrap();
    assert_eq!(words[program + 1..program + 4], [family, "-f", "-cf"]);
    assert_eq!(words.last().unwrap(), "gw0");
    let check = [family, "-t", "-cf", &words[program + 4]];
    CommandLine::new(words[program].clone()).args(check).run().unwrap();
}

#[test]
fn dnsmasq_gets_everything_as_arguments() {
    let deployment = own_deployment("dnsmasq");
    let folder = deployment.folder.to_string_lossy();
    let arguments = dnsmasq::arguments(&deployment);
    assert_eq!(
        arguments,
        [
            "--keep-in-foreground",
            "--conf-file=/dev/null",
            "--log-facility=-",
            "--quiet-dhcp",
            "--user=root",
            "--group=root",
            "--pid-file=",
            "--port=0",
            "--no-ping",
            "--interface=gw0",
            "--bind-interfaces",
            "--dhcp-range=10.1.0.0,10.1.3.231,255.0.0.0,3600",
            "--dhcp-lease-max=1000",
            &format!("--dhcp-leasefile={folder}/dnsmasq.leases"),
        ]
    );
    if is_installed(&dnsmasq::program()) {
        let prepared = prepare(&subject(SubjectKind::Dnsmasq), &deployment).unwrap();
        assert!(prepared.version.starts_with("Dnsmasq version "), "{prepared:?}");
        prepared.command.arg("--test").run().unwrap();
    }
    let deployment = own_deployment_v6("dnsmasq6");
    let arguments = dnsmasq::arguments(&deployment);
    let range = "--dhcp-range=2001:db8::1:0:0,2001:db8::1:0:3e7,64,3600";
    for argument in [range, "--quiet-dhcp6"] {
        assert!(arguments.iter().any(|other| other == argument), "{arguments:?}");
    }
    if is_installed(&dnsmasq::program()) {
        let prepared = prepare(&subject(SubjectKind::Dnsmasq), &deployment).unwrap();
        prepared.command.arg("--test").run().unwrap();
    }
}

#[test]
fn templates_are_filled_in() {
    let deployment = deployment("command");
    let template = "sh -c 'echo {address} {port}' --config={config} {folder} {relay} {{x}}";
    let kind = SubjectKind::Command(template.to_owned());
    let prepared = prepare(&subject(kind), &deployment).unwrap();
    let folder = deployment.folder.to_string_lossy();
    assert_eq!(
        prepared.command.words()[1..],
        [
            "-c",
            "echo 127.0.0.1 6767",
            &format!("--config={folder}/config.json"),
            &*folder,
            "127.0.0.1",
            "{x}"
        ]
    );
}

#[test]
fn bad_templates_are_refused_before_anything_starts() {
    for (template, message) in [
        ("", "is empty"),
        ("sh 'x", "not closed"),
        ("sh {prot}", "{prot}"),
        ("godwit-no-such-server {config}", "godwit-no-such-server: not found"),
    ] {
        let error = require(
            &subject(SubjectKind::Command(template.to_owned())),
            ProtocolAddressing::for_protocol(MeasuredProtocol::Dhcp4),
        )
        .unwrap_err();
        assert!(error.to_string().contains(message), "{template}: {error}");
    }
}
