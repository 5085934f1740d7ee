//! Configurations beyond one subnet with one pool, in Kea's words, and the generator's settings
//! that make them matter.
//!
//! The clients, subnets or addresses of a feature are those that the generator plays: a lookup that
//! no client causes would cost nothing.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use measure::plan::ServerFeature;
use serde_json::{Value, json};

use super::deployment::{PairPlace, ServerDeployment};
use super::store::LEASE_FILE;
use crate::error::{LabError, LabResult};
use crate::family::AddressFamily;

/// Number of client classes in a configuration with the feature of client classes.
const CLASSES: u32 = 100;
/// Number of hardware addresses in the test of one client class.
const ADDRESSES: u32 = 1_000;
/// Number of clients that have a reservation: those of the generator with the lowest numbers.
pub(crate) const RESERVATIONS: u32 = 1_000_000;
/// Number of the first client of a range of clients that never send a message.
const FIRST_ABSENT_CLIENT: u32 = 1 << 31;
/// Number of subnets in a configuration with many subnets.
const SUBNETS: u32 = 10_000;
/// Number of shared networks in the feature with shared networks, and of subnets in each.
const NETWORKS: (u32, u32) = (100, 50);
/// Number of addresses in the pool of each subnet of a configuration with many subnets.
const SUBNET_POOL: u32 = 250;
/// First lines of Kea's lease files, in the current versions of their schemas.
const COLUMNS_V4: &str = "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,\
                          fqdn_rev,hostname,state,user_context";
const COLUMNS_V6: &str = "address,duid,valid_lifetime,expire,subnet_id,pref_lifetime,lease_type,\
                          iaid,prefix_len,fqdn_fwd,fqdn_rev,hostname,hwaddr,state,user_context,\
                          hwtype,hwaddr_source";
/// Lifetime of the leases that are in a pool before the first trial.
const INITIAL_LEASE_TIME: Duration = Duration::from_secs(86_400);
/// Address of the first subnet of a configuration with many IPv4 subnets; the further ones follow,
/// 256 addresses each.
const FIRST_V4: Ipv4Addr = Ipv4Addr::new(10, 128, 0, 0);
const FIRST_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 0);
/// First IPv4 address with a reservation, in the relay's subnet and above every pool.
const RESERVED_V4: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 0);
const RESERVED_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0x100, 0, 0);
/// Name of the file next to the configuration that has the reservations.
pub(crate) const RESERVATIONS_FILE: &str = "reservations.json";
/// Name of the script that the server calls for each event of a lease, below its folder.
pub(super) const SCRIPT_FILE: &str = "scripts/script.sh";
/// Marker in the configuration's JSON that is replaced by the include (`<?include`) of
/// [`RESERVATIONS_FILE`], which JSON cannot express.
const INCLUDED: &str = "reservations are included here";

/// Returns the number of the links that clients come from, and the step in subnets from one link to
/// the next; `None` if all clients are on the relay agent's own link.
const fn links(feature: ServerFeature) -> Option<(u32, u32)> {
    match feature {
        ServerFeature::ManySubnets | ServerFeature::PolledSubnets => Some((SUBNETS, 1)),
        ServerFeature::SharedNetworks => Some((NETWORKS.0, NETWORKS.1)),
        _ => None,
    }
}

/// Returns true if clients of the feature come from other links than the relay agent's own.
pub(crate) const fn has_links(feature: ServerFeature) -> bool {
    links(feature).is_some()
}

/// Returns the number of distinct clients that the configuration can serve; `None` when only the
/// pool limits them.
pub(crate) fn client_capacity(feature: ServerFeature) -> Option<u32> {
    match feature {
        // Clients beyond those with a reservation would be served in another way.
        feature if feature.has_reservations() => match feature {
            ServerFeature::ReservationsOff | ServerFeature::ReservationsOfOthers => None,
            _ => Some(RESERVATIONS),
        },
        ServerFeature::ManySubnets | ServerFeature::PolledSubnets => Some(SUBNETS * SUBNET_POOL),
        ServerFeature::SharedNetworks => Some(NETWORKS.0 * NETWORKS.1 * SUBNET_POOL),
        _ => None,
    }
}

