//! Integration tests of `dhcp-config`, one program: a module for each subject.

mod advise;
mod checks;
mod checks6;
mod classes;
mod common;
mod definitions;
mod dialect;
mod document;
mod examples;
mod growth;
mod inheritance;
mod inheritance6;
mod keys;
mod lenient;
mod mutation;
mod options;
mod options6;
mod reservations;
mod resolvers;
mod security;
mod shipped;
