//! Databases of reservations in memory.

use dhcp_control::{
    ApplyFailure, ClientIdentifier, HostCriterion, HostDatabases, HostPage, StoredHost,
};
use serde_json::Value;

/// Databases, each with its reservations in the order of their numbers, and the failure of every
/// access, if any.
#[derive(Debug, Default)]
pub(crate) struct FakeHostDatabases(pub Vec<(Vec<StoredHost>, Option<&'static str>)>);

impl FakeHostDatabases {
    fn hosts(&mut self, database: usize) -> Result<&mut Vec<StoredHost>, ApplyFailure> {
        match &mut self.0[database] {
            (_, Some(failure)) => Err(ApplyFailure::Refused((*failure).to_owned())),
            (hosts, None) => Ok(hosts),
        }
    }
}

/// Returns the identifier of the reservation `document` as written there.
fn identifier(document: &Value) -> Option<(&'static str, &str)> {
    ClientIdentifier::KINDS.iter().find_map(|kind| Some((*kind, document[*kind].as_str()?)))
}

fn is_fulfilled(criterion: &HostCriterion, host: &StoredHost) -> bool {
    match criterion {
        HostCriterion::Subnet(id) => host.subnet_id == *id,
        HostCriterion::Hostname(name) => host.document["hostname"] == name.as_str(),
        HostCriterion::Address(address) => {
            host.document["ip-address"] == address.to_string().as_str()
        }
        HostCriterion::Identifier(by) => {
            let octets: Vec<String> =
                by.octets.iter().map(|octet| format!("{octet:02x}")).collect();
            identifier(&host.document) == Some((by.kind, octets.join(":").as_str()))
        }
    }
}

impl HostDatabases for FakeHostDatabases {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn select(
        &mut self,
        database: usize,
        criterion: &HostCriterion,
    ) -> Result<Vec<StoredHost>, ApplyFailure> {
        let hosts = self.hosts(database)?.iter();
        Ok(hosts.filter(|host| is_fulfilled(criterion, host)).cloned().collect())
    }

    fn page(&mut self, database: usize, page: HostPage) -> Result<Vec<StoredHost>, ApplyFailure> {
        let is_on_page = |host: &&StoredHost| {
            host.number > page.after && page.subnet_id.is_none_or(|id| id == host.subnet_id)
        };
        let hosts = self.hosts(database)?.iter().filter(is_on_page);
        Ok(hosts.take(page.limit as usize).cloned().collect())
    }

    fn add(&mut self, database: usize, subnet_id: u32, host: &Value) -> Result<(), ApplyFailure> {
        let hosts = self.hosts(database)?;
        let number = hosts.last().map_or(1, |last| last.number + 1);
        hosts.push(StoredHost { number, subnet_id, document: host.clone() });
        Ok(())
    }

    fn update(
        &mut self,
        database: usize,
        subnet_id: u32,
        host: &Value,
    ) -> Result<bool, ApplyFailure> {
        let hosts = self.hosts(database)?;
        let before = hosts.len();
        hosts.retain(|old| {
            old.subnet_id != subnet_id || identifier(&old.document) != identifier(host)
        });
        if hosts.len() == before {
            return Ok(false);
        }
        self.add(database, subnet_id, host).map(|()| true)
    }

    fn delete(
        &mut self,
        database: usize,
        subnet_id: u32,
        criterion: &HostCriterion,
    ) -> Result<bool, ApplyFailure> {
        let hosts = self.hosts(database)?;
        let before = hosts.len();
        hosts.retain(|host| host.subnet_id != subnet_id || !is_fulfilled(criterion, host));
        Ok(hosts.len() < before)
    }
}
