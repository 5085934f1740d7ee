//! Tests of a full disk of the lease file in the middle of a batch: the file has every lease that
//! the server acknowledged, whatever `on-fail` does to the server.

use crate::common;
use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::common::small_disk::SmallDisk;
use crate::common::{PATIENCE, ServerProcess, TempFolder, configuration, is_root, require};
use dhcp_wire::v4::{Dhcp4Header, Message, MessageType, MessageWriter, option};

/// Number of clients that send requests at once.
const BATCH: u32 = 16;
/// Size of a file on the disk that is removed to make room again: more than all rows take.
const FILLER_KIB: usize = 64;
/// Space that the filler leaves for lease files, in KiB.
const ROOM_KIB: usize = 32;

/// Time without a reply after which a server that cannot write counts as silent.
const QUIET: Duration = Duration::from_secs(2);

/// Server whose lease file is on a small disk, and its clients behind a relay agent.
struct FullDiskSetup {
    server: ServerProcess,
    relay: UdpSocket,
    disk: SmallDisk,
    folder: TempFolder,
    config: PathBuf,
    clients: u32,
    acknowledged: BTreeSet<Ipv4Addr>,
}

impl FullDiskSetup {
    fn set(label: &str, on_fail: &str, durability: &str) -> Self {
        let folder = TempFolder::new(&format!("disk-full-{label}"));
        let small = folder.path().join("small");
        fs::create_dir(&small).expect("the test's folder can be written");
        let disk = SmallDisk::mount(&small, (FILLER_KIB + ROOM_KIB) as u32);
        fs::write(disk.file("filler"), vec![1; FILLER_KIB << 10]).expect("there is room");
        let config = configuration(folder.path(), durability, 1);
        let text = fs::read_to_string(&config).expect("it was written here");
        let on_fail = format!(r#""on-fail": "{on_fail}", "lfc-interval": 0"#);
        let elsewhere = text
            .replace("leases.csv", "small/leases.csv")
            .replace(r#""lfc-interval": 0"#, &on_fail);
        fs::write(&config, elsewhere).expect("the test's folder can be written");
        let mut wrapper = disk.wrapper();
        wrapper.env("KEA_DHCP_DATA_DIR", &small);
        let server = ServerProcess::start_under(wrapper, "dhcp4", &config, folder.path());
        let relay = UdpSocket::bind(("127.0.0.1", server.relay_port)).expect("the port is free");
        relay.connect(("127.0.0.1", server.port)).expect("loopback is connected");
        relay.set_read_timeout(Some(QUIET)).expect("a time");
        Self { server, relay, disk, folder, config, clients: 0, acknowledged: BTreeSet::new() }
    }

    fn send(&self, kind: MessageType, client: u32, asked: Option<Ipv4Addr>) {
        let mut chaddr = [0; 16];
        chaddr[..2].copy_from_slice(&[2, 0]);
        chaddr[2..6].copy_from_slice(&client.to_be_bytes());
        let header = Dhcp4Header {
            op: 1,
            htype: 1,
            hlen: 6,
            xid: client,
            giaddr: Ipv4Addr::LOCALHOST,
            chaddr,
            ..Dhcp4Header::default()
        };
        let mut buffer = [0; 600];
        let mut writer = MessageWriter::new(&mut buffer, &header);
        writer.message_type(kind);
        if let Some(address) = asked {
            writer.option(option::REQUESTED_IP_ADDRESS, &address.octets());
            writer.option(option::SERVER_IDENTIFIER, &Ipv4Addr::LOCALHOST.octets());
        }
        let len = writer.finish(300).expect("the buffer is large");
        // A server that has ended refuses.
        self.relay.send(&buffer[..len]).ok();
    }

    /// Returns true if the server has ended, or cannot write and has not reported that it can
    /// again.
    fn is_failing(&mut self) -> bool {
        let log = self.server.log();
        let (failed, goes_on) =
            (log.rfind("cannot write"), log.rfind("rewritten from the leases in memory"));
        self.server.has_ended() || failed > goes_on
    }

    /// Returns replies of `kind` to `count` clients, or as many as a server sends that cannot
    /// write: each with client and address.
    fn replies(&mut self, kind: MessageType, count: usize) -> Vec<(u32, Ipv4Addr)> {
        let mut replies = Vec::new();
        let mut octets = [0; 1500];
        let ends = Instant::now() + PATIENCE;
        while replies.len() < count {
            let was_failing = self.is_failing();
            let Ok(len) = self.relay.recv(&mut octets) else {
                // A server that has ended refuses; one that continues may be slow.
                if was_failing || Instant::now() >= ends {
                    break;
                }
                continue;
            };
            let message = Message::parse(&octets[..len]).expect("a server sends what is sound");
            if message.message_type() != Some(kind) {
                continue;
            }
            replies.push((message.xid(), message.yiaddr()));
        }
        replies
    }

    /// Makes [`BATCH`] new clients request addresses, all at once, and returns the number of
    /// acknowledgements.
    fn exchanges(&mut self) -> usize {
        let clients = self.clients..self.clients + BATCH;
        self.clients = clients.end;
        for client in clients {
            self.send(MessageType::Discover, client, None);
        }
        let offers = self.replies(MessageType::Offer, BATCH as usize);
        for &(client, address) in &offers {
            self.send(MessageType::Request, client, Some(address));
        }
        let acks = self.replies(MessageType::Ack, offers.len());
        for &(_, address) in &acks {
            assert!(self.acknowledged.insert(address), "{address} was given twice");
        }
        acks.len()
    }

    /// Repeats exchanges until a batch is not completely acknowledged because the server cannot
    /// write. The server also drops a reply that waits too long for its row.
    fn fill(&mut self) {
        while self.exchanges() == BATCH as usize || !self.is_failing() {
            assert!(self.clients < 5_000, "the disk never fills");
        }
        assert!(self.acknowledged.len() > 200, "{} leases", self.acknowledged.len());
    }

    /// Returns the addresses in all existing lease files; each file ends with a whole row.
    fn rows(&self) -> BTreeSet<Ipv4Addr> {
        let mut addresses = BTreeSet::new();
        for name in ["leases.csv", "leases.csv.1", "leases.csv.2", "leases.csv.completed"] {
            let text = fs::read_to_string(self.disk.file(name)).unwrap_or_default();
            assert!(text.is_empty() || text.ends_with('\n'), "{name}: a torn row");
            let rows = text.lines().skip(1).filter_map(|row| row.split(',').next());
            addresses.extend(rows.map(|address| address.parse::<Ipv4Addr>().expect("an address")));
        }
        addresses
    }

    /// Checks that the files have every acknowledged lease, and that a server with more room loads
    /// them all.
    fn check_what_is_kept(self) {
        let rows = self.rows();
        assert!(self.acknowledged.is_subset(&rows), "{:?}", self.acknowledged.difference(&rows));
        let text = fs::read_to_string(&self.config).expect("it was written here");
        fs::write(&self.config, text.replace("small/", "")).expect("the folder can be written");
        for suffix in ["", ".1", ".2", ".completed"] {
            let name = format!("leases.csv{suffix}");
            fs::copy(self.disk.file(&name), self.folder.path().join(name)).ok();
        }
        drop(self.server);
        let server = ServerProcess::start(&self.config, self.folder.path());
        server.wait_for(&format!("loaded {} leases", rows.len()));
        server.stop();
    }
}

/// Returns true if the disk can be made here.
fn can_mount() -> bool {
    require(&["unshare", "nsenter", "mount"]) && is_root()
}

fn says_why(log: &str, path: &Path) {
    let sentence = format!("cannot write {}: No space left on device", path.display());
    assert!(log.contains(&sentence), "{log}");
}

#[test]
fn a_server_that_is_to_stop_ends_and_keeps_what_it_acknowledged() {
    if !can_mount() {
        return;
    }
    for (on_fail, durability) in [
        ("stop-retry-exit", "always"),
        ("serve-retry-exit", "none"),
        ("stop-retry-exit", "interval"),
    ] {
        let mut setup = FullDiskSetup::set(&format!("{on_fail}-{durability}"), on_fail, durability);
        setup.fill();
        let live = setup.folder.path().join("small/leases.csv");
        assert!(common::waited_until(|| setup.server.has_ended()), "{}", setup.server.log());
        let log = setup.server.log();
        says_why(&log, &live);
        assert_eq!(setup.server.exit_code(), Some(1), "{log}");
        setup.check_what_is_kept();
    }
}

#[test]
fn a_server_that_is_to_go_on_is_silent_until_there_is_room_and_loses_nothing() {
    if !can_mount() {
        return;
    }
    for durability in ["always", "none"] {
        let mut setup = FullDiskSetup::set(
            &format!("continue-{durability}"),
            "serve-retry-continue",
            durability,
        );
        setup.fill();
        setup.server.wait_for("lease file not rewritten: cannot write");
        says_why(&setup.server.log(), &setup.folder.path().join("small/leases.csv"));
        assert_eq!(setup.exchanges(), 0, "nothing is acknowledged that cannot be written");
        fs::remove_file(setup.disk.file("filler")).expect("it is there");
        setup.server.wait_for("lease file rewritten from the leases in memory");
        // The server drops waiting replies when the file fails, not later.
        let goes_through = (0..3).any(|_| setup.exchanges() == BATCH as usize);
        assert!(goes_through, "{}", setup.server.log());
        setup.server.signal("KILL");
        assert!(common::waited_until(|| setup.server.has_ended()), "{}", setup.server.log());
        setup.check_what_is_kept();
    }
}
