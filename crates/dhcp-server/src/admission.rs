//! Valid configurations that the server refuses to start with: configurations without an interface,
//! and configurations with features of Kea that this version lacks and whose absence is dangerous
//! (`--accept-inactive`).

use dhcp_config::{Dhcp4, Dhcp6, DhcpConfig, InactiveFeature};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;

use crate::ServerError;
use crate::service::DaemonFamily;

/// Checks that a DHCPv4 server starts with `config`, given the features that `--accept-inactive`
/// names.
///
/// # Errors
///
/// The reason why the server would not start.
pub fn admit_dhcp4(config: &Dhcp4, accepted: &[String]) -> Result<(), ServerError> {
    admit::<V4>(config, accepted)
}

/// Checks that a DHCPv6 server starts with `config`, given the features that `--accept-inactive`
/// names.
///
/// # Errors
///
/// The reason why the server would not start.
pub fn admit_dhcp6(config: &Dhcp6, accepted: &[String]) -> Result<(), ServerError> {
    admit::<V6>(config, accepted)
}

/// Refuses a server configuration without interfaces, and one with features of Kea that this
/// version lacks, whose absence is dangerous, and that are not among `accepted`.
///
/// # Errors
///
/// The reason why a server does not start with the configuration.
pub(crate) fn admit<P: DaemonFamily>(
    config: &DhcpConfig<P>,
    accepted: &[String],
) -> Result<(), ServerError> {
    if P::listening(config).is_empty() {
        return Err(ServerError::NoInterfaces);
    }
    refuse_dangerous(&config.global.inactive, accepted)
}

/// Refuses features of a configuration that this version lacks, whose absence is dangerous, and
/// that are not among `accepted` (`--accept-inactive`).
///
/// # Errors
///
/// The names of the refused features.
pub(crate) fn refuse_dangerous(
    inactive: &[InactiveFeature],
    accepted: &[String],
) -> Result<(), ServerError> {
    let mut refused: Vec<&'static str> = inactive
        .iter()
        .filter(|feature| feature.is_dangerous && !accepted.iter().any(|name| name == feature.name))
        .map(|feature| feature.name)
        .collect();
    refused.dedup();
    if refused.is_empty() { Ok(()) } else { Err(ServerError::Inactive(refused)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dangerous_features_must_be_accepted_by_name() {
        let feature = |name, is_dangerous| InactiveFeature { name, is_dangerous };
        let inactive = [feature("ddns", false), feature("sql", true), feature("ha", true)];
        let refused = |accepted: &[&str]| {
            let accepted: Vec<String> = accepted.iter().map(ToString::to_string).collect();
            match refuse_dangerous(&inactive, &accepted) {
                Ok(()) => Vec::new(),
                Err(ServerError::Inactive(names)) => names,
                Err(other) => panic!("{other}"),
            }
        };
        assert_eq!(refused(&[]), ["sql", "ha"]);
        assert_eq!(refused(&["ha", "ddns"]), ["sql"]);
        assert!(refused(&["ha", "sql"]).is_empty());
    }
}
