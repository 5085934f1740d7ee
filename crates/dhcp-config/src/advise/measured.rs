//! Measured costs of slow configurations, each with its source and its machine. No other module of
//! the pass has a figure of cost.
//!
//! A share is the part of the leases per second that is lost: 1 - (rate with the fault) / (rate
//! without it).

use super::fault::PerformanceFault;

/// Source of Kea 2.0's DHCPv4 rates by lease backend and threads.
const KEA_2_0: &str = "ISC, Kea 2.0 performance tests (Kea 1.9.11, DHCPv4, Xeon E-2146G with 6 \
                       cores, database on the same host), kb.isc.org/docs/kea-20-performance-tests";
/// Source of rates from ISC's slides on tuning Kea.
const SLIDES: &str = "ISC, Optimizing Kea DHCP Performance (slides, May 2022; Xeon E-2146G)";
/// Source of rates from ISC's slides on tuning Kea that were measured over DHCPv6 with a memfile.
const SLIDES_V6: &str =
    "ISC, Optimizing Kea DHCP Performance (slides, May 2022; DHCPv6, memfile, Xeon E-2146G)";
/// Source of the recommended numbers of threads and queue lengths.
const TUNING: &str = "ISC, Kea Administrator Reference Manual, multi-threading settings";
/// Source of micro-benchmarks of lease backends.
const GUIDE_2012: &str = "BIND 10 DHCP Performance Guide (2012), table 3.6: stores alone, without \
                          a server, i7-2600K with a disk of 7200/min";

/// Leases per second of Kea 2.0 with DHCPv4 and a memfile: on one thread, on several.
const MEMFILE_V4: (f64, f64) = (11_686.0, 18_977.0);
const MYSQL_V4: (f64, f64) = (2_559.0, 10_135.0);
const POSTGRESQL_V4: (f64, f64) = (2_396.0, 7_441.0);
/// Leases per second of Kea 2.0 with DHCPv4, a memfile and a hot standby partner, on one thread.
const HOT_STANDBY_V4: f64 = 5_621.0;

/// Leases per second of Kea over DHCPv6: without client classes.
const CLASSES_NONE: f64 = 35_038.0;
/// Leases per second of Kea over DHCPv6 with 100 client classes that have no test.
const CLASSES_EMPTY: f64 = 28_546.0;
/// Leases per second of Kea over DHCPv6 with 100 client classes that compare two constants.
const CLASSES_TESTED: f64 = 12_732.0;
/// Number of client classes in ISC's two measurements with classes.
const CLASSES_COUNT: f64 = 100.0;

/// Leases per second of Kea over DHCPv6: the slowest and the fastest of eight ways to configure
/// reservations.
const RESERVATIONS_V6: (f64, f64) = (37_786.7, 37_956.0);

/// Creations of leases per second in a memfile without flushes, the store alone (BIND 10 DHCP,
/// 2012).
const MEMFILE_2012: f64 = 76_832.16;
const SQLITE_2012: f64 = 64_005.90;

/// Weight of findings without a measured cost, a fraction of the leases per second: they come after
/// those known to cost 5 % or more, and before those known to cost less.
const UNMEASURED_WEIGHT: f64 = 0.05;

base::named! {
    /// Meaning of a measured fraction of the leases per second: exact, or a bound. Names are those
    /// of JSON.
    pub enum ShareMeaning {
        /// The fraction was measured in exactly this setting.
        Measured = "measured",
        /// The fraction lies on the straight line between two measured settings.
        Interpolated = "interpolated",
        /// The fraction was measured for less than this setting, so it is a lower bound.
        AtLeast = "at-least",
        /// The fraction is an upper bound: the server's highest rate may be above the measured one.
        AtMost = "at-most",
    }
}

/// Fraction of the leases per second that a server can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeaseRateShare {
    /// Value of the fraction, 1 for all leases. More than 1 is more than the server can do.
    pub value: f64,
    /// Meaning of the value: exact, or a bound.
    pub bound: ShareMeaning,
}

/// Cost of a fault of a configuration: the throughput that it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// Fraction of the leases per second that the fault takes; `None` when it has not been
    /// measured.
    pub share: Option<LeaseRateShare>,
    /// Measured figures of the fault in words, or knowledge without figures.
    pub figures: String,
    /// Source of the measurement in words; `None` when there is none.
    pub source: Option<String>,
}

impl Cost {
    /// Returns the weight of the cost, by which findings are ordered.
    pub(super) fn weight(&self) -> f64 {
        self.share.map_or(UNMEASURED_WEIGHT, |share| share.value)
    }

    fn measured(value: f64, bound: ShareMeaning, figures: String, source: &str) -> Self {
        Self {
            share: Some(LeaseRateShare { value, bound }),
            figures,
            source: Some(source.to_owned()),
        }
    }

    /// Returns the cost of a fault that has not been measured, without source.
    pub(super) fn unmeasured() -> Self {
        Self { share: None, figures: "not measured".to_owned(), source: None }
    }

