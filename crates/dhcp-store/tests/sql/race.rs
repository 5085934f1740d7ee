//! Two servers that give the same free address at the same time, in databases that let them try.

use dhcp_lease::sample::{SampleFamily, SampleLease};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;
use dhcp_lease::{Lease, LeaseState};
use dhcp_store::database::{DatabaseFault, LeaseDatabaseConnection, RoundChanges};
use dhcp_store::sql::{Schema, SharedLeases, SharedRows, SqlDatabaseKind, SqlSettings};

use crate::sql::{SqlTestDatabases, open};

fn lease<F: SampleFamily>(address: u32, client: u32) -> Lease<F> {
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
fn the_faster_one_has_it<F: SharedRows + SampleFamily>(settings: &SqlSettings) {
    let mut servers = [0; 2].map(|_| SharedLeases::new(settings.clone()));
    let leases = [lease::<F>(7, 1), lease::<F>(7, 2), lease::<F>(8, 2)];
    let addresses = [&leases[0], &leases[2]].map(|lease| lease.address);
    let (mut client_leases, mut address_leases) = (Vec::new(), Vec::new());
    for server in &mut servers {
        LeaseDatabaseConnection::<F>::connect(server).unwrap();
        LeaseDatabaseConnection::<F>::begin_and_lock(
            server,
            &[],
            &addresses,
            &mut client_leases,
            &mut address_leases,
        )
        .unwrap();
    }
    assert!(client_leases.is_empty() && address_leases.is_empty());
    let [faster, slower] = &mut servers;
    let changes = RoundChanges::<F> { inserts: leases[..1].to_vec(), ..RoundChanges::default() };
    faster.write_and_commit(&changes).unwrap();
    let changes = RoundChanges::<F> { inserts: leases[1..].to_vec(), ..RoundChanges::default() };
    let error = slower.write_and_commit(&changes).unwrap_err();
    assert_eq!(error.fault, DatabaseFault::Conflict, "{error}");
    LeaseDatabaseConnection::<F>::roll_back(slower);

    // The database has done none of the slower one's changes, and the server can read again.
    LeaseDatabaseConnection::<F>::begin_and_lock(
        slower,
        &[],
        &addresses,
        &mut client_leases,
        &mut address_leases,
    )
    .unwrap();
    assert!(address_leases == leases[..1]);
    let changes = RoundChanges::<F> { inserts: leases[2..].to_vec(), ..RoundChanges::default() };
    slower.write_and_commit(&changes).unwrap();
    let mut there = Vec::new();
    LeaseDatabaseConnection::<F>::load(faster, &mut |lease| there.push(lease)).unwrap();
    there.sort_by_key(|lease| lease.address);
    assert!(there == [leases[0].clone(), leases[2].clone()]);
}

fn in_tables_of(backend: SqlDatabaseKind) {
    let Some(databases) = SqlTestDatabases::new(backend, "race") else { return };
    let settings = databases.create("leases");
    open(&settings).install(Schema::Current).unwrap();
    the_faster_one_has_it::<V4>(&settings);
    the_faster_one_has_it::<V6>(&settings);
}

#[test]
fn of_two_who_insert_a_lease_in_mariadb_one_is_told() {
    in_tables_of(SqlDatabaseKind::Mysql);
}

#[test]
fn of_two_who_insert_a_lease_in_postgresql_one_is_told() {
    in_tables_of(SqlDatabaseKind::Postgresql);
}
