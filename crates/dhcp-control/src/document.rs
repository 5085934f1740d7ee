//! Access to a configuration as a JSON document that commands read and change.

use serde_json::{Map, Value, json};

use crate::arguments::integer;
use crate::family::CommandFamily;
use crate::ip_version::IpVersion;

/// Returns the items of the list `key` in the map `scope`; none if there is no such list.
pub(crate) fn items<'a>(scope: &'a Value, key: &str) -> &'a [Value] {
    scope.as_object().map_or(&[], |map| items_of(map, key))
}

/// Returns every subnet of the global scope `root` with its shared network's name, those without a
/// network first.
pub(crate) fn subnets(root: &Value, version: IpVersion) -> Vec<(&Value, Option<&str>)> {
    let alone = items(root, version.subnets()).iter().map(|subnet| (subnet, None));
    let shared = items(root, "shared-networks").iter().flat_map(|network| {
        let name = network["name"].as_str();
        items(network, version.subnets()).iter().map(move |subnet| (subnet, name))
    });
    alone.chain(shared).collect()
}

/// Configuration key of the list of reservations.
pub(crate) const RESERVATIONS: &str = "reservations";

/// Returns the reservations of the subnet `subnet_id` of a configuration, or the global ones for 0;
/// creates an empty list if there is none. Returns `None` if there is no such subnet.
pub fn reservations_of<F: CommandFamily>(
    document: &mut Value,
    subnet_id: u32,
) -> Option<&mut Vec<Value>> {
    let map = document.get_mut(F::VERSION.root())?.as_object_mut()?;
    if subnet_id == 0 {
        return Some(list_of(map, RESERVATIONS));
    }
    let key = F::VERSION.subnets();
    let is_it = |subnet: &&mut Value| has_id(subnet, subnet_id);
    let is_alone = items_of(map, key).iter().any(|subnet| has_id(subnet, subnet_id));
    let subnet = if is_alone {
        list_of(map, key).iter_mut().find(is_it)
    } else {
        let networks = list_of(map, "shared-networks").iter_mut();
        let inside = networks.filter_map(|network| network.get_mut(key)?.as_array_mut());
        inside.flatten().find(is_it)
    };
    Some(list_of(subnet?.as_object_mut()?, RESERVATIONS))
}

fn items_of<'a>(map: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    map.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns true if the map `subnet` has the number `id`.
pub(crate) fn has_id(subnet: &Value, id: u32) -> bool {
    subnet.get("id").and_then(integer) == Some(id.into())
}

/// Returns a map with the two keys by which answers name a subnet: its `id` and its prefix.
pub(crate) fn name_of(subnet: &Value) -> Value {
    json!({ "id": subnet["id"], "subnet": subnet["subnet"] })
}

/// Returns the prefix of a subnet as the configuration writes it.
pub(crate) fn prefix_of(subnet: &Value) -> &str {
    subnet["subnet"].as_str().unwrap_or_default()
}

/// Global scope of a configuration that a command is changing.
pub(crate) struct Root<'a> {
    map: &'a mut Map<String, Value>,
    version: IpVersion,
}

/// Position of a subnet in a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SubnetPosition {
    /// Position of the subnet's shared network; `None` for a subnet without one.
    pub(crate) network: Option<usize>,
    index: usize,
}

impl<'a> Root<'a> {
    /// Returns the global scope of `document`; `None` if the document has none.
    pub(crate) fn of(document: &'a mut Value, version: IpVersion) -> Option<Self> {
        let map = document.get_mut(version.root())?.as_object_mut()?;
        Some(Self { map, version })
    }

    /// Returns the list `key` of the global scope; creates it if there is none.
    pub(crate) fn list(&mut self, key: &str) -> &mut Vec<Value> {
        list_of(self.map, key)
    }

    /// Returns the subnets of the shared network at the position `network`, or for `None` those
    /// without a shared network.
    pub(crate) fn subnets_in(&mut self, network: Option<usize>) -> &mut Vec<Value> {
        let key = self.version.subnets();
        let Some(network) = network else { return self.list(key) };
        let network = &mut self.list("shared-networks")[network];
        if !network.is_object() {
            *network = json!({});
        }
        list_of(network.as_object_mut().expect("made a map above"), key)
    }

    /// Returns the position of the shared network `name`; `None` if there is no such network.
    pub(crate) fn network(&mut self, name: &str) -> Option<usize> {
        self.list("shared-networks").iter().position(|network| network["name"] == name)
    }

    /// Returns the position of the subnet with the number `id`; `None` if there is no such subnet.
    pub(crate) fn subnet_position(&mut self, id: u32) -> Option<SubnetPosition> {
        let networks = self.list("shared-networks").len();
        core::iter::once(None).chain((0..networks).map(Some)).find_map(|network| {
            let subnets = self.subnets_in(network);
            let index = subnets.iter().position(|subnet| has_id(subnet, id))?;
            Some(SubnetPosition { network, index })
        })
    }

    /// Returns the subnet at `position` for changes.
    pub(crate) fn subnet(&mut self, position: SubnetPosition) -> &mut Value {
        &mut self.subnets_in(position.network)[position.index]
    }

    /// Sets `rapid-commit` of the DHCPv6 subnet at `position` to false if it is not set, as Kea
    /// does when a command changes a subnet: it does not follow its shared network then. Sets
    /// nothing if another subnet of the network has rapid commit, since the subnets of a network
    /// must agree.
    pub(crate) fn set_rapid_commit(&mut self, position: SubnetPosition) {
        const KEY: &str = "rapid-commit";
        let network = position.network.and_then(|at| self.list("shared-networks").get(at));
        let is_of_network = network.is_some_and(|network| network[KEY] == true);
        let subnets = self.subnets_in(position.network);
        let has = |subnet: &Value| subnet[KEY].as_bool().unwrap_or(is_of_network);
        let mut others = subnets.iter().enumerate().filter(|(index, _)| *index != position.index);
        if position.network.is_some() && others.any(|(_, subnet)| has(subnet)) {
            return;
        }
        if let Some(map) = subnets.get_mut(position.index).and_then(Value::as_object_mut) {
            map.entry(KEY).or_insert(false.into());
        }
    }

    /// Removes the subnet at `position` from the configuration and returns it.
    pub(crate) fn remove(&mut self, position: SubnetPosition) -> Value {
        self.subnets_in(position.network).remove(position.index)
    }
}

/// Returns the list `key` of `map`; creates the list if there is none.
pub(crate) fn list_of<'a>(map: &'a mut Map<String, Value>, key: &str) -> &'a mut Vec<Value> {
    let list = map.entry(key).or_insert_with(|| json!([]));
    if !list.is_array() {
        *list = json!([]);
    }
    list.as_array_mut().expect("made a list above")
}
