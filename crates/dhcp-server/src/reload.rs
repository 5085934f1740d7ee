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

/// Reads and checks the configuration of a DHCPv4 server in `path`.
///
/// # Errors
///
/// The file's problems, or why it cannot be read.
pub fn read_dhcp4(path: &Path) -> Result<Checked<Dhcp4>, ServerError> {
    read(path, |name, text| dhcp_config::parse_dhcp4(name, text, &mut Files))
}

/// Reads and checks the configuration of a DHCPv6 server in `path`.
///
/// # Errors
///
/// The file's problems, or why it cannot be read.
pub fn read_dhcp6(path: &Path) -> Result<Checked<Dhcp6>, ServerError> {
    read(path, |name, text| dhcp_config::parse_dhcp6(name, text, &mut Files))
}

fn read<C>(
    path: &Path,
    parse: impl FnOnce(&str, &str) -> Result<Checked<C>, Vec<Problem>>,
) -> Result<Checked<C>, ServerError> {
    let text = fs::read_to_string(path)
        .map_err(|cause| ServerError::Unreadable { path: PathBuf::from(path), cause })?;
    parse(&path.display().to_string(), &text).map_err(ServerError::Configuration)
}
