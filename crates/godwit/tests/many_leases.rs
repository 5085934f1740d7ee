//! Tests of a server that has loaded many leases: it renews the first and the last of them at once.
//!
//! `GODWIT_LEASES=10000000` sets the number of leases; the default is 20,000.
//! `cargo run --release -p dhcp-store --example start_up` measures the cost of the start.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::trace::{granted_by_ack, granted_by_reply};
use crate::common::{PATIENCE, ServerProcess, TempFolder, configuration, configuration6};
use dhcp_wire::{v4, v6};

const V4_FIRST: u32 = 0x0a00_0001;
const V6_FIRST: u128 = (0x2001_0db8 << 96) + 1;
/// Time at which the leases end, in seconds since 1970: far in the future.
const EXPIRES_S: u64 = 4_000_000_000;

fn count() -> u32 {
    let wished = std::env::var("GODWIT_LEASES").ok();
    wished.map_or(20_000, |text| text.parse().expect("a number of leases"))
}

fn hardware(number: u32) -> [u8; 6] {
    let [a, b, c, d] = number.to_be_bytes();
    [2, 0, a, b, c, d]
}

fn duid(number: u32) -> Vec<u8> {
    [&[0, 3, 0, 1], &hardware(number)[..]].concat()
}

fn colon_hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect::<Vec<_>>().join(":")
}

/// Writes the rows of `count` leases after `header`.
fn write_leases(folder: &Path, header: &str, count: u32, row: impl Fn(u32) -> String) {
    let path = folder.join("leases.csv");
    let mut file = BufWriter::new(File::create(path).expect("the folder can be written"));
    writeln!(file, "{header}").expect("there is room");
    for number in 0..count {
        writeln!(file, "{}", row(number)).expect("there is room");
    }
    file.flush().expect("there is room");
}

/// Opens the relay agent's port, once, because a process that another test starts at that time may
/// keep it for a moment after it is closed.
fn relay_agent(server: &ServerProcess, here: IpAddr) -> UdpSocket {
    let relay = UdpSocket::bind((here, server.relay_port)).expect("the port is free");
    relay.connect((here, server.port)).expect("loopback is connected");
    relay.set_read_timeout(Some(RETRANSMISSION)).expect("a time");
    relay
}

/// Time without a reply after which a renewal is sent again, as clients do: the server drops a
/// reply that waits longer for its row than its client would wait for the reply.
const RETRANSMISSION: Duration = Duration::from_secs(10);

/// Sends a renewal from the relay agent's port, as often as it takes, until an answer grants the
/// address `expected`; one that was asked for twice may be answered late with the address `first`.
fn renew(
    relay: &UdpSocket,
    granted: fn(&[u8]) -> Vec<IpAddr>,
    [first, expected]: [IpAddr; 2],
    write: impl FnOnce(&mut [u8]) -> usize,
) {
    let mut octets = [0; 1500];
    let len = write(&mut octets);
    let mut answer = [0; 1500];
    let until = Instant::now() + PATIENCE;
    loop {
        relay.send(&octets[..len]).expect("the server listens");
        loop {
            match relay.recv(&mut answer) {
                Ok(len) if granted(&answer[..len]) == [expected] => return,
                Ok(len) => assert_eq!(granted(&answer[..len]), [first]),
                Err(error) => {
                    assert!(Instant::now() < until, "the server answers: {error}");
                    break;
                }
            }
        }
    }
}

fn renewal4(buffer: &mut [u8], number: u32) -> usize {
    let mut chaddr = [0; 16];
    chaddr[..6].copy_from_slice(&hardware(number));
    let header = v4::Dhcp4Header {
        op: 1,
        htype: 1,
        hlen: 6,
        xid: number,
        ciaddr: (V4_FIRST + number).into(),
        giaddr: Ipv4Addr::LOCALHOST,
        chaddr,
        ..v4::Dhcp4Header::default()
    };
    let mut writer = v4::MessageWriter::new(buffer, &header);
    writer.message_type(v4::MessageType::Request);
    writer.option(v4::option::CLIENT_ID, &[&[1], &hardware(number)[..]].concat());
    writer.finish(300).expect("the buffer is large")
}

