//! Sender of updates to another server of the relationship.

use std::time::Duration;

use dhcp_config::{HaPeer, HaRelationship};
use dhcp_control::{CommandFamily, IpVersion};
use dhcp_ha::{
    PartnerView, UpdateVerdict, bulk_apply, bulk_apply_rows, bulk_verdicts, lease_command,
    lease_verdict, update_of,
};
use dhcp_lease::{Lease, LeaseState};
use serde_json::Value;

use super::connections::PartnerConnections;
use super::request_to;
use crate::http_client::CommandRequest;
use crate::leases::row_of_lease;
use crate::service::DaemonFamily;

/// Result code of a command that is refused as a whole.
const ERROR: i64 = 1;
/// Result code of a command that the other server does not know.
const UNKNOWN_COMMAND: i64 = 2;

/// Form in which another server takes updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpdateForm {
    /// Each lease in a command of its own, as Kea's DHCPv4 servers take them.
    Alone,
    /// Several leases in one command, as Kea's DHCPv6 servers take them.
    Together,
    /// Several leases in one command, as rows of a lease file, for servers of this make.
    Rows,
}

impl UpdateForm {
    /// Returns the form for the partner as its heartbeats show it.
    pub(super) fn of_partner(partner: &PartnerView, version: IpVersion) -> Self {
        if partner.takes_lease_rows { Self::Rows } else { Self::of_backup(version) }
    }

    /// Returns the form for a backup server, whose make is not known.
    pub(super) const fn of_backup(version: IpVersion) -> Self {
        match version {
            IpVersion::V4 => Self::Alone,
            IpVersion::V6 => Self::Together,
        }
    }
}

/// Change of a lease that another server does not have yet.
#[derive(Clone, Debug)]
pub(super) struct PendingUpdate<P: DaemonFamily> {
    /// Lease after the change, or the deleted one.
    pub(super) lease: Lease<P>,
    pub(super) is_deletion: bool,
    /// Epochs whose replies depend on the change.
    pub(super) epochs: Vec<u64>,
}

impl<P: DaemonFamily> PendingUpdate<P> {
    /// Creates the update of a lease, on which no reply depends yet. A lease that has ended is
    /// deleted, as is one that its client has released if `is_old`: Kea before 2.7 refuses the
    /// state of released leases.
    pub(super) fn of_lease(lease: &Lease<P>, is_old: bool) -> Self {
        let is_released = lease.state == LeaseState::Released;
        let is_deletion = lease.state.is_past() && (is_old || !is_released);
        Self { lease: lease.clone(), is_deletion, epochs: Vec::new() }
    }

    /// Returns the address as commands show it.
    pub(super) fn address(&self) -> String {
        <P as CommandFamily>::ip(self.lease.address).to_string()
    }

    /// Returns true if the update reports a released lease that the server keeps.
    pub(super) fn is_release(&self) -> bool {
        self.lease.state == LeaseState::Released && !self.is_deletion
    }

    /// Returns the identity of the client, for counts of refused clients.
    pub(super) fn client(&self) -> String {
        let fields = P::to_json(&self.lease);
        ["duid", "hw-address", "client-id"].map(|key| fields[key].to_string()).join(" ")
    }

    /// Returns the lease in the form of an update.
    fn fields(&self) -> Value {
        update_of(P::to_json(&self.lease))
    }
}

/// Sender of updates to one server, with its connections.
pub(super) struct UpdateSender {
    peer: HaPeer,
    timeout: Duration,
    connections: PartnerConnections,
}

impl UpdateSender {
    /// Creates the sender of updates to `peer`, without a connection.
    pub(super) fn new(peer: &HaPeer, config: &HaRelationship) -> Self {
        let limit_ms = config.limits.response_ms.clamp(1_000, 10_000);
        let connections = PartnerConnections::new(config.client_connections);
        Self { peer: peer.clone(), timeout: Duration::from_millis(limit_ms.into()), connections }
    }

    /// Returns the request to the server without a command.
    fn request(&self) -> Result<CommandRequest, String> {
        Ok(CommandRequest { timeout: self.timeout, ..request_to(&self.peer)? })
    }

    /// Sends `updates` once in `form`, and returns the verdict about each, or the reason why there
    /// is none.
    pub(super) fn send<P: DaemonFamily>(
        &mut self,
        updates: &[PendingUpdate<P>],
        form: UpdateForm,
    ) -> Vec<Result<UpdateVerdict, String>> {
        let request = match self.request() {
            Ok(request) => request,
            Err(reason) => return updates.iter().map(|_| Err(reason.clone())).collect(),
        };
        let all = || updates.iter().collect::<Vec<_>>();
        match form {
            UpdateForm::Alone => self.send_each(&request, &all()),
            UpdateForm::Together => self.send_together(&request, false, &all()),
            UpdateForm::Rows => self.send_rows(&request, updates),
        }
    }

