//! Components of the program for other programs (a bill of materials in CycloneDX 1.5) and for
//! people (the licenses of third-party crates), both from `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// Crate of the program with its part of `cargo metadata`.
pub(super) struct Component<'m> {
    package: &'m Value,
    /// Identifiers of the crates that it depends on.
    dependencies: Vec<String>,
}

impl Component<'_> {
    fn text(&self, key: &str) -> &str {
        self.package[key].as_str().unwrap_or_default()
    }

    fn is_ours(&self) -> bool {
        self.package["source"].is_null()
    }

    /// Returns the package URL of the crate (purl), which identifies it in other documents.
    fn url(&self) -> String {
        format!("pkg:cargo/{}@{}", self.text("name"), self.text("version").replace('+', "%2B"))
    }
}

/// Returns the crates that are compiled into the program `name`, itself included, by their
/// identifiers in `metadata`.
pub(super) fn components<'m>(
    metadata: &'m Value,
    name: &str,
) -> Result<BTreeMap<String, Component<'m>>, String> {
    let packages: BTreeMap<&str, &Value> = list(&metadata["packages"])
        .iter()
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let nodes: BTreeMap<&str, &Value> = list(&metadata["resolve"]["nodes"])
        .iter()
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let first =
        packages.iter().find(|(_, package)| package["name"] == name && package["source"].is_null());
    let (first, _) = first.ok_or_else(|| format!("cargo metadata has no crate {name}"))?;
    let mut found = BTreeMap::new();
    let mut open = BTreeSet::from([*first]);
    while let Some(id) = open.pop_first() {
        let (Some(&package), Some(node)) = (packages.get(id), nodes.get(id)) else { continue };
        let is_compiled = |dependency: &&Value| {
            list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null())
        };
        let below = list(&node["deps"]).iter().filter(is_compiled);
        let dependencies: Vec<&str> = below.filter_map(|below| below["pkg"].as_str()).collect();
        open.extend(dependencies.iter().filter(|below| !found.contains_key(**below)));
        let dependencies = dependencies.into_iter().map(str::to_owned).collect();
        found.insert(id.to_owned(), Component { package, dependencies });
    }
    Ok(found)
}

/// Returns the elements of a JSON array; none of anything else.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[][..], Vec::as_slice)
}

/// Returns the bill of materials of the program with `components`, at the time `timestamp`.
/// `checksums` are those of the lock file.
pub(super) fn bill(
    components: &BTreeMap<String, Component<'_>>,
    checksums: &BTreeMap<(String, String), String>,
    timestamp: &str,
) -> Value {
    let url = |id: &String| components.get(id).map(Component::url);
    let described = components.values().map(|component| {
        let mut described = json!({
            "type": "library",
            "bom-ref": component.url(),
            "name": component.text("name"),
            "version": component.text("version"),
            "licenses": [{ "expression": component.text("license").replace('/', " OR ") }],
        });
        if !component.is_ours() {
            described["purl"] = component.url().into();
        }
        let key = (component.text("name").to_owned(), component.text("version").to_owned());
        if let Some(sum) = checksums.get(&key) {
            described["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        described
    });
    let (programs, libraries): (Vec<Value>, Vec<Value>) =
        described.partition(|component| component["name"] == "godwit");
    let mut program = programs.into_iter().next().unwrap_or_default();
    program["type"] = "application".into();
    let dependencies = components.values().map(|component| {
        let below: Vec<String> = component.dependencies.iter().filter_map(url).collect();
        json!({ "ref": component.url(), "dependsOn": below })
    });
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "timestamp": timestamp, "component": program },
        "components": libraries,
        "dependencies": dependencies.collect::<Vec<_>>(),
    })
}

/// Returns the checksums of a lock file by name and version.
pub(super) fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |block: &str, key: &str| {
        let begin = format!("{key} = \"");
        let line = block.lines().find_map(|line| line.strip_prefix(&begin))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    let blocks = lock.split("[[package]]");
    blocks
        .filter_map(|block| {
            Some(((value(block, "name")?, value(block, "version")?), value(block, "checksum")?))
        })
        .collect()
}

/// Returns the licenses of all third-party crates in `components`, with the texts that the crates
/// come with.
pub(super) fn licenses(components: &BTreeMap<String, Component<'_>>) -> Result<String, String> {
    let mut text =
        "Licenses of the third-party crates in the program, each with its texts.\n".to_owned();
    for component in components.values().filter(|component| !component.is_ours()) {
        let (name, version) = (component.text("name"), component.text("version"));
        text += &format!("\n\n==== {name} {version}: {}\n", component.text("license"));
        let manifest = Path::new(component.text("manifest_path"));
        let folder = manifest.parent().unwrap_or(manifest);
        let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths.iter().filter(|path| is_license(path)) {
            let octets = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
            text += &format!("\n{}\n", String::from_utf8_lossy(&octets).trim_end());
        }
    }
    Ok(text)
}

fn is_license(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
    let begins = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
    path.is_file() && begins.iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata() -> Value {
        let package = |name: &str, source: Value| {
            json!({ "id": name, "name": name, "version": "1.0.0+x", "source": source,
                    "license": "MIT/Apache-2.0" })
        };
        let dependency =
            |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        json!({
            "packages": [
                package("godwit", Value::Null), package("a", "registry".into()),
                package("b", "registry".into()), package("tests", "registry".into()),
            ],
            "resolve": { "nodes": [
                { "id": "godwit", "deps": [
                    dependency("a", Value::Null), dependency("tests", "dev".into()) ] },
                { "id": "a", "deps": [dependency("b", Value::Null)] },
                { "id": "b", "deps": [] },
                { "id": "tests", "deps": [] },
            ] },
        })
    }

    #[test]
    fn the_bill_has_what_is_compiled_in() {
        let metadata = metadata();
        let components = components(&metadata, "godwit").unwrap();
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0+x\"\nchecksum = \"12ab\"\n";
        let bill = bill(&components, &checksums(lock), "2026-11-29T00:00:00Z");
        assert_eq!(bill["metadata"]["component"]["type"], "application");
        let libraries = bill["components"].as_array().unwrap();
        let names: Vec<&Value> = libraries.iter().map(|library| &library["name"]).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(libraries[0]["purl"], "pkg:cargo/a@1.0.0%2Bx");
        assert_eq!(libraries[0]["hashes"][0]["content"], "12ab");
        assert_eq!(libraries[0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["dependencies"][0]["dependsOn"], json!(["pkg:cargo/b@1.0.0%2Bx"]));
        assert!(super::components(&metadata, "none").is_err());
    }
}
