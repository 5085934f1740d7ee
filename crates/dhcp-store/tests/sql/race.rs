//! Two servers that give the same free address at the same time, in databases that let them try.

use dhcp_lease::LeaseState;
use dhcp_lease::sample::{Sample, SampleLease};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_store::database::{Changes, Fault, LeaseDatabase};
use dhcp_store::memfile::Rows;
use dhcp_store::sql::{Backend, Schema, Settings, SharedLeases, SharedRows};

use crate::sql::{Place, open};

fn lease<F: Sample>(address: u32, client: u32) -> F::Lease {
    F::lease(&SampleLease {
        address,
        client,
        valid_lifetime_s: 4000,
        cltt_s: 1_700_000_000,
        subnet_id: 1,
        pool_id: 0,
        hostname: "",
        state: LeaseState::Assigned,
        user_context: "",
    })
}

/// Checks that both servers find both addresses free, and that the slower one learns that one of
/// them is not.
fn the_faster_one_has_it<F: SharedRows + Sample>(settings: &Settings) {
    let mut servers = [0; 2].map(|_| SharedLeases::new(settings.clone()));
    let leases = [lease::<F>(7, 1), lease::<F>(7, 2), lease::<F>(8, 2)];
    let addresses = [&leases[0], &leases[2]].map(<F as Rows>::address);
    let (mut known, mut found) = (Vec::new(), Vec::new());
    for server in &mut servers {
        LeaseDatabase::<F>::connect(server).unwrap();
        LeaseDatabase::<F>::open(server, &[], &addresses, &mut known, &mut found).unwrap();
    }
    assert!(known.is_empty() && found.is_empty());
    let [faster, slower] = &mut servers;
    let changes = Changes::<F> { inserts: leases[..1].to_vec(), ..Changes::default() };
    faster.close(&changes).unwrap();
    let changes = Changes::<F> { inserts: leases[1..].to_vec(), ..Changes::default() };
    let error = slower.close(&changes).unwrap_err();
    assert_eq!(error.fault, Fault::Conflict, "{error}");
    LeaseDatabase::<F>::roll_back(slower);

    // The database has done none of the slower one's changes, and the server can read again.
    LeaseDatabase::<F>::open(slower, &[], &addresses, &mut known, &mut found).unwrap();
    assert!(found == leases[..1]);
    let changes = Changes::<F> { inserts: leases[2..].to_vec(), ..Changes::default() };
    slower.close(&changes).unwrap();
    let mut there = Vec::new();
    LeaseDatabase::<F>::load(faster, &mut |lease| there.push(lease)).unwrap();
    there.sort_by_key(<F as Rows>::address);
    assert!(there == [leases[0].clone(), leases[2].clone()]);
}

fn in_tables_of(backend: Backend) {
    let Some(place) = Place::new(backend, "race") else { return };
    let settings = place.create("leases");
    open(&settings).install(Schema::Current).unwrap();
    the_faster_one_has_it::<V4>(&settings);
    the_faster_one_has_it::<V6>(&settings);
}

#[test]
fn of_two_who_insert_a_lease_in_mariadb_one_is_told() {
    in_tables_of(Backend::Mysql);
}

#[test]
fn of_two_who_insert_a_lease_in_postgresql_one_is_told() {
    in_tables_of(Backend::Postgresql);
}
