//! Reader of `/proc/net/softnet_stat`: the kernel's receive backlog. The columns are hexadecimal,
//! of 32 bits, and wrap: see [`advance`](crate::advance).

/// Counters of the kernel's receive backlog, all processors together, since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Softnet {
    /// Number of packets that the kernel dropped because a processor's backlog was full.
    pub dropped: u64,
    /// Number of times that a processor stopped receiving with packets left over (`time_squeeze`).
    pub squeezed: u64,
}

/// Counters of one processor's receive backlog since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoftnetRow {
    /// Kernel's number of the processor; before Linux 5.14, the number of the row.
    pub cpu: u32,
    /// Number of packets that the processor took from its backlog.
    pub processed: u64,
    /// Number of packets that the kernel dropped because the processor's backlog was full.
    pub dropped: u64,
    /// Number of times that the processor stopped receiving with packets left over
    /// (`time_squeeze`).
    pub squeezed: u64,
}

/// Index of the column with the processor's number in `/proc/net/softnet_stat`.
const CPU_COLUMN: usize = 12;

/// Returns the rows of the text of `/proc/net/softnet_stat`, one for each processor.
pub fn parse_softnet_rows(text: &str) -> Vec<SoftnetRow> {
    let rows = text.lines().zip(0..).map(|(line, number): (_, u32)| {
        let columns: Vec<u64> = line
            .split_ascii_whitespace()
            .filter_map(|column| u64::from_str_radix(column, 16).ok())
            .collect();
        let column = |at: usize| columns.get(at).copied().unwrap_or(0);
        let cpu = columns.get(CPU_COLUMN).and_then(|cpu| u32::try_from(*cpu).ok());
        SoftnetRow {
            cpu: cpu.unwrap_or(number),
            processed: column(0),
            dropped: column(1),
            squeezed: column(2),
        }
    });
    rows.collect()
}

/// Returns the sums of the counters of all processors in the text of `/proc/net/softnet_stat`.
pub fn parse_softnet(text: &str) -> Softnet {
    let mut total = Softnet::default();
    for row in parse_softnet_rows(text) {
        total.dropped += row.dropped;
        total.squeezed += row.squeezed;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softnet_is_hexadecimal() {
        let text = "00000011 0000000a 00000002 00000000\n00000de4 00000010 00000001 00000000\n";
        assert_eq!(parse_softnet(text), Softnet { dropped: 26, squeezed: 3 });
        let rows = parse_softnet_rows(text);
        assert_eq!(
            rows.iter().map(|row| (row.cpu, row.processed)).collect::<Vec<_>>(),
            [(0, 17), (1, 3556)]
        );
    }

    #[test]
    fn later_kernels_tell_the_processor() {
        // The text printed by Linux 6.18; the second processor's number is made 3.
        let text = "1a8faf8e 00000000 00000114 00000000 00000000 00000000 00000000 00000000 00000000 \
                    0c572620 00000000 00000000 00000000 00000000 00000000\n\
                    0fa7dd91 00000001 00000274 00000000 00000000 00000000 00000000 00000000 00000000 \
                    09c2cbd3 00000000 00000000 00000003 00000000 00000000\n";
        let rows = parse_softnet_rows(text);
        assert_eq!(
            rows[0],
            SoftnetRow { cpu: 0, processed: 0x1a8f_af8e, dropped: 0, squeezed: 276 }
        );
        assert_eq!((rows[1].cpu, rows[1].dropped, rows[1].squeezed), (3, 1, 628));
        assert!(parse_softnet_rows("").is_empty());
    }
}
