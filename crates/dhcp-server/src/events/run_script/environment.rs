//! Environment of one call of a script: Kea's variables and nothing else.

use std::fmt::Display;

use base::hex::ColonHex;
use dhcp_lease::{HardwareAddress, LeaseState};

/// Call of a script for a hook point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScriptCall {
    /// Name of the hook point, which is the script's argument.
    pub(super) point: &'static str,
    pub(super) environment: ScriptEnvironment,
}

/// Variables of a call, each `NAME=VALUE` with a NUL after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScriptEnvironment {
    /// Variables as the runner of scripts takes them.
    pub(super) octets: Vec<u8>,
}

impl ScriptEnvironment {
    /// Adds the variable `prefix` + `name`. As in Kea, a NUL ends the value.
    pub(super) fn put(&mut self, prefix: &str, name: &str, value: impl Display) {
        let value = value.to_string();
        let value = value.split('\0').next().unwrap_or_default();
        for part in [prefix, name, "=", value, "\0"] {
            self.octets.extend_from_slice(part.as_bytes());
        }
    }

    /// Adds a variable with an identifier: bytes with colons, empty without one.
    pub(super) fn put_identifier(&mut self, prefix: &str, name: &str, octets: &[u8]) {
        self.put(prefix, name, ColonHex(octets));
    }

    /// Adds the variables of a hardware address and its type, which are empty without one.
    pub(super) fn put_hardware(
        &mut self,
        prefix: &str,
        name: &str,
        hardware: Option<&HardwareAddress>,
    ) {
        let kind = hardware.map_or_else(String::new, |one| one.htype().to_string());
        self.put_identifier(prefix, name, hardware.map_or(&[], HardwareAddress::octets));
        self.put(prefix, &format!("{name}_TYPE"), kind);
    }

    /// Adds a variable with the value of an option: `0x` and digits in upper case.
    pub(super) fn put_option(
        &mut self,
        prefix: &str,
        name: &str,
        octets: impl Iterator<Item = u8>,
    ) {
        let digits: String = octets.map(|octet| format!("{octet:02X}")).collect();
        self.put(prefix, name, format_args!("0x{digits}"));
    }
}

/// Returns Kea's name of the state of a lease.
pub(super) const fn state_name(state: LeaseState) -> &'static str {
    match state {
        LeaseState::Assigned => "default",
        LeaseState::Declined => "declined",
        LeaseState::ExpiredReclaimed => "expired-reclaimed",
        LeaseState::Released => "released",
        LeaseState::Registered => "registered",
    }
}
