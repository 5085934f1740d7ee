//! Rate of an updater with many pending requests, beside Kea's updater, with the same DNS server.
//!
//! `GODWIT_DDNS_REQUESTS` sets the number of requests, for a measurement: `cargo test -p godwit
//! --test main updates_per_second -- --show-output`.

use std::net::Ipv4Addr;
use std::time::Instant;

use super::life::addition;
use super::servers::{DnsServerProcess, TestZone};
use super::updater::{UpdaterMake, UpdaterProcess, configuration};
use crate::common::{TempFolder, free_port, has_debian_13, require, waited_until};

const ZONES: [TestZone; 2] = [
    TestZone { name: "example.", key: Some("sha256"), records: "" },
    TestZone { name: "10.in-addr.arpa.", key: Some("sha256"), records: "" },
];
/// Number of requests without the environment variable.
const REQUESTS: u32 = 300;
/// Number of requests that Kea's updater may have at a time: its queue takes 1,024.
const KEA_PENDING: u32 = 1_000;
/// Requests that are sent between two looks at the updater, so few that its socket has room.
const AT_ONCE: u32 = 20;
/// Updates of a request: one of the name and one of the address.
const UPDATES: u64 = 2;

/// Returns the requests per second that an updater of `make` carries out, of which `pending` may be
/// unfinished at a time.
fn rate(make: UpdaterMake, count: u32, pending: u32) -> f64 {
    let folder = TempFolder::new("ddns-rate");
    let mut server = DnsServerProcess::bind(&folder, free_port(), &ZONES);
    server.start();
    let port = free_port();
    let config = configuration(port, &[server.port], &ZONES);
    let mut updater = UpdaterProcess::new(make, &folder, port, &config);
    updater.start();
    let begin = Instant::now();
    let finished = || updater.statistic("update-success") / UPDATES;
    for number in 0..count {
        let [_, a, b, c] = number.to_be_bytes();
        let name = format!("n{number}.example.");
        updater.send(&addition(&name, Ipv4Addr::new(10, a, b, c).into(), number as u16));
        if number % AT_ONCE == 0 {
            let has_room = || {
                updater.statistic("ncr-received") > u64::from(number)
                    && u64::from(number) < finished() + u64::from(pending)
            };
            assert!(waited_until(has_room), "{make:?}: {}", finished());
        }
    }
    let mut last = 0;
    while last < u64::from(count) {
        // The updater may take long in all, but not without any progress.
        let has_progress = || finished() > last;
        assert!(waited_until(has_progress), "{make:?}: {last} of {count}");
        last = finished();
    }
    let rate = f64::from(count) / begin.elapsed().as_secs_f64();
    for zone in ZONES {
        assert_eq!(server.records(zone.name).len(), 2 * count as usize, "{make:?}");
    }
    updater.stop();
    rate
}

#[test]
fn updates_per_second_of_many_pending_requests() {
    if !require(&["named"]) {
        return;
    }
    let count = std::env::var("GODWIT_DDNS_REQUESTS").ok().and_then(|text| text.parse().ok());
    let count = count.unwrap_or(REQUESTS);
    let all = rate(UpdaterMake::Godwit, count, count);
    println!("{count} pending requests: {all:.0} per second");
    let some = rate(UpdaterMake::Godwit, count, KEA_PENDING);
    println!("at most {KEA_PENDING} of {count}: {some:.0} per second");
    if has_debian_13() {
        let kea = rate(UpdaterMake::Kea3, count, KEA_PENDING);
        println!("at most {KEA_PENDING} of {count}, Kea 3: {kea:.0} per second");
    }
}
