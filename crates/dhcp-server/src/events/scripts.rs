//! Scripts that the configuration names, of the hook libraries run_script and legal_log: their
//! paths, and checks before a configuration is used.
//!
//! Scripts run in a process that the server has started before it confined itself; it exists only
//! if the configuration at the start of the server mentions scripts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use dhcp_config::{GlobalSettings, LegalLogDestination};
use netio::script_runner::ScriptRunner;

use crate::ServerError;
use crate::policy;

/// Texts in a configuration that names scripts: the name of a library, and parameters.
const MENTIONS: [&str; 4] = ["run_script", "prerotate", "postrotate", "<?include"];

/// Starts the process that runs scripts if the configuration file `path` mentions scripts, or
/// includes other files. Call it while this process has one thread.
pub(crate) fn start_runner(path: &Path) -> Option<Result<ScriptRunner, std::io::Error>> {
    let text = fs::read_to_string(path).unwrap_or_default();
    MENTIONS.iter().any(|mention| text.contains(mention)).then(ScriptRunner::fork)
}

/// Returns the path of the script that is configured as `name`.
pub(super) fn script_path(name: &str) -> PathBuf {
    if name.contains('/') { PathBuf::from(name) } else { policy::scripts_folder().join(name) }
}

/// Script of a configuration, with the library and the parameter that name it.
struct NamedScript<'c> {
    library: &'static str,
    parameter: &'static str,
    name: &'c str,
}

/// Returns the scripts that `config` names.
fn named_scripts(config: &GlobalSettings) -> impl Iterator<Item = NamedScript<'_>> {
    let run_script = config.run_script.as_ref().map(|run_script| NamedScript {
        library: "run_script",
        parameter: "name",
        name: &run_script.name,
    });
    let files = config.legal_log.as_ref().and_then(|log| match &log.destination {
        LegalLogDestination::Files(files) => Some(files),
        LegalLogDestination::Syslog(_) | LegalLogDestination::Database(_) => None,
    });
    let of_log = files.into_iter().flat_map(|files| {
        let named = [("prerotate", &files.prerotate), ("postrotate", &files.postrotate)];
        named.into_iter().filter_map(|(parameter, name)| {
            Some(NamedScript { library: "legal_log", parameter, name: name.as_deref()? })
        })
    });
    run_script.into_iter().chain(of_log)
}

/// Checks that the scripts of a configuration exist and are executable, as Kea does when it loads
/// the libraries, and that this process can have scripts run.
///
/// # Errors
///
/// The reason why a library cannot be loaded.
pub(crate) fn check(config: &GlobalSettings, has_runner: bool) -> Result<(), ServerError> {
    for NamedScript { library, parameter, name } in named_scripts(config) {
        let path = script_path(name);
        let fault = match fs::metadata(&path) {
            Err(_) => format!("File not found: {}", path.display()),
            Ok(metadata) if metadata.permissions().mode() & 0o100 == 0 => {
                format!("File not executable: {}", path.display())
            }
            Ok(_) if has_runner => continue,
            Ok(_) => {
                let reason = "the server has given up the right to run programs, since its \
                              configuration named no script when it started; restart the server";
                return Err(ServerError::HookLibrary { library, reason: reason.to_owned() });
            }
        };
        let reason = format!("Invalid '{parameter}' parameter: {fault}");
        return Err(ServerError::HookLibrary { library, reason });
    }
    Ok(())
}
