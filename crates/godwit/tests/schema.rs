//! Tests of `godwit schema`: configurations that the server accepts fit the schema, and unknown
//! keys, wrong types and wrong ranges do not. A checker by others agrees.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::subjects::{self, NamedScenario};
use scenario::{ComparisonScenario, ScenarioFamily};

/// Returns the schema that the program prints for the server `name`.
fn printed(name: &str) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_godwit"));
    let output = command.args(["schema", name]).output().expect("the program runs");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("a schema is JSON")
}

/// Adds what `schema` forbids in `value`, which is at `path`, to `faults`. The test knows those
/// words of JSON Schema that the program writes.
fn check(schema: &Value, value: &Value, path: &str, faults: &mut Vec<String>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if let Some(expected) = schema.get("type").and_then(Value::as_str)
        && expected != kind
        && (expected, kind) != ("number", "integer")
    {
        faults.push(format!("{path} is of type {kind}, not {expected}"));
        return;
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array)
        && !words.contains(value)
    {
        faults.push(format!("{path} is {value}"));
    }
    if let Some(number) = value.as_i64() {
        let bound = |key: &str| schema.get(key).and_then(Value::as_i64);
        if bound("minimum").is_some_and(|low| number < low)
            || bound("maximum").is_some_and(|high| number > high)
        {
            faults.push(format!("{path} is {number}"));
        }
    }
    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
        if let Some(items) = schema.get("items") {
            check(items, item, &format!("{path}[{number}]"), faults);
        }
    }
    for (key, member) in value.as_object().into_iter().flatten() {
        let path = format!("{path}/{key}");
        match schema.get("properties").and_then(|properties| properties.get(key)) {
            Some(inner) => check(inner, member, &path, faults),
            None if schema.get("additionalProperties") == Some(&json!(false)) => {
                faults.push(format!("{path} is not known"));
            }
            None => {}
        }
    }
}

fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check(schema, value, "", &mut faults);
    faults
}

/// Configuration of the repository, with its origin.
struct NamedDocument {
    name: String,
    is_v6: bool,
    value: Value,
}

impl NamedDocument {
    fn new(name: String, is_v6: bool, text: &str) -> Self {
        let value = serde_json::from_str(&plain_json(text));
        let value = value.unwrap_or_else(|error| panic!("{name}: {error}: {text}"));
        Self { name, is_v6, value }
    }
}

