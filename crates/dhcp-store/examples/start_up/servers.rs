//! Measures whole servers on the same lease file: time until they reply, and memory that they have
//! then.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use counters::parse_resident_bytes;
use dhcp_wire::{v4, v6};
use testbed::proc::process_stat;

use crate::lease_file::{
    LeaseFileContents, StartUpFamily, address4, address6, client_id, duid, hardware,
};

/// Time between two requests to a server that does not reply yet.
const PATIENCE: Duration = Duration::from_millis(20);

/// Server process that ends when the value is dropped.
struct StartUpServer(Child);

impl Drop for StartUpServer {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Starts `program` on a copy of the lease file at `path`, and prints the time until it renews the
/// first lease, the memory that it has then, and the time for the last lease.
pub(crate) fn measure(program: &str, file: &LeaseFileContents, path: &Path, limit_s: u64) {
    let folder = path.with_file_name(program.rsplit('/').next().unwrap_or(program));
    std::fs::create_dir_all(&folder).expect("the folder can be written");
    std::fs::copy(path, folder.join("leases.csv")).expect("there is room");
    let relay = UdpSocket::bind((loopback(file.family), 0)).expect("loopback has ports");
    let server_port = free_port(file.family);
    let relay_port = relay.local_addr().expect("it is bound").port();
    let config = configuration(file.family, &folder);
    let began = Instant::now();
    let mut server = start(program, file.family, &config, &folder, [server_port, relay_port]);
    relay.connect((loopback(file.family), server_port)).expect("loopback is connected");
    let deadline = began + Duration::from_secs(limit_s);
    let first = loop {
        if let Ok(Some(status)) = server.0.try_wait() {
            println!("{program}: ended with {status}: {}", last_words(&folder));
            return;
        }
        if Instant::now() > deadline {
            println!("{program}: no answer within {limit_s} s");
            return;
        }
        if let Some(elapsed) = renewal(&relay, file.family, 0, PATIENCE) {
            break elapsed;
        }
    };
    let elapsed_s = began.elapsed().as_secs_f64();
    let pid = server.0.id();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let resident_bytes = parse_resident_bytes(&status).unwrap_or(0) as f64;
    let processor_s = process_stat(pid).map_or(0, |times| times.used_ticks()) as f64 / 100.0;
    // The server replies now to every request that came while it loaded, perhaps with more replies
    // than the socket holds: they must not displace the reply to the next request.
    let mut octets = [0; 1500];
    while relay.recv(&mut octets).is_ok() {}
    let last = renewal(&relay, file.family, file.leases - 1, Duration::from_secs(10));
    let micros = |elapsed: Option<Duration>| {
        elapsed.map_or_else(
            || "not at all".to_owned(),
            |elapsed| format!("in {} us", elapsed.as_micros()),
        )
    };
    println!(
        "{program}: answers after {elapsed_s:.2} s ({processor_s:.2} s of a processor), {:.0} bytes a \
         lease resident; renews the first lease {}, then the last {}",
        resident_bytes / f64::from(file.leases),
        micros(Some(first)),
        micros(last),
    );
}

const fn loopback(family: StartUpFamily) -> IpAddr {
    match family {
        StartUpFamily::V4 => IpAddr::V4(Ipv4Addr::LOCALHOST),
        StartUpFamily::V6 => IpAddr::V6(Ipv6Addr::LOCALHOST),
    }
}

/// Returns a port that is free now.
fn free_port(family: StartUpFamily) -> u16 {
    let socket = UdpSocket::bind((loopback(family), 0)).expect("loopback has ports");
    socket.local_addr().expect("it is bound").port()
}

fn configuration(family: StartUpFamily, folder: &Path) -> PathBuf {
    let path = folder.display();
    let (name, rest) = match family {
        StartUpFamily::V4 => (
            "Dhcp4",
            r#""interfaces-config": { "interfaces": [ "lo/127.0.0.1" ], "dhcp-socket-type": "udp" },
               "subnet4": [ { "id": 1, "subnet": "10.0.0.0/8",
                              "relay": { "ip-addresses": [ "127.0.0.1" ] },
                              "pools": [ { "pool": "10.0.0.1 - 10.255.255.254" } ] } ]"#
                .to_owned(),
        ),
        StartUpFamily::V6 => (
            "Dhcp6",
            format!(
                r#""interfaces-config": {{ "interfaces": [ "lo/::1" ] }},
                   "data-directory": "{path}", "server-id": {{ "type": "EN", "persist": false }},
                   "subnet6": [ {{ "id": 1, "subnet": "2001:db8::/64",
                                   "relay": {{ "ip-addresses": [ "::1" ] }},
                                   "pools": [ {{ "pool": "2001:db8::/64" }} ] }} ]"#
            ),
        ),
    };
    let text = format!(
        r#"{{ "{name}": {{ "valid-lifetime": 86400,
            "lease-database": {{ "type": "memfile", "name": "{path}/leases.csv", "lfc-interval": 0 }},
            "loggers": [ {{ "name": "kea-{}", "severity": "INFO",
                            "output_options": [ {{ "output": "{path}/log" }} ] }} ],
            {rest} }} }}"#,
        family.name()
    );
    let config = folder.join("server.conf");
    std::fs::write(&config, text).expect("the folder can be written");
    config
}

