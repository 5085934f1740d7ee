//! Command `godwit lab run` of a DCCP regression: the crate `lab` finds the plan, the crate
//! `dccp-tools` measures it, and the result goes to the lab's results folder.

use std::process::ExitCode;

use base::ToolError;
use dccp_tools::regression::{RegressionProgress, RegressionTable, run_plan};
use lab::runner::time::duration;
use lab::{LabError, ProgressWriter, ResultFolder};
use measure::record::Environment;
use measure::regression::{RegressionClock, RegressionPlan};
use serde::Serialize;
use serde_json::Value;

use super::{LabRunArgs, exit_code, own_program, page_line, print_result};
use crate::signals;

/// Value of the field `schema` in the `run.json` of a DCCP regression.
const SCHEMA: &str = "godwit.dccp-regression.v1";

/// Record of a run of a DCCP regression, stored as `run.json`.
#[derive(Serialize)]
struct RegressionRecord<'a> {
    schema: &'static str,
    plan: &'a RegressionPlan,
    started: String,
    duration_s: f64,
    is_quick: bool,
    is_interrupted: bool,
    environment: Environment,
    commands: Vec<String>,
    warnings: &'a [String],
    /// Reasons why mean rates fell short of the accepted range, one sentence each.
    shortfalls: &'a [String],
    /// Table of the measured rates in the format of `godwit dccp regression --json`.
    table: Value,
}

pub(super) fn run(args: &LabRunArgs, plan: &RegressionPlan) -> Result<ExitCode, LabError> {
    refuse_flags(args)?;
    let (_, command_line) = own_program()?;
    let stop = signals::stop_flag()?;
    let folder = ResultFolder::choose(&args.results, &plan.name)?;
    let mut progress = ProgressWriter::new();
    let whole_s = plan.forecast_s(args.quick, args.runs);
    progress.print(&format!("about {}", duration(whole_s)));
    progress.start_clock(whole_s);
    let table = run_plan(plan, args.quick, args.runs, stop, &mut |progress_event| {
        match progress_event {
            RegressionProgress::Step(words) => progress.step(&words),
            RegressionProgress::Row { summary, .. } => progress.finish_step(&summary),
            RegressionProgress::Warning(words) => progress.print(&format!("warning: {words}")),
        }
        Ok(())
    });
    progress.clear();
    let table = table.map_err(lab_error)?;
    if table.is_interrupted && table.is_empty() {
        return Err(LabError::Interrupted);
    }
    let shortfalls = table.shortfalls();
    let mut warnings = table.warnings.clone();
    if table.is_interrupted {
        warnings.push(
            "Interrupted by the user: this result has the measurements done until \
                       then."
                .to_owned(),
        );
    }
    let record = RegressionRecord {
        schema: SCHEMA,
        plan,
        started: folder.started(),
        duration_s: folder.elapsed_s(),
        is_quick: args.quick,
        is_interrupted: table.is_interrupted,
        environment: folder.environment(topology(&table)),
        commands: vec![command_line],
        warnings: &warnings,
        shortfalls: &shortfalls,
        table: table.document().map_err(lab_error)?,
    };
    let page = table.page(&facts(&record), &warnings);
    let report = folder.write(&record, &page)?;
    print_result(args.json, &record, &(table.text() + &page_line("report", &report)))?;
    Ok(exit_code(table.is_interrupted, &shortfalls))
}

/// Refuses flags about servers and their location, which a DCCP regression does not have.
fn refuse_flags(args: &LabRunArgs) -> Result<(), LabError> {
    let servers = "has no servers";
    let flags = [
        ("--server", !args.servers.is_empty(), servers),
        ("--server-command", args.server_command.is_some(), servers),
        ("--target", args.target.is_some(), servers),
        ("--topology", args.topology.is_some(), "makes its own network"),
        ("--time-budget", args.time_budget.is_some(), "takes as long as `seconds` and `runs` say"),
    ];
    match flags.into_iter().find(|(_, is_given, _)| *is_given) {
        None => Ok(()),
        Some((flag, _, why)) => {
            let plan = &args.plan;
            Err(LabError::Usage(format!("{flag}: {plan} is a regression of DCCP, which {why}")))
        }
    }
}

/// Returns the name of the topology on which the regression was measured.
fn topology(table: &RegressionTable) -> &'static str {
    let is_by = |clock| table.clocks().contains(&clock);
    match (is_by(RegressionClock::Real), is_by(RegressionClock::Virtual)) {
        (true, true) => "network namespaces and a virtual clock",
        (true, false) => "network namespaces",
        _ => "virtual clock",
    }
}

/// Returns the facts about the regression's run that the page shows.
fn facts(record: &RegressionRecord<'_>) -> Vec<String> {
    let Environment { cpu_model, cpus, kernel, topology, .. } = &record.environment;
    let mut facts = vec![
        record.started.clone(),
        topology.clone(),
        format!("{cpus} × {cpu_model}"),
        format!("Linux {kernel}"),
    ];
    if record.is_quick {
        facts.push("a quick look, which is not judged".to_owned());
    }
    facts
}

fn lab_error(error: ToolError) -> LabError {
    match error {
        ToolError::Usage(words) => LabError::Usage(words),
        ToolError::Failed(words) => LabError::Failed(words),
    }
}
