//! Check of an option's bytes, given as such, against the option's type.

use super::definition::{Definition, Field};
use super::resolvers;
use super::text::{EncodedOptionBytes, UnsentText, trim_zeros};

/// Checks an option's bytes against its type; excess bytes are cut off, as in Kea. `may_be_empty`
/// are the types of which a list without elements can be sent.
pub(super) fn octets(
    definition: &Definition,
    mut value: Vec<u8>,
    may_be_empty: &[Field],
) -> Result<EncodedOptionBytes, String> {
    if let [field @ (Field::Resolver | Field::Resolvers)] = *definition.fields {
        return resolvers::from_octets(field, &value).map(EncodedOptionBytes::from_octets);
    }
    let is_empty_list = value.is_empty()
        && definition.array
        && matches!(&*definition.fields, [field] if may_be_empty.contains(field));
    if is_empty_list {
        return Ok(EncodedOptionBytes::from_octets(value));
    }
    let mut used = 0;
    for &field in &*definition.fields {
        used += field_length(field, &value[used..], &value)?;
    }
    while let Some(&last) = definition.fields.last()
        && definition.array
        && used < value.len()
    {
        let rest = &value[used..];
        let must_be_whole = definition.fields.len() == 1 && last != Field::Psid;
        if !must_be_whole && last.fixed_len().is_some_and(|len| rest.len() < len) {
            break;
        }
        used += field_length(last, rest, &value)?;
    }
    if *definition.fields == [Field::Text] {
        let length = trim_zeros(&value, true)?.len();
        value.truncate(length);
        used = length;
    }
    if definition.encapsulates.is_some() {
        // The remaining bytes are sub-options.
        return Ok(EncodedOptionBytes {
            fields_len: used,
            ..EncodedOptionBytes::from_octets(value)
        });
    }
    let unused = (used < value.len()).then_some(UnsentText::Octets(value.len() - used));
    value.truncate(used);
    Ok(EncodedOptionBytes { unused, ..EncodedOptionBytes::from_octets(value) })
}

/// Returns the number of bytes at the start of `rest` that a field of an option takes up. `option`
/// has all bytes of the option, which compressed names may point back into.
fn field_length(field: Field, rest: &[u8], option: &[u8]) -> Result<usize, String> {
    let need = |length: usize| {
        if rest.len() < length {
            Err(format!("a value of length {} does not fit its type", option.len()))
        } else {
            Ok(length)
        }
    };
    if let Some(length) = field.fixed_len() {
        return need(length);
    }
    match field {
        Field::Binary | Field::Opaque | Field::SubOptions | Field::Text => Ok(rest.len()),
        Field::Ipv6Prefix => {
            let length = rest[..need(1)?][0];
            if length > 128 {
                return Err(format!("prefix length {length} is above 128"));
            }
            need(1 + usize::from(length.div_ceil(8)))
        }
        Field::Enterprise => need(4).map(|_| rest.len()),
        Field::Tuple => {
            need(2)?;
            need(2 + usize::from(u16::from_be_bytes([rest[0], rest[1]])))
        }
        Field::ShortTuple => {
            need(1)?;
            need(1 + usize::from(rest[0]))
        }
        Field::Routes => {
            let mut at = 0;
            while at < rest.len() {
                if rest[at] > 32 {
                    return Err(format!("prefix length {} is above 32", rest[at]));
                }
                at += 5 + usize::from(rest[at].div_ceil(8));
            }
            need(at.max(1))
        }
        Field::Name => name_length(rest, option.len() - rest.len()),
        _ => unreachable!("of a fixed length"),
    }
}

/// Returns the number of bytes that a domain name at the start of `rest` takes up; `start` bytes
/// precede it, which compression may point to (RFC 3397 §2).
pub(super) fn name_length(rest: &[u8], start: usize) -> Result<usize, String> {
    let cut = || "a domain name in it has no end".to_owned();
    let mut at = 0;
    loop {
        let length = *rest.get(at).ok_or_else(cut)?;
        match length {
            0 => return Ok(at + 1),
            1..=63 => at += 1 + usize::from(length),
            0xc0..=0xff => {
                let low = *rest.get(at + 1).ok_or_else(cut)?;
                let target = usize::from(u16::from_be_bytes([length & 0x3f, low]));
                return if target < start {
                    Ok(at + 2)
                } else {
                    Err(format!("a domain name in it points forward, to byte {target}"))
                };
            }
            _ => return Err(format!("label length {length} is above 63")),
        }
    }
}
