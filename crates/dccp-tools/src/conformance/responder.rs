//! The target of ours: a program that sends every datagram back, closes when it is told to, and connects
//! back when it is told to. It stands on [`dccp_link`] as any program does.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use dccp::connection::{Config, Event};
use dccp_link::{CarrierKind, CarrierOptions, Driver, Key, Limits, Peer, ServiceCode};
use netio::Clock;

use super::bench::{CLOSE_COMMAND, CONNECT_COMMAND};
use crate::ToolError;

/// A request to stop is noticed after this time.
const LOOK_NS: u64 = 100_000_000;
/// Echoes that may wait.
const QUEUE_LEN: usize = 64;
/// When a connection that was asked for is given up, so that the tester sees it.
const CONNECT_TIMEOUT_NS: u64 = 4_000_000_000;

/// A listener that the suite can be pointed at.
pub struct Responder {
    driver: Driver,
    config: Config,
}

impl Responder {
    /// Listens at `port` for `service_code`, at `address` or everywhere. Over IP it answers for every
    /// DCCP port of its address, so nobody else there can use DCCP. With `uses_init_cookies` it keeps
    /// nothing of a client until its cookie comes back.
    ///
    /// # Errors
    ///
    /// What the kernel refuses: a taken port, a missing right.
    pub fn open(
        kind: CarrierKind,
        address: Option<IpAddr>,
        port: u16,
        service_code: ServiceCode,
        uses_init_cookies: bool,
    ) -> Result<Self, ToolError> {
        let mut options = CarrierOptions::new(kind);
        if let Some(address) = address {
            options.addresses = vec![address];
        }
        let mut driver = Driver::open(&options, Limits::default())?;
        let config = Config {
            service_code,
            allows_short_sequence: true,
            send_queue_len: QUEUE_LEN,
            connect_timeout_ns: CONNECT_TIMEOUT_NS,
            ..Config::default()
        };
        if uses_init_cookies {
            driver.listen_with_init_cookies(port, &config, vec![service_code]);
        } else {
            driver.listen(port, &config, vec![service_code]);
        }
        Ok(Self { driver, config })
    }

    /// The UDP port, of that carrier.
    #[must_use]
    pub const fn udp_port(&self) -> Option<u16> {
        self.driver.udp_port()
    }

    /// Answers until `stop` is set.
    ///
    /// # Errors
    ///
    /// What the kernel reports of waiting.
    pub fn serve(&mut self, stop: &AtomicBool) -> Result<(), ToolError> {
        while !stop.load(Ordering::Acquire) {
            self.driver.wait(Some(Clock::mono_ns() + LOOK_NS))?;
            let now_ns = Clock::mono_ns();
            self.driver.receive(now_ns);
            self.take_events(now_ns);
            while self.driver.deliver(now_ns) {
                self.take_events(now_ns);
                // Answers keep the order of what they answer, however much comes at once.
                self.driver.stage(now_ns);
            }
            while self.driver.stage(now_ns) > 0 {
                self.driver.flush();
            }
            self.driver.flush();
        }
        Ok(())
    }

    fn take_events(&mut self, now_ns: u64) {
        while let Some((key, event)) = self.driver.poll_event() {
            if let Event::Received(datagram) = event {
                self.answer(now_ns, &key, &datagram);
            }
        }
    }

    fn answer(&mut self, now_ns: u64, key: &Key, datagram: &[u8]) {
        if datagram == CLOSE_COMMAND {
            self.driver.with(key, |connection| connection.close(now_ns));
        } else if let Some(ports) = datagram.strip_prefix(CONNECT_COMMAND) {
            self.connect_back(key, ports);
        } else {
            // An echo that finds the queue full is lost, as on the network.
            let _ = self.driver.with(key, |connection| connection.send(datagram, 0));
        }
    }

    /// Connects to the tester, and to nobody else: at its own address.
    fn connect_back(&mut self, key: &Key, ports: &[u8]) {
        let mut numbers = ports.split(|&octet| octet == b' ').map(|digits| {
            std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u16>().ok())
        });
        if let (Some(Some(udp_port)), Some(Some(port))) = (numbers.next(), numbers.next()) {
            let peer = Peer { address: key.remote, port, udp_port };
            // Without a route there is nobody to tell.
            let _ = self.driver.connect(peer, &self.config, &[]);
        }
    }
}
