//! Dependencies only: third-party crates with all features that any crate of the workspace chooses
//! for them.
//!
//! Every crate depends on this one for its tests. Cargo then builds the same for `cargo test -p
//! CRATE` as for the whole workspace, and builds no crate twice. `cargo xtask tidy` names the
//! features that are missing here.
