//! Valid configurations that the server refuses to start with: those with features of Kea that this
//! version lacks and whose absence is dangerous (`--accept-inactive`).

use dhcp_config::InactiveFeature;

use crate::ServerError;

/// Refuses features of a configuration that this version lacks, whose absence is dangerous, and
/// that are not among `accepted` (`--accept-inactive`).
///
/// # Errors
///
/// The names of the refused features.
pub fn refuse_dangerous(
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
