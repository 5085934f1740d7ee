//! The conformance cases, one function each, named by the case with its section of RFC 4340 (or the
//! RFC that is named) in the comment: a scripted tester T against the connection D on a virtual
//! clock. Cases of feature negotiation, Ack Vectors and congestion control that need no connection
//! are tests beside that code, under the same names.

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