    /// Returns a cost whose fraction comes from a stored measurement of `godwit lab`.
    pub(super) fn from_result(
        value: f64,
        bound: ShareMeaning,
        figures: String,
        source: &str,
    ) -> Self {
        Self::measured(value, bound, figures, source)
    }

    /// Returns a cost that a chart or the author of a measurement shows without a figure.
    fn charted(figures: &str, source: &str) -> Self {
        let figures = format!("no figure published{figures}");
        Self { share: None, figures, source: Some(source.to_owned()) }
    }
}

base::named! {
    /// Lease backend of a server, as far as it was measured.
    pub(super) enum MeasuredBackend {
        Memfile = "memfile",
        Mysql = "MySQL",
        Postgresql = "PostgreSQL",
        Sqlite = "SQLite",
    }
}

impl MeasuredBackend {
    /// Returns the leases per second of the backend on one thread and on several; `None` if not
    /// measured.
    const fn rates(self) -> Option<(f64, f64)> {
        match self {
            Self::Memfile => Some(MEMFILE_V4),
            Self::Mysql => Some(MYSQL_V4),
            Self::Postgresql => Some(POSTGRESQL_V4),
            Self::Sqlite => None,
        }
    }

    /// Returns the best measured number of threads for the backend, and of queued packets for each
    /// thread.
    pub(super) const fn tuned(self) -> Option<(i64, i64)> {
        match self {
            Self::Memfile => Some((4, 7)),
            Self::Mysql => Some((12, 66)),
            Self::Postgresql => Some((8, 11)),
            Self::Sqlite => None,
        }
    }
}

/// Formats a number with commas: 12,345 for 12345.4.
pub(super) fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the cost of processing messages on one thread instead of several.
pub(super) fn one_thread(store: MeasuredBackend) -> Cost {
    let Some((one, several)) = store.rates() else { return Cost::unmeasured() };
    let (one_text, several_text, name) = (grouped(one), grouped(several), store.name());
    let figures = format!("{one_text} leases/s on one thread, {several_text} on several, {name}");
    Cost::measured(1.0 - one / several, ShareMeaning::Measured, figures, KEA_2_0)
}

/// Returns the cost of leases in a database instead of a memfile; for a database on another
/// machine, a lower bound of the cost.
pub(super) fn database(store: MeasuredBackend, has_threads: bool, is_remote: bool) -> Cost {
    let at = |rates: (f64, f64)| if has_threads { rates.1 } else { rates.0 };
    let (name, bound) =
        (store.name(), if is_remote { ShareMeaning::AtLeast } else { ShareMeaning::Measured });
    let Some(rates) = store.rates() else {
        let (sqlite, memfile) = (grouped(SQLITE_2012), grouped(MEMFILE_2012));
        let figures = format!(
            "{sqlite} leases created/s in SQLite, {memfile} in a memfile, neither flushed to the \
             disk"
        );
        return Cost::measured(1.0 - SQLITE_2012 / MEMFILE_2012, bound, figures, GUIDE_2012);
    };
    let (rate, memfile) = (at(rates), at(MEMFILE_V4));
    let threads = if has_threads { "several threads" } else { "one thread" };
    let mut figures = format!(
        "{} leases/s with {name} on the same host, {} with memfile, on {threads}",
        grouped(rate),
        grouped(memfile)
    );
    if is_remote {
        figures.push_str("; what the network adds was not measured");
    }
    Cost::measured(1.0 - rate / memfile, bound, figures, KEA_2_0)
}

/// Returns the cost of look-ups of reservations in a database on another machine.
pub(super) fn remote_hosts() -> Cost {
    Cost::charted("; each look-up waits for one more round trip over the network", SLIDES)
}

/// Returns the cost of `tested` client classes with a test and `empty` ones without. Up to the 100
/// that were measured the time of a lease grows in proportion; beyond it is at least that of 100.
pub(super) fn classes(tested: usize, empty: usize) -> Cost {
    let part = |count: usize| (count as f64 / CLASSES_COUNT).min(1.0);
    let alone_s = 1.0 / CLASSES_NONE;
    let tested_s = part(tested) * (1.0 / CLASSES_TESTED - alone_s);
    let empty_s = part(empty) * (1.0 / CLASSES_EMPTY - alone_s);
    let added_s = tested_s + empty_s;
    let most = tested.max(empty) as f64;
    let bound =
        if most > CLASSES_COUNT { ShareMeaning::AtLeast } else { ShareMeaning::Interpolated };
    let figures = format!(
        "{} leases/s without client classes, {} with 100 classes without a test, {} with 100 \
         classes that compare two constants",
        grouped(CLASSES_NONE),
        grouped(CLASSES_EMPTY),
        grouped(CLASSES_TESTED)
    );
    Cost::measured(added_s / (alone_s + added_s), bound, figures, SLIDES_V6)
}

