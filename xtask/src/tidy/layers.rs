//! Rules of tidy on dependencies between crates: every crate declares its layer, and a dependency
//! points down.

use super::finding::RuleViolation;
use super::workspace::{CargoWorkspace, Dependency, DependencyUse, Layer, Package};

/// Permitted dependencies between crates of layer 2: the engine needs the crates that it decides
/// about, control commands those that they show and change, DNS updates the configured zones, the
/// conversion of other servers' files Kea's definitions, records those that generators count, and
/// pages the measurements that they show.
const CORE_ARROWS: [(&str, &str); 11] = [
    ("dhcp-engine", "dhcp-config"),
    ("dhcp-engine", "dhcp-lease"),
    ("dhcp-control", "dhcp-config"),
    ("dhcp-control", "dhcp-lease"),
    ("dhcp-control", "dhcp-ha"),
    ("dhcp-ddns", "dhcp-config"),
    ("dhcp-events", "dhcp-lease"),
    ("dhcp-ha", "dhcp-config"),
    ("dhcpd-convert", "dhcp-config"),
    ("measure", "load"),
    ("report", "measure"),
];

/// Permitted dependencies between crates of layer 3: DCCP for applications needs sockets, and only
/// `netio` may open them.
const EDGE_ARROWS: [(&str, &str); 1] = [("dccp-link", "netio")];

/// Name of the one product that may depend on products: it only maps flags to calls.
pub(super) const BINARY: &str = "godwit";

/// Names of the rules of this module, as findings contain them.
pub(crate) const RULES: [&str; 3] = ["layer", "arrow", "manifest"];

/// Checks the crates' layers and dependencies, and that each crate inherits the workspace's lints.
pub(crate) fn check(workspace: &CargoWorkspace, findings: &mut Vec<RuleViolation>) {
    for package in &workspace.packages {
        let manifest = workspace.read(&package.manifest).unwrap_or_default();
        if !manifest.contains("[lints]\nworkspace = true") {
            let message = "take the workspace's lints: [lints] workspace = true";
            findings.push(RuleViolation::new("manifest", &package.manifest, 1, message));
        }
        let layer = match &package.layer {
            Ok(layer) => *layer,
            Err(reason) => {
                let message = format!("{} {reason}", package.name);
                findings.push(RuleViolation::new("layer", &package.manifest, 1, message));
                continue;
            }
        };
        for dependency in package.dependencies.iter().filter(|each| each.is_internal) {
            let Some(target) = workspace.package(&dependency.name) else { continue };
            let Ok(below) = target.layer else { continue };
            if let Some(reason) = objection(package, layer, dependency, below) {
                let line = workspace.manifest_line(&package.manifest, &dependency.name);
                findings.push(RuleViolation::new("arrow", &package.manifest, line, reason));
            }
        }
    }
}

/// Returns the reason why `package` may not depend on `dependency`, if there is one.
fn objection(
    package: &Package,
    layer: Layer,
    dependency: &Dependency,
    below: Layer,
) -> Option<String> {
    let arrow = format!("{} -> {}", package.name, dependency.name);
    let (own, other) = match (layer, below, dependency.usage) {
        (Layer::Check, _, _) | (_, Layer::Check, DependencyUse::Dev) => return None,
        (_, Layer::Check, DependencyUse::Normal) => {
            return Some(format!("{arrow}: only tests may see a check crate"));
        }
        (Layer::Number(own), Layer::Number(other), _) => (own, other),
    };
    let is_allowed = match dependency.usage {
        DependencyUse::Dev => other <= own,
        DependencyUse::Normal if other == own => match own {
            2 => CORE_ARROWS.contains(&(package.name.as_str(), dependency.name.as_str())),
            3 => EDGE_ARROWS.contains(&(package.name.as_str(), dependency.name.as_str())),
            4 => package.name == BINARY,
            _ => false,
        },
        DependencyUse::Normal => other < own,
    };
    (!is_allowed).then(|| {
        let reason = match (own, other) {
            (3, 3) => "inside layer 3 only dccp-link stands on netio",
            (2, 2) => {
                "inside layer 2 only engine, control and records stand on what they are about"
            }
            (4, 4) => "a product never depends on a product",
            _ => "arrows point to lower layers only",
        };
        format!("{arrow}: layer {own} to layer {other}; {reason}")
    })
}
