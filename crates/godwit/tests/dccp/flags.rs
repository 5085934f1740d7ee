//! Tests of the flags of every DCCP command that makes connections.

use crate::dccp::{DccpListenerProcess, free_port, godwit, text};

/// Commands with their minimum of arguments.
const COMMANDS: [&[&str]; 7] = [
    &["perf", "-c", "127.0.0.1", "-t", "0.05"],
    &["send", "127.0.0.1", "/dev/null"],
    &["recv"],
    &["ttcp", "-t", "127.0.0.1", "-n", "1"],
    &["conformance", "--listen"],
    &["regression"],
    &["fairness"],
];

#[test]
fn every_command_takes_them() {
    for command in COMMANDS {
        let output = godwit(&[command[0], "--help"]).output().expect("it runs");
        let help = text(&output.stdout);
        for flag in [
            "--port",
            "--carrier",
            "--udp-port",
            "-4",
            "-6",
            "--ccid",
            "--tx-ccid",
            "--rx-ccid",
            "--service-code",
            "--cscov",
            "--connect-timeout",
            "--set",
            "--debug",
        ] {
            assert!(help.contains(flag), "{} has no {flag}", command[0]);
        }
        // The last flag is wrong, so that nothing runs.
        let flags = [
            "-p",
            "9",
            "--carrier",
            "raw",
            "-4",
            "--tx-ccid",
            "3",
            "--rx-ccid",
            "2",
            "--cscov",
            "1",
            "--service-code",
            "SC:TEST",
            "--set",
            "seq_window=64",
            "--set",
            "tx_qlen=none",
        ];
        let output = godwit(&[command, &flags[..]].concat()).output().expect("it runs");
        let output_text = text(&output.stderr);
        let is_bind = output_text.contains("needs --bind");
        assert_eq!(output.status.code(), Some(2), "{command:?}: {output_text}");
        assert!(
            output_text.contains("tx_qlen=none: the value is not a number") || is_bind,
            "{output_text}"
        );
    }
}

#[test]
fn a_target_is_not_set_by_flags() {
    let words = ["conformance", "--target", "127.0.0.1", "--ccid", "3", "--udp-port", &free_port()];
    let output = godwit(&words).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--ccid applies to --listen only"));
}

#[test]
fn debug_tells_what_a_connection_does() {
    let server = DccpListenerProcess::start(&["perf", "-s", "-1"], true);
    let words = ["perf", "-c", "127.0.0.1", "-t", "0.2", "-b", "1m", "--ccid", "3"];
    let output = server.meet(&[&words[..], &["--debug", "connection,features,ccid"]].concat());
    let output_text = text(&output.stderr);
    // A busy machine may send less than the rate.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output_text}");
    for words in
        ["connection] client: REQUEST", "to OPEN", "features] ccid: 3 here, 3 there", "ccid] x "]
    {
        assert!(output_text.contains(words), "no {words} in {output_text}");
    }
    assert!(!output_text.contains("drops]"), "{output_text}");
    server.end();

    let server = DccpListenerProcess::start(&["ttcp", "-r"], true);
    let words = ["ttcp", "-t", "127.0.0.1", "-n", "10", "--debug", "connection,ccid"];
    let output = server.meet(&words);
    let output_text = text(&output.stderr);
    assert!(
        output_text.contains("connection] client: ") && output_text.contains("ccid] cwnd "),
        "{output_text}"
    );
    server.end();
}

/// Checks that the commands work with the kernel's DCCP as with Godwit's own stack, and report its
/// absence without it.
#[test]
fn where_nobody_listens_all_flows_end_with_the_reason() {
    for flows in ["1", "20"] {
        let words = ["perf", "-c", "127.0.0.1", "-P", flows, "--connect-timeout", "300"];
        let output = godwit(&words).args(["--udp-port", &free_port()]).output().expect("it runs");
        let output_text = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{flows}: {output_text}");
        assert!(
            output_text.contains("no program accepts DCCP packets at 127.0.0.1"),
            "{flows}: {output_text}"
        );
    }
}

#[test]
fn a_kernel_without_dccp_is_named_and_other_commands_refuse_it() {
    let protocols = std::fs::read_to_string("/proc/net/protocols").unwrap_or_default();
    let failed = |words: &[&str], code: i32| {
        let output = godwit(words).output().expect("it runs");
        let output_text = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {output_text}");
        output_text
    };
    if !protocols.lines().any(|line| line.starts_with("DCCP")) {
        for words in [
            &["send", "127.0.0.1", "/dev/null"][..],
            &["recv"],
            &["conformance", "--listen"],
            &["ttcp", "-r"],
            &["ttcp", "-t", "127.0.0.1"],
            &["perf", "-s"],
            &["perf", "-c", "127.0.0.1"],
        ] {
            let output_text = failed(&[words, &["--carrier", "kernel"]].concat(), 1);
            assert!(
                output_text.contains("Linux has DCCP up to version 6.15"),
                "{words:?}: {output_text}"
            );
        }
    }
    for words in [
        &["conformance", "--target", "127.0.0.1"][..],
        &["conformance", "--listen", "--bind", "127.0.0.1"],
        &["perf", "-c", "127.0.0.1", "--search"],
        &["perf", "-s", "--debug", "connection"],
    ] {
        let output_text = failed(&[words, &["--carrier", "kernel"]].concat(), 2);
        assert!(output_text.contains("own stack"), "{words:?}: {output_text}");
    }
}
