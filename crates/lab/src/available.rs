//! Subjects of a run that this machine can measure: servers, databases and queueing disciplines are
//! installed.

use measure::Plan;
use measure::plan::Topology;
use testbed::registry::user_id;
use testbed::{DatabaseEngine, qdisc};

use crate::driver;
use crate::error::{LabError, LabResult};
use crate::family::ProtocolAddressing;
use crate::run::RunSettings;
use crate::subject::{self, MeasurementSubject};

/// Returns the servers and responders that are measured (subjects), all of them installed, and a
/// sentence for each database that is not.
pub(crate) fn subjects(
    settings: &RunSettings,
) -> LabResult<(Vec<MeasurementSubject>, Vec<String>)> {
    let plan = &settings.plan;
    let all = match &settings.target {
        Some(running) => vec![MeasurementSubject::running(running.server)],
        None => subject::subjects(plan, &plan.servers, settings.server_command.as_deref())?,
    };
    let (all, mut left_out) = with_stores(all)?;
    let (subjects, without) = with_qdiscs(plan, all)?;
    left_out.extend(without);
    for subject in &subjects {
        driver::require(subject, ProtocolAddressing::for_protocol(plan.protocol))?;
    }
    Ok((subjects, left_out))
}

/// Returns those of `subjects`, the measured servers, whose databases are installed, and a sentence
/// for each database that is not.
fn with_stores(
    subjects: Vec<MeasurementSubject>,
) -> LabResult<(Vec<MeasurementSubject>, Vec<String>)> {
    let missing = |subject: &MeasurementSubject| {
        driver::engine(subject.store).and_then(DatabaseEngine::missing)
    };
    let mut sentences: Vec<String> = subjects
        .iter()
        .filter_map(|subject| Some((subject.store.name(), missing(subject)?)))
        .map(|(store, why)| format!("Nothing was measured on {store}: {why}."))
        .collect();
    sentences.sort_unstable();
    sentences.dedup();
    let there: Vec<MeasurementSubject> =
        subjects.into_iter().filter(|subject| missing(subject).is_none()).collect();
    if !sentences.is_empty() && there.iter().all(MeasurementSubject::is_limit) {
        return Err(LabError::Failed(sentences.join("\n")));
    }
    Ok((there, sentences))
}

/// Returns those of `subjects`, the measured servers, whose queueing disciplines this machine has,
/// and a sentence for each discipline that it lacks.
fn with_qdiscs(
    plan: &Plan,
    mut subjects: Vec<MeasurementSubject>,
) -> LabResult<(Vec<MeasurementSubject>, Vec<String>)> {
    let mut sentences = Vec::new();
    let has_link = plan.topology != Topology::Loopback && user_id() == 0;
    let disciplines = plan.server.features.iter().filter_map(|of| Some((of, of.qdisc()?)));
    for (feature, words) in disciplines {
        let why = if has_link {
            qdisc::missing_reason(words)?
        } else {
            Some("the link is loopback; run as root to use a veth pair".to_owned())
        };
        if let Some(why) = why {
            sentences.push(format!("Nothing was measured with {}: {why}.", feature.name()));
            subjects.retain(|subject| subject.feature != *feature);
        }
    }
    Ok((subjects, sentences))
}
