//! Server that sends back every datagram, until it is interrupted: `cargo run -p dccp-link
//! --example echo_server`.

use dccp_link::{
    BlockingConnection, BlockingEndpoint, CarrierKind, CarrierOptions, ConnectionConfig, DccpError,
    EndpointLimits, ServiceCode, UDP_PORT,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let carrier = CarrierOptions::new(CarrierKind::Udp { port: UDP_PORT });
    let endpoint = BlockingEndpoint::open(&carrier, EndpointLimits::default())?;
    let echo: ServiceCode = "SC:ECHO".parse()?;
    let listener = endpoint.listen(7, &ConnectionConfig::default(), vec![echo], 16);
    println!("echoing at DCCP port 7 in UDP port {UDP_PORT}");
    loop {
        let connection = listener.accept()?;
        std::thread::spawn(move || match echo_all(&connection) {
            Ok(count) => println!("{}: {count} datagrams", connection.key().remote),
            Err(error) => println!("{}: {error}", connection.key().remote),
        });
    }
}

fn echo_all(connection: &BlockingConnection) -> Result<u64, DccpError> {
    let mut count = 0;
    while let Some(datagram) = connection.receive()? {
        connection.send(&datagram)?;
        count += 1;
    }
    Ok(count)
}
