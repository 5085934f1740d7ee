//! DUID of the DHCPv6 server itself (RFC 9915 §11): made once from `server-id` and the machine, and
//! stored in Kea's file, so that Kea and Godwit have the same one.
//!
//! The parts that the configuration leaves open come from the stored DUID if that is of the
//! configured type, else they are generated. As in Kea, the server starts even if the file holds no
//! DUID: it renames the file, logs a warning, and makes a new DUID where none is configured. If the
//! file cannot be read, the server does not start, since the content may be valid.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use base::ColonHex;
use dhcp_config::v6::{ServerIdConfig, ServerIdType};
use dhcp_store::regular_file;
use netio::interface::Interface;

use crate::ServerError;
use crate::loggers::DAEMON;

/// Name of the file with the server's DUID, as in Kea.
pub(crate) const FILE: &str = "kea-dhcp6-serverid";
/// Start of the time of a DUID-LLT, 2000-01-01 00:00 UTC, in Unix seconds.
const EPOCH_2000_S: u64 = 946_684_800;
/// Enterprise number that Kea uses in a DUID-EN when none is configured: that of ISC.
const DEFAULT_ENTERPRISE: u32 = 2495;
/// Minimum length of a link-layer address from which a DUID is made, in bytes.
const LINK_LAYER_MIN: usize = 6;
/// Maximum length of a DUID with its type, in bytes (RFC 9915 §11.1).
const DUID_MAX: usize = 130;

/// Type number of a DUID-LLT (RFC 9915 §11.2).
const LLT: u16 = 1;
/// Type number of a DUID-EN (RFC 9915 §11.3).
const EN: u16 = 2;
/// Type number of a DUID-LL (RFC 9915 §11.4).
const LL: u16 = 3;

/// Returns the server's DUID; `folder` contains the file with it, `wall_s` is the time in Unix
/// seconds.
pub(crate) fn server_duid(
    config: &ServerIdConfig,
    folder: &Path,
    wall_s: u64,
) -> Result<Vec<u8>, ServerError> {
    let path = folder.join(FILE);
    let stored = if config.persist { read_or_set_aside(&path, wall_s)? } else { None };
    let duid = make(config, stored.as_deref(), wall_s, &link_layer_address)?;
    if config.persist && stored.as_deref() != Some(&duid) {
        write(&path, &duid).map_err(|cause| ServerError::ServerId { path: path.clone(), cause })?;
    }
    Ok(duid)
}

/// Hardware type and link-layer address of a link that identifies the machine.
type LinkLayer = (u16, Vec<u8>);

fn make(
    config: &ServerIdConfig,
    stored: Option<&[u8]>,
    wall_s: u64,
    link_layer: &dyn Fn() -> Option<LinkLayer>,
) -> Result<Vec<u8>, ServerError> {
    let code = match config.kind {
        ServerIdType::Llt => LLT,
        ServerIdType::En => EN,
        ServerIdType::Ll => LL,
    };
    let stored = stored.filter(|stored| stored[..2] == code.to_be_bytes());
    let mut duid = code.to_be_bytes().to_vec();
    if config.kind == ServerIdType::En {
        let stored_number = stored.and_then(|stored| number(stored, 2));
        let enterprise = config.enterprise_id.or(stored_number).unwrap_or(DEFAULT_ENTERPRISE);
        duid.extend(enterprise.to_be_bytes());
        let stored_rest = stored.map(|stored| &stored[6..]);
        match config.identifier.as_deref().or(stored_rest) {
            Some(identifier) => duid.extend(identifier),
            None => duid.extend(&random_octets()[..6]),
        }
        return Ok(duid);
    }
    let stored_type = stored.map(|stored| u16::from_be_bytes([stored[2], stored[3]]));
    let address_at = if config.kind == ServerIdType::Llt { 8 } else { 4 };
    let identifier =
        config.identifier.clone().or_else(|| stored.map(|old| old[address_at..].to_vec()));
    let (default_type, address) = match identifier {
        Some(address) => (1, address),
        None => link_layer().ok_or(ServerError::NoLinkLayer)?,
    };
    let hardware_type = config.hardware_type.or(stored_type).unwrap_or(default_type);
    duid.extend(hardware_type.to_be_bytes());
    if config.kind == ServerIdType::Llt {
        let stored_time = stored.and_then(|stored| number(stored, 4));
        let now_s = wall_s.saturating_sub(EPOCH_2000_S) as u32;
        duid.extend(config.time_s.or(stored_time).unwrap_or(now_s).to_be_bytes());
    }
    duid.extend(address);
    Ok(duid)
}

fn number(duid: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(duid.get(at..at + 4)?.try_into().ok()?))
}

