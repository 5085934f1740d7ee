//! Test of tidy on small workspaces in a temporary folder: each rule accepts the clean workspace,
//! and names file and line of a planted fault.

use std::fs;
use std::process::Command;

use testkit::TempFolder;

/// Workspace of three crates that keeps every rule; removed when dropped.
struct SampleWorkspace {
    root: TempFolder,
}

impl SampleWorkspace {
    fn clean() -> Self {
        let planted = Self { root: TempFolder::new("tidy") };
        planted.write("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n");
        planted.add_crate("base", "0", "");
        planted.add_crate("dhcp-engine", "2", "base = { path = \"../base\" }\n");
        planted.add_crate("netio", "3", "base = { path = \"../base\" }\nlibc = \"0.2\"\n");
        planted.add_crate("sim", "\"check\"", "dhcp-engine = { path = \"../dhcp-engine\" }\n");
        planted.write(
            "ARCHITECTURE.md",
            "# A\n\n| Layer | Crate |\n|---|---|\n| 0 | `base` |\n| 2 | `dhcp-engine` |\n\
             | 3 | `netio` |\n| check | `sim` |\n\n\
             ## Walks\n\n### A walk\n\n1. `crates/base/src/part.rs` (`f`): begins.\n\
             2. `crates/netio/src/part.rs` (`f`): ends.\n",
        );
        planted.write("docs/design/dependencies.md", "# D\n\n| Crate |\n|---|\n| `libc` |\n");
        planted.write(
            "crates/netio/tests/main.rs",
            "//! Tests.\n\n#[test]\nfn nothing_is_written() {}\n",
        );
        planted.write(
            "docs/book/security.md",
            "# S\n\n| Number | Test |\n|---|---|\n| CVE-1 | `netio`: `nothing_is_written` |\n",
        );
        planted
    }

    fn add_crate(&self, name: &str, layer: &str, dependencies: &str) {
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [package.metadata.godwit]\nlayer = {layer}\n\n[dependencies]\n{dependencies}\n\
             [lints]\nworkspace = true\n"
        );
        self.write(&format!("crates/{name}/Cargo.toml"), &manifest);
        self.write(&format!("crates/{name}/src/lib.rs"), "//! A crate.\n\npub mod part;\n");
        self.write(
            &format!("crates/{name}/src/part.rs"),
            "//! A part.\n\n/// One.\npub fn f() {}\n",
        );
        // The lints that the crates inherit must exist.
        let root = self.read("Cargo.toml");
        if !root.contains("[workspace.lints") {
            self.write("Cargo.toml", format!("{root}\n[workspace.lints.rust]\n"));
        }
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.path().join(path)).expect("a file")
    }

    /// Adds lines to an existing file.
    fn append(&self, path: &str, text: &str) -> &Self {
        self.write(path, format!("{}{text}", self.read(path)));
        self
    }

    fn replace(&self, path: &str, from: &str, to: &str) -> &Self {
        let text = self.read(path);
        assert!(text.contains(from), "{from} is not in {path}");
        self.write(path, text.replace(from, to));
        self
    }

    /// Runs tidy, and returns its output and true if it passed.
    fn tidy(&self) -> (String, bool) {
        let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(["tidy", "--fast", "--root"])
            .arg(self.root.path())
            .output()
            .expect("xtask runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        (text, output.status.success())
    }

    /// Checks that tidy fails with exactly the findings that begin with the given texts.
    fn must_find(&self, expected: &[&str]) {
        let (text, has_passed) = self.tidy();
        let findings: Vec<&str> = text.lines().filter(|line| !line.starts_with("tidy: ")).collect();
        assert!(!has_passed, "passed, printing:\n{text}");
        assert_eq!(findings.len(), expected.len(), "{text}");
        for (line, start) in findings.iter().zip(expected) {
            assert!(line.starts_with(start), "{line}\nshould begin with\n{start}");
        }
    }
}

const ENGINE: &str = "crates/dhcp-engine/src/part.rs";
const ENGINE_MANIFEST: &str = "crates/dhcp-engine/Cargo.toml";

