//! Tests of control commands' access to reservations in Kea's tables: selections and pages, changes
//! that happen entirely or not at all, and the values in columns that Kea fills.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base::Now;
use dhcp_store::database::DatabaseError;
use dhcp_store::hosts::{HostRowsChange, HostsAdministration};
use dhcp_store::sql::{
    HostFamily, HostOption, HostQuery, HostResource, HostSelection, HostTableRow, Schema,
    SqlDatabaseKind,
};

use crate::sql::{SqlTestDatabases, open};

const NOW: Now = Now { mono_ns: 1, wall_us: 1 };

fn host(n: u8, subnet_id: u32, hostname: &str) -> HostTableRow {
    HostTableRow {
        identifier: vec![2, 0, 0, 0, 0, n],
        subnet_id,
        hostname: hostname.to_owned(),
        ..HostTableRow::default()
    }
}

fn select(
    hosts: &mut HostsAdministration,
    selection: &HostSelection,
) -> Result<Vec<HostTableRow>, DatabaseError> {
    let (mut rows, mut faults) = (Vec::new(), Vec::new());
    hosts.select(NOW, 0, selection, &mut rows, &mut faults)?;
    assert_eq!(faults, []);
    Ok(rows)
}

/// Returns the last bytes of the identifiers of the selected hosts.
fn numbers(hosts: &mut HostsAdministration, selection: &HostSelection) -> Vec<u8> {
    let rows = select(hosts, selection).unwrap();
    rows.iter().map(|row| row.identifier[5]).collect()
}

fn add(hosts: &mut HostsAdministration, host: &HostTableRow) -> bool {
    let change = HostRowsChange { deletions: &[], addition: Some(host), is_address_unique: true };
    hosts.change(NOW, 0, change).unwrap()
}

fn page(after: i64, subnet_id: Option<u32>) -> HostSelection {
    HostSelection::Page { subnet_id, after, limit: 2 }
}

fn hosts_are_selected(v4: &mut HostsAdministration, v6: &mut HostsAdministration) {
    let named = |name: &str| HostSelection::Hostname(name.to_owned());
    for one in [host(1, 7, "A.Example"), host(2, 7, "b"), host(3, 8, "a.example"), host(4, 0, "")] {
        assert!(add(v4, &one));
    }
    assert!(add(v6, &host(5, 7, "a.example")));
    assert!(add(v4, &host(6, 7, "")));
    assert_eq!(numbers(v4, &HostSelection::Subnet(7)), [1, 2, 6]);
    assert_eq!(numbers(v4, &HostSelection::Subnet(0)), [4]);
    assert_eq!(numbers(v6, &HostSelection::Subnet(7)), [5]);
    assert_eq!(numbers(v4, &named("a.example")), [1, 3]);
    assert_eq!(numbers(v6, &named("a.example")), [5]);
    assert_eq!(numbers(v4, &named("a'b\\")), [0; 0]);
    assert_eq!(numbers(v4, &named("\u{e4}")), [0; 0]);
    let identifier = HostQuery::Identifier(0, vec![2, 0, 0, 0, 0, 3]);
    assert_eq!(numbers(v4, &HostSelection::Key(identifier)), [3]);
    // Hosts of the other family are on no page, and take no place there.
    let mut after = 0;
    let mut pages = Vec::new();
    loop {
        let rows = select(v4, &page(after, None)).unwrap();
        let Some(last) = rows.last() else { break };
        after = last.host_id;
        pages.push(rows.iter().map(|row| row.identifier[5]).collect::<Vec<_>>());
    }
    assert_eq!(pages, [vec![1, 2], vec![3, 4], vec![6]]);
    assert_eq!(numbers(v4, &page(0, Some(7))), [1, 2]);
    assert_eq!(numbers(v4, &page(0, Some(9))), [0; 0]);
    assert_eq!(numbers(v4, &page(i64::from(i32::MAX), None)), [0; 0]);
}

