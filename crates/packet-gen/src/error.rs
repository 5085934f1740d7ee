//! Error of a refused operation on an interface.

use base::ToolError;
use netio::NetError;

/// Returns the error of the packet generator whose operation the kernel refused, with a hint at the
/// remedy.
pub(crate) fn refused(error: NetError) -> ToolError {
    let hint = match error.cause().raw_os_error() {
        // EPERM
        Some(1) => "; it needs root, or CAP_NET_RAW",
        // ENOMEM, and ENOBUFS for memory that may not be locked
        Some(12 | 105) => "; a smaller ring (-S) may fit",
        // EBUSY: by AF_XDP only
        Some(16) => "; another AF_XDP socket uses this transmit queue",
        // EAFNOSUPPORT: by AF_XDP only
        Some(97) => "; this kernel has no AF_XDP; use --path ring",
        _ => "",
    };
    ToolError::Failed(format!("{error}{hint}"))
}
