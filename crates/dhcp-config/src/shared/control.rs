//! Control sockets and hook libraries of a server: `control-sockets` and `hooks-libraries`.

use core::net::IpAddr;

use crate::expression::TextExpression;

/// Control socket of a server: an element of `control-sockets`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlSocket {
    /// Unix domain socket with this path (`unix`).
    Unix(String),
    /// HTTP or HTTPS socket (`http`, `https`).
    Http(HttpSocket),
}

/// Control socket for commands over HTTP or HTTPS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSocket {
    /// Address on which the HTTP socket listens (`socket-address`). Default 127.0.0.1.
    pub address: IpAddr,
    /// Port on which the HTTP socket listens (`socket-port`). Default 8000.
    pub port: u16,
    /// Certificates and key for TLS; `None` for plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Names and values of the headers that the server adds to every answer (`http-headers`).
    pub headers: Vec<(String, String)>,
    /// Users who may send commands over the socket (`authentication`); `None` when every client
    /// may.
    pub authentication: Option<BasicAuthentication>,
    /// Purpose of the socket, which decides about the commands that it accepts.
    pub purpose: HttpPurpose,
}

/// Purpose of an HTTP socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpPurpose {
    /// Control of the server by operators and their tools: an element of `control-sockets`.
    #[default]
    Control,
    /// Commands of the partner of a pair: the address of the server's own entry in `peers`.
    Partner {
        /// True if the socket accepts only the commands that a partner needs
        /// (`restrict-commands`).
        restricts_commands: bool,
        /// Position of the relationship of the partner, if the server has several.
        relationship: Option<usize>,
    },
}

/// Certificate files of an HTTPS control socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// File or folder of the certificates of authorities that sign clients' certificates
    /// (`trust-anchor`).
    pub trust_anchor: String,
    /// File of the server's certificate (`cert-file`).
    pub certificate: String,
    /// File of the private key for the server's certificate (`key-file`).
    pub key: String,
    /// True if clients must present a certificate (`cert-required`). Default true.
    pub is_client_certificate_required: bool,
}

/// HTTP Basic authentication of control clients: `authentication` of type `basic` (RFC 7617).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicAuthentication {
    /// Realm that the HTTP socket announces (`realm`).
    pub realm: String,
    /// Folder of the files of users and passwords (`directory`).
    pub directory: Option<String>,
    /// Users that may send commands over the HTTP socket (`clients`).
    pub clients: Vec<AuthenticatedClient>,
}

/// User who may send commands over an HTTP socket: an element of `clients` of an authentication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticatedClient {
    /// Name of the user (`user` or `user-file`).
    pub user: SecretSource,
    /// Password of the user (`password` or `password-file`); empty when neither is set.
    pub password: SecretSource,
}

/// Source of a user name or password: the configuration itself or a file of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// Text that the configuration itself contains.
    Text(String),
    /// Path of the file that contains the text.
    File(String),
}

/// Hook library that this server has built in; `hooks-libraries` selects it by its file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hook {
    /// Hook library for BOOTP clients: `libdhcp_bootp.so`.
    Bootp,
    /// Hook library with commands for client classes: `libdhcp_class_cmds.so`.
    ClassCommands,
    /// Hook library that computes names of clients: `libdhcp_ddns_tuning.so`.
    DdnsTuning,
    /// Hook library that makes identifiers from expressions: `libdhcp_flex_id.so`.
    FlexId,
    /// Hook library for pairs of servers that know each other's leases: `libdhcp_ha.so`.
    HighAvailability,
    /// Hook library with commands for reservations: `libdhcp_host_cmds.so`.
    HostCommands,
    /// Hook library with commands for leases: `libdhcp_lease_cmds.so`.
    LeaseCommands,
    /// Hook library that answers lease queries: `libdhcp_lease_query.so`.
    LeaseQuery,
    /// Hook library that logs granted and released leases: `libdhcp_legal_log.so`.
    LegalLog,
    /// Hook library that permits MySQL and MariaDB databases: `libdhcp_mysql.so`.
    Mysql,
    /// Hook library that permits PostgreSQL databases: `libdhcp_pgsql.so`.
    Pgsql,
    /// Hook library that runs a script for each event of a lease: `libdhcp_run_script.so`.
    RunScript,
    /// Hook library with commands for lease statistics: `libdhcp_stat_cmds.so`.
    StatCommands,
    /// Hook library with commands for subnets: `libdhcp_subnet_cmds.so`.
    SubnetCommands,
}

/// Parameters of the hook library flex-id, which identifies clients by the value of an expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlexId {
    /// Expression whose value identifies a host (`identifier-expression`); `None` when it is not
    /// set.
    pub expression: Option<TextExpression>,
    /// True if leases are stored under the expression's value instead of the client identifier or
    /// DUID (`replace-client-id`).
    pub replaces_client_id: bool,
    /// True if the only identity association of a DHCPv6 client counts as IAID 0 (`ignore-iaid`).
    pub ignores_iaid: bool,
    /// True if DHCPv4 client identifiers made from the expression's value are like those that
    /// contain a DUID (`cid-as-rfc4361-duid`).
    pub is_like_a_duid: bool,
}

/// Parameters of the hook library run_script, which runs a script for each event of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunScript {
    /// Path of the script, or its name alone if it is in the folder of scripts (`name`).
    pub name: String,
}
