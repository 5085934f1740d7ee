//! Conversion of ISC dhcpd's configuration (dhcpd.conf(5)) to Kea's dialect.
//!
//! The result serves clients as dhcpd does; each statement that has no counterpart becomes a
//! [`ConversionNote`] with file, line and column. A file that dhcpd would refuse is refused with
//! every error that was found. An [`IncludeResolver`] supplies included files: this crate opens no
//! file. Structure: `lexer` and `statement` read the text, `read` the declarations to `model`,
//! `expression` translates conditions, `options` values, and `write` makes the JSON.

mod expression;
mod json;
mod lexer;
mod model;
mod note;
mod options;
mod parameters;
mod read;
mod settings;
mod statement;
mod write;

use dhcp_config::IncludeResolver;

pub use lexer::FilePosition;
pub use note::{ConversionError, ConversionNote, NamedFinding};

/// Choices of the operator about a conversion.
#[derive(Clone, Debug, Default)]
pub struct ConversionOptions {
    /// True for DHCPv6, false for DHCPv4; `None` decides by the file's subnets.
    pub is_v6: Option<bool>,
    /// Names of the interfaces that the server listens at; all if empty. A name may have a subnet
    /// of DHCPv6 after `=`, which then is the subnet of that link.
    pub interfaces: Vec<String>,
}

/// Result of a conversion.
#[derive(Clone, Debug)]
pub struct ConvertedConfig {
    /// Text of the configuration in Kea's dialect.
    pub text: String,
    /// True for DHCPv6, false for DHCPv4.
    pub is_v6: bool,
    /// Statements that the text does not carry, in the order of their positions.
    pub notes: Vec<ConversionNote>,
    /// Names of the files that were read, by the indexes in positions.
    pub files: Vec<String>,
}

/// Errors of a file that dhcpd would refuse.
#[derive(Clone, Debug)]
pub struct RefusedConfig {
    /// Errors, in the order of their positions.
    pub errors: Vec<ConversionError>,
    /// Names of the files that were read, by the indexes in positions.
    pub files: Vec<String>,
}

/// Converts `text`, a dhcpd.conf with the name `name`, to Kea's dialect.
///
/// # Errors
/// Returns every error of the file.
pub fn convert(
    name: &str,
    text: &str,
    options: &ConversionOptions,
    resolver: &mut dyn IncludeResolver,
) -> Result<ConvertedConfig, RefusedConfig> {
    let mut findings = note::Findings::default();
    let mut statements = statement::StatementReader::new(resolver);
    let tree = statements.read(name, text, &mut findings);
    let files = statements.files;
    let is_v6 = options.is_v6.unwrap_or_else(|| has_subnet6(&tree));
    let mut reader = read::ModelReader::new(is_v6, findings);
    reader.read(&tree);
    let read::ModelReader { registry, model, findings } = reader;
    let mut writer = write::ConfigWriter::new(&model, &registry, findings, options);
    let json = writer.write();
    let note::Findings { mut notes, mut errors } = writer.findings;
    if !errors.is_empty() {
        errors.sort_by_key(|error| error.at);
        return Err(RefusedConfig { errors, files });
    }
    notes.sort_by_key(|note| note.at);
    Ok(ConvertedConfig { text: json.text(), is_v6, notes, files })
}

/// Returns true if `statements` declare a subnet of DHCPv6.
fn has_subnet6(statements: &[statement::DhcpdStatement]) -> bool {
    statements
        .iter()
        .any(|statement| statement.begins(&["subnet6"]) || has_subnet6(statement.block()))
}
