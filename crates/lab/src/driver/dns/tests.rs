//! Configurations and command lines of DNS servers, checked by the servers themselves if they are
//! installed.

use std::net::{IpAddr, Ipv4Addr};

use measure::plan::{MeasuredProtocol, ServerFeature};

use super::*;
use crate::driver::StoreLocation;
use crate::driver::tests::TestDeployment;
use crate::family::ProtocolAddressing;

fn deployment(name: &str) -> TestDeployment {
    let family = ProtocolAddressing::for_protocol(MeasuredProtocol::Dns);
    TestDeployment::new(name, |folder| ServerDeployment {
        folder,
        family,
        address: "127.0.0.1:5353".parse().unwrap(),
        relay: "127.0.0.1:0".parse().unwrap(),
        relays: 1,
        further_relays: Vec::new(),
        interface: "lo".to_owned(),
        pool: (IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::LOCALHOST)),
        lease_time_s: 0,
        threads: 3,
        godwit: PathBuf::from("/bin/true"),
        store: StoreLocation::Memfile,
        feature: ServerFeature::Plain,
        reservations: 0,
        pair: None,
    })
}

#[test]
fn every_server_is_known_by_its_name() {
    for server in DnsServer::ALL {
        assert_eq!(DnsServer::by_name(server.name()), Some(server));
    }
    assert_eq!(DnsServer::by_name("kea"), None);
}

#[test]
fn echo_needs_no_file() {
    let deployment = deployment("echo");
    let prepared = prepare(DnsServer::Echo, &deployment).unwrap();
    assert_eq!(
        prepared.command.words(),
        ["/bin/true", "dns", "echo", "--threads", "3", "--listen", "127.0.0.1:5353"]
    );
    assert_eq!(std::fs::read_dir(&deployment.folder).unwrap().count(), 0);
}

#[test]
fn threads_and_the_address_are_told_to_each() {
    let deployment = deployment("told");
    for (server, words) in [
        (DnsServer::Bind, vec!["listen-on port 5353 { 127.0.0.1; };", "recursion no;"]),
        (DnsServer::Knot, vec!["listen: 127.0.0.1@5353\n", "udp-workers: 3\n"]),
        (DnsServer::Unbound, vec!["interface: 127.0.0.1@5353\n", "num-threads: 3\n"]),
        (
            DnsServer::Nsd,
            vec![
                "ip-address: 127.0.0.1@5353\n",
                "server-count: 3\n",
                "rrl-ratelimit: 0\n",
                "rrl-whitelist-ratelimit: 0\n",
            ],
        ),
    ] {
        let text = server.configuration(&deployment).unwrap();
        for word in words {
            assert!(text.contains(word), "{word} in {text}");
        }
        assert!(
            text.contains(ZONE) && text.contains(&*deployment.folder.to_string_lossy()),
            "{text}"
        );
    }
    let arguments = |server: DnsServer| server.arguments(&deployment, "FILE").join(" ");
    assert_eq!(arguments(DnsServer::Bind), "-g -n 3 -c FILE");
    assert_eq!(arguments(DnsServer::Dumresp), "127.0.0.1 5353 3");
}

/// Checkers of configurations, for servers that have one: program, package, arguments before the
/// file's name.
const CHECKS: [(DnsServer, &str, &[&str]); 4] = [
    (DnsServer::Bind, "named-checkconf", &["-z"]),
    (DnsServer::Knot, "knotd", &[]),
    (DnsServer::Unbound, "unbound-checkconf", &[]),
    (DnsServer::Nsd, "nsd-checkconf", &[]),
];

#[test]
fn servers_themselves_accept_their_configurations() {
    for (server, checker, arguments) in CHECKS {
        let deployment = deployment(&format!("check-{}", server.name()));
        let (program, package) = server.program_and_package().unwrap();
        if let Err(e) = server.program(&deployment.godwit) {
            assert_eq!(
                e.to_string(),
                format!("{program}: not found; Debian package {package} contains it")
            );
            testkit::skip(e);
        } else {
            let prepared = prepare(server, &deployment).unwrap();
            assert!(prepared.version.contains(|c: char| c.is_ascii_digit()), "{prepared:?}");
            let file = deployment.folder.join(server.configuration_name().unwrap());
            let file = file.to_string_lossy();
            // Knot's own checker is a command of another program.
            if checker == "knotd" {
                CommandLine::new("knotc").args(["-c", &file, "conf-check"]).run().unwrap();
            } else {
                CommandLine::new(checker)
                    .args(arguments.iter().copied())
                    .arg(&*file)
                    .run()
                    .unwrap();
            }
        }
    }
}
