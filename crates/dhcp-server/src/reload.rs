//! Reading the configuration.

use std::fs;
use std::path::{Path, PathBuf};

use dhcp_config::{Checked, Dhcp4, Dhcp6, IncludeResolver, Problem};

use crate::ServerError;

/// Includes are read relative to the working directory, as Kea reads them.
#[derive(Debug, Default)]
pub struct Files;

impl IncludeResolver for Files {
    fn read(&mut self, _including: &str, path: &str) -> Result<String, String> {
        fs::read_to_string(path).map_err(|cause| cause.to_string())
    }
}

/// How much of a configuration must be right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    #[default]
    Whole,
    /// Subnets and reservations that are wrong are left out, each with a warning.
    WhatIsRight,
}

/// Reads and checks the configuration of a DHCPv4 server in `path`.
///
/// # Errors
///
/// The file's problems, or why it cannot be read.
pub fn read_dhcp4(path: &Path, extent: Extent) -> Result<Checked<Dhcp4>, ServerError> {
    read(path, |name, text| parse_dhcp4(name, text, extent))
}

/// Reads and checks the configuration of a DHCPv6 server in `path`.
///
/// # Errors
///
/// The file's problems, or why it cannot be read.
pub fn read_dhcp6(path: &Path, extent: Extent) -> Result<Checked<Dhcp6>, ServerError> {
    read(path, |name, text| parse_dhcp6(name, text, extent))
}

/// Checks the configuration `text` of a DHCPv4 server, which problems call `name`.
pub(crate) fn parse_dhcp4(
    name: &str,
    text: &str,
    extent: Extent,
) -> Result<Checked<Dhcp4>, Vec<Problem>> {
    match extent {
        Extent::Whole => dhcp_config::parse_dhcp4(name, text, &mut Files),
        Extent::WhatIsRight => dhcp_config::parse_dhcp4_lenient(name, text, &mut Files),
    }
}

/// Checks the configuration `text` of a DHCPv6 server, which problems call `name`.
pub(crate) fn parse_dhcp6(
    name: &str,
    text: &str,
    extent: Extent,
) -> Result<Checked<Dhcp6>, Vec<Problem>> {
    match extent {
        Extent::Whole => dhcp_config::parse_dhcp6(name, text, &mut Files),
        Extent::WhatIsRight => dhcp_config::parse_dhcp6_lenient(name, text, &mut Files),
    }
}

fn read<C>(
    path: &Path,
    parse: impl FnOnce(&str, &str) -> Result<Checked<C>, Vec<Problem>>,
) -> Result<Checked<C>, ServerError> {
    let text = fs::read_to_string(path)
        .map_err(|cause| ServerError::Unreadable { path: PathBuf::from(path), cause })?;
    parse(&path.display().to_string(), &text).map_err(ServerError::Configuration)
}
