//! Links between namespaces of the test's own: what really arrives, against what the link says.
//! Bounds on time are lower ones only.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod dccp;
mod frames;
mod scene;
mod streams;
mod tun;
mod udp;
