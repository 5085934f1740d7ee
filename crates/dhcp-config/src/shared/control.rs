//! How the server is commanded: `control-sockets` and `hooks-libraries`.

use core::net::IpAddr;

use crate::expression::Text;

/// One of `control-sockets`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlSocket {
    /// `unix`: path of the socket.
    Unix(String),
    /// `http` and `https`.
    Http(HttpSocket),
}

/// An HTTP or HTTPS socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSocket {
    /// `socket-address`. Default 127.0.0.1.
    pub address: IpAddr,
    /// `socket-port`. Default 8000.
    pub port: u16,
    /// TLS; `None` for plain HTTP.
    pub tls: Option<TlsFiles>,
    /// `http-headers`: added to every answer.
    pub headers: Vec<(String, String)>,
    /// `authentication`; `None` when everyone may command.
    pub authentication: Option<BasicAuthentication>,
}

/// Files of a TLS socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// `trust-anchor`: certificates of the authorities that clients' certificates come from, a file
    /// or a folder.
    pub trust_anchor: String,
    /// `cert-file`: the server's certificate.
    pub certificate: String,
    /// `key-file`: its private key.
    pub key: String,
    /// `cert-required`: clients must show a certificate. Default true.
    pub is_client_certificate_required: bool,
}

/// `authentication` of type `basic` (RFC 7617).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicAuthentication {
    /// `realm`.
    pub realm: String,
    /// `directory` of the files of users and passwords.
    pub directory: Option<String>,
    /// Who may command.
    pub clients: Vec<AuthenticatedClient>,
}

/// One of the `clients` of an authentication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticatedClient {
    /// `user` or `user-file`.
    pub user: Secret,
    /// `password` or `password-file`; empty when there is neither.
    pub password: Secret,
}

/// A text that stands in the configuration or in a file of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// The text.
    Text(String),
    /// The file that holds it.
    File(String),
}

/// The hook libraries that this server has built in, as `hooks-libraries` names them by file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hook {
    /// `libdhcp_bootp.so`.
    Bootp,
    /// `libdhcp_class_cmds.so`.
    ClassCommands,
    /// `libdhcp_flex_id.so`.
    FlexId,
    /// `libdhcp_host_cmds.so`.
    HostCommands,
    /// `libdhcp_lease_cmds.so`.
    LeaseCommands,
    /// `libdhcp_mysql.so`: databases of this kind can be named.
    Mysql,
    /// `libdhcp_pgsql.so`: likewise.
    Pgsql,
    /// `libdhcp_stat_cmds.so`.
    StatCommands,
    /// `libdhcp_subnet_cmds.so`.
    SubnetCommands,
}

/// Parameters of the flex-id hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlexId {
    /// `identifier-expression`, the value of which tells a host; `None` when it is not set.
    pub expression: Option<Text>,
    /// `replace-client-id`: leases are bound to the value instead of the client's identifier.
    pub replaces_client_id: bool,
    /// `ignore-iaid` (DHCPv6): a client's only association counts as number 0.
    pub ignores_iaid: bool,
    /// `cid-as-rfc4361-duid` (DHCPv4): client identifiers of the value are like those that hold a
    /// DUID.
    pub is_like_a_duid: bool,
}

/// Something configured that this version does not do yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InactiveFeature {
    /// The name that `--accept-inactive` takes.
    pub name: &'static str,
    /// Whether the server must not start without it unless told so: its absence would break what
    /// the operator relies on.
    pub is_dangerous: bool,
}
