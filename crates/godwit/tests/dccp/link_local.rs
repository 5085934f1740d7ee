//! Tests of link-local addresses, which are valid only together with an interface.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use crate::common::TempFolder;
use crate::common::link::{CLIENT_ADDRESS, CLIENT_END, LinkNamespaces, SERVER_ADDRESS, SERVER_END};
use crate::dccp::{document, file_in, godwit, text};

const GODWIT: &str = env!("CARGO_BIN_EXE_godwit");

fn dccp<'c>(command: &'c mut Command, words: &str) -> &'c mut Command {
    command.args([GODWIT, "dccp"]).args(words.split(' '))
}

/// Starts a DCCP server in its namespace, and waits for its message on either output that it
/// listens.
fn start(link: &LinkNamespaces, words: &str) -> Child {
    let mut command = link.at_server();
    // Both outputs in one pipe: the output with the message depends on the command.
    let line = format!("exec {GODWIT} dccp {words} 2>&1");
    let mut child = command
        .args(["sh", "-c", &line])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut output_text = String::new();
    let output = child.stdout.as_mut().expect("it is piped");
    BufReader::with_capacity(1, output).read_line(&mut output_text).expect("it says something");
    assert!(output_text.to_lowercase().contains("listening on"), "{words}: {output_text}");
    child
}

fn end(mut server: Child) -> String {
    let mut output_text = String::new();
    let mut output = server.stdout.take().expect("it is piped");
    output.read_to_string(&mut output_text).expect("it can be read");
    let code = server.wait().expect("it was started here").code();
    assert!(is_sound(code), "{code:?}: {output_text}");
    output_text
}

/// Runs a DCCP client in its namespace, and returns its output.
fn meet(link: &LinkNamespaces, words: &str) -> Vec<u8> {
    let output = dccp(&mut link.at_client(), words).output().expect("the binary runs");
    let output_text = text(&output.stdout) + &text(&output.stderr);
    let code = output.status.code();
    assert!(is_sound(code), "{words}: {code:?}: {output_text}");
    output.stdout
}

/// Returns true if a command did its work. In a short time nothing may arrive on a busy machine,
/// which `perf` reports by exit code 3.
fn is_sound(code: Option<i32>) -> bool {
    matches!(code, Some(0 | 3))
}

/// Returns the index of the client's interface.
fn index(link: &LinkNamespaces) -> u32 {
    link.opened_at_client(|| netio::interface::named(CLIENT_END).expect("it is there").index)
}

#[test]
fn every_command_takes_them_with_their_interface() {
    let Some(link) = LinkNamespaces::new() else { return };
    link.join_by_ipv6(SERVER_END, CLIENT_END);
    let (by_name, number) = (format!("{SERVER_ADDRESS}%{CLIENT_END}"), index(&link));
    let by_number = format!("{SERVER_ADDRESS}%{number}");
    for carrier in ["udp", "raw"] {
        for host in [&by_name, &by_number] {
            let server = start(&link, &format!("perf -s -1 --carrier {carrier}"));
            let words = format!("perf -c {host} -t 0.2 --json --carrier {carrier}");
            let document = document(&meet(&link, &words));
            let local = document["flows"][0]["local"].as_str().expect("an address").to_owned();
            assert!(local.starts_with(&format!("{CLIENT_ADDRESS}%{number} port ")), "{local}");
            end(server);
        }
    }
    let server = start(&link, "perf -u -s -1 -6");
    meet(&link, &format!("perf -u -c {by_name} -t 0.2"));
    end(server);

    let server = start(&link, "ttcp -r");
    meet(&link, &format!("ttcp -t {by_name} -n 100"));
    assert!(end(server).contains("bytes in"));

    let folder = TempFolder::new("link-local");
    let file = file_in(&folder, "sent");
    std::fs::write(&file, b"over one link").expect("there is room");
    let server = start(&link, "recv");
    meet(&link, &format!("send {by_number} {file}"));
    assert!(end(server).contains("over one link"));
}

#[test]
fn a_listener_of_one_link_passes_the_suite() {
    let Some(link) = LinkNamespaces::new() else { return };
    link.join_by_ipv6(SERVER_END, CLIENT_END);
    let bind = format!("{SERVER_ADDRESS}%{SERVER_END}");
    for carrier in ["udp", "raw"] {
        let words = format!("conformance --listen --bind {bind} --carrier {carrier}");
        let mut server = start(&link, &words);
        let words = format!(
            "conformance --target {SERVER_ADDRESS}%{CLIENT_END} --carrier {carrier} --only HDR --only \
             CON-02 --only CON-10 --wait 10"
        );
        let output_text = text(&meet(&link, &words));
        assert!(
            output_text.contains("pass HDR-12") && output_text.contains(" 0 failed"),
            "{output_text}"
        );
        server.kill().expect("it was started here");
        server.wait().expect("it was started here");
    }
}

#[test]
fn without_their_interface_they_are_refused() {
    for (host, why) in [("fe80::1", "fe80::1%eth0"), ("fe80::1%no-such-if0", "no-such-if0")] {
        for words in [
            &["perf", "-c", host][..],
            &["perf", "-u", "-c", host],
            &["send", host, "/dev/null"],
            &["ttcp", "-t", host],
            &["conformance", "--target", host],
        ] {
            let output = godwit(words).output().expect("it runs");
            let output_text = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{words:?}: {output_text}");
            assert!(output_text.contains(why), "{words:?}: {output_text}");
        }
    }
    let output = godwit(&["conformance", "--listen", "--bind", "fe80::1%no-such-if0"]).output();
    assert_eq!(output.expect("it runs").status.code(), Some(2));
}
