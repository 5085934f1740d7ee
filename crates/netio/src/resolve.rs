//! Resolution of addresses as users write them: an IP address or the name of a host, with or
//! without a port.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};

/// Returns the address and the port that `text` names: an address or the name of a host, followed
/// by `:PORT`, or with the port `port` if `text` has none. If the host has several addresses, the
/// first for which `is_wanted` returns true counts.
///
/// # Errors
///
/// A text: the name is not known, or has no address that is wanted.
pub fn endpoint(
    text: &str,
    port: Option<u16>,
    is_wanted: impl Fn(IpAddr) -> bool,
) -> Result<SocketAddr, String> {
    if let Ok(exact) = text.parse::<SocketAddr>() {
        if !is_wanted(exact.ip()) {
            return Err(format!("{text}: has no address of the wanted IP version"));
        }
        return Ok(exact);
    }
    let (host, own_port) = parts(text)?;
    let port = own_port.or(port).ok_or_else(|| format!("{text}: a port is missing, :PORT"))?;
    let addresses = (host, port).to_socket_addrs();
    let addresses = addresses
        .map_err(|_| format!("{text}: neither an address nor the name of a known host"))?;
    let mut addresses = addresses.peekable();
    let has_any = addresses.peek().is_some();
    match addresses.find(|address| is_wanted(address.ip())) {
        Some(address) => Ok(address),
        None if has_any => Err(format!("{text}: has no address of the wanted IP version")),
        None => Err(format!("{text}: has no address")),
    }
}

/// Returns the address and port that `text` names, as [`endpoint`] does, for a flag that needs a
/// port.
///
/// # Errors
///
/// The errors of [`endpoint`].
pub fn with_port(text: &str) -> Result<SocketAddr, String> {
    endpoint(text, None, |_| true)
}

/// Splits `text` into the host and the port, if it has one.
fn parts(text: &str) -> Result<(&str, Option<u16>), String> {
    let wrong = |port: &str| format!("{text}: {port} is not a port, which is a number up to 65535");
    let read = |port: &str| port.parse::<u16>().map_err(|_| wrong(port));
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or_else(|| format!("{text}: ] is missing"))?;
        let port = match rest.strip_prefix(':') {
            Some(port) => Some(read(port)?),
            None if rest.is_empty() => None,
            None => return Err(format!("{text}: after ] only :PORT may follow")),
        };
        return Ok((host, port));
    }
    match text.split_once(':') {
        // Two colons are an address of IPv6 without a port.
        Some((_, rest)) if rest.contains(':') => Ok((text, None)),
        Some((host, port)) if !host.is_empty() => Ok((host, Some(read(port)?))),
        Some(_) => Err(format!("{text}: an address or the name of a host is missing")),
        None => Ok((text, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_names_have_ports_or_get_them() {
        let resolved = |text| endpoint(text, Some(53), |ip| text != "localhost" || ip.is_ipv4());
        for (text, expected) in [
            ("192.0.2.7", "192.0.2.7:53"),
            ("192.0.2.7:5353", "192.0.2.7:5353"),
            ("2001:db8::7", "[2001:db8::7]:53"),
            ("[2001:db8::7]", "[2001:db8::7]:53"),
            ("[2001:db8::7]:5353", "[2001:db8::7]:5353"),
            ("localhost", "127.0.0.1:53"),
        ] {
            assert_eq!(resolved(text), Ok(expected.parse().unwrap()), "{text}");
        }
        assert_eq!(with_port("localhost:5399").unwrap().port(), 5399);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, words) in [
            ("127.0.0.1", "a port is missing"),
            ("127.0.0.1:x", "x is not a port"),
            ("127.0.0.1:65536", "65536 is not a port"),
            ("[::1", "] is missing"),
            ("[::1]53", "only :PORT"),
            (":53", "is missing"),
            ("256.0.0.1:53", "neither an address nor the name of a known host"),
        ] {
            let error = with_port(text).unwrap_err();
            assert!(error.contains(words) && error.starts_with(text), "{error}");
        }
        assert!(endpoint("127.0.0.1", Some(1), |ip| ip.is_ipv6()).is_err());
    }
}
