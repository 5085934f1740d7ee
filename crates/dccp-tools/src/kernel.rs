//! The kernel's own DCCP as a carrier: its socket options, and its errors in the words of Godwit's
//! own DCCP stack.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use base::{ToolError, ToolResult};
use dccp_link::{ConnectionConfig, DccpError, Peer, Reset, ResetCode};
use netio::{DccpOptions, DccpSocket, NetError};

use crate::options::LinkArgs;

/// Returns the options of the kernel's DCCP socket that the flags request. The kernel chooses all
/// other options.
pub(crate) fn options(link: &LinkArgs, config: &ConnectionConfig) -> DccpOptions {
    let sets_tx = link.tx_ccid.or(link.ccid).is_some() || link.sets("tx_ccid");
    let sets_rx = link.rx_ccid.or(link.ccid).is_some() || link.sets("rx_ccid");
    let queue_len = u32::try_from(config.send_queue_len).unwrap_or(u32::MAX);
    DccpOptions {
        service_code: config.service_code.value(),
        tx_ccids: if sets_tx { config.tx_ccids.clone() } else { Vec::new() },
        rx_ccids: if sets_rx { config.rx_ccids.clone() } else { Vec::new() },
        send_coverage: config.send_coverage,
        minimum_coverage: config.minimum_coverage,
        send_queue_len: link.sets("tx_qlen").then_some(queue_len),
    }
}

/// Returns a DCCP socket of the kernel that listens at the port and for the IP versions that the
/// flags name.
///
/// # Errors
///
/// Returns an error when the kernel refuses the socket, the address or the port.
pub(crate) fn listen(
    link: &LinkArgs,
    config: &ConnectionConfig,
    backlog: u16,
) -> ToolResult<DccpSocket> {
    let options = options(link, config);
    let listen = |address: IpAddr| {
        let address = SocketAddr::new(address, link.port);
        DccpSocket::listen(address, link.v6, backlog, &options)
    };
    let (v4, v6) = (Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into());
    let listener = match (link.v4, link.v6) {
        (true, _) => listen(v4),
        (_, true) => listen(v6),
        // A machine may have no IPv6.
        _ => listen(v6).or_else(|_| listen(v4)),
    };
    listener.map_err(open_error)
}

/// Bytes that the kernel's CCID 2 adds to a packet without having reserved room for them: Changes
/// and Confirms of Sequence Window and Ack Ratio, an Ack Vector of four runs. The kernel drops a
/// packet that they make longer than the path permits, then adds them to the next one, for ever.
const UNRESERVED_BYTES: usize = 32;

/// Returns the largest datagram in bytes with which the kernel still sends every packet.
pub(crate) fn packet_bytes_max(socket: &DccpSocket) -> io::Result<usize> {
    Ok(socket.packet_bytes_max()?.saturating_sub(UNRESERVED_BYTES))
}

/// Returns the error for a kernel DCCP socket that cannot be opened, with advice when this kernel
/// has no DCCP.
pub(crate) fn open_error(error: NetError) -> ToolError {
    if netio::dccp::is_absent(error.cause()) {
        return ToolError::Failed(format!(
            "{error}; Linux has DCCP up to version 6.15, usually as module dccp_ipv4; --carrier \
             udp and --carrier raw do not need it"
        ));
    }
    DccpError::Net(error).into()
}

/// Returns the error for a client whose connection over the kernel's DCCP could not be begun.
pub(crate) fn explain(error: NetError, peer: Peer) -> ToolError {
    match reset_of(error.cause()) {
        Some(reset) => DccpError::Refused { peer, reset }.into(),
        None => open_error(error),
    }
}

/// Returns the error for a client that the server refused, or that could not reach it.
pub(crate) fn refusal(peer: Peer, cause: io::Error) -> DccpError {
    match reset_of(&cause) {
        Some(reset) => DccpError::Refused { peer, reset },
        None => DccpError::Unreachable { peer, cause },
    }
}

/// Returns the error for an open connection over the kernel's DCCP that ended.
pub(crate) fn connection_error(cause: io::Error) -> DccpError {
    match (reset_of(&cause), cause.kind()) {
        (Some(reset), _) => DccpError::Reset(reset),
        (None, io::ErrorKind::NotConnected | io::ErrorKind::BrokenPipe) => DccpError::Closed,
        (None, _) => DccpError::Net(NetError::new("use", "a kernel DCCP socket", cause)),
    }
}

/// Returns the Reset that an error number of the kernel stands for. The data of the Reset stays in
/// the kernel.
fn reset_of(error: &io::Error) -> Option<Reset> {
    let number = netio::dccp::reset_number(error)?;
    Some(Reset::plain(ResetCode::from_number(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_keeps_its_choice_where_no_flag_asks() {
        let link = LinkArgs::default();
        let socket_options = options(&link, &link.config().unwrap());
        assert_eq!(
            (socket_options.tx_ccids, socket_options.rx_ccids, socket_options.send_queue_len),
            (vec![], vec![], None)
        );
        let link =
            LinkArgs { ccid: Some(3), parameters: vec!["tx_qlen=9".into()], ..LinkArgs::default() };
        let socket_options = options(&link, &link.config().unwrap());
        assert_eq!((socket_options.tx_ccids, socket_options.rx_ccids), (vec![3], vec![3]));
        assert_eq!(socket_options.send_queue_len, Some(9));
    }
}
