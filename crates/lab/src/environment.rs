//! Environment of a run: data of the machine and the kernel.

use std::collections::BTreeMap;
use std::fs;

use measure::record::Environment;
use testbed::CommandLine;

use crate::commit::commit;

/// Names of kernel settings that decide how many packets survive a burst, and whether connections
/// are tracked, which costs each packet.
const SETTINGS: [&str; 7] = [
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.core.rmem_default",
    "net.core.netdev_max_backlog",
    "net.core.netdev_budget",
    "net.ipv4.udp_mem",
    "net.netfilter.nf_conntrack_count",
];

/// Collects the environment of a run from this machine, with `topology` and the versions of the
/// servers filled in.
pub(crate) fn gather(topology: &str, servers: BTreeMap<String, String>) -> Environment {
    let cpuinfo = read("/proc/cpuinfo");
    let after_colon = |line: &str| line.split_once(':').map(|(_, v)| v.trim().to_owned());
    let model = cpuinfo.lines().find(|line| line.starts_with("model name")).and_then(after_colon);
    let mut settings: BTreeMap<String, String> = SETTINGS
        .iter()
        .map(|name| ((*name).to_owned(), read(&format!("/proc/sys/{}", name.replace('.', "/")))))
        .filter(|(_, value)| !value.is_empty())
        .collect();
    let governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    if !governor.is_empty() {
        settings.insert("scaling_governor".to_owned(), governor);
    }
    Environment {
        os: os_name(&fs::read_to_string("/etc/os-release").unwrap_or_default()),
        kernel: read("/proc/sys/kernel/osrelease"),
        cpu_model: model.unwrap_or_default(),
        cpus: cpuinfo.lines().filter(|line| line.starts_with("processor")).count() as u32,
        memory_bytes: memory_bytes(&read("/proc/meminfo")),
        virtualization: virtualization(&cpuinfo),
        topology: topology.to_owned(),
        godwit: env!("CARGO_PKG_VERSION").to_owned(),
        commit: commit(),
        profile: base::BUILD_PROFILE.to_owned(),
        servers,
        settings,
    }
}

fn read(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.trim().replace('\t', " ")
}

fn os_name(os_release: &str) -> String {
    let name = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.unwrap_or("Linux").trim_matches('"').to_owned()
}

fn memory_bytes(meminfo: &str) -> u64 {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = total.and_then(|t| t.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Returns the hypervisor and the container in which the lab runs, as systemd names them; without
/// systemd, the processor's flags show whether there is a hypervisor.
fn virtualization(cpuinfo: &str) -> String {
    let detect_virt = |what: &str| CommandLine::new("systemd-detect-virt").arg(what).run().ok();
    virtualization_name(
        detect_virt("--vm").as_deref(),
        detect_virt("--container").as_deref(),
        cpuinfo,
    )
}

/// Returns the hypervisor and the container from systemd's output for either, which is `None`
/// without systemd.
fn virtualization_name(vm: Option<&str>, container: Option<&str>, cpuinfo: &str) -> String {
    let has_hypervisor_flag = || cpuinfo.split_ascii_whitespace().any(|flag| flag == "hypervisor");
    let vm = vm.map(str::trim).or_else(|| has_hypervisor_flag().then_some("unknown hypervisor"));
    match (vm.filter(|vm| *vm != "none"), container.map(str::trim)) {
        (Some(vm), Some(container)) => format!("{vm}, container {container}"),
        (Some(vm), None) => vm.to_owned(),
        (None, Some(container)) => format!("container {container}"),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_hides_no_hypervisor() {
        let name = |vm, container| virtualization_name(vm, container, "flags : fpu hypervisor");
        assert_eq!(name(Some("kvm\n"), Some("docker\n")), "kvm, container docker");
        assert_eq!(name(Some("kvm\n"), None), "kvm");
        assert_eq!(name(Some("none\n"), Some("lxc\n")), "container lxc");
        assert_eq!(name(None, None), "unknown hypervisor");
        assert_eq!(virtualization_name(None, None, "flags : fpu"), "");
    }

    #[test]
    fn the_machine_is_described() {
        let environment = gather("veth", BTreeMap::new());
        assert!(environment.cpus > 0 && environment.memory_bytes > 1 << 20);
        assert!(!environment.kernel.is_empty() && environment.topology == "veth");
        assert!(!environment.profile.is_empty());
        assert!(environment.settings.contains_key("net.core.rmem_max"), "{environment:?}");
    }

    #[test]
    fn names_and_sizes_are_read() {
        assert_eq!(
            os_name("ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n"),
            "Debian GNU/Linux 12"
        );
        assert_eq!(memory_bytes("MemTotal:        1024 kB\nMemFree: 1 kB"), 1 << 20);
    }
}
