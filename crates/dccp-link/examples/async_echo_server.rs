//! Server of `echo_server` on tokio, with a task for each connection: `cargo run -p dccp-link
//! --example async_echo_server`.

use dccp_link::asynchronous::{Connection, Endpoint};
use dccp_link::{CarrierKind, CarrierOptions, Config, Limits, LinkError, ServiceCode, UDP_PORT};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let carrier = CarrierOptions::new(CarrierKind::Udp { port: UDP_PORT });
    let endpoint = Endpoint::open(&carrier, Limits::default())?;
    let echo: ServiceCode = "SC:ECHO".parse()?;
    let listener = endpoint.listen(7, &Config::default(), vec![echo], 16);
    println!("echoing at DCCP port 7 in UDP port {UDP_PORT}");
    loop {
        let connection = listener.accept().await?;
        tokio::spawn(async move {
            match echo_all(&connection).await {
                Ok(count) => println!("{}: {count} datagrams", connection.key().remote),
                Err(error) => println!("{}: {error}", connection.key().remote),
            }
        });
    }
}

async fn echo_all(connection: &Connection) -> Result<u64, LinkError> {
    let (mut count, mut datagram) = (0, Vec::new());
    while connection.receive_into(&mut datagram).await? {
        connection.send(&datagram).await?;
        count += 1;
    }
    Ok(count)
}
