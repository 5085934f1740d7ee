//! The integration tests of `godwit`, one program: a module for each subject.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod advise;
mod chromium;
mod clients;
mod clients6;
mod coming_from_kea;
mod common;
mod compare;
mod control;
mod counters;
mod crash;
mod daemon;
mod daemon6;
mod daemon_keys;
mod database_lost;
mod databases;
mod dccp;
mod differ;
mod direct;
mod disk_full;
mod dns;
mod dns_zone;
mod durability_trace;
mod generator;
mod hostile;
mod hosts_databases;
mod kea3;
mod kea_manual;
mod kea_switch;
mod keys_matter;
mod lab;
mod many_leases;
mod netem;
mod outbound;
mod output;
mod perfdhcp;
mod perfdhcp6;
mod results;
mod scenarios;
mod security;
mod serve;
mod statistics;
mod stored;
mod subjects;
mod trafgen;
