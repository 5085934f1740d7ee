//! Interface at one end of an emulated link, perhaps in a network namespace.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread;

use base::{ToolError, ToolResult};
use netio::interface::{self, Interface};
use netio::{NetError, namespace};

use crate::error::refused;

/// Folder in which `ip netns` stores the names of network namespaces.
const NAMES: &str = "/run/netns";

/// Name of an interface: `eth1`, `ns1:eth1` in the namespace that `ip netns` calls `ns1`, or
/// `/proc/PID/ns/net:eth1`. With the suffix `/tun`, a TUN device of that name, which is created if
/// it is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkInterface {
    /// Name of the network namespace; `None` for that of the process.
    pub namespace: Option<String>,
    /// Name of the interface within its network namespace.
    pub interface: String,
    /// True if the interface is a TUN device.
    pub is_tun: bool,
}

/// Suffix that marks the name of a TUN device.
const TUN: &str = "/tun";

impl FromStr for LinkInterface {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (namespace, name) = match text.rsplit_once(':') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, text),
        };
        let (name, is_tun) = match name.strip_suffix(TUN) {
            Some(name) => (name, true),
            None => (name, false),
        };
        if name.is_empty() || name.contains('/') || namespace.is_some_and(str::is_empty) {
            return Err("an interface is NAME, or NAMESPACE:NAME, a TUN device NAME/tun".to_owned());
        }
        Ok(Self { namespace: namespace.map(str::to_owned), interface: name.to_owned(), is_tun })
    }
}

impl fmt::Display for LinkInterface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}:")?;
        }
        f.write_str(&self.interface)?;
        if self.is_tun { f.write_str(TUN) } else { Ok(()) }
    }
}

impl LinkInterface {
    fn namespace_path(&self) -> Option<PathBuf> {
        self.namespace.as_ref().map(|name| Path::new(NAMES).join(name))
    }

    /// Calls `open` with the interface, in its network namespace, and returns the result.
    ///
    /// # Errors
    ///
    /// There is no such namespace or interface, it is no Ethernet interface, or `open` fails.
    pub(crate) fn with_interface<T: Send>(
        &self,
        open: impl FnOnce(&Interface) -> Result<T, NetError> + Send,
    ) -> ToolResult<T> {
        self.in_namespace(|| self.with_local_interface(open))
    }

    /// Calls `open` in the interface's network namespace, and returns the result.
    ///
    /// # Errors
    ///
    /// There is no such namespace, or `open` fails.
    pub(crate) fn in_namespace<T: Send>(
        &self,
        open: impl FnOnce() -> ToolResult<T> + Send,
    ) -> ToolResult<T> {
        let Some(path) = self.namespace_path() else { return open() };
        if let Err(cause) = path.metadata() {
            let text = format!(
                "{self}: cannot open namespace {}: {cause}; `ip netns` lists namespaces",
                path.display()
            );
            return Err(match cause.kind() {
                io::ErrorKind::NotFound => ToolError::Usage(text),
                _ => ToolError::Failed(text),
            });
        }
        // A thread of its own: it never leaves the namespace.
        let inside = || {
            namespace::enter(&path).map_err(refused)?;
            open()
        };
        thread::scope(|scope| scope.spawn(inside).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn with_local_interface<T>(
        &self,
        open: impl FnOnce(&Interface) -> Result<T, NetError>,
    ) -> ToolResult<T> {
        let interfaces =
            interface::list().map_err(ToolError::cannot("list the interfaces for", self))?;
        let Some(interface) = interfaces.iter().find(|each| each.name == self.interface) else {
            let names: Vec<&str> = interfaces.iter().map(|each| each.name.as_str()).collect();
            let names = names.join(", ");
            return Err(ToolError::Usage(format!(
                "{self}: no such interface; interfaces are {names}"
            )));
        };
        if interface.mac.is_none() || interface.is_loopback {
            let text = format!(
                "{self} is not an Ethernet interface such as veth, tap, a bridge or a card; for a \
                 TUN device write {self}{TUN}"
            );
            return Err(ToolError::Usage(text));
        }
        open(interface).map_err(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link_interface(text: &str) -> LinkInterface {
        text.parse().unwrap()
    }

    #[test]
    fn the_namespace_stands_before_the_last_colon() {
        assert_eq!(
            link_interface("eth1"),
            LinkInterface { namespace: None, interface: "eth1".to_owned(), is_tun: false }
        );
        let tun = link_interface("ns1:t0/tun");
        assert_eq!((tun.interface.as_str(), tun.is_tun), ("t0", true));
        assert_eq!(
            (tun.to_string().as_str(), tun.namespace.as_deref()),
            ("ns1:t0/tun", Some("ns1"))
        );
        let there = link_interface("ns1:eth1");
        assert_eq!(there.namespace_path(), Some(PathBuf::from("/run/netns/ns1")));
        assert_eq!(link_interface("odd:ns:eth1").namespace.as_deref(), Some("odd:ns"));
        let of_process = link_interface("/proc/7/ns/net:eth1");
        assert_eq!(of_process.namespace_path(), Some(PathBuf::from("/proc/7/ns/net")));
        assert_eq!(
            (of_process.to_string().as_str(), there.interface.as_str()),
            ("/proc/7/ns/net:eth1", "eth1")
        );
        for wrong in ["", ":eth1", "ns1:", "/tun", "ns1:/tun", "a/b"] {
            wrong.parse::<LinkInterface>().unwrap_err();
        }
    }

    #[test]
    fn what_is_not_there_is_the_operators_and_says_what_is() {
        let fails = |text: &str| link_interface(text).with_interface(|_| Ok(())).unwrap_err();
        let error = fails("no-such-if0");
        assert!(
            error.exit_code() == 2 && error.to_string().contains("interfaces are lo"),
            "{error}"
        );
        let error = fails("no-such-namespace:eth0");
        assert!(error.exit_code() == 2 && error.to_string().contains("ip netns"), "{error}");
        let error = fails("lo");
        assert!(error.exit_code() == 2 && error.to_string().contains("not an Ethernet"), "{error}");
    }
}
