//! Requests of the shards to the database writer, as lines of text: the shards write them without
//! allocation, and the writer thread parses them. A line is a letter, the client, and the row as in
//! a lease file.

use std::net::IpAddr;

use dhcp_lease::contract::{Action, FETCHED_ADDRESSES_MAX, FetchKeys};
use dhcp_lease::{Lease, LeaseState, RowView};

use super::family::{ADDRESS_MAX, KeyOctets, SharedLeaseFamily};
use crate::memfile::{RowFault, Values, append_line, newest};
use crate::store::Cause;

/// Kind of a request to the database writer about a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseRequestKind {
    /// Write the lease that the requesting client gets.
    Give,
    /// Release the lease: the client sent a RELEASE.
    Release,
    /// Decline the lease: the client found its address in use.
    Decline,
    /// End the lease in the database, because it has expired.
    End,
    /// Write the lease for an operator, who sent a control command.
    Put,
    /// Delete the lease for an operator, who sent a control command.
    Remove,
}

impl LeaseRequestKind {
    const fn letter(self) -> u8 {
        match self {
            Self::Give => b'G',
            Self::Release => b'R',
            Self::Decline => b'D',
            Self::End => b'E',
            Self::Put => b'P',
            Self::Remove => b'X',
        }
    }

    fn from_letter(letter: u8) -> Option<Self> {
        [Self::Give, Self::Release, Self::Decline, Self::End, Self::Put, Self::Remove]
            .into_iter()
            .find(|kind| kind.letter() == letter)
    }

    /// Returns the kind of request that follows from `cause`.
    pub fn from_cause<F: SharedLeaseFamily>(cause: &Cause<'_, '_, F>) -> Self {
        match cause {
            Cause::Change(change) => match change.action {
                Action::Release => Self::Release,
                Action::Decline { .. } => Self::Decline,
                _ => Self::Give,
            },
            Cause::Sweep => Self::End,
            Cause::Put => Self::Put,
            Cause::Remove => Self::Remove,
        }
    }
}

/// Request of a shard to the database writer, parsed from one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation<F: SharedLeaseFamily> {
    /// Request to write a lease to the database.
    Write(Write<F>),
    /// Lookup of the leases of a client in the database, and of the leases of these addresses.
    Lookup(F::Client, Vec<F::Address>),
}

/// Request to write a lease to the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write<F: SharedLeaseFamily> {
    /// Kind of the write request.
    pub kind: LeaseRequestKind,
    /// Client that sent the DHCP message; `None` if no client caused the request.
    pub client: Option<F::Client>,
    /// Lease after the requested change.
    pub lease: Lease<F>,
}

impl<F: SharedLeaseFamily> Write<F> {
    /// Returns true if the request deletes the lease of its address.
    pub fn is_deletion(&self) -> bool {
        match self.kind {
            LeaseRequestKind::Remove => true,
            // A released lease stays for its client.
            LeaseRequestKind::Release => self.lease.state != LeaseState::Released,
            _ => self.lease.is_deleted(),
        }
    }
}

/// Appends the request line for `row`, the lease after the change that `cause` makes, to `out`.
pub fn write<F: SharedLeaseFamily>(
    cause: &Cause<'_, '_, F>,
    row: &RowView<'_, F>,
    out: &mut Vec<u8>,
) {
    let identity = match cause {
        Cause::Change(change) => Some(&change.identity),
        _ => None,
    };
    let most = 4 + identity.map_or(0, F::most_of_client) + F::most(row);
    append_line(out, most, |line| {
        line.put(&[LeaseRequestKind::from_cause(cause).letter(), b',']);
        match identity {
            Some(identity) => {
                line.put(b"1,");
                F::fill_client(identity, line);
            }
            None => line.put(b"0,"),
        }
        F::fill(row, newest::<F>(), line);
    });
}

