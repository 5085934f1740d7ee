//! `godwit dhcp4 -t` and `godwit dhcp6 -t`: the check of a configuration, for people or as JSON.

use std::path::Path;

use dhcp_config::{Checked, Problem};
use dhcp_server::{ServerError, Terms, counted};
use serde_json::{Value, json};

use crate::dhcp::Server;

/// Version of the JSON that `-t --json` prints.
const SCHEMA: &str = "godwit.check.v1";

/// Inputs of a check of a configuration.
pub(crate) struct Check<'a> {
    pub(crate) server: Server,
    pub(crate) path: &'a Path,
    pub(crate) terms: Terms,
    /// Features that `--accept-inactive` names.
    pub(crate) accepted: &'a [String],
}

/// Result of a check.
enum Verdict {
    /// Sound configuration: a server starts with it, as far as that depends on the configuration.
    Sound,
    /// Configuration without errors with which a server refuses to start.
    NotStarted(ServerError),
    /// Configuration with errors, or one that cannot be read.
    Refused(ServerError),
}

/// Findings of a check.
struct Findings {
    verdict: Verdict,
    problems: Vec<Problem>,
    /// Interfaces and files of the configuration that this machine lacks.
    missing: Vec<String>,
    subnets: Option<usize>,
}

impl Check<'_> {
    /// Checks the configuration and prints the findings: problems on standard error, and the
    /// verdict on a sound configuration on standard output.
    ///
    /// # Errors
    ///
    /// The configuration is refused, or the output cannot be written.
    pub(crate) fn print(&self) -> Result<(), ServerError> {
        let Findings { verdict, problems, missing, subnets } = self.findings();
        for problem in &problems {
            netio::stderr::print_line(problem);
        }
        for missing in &missing {
            netio::stderr::print_line(format_args!("warning: {missing}"));
        }
        match verdict {
            Verdict::Sound => {
                let subnets = counted(subnets.unwrap_or_default(), "subnet");
                let path = self.path.display();
                told(&format!("{path}: the configuration is sound, {subnets}\n"))
            }
            Verdict::NotStarted(why) => {
                netio::stderr::print_line(format_args!("would not start: {why}"));
                Err(ServerError::Commanded(why.exit_code()))
            }
            // Its problems are printed already.
            Verdict::Refused(why @ ServerError::Configuration(_)) => {
                Err(ServerError::Commanded(why.exit_code()))
            }
            Verdict::Refused(why) => Err(why),
        }
    }

    /// Checks the configuration and prints the findings as one JSON document on standard output.
    ///
    /// # Errors
    ///
    /// The configuration is refused, or the output cannot be written.
    pub(crate) fn print_json(&self) -> Result<(), ServerError> {
        let findings = self.findings();
        told(&format!("{:#}\n", self.json(&findings)))?;
        match findings.verdict {
            Verdict::Sound => Ok(()),
            Verdict::NotStarted(why) | Verdict::Refused(why) => {
                Err(ServerError::Commanded(why.exit_code()))
            }
        }
    }

    fn findings(&self) -> Findings {
        let (path, terms) = (self.path, self.terms);
        match self.server {
            Server::Dhcp4 => of_checked(dhcp_server::read_dhcp4(path, terms), |config| {
                let missing = dhcp_server::missing_dhcp4(config);
                (dhcp_server::admit_dhcp4(config, self.accepted), missing, config.subnets.len())
            }),
            Server::Dhcp6 => of_checked(dhcp_server::read_dhcp6(path, terms), |config| {
                let missing = dhcp_server::missing_dhcp6(config);
                (dhcp_server::admit_dhcp6(config, self.accepted), missing, config.subnets.len())
            }),
        }
    }

    fn json(&self, findings: &Findings) -> Value {
        let Findings { verdict, problems, missing, subnets } = findings;
        let (name, reason) = match verdict {
            Verdict::Sound => ("sound", None),
            Verdict::NotStarted(why) => ("would-not-start", Some(why.to_string())),
            Verdict::Refused(ServerError::Configuration(_)) => ("errors", None),
            Verdict::Refused(why) => ("unreadable", Some(why.to_string())),
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

    fn problem(&self, problem: &Problem) -> Value {
        let Problem { severity, file, line, column, message, help, .. } = problem;
        json!({
            "file": file, "line": line, "column": column, "severity": severity.name(),
            "id": self.identifier(problem.identifier()), "message": message, "help": help,
        })
    }

    /// Returns `id` as the server of this family logs it.
    fn identifier(&self, id: &str) -> String {
        dhcp_server::identifier(id, self.server.family())
    }
}

/// Builds the findings for a configuration that was read. `further` returns for a sound one the
/// result of starting a server with it, the interfaces and files that the machine lacks, and the
/// number of subnets.
fn of_checked<C>(
    read: Result<Checked<C>, ServerError>,
    further: impl FnOnce(&C) -> (Result<(), ServerError>, Result<Vec<String>, ServerError>, usize),
) -> Findings {
    let refused = |problems, why| Findings {
        verdict: Verdict::Refused(why),
        problems,
        missing: Vec::new(),
        subnets: None,
    };
    match read {
        Ok(Checked { config, warnings, .. }) => {
            let (admitted, missing, subnets) = further(&config);
            Findings {
                verdict: admitted.map_or_else(Verdict::NotStarted, |()| Verdict::Sound),
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
pub(crate) fn told(text: &str) -> Result<(), ServerError> {
    let failed = |cause| ServerError::System { tried: "write to standard output", cause };
    netio::stdout::print(text).map_err(failed)
}
