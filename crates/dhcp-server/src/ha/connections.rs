//! Connections to the partner for updates of leases: they stay open, and each has one request under
//! way at a time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dhcp_ha::CommandResult;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::http_client::{CommandRequest, PersistentConnection};

/// Number of connections if the configuration sets none.
const CONNECTIONS_DEFAULT: usize = 4;
/// Maximum number of connections.
const CONNECTIONS_MAX: usize = 64;

/// Requests that are to be sent, and what has become of the others.
struct Work {
    /// Bodies with their positions.
    bodies: VecDeque<(usize, String)>,
    answers: Vec<Result<CommandResult, String>>,
    idle: Vec<PersistentConnection>,
    /// True after the first failure: further requests would only wait for another one.
    has_failed: bool,
}

/// Open connections to the partner.
pub(super) struct PartnerConnections {
    runtime: Option<Runtime>,
    idle: Vec<PersistentConnection>,
    count: usize,
}

impl PartnerConnections {
    /// Creates the set without a connection; at most `count` will be open, 0 for the default.
    pub(super) fn new(count: u32) -> Self {
        let count = match count as usize {
            0 => CONNECTIONS_DEFAULT,
            count => count.min(CONNECTIONS_MAX),
        };
        Self { runtime: None, idle: Vec::new(), count }
    }

    /// Sends a request with each of `bodies`, as `request` otherwise says, and returns the answers
    /// in the same order. After a failure the rest is not sent and fails for the same reason.
    pub(super) fn send_all(
        &mut self,
        request: &CommandRequest,
        bodies: Vec<String>,
    ) -> Vec<Result<CommandResult, String>> {
        let count = bodies.len();
        let runtime = match self.runtime.take() {
            Some(runtime) => Ok(runtime),
            None => tokio::runtime::Builder::new_current_thread().enable_all().build(),
        };
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return vec![Err(format!("cannot wait for sockets: {error}")); count],
        };
        let work = Work {
            bodies: bodies.into_iter().enumerate().collect(),
            answers: vec![Err("not sent after a failure".to_owned()); count],
            idle: core::mem::take(&mut self.idle),
            has_failed: false,
        };
        let work = Arc::new(Mutex::new(work));
        runtime.block_on(async {
            let mut workers = JoinSet::new();
            for _ in 0..self.count.min(count) {
                workers.spawn(send_until_empty(Arc::clone(&work), request.clone()));
            }
            while workers.join_next().await.is_some() {}
        });
        self.runtime = Some(runtime);
        let mut work = lock(&work);
        self.idle = core::mem::take(&mut work.idle);
        core::mem::take(&mut work.answers)
    }
}

fn lock(work: &Mutex<Work>) -> MutexGuard<'_, Work> {
    work.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends requests over one connection until none is left or one has failed.
async fn send_until_empty(work: Arc<Mutex<Work>>, mut request: CommandRequest) {
    let mut connection = lock(&work).idle.pop();
    loop {
        let (at, body) = {
            let mut work = lock(&work);
            match work.bodies.pop_front() {
                Some(next) if !work.has_failed => next,
                _ => break,
            }
        };
        request.body = body;
        let answer = send(&mut connection, &request).await;
        let mut work = lock(&work);
        work.has_failed |= answer.is_err();
        if let Some(slot) = work.answers.get_mut(at) {
            *slot = answer;
        }
    }
    lock(&work).idle.extend(connection);
}

/// Sends one request over `connection`, which is opened if it is not. A connection that has been
/// idle may have been closed by the partner: then the request is sent once more over a new one.
async fn send(
    connection: &mut Option<PersistentConnection>,
    request: &CommandRequest,
) -> Result<CommandResult, String> {
    loop {
        let was_open = connection.is_some();
        let limited = tokio::time::timeout(request.timeout, async {
            let mut open = match connection.take() {
                Some(open) => open,
                None => PersistentConnection::open(request).await?,
            };
            let response = open.send(request).await?;
            Ok::<_, String>((open, response))
        });
        let response = match limited.await {
            Err(_) => return Err(no_answer(request.timeout)),
            Ok(Err(_)) if was_open => continue,
            Ok(Err(why)) => return Err(why),
            Ok(Ok((open, response))) => {
                *connection = Some(open);
                response
            }
        };
        return match response.status {
            200 => CommandResult::parse(&response.body),
            status => Err(format!("status {status} {}", response.reason)),
        };
    }
}

fn no_answer(limit: Duration) -> String {
    format!("no answer within {} ms", limit.as_millis())
}
