//! Links between namespaces of the test's own: what really arrives, against what the link says.
//! Bounds on time are lower ones only.

mod dccp;
mod frames;
mod scene;
mod streams;
mod tun;
mod udp;
