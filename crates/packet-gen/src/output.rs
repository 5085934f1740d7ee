//! Writing of frames to files: captures, and packet files with the bytes of the frames.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};

use base::{ToolError, ToolResult};
use packet_wire::pcap::{ByteOrder, CaptureWriter, LINK_ETHERNET, Resolution};

use crate::schedule::FrameSchedule;
use crate::stream::FrameStream;

/// Bytes before the records of a capture file.
const FILE_HEADER_BYTES: usize = 24;
/// Number of frames that the writer collects in memory before it writes them to the file.
const CHUNK_FRAMES: u64 = 4_096;

/// Writes `count` frames as a capture in the byte order and resolution of common tools; the time of
/// frame k is its due time after `begins_ns` (nanoseconds since 1970). Returns the numbers of
/// frames and bytes.
///
/// # Errors
///
/// The file cannot be written.
pub(crate) fn capture(
    name: &str,
    stream: &mut FrameStream,
    schedule: &FrameSchedule,
    count: u64,
    begins_ns: u64,
) -> ToolResult<(u64, u64)> {
    let cannot = || ToolError::cannot("write", name);
    let mut file = BufWriter::new(File::create(name).map_err(cannot())?);
    let (mut done, mut bytes) = (0, 0);
    let mut is_first = true;
    while done < count || is_first {
        let mut chunk =
            CaptureWriter::new(LINK_ETHERNET, ByteOrder::Little, Resolution::Microseconds);
        for number in done..count.min(done + CHUNK_FRAMES) {
            let due_ns = schedule.due_ns(number).unwrap_or(0);
            let Some(frame) = stream.frame() else { break };
            bytes += frame.len() as u64;
            chunk.packet(begins_ns + due_ns, frame);
        }
        done = count.min(done + CHUNK_FRAMES);
        let octets = chunk.octets();
        let octets = if is_first { octets } else { &octets[FILE_HEADER_BYTES..] };
        is_first = false;
        file.write_all(octets).map_err(cannot())?;
    }
    file.flush().map_err(cannot())?;
    Ok((count, bytes))
}

/// Writes `count` frames as a packet file with the frames' bytes. Returns the numbers of frames and
/// bytes.
///
/// # Errors
///
/// The file cannot be written.
pub(crate) fn text(name: &str, stream: &mut FrameStream, count: u64) -> ToolResult<(u64, u64)> {
    let cannot = || ToolError::cannot("write", name);
    let mut file = BufWriter::new(File::create(name).map_err(cannot())?);
    let mut bytes = 0;
    for _ in 0..count {
        let Some(frame) = stream.frame() else { break };
        bytes += frame.len() as u64;
        file.write_all(packet_text(frame).as_bytes()).map_err(cannot())?;
    }
    file.flush().map_err(cannot())?;
    Ok((count, bytes))
}

/// Formats the bytes of `frame` as a packet of the packet language, eight per line.
pub(crate) fn packet_text(frame: &[u8]) -> String {
    let mut text = "{\n".to_owned();
    for octets in frame.chunks(8) {
        let row: Vec<String> = octets.iter().map(|octet| format!("0x{octet:02x}")).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {},", row.join(", "));
    }
    text + "}\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::{PacketParserSettings, compile};

    #[test]
    fn a_frame_as_text_is_read_as_the_same_frame() {
        let frame: Vec<u8> = (0..=255).collect();
        let program =
            compile(packet_text(&frame).as_bytes(), &PacketParserSettings::default()).unwrap();
        assert_eq!(program.packets[0].octets, frame);
    }
}
