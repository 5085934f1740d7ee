//! Two namespaces with a veth pair between them: a server's link and a client on it.

use std::net::{SocketAddrV6, UdpSocket};
use std::path::Path;
use std::process::{Command, Output};

use super::namespaces::Namespaces;
use super::{is_root, require};

/// Interface of the server.
pub(crate) const SERVER_END: &str = "sv0";
/// Interface of the client.
pub(crate) const CLIENT_END: &str = "cv0";
/// Link-local address of the server.
pub(crate) const SERVER_ADDRESS: &str = "fe80::1";
/// Link-local address of the client.
pub(crate) const CLIENT_ADDRESS: &str = "fe80::2";

/// Namespaces of the server and the client. Dropping the value removes them with all their
/// processes.
pub(crate) struct LinkNamespaces(Namespaces<2>);

impl LinkNamespaces {
    /// Makes empty namespaces. Returns `None`, with a message, if that is not possible.
    pub(crate) fn new() -> Option<Self> {
        (require(&["ip"]) && is_root()).then(|| Self(Namespaces::make()))
    }

    /// Returns the name of the server's namespace.
    pub(crate) fn server(&self) -> &str {
        &self.0[0]
    }

    fn client(&self) -> &str {
        &self.0[1]
    }

    /// Joins the namespaces by a veth pair with both ends up. The server's end has `address` (with
    /// prefix length).
    pub(crate) fn join(&self, server_end: &str, client_end: &str, address: &str) {
        self.pair(server_end, client_end);
        self.ip_at_server(&format!("addr add {address} dev {server_end}"));
        self.raise(server_end, client_end);
    }

    /// Joins the namespaces by a veth pair with both ends up and the link-local addresses
    /// [`SERVER_ADDRESS`] and [`CLIENT_ADDRESS`], which are usable at once.
    pub(crate) fn join_by_ipv6(&self, server_end: &str, client_end: &str) {
        self.pair(server_end, client_end);
        self.ip_at_server(&format!("link set {server_end} addrgenmode none"));
        self.ip_at_client(&format!("link set {client_end} addrgenmode none"));
        self.raise(server_end, client_end);
        self.ip_at_server(&format!("addr add {SERVER_ADDRESS}/64 dev {server_end} nodad"));
        self.ip_at_client(&format!("addr add {CLIENT_ADDRESS}/64 dev {client_end} nodad"));
    }

    fn pair(&self, server_end: &str, client_end: &str) {
        let (server, client) = (self.server(), self.client());
        ip(&format!(
            "link add {server_end} netns {server} type veth peer name {client_end} netns {client}"
        ));
    }

    fn raise(&self, server_end: &str, client_end: &str) {
        self.ip_at_server(&format!("link set {server_end} up"));
        self.ip_at_client(&format!("link set {client_end} up"));
    }

    /// Opens a socket on the server's side, as another program would, at `port` of `address` on
    /// `interface`.
    pub(crate) fn squat(&self, interface: &str, address: &str, port: u16) -> UdpSocket {
        let address = address.parse().expect("an IPv6 address");
        within(self.server(), || {
            let index = netio::interface::named(interface).expect("it is there").index;
            UdpSocket::bind(SocketAddrV6::new(address, port, 0, index)).expect("it is free")
        })
    }

    /// Returns the value that `open` opens on the server's side.
    pub(crate) fn opened_at_server<T: Send>(&self, open: impl FnOnce() -> T + Send) -> T {
        within(self.server(), open)
    }

    /// Returns the value that `open` opens on the client's side.
    pub(crate) fn opened_at_client<T: Send>(&self, open: impl FnOnce() -> T + Send) -> T {
        within(self.client(), open)
    }

    /// Runs `ip` on the server's side.
    pub(crate) fn ip_at_server(&self, arguments: &str) {
        ip(&format!("-n {} {arguments}", self.server()));
    }

    /// Runs `ip` on the client's side.
    pub(crate) fn ip_at_client(&self, arguments: &str) {
        ip(&format!("-n {} {arguments}", self.client()));
    }

    /// Returns a command that runs its arguments on the server's side.
    pub(crate) fn at_server(&self) -> Command {
        inside(self.server())
    }

    /// Returns a command that runs its arguments on the client's side.
    pub(crate) fn at_client(&self) -> Command {
        inside(self.client())
    }
}

/// Returns the result of `open` in a thread inside `namespace`.
pub(crate) fn within<T: Send>(namespace: &str, open: impl FnOnce() -> T + Send) -> T {
    let path = format!("/run/netns/{namespace}");
    let entered = || {
        netio::namespace::enter(Path::new(&path)).expect("root may");
        open()
    };
    std::thread::scope(|scope| scope.spawn(entered).join()).expect("it does not panic")
}

pub(crate) fn inside(namespace: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]);
    command
}

pub(crate) fn ip(arguments: &str) -> Output {
    let output = Command::new("ip").args(arguments.split(' ')).output().expect("ip runs");
    assert!(output.status.success(), "ip {arguments}: {output:?}");
    output
}
