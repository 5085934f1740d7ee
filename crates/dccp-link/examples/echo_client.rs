//! Client that sends the lines of its standard input to the echo server, and prints the answers:
//! `cargo run -p dccp-link --example echo_client -- 127.0.0.1`.

use std::io::BufRead;
use std::net::IpAddr;
use std::time::Duration;

use dccp_link::{
    BlockingEndpoint, CarrierKind, CarrierOptions, ConnectionConfig, DccpError, EndpointLimits,
    Peer, UDP_PORT,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address: IpAddr = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1".into()).parse()?;
    let peer = Peer { address, port: 7, udp_port: UDP_PORT };
    let carrier = CarrierOptions::towards(CarrierKind::Udp { port: 0 }, address);
    let endpoint = BlockingEndpoint::open(&carrier, EndpointLimits::default())?;
    let config =
        ConnectionConfig { service_code: "SC:ECHO".parse()?, ..ConnectionConfig::default() };
    let mut connection = endpoint.connect(peer, &config)?;
    connection.set_receive_timeout(Some(Duration::from_secs(1)));
    for line in std::io::stdin().lock().lines() {
        connection.send(line?.as_bytes())?;
        match connection.receive() {
            Ok(Some(datagram)) => println!("{}", String::from_utf8_lossy(&datagram)),
            Ok(None) => break,
            // A datagram may be lost in either direction.
            Err(DccpError::TimedOut(_)) => println!("(nothing came back)"),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