    /// Sends each of the updates to a DHCPv4 partner.
    fn send_each<P: DaemonFamily>(
        &mut self,
        request: &CommandRequest,
        updates: &[&PendingUpdate<P>],
    ) -> Vec<Result<UpdateVerdict, String>> {
        let body = |one: &&PendingUpdate<P>| lease_command(one.fields(), one.is_deletion);
        let bodies = updates.iter().map(|one| body(one).to_string()).collect();
        let answers = self.connections.send_all(request, bodies);
        answers.into_iter().map(|answer| Ok(lease_verdict(&answer?))).collect()
    }

    /// Sends the deletions in one command and the other updates in another one. Their order does
    /// not matter, since no address has two updates.
    fn send_rows<P: DaemonFamily>(
        &mut self,
        request: &CommandRequest,
        updates: &[PendingUpdate<P>],
    ) -> Vec<Result<UpdateVerdict, String>> {
        let (deleted, kept): (Vec<_>, Vec<_>) = updates.iter().partition(|one| one.is_deletion);
        let mut of_deleted = self.send_together(request, false, &deleted).into_iter();
        let mut of_kept = self.send_together(request, true, &kept).into_iter();
        let verdict = |one: &PendingUpdate<P>| {
            let verdicts = if one.is_deletion { &mut of_deleted } else { &mut of_kept };
            verdicts.next().unwrap_or_else(|| Err("the update was not sent".to_owned()))
        };
        updates.iter().map(verdict).collect()
    }

    /// Sends the updates in one command, as rows or as fields. If the partner refuses the command
    /// as a whole, or is DHCPv4 and does not know it, each lease goes alone; a row that is refused
    /// alone goes as fields.
    fn send_together<P: DaemonFamily>(
        &mut self,
        request: &CommandRequest,
        as_rows: bool,
        updates: &[&PendingUpdate<P>],
    ) -> Vec<Result<UpdateVerdict, String>> {
        if updates.is_empty() {
            return Vec::new();
        }
        let service = P::VERSION.service();
        let kept = updates.iter().filter(|one| !one.is_deletion);
        let body = if as_rows {
            let rows: Vec<String> = kept.map(|one| row_of_lease(&one.lease)).collect();
            bulk_apply_rows(service, &rows)
        } else {
            let leases: Vec<Value> = kept.map(|one| one.fields()).collect();
            let deleted = updates.iter().filter(|one| one.is_deletion);
            let deleted: Vec<Value> = deleted.map(|one| one.fields()).collect();
            bulk_apply(service, &leases, &deleted)
        };
        let answer = self.connections.send_all(request, vec![body]).pop();
        let answer = answer.unwrap_or_else(|| Err("the request was not sent".to_owned()));
        let answer = match answer {
            Ok(answer) => answer,
            Err(reason) => return updates.iter().map(|_| Err(reason.clone())).collect(),
        };
        match (answer.code, P::VERSION) {
            (ERROR, _) if updates.len() > 1 => {
                let alone = updates.chunks(1);
                alone.flat_map(|one| self.send_together(request, as_rows, one)).collect()
            }
            (ERROR | UNKNOWN_COMMAND, IpVersion::V4) => self.send_each(request, updates),
            (ERROR, IpVersion::V6) if as_rows => self.send_together(request, false, updates),
            _ => {
                let address =
                    |index: usize| updates.get(index).map_or_else(String::new, |one| one.address());
                bulk_verdicts(&answer, updates.len(), address).into_iter().map(Ok).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
    use std::sync::{Arc, Mutex};

    use base::HostName;
    use dhcp_config::HaRole;
    use dhcp_lease::v4::V4;
    use dhcp_lease::v6::{Resource, V6};
    use dhcp_lease::{ClientId, HardwareAddress};
    use serde_json::json;

    use super::*;

    /// Answers the commands that come over a connection with the results of `answer`, and adds
    /// them to `commands`.
    fn serve(stream: TcpStream, commands: &Mutex<Vec<Value>>, answer: fn(&Value) -> Value) {
        let mut reader = BufReader::new(stream);
        loop {
            let mut len = 0;
            let mut line = String::new();
            while line != "\r\n" {
                line.clear();
                if reader.read_line(&mut line).unwrap_or(0) == 0 {
                    return;
                }
                let line = line.to_ascii_lowercase();
                if let Some(text) = line.strip_prefix("content-length:") {
                    len = text.trim().parse().expect("the client is sound");
                }
            }
            let mut body = vec![0; len];
            reader.read_exact(&mut body).expect("the client sends the body");
            let command = serde_json::from_slice(&body).expect("the body is JSON");
            let text = json!([answer(&command)]).to_string();
            commands.lock().unwrap().push(command);
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", text.len());
            let mut stream = reader.get_ref();
            stream.write_all((head + &text).as_bytes()).expect("the client reads the answer");
        }
    }

    /// Returns the verdicts of a partner that gives the results of `answer` about updates of the
    /// addresses that end with 1 to 3, of which the second one is a deletion, and its commands.
    fn sent<P: DaemonFamily>(
        lease_of: fn(u8) -> Lease<P>,
        answer: fn(&Value) -> Value,
    ) -> (Vec<Result<UpdateVerdict, String>>, Vec<Value>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let commands = Arc::<Mutex<Vec<Value>>>::default();
        let of_server = Arc::clone(&commands);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let commands = Arc::clone(&of_server);
                std::thread::spawn(move || serve(stream, &commands, answer));
            }
        });
        let peer = HaPeer {
            name: "other".to_owned(),
            role: HaRole::Standby,
            url: String::new(),
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port,
            has_automatic_failover: true,
            credentials: None,
            tls: None,
        };
        let timeout = Duration::from_secs(60);
        let mut sender = UpdateSender { peer, timeout, connections: PartnerConnections::new(1) };
        let update = |last: u8| PendingUpdate {
            is_deletion: last == 2,
            ..PendingUpdate::of_lease(&lease_of(last), false)
        };
        let verdicts = sender.send(&[1, 2, 3].map(update), UpdateForm::Rows);
        let commands = commands.lock().unwrap().clone();
        (verdicts, commands)
    }

