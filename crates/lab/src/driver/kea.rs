//! Debian's Kea as the lab runs it: in the foreground, with its own folders, never as a service of
//! the system.
//!
//! It gets the settings that its manual recommends for speed: threads by its store, no lookup of reservations where there
//! are none, no log lines per packet, no clean-up process in the middle of a trial.

use std::path::PathBuf;

use measure::plan::Store;
use serde_json::json;
use testbed::CommandLine;
use testbed::command::require_program;

use super::{
    Place, Prepared, common_configuration, confined, lease_file, version_of, with_ports,
    write_configuration,
};
use crate::error::LabError;
use crate::family::Version;

/// Threads and packets in the queue per store: what Kea's manual found best for databases, and for
/// memfile its threads with a longer queue.
const fn threads(store: Store) -> (u32, u32) {
    match store {
        Store::Memfile | Store::Sqlite => (4, 4 * 28),
        Store::Mysql => (12, 12 * 66),
        Store::Postgresql => (8, 8 * 11),
    }
}

pub(super) fn program(version: Version) -> Result<PathBuf, LabError> {
    let (program, package) = match version {
        Version::V4 => ("kea-dhcp4", "kea-dhcp4-server"),
        Version::V6 => ("kea-dhcp6", "kea-dhcp6-server"),
    };
    Ok(PathBuf::from(require_program(program, package)?))
}

pub(super) fn prepare(multi_threaded: bool, place: &Place) -> Result<Prepared, LabError> {
    let program = program(place.family.version())?;
    let mut configuration = common_configuration(place);
    let (threads, best_packets) = threads(place.store.store());
    let queue_packets = place.feature.queue_packets().unwrap_or(best_packets);
    configuration["multi-threading"] = json!({
        "enable-multi-threading": multi_threaded,
        "thread-pool-size": threads,
        "packet-queue-size": queue_packets
    });
    if !place.feature.has_reservations() {
        configuration["reservations-global"] = json!(false);
        configuration["reservations-in-subnet"] = json!(false);
    }
    let path = write_configuration(place, &configuration)?;
    let command =
        confined(CommandLine::new(program.to_string_lossy()).args(["-c", &path]), &place.folder);
    Ok(Prepared {
        command: with_ports(command, place),
        lease_file: lease_file(place),
        version: version_of(&program, "-v"),
        reads_frames: false,
    })
}