fn start(
    program: &str,
    family: StartUpFamily,
    config: &Path,
    folder: &Path,
    [port, relay_port]: [u16; 2],
) -> StartUpServer {
    let mut command = Command::new(program);
    if !program.rsplit('/').next().is_some_and(|name| name.starts_with("kea-")) {
        command.arg(family.name());
    }
    command.args(["-p", &port.to_string(), "-P", &relay_port.to_string(), "-c"]).arg(config);
    command.env("KEA_PIDFILE_DIR", folder).env("KEA_LOCKFILE_DIR", folder);
    command.env("KEA_LOG_FILE_DIR", folder).env("KEA_DHCP_DATA_DIR", folder);
    let log_file = std::fs::File::create(folder.join("said")).expect("the folder can be written");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log_file);
    StartUpServer(command.spawn().unwrap_or_else(|error| panic!("{program}: {error}")))
}

fn last_words(folder: &Path) -> String {
    let read = |name| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let text = read("said") + &read("log");
    text.lines().rev().take(5).collect::<Vec<_>>().join("; ")
}

/// Has client `number` renew its lease; returns the time until the server granted that lease, if
/// that took at most `patience`.
fn renewal(
    relay: &UdpSocket,
    family: StartUpFamily,
    number: u32,
    patience: Duration,
) -> Option<Duration> {
    let mut octets = [0; 1500];
    let len = match family {
        StartUpFamily::V4 => request4(&mut octets, number),
        StartUpFamily::V6 => rebind6(&mut octets, number),
    };
    relay.set_read_timeout(Some(patience)).expect("a time");
    let began = Instant::now();
    if relay.send(&octets[..len]).is_err() {
        // No server listens yet.
        std::thread::sleep(patience);
        return None;
    }
    let deadline = began + patience;
    while Instant::now() < deadline {
        match relay.recv(&mut octets) {
            Ok(len) if is_granted(&octets[..len], family, number) => return Some(began.elapsed()),
            Ok(_) => {}
            // Until the server listens, the kernel refuses at once.
            Err(_) => std::thread::sleep(deadline.saturating_duration_since(Instant::now())),
        }
    }
    None
}

fn request4(buffer: &mut [u8], number: u32) -> usize {
    let mut chaddr = [0; 16];
    chaddr[..6].copy_from_slice(&hardware(number));
    let header = v4::Dhcp4Header {
        op: 1,
        htype: 1,
        hlen: 6,
        xid: number,
        ciaddr: address4(number),
        giaddr: Ipv4Addr::LOCALHOST,
        chaddr,
        ..v4::Dhcp4Header::default()
    };
    let mut writer = v4::MessageWriter::new(buffer, &header);
    writer.option(v4::option::MESSAGE_TYPE, &[v4::MessageType::Request.code()]);
    writer.option(v4::option::CLIENT_ID, &client_id(number));
    writer.finish(300).expect("the buffer is large")
}

fn rebind6(buffer: &mut [u8], number: u32) -> usize {
    let here = Ipv6Addr::LOCALHOST;
    let levels = v6::RelayWriter::forward(buffer).level(0, here, here);
    let mut writer = levels.message(v6::MessageType::Rebind, number & 0xff_ffff);
    writer.option(v6::option::CLIENTID, &duid(number));
    let mark = writer.ia(v6::IaKind::Na, 1, 0, 0);
    writer.ia_address(address6(number), 0, 0);
    writer.end(mark);
    writer.finish().expect("the buffer is large")
}

/// Returns true if the reply grants the lease of client `number`.
fn is_granted(octets: &[u8], family: StartUpFamily, number: u32) -> bool {
    let contains = |needle: &[u8]| octets.windows(needle.len()).any(|window| window == needle);
    match family {
        // Option 53 with a DHCPACK.
        StartUpFamily::V4 => {
            octets.get(16..20) == Some(&address4(number).octets()[..]) && contains(&[53, 1, 5])
        }
        // An IAADDR with lifetimes other than zero.
        StartUpFamily::V6 => {
            let address = address6(number).octets();
            let association_address = octets.windows(24).find(|window| window[..16] == address);
            association_address.is_some_and(|window| window[20..24] != [0; 4])
        }
    }
}
