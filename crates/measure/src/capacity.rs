//! Operations per second that follow from a number of leases and a lease time: the table that
//! planners use, and additions to it.
//!
//! A client renews at T1, half of its lease time unless the server says otherwise (RFC 2131 section
//! 4.4.5, RFC 9915 section 21.4): N leases of L seconds are N / (L / 2) renewals per second.

use schemars::JsonSchema;
use serde::Serialize;

/// Number of seconds in a day.
pub const DAY_S: f64 = 86_400.0;

/// Numbers of leases in the published table of operations per second.
pub const LEASES: [u64; 9] =
    [1_000, 10_000, 100_000, 500_000, 1_000_000, 1_500_000, 2_000_000, 4_000_000, 6_000_000];

/// Lease times in the published table of operations per second: name and seconds.
pub const LEASE_TIMES: [(&str, f64); 6] = [
    ("30min", 1_800.0),
    ("1h", 3_600.0),
    ("1d", DAY_S),
    ("1w", 7.0 * DAY_S),
    ("2w", 14.0 * DAY_S),
    ("30d", 30.0 * DAY_S),
];

/// Cell of the published table that does not follow from its formula: number of leases, name of the
/// lease time, printed value. No other cell deviates.
pub const MISPRINT: (u64, &str, u64) = (1_000_000, "1w", 4);

/// Way in which servers share the work (Kea's manual, high availability). An operation is serving a
/// client, reporting a lease to the partner, or receiving a lease from the partner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HighAvailabilityMode {
    /// Single server without a high-availability partner.
    #[default]
    None,
    /// Kea's mode `hot-standby`: one server serves all clients and reports each lease to its
    /// partner.
    HotStandby,
    /// Kea's mode `load-balancing`: two servers serve half of the clients each, and report leases
    /// to each other.
    LoadBalancing,
    /// Kea's mode `passive-backup`: one server serves all clients and reports each lease to one
    /// backup.
    PassiveBackup,
}

impl HighAvailabilityMode {
    /// Returns the operations of the busiest server per lease that clients request, while all
    /// servers run.
    pub const fn operations_per_lease(self) -> f64 {
        match self {
            Self::None => 1.0,
            Self::HotStandby | Self::PassiveBackup => 2.0,
            // Per lease: half a client served, half a lease reported, half a lease received.
            Self::LoadBalancing => 1.5,
        }
    }
}

/// Behavior of DHCP clients and of other users of a server, from which the number of operations per
/// second follows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CapacityAssumptions {
    /// T1, the time after which a client renews, as a share of its lease time.
    pub t1_share: f64,
    /// Clients replaced by new ones per day, as a share of all clients.
    pub churn_per_day: f64,
    /// Length of an outage, in which the server does not answer, in seconds.
    pub outage_s: f64,
    /// Share of clients that renew more often than at T1 (chatty clients), 0 to 1.
    pub chatty_share: f64,
    /// Factor by which chatty clients renew more often than the others.
    pub chatty_times: f64,
    /// Control commands per second that read or write a lease at the server.
    pub api_per_s: f64,
    /// Way in which servers share the work of clients, leases and commands.
    pub sharing: HighAvailabilityMode,
}

impl Default for CapacityAssumptions {
    fn default() -> Self {
        Self {
            t1_share: 0.5,
            churn_per_day: 0.0,
            outage_s: 0.0,
            chatty_share: 0.0,
            chatty_times: 10.0,
            api_per_s: 0.0,
            sharing: HighAvailabilityMode::None,
        }
    }
}

/// Operations that follow from one number of leases and one lease time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CapacityCell {
    /// Number of leases that this cell of the table is computed for.
    pub leases: u64,
    /// Lease time that this cell of the table is computed for, in seconds.
    pub lease_time_s: f64,
    /// Renewals per second of all clients, including those of chatty clients.
    pub renewals_per_s: f64,
    /// Clients per second that replace others and request their first lease.
    pub new_clients_per_s: f64,
    /// Clients that all wait when an outage ends: those whose T1 fell into the outage.
    pub waiting_after_outage: f64,
    /// Control commands per second that read or write a lease.
    pub api_per_s: f64,
    /// Operations of the busiest server per lease; see
    /// [`HighAvailabilityMode::operations_per_lease`].
    pub operations_per_lease: f64,
}

impl CapacityAssumptions {
    /// Returns the operations that follow from `leases` leases of `lease_time_s` seconds.
    pub fn cell(&self, leases: u64, lease_time_s: f64) -> CapacityCell {
        let count = leases as f64;
        let t1_s = self.t1_share * lease_time_s;
        let often = 1.0 + self.chatty_share * (self.chatty_times - 1.0);
        CapacityCell {
            leases,
            lease_time_s,
            renewals_per_s: count / t1_s * often,
            new_clients_per_s: count * self.churn_per_day / DAY_S,
            waiting_after_outage: count * (self.outage_s / t1_s).min(1.0),
            api_per_s: self.api_per_s,
            operations_per_lease: self.sharing.operations_per_lease(),
        }
    }
}

impl CapacityCell {
    /// Returns the operations of the busiest server per second: leases written for renewals and new
    /// clients, leases reported to a partner or received from it, and commands.
    pub fn operations_per_s(&self) -> f64 {
        let leases_per_s = self.renewals_per_s + self.new_clients_per_s;
        leases_per_s.mul_add(self.operations_per_lease, self.api_per_s)
    }

