//! Leases: what one is, which slot of the shared table owns an address, how a client's slots are
//! found again, which address is given next, and the contract that every lease store keeps.
//!
//! The address slot decides ownership. Indexes by client identity are hints that lead to slots and
//! are verified there. Stores (`dhcp-store`) add durability; this crate does no I/O and reads no
//! clock. RFCs to have read: 2131 §2.2, §4.3; 2132 §9.14; 4361.

pub mod identity;
pub mod v4;

pub use identity::{ClientId, HardwareAddress, Identity};
