//! Setup of three network namespaces in a row: `left` with 10.9.0.1, `middle` for the link, `right`
//! with 10.9.0.2.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use netem_link::{Bridge, DirectionReport, LinkInterface, LinkReport, LinkRequest, parse_words};
use testbed::namespace;
use testkit::{PATIENCE, wait_until};

pub(crate) const LEFT: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
pub(crate) const RIGHT: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
pub(crate) const LEFT_MAC: [u8; 6] = [2, 0, 0, 0, 9, 1];
pub(crate) const RIGHT_MAC: [u8; 6] = [2, 0, 0, 0, 9, 2];
/// Interface of the left station; `RIGHT_END` is that of the right one.
pub(crate) const LEFT_END: &str = "l0";
pub(crate) const RIGHT_END: &str = "r0";
/// Interfaces in the middle namespace, between which the link runs.
pub(crate) const MIDDLE_ENDS: [&str; 2] = ["m0", "m1"];

/// [`PATIENCE`] in nanoseconds, for a poll.
pub(crate) const PATIENCE_NS: u64 = PATIENCE.as_nanos() as u64;

/// Lock of the namespaces: their names contain the process number, so tests of one process take
/// turns.
static TURN: Mutex<()> = Mutex::new(());

/// Network namespaces `left`, `middle` and `right` of a test, removed when the value is dropped.
pub(crate) struct BridgeNamespaces {
    left: String,
    middle: String,
    right: String,
    _turn: MutexGuard<'static, ()>,
}

impl BridgeNamespaces {
    /// Creates the namespaces and their interfaces; prints a note and returns `None` where that is
    /// not possible.
    pub(crate) fn set() -> Option<Self> {
        let is_root = testbed::registry::user_id() == 0;
        if !is_root || testbed::command::find_program("ip").is_none() {
            testkit::skip("namespaces need root and ip (package iproute2)");
            return None;
        }
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let [left, middle, right] =
            ['s', 'g', 'c'].map(|letter| namespace::namespace_name(std::process::id(), letter));
        let namespaces = Self { left, middle, right, _turn: turn };
        for name in namespaces.names() {
            namespace::create(name).unwrap();
            // No search for neighbours and routers: every packet is the test's.
            let quiet = "cd /proc/sys/net/ipv6/conf 2>/dev/null || exit 0; \
                         echo 1 >all/disable_ipv6; echo 1 >default/disable_ipv6";
            run(Command::new("ip").args(["netns", "exec", name, "sh", "-ec", quiet]));
        }
        let stations = [
            (&namespaces.left, LEFT_END, LEFT, LEFT_MAC),
            (&namespaces.right, RIGHT_END, RIGHT, RIGHT_MAC),
        ];
        for ((name, end, ..), middle_end) in stations.iter().zip(MIDDLE_ENDS) {
            let middle = &namespaces.middle;
            ip(&format!(
                "link add {end} netns {name} type veth peer name {middle_end} netns {middle}"
            ));
            ip(&format!("-n {middle} link set {middle_end} up"));
        }
        for (own, other) in [(0, 1), (1, 0)] {
            let (name, end, address, mac) = stations[own];
            let (.., peer, peer_mac) = stations[other];
            ip(&format!("-n {name} link set {end} address {} up", mac_text(mac)));
            ip(&format!("-n {name} addr add {address}/24 dev {end}"));
            let peer_mac = mac_text(peer_mac);
            ip(&format!("-n {name} neigh replace {peer} lladdr {peer_mac} dev {end}"));
        }
        // Until the kernel has noticed that an interface is up, it drops frames sent there.
        for name in namespaces.names() {
            let is_up = |line: &str| line.contains("state UP") || line.contains(" lo:");
            wait_until(|| ip(&format!("-n {name} -o link")).lines().all(is_up));
        }
        Some(namespaces)
    }

    fn names(&self) -> [&String; 3] {
        [&self.left, &self.middle, &self.right]
    }

    /// Starts a link with the settings `forward` from left to right and `backward` from right to
    /// left.
    pub(crate) fn link(&self, forward: &str, backward: &str, seed: u64) -> Bridge {
        let link_interface = |end| LinkInterface {
            namespace: Some(self.middle.clone()),
            interface: String::from(end),
            is_tun: false,
        };
        let request = LinkRequest {
            interfaces: MIDDLE_ENDS.map(link_interface),
            settings: [forward, backward].map(|words| parse_words(words).unwrap()),
            seed,
            socket: None,
            interval: None,
            duration: None,
        };
        Bridge::start(&request).unwrap()
    }

