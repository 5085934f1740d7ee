//! Reading the configuration.

use std::fs;
use std::path::{Path, PathBuf};

use dhcp_config::v4::Dhcp4;
use dhcp_config::{Checked, IncludeResolver, Problem};

use crate::ServerError;

/// Includes are read relative to the working directory, as Kea reads them.
#[derive(Debug, Default)]
pub struct Files;

impl IncludeResolver for Files {
    fn read(&mut self, _including: &str, path: &str) -> Result<String, String> {
        fs::read_to_string(path).map_err(|cause| cause.to_string())
    }
}

/// Reads and checks the configuration in `path`.
///
/// # Errors
///
/// The file's problems, or why it cannot be read.
pub fn read_dhcp4(path: &Path) -> Result<Checked<Dhcp4>, ServerError> {
    let text = fs::read_to_string(path)
        .map_err(|cause| ServerError::Unreadable { path: PathBuf::from(path), cause })?;
    let name = path.display().to_string();
    dhcp_config::parse_dhcp4(&name, &text, &mut Files)
        .map_err(|problems: Vec<Problem>| ServerError::Configuration(problems))
}
