//! Generator of random configurations for tests: keys that both families have and keys of one, each
//! with a few values, in every scope. The reader accepts most of the generated configurations, and
//! most of these serve most clients.
//!
//! The sets of identifiers and classes are small on purpose, so that messages of tests match them:
//! see the constants here. Equal seeds give equal texts.

mod tables;
mod tables4;
mod tables6;

use base::Random;

pub use tables4::DHCP4;
pub use tables6::DHCP6;

/// Number of clients that generated configurations have reservations for.
pub const HOSTS: u64 = 8;

/// Names of vendor classes that generated client classes test for. A client that sends the last one
/// is not served.
pub const VENDORS: [&str; 4] = ["vendor-a", "vendor-b", "vendor-c", "drop-me"];

/// Enterprise number of vendor options in generated configurations.
pub const ENTERPRISE: u32 = 4491;

/// Configuration keys of a scope, each with values to choose from.
pub(crate) type Choices = &'static [(&'static str, &'static [&'static str])];

/// Generator of random configurations of one family: [`DHCP4`] or [`DHCP6`].
#[derive(Debug)]
pub struct Generator {
    top: &'static str,
    subnets: &'static str,
    /// Keys that each generated global scope has. The other lists of choices have keys that may
    /// occur in a scope.
    always: Choices,
    /// Keys that may occur in a generated global scope.
    global: Choices,
    /// Keys that may occur in a generated global scope, network or subnet.
    terms: Choices,
    /// Keys that may occur in a generated network or subnet.
    links: Choices,
    /// Keys that may occur in a generated subnet.
    subnet: Choices,
    /// Keys that may occur in a generated pool.
    pool: Choices,
    /// Keys that may occur in a generated reservation.
    host: Choices,
    /// Function that returns the prefix of a generated subnet for its number.
    prefix: fn(u64) -> String,
    /// Function that returns the pools of a generated subnet for its number, as `key: value`.
    ranges: fn(u64) -> Vec<String>,
    /// Function that returns the resources reserved for a host in a generated subnet.
    reserved: fn(u64, u64) -> Vec<String>,
    /// Function that generates a subnet's key with pools of delegated prefixes, if any.
    delegated: fn(&mut Random, u64) -> Option<String>,
    /// Functions that return an identifier of a host for the host's number.
    identifiers: &'static [fn(u64) -> String],
}

impl Generator {
    /// Returns the text of a random configuration.
    #[must_use]
    pub fn configuration(&self, random: &mut Random) -> String {
        let mut keys = some(random, &[self.always], 1);
        keys.extend(some(random, &[tables::TERMS, tables::GLOBAL, self.global, self.terms], 6));
        if random.chance(1, 3) {
            keys.push(self.reservations(random, 0));
        }
        keys.push(self.subnets(random, 0, false));
        let networks = (1..=random.below(3)).map(|n| {
            let mut keys =
                some(random, &[tables::TERMS, tables::SCOPES, self.terms, self.links], 8);
            keys.push(format!("\"name\": \"n{n}\""));
            keys.push(self.subnets(random, n * 10, true));
            format!("{{ {} }}", keys.join(", "))
        });
        keys.push(format!("\"shared-networks\": [ {} ]", networks.collect::<Vec<_>>().join(", ")));
        format!("{{ \"{}\": {{ {} }} }}", self.top, keys.join(",\n"))
    }

    /// Returns every choice of a key and value, as generated texts have it.
    pub fn choices(&self) -> impl Iterator<Item = String> {
        let lists = [self.always, tables::TERMS, tables::GLOBAL, self.global, self.terms];
        let lists = lists.into_iter().chain([
            tables::SCOPES,
            self.links,
            self.subnet,
            self.pool,
            self.host,
        ]);
        lists
            .flatten()
            .flat_map(|(key, values)| values.iter().map(move |value| format!("\"{key}\": {value}")))
    }

    fn subnets(&self, random: &mut Random, first: u64, is_shared: bool) -> String {
        let subnets = (first..first + 1 + random.below(3)).map(|n| {
            let links: Choices = if is_shared { &[] } else { self.links };
            let mut keys =
                some(random, &[tables::TERMS, tables::SCOPES, self.terms, links, self.subnet], 8);
            keys.push(format!("\"subnet\": \"{}\"", (self.prefix)(n)));
            if random.chance(3, 4) {
                keys.push(format!("\"id\": {}", 100 + n));
            }
            if random.chance(7, 8) {
                let pools = (self.ranges)(n).into_iter().map(|range| {
                    let mut keys = some(random, &[self.pool], 5);
                    keys.push(range);
                    format!("{{ {} }}", keys.join(", "))
                });
                keys.push(format!("\"pools\": [ {} ]", pools.collect::<Vec<_>>().join(", ")));
            }
            keys.extend((self.delegated)(random, n));
            if random.chance(1, 2) {
                keys.push(self.reservations(random, n));
            }
            format!("{{ {} }}", keys.join(", "))
        });
        format!("\"{}\": [ {} ]", self.subnets, subnets.collect::<Vec<_>>().join(", "))
    }

    /// Returns random reservations for the subnet with the number `n`.
    fn reservations(&self, random: &mut Random, n: u64) -> String {
        let hosts = (0..HOSTS).filter_map(|host| {
            let identifier = random.pick(self.identifiers)?(host);
            if random.chance(1, 3) {
                return None;
            }
            let mut keys = some(random, &[self.host], 4);
            keys.push(identifier);
            if random.chance(2, 3) {
                keys.extend(random.pick(&(self.reserved)(n, host)).cloned());
            }
            Some(format!("{{ {} }}", keys.join(", ")))
        });
        format!("\"reservations\": [ {} ]", hosts.collect::<Vec<_>>().join(", "))
    }
}

/// Returns a random selection of keys, one in `rare` of each list, each with one of its values.
fn some(random: &mut Random, lists: &[Choices], rare: u64) -> Vec<String> {
    let mut keys = Vec::new();
    for (key, values) in lists.iter().copied().flatten() {
        if random.chance(1, rare)
            && let Some(value) = random.pick(values)
        {
            keys.push(format!("\"{key}\": {value}"));
        }
    }
    keys
}
