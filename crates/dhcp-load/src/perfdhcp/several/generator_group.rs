//! Several generators of a run: started, prepared, with their clocks compared, ordered to begin.
//! Every wait has an end: a signal, or a deadline after which the run has failed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use base::time::{NS_PER_MS, NS_PER_S};
use base::{Offset, RoundTrip};
use netio::Clock;

use super::message::{GeneratorAnswer, GeneratorOrder, Prepare, check_version};
use super::remote_generator::{GeneratorEvent, RemoteGenerator};
use crate::perfdhcp::args::PerfdhcpArgs;
use crate::perfdhcp::files;
use crate::perfdhcp::part::GeneratorPart;
use crate::perfdhcp::plan::{PerfdhcpFailure, PerfdhcpResult};

/// Longest time for SSH to connect and the generator to start on the other machine, in nanoseconds.
const HELLO_NS: u64 = 300 * NS_PER_S;
/// Longest time for a generator to open its sockets and allocate memory, in nanoseconds.
const READY_NS: u64 = 60 * NS_PER_S;
/// Longest time for a generator to send its time of the clock, in nanoseconds.
const PONG_NS: u64 = 10 * NS_PER_S;
/// Number of requests for a generator's time, one after another.
const PINGS: u64 = 16;
/// Time from the order to begin to the start of the run, in nanoseconds, in addition to the time
/// that the order takes.
const LEAD_NS: u64 = 300 * NS_PER_MS;
/// Interval at which the coordinator checks for a signal to its process.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Generators of a run, as the coordinator sees them. Dropping the value ends them.
pub(crate) struct GeneratorGroup<'a> {
    pub(crate) links: Vec<RemoteGenerator>,
    events: Receiver<(usize, GeneratorEvent)>,
    pub(crate) stop: &'a AtomicBool,
}

impl<'a> GeneratorGroup<'a> {
    /// Starts all generators of the run over SSH and reads their greetings.
    pub(crate) fn start(args: &PerfdhcpArgs, stop: &'a AtomicBool) -> PerfdhcpResult<Self> {
        let (sender, events) = channel();
        let mut group = Self { links: Vec::new(), events, stop };
        for (index, host) in args.generators.iter().enumerate() {
            let ssh = args.ssh_command.split_whitespace();
            let there = [host.name.as_str(), args.remote_godwit.as_str(), "perfdhcp", "--follow"];
            let words: Vec<String> = ssh.chain(there).map(Into::into).collect();
            group.links.push(RemoteGenerator::start(&host.name, &words, index, sender.clone())?);
        }
        let hellos = group.each(HELLO_NS, "a greeting of godwit", |answer| match answer {
            GeneratorAnswer::Hello { protocol, version } => Some((protocol, version)),
            _ => None,
        })?;
        for (link, (protocol, version)) in group.links.iter().zip(&hellos) {
            check_version(*protocol, version).map_err(|problem| link.failed(&problem))?;
        }
        Ok(group)
    }

    /// Sends every generator its part of the run, waits until all are ready, and returns the
    /// addresses that they send from.
    pub(crate) fn prepare(
        &self,
        args: &PerfdhcpArgs,
        words: &[String],
        seed: u64,
    ) -> PerfdhcpResult<Vec<String>> {
        let files = files::pack(args).map_err(|error| {
            PerfdhcpFailure::Environment(format!("cannot read the files of the run: {error}"))
        })?;
        let of = self.links.len() as u32;
        for ((link, host), index) in self.links.iter().zip(&args.generators).zip(0..) {
            let (words, files) = (words.to_vec(), files.clone());
            let part = GeneratorPart { index, of };
            let prepare = Prepare { words, files, part, seed, local: host.local.clone() };
            link.send_order(&GeneratorOrder::Prepare(Box::new(prepare)));
        }
        self.each(READY_NS, "the report that it is ready", |answer| match answer {
            GeneratorAnswer::Ready { local } => Some(local),
            _ => None,
        })
    }

