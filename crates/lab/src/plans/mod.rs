//! Sources of plans: files of the user, or plans that are shipped inside the program.

mod list;

use std::path::Path;

use measure::Plan;
use measure::plan::PlanProblem;
use measure::regression::RegressionPlan;
use measure::suite::Suite;

pub use list::{PlanListEntry, json, listed, table};

use crate::error::{LabError, LabResult};
use crate::peers::PEERS;

/// Plans that Godwit ships: bare name and text.
pub const SHIPPED: [(&str, &str); 49] = [
    ("dhcp4-avalanche", include_str!("../../../../plans/dhcp4-avalanche.toml")),
    ("dhcp4-buffers", include_str!("../../../../plans/dhcp4-buffers.toml")),
    ("dhcp4-chatty", include_str!("../../../../plans/dhcp4-chatty.toml")),
    ("dhcp4-classes", include_str!("../../../../plans/dhcp4-classes.toml")),
    ("dhcp4-ddns", include_str!("../../../../plans/dhcp4-ddns.toml")),
    ("dhcp4-exhaustion", include_str!("../../../../plans/dhcp4-exhaustion.toml")),
    ("dhcp4-ha", include_str!("../../../../plans/dhcp4-ha.toml")),
    ("dhcp4-latency", include_str!("../../../../plans/dhcp4-latency.toml")),
    ("dhcp4-listeners", include_str!("../../../../plans/dhcp4-listeners.toml")),
    ("dhcp6-listeners", include_str!("../../../../plans/dhcp6-listeners.toml")),
    ("dhcp4-logging", include_str!("../../../../plans/dhcp4-logging.toml")),
    ("dhcp4-long", include_str!("../../../../plans/dhcp4-long.toml")),
    ("dhcp4-persistence", include_str!("../../../../plans/dhcp4-persistence.toml")),
    ("dhcp4-pool", include_str!("../../../../plans/dhcp4-pool.toml")),
    ("dhcp4-qdiscs", include_str!("../../../../plans/dhcp4-qdiscs.toml")),
    ("dhcp4-queue", include_str!("../../../../plans/dhcp4-queue.toml")),
    ("dhcp4-renewals", include_str!("../../../../plans/dhcp4-renewals.toml")),
    ("dhcp4-reservations", include_str!("../../../../plans/dhcp4-reservations.toml")),
    ("dhcp4-subnets", include_str!("../../../../plans/dhcp4-subnets.toml")),
    ("dhcp4-threads", include_str!("../../../../plans/dhcp4-threads.toml")),
    ("dhcp6-classes", include_str!("../../../../plans/dhcp6-classes.toml")),
    ("dhcp6-exhaustion", include_str!("../../../../plans/dhcp6-exhaustion.toml")),
    ("dhcp4-database-distance", include_str!("../../../../plans/dhcp4-database-distance.toml")),
    ("dhcp4-database-restart", include_str!("../../../../plans/dhcp4-database-restart.toml")),
    ("dhcp4-full", include_str!("../../../../plans/dhcp4-full.toml")),
    ("dhcp4-quick", include_str!("../../../../plans/dhcp4-quick.toml")),
    ("dhcp4-shared-database", include_str!("../../../../plans/dhcp4-shared-database.toml")),
    ("dhcp4-smoke", include_str!("../../../../plans/dhcp4-smoke.toml")),
    ("dhcp4-stores", include_str!("../../../../plans/dhcp4-stores.toml")),
    ("dhcp6-ha", include_str!("../../../../plans/dhcp6-ha.toml")),
    ("dhcp6-full", include_str!("../../../../plans/dhcp6-full.toml")),
    ("dhcp6-quick", include_str!("../../../../plans/dhcp6-quick.toml")),
    ("dhcp6-renewals", include_str!("../../../../plans/dhcp6-renewals.toml")),
    ("dhcp6-smoke", include_str!("../../../../plans/dhcp6-smoke.toml")),
    ("dhcp6-stores", include_str!("../../../../plans/dhcp6-stores.toml")),
    ("dns-latency", include_str!("../../../../plans/dns-latency.toml")),
    ("dns-max", include_str!("../../../../plans/dns-max.toml")),
    ("dns-quick", include_str!("../../../../plans/dns-quick.toml")),
    ("dns-ramp", include_str!("../../../../plans/dns-ramp.toml")),
    ("speed-base4", include_str!("../../../../plans/speed-base4.toml")),
    ("speed-base6", include_str!("../../../../plans/speed-base6.toml")),
    ("speed-features", include_str!("../../../../plans/speed-features.toml")),
    ("speed-overload", include_str!("../../../../plans/speed-overload.toml")),
    ("speed-pool", include_str!("../../../../plans/speed-pool.toml")),
    ("speed-generator", include_str!("../../../../plans/speed-generator.toml")),
    ("speed-segmentation", include_str!("../../../../plans/speed-segmentation.toml")),
    ("speed-start", include_str!("../../../../plans/speed-start.toml")),
    ("speed-memory4", include_str!("../../../../plans/speed-memory4.toml")),
    ("speed-memory6", include_str!("../../../../plans/speed-memory6.toml")),
];