/// Appends the line that requests a lookup of the client and addresses of `keys` to `out`.
pub fn write_lookup<F: SharedLeaseFamily>(keys: &FetchKeys<'_, F>, out: &mut Vec<u8>) {
    let most = 4 + F::most_of_client(&keys.identity) + FETCHED_ADDRESSES_MAX * ADDRESS_MAX;
    append_line(out, most, |line| {
        line.put(b"?,");
        F::fill_client(&keys.identity, line);
        for address in keys.addresses.iter().flatten() {
            F::fill_address(*address, line);
        }
    });
}

/// Parses a request line, passed without its line end.
///
/// # Errors
///
/// Returns the first fault.
pub fn read<F: SharedLeaseFamily>(line: &[u8]) -> Result<Operation<F>, RowFault> {
    let mut values = Values::new(line);
    let letter = values.next("operation").octet()?;
    if letter == b'?' {
        let client = F::parse_client(&mut values)?;
        let mut addresses = Vec::new();
        while !values.has_ended() {
            addresses.push(F::parse_address(&mut values)?);
        }
        return Ok(Operation::Lookup(client, addresses));
    }
    let kind = LeaseRequestKind::from_letter(letter).ok_or(RowFault::Value("operation"))?;
    let has_client = values.next("client").flag()?;
    let client = if has_client { Some(F::parse_client(&mut values)?) } else { None };
    let lease = F::parse(&mut values)?;
    Ok(Operation::Write(Write { kind, client, lease }))
}

/// Returns the address in a request line that [`read`] refuses to parse, if the address itself can
/// be parsed.
pub fn address_of(line: &[u8]) -> Option<KeyOctets> {
    /// Number of values in a request line that describe the client.
    const CLIENT_VALUES: usize = 3;
    let mut values = Values::new(line);
    LeaseRequestKind::from_letter(values.next("operation").octet().ok()?)?;
    let has_client = values.next("client").flag().ok()?;
    for _ in 0..if has_client { CLIENT_VALUES } else { 0 } {
        values.next("client");
    }
    let mut octets = [0; 16];
    let len = match values.next("address").address().ok()? {
        IpAddr::V4(address) => {
            octets[..4].copy_from_slice(&address.octets());
            4
        }
        IpAddr::V6(address) => {
            octets = address.octets();
            16
        }
    };
    Some((octets, len))
}

#[cfg(test)]
mod tests {
    use dhcp_lease::contract::Change;
    use dhcp_lease::sample::{SampleFamily, SampleLease};
    use dhcp_lease::v4::V4;
    use dhcp_lease::v6::V6;

    use super::*;

    fn lease<F: SampleFamily>(number: u32, valid_lifetime_s: u32, state: LeaseState) -> Lease<F> {
        F::lease(&SampleLease {
            address: 0x0a00_0000 + number,
            client: number,
            valid_lifetime_s,
            cltt_s: 1_000_000_000,
            subnet_id: 7,
            pool_id: 0,
            hostname: "a,b",
            state,
            user_context: "{ \"a\": [ 1, 2 ] }",
        })
    }

    fn read_lines<F: SharedLeaseFamily>(text: &[u8]) -> Vec<Operation<F>> {
        let lines = text.split(|&octet| octet == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| read(line).unwrap()).collect()
    }

    fn requests_survive<F: SharedLeaseFamily + SampleFamily>() {
        let terms = F::terms(60, 1, "");
        let actions = [Action::Lease(terms), Action::Release, Action::Decline { probation_s: 9 }];
        let wants = [LeaseRequestKind::Give, LeaseRequestKind::Release, LeaseRequestKind::Decline];
        let (mut text, mut expected) = (Vec::new(), Vec::new());
        for (number, (action, kind)) in (1..).zip(actions.into_iter().zip(wants)) {
            let lease = lease::<F>(number, 60, LeaseState::Assigned);
            let identity = F::borrow(F::client(number));
            let address = lease.address;
            let change = Change { identity, address, expected_version: 0, action };
            write(&Cause::<F>::Change(&change), &lease.row(), &mut text);
            let client = Some(F::client_of(&lease));
            expected.push(Operation::Write(Write { kind, client, lease }));
        }
        for (cause, kind) in [
            (Cause::Sweep, LeaseRequestKind::End),
            (Cause::Put, LeaseRequestKind::Put),
            (Cause::Remove, LeaseRequestKind::Remove),
        ] {
            let lease = lease::<F>(9, 0, LeaseState::Released);
            write::<F>(&cause, &lease.row(), &mut text);
            let write_request = Write { kind, client: None, lease };
            assert!(write_request.is_deletion());
            expected.push(Operation::Write(write_request));
        }
        assert_eq!(read_lines::<F>(&text), expected);
    }

