//! Build script, which exists for its dependencies: Cargo chooses features of procedural macros
//! apart from those of other crates, by the crates that have them as a dependency of a build
//! script.

fn main() {}
