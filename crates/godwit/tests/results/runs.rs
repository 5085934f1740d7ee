//! Plan whose runs end within about a second.

use std::path::Path;

/// Writes a plan with `count` runs, with a responder instead of a server, into `folder`, and
/// returns its name.
pub(crate) fn runs_plan(folder: &Path, count: u32) -> String {
    let text = format!(
        "name = \"runs\"\ntitle = \"Test\"\ntopology = \"loopback\"\ntime_budget_s = 3000.0\n\
         [runs]\ncount = {count}\n[search]\nloss_percent = 99.0\ndeadline_s = 10.0\nstart_per_s = 100.0\nmax_per_s = 400.0\ndwell_s = 0.1\n\
         confirm_dwell_s = 0.1\nbisections = 0\n[blocks]\ndwell_s = 0.0\n\
         [curve]\nfractions = []\n[clients]\ncount = 100\n[server]\npool_size = 4096\ndurability = [\"always\"]\n\
         [void]\nlate_sends_percent = 100.0\nsocket_drops_percent = 100.0\n\
         softnet_drops_percent = 100.0\nsteal_percent = 100.0\n"
    );
    std::fs::write(folder.join("runs.toml"), text).expect("a plan");
    "runs.toml".to_owned()
}
