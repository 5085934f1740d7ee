//! Integration tests of `dhcp-ha`, one program: a module for each subject.

mod backups;
mod copies;
mod recovery;
mod requests;
mod serving_copies;
mod states;
mod status;
mod world;
mod world_changes;
mod world_server;
mod worlds;
