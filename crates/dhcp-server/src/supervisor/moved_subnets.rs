//! DHCPv6 subnets that a command moves out of a shared network. The configuration as commands show
//! it has `rapid-commit` false for a subnet outside of networks that does not set the key. As in
//! Kea, a moved subnet does not get that default: with it the subnet would not follow the setting
//! of a network into which it is moved later.

use serde_json::Value;

/// Configuration key with the default for subnets outside of networks.
const KEY: &str = "rapid-commit";

/// Returns the DHCPv6 subnets of `document` that are in no shared network.
fn lone_subnets(document: &Value) -> &[Value] {
    document["Dhcp6"]["subnet6"].as_array().map_or(&[], Vec::as_slice)
}

/// Returns the numbers (`id`) of the subnets that are outside of networks in `changed`, a
/// configuration from a command, and set `rapid-commit` neither there nor in the configuration
/// `before`.
pub(super) fn without_default(changed: &Value, before: &Value) -> Vec<Value> {
    let networks = before["Dhcp6"]["shared-networks"].as_array().into_iter().flatten();
    let inside = networks.filter_map(|network| network["subnet6"].as_array()).flatten();
    let lacks = |subnet: &&Value| subnet.get(KEY).is_none();
    let lacked: Vec<&Value> = inside.chain(lone_subnets(before)).filter(lacks).collect();
    let id_of = |subnet: &Value| subnet["id"].clone();
    let lacking = lone_subnets(changed).iter().filter(lacks).map(id_of);
    lacking.filter(|id| lacked.iter().any(|subnet| subnet["id"] == *id)).collect()
}

/// Removes `rapid-commit` from the subnets with the numbers `ids`.
pub(super) fn remove_default(document: &mut Value, ids: &[Value]) {
    if ids.is_empty() {
        return;
    }
    let subnets = document["Dhcp6"]["subnet6"].as_array_mut().into_iter().flatten();
    for subnet in subnets.filter(|subnet| ids.contains(&subnet["id"])) {
        if let Some(map) = subnet.as_object_mut() {
            map.remove(KEY);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_subnet_that_leaves_a_network_gets_no_default_and_others_keep_theirs() {
        let subnet = |id: u32| json!({ "id": id });
        let shown = |id: u32| json!({ "id": id, KEY: false });
        let network = json!({ "name": "x", "subnet6": [subnet(1), shown(2)] });
        let before = json!({ "Dhcp6": {
            "subnet6": [shown(3), subnet(4)], "shared-networks": [network] } });
        let changed = json!({ "Dhcp6": { "subnet6": [shown(3), subnet(4), subnet(1), shown(2), subnet(5)] } });
        let ids = without_default(&changed, &before);
        assert_eq!(ids, [json!(4), json!(1)]);
        let all = [3, 4, 1, 2, 5].map(shown);
        let mut document = json!({ "Dhcp6": { "subnet6": all } });
        remove_default(&mut document, &ids);
        let expected = [shown(3), subnet(4), subnet(1), shown(2), shown(5)];
        assert_eq!(document["Dhcp6"]["subnet6"], json!(expected));
    }

    #[test]
    fn a_dhcpv4_configuration_stays() {
        let mut document = json!({ "Dhcp4": { "subnet4": [{ "id": 1 }] } });
        let before = document.clone();
        let ids = without_default(&document, &before);
        remove_default(&mut document, &ids);
        assert_eq!((ids, document), (Vec::new(), before));
    }
}