    fn lease<P: DaemonFamily>(address: P::Address, client: P::LeaseClient) -> Lease<P> {
        Lease {
            address,
            client,
            valid_lifetime_s: 600,
            cltt_s: 1_000,
            subnet_id: 1,
            pool_id: 0,
            fqdn_fwd: false,
            fqdn_rev: false,
            hostname: HostName::default(),
            state: LeaseState::Assigned,
            user_context: Box::default(),
            extra: P::LeaseExtra::default(),
        }
    }

    fn lease_v4(last: u8) -> Lease<V4> {
        let hardware = HardwareAddress::new(1, &[2, 0, 0, 0, 0, last]);
        let client = dhcp_lease::v4::LeaseClient { hardware, client_id: None };
        lease(Ipv4Addr::new(192, 0, 2, last), client)
    }

    fn lease_v6(last: u8) -> Lease<V6> {
        let duid = ClientId::new(&[0, 3, 0, 1, 2, last]);
        let address = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last.into());
        lease(Resource::address(address), dhcp_lease::v6::LeaseClient { duid, iaid: 1 })
    }

    /// Returns the lists of leases in the arguments of each command with their lengths, and the
    /// name of each command of one lease.
    fn shown(commands: &[Value]) -> Vec<String> {
        let list = |command: &Value, key: &str| {
            let list = command["arguments"].get(key)?.as_array()?;
            Some(format!("{key} {}", list.len()))
        };
        let one = |command: &Value| {
            let lists = ["deleted-leases", "leases", "rows"];
            let lists: Vec<String> = lists.iter().filter_map(|key| list(command, key)).collect();
            if lists.is_empty() { command["command"].to_string() } else { lists.join(", ") }
        };
        commands.iter().map(one).collect()
    }

    #[test]
    fn verdicts_about_rows_and_deletions_are_those_of_their_leases() {
        fn answer(command: &Value) -> Value {
            let is_v6 = command["command"] == "lease6-bulk-apply";
            let address = |last: u8| {
                if is_v6 { format!("2001:db8::{last}") } else { format!("192.0.2.{last}") }
            };
            let failed = |last: u8| json!([{ "ip-address": address(last), "result": 4, "error-message": "ResourceBusy" }]);
            let arguments = match command["arguments"].get("rows") {
                Some(_) => json!({ "failed-leases": failed(3) }),
                None => json!({ "failed-deleted-leases": failed(2) }),
            };
            json!({ "result": 0, "arguments": arguments })
        }
        let expected = [UpdateVerdict::Taken, UpdateVerdict::Busy, UpdateVerdict::Busy].map(Ok);
        for (verdicts, commands) in [sent(lease_v4, answer), sent(lease_v6, answer)] {
            assert_eq!(verdicts, expected);
            assert_eq!(shown(&commands), ["deleted-leases 1, leases 0", "rows 2"]);
        }
    }

    /// A Kea may have taken the place of the partner since the last heartbeat.
    #[test]
    fn a_partner_that_does_not_know_rows_gets_fields() {
        fn kea(command: &Value) -> Value {
            let arguments = &command["arguments"];
            let knows = arguments.get("leases").is_some();
            match command["command"].as_str() {
                Some("lease4-bulk-apply") => json!({ "result": 2, "text": "not supported" }),
                Some("lease6-bulk-apply") if !knows => json!({ "result": 1, "text": "neither" }),
                _ => json!({ "result": 0 }),
            }
        }
        let taken = vec![Ok(UpdateVerdict::Taken); 3];
        let (verdicts, commands) = sent(lease_v4, kea);
        assert_eq!(verdicts, taken);
        let alone = ["\"lease4-del\"", "\"lease4-update\"", "\"lease4-update\""];
        let expected = ["deleted-leases 1, leases 0", alone[0], "rows 2", alone[1], alone[2]];
        assert_eq!(shown(&commands), expected);
        let (verdicts, commands) = sent(lease_v6, kea);
        assert_eq!(verdicts, taken);
        let fields = "deleted-leases 0, leases 1";
        let expected = ["deleted-leases 1, leases 0", "rows 2", "rows 1", fields, "rows 1", fields];
        assert_eq!(shown(&commands), expected);
    }
}
