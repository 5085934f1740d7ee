//! Tests of Kea's tools as links to Godwit: they do the same for operators' scripts as Kea 3's
//! programs.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use dhcp_server::KEA_LEVEL;
use testbed::Debian13;
use testbed::debian::LEASES;

use crate::common::{
    TempFolder, configuration, confine, free_port, has_debian_13, require, run_bounded,
    waited_until,
};

const HEADER4: &str = "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,\
                       hostname,state,user_context,pool_id\n";
const HEADER6: &str = "address,duid,valid_lifetime,expire,subnet_id,pref_lifetime,lease_type,iaid,\
                       prefix_len,fqdn_fwd,fqdn_rev,hostname,hwaddr,state,user_context,hwtype,\
                       hwaddr_source,pool_id\n";

/// Runs the tool `name` as a link to Godwit, in `folder`.
fn ours(folder: &Path, name: &str, words: &[&str]) -> Output {
    let link = folder.join(name);
    if !link.exists() {
        symlink(env!("CARGO_BIN_EXE_godwit"), &link).expect("the test's folder can be written");
    }
    run_bounded(Command::new("env").arg("-C").arg(folder).arg(link).args(words))
}

/// Runs Kea's tool with `folder` as the folder of leases.
fn keas(folder: &Path, name: &str, words: &[&str]) -> Output {
    let debian = Debian13::find().expect("it was looked for");
    let mut command = debian.command(folder, "sh").to_command();
    // Kea's logs and lock files go to the folder of its sockets, which is the same.
    let script = format!("cd {LEASES} && KEA_LOCKFILE_DIR=none exec \"$@\"");
    run_bounded(command.args(["-c", &script, "sh", name]).args(words))
}

/// Returns the files of a clean-up in `folder` with their contents.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let names = ["x", "x.1", "x.2", "x.output", "x.completed", "x.pid"];
    let read = |name: &str| Some((name.to_owned(), fs::read_to_string(folder.join(name)).ok()?));
    names.into_iter().filter_map(read).collect()
}

fn rows(family: u8, numbers: &[(u32, u32)]) -> String {
    let row = |&(number, lifetime): &(u32, u32)| {
        let expire = 4_102_444_800_u32 + number;
        match family {
            4 => format!(
                "10.0.0.{number},02:00:00:00:00:{number:02x},01:{number:02x},{lifetime},{expire},1,\
                 0,0,host{number},0,,0\n"
            ),
            _ => format!(
                "2001:db8::{number:x},00:03:00:01:{number:02x},{lifetime},{expire},1,0,0,{number},\
                 128,0,0,host{number},,0,,,,0\n"
            ),
        }
    };
    let header = if family == 4 { HEADER4 } else { HEADER6 };
    header.to_owned() + &numbers.iter().map(row).collect::<String>()
}

#[test]
fn the_clean_up_of_lease_files_leaves_what_keas_leaves() {
    if !has_debian_13() {
        return;
    }
    for family in [4, 6] {
        let before = rows(family, &[(9, 100), (3, 200), (7, 300)]);
        // Renewed twice, deleted (a lifetime of 0), new.
        let since = rows(family, &[(3, 250), (7, 0), (3, 260), (1, 400), (200, 500)]);
        let cases: [&[(&str, &str)]; 5] = [
            &[("x.2", &before), ("x.1", &since)],
            &[("x.1", &since)],
            &[("x.2", &before)],
            &[("x.2", &before), ("x.1", &since), ("x.completed", &before)],
            &[("x", &since), ("x.2", &before), ("x.1", &since), ("x.pid", "4000000\n")],
        ];
        for case in cases {
            let flag = format!("-{family}");
            let words = "-p x.pid -x x.2 -i x.1 -o x.output -f x.completed -c none.conf";
            let words: Vec<&str> =
                [&flag].map(String::as_str).into_iter().chain(words.split(' ')).collect();
            let run = |tool: fn(&Path, &str, &[&str]) -> Output| {
                let folder = TempFolder::new("lfc");
                for (name, text) in case {
                    fs::write(folder.path().join(name), text).expect("the folder can be written");
                }
                let output = tool(folder.path(), "kea-lfc", &words);
                assert!(output.status.success(), "{case:?}: {output:?}");
                files(folder.path())
            };
            assert_eq!(run(ours), run(keas), "{case:?}");
        }
    }
}

