//! Workspace as tidy's rules see it: packages with their layers and dependencies from
//! `cargo metadata`, and the files under version control.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::source::RustSource;

/// Layer of a crate in the architecture. A dependency between crates must point to a lower layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    /// Number of a layer: 0 base, 1 wire, 2 core, 3 edges, 4 products.
    Number(u8),
    /// Layer of checks and automation, which may depend on every crate, and on which no crate may
    /// depend.
    Check,
}

/// Use of a dependency of a crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DependencyUse {
    /// Dependency of the code, in `[dependencies]` or `[build-dependencies]`.
    Normal,
    /// Dependency of tests, in `[dev-dependencies]`.
    Dev,
}

/// Dependency of a crate: a line of its manifest that names another crate.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    /// Name of the crate that is depended on.
    pub(crate) name: String,
    /// Use of the dependency: by code or by tests.
    pub(crate) usage: DependencyUse,
    /// True if the dependency is a crate of this workspace.
    pub(crate) is_internal: bool,
}

/// Crate of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    /// Name of the crate.
    pub(crate) name: String,
    /// Path of the crate's manifest, from the root of the workspace.
    pub(crate) manifest: String,
    /// Path of the crate's folder, from the root of the workspace; empty for the root itself.
    pub(crate) folder: String,
    /// Layer that the crate declares, or the fault of the declaration.
    pub(crate) layer: Result<Layer, String>,
    /// Dependencies of the crate.
    pub(crate) dependencies: Vec<Dependency>,
    /// Root files of the crate's targets (library, binaries, tests, benches, build script), from
    /// the root of the workspace.
    pub(crate) target_roots: Vec<String>,
}

/// Workspace with its crates and files.
#[derive(Debug)]
pub(crate) struct CargoWorkspace {
    /// Folder of the workspace.
    pub(crate) root: PathBuf,
    /// Crates of the workspace, by name.
    pub(crate) packages: Vec<Package>,
    /// Paths of files that are or could be tracked by git, from the root of the workspace, sorted.
    pub(crate) files: Vec<String>,
    /// Rust files of the workspace, split by the lexer, by their paths.
    pub(crate) sources: BTreeMap<String, RustSource>,
}

impl CargoWorkspace {
    /// Reads the crates and files of the workspace at `root`.
    pub(crate) fn load(root: &Path) -> Result<Self, String> {
        let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
        let packages = packages(&root)?;
        let files = tracked_files(&root)?;
        let mut sources = BTreeMap::new();
        for path in files.iter().filter(|path| path.ends_with(".rs")) {
            let text = fs::read_to_string(root.join(path))
                .map_err(|error| format!("cannot read {path}: {error}"))?;
            sources.insert(path.clone(), RustSource::new(path.clone(), text));
        }
        Ok(Self { root, packages, files, sources })
    }

    /// Returns only the crates of the workspace at `root`, by name.
    pub(crate) fn packages_of(root: &Path) -> Result<Vec<Package>, String> {
        packages(root)
    }

    /// Returns the crate that the file `path` belongs to.
    pub(crate) fn package_of(&self, path: &str) -> Option<&Package> {
        self.packages
            .iter()
            .filter(|package| {
                package.folder.is_empty()
                    || path.strip_prefix(&package.folder).is_some_and(|rest| rest.starts_with('/'))
            })
            .max_by_key(|package| package.folder.len())
    }

    /// Returns the crate called `name`.
    pub(crate) fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }

    /// Returns the content of the text file `path`, from the root of the workspace; `None` if it is
    /// missing or not text.
    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    /// Returns the line, from 1, on which a manifest mentions dependency `name`; 1 if it does not.
    pub(crate) fn manifest_line(&self, manifest: &str, name: &str) -> usize {
        let text = self.read(manifest).unwrap_or_default();
        let names_it = |line: &str| {
            let key = line.trim_start().trim_start_matches('"');
            key.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', ' ', '=', '"']))
                || line.contains(&format!("package = \"{name}\""))
        };
        // The package's own `name = ...` line never begins with a dependency's name.
        text.lines().position(names_it).map_or(1, |index| index + 1)
    }
}

fn packages(root: &Path) -> Result<Vec<Package>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run cargo metadata: {error}"))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("cargo metadata failed: {reason}"));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata printed no JSON: {error}"))?;
    let mut packages: Vec<Package> =
        list(&metadata["packages"]).map(|package| package_from(root, package)).collect();
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(packages)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn package_from(root: &Path, value: &Value) -> Package {
    let relative = |value: &Value| {
        let path = Path::new(value.as_str().unwrap_or_default());
        path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
    };
    let manifest = relative(&value["manifest_path"]);
    let folder = manifest.strip_suffix("Cargo.toml").unwrap_or_default().trim_end_matches('/');
    let dependencies = list(&value["dependencies"])
        .map(|dependency| Dependency {
            name: dependency["name"].as_str().unwrap_or_default().to_owned(),
            usage: if dependency["kind"] == "dev" {
                DependencyUse::Dev
            } else {
                DependencyUse::Normal
            },
            is_internal: dependency["path"].is_string(),
        })
        .collect();
    Package {
        name: value["name"].as_str().unwrap_or_default().to_owned(),
        folder: folder.to_owned(),
        layer: layer_from(&value["metadata"]["godwit"]["layer"]),
        dependencies,
        target_roots: list(&value["targets"]).map(|target| relative(&target["src_path"])).collect(),
        manifest,
    }
}

fn layer_from(value: &Value) -> Result<Layer, String> {
    if value == "check" {
        return Ok(Layer::Check);
    }
    match value.as_u64() {
        Some(number @ 0..=4) => Ok(Layer::Number(number as u8)),
        _ if value.is_null() => {
            Err("declares no layer: add [package.metadata.godwit] layer".to_owned())
        }
        _ => Err(format!("layer {value} is neither 0 to 4 nor \"check\"")),
    }
}

/// Returns the files that git tracks or would add; without git every file outside `target` and dot
/// folders.
fn tracked_files(root: &Path) -> Result<Vec<String>, String> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output();
    let mut files = Vec::new();
    match output {
        Ok(output) if output.status.success() && root.join(".git").exists() => {
            let names = String::from_utf8_lossy(&output.stdout).into_owned();
            files.extend(names.split_terminator('\0').map(str::to_owned));
        }
        _ => walk(root, root, &mut files)?,
    }
    files.retain(|path| root.join(path).is_file());
    files.sort();
    files.dedup();
    Ok(files)
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<String>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot list {}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let relative = path.strip_prefix(root).expect("below root").to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(relative.as_str(), "target" | "results" | ".git") {
                walk(root, &path, files)?;
            }
        } else {
            files.push(relative);
        }
    }
    Ok(())
}
