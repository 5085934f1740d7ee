//! Messages between the lab and a copy of itself on another machine: lines of JSON, an answer to
//! every order.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Order of the lab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RemoteOrder {
    /// Request for the time there.
    Clock,
    /// Order to write a file.
    Put(Copy),
    /// Order to remove a folder with its content.
    Clear(String),
    /// Request for the files in a folder, without its subfolders.
    Get(String),
}

/// Answer of the other side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RemoteAnswer {
    /// Greeting, once, before any order.
    Hello(Hello),
    /// Monotonic clock, in nanoseconds.
    Clock(u64),
    /// Confirmation that an order was carried out.
    Done,
    /// Files that were requested; the paths are names.
    Files(Vec<Copy>),
    /// Failed action, and its cause.
    Failed(String),
}

/// Description of the other side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hello {
    /// Version of the program.
    pub(super) version: String,
    /// Processors that it may use.
    pub(super) processors: Vec<usize>,
    /// Folder of its own, which it removes at the end.
    pub(super) folder: String,
    /// Interfaces with their addresses.
    pub(super) interfaces: Vec<(String, Vec<IpAddr>)>,
}

/// Text file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Copy {
    pub(super) path: String,
    pub(super) text: String,
}
