//! Reader of the parameters of the hook library ddns_tuning: expressions that compute the names of
//! clients, of the configuration and in the `user-context` of subnets.

use super::class_list::{self, Classified};
use crate::context::ParseContext;
use crate::expression::TextExpression;
use crate::fields::{MapReader, text_of};
use crate::json::{JsonContent, JsonMember, JsonValue};
use crate::source::{PositionedValue, SourcePosition};

/// Key of an expression that computes names, of the parameters and in the `user-context` of
/// subnets.
const EXPRESSION: &str = "hostname-expr";

/// Parameters of the hook library ddns_tuning, which computes names of clients, and makes no DNS
/// updates for clients of the class `SKIP_DDNS`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DdnsTuning {
    /// Expression whose value is the name of a client, in subnets without an expression of their
    /// own (`hostname-expr`); `None` when it is not set.
    pub hostname: Option<TextExpression>,
}

/// Expression that computes the names of the clients of a subnet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SubnetHostname {
    /// Expression of the whole configuration, [`DdnsTuning::hostname`].
    #[default]
    Inherited,
    /// No expression: an empty one in the `user-context` of the subnet.
    Off,
    /// Expression in the `user-context` of the subnet.
    Expression(TextExpression),
}

/// Reads the parameters of the library, which is at `at`, with Kea's errors.
pub(super) fn read<F: Classified>(
    at: SourcePosition,
    parameters: Option<&JsonMember>,
    findings: &mut ParseContext,
) -> Option<DdnsTuning> {
    let Some(entry) = parameters else {
        let help = "add `\"parameters\": { }`, which may be empty";
        findings.error_help(at, "params must not be null", help);
        return None;
    };
    let what = "the parameters of ddns_tuning";
    let mut fields = MapReader::from_value(&entry.value, what, findings)?;
    let hostname = fields.take(EXPRESSION).and_then(|entry| {
        let JsonContent::Text(_) = entry.value.kind else {
            findings.error(entry.value.at, "'hostname-expr' must be a string");
            return None;
        };
        let text = text_of(&entry.value, EXPRESSION, findings)?;
        let fault = "global expression parsing failed";
        if text.value.is_empty() { None } else { expression::<F>(text, fault, findings) }
    });
    // As in Kea, other parameters have no effect.
    for other in fields.untaken_members() {
        if !matches!(&*other.key, "comment" | "user-context") {
            findings.warn(other.at, format!("ddns_tuning has no parameter `{}`", other.key));
        }
    }
    Some(DdnsTuning { hostname })
}

/// Reads the expression in `context`, the `user-context` of the subnet `prefix`. As in Kea, values
/// of other types have no effect.
pub(super) fn of_subnet<F: Classified>(
    context: Option<&JsonValue>,
    prefix: &str,
    findings: &mut ParseContext,
) -> SubnetHostname {
    let own = context.and_then(|context| member(context, "ddns-tuning"));
    let Some(value) = own.and_then(|own| member(own, EXPRESSION)) else {
        return SubnetHostname::Inherited;
    };
    if !matches!(value.kind, JsonContent::Text(_)) {
        return SubnetHostname::Inherited;
    }
    let fault = format!("hostname expression for subnet: {prefix} parsing failed");
    match text_of(value, EXPRESSION, findings) {
        Some(text) if text.value.is_empty() => SubnetHostname::Off,
        Some(text) => expression::<F>(text, &fault, findings)
            .map_or(SubnetHostname::Inherited, SubnetHostname::Expression),
        None => SubnetHostname::Inherited,
    }
}

fn expression<F: Classified>(
    text: PositionedValue<&str>,
    fault: &str,
    findings: &mut ParseContext,
) -> Option<TextExpression> {
    class_list::parsed_text::<F>(text.value, findings)
        .map_err(|error| {
            findings.error_inside(text.at, error.offset, format!("{fault}: {}", error.message));
        })
        .ok()
}

fn member<'v>(value: &'v JsonValue, key: &str) -> Option<&'v JsonValue> {
    let JsonContent::Map(entries) = &value.kind else { return None };
    entries.iter().find(|entry| *entry.key == *key).map(|entry| &entry.value)
}
