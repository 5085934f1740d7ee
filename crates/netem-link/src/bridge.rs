//! Running emulated link: threads for both directions, and their control.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use base::{Random, ToolError, ToolResult};
use netem::{EmulatedLink, LinkSettings};
use netio::{NetError, Waker};
use serde::{Deserialize, Serialize};

use crate::LinkInterface;
use crate::direction::{DirectionNames, DirectionOrder, LinkDirection};
use crate::ends::{self, LinkSockets};
use crate::error::refused;
use crate::report::{DirectionReport, LinkReport, SCHEMA};

/// Description of an emulated link to be started between two interfaces.
#[derive(Clone, Debug)]
pub struct LinkRequest {
    /// Network interfaces at the two ends of the link.
    pub interfaces: [LinkInterface; 2],
    /// Settings of the link per direction: forward, from the first to the second interface, and
    /// backward.
    pub settings: [LinkSettings; 2],
    /// Seed of the link's random numbers: with the same seed the same packets of a sequence are
    /// lost. Each direction has its own numbers. A `seed` in the settings takes precedence.
    pub seed: u64,
    /// Path of the link's control socket; `None` for a link without one.
    pub socket: Option<PathBuf>,
    /// Interval between two reports of the link; `None` for no reports.
    pub interval: Option<Duration>,
    /// Time after which the link ends by itself; `None` to run until it is stopped.
    pub duration: Option<Duration>,
}

/// Directions of an emulated link that a command concerns: one or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DirectionSelector {
    /// Direction from the first interface to the second.
    Forward,
    /// Direction from the second interface to the first.
    Backward,
    /// Both directions of the link.
    Both,
}

impl DirectionSelector {
    /// Returns the indexes of the selected directions: 0 for forward, 1 for backward.
    const fn indexes(self) -> &'static [usize] {
        match self {
            Self::Forward => &[0],
            Self::Backward => &[1],
            Self::Both => &[0, 1],
        }
    }
}

/// Handle of the thread that moves packets in one direction.
struct DirectionHandle {
    orders: Sender<DirectionOrder>,
    waker: Arc<Waker>,
    /// Thread of the direction; `None` after it was joined.
    thread: Option<JoinHandle<Result<DirectionReport, NetError>>>,
}

impl DirectionHandle {
    /// Sends an order to the direction's thread. If the thread has ended, joining it reports that.
    fn order(&self, order: DirectionOrder) {
        self.orders.send(order).ok();
        self.waker.wake();
    }

