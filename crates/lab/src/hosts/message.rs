//! Messages between the lab and a copy of itself on another machine: lines of JSON, an answer to
//! every order.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Order of the lab to its copy on another machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RemoteOrder {
    /// Request for the other machine's monotonic time.
    Clock,
    /// Order to write a file in the session's folder.
    Put(Copy),
    /// Order to remove a folder of the session with its content.
    Clear(String),
    /// Request for the files in a folder of the session, without its subfolders.
    Get(String),
}

/// Answer of the lab's copy on another machine to an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RemoteAnswer {
    /// Greeting of the copy, sent once, before any order.
    Hello(Hello),
    /// Monotonic time of the other machine, in nanoseconds.
    Clock(u64),
    /// Confirmation that the copy of the lab carried out an order.
    Done,
    /// Files that the lab requested; their paths are names.
    Files(Vec<Copy>),
    /// Failure of an action on the other machine, with its cause.
    Failed(String),
}

/// Description of the other machine and the copy of the lab there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hello {
    /// Version of the program `godwit` on the other machine.
    pub(super) version: String,
    /// Processors that the copy of the lab may use.
    pub(super) processors: Vec<usize>,
    /// Path of the session's folder, which the copy of the lab removes at the end.
    pub(super) folder: String,
    /// Interfaces of the other machine with their addresses.
    pub(super) interfaces: Vec<(String, Vec<IpAddr>)>,
}

/// Text file that the lab copies to or from another machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Copy {
    pub(super) path: String,
    pub(super) text: String,
}
