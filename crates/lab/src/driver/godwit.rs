//! Driver of Godwit's own DHCP server, which the lab starts as a process like any other server.

use measure::plan::{ServerDurability, ServerFeature};
use serde_json::json;
use testbed::CommandLine;

use super::deployment::{
    PreparedServer, ServerDeployment, common_configuration, confined, lease_file, reported_version,
    with_ports, write_configuration,
};
use crate::error::LabResult;

/// UDP port of loopback at which no DNS server runs.
const NO_DNS_PORT: u16 = 5_399;

pub(super) fn prepare(
    durability: ServerDurability,
    deployment: &ServerDeployment,
) -> LabResult<PreparedServer> {
    let mut configuration = common_configuration(deployment);
    // A client that comes again is renewed with a row, as by servers that do not cache leases.
    if deployment.feature != ServerFeature::ChattyCached {
        configuration["cache-threshold"] = json!(0.0);
    }
    if deployment.feature == ServerFeature::PolledSubnets {
        // The number of the DHCP port, for TCP.
        configuration["control-sockets"] = json!([{
            "socket-type": "http",
            "socket-address": deployment.address.ip(),
            "socket-port": deployment.address.port()
        }]);
    }
    let mut own = json!({ "durability": durability.name() });
    if deployment.feature == ServerFeature::Segmentation {
        own["segmentation"] = json!(true);
    }
    if let Some(bytes) = deployment.feature.receive_buffer_bytes() {
        own["receive-buffer-bytes"] = json!(bytes);
    }
    if deployment.feature.threads() > 1 {
        own["shards"] = json!(deployment.feature.threads());
    }
    if deployment.feature == ServerFeature::LocalNames {
        own["local-names"] = json!({ "domain": "lab.example" });
    }
    if deployment.feature == ServerFeature::DdnsInside {
        let servers = json!([{ "ip-address": "127.0.0.1", "port": NO_DNS_PORT }]);
        let zone = |name: &str| json!([{ "name": name, "dns-servers": servers }]);
        own["ddns"] = json!({
            "forward-ddns": { "ddns-domains": zone("lab.example.") },
            "reverse-ddns": { "ddns-domains": zone("arpa.") }
        });
    }
    if let Some(store) = deployment.store.godwit_settings() {
        own["lease-database"] = store;
    }
    configuration["user-context"] = json!({ "godwit": own });
    let path = write_configuration(deployment, &configuration)?;
    let server = deployment.family.protocol.name();
    let mut command = confined(
        CommandLine::new(deployment.godwit.to_string_lossy()).args([server, "-c", &path]),
        &deployment.folder,
    );
    if deployment.feature == ServerFeature::PolledSubnets {
        // Only the poller reaches the socket.
        command = command.args(["-X"]);
    }
    Ok(PreparedServer {
        command: with_ports(command, deployment),
        lease_file: lease_file(deployment),
        version: reported_version(&deployment.godwit, "--version"),
        reads_frames: false,
    })
}
