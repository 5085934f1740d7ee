//! Reader of `/proc/interrupts` and `/proc/softirqs`: tables with a column per processor.

/// Row of an interrupt table: a kind of interrupt with its counts since boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountRow {
    /// Text before the colon of the row: the number of an interrupt, or a name like `NET_RX`.
    pub name: String,
    /// Numbers of interrupts since boot, one for each processor of the table's head.
    pub counts: Vec<u64>,
    /// Text after the counts of the row: controller, kind and handler of the interrupt.
    pub description: String,
}

impl CountRow {
    /// Returns true if the row's description has `word` between characters that are not part of
    /// words.
    pub fn mentions(&self, word: &str) -> bool {
        let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
        !word.is_empty()
            && self.description.match_indices(word).any(|(at, _)| {
                let before = self.description[..at].chars().next_back();
                let after = self.description[at + word.len()..].chars().next();
                !before.is_some_and(is_part) && !after.is_some_and(is_part)
            })
    }
}

/// Interrupt table of `/proc/interrupts` or `/proc/softirqs`, with a column for each processor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountTable {
    /// Kernel's numbers of the processors, one for each column of the table.
    pub cpus: Vec<u32>,
    /// Rows of the table, one for each kind of interrupt.
    pub rows: Vec<CountRow>,
}

impl CountTable {
    /// Returns the number of interrupts of processor `cpu` in all rows that `is_meant` accepts.
    pub fn count(&self, cpu: u32, mut is_meant: impl FnMut(&CountRow) -> bool) -> u64 {
        let Some(column) = self.cpus.iter().position(|each| *each == cpu) else { return 0 };
        let rows = self.rows.iter().filter(|row| is_meant(row));
        rows.filter_map(|row| row.counts.get(column)).sum()
    }
}

/// Parses the text of `/proc/interrupts` or `/proc/softirqs`.
pub fn parse_counts(text: &str) -> CountTable {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    let cpus: Vec<u32> = head
        .split_ascii_whitespace()
        .filter_map(|word| word.strip_prefix("CPU")?.parse().ok())
        .collect();
    let rows = lines.filter_map(|line| parse_row(line, cpus.len())).collect();
    CountTable { cpus, rows }
}

/// Parses a row of an interrupt table with up to `columns` counts; rows that count errors have only
/// one.
fn parse_row(line: &str, columns: usize) -> Option<CountRow> {
    let (name, mut rest) = line.split_once(':')?;
    let mut counts = Vec::with_capacity(columns);
    while counts.len() < columns {
        let trimmed = rest.trim_start();
        let end = trimmed.find(char::is_whitespace).unwrap_or(trimmed.len());
        let Ok(count) = trimmed[..end].parse() else { break };
        counts.push(count);
        rest = &trimmed[end..];
    }
    let description = rest.trim().to_owned();
    Some(CountRow { name: name.trim().to_owned(), counts, description })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text in the form of Linux 6.18, with a processor (1) that is not in use.
    const INTERRUPTS: &str = "           CPU0       CPU2       \n \
        24:          1          0  IO-APIC   5-edge      ACPI:Ged\n \
        40:        866         12  PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0\n \
        41:          7      16928  PCI-MSIX-0000:00:03.0   2-edge      virtio2-output.0\n \
        50:          5          6  PCI-MSI 524289-edge      eth0-TxRx-0\n \
        51:         50         60  PCI-MSI 524290-edge      veth0, eth01\n\
        NMI:          3          4   Non-maskable interrupts\n\
        ERR:          9\n";

    #[test]
    fn rows_of_a_device_are_told_from_those_of_others() {
        let table = parse_counts(INTERRUPTS);
        assert_eq!(table.cpus, [0, 2]);
        assert_eq!(table.rows.len(), 7);
        let of = |cpu, word: &str| table.count(cpu, |row| row.mentions(word));
        assert_eq!((of(0, "eth0"), of(2, "eth0")), (5, 6));
        assert_eq!((of(0, "virtio2"), of(2, "virtio2")), (873, 16_940));
        assert_eq!((of(0, "virtio"), of(1, "eth0"), of(0, "")), (0, 0, 0));
        assert_eq!(table.count(2, |row| row.name == "NMI"), 4);
        assert_eq!(table.count(2, |row| row.name == "ERR"), 0, "it is nobody's");
    }

    #[test]
    fn software_interrupts_have_the_same_form() {
        let text = "                    CPU0       CPU1       \n\
                    \x20     NET_TX:      32586       2675\n      NET_RX:  398343833  402722810\n";
        let table = parse_counts(text);
        assert_eq!(table.count(1, |row| row.name == "NET_RX"), 402_722_810);
        assert_eq!(table.rows[0].description, "");
        assert_eq!(parse_counts(""), CountTable::default());
    }
}
