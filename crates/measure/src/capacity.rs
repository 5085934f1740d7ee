//! How many operations a second so many leases mean: the table that planners use, and what goes
//! beyond it.
//!
//! A client renews at T1, half of its lease time unless the server says otherwise (RFC 2131 section
//! 4.4.5, RFC 9915 section 21.4): N leases of L seconds are N / (L / 2) renewals a second.

use serde::Serialize;

/// Seconds of a day.
pub const DAY_S: f64 = 86_400.0;

/// Numbers of leases in the published table.
pub const LEASES: [u64; 9] =
    [1_000, 10_000, 100_000, 500_000, 1_000_000, 1_500_000, 2_000_000, 4_000_000, 6_000_000];

/// Lease times in the published table, and their names.
pub const LEASE_TIMES: [(&str, f64); 6] = [
    ("30min", 1_800.0),
    ("1h", 3_600.0),
    ("1d", DAY_S),
    ("1w", 7.0 * DAY_S),
    ("2w", 14.0 * DAY_S),
    ("30d", 30.0 * DAY_S),
];

/// The one cell of the published table that does not follow from its formula: leases, name of the
/// lease time, what is printed.
pub const MISPRINT: (u64, &str, u64) = (1_000_000, "1w", 4);

/// What clients do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Habits {
    /// When a client renews, as a share of its lease time.
    pub t1_share: f64,
    /// Clients replaced by new ones in a day, as a share of all.
    pub churn_per_day: f64,
    /// How long the server does not answer, seconds.
    pub outage_s: f64,
}

impl Default for Habits {
    fn default() -> Self {
        Self { t1_share: 0.5, churn_per_day: 0.0, outage_s: 0.0 }
    }
}

/// What one number of leases of one length means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Leases.
    pub leases: u64,
    /// Their length, seconds.
    pub lease_time_s: f64,
    /// Renewals a second.
    pub renewals_per_s: f64,
    /// New clients a second.
    pub new_clients_per_s: f64,
    /// Clients that wait at once when an outage ends: all whose T1 fell into it.
    pub waiting_after_outage: f64,
}

impl Habits {
    /// What `leases` leases of `lease_time_s` seconds mean.
    #[must_use]
    pub fn cell(&self, leases: u64, lease_time_s: f64) -> Cell {
        let count = leases as f64;
        let t1_s = self.t1_share * lease_time_s;
        Cell {
            leases,
            lease_time_s,
            renewals_per_s: count / t1_s,
            new_clients_per_s: count * self.churn_per_day / DAY_S,
            waiting_after_outage: count * (self.outage_s / t1_s).min(1.0),
        }
    }
}

impl Cell {
    /// Leases written a second, renewals and new ones.
    #[must_use]
    pub fn operations_per_s(&self) -> f64 {
        self.renewals_per_s + self.new_clients_per_s
    }

    /// The same as a table prints it: the nearest whole number, halves up.
    #[must_use]
    pub fn rounded(&self) -> u64 {
        (self.operations_per_s() + 0.5) as u64
    }

    /// How long a server that does `server_per_s` operations a second takes until nobody waits
    /// after the outage, seconds, while renewals go on; `None` when it never catches up.
    #[must_use]
    pub fn recovery_s(&self, server_per_s: f64) -> Option<f64> {
        let spare_per_s = server_per_s - self.operations_per_s();
        (spare_per_s > 0.0).then(|| self.waiting_after_outage / spare_per_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table as it is published; 0 where it has a dash.
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
                let cell = Habits::default().cell(leases, lease_time_s);
                if cell.rounded() != printed {
                    differing.push((leases, name, printed));
                }
            }
        }
        assert_eq!(differing, [MISPRINT]);
        // The very same quotient stands elsewhere in the table, rounded down.
        let misprinted = Habits::default().cell(1_000_000, 7.0 * DAY_S);
        let twin = Habits::default().cell(2_000_000, 14.0 * DAY_S);
        assert_eq!(misprinted.renewals_per_s.to_bits(), twin.renewals_per_s.to_bits());
        assert_eq!((misprinted.rounded(), PUBLISHED[6][4]), (3, 3));
    }

    #[test]
    fn churn_and_outages_come_on_top() {
        let habits = Habits { t1_share: 0.25, churn_per_day: 0.864, outage_s: 450.0 };
        let cell = habits.cell(100_000, 3_600.0);
        assert!((cell.renewals_per_s - 111.111).abs() < 0.001);
        assert!((cell.new_clients_per_s - 1.0).abs() < 1e-9);
        assert!((cell.waiting_after_outage - 50_000.0).abs() < 1e-6);
        assert_eq!(habits.cell(7, 60.0).waiting_after_outage.to_bits(), 7.0_f64.to_bits());
        let recovery_s = cell.recovery_s(612.111).unwrap();
        assert!((recovery_s - 100.0).abs() < 0.01, "{recovery_s}");
        assert_eq!(cell.recovery_s(112.0), None);
    }
}
