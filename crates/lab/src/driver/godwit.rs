//! Godwit's own DHCP server, started like any other.

use measure::plan::{ServerDurability, ServerFeature};
use serde_json::json;
use testbed::CommandLine;

use super::deployment::{
    PreparedServer, ServerDeployment, common_configuration, confined, lease_file, reported_version,
    with_ports, write_configuration,
};
use crate::error::LabError;

pub(super) fn prepare(
    durability: ServerDurability,
    place: &ServerDeployment,
) -> Result<PreparedServer, LabError> {
    let mut configuration = common_configuration(place);
    // A client that comes again is renewed with a row, as by servers that do not cache leases.
    if place.feature != ServerFeature::ChattyCached {
        configuration["cache-threshold"] = json!(0.0);
    }
    if place.feature == ServerFeature::PolledSubnets {
        // The number of the DHCP port, for TCP.
        configuration["control-sockets"] = json!([{
            "socket-type": "http",
            "socket-address": place.address.ip(),
            "socket-port": place.address.port()
        }]);
    }
    let mut own = json!({ "durability": durability.name() });
    if place.feature == ServerFeature::Segmentation {
        own["segmentation"] = json!(true);
    }
    if let Some(bytes) = place.feature.receive_buffer_bytes() {
        own["receive-buffer-bytes"] = json!(bytes);
    }
    if place.feature.threads() > 1 {
        own["shards"] = json!(place.feature.threads());
    }
    if let Some(store) = place.store.godwit_settings() {
        own["lease-database"] = store;
    }
    configuration["user-context"] = json!({ "godwit": own });
    let path = write_configuration(place, &configuration)?;
    let server = place.family.protocol.name();
    let mut command = confined(
        CommandLine::new(place.godwit.to_string_lossy()).args([server, "-c", &path]),
        &place.folder,
    );
    if place.feature == ServerFeature::PolledSubnets {
        // Only the poller reaches the socket.
        command = command.args(["-X"]);
    }
    Ok(PreparedServer {
        command: with_ports(command, place),
        lease_file: lease_file(place),
        version: reported_version(&place.godwit, "--version"),
        reads_frames: false,
    })
}
