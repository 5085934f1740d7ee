//! Tables of processors and processes with the columns of mpstat and pidstat.

use std::fmt::Write as _;

use counters::CpuShares;

use super::process::ProcessLoad;

/// Word that a line of averages has instead of a time of day.
pub(crate) const AVERAGE: &str = "Average:";
/// Label of the line with the sum of all processors.
pub(crate) const ALL: &str = "all";

/// Returns the head line with the names of the columns of processors or nodes; `noun` is `CPU` or
/// `NODE`.
pub(crate) fn share_head(time: &str, noun: &str) -> String {
    let names = [
        "%usr", "%nice", "%sys", "%iowait", "%irq", "%soft", "%steal", "%guest", "%gnice", "%idle",
    ];
    let mut line = format!("{time:<11} {noun:>4}");
    for name in names {
        let _ = write!(line, "{name:>8}");
    }
    line + "\n"
}

/// Returns the line of one processor or node, or of their sum, with `decimals` decimal places.
pub(crate) fn cpu_line(time: &str, label: &str, shares: &CpuShares, decimals: usize) -> String {
    let mut line = format!("{time:<11}{label:>5}");
    for share in shares.columns() {
        let _ = write!(line, "{share:>8.decimals$}");
    }
    line + "\n"
}

/// Returns the head line with the names of the columns of processes.
pub(crate) fn process_head(time: &str) -> String {
    format!("{time:<11}   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n")
}

/// Returns the line of one process. A line of averages names no processor.
pub(crate) fn process_line(time: &str, load: &ProcessLoad) -> String {
    let ProcessLoad { uid, pid, usr, system, guest, wait, cpu_share, cpu, command } = load;
    let cpu = cpu.map_or_else(|| "-".to_owned(), |cpu| cpu.to_string());
    format!(
        "{time:<11} {uid:>5} {pid:>9} {usr:>7.2} {system:>7.2} {guest:>7.2} {wait:>7.2} \
         {cpu_share:>7.2} {cpu:>5}  {command}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_below_their_heads() {
        let shares = CpuShares { usr: 100.0, steal: 1.5, ..CpuShares::default() };
        assert_eq!(
            share_head("10:20:30", "CPU"),
            "10:20:30     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   \
             %idle\n"
        );
        assert_eq!(
            cpu_line(AVERAGE, ALL, &shares, 2),
            "Average:     all  100.00    0.00    0.00    0.00    0.00    0.00    1.50    0.00    0.00    \
             0.00\n"
        );
        assert!(share_head("10:20:30", "NODE").starts_with("10:20:30    NODE    %usr"));
        assert!(cpu_line("10:20:30", "1", &shares, 0).starts_with("10:20:30       1     100"));
        let load = ProcessLoad {
            uid: 0,
            pid: 4242,
            usr: 12.0,
            system: 3.25,
            guest: 0.0,
            wait: 1.0,
            cpu_share: 15.25,
            cpu: Some(1),
            command: "named".into(),
        };
        let (head, line) = (process_head("10:20:30"), process_line("10:20:30", &load));
        assert_eq!(
            line,
            "10:20:30        0      4242   12.00    3.25    0.00    1.00   15.25     1  named\n"
        );
        let before = |text: &str, word: &str| text.split_once(word).map(|(before, _)| before.len());
        assert_eq!(before(&head, "Command"), before(&line, "named"));
        assert_eq!(before(&head, "%system"), Some(before(&line, "3.25").unwrap_or(0) - 3));
        let average = process_line(AVERAGE, &ProcessLoad { cpu: None, ..load });
        assert!(average.starts_with(AVERAGE) && average.ends_with("     -  named\n"), "{average}");
    }
}
