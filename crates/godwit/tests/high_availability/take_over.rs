//! Time until a server serves the clients of its partner that was killed. `GODWIT_HA_TAKE_OVERS`
//! sets how often a server is killed; with it, pairs of Kea 3 are measured, too. The test prints
//! the times, with a heartbeat each second and `max-response-delay` 4000:
//!
//! ```text
//! GODWIT_HA_TAKE_OVERS=9 cargo test -p godwit --test main take_over -- --nocapture \
//!     --test-threads 1
//! ```

use std::time::Instant;

use scenario::{ScenarioFamily, ScenarioServer};
use serde_json::json;

use super::{PairMode, PairSetup};
use crate::common::{has_debian_13, waited_until};
use crate::crash::from_environment;
use crate::subjects::process::ServerMake;

/// Kills the primary server of a pair `count` times, waits each time until the other server is in
/// the state in which it serves all clients, and lets clients get leases of it. Prints the times.
fn take_overs(family: ScenarioFamily, mode: PairMode, make: ServerMake, count: u64) {
    let further = json!({ "heartbeat-delay": 1_000 });
    let further = vec![further.clone(), further];
    let mut pair = PairSetup { further, ..PairSetup::new(family, mode, 4_000) }.start(&[make; 2]);
    let mut times = Vec::new();
    for _ in 0..count {
        pair.wait_until_normal();
        pair.servers[0].kill();
        let killed = Instant::now();
        let serves = waited_until(|| pair.states(1)[0] == "partner-down");
        times.push(killed.elapsed());
        assert!(serves, "{make:?}: {:?}", pair.states(1));
        pair.clients(1);
        pair.servers[0].restart().unwrap();
    }
    times.sort();
    let [least, median, most] = [0, times.len() / 2, times.len() - 1].map(|at| times[at]);
    println!(
        "{family:?} {} {make:?}: a server serves its partner's clients {median:.2?} after the \
         partner was killed (median of {count}, {least:.2?} to {most:.2?})",
        mode.name()
    );
}

fn a_server_takes_over(family: ScenarioFamily) {
    const COUNT: &str = "GODWIT_HA_TAKE_OVERS";
    let count = from_environment(COUNT, 1);
    for mode in [PairMode::HotStandby, PairMode::LoadBalancing] {
        take_overs(family, mode, ServerMake::Godwit, count);
        if std::env::var_os(COUNT).is_some() && has_debian_13() {
            take_overs(family, mode, ServerMake::Kea3, count);
        }
    }
}

#[test]
fn a_dhcpv4_server_serves_the_clients_of_a_partner_that_was_killed() {
    a_server_takes_over(ScenarioFamily::V4);
}

#[test]
fn a_dhcpv6_server_serves_the_clients_of_a_partner_that_was_killed() {
    a_server_takes_over(ScenarioFamily::V6);
}
