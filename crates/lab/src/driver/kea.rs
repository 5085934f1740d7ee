//! Drivers of Debian's packages of Kea, that of this machine and that of Debian 13: in the
//! foreground, with folders of their own, never as a service of the system.
//!
//! They get the settings that Kea's manual recommends for speed: threads by the lease store, no
//! lookup of reservations where there are none, no log lines per packet, no lease file cleanup
//! (`lfc-interval` 0) in the middle of a trial.

use std::path::{Path, PathBuf};

use measure::plan::{LeaseStoreKind, ServerFeature};
use serde_json::{Value, json};
use testbed::command::require_program;
use testbed::{CommandLine, Debian13, debian};

use super::deployment::{
    CONFIGURATION, PreparedServer, ServerDeployment, common_configuration, confined, lease_file,
    reported_version, with_ports, write_configuration, write_configuration_for_folder,
};
use super::features;
use crate::error::{LabError, LabResult};
use crate::family::AddressFamily;
use crate::subject::KeaVersion;

/// Returns the number of Kea's threads (`thread-pool-size`) and of packets in their queue
/// (`packet-queue-size`) for `store`: for databases the values that Kea's manual found best, and
/// for memfile the manual's threads with a longer queue.
const fn threads(store: LeaseStoreKind) -> (u32, u32) {
    match store {
        LeaseStoreKind::Memfile | LeaseStoreKind::Sqlite => (4, 4 * 28),
        LeaseStoreKind::Mysql => (12, 12 * 66),
        LeaseStoreKind::Postgresql => (8, 8 * 11),
    }
}

pub(super) fn program(version: AddressFamily) -> LabResult<PathBuf> {
    let name = program_name(version);
    Ok(PathBuf::from(require_program(name, &format!("{name}-server"))?))
}

const fn program_name(version: AddressFamily) -> &'static str {
    match version {
        AddressFamily::V4 => "kea-dhcp4",
        AddressFamily::V6 => "kea-dhcp6",
    }
}

/// Returns the root folder with an installed Debian 13 that has Kea's server for `version`.
pub(super) fn debian_13(version: AddressFamily) -> LabResult<Debian13> {
    let debian = Debian13::find().filter(|debian| debian.program(program_name(version)).is_some());
    debian.ok_or_else(|| {
        LabError::Failed(
            "there is no root folder of Debian 13 with Kea 3: `cargo xtask test setup` makes it as \
             target/debian-13; the variable GODWIT_DEBIAN_13 can name another folder"
                .to_owned(),
        )
    })
}

pub(super) fn prepare(
    version: KeaVersion,
    multi_threaded: bool,
    deployment: &ServerDeployment,
) -> LabResult<PreparedServer> {
    match version {
        KeaVersion::Installed => prepare_installed(multi_threaded, deployment),
        KeaVersion::Debian13 => prepare_debian_13(multi_threaded, deployment),
    }
}

fn prepare_installed(
    multi_threaded: bool,
    deployment: &ServerDeployment,
) -> LabResult<PreparedServer> {
    let program = program(deployment.family.version())?;
    let path = write_configuration(deployment, &configuration(multi_threaded, deployment))?;
    let command = confined(
        CommandLine::new(program.to_string_lossy()).args(["-c", &path]),
        &deployment.folder,
    );
    Ok(PreparedServer {
        command: with_ports(command, deployment),
        lease_file: lease_file(deployment),
        version: reported_version(&program, "-v"),
        reads_frames: false,
    })
}

/// Prepares Kea 3, which sees the measured server's folder as its own folders for leases and logs,
/// and needs a hook library for each kind of database.
fn prepare_debian_13(
    multi_threaded: bool,
    deployment: &ServerDeployment,
) -> LabResult<PreparedServer> {
    let name = program_name(deployment.family.version());
    let debian = debian_13(deployment.family.version())?;
    let inner = ServerDeployment { folder: debian::LEASES.into(), ..deployment.clone() };
    let mut configuration = configuration(multi_threaded, &inner);
    configuration["loggers"][0]["output_options"][0]["output"] =
        json!(format!("{}/server.log", debian::LOGS));
    let library = match deployment.store.store() {
        LeaseStoreKind::Mysql => Some("libdhcp_mysql.so"),
        LeaseStoreKind::Postgresql => Some("libdhcp_pgsql.so"),
        LeaseStoreKind::Memfile | LeaseStoreKind::Sqlite => None,
    };
    if let Some(library) = library {
        configuration["hooks-libraries"] = json!([{ "library": library }]);
    }
    if deployment.feature == ServerFeature::RunScript {
        let name = Path::new(features::SCRIPT_FILE).file_name().unwrap_or_default();
        let script = Path::new(debian::SCRIPTS).join(name);
        configuration["hooks-libraries"][0]["parameters"]["name"] = json!(script.to_string_lossy());
    }
    write_configuration_for_folder(&inner.folder, deployment, &configuration)?;
    let path = inner.folder.join(CONFIGURATION);
    let command = debian.command(&deployment.folder, name).args(["-c", &path.to_string_lossy()]);
    Ok(PreparedServer {
        command: with_ports(command, deployment),
        lease_file: lease_file(deployment),
        version: debian.version(name),
        reads_frames: false,
    })
}

fn configuration(multi_threaded: bool, deployment: &ServerDeployment) -> Value {
    let mut configuration = common_configuration(deployment);
    let (threads, best_packets) = threads(deployment.store.store());
    let queue_packets = deployment.feature.queue_packets().unwrap_or(best_packets);
    configuration["multi-threading"] = json!({
        "enable-multi-threading": multi_threaded,
        "thread-pool-size": threads,
        "packet-queue-size": queue_packets
    });
    if !deployment.feature.has_reservations() {
        configuration["reservations-global"] = json!(false);
        configuration["reservations-in-subnet"] = json!(false);
    }
    configuration
}
