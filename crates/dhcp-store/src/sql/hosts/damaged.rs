//! Tests of rows in hosts tables that other programs have changed: with any column values, a row is
//! a host or a fault.

use base::Random;

use super::HostFamily;
use super::row;
use crate::sql::damaged::{ROWS, damage, layouts, value};
use crate::sql::driver::{SqlTable, SqlValue};

#[test]
fn a_damaged_row_of_a_host_is_a_fault_or_a_host() {
    let mut random = Random::from_seed(32);
    let values = |random: &mut Random, table: SqlTable| -> Vec<SqlValue> {
        let mut values: Vec<SqlValue> = table.columns.iter().map(|_| value(random)).collect();
        damage(random, &mut values);
        values
    };
    let mut hosts = 0;
    for layout in layouts() {
        for _ in 0..ROWS {
            for family in [HostFamily::V4, HostFamily::V6] {
                let read = row::decode(family, &values(&mut random, row::hosts(family)));
                hosts += u32::from(read.is_ok());
                let table = row::options(family, layout);
                let _ = row::decode_option(table, &values(&mut random, table), layout);
            }
            let table = row::resources(layout);
            let _ = row::decode_resource(table, &values(&mut random, table), layout);
        }
    }
    assert!(hosts > 0, "no row was a host");
}