    #[test]
    fn requests_survive_being_written() {
        requests_survive::<V4>();
        requests_survive::<V6>();
    }

    fn lookups_survive<F: SharedLeaseFamily + SampleFamily>(pools: &F::PoolSet) {
        let mut addresses = [None; FETCHED_ADDRESSES_MAX];
        addresses[1] = Some(lease::<F>(3, 60, LeaseState::Assigned).address);
        let identity = F::borrow(F::client(5));
        let keys = FetchKeys {
            identity,
            addresses,
            pools,
            candidate_pools: &[],
            is_candidate_spare: false,
        };
        let mut text = Vec::new();
        write_lookup::<F>(&keys, &mut text);
        let client = F::client_of(&lease::<F>(5, 60, LeaseState::Assigned));
        let addresses = addresses.into_iter().flatten().collect();
        assert_eq!(read_lines::<F>(&text), [Operation::Lookup(client, addresses)]);
    }

    #[test]
    fn lookups_survive_being_written() {
        lookups_survive::<V4>(&dhcp_lease::LeaseTable::<V4>::new(1).configure(&[], &[]));
        lookups_survive::<V6>(&dhcp_lease::LeaseTable::<V6>::new(1).configure(&[], &[]));
    }

    #[test]
    fn rubbish_is_told() {
        assert_eq!(read::<V4>(b"Z,0,"), Err(RowFault::Value("operation")));
        assert_eq!(read::<V4>(b"?"), Err(RowFault::ValueCount));
        assert!(read::<V4>(b"G,1,1,02:00,01,10.0.0.1,02:00").is_err());
    }

    fn a_bad_line_names_its_address<F: SharedLeaseFamily + SampleFamily>() {
        let lease = lease::<F>(3, 60, LeaseState::Assigned);
        let expected = F::octets_of(lease.address);
        let identity = F::borrow(F::client(3));
        let action = Action::Lease(F::terms(60, 1, ""));
        let change = Change { identity, address: lease.address, expected_version: 0, action };
        // Letter, client and address, and no value after them.
        for (cause, values) in [(Cause::Change(&change), 6), (Cause::Put, 3)] {
            let mut text = Vec::new();
            write::<F>(&cause, &lease.row(), &mut text);
            let line: Vec<&[u8]> = text.split(|&octet| octet == b',').take(values).collect();
            let line = line.join(&b',');
            assert!(read::<F>(&line).is_err());
            assert_eq!(address_of(&line), Some(expected));
        }
        assert_eq!(address_of(b"G,1,"), None);
    }

    #[test]
    fn a_line_that_cannot_be_read_tells_its_address() {
        a_bad_line_names_its_address::<V4>();
        a_bad_line_names_its_address::<V6>();
    }

    #[test]
    fn a_released_lease_is_kept_when_it_says_so() {
        let write_request =
            |kind, state| Write::<V4> { kind, client: None, lease: lease::<V4>(1, 0, state) };
        assert!(!write_request(LeaseRequestKind::Release, LeaseState::Released).is_deletion());
        assert!(write_request(LeaseRequestKind::Release, LeaseState::Assigned).is_deletion());
        assert!(write_request(LeaseRequestKind::End, LeaseState::Released).is_deletion());
    }
}
