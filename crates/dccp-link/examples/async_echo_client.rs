//! Client of `echo_client` on tokio: it sends all lines of the standard input at once, and prints
//! the answers as they come: `cargo run -p dccp-link --example async_echo_client -- 127.0.0.1`.

use std::io::Read;
use std::net::IpAddr;
use std::time::Duration;

use dccp_link::asynchronous::AsyncEndpoint;
use dccp_link::{CarrierKind, CarrierOptions, ConnectionConfig, EndpointLimits, Peer, UDP_PORT};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address: IpAddr = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1".into()).parse()?;
    let mut lines = String::new();
    std::io::stdin().read_to_string(&mut lines)?;

    let peer = Peer { address, port: 7, udp_port: UDP_PORT };
    let carrier = CarrierOptions::towards(CarrierKind::Udp { port: 0 }, address);
    let endpoint = AsyncEndpoint::open(&carrier, EndpointLimits::default())?;
    let config =
        ConnectionConfig { service_code: "SC:ECHO".parse()?, ..ConnectionConfig::default() };
    let connection = endpoint.connect(peer, &config).await?;
    let sending = async {
        for line in lines.lines() {
            connection.send(line.as_bytes()).await?;
        }
        Ok::<_, dccp_link::DccpError>(())
    };
    let receiving = async {
        let mut datagram = Vec::new();
        for _ in lines.lines() {
            let came = connection.receive_into(&mut datagram);
            match tokio::time::timeout(Duration::from_secs(1), came).await {
                Ok(Ok(true)) => println!("{}", String::from_utf8_lossy(&datagram)),
                Ok(Ok(false)) => break,
                Ok(Err(error)) => return Err(error),
                // Datagrams may be lost in either direction.
                Err(_) => println!("(nothing came back)"),
            }
        }
        Ok(())
    };
    tokio::try_join!(sending, receiving)?;
    connection.close();
    endpoint.closed().await;
    Ok(())
}