    /// Returns the offset of every generator's clock from the coordinator's.
    pub(crate) fn compare_clocks(&self) -> PerfdhcpResult<Vec<Offset>> {
        let mut offsets = Vec::new();
        for (index, link) in self.links.iter().enumerate() {
            let mut trips = Vec::new();
            for number in 0..PINGS {
                let asked_ns = Clock::mono_ns();
                link.send_order(&GeneratorOrder::Ping(number));
                let (answer, answered_ns) = self.answer_of(index, asked_ns + PONG_NS)?;
                match answer {
                    GeneratorAnswer::Pong { number: same, received_ns, sent_ns }
                        if same == number =>
                    {
                        trips.push(RoundTrip { asked_ns, received_ns, sent_ns, answered_ns });
                    }
                    other => return Err(self.surprised(index, "the time", other.name())),
                }
            }
            offsets.push(Offset::from_round_trips(&trips).expect("there were questions"));
        }
        Ok(offsets)
    }

    /// Orders all generators of the run to begin at one time.
    pub(crate) fn order_start(&self, clocks: &[Offset]) {
        let slowest_ns = clocks.iter().map(|clock| clock.uncertainty_ns).max().unwrap_or(0);
        let start_ns = Clock::mono_ns() + LEAD_NS + 4 * slowest_ns;
        for (link, clock) in self.links.iter().zip(clocks) {
            link.send_order(&GeneratorOrder::Go { start_ns: clock.there(start_ns) });
        }
    }

    /// Waits until every generator has sent the one answer that `take` accepts, and returns the
    /// values that `take` returned.
    fn each<T>(
        &self,
        within_ns: u64,
        what: &str,
        take: impl Fn(GeneratorAnswer) -> Option<T>,
    ) -> PerfdhcpResult<Vec<T>> {
        let until_ns = Clock::mono_ns() + within_ns;
        let mut values: Vec<Option<T>> = self.links.iter().map(|_| None).collect();
        while let Some(missing) = values.iter().position(Option::is_none) {
            let Some((index, event)) = self.next(until_ns)? else {
                let s = within_ns / NS_PER_S;
                return Err(
                    self.links[missing].failed(&format!("did not send {what} within {s} s"))
                );
            };
            let (answer, _) = self.answer_in(index, event)?;
            let name = answer.name();
            match take(answer) {
                Some(value) if values[index].is_none() => values[index] = Some(value),
                _ => return Err(self.surprised(index, what, name)),
            }
        }
        Ok(values.into_iter().flatten().collect())
    }

    /// Returns the next answer of the generator with the index `generator`, and the time at which
    /// it came; fails at `until_ns`.
    fn answer_of(&self, generator: usize, until_ns: u64) -> PerfdhcpResult<(GeneratorAnswer, u64)> {
        loop {
            let Some((index, event)) = self.next(until_ns)? else {
                let s = PONG_NS / NS_PER_S;
                return Err(
                    self.links[generator].failed(&format!("did not send its time within {s} s"))
                );
            };
            let answer = self.answer_in(index, event)?;
            if index == generator {
                return Ok(answer);
            }
        }
    }

    /// Returns the next event of any generator, or `None` at `until_ns`.
    fn next(&self, until_ns: u64) -> PerfdhcpResult<Option<(usize, GeneratorEvent)>> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(PerfdhcpFailure::Interrupted);
            }
            if let Some(event) = self.look() {
                return Ok(Some(event));
            }
            if Clock::mono_ns() >= until_ns {
                return Ok(None);
            }
        }
    }

    /// Returns the next event of any generator, if one comes within 50 ms.
    pub(crate) fn look(&self) -> Option<(usize, GeneratorEvent)> {
        match self.events.recv_timeout(LOOK_EVERY) {
            Ok(event) => Some(event),
            // All generators have ended, and their events have reported that.
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(LOOK_EVERY);
                None
            }
            Err(RecvTimeoutError::Timeout) => None,
        }
    }

    /// Returns the answer in an event of a generator, and the time at which it came; fails for any
    /// other event.
    pub(crate) fn answer_in(
        &self,
        index: usize,
        event: GeneratorEvent,
    ) -> PerfdhcpResult<(GeneratorAnswer, u64)> {
        let link = &self.links[index];
        match event {
            GeneratorEvent::Answer(GeneratorAnswer::Failed(problem), _) => {
                Err(link.failed(&problem))
            }
            GeneratorEvent::Answer(answer, at_ns) => Ok((answer, at_ns)),
            GeneratorEvent::Babbled(line) => {
                Err(link.failed(&format!("wrote `{line}`, which is not an answer of godwit")))
            }
            GeneratorEvent::Ended => Err(link.early_end_failure()),
        }
    }

    /// Returns the failure of the generator `index`, which sent another answer than the expected
    /// one.
    pub(crate) fn surprised(&self, index: usize, expected: &str, answer: &str) -> PerfdhcpFailure {
        self.links[index].failed(&format!("sent `{answer}` instead of {expected}"))
    }
}

