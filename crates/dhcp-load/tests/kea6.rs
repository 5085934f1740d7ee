//! Runs against Debian's kea-dhcp6 at the other end of a veth pair: through relays and on its link,
//! for addresses, prefixes and both. Every lease that the generator lists must be in Kea's file.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::net::{Ipv6Addr, SocketAddrV6};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use base::time::NS_PER_S;
use dhcp_load::v6::{Access, Dhcp6LoadTarget, RequestedAssociations};
use dhcp_load::{DhcpLoadReport, DhcpLoadSettings, run_report};
use load::ExchangeTimeLimits;
use load::LoadRate;
use netio::interface;
use testkit::{TempFolder, wait_until};

const SERVER: &str = "2001:db8:f::1";
const GROUP: &str = "ff02::1:2";
const BOTH: RequestedAssociations =
    RequestedAssociations { na: true, pd: true, ias: 1, rapid_commit: false };

/// Key of a lease of Kea's or of the generator's: address, prefix length, lease type.
type Key = (Ipv6Addr, u8, u8);

/// Kea in a namespace of its own, which ends with it; this thread is in another namespace.
struct Kea6Process {
    child: Child,
    folder: TempFolder,
}

fn can_run() -> bool {
    let has = |tool: &str| testkit::find_tool(tool).is_some();
    let is_able = ["kea-dhcp6", "ip", "unshare", "setpriv"].into_iter().all(has)
        && netio::namespace::enter_new().is_ok();
    is_able || testkit::skip("needs kea-dhcp6, ip, unshare, setpriv and root")
}

fn ip(words: &str) {
    let status = Command::new("ip").args(words.split_whitespace()).status().unwrap();
    assert!(status.success(), "ip {words}");
}

/// Returns Kea's configuration: the link itself, and one that only relays know.
fn configuration(folder: &Path) -> String {
    let subnet = |id: u8, prefix: &str, delegated: &str, interface: &str| {
        format!(
            r#"{{"id": {id}, "subnet": "{prefix}:/64", "pools": [{{"pool": "{prefix}:1:0/112"}}],
                "pd-pools": [{{"prefix": "{delegated}", "prefix-len": 40, "delegated-len": 56}}],
                "rapid-commit": true{interface}}}"#
        )
    };
    let folder = folder.display();
    format!(
        r#"{{"Dhcp6": {{
            "server-id": {{"type": "EN", "enterprise-id": 2495, "identifier": "C0FFEE",
                           "persist": false}},
            "interfaces-config": {{"interfaces": ["s0/{SERVER}"]}},
            "lease-database": {{"type": "memfile", "name": "{folder}/leases6.csv",
                                "lfc-interval": 0}},
            "subnet6": [{}, {}, {}],
            "loggers": [{{"name": "kea-dhcp6", "severity": "INFO",
                          "output_options": [{{"output": "{folder}/log"}}]}}]
        }}}}"#,
        subnet(1, "2001:db8:f:", "2001:db8:8000::", r#", "interface": "s0""#),
        subnet(2, "2001:db8:a:", "2001:db8:8100::", ""),
        subnet(3, "2001:db8:b:", "2001:db8:8200::", ""),
    )
}