/// Returns the generator's additional command-line arguments for `feature`.
pub(crate) fn generator_words(feature: ServerFeature, version: AddressFamily) -> Vec<String> {
    let mut words = Vec::new();
    if let Some((count, step)) = links(feature) {
        let first = match version {
            AddressFamily::V4 => ["--link-selection".to_owned(), subnet_v4(0, 1).to_string()],
            AddressFamily::V6 => ["--link-address".to_owned(), subnet_v6(0, 1).to_string()],
        };
        words.extend(first);
        words.extend(["--links".to_owned(), count.to_string()]);
        words.extend(["--link-step".to_owned(), step.to_string()]);
    }
    if feature.releases_leases() {
        words.push("--release".to_owned());
    }
    if feature == ServerFeature::Renewals {
        words.push("--renew".to_owned());
    }
    if feature.sends_messages_twice() {
        words.push("--chatty".to_owned());
    }
    words
}

fn subnet_v4(number: u32, host: u32) -> Ipv4Addr {
    Ipv4Addr::from(FIRST_V4.to_bits() + (number << 8) + host)
}

fn subnet_v6(number: u32, host: u32) -> Ipv6Addr {
    Ipv6Addr::from(FIRST_V6.to_bits() + (u128::from(number) << 64) + u128::from(host))
}

