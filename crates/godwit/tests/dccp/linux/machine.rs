//! Virtual machine with a Linux that has DCCP, at the other end of an interface in a namespace of
//! the test.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::common::link::{inside, ip};
use crate::common::{TempFolder, is_root, require};

/// Variable with the folder of kernel and root file system, instead of `target/linux-dccp`.
const VARIABLE: &str = "GODWIT_LINUX_DCCP";
const FOLDER: &str = "linux-dccp";
/// Addresses of this end; those of the machine end in 2.
pub(super) const HOST: [&str; 2] = ["10.33.0.1", "fd33::1"];
/// Addresses of the machine.
pub(super) const GUEST: [&str; 2] = ["10.33.0.2", "fd33::2"];
const HOST_MAC: &str = "02:67:77:33:00:01";
const GUEST_MAC: &str = "02:67:77:33:00:02";
/// Name of this end of the machine's interface.
pub(super) const TAP: &str = "tap0";

/// Virtual machine that ends with the value.
pub(super) struct VirtualMachine {
    qemu: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    pub(super) folder: TempFolder,
    namespace: String,
}

impl VirtualMachine {
    /// Starts the machine with `godwit` in `/godwit` and the files of `files` (name and contents)
    /// in its root, at an interface in the namespace. `more` are further arguments of QEMU.
    pub(super) fn start(
        root_folder: &Path,
        namespace: &str,
        files: &BTreeMap<String, Vec<u8>>,
        more: &[String],
    ) -> Self {
        let folder = TempFolder::new("linux-dccp");
        let initrd = root_files(root_folder, folder.path(), files);
        join(namespace);
        let mut command = inside(namespace);
        command
            // It ends with this process, in whatever way that ends.
            .args(["setpriv", "--pdeathsig", "KILL"])
            .args(["qemu-system-x86_64", "-M", "pc,accel=tcg", "-cpu", "max", "-m", "512"])
            .args(["-nodefaults", "-display", "none", "-no-reboot"])
            .arg("-kernel")
            .arg(root_folder.join("vmlinuz"))
            .arg("-initrd")
            .arg(initrd)
            .args(["-append", "console=ttyS0 quiet panic=-1 net.ifnames=0 random.trust_cpu=on"])
            .args(["-netdev", &format!("tap,id=net,ifname={TAP},script=no,downscript=no")])
            .args(["-device", &format!("virtio-net-pci,netdev=net,mac={GUEST_MAC}")])
            .args(more)
            .args(["-serial", &format!("file:{}", folder.path().join("console").display())])
            // A port of virtio, unlike a serial line, loses no character on a busy processor.
            .args(["-chardev", "stdio,id=commands,signal=off", "-device", "virtio-serial-pci"])
            .args(["-device", "virtserialport,chardev=commands,name=commands"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut qemu = command.spawn().expect("qemu starts");
        let commands = qemu.stdin.take().expect("it is piped");
        let mut answers = BufReader::new(qemu.stdout.take().expect("it is piped"));
        let mut line = String::new();
        while !line.starts_with("ready ") {
            line.clear();
            let length = answers.read_line(&mut line).expect("it is text");
            assert!(length > 0, "the machine does not start: {}", console(folder.path()));
        }
        let namespace = namespace.to_owned();
        Self { qemu, commands, answers, folder, namespace }
    }

    /// Runs a command in the machine and returns its output.
    pub(super) fn run(&mut self, command: &str) -> String {
        let (code, printed) = self.attempt(command);
        assert_eq!(code, 0, "{command}: {printed}");
        printed
    }

    /// Runs a command in the machine that may fail, and returns its exit code and its output.
    pub(super) fn attempt(&mut self, command: &str) -> (i32, String) {
        writeln!(self.commands, "{command}").expect("the machine runs");
        let mut printed = String::new();
        loop {
            let mut line = String::new();
            let length = self.answers.read_line(&mut line).expect("it is text");
            assert!(length > 0, "the machine ended: {}", console(self.folder.path()));
            if let Some(code) = line.trim_end().strip_prefix("exit ") {
                return (code.parse().expect("a number"), printed);
            }
            printed += &line.replace('\r', "");
        }
    }

    /// Starts a command that keeps running in the machine, with its output in `/tmp/{name}`, and
    /// waits until it has printed `first`.
    pub(super) fn begin(&mut self, name: &str, command: &str, first: &str) {
        self.run(&format!(
            "rm -f /tmp/{name} /tmp/{name}.code; ({command} >/tmp/{name} 2>&1; echo $? >/tmp/{name}.code) & \
             until grep -sq '{first}' /tmp/{name} || test -s /tmp/{name}.code; do sleep 0.1; done"
        ));
    }

    /// Waits until a command that [`VirtualMachine::begin`] started has ended, and returns its exit
    /// code and its output.
    pub(super) fn end(&mut self, name: &str) -> (i32, String) {
        self.attempt(&format!(
            "until test -s /tmp/{name}.code; do sleep 0.1; done; cat /tmp/{name}; \
             exit $(cat /tmp/{name}.code)"
        ))
    }

    /// Returns the bytes of a file in the machine.
    pub(super) fn read(&mut self, path: &str) -> Vec<u8> {
        let local_path = self.folder.path().join("read");
        let text = self.run(&format!("gzip -c {path} | base64"));
        std::fs::write(&local_path, text).expect("there is room");
        let script = format!("base64 -d {} | gzip -dc", local_path.display());
        let output = Command::new("sh").args(["-c", &script]).output().expect("sh runs");
        assert!(output.status.success(), "{output:?}");
        output.stdout
    }

    /// Returns the name of the namespace with this end of the machine's interface.
    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns a command that runs its arguments at this end of the machine's interface.
    pub(super) fn here(&self) -> Command {
        inside(&self.namespace)
    }

    /// Removes all impairments of the path.
    pub(super) fn clean_path(&mut self) {
        for device in ["eth0", "ifb0"] {
            self.run(&format!("/bin/tc qdisc replace dev {device} root pfifo limit 10000"));
        }
    }
}

impl Drop for VirtualMachine {
    fn drop(&mut self) {
        // A failure means that the machine has ended already.
        self.qemu.kill().ok();
        self.qemu.wait().ok();
        // Another machine may follow in the namespace.
        inside(&self.namespace).args(["ip", "link", "del", TAP]).status().ok();
    }
}

/// Returns the folder with kernel and root file system that `cargo xtask test` made; `None`, with a
/// message, if no machine can be started.
pub(super) fn root_folder() -> Option<PathBuf> {
    if !(is_root() && require(&["ip", "qemu-system-x86_64", "cpio", "ldd"])) {
        return None;
    }
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    let build = std::env::var_os("CARGO_TARGET_DIR").map(|folder| Path::new(&folder).join(FOLDER));
    let own = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name(FOLDER);
    let found = named.into_iter().chain(build).chain([own]).find(|f| f.join("made-of").exists());
    let reason = "no virtual machine with Linux's DCCP; `cargo xtask test setup` makes it";
    if found.is_none() {
        testkit::skip(reason);
    }
    found
}

/// Makes the root file system of the machine: the prepared one, the binary with its libraries, and
/// `files`.
fn root_files(root_folder: &Path, folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> PathBuf {
    let root = folder.join("root");
    std::fs::create_dir(&root).expect("it is ours");
    for (name, contents) in files {
        std::fs::write(root.join(name), contents).expect("there is room");
    }
    let initrd = folder.join("initrd");
    let script = format!(
        "set -e; cd {root}; cp {binary} godwit; strip godwit 2>/dev/null || true; \
         for library in $(ldd godwit | grep -o '/[^ ]*'); do install -D $library .$library; done; \
         (cat {root_folder}/initrd; find . | cpio -o -H newc --quiet | gzip -1) >{initrd}",
        root = root.display(),
        binary = env!("CARGO_BIN_EXE_godwit"),
        root_folder = root_folder.display(),
        initrd = initrd.display()
    );
    let output = Command::new("sh").args(["-c", &script]).output().expect("sh runs");
    assert!(output.status.success(), "{output:?}");
    std::fs::remove_dir_all(root).expect("it is ours");
    initrd
}

/// Makes this end of the interface.
fn join(namespace: &str) {
    let [v4, v6] = HOST;
    for words in [
        format!("tuntap add dev {TAP} mode tap"),
        format!("link set {TAP} address {HOST_MAC}"),
        // A delayed machine must not lose the packets that wait for it.
        format!("link set {TAP} txqueuelen 20000"),
        format!("link set {TAP} up"),
        format!("addr add {v4}/24 dev {TAP}"),
        format!("addr add {v6}/64 dev {TAP} nodad"),
        "link set lo up".to_owned(),
    ] {
        ip(&format!("-n {namespace} {words}"));
    }
    for address in GUEST {
        ip(&format!(
            "-n {namespace} neigh replace {address} lladdr {GUEST_MAC} dev {TAP} nud permanent"
        ));
    }
}

fn console(folder: &Path) -> String {
    std::io::read_to_string(File::open(folder.join("console")).expect("qemu made it"))
        .unwrap_or_default()
}
