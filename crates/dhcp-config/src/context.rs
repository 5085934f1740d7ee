//! State of the parse of one configuration: the problems, and data about other parts of the
//! configuration that readers need.

use core::net::IpAddr;
use core::ops::{Deref, DerefMut};

use crate::automata::Automata;
use crate::ddns::SecretFiles;
use crate::diagnostics::ParseDiagnostics;
use crate::problem::ConfigProblem;
use crate::shared::ha_subnets::ReadRelationships;
use crate::shared::options::definitions::Definitions;
use crate::shared::security::SecurityPolicy;
use crate::shared::written_files::WrittenFiles;
use crate::source::Sources;

/// State of the parse of one configuration. It derefs to [`ParseDiagnostics`], so functions that
/// only need the problems take it, too.
#[derive(Debug, Default)]
pub(crate) struct ParseContext {
    diagnostics: ParseDiagnostics,
    /// Rules for the paths, sockets and secrets of the configuration.
    pub(crate) security: SecurityPolicy,
    /// Regular expressions of the configuration compiled so far.
    pub(crate) automata: Automata,
    /// Files that the server writes with this configuration, as far as they were read.
    pub(crate) written: WrittenFiles,
    /// Option definitions of the file, which must be known before anything may refer to them.
    pub(crate) definitions: Definitions,
    /// Numbers (`id`) of the subnets read so far whose leases the legal log leaves out.
    pub(crate) silent_subnets: Vec<u32>,
    /// True if the hook library ddns_tuning is loaded: expressions of subnets have an effect.
    pub(crate) tunes_names: bool,
    /// Files of the secrets of an updater inside the server.
    pub(crate) secret_files: SecretFiles,
    /// Name of the host; empty if it is not known.
    pub(crate) host_name: String,
    /// Names of the server in its relationships, which precede those of the configuration.
    pub(crate) server_names: Vec<String>,
    /// Addresses and ports of the HTTP control sockets.
    pub(crate) control_addresses: Vec<(IpAddr, u16)>,
    /// Relationships of high availability read so far.
    pub(crate) relationships: ReadRelationships,
}

impl ParseContext {
    /// Creates the state of a parse that applies the security rules `security`.
    pub(crate) fn with_security(security: SecurityPolicy) -> Self {
        Self { security, ..Self::default() }
    }

    /// Creates the state of a parse that applies the security rules `security` and keeps every
    /// problem, without a limit.
    pub(crate) fn unbounded(security: SecurityPolicy) -> Self {
        Self { diagnostics: ParseDiagnostics::unbounded(), security, ..Self::default() }
    }

    /// Returns the problems of the configuration, with positions not yet turned into lines.
    pub(crate) fn into_diagnostics(self) -> ParseDiagnostics {
        self.diagnostics
    }

    /// Returns the problems of the configuration in the order of their positions.
    pub(crate) fn into_problems(self, sources: &Sources) -> Vec<ConfigProblem> {
        self.diagnostics.into_problems(sources)
    }
}

impl Deref for ParseContext {
    type Target = ParseDiagnostics;

    fn deref(&self) -> &ParseDiagnostics {
        &self.diagnostics
    }
}

impl DerefMut for ParseContext {
    fn deref_mut(&mut self) -> &mut ParseDiagnostics {
        &mut self.diagnostics
    }
}