#[test]
fn a_clean_workspace_passes() {
    let (text, has_passed) = SampleWorkspace::clean().tidy();
    assert!(has_passed, "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn an_output_that_nobody_reads_changes_no_verdict() {
    let planted = SampleWorkspace::clean();
    for (is_broken, status) in [(false, 0), (true, 1)] {
        if is_broken {
            planted.append(ENGINE, "fn f() { todo!() }\n");
        }
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(["tidy", "--fast", "--root"])
            .arg(planted.root.path())
            .stdout(writer)
            .output()
            .expect("xtask runs");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(output.status.code(), Some(status));
    }
}

#[test]
fn an_arrow_upwards_fails() {
    let planted = SampleWorkspace::clean();
    planted.replace(
        ENGINE_MANIFEST,
        "[dependencies]\n",
        "[dependencies]\nnetio = { path = \"../netio\" }\n",
    );
    planted.must_find(&["crates/dhcp-engine/Cargo.toml:10: arrow: dhcp-engine -> netio"]);
}

#[test]
fn arrows_inside_a_layer_fail_but_for_the_engine() {
    let planted = SampleWorkspace::clean();
    planted.add_crate("dhcp-lease", "2", "");
    planted.add_crate("load", "2", "");
    planted.append("ARCHITECTURE.md", "| 2 | `dhcp-lease` |\n| 2 | `load` |\n");
    let down = "[dependencies]\ndhcp-lease = { path = \"../dhcp-lease\" }\n";
    planted.replace(ENGINE_MANIFEST, "[dependencies]\n", down);
    let (text, has_passed) = planted.tidy();
    assert!(has_passed, "{text}");
    planted.replace("crates/load/Cargo.toml", "[dependencies]\n", down);
    planted.must_find(&["crates/load/Cargo.toml:10: arrow: load -> dhcp-lease"]);
}

#[test]
fn a_product_sees_no_product_but_the_binary_does() {
    let planted = SampleWorkspace::clean();
    planted.add_crate("lab", "4", "");
    planted.add_crate("godwit", "4", "lab = { path = \"../lab\" }\n");
    planted.append("ARCHITECTURE.md", "| 4 | `lab` |\n| 4 | `godwit` |\n");
    let (text, has_passed) = planted.tidy();
    assert!(has_passed, "{text}");
    planted.add_crate("dhcp-load", "4", "lab = { path = \"../lab\" }\n");
    planted.append("ARCHITECTURE.md", "| 4 | `dhcp-load` |\n");
    planted.must_find(&["crates/dhcp-load/Cargo.toml:10: arrow: dhcp-load -> lab"]);
}

#[test]
fn tests_may_see_checks_and_their_own_layer() {
    let planted = SampleWorkspace::clean();
    planted.add_crate("load", "2", "");
    planted.append("ARCHITECTURE.md", "| 2 | `load` |\n");
    let tests =
        "\n[dev-dependencies]\nload = { path = \"../load\" }\nsim = { path = \"../sim\" }\n";
    planted.append(ENGINE_MANIFEST, tests);
    let (text, has_passed) = planted.tidy();
    assert!(has_passed, "{text}");
    planted.append(ENGINE_MANIFEST, "netio = { path = \"../netio\" }\n");
    planted.must_find(&["crates/dhcp-engine/Cargo.toml:18: arrow: dhcp-engine -> netio"]);
}

#[test]
fn nothing_but_tests_sees_a_check() {
    let planted = SampleWorkspace::clean();
    planted.replace("crates/sim/Cargo.toml", "dhcp-engine = { path = \"../dhcp-engine\" }", "");
    let up = "[dependencies]\nsim = { path = \"../sim\" }\n";
    planted.replace(ENGINE_MANIFEST, "[dependencies]\n", up);
    planted.must_find(&["crates/dhcp-engine/Cargo.toml:10: arrow: dhcp-engine -> sim: only tests"]);
}

#[test]
fn a_crate_without_a_layer_or_lints_fails() {
    let planted = SampleWorkspace::clean();
    planted.replace("crates/base/Cargo.toml", "[package.metadata.godwit]\nlayer = 0\n", "");
    planted.must_find(&["crates/base/Cargo.toml:1: layer: base declares no layer"]);
    let planted = SampleWorkspace::clean();
    planted.replace("crates/base/Cargo.toml", "layer = 0", "layer = 7");
    planted.must_find(&["crates/base/Cargo.toml:1: layer: base layer 7 is neither"]);
    let planted = SampleWorkspace::clean();
    planted.replace("crates/base/Cargo.toml", "[lints]\nworkspace = true\n", "");
    planted.must_find(&["crates/base/Cargo.toml:1: manifest:"]);
}

#[test]
fn a_clock_read_in_a_core_crate_fails() {
    let planted = SampleWorkspace::clean();
    planted.append(
        ENGINE,
        "/// Now.\npub fn now() -> u64 {\n    std::time::Instant::now();\n    1\n}\n",
    );
    planted.must_find(&["crates/dhcp-engine/src/part.rs:7: pure: `std::time::Instant`: a clock"]);
    // Edges may read clocks.
    let planted = SampleWorkspace::clean();
    planted.append(
        "crates/netio/src/part.rs",
        "/// Now.\npub fn now() {\n    std::time::Instant::now();\n}\n",
    );
    assert!(planted.tidy().1);
}

#[test]
fn input_and_output_in_a_core_crate_fails_outside_tests() {
    let planted = SampleWorkspace::clean();
    planted.append(ENGINE, "#[cfg(test)]\nmod tests;\n");
    planted.write("crates/dhcp-engine/src/part/tests.rs", "//! Tests.\nuse std::fs;\n");
    planted.write("crates/dhcp-engine/tests/all.rs", "//! Tests.\nuse std::thread;\n");
    assert!(planted.tidy().1, "{}", planted.tidy().0);
    planted.append(ENGINE, "use std::{\n    net::{Ipv4Addr, UdpSocket},\n    process,\n};\n");
    planted.append(ENGINE, "/// Say.\npub fn say() {\n    println!();\n}\n");
    planted.must_find(&[
        "crates/dhcp-engine/src/part.rs:8: pure: `std::net::UdpSocket`",
        "crates/dhcp-engine/src/part.rs:9: pure: `std::process`",
        "crates/dhcp-engine/src/part.rs:13: pure: `println!`",
    ]);
}

#[test]
fn unsafe_code_outside_netio_fails() {
    let planted = SampleWorkspace::clean();
    let code = "/// Bad.\npub fn bad() {\n    unsafe {}\n}\n";
    planted.append("crates/netio/src/part.rs", code);
    assert!(planted.tidy().1);
    planted.append(ENGINE, code);
    planted.must_find(&["crates/dhcp-engine/src/part.rs:7: unsafe: "]);
}

#[test]
fn unfinished_work_fails() {
    let planted = SampleWorkspace::clean();
    let marker = concat!("TO", "DO");
    planted.append(ENGINE, &format!("// {marker}: more\nfn g() {{\n    todo!()\n}}\n"));
    planted.append("ARCHITECTURE.md", &format!("\n{marker}: write this\n"));
    planted.must_find(&[
        "ARCHITECTURE.md:17: text-marker: ",
        "crates/dhcp-engine/src/part.rs:5: marker: ",
        "crates/dhcp-engine/src/part.rs:7: unfinished: `todo!`",
    ]);
}

#[test]
fn silenced_lints_and_tests_fail() {
    let planted = SampleWorkspace::clean();
    planted.append(ENGINE, "#[allow(dead_code)]\nfn g() {}\n#[cfg(test)]\nmod t {\n    #[test]\n    #[ignore]\n    fn h() {}\n}\n");
    planted.must_find(&[
        "crates/dhcp-engine/src/part.rs:5: reason: ",
        "crates/dhcp-engine/src/part.rs:10: reason: ",
    ]);
}

#[test]
fn commented_out_code_fails() {
    let planted = SampleWorkspace::clean();
    planted.append(ENGINE, "fn g() {\n    // let x = f(1);\n}\n");
    planted.must_find(&["crates/dhcp-engine/src/part.rs:6: commented-out: "]);
}

#[test]
fn long_files_and_functions_fail() {
    let planted = SampleWorkspace::clean();
    planted.append(ENGINE, &format!("fn g() {{\n{}}}\n", "    f();\n".repeat(69)));
    planted.must_find(&["crates/dhcp-engine/src/part.rs:5: function-length: fn g has 71 lines"]);
    let planted = SampleWorkspace::clean();
    planted.append(ENGINE, &"const A: u8 = 1;\n".repeat(697));
    planted.must_find(&["crates/dhcp-engine/src/part.rs:1: file-length: 701 lines"]);
}

#[test]
fn a_file_that_no_module_reaches_fails() {
    let planted = SampleWorkspace::clean();
    planted.write("crates/base/src/lost.rs", "//! Lost.\n");
    planted.must_find(&["crates/base/src/lost.rs:1: reached: "]);
}

#[test]
fn a_file_without_a_head_fails() {
    let planted = SampleWorkspace::clean();
    planted.write(ENGINE, "/// One.\npub fn f() {}\n");
    planted.must_find(&["crates/dhcp-engine/src/part.rs:1: module-head: "]);
}

#[test]
fn crate_list_and_workspace_must_agree() {
    let planted = SampleWorkspace::clean();
    planted.replace("ARCHITECTURE.md", "| 2 | `dhcp-engine` |", "| 1 | `dhcp-engine` |");
    planted.replace("ARCHITECTURE.md", "| 3 | `netio` |", "| 3 | `lost` |");
    planted.must_find(&[
        "ARCHITECTURE.md:1: architecture: the crate table has no row for `netio`",
        "ARCHITECTURE.md:6: architecture: `dhcp-engine` is in layer 2, not 1",
        "ARCHITECTURE.md:7: architecture: no crate `lost`",
    ]);
}

#[test]
fn walks_and_files_must_agree() {
    let planted = SampleWorkspace::clean();
    planted.replace("crates/netio/src/part.rs", "pub fn f()", "pub fn g()");
    planted.must_find(&["ARCHITECTURE.md:15: walks: crates/netio/src/part.rs does not define `f`"]);
    let planted = SampleWorkspace::clean();
    planted.replace("ARCHITECTURE.md", "crates/netio/src/part.rs", "crates/netio/src/lost.rs");
    planted.must_find(&["ARCHITECTURE.md:15: walks: no Rust file crates/netio/src/lost.rs"]);
    let planted = SampleWorkspace::clean();
    planted.append("ARCHITECTURE.md", "3. `crates/base/src/part.rs` (`f`): comes back.\n");
    planted.must_find(&[
        "ARCHITECTURE.md:16: walks: the walk names crates/base/src/part.rs on line 14 already",
    ]);
    let planted = SampleWorkspace::clean();
    planted.replace("ARCHITECTURE.md", "## Walks", "## Paths");
    planted.must_find(&["ARCHITECTURE.md:1: walks: has no walk below `## Walks`"]);
}

#[test]
fn dependency_list_and_manifests_must_agree() {
    let planted = SampleWorkspace::clean();
    planted.replace("docs/design/dependencies.md", "`libc`", "`rand`");
    planted.must_find(&[
        "crates/netio/Cargo.toml:11: dependencies: say in docs/design/dependencies.md what `libc`",
        "docs/design/dependencies.md:5: dependencies: no crate depends on `rand`",
    ]);
}

#[test]
fn crates_that_must_never_come_in_fail() {
    let planted = SampleWorkspace::clean();
    planted
        .write("Cargo.lock", "[[package]]\nname = \"ring\"\n\n[[package]]\nname = \"openssl\"\n");
    planted.must_find(&["Cargo.lock:5: dependencies: `openssl` must not be a dependency"]);
}

#[test]
fn folders_of_one_machine_large_files_and_dead_links_fail() {
    let planted = SampleWorkspace::clean();
    let folder = concat!("/ro", "ot/");
    planted.append("ARCHITECTURE.md", &format!("See [x](lost.md) in {folder}x.\n"));
    planted.write("docs/large.bin", vec![0_u8; 2 * 1024 * 1024 + 1]);
    planted.must_find(&[
        "ARCHITECTURE.md:16: link: ",
        "ARCHITECTURE.md:16: machine-path: ",
        "docs/large.bin:1: size: ",
    ]);
}

#[test]
fn a_folder_without_a_manifest_is_no_workspace() {
    let planted = SampleWorkspace::clean();
    fs::remove_file(planted.root.path().join("Cargo.toml")).unwrap();
    fs::remove_dir_all(planted.root.path().join("crates")).unwrap();
    let (text, has_passed) = planted.tidy();
    assert!(!has_passed && text.contains("cargo metadata failed"), "{text}");
    assert!(planted.root.path().exists());
}

#[test]
fn plain_language_has_limits_that_only_fall() {
    let planted = SampleWorkspace::clean();
    let wide = "x ".repeat(60);
    planted.append(ENGINE, "\n/// Whether it is so.\npub fn g((a, b): (u8, u8)) {}\n");
    planted.append(ENGINE, "\n/// One.\npub struct Told;\n");
    planted.append("crates/base/src/part.rs", "\n/// One.\npub struct Told;\n");
    planted.append("docs/book/security.md", &wide);
    let all = [
        "crates/base/src/part.rs:7: type-word: 2 places, 0 at most",
        "crates/dhcp-engine/src/part.rs:6: doc-subject: 1 places",
        "crates/dhcp-engine/src/part.rs:7: tuple-parameter: 1 places",
        "crates/dhcp-engine/src/part.rs:10: type-name: 1 places",
        "docs/book/security.md:6: line-width: 1 places",
    ];
    planted.must_find(&all);
    let limits = "doc-subject = 1\nline-width = 1\ntuple-parameter = 1\ntype-name = 1\n\
                  type-word = 1\n";
    planted.write("xtask/language-limits.toml", limits);
    planted.must_find(&["crates/base/src/part.rs:7: type-word: 2 places, 1 at most"]);
}
