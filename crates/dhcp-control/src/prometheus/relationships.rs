//! Metrics of relationships of high availability. If the server has several, each value has the
//! label `relationship`, the name of this server in the relationship.

use core::fmt::Display;

use dhcp_ha::{HaMetrics, HaState};

use super::MetricsText;

/// Metric of a relationship: name, type, explanation, and value, `None` if there is none.
type RelationshipMetric =
    (&'static str, &'static str, &'static str, fn(&HaMetrics) -> Option<i128>);

/// Metrics with one value for each relationship.
const METRICS: [RelationshipMetric; 6] = [
    ("ha_heartbeat_age_seconds", "gauge", "Time since the last successful heartbeat.", |pair| {
        Some(pair.silent_s.into())
    }),
    ("ha_clock_skew_seconds", "gauge", "Clock of the partner minus that of this server.", |pair| {
        pair.clock_skew_s.map(i128::from)
    }),
    (
        "ha_unsent_updates",
        "gauge",
        "Changes of leases that the partner does not know because of the state.",
        |pair| Some(pair.unsent_updates.into()),
    ),
    (
        "ha_refused_updates_total",
        "counter",
        "Updates of leases that the partner has refused.",
        |pair| Some(pair.refused_updates.into()),
    ),
    ("ha_refused_clients", "gauge", "Clients whose last update the partner has refused.", |pair| {
        Some(pair.refused_clients.into())
    }),
    ("ha_unacked_clients", "gauge", "Clients that the partner leaves without an answer.", |pair| {
        Some(pair.unacked_clients.into())
    }),
];

/// Writes the metrics of the relationships `pairs`: both servers' states, the lag of the partner,
/// and conflicts.
pub(super) fn write(page: &mut MetricsText, pairs: &[(String, HaMetrics)]) {
    if pairs.is_empty() {
        return;
    }
    let named: Vec<(Option<String>, &HaMetrics)> =
        pairs.iter().map(|(name, pair)| ((pairs.len() > 1).then(|| escaped(name)), pair)).collect();
    type StateOf = fn(&HaMetrics) -> Option<HaState>;
    let states: [(&str, &str, StateOf); 2] = [
        ("ha_state", "State of this server: 1 for the present state.", |pair| Some(pair.state)),
        ("ha_partner_state", "State of the partner: 1 for the present state.", |pair| pair.partner),
    ];
    for (name, help, present) in states {
        page.head(name, "gauge", help);
        for (server, pair) in &named {
            for state in HaState::ALL {
                let value = u8::from(present(pair) == Some(state));
                put(page, name, server.as_ref(), Some(&state), &value);
            }
        }
    }
    let name = "ha_state_changes_total";
    page.head(name, "counter", "Changes of this server's state, by the state that it entered.");
    for (server, pair) in &named {
        for (state, count) in HaState::ALL.iter().zip(&pair.entered) {
            put(page, name, server.as_ref(), Some(state), count);
        }
    }
    for (name, kind, help, value) in METRICS {
        if named.iter().any(|(_, pair)| value(pair).is_some()) {
            page.head(name, kind, help);
        }
        for (server, pair) in &named {
            if let Some(value) = value(pair) {
                put(page, name, server.as_ref(), None, &value);
            }
        }
    }
}

/// Writes one value of the metric `name`, with the labels of the relationship and of a state.
fn put(
    page: &mut MetricsText,
    name: &str,
    server: Option<&String>,
    state: Option<&HaState>,
    value: &dyn Display,
) {
    let server = server.map(|server| ("relationship", server as &dyn Display));
    let state = state.map(|state| ("state", state as &dyn Display));
    let labels: Vec<_> = server.into_iter().chain(state).collect();
    page.value(name, &labels, value);
}

/// Returns `name` as the value of a label.
fn escaped(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
