//! What passes between the control thread, which talks to clients, and the supervisor, which
//! carries out what they ask: one question at a time, each with the line that its answer takes.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use netio::Waker;
use serde_json::Value;
use tokio::sync::oneshot;

/// Questions that wait at most; a connection has one under way.
const WAITING_MAX: usize = 1_024;

/// What a client wants.
#[derive(Debug)]
pub(crate) enum Question {
    /// A command; the answer is a map as JSON.
    Command(Value),
    /// The counters, as Prometheus reads them.
    Metrics,
}

/// A question with the line for its answer.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) question: Question,
    answer: oneshot::Sender<String>,
}

impl Asked {
    /// Answers. A client that has gone away meanwhile is nobody's fault.
    pub(crate) fn answer(self, text: String) {
        self.answer.send(text).ok();
    }
}

/// The asking end.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    questions: SyncSender<Asked>,
    waker: Arc<Waker>,
}

/// The answering end.
#[derive(Debug)]
pub(crate) struct Inbox {
    questions: Receiver<Asked>,
    waker: Arc<Waker>,
}

/// Both ends; `waker` is woken for each question.
pub(super) fn channel(waker: Arc<Waker>) -> (Asking, Inbox) {
    let (sender, questions) = sync_channel(WAITING_MAX);
    (Asking { questions: sender, waker: Arc::clone(&waker) }, Inbox { questions, waker })
}

impl Asking {
    /// The answer to `question`; `None` when too much waits already, or nobody answers any more.
    pub(super) async fn ask(&self, question: Question) -> Option<String> {
        let (answer, answered) = oneshot::channel();
        self.questions.try_send(Asked { question, answer }).ok()?;
        self.waker.wake();
        answered.await.ok()
    }
}

impl Inbox {
    /// What to poll: readable when there is a question.
    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// The next question, if there is one.
    pub(crate) fn next(&self) -> Option<Asked> {
        self.questions.try_recv().ok()
    }
}