/// Returns `text` without comments of Kea's dialect and without commas before closing brackets.
fn plain_json(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let length = match letter {
            '"' => {
                let length = string_length(rest);
                plain.push_str(&rest[..length]);
                length
            }
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            ']' | '}' => {
                let kept = plain.trim_end().trim_end_matches(',').len();
                plain.truncate(kept);
                plain.push(letter);
                1
            }
            _ => {
                plain.push(letter);
                letter.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    plain
}

/// Returns the length in bytes of the string, with its quotes, at the beginning of `text`.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        if letter == '"' && !is_escaped {
            return at + 1;
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    text.len()
}

/// Returns the configurations of scenarios, twins and examples.
fn documents() -> Vec<NamedDocument> {
    let mut documents = Vec::new();
    for NamedScenario { name, scenario } in subjects::all() {
        let configs = scenario.steps.iter().filter_map(|step| step.reload.as_ref());
        for config in std::iter::once(&scenario.config).chain(configs) {
            let text = subjects::document(scenario.family, config, "");
            let is_v6 = scenario.family == ScenarioFamily::V6;
            documents.push(NamedDocument::new(name.clone(), is_v6, &text));
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    subjects::collect(&root.join("conformance/twins"), &mut paths);
    for path in paths {
        let name = path.display().to_string();
        let twin =
            ComparisonScenario::parse(&fs::read_to_string(&path).expect("it was just listed"));
        let twin = twin.unwrap_or_else(|error| panic!("{name}: {error}"));
        let config = twin.config.replace("@database@", r#""type": "mysql""#);
        let config = config.replace("@requests@", "53001");
        let text = subjects::document(twin.family, &config, "");
        documents.push(NamedDocument::new(name, twin.family == ScenarioFamily::V6, &text));
    }
    for entry in fs::read_dir(root.join("contrib/examples")).expect("the folder can be listed") {
        let path = entry.expect("the folder can be listed").path();
        let name = path.display().to_string();
        if name.ends_with(".conf") {
            let text = fs::read_to_string(&path).expect("it was just listed");
            let is_v6 = name.ends_with("dhcp6.conf");
            documents.push(NamedDocument::new(name, is_v6, &text));
        }
    }
    documents
}

#[test]
fn configurations_of_examples_and_conformance_fit_the_schema() {
    let schemas = [printed("dhcp4"), printed("dhcp6")];
    let documents = documents();
    assert!(documents.len() > 500, "{} configurations", documents.len());
    let mut wrong = Vec::new();
    for document in documents {
        let found = faults(&schemas[usize::from(document.is_v6)], &document.value);
        wrong.extend(found.into_iter().map(|fault| format!("{}: {fault}", document.name)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Program for Python that checks documents by schemas with the package `jsonschema`: it reads
/// `[[schema, [[name, document], ...]], ...]` and prints the faults.
const OTHER_CHECKER: &str = r#"
import json, sys
from jsonschema import Draft202012Validator
for schema, documents in json.load(sys.stdin):
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for name, document in documents:
        for fault in validator.iter_errors(document):
            print(name, "/".join(map(str, fault.absolute_path)), fault.message[:200])
"#;

/// Returns the path of a Python with the package `jsonschema`; `None`, with a note, if there is
/// none.
fn python() -> Option<&'static str> {
    let found = ["python3", "/usr/bin/python3"].into_iter().find(|python| {
        let mut command = Command::new(python);
        let output = command.args(["-c", "import jsonschema"]).output();
        output.is_ok_and(|output| output.status.success())
    });
    if found.is_none() {
        testkit::skip("there is no python3 with jsonschema");
    }
    found
}

/// Document to be checked, with its name in messages.
type Named = (String, Value);

/// Returns the faults that the checker by others finds in documents, a line each; the documents
/// that the schema with a name describes are behind that name. `None`, with a note, if there is no
/// checker.
fn faults_by_others(documents: &[(&str, Vec<Named>)]) -> Option<String> {
    let python = python()?;
    let checks: Vec<Value> =
        documents.iter().map(|(name, documents)| json!([printed(name), documents])).collect();
    let mut command = Command::new(python);
    command.args(["-c", OTHER_CHECKER]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("Python runs");
    let text = serde_json::to_vec(&checks).expect("it is JSON");
    let mut input = child.stdin.take().expect("it was asked for");
    std::io::Write::write_all(&mut input, &text).expect("Python reads");
    drop(input);
    let output = child.wait_with_output().expect("Python ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Asserts that the documents of the lab's run in `folder` fit their schemas.
pub(crate) fn check_run(folder: &Path) {
    let read = |path: &Path| -> Named {
        let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path.display().to_string(), serde_json::from_slice(&text).expect("it is JSON"))
    };
    let trials = fs::read_dir(folder.join("trials")).expect("a run has trials");
    let trials: Vec<_> = trials.map(|entry| entry.expect("it can be listed").path()).collect();
    let of_trials = |file: &str| {
        let paths = trials.iter().map(|trial| trial.join(file));
        paths.filter(|path| path.exists()).map(|path| read(&path)).collect::<Vec<_>>()
    };
    let mut documents = vec![
        ("summary", vec![read(&folder.join("summary.json"))]),
        ("run", vec![read(&folder.join("run.json"))]),
        ("trial", of_trials("trial.json")),
        ("load", of_trials("load.json")),
    ];
    assert!(documents.iter().all(|(_, some)| !some.is_empty()), "{}", folder.display());
    let mut other = documents[0].1[0].clone();
    other.1["duration_s"] = json!("long");
    other.0 = "wrong".to_owned();
    documents[0].1.push(other);
    if let Some(found) = faults_by_others(&documents) {
        assert_eq!(found, "wrong duration_s 'long' is not of type 'number'");
    }
}

/// Asserts that `document` fits the schema `name`.
pub(crate) fn check_document(name: &str, document: &Value) {
    if let Some(found) = faults_by_others(&[(name, vec![(name.to_owned(), document.clone())])]) {
        assert_eq!(found, "");
    }
}

#[test]
fn a_checker_by_others_agrees() {
    let mut checks = vec![("dhcp4", Vec::new()), ("dhcp6", Vec::new())];
    for document in documents() {
        checks[usize::from(document.is_v6)].1.push((document.name, document.value));
    }
    let wrong = json!({ "Dhcp4": { "valid-lifetime": "5" } });
    checks[0].1.push(("wrong".to_owned(), wrong));
    if let Some(found) = faults_by_others(&checks) {
        assert_eq!(found, "wrong Dhcp4/valid-lifetime '5' is not of type 'integer'");
    }
}

#[test]
fn wrong_configurations_do_not_fit_the_schema() {
    let schema = printed("dhcp4");
    let fitting = json!({ "Dhcp4": { "valid-lifetime": 5 } });
    assert_eq!(faults(&schema, &fitting), [""; 0]);
    for (wrong, path) in [
        (json!({ "Dhcp4": { "valid-lifetim": 5 } }), "/Dhcp4/valid-lifetim"),
        (json!({ "Dhcp4": { "valid-lifetime": "5" } }), "/Dhcp4/valid-lifetime"),
        (json!({ "Dhcp4": { "valid-lifetime": -5 } }), "/Dhcp4/valid-lifetime"),
        (json!({ "Dhcp4": { "subnet4": [ { "pool": [] } ] } }), "/Dhcp4/subnet4[0]/pool"),
        (json!({ "Dhcp4": { "user-context": { "godwit": { "x": 1 } } } }), "/Dhcp4/user-context"),
    ] {
        let found = faults(&schema, &wrong);
        assert!(found.len() == 1 && found[0].starts_with(path), "{wrong}: {found:?}");
    }
}
