//! Check of a configuration, `godwit dhcp4 -t` and `godwit dhcp6 -t`, for people or as JSON.

use std::path::Path;

use dhcp_config::{CheckedConfig, ConfigProblem, Dhcp4, Dhcp6};
use dhcp_server::{ConfigurationReadOptions, ServerError, counted};
use serde_json::{Value, json};

use crate::dhcp::DhcpServerKind;

/// Version of the JSON document that `-t --json` prints.
const SCHEMA: &str = "godwit.check.v1";

/// Configuration to check, with the settings of the check.
pub(crate) struct ConfigurationCheck<'a> {
    pub(crate) server: DhcpServerKind,
    pub(crate) path: &'a Path,
    pub(crate) read_options: ConfigurationReadOptions,
    /// Names of the unsupported features that `--accept-inactive` accepts.
    pub(crate) accepted: &'a [String],
}

/// Verdict of the check on a configuration.
enum CheckVerdict {
    /// Sound configuration: a DHCP server starts with it, as far as that depends on the
    /// configuration.
    Sound,
    /// Configuration without errors with which a server refuses to start.
    NotStarted(ServerError),
    /// Configuration with errors, or one that cannot be read.
    Refused(ServerError),
}

/// Findings of the check of a configuration.
struct CheckFindings {
    verdict: CheckVerdict,
    problems: Vec<ConfigProblem>,
    /// Interfaces and files of the configuration that this machine lacks.
    missing: Vec<String>,
    subnets: Option<usize>,
}

impl ConfigurationCheck<'_> {
    /// Checks the configuration and prints the findings: problems on standard error, and the
    /// verdict on a sound configuration on standard output.
    ///
    /// # Errors
    ///
    /// The configuration is refused, or the output cannot be written.
    pub(crate) fn print(&self) -> Result<(), ServerError> {
        let CheckFindings { verdict, problems, missing, subnets } = self.findings();
        for problem in &problems {
            netio::stderr::print_line(problem);
        }
        for missing in &missing {
            netio::stderr::print_line(format_args!("warning: {missing}"));
        }
        match verdict {
            CheckVerdict::Sound => {
                let subnets = counted(subnets.unwrap_or_default(), "subnet");
                let path = self.path.display();
                print_text(&format!("{path}: the configuration is valid, {subnets}\n"))
            }
            CheckVerdict::NotStarted(why) => {
                netio::stderr::print_line(format_args!("would not start: {why}"));
                Err(ServerError::Commanded(why.exit_code()))
            }
            // Its problems are printed already.
            CheckVerdict::Refused(why @ ServerError::Configuration(_)) => {
                Err(ServerError::Commanded(why.exit_code()))
            }
            CheckVerdict::Refused(why) => Err(why),
        }
    }

    /// Checks the configuration and prints the findings as one JSON document on standard output.
    ///
    /// # Errors
    ///
    /// The configuration is refused, or the output cannot be written.
    pub(crate) fn print_json(&self) -> Result<(), ServerError> {
        let findings = self.findings();
        print_text(&format!("{:#}\n", self.json(&findings)))?;
        match findings.verdict {
            CheckVerdict::Sound => Ok(()),
            CheckVerdict::NotStarted(why) | CheckVerdict::Refused(why) => {
                Err(ServerError::Commanded(why.exit_code()))
            }
        }
    }

    fn findings(&self) -> CheckFindings {
        let (path, terms) = (self.path, &self.read_options);
        match self.server {
            DhcpServerKind::Dhcp4 => {
                build_findings(dhcp_server::read_configuration(path, terms), |config: &Dhcp4| {
                    let missing = dhcp_server::missing_dhcp4(config);
                    (
                        dhcp_server::refuse_dangerous(&config.global.inactive, self.accepted),
                        missing,
                        config.subnets.len(),
                    )
                })
            }
            DhcpServerKind::Dhcp6 => {
                build_findings(dhcp_server::read_configuration(path, terms), |config: &Dhcp6| {
                    let missing = dhcp_server::missing_dhcp6(config);
                    (
                        dhcp_server::refuse_dangerous(&config.global.inactive, self.accepted),
                        missing,
                        config.subnets.len(),
                    )
                })
            }
        }
    }

    fn json(&self, findings: &CheckFindings) -> Value {
        let CheckFindings { verdict, problems, missing, subnets } = findings;
        let (name, reason) = match verdict {
            CheckVerdict::Sound => ("sound", None),
            CheckVerdict::NotStarted(why) => ("would-not-start", Some(why.to_string())),
            CheckVerdict::Refused(ServerError::Configuration(_)) => ("errors", None),
            CheckVerdict::Refused(why) => ("unreadable", Some(why.to_string())),
        };
        let of_file = problems.iter().map(|problem| self.problem(problem));
        let of_machine = missing.iter().map(|message| {
            json!({
                "file": self.path.display().to_string(), "line": null, "column": null,
                "severity": "warning", "id": self.identifier("DHCPX_OPEN_SOCKETS_FAILED"),
                "message": message, "help": null,
            })
        });
        json!({
            "schema": SCHEMA,
            "file": self.path.display().to_string(),
            "verdict": name,
            "reason": reason,
            "subnets": subnets,
            "problems": of_file.chain(of_machine).collect::<Vec<_>>(),
        })
    }

    fn problem(&self, problem: &ConfigProblem) -> Value {
        let ConfigProblem { severity, file, line, column, message, help, .. } = problem;
        json!({
            "file": file, "line": line, "column": column, "severity": severity.name(),
            "id": self.identifier(problem.identifier()), "message": message, "help": help,
        })
    }

    /// Returns the message identifier `id` as the server of this family logs it.
    fn identifier(&self, id: &str) -> String {
        dhcp_server::identifier(id, self.server.family())
    }
}

/// Builds the findings for a configuration that was read. `further` returns for a sound one the
/// result of starting a server with it, the interfaces and files that the machine lacks, and the
/// number of subnets.
fn build_findings<C>(
    read: Result<CheckedConfig<C>, ServerError>,
    further: impl FnOnce(&C) -> (Result<(), ServerError>, Result<Vec<String>, ServerError>, usize),
) -> CheckFindings {
    let refused = |problems, why| CheckFindings {
        verdict: CheckVerdict::Refused(why),
        problems,
        missing: Vec::new(),
        subnets: None,
    };
    match read {
        Ok(CheckedConfig { config, warnings, .. }) => {
            let (admitted, missing, subnets) = further(&config);
            CheckFindings {
                verdict: admitted.map_or_else(CheckVerdict::NotStarted, |()| CheckVerdict::Sound),
                problems: warnings,
                // A sound configuration stays sound: it may be for another machine or for later
                // use.
                missing: missing.unwrap_or_else(|error| vec![error.to_string()]),
                subnets: Some(subnets),
            }
        }
        Err(ServerError::Configuration(problems)) => {
            refused(problems.clone(), ServerError::Configuration(problems))
        }
        Err(why) => refused(Vec::new(), why),
    }
}

/// Prints `text` on standard output.
///
/// # Errors
///
/// The output cannot be written.
pub(crate) fn print_text(text: &str) -> Result<(), ServerError> {
    let failed = |cause| ServerError::System { tried: "write to standard output", cause };
    netio::stdout::write(text).map_err(failed)
}