    /// Returns the operations of the busiest server per second as a table prints them: the nearest
    /// whole number, halves up.
    pub fn rounded(&self) -> u64 {
        (self.operations_per_s() + 0.5) as u64
    }

    /// Returns the seconds until no client waits after the outage, for a server that does
    /// `server_per_s` operations per second while renewals go on; `None` when the server never
    /// catches up.
    pub fn recovery_s(&self, server_per_s: f64) -> Option<f64> {
        let spare_per_s = server_per_s - self.operations_per_s();
        let waiting = self.waiting_after_outage * self.operations_per_lease;
        (spare_per_s > 0.0).then(|| waiting / spare_per_s)
    }
}

/// Line of the capacity table: the cells with an equal lease time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CapacityLine {
    /// Lease time as the user wrote it, such as `2w`.
    pub lease_time: String,
    /// Cells of the line in ascending order of the number of leases.
    pub cells: Vec<CapacityCell>,
}

/// Table of operations per second by number of leases and lease time, as a report draws it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CapacityChart {
    /// Lines of the capacity table, one per lease time.
    pub lines: Vec<CapacityLine>,
    /// Operations per second that the user measured of a server, to mark in the table; `None`
    /// without.
    pub measured_per_s: Option<f64>,
    /// Behavior of clients that the numbers of the table rest on.
    pub habits: CapacityAssumptions,
    /// Remarks about single cells of the table.
    pub notes: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published table of operations per second, a row per number of leases and a column per lease
    /// time; 0 where the published table has a dash.
    const PUBLISHED: [[u64; 6]; 9] = [
        [1, 1, 0, 0, 0, 0],
        [11, 6, 0, 0, 0, 0],
        [111, 56, 2, 0, 0, 0],
        [556, 278, 12, 2, 1, 0],
        [1_111, 556, 23, 4, 2, 1],
        [1_667, 833, 35, 5, 2, 1],
        [2_222, 1_111, 46, 7, 3, 2],
        [4_444, 2_222, 93, 13, 7, 3],
        [6_667, 3_333, 139, 20, 10, 5],
    ];

    #[test]
    fn fifty_three_cells_are_the_published_ones_and_the_other_is_a_misprint() {
        let mut differing = Vec::new();
        for (leases, row) in LEASES.into_iter().zip(PUBLISHED) {
            for ((name, lease_time_s), printed) in LEASE_TIMES.into_iter().zip(row) {
                let cell = CapacityAssumptions::default().cell(leases, lease_time_s);
                if cell.rounded() != printed {
                    differing.push((leases, name, printed));
                }
            }
        }
        assert_eq!(differing, [MISPRINT]);
        // The same quotient is in another cell of the table, rounded down.
        let misprinted = CapacityAssumptions::default().cell(1_000_000, 7.0 * DAY_S);
        let computed = CapacityAssumptions::default().cell(2_000_000, 14.0 * DAY_S);
        assert_eq!(misprinted.renewals_per_s.to_bits(), computed.renewals_per_s.to_bits());
        assert_eq!((misprinted.rounded(), PUBLISHED[6][4]), (3, 3));
    }

    #[test]
    fn churn_and_outages_come_on_top() {
        let habits = CapacityAssumptions {
            t1_share: 0.25,
            churn_per_day: 0.864,
            outage_s: 450.0,
            ..CapacityAssumptions::default()
        };
        let cell = habits.cell(100_000, 3_600.0);
        assert!((cell.renewals_per_s - 111.111).abs() < 0.001);
        assert!((cell.new_clients_per_s - 1.0).abs() < 1e-9);
        assert!((cell.waiting_after_outage - 50_000.0).abs() < 1e-6);
        assert_eq!(habits.cell(7, 60.0).waiting_after_outage.to_bits(), 7.0_f64.to_bits());
        let recovery_s = cell.recovery_s(612.111).unwrap();
        assert!((recovery_s - 100.0).abs() < 0.01, "{recovery_s}");
        assert_eq!(cell.recovery_s(112.0), None);
    }

    #[test]
    fn chatty_clients_commands_and_partners_are_operations_too() {
        let per_s = |habits: CapacityAssumptions| habits.cell(180_000, 3_600.0).operations_per_s();
        let near = |habits: CapacityAssumptions, expected: f64| {
            let actual = per_s(habits);
            assert!((actual - expected).abs() < 1e-6, "{actual} instead of {expected}");
        };
        let plain = CapacityAssumptions::default();
        near(plain, 100.0);
        near(CapacityAssumptions { chatty_share: 0.1, ..plain }, 190.0);
        near(CapacityAssumptions { api_per_s: 7.0, ..plain }, 107.0);
        near(
            CapacityAssumptions {
                sharing: HighAvailabilityMode::HotStandby,
                api_per_s: 7.0,
                ..plain
            },
            207.0,
        );
        near(CapacityAssumptions { sharing: HighAvailabilityMode::LoadBalancing, ..plain }, 150.0);
        let waiting = CapacityAssumptions {
            sharing: HighAvailabilityMode::HotStandby,
            outage_s: 1_800.0,
            ..plain
        };
        let recovery_s = waiting.cell(180_000, 3_600.0).recovery_s(1_200.0).unwrap();
        assert!((recovery_s - 360.0).abs() < 1e-6, "each that waits is two operations");
    }
}
