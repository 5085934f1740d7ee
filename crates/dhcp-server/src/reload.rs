//! Reading of the server's configurations from files and commands.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use dhcp_config::{CheckedConfig, ConfigProblem, DhcpConfig, IncludeResolver, ReadConfig};

use crate::ServerError;
use crate::policy;

/// Maximum total size of the included files of a configuration, in bytes.
const MAX_INCLUDED_BYTES: u64 = 1 << 30;

/// Resolver of a configuration's includes, which are relative to the working directory, as in Kea.
/// Only regular files are read, since reading a device or a pipe might never end.
#[derive(Debug, Default)]
pub struct FileIncludeResolver {
    /// Number of bytes of included files read so far.
    octets: u64,
}

impl IncludeResolver for FileIncludeResolver {
    fn read(&mut self, _including: &str, path: &str) -> Result<String, String> {
        let text = self.read_regular(path.as_ref()).map_err(|cause| cause.to_string())?;
        self.octets += text.len() as u64;
        if self.octets > MAX_INCLUDED_BYTES {
            return Err(format!(
                "the included files together have more than {MAX_INCLUDED_BYTES} \
                                bytes"
            ));
        }
        Ok(text)
    }
}

impl FileIncludeResolver {
    fn read_regular(&self, path: &Path) -> io::Result<String> {
        // Opening a pipe would wait for a writer.
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(netio::file::NON_BLOCKING).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut text = String::new();
        file.take(MAX_INCLUDED_BYTES - self.octets + 1).read_to_string(&mut text)?;
        Ok(text)
    }
}

/// Part of a server's configuration that must be valid for the server to use it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequiredValidity {
    /// Validity of the whole configuration.
    #[default]
    Whole,
    /// Validity of everything but subnets and reservations: invalid ones are ignored, each with a
    /// warning.
    WhatIsRight,
}

/// Options for reading a server's configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigurationReadOptions {
    /// Part of the configuration that must be valid, else it is refused.
    pub extent: RequiredValidity,
    /// True if the server was started with Kea's flag `-X`: violations of Kea 3's security rules
    /// are warnings.
    pub is_unrestricted: bool,
    /// Names of the server in its relationships of high availability (`--ha-server-name`); empty
    /// if the configuration decides.
    pub server_names: Vec<String>,
}

impl ConfigurationReadOptions {
    fn reading(&self, configuration: &Path) -> dhcp_config::ConfigParseOptions {
        dhcp_config::ConfigParseOptions {
            is_lenient: self.extent == RequiredValidity::WhatIsRight,
            policy: policy::security_policy(configuration, self.is_unrestricted),
            host_name: host_name(),
            server_names: self.server_names.clone(),
        }
    }
}

/// Returns the name of the host; empty if the system does not tell it.
fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

/// Reads and checks the configuration file `path` of a server.
///
/// # Errors
///
/// The file's problems, or the reason why it cannot be read.
pub fn read_configuration<F: ReadConfig>(
    path: &Path,
    terms: &ConfigurationReadOptions,
) -> Result<CheckedConfig<DhcpConfig<F>>, ServerError> {
    let text = fs::read_to_string(path)
        .map_err(|cause| ServerError::Unreadable { path: PathBuf::from(path), cause })?;
    let name = path.display().to_string();
    parse_configuration(&name, &text, path, terms).map_err(ServerError::Configuration)
}

/// Checks the configuration `text` of a server. Problems name the text `name`; the server's
/// configuration file is `configuration`.
pub(crate) fn parse_configuration<F: ReadConfig>(
    name: &str,
    text: &str,
    configuration: &Path,
    terms: &ConfigurationReadOptions,
) -> Result<CheckedConfig<DhcpConfig<F>>, Vec<ConfigProblem>> {
    let options = terms.reading(configuration);
    F::read_config(&options, name, text, &mut FileIncludeResolver::default())
}
