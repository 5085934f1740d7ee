//! JSON schemas of the documents that the lab writes, made from the types that write them.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::compare::{COMPARE_SCHEMA, Comparison};
use crate::record::{LOAD_SCHEMA, LoadRecord, RUN_SCHEMA, RunRecord, TRIAL_SCHEMA, TrialRecord};
use crate::stored::{STORED_SCHEMA, StoredRuns, TREND_SCHEMA, Trend};
use crate::suite::{SUITE_SCHEMA, SuiteSummary};
use crate::summary::{RunSummary, SUMMARY_SCHEMA};

/// Kind of a document that the lab or a load generator writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    /// Figures of a whole run: [`RunSummary`].
    Summary,
    /// Raw record of one trial: [`TrialRecord`].
    Trial,
    /// Record of a run without its trials: [`RunRecord`].
    Run,
    /// Record of a load generator: [`LoadRecord`].
    Load,
    /// Figures of a suite of plans: [`SuiteSummary`].
    Suite,
    /// Comparison of two runs: [`Comparison`].
    Compare,
    /// List of stored runs: [`StoredRuns`].
    Stored,
    /// Figures of a plan over its runs: [`Trend`].
    Trend,
}

/// Returns the JSON schema (draft 2020-12) of documents of `kind`, as they are written. Fields that
/// readers fill in themselves are required.
#[must_use]
pub fn schema(kind: DocumentKind) -> Value {
    match kind {
        DocumentKind::Summary => schema_of::<RunSummary>(SUMMARY_SCHEMA),
        DocumentKind::Trial => schema_of::<TrialRecord>(TRIAL_SCHEMA),
        DocumentKind::Run => schema_of::<RunRecord>(RUN_SCHEMA),
        DocumentKind::Load => schema_of::<LoadRecord>(LOAD_SCHEMA),
        DocumentKind::Suite => schema_of::<SuiteSummary>(SUITE_SCHEMA),
        DocumentKind::Compare => schema_of::<Comparison>(COMPARE_SCHEMA),
        DocumentKind::Stored => schema_of::<StoredRuns>(STORED_SCHEMA),
        DocumentKind::Trend => schema_of::<Trend>(TREND_SCHEMA),
    }
}

/// Returns the schema of `T`, whose field `schema` has the value `name`.
fn schema_of<T: JsonSchema>(name: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(field) = schema.pointer_mut("/properties/schema") {
        *field = json!({ "const": name });
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_summary_has_the_required_fields_and_the_name_of_its_schema() {
        let schema = schema(DocumentKind::Summary);
        assert_eq!(schema["properties"]["schema"]["const"], SUMMARY_SCHEMA);
        let written = serde_json::to_value(RunSummary::default()).unwrap();
        for field in schema["required"].as_array().unwrap() {
            assert!(written.get(field.as_str().unwrap()).is_some(), "{field}");
        }
        assert!(schema["required"].as_array().unwrap().len() > 10, "{schema}");
    }

    #[test]
    fn every_kind_has_a_schema_of_an_object() {
        for kind in [
            DocumentKind::Summary,
            DocumentKind::Trial,
            DocumentKind::Run,
            DocumentKind::Load,
            DocumentKind::Suite,
            DocumentKind::Compare,
            DocumentKind::Stored,
            DocumentKind::Trend,
        ] {
            let schema = schema(kind);
            assert_eq!(schema["type"], "object", "{kind:?}");
            assert!(schema["properties"]["schema"]["const"].is_string(), "{kind:?}: {schema}");
        }
    }
}
