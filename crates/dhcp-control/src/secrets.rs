//! Secrets in configurations that control commands show: passwords are masked, because a reader of
//! a configuration need not know them.

use serde_json::Value;

/// Text that commands show in place of a secret.
const MASK: &str = "*****";
/// Configuration keys whose values are secrets.
const KEYS: [&str; 2] = ["password", "secret"];
/// Configuration key of the operator's own data, which may contain anything.
const CONTEXT: &str = "user-context";
/// Configuration key of Godwit's own settings in the operator's data.
const OWN: &str = "godwit";

/// Replaces the secrets in `configuration` by `*****`.
pub(crate) fn mask(configuration: &mut Value) {
    match configuration {
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                match value {
                    inner if key == CONTEXT => {
                        inner.get_mut(OWN).into_iter().for_each(mask);
                    }
                    Value::String(text) if KEYS.contains(&key.as_str()) && !text.is_empty() => {
                        MASK.clone_into(text);
                    }
                    inner => mask(inner),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        _ => {}
    }
}

/// Restores the secrets of `known` where `configuration` has the mask `*****` at the same position.
/// A client read the configuration, changed it, and sent it back.
pub fn restore_secrets(configuration: &mut Value, known: &Value) {
    match (configuration, known) {
        (Value::Object(map), Value::Object(known)) => {
            for (key, value) in map.iter_mut() {
                match (value, known.get(key)) {
                    (inner, Some(known)) if key == CONTEXT => {
                        if let (Some(inner), Some(known)) = (inner.get_mut(OWN), known.get(OWN)) {
                            restore_secrets(inner, known);
                        }
                    }
                    (Value::String(text), Some(Value::String(secret)))
                        if KEYS.contains(&key.as_str()) && text == MASK =>
                    {
                        secret.clone_into(text);
                    }
                    (inner, Some(known)) => restore_secrets(inner, known),
                    (_, None) => {}
                }
            }
        }
        (Value::Array(items), Value::Array(known)) => {
            for (item, known) in items.iter_mut().zip(known) {
                restore_secrets(item, known);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_not_shown_and_come_back() {
        let own = json!({ "Dhcp4": {
            "lease-database": { "type": "mysql", "user": "kea", "password": "x" },
            "control-sockets": [ {}, { "clients": [ { "user": "a", "password": "y" } ] } ],
            "user-context": { "password": "note",
                              "godwit": { "ddns": { "tsig-keys": [ { "secret": "z" } ] } } },
            "hosts-databases": [ { "password": "" } ] } });
        let mut configuration = own.clone();
        mask(&mut configuration);
        let text = configuration.to_string();
        assert!(["\"x\"", "\"y\"", "\"z\""].iter().all(|secret| !text.contains(secret)), "{text}");
        assert!(text.contains("note"), "{text}");
        assert_eq!(configuration["Dhcp4"]["lease-database"]["password"], MASK);
        configuration["Dhcp4"]["valid-lifetime"] = json!(7);
        restore_secrets(&mut configuration, &own);
        let mut expected = own.clone();
        expected["Dhcp4"]["valid-lifetime"] = json!(7);
        assert_eq!(configuration, expected);
        let mut other = json!({ "Dhcp4": { "lease-database": { "password": "new" } } });
        restore_secrets(&mut other, &own);
        assert_eq!(other["Dhcp4"]["lease-database"]["password"], "new");
    }
}
