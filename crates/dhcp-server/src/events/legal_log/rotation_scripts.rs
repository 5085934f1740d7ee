//! Scripts of the legal log (`prerotate`, `postrotate`): each is called with the path of a file,
//! and nothing waits for its end.

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dhcp_config::LegalLogFiles;

use crate::events::script_pool::{PoolCall, ScriptPool};
use crate::events::scripts::script_path;

/// Time after which a script is killed: it may compress a large file. Kea lets it run.
const RUN_LIMIT: Duration = Duration::from_secs(24 * 3_600);

/// Scripts that are called when a new file of the legal log begins. The default is none.
#[derive(Default)]
pub(super) struct RotationScripts {
    before: Option<PathBuf>,
    after: Option<PathBuf>,
    /// Scripts that run; `None` if this process cannot run any.
    pool: Option<Arc<ScriptPool>>,
    #[cfg(test)]
    calls: Vec<String>,
}

impl RotationScripts {
    /// Returns the scripts of `settings`, which run in `pool`.
    pub(super) fn new(settings: &LegalLogFiles, pool: Option<&Arc<ScriptPool>>) -> Self {
        Self {
            before: settings.prerotate.as_deref().map(script_path),
            after: settings.postrotate.as_deref().map(script_path),
            pool: pool.cloned(),
            #[cfg(test)]
            calls: Vec::new(),
        }
    }

    /// Calls the script `prerotate` for `file`, which has ended.
    pub(super) fn call_before(&mut self, file: &Path) {
        #[cfg(test)]
        self.calls.push(format!("before {}", file.display()));
        self.call(self.before.as_ref(), file);
    }

    /// Calls the script `postrotate` for `file`, which has begun.
    pub(super) fn call_after(&mut self, file: &Path) {
        #[cfg(test)]
        self.calls.push(format!("after {}", file.display()));
        self.call(self.after.as_ref(), file);
    }

    fn call(&self, script: Option<&PathBuf>, file: &Path) {
        if let (Some(script), Some(pool)) = (script, &self.pool) {
            pool.call_later(PoolCall {
                script: script.clone(),
                argument: file.as_os_str().as_bytes().to_vec(),
                variables: Vec::new(),
                limit: RUN_LIMIT,
            });
        }
    }

    /// Returns the calls since the last time.
    #[cfg(test)]
    pub(super) fn take_calls(&mut self) -> Vec<String> {
        std::mem::take(&mut self.calls)
    }
}

impl fmt::Debug for RotationScripts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, after, .. } = self;
        f.debug_struct("RotationScripts")
            .field("before", before)
            .field("after", after)
            .finish_non_exhaustive()
    }
}