fn rebinding6(buffer: &mut [u8], number: u32) -> usize {
    let here = Ipv6Addr::LOCALHOST;
    let levels = v6::RelayWriter::forward(buffer).level(0, here, here);
    let mut writer = levels.message(v6::MessageType::Rebind, 7);
    writer.option(v6::option::CLIENTID, &duid(number));
    let mark = writer.ia(v6::IaKind::Na, 1, 0, 0);
    writer.ia_address((V6_FIRST + u128::from(number)).into(), 0, 0);
    writer.end(mark);
    writer.finish().expect("the buffer is large")
}

#[test]
fn dhcpv4_renews_the_first_and_the_last() {
    let folder = TempFolder::new("many4");
    let config = configuration(folder.path(), "always", 2);
    let text = std::fs::read_to_string(&config).expect("it was written here");
    let subnet = r#""subnet": "10.0.0.0/8", "relay": { "ip-addresses": [ "127.0.0.1" ] }"#;
    let text = text
        .replace(r#""subnet": "127.0.0.0/8""#, subnet)
        .replace("127.1.0.1 - 127.1.255.254", "10.0.0.1 - 10.255.255.254");
    std::fs::write(&config, text).expect("the folder can be written");
    let count = count();
    let header = "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,\
                  hostname,state,user_context,pool_id";
    write_leases(folder.path(), header, count, |number| {
        let (address, mac) = (Ipv4Addr::from(V4_FIRST + number), colon_hex(&hardware(number)));
        format!("{address},{mac},01:{mac},86400,{EXPIRES_S},1,0,0,,0,,0")
    });
    let server = ServerProcess::start(&config, folder.path());
    server.wait_for(&format!("loaded {count} leases"));
    let relay = relay_agent(&server, Ipv4Addr::LOCALHOST.into());
    for number in [0, count - 1] {
        let write = |buffer: &mut [u8]| renewal4(buffer, number);
        let addresses = [0, number].map(|number| IpAddr::V4((V4_FIRST + number).into()));
        renew(&relay, granted_by_ack, addresses, write);
    }
    server.stop();
}

#[test]
fn dhcpv6_renews_the_first_and_the_last() {
    let folder = TempFolder::new("many6");
    let subnet = r#"{ "id": 1, "subnet": "2001:db8::/64", "relay": { "ip-addresses": [ "::1" ] },
                      "pools": [ { "pool": "2001:db8::/64" } ] }"#;
    let config = configuration6(folder.path(), r#""lo/::1""#, "", subnet);
    let count = count();
    let header = "address,duid,valid_lifetime,expire,subnet_id,pref_lifetime,lease_type,iaid,\
                  prefix_len,fqdn_fwd,fqdn_rev,hostname,hwaddr,state,user_context,hwtype,\
                  hwaddr_source,pool_id";
    write_leases(folder.path(), header, count, |number| {
        let address = Ipv6Addr::from(V6_FIRST + u128::from(number));
        let (duid, mac) = (colon_hex(&duid(number)), colon_hex(&hardware(number)));
        format!("{address},{duid},86400,{EXPIRES_S},1,86400,0,1,128,0,0,,{mac},0,,1,2,0")
    });
    let env = Command::new("env");
    let server = ServerProcess::start_under(env, "dhcp6", &config, folder.path());
    server.wait_for(&format!("loaded {count} leases"));
    let relay = relay_agent(&server, Ipv6Addr::LOCALHOST.into());
    for number in [0, count - 1] {
        let write = |buffer: &mut [u8]| rebinding6(buffer, number);
        let address = |number: u32| IpAddr::V6((V6_FIRST + u128::from(number)).into());
        renew(&relay, granted_by_reply, [0, number].map(address), write);
    }
    server.stop();
}
