//! Regression in real time: network namespaces for sender, receiver, links and a router, and the
//! programs in them.
//!
//! ```text
//! sender d0 -- d1 links d2 -- d3 receiver
//!     10.9.0.0/24, fd09::/64
//! sender r0 -- r1 links r2 -- r3 router r4 -- r5 links r6 -- r7 receiver
//!     10.9.1.0/24, 10.9.2.0/24, fd09:0:0:1::/64, fd09:0:0:2::/64
//! ```

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base::{ToolError, ToolResult};
use testbed::process::describe;
use testbed::{ChildProcess, CommandLine, RegisteredRun, Registry, TestbedError, namespace};

use super::case::RegressionCase;
use crate::options::{CarrierName, LinkArgs};

/// Longest time that a program in a namespace may take to start or to end, connecting over a lossy
/// link included.
const PATIENCE: Duration = Duration::from_secs(30);
/// Default connect timeout of a client in seconds: a lossy link may lose several Requests.
const CONNECT_TIMEOUT_S: f64 = 25.0;

/// Addresses of the receiver, without a router and behind the router, over IPv4 and IPv6.
const RECEIVER: [[&str; 2]; 2] = [["10.9.0.2", "10.9.2.2"], ["fd09::2", "fd09:0:0:2::2"]];

/// Settings of one DCCP measurement in network namespaces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DccpMeasurementSettings<'a> {
    /// CCIDs of the congestion controls of the data that the client sends and receives.
    pub(crate) ccids: (u8, u8),
    pub(crate) seed: u64,
    pub(crate) seconds: f64,
    pub(crate) carrier: CarrierName,
    /// Length of a datagram in bytes.
    pub(crate) datagram_bytes: usize,
    /// Connection flags that are passed on to the programs in the namespaces.
    pub(crate) connection: &'a LinkArgs,
}

impl DccpMeasurementSettings<'_> {
    /// Returns the connection flags of the client's or the server's program.
    fn words(&self, is_client: bool) -> String {
        let (near, far) = self.ccids;
        let (tx, rx) = if is_client { (near, far) } else { (far, near) };
        let carrier = self.carrier.name();
        let shared = self.connection.shared_flags();
        format!("--carrier {carrier} --tx-ccid {tx} --rx-ccid {rx} {shared}")
    }
}

/// Network namespaces of a measurement: sender, receiver, links and router. Dropping the value
/// removes them, and `godwit lab clean` removes those left after a crash.
pub(crate) struct MeasurementNamespaces {
    godwit: String,
    folder: PathBuf,
    sender: String,
    receiver: String,
    links: String,
    router: String,
    is_v6: bool,
    _run: RegisteredRun,
}

fn ip(words: &str) -> Result<String, TestbedError> {
    CommandLine::new("ip").args(words.split(' ')).run()
}

/// Adds `address` with the hardware address of the interface `there` to the neighbour table of the
/// interface `here`.
fn neighbour(here: (&str, &str), there: (&str, &str), address: &str) -> Result<(), TestbedError> {
    let description = ip(&format!("-n {} -br link show dev {}", there.0, there.1))?;
    let mac = description.split_ascii_whitespace().nth(2).unwrap_or_default();
    ip(&format!("-n {} neigh replace {address} lladdr {mac} dev {}", here.0, here.1))?;
    Ok(())
}

impl MeasurementNamespaces {
    /// Creates the network namespaces and connects them, over IPv4 or over IPv6.
    pub(crate) fn set(is_v6: bool) -> ToolResult<Self> {
        if testbed::registry::user_id() != 0 {
            return Err(ToolError::Failed("network namespaces need root".to_owned()));
        }
        let cannot = |what: &str, error| ToolError::Failed(format!("cannot {what}: {error}"));
        let godwit =
            std::env::current_exe().map_err(|error| cannot("find its own program file", error))?;
        let mut run = Registry::open()?.begin()?;
        let pid = std::process::id();
        let folder = std::env::temp_dir().join(format!("godwit-regression-{pid}"));
        run.register_folder(&folder)?;
        std::fs::create_dir_all(&folder).map_err(|error| cannot("create a folder", error))?;
        let [sender, receiver, links, router] =
            ['c', 's', 'g', 'h'].map(|letter| namespace::namespace_name(pid, letter));
        for name in [&sender, &receiver, &links, &router] {
            run.register_namespace(name)?;
            namespace::create(name)?;
            ip(&format!("-n {name} link set lo up"))?;
        }
        let godwit = godwit.display().to_string();
        let namespaces = Self { godwit, folder, sender, receiver, links, router, is_v6, _run: run };
        namespaces.join()?;
        Ok(namespaces)
    }

