//! Server of `echo_server` on tokio, with a task for each connection: `cargo run -p dccp-link
//! --example async_echo_server`.

use dccp_link::asynchronous::{AsyncConnection, AsyncEndpoint};
use dccp_link::{
    CarrierKind, CarrierOptions, ConnectionConfig, DccpError, EndpointLimits, ServiceCode, UDP_PORT,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let carrier = CarrierOptions::new(CarrierKind::Udp { port: UDP_PORT });
    let endpoint = AsyncEndpoint::open(&carrier, EndpointLimits::default())?;
    let echo: ServiceCode = "SC:ECHO".parse()?;
    let listener = endpoint.listen(7, &ConnectionConfig::default(), vec![echo], 16);
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

async fn echo_all(connection: &AsyncConnection) -> Result<u64, DccpError> {
    let (mut count, mut datagram) = (0, Vec::new());
    while connection.receive_into(&mut datagram).await? {
        connection.send(&datagram).await?;
        count += 1;
    }
    Ok(count)
}
