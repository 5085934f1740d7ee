//! Tests of rows in tables that other programs have changed: with any column values, a row is a
//! lease, a host or a fault, and a lease that was read can be written and read again.

use base::Random;
use dhcp_lease::Lease;
use dhcp_lease::sample::{SampleFamily, SampleLease};
use dhcp_lease::v4::V4;
use dhcp_lease::v6::V6;

use super::driver::SqlValue;
use super::row::{RowLayout, SqlFamily};
use super::schema::Schema;
use super::settings::SqlDatabaseKind;

/// Number of damaged rows that are tried for each family in each layout.
pub(super) const ROWS: u32 = 500;

/// Numbers at the limits of columns and fields.
const NUMBERS: [i64; 14] = [
    i64::MIN,
    -(1 << 32),
    -1,
    0,
    1,
    2,
    3,
    128,
    255,
    256,
    u32::MAX as i64 - 1,
    u32::MAX as i64,
    1 << 32,
    i64::MAX,
];

pub(super) fn layouts() -> impl Iterator<Item = RowLayout> {
    let schemas = |backend| Schema::ALL.map(|schema| RowLayout { backend, schema });
    SqlDatabaseKind::ALL.into_iter().flat_map(schemas)
}

/// Returns a value that a column of any kind may hold if another program made its table.
pub(super) fn value(random: &mut Random) -> SqlValue {
    let length = [0, 1, 3, 16, 20, 128, 130, 255, 256, 1_000][random.below(10) as usize];
    match random.below(5) {
        0 => SqlValue::Null,
        1 => SqlValue::Integer(NUMBERS[random.below(NUMBERS.len() as u64) as usize]),
        2 => SqlValue::Integer(random.next_u64().cast_signed()),
        3 => SqlValue::Octets((0..length).map(|_| random.next_u32() as u8).collect()),
        _ => {
            let letters = ['a', '.', '\0', '\n', '{', '"', ',', '\u{fc}', '\u{1f600}', ':'];
            let letter = |_| letters[random.below(letters.len() as u64) as usize];
            SqlValue::Text((0..length).map(letter).collect())
        }
    }
}

/// Replaces some of the row's `values`, and sometimes removes or adds one at the end.
pub(super) fn damage(random: &mut Random, values: &mut Vec<SqlValue>) {
    for _ in 0..=random.below(3) {
        let at = random.below(values.len() as u64) as usize;
        values[at] = value(random);
    }
    match random.below(20) {
        0 => values.truncate(random.below(values.len() as u64) as usize),
        1 => values.push(value(random)),
        _ => {}
    }
}

fn sample<F: SampleFamily>(random: &mut Random) -> Lease<F> {
    F::lease(&SampleLease {
        address: random.next_u32(),
        client: random.next_u32(),
        valid_lifetime_s: 4000,
        cltt_s: 1_700_000_000,
        subnet_id: 1,
        pool_id: 0,
        hostname: "host-1",
        state: dhcp_lease::LeaseState::Assigned,
        user_context: "{ \"a\": [ 1 ] }",
    })
}

fn reads_and_writes<F: SqlFamily + SampleFamily>(random: &mut Random, layout: RowLayout) {
    let mut readable = 0;
    for _ in 0..ROWS {
        let mut values = Vec::new();
        F::encode(&sample::<F>(random), layout, &mut values);
        damage(random, &mut values);
        let Ok(read) = F::decode(&values, layout) else { continue };
        readable += 1;
        let written = |lease: &Lease<F>| {
            let mut values = Vec::new();
            F::encode(lease, layout, &mut values);
            F::decode(&values, layout)
        };
        // A column may hold less than the one that the value came from; the part that it holds must
        // survive.
        let rewritten = written(&read);
        assert!(
            rewritten.is_ok(),
            "{layout:?}: {values:?} is a lease: {read:?}, then {rewritten:?}"
        );
        let rewritten = rewritten.expect("it was just looked at");
        assert_eq!(written(&rewritten).as_ref(), Ok(&rewritten), "{layout:?}: {values:?}");
    }
    assert!(readable > ROWS / 20, "{layout:?}: only {readable} rows were leases");
}

#[test]
fn a_damaged_row_of_a_lease_is_a_fault_or_a_lease_that_can_be_written() {
    let mut random = Random::from_seed(31);
    for layout in layouts() {
        reads_and_writes::<V4>(&mut random, layout);
        reads_and_writes::<V6>(&mut random, layout);
    }
}
