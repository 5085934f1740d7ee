//! Command `resperf`, for links to this program with that name: prints the `godwit dns load`
//! command line that replaces one of resperf.

use std::process::ExitCode;

/// Switches of resperf with a value that the printed command line of `godwit dns load` leaves out.
const LEFT_OUT: &str = "-f -a -x -t -b -y -i -P -c -L -q -F -O";

/// Switches of resperf's command line, all of which have one letter.
#[derive(Debug, clap::Args)]
#[command(disable_version_flag = true)]
pub struct ResperfArgs {
    /// Command line of resperf, of which the replacement is printed
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Settings of resperf's command line that `godwit dns load` also has.
#[derive(Debug, PartialEq, Eq)]
struct ResperfCommandLine {
    server: String,
    port: Option<String>,
    file: String,
    is_over_tcp: bool,
    most: String,
    ramp_s: String,
    clients: Option<String>,
    is_dnssec: bool,
}

impl ResperfArgs {
    pub(crate) fn run(&self) -> ExitCode {
        netio::stderr::print_errors(self.parsed().message());
        ExitCode::from(2)
    }

    fn parsed(&self) -> ResperfCommandLine {
        let mut line = ResperfCommandLine {
            server: "127.0.0.1".into(),
            port: None,
            file: "-".into(),
            is_over_tcp: false,
            most: "100000".into(),
            ramp_s: "60".into(),
            clients: None,
            is_dnssec: false,
        };
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            let Some(letter) = word.get(..2).filter(|switch| switch.starts_with('-')) else {
                continue;
            };
            line.is_dnssec |= letter == "-D";
            let takes_value = "-s -p -d -M -m -r -C".contains(letter) || LEFT_OUT.contains(letter);
            if !takes_value {
                continue;
            }
            let attached = word.get(2..).filter(|value| !value.is_empty());
            let value = attached.map(ToOwned::to_owned).or_else(|| words.next().cloned());
            let value = value.unwrap_or_default();
            match letter {
                "-s" => line.server = value,
                "-p" => line.port = Some(value),
                "-d" => line.file = value,
                "-M" => line.is_over_tcp = value != "udp",
                "-m" => line.most = value,
                "-r" => line.ramp_s = value,
                "-C" => line.clients = Some(value),
                _ => {}
            }
        }
        line
    }
}

impl ResperfCommandLine {
    /// Returns the command line of `godwit dns load` for these settings, with `more` at its end.
    fn line(&self, more: &str) -> String {
        let option = |letter: &str, value: &Option<String>| {
            value.as_ref().map_or_else(String::new, |value| format!(" {letter} {value}"))
        };
        format!(
            "godwit dns load -s {}{} -d {}{}{}{}{more}",
            self.server,
            option("-p", &self.port),
            self.file,
            if self.is_over_tcp { " -m tcp" } else { "" },
            option("-c", &self.clients),
            if self.is_dnssec { " --dnssec" } else { "" },
        )
    }

    fn message(&self) -> String {
        let ramp = format!(" -Q {} -l {} --shape ramp:0%..100%", self.most, self.ramp_s);
        let ramp = format!("{ramp} --timeline-s 0.5 --json FILE");
        format!(
            "resperf: write `{}` to search for the highest rate that the server answers\nresperf: \
             write `{}` for a ramp like resperf's, with counts for each half second",
            self.line(""),
            self.line(&ramp)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(line: &str) -> String {
        ResperfArgs { words: line.split_whitespace().map(ToOwned::to_owned).collect() }
            .parsed()
            .message()
    }

    #[test]
    fn the_lines_that_are_named_ask_what_was_asked() {
        let advice =
            message("-f inet -M tcp -L 10 -C 10 -P /tmp/x -d oarc_set -s 192.0.2.1 -p54 -D -R");
        let head = "godwit dns load -s 192.0.2.1 -p 54 -d oarc_set -m tcp -c 10 --dnssec";
        assert!(advice.starts_with(&format!("resperf: write `{head}` to search")), "{advice}");
        let ramp = "-Q 100000 -l 60 --shape ramp:0%..100% --timeline-s 0.5 --json FILE";
        assert!(advice.contains(&format!("write `{head} {ramp}` for a ramp")), "{advice}");
        assert!(message("-m 500 -r 5").contains("-s 127.0.0.1 -d - -Q 500 -l 5 "));
        message("-s");
        message("-\u{e4} x");
    }
}
