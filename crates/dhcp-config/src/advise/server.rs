//! Judges a server's own settings: threads, queue, databases, log, lease caching.

use std::collections::BTreeSet;

use crate::shared::{SqlDatabase, SqlKind};
use crate::source::SourcePosition;

use super::FindingCollector;
use super::facts::ConfigFacts;
use super::fault::PerformanceFault;
use super::measured;

/// Factor between the configured number of threads and the best measured one from which on `godwit
/// advise` reports it, in either direction.
const FAR_THREADS: i64 = 3;
/// Factor between the configured length of the packet queue and the best measured one from which on
/// `godwit advise` reports it as too long.
const FAR_QUEUE: i64 = 4;

pub(super) fn judge(facts: &ConfigFacts<'_>, report: &mut FindingCollector) {
    threads(facts, report);
    databases(facts, report);
    log(facts, report);
    caching(facts, report);
}

fn threads(facts: &ConfigFacts<'_>, report: &mut FindingCollector) {
    let Some(settings) = facts.global.map("multi-threading") else { return };
    let store = facts.store();
    if !facts.has_threads() {
        report.add(
            PerformanceFault::MultiThreadingOff,
            settings.at("enable-multi-threading").into_iter().collect(),
            measured::one_thread(store),
            "one thread serves all clients; other processors are idle",
            "set `\"enable-multi-threading\": true`",
        );
        return;
    }
    let Some((best, each)) = store.tuned() else { return };
    // 0 means the number of processors, which is not in the file.
    let count = settings.integer("thread-pool-size").filter(|&count| count > 0);
    if let Some(count) =
        count.filter(|&count| count * FAR_THREADS <= best || count > best * FAR_THREADS)
    {
        let reason = if count < best {
            format!("{count} threads leave processors idle while they wait for the lease backend")
        } else {
            format!("{count} threads are too many: they wait for each other's locks")
        };
        report.add(
            PerformanceFault::ThreadCount,
            settings.at("thread-pool-size").into_iter().collect(),
            measured::untuned(store),
            reason,
            format!("start from `\"thread-pool-size\": {best}`, at most the number of processors, and measure"),
        );
    }
    let threads = count.unwrap_or(best);
    let longest = threads.saturating_mul(each).saturating_mul(FAR_QUEUE);
    let Some(queue) = settings.integer("packet-queue-size") else { return };
    let reason = match queue {
        0 => "the packet queue has no limit: under overload every answer comes too late".to_owned(),
        _ if queue > longest => format!(
            "a packet queue of {queue} messages is too long for {threads} threads: under overload \
             answers come later, and there are not more of them"
        ),
        _ if queue < threads => {
            format!(
                "a packet queue of {queue} messages cannot keep {threads} threads busy; the server \
                 drops the messages that do not fit"
            )
        }
        _ => return,
    };
    let good = threads * each;
    report.add(
        PerformanceFault::QueueSize,
        settings.at("packet-queue-size").into_iter().collect(),
        measured::untuned(store),
        reason,
        format!("start from `\"packet-queue-size\": {good}`, and measure"),
    );
}

/// Returns true if a database is on another machine, judged by its host name.
pub(super) fn is_remote(database: &SqlDatabase) -> bool {
    let host = database.host.as_str();
    let is_loopback = |address: core::net::IpAddr| address.is_loopback();
    let is_here = database.kind == SqlKind::Sqlite
        || host.is_empty()
        // PostgreSQL takes the folder of its socket for a host.
        || host.starts_with('/')
        || host.eq_ignore_ascii_case("localhost")
        || host.parse().is_ok_and(is_loopback);
    !is_here
}

fn databases(facts: &ConfigFacts<'_>, report: &mut FindingCollector) {
    if let Some(sql) = &facts.settings.lease_database.sql {
        let at = match facts.global.map("lease-database") {
            Some(database) if sql.kind != SqlKind::Sqlite => database.at_any(&["host", "type"]),
            _ => facts.global.at_any(&["user-context"]),
        };
        let (store, has_threads) = (facts.store(), facts.has_threads());
        if is_remote(sql) {
            report.add(
                PerformanceFault::RemoteDatabase,
                vec![at],
                measured::database(store, has_threads, true),
                format!("each lease waits for round trips to {}", sql.host),
                "keep leases in a memfile, or the database on the server's own machine",
            );
        } else {
            report.add(
                PerformanceFault::SqlLeases,
                vec![at],
                measured::database(store, has_threads, false),
                "each lease takes a query to a database",
                "keep leases in a memfile, unless other programs read or write them in the \
                 database",
            );
        }
    }
    let mut views = facts.global.maps("hosts-databases");
    views.extend(facts.global.map("hosts-database"));
    let remote =
        views.iter().zip(&facts.settings.hosts_databases).filter(|(_, sql)| is_remote(sql));
    report.add(
        PerformanceFault::RemoteDatabase,
        remote.map(|(view, _)| view.at_any(&["host"])).collect(),
        measured::remote_hosts(),
        "each look-up of a reservation waits for a round trip to another machine",
        "keep reservations in the file, or a copy of the database on the server's own machine",
    );
}

fn log(facts: &ConfigFacts<'_>, report: &mut FindingCollector) {
    let loggers = facts.global.maps("loggers").into_iter();
    let debug = loggers.filter(|logger| {
        logger.text("severity").is_some_and(|word| word.eq_ignore_ascii_case("debug"))
    });
    report.add(
        PerformanceFault::DebugLogging,
        debug.map(|logger| logger.at_any(&["severity"])).collect(),
        measured::advised(),
        "the server writes debug messages for each DHCP message",
        "set `\"severity\": \"INFO\"`, or `\"WARN\"`, which does not log each lease",
    );
}

fn caching(facts: &ConfigFacts<'_>, report: &mut FindingCollector) {
    let off = facts.subnets.iter().filter(|subnet| subnet.cache_threshold == 0.0);
    let at: BTreeSet<SourcePosition> =
        off.map(|subnet| subnet.at_any(facts.global, &["cache-threshold"])).collect();
    report.add(
        PerformanceFault::LeaseCachingOff,
        at.into_iter().collect(),
        measured::advised(),
        "when a client requests its lease again at once, the server writes it again and reports it \
         again to its partner and the name server",
        "remove `cache-threshold`: with the default, 0.25, the server returns younger leases \
         unchanged",
    );
}