/// Suites that Godwit ships: bare name and text.
pub const SUITES: [(&str, &str); 2] = [
    ("all", include_str!("../../../../plans/all.toml")),
    ("speed", include_str!("../../../../plans/speed.toml")),
];

/// Regressions of DCCP that Godwit ships: bare name and text.
pub const REGRESSIONS: [(&str, &str); 1] =
    [("dccp-regression", include_str!("../../../../plans/dccp-regression.toml"))];

/// Folder in which a plan's bare name is looked for first.
pub const FOLDER: &str = "plans";

/// Reads the plan that the user named: a path when the name has a slash or ends in `.toml`, else
/// `plans/NAME.toml` below the current folder, else a shipped plan.
///
/// # Errors
/// There is no such plan, or it has problems: all of them are in the message, with their positions.
pub fn load(name_or_path: &str) -> LabResult<Plan> {
    let (file, text) = read(name_or_path)?;
    if is_suite(&text) {
        return Err(LabError::Usage(format!("{name_or_path} is a suite of plans, not a plan")));
    }
    if RegressionPlan::is_regression(&text) {
        let message = format!("{name_or_path} is a regression of DCCP, not a plan with servers");
        return Err(LabError::Usage(message));
    }
    let mut plan = Plan::parse(&file, &text).map_err(|problems| join_problems(&problems))?;
    if plan.servers == [INSTALLED] {
        plan.servers = installed_dns_servers();
    }
    Ok(plan)
}

/// Word instead of server names in a plan of DNS, to measure the servers that are installed.
const INSTALLED: &str = "installed";

/// Returns the names of the DNS servers that are installed and serve the lab's zone; if there is
/// none, the name of Godwit's own responder.
fn installed_dns_servers() -> Vec<String> {
    let servers = PEERS.iter().filter(|peer| peer.serves == "DNS" && peer.is_driven);
    // dumresp answers everything with one record, as the responder does.
    let servers = servers.filter(|peer| peer.name != "dumresp" && peer.path().is_some());
    let names: Vec<String> = servers.map(|peer| peer.name.to_owned()).collect();
    if names.is_empty() { vec!["echo".to_owned()] } else { names }
}

/// Joins all problems of a plan in one error.
fn join_problems(problems: &[PlanProblem]) -> LabError {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    LabError::Usage(lines.join("\n"))
}

/// Reads the regression of DCCP that the user named, found as [`load`] finds a plan; `None` when
/// the name is that of a plan or a suite.
///
/// # Errors
/// There is nothing of this name, or the regression has problems.
pub fn load_regression(name_or_path: &str) -> LabResult<Option<RegressionPlan>> {
    let (file, text) = read(name_or_path)?;
    if !RegressionPlan::is_regression(&text) {
        return Ok(None);
    }
    RegressionPlan::parse(&file, &text).map(Some).map_err(|problems| join_problems(&problems))
}