/// Returns random bytes for a DUID that no other server has by chance.
fn random_octets() -> [u8; 8] {
    RandomState::new().build_hasher().finish().to_be_bytes()
}

/// Returns the DUID stored in the file `path`; `None` if the file is missing, or holds no DUID and
/// is renamed.
fn read_or_set_aside(path: &Path, wall_s: u64) -> Result<Option<Vec<u8>>, ServerError> {
    let failed = |cause| ServerError::ServerId { path: path.to_owned(), cause };
    let octets = match regular_file::read(path) {
        Ok(octets) => octets,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(failed(cause)),
    };
    if let Some(duid) = std::str::from_utf8(&octets).ok().and_then(|text| parse(text.trim())) {
        return Ok(Some(duid));
    }
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".broken-{wall_s}"));
    let aside = PathBuf::from(aside);
    fs::rename(path, &aside).map_err(failed)?;
    tracing::warn!(
        target: DAEMON,
        id = "DHCP6_SERVERID_SET_ASIDE",
        "{} contained no DUID of the server (bytes in hexadecimal with colons); the new DUID is \
         {}. To keep the old DUID, restore a copy of the file and restart: with a new one clients \
         request their leases again",
        path.display(),
        aside.display()
    );
    Ok(None)
}

/// Parses a DUID of hexadecimal bytes with colons; returns `None` if it is too short for its type.
fn parse(text: &str) -> Option<Vec<u8>> {
    let octets: Option<Vec<u8>> = text
        .split(':')
        .map(|pair| if pair.len() == 2 { u8::from_str_radix(pair, 16).ok() } else { None })
        .collect();
    let octets = octets.filter(|octets| (3..=DUID_MAX).contains(&octets.len()))?;
    let fixed = match u16::from_be_bytes([octets[0], octets[1]]) {
        LLT => 8,
        EN => 6,
        LL => 4,
        _ => 2,
    };
    (octets.len() > fixed).then_some(octets)
}

/// Replaces the file with the server's DUID in one step and flushes it: the DUID that clients learn
/// must survive a power cut.
fn write(path: &Path, duid: &[u8]) -> io::Result<()> {
    let mut scratch = path.as_os_str().to_owned();
    scratch.push(".tmp");
    let scratch = PathBuf::from(scratch);
    // Never write through a file that a crash or another program left there.
    fs::remove_file(&scratch).ok();
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o640).open(&scratch)?;
    file.write_all(ColonHex(duid).to_string().as_bytes())?;
    file.sync_all()?;
    fs::rename(&scratch, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or_else(|| Path::new(".")))?.sync_all()
}

/// Returns the link-layer address that identifies the machine. It comes from the kernel, not from
/// `/sys`, which a container or a bare root folder may lack.
fn link_layer_address() -> Option<LinkLayer> {
    chosen_link_layer(netio::interface::list().ok()?)
}

/// Returns the link-layer address of the first of `interfaces` that is set up, as Kea does, or else
/// of the first one: an address identifies a machine also while its interfaces are down. Loopback
/// interfaces, short addresses and those of zeros do not count.
fn chosen_link_layer(interfaces: Vec<Interface>) -> Option<LinkLayer> {
    let identifies =
        |octets: &[u8]| octets.len() >= LINK_LAYER_MIN && octets.iter().any(|&octet| octet != 0);
    interfaces
        .into_iter()
        .filter(|interface| !interface.is_loopback)
        .filter_map(|interface| {
            let link_layer = interface.link_layer.filter(|(_, octets)| identifies(octets))?;
            Some((interface.is_set_up, link_layer))
        })
        .min_by_key(|&(is_set_up, _)| !is_set_up)
        .map(|(_, link_layer)| link_layer)
}

#[cfg(test)]
mod tests {
    use testkit::TempFolder;

    use super::*;

    const NOW_S: u64 = EPOCH_2000_S + 0x0102_0304;

    fn some_link() -> Option<LinkLayer> {
        Some((1, vec![2, 0, 0, 0, 0, 9]))
    }

    fn make_at_now(config: &ServerIdConfig, stored: Option<&[u8]>) -> Vec<u8> {
        make(config, stored, NOW_S, &some_link).unwrap()
    }

    #[test]
    fn the_default_is_a_link_layer_address_and_a_time_that_then_stays() {
        let config = ServerIdConfig::default();
        let first = make_at_now(&config, None);
        assert_eq!(ColonHex(&first).to_string(), "00:01:00:01:01:02:03:04:02:00:00:00:00:09");
        let later = make(&config, Some(&first), NOW_S + 1000, &|| None).unwrap();
        assert_eq!(later, first);
    }

