//! Features of procedural macros are chosen apart from those of other crates, by whoever has them as
//! a dependency of a build script.

fn main() {}
