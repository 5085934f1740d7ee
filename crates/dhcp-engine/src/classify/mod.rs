//! Client classes: who is in which, found out for each message by tests that were compiled when the
//! configuration was loaded.
//!
//! [`Classes`] gives every name that matters a [`ClassIndex`] and fills a [`ClassSet`] in the order in
//! which Kea assigns classes; a [`Guard`] asks it. What tests see of a message is a [`PacketView`].
//! The language is `dhcp_config::expression`'s. An expression without a value for a message, such as
//! `uint8totext` of two octets, keeps the message out of the class; nothing is logged.
//!
//! On the way of a message nothing is allocated once the [`Workspace`] has grown: each term is read
//! once, each text is made once, and classes whose tests demand that a text is some constant are
//! found by one look-up of that text.

mod classes;
mod compile;
mod dependence;
mod form;
mod guard;
mod names;
mod pass;
mod printed;
mod program;
mod set;
mod texts;
mod v4;
mod v6;
mod view;
mod workspace;

pub use classes::{Classes, StringProgram};
pub use guard::Guard;
pub use set::{ClassIndex, ClassSet};
pub use v4::PacketView4;
pub use v6::PacketView6;
pub use view::PacketView;
pub use workspace::Workspace;