    #[test]
    fn what_is_configured_wins_and_the_rest_stays() {
        let stored = parse("00:01:00:06:00:00:00:05:0a:0a:0a:0a:0a:0a").unwrap();
        let config = ServerIdConfig { time_s: Some(7), ..ServerIdConfig::default() };
        assert_eq!(
            ColonHex(&make_at_now(&config, Some(&stored))).to_string(),
            "00:01:00:06:00:00:00:07:0a:0a:0a:0a:0a:0a"
        );
        let link = ServerIdConfig { kind: ServerIdType::Ll, ..ServerIdConfig::default() };
        assert_eq!(
            ColonHex(&make_at_now(&link, Some(&stored))).to_string(),
            "00:03:00:01:02:00:00:00:00:09"
        );
        let enterprise = ServerIdConfig {
            kind: ServerIdType::En,
            identifier: Some(vec![1, 2]),
            ..ServerIdConfig::default()
        };
        assert_eq!(
            ColonHex(&make_at_now(&enterprise, Some(&stored))).to_string(),
            "00:02:00:00:09:bf:01:02"
        );
    }

    #[test]
    fn a_generated_enterprise_identifier_stays() {
        let config = ServerIdConfig { kind: ServerIdType::En, ..ServerIdConfig::default() };
        let first = make_at_now(&config, None);
        assert_eq!(first.len(), 12);
        assert_eq!(make_at_now(&config, Some(&first)), first);
    }

    #[test]
    fn a_machine_without_a_link_layer_address_is_told_so() {
        let error = make(&ServerIdConfig::default(), None, NOW_S, &|| None).unwrap_err();
        assert!(error.to_string().contains("server-id"), "{error}");
    }

    #[test]
    fn the_first_interface_that_is_set_up_gives_the_address() {
        let interface = |index: u32, is_set_up, address: &[u8]| Interface {
            name: format!("eth{index}"),
            index,
            is_up: is_set_up,
            is_set_up,
            is_loopback: index == 1,
            is_multicast: true,
            mac: None,
            link_layer: Some((1, address.to_vec())),
            addresses: Vec::new(),
        };
        let loopback = interface(1, true, &[9; 6]);
        let unusable = [interface(2, true, &[1; 4]), interface(3, true, &[0; 6])];
        let [first, second] = [4, 5].map(|index| interface(index, false, &[index as u8; 6]));
        let up = interface(6, true, &[6; 20]);
        let none = [std::slice::from_ref(&loopback), &unusable].concat();
        assert_eq!(chosen_link_layer(none.clone()), None);
        let down = [&none[..], &[first, second]].concat();
        assert_eq!(chosen_link_layer(down.clone()), Some((1, vec![4; 6])));
        assert_eq!(chosen_link_layer([down, vec![up]].concat()), Some((1, vec![6; 20])));
    }

    #[test]
    fn the_file_is_keas_and_nothing_else_is_taken_for_one() {
        let temporary = TempFolder::new("serverid");
        let folder = temporary.path();
        let config = ServerIdConfig { identifier: Some(vec![7; 6]), ..ServerIdConfig::default() };
        let duid = server_duid(&config, folder, NOW_S).unwrap();
        assert_eq!(fs::read_to_string(folder.join(FILE)).unwrap(), ColonHex(&duid).to_string());
        let again = server_duid(&ServerIdConfig::default(), folder, NOW_S + 9).unwrap();
        assert_eq!(again, duid);
        for text in ["", "00:01", "00:01:00:01:00:00:00:05", "0001", "00:03:00:01:zz", "1:2:3:4:5"]
        {
            fs::write(folder.join(FILE), text).unwrap();
            assert_eq!(server_duid(&config, folder, NOW_S).unwrap(), duid, "it is configured");
            assert_eq!(fs::read_to_string(folder.join(FILE)).unwrap(), ColonHex(&duid).to_string());
            let aside = folder.join(format!("{FILE}.broken-{NOW_S}"));
            assert_eq!(fs::read_to_string(aside).unwrap(), text, "nothing is lost");
        }
        fs::write(folder.join(FILE), [0xff; 40]).unwrap();
        let config = ServerIdConfig { kind: ServerIdType::En, ..ServerIdConfig::default() };
        let duid = server_duid(&config, folder, NOW_S).unwrap();
        assert_eq!(server_duid(&config, folder, NOW_S).unwrap(), duid, "it is made once");
        // The content of an unreadable file may be valid.
        fs::remove_file(folder.join(FILE)).unwrap();
        fs::create_dir(folder.join(FILE)).unwrap();
        let error = server_duid(&config, folder, NOW_S).unwrap_err().to_string();
        assert!(error.contains("it is not a regular file"), "{error}");
    }
}
