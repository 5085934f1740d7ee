//! Command `godwit schema`: JSON schemas of configurations, and of the documents that the lab
//! writes.

use std::process::ExitCode;

use clap::ValueEnum;
use measure::schema::DocumentKind;
use netio::stdout;
use serde_json::Value;

use crate::output;

/// Print the JSON schema of a configuration or of a document that the lab writes.
///
/// Editors check and complete configurations by the schema of the server. It has every key that the
/// server reads, with types, ranges and words; `godwit dhcp4 -t` checks more than a schema can say.
/// The other schemas have the fields of JSON files and of outputs with `--json`, each with its
/// meaning and its unit; the field `schema` of a document is the same word in every document of its
/// kind.
///
/// Exit codes: 0 printed; 1 standard output cannot be written; 2 bad arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    /// Configuration or document that the schema describes
    #[arg(value_name = "NAME")]
    name: PrintedSchema,
}

/// Name of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PrintedSchema {
    /// Configuration of the DHCPv4 server
    Dhcp4,
    /// Configuration of the DHCPv6 server
    Dhcp6,
    /// summary.json of a run of the lab
    Summary,
    /// trial.json of each trial of a run
    Trial,
    /// run.json of a run
    Run,
    /// Record of a load generator
    Load,
    /// suite.json of a suite
    Suite,
    /// Output of `godwit lab compare --json`
    Compare,
    /// Output of `godwit lab list --json`
    Stored,
    /// Output of `godwit lab trend --json`
    Trend,
}

/// Prints the schema that `args` name, and returns the exit code.
pub(crate) fn run(args: &SchemaArgs) -> ExitCode {
    let printed = stdout::print(&format!("{:#}\n", schema(args.name)));
    output::exit_code(printed.map_err(|e| format!("cannot write to standard output: {e}")))
}

fn schema(name: PrintedSchema) -> Value {
    let kind = match name {
        PrintedSchema::Dhcp4 => return dhcp_config::schema(false),
        PrintedSchema::Dhcp6 => return dhcp_config::schema(true),
        PrintedSchema::Summary => DocumentKind::Summary,
        PrintedSchema::Trial => DocumentKind::Trial,
        PrintedSchema::Run => DocumentKind::Run,
        PrintedSchema::Load => DocumentKind::Load,
        PrintedSchema::Suite => DocumentKind::Suite,
        PrintedSchema::Compare => DocumentKind::Compare,
        PrintedSchema::Stored => DocumentKind::Stored,
        PrintedSchema::Trend => DocumentKind::Trend,
    };
    measure::schema::schema(kind)
}
