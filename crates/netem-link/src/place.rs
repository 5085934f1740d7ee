//! Where an end of the link is: an interface, perhaps in a network namespace.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread;

use netio::interface::{self, Interface};
use netio::{NetError, namespace};

use crate::LinkError;

/// Where `ip netns` keeps its names.
const NAMES: &str = "/run/netns";

/// An interface: `eth1`, `ns1:eth1` in the namespace that `ip netns` calls `ns1`, or
/// `/proc/PID/ns/net:eth1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The namespace; the caller's own when `None`.
    pub namespace: Option<String>,
    /// The interface's name there.
    pub interface: String,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (namespace, name) = match text.rsplit_once(':') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, text),
        };
        if name.is_empty() || namespace.is_some_and(str::is_empty) {
            return Err("an interface is NAME, or NAMESPACE:NAME".to_owned());
        }
        Ok(Self { namespace: namespace.map(str::to_owned), interface: name.to_owned() })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}:")?;
        }
        f.write_str(&self.interface)
    }
}

impl Place {
    fn namespace_path(&self) -> Option<PathBuf> {
        self.namespace.as_ref().map(|name| Path::new(NAMES).join(name))
    }

    /// What `open` makes of the interface, called where the interface is.
    ///
    /// # Errors
    ///
    /// There is no such namespace or interface, it is none of Ethernet, or `open` fails.
    pub(crate) fn with_interface<T: Send>(
        &self,
        open: impl FnOnce(&Interface) -> Result<T, NetError> + Send,
    ) -> Result<T, LinkError> {
        let Some(path) = self.namespace_path() else { return self.here(open) };
        if let Err(cause) = path.metadata() {
            let text = format!("{self}: no namespace {}: {cause}; see `ip netns`", path.display());
            return Err(match cause.kind() {
                io::ErrorKind::NotFound => LinkError::Usage(text),
                _ => LinkError::Environment(text),
            });
        }
        // A thread of its own: it never comes back out of the namespace.
        let inside = || {
            namespace::enter(&path)?;
            self.here(open)
        };
        thread::scope(|scope| scope.spawn(inside).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn here<T>(
        &self,
        open: impl FnOnce(&Interface) -> Result<T, NetError>,
    ) -> Result<T, LinkError> {
        let found =
            interface::list().map_err(LinkError::cannot("list the interfaces for", self))?;
        let Some(place) = found.iter().find(|each| each.name == self.interface) else {
            let names: Vec<&str> = found.iter().map(|each| each.name.as_str()).collect();
            let names = names.join(", ");
            return Err(LinkError::Usage(format!("{self}: no such interface; there are {names}")));
        };
        if place.mac.is_none() || place.is_loopback {
            let text = format!("{self} is no Ethernet interface; veth, tap, bridges and cards are");
            return Err(LinkError::Usage(text));
        }
        open(place).map_err(LinkError::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Place {
        text.parse().unwrap()
    }

    #[test]
    fn the_namespace_stands_before_the_last_colon() {
        assert_eq!(place("eth1"), Place { namespace: None, interface: "eth1".to_owned() });
        let there = place("ns1:eth1");
        assert_eq!(there.namespace_path(), Some(PathBuf::from("/run/netns/ns1")));
        assert_eq!(place("odd:ns:eth1").namespace.as_deref(), Some("odd:ns"));
        let of_process = place("/proc/7/ns/net:eth1");
        assert_eq!(of_process.namespace_path(), Some(PathBuf::from("/proc/7/ns/net")));
        assert_eq!(
            (of_process.to_string().as_str(), there.interface.as_str()),
            ("/proc/7/ns/net:eth1", "eth1")
        );
        for wrong in ["", ":eth1", "ns1:"] {
            wrong.parse::<Place>().unwrap_err();
        }
    }

    #[test]
    fn what_is_not_there_is_the_operators_and_says_what_is() {
        let fails = |text: &str| place(text).with_interface(|_| Ok(())).unwrap_err();
        let error = fails("no-such-if0");
        assert!(error.exit_code() == 2 && error.to_string().contains("there are lo"), "{error}");
        let error = fails("no-such-namespace:eth0");
        assert!(error.exit_code() == 2 && error.to_string().contains("ip netns"), "{error}");
        let error = fails("lo");
        assert!(error.exit_code() == 2 && error.to_string().contains("no Ethernet"), "{error}");
    }
}