impl Drop for GeneratorGroup<'_> {
    fn drop(&mut self) {
        // All generators are ordered to stop at once, because each may take its time.
        for link in &mut self.links {
            link.send_order(&GeneratorOrder::Stop);
            link.dismiss();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a generator that is the shell script `script`.
    fn group<'a>(script: &str, stop: &'a AtomicBool) -> GeneratorGroup<'a> {
        let (sender, events) = channel();
        let words = ["sh", "-c", script].map(String::from);
        let mut link = RemoteGenerator::start("there", &words, 0, sender).unwrap();
        // On a busy machine an end and its last words may take a while.
        link.set_grace(Duration::from_secs(300));
        GeneratorGroup { links: vec![link], events, stop }
    }

    fn problem(failure: PerfdhcpFailure) -> String {
        match failure {
            PerfdhcpFailure::Environment(problem) => problem,
            other => panic!("{other:?}"),
        }
    }

    fn greeting(group: &GeneratorGroup<'_>, within_ns: u64) -> PerfdhcpResult<Vec<u32>> {
        group.each(within_ns, "a greeting", |answer| match answer {
            GeneratorAnswer::Hello { protocol, .. } => Some(protocol),
            _ => None,
        })
    }

    #[test]
    fn what_says_nothing_is_given_up_and_what_takes_no_orders_ended() {
        let stop = AtomicBool::new(false);
        // The script reads nothing: the order that is written to it fills the pipe, and no write
        // waits for it.
        let mut silent = group("trap '' TERM; exec sleep 1000", &stop);
        silent.links[0].send_order(&GeneratorOrder::Prepare(Box::new(Prepare {
            words: vec!["x".repeat(1 << 20)],
            files: Vec::new(),
            part: GeneratorPart::WHOLE,
            seed: 1,
            local: None,
        })));
        let problem_text = problem(greeting(&silent, 1).unwrap_err());
        assert!(problem_text.starts_with("generator there: `sh -c trap"), "{problem_text}");
        assert!(problem_text.contains("did not send a greeting within"), "{problem_text}");
        silent.links[0].set_grace(Duration::ZERO);
        drop(silent);
    }

    #[test]
    fn what_ends_or_babbles_is_told_with_its_last_words() {
        let stop = AtomicBool::new(false);
        let ended = group("for n in 1 2 3 4 5 6; do echo line $n >&2; done; exit 7", &stop);
        let problem_text = problem(greeting(&ended, 300 * NS_PER_S).unwrap_err());
        let end = "ended too early (exit status: 7): line 3 / line 4 / line 5 / line 6";
        assert!(problem_text.ends_with(end), "{problem_text}");
        let babbling = group("echo Welcome to this machine; cat", &stop);
        let problem_text = problem(greeting(&babbling, 300 * NS_PER_S).unwrap_err());
        assert!(problem_text.contains("wrote `Welcome to this machine`"), "{problem_text}");
        let early = group(r#"echo '{"ready":{"local":"x"}}'; cat"#, &stop);
        let problem_text = problem(greeting(&early, 300 * NS_PER_S).unwrap_err());
        assert!(problem_text.contains("instead of a greeting"), "{problem_text}");
        let failing = group(r#"echo '{"failed":"no such interface"}'; cat"#, &stop);
        let problem_text = problem(greeting(&failing, 300 * NS_PER_S).unwrap_err());
        assert!(problem_text.ends_with("no such interface"), "{problem_text}");
    }

    #[test]
    fn a_signal_ends_the_wait() {
        let stop = AtomicBool::new(true);
        let waiting = group("cat", &stop);
        let result = greeting(&waiting, 1_000 * NS_PER_S);
        assert!(matches!(result, Err(PerfdhcpFailure::Interrupted)), "{result:?}");
    }
}
