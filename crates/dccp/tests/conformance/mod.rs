//! Conformance cases, one function each, named by the case. The comment has the section of RFC 4340
//! (or of another RFC that it names). A scripted tester T runs against the connection D on a
//! virtual clock. Cases of feature negotiation, Ack Vectors and congestion control that need no
//! connection are unit tests next to that code, under the same names.

mod acknowledgements;
mod checksums;
mod closing;
mod endpoints;
mod handshake;
mod headers;
mod options;
mod other_stacks;
mod sequences;
mod world;
