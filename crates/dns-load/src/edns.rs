//! Flags of `godwit dns load` for the content of every query's OPT record (RFC 6891).

use std::net::IpAddr;

use dns_wire::Edns;

/// Default of the largest UDP payload in a query's EDNS fields, in bytes.
pub(crate) const EDNS_BYTES: u16 = 4_096;
/// Largest length of an answer without EDNS, in bytes (RFC 1035 section 4.2.1).
pub(crate) const PLAIN_BYTES: u16 = 512;
/// Code of the EDNS option client subnet (RFC 7871); the next constants are cookie (RFC 7873) and
/// padding (RFC 7830).
const CLIENT_SUBNET: u16 = 8;
pub(crate) const COOKIE: u16 = 10;
const PADDING: u16 = 12;
/// Largest length of all EDNS options of a query together, in bytes, so that the query stays a
/// datagram.
const OPTIONS_BYTES_MAX: usize = 4_096;

/// Flags for the OPT record of every query.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct EdnsArgs {
    /// UDP payload size in bytes that queries offer by EDNS; 0 sends queries without EDNS [default:
    /// 4096]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    edns: Option<u16>,
    /// UDP payload size in bytes that queries offer where `--edns` is not given.
    #[arg(skip = EDNS_BYTES)]
    default_bytes: u16,
    /// Request DNSSEC records (set the bit DO)
    #[arg(long)]
    dnssec: bool,
    /// Send a client subnet in every query (RFC 7871), for instance 192.0.2.0/24
    #[arg(long, value_name = "PREFIX", value_parser = parse_subnet)]
    client_subnet: Option<ClientSubnet>,
    /// Send a cookie in every query (RFC 7873); the server's part is requested once before the run
    #[arg(long)]
    pub(crate) cookie: bool,
    /// Pad queries to a multiple of N bytes (RFC 7830; 128 is recommended)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    padding: Option<u16>,
    /// Add an EDNS option to every query by its number, with its data in hex; may be given several
    /// times
    #[arg(long, short = 'E', value_name = "CODE[:HEX]", value_parser = parse_option)]
    edns_option: Vec<EdnsOption>,
}

/// Option of a query's OPT record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EdnsOption {
    /// Number of the EDNS option.
    pub(crate) code: u16,
    /// Data of the EDNS option.
    pub(crate) data: Vec<u8>,
}

/// Subnet of a client for the EDNS option Client Subnet (RFC 7871).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClientSubnet {
    address: IpAddr,
    prefix_bits: u8,
}

fn parse_bytes(text: &str) -> Result<u16, String> {
    let bytes = text.parse().ok().filter(|&bytes| bytes == 0 || bytes >= PLAIN_BYTES);
    bytes.ok_or_else(|| "must be 0 or a number of bytes from 512 to 65535".into())
}

fn parse_subnet(text: &str) -> Result<ClientSubnet, String> {
    let wrong =
        || "must be an address and a number of bits, like 192.0.2.0/24 or 2001:db8::/56".to_owned();
    let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let prefix_bits = match bits {
        Some(bits) => bits.parse().ok().filter(|&bits| bits <= most).ok_or_else(wrong)?,
        None => most,
    };
    Ok(ClientSubnet { address, prefix_bits })
}

/// Parses an EDNS option: its number and, after a colon, its data in hex, as dnsperf writes them.
pub(crate) fn parse_option(text: &str) -> Result<EdnsOption, String> {
    let wrong =
        || "must be a number up to 65535 and data in hex, like 10:0011223344556677".to_owned();
    let (code, data) = text.split_once(':').unwrap_or((text, ""));
    let code = code.parse().map_err(|_| wrong())?;
    let is_hex =
        data.len().is_multiple_of(2) && data.bytes().all(|octet| octet.is_ascii_hexdigit());
    if !is_hex || data.len() / 2 > OPTIONS_BYTES_MAX {
        return Err(wrong());
    }
    let data =
        (0..data.len()).step_by(2).filter_map(|at| u8::from_str_radix(&data[at..at + 2], 16).ok());
    Ok(EdnsOption { code, data: data.collect() })
}

impl ClientSubnet {
    /// Returns the EDNS option Client Subnet (RFC 7871 section 6): bits after the prefix are 0,
    /// bytes after it are left out.
    fn option(self) -> EdnsOption {
        let (family, octets) = match self.address {
            IpAddr::V4(address) => (1, address.octets().to_vec()),
            IpAddr::V6(address) => (2, address.octets().to_vec()),
        };
        let len = usize::from(self.prefix_bits).div_ceil(8);
        let mut data = vec![0, family, self.prefix_bits, 0];
        data.extend(octets.iter().take(len));
        if let (Some(last), rest @ 1..) = (data.last_mut(), self.prefix_bits % 8) {
            *last &= 0xff << (8 - rest);
        }
        EdnsOption { code: CLIENT_SUBNET, data }
    }
}

impl Default for EdnsArgs {
    fn default() -> Self {
        Self {
            edns: None,
            default_bytes: EDNS_BYTES,
            dnssec: false,
            client_subnet: None,
            cookie: false,
            padding: None,
            edns_option: Vec::new(),
        }
    }
}

