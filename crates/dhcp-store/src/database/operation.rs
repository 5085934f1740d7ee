//! What the writer is to do, as lines of text: made by the shards without allocation, read by the
//! thread that has the time. A line is a letter, the client, and the row as in a lease file.

use dhcp_lease::LeaseState;
use dhcp_lease::contract::{ASKED_MAX, Action, FetchKeys};

use super::family::{ADDRESS_MAX, Shared};
use crate::memfile::{RowFault, Values, append_line, newest};
use crate::store::Cause;

/// What is wanted of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// The client is to have it.
    Give,
    /// The client gave it back.
    Release,
    /// The client found it in use.
    Decline,
    /// It has run out.
    End,
    /// An operator wants it so.
    Put,
    /// An operator wants it gone.
    Remove,
}

impl Want {
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

    fn of_letter(letter: u8) -> Option<Self> {
        [Self::Give, Self::Release, Self::Decline, Self::End, Self::Put, Self::Remove]
            .into_iter()
            .find(|want| want.letter() == letter)
    }

    /// What `cause` wants.
    pub fn of<F: Shared>(cause: &Cause<'_, '_, F>) -> Self {
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

/// One line, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation<F: Shared> {
    /// A lease is to be written.
    Write(Write<F>),
    /// What is known of a client, and of these addresses?
    Ask(F::Client, Vec<F::Address>),
}

/// A lease that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write<F: Shared> {
    /// What is wanted.
    pub want: Want,
    /// Who asks; `None` when it is not a client.
    pub client: Option<F::Client>,
    /// The lease as it is afterwards.
    pub lease: F::Lease,
}

impl<F: Shared> Write<F> {
    /// Whether there is no lease afterwards.
    pub fn is_deletion(&self) -> bool {
        let times = F::times(&self.lease);
        match self.want {
            Want::Remove => true,
            // Given back, and remembered for its client.
            Want::Release => times.state != LeaseState::Released,
            _ => times.valid_lifetime_s == 0,
        }
    }
}

/// Appends the line of a lease that is `row` because of `cause`.
pub fn write<F: Shared>(cause: &Cause<'_, '_, F>, row: &F::Row<'_>, out: &mut Vec<u8>) {
    let identity = match cause {
        Cause::Change(change) => Some(&change.identity),
        _ => None,
    };
    let most = 4 + identity.map_or(0, F::most_of_client) + F::most(row);
    append_line(out, most, |line| {
        line.put(&[Want::of(cause).letter(), b',']);
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

/// Appends the line that asks for what `keys` look for.
pub fn ask<F: Shared>(keys: &FetchKeys<'_, F>, out: &mut Vec<u8>) {
    let most = 4 + F::most_of_client(&keys.identity) + ASKED_MAX * ADDRESS_MAX;
    append_line(out, most, |line| {
        line.put(b"?,");
        F::fill_client(&keys.identity, line);
        for address in keys.addresses.iter().flatten() {
            F::fill_address(*address, line);
        }
    });
}

/// Reads a line, given without its end.
///
/// # Errors
///
/// The first fault met.
pub fn read<F: Shared>(line: &[u8]) -> Result<Operation<F>, RowFault> {
    let mut values = Values::new(line);
    let letter = values.next("operation").octet()?;
    if letter == b'?' {
        let client = F::parse_client(&mut values)?;
        let mut addresses = Vec::new();
        while !values.has_ended() {
            addresses.push(F::parse_address(&mut values)?);
        }
        return Ok(Operation::Ask(client, addresses));
    }
    let want = Want::of_letter(letter).ok_or(RowFault::Value("operation"))?;
    let has_client = values.next("client").flag()?;
    let client = if has_client { Some(F::parse_client(&mut values)?) } else { None };
    let lease = F::parse(&mut values)?;
    Ok(Operation::Write(Write { want, client, lease }))
}
