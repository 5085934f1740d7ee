//! Ends of connections: either end closes first, is interrupted or ends without a message, and the
//! other end notices.

use std::io::Write;
use std::time::{Duration, Instant};

use super::machine::{GUEST, HOST, VirtualMachine};
use super::process::HostDccpProcess;

/// Way in which a connection ends while both applications run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClosingEnd {
    /// Close by the application of the kernel's server.
    KernelServer,
    /// Close by the application of Godwit's server.
    OurServer,
    /// SIGINT while data flows: the named program ends with exit code 130 and resets the
    /// connection.
    OurSenderInterrupted,
    OurReceiverInterrupted,
    KernelSenderInterrupted,
    KernelReceiverInterrupted,
    /// SIGKILL while data flows: the kernel ends the connection of the program.
    KernelSenderKilled,
    KernelReceiverKilled,
}

pub(super) fn all() -> Vec<ClosingEnd> {
    use ClosingEnd::{
        KernelReceiverInterrupted, KernelReceiverKilled, KernelSenderInterrupted,
        KernelSenderKilled, KernelServer, OurReceiverInterrupted, OurSenderInterrupted, OurServer,
    };
    vec![
        KernelServer,
        OurServer,
        OurSenderInterrupted,
        OurReceiverInterrupted,
        KernelSenderInterrupted,
        KernelReceiverInterrupted,
        KernelSenderKilled,
        KernelReceiverKilled,
    ]
}

impl ClosingEnd {
    /// Plays the closing, and asserts that each end reports how the connection ended.
    pub(super) fn play(self, machine: &mut VirtualMachine) -> String {
        match self {
            Self::KernelServer => the_kernels_server_closes(machine),
            Self::OurServer => our_server_closes(machine),
            Self::OurSenderInterrupted
            | Self::KernelReceiverInterrupted
            | Self::KernelReceiverKilled => self.while_ours_sends(machine),
            Self::OurReceiverInterrupted
            | Self::KernelSenderInterrupted
            | Self::KernelSenderKilled => self.while_the_kernel_sends(machine),
        }
        "both ends know".to_owned()
    }

    /// Sends the program of the kernel's end a signal, if this closing needs one there.
    fn signal_kernel(self, machine: &mut VirtualMachine) -> Option<i32> {
        let (signal, code) = match self {
            Self::KernelSenderInterrupted | Self::KernelReceiverInterrupted => ("INT", 130),
            Self::KernelSenderKilled | Self::KernelReceiverKilled => ("KILL", 137),
            _ => return None,
        };
        machine.run(&format!("kill -{signal} $(pidof godwit)"));
        Some(code)
    }

    fn while_ours_sends(self, machine: &mut VirtualMachine) {
        machine.begin("recv", "/godwit dccp recv /tmp/got --carrier kernel", "listening");
        let words = format!("dccp send {} /dev/zero --carrier raw --debug connection", GUEST[0]);
        let sender = HostDccpProcess::start_until(machine, &words, "PARTOPEN");
        machine.run("until test -s /tmp/got; do sleep 0.1; done");
        let code = self.signal_kernel(machine);
        if code.is_none() {
            sender.interrupt();
        }
        let (status, _, output_text) = sender.wait();
        let (kernel, printed) = machine.end("recv");
        match code {
            Some(code) => {
                assert_eq!(kernel, code, "{self:?}: {printed}");
                assert_eq!(status.code(), Some(1), "{self:?}: {output_text}");
                assert!(output_text.contains("reset the connection"), "{self:?}: {output_text}");
            }
            None => {
                assert_eq!(status.code(), Some(130), "{self:?}: {output_text}");
                // The application sees the end, or the Reset.
                assert!(printed.contains("received ") || printed.contains("reset"), "{printed}");
            }
        }
    }

    fn while_the_kernel_sends(self, machine: &mut VirtualMachine) {
        let file = machine.folder.path().join("got");
        std::fs::write(&file, "").expect("there is room");
        let receiver =
            HostDccpProcess::start(machine, &format!("dccp recv {} --carrier raw", file.display()));
        let command = format!("/godwit dccp send {} /dev/zero --carrier kernel", HOST[0]);
        begin_sending(machine, &command);
        let deadline = Instant::now() + PATIENCE;
        while std::fs::metadata(&file).expect("it is there").len() == 0 {
            assert!(Instant::now() < deadline, "{self:?}: no data");
            std::thread::sleep(Duration::from_millis(10));
        }
        let code = self.signal_kernel(machine);
        if code.is_none() {
            receiver.interrupt();
        }
        let (status, _, output_text) = receiver.wait();
        let (kernel, printed) = machine.end("send");
        match code {
            Some(code) => {
                assert_eq!(kernel, code, "{self:?}: {printed}");
                // The kernel closes for an application that ends, and resets for one that aborts.
                assert!(matches!(status.code(), Some(0 | 1)), "{self:?}: {output_text}");
                assert!(
                    output_text.contains("received ") || output_text.contains("reset"),
                    "{self:?}: {output_text}"
                );
            }
            None => {
                assert_eq!(status.code(), Some(130), "{self:?}: {output_text}");
                assert_eq!(kernel, 1, "{self:?}: {printed}");
                assert!(printed.contains("reset the connection"), "{self:?}: {printed}");
            }
        }
    }
}

/// Starts a command in the machine that prints nothing until it ends.
fn begin_sending(machine: &mut VirtualMachine, command: &str) {
    machine.run(&format!(
        "rm -f /tmp/send.code; ({command} >/tmp/send 2>&1; echo $? >/tmp/send.code) &"
    ));
}

/// Time without data after which none will come.
const PATIENCE: Duration = Duration::from_secs(120);
/// Word on which a listener of the suite closes.
const CLOSE: &str = "godwit:close";

fn the_kernels_server_closes(machine: &mut VirtualMachine) {
    machine.begin("listen", "/godwit dccp conformance --listen --carrier kernel -4", "istening");
    let words = format!("dccp send {} --carrier raw --debug connection", GUEST[0]);
    let mut sender = HostDccpProcess::start_until(machine, &words, "PARTOPEN");
    sender.input().write_all(CLOSE.as_bytes()).expect("it reads");
    // The client's input has not ended: the server's CloseReq or Close ends the connection.
    sender.wait_for("to TIMEWAIT");
    let (status, _, output_text) = sender.wait();
    assert!(status.success(), "{status}: {output_text}");
    machine.run("kill $(pidof godwit)");
    machine.end("listen");
}

fn our_server_closes(machine: &mut VirtualMachine) {
    let words =
        format!("dccp conformance --listen --carrier raw --bind {} --debug connection", HOST[0]);
    let mut listener = HostDccpProcess::start_listing(machine, &words);
    machine.run("rm -f /tmp/input; mkfifo /tmp/input");
    let command = format!("/godwit dccp send {} --carrier kernel", HOST[0]);
    begin_sending(machine, &format!("(printf {CLOSE}; cat /tmp/input) | {command}"));
    listener.wait_for("to CLOSEREQ");
    // The kernel answers the CloseReq when its application closes.
    machine.run("true >/tmp/input");
    let (code, printed) = machine.end("send");
    assert_eq!(code, 0, "{printed}");
    listener.wait_for("CLOSEREQ to");
    listener.stop();
}