impl Kea6Process {
    /// Starts Kea at the other end of `c0`. Returns `None` when the machine cannot run it.
    fn start(name: &str) -> Option<Self> {
        if !can_run() {
            return None;
        }
        let folder = TempFolder::new(name);
        let path = folder.path();
        fs::write(path.join("kea.conf"), configuration(path)).unwrap();
        ip("link set lo up");
        ip("link add c0 type veth peer name s0");
        // A line on its input reports to the child that its end of the pair has come.
        let script = format!(
            "read line; ip link set lo up; ip link set s0 addrgenmode none; ip link set s0 up; \
             ip addr add fe80::f:1/64 dev s0 nodad; ip addr add {SERVER}/64 dev s0 nodad; \
             exec kea-dhcp6 -c kea.conf"
        );
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "unshare", "-n", "sh", "-ec", &script])
            .current_dir(path)
            .env("KEA_PIDFILE_DIR", path)
            .env("KEA_LOCKFILE_DIR", "none")
            .env("KEA_DHCP_DATA_DIR", path)
            .stdin(Stdio::piped())
            .stdout(fs::File::create(path.join("out")).unwrap())
            .stderr(fs::File::create(path.join("err")).unwrap())
            .spawn()
            .unwrap();
        let own = fs::read_link("/proc/thread-self/ns/net").unwrap();
        let theirs = format!("/proc/{}/ns/net", child.id());
        // Until unshare has done its work the two namespaces are the same.
        while fs::read_link(&theirs).unwrap() == own {
            std::thread::yield_now();
        }
        ip(&format!("link set s0 netns {}", child.id()));
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        ip("link set c0 addrgenmode none");
        ip("link set c0 up");
        ip("addr add fe80::f:2/64 dev c0 nodad");
        for host in 2..=4 {
            ip(&format!("addr add 2001:db8:f::{host}/64 dev c0 nodad"));
        }
        let mut kea = Self { child, folder };
        kea.await_log("DHCP6_STARTED");
        // The kernel drops messages sent to an interface until it has noticed that it is up.
        wait_until(|| interface::named("c0").unwrap().is_up);
        Some(kea)
    }

    fn await_log(&mut self, word: &str) {
        let read =
            |name: &str| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        while !read("log").contains(word) {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "{} {} {}", read("log"), read("out"), read("err"));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends Kea and returns its leases with their owners, DUID and IAID; the last row counts.
    fn leases(&mut self) -> BTreeMap<Key, String> {
        let status = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(status.success());
        self.child.wait().unwrap();
        let file = fs::read_to_string(self.folder.path().join("leases6.csv")).unwrap();
        let rows = file.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>());
        let mut leases = BTreeMap::new();
        for row in rows {
            let [address, len, kind] = [row[0], row[8], row[6]];
            let key = (address.parse().unwrap(), len.parse().unwrap(), kind.parse().unwrap());
            let owner = format!("{},{}", row[1], row[7]);
            let previous_owner = leases.insert(key, owner.clone());
            assert!(
                previous_owner.is_none_or(|previous_owner| previous_owner == owner),
                "{key:?} had two owners"
            );
        }
        leases
    }

    fn run(
        &self,
        access: Access,
        ask: RequestedAssociations,
        client_offset: u32,
    ) -> (DhcpLoadReport, BTreeMap<Key, String>) {
        let ip = if matches!(access, Access::Direct { .. }) { GROUP } else { SERVER };
        let server = SocketAddrV6::new(ip.parse().unwrap(), 547, 0, 0);
        let list = self.folder.path().join("list.csv");
        let settings = DhcpLoadSettings {
            duration_ns: NS_PER_S / 2,
            limits: ExchangeTimeLimits { deadline_ns: 180 * NS_PER_S, grace_ns: 0 },
            client_offset,
            leases: Some(list.clone()),
            ..DhcpLoadSettings::new(
                Dhcp6LoadTarget { server, access, requested: ask, renews: false },
                LoadRate::per_second(200.0).unwrap(),
            )
        };
        let report = run_report(&settings, &AtomicBool::new(false)).unwrap();
        let exchanges = report.load.exchanges;
        assert_eq!((exchanges.due, exchanges.on_time), (100, 100), "{report}");
        assert_eq!((report.load.conflicts, report.stages["moved"]), (0, 0));
        let rows = fs::read_to_string(list).unwrap();
        let mut leases = BTreeMap::new();
        for row in rows.lines().skip(1) {
            let [address, len, kind, owner] = row.splitn(4, ',').collect::<Vec<_>>()[..] else {
                panic!("{row}")
            };
            let key = (address.parse().unwrap(), len.parse().unwrap(), kind.parse().unwrap());
            assert_eq!(leases.insert(key, owner.to_owned()), None, "{row}");
        }
        assert_eq!(report.load.leases, leases.len() as u64);
        (report, leases)
    }
}

impl Drop for Kea6Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn relays(hosts: &[u16]) -> Vec<SocketAddrV6> {
    let ip = |host: &u16| Ipv6Addr::new(0x2001, 0xdb8, 0xf, 0, 0, 0, 0, *host);
    hosts.iter().map(|host| SocketAddrV6::new(ip(host), 547, 0, 0)).collect()
}

#[test]
fn kea_grants_every_exchange_and_its_file_has_every_lease() {
    let Some(mut kea) = Kea6Process::start("kea6") else { return };
    let links: Vec<Ipv6Addr> =
        ["2001:db8:a::1", "2001:db8:b::1"].map(|link| link.parse().unwrap()).to_vec();
    let relayed = |hosts: &[u16]| Access::Relayed { relays: relays(hosts), links: links.clone() };
    let direct = Access::Direct { interface: "c0".into(), port: 546 };
    let prefix = RequestedAssociations { na: false, pd: true, ..BOTH };
    let runs = [
        (relayed(&[2]), RequestedAssociations::ADDRESS, 100, 200),
        (relayed(&[2, 3, 4]), RequestedAssociations { ias: 2, ..BOTH }, 400, 200),
        (Access::Relayed { relays: relays(&[3]), links: Vec::new() }, prefix, 100, 200),
        (direct.clone(), BOTH, 200, 200),
        (
            direct.clone(),
            RequestedAssociations { rapid_commit: true, ..RequestedAssociations::ADDRESS },
            100,
            100,
        ),
        (direct, prefix, 100, 200),
    ];
    let mut owners = BTreeMap::new();
    for (number, (access, ask, leases, messages)) in runs.into_iter().enumerate() {
        let (report, listed) = kea.run(access, ask, 1_000 * number as u32);
        assert_eq!((listed.len(), report.load.messages.sent), (leases, messages), "run {number}");
        for (key, owner) in listed {
            assert_eq!(owners.insert(key, owner), None, "{key:?} is given twice");
        }
    }
    // Clients came over both links.
    for link in &links {
        let prefix = link.segments()[..4].to_vec();
        assert!(owners.keys().any(|(address, ..)| address.segments()[..4] == prefix), "{link}");
    }
    assert_eq!(kea.leases(), owners);
}
