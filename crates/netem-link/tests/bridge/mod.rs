//! Tests of links between namespaces of their own: the packets that arrive, against the link's
//! report. Bounds on time are lower ones only.

mod dccp;
mod frames;
mod namespaces;
mod streams;
mod tun;
mod udp;
