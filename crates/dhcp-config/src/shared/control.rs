//! Control of the server: `control-sockets` and `hooks-libraries`.

use core::net::IpAddr;

use crate::expression::TextExpression;

/// Element of `control-sockets`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlSocket {
    /// `unix`: path of the socket.
    Unix(String),
    /// `http` and `https`.
    Http(HttpSocket),
}

/// HTTP or HTTPS socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSocket {
    /// `socket-address`. Default 127.0.0.1.
    pub address: IpAddr,
    /// `socket-port`. Default 8000.
    pub port: u16,
    /// TLS; `None` for plain HTTP.
    pub tls: Option<TlsFiles>,
    /// `http-headers`: headers added to every answer.
    pub headers: Vec<(String, String)>,
    /// `authentication`; `None` when every client may send commands.
    pub authentication: Option<BasicAuthentication>,
}

/// Files of a TLS socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// `trust-anchor`: certificates of the authorities that sign clients' certificates, a file or a
    /// folder.
    pub trust_anchor: String,
    /// `cert-file`: certificate of the server.
    pub certificate: String,
    /// `key-file`: private key of that certificate.
    pub key: String,
    /// `cert-required`: true if clients must show a certificate. Default true.
    pub is_client_certificate_required: bool,
}

/// `authentication` of type `basic` (RFC 7617).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicAuthentication {
    /// `realm`.
    pub realm: String,
    /// `directory` of the files of users and passwords.
    pub directory: Option<String>,
    /// Users that may send commands.
    pub clients: Vec<AuthenticatedClient>,
}

/// Element of `clients` of an authentication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticatedClient {
    /// `user` or `user-file`.
    pub user: SecretSource,
    /// `password` or `password-file`; empty when neither is set.
    pub password: SecretSource,
}

/// Text in the configuration or in a file of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// Text in the configuration.
    Text(String),
    /// File that contains the text.
    File(String),
}

/// Hook library that this server has built in, as `hooks-libraries` names it by file.
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
    /// `libdhcp_mysql.so`: permits databases of this kind.
    Mysql,
    /// `libdhcp_pgsql.so`: permits databases of this kind.
    Pgsql,
    /// `libdhcp_stat_cmds.so`.
    StatCommands,
    /// `libdhcp_subnet_cmds.so`.
    SubnetCommands,
}

/// Parameters of the flex-id hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlexId {
    /// `identifier-expression`, whose value identifies a host; `None` when it is not set.
    pub expression: Option<TextExpression>,
    /// `replace-client-id`: true if leases are bound to the value instead of the client's
    /// identifier.
    pub replaces_client_id: bool,
    /// `ignore-iaid` (DHCPv6): true if the only association of a client counts as number 0.
    pub ignores_iaid: bool,
    /// `cid-as-rfc4361-duid` (DHCPv4): true if client identifiers made from the value are like
    /// those that contain a DUID.
    pub is_like_a_duid: bool,
}
