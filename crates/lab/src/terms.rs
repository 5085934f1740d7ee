//! Terms on which a server is measured (pool size, clients, rates): the plan's, or less for a
//! server that cannot serve those.
//!
//! Reduced terms are part of the server's name as its variant, so that its curve is never read as
//! one under the plan's own terms. The reasons are facts about the servers, measured with pools and
//! clients of several sizes; the manual has them.

use measure::Plan;
use measure::plan::{MeasuredProtocol, SearchPlan, ServerFeature};

use crate::driver::features;
use crate::number_text::grouped;
use crate::subject::{MeasurementSubject, SubjectKind};
use crate::trial::TrialRequest;

/// Largest pool for ISC dhcpd with DHCPv4, in addresses. dhcpd keeps some 5 KiB for each free
/// address and looks at all of them for each new lease, about 40 ns each. For DHCPv6 it does
/// neither.
const DHCPD_POOL: u32 = 16_384;
/// Largest number of clients of dnsmasq over a whole run, which is dnsmasq's default for the most
/// leases. dnsmasq writes and flushes the file of all leases anew for each lease, and looks for
/// clients one by one.
const DNSMASQ_CLIENTS: u32 = 1_000;
/// First rate of the search for ISC dhcpd and dnsmasq, in exchanges per second.
const SLOW_START_PER_S: f64 = 60.0;
/// Number of exchanges in a slow server's trials. Its socket's buffer holds some hundred messages,
/// and the server answers those that wait there at the end of a short trial within the deadline all
/// the same, so that a rate would seem to be met that the server cannot sustain.
const SLOW_EXCHANGES: f64 = 1_000.0;
/// Longest time that the exchanges of a slow server's trial may take, in seconds.
const SLOW_DWELL_MAX_S: f64 = 4.0;
/// Longest time that the exchanges of a slow server's trial may take, as a share of the plan's
/// time.
const SLOW_DWELL_SHARE: f64 = 0.05;

/// Number of clients over the run that release their leases: more than any run plays.
const RELEASING_CLIENTS: u32 = 1 << 30;

/// Terms on which a server is measured: pool, clients and rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasurementTerms {
    /// Number of addresses in the server's pool.
    pub pool_size: u32,
    /// Number of distinct clients of the server in one trial.
    pub clients: u32,
    /// Number of distinct clients of the server over the run; after them the first clients come
    /// again.
    pub population: u32,
    /// First rate of the server's first search, in exchanges per second.
    start_per_s: f64,
    /// True if the server is so slow that its figures are valid only in long trials.
    is_slow: bool,
}

impl MeasurementTerms {
    /// Returns the terms (pool size, clients, rates) on which a run of `plan` measures `subject`.
    pub fn for_subject(subject: &MeasurementSubject, plan: &Plan) -> Self {
        let whole = Self {
            pool_size: plan.server.pool_size,
            clients: plan.clients.count,
            population: plan.server.pool_size,
            start_per_s: plan.search.start_per_s,
            is_slow: false,
        };
        let whole = whole.with_feature(subject.feature);
        match subject.kind {
            SubjectKind::IscDhcpd if plan.protocol == MeasuredProtocol::Dhcp6 => {
                whole.slow(u32::MAX)
            }
            SubjectKind::IscDhcpd => {
                let pool_size = whole.pool_size.min(DHCPD_POOL);
                // Half of them, so that free addresses are never scarce, nor few.
                Self { pool_size, ..whole }.slow(pool_size.div_ceil(2))
            }
            SubjectKind::Dnsmasq => whole.slow(DNSMASQ_CLIENTS),
            // Kea writes leases one by one, each with a flush, to a database that is durable.
            SubjectKind::Kea { .. } if subject.store.is_database() => {
                Self { population: whole.population, ..whole.slow(u32::MAX) }
            }
            // The client that checks whether it answers has one address of its pool.
            SubjectKind::Running(_) => {
                Self { population: whole.population.saturating_sub(1).max(1), ..whole }
            }
            SubjectKind::Godwit(_)
            | SubjectKind::Kea { .. }
            | SubjectKind::Dns(_)
            | SubjectKind::Command(_)
            | SubjectKind::Limit => whole,
        }
    }

    /// Returns the terms with `feature`: its configuration may have room for fewer clients than the
    /// pool, or its clients release their leases, so that new clients never run out.
    fn with_feature(self, feature: ServerFeature) -> Self {
        let population = match features::client_capacity(feature) {
            _ if feature.releases_leases() => RELEASING_CLIENTS,
            room => self.population.min(room.unwrap_or(u32::MAX)),
        };
        Self { population, ..self }
    }

