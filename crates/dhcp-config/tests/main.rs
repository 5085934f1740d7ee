//! Integration tests of `dhcp-config`, one program: a module for each subject.

mod advise;
mod checks;
mod checks6;
mod classes;
mod common;
mod ddns;
mod definitions;
mod dialect;
mod document;
mod examples;
mod growth;
mod high_availability;
mod inheritance;
mod inheritance6;
mod keys;
mod lease_query;
mod legal_log;
mod lenient;
mod mutation;
mod names;
mod options;
mod options6;
mod reservations;
mod resolvers;
mod security;
mod shipped;
