//! Client classes: tests that the server compiles when it loads the configuration find the classes
//! of each message.
//!
//! [`Classes`] gives every name that matters a [`ClassIndex`] and fills a [`ClassSet`] in the order
//! in which Kea assigns classes; a [`Guard`] reads the set. Tests see a message as a
//! [`PacketView`]. The language is that of Kea's class expressions, parsed by
//! `dhcp_config::expression`. An expression without a value for a message, such as `uint8totext` of
//! two bytes, excludes the message from the class; the server logs nothing.
//!
//! The classification of a message allocates nothing once the [`Workspace`] has grown: each term is
//! read once, each text is made once, and one look-up of a text finds the classes whose tests
//! require that the text is some constant.

mod classes;
mod compile;
mod dependence;
mod form;
mod guard;
mod names;
mod pair;
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
pub(crate) use dependence::visit_members;
pub use guard::Guard;
pub use set::{ClassIndex, ClassSet};
pub use v4::PacketView4;
pub use v6::PacketView6;
pub use view::PacketView;
pub use workspace::Workspace;
