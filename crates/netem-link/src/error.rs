//! Error of a refused operation on an interface.

use base::ToolError;
use netio::NetError;

/// Returns the error of an emulated link whose operation the kernel refused, with a hint at missing
/// privileges.
pub(crate) fn refused(error: NetError) -> ToolError {
    let hint = match error.cause().raw_os_error() {
        // EPERM
        Some(1) => "; it needs root, or CAP_NET_RAW and CAP_NET_ADMIN",
        _ => "",
    };
    ToolError::Failed(format!("{error}{hint}"))
}