    /// Calls `open` inside of the left namespace and returns its result.
    pub(crate) fn at_left<T: Send>(&self, open: impl FnOnce() -> T + Send) -> T {
        within(&self.left, open)
    }

    /// Calls `open` inside of the right namespace and returns its result.
    pub(crate) fn at_right<T: Send>(&self, open: impl FnOnce() -> T + Send) -> T {
        within(&self.right, open)
    }

    /// Returns the name by which the link opens an interface of the left namespace.
    pub(crate) fn left_interface(&self, interface: &str) -> String {
        format!("{}:{interface}", self.left)
    }

    /// Returns the name by which the link opens an interface of the right namespace.
    pub(crate) fn right_interface(&self, interface: &str) -> String {
        format!("{}:{interface}", self.right)
    }

    /// Runs `ip` with `words` in the left namespace.
    pub(crate) fn ip_at_left(&self, words: &str) {
        ip(&format!("-n {} {words}", self.left));
    }

    /// Runs `ip` with `words` in the right namespace.
    pub(crate) fn ip_at_right(&self, words: &str) {
        ip(&format!("-n {} {words}", self.right));
    }

    /// Returns true if both interfaces of the link receive frames for all stations.
    pub(crate) fn is_promiscuous(&self) -> bool {
        let link_text = |end| ip(&format!("-d -n {} link show {end}", self.middle));
        MIDDLE_ENDS.iter().all(|end| link_text(end).contains("promiscuity 1"))
    }

    /// Gives the link's second interface a queue that holds only a packet or two.
    pub(crate) fn slow_end_down(&self) {
        let line = format!("-n {} qdisc add dev {} root", self.middle, MIDDLE_ENDS[1]);
        let words = "tbf rate 10mbit burst 2kb limit 2kb";
        run(Command::new("tc").args(line.split(' ').chain(words.split(' '))));
    }

    /// Sets the MTU of the link's second interface.
    pub(crate) fn set_mtu(&self, mtu_bytes: usize) {
        ip(&format!("-n {} link set {} mtu {mtu_bytes}", self.middle, MIDDLE_ENDS[1]));
    }

    /// Removes the link's second interface.
    pub(crate) fn remove_end(&self) {
        ip(&format!("-n {} link del {}", self.middle, MIDDLE_ENDS[1]));
    }
}

impl Drop for BridgeNamespaces {
    fn drop(&mut self) {
        for name in self.names() {
            namespace::remove(name).ok();
        }
    }
}

/// Returns the link's report of the forward direction, from left to right.
pub(crate) fn forward(report: &LinkReport) -> &DirectionReport {
    &report.directions[0]
}

/// Waits until the link's report of the forward direction meets the condition `is_so`.
pub(crate) fn wait_for(bridge: &Bridge, is_so: impl Fn(&DirectionReport) -> bool) {
    wait_until(|| is_so(forward(&bridge.report().unwrap())));
}

/// Checks that the report of a direction counts each packet once, and that the machine lost or
/// changed none besides the link.
pub(crate) fn assert_sums(direction: &DirectionReport) {
    let dropped =
        direction.lost + direction.over_limit + direction.over_bucket_limit + direction.too_long;
    let packets_out = direction.sent + dropped + direction.waiting_packets;
    assert_eq!(direction.received + direction.duplicated, packets_out, "{direction}");
    let machine = direction.machine;
    let beside = [machine.missed, machine.truncated, machine.unreadable, machine.refused];
    assert_eq!(beside, [0; 4], "{direction}");
}

fn within<T: Send>(name: &str, open: impl FnOnce() -> T + Send) -> T {
    let path = format!("/run/netns/{name}");
    let inside = || {
        netio::namespace::enter(Path::new(&path)).unwrap();
        open()
    };
    std::thread::scope(|scope| scope.spawn(inside).join()).unwrap()
}

fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|octet| format!("{octet:02x}")).join(":")
}

fn ip(words: &str) -> String {
    run(Command::new("ip").args(words.split(' ')))
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}
