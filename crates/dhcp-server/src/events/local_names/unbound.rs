//! Local data of Unbound, over its control socket (`unbound-control(8)`, `control-interface` with a
//! path).
//!
//! A connection carries one command: its line, further lines, a line with the octet 4, and
//! Unbound's answer up to the end.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use super::NamesByAddress;

/// Time limit of a read or a write at the control socket.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Line that ends the lines of a command.
const LAST_LINE: &str = "\u{4}\n";

/// Unbound server, by its control socket.
pub(super) struct UnboundControl {
    socket: PathBuf,
    ttl_s: u32,
}

impl UnboundControl {
    /// Returns the server with the control socket `socket`, whose records get the TTL `ttl_s`.
    pub(super) const fn new(socket: PathBuf, ttl_s: u32) -> Self {
        Self { socket, ttl_s }
    }

    /// Returns the seconds for which the server has run: after a start it has no local data.
    ///
    /// # Errors
    ///
    /// The server cannot be reached, or its answer has no uptime.
    pub(super) fn uptime_s(&self) -> io::Result<u64> {
        let status = self.command("status", "")?;
        let uptime = status.lines().find_map(|line| line.strip_prefix("uptime: "));
        let seconds = uptime.and_then(|rest| rest.split(' ').next()?.parse().ok());
        seconds.ok_or_else(|| io::Error::other("the status has no uptime"))
    }

    /// Changes the local data from the names in `from` to those in `to`. Records of other types,
    /// and those of addresses that `from` does not have, stay.
    ///
    /// # Errors
    ///
    /// The server cannot be reached, or refuses a command. Some changes may have been made.
    pub(super) fn change(&self, from: &NamesByAddress, to: &NamesByAddress) -> io::Result<()> {
        let outdated: Vec<_> =
            from.iter().filter(|&(address, name)| to.get(address) != Some(name)).collect();
        let new = to.iter().filter(|&(address, name)| from.get(address) != Some(name));
        let mut added: BTreeSet<String> = BTreeSet::new();
        added.extend(new.flat_map(|(address, name)| self.records(*address, name)));
        if !outdated.is_empty() {
            // Names are removed with all their records: those of other addresses come back.
            let names: BTreeSet<&str> = outdated.iter().map(|(_, name)| &***name).collect();
            let gone: BTreeSet<IpAddr> = outdated.iter().map(|(address, _)| **address).collect();
            added.extend(self.other_records(&names, &gone)?);
            let owners = outdated.iter().flat_map(|(address, name)| {
                [format!("{name}.\n"), format!("{}\n", reverse_name(**address))]
            });
            let owners: BTreeSet<String> = owners.collect();
            self.lines("local_datas_remove", &owners)?;
        }
        if !added.is_empty() {
            self.lines("local_datas", &added)?;
        }
        Ok(())
    }

    /// Returns the records of `name` at `address`, forward and reverse, a line each.
    fn records(&self, address: IpAddr, name: &str) -> [String; 2] {
        let kind = if address.is_ipv4() { "A" } else { "AAAA" };
        let ttl_s = self.ttl_s;
        [
            format!("{name}. {ttl_s} IN {kind} {address}\n"),
            format!("{} {ttl_s} IN PTR {name}.\n", reverse_name(address)),
        ]
    }

    /// Returns the records that the server has of `names`, but for those of the addresses `gone`.
    fn other_records(
        &self,
        names: &BTreeSet<&str>,
        gone: &BTreeSet<IpAddr>,
    ) -> io::Result<Vec<String>> {
        let list = self.command("list_local_data", "")?;
        let is_other = |line: &&str| {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let [owner, _, _, kind, data, ..] = words[..] else { return false };
            let is_gone = data.parse().is_ok_and(|address| gone.contains(&address));
            let owner = owner.trim_end_matches('.').to_ascii_lowercase();
            names.contains(&*owner) && kind != "SOA" && kind != "NS" && !is_gone
        };
        Ok(list.lines().filter(is_other).map(|line| format!("{line}\n")).collect())
    }

    fn lines(&self, command: &str, lines: &BTreeSet<String>) -> io::Result<()> {
        let mut text: String = lines.iter().map(String::as_str).collect();
        text.push_str(LAST_LINE);
        let answer = self.command(command, &text)?;
        let problem = answer.lines().find(|line| line.contains("error"));
        problem.map_or(Ok(()), |problem| Err(io::Error::other(problem.to_owned())))
    }

    /// Sends `command` with the lines `text`, and returns the answer.
    fn command(&self, command: &str, text: &str) -> io::Result<String> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        stream.write_all(format!("UBCT1 {command}\n").as_bytes())?;
        stream.write_all(text.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }
}

/// Returns the name of the PTR record of `address` (RFC 1035 §3.5, RFC 3596 §2.5).
fn reverse_name(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa.")
        }
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            let nibbles = (0..32).map(|at| format!("{:x}.", bits >> (4 * at) & 0xf));
            nibbles.chain(["ip6.arpa.".to_owned()]).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reverse_names_are_those_of_the_standards() {
        let reverse = |text: &str| reverse_name(text.parse().unwrap());
        assert_eq!(reverse("192.0.2.10"), "10.2.0.192.in-addr.arpa.");
        assert_eq!(
            reverse("2001:db8::567:89ab"),
            "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."
        );
    }
}