/// Returns the hardware address of the generator's client `number`.
fn hardware(number: u32) -> String {
    let [a, b, c, d] = number.to_be_bytes();
    format!("02:67:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
}

/// Returns the DUID of the generator's client `number`.
fn duid(number: u32) -> String {
    format!("00:01:00:01:2a:00:00:00:{}", hardware(number))
}

/// Changes `configuration`, that of a server without features, as the feature of `deployment`
/// requires.
pub(super) fn apply(deployment: &ServerDeployment, configuration: &mut Value) {
    let version = deployment.family.version();
    let key = format!("subnet{}", deployment.digit());
    let class = |number: u32, test: Option<String>| {
        let name = format!("class-{number}");
        test.map_or_else(|| json!({ "name": name }), |test| json!({ "name": name, "test": test }))
    };
    match deployment.feature {
        ServerFeature::EmptyClasses => {
            configuration["client-classes"] = (0..CLASSES).map(|n| class(n, None)).collect();
        }
        ServerFeature::SimpleClasses => {
            let option = if version == AddressFamily::V4 { 60 } else { 15 };
            let test = |n| Some(format!("option[{option}].hex == 'vendor:{n}'"));
            configuration["client-classes"] = (0..CLASSES).map(|n| class(n, test(n))).collect();
        }
        ServerFeature::OredAddresses => {
            // No client has these addresses, so the server compares all of them.
            let term = |n: u32| match version {
                AddressFamily::V4 => format!("pkt4.mac == 0x0299{n:08x}"),
                AddressFamily::V6 => format!("option[1].hex == 0x000100012a0000000299{n:08x}"),
            };
            let test = (0..ADDRESSES).map(term).collect::<Vec<_>>().join(" or ");
            configuration["client-classes"] = json!([class(0, Some(test))]);
        }
        feature if feature.has_reservations() => reserve(deployment, configuration),
        ServerFeature::NotPersisted => configuration["lease-database"]["persist"] = json!(false),
        ServerFeature::LogInfo => configuration["loggers"][0]["severity"] = json!("INFO"),
        ServerFeature::LogDebug => {
            configuration["loggers"][0]["severity"] = json!("DEBUG");
            configuration["loggers"][0]["debuglevel"] = json!(99);
        }
        ServerFeature::ChattyCached => configuration["cache-threshold"] = json!(0.25),
        ServerFeature::LegalLog => {
            configuration["hooks-libraries"] = json!([{ "library": "libdhcp_legal_log.so" }]);
        }
        feature if feature.has_names() => {
            configuration["ddns-replace-client-name"] = json!("when-not-present");
            configuration["ddns-qualifying-suffix"] = json!("lab.example.");
            let is_on = feature != ServerFeature::DdnsOff;
            configuration["dhcp-ddns"] = json!({ "enable-updates": is_on });
        }
        ServerFeature::RunScript => {
            let script = deployment.folder.join(SCRIPT_FILE);
            configuration["hooks-libraries"] = json!([{
                "library": "libdhcp_run_script.so",
                "parameters": { "name": script.to_string_lossy(), "sync": false }
            }]);
        }
        feature if feature.has_partner() => {
            let Some(pair) = deployment.pair else { return };
            configuration["hooks-libraries"] = json!([
                { "library": "libdhcp_lease_cmds.so" },
                { "library": "libdhcp_ha.so", "parameters": { "high-availability": [of_pair(pair)] } }
            ]);
        }
        ServerFeature::ManySubnets | ServerFeature::PolledSubnets => {
            many_subnets(deployment, &mut configuration[key]);
        }
        ServerFeature::SharedNetworks => {
            configuration["shared-networks"] = shared_networks(version, &key);
            shrink_own_subnet(version, &mut configuration[&key]);
        }
        // The other features are in the server's own words, in its files, or in the behavior of
        // clients.
        _ => {}
    }
}

/// Returns the shared networks of the feature, with the subnets of each in the list `key`.
fn shared_networks(version: AddressFamily, key: &str) -> Value {
    let (networks, subnets) = NETWORKS;
    let network = |network: u32| {
        let all = network * subnets..(network + 1) * subnets;
        let all: Vec<Value> = all.map(|number| subnet(version, number)).collect();
        json!({ "name": format!("network-{network}"), key: all })
    };
    (0..networks).map(network).collect()
}

/// Returns the settings of the pair of which a server is at `place`. Neither server takes the other
/// one for failed because of the load of a trial.
fn of_pair(place: PairPlace) -> Value {
    let roles = ["primary", "standby"];
    let peer = |(role, address): (&str, SocketAddr)| json!({ "name": role, "role": role, "url": format!("http://{address}/") });
    let peers: Vec<Value> = roles.into_iter().zip(place.addresses).map(peer).collect();
    json!({
        "this-server-name": roles[place.own.min(1)],
        "mode": "hot-standby",
        "heartbeat-delay": 1_000,
        "max-response-delay": 60_000,
        "max-unacked-clients": 0,
        "multi-threading": {
            "enable-multi-threading": true,
            "http-dedicated-listener": true,
            "http-listener-threads": 4,
            "http-client-threads": 4
        },
        "peers": peers
    })
}

/// Sets the scope of reservations (`reservations-global` and its relatives) in the configuration,
/// and the identifiers by which the server looks them up (`host-reservation-identifiers`).
fn reserve(deployment: &ServerDeployment, configuration: &mut Value) {
    let identifiers = match (deployment.family.version(), deployment.feature) {
        (AddressFamily::V4, ServerFeature::ReservationsByOne) => json!(["hw-address"]),
        (AddressFamily::V4, _) => {
            json!(["hw-address", "duid", "circuit-id", "client-id", "flex-id"])
        }
        (AddressFamily::V6, ServerFeature::ReservationsByOne) => json!(["duid"]),
        (AddressFamily::V6, _) => json!(["hw-address", "duid", "flex-id"]),
    };
    let is_global = matches!(
        deployment.feature,
        ServerFeature::ReservationsGlobal | ServerFeature::ReservationsEarlyGlobal
    );
    let is_off = deployment.feature == ServerFeature::ReservationsOff;
    configuration["host-reservation-identifiers"] = identifiers;
    configuration["reservations-global"] = json!(is_global);
    configuration["reservations-in-subnet"] = json!(!is_global && !is_off);
    match deployment.feature {
        ServerFeature::ReservationsOutOfPool => {
            configuration["reservations-out-of-pool"] = json!(true);
        }
        ServerFeature::ReservationsEarlyGlobal => {
            configuration["early-global-reservations-lookup"] = json!(true);
        }
        _ => {}
    }
    let list = json!([INCLUDED]);
    if is_global {
        configuration["reservations"] = list;
    } else {
        configuration[format!("subnet{}", deployment.digit())][0]["reservations"] = list;
    }
}

fn many_subnets(deployment: &ServerDeployment, list: &mut Value) {
    let version = deployment.family.version();
    shrink_own_subnet(version, list);
    let list = list.as_array_mut().expect("subnets are a list");
    list.extend((0..SUBNETS).map(|number| subnet(version, number)));
}

/// Shrinks the only DHCPv4 subnet of `list`, which has all of 10.0.0.0/8, so that others can follow
/// above it.
fn shrink_own_subnet(version: AddressFamily, list: &mut Value) {
    if version == AddressFamily::V4 {
        list[0]["subnet"] = json!("10.0.0.0/9");
    }
}

/// Returns the configuration of subnet `number` of many. Its identifier is not 1, which is that of
/// the relay agent's own subnet.
fn subnet(version: AddressFamily, number: u32) -> Value {
    let (network, first, last): (String, IpAddr, IpAddr) = match version {
        AddressFamily::V4 => {
            let at = |host| subnet_v4(number, host);
            (format!("{}/24", at(0)), at(1).into(), at(SUBNET_POOL).into())
        }
        AddressFamily::V6 => {
            let at = |host| subnet_v6(number, host);
            (format!("{}/64", at(0)), at(1).into(), at(SUBNET_POOL).into())
        }
    };
    json!({ "id": number + 2, "subnet": network, "pools": [{ "pool": format!("{first} - {last}") }] })
}

/// Returns the text of a configuration with the words that include a file of `folder`.
pub(super) fn with_includes(folder: &Path, text: &str) -> String {
    let file = folder.join(RESERVATIONS_FILE);
    text.replace(&format!("\"{INCLUDED}\""), &format!("<?include \"{}\"?>", file.display()))
}

/// Writes the additional files for the feature of `deployment` that the configuration includes or
/// the server reads.
pub(super) fn write_files(deployment: &ServerDeployment) -> LabResult<()> {
    let write = |name: &str, of: &dyn Fn(&mut dyn Write) -> io::Result<()>| {
        let path = deployment.folder.join(name);
        write_with(&path, of).map_err(|e| LabError::cannot(format!("write {}", path.display()), e))
    };
    if deployment.feature.has_reservations() {
        let is_of_others = deployment.feature == ServerFeature::ReservationsOfOthers;
        let (version, count) = (deployment.family.version(), deployment.reservations);
        let first = if is_of_others { FIRST_ABSENT_CLIENT } else { 0 };
        write(RESERVATIONS_FILE, &|file| reservations(version, first, count, file))?;
    }
    if deployment.feature == ServerFeature::RunScript {
        write_script(&deployment.folder.join(SCRIPT_FILE))?;
    }
    let pool = deployment.pool_size();
    let free = deployment.feature.used_per_10_000().map_or_else(
        || pool.saturating_sub(deployment.feature.initial_leases()),
        |used| (u64::from(pool) * u64::from(10_000 - used) / 10_000) as u32,
    );
    if free < pool {
        write(LEASE_FILE, &|file| leases(deployment.pool.0, pool, free, file))?;
    }
    Ok(())
}

/// Removes the files of the legal log and the queue of DNS updates in `folder`, as far as there are
/// any.
pub(crate) fn remove_event_files(folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_legal_log = |name: &str| name.starts_with("kea-legal.") && name.ends_with(".txt");
    let is_event_file = |name: &str| is_legal_log(name) || name.ends_with(".ddns-queue");
    for entry in entries.filter(|entry| entry.file_name().to_str().is_some_and(is_event_file)) {
        let _ = std::fs::remove_file(entry.path());
    }
}

/// Writes a script that does nothing.
fn write_script(path: &Path) -> LabResult<()> {
    let folder = path.parent().unwrap_or(path);
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, "#!/bin/sh\nexit 0\n"))
        .and_then(|()| std::fs::set_permissions(path, Permissions::from_mode(0o755)));
    written.map_err(|e| LabError::cannot(format!("write {}", path.display()), e))
}

