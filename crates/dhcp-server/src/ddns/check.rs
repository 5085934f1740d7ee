//! Check of the zones of an updater, `godwit ddns check`: each server gets an update that changes
//! nothing.

use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{fmt, io};

use base::Random;
use dhcp_config::UpdateZones;
use dhcp_ddns::{DnsZones, ProbeAnswer, ProbeMessage, ZoneProbe};
use netio::Clock;

use super::{UpdaterSettings, parse};
use crate::reload::{ConfigurationReadOptions, parse_configuration};
use crate::server::unpredictable_seed;
use crate::{RequiredValidity, ServerError};

/// Messages that a server gets until it answers.
const TRIES: u32 = 3;
/// Size of the largest datagram.
const DATAGRAM_MAX: usize = 65_535;
/// Reason of a server that does not answer.
const SILENT: &str = "there is no answer";

/// Result of the check of one server of a zone.
#[derive(Clone, Debug)]
pub struct ZoneCheck {
    zone: String,
    server: SocketAddr,
    key: Option<String>,
    /// Reason why the server does not take updates of the zone; `None` if it does.
    pub refusal: Option<String>,
}

impl fmt::Display for ZoneCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} port {}, ", self.zone, self.server.ip(), self.server.port())?;
        match &self.key {
            Some(key) => write!(f, "key {key}: ")?,
            None => f.write_str("without a key: ")?,
        }
        f.write_str(self.refusal.as_deref().unwrap_or("takes updates"))
    }
}

/// Reads the zones of the configuration file of an updater, or of a DHCP server with an updater
/// inside; `None` if it has none.
///
/// # Errors
///
/// The file's problems, or the reason why it cannot be read.
pub fn read_update_zones(settings: &UpdaterSettings) -> Result<Option<UpdateZones>, ServerError> {
    let path = &settings.configuration;
    let text = fs::read_to_string(path)
        .map_err(|cause| ServerError::Unreadable { path: PathBuf::from(path), cause })?;
    let name = path.display().to_string();
    let options = ConfigurationReadOptions {
        extent: RequiredValidity::Whole,
        is_unrestricted: settings.is_unrestricted,
        server_names: Vec::new(),
    };
    let tops = ["\"DhcpDdns\"", "\"Dhcp4\"", "\"Dhcp6\""];
    let first = tops.into_iter().filter_map(|top| Some((text.find(top)?, top))).min();
    let zones = match first {
        Some((_, "\"Dhcp4\"")) => parse_configuration::<base::V4>(&name, &text, path, &options)
            .map(|checked| checked.config.global.godwit.ddns),
        Some((_, "\"Dhcp6\"")) => parse_configuration::<base::V6>(&name, &text, path, &options)
            .map(|checked| checked.config.global.godwit.ddns),
        _ => parse(settings, &name, &text).map(|checked| Some(checked.config.zones)),
    };
    zones.map_err(ServerError::Configuration)
}

/// Checks each server of `zones` with an update that changes nothing, and calls `report` with each
/// result.
pub fn check_zones(zones: &UpdateZones, mut report: impl FnMut(ZoneCheck)) {
    let timeout = Duration::from_millis(u64::from(zones.server_timeout_ms));
    let mut random = Random::from_seed(unpredictable_seed());
    let label = format!("godwit-check-{:08x}", random.next_u32());
    for probe in DnsZones::from_config(zones).probes() {
        let id = random.next_u32() as u16;
        let refusal = match probe.message(id, &label, Clock::now().wall_s()) {
            None => Some("the name of the zone is too long for a check".to_owned()),
            Some(message) => exchange(&probe, &message, timeout)
                .unwrap_or_else(|cause| Some(format!("cannot send: {cause}"))),
        };
        report(ZoneCheck {
            zone: probe.zone().to_string(),
            server: probe.server(),
            key: probe.key().map(ToString::to_string),
            refusal,
        });
    }
}

/// Sends `message` to the server of `probe` until it answers. Returns the reason why it does not
/// take updates; `None` if it does.
fn exchange(
    probe: &ZoneProbe<'_>,
    message: &ProbeMessage<'_>,
    timeout: Duration,
) -> io::Result<Option<String>> {
    let any: SocketAddr = match probe.server() {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    let mut reason = SILENT.to_owned();
    let mut buffer = vec![0; DATAGRAM_MAX];
    for _ in 0..TRIES {
        socket.send_to(message.bytes(), probe.server())?;
        let end = Instant::now() + timeout;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            socket.set_read_timeout(Some(left))?;
            let Ok((len, from)) = socket.recv_from(&mut buffer) else { continue };
            if from != probe.server() {
                continue;
            }
            match message.judge(&buffer[..len], Clock::now().wall_s()) {
                Some(ProbeAnswer::Accepted) => return Ok(None),
                Some(ProbeAnswer::Refused(why)) => return Ok(Some(why)),
                Some(ProbeAnswer::Untrusted(why)) => reason = why,
                None => {}
            }
        }
    }
    Ok(Some(reason))
}
