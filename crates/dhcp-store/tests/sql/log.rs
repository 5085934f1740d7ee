//! Tests of SQLite's log, which commits write to and are flushed with.

use std::path::Path;
use std::process::Command;

use base::Random;
use dhcp_lease::v4::V4;
use dhcp_store::RowDurability;
use dhcp_store::database::LeaseDatabaseConnection;
use dhcp_store::sql::{Schema, SharedLeases, SqlDatabaseKind, SqlSettings};
use testbed::command::find_program;
use testkit::TempFolder;

use crate::sql::bulk::leases;
use crate::sql::{SqlTestDatabases, open};

/// Name of the test whose flushes are traced, as this program prints it.
const COMMITS: &str = "sql::log::commits_that_are_flushed_write_over_a_log_of_full_length";
/// Number of bytes of a page with its header in the log.
const FRAME_OCTETS: u64 = 4096 + 24;

fn length(path: &str) -> u64 {
    Path::new(path).metadata().unwrap().len()
}

#[test]
fn commits_that_are_flushed_write_over_a_log_of_full_length() {
    let databases = SqlTestDatabases::new(SqlDatabaseKind::Sqlite, "log").unwrap();
    let leases = leases::<V4>(&mut Random::from_seed(3), 2000, Schema::Current);
    let by_durability = [
        (RowDurability::Always, true),
        (RowDurability::Interval(1000), false),
        (RowDurability::None, false),
    ];
    for (durability, is_long) in by_durability {
        let name = format!("leases-{durability:?}");
        let settings = SqlSettings { durability, log_pages: 1000, ..databases.create(&name) };
        open(&settings).install(Schema::Current).unwrap();
        let log = format!("{}-wal", settings.name);
        let mut database = SharedLeases::new(settings.clone());
        LeaseDatabaseConnection::<V4>::connect(&mut database).unwrap();
        let is_flushed_beside = LeaseDatabaseConnection::<V4>::flush(&database).is_some();
        assert_eq!(is_flushed_beside, durability == RowDurability::Always);
        let before = length(&log);
        assert_eq!(before >= 1000 * FRAME_OCTETS, is_long, "{durability:?}: {before}");
        for some in leases.chunks(100) {
            LeaseDatabaseConnection::<V4>::begin(&mut database).unwrap();
            assert_eq!(LeaseDatabaseConnection::<V4>::insert(&mut database, some), Ok(100));
            LeaseDatabaseConnection::<V4>::commit(&mut database).unwrap();
            if let Some(flush) = LeaseDatabaseConnection::<V4>::flush(&database) {
                flush.flush().unwrap();
            }
        }
        assert_eq!(length(&log) == before, is_long, "{durability:?}: {before}");
        drop(database);
        // The pages that lengthened the log are not in the file.
        assert!(length(&settings.name) < 1 << 20, "{}", length(&settings.name));
        let mut database = SharedLeases::new(settings);
        LeaseDatabaseConnection::<V4>::connect(&mut database).unwrap();
        let mut loaded = Vec::new();
        LeaseDatabaseConnection::<V4>::load(&mut database, &mut |lease| loaded.push(lease))
            .unwrap();
        assert!(loaded == leases, "{durability:?}: {} of {}", loaded.len(), leases.len());
    }
}

#[test]
fn flushes_leave_out_what_nobody_needs_of_a_file() {
    let Some(strace) = find_program("strace") else {
        testkit::skip("strace is not installed");
        return;
    };
    let folder = TempFolder::new("sqlite-flushes");
    let trace = folder.path().join("trace");
    let done = Command::new(strace)
        .args(["-f", "-qq", "-e", "trace=fsync,fdatasync", "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", COMMITS])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(text.contains("1 passed"), "no test is called {COMMITS}: {text}");
    let calls = std::fs::read_to_string(&trace).unwrap();
    let count = |name: &str| calls.lines().filter(|line| line.contains(name)).count();
    // There is one commit for each of 20 rounds; no lease depends on the times of a file.
    assert!(count(" fdatasync(") > 20 && count(" fsync(") == 0, "{calls}");
}