/// Returns the output of sqlite3 for `statement` on the database in `file`.
fn sqlite(file: &str, statement: &str) -> String {
    let output = run_bounded(Command::new("sqlite3").args([file, statement]));
    assert!(output.status.success(), "{statement}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn tables_are_made_and_looked_at_by_the_words_of_kea_admin() {
    if !require(&["sqlite3"]) {
        return;
    }
    let folder = TempFolder::new("admin");
    let file = folder.path().join("leases.db").display().to_string();
    let admin = |words: &[&str]| ours(folder.path(), "kea-admin", words);
    let database_args = ["sqlite", "-n", &file, "-d", "/usr/share/kea/scripts"];
    let made = admin(&[&["db-init"], &database_args[..]].concat());
    assert!(made.status.success(), "{made:?}");
    assert_eq!(admin(&[&["db-version"], &database_args[..]].concat()).stdout, b"35.0\n");
    let csv = folder.path().join("x.csv");
    fs::write(&csv, rows(4, &[(1, 100), (2, 200)])).expect("the folder can be written");
    let input = csv.display().to_string();
    let uploaded = admin(&[&["lease-upload"], &database_args[..], &["-4", "-i", &input]].concat());
    assert!(uploaded.status.success(), "{uploaded:?}");
    let output = folder.path().join("y.csv");
    let text = output.display().to_string();
    assert!(
        admin(&[&["lease-dump"], &database_args[..], &["-4", "-o", &text]].concat())
            .status
            .success()
    );
    assert_eq!(fs::read_to_string(output).expect("it was written"), rows(4, &[(1, 100), (2, 200)]));
    // A recount corrects a wrong count.
    let statistics = "SELECT subnet_id, state, leases FROM lease4_stat";
    let right = sqlite(&file, statistics);
    assert_eq!(right, "1|0|2\n");
    sqlite(&file, "UPDATE lease4_stat SET leases = 9");
    let counted = admin(&[&["stats-recount"], &database_args[..]].concat());
    assert!(counted.status.success(), "{counted:?}");
    assert_eq!(counted.stdout, b"Recount lease statistics from database\n");
    assert_eq!(sqlite(&file, statistics), right);
}

/// Folder with links, a configuration and a keactrl.conf. Dropping the value ends the servers that
/// run there.
struct Controlled(TempFolder);

impl Controlled {
    /// Returns the output of `keactrl`, and whether it succeeded.
    fn keactrl(&self, words: &[&str]) -> (bool, String) {
        let path = self.0.path();
        // A server that it starts inherits its output, so a pipe would not end.
        let file = fs::File::create(path.join("printed")).expect("the folder can be written");
        let mut command = Command::new(path.join("keactrl"));
        confine(&mut command, path);
        command.args(&words[..1]).arg("-c").arg(path.join("keactrl.conf")).args(&words[1..]);
        let both = [file.try_clone().expect("it is open"), file];
        let [stdout, stderr] = both;
        let status = command.stdout(stdout).stderr(stderr).status().expect("the link is there");
        (status.success(), fs::read_to_string(path.join("printed")).expect("it was made"))
    }
}

impl Drop for Controlled {
    fn drop(&mut self) {
        self.keactrl(&["stop"]);
    }
}

#[test]
fn servers_are_started_reloaded_and_stopped_by_keactrl() {
    let folder = TempFolder::new("keactrl");
    let config = configuration(folder.path(), "none", 1);
    let path = folder.path().display();
    for name in ["keactrl", "kea-dhcp4"] {
        let link = folder.path().join(name);
        symlink(env!("CARGO_BIN_EXE_godwit"), link).expect("the test's folder can be written");
    }
    let text = format!(
        "prefix=\"{path}\"\nkea_dhcp4_config_file=${{prefix}}/dhcp4.conf\n\
         kea_dhcp6_config_file=${{prefix}}/dhcp4.conf\nkea_dhcp_ddns_config_file=${{prefix}}/dhcp4.conf\n\
         dhcp4_srv=\"${{prefix}}/kea-dhcp4\"\ndhcp6_srv=\"${{prefix}}/kea-dhcp6\"\n\
         dhcp_ddns_srv=\"${{prefix}}/kea-dhcp-ddns\"\ndhcp4=yes\ndhcp6=no\ndhcp_ddns=no\n\
         dhcp4_cli_options=\"-p {}\"\nkea_verbose=no\n",
        free_port()
    );
    fs::write(folder.path().join("keactrl.conf"), text).expect("the folder can be written");
    let log = folder.path().join("printed");
    let there = Controlled(folder);
    assert!(config.exists());
    let (is_done, status) = there.keactrl(&["status"]);
    assert!(is_done && status.starts_with("DHCPv4 server: inactive\nDHCPv6 server: inactive\n"));
    assert!(there.keactrl(&["reload"]).1.contains("kea-dhcp4 isn't running."));
    let (is_done, version) = there.keactrl(&["version", "-s", "dhcp4"]);
    let expected = format!("keactrl: {KEA_LEVEL}\nkea-dhcp4: {KEA_LEVEL}\n");
    assert!(is_done && version == expected, "{version}");
    let (is_done, output_text) = there.keactrl(&["start", "-s", "all", "--", "-X"]);
    assert!(is_done && output_text.contains("INFO/keactrl: Starting"), "{output_text}");
    let has_logged =
        |words: &str| waited_until(|| fs::read_to_string(&log).unwrap_or_default().contains(words));
    assert!(has_logged("DHCP4_STARTED"), "{:?}", fs::read_to_string(&log));
    let pid_file = there.0.path().join("dhcp4.kea-dhcp4.pid");
    assert!(pid_file.exists());
    assert!(there.keactrl(&["start"]).1.contains("kea-dhcp4 appears to be running"));
    assert!(there.keactrl(&["status"]).1.starts_with("DHCPv4 server: active\n"));
    assert!(there.keactrl(&["reload"]).1.contains("Reloading kea-dhcp4..."));
    assert!(has_logged("DHCP4_CONFIG_COMPLETE"), "{:?}", fs::read_to_string(&log));
    assert!(there.keactrl(&["stop", "-s", "dhcp6"]).1.contains("kea-dhcp6 isn't running."));
    assert!(pid_file.exists());
    assert!(there.keactrl(&["stop"]).1.contains("Stopping kea-dhcp4..."));
    assert!(waited_until(|| !pid_file.exists()), "it ends");
}

#[test]
fn another_clean_up_is_kept_away_and_versions_are_keas() {
    if !has_debian_13() {
        return;
    }
    let folder = TempFolder::new("tools");
    let path = folder.path();
    for name in ["kea-lfc", "kea-admin"] {
        let [own, kea] = [ours(path, name, &["-v"]), keas(path, name, &["-v"])];
        assert_eq!((own.status, own.stdout), (kea.status, kea.stdout), "{name}");
    }
    fs::write(path.join("x.1"), rows(4, &[(1, 100)])).expect("the folder can be written");
    // The program's name counts, here that of another program.
    let program = path.join("other");
    fs::create_dir(&program).expect("the folder can be written");
    let program = program.join("kea-lfc");
    symlink("/bin/sleep", &program).expect("the folder can be written");
    let mut running = Command::new(&program).arg("600").spawn().expect("sleep(1) is there");
    let comm = format!("/proc/{}/comm", running.id());
    let is_named = || fs::read_to_string(&comm).unwrap_or_default() == "kea-lfc\n";
    assert!(waited_until(is_named), "it is started");
    fs::write(path.join("x.pid"), format!("{}\n", running.id())).expect("the same");
    let words = "-4 -p x.pid -x x.2 -i x.1 -o x.output -f x.completed -c none.conf";
    let output = ours(path, "kea-lfc", &words.split(' ').collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cleans up already"), "{output:?}");
    assert!(path.join("x.1").exists() && !path.join("x.2").exists());
    running.kill().expect("it is ours");
    running.wait().expect("it is ours");
    // Another program may have the number of a clean-up that has ended, and a link with that name
    // leads to another file.
    fs::write(path.join("precious"), format!("{}\n", std::process::id())).expect("the same");
    fs::remove_file(path.join("x.pid")).expect("it was written");
    symlink("precious", path.join("x.pid")).expect("the same");
    let output = ours(path, "kea-lfc", &words.split(' ').collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(path.join("x.2").exists());
    let text = fs::read_to_string(path.join("precious")).expect("it is there");
    assert_eq!(text, format!("{}\n", std::process::id()));
}