/// Returns the cost of looking up reservations that are in memory. The source does not say which
/// configurations were measured, so their spread is no bound.
pub(super) fn reservations_in_memory() -> Cost {
    let (slowest, fastest) = RESERVATIONS_V6;
    let figures = format!(
        " of this alone; eight measurements with reservations in memory lie between {} and {} \
         leases/s",
        grouped(slowest),
        grouped(fastest)
    );
    Cost::charted(&figures, SLIDES_V6)
}

/// Returns the cost of looking up reservations in a database.
pub(super) fn reservations_in_database() -> Cost {
    Cost::charted(
        "; the server waits for one round trip to the database for each identifier",
        SLIDES,
    )
}

/// Returns the cost of a pool that is nearly full.
pub(super) fn full_pool() -> Cost {
    Cost::charted("; the chart shows the rate collapse when 96 % of a pool is leased", SLIDES)
}

/// Returns the cost of high availability on one thread.
pub(super) fn partner_on_one_thread() -> Cost {
    let (alone, both) = (grouped(MEMFILE_V4.0), grouped(HOT_STANDBY_V4));
    let figures = format!(
        "not measured against several threads; on one thread high availability in mode \
         `hot-standby` took the server from {alone} to {both} leases/s"
    );
    Cost { share: None, figures, source: Some(KEA_2_0.to_owned()) }
}

/// Returns the cost of a number of threads, or of a length of the packet queue, that is not the
/// best measured one.
pub(super) fn untuned(store: MeasuredBackend) -> Cost {
    let Some((threads, each)) = store.tuned() else { return Cost::unmeasured() };
    let best = format!(
        "; the best rate with {} was at {threads} threads and a packet queue of {}",
        store.name(),
        threads * each
    );
    Cost::charted(&best, TUNING)
}

/// Returns the cost of faults that ISC's slides on tuning name without a figure.
pub(super) fn advised() -> Cost {
    Cost {
        share: None,
        figures: "not measured; the source advises against it".into(),
        source: Some(SLIDES.into()),
    }
}

/// Returns a sentence on the cost of a fault in Godwit, in instructions that the engine executes
/// for a whole exchange, relative to an exchange without the fault; `None` if it was not counted
/// (docs/design/009-feature-costs.md).
pub(super) const fn in_godwit(fault: PerformanceFault) -> Option<&'static str> {
    match fault {
        PerformanceFault::EnumeratedClients => Some(
            "1.03 times the instructions per exchange with 1,000 hardware addresses in the test of \
             one class, 1.02 times with 1,000 DUIDs",
        ),
        PerformanceFault::ManyClasses => Some(
            "1.04 times the instructions per exchange with 100 classes that have a simple test, \
             1.03 times in DHCPv6",
        ),
        PerformanceFault::NearlyFullPool => Some(
            "as many instructions per exchange with 49 of 50 subnets of a shared network full as \
             with none",
        ),
        PerformanceFault::SharedNetwork => {
            Some("1.05 times the instructions per exchange in a shared network of 50 subnets")
        }
        PerformanceFault::ManySubnets => Some(
            "1.02 times the instructions per exchange with 10,000 subnets, 1.06 times in DHCPv6",
        ),
        PerformanceFault::LeaseCachingOff => Some(
            "1.08 times the instructions of a renewal that `cache-threshold` answers with the \
             stored lease, 1.10 times in DHCPv6",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn per_cent(cost: &Cost) -> String {
        cost.share.map_or_else(String::new, |share| format!("{:.1}", share.value * 100.0))
    }

    #[test]
    fn shares_follow_from_the_published_rates() {
        assert_eq!(per_cent(&one_thread(MeasuredBackend::Memfile)), "38.4");
        assert_eq!(per_cent(&one_thread(MeasuredBackend::Mysql)), "74.8");
        assert_eq!(per_cent(&database(MeasuredBackend::Postgresql, true, false)), "60.8");
        assert_eq!(per_cent(&database(MeasuredBackend::Mysql, false, true)), "78.1");
        assert_eq!(per_cent(&database(MeasuredBackend::Sqlite, true, false)), "16.7");
    }

    #[test]
    fn classes_cost_what_was_measured_where_it_was_measured() {
        assert_eq!(per_cent(&classes(100, 0)), "63.7");
        assert_eq!(per_cent(&classes(0, 100)), "18.5");
        assert_eq!(classes(101, 0).share.map(|share| share.bound), Some(ShareMeaning::AtLeast));
        assert_eq!(per_cent(&classes(101, 0)), "63.7");
        assert_eq!(classes(10, 0).share.map(|share| share.bound), Some(ShareMeaning::Interpolated));
        assert_eq!(per_cent(&classes(0, 0)), "0.0");
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(
            ["1", "999", "1,000", "37,787"],
            [1.0, 999.0, 1000.0, 37_786.7].map(grouped)[..]
        );
    }
}
