//! Tests of whole small measurements of ubench: their counts, and the form of their results.

use std::path::Path;
use std::time::Duration;

use base::ToolError;
use testkit::TempFolder;
use ubench::output;
use ubench::result::{SCHEMA, SubjectResult};
use ubench::{
    BenchmarkSubject, ChangeSafety, SubjectBackend, Tables, TransactionSharing, UbenchParameters,
    UbenchReport, WorkloadStep, measure,
};

fn request(folder: &Path, records: u32, subjects: Vec<BenchmarkSubject>) -> UbenchParameters {
    UbenchParameters {
        subjects,
        records: Some(records),
        steps: WorkloadStep::ALL.to_vec(),
        runs: 2,
        warms_up: true,
        seed: 7,
        flush_delay: Duration::ZERO,
        folder: folder.to_owned(),
        file: None,
        servers: Vec::new(),
        keeps_marks: false,
    }
}

fn done(label: &str, records: u32, subjects: Vec<BenchmarkSubject>) -> UbenchReport {
    let folder = TempFolder::new(label);
    let report = measure(&request(folder.path(), records, subjects), &mut |_| {}).unwrap();
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 0, "nothing is left behind");
    report
}

fn misses(row: &SubjectResult) -> Vec<u64> {
    row.steps.iter().map(|step| step.misses).collect()
}

#[test]
fn a_memfile_flushes_once_for_each_change_and_never_without_durability() {
    let subjects = [ChangeSafety::Sync, ChangeSafety::Async]
        .map(|mode| BenchmarkSubject::kea(SubjectBackend::Memfile, mode));
    let report = done("memfile", 50, subjects.to_vec());
    let [sync, fast] = &report.rows[..] else { panic!("two rows") };
    assert_eq!((sync.counts.changes, sync.counts.flushes), (300, Some(300)));
    assert_eq!((fast.counts.changes, fast.counts.flushes), (300, Some(0)));
    assert_eq!((sync.counts.transactions, sync.counts.rows), (None, None));
    assert!(sync.flush.is_some_and(|cost| cost.count > 0 && cost.median_us > 0.0));
}

#[test]
fn changes_in_flight_share_flushes() {
    let subject = BenchmarkSubject {
        concurrency: 64,
        ..BenchmarkSubject::kea(SubjectBackend::Memfile, ChangeSafety::Sync)
    };
    let in_tens = BenchmarkSubject {
        sharing: TransactionSharing::Fixed(10),
        ..BenchmarkSubject::kea(SubjectBackend::Memfile, ChangeSafety::Sync)
    };
    let report = done("group", 640, vec![subject, in_tens]);
    let [adaptive, in_tens] = &report.rows[..] else { panic!("two rows") };
    // There are two runs of three steps of ten windows.
    let flushes = adaptive.counts.flushes.unwrap();
    assert!((60..=1_920).contains(&flushes), "{flushes}");
    let flushes = in_tens.counts.flushes.unwrap();
    assert!((384..=1_920).contains(&flushes), "{flushes}");
}

#[test]
fn every_store_finds_the_same() {
    let mut subjects = vec![BenchmarkSubject::kea(SubjectBackend::Memory, ChangeSafety::Async)];
    for backend in [SubjectBackend::Memfile, SubjectBackend::Sqlite] {
        subjects.push(BenchmarkSubject {
            concurrency: 8,
            ..BenchmarkSubject::kea(backend, ChangeSafety::Async)
        });
        subjects.push(BenchmarkSubject::for_2012(backend, ChangeSafety::Async, true));
    }
    subjects.push(BenchmarkSubject::for_2012(SubjectBackend::Sqlite, ChangeSafety::Async, false));
    let report = done("same", 200, subjects);
    let expected = misses(&report.rows[0]);
    let [create, search, hardware, client_id, update, delete] = expected[..] else {
        panic!("six steps")
    };
    assert_eq!((create, update, delete), (0, 0, 0));
    for searched in [search, hardware, client_id] {
        assert!((10..90).contains(&searched), "{searched} of 400");
    }
    for row in &report.rows {
        assert_eq!(misses(row), expected, "{}", row.subject);
        assert!(row.steps.iter().all(|step| step.operations == 200 && step.seconds.len() == 2));
    }
}

#[test]
fn every_change_is_a_row_in_the_database() {
    let sync = BenchmarkSubject::kea(SubjectBackend::Sqlite, ChangeSafety::Sync);
    let grouped = BenchmarkSubject { concurrency: 64, ..sync.clone() };
    let report = done("rows", 128, vec![sync, grouped]);
    let [single, grouped] = &report.rows[..] else { panic!("two rows") };
    for row in [single, grouped] {
        assert_eq!((row.counts.changes, row.counts.rows), (768, Some(768)), "{}", row.subject);
    }
    assert_eq!(single.counts.transactions, Some(768));
    assert_eq!(single.counts.flushes, Some(768), "each is flushed before it counts");
    assert!(grouped.counts.flushes.is_some_and(|count| (12..768).contains(&count)));
    assert!(grouped.counts.transactions.is_some_and(|count| (12..768).contains(&count)));
    let steps: Vec<_> = report.group_commit.iter().map(|group| group.step).collect();
    assert_eq!(
        steps,
        [Some(WorkloadStep::Create), Some(WorkloadStep::Update), Some(WorkloadStep::Delete), None]
    );
}

