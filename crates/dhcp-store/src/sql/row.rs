//! Conversion of leases to values of the columns of Kea's database tables, and back.
//!
//! Kea's rules: the column `expire` is the client's last transaction time (cltt) plus the lifetime,
//! but cltt alone for an infinite lifetime; an unknown value is NULL, but PostgreSQL gets an empty
//! text for a missing user context.

use dhcp_lease::user_context::push_without_zeros;
use dhcp_lease::{INFINITE_LIFETIME_S, Lease, LeaseState};

use super::driver::{SqlTable, SqlValue};
use super::schema::Schema;
use super::settings::SqlDatabaseKind;
use crate::database::KeyOctets;
use crate::memfile::{LeaseFileFamily, RowFault};

/// Layout of lease rows: database kind and table version, as far as they change the form of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLayout {
    /// Kind of the SQL database.
    pub backend: SqlDatabaseKind,
    /// Version of the database's tables.
    pub schema: Schema,
}

/// Family (DHCPv4 or DHCPv6) whose leases Kea keeps in a database table.
pub trait SqlFamily: LeaseFileFamily {
    /// Returns the family's table of leases in this layout.
    fn table(layout: RowLayout) -> SqlTable;

    /// Appends the values of `lease` in its table, one for each column, to `values`.
    fn encode(lease: &Lease<Self>, layout: RowLayout, values: &mut Vec<SqlValue>);

    /// Appends the key of `address` in the table of leases to `values`.
    fn encode_key(address: Self::Address, layout: RowLayout, values: &mut Vec<SqlValue>);

    /// Reads the key that [`SqlFamily::encode_key`] wrote; returns `None` if `key` is invalid.
    fn decode_key(key: &SqlValue, layout: RowLayout) -> Option<KeyOctets>;

    /// Reads a lease from the values of its row in the table.
    ///
    /// # Errors
    ///
    /// Returns the first column that cannot be read.
    fn decode(values: &[SqlValue], layout: RowLayout) -> Result<Lease<Self>, RowFault>;
}

/// First and last second since 1970 that a TIMESTAMP of MariaDB 10 and MySQL can hold.
const MYSQL_TIMES_S: (u64, u64) = (1, i32::MAX as u64);

/// Returns the end of a lease as a value of the column `expire`. A time beyond MySQL's range
/// becomes the latest in it.
pub(super) fn expire(cltt_s: u64, valid_lifetime_s: u32, layout: RowLayout) -> SqlValue {
    let lifetime_s = if valid_lifetime_s == INFINITE_LIFETIME_S { 0 } else { valid_lifetime_s };
    let mut end_s = cltt_s.saturating_add(u64::from(lifetime_s));
    if layout.backend == SqlDatabaseKind::Mysql {
        end_s = end_s.clamp(MYSQL_TIMES_S.0, MYSQL_TIMES_S.1);
    }
    // The range of PostgreSQL's years ends long before this limit.
    SqlValue::Integer(end_s.min(u64::from(u32::MAX) * 64) as i64)
}

/// Returns the client's last transaction time (cltt) of a lease that ends at `expire_s`, in
/// wall-clock seconds.
pub(super) const fn cltt_s(expire_s: u64, valid_lifetime_s: u32) -> u64 {
    if valid_lifetime_s == INFINITE_LIFETIME_S {
        expire_s
    } else {
        expire_s.saturating_sub(valid_lifetime_s as u64)
    }
}

/// Returns the lifetime in seconds of a row in `state` that ends at `expire_s`. A row with a
/// lifetime of 0 whose state is not a past one is in use until `expire_s`: it counts as valid
/// since 1970.
pub(super) fn lifetime_s(lifetime_s: u32, expire_s: u64, state: LeaseState) -> u32 {
    if lifetime_s > 0 || state.is_past() {
        return lifetime_s;
    }
    u32::try_from(expire_s).unwrap_or(INFINITE_LIFETIME_S).min(INFINITE_LIFETIME_S - 1)
}

/// Returns the number of a lease state as a value of its column. Kea 2.2 has neither released
/// leases, which become reclaimed ones here (both are past), nor registered ones.
pub(super) fn state(state: LeaseState, layout: RowLayout) -> SqlValue {
    let known_state = match (layout.schema, state) {
        (Schema::Kea22, LeaseState::Released) => LeaseState::ExpiredReclaimed,
        (Schema::Kea22, LeaseState::Registered) => LeaseState::Assigned,
        _ => state,
    };
    SqlValue::Integer(known_state as i64)
}

/// Returns `text` as a value of its column, without zeros, which PostgreSQL cannot store.
pub(super) fn text(text: &str) -> SqlValue {
    SqlValue::Text(if text.contains('\0') { text.replace('\0', "") } else { text.to_owned() })
}