fn write_with(path: &Path, of: &dyn Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    of(&mut file)?;
    file.flush()
}

/// Writes reservations of `count` clients from number `first` on to `file`, as JSON.
fn reservations(
    version: AddressFamily,
    first: u32,
    count: u32,
    file: &mut dyn Write,
) -> io::Result<()> {
    for number in 0..count {
        let comma = if number == 0 { "" } else { ",\n" };
        match version {
            AddressFamily::V4 => {
                let address = Ipv4Addr::from(RESERVED_V4.to_bits() + number);
                let client = hardware(first + number);
                write!(
                    file,
                    r#"{comma}{{ "hw-address": "{client}", "ip-address": "{address}" }}"#
                )?;
            }
            AddressFamily::V6 => {
                let address = Ipv6Addr::from(RESERVED_V6.to_bits() + u128::from(number));
                let client = duid(first + number);
                write!(file, r#"{comma}{{ "duid": "{client}", "ip-addresses": ["{address}"] }}"#)?;
            }
        }
    }
    writeln!(file)
}

/// Writes a lease file in Kea's format in which clients that never come hold all but `free` of the
/// `pool` addresses. The free addresses are evenly distributed.
fn leases(first: IpAddr, pool: u32, free: u32, file: &mut dyn Write) -> io::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (lease_s, expires_s) = (INITIAL_LEASE_TIME.as_secs(), (now + INITIAL_LEASE_TIME).as_secs());
    let before = |number: u32| u64::from(number) * u64::from(free) / u64::from(pool);
    writeln!(file, "{}", if first.is_ipv4() { COLUMNS_V4 } else { COLUMNS_V6 })?;
    for number in (0..pool).filter(|&number| before(number) == before(number + 1)) {
        let [a, b, c, d] = number.to_be_bytes();
        let client = format!("06:00:{a:02x}:{b:02x}:{c:02x}:{d:02x}");
        match first {
            IpAddr::V4(first) => {
                let address = Ipv4Addr::from(first.to_bits() + number);
                writeln!(file, "{address},{client},01:{client},{lease_s},{expires_s},1,0,0,,0,")?;
            }
            IpAddr::V6(first) => {
                let address = Ipv6Addr::from(first.to_bits() + u128::from(number));
                let duid = format!("00:01:00:01:2a:00:00:00:{client}");
                writeln!(
                    file,
                    "{address},{duid},{lease_s},{expires_s},1,{lease_s},0,1,128,0,0,,,0,,0,0"
                )?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_in_use_evenly() {
        let mut text = Vec::new();
        leases(Ipv4Addr::new(10, 1, 0, 0).into(), 1_000, 10, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let addresses: Vec<u32> = text
            .lines()
            .skip(1)
            .map(|line| line.split(',').next().unwrap().parse::<Ipv4Addr>().unwrap().to_bits())
            .collect();
        assert_eq!(addresses.len(), 990);
        let longest = addresses.chunk_by(|a, b| a + 1 == *b).map(<[u32]>::len).max();
        assert_eq!(longest, Some(99));
    }

    #[test]
    fn the_generator_comes_from_every_link_and_gives_back_where_the_pool_stays_full() {
        let words = |feature, version| generator_words(feature, version).join(" ");
        assert_eq!(words(ServerFeature::Plain, AddressFamily::V4), "");
        assert_eq!(words(ServerFeature::Pool99, AddressFamily::V4), "--release");
        assert_eq!(words(ServerFeature::Releases, AddressFamily::V4), "--release");
        assert_eq!(words(ServerFeature::Renewals, AddressFamily::V6), "--renew");
        assert_eq!(
            words(ServerFeature::ManySubnets, AddressFamily::V4),
            "--link-selection 10.128.0.1 --links 10000 --link-step 1"
        );
        assert_eq!(
            words(ServerFeature::SharedNetworks, AddressFamily::V6),
            "--link-address 2001:db8:1::1 --links 100 --link-step 50"
        );
    }
}
