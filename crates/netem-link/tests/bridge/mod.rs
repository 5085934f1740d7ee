//! Tests of links between network namespaces of the test's own: they compare the packets that
//! arrive with the link's report. Bounds on time are lower ones only, because a busy machine may
//! take longer.

mod dccp;
mod frames;
mod namespaces;
mod streams;
mod tun;
mod udp;