/// Reads the suite that the user named, found as [`load`] finds a plan; `None` when the name is
/// that of a plan.
///
/// # Errors
/// There is neither, or the suite has problems.
pub fn load_suite(name_or_path: &str) -> LabResult<Option<Suite>> {
    let (file, text) = read(name_or_path)?;
    if !is_suite(&text) {
        return Ok(None);
    }
    Suite::parse(&file, &text).map(Some).map_err(LabError::Usage)
}

/// Returns true if `text` is that of a suite: a suite has parts, which no plan has.
fn is_suite(text: &str) -> bool {
    text.lines().any(|line| line.trim() == "[[part]]")
}

fn read(name_or_path: &str) -> LabResult<(String, String)> {
    let is_path = name_or_path.contains('/') || name_or_path.ends_with(".toml");
    let local = format!("{FOLDER}/{name_or_path}.toml");
    let path = if is_path { name_or_path } else { &local };
    if is_path || Path::new(path).exists() {
        let text = std::fs::read_to_string(path)
            .map_err(|e| LabError::Usage(format!("cannot read the plan {path}: {e}")))?;
        return Ok((path.to_owned(), text));
    }
    shipped()
        .find(|(name, _)| *name == name_or_path)
        .map(|(name, text)| (format!("{name}.toml"), text.to_owned()))
        .ok_or_else(|| {
            let names: Vec<String> = names().into_iter().map(|(name, _)| name).collect();
            let near = base::nearest(name_or_path, names.iter().map(String::as_str));
            let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            LabError::Usage(format!(
                "no plan is called {name_or_path}{hint} (`godwit lab plans` lists all)"
            ))
        })
}

/// Returns the names and texts of everything that is shipped: plans, suites and regressions.
fn shipped() -> impl Iterator<Item = (&'static str, &'static str)> {
    SHIPPED.iter().chain(&SUITES).chain(&REGRESSIONS).copied()
}

/// Returns names and titles of the plans that can be run by bare name. The title of a plan with
/// problems lists these.
pub fn names() -> Vec<(String, String)> {
    let mut names: Vec<String> = shipped().map(|(name, _)| name.to_owned()).collect();
    for entry in std::fs::read_dir(FOLDER).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "toml") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    names.dedup();
    names
        .into_iter()
        .map(|name| {
            let title = match read_title(&name) {
                Ok(title) => title,
                Err(e) => format!("(does not load) {}", e.to_string().lines().next().unwrap_or("")),
            };
            (name, title)
        })
        .collect()
}

fn read_title(name_or_path: &str) -> LabResult<String> {
    if let Some(suite) = load_suite(name_or_path)? {
        return Ok(suite.title);
    }
    match load_regression(name_or_path)? {
        Some(plan) => Ok(plan.title),
        None => Ok(load(name_or_path)?.title),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_plan_is_sound_and_named_like_its_file() {
        for (name, text) in SHIPPED {
            assert_eq!(Plan::parse(name, text).unwrap().name, name);
        }
        for (name, text) in REGRESSIONS {
            assert_eq!(RegressionPlan::parse(name, text).unwrap().name, name);
        }
    }

    #[test]
    fn a_regression_is_no_plan_with_servers() {
        let title_of =
            |name: &str| names().into_iter().find(|(plan_name, _)| plan_name == name).unwrap().1;
        assert!(
            title_of("dccp-regression").starts_with("DCCP over"),
            "{}",
            title_of("dccp-regression")
        );
        assert_eq!(load_regression("dccp-regression").unwrap().unwrap().cases.len(), 4);
        assert_eq!(load_regression("dhcp4-quick").unwrap(), None);
        let error = load("dccp-regression").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("is a regression of DCCP"), "{error}");
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_one() {
        let error = load("dhcp4-quik").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("did you mean dhcp4-quick?"), "{error}");
        let error = load("/nonexistent/plan.toml").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("/nonexistent/plan.toml"), "{error}");
    }
}
