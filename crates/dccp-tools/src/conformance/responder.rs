//! Responder of the conformance suite: a program that sends every datagram back, and closes, or
//! connects back, on a command. The responder uses [`dccp_link`] like any other program.

use std::sync::atomic::{AtomicBool, Ordering};

use base::ToolResult;
use dccp::connection::{ConnectionConfig, ConnectionEvent};
use dccp_link::{
    CarrierKind, CarrierOptions, ConnectOptions, ConnectionKey, Driver, EndpointLimits, Peer,
    ScopedAddress, ServiceCode,
};
use netio::Clock;

use super::context::{CLOSE_COMMAND, CONNECT_COMMAND};
use crate::debug::{DebugTopic, Observer};

/// Longest time in nanoseconds until the responder notices a request to stop.
const LOOK_NS: u64 = 100_000_000;
/// Length of the send queue in datagrams: echoes that may wait.
const QUEUE_LEN: usize = 64;
/// Time in nanoseconds after which the responder gives up an attempt to connect back, so that the
/// tester sees its end.
const CONNECT_TIMEOUT_NS: u64 = 4_000_000_000;

/// Listener over Godwit's own DCCP, for the conformance suite to test.
pub struct ConformanceResponder {
    driver: Driver,
    config: ConnectionConfig,
    observer: Option<Observer>,
}

impl ConformanceResponder {
    /// Returns the default settings of a responder's connections.
    pub fn config(service_code: ServiceCode) -> ConnectionConfig {
        ConnectionConfig {
            service_code,
            allows_short_sequence: true,
            send_queue_len: QUEUE_LEN,
            connect_timeout_ns: CONNECT_TIMEOUT_NS,
            ..ConnectionConfig::default()
        }
    }

    /// Listens at the DCCP port `port` for the service code of `config`, at `address` or at all
    /// addresses. Over IP the responder answers for every DCCP port of its address, so no other
    /// program there can use DCCP. With `uses_init_cookies` it keeps no state of a client until its
    /// cookie comes back.
    pub fn open(
        kind: CarrierKind,
        address: Option<ScopedAddress>,
        port: u16,
        config: ConnectionConfig,
        uses_init_cookies: bool,
    ) -> ToolResult<Self> {
        let mut options = CarrierOptions::new(kind);
        if let Some(ScopedAddress { address, scope }) = address {
            (options.addresses, options.scope) = (vec![address], scope);
        }
        let mut driver = Driver::open(&options, EndpointLimits::default())?;
        let service_codes = vec![config.service_code];
        if uses_init_cookies {
            driver.listen_with_init_cookies(port, &config, service_codes);
        } else {
            driver.listen(port, &config, service_codes);
        }
        Ok(Self { driver, config, observer: None })
    }

    /// Returns the responder's local UDP port; `None` over IP.
    pub const fn udp_port(&self) -> Option<u16> {
        self.driver.udp_port()
    }

    /// Returns the responder with an observer that prints events of its connections on these
    /// topics.
    #[must_use]
    pub fn observed(self, topics: &[DebugTopic]) -> Self {
        Self { observer: Observer::new(topics), ..self }
    }

    fn observe(&mut self, now_ns: u64) {
        let Some(observer) = &mut self.observer else { return };
        let keys: Vec<_> = self.driver.states().map(|(key, _)| key).collect();
        for key in &keys {
            if let Some(connection) = self.driver.connection(key) {
                observer.print_changes(now_ns, key, connection);
            }
        }
    }

    /// Answers connections and their datagrams until `stop` is set.
    ///
    /// # Errors
    ///
    /// Returns the kernel's error of waiting.
    pub fn serve(&mut self, stop: &AtomicBool) -> ToolResult<()> {
        while !stop.load(Ordering::Acquire) {
            self.driver.wait(Some(Clock::mono_ns() + LOOK_NS))?;
            let now_ns = Clock::mono_ns();
            self.driver.receive(now_ns);
            self.take_events(now_ns);
            while self.driver.deliver(now_ns) {
                self.take_events(now_ns);
                // Answers keep the order of the received datagrams, even if many come at once.
                self.driver.stage(now_ns);
            }
            while self.driver.stage(now_ns) > 0 {
                self.driver.flush();
            }
            self.driver.flush();
            self.observe(now_ns);
        }
        Ok(())
    }

    fn take_events(&mut self, now_ns: u64) {
        while let Some((key, event)) = self.driver.poll_event() {
            if let ConnectionEvent::Received(datagram) = event {
                self.answer(now_ns, &key, &datagram);
                self.driver.recycle(&key, datagram);
            }
        }
    }

    fn answer(&mut self, now_ns: u64, key: &ConnectionKey, datagram: &[u8]) {
        if datagram == CLOSE_COMMAND {
            self.driver.with(key, |connection| connection.close(now_ns));
        } else if let Some(ports) = datagram.strip_prefix(CONNECT_COMMAND) {
            self.connect_back(key, ports);
        } else {
            // An echo that does not fit into the queue is lost, as on the network.
            let _ = self.driver.with(key, |connection| connection.send(datagram, 0));
        }
    }

    /// Connects to the DCCP and UDP port `ports` at the tester's own address, and to no other host.
    fn connect_back(&mut self, key: &ConnectionKey, ports: &[u8]) {
        let mut numbers = ports.split(|&octet| octet == b' ').map(|digits| {
            std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u16>().ok())
        });
        if let (Some(Some(udp_port)), Some(Some(port))) = (numbers.next(), numbers.next()) {
            let peer = Peer { address: key.remote, port, udp_port };
            // Without a route, no error can reach the tester.
            let options = ConnectOptions { scope: key.scope, ..ConnectOptions::default() };
            let _ = self.driver.connect_with(peer, options, &self.config, &[]);
        }
    }
}