    fn join(&self) -> ToolResult<()> {
        let Self { sender, receiver, links, router, .. } = self;
        let pairs = [
            (sender, "d0", ["10.9.0.1/24", "fd09::1/64"], "d1"),
            (receiver, "d3", ["10.9.0.2/24", "fd09::2/64"], "d2"),
            (sender, "r0", ["10.9.1.1/24", "fd09:0:0:1::1/64"], "r1"),
            (router, "r3", ["10.9.1.254/24", "fd09:0:0:1::254/64"], "r2"),
            (router, "r4", ["10.9.2.254/24", "fd09:0:0:2::254/64"], "r5"),
            (receiver, "r7", ["10.9.2.2/24", "fd09:0:0:2::2/64"], "r6"),
        ];
        for (name, end, [v4, v6], link_end) in pairs {
            ip(&format!(
                "link add {end} netns {name} type veth peer name {link_end} netns {links}"
            ))?;
            ip(&format!("-n {links} link set {link_end} up"))?;
            ip(&format!("-n {name} link set {end} up"))?;
            // No other host can have the address, so duplicate address detection is not needed.
            let (address, flag) = if self.is_v6 { (v6, " nodad") } else { (v4, "") };
            ip(&format!("-n {name} addr add {address} dev {end}{flag}"))?;
        }
        // The neighbours are known. On a link with many losses, neighbour requests would be lost,
        // too, and the kernel calls the other end unreachable after three.
        for neighbours in pairs.chunks(2) {
            let [(one, one_end, one_has, _), (two, two_end, two_has, _)] = neighbours else {
                continue;
            };
            let address = |has: &[&'static str; 2]| {
                has[usize::from(self.is_v6)].split('/').next().unwrap_or("")
            };
            neighbour((one, one_end), (two, two_end), address(two_has))?;
            neighbour((two, two_end), (one, one_end), address(one_has))?;
        }
        let (routes, forward) = if self.is_v6 {
            (
                [("fd09:0:0:2::/64", "fd09:0:0:1::254"), ("fd09:0:0:1::/64", "fd09:0:0:2::254")],
                "echo 1 >/proc/sys/net/ipv6/conf/all/forwarding",
            )
        } else {
            (
                [("10.9.2.0/24", "10.9.1.254"), ("10.9.1.0/24", "10.9.2.254")],
                "echo 1 >/proc/sys/net/ipv4/ip_forward",
            )
        };
        for (name, (to, via)) in [sender, receiver].into_iter().zip(routes) {
            ip(&format!("-n {name} route add {to} via {via}"))?;
        }
        CommandLine::new("ip").args(["netns", "exec", router, "sh", "-c", forward]).run()?;
        Ok(())
    }