fn changes_are_whole(v4: &mut HostsAdministration) {
    let at = |n, address: [u8; 4]| HostTableRow {
        address: Some(Ipv4Addr::from(address)),
        options: vec![HostOption {
            code: 15,
            formatted_value: "example.org".to_owned(),
            space: "dhcp4".to_owned(),
            ..HostOption::default()
        }],
        ..host(n, 20, "")
    };
    assert!(add(v4, &at(1, [10, 0, 0, 1])));
    assert!(add(v4, &at(2, [10, 0, 0, 2])));
    assert!(!add(v4, &at(2, [10, 0, 0, 3])), "the client has a reservation in this subnet");
    assert!(!add(v4, &at(3, [10, 0, 0, 2])), "the address is reserved");
    assert!(add(v4, &HostTableRow { subnet_id: 21, ..at(3, [10, 0, 0, 2]) }), "another subnet");
    let twice = at(4, [10, 0, 0, 2]);
    let change =
        HostRowsChange { deletions: &[], addition: Some(&twice), is_address_unique: false };
    assert!(v4.change(NOW, 0, change).unwrap());
    assert_eq!(numbers(v4, &HostSelection::Subnet(20)), [1, 2, 4]);
    let address = HostSelection::Key(HostQuery::Address(IpAddr::from([10, 0, 0, 2])));
    assert_eq!(numbers(v4, &address), [2, 3, 4]);
    // A replacement that is refused leaves the old host.
    let old = select(v4, &HostSelection::Subnet(20)).unwrap();
    let deletions = [old[0].host_id];
    for (last, is_made) in [(2, false), (9, true)] {
        let new = at(1, [10, 0, 0, last]);
        let change =
            HostRowsChange { deletions: &deletions, addition: Some(&new), is_address_unique: true };
        assert_eq!(v4.change(NOW, 0, change).unwrap(), is_made);
        let rows = select(v4, &HostSelection::Subnet(20)).unwrap();
        let expected = if is_made { 9 } else { 1 };
        let own = rows.iter().find(|row| row.identifier[5] == 1).unwrap();
        assert_eq!(own.address, Some(Ipv4Addr::new(10, 0, 0, expected)));
        assert_eq!(own.options.len(), 1);
    }
    let all: Vec<i64> =
        select(v4, &HostSelection::Subnet(20)).unwrap().iter().map(|row| row.host_id).collect();
    let change = HostRowsChange { deletions: &all, addition: None, is_address_unique: true };
    assert!(v4.change(NOW, 0, change).unwrap());
    assert_eq!(numbers(v4, &HostSelection::Subnet(20)), [0; 0]);
}

fn prefixes_are_unique(v6: &mut HostsAdministration) {
    let with = |n, subnet_id, address: &str, len: u8| HostTableRow {
        resources: vec![HostResource {
            address: address.parse::<Ipv6Addr>().unwrap(),
            len,
            is_prefix: len < 128,
            excluded: None,
        }],
        ..host(n, subnet_id, "")
    };
    assert!(add(v6, &with(1, 30, "2001:db8:1::", 48)));
    assert!(!add(v6, &with(2, 31, "2001:db8:1::", 48)), "in whatever subnet");
    assert!(add(v6, &with(2, 31, "2001:db8:1::", 52)), "another length");
    assert!(add(v6, &with(3, 31, "2001:db8:1::", 128)));
    let address: IpAddr = "2001:db8:1::".parse().unwrap();
    assert_eq!(numbers(v6, &HostSelection::Key(HostQuery::Address(address))), [1, 2, 3]);
}

fn in_all_tables(backend: SqlDatabaseKind) {
    let Some(databases) = SqlTestDatabases::new(backend, "hosts-administration") else { return };
    for schema in Schema::ALL {
        if schema.statements(backend).is_none() {
            continue;
        }
        let name = format!("hosts_{schema:?}").to_lowercase();
        let settings = databases.create(&name);
        open(&settings).install(schema).unwrap();
        let [mut v4, mut v6] = [HostFamily::V4, HostFamily::V6]
            .map(|family| HostsAdministration::new(family, vec![settings.clone()]));
        hosts_are_selected(&mut v4, &mut v6);
        changes_are_whole(&mut v4);
        prefixes_are_unique(&mut v6);
        let none = v4.select(NOW, 1, &page(0, None), &mut Vec::new(), &mut Vec::new());
        assert!(none.unwrap_err().to_string().contains("there is no database number 2"));
    }
}

#[test]
fn commands_change_hosts_in_mariadb() {
    in_all_tables(SqlDatabaseKind::Mysql);
}

#[test]
fn commands_change_hosts_in_postgresql() {
    in_all_tables(SqlDatabaseKind::Postgresql);
}

#[test]
fn commands_change_hosts_in_sqlite() {
    in_all_tables(SqlDatabaseKind::Sqlite);
}

/// Ends the connections of a server between two commands, as an idle timeout does.
#[test]
fn a_connection_that_was_lost_in_between_costs_no_command() {
    for backend in [SqlDatabaseKind::Mysql, SqlDatabaseKind::Postgresql] {
        let Some(mut databases) = SqlTestDatabases::new(backend, "hosts-lost") else { continue };
        let settings = databases.create("hosts");
        open(&settings).install(Schema::Current).unwrap();
        let mut v4 = HostsAdministration::new(HostFamily::V4, vec![settings]);
        assert!(add(&mut v4, &host(1, 1, "")));
        databases.server_mut().stop().unwrap();
        databases.server_mut().launch().unwrap();
        assert!(add(&mut v4, &host(2, 1, "")));
        databases.server_mut().stop().unwrap();
        databases.server_mut().launch().unwrap();
        assert_eq!(numbers(&mut v4, &HostSelection::Subnet(1)), [1, 2]);
        databases.server_mut().stop().unwrap();
        let refused = HostRowsChange {
            deletions: &[],
            addition: Some(&host(3, 1, "")),
            is_address_unique: true,
        };
        assert!(v4.change(NOW, 0, refused).is_err());
        assert!(select(&mut v4, &HostSelection::Subnet(1)).is_err());
        databases.server_mut().launch().unwrap();
        assert_eq!(numbers(&mut v4, &HostSelection::Subnet(1)), [1, 2]);
    }
}
