//! Verdict of the datagram suites: the code attacks a server, and finds whether it ended, grew, or
//! left honest clients without a reply.

use std::time::Duration;

use base::Random;
use testbed::TestProgress;

use super::family;

/// Number of hostile datagrams between two replies to honest clients.
const BURST: u64 = 32;
/// Share of the datagrams after which memory is measured first: by then the hostile clients have
/// all leases that they can get, and every buffer is in use.
const WARM_SHARE: f64 = 0.4;
/// Maximum growth of a server after that, in KiB, for fragmentation of the heap. Of a million
/// datagrams 600,000 follow, so 17 bytes kept of each would be more.
const GROWTH_MAX_KIB: u64 = 10_000;
/// Number of datagrams from which on the server must serve honest clients in each second: that of
/// `cargo xtask hostile`, which runs one suite at a time.
const WHOLE: u64 = 1_000_000;
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Server under attack, real or simulated, with its honest clients.
pub(super) trait AttackedServer {
    /// Sends the hostile datagram `datagram` to the server.
    fn strike(&mut self, datagram: &[u8]);

    /// Waits until an honest client gets a reply.
    fn serve_honest(&mut self) -> Result<(), String>;

    /// Makes every honest client with a lease renew it.
    fn renew_all(&mut self) -> Result<(), String>;

    /// Returns true if the server has ended.
    fn has_ended(&mut self) -> bool;

    /// Returns the resident memory of the server, in KiB.
    fn resident_kib(&self) -> u64;

    /// Returns the number of datagrams that the server's sockets had no room for.
    fn dropped(&self) -> u64;

    /// Returns the time on the clock of this server's test.
    fn now(&self) -> Duration;
}

/// Memory, waits and drops of a server that was attacked.
#[derive(Debug)]
pub(super) struct AttackReport {
    count: u64,
    /// Resident memory after the warm-up in KiB, then at the end.
    pub(super) warm_kib: u64,
    pub(super) end_kib: u64,
    /// Longest time between two replies to honest clients.
    pub(super) longest_wait: Duration,
    /// Datagrams that the server's sockets had no room for.
    pub(super) dropped: u64,
}

impl AttackReport {
    /// Returns the server's fault as text, if any.
    pub(super) fn verdict(&self) -> Result<(), String> {
        let Self { count, warm_kib, end_kib, longest_wait, dropped } = self;
        if dropped * 10 >= *count {
            return Err(format!("there was no room for {dropped} of {count} datagrams"));
        }
        // With few datagrams and other tests running, a wait says nothing about the server.
        if *count >= WHOLE && *longest_wait >= LONGEST_WAIT {
            let waited = longest_wait.as_millis();
            return Err(format!("honest clients had no answer for {waited} ms"));
        }
        if *end_kib >= warm_kib + GROWTH_MAX_KIB {
            return Err(format!("the server grew from {warm_kib} to {end_kib} KiB"));
        }
        Ok(())
    }
}

/// Sends `count` hostile datagrams with honest clients between them.
pub(super) fn attack(
    datagram: fn(&mut Random, &mut [u8]) -> usize,
    server: &mut impl AttackedServer,
    random: &mut Random,
    count: u64,
) -> Result<AttackReport, String> {
    let mut report =
        AttackReport { count, warm_kib: 0, end_kib: 0, longest_wait: Duration::ZERO, dropped: 0 };
    let mut served = server.now();
    let mut progress = TestProgress::new(count);
    let mut buffer = vec![0; family::BUFFER_LEN];
    for number in 0..count {
        let len = datagram(random, &mut buffer);
        server.strike(&buffer[..len]);
        if number % BURST == 0 {
            progress.write(number);
            let answered = server.serve_honest();
            answered.map_err(|silence| cause(server, silence))?;
            report.longest_wait = report.longest_wait.max(server.now() - served);
            served = server.now();
        }
        if number == (count as f64 * WARM_SHARE) as u64 {
            report.warm_kib = server.resident_kib();
        }
    }
    let renewed = server.renew_all();
    renewed.map_err(|silence| cause(server, silence))?;
    if server.has_ended() {
        return Err(ENDED.to_owned());
    }
    report.end_kib = server.resident_kib();
    report.dropped = server.dropped();
    Ok(report)
}