/// Returns the user context of a lease as a value of its column: a missing one is NULL, or an empty
/// text for PostgreSQL, which stores no zeros in JSON.
pub(super) fn context(context: &str, layout: RowLayout) -> SqlValue {
    match layout.backend {
        SqlDatabaseKind::Postgresql => {
            let mut stored_context = String::with_capacity(context.len());
            push_without_zeros(context, &mut stored_context);
            SqlValue::Text(stored_context)
        }
        SqlDatabaseKind::Mysql | SqlDatabaseKind::Sqlite if context.is_empty() => SqlValue::Null,
        SqlDatabaseKind::Mysql | SqlDatabaseKind::Sqlite => text(context),
    }
}

/// Returns the bytes of a client's identity as a value of its column, truncated to the width of Kea
/// 2.2's column in MySQL. No bytes are NULL, and an empty value for PostgreSQL, as in Kea.
pub(super) fn identity(octets: &[u8], layout: RowLayout) -> SqlValue {
    const KEA22_MAX: usize = 128;
    let cuts = layout.schema == Schema::Kea22 && layout.backend == SqlDatabaseKind::Mysql;
    let len = if cuts { octets.len().min(KEA22_MAX) } else { octets.len() };
    if octets.is_empty() && layout.backend != SqlDatabaseKind::Postgresql {
        return SqlValue::Null;
    }
    SqlValue::Octets(octets[..len].to_owned())
}

/// Reader of the values of one row of a database table, in order.
pub(super) struct SqlRowReader<'v> {
    values: &'v [SqlValue],
    table: SqlTable,
    next: usize,
}

impl<'v> SqlRowReader<'v> {
    pub(super) const fn new(values: &'v [SqlValue], table: SqlTable) -> Self {
        Self { values, table, next: 0 }
    }

