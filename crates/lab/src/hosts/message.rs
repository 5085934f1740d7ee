//! What the lab and a copy of itself on another machine say to each other: lines of JSON, an answer to every
//! order.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// What the lab wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// What time it is there.
    Clock,
    /// A file is to be written.
    Put(Copy),
    /// A folder is to be removed, with all that is in it.
    Clear(String),
    /// The files in a folder, not those in folders of it.
    Get(String),
}

/// What the other side says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// Once, before any order.
    Hello(Hello),
    /// Its monotonic clock, nanoseconds.
    Clock(u64),
    /// It has been done.
    Done,
    /// What was asked for; the paths are names.
    Files(Vec<Copy>),
    /// What was tried, and what kept it from being done.
    Failed(String),
}

/// Who is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hello {
    /// Its version.
    pub(super) version: String,
    /// The processors that it may use.
    pub(super) processors: Vec<usize>,
    /// A folder of its own, which it removes at the end.
    pub(super) folder: String,
    /// Its interfaces with their addresses.
    pub(super) interfaces: Vec<(String, Vec<IpAddr>)>,
}

/// A file of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Copy {
    pub(super) path: String,
    pub(super) text: String,
}
