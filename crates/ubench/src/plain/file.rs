//! Lease file of the benchmark program `dhcp-ubench` of 2012: an ordered map in memory, and a text
//! file to which every change appends a block of lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use base::{ToolError, ToolResult};
use netio::Clock;

use super::StoreConnection;
use crate::flush::CountedStorage;
use crate::open::SubjectEnvironment;
use crate::subject::ChangeSafety;
use crate::workload::{self, CREATED_LIFETIME_S, UPDATED_LIFETIME_S, WorkloadStep};
use dhcp_store::storage::{LogFile, Storage, write_all_at};

/// Number of bytes buffered before they are written to the lease file, as many as in the C library.
const BUFFER_OCTETS: usize = 4096;

/// Lease in the map of a lease file of 2012.
#[derive(Clone, Copy)]
struct PlainFileLease {
    valid_lifetime_s: u32,
    cltt_s: u64,
}

/// Lease file of 2012 with its map in memory.
pub(super) struct TextFile {
    leases: BTreeMap<u32, PlainFileLease>,
    file: Arc<dyn LogFile>,
    offset: u64,
    buffer: String,
    mode: ChangeSafety,
}

fn failed(error: std::io::Error) -> ToolError {
    ToolError::failed("write the lease file", error)
}

impl TextFile {
    /// Creates an empty lease file of 2012 in the folder of `environment`.
    pub(super) fn create(
        mode: ChangeSafety,
        environment: &SubjectEnvironment<'_>,
        storage: &CountedStorage,
    ) -> ToolResult<Self> {
        let path = match environment.file {
            Some(path) => path.to_owned(),
            None => environment.folder.join("dhcpd.leases"),
        };
        let file = storage.create(&path).map_err(failed)?;
        let buffer = String::with_capacity(BUFFER_OCTETS * 2);
        Ok(Self { leases: BTreeMap::new(), file, offset: 0, buffer, mode })
    }

    fn write(&mut self) -> ToolResult<()> {
        write_all_at(&*self.file, self.offset, self.buffer.as_bytes()).map_err(failed)?;
        self.offset += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Appends the block of lines of a change to the lease file, with the keyword `word`.
    fn append(&mut self, number: u32, lease: PlainFileLease, word: &str) -> ToolResult<()> {
        block(&mut self.buffer, number, lease, word);
        match self.mode {
            ChangeSafety::Sync => {
                self.write()?;
                self.file.sync_data().map_err(failed)
            }
            ChangeSafety::Async if self.buffer.len() < BUFFER_OCTETS => Ok(()),
            ChangeSafety::Async | ChangeSafety::Other => self.write(),
        }
    }
}

fn block(out: &mut String, number: u32, lease: PlainFileLease, word: &str) {
    let hex = |out: &mut String, octets: &[u8]| {
        for octet in octets {
            let _ = write!(out, "{octet:02x}");
        }
    };
    let _ = write!(out, "lease {} {{\n  hwaddr ", workload::address(number));
    hex(out, &workload::long_hardware(number));
    out.push_str(";\n  client-id ");
    hex(out, &workload::long_client_id(number));
    let _ = write!(
        out,
        ";\n  valid-lifetime {};\n  recycle-time 0;\n  cltt {};\n  pool-id 0;\n  fixed no;\n  \
         hostname {word};\n  fqdn-fwd no;\n  fqdn-rev no;\n}}\n",
        lease.valid_lifetime_s, lease.cltt_s
    );
}

impl StoreConnection for TextFile {
    fn begin(&mut self) -> ToolResult<()> {
        Err(ToolError::from_message("the lease file of dhcp-ubench of 2012 has no transactions"))
    }

    fn commit(&mut self) -> ToolResult<()> {
        self.begin()
    }

    fn operate(&mut self, step: WorkloadStep, number: u32) -> ToolResult<bool> {
        let cltt_s = if step.is_search() { 0 } else { Clock::now().wall_s() };
        match step {
            WorkloadStep::Create => {
                let lease = PlainFileLease { valid_lifetime_s: CREATED_LIFETIME_S, cltt_s };
                self.leases.insert(number, lease);
                self.append(number, lease, "add")?;
                Ok(true)
            }
            WorkloadStep::Search => Ok(std::hint::black_box(self.leases.get(&number)).is_some()),
            // The map has only one index, so this search checks every lease.
            WorkloadStep::SearchHardware => {
                let wanted = workload::long_hardware(number);
                let is_it = |other: &u32| workload::long_hardware(*other) == wanted;
                Ok(std::hint::black_box(self.leases.keys().find(|other| is_it(other))).is_some())
            }
            WorkloadStep::SearchClientId => {
                let wanted = workload::long_client_id(number);
                let is_it = |other: &u32| workload::long_client_id(*other) == wanted;
                Ok(std::hint::black_box(self.leases.keys().find(|other| is_it(other))).is_some())
            }
            WorkloadStep::Update => {
                let Some(lease) = self.leases.get_mut(&number) else { return Ok(false) };
                *lease = PlainFileLease { valid_lifetime_s: UPDATED_LIFETIME_S, cltt_s };
                let lease = *lease;
                self.append(number, lease, "update")?;
                Ok(true)
            }
            WorkloadStep::Delete => {
                let Some(lease) = self.leases.remove(&number) else { return Ok(false) };
                self.append(number, lease, "delete")?;
                Ok(true)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_a_block_of_twelve_lines() {
        let mut text = String::new();
        block(&mut text, 258, PlainFileLease { valid_lifetime_s: 1002, cltt_s: 7 }, "update");
        assert_eq!(text.lines().count(), 12);
        assert!(text.starts_with("lease 1.0.1.2 {\n  hwaddr 6868"), "{text}");
        assert!(text.contains("00000102;\n  valid-lifetime 1002;"), "{text}");
        assert!(text.ends_with("hostname update;\n  fqdn-fwd no;\n  fqdn-rev no;\n}\n"), "{text}");
    }
}