    fn next(&mut self) -> Option<&'v SqlValue> {
        self.next += 1;
        self.values.get(self.next - 1)
    }

    /// Returns the fault to report about the value that was read last.
    pub(super) fn fault(&self) -> RowFault {
        match self.table.columns.get(self.next - 1) {
            Some(column) if self.next <= self.values.len() => RowFault::Value(column.name),
            _ => RowFault::ValueCount,
        }
    }

    pub(super) fn number<T: TryFrom<i64>>(&mut self) -> Result<T, RowFault> {
        match self.next() {
            Some(SqlValue::Integer(number)) => T::try_from(*number).map_err(|_| self.fault()),
            _ => Err(self.fault()),
        }
    }

    /// Reads the row's next value as a number; returns `default` for NULL.
    pub(super) fn number_or<T: TryFrom<i64>>(&mut self, default: T) -> Result<T, RowFault> {
        if self.values.get(self.next) == Some(&SqlValue::Null) {
            self.next += 1;
            return Ok(default);
        }
        self.number()
    }

    pub(super) fn truth(&mut self) -> Result<bool, RowFault> {
        Ok(self.number_or::<i64>(0)? != 0)
    }

    pub(super) fn state(&mut self) -> Result<LeaseState, RowFault> {
        let number = self.number_or::<u8>(0)?;
        LeaseState::from_number(number).ok_or_else(|| self.fault())
    }

    /// Reads the row's next value as bytes; returns none for NULL.
    pub(super) fn octets(&mut self) -> Result<&'v [u8], RowFault> {
        match self.next() {
            Some(SqlValue::Octets(octets)) => Ok(octets),
            Some(SqlValue::Text(text)) => Ok(text.as_bytes()),
            Some(SqlValue::Null) => Ok(&[]),
            _ => Err(self.fault()),
        }
    }

    /// Reads the row's next value as text; returns an empty one for NULL. Bytes that are not UTF-8
    /// are replaced.
    pub(super) fn text(&mut self) -> Result<String, RowFault> {
        Ok(String::from_utf8_lossy(self.octets()?).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use base::Random;
    use dhcp_lease::sample::{SampleFamily, SampleLease};
    use dhcp_lease::v4::V4;
    use dhcp_lease::v6::V6;

    use super::*;

    fn layouts() -> Vec<RowLayout> {
        SqlDatabaseKind::ALL
            .into_iter()
            .flat_map(|backend| Schema::ALL.map(|schema| RowLayout { backend, schema }))
            .collect()
    }

    fn survives<F: SqlFamily + SampleFamily>(random: &mut Random) {
        for number in 0..300 {
            let state = LeaseState::from_number(random.below(3) as u8).unwrap();
            let sample = SampleLease {
                address: random.next_u32(),
                client: number,
                valid_lifetime_s: [600, 4000, INFINITE_LIFETIME_S][random.below(3) as usize],
                cltt_s: 1_700_000_000 + random.below(100_000_000),
                subnet_id: random.next_u32(),
                pool_id: 0,
                hostname: ["", "host-1"][random.below(2) as usize],
                state,
                user_context: ["", "{ \"a\": [ 1 ] }"][random.below(2) as usize],
            };
            let lease = F::lease(&sample);
            for layout in layouts() {
                let mut values = Vec::new();
                F::encode(&lease, layout, &mut values);
                assert_eq!(values.len(), F::table(layout).columns.len());
                assert_eq!(F::decode(&values, layout).as_ref(), Ok(&lease), "{layout:?}");
                let mut key = Vec::new();
                F::encode_key(lease.address, layout, &mut key);
                assert_eq!(key, values[..1]);
                // A truncated row has a different fault than one with a wrong value.
                assert_eq!(F::decode(&values[..3], layout), Err(RowFault::ValueCount));
            }
        }
    }

    #[test]
    fn leases_survive_becoming_rows() {
        let mut random = Random::from_seed(14);
        survives::<V4>(&mut random);
        survives::<V6>(&mut random);
    }

    #[test]
    fn an_infinite_lease_ends_when_it_began() {
        let layout = RowLayout { backend: SqlDatabaseKind::Postgresql, schema: Schema::Current };
        assert_eq!(expire(1000, INFINITE_LIFETIME_S, layout), SqlValue::Integer(1000));
        assert_eq!(expire(1000, 50, layout), SqlValue::Integer(1050));
        assert_eq!((cltt_s(1000, INFINITE_LIFETIME_S), cltt_s(1050, 50)), (1000, 1000));
    }

    #[test]
    fn a_lifetime_of_0_lasts_until_the_row_ends_unless_it_is_past() {
        let layout = RowLayout { backend: SqlDatabaseKind::Sqlite, schema: Schema::Current };
        let sample = SampleLease {
            address: 0x0a00_0001,
            client: 1,
            valid_lifetime_s: 60,
            cltt_s: 2_000_000_000,
            subnet_id: 1,
            pool_id: 0,
            hostname: "",
            state: LeaseState::Assigned,
            user_context: "",
        };
        let mut values = Vec::new();
        <V4 as SqlFamily>::encode(&V4::lease(&sample), layout, &mut values);
        values[3] = SqlValue::Integer(0);
        let lease = <V4 as SqlFamily>::decode(&values, layout).unwrap();
        assert_eq!((lease.cltt_s, lease.expires_s()), (0, 2_000_000_060));
        values[9] = SqlValue::Integer(LeaseState::Released as i64);
        let lease = <V4 as SqlFamily>::decode(&values, layout).unwrap();
        assert_eq!((lease.cltt_s, lease.valid_lifetime_s), (2_000_000_060, 0));
        values[9] = SqlValue::Integer(9);
        assert_eq!(<V4 as SqlFamily>::decode(&values, layout), Err(RowFault::Value("state")));
    }

    #[test]
    fn times_stay_within_what_mysql_can_hold() {
        let layout = RowLayout { backend: SqlDatabaseKind::Mysql, schema: Schema::Current };
        assert_eq!(expire(0, INFINITE_LIFETIME_S, layout), SqlValue::Integer(1));
        let far = expire(2_000_000_000, 400_000_000, layout);
        assert_eq!(far, SqlValue::Integer(2_147_483_647));
        let layout = RowLayout { backend: SqlDatabaseKind::Postgresql, ..layout };
        let far = expire(2_000_000_000, 400_000_000, layout);
        assert_eq!(far, SqlValue::Integer(2_400_000_000));
    }

    #[test]
    fn kea_2_2_gets_states_and_identities_that_it_has_room_for() {
        let old = RowLayout { backend: SqlDatabaseKind::Mysql, schema: Schema::Kea22 };
        let new = RowLayout { schema: Schema::Current, ..old };
        assert_eq!(state(LeaseState::Released, old), SqlValue::Integer(2));
        assert_eq!(state(LeaseState::Released, new), SqlValue::Integer(3));
        assert_eq!(state(LeaseState::Registered, old), SqlValue::Integer(0));
        assert_eq!(identity(&[7; 255], old), SqlValue::Octets(vec![7; 128]));
        assert_eq!(identity(&[7; 255], new), SqlValue::Octets(vec![7; 255]));
        assert_eq!(identity(&[], new), SqlValue::Null);
        let postgresql = RowLayout { backend: SqlDatabaseKind::Postgresql, ..new };
        assert_eq!(identity(&[], postgresql), SqlValue::Octets(Vec::new()));
    }

    #[test]
    fn what_no_text_may_hold_is_left_out() {
        assert_eq!(text("a\0b"), SqlValue::Text("ab".to_owned()));
        let mysql = RowLayout { backend: SqlDatabaseKind::Mysql, schema: Schema::Current };
        assert_eq!(context("", mysql), SqlValue::Null);
        let postgresql = RowLayout { backend: SqlDatabaseKind::Postgresql, ..mysql };
        assert_eq!(context("", postgresql), SqlValue::Text(String::new()));
        let escaped = r#"{ "a": "x\u0000" }"#;
        assert_eq!(context(escaped, postgresql), SqlValue::Text(r#"{ "a": "x" }"#.to_owned()));
        assert_eq!(context(escaped, mysql), SqlValue::Text(escaped.to_owned()));
    }
}
