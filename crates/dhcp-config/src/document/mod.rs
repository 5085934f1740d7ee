//! Effective configuration as one JSON document: the values of the file, includes resolved, with
//! Kea's defaults at every scope, as the command `config-get` returns it.
//!
//! The parsers of this crate accept a document and return the configuration that it was made from.
//! Kea accepts it, too, as far as its version knows the keys. Like Kea's own answer it writes
//! inherited terms into networks and subnets, moves `comment` into `user-context`, and replaces
//! older keys by their successors.

mod defaults;
mod spelling;
mod text;

pub use text::render;

pub(crate) use defaults::{SHAPE4, SHAPE6};

use spelling::{OptionNames, Standard};

use std::sync::LazyLock;

use serde_json::{Map, Value as Json, json};

use crate::json::{JsonContent, JsonValue};

/// Configuration keys with their defaults, read from JSON once.
type Table = LazyLock<Map<String, Json>>;

/// Parses the JSON text of a table of defaults.
fn table(text: &str) -> Map<String, Json> {
    serde_json::from_str(text).expect("the tables are JSON")
}

static OPTIONS: Table = LazyLock::new(|| table(r#"{ "option-data": [] }"#));
static OPTION: Table = LazyLock::new(|| table(r#"{ "always-send": false, "never-send": false }"#));
static DEFINITION: Table = LazyLock::new(|| table(r#"{ "array": false, "encapsulate": "" }"#));
static LOGGER: Table = LazyLock::new(|| table(r#"{ "severity": "INFO", "debuglevel": 0 }"#));
static OUTPUT: Table = LazyLock::new(|| table(r#"{ "flush": true, "pattern": "" }"#));
static OUTPUT_FILE: Table = LazyLock::new(|| table(r#"{ "maxsize": 10240000, "maxver": 1 }"#));
static SOCKET: Table =
    LazyLock::new(|| table(r#"{ "socket-address": "127.0.0.1", "socket-port": 8000 }"#));

/// Keys of maps whose contents belong to the operator and are copied as they are.
const FREE: [&str; 2] = ["user-context", "parameters"];

/// Key of a logger's outputs in documents, as newer versions of Kea spell it.
const OUTPUTS: &str = "output-options";

/// Keys and defaults of one family's configuration documents.
#[derive(Debug)]
pub(crate) struct DocumentSchema {
    /// Key at the top of a document: `Dhcp4` or `Dhcp6`.
    top: &'static str,
    /// Key of a list of subnets: `subnet4` or `subnet6`.
    subnets: &'static str,
    /// Name of the space of the family's standard options.
    space: &'static str,
    /// Function that finds standard options of the family.
    standard: Standard,
    /// Defaults of the global scope: those of both families, and this family's own.
    global: [&'static Table; 2],
    class: &'static Table,
    network: &'static Table,
    subnet: &'static Table,
    /// Defaults of further keys of a subnet that is no member of a shared network.
    lone_subnet: &'static Table,
    reservation: &'static Table,
    /// Keys that Kea copies from the global scope into networks, and from networks into subnets:
    /// those of both families, and this family's own.
    inherited: [&'static [&'static str]; 2],
    /// Keys of times that have a minimum and a maximum, such as `valid-lifetime`.
    bounded: &'static [&'static str],
}

/// Configuration as it was read, for conversion to the JSON document that `config-get` shows.
#[derive(Clone, Debug)]
pub struct ConfigDocument {
    root: JsonValue,
    shape: &'static DocumentSchema,
}

impl ConfigDocument {
    pub(crate) fn new(root: JsonValue, shape: &'static DocumentSchema) -> Self {
        Self { root, shape }
    }

    /// Returns the configuration as a document, `{ "Dhcp4": { ... } }` or `{ "Dhcp6": { ... } }`.
    ///
    /// JSON strings are characters, Kea's strings are bytes: a byte that is no part of UTF-8
    /// becomes the character U+EF00 plus its value, which [`render`] turns back and the parsers
    /// read as the byte.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut root = plain(&self.root);
        let shape = self.shape;
        if let Some(global) = root.get_mut(shape.top).and_then(Json::as_object_mut) {
            shape.complete_global(global);
        }
        root
    }
}

/// Returns the DHCPv4 reservation `host` from outside of a configuration, a JSON map with every
/// option's code, as `config-get` shows reservations: with defaults, and in Kea's spelling.
/// `definitions` is the list `option-def` of the configuration, by which options have names.
#[must_use]
pub fn host_document4(definitions: &Json, host: Json) -> Json {
    SHAPE4.host(definitions, host)
}

/// Returns the DHCPv6 reservation `host` from outside of a configuration, as [`host_document4`]
/// returns one of DHCPv4.
#[must_use]
pub fn host_document6(definitions: &Json, host: Json) -> Json {
    SHAPE6.host(definitions, host)
}

/// Converts a parsed value to JSON without its positions, with `comment` moved into `user-context`.
pub(crate) fn plain(value: &JsonValue) -> Json {
    match &value.kind {
        JsonContent::Unusable | JsonContent::Null => Json::Null,
        JsonContent::Bool(value) => json!(value),
        JsonContent::Integer(value) => json!(value),
        JsonContent::Float(value) => json!(value),
        JsonContent::Text(octets) => Json::String(text::from_octets(octets)),
        JsonContent::List(items) => items.iter().map(plain).collect(),
        JsonContent::Map(entries) => {
            let mut map = Map::new();
            for entry in entries {
                let inside = if FREE.contains(&&*entry.key) { free } else { plain };
                map.insert((*entry.key).to_owned(), inside(&entry.value));
            }
            if let Some(comment) = map.remove("comment") {
                let context = map.entry("user-context").or_insert_with(|| json!({}));
                if let Some(context) = context.as_object_mut() {
                    context.insert("comment".to_owned(), comment);
                }
            }
            Json::Object(map)
        }
    }
}

/// Converts a value of the operator's own to JSON, `comment` included.
fn free(value: &JsonValue) -> Json {
    match &value.kind {
        JsonContent::List(items) => items.iter().map(free).collect(),
        JsonContent::Map(entries) => {
            entries.iter().map(|entry| ((*entry.key).to_owned(), free(&entry.value))).collect()
        }
        _ => plain(value),
    }
}

impl DocumentSchema {
    fn complete_global(&self, global: &mut Map<String, Json>) {
        renew_old_keys(global);
        self.global.iter().for_each(|table| fill(global, table));
        if let Some(ddns) = global.get_mut("dhcp-ddns").and_then(Json::as_object_mut) {
            complete_sender(ddns);
        }
        for_each_map(global, "option-def", |def| {
            fill(def, &DEFINITION);
            def.entry("space").or_insert_with(|| json!(self.space));
        });
        let option_names = OptionNames::new(self.standard, self.space).with(global);
        self.complete_options(global, &option_names);
        for_each_map(global, "client-classes", |class| {
            fill(class, self.class);
            let option_names = option_names.with(class);
            self.complete_options(class, &option_names);
        });
        self.complete_reservations(global, &option_names);
        for_each_map(global, "control-sockets", complete_socket);
        for_each_map(global, "loggers", complete_logger);

        let outer = self.inheritance(global);
        let mut next_id = 1;
        for_each_map(global, "shared-networks", |network| {
            renew_old_keys(network);
            inherit(network, &outer);
            let outer = self.inheritance(network);
            fill(network, self.network);
            self.complete_options(network, &option_names);
            for_each_map(network, self.subnets, |subnet| {
                self.complete_subnet(subnet, &outer, &option_names, &mut next_id);
            });
            sort_by_id(network, self.subnets);
        });
        for_each_map(global, self.subnets, |subnet| {
            self.complete_subnet(subnet, &outer, &option_names, &mut next_id);
            fill(subnet, self.lone_subnet);
        });
        sort_by_id(global, self.subnets);
    }

    /// Returns the values of `scope` that inner scopes inherit.
    fn inheritance(&self, scope: &Map<String, Json>) -> Map<String, Json> {
        let inherited =
            self.inherited.into_iter().flatten().filter_map(|key| scope.get_key_value(*key));
        inherited.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    fn complete_subnet(
        &self,
        subnet: &mut Map<String, Json>,
        outer: &Map<String, Json>,
        option_names: &OptionNames,
        next_id: &mut u32,
    ) {
        // Subnets without an identifier are numbered as the reader does it.
        if subnet.get("id").is_none_or(|id| *id == json!(0)) {
            subnet.insert("id".to_owned(), json!(*next_id));
            *next_id += 1;
        }
        renew_old_keys(subnet);
        inherit(subnet, outer);
        self.complete_bounds(subnet);
        fill(subnet, self.subnet);
        self.complete_options(subnet, option_names);
        self.complete_reservations(subnet, option_names);
        for pools in ["pools", "pd-pools"] {
            for_each_map(subnet, pools, |pool| {
                renew_old_keys(pool);
                spelling::spell_pool(pool);
                fill(pool, &OPTIONS);
                self.complete_options(pool, option_names);
            });
        }
    }

    /// Completes times of `scope` that lack a minimum or a maximum: both get the time's own value,
    /// if that is from 1 to `valid-lifetime`. Not called for networks: their members would inherit
    /// bounds that the operator has not set.
    fn complete_bounds(&self, scope: &mut Map<String, Json>) {
        let valid = scope.get("valid-lifetime").and_then(Json::as_u64).unwrap_or(0);
        for key in self.bounded {
            let value = scope.get(*key).and_then(Json::as_u64);
            let Some(value) = value.filter(|value| (1..=valid).contains(value)) else { continue };
            for bound in ["min", "max"] {
                scope.entry(format!("{bound}-{key}")).or_insert_with(|| json!(value));
            }
        }
    }

    fn complete_options(&self, scope: &mut Map<String, Json>, option_names: &OptionNames) {
        for_each_map(scope, "option-data", |option| {
            fill(option, &OPTION);
            option.entry("space").or_insert_with(|| json!(self.space));
            option_names.complete(option);
        });
    }

    /// Returns a reservation from outside of a configuration as documents show it.
    fn host(&self, definitions: &Json, host: Json) -> Json {
        let mut scope = Map::new();
        scope.insert("option-def".to_owned(), definitions.clone());
        let option_names = OptionNames::new(self.standard, self.space).with(&scope);
        scope.insert("reservations".to_owned(), json!([host]));
        self.complete_reservations(&mut scope, &option_names);
        scope["reservations"][0].take()
    }

    fn complete_reservations(&self, scope: &mut Map<String, Json>, option_names: &OptionNames) {
        for_each_map(scope, "reservations", |reservation| {
            fill(reservation, self.reservation);
            spelling::spell_reservation(reservation);
            self.complete_options(reservation, option_names);
        });
    }
}

/// Adds the values of the outer scope `outer` that `scope` does not set.
fn inherit(scope: &mut Map<String, Json>, outer: &Map<String, Json>) {
    for (key, value) in outer {
        scope.entry(key.clone()).or_insert_with(|| value.clone());
    }
}

/// Adds the keys of `table` that `scope` lacks, also inside its maps.
fn fill(scope: &mut Map<String, Json>, table: &Map<String, Json>) {
    for (key, default) in table {
        match (scope.get_mut(key), default) {
            (Some(Json::Object(inner)), Json::Object(default)) => fill(inner, default),
            (Some(_), _) => {}
            (None, default) => drop(scope.insert(key.clone(), default.clone())),
        }
    }
}

/// Calls `complete` for every map in the list `key` of `scope`.
pub(crate) fn for_each_map(
    scope: &mut Map<String, Json>,
    key: &str,
    mut complete: impl FnMut(&mut Map<String, Json>),
) {
    let items = scope.get_mut(key).and_then(Json::as_array_mut).into_iter().flatten();
    items.filter_map(Json::as_object_mut).for_each(&mut complete);
}

/// Sorts the list of subnets `key` of `scope` by their ids, as Kea shows it.
fn sort_by_id(scope: &mut Map<String, Json>, key: &str) {
    if let Some(subnets) = scope.get_mut(key).and_then(Json::as_array_mut) {
        subnets.sort_by_key(|subnet| subnet["id"].as_u64());
    }
}

/// Replaces older keys of `scope` by the newer keys that Kea has for them, so that defaults do not
/// conflict.
fn renew_old_keys(scope: &mut Map<String, Json>) {
    if let Some(mode) = scope.remove("reservation-mode") {
        let mode = mode.as_str().unwrap_or("all");
        for (key, value) in [
            ("reservations-global", mode == "global"),
            ("reservations-in-subnet", matches!(mode, "all" | "out-of-pool")),
            ("reservations-out-of-pool", mode == "out-of-pool"),
        ] {
            scope.insert(key.to_owned(), json!(value));
        }
    }
    if let Some(resolution) = scope.remove("ddns-use-conflict-resolution") {
        let is_wanted = resolution.as_bool().unwrap_or(true);
        let mode = if is_wanted { "check-with-dhcid" } else { "no-check-with-dhcid" };
        scope.insert("ddns-conflict-resolution-mode".to_owned(), json!(mode));
    }
    if let Some(relay) = scope.get_mut("relay").and_then(Json::as_object_mut)
        && let Some(address) = relay.remove("ip-address")
    {
        let addresses = if address == json!("") { json!([]) } else { json!([address]) };
        relay.insert("ip-addresses".to_owned(), addresses);
    }
    if let Some(socket) = scope.remove("control-socket") {
        scope.insert("control-sockets".to_owned(), json!([socket]));
    }
}

/// Completes the sender address of DNS name updates in `dhcp-ddns`: the unspecified address of the
/// family of the DNS update server's address.
fn complete_sender(ddns: &mut Map<String, Json>) {
    if ddns.get("sender-ip").is_some_and(|sender| *sender == json!("")) {
        let server = ddns.get("server-ip").and_then(Json::as_str).unwrap_or_default();
        let sender = if server.contains(':') { "::" } else { "0.0.0.0" };
        ddns.insert("sender-ip".to_owned(), json!(sender));
    }
}

/// Completes a logger, an element of `loggers`.
pub(crate) fn complete_logger(logger: &mut Map<String, Json>) {
    fill(logger, &LOGGER);
    if let Some(outputs) = logger.remove("output_options") {
        logger.insert(OUTPUTS.to_owned(), outputs);
    }
    for_each_map(logger, OUTPUTS, complete_output);
}

fn complete_output(output: &mut Map<String, Json>) {
    fill(output, &OUTPUT);
    let is_file = output.get("output").and_then(Json::as_str).is_some_and(|name| {
        !matches!(name, "stdout" | "stderr" | "syslog") && !name.starts_with("syslog:")
    });
    if is_file {
        fill(output, &OUTPUT_FILE);
    }
}

/// Completes a control socket, an element of `control-sockets`.
pub(crate) fn complete_socket(socket: &mut Map<String, Json>) {
    if socket.get("socket-type").is_some_and(|kind| *kind != json!("unix")) {
        fill(socket, &SOCKET);
        if socket.contains_key("trust-anchor") {
            socket.entry("cert-required").or_insert_with(|| json!(true));
        }
    }
}