    fn slow(self, clients: u32) -> Self {
        let clients = self.clients.min(clients);
        Self {
            clients,
            population: self.population.min(clients),
            start_per_s: self.start_per_s.min(SLOW_START_PER_S),
            is_slow: true,
            ..self
        }
    }

    /// Describes the terms (pool size, clients) that are less than in `plan`, as a server's
    /// variant; empty when none is.
    pub fn variant(&self, plan: &Plan) -> String {
        if self.pool_size < plan.server.pool_size {
            format!("pool of {}", grouped(f64::from(self.pool_size)))
        } else if self.clients < plan.clients.count {
            format!("{} clients", grouped(f64::from(self.clients)))
        } else {
            String::new()
        }
    }

    /// Describes the terms (pool size, clients) of the server `label` that are less than in `plan`,
    /// as a sentence for the report.
    pub fn note(&self, label: &str, plan: &Plan) -> Option<String> {
        let pool = (self.pool_size < plan.server.pool_size).then(|| {
            let of = |size: u32| grouped(f64::from(size));
            format!("a pool of {} instead of {}", of(self.pool_size), of(plan.server.pool_size))
        });
        let clients = (self.clients < plan.clients.count).then(|| {
            format!("{} clients that return repeatedly", grouped(f64::from(self.clients)))
        });
        let less: Vec<String> = pool.into_iter().chain(clients).collect();
        (!less.is_empty()).then(|| {
            format!(
                "{label} is measured with {}, and with longer trials, because it is too slow for \
                 the plan's settings (see the manual): do not compare its curve with the others.",
                less.join(" and ")
            )
        })
    }

    /// Returns the settings of the search with this server's first rate.
    pub fn search(&self, plan: &SearchPlan) -> SearchPlan {
        SearchPlan { start_per_s: self.start_per_s, ..*plan }
    }

    /// Returns the seconds that a trial of this server lasts at `rate_per_s`, for which the plan
    /// has `dwell_s`.
    pub fn dwell_s(&self, plan: &Plan, rate_per_s: f64, dwell_s: f64) -> f64 {
        if !self.is_slow {
            return dwell_s;
        }
        let most_s = match plan.time_budget_s {
            budget_s if budget_s > 0.0 => SLOW_DWELL_MAX_S.min(budget_s * SLOW_DWELL_SHARE),
            _ => SLOW_DWELL_MAX_S,
        };
        // Whole milliseconds read well on command lines.
        let least_s = ((SLOW_EXCHANGES / rate_per_s).min(most_s) * 1e3).round() / 1e3;
        dwell_s.max(least_s)
    }

    /// Returns the number of the first client of the trial of `request`, whose server has seen the
    /// clients before `next`, and the number after its last. When no new clients are left, the old
    /// ones come again.
    pub fn next_clients(&self, next: u32, request: &TrialRequest) -> (u32, u32) {
        let due = (request.rate_per_s * request.dwell_s).ceil() as u32;
        let played = due.saturating_add(1).min(self.clients);
        let first = if next.saturating_add(played) > self.population { 0 } else { next };
        (first, first + played)
    }
}

#[cfg(test)]
mod tests {
    use measure::plan::{LeaseStoreKind, ServerDurability};

    use super::*;
    use crate::subject::KeaVersion;

    fn plan() -> Plan {
        let mut plan = Plan::default();
        (plan.clients.count, plan.server.pool_size) = (1_000_000, 4_000_000);
        plan
    }

    fn terms(kind: SubjectKind, plan: &Plan) -> MeasurementTerms {
        MeasurementTerms::for_subject(&MeasurementSubject::new("x", "", kind), plan)
    }

    #[test]
    fn keas_trials_on_databases_are_those_of_slow_servers_with_all_clients() {
        let plan = plan();
        let mut subject = MeasurementSubject::new(
            "kea",
            "",
            SubjectKind::Kea { version: KeaVersion::Installed, multi_threaded: true },
        );
        for (store, start_per_s) in [
            (LeaseStoreKind::Memfile, plan.search.start_per_s),
            (LeaseStoreKind::Mysql, SLOW_START_PER_S),
        ] {
            subject.store = store;
            let terms = MeasurementTerms::for_subject(&subject, &plan);
            assert_eq!((terms.clients, terms.population), (1_000_000, 4_000_000));
            assert_eq!(terms.search(&plan.search).start_per_s, start_per_s);
            assert_eq!(terms.variant(&plan), "");
        }
        subject.kind = SubjectKind::Godwit(ServerDurability::Always);
        assert!(!MeasurementTerms::for_subject(&subject, &plan).is_slow);
    }