impl EdnsArgs {
    /// Returns the settings of the OPT record for a file whose queries are sent as dnsperf sends
    /// them.
    pub(crate) fn for_dnsperf(uses_edns: bool, dnssec: bool, options: &[EdnsOption]) -> Self {
        let has_edns = uses_edns || dnssec || !options.is_empty();
        Self {
            edns: has_edns.then_some(EDNS_BYTES),
            default_bytes: 0,
            dnssec,
            edns_option: options.to_vec(),
            ..Self::default()
        }
    }

    /// Returns the UDP payload size that queries offer, in bytes; 0 without EDNS.
    pub(crate) fn payload_bytes(&self) -> u16 {
        self.edns.unwrap_or(self.default_bytes)
    }

    /// Returns the OPT record of the queries without options; `None` if queries have no EDNS.
    pub(crate) fn record(&self) -> Option<Edns> {
        (self.payload_bytes() > 0).then_some(Edns {
            udp_payload_bytes: self.payload_bytes(),
            extended_rcode: 0,
            version: 0,
            dnssec_ok: self.dnssec,
        })
    }

    /// Returns the block size in bytes to a multiple of which queries are padded; 0 for no padding.
    pub(crate) fn padding_block(&self) -> u16 {
        self.padding.unwrap_or(0)
    }

    /// Returns the name of the first EDNS flag on the command line; `None` without any.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        self.contents().next().or_else(|| self.edns.map(|_| "--edns"))
    }

    /// Returns the names of the EDNS flags on the command line, other than `--edns`.
    fn contents(&self) -> impl Iterator<Item = &'static str> {
        let flags = [
            (self.dnssec, "--dnssec"),
            (self.client_subnet.is_some(), "--client-subnet"),
            (self.cookie, "--cookie"),
            (self.padding.is_some(), "--padding"),
            (!self.edns_option.is_empty(), "--edns-option"),
        ];
        flags.into_iter().filter_map(|(is_given, flag)| is_given.then_some(flag))
    }

    /// Returns the options as they are in the queries' OPT record, with `cookie` among them.
    ///
    /// # Errors
    ///
    /// Fails when the options are too long, or when queries have no record for them.
    pub(crate) fn options(&self, cookie: Option<EdnsOption>) -> Result<Vec<u8>, String> {
        if self.payload_bytes() == 0
            && let Some(flag) = self.contents().next()
        {
            return Err(format!("{flag} needs EDNS, which --edns 0 leaves out"));
        }
        let own = [
            (CLIENT_SUBNET, self.client_subnet.is_some(), "--client-subnet"),
            (COOKIE, self.cookie, "--cookie"),
            (PADDING, self.padding.is_some(), "--padding"),
        ];
        for (code, is_given, flag) in own {
            if is_given && self.edns_option.iter().any(|option| option.code == code) {
                return Err(format!(
                    "{flag} and -E {code} are the same option: give only one of them"
                ));
            }
        }
        let subnet = self.client_subnet.map(ClientSubnet::option);
        let mut octets = Vec::new();
        for option in subnet.iter().chain(&cookie).chain(&self.edns_option) {
            octets.extend(option.code.to_be_bytes());
            // An option has at most 4,096 bytes.
            octets.extend((option.data.len() as u16).to_be_bytes());
            octets.extend(&option.data);
        }
        if octets.len() > OPTIONS_BYTES_MAX {
            return Err(format!(
                "the EDNS options have {} bytes; at most {OPTIONS_BYTES_MAX} are allowed",
                octets.len()
            ));
        }
        Ok(octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_written_as_their_rfcs_say() {
        let option = |text: &str| parse_subnet(text).unwrap().option().data;
        assert_eq!(option("192.0.2.129/25"), [0, 1, 25, 0, 192, 0, 2, 128]);
        assert_eq!(option("192.0.2.1"), [0, 1, 32, 0, 192, 0, 2, 1]);
        assert_eq!(option("0.0.0.0/0"), [0, 1, 0, 0]);
        assert_eq!(option("2001:db8:0:ff00::/56"), [0, 2, 56, 0, 0x20, 1, 0xd, 0xb8, 0, 0, 0xff]);
        for wrong in ["192.0.2.0/33", "x/8", "::/129", "192.0.2.0/"] {
            assert!(parse_subnet(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_option("3"), Ok(EdnsOption { code: 3, data: vec![] }));
        assert_eq!(parse_option("65001:0aFF").unwrap().data, [0x0a, 0xff]);
        for wrong in ["", ":00", "65536:", "1:0", "1:0g"] {
            assert!(parse_option(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn options_stand_one_behind_the_other_and_need_their_record() {
        let args = EdnsArgs {
            client_subnet: parse_subnet("10.0.0.0/8").ok(),
            edns_option: vec![EdnsOption { code: 3, data: vec![] }],
            ..EdnsArgs::default()
        };
        let cookie = EdnsOption { code: COOKIE, data: vec![7; 8] };
        let expected =
            [0, 8, 0, 5, 0, 1, 8, 0, 10, 0, 10, 0, 8, 7, 7, 7, 7, 7, 7, 7, 7, 0, 3, 0, 0];
        assert_eq!(args.options(Some(cookie)).unwrap(), expected);
        let twice = EdnsOption { code: 8, data: vec![] };
        let again = EdnsArgs { edns_option: vec![twice], ..args.clone() };
        assert!(again.options(None).unwrap_err().contains("--client-subnet and -E 8"));
        assert!(EdnsArgs { edns: Some(0), ..args }.options(None).is_err());
        assert_eq!(EdnsArgs { edns: Some(0), ..EdnsArgs::default() }.options(None), Ok(vec![]));
    }
}
