//! Program `godwit`: translates flags of the command line to calls, nothing else.

#[macro_use]
mod flag_values;

mod advise;
mod capacity;
mod cli;
mod completions;
mod convert;
mod db;
mod ddns;
mod dhcp;
mod dhcp_check;
mod events;
mod help;
mod kea_admin;
mod kea_lfc;
mod kea_shell;
mod keactrl;
mod lab;
mod man;
mod missing_switches;
mod netem;
mod output;
mod schema;
mod signals;
mod ubench;

use std::panic::{set_hook, take_hook};
use std::process::{ExitCode, abort};

fn main() -> ExitCode {
    abort_on_panic();
    cli::run(std::env::args_os())
}

/// Sets a hook that ends the process when any thread panics, so that no panic goes unnoticed.
/// Servers, which can abandon a single piece of work, set their own hook
/// (`docs/design/024-panics.md`).
fn abort_on_panic() {
    let print = take_hook();
    set_hook(Box::new(move |panic| {
        print(panic);
        abort();
    }));
}
