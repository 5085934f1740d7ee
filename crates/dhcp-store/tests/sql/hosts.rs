//! Tests of reservations in Kea's tables: written, looked up as a server does, deleted; and rows
//! that other programs have written with plain SQL.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dhcp_store::sql::row::RowLayout;
use dhcp_store::sql::{
    Database, HostFamily, HostOption, HostQuery, HostResource, HostTableRow, Schema,
    SqlDatabaseKind,
};

use crate::sql::{SqlTestDatabases, open};

fn identifier(number: u32) -> HostQuery {
    HostQuery::Identifier(0, [&[2, 0][..], &number.to_be_bytes()].concat())
}

fn host(number: u32, subnet_id: u32) -> HostTableRow {
    let HostQuery::Identifier(identifier_type, identifier) = identifier(number) else {
        unreachable!("it is one")
    };
    HostTableRow { identifier, identifier_type, subnet_id, ..HostTableRow::default() }
}

fn option(code: u16, text: &str) -> HostOption {
    HostOption {
        code,
        formatted_value: text.to_owned(),
        space: "dhcp4".to_owned(),
        is_persistent: code.is_multiple_of(2),
        ..HostOption::default()
    }
}

fn hosts_of_v4(schema: Schema) -> Vec<HostTableRow> {
    let mut full = HostTableRow {
        hostname: "a.example.org".to_owned(),
        client_classes: "gold,silver".to_owned(),
        user_context: "{ \"a\": 1 }".to_owned(),
        address: Some(Ipv4Addr::new(192, 0, 2, 7)),
        next_server: Some(Ipv4Addr::new(192, 0, 2, 1)),
        server_hostname: "boot".to_owned(),
        boot_file_name: "/image".to_owned(),
        options: vec![option(6, "192.0.2.53,192.0.2.54"), option(15, "example.org")],
        ..host(1, 7)
    };
    let octets = HostOption { value: Some(vec![0, 255, 39]), ..option(200, "") };
    full.options.push(octets);
    if schema == Schema::Current {
        full.options[0].is_cancelled = true;
        full.options[1].client_classes = "[ \"gold\" ]".to_owned();
    }
    vec![
        full,
        // These are the same client in another subnet, and in all subnets.
        HostTableRow { address: Some(Ipv4Addr::new(198, 51, 100, 7)), ..host(1, 8) },
        HostTableRow { hostname: "global".to_owned(), ..host(1, 0) },
        HostTableRow { address: Some(Ipv4Addr::new(192, 0, 2, 8)), ..host(2, 7) },
        // This one has the same bytes as an identifier of another type.
        HostTableRow { identifier_type: 3, ..host(2, 7) },
    ]
}

fn hosts_of_v6(schema: Schema) -> Vec<HostTableRow> {
    let at = |text: &str| text.parse::<Ipv6Addr>().unwrap();
    let excluded = (schema == Schema::Current).then(|| (at("2001:db8:1::"), 64));
    let address =
        |text| HostResource { address: at(text), len: 128, is_prefix: false, excluded: None };
    vec![
        HostTableRow {
            identifier_type: 1,
            auth_key: "0123456789abcdef".to_owned(),
            client_classes: "gold".to_owned(),
            resources: vec![
                address("2001:db8::7"),
                HostResource { address: at("2001:db8:1::"), len: 56, is_prefix: true, excluded },
                address("2001:db8::1:7"),
            ],
            options: vec![HostOption { space: "dhcp6".to_owned(), ..option(23, "2001:db8::53") }],
            ..host(1, 7)
        },
        HostTableRow { resources: vec![address("2001:db8::8")], ..host(2, 7) },
    ]
}

fn find(
    database: &mut Database,
    family: HostFamily,
    layout: RowLayout,
    queries: &[HostQuery],
) -> Vec<HostTableRow> {
    let (mut rows, mut faults) = (Vec::new(), Vec::new());
    database.find_hosts(family, layout, queries, &mut rows, &mut faults).unwrap();
    assert_eq!(faults, []);
    rows.iter_mut().for_each(|host| host.host_id = 0);
    rows
}