    /// Returns the receiver's address on the path without a router.
    pub(crate) const fn receiver_address(&self) -> &'static str {
        RECEIVER[self.is_v6 as usize][0]
    }

    /// Starts this program with the arguments `words` in a network namespace.
    fn start(&self, name: &str, namespace: &str, words: &str) -> ToolResult<ChildProcess> {
        let words = words.split_ascii_whitespace();
        let through = ["ip", "netns", "exec", namespace];
        let command = CommandLine::new(&self.godwit).args(words).with_prefix(&through);
        Ok(ChildProcess::start(&command, name, &self.folder)?)
    }

    /// Waits until a child process has printed `words` to its standard error.
    fn wait_for(&self, child: &mut ChildProcess, words: &str) -> ToolResult<()> {
        let until = Instant::now() + PATIENCE;
        let file = self.folder.join(format!("{}.err", child.name()));
        let has_printed = || std::fs::read_to_string(&file).is_ok_and(|text| text.contains(words));
        let ended = child.wait(|| has_printed() || Instant::now() > until);
        if matches!(ended, Ok(None)) && has_printed() {
            return Ok(());
        }
        Err(failed(child, "did not come up"))
    }

    /// Starts an emulated link between two interfaces of the links' namespace.
    fn link(&self, ends: [&str; 2], link: &str, seed: u64) -> ToolResult<ChildProcess> {
        let between = format!("--between {0}:{1} {0}:{2}", self.links, ends[0], ends[1]);
        let words = format!("netem {between} --seed {seed} {link}");
        let mut child = self.start(&format!("link-{}", ends[0]), &self.links, &words)?;
        self.wait_for(&mut child, "netem: up")?;
        Ok(child)
    }

    /// Measures one run of a case, and returns the bits of data per second that the receiver read;
    /// `None` when a signal ended the run.
    pub(super) fn measure(
        &self,
        case: &RegressionCase,
        trial: DccpMeasurementSettings<'_>,
        tx_qlen: usize,
        stop: &AtomicBool,
    ) -> ToolResult<Option<f64>> {
        let pairs: &[[&str; 2]] =
            if !case.is_routed { &[["d1", "d2"]] } else { &[["r1", "r2"], ["r5", "r6"]] };
        let address = RECEIVER[usize::from(self.is_v6)][usize::from(case.is_routed)];
        let links: Result<Vec<_>, _> =
            pairs.iter().map(|&ends| self.link(ends, &case.link, trial.seed)).collect();
        let _links = links?;
        let settings = format!("--set tx_qlen={tx_qlen}");
        let Some(rates) = self.flows(address, trial, 1, &settings, stop)? else {
            return Ok(None);
        };
        Ok(rates.first().copied())
    }

    /// Connects sender and receiver directly by an emulated link, described in the words of `tc`.
    pub(crate) fn join_by(&self, link: &str, seed: u64) -> ToolResult<ChildProcess> {
        self.link(["d1", "d2"], link, seed)
    }

    /// Sends DCCP in `count` flows to `address`; connection flags that the caller passes on
    /// override `settings`. Returns the bits of data per second that the receiver read of each
    /// flow; `None` when a signal ended the flows.
    pub(crate) fn flows(
        &self,
        address: &str,
        trial: DccpMeasurementSettings<'_>,
        count: usize,
        settings: &str,
        stop: &AtomicBool,
    ) -> ToolResult<Option<Vec<f64>>> {
        let DccpMeasurementSettings { seconds, datagram_bytes, .. } = trial;
        let words = format!("dccp perf -s -1 {settings} {} --json", trial.words(false));
        let mut server = self.start("server", &self.receiver, &words)?;
        self.wait_for(&mut server, "Server listening")?;
        let timeout_s = trial
            .connection
            .connect_timeout
            .map_or(CONNECT_TIMEOUT_S, |timeout| timeout.as_secs_f64());
        let words = format!(
            "dccp perf -c {address} -P {count} -l {datagram_bytes} -t {seconds} --connect-timeout \
             {timeout_s} {settings} {} --json",
            trial.words(true)
        );
        let mut client = self.start("client", &self.sender, &words)?;
        let until = Instant::now() + Duration::from_secs_f64(seconds) + 2 * PATIENCE;
        let is_stopped = || stop.load(Ordering::Acquire);
        let ended = client.wait(|| is_stopped() || Instant::now() > until);
        if is_stopped() {
            return Ok(None);
        }
        match ended {
            Ok(Some(status)) if status.success() => {}
            Ok(Some(status)) => {
                let why = read_failures(&self.folder.join("client.out"));
                let what = format!("{} without a complete result{why}", describe(status));
                return Err(failed(&client, &what));
            }
            _ => return Err(failed(&client, "did not end in time")),
        }
        read_rates(&self.folder.join("client.out"), count).map(Some)
    }

    /// Returns the files of the sender's and the receiver's network namespaces.
    pub(crate) fn ends(&self) -> [PathBuf; 2] {
        [&self.sender, &self.receiver].map(|name| Path::new("/run/netns").join(name))
    }
}

fn failed(child: &ChildProcess, what: &str) -> ToolError {
    let words = child.last_error_lines(3);
    ToolError::Failed(format!("the {} {what}: {words}", child.name()))
}

/// Returns the reasons why flows ended early, from the JSON document of the client at `path`; empty
/// if it has none.
fn read_failures(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let flows = document["flows"].as_array().into_iter().flatten();
    let failures = flows.filter_map(|flow| flow["failure"].as_str());
    failures.map(|failure| format!(" ({failure})")).collect()
}

/// Returns the rate of each flow that the receiver read in bits per second, from the JSON document
/// of the client at `path`.
fn read_rates(path: &Path, count: usize) -> ToolResult<Vec<f64>> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let rate = |flow: usize| document.pointer(&format!("/flows/{flow}/directions/0/bits_per_s"));
    let rates: Option<Vec<f64>> = (0..count).map(|flow| rate(flow)?.as_f64()).collect();
    rates.ok_or_else(|| ToolError::Failed(format!("no rate in the output of the client: {text}")))
}
