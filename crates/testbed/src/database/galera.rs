//! Private MariaDB Galera cluster of three nodes on loopback: they know each other, can be killed
//! one by one, and come back.
//!
//! All nodes begin with the same files, made once, so no node needs a whole copy. A node that comes
//! back after a crash reads its last position from its own files, as Debian's service does, and
//! another node sends it the later transactions from memory; only if that no longer has them, a
//! copy (by `rsync`).
//!
//! To have read: MariaDB's manual, "Getting Started with MariaDB Galera Cluster"; Galera's, "Node
//! Failure and Recovery", "Galera Parameters".

use std::path::{Path, PathBuf};

use super::{
    DatabaseEngine, PrivateDatabase, PrivateDatabaseSettings, READY_LIMIT, mariadb, template,
    wait_until,
};
use crate::command::require_program;
use crate::error::{TestbedError, TestbedResult};

/// Number of nodes of the private Galera cluster: the smallest of which one may be missing.
pub const NODES: usize = 3;

/// Path of Galera's library in Debian's package `galera-4`.
const PROVIDER: &str = "/usr/lib/galera/libgalera_smm.so";

/// Settings that keep a cluster node small, so that three fit next to everything else.
const SMALL: [&str; 5] = [
    "innodb_buffer_pool_size=24M",
    "innodb_log_file_size=16M",
    "performance_schema=OFF",
    "max_connections=40",
    "table_open_cache=64",
];

/// Options of Galera with which nodes soon notice that another node was killed, and keep in memory
/// the transactions that an absent node misses (`gcache.size`).
const PROVIDER_OPTIONS: &str = "gcache.size=64M;gcs.fc_limit=256;pc.recovery=no;\
     evs.keepalive_period=PT0.3S;evs.inactive_check_period=PT0.3S;evs.suspect_timeout=PT2S;\
     evs.inactive_timeout=PT6S;evs.install_timeout=PT6S";

/// Running private Galera cluster. Dropping it ends all nodes and removes their folders.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<PrivateDatabase>,
}

impl Cluster {
    /// Returns the reason why no Galera cluster can start on this machine; `None` if one can.
    pub fn missing() -> Option<String> {
        let library = if Path::new(PROVIDER).exists() {
            None
        } else {
            Some(format!("{PROVIDER}: not found; Debian package galera-4 contains it"))
        };
        let copying = || require_program("rsync", "rsync").err().map(|error| error.to_string());
        DatabaseEngine::MariaDb.missing().or(library).or_else(copying)
    }

    /// Makes an empty Galera cluster, starts it, and waits until all nodes have joined.
    ///
    /// # Errors
    /// See [`PrivateDatabase::start`].
    pub fn start(is_durable: bool) -> TestbedResult<Self> {
        let settings = PrivateDatabaseSettings { is_durable, on_loopback: true, cpu: None };
        // Start it as a single server first, for the tables and the user.
        let mut first = PrivateDatabase::start(DatabaseEngine::MariaDb, settings)?;
        first.stop()?;
        let mut nodes = vec![first];
        for _ in 1..NODES {
            let node = PrivateDatabase::make(DatabaseEngine::MariaDb, settings)?;
            mariadb::configure(&node)?;
            template::copy(&nodes[0].data(), &node.data())?;
            nodes.push(node);
        }
        let ports = nodes.iter().map(|_| super::free_port()).collect::<Result<Vec<_>, _>>()?;
        for (node, port) in nodes.iter_mut().zip(&ports) {
            node.options = options(&ports, *port)?;
        }
        let mut cluster = Self { nodes };
        cluster.nodes[0].launch_with(&["--wsrep-new-cluster"])?;
        for node in 1..NODES {
            cluster.nodes[node].launch()?;
        }
        for node in 0..NODES {
            cluster.await_synced(node)?;
        }
        Ok(cluster)
    }

    /// Returns the cluster's node number `number`, from 0.
    #[must_use]
    pub fn node(&self, number: usize) -> &PrivateDatabase {
        &self.nodes[number]
    }

    /// Ends the cluster's node `number` at once, as a crash would.
    pub fn kill(&mut self, number: usize) {
        self.nodes[number].kill();
    }

    /// Starts the killed node `number` of the cluster again, and waits until it has all data of the
    /// others.
    ///
    /// # Errors
    /// It does not start, or does not catch up.
    pub fn rejoin(&mut self, number: usize) -> TestbedResult<()> {
        let position = recovered_position(&self.nodes[number])?;
        self.nodes[number].launch_with(&[&format!("--wsrep-start-position={position}")])?;
        self.await_synced(number)
    }

    /// Waits until the cluster's node `number` has all data of the others.
    fn await_synced(&self, number: usize) -> TestbedResult<()> {
        let node = &self.nodes[number];
        let ask = "SHOW STATUS WHERE Variable_name IN ('wsrep_local_state', 'wsrep_ready')";
        let is_synced = || {
            node.query("mysql", ask).is_ok_and(|answer| {
                answer.contains("wsrep_local_state\t4") && answer.contains("wsrep_ready\tON")
            })
        };
        if wait_until(READY_LIMIT, is_synced) {
            return Ok(());
        }
        Err(TestbedError::new(node.display(), "the node did not become synced"))
    }
}

/// Returns the options that make a MariaDB server a node of the cluster.
fn options(ports: &[u16], own: u16) -> TestbedResult<Vec<String>> {
    let others: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let (incremental, whole) = (super::free_port()?, super::free_port()?);
    let mut options = vec![
        "wsrep_on=ON".to_owned(),
        format!("wsrep_provider={PROVIDER}"),
        "wsrep_cluster_name=godwit".to_owned(),
        format!("wsrep_cluster_address=gcomm://{}", others.join(",")),
        format!("wsrep_node_address=127.0.0.1:{own}"),
        format!("wsrep_node_name=node{own}"),
        "wsrep_sst_method=rsync".to_owned(),
        format!("wsrep_sst_receive_address=127.0.0.1:{whole}"),
        format!(
            "wsrep_provider_options=gmcast.listen_addr=tcp://127.0.0.1:{own};\
             ist.recv_addr=127.0.0.1:{incremental};{PROVIDER_OPTIONS}"
        ),
        "binlog_format=ROW".to_owned(),
        "innodb_autoinc_lock_mode=2".to_owned(),
    ];
    options.extend(SMALL.map(str::to_owned));
    Ok(options)
}

/// Returns the last position of a cluster's node in Galera's sequence of transactions, from the
/// node's own files.
fn recovered_position(node: &PrivateDatabase) -> TestbedResult<String> {
    let log: PathBuf = node.folder().join("recovered.log");
    let _ = std::fs::remove_file(&log);
    let recover =
        mariadb::server(node)?.arg("--wsrep-recover").arg(format!("--log-error={}", log.display()));
    recover.run()?;
    let text = std::fs::read_to_string(&log)
        .map_err(|e| TestbedError::new(format!("cannot read {}", log.display()), e))?;
    let mark = "Recovered position: ";
    let position = text.lines().rev().find_map(|line| Some(line.split_once(mark)?.1.trim()));
    position.map(str::to_owned).ok_or_else(|| {
        TestbedError::new(node.display(), "the log of the node has no recovered position")
    })
}