const ENDED: &str = "the server has ended";

/// Returns the reason why honest clients get no reply.
fn cause(server: &mut impl AttackedServer, silence: String) -> String {
    if server.has_ended() { ENDED.to_owned() } else { silence }
}

/// Fault of a [`FaultyServer`], which it makes after [`SOUND`] datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlantedFault {
    None,
    Abort,
    /// Leak of this many bytes of each datagram.
    Leak(u64),
    /// No reply to any client.
    Silence,
    /// Replies after this time only.
    Pause(Duration),
    /// Sockets that the server does not read.
    Deafness,
}

/// Server that makes a mistake, on a clock that only its replies advance.
struct FaultyServer {
    mistake: PlantedFault,
    received: u64,
    now: Duration,
}

/// Number of datagrams before a [`FaultyServer`] makes its mistake.
const SOUND: u64 = 700;

impl FaultyServer {
    fn errs(&self) -> bool {
        self.received > SOUND
    }
}

impl AttackedServer for FaultyServer {
    fn strike(&mut self, _datagram: &[u8]) {
        self.received += 1;
    }

    fn serve_honest(&mut self) -> Result<(), String> {
        self.now += Duration::from_millis(1);
        match self.mistake {
            PlantedFault::Abort | PlantedFault::Silence if self.errs() => {
                Err("no answer".to_owned())
            }
            PlantedFault::Pause(pause) if self.errs() => {
                self.now += pause;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn renew_all(&mut self) -> Result<(), String> {
        self.serve_honest()
    }

    fn has_ended(&mut self) -> bool {
        self.mistake == PlantedFault::Abort && self.errs()
    }

    fn resident_kib(&self) -> u64 {
        match self.mistake {
            PlantedFault::Leak(octets) => 50_000 + self.received * octets / 1024,
            _ => 50_000,
        }
    }

    fn dropped(&self) -> u64 {
        if self.mistake == PlantedFault::Deafness { self.received - SOUND } else { 0 }
    }

    fn now(&self) -> Duration {
        self.now
    }
}

fn judged(mistake: PlantedFault, count: u64) -> Result<(), String> {
    let mut planted = FaultyServer { mistake, received: 0, now: Duration::ZERO };
    let one_octet = |_: &mut Random, _: &mut [u8]| 1;
    attack(one_octet, &mut planted, &mut Random::from_seed(1), count)?.verdict()
}

#[test]
fn a_server_that_makes_no_mistake_withstands() {
    for count in [1_000, WHOLE] {
        assert_eq!(judged(PlantedFault::None, count), Ok(()));
        assert_eq!(judged(PlantedFault::Pause(Duration::from_millis(900)), count), Ok(()));
        assert_eq!(judged(PlantedFault::Leak(1), count), Ok(()));
    }
}

#[test]
fn an_abort_a_silence_and_a_leak_are_found() {
    for count in [1_000, WHOLE] {
        assert_eq!(judged(PlantedFault::Abort, count), Err("the server has ended".to_owned()));
        assert_eq!(judged(PlantedFault::Silence, count), Err("no answer".to_owned()));
        assert!(
            judged(PlantedFault::Deafness, count).unwrap_err().starts_with("there was no room")
        );
    }
    let grown = judged(PlantedFault::Leak(18), WHOLE).unwrap_err();
    assert_eq!(grown, "the server grew from 57031 to 67578 KiB");
    let paused = judged(PlantedFault::Pause(LONGEST_WAIT), WHOLE).unwrap_err();
    assert_eq!(paused, "honest clients had no answer for 1001 ms");
    // An abort by the last datagram affects no honest client any more.
    assert_eq!(judged(PlantedFault::Abort, SOUND + 1), Err("the server has ended".to_owned()));
}
