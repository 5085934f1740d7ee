//! Tests of properties of async programs: many tasks on one thread, futures that are dropped, a
//! runtime that no call blocks.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::common::{PATIENCE, PORT, UDP, V4, config, service};
use dccp_link::asynchronous::{AsyncConnection, AsyncEndpoint, AsyncListener};
use dccp_link::{CarrierOptions, ConnectionConfig, EndpointLimits, Peer};
use tokio::runtime::{Builder, Runtime};

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

/// Runs `future`, within the tests' patience.
fn run<T>(future: impl Future<Output = T>) -> T {
    runtime().block_on(async { tokio::time::timeout(PATIENCE, future).await.unwrap() })
}

fn open() -> AsyncEndpoint {
    let carrier = CarrierOptions { addresses: vec![V4], ..CarrierOptions::new(UDP) };
    AsyncEndpoint::open(&carrier, EndpointLimits::default()).unwrap()
}

/// Returns an endpoint, its listener with the settings `config`, and its address.
fn serve(config: &ConnectionConfig) -> (AsyncEndpoint, AsyncListener, Peer) {
    let endpoint = open();
    let listener = endpoint.listen(PORT, config, vec![service()], 200);
    let peer = Peer { address: V4, port: PORT, udp_port: endpoint.udp_port().unwrap() };
    (endpoint, listener, peer)
}

async fn pair(
    client: &AsyncEndpoint,
    listener: &AsyncListener,
    peer: Peer,
) -> (AsyncConnection, AsyncConnection) {
    let config = config(2);
    let (connected, accepted) = tokio::join!(client.connect(peer, &config), listener.accept());
    (connected.unwrap(), accepted.unwrap())
}

/// Sends back every datagram of `connection` until the other end closes. Returns their count.
async fn echo(connection: &AsyncConnection) -> usize {
    let (mut count, mut buffer) = (0, Vec::new());
    while connection.receive_into(&mut buffer).await.unwrap() {
        connection.send(&buffer).await.unwrap();
        count += 1;
    }
    count
}

#[test]
fn a_hundred_connections_are_tasks_of_one_thread() {
    run(async {
        let (server, listener, peer) = serve(&config(2));
        let echoing = tokio::spawn(async move {
            let mut tasks = Vec::new();
            for _ in 0..100 {
                let connection = listener.accept().await.unwrap();
                tasks.push(tokio::spawn(async move { echo(&connection).await }));
            }
            for task in tasks {
                assert_eq!(task.await.unwrap(), 10);
            }
            server.closed().await;
        });
        let client = Arc::new(open());
        let talking: Vec<_> = (0..100_u8)
            .map(|number| {
                let client = Arc::clone(&client);
                tokio::spawn(async move {
                    let connection = client.connect(peer, &config(2)).await.unwrap();
                    for round in 0..10 {
                        connection.send(&[number, round]).await.unwrap();
                        let back = connection.receive().await.unwrap().unwrap();
                        assert_eq!(back, [number, round]);
                    }
                })
            })
            .collect();
        for task in talking {
            task.await.unwrap();
        }
        client.closed().await;
        echoing.await.unwrap();
    });
}

#[test]
fn a_future_that_is_dropped_has_taken_nothing() {
    let (_server, listener, peer) = serve(&config(2));
    let client = open();
    run(async {
        let (connection, accepted) = pair(&client, &listener, peer).await;
        {
            let mut receiving = pin!(accepted.receive());
            let mut nobody = Context::from_waker(Waker::noop());
            assert!(receiving.as_mut().poll(&mut nobody).is_pending());
            connection.send(b"one").await.unwrap();
            let mut peeking = pin!(accepted.receive());
            // The future is dropped once it could be ready, before it is polled again.
            while peeking.as_mut().poll(&mut nobody).is_pending() {
                tokio::task::yield_now().await;
            }
            connection.send(b"two").await.unwrap();
        }
        assert_eq!(accepted.receive().await.unwrap().unwrap(), b"two");
    });
}

#[test]
fn a_full_queue_holds_the_sender_until_there_is_room() {
    // A datagram that does not fit into the receive queue is dropped, which does not concern the
    // sender.
    let (_server, listener, peer) = serve(&ConnectionConfig { receive_queue_len: 4, ..config(2) });
    let client = open();
    run(async {
        let (connection, accepted) = pair(&client, &listener, peer).await;
        let mut sent = 0_u32;
        let sending = async {
            while sent < 1_000 {
                connection.send(&sent.to_be_bytes()).await.unwrap();
                sent += 1;
            }
            drop(connection);
        };
        let mut last = None;
        let receiving = async {
            while let Some(datagram) = accepted.receive().await.unwrap() {
                let number = u32::from_be_bytes(datagram.try_into().unwrap());
                assert!(last.is_none_or(|last| last < number), "{number} behind {last:?}");
                last = Some(number);
            }
        };
        tokio::join!(sending, receiving);
        assert_eq!(sent, 1_000);
        assert!(last.is_some());
    });
}

#[test]
fn a_connection_that_is_not_there_yet_is_given_up_with_its_future() {
    let mute = std::net::UdpSocket::bind((V4, 0)).unwrap();
    let peer = Peer { address: V4, port: PORT, udp_port: mute.local_addr().unwrap().port() };
    let client = open();
    {
        let config = config(2);
        let mut connecting = pin!(client.connect(peer, &config));
        let mut nobody = Context::from_waker(Waker::noop());
        let polled = connecting.as_mut().poll(&mut nobody);
        assert!(matches!(polled, Poll::Pending));
        assert_eq!(client.connections_count(), 1);
    }
    run(async {
        client.closed().await;
        while client.connections_count() > 0 {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn an_endpoint_that_goes_wakes_who_waits() {
    let (server, listener, peer) = serve(&config(2));
    let client = open();
    run(async {
        let (connection, accepted) = pair(&client, &listener, peer).await;
        let waiting =
            tokio::spawn(async move { accepted.receive().await.unwrap_err().to_string() });
        let accepting = tokio::spawn(async move { listener.accept().await.is_err() });
        tokio::task::yield_now().await;
        drop(server);
        assert_eq!(waiting.await.unwrap(), "the connection is closed");
        assert!(accepting.await.unwrap());
        connection.receive().await.unwrap_err();
    });
}
