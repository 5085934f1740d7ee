//! DHCPv4 servers as senders of the requests: Godwit, and Kea 3. Both leave the same zones.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use dhcp_wire::v4::{BOOT_REQUEST, Dhcp4Header, Message, MessageType, MessageWriter, option};
use scenario::{ScenarioFamily, ScenarioServer};
use serde_json::json;

use super::servers::{DnsServerProcess, TestZone};
use super::updater::{UpdaterMake, UpdaterProcess, configuration};
use crate::common::{PATIENCE, TempFolder, free_port, has_debian_13, require};
use crate::subjects::process::{Daemon, ServerMake, Setup};

/// Zones of the names and addresses of the clients.
pub(super) const ZONES: [TestZone; 2] = [
    TestZone { name: "example.", key: Some("sha256"), records: "" },
    TestZone { name: "1.10.in-addr.arpa.", key: Some("sha256"), records: "" },
];
/// Address of the relay agent that clients have.
const RELAY: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
/// Number of clients.
pub(super) const CLIENTS: u8 = 40;
/// Number of clients that release their leases, and of those that lose them by a command.
const ENDED: u8 = 10;

/// Returns a message of `client` about its address: with the host name `name` and its number a
/// REQUEST, else a RELEASE.
pub(super) fn message(name: Option<&str>, client: u8) -> Vec<u8> {
    let mut chaddr = [0; 16];
    chaddr[..6].copy_from_slice(&[2, 0, 0, 0, 0, client]);
    let (none, own) = (Ipv4Addr::UNSPECIFIED, Ipv4Addr::new(10, 1, 1, client));
    let header = Dhcp4Header {
        op: BOOT_REQUEST,
        htype: 1,
        hlen: 6,
        hops: 1,
        xid: u32::from(client) << 8 | name.map_or(0, str::len) as u32,
        secs: 0,
        flags: 0,
        ciaddr: if name.is_some() { none } else { own },
        yiaddr: none,
        siaddr: none,
        giaddr: RELAY,
        chaddr,
    };
    let mut buffer = [0; 600];
    let mut writer = MessageWriter::new(&mut buffer, &header);
    let kind = if name.is_some() { MessageType::Request } else { MessageType::Release };
    writer.option(option::MESSAGE_TYPE, &[kind.code()]);
    writer.option(option::SERVER_IDENTIFIER, &Ipv4Addr::LOCALHOST.octets());
    if let Some(name) = name {
        writer.option(option::REQUESTED_IP_ADDRESS, &own.octets());
        writer.option(option::HOST_NAME, format!("{name}-{client}").as_bytes());
    }
    let len = writer.finish(300).expect("it fits");
    buffer[..len].to_vec()
}

/// Returns the zones after the clients of a server of `make` have got leases, other names, and have
/// lost some of the leases by a RELEASE and by commands.
fn zones_after(make: ServerMake) -> Vec<BTreeSet<String>> {
    let folder = TempFolder::new("ddns-sender");
    let mut server = DnsServerProcess::bind(&folder, free_port(), &ZONES);
    server.start();
    let port = free_port();
    let config = configuration(port, &[server.port], &ZONES);
    let mut updater = UpdaterProcess::new(UpdaterMake::Godwit, &folder, port, &config);
    updater.start();
    let config = format!(
        r#""valid-lifetime": 4000, "ddns-qualifying-suffix": "example.",
           "hooks-libraries": [ {{ "library": "libdhcp_lease_cmds.so" }} ],
           "dhcp-ddns": {{ "enable-updates": true, "server-port": {port} }},
           "subnet4": [ {{ "id": 1, "subnet": "10.1.0.0/16",
                           "pools": [ {{ "pool": "10.1.1.0 - 10.1.1.250" }} ] }} ]"#
    );
    let family = ScenarioFamily::V4;
    let setup = Setup { family, config: &config, has_commands: true, persists: true, link: None };
    let mut sender = Daemon::start(make, setup, 0, PATIENCE)
        .unwrap_or_else(|why| panic!("{make:?} does not start: {why}"));
    // The second time a server requests the removal of the earlier name, and the addition of the
    // other.
    for (name, outcomes) in [("Host", 1), ("Other-Host", 3)] {
        for client in 1..=CLIENTS {
            let request = message(Some(name), client);
            let xid = Message::parse(&request).expect("it is ours").xid();
            let is_answer =
                |reply: &[u8]| Message::parse(reply).is_ok_and(|reply| reply.xid() == xid);
            sender.exchange(&request, false, &is_answer).expect("a reply");
        }
        updater.wait_for_outcomes(outcomes * usize::from(CLIENTS));
        let records = server.records(ZONES[0].name);
        assert_eq!(records.len(), 2 * usize::from(CLIENTS), "{make:?}: {records:?}");
        for client in 1..=CLIENTS {
            let name = name.to_lowercase();
            let line = format!("{name}-{client}.example. 1333 A 10.1.1.{client}");
            assert!(records.contains(&line), "{make:?}: {line}: {records:?}");
        }
        assert_eq!(server.records(ZONES[1].name).len(), 2 * usize::from(CLIENTS));
    }
    for client in 1..=ENDED {
        let release = message(None, client);
        sender.exchange(&release, true, &|_| false).expect("it is sent");
        let address = format!("10.1.1.{}", ENDED + client);
        let command = json!({ "command": "lease4-del",
                              "arguments": { "ip-address": address, "update-ddns": true } });
        let answer = sender.command(&command.to_string()).expect("it takes commands");
        assert!(answer.contains("IPv4 lease deleted."), "{make:?}: {answer}");
    }
    updater.wait_for_outcomes(3 * usize::from(CLIENTS) + 2 * usize::from(ENDED));
    updater.stop();
    ZONES.iter().map(|zone| server.records(zone.name)).collect()
}

#[test]
fn the_leases_of_a_server_have_their_names() {
    if !require(&["named"]) {
        return;
    }
    let zones = zones_after(ServerMake::Godwit);
    let left = usize::from(CLIENTS - 2 * ENDED);
    assert!(zones.iter().all(|records| records.len() == 2 * left), "{zones:?}");
    if has_debian_13() {
        assert_eq!(zones, zones_after(ServerMake::Kea3));
    }
}
