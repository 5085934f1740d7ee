//! List of plans for the terminal: grouped, with the time and the requirements of each plan.

use std::fmt::Write as _;

use measure::Plan;
use measure::plan::{LeaseStoreKind, MeasuredProtocol, Topology};
use serde_json::{Value, json};

use super::{load, load_regression, load_suite, names};
use crate::columns::{WIDTH, lines};
use crate::runner::RunTime;
use crate::subject::subjects;
use crate::suite::forecast_s;

/// Names of the plans for new users.
const START: [&str; 3] = ["dhcp4-quick", "dhcp6-quick", "dns-quick"];
/// Least number of columns for a plan's name in the list.
const NAME: usize = 16;

/// Plan in the list of plans.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanListEntry {
    /// Name of the listed plan.
    pub name: String,
    /// Title of the plan: its description in one line.
    pub title: String,
    /// Heading of the group of plans that the plan is listed in.
    pub group: &'static str,
    /// Time that the unchanged plan takes, in seconds, if that is known.
    pub time_s: Option<f64>,
    /// Requirements of the plan besides this program: packages and privileges.
    pub needs: Vec<&'static str>,
}

/// Headings of the groups of plans, in the order of the list.
const GROUPS: [&str; 7] = [
    "Start here",
    "DHCPv4",
    "DHCPv6",
    "DNS",
    "DCCP",
    "Suites: plans one after the other",
    "With problems",
];

/// Returns all plans that can be run by name, group by group.
pub fn listed() -> Vec<PlanListEntry> {
    let mut plans: Vec<PlanListEntry> =
        names().into_iter().map(|(name, title)| entry(name, title)).collect();
    plans.sort_by_key(|plan| GROUPS.iter().position(|group| *group == plan.group));
    plans
}

fn entry(name: String, title: String) -> PlanListEntry {
    let of =
        |group| PlanListEntry { name: name.clone(), title, group, time_s: None, needs: Vec::new() };
    if let Ok(Some(suite)) = load_suite(&name) {
        return PlanListEntry {
            time_s: Some(forecast_s(&suite, false)),
            needs: vec!["root"],
            ..of(GROUPS[5])
        };
    }
    if let Ok(Some(plan)) = load_regression(&name) {
        let time_s = Some(plan.forecast_s(false, None));
        return PlanListEntry { time_s, needs: vec!["root"], ..of(GROUPS[4]) };
    }
    let Ok(plan) = load(&name) else { return of(GROUPS[6]) };
    let group = match plan.protocol {
        _ if START.contains(&&*name) => GROUPS[0],
        MeasuredProtocol::Dhcp4 => GROUPS[1],
        MeasuredProtocol::Dhcp6 => GROUPS[2],
        MeasuredProtocol::Dns => GROUPS[3],
    };
    PlanListEntry { time_s: Some(plan_s(&plan)), needs: needs(&plan), ..of(group) }
}

/// Returns the time that a plan takes with all servers that it names, in all their variants (ways
/// to run them), in seconds.
fn plan_s(plan: &Plan) -> f64 {
    let subjects = subjects(plan, &plan.servers, None).unwrap_or_default();
    RunTime::for_idle_machine(plan, &subjects).announced_s
}

fn needs(plan: &Plan) -> Vec<&'static str> {
    let mut needs = Vec::new();
    if plan.topology == Topology::Veth {
        needs.push("root");
    }
    let serves = |name: &str| plan.servers.iter().any(|server| server == name);
    for (name, title) in [("kea", "Kea"), ("kea3", "Kea 3"), ("isc-dhcpd", "ISC dhcpd")] {
        if serves(name) {
            needs.push(title);
        }
    }
    for (store, title) in
        [(LeaseStoreKind::Mysql, "MariaDB"), (LeaseStoreKind::Postgresql, "PostgreSQL")]
    {
        if plan.server.stores.contains(&store) {
            needs.push(title);
        }
    }
    if plan.hosts.is_used() {
        needs.push("other machines");
    }
    needs
}

/// Formats a length of time: `50 s`, `3 min`, `2.5 h`.
fn time_text(seconds: Option<f64>) -> String {
    match seconds {
        None => "-".to_owned(),
        Some(seconds) if seconds < 100.0 => format!("{seconds:.0} s"),
        Some(seconds) if seconds < 6_000.0 => format!("{:.0} min", seconds / 60.0),
        Some(seconds) => format!("{:.1} h", seconds / 3_600.0),
    }
}

/// Formats the list of plans for a terminal of 80 columns: no line is longer.
pub fn table() -> String {
    let plans = listed();
    let name_width = plans.iter().map(|plan| plan.name.len()).max().unwrap_or(0).max(NAME);
    let mut text = String::new();
    for group in GROUPS {
        let of_group: Vec<&PlanListEntry> =
            plans.iter().filter(|plan| plan.group == group).collect();
        if of_group.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{}{group}", if text.is_empty() { "" } else { "\n" });
        for plan in of_group {
            let time = time_text(plan.time_s);
            let title = plan.title.split_once(": ").filter(|(protocol, _)| *protocol == group);
            let title = title.map_or(&*plan.title, |(_, rest)| rest);
            let room = WIDTH - (name_width + 11);
            for (index, line) in lines(title, room).iter().enumerate() {
                let (name, time) = if index == 0 { (&*plan.name, &*time) } else { ("", "") };
                let _ = writeln!(text, "  {name:<name_width$} {time:>7} {line}");
            }
            if !plan.needs.is_empty() {
                let needs = plan.needs.join(", ");
                let _ = writeln!(text, "  {:<name_width$} {:>7} needs {needs}", "", "");
            }
        }
    }
    text
}

/// Returns the list of plans as JSON, `godwit.plans.v1`.
pub fn json() -> Value {
    let plans: Vec<Value> = listed()
        .into_iter()
        .map(|plan| {
            json!({
                "name": plan.name,
                "title": plan.title,
                "group": plan.group,
                "time_s": plan.time_s,
                "needs": plan.needs,
            })
        })
        .collect();
    json!({ "schema": "godwit.plans.v1", "plans": plans })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_grouped_fits_80_columns_and_begins_with_the_quick_plans() {
        let table = table();
        for line in table.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        let heads: Vec<&str> = table.lines().filter(|line| !line.starts_with(' ')).collect();
        let heads: Vec<&str> = heads.into_iter().filter(|line| !line.is_empty()).collect();
        assert_eq!(heads, GROUPS[..6]);
        let second = table.lines().nth(1).unwrap();
        assert!(second.starts_with("  dhcp4-quick ") && second.contains(" s "), "{second}");
        assert!(table.contains("needs Kea"), "{table}");
        assert_eq!(listed().len(), names().len());
        assert!(listed().iter().all(|plan| plan.time_s > Some(1.0)), "{:?}", listed());
    }

    #[test]
    fn times_have_units_that_fit() {
        for (seconds, expected) in
            [(None, "-"), (Some(56.0), "56 s"), (Some(150.0), "2 min"), (Some(9_000.0), "2.5 h")]
        {
            assert_eq!(time_text(seconds), expected);
        }
    }
}