fn come_and_go(database: &mut Database, family: HostFamily, hosts: &[HostTableRow]) {
    let layout = database.layout().unwrap();
    let mut numbers = Vec::new();
    for host in hosts {
        database.begin().unwrap();
        numbers.push(database.insert_host(family, layout, host, true).unwrap().expect("it is new"));
        database.commit().unwrap();
    }
    database.begin().unwrap();
    assert_eq!(database.insert_host(family, layout, &hosts[0], false).unwrap(), None);
    database.roll_back().unwrap();
    // One query looks up many identifiers, most of which have no host.
    let by_identifier: Vec<HostQuery> = (0..3000).map(identifier).collect();
    assert_eq!(find(database, family, layout, &by_identifier).len(), hosts.len());
    assert_eq!(find(database, family, layout, &[]), []);
    for host in hosts {
        let query = HostQuery::Identifier(host.identifier_type, host.identifier.clone());
        let rows = find(database, family, layout, std::slice::from_ref(&query));
        let of_subnet: Vec<_> = rows
            .iter()
            .filter(|row| row.subnet_id == host.subnet_id && row.answers(&query))
            .collect();
        assert_eq!(of_subnet, [host]);
        let addresses = host.address.map(IpAddr::V4).into_iter();
        let addresses = addresses.chain(host.resources.iter().map(|one| IpAddr::V6(one.address)));
        for address in addresses {
            let query = HostQuery::Address(address);
            assert_eq!(
                find(database, family, layout, &[query]),
                core::slice::from_ref(host),
                "{address}"
            );
        }
    }
    // Deleting a host leaves the rows of all others.
    database.delete_host(numbers[0]).unwrap();
    database.delete_host(numbers[0]).unwrap();
    assert_eq!(find(database, family, layout, &by_identifier), hosts[1..]);
    let released = hosts[0].address.map(IpAddr::V4).into_iter();
    let released = released.chain(hosts[0].resources.iter().map(|one| IpAddr::V6(one.address)));
    let released: Vec<HostQuery> = released.map(HostQuery::Address).collect();
    assert_eq!(find(database, family, layout, &released), []);
    for &number in &numbers[1..] {
        database.delete_host(number).unwrap();
    }
}

/// Checks rows as Kea's documentation has operators write them.
fn rows_of_others_are_found(databases: &SqlTestDatabases, name: &str, database: &mut Database) {
    let layout = database.layout().unwrap();
    let (octets, truth) = match layout.backend {
        SqlDatabaseKind::Mysql => ("UNHEX('0200deadbeef')", "1"),
        _ => ("'\\x0200deadbeef'", "true"),
    };
    let statement = format!(
        "INSERT INTO hosts (dhcp_identifier, dhcp_identifier_type, dhcp4_subnet_id, ipv4_address, \
         hostname) VALUES ({octets}, 0, 5, 3221225988, 'by-hand'); \
         INSERT INTO dhcp4_options (code, formatted_value, space, persistent, host_id, scope_id{}) \
         SELECT 15, 'example.net', 'dhcp4', {truth}, host_id, 3{} FROM hosts",
        if layout.schema == Schema::Current { ", client_classes" } else { "" },
        if layout.schema == Schema::Current { ", '[  ]'" } else { "" },
    );
    databases.server().query(name, &statement).unwrap();
    let query = HostQuery::Identifier(0, vec![2, 0, 0xde, 0xad, 0xbe, 0xef]);
    let rows = find(database, HostFamily::V4, layout, std::slice::from_ref(&query));
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(row.address, Some(Ipv4Addr::from_bits(3_221_225_988)));
    assert_eq!((row.subnet_id, &*row.hostname), (5, "by-hand"));
    assert_eq!((row.options[0].code, row.options[0].is_persistent), (15, true));
    assert_eq!(row.options[0].formatted_value, "example.net");
    assert_eq!(row.options[0].client_classes, "");
    // The row is no host of DHCPv6.
    assert_eq!(find(database, HostFamily::V6, layout, &[query]), []);
}

fn in_all_tables(backend: SqlDatabaseKind) {
    let Some(databases) = SqlTestDatabases::new(backend, "hosts") else { return };
    for schema in Schema::ALL {
        if schema.statements(backend).is_none() {
            continue;
        }
        let name = format!("hosts_{schema:?}").to_lowercase();
        let mut database = open(&databases.create(&name));
        database.install(schema).unwrap();
        come_and_go(&mut database, HostFamily::V4, &hosts_of_v4(schema));
        come_and_go(&mut database, HostFamily::V6, &hosts_of_v6(schema));
        if backend != SqlDatabaseKind::Sqlite {
            rows_of_others_are_found(&databases, &name, &mut database);
        }
    }
}

#[test]
fn hosts_come_and_go_in_mariadb() {
    in_all_tables(SqlDatabaseKind::Mysql);
}

#[test]
fn hosts_come_and_go_in_postgresql() {
    in_all_tables(SqlDatabaseKind::Postgresql);
}

#[test]
fn hosts_come_and_go_in_sqlite() {
    in_all_tables(SqlDatabaseKind::Sqlite);
}