    #[test]
    fn clients_are_new_until_the_pool_is_used_up() {
        let mut plan = Plan::default();
        (plan.clients.count, plan.server.pool_size) = (1_000, 2_500);
        let terms = terms(SubjectKind::Limit, &plan);
        let request = |rate_per_s| TrialRequest::for_test(rate_per_s, 1.0);
        assert_eq!(terms.next_clients(0, &request(500.0)), (0, 501));
        assert_eq!(terms.next_clients(501, &request(1e6)), (501, 1_501));
        assert_eq!(terms.next_clients(1_501, &request(1e6)), (0, 1_000), "1,000 more do not fit");
        assert_eq!(terms.next_clients(1_501, &request(998.0)), (1_501, 2_500));
    }

    #[test]
    fn only_servers_that_cannot_take_the_plan_get_less_and_it_is_said() {
        let plan = plan();
        for kind in [
            SubjectKind::Godwit(ServerDurability::None),
            SubjectKind::Kea { version: KeaVersion::Installed, multi_threaded: true },
        ] {
            let terms = terms(kind, &plan);
            assert_eq!((terms.pool_size, terms.clients), (4_000_000, 1_000_000));
            assert_eq!(terms.search(&plan.search), plan.search);
            assert_eq!(terms.dwell_s(&plan, 10.0, 0.4), 0.4);
            assert_eq!((terms.variant(&plan).as_str(), terms.note("x", &plan)), ("", None));
        }
        let dhcpd = terms(SubjectKind::IscDhcpd, &plan);
        assert_eq!((dhcpd.pool_size, dhcpd.clients, dhcpd.population), (16_384, 8_192, 8_192));
        assert_eq!(dhcpd.variant(&plan), "pool of 16,384");
        let note = dhcpd.note("isc-dhcpd", &plan).expect("it is less");
        assert!(note.contains("16,384 instead of 4,000,000 and 8,192 clients"), "{note}");
        let plan_v6 = Plan { protocol: MeasuredProtocol::Dhcp6, ..plan.clone() };
        let dhcpd = terms(SubjectKind::IscDhcpd, &plan_v6);
        assert_eq!((dhcpd.pool_size, dhcpd.clients), (4_000_000, 1_000_000));
        assert_eq!((dhcpd.variant(&plan_v6).as_str(), dhcpd.is_slow), ("", true));
        let dnsmasq = terms(SubjectKind::Dnsmasq, &plan);
        assert_eq!((dnsmasq.pool_size, dnsmasq.population), (4_000_000, 1_000));
        assert_eq!(dnsmasq.variant(&plan), "1,000 clients");
        assert_eq!(dnsmasq.search(&plan.search).start_per_s, 60.0);
    }

    #[test]
    fn what_fits_is_not_called_less() {
        let mut plan = Plan::default();
        (plan.clients.count, plan.server.pool_size) = (100, 1_000);
        for kind in [SubjectKind::IscDhcpd, SubjectKind::Dnsmasq] {
            let terms = terms(kind, &plan);
            assert_eq!((terms.pool_size, terms.clients, terms.population), (1_000, 100, 100));
            assert_eq!(terms.variant(&plan), "");
        }
    }

    #[test]
    fn trials_of_slow_servers_outlast_their_buffers_within_bounds() {
        let plan = Plan { time_budget_s: 60.0, ..plan() };
        let terms = terms(SubjectKind::IscDhcpd, &plan);
        assert_eq!(terms.dwell_s(&plan, 60.0, 0.4), 3.0, "a share of the time");
        assert_eq!(terms.dwell_s(&plan, 1_000.0, 0.4), 1.0);
        assert_eq!(terms.dwell_s(&plan, 5_000.0, 0.4), 0.4);
        let long = Plan { time_budget_s: 3_600.0, ..plan };
        assert_eq!(terms.dwell_s(&long, 60.0, 0.4), 4.0, "never more");
        assert_eq!(terms.dwell_s(&long, 60.0, 9.0), 9.0, "but what was asked for");
    }
}
