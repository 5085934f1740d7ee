//! Reader of `server-id`, the source of a DHCPv6 server's DUID.

use base::V6;

use super::types::{ServerIdConfig, ServerIdType};
use crate::context::ParseContext;
use crate::fields::{MapReader, U32};
use crate::json::JsonValue;
use crate::shared::godwit;
use crate::shared::options::binary_field;

/// Reads the map `server-id`, the source of the server's DUID. Kea takes 0 and an empty identifier
/// as "not set".
pub(super) fn read(value: &JsonValue, findings: &mut ParseContext) -> ServerIdConfig {
    let mut config = ServerIdConfig::default();
    let Some(mut fields) = MapReader::from_value(value, "`server-id`", findings) else {
        return config;
    };
    let kinds = [("LLT", ServerIdType::Llt), ("EN", ServerIdType::En), ("LL", ServerIdType::Ll)];
    if fields.take("type").is_none() {
        findings.error_help(value.at, "`server-id` lacks `type`", "must be one of: LLT, EN, LL");
    }
    if let Some(kind) = fields.word("type", &kinds, false, findings) {
        config.kind = kind;
    }
    config.identifier = identifier(&mut fields, findings);
    let set = |value: i64| u32::try_from(value).ok().filter(|value| *value != 0);
    let time = fields.integer("time", U32, findings);
    config.time_s = time.and_then(|time| set(time.value));
    let hardware_type = fields.integer("htype", 0..=0xffff, findings);
    config.hardware_type =
        hardware_type.and_then(|htype| set(htype.value)).map(|htype| htype as u16);
    let enterprise = fields.integer("enterprise-id", U32, findings);
    config.enterprise_id = enterprise.and_then(|enterprise| set(enterprise.value));
    if let Some(persist) = fields.boolean("persist", findings) {
        config.persist = persist.value;
    }
    for (key, setting, is_used) in [
        ("time", time, config.kind == ServerIdType::Llt),
        ("htype", hardware_type, config.kind != ServerIdType::En),
        ("enterprise-id", enterprise, config.kind == ServerIdType::En),
    ] {
        if let Some(setting) = setting.filter(|setting| setting.value != 0 && !is_used) {
            findings.warn(
                setting.at,
                format!(
                    "`{key}` has no effect with this type of \
                                               `server-id`"
                ),
            );
        }
    }
    godwit::refuse_inside::<V6>(fields.context(findings), findings);
    fields.finish(findings);
    config
}

/// Reads the DUID's identifier in hexadecimal digits; no digits mean "not set".
fn identifier(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Option<Vec<u8>> {
    /// Maximum number of bytes of the DUID after its type and hardware type or enterprise number
    /// (RFC 9915 §11.1).
    const MOST: usize = 124;
    let text = fields.text("identifier", findings)?;
    match binary_field(text.value.as_bytes()) {
        Ok(octets) if octets.len() > MOST => {
            let message = format!(
                "`identifier` has {} bytes; at most {MOST} are \
                                   allowed",
                octets.len()
            );
            findings.error(text.at, message);
            None
        }
        Ok(octets) => Some(octets).filter(|octets| !octets.is_empty()),
        Err(reason) => {
            findings.error(text.at, format!("`identifier`: {reason}"));
            None
        }
    }
}