    /// Ends the direction's thread and returns its report, or the error that had ended it.
    fn end(&mut self) -> Option<Result<DirectionReport, NetError>> {
        let thread = self.thread.take()?;
        self.order(DirectionOrder::Stop);
        Some(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

impl Drop for DirectionHandle {
    fn drop(&mut self) {
        self.end();
    }
}

/// Running emulated link between two interfaces. [`Bridge::stop`] ends it.
pub struct Bridge {
    directions: [DirectionHandle; 2],
    seed: u64,
    began: Instant,
    /// Event object that a direction wakes when it has ended by itself.
    ended: Arc<Waker>,
    warnings: Vec<String>,
}

impl Bridge {
    /// Opens the interfaces of the link and begins to move packets.
    ///
    /// # Errors
    ///
    /// An interface is missing or unusable, or the privilege is missing.
    pub fn start(request: &LinkRequest) -> ToolResult<Self> {
        let [first, second] = &request.interfaces;
        if first == second {
            let text = format!("both ends are {first}: a link needs two different interfaces");
            return Err(ToolError::Usage(text));
        }
        if first.is_tun != second.is_tun {
            let text = format!(
                "{first} and {second}: both ends must be TUN devices or none, because packets of \
                 TUN devices have no Ethernet header"
            );
            return Err(ToolError::Usage(text));
        }
        let first_end = ends::open(first)?;
        let second_end = ends::open(second)?;
        let mut warnings: Vec<String> = request.settings.iter().flat_map(crate::warnings).collect();
        warnings.dedup();
        if let (Some(near), Some(far)) =
            (first_end.output.mtu_bytes(), second_end.output.mtu_bytes())
            && near != far
        {
            warnings.push(format!(
                "{first} has an MTU of {near} and {second} one of {far}: the interface with the \
                 smaller MTU refuses longer packets"
            ));
        }
        let ended =
            Arc::new(Waker::new().map_err(ToolError::cannot("create", "an event descriptor"))?);
        let mut random = Random::from_seed(request.seed);
        let mut start = |name, index: usize, [from, to]: [&LinkInterface; 2], sockets| {
            let names = DirectionNames { name, from: from.to_string(), to: to.to_string() };
            let seed = random.fork(index as u64).next_u64();
            let link = EmulatedLink::new(request.settings[index].clone(), seed);
            spawn(names, link, sockets, &ended)
        };
        let forward = LinkSockets { input: first_end.input, output: second_end.output };
        let backward = LinkSockets { input: second_end.input, output: first_end.output };
        let directions = [
            start("forward", 0, [first, second], forward)?,
            start("backward", 1, [second, first], backward)?,
        ];
        Ok(Self { directions, seed: request.seed, began: Instant::now(), ended, warnings })
    }

    /// Returns warnings about link settings that are permitted but hardly intended.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the event object that becomes readable when a direction has ended by itself;
    /// [`Bridge::stop`] then returns the reason.
    pub fn ended(&self) -> &Waker {
        &self.ended
    }

    /// Replaces the settings of the selected directions from the next batch of packets on. Packets
    /// under way keep their time.
    pub fn change(&self, direction: DirectionSelector, settings: &LinkSettings) {
        for &index in direction.indexes() {
            self.directions[index].order(DirectionOrder::Change(Box::new(settings.clone())));
        }
    }

    /// Returns the report of the link so far; `None` if a direction has ended by itself.
    pub fn report(&self) -> Option<LinkReport> {
        let reports: Option<Vec<DirectionReport>> = self
            .directions
            .iter()
            .map(|handle| {
                let (answer, report) = mpsc::sync_channel(1);
                handle.order(DirectionOrder::Show(answer));
                report.recv().ok()
            })
            .collect();
        reports.map(|directions| self.report_of(directions))
    }

    fn report_of(&self, directions: Vec<DirectionReport>) -> LinkReport {
        let elapsed_s = self.began.elapsed().as_secs_f64();
        LinkReport { schema: SCHEMA.to_owned(), seed: self.seed, elapsed_s, directions }
    }

    /// Ends both directions of the link and returns the final report. Packets under way are lost.
    ///
    /// # Errors
    ///
    /// The error that had ended a direction.
    pub fn stop(mut self) -> ToolResult<LinkReport> {
        let ended: Vec<_> = self.directions.iter_mut().filter_map(DirectionHandle::end).collect();
        let directions = ended.into_iter().collect::<Result<_, _>>().map_err(refused)?;
        Ok(self.report_of(directions))
    }
}

fn spawn(
    names: DirectionNames,
    link: EmulatedLink,
    sockets: LinkSockets,
    ended: &Arc<Waker>,
) -> ToolResult<DirectionHandle> {
    let (orders, inbox) = mpsc::channel();
    let waker = Arc::new(Waker::new().map_err(ToolError::cannot("create", "an event descriptor"))?);
    let direction = LinkDirection::new(names, link, sockets, inbox, Arc::clone(&waker));
    let ended = Arc::clone(ended);
    let thread = thread::Builder::new()
        .spawn(move || {
            let done = direction.run();
            ended.wake();
            done
        })
        .map_err(ToolError::cannot("start", "a thread"))?;
    Ok(DirectionHandle { orders, waker, thread: Some(thread) })
}