#[test]
fn transactions_of_2012_hold_what_was_asked_for() {
    let base = BenchmarkSubject::for_2012(SubjectBackend::Sqlite, ChangeSafety::Async, true);
    let in_tens = BenchmarkSubject { sharing: TransactionSharing::Fixed(10), ..base.clone() };
    let report = done("tens", 95, vec![base, in_tens]);
    let transactions: Vec<_> = report.rows.iter().map(|row| row.counts.transactions).collect();
    assert_eq!(transactions, [Some(570), Some(60)]);
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_begins() {
    let in_memory = BenchmarkSubject {
        tables: Tables::Ubench2012,
        ..BenchmarkSubject::kea(SubjectBackend::Memory, ChangeSafety::Async)
    };
    let two_writers = BenchmarkSubject {
        concurrency: 2,
        ..BenchmarkSubject::for_2012(SubjectBackend::Sqlite, ChangeSafety::Sync, true)
    };
    let other_engine = BenchmarkSubject {
        engine: Some("MyISAM".to_owned()),
        ..BenchmarkSubject::kea(SubjectBackend::Mysql, ChangeSafety::Sync)
    };
    for subject in [in_memory, two_writers, other_engine] {
        let request = request(Path::new("/nonexistent"), 1, vec![subject]);
        assert!(matches!(measure(&request, &mut |_| {}), Err(ToolError::Usage(_))));
    }
    let folder = TempFolder::new("taken");
    let file = folder.path().join("leases.csv");
    std::fs::write(&file, "mine").unwrap();
    let mut request = request(
        folder.path(),
        1,
        vec![BenchmarkSubject::kea(SubjectBackend::Memfile, ChangeSafety::Async)],
    );
    request.file = Some(file.clone());
    assert!(matches!(measure(&request, &mut |_| {}), Err(ToolError::Usage(_))));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_flush_can_be_made_to_cost_more() {
    let folder = TempFolder::new("slow");
    let subjects = vec![
        BenchmarkSubject::kea(SubjectBackend::Memfile, ChangeSafety::Sync),
        BenchmarkSubject::kea(SubjectBackend::Sqlite, ChangeSafety::Sync),
        BenchmarkSubject::kea(SubjectBackend::Sqlite, ChangeSafety::Async),
    ];
    let mut slow = request(folder.path(), 5, subjects);
    slow.flush_delay = Duration::from_millis(2);
    slow.runs = 1;
    let report = measure(&slow, &mut |_| {}).unwrap();
    assert_eq!(report.injected_flush_ms, 2.0);
    for row in &report.rows[..2] {
        for step in row.steps_of(&WorkloadStep::CHANGES) {
            // A sleep is never shorter than requested.
            assert!(step.total_s() >= 0.010, "{}: {}", row.subject, step.total_s());
        }
        assert!(row.flush.unwrap().least_us >= 2_000.0);
    }
}

#[test]
fn results_are_read_back_and_drawn() {
    let report = done(
        "drawn",
        20,
        vec![
            BenchmarkSubject::kea(SubjectBackend::Memory, ChangeSafety::Async),
            BenchmarkSubject::for_2012(SubjectBackend::Memfile, ChangeSafety::Sync, true),
            BenchmarkSubject::for_2012(SubjectBackend::Sqlite, ChangeSafety::Sync, false),
        ],
    );
    assert_eq!(report.schema, SCHEMA);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["rows"][0]["backend"], "memory");
    assert_eq!(json["rows"][1]["tables"], "ubench-2012");
    assert_eq!(json["rows"][1]["steps"][2]["step"], "search-hardware");
    let back: UbenchReport = serde_json::from_value(json).unwrap();
    assert_eq!(output::page(&back), output::page(&report));
    let csv = output::csv(&report);
    let widths: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(widths, vec![27; 1 + 3 * 6], "{csv}");
    let page = output::page(&report);
    for number in ["3.1", "3.2", "3.3", "3.4", "3.5", "3.6"] {
        assert!(page.contains(&format!("Table {number}: ")), "{number}");
    }
    // One is of 2012, the other is its new counterpart.
    assert!(page.contains("31.6 s") && page.contains("written and flushed"));
    let text = output::text(&report);
    assert!(
        text.contains("memfile ubench-2012 sync, 1 at a time (written and flushed), 20 records")
    );
}
