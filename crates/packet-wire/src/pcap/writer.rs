//! Writer of pcap capture files: a file in memory that grows by one record per packet.

use alloc::vec::Vec;

use base::time::NS_PER_S;

use super::{ByteOrder, MAGIC_NS, MAGIC_US, Resolution, SNAP_LEN};

/// Capture file in memory to which packets are appended.
#[derive(Clone, Debug)]
pub struct CaptureWriter {
    file: Vec<u8>,
    order: ByteOrder,
    resolution: Resolution,
}

impl CaptureWriter {
    /// Creates a pcap file with its header and no packets.
    pub fn new(link_type: u32, order: ByteOrder, resolution: Resolution) -> Self {
        let mut writer = Self { file: Vec::new(), order, resolution };
        writer.word(match resolution {
            Resolution::Microseconds => MAGIC_US,
            Resolution::Nanoseconds => MAGIC_NS,
        });
        let (major, minor) = (2_u16, 4_u16);
        for half in [major, minor] {
            writer.file.extend(match order {
                ByteOrder::Big => half.to_be_bytes(),
                ByteOrder::Little => half.to_le_bytes(),
            });
        }
        for value in [0, 0, SNAP_LEN, link_type] {
            writer.word(value);
        }
        writer
    }

    /// Appends a packet that was captured whole, `time_ns` nanoseconds after 1970 (representable up
    /// to 2106).
    ///
    /// # Panics
    ///
    /// If the packet is longer than 262,144 bytes.
    pub fn packet(&mut self, time_ns: u64, octets: &[u8]) {
        assert!(octets.len() <= SNAP_LEN as usize, "a packet of {} octets", octets.len());
        let len = octets.len() as u32;
        let fraction = (time_ns % NS_PER_S) / self.resolution.unit_ns();
        for value in [(time_ns / NS_PER_S) as u32, fraction as u32, len, len] {
            self.word(value);
        }
        self.file.extend_from_slice(octets);
    }

    /// Returns the bytes of the pcap file so far.
    pub fn octets(&self) -> &[u8] {
        &self.file
    }

    /// Returns the bytes of the complete pcap file.
    #[must_use]
    pub fn into_octets(self) -> Vec<u8> {
        self.file
    }

    fn word(&mut self, value: u32) {
        self.file.extend(match self.order {
            ByteOrder::Big => value.to_be_bytes(),
            ByteOrder::Little => value.to_le_bytes(),
        });
    }
}
