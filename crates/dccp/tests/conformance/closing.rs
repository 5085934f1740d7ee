//! End of connections (RFC 4340 §8.3).

use dccp::connection::{ConnectionConfig, ConnectionEvent, ConnectionState, SendError};
use dccp::header::{PacketType, Reset, ResetCode};

use crate::conformance::world::{ConformanceSimulation, RTT, SECOND, config_2, open_worlds};

/// RFC 4340 §8.3: the end that sends the Close keeps the numbers in TIMEWAIT.
#[test]
fn cls_01_a_client_closes_and_waits() {
    let mut world = ConformanceSimulation::open_client(config_2());
    world.d.close(world.now_ns);
    assert_eq!(world.take_types(), [PacketType::Close]);
    assert_eq!(world.d.state(), ConnectionState::Closing);
    world.send(PacketType::Reset, &[], &[]);
    let closed = Reset::plain(ResetCode::Closed);
    assert_eq!(world.d.poll_event(), Some(ConnectionEvent::Reset(closed)));
    assert_eq!(world.d.state(), ConnectionState::TimeWait);
    assert_eq!(world.d.poll_timeout(), Some(world.now_ns + 240 * SECOND));
    assert_eq!(world.pass(239 * SECOND).len(), 0);
    assert_eq!(world.d.state(), ConnectionState::TimeWait);
    world.pass(SECOND);
    assert_eq!((world.d.state(), world.d.poll_timeout()), (ConnectionState::Closed, None));
}

/// RFC 4340 §8.3: a server lets its client close.
#[test]
fn cls_02_a_server_asks_its_client_to_close() {
    let mut world = ConformanceSimulation::open_server(config_2());
    world.d.close(world.now_ns);
    assert_eq!(world.take_types(), [PacketType::CloseReq]);
    assert_eq!(world.d.state(), ConnectionState::CloseReq);
    world.send(PacketType::Close, &[], &[]);
    assert_eq!(world.take_one().reset().0, ResetCode::Closed);
    assert_eq!(world.d.state(), ConnectionState::Closed);
    assert_eq!(world.d.poll_event(), Some(ConnectionEvent::Closed));
    // D as the client answers a CloseReq with a Close.
    let mut world = ConformanceSimulation::open_client(config_2());
    world.send(PacketType::CloseReq, &[], &[]);
    assert_eq!(world.take_types(), [PacketType::Close]);
    assert_eq!(world.d.state(), ConnectionState::Closing);
    world.send(PacketType::CloseReq, &[], &[]);
    world.assert_quiet();
    world.send(PacketType::Reset, &[], &[]);
    assert_eq!(world.d.state(), ConnectionState::TimeWait);
}

/// RFC 4340 §8.3: a server that holds TIMEWAIT sends Close instead of CloseReq.
#[test]
fn cls_03_a_server_that_holds_time_wait_sends_close() {
    let config = ConnectionConfig { server_holds_time_wait: true, ..config_2() };
    let mut world = ConformanceSimulation::open_server(config);
    world.d.close(world.now_ns);
    assert_eq!(world.take_types(), [PacketType::Close]);
    world.send(PacketType::Reset, &[], &[]);
    assert_eq!(world.d.state(), ConnectionState::TimeWait);
}

/// RFC 4340 §8.3: repetitions begin after two round trips and double to 64 seconds.
#[test]
fn cls_04_close_is_repeated() {
    for mut world in open_worlds() {
        let begin_ns = world.now_ns;
        let wait_ns = 2 * world.d.rtt_ns().unwrap_or(2 * RTT);
        world.d.close(begin_ns);
        let packets = world.pass(470 * SECOND);
        let times: Vec<_> = packets.iter().map(|(at_ns, _)| at_ns - begin_ns).collect();
        let mut expected = vec![0];
        let (mut at_ns, mut step_ns) = (0, wait_ns);
        while at_ns + step_ns <= 470 * SECOND {
            at_ns += step_ns;
            expected.push(at_ns);
            step_ns = (2 * step_ns).min(64 * SECOND);
        }
        assert_eq!(times, expected);
        let first = packets[0].1.packet_type();
        assert!(packets.iter().all(|(_, out)| out.packet_type() == first));
        let end = world.pass(60 * SECOND);
        assert_eq!(end.last().unwrap().1.reset().0, ResetCode::Aborted);
    }
}

/// RFC 4340 §8.5 step 7: a client may not send a CloseReq.
#[test]
fn cls_05_a_close_req_to_a_server_draws_a_sync() {
    let mut world = ConformanceSimulation::open_server(config_2());
    world.send(PacketType::CloseReq, &[], &[]);
    let sync = world.take_one();
    assert_eq!(sync.packet_type(), PacketType::Sync);
    assert_eq!(sync.header.acknowledgement, Some(world.t_gss));
    assert_eq!(world.d.state(), ConnectionState::Open);
}

/// RFC 4340 §8.3: both ends close at once.
#[test]
fn cls_06_crossing_closes_end() {
    for mut world in open_worlds() {
        world.d.close(world.now_ns);
        world.take();
        // T sent its Close before it received D's.
        world.send(PacketType::Close, &[], &[]);
        assert_eq!(world.take_one().reset().0, ResetCode::Closed);
        assert_eq!(world.d.state(), ConnectionState::Closed);
        // T's Reset finds no connection, and draws no answer.
        world.send(PacketType::Reset, &[], &[]);
        world.assert_quiet();
    }
}

/// RFC 4340 §8.5 step 9: the device D reports a Reset to the application and does not answer it.
#[test]
fn cls_07_a_reset_is_told_and_not_answered() {
    for mut world in open_worlds() {
        world.d.send(b"waits", 0).unwrap();
        world.send(PacketType::Reset, &[], &[]);
        assert_eq!(
            world.d.poll_event(),
            Some(ConnectionEvent::Reset(Reset::plain(ResetCode::Closed)))
        );
        world.assert_quiet();
        assert_eq!(world.d.send(b"x", 0), Err(SendError::Closed));
    }
}

/// RFC 4340 §8.3: data that was under way is no error.
#[test]
fn cls_08_data_while_closing_is_taken() {
    for mut world in open_worlds() {
        world.d.close(world.now_ns);
        world.take();
        world.send(PacketType::Data, &[], b"late");
        world.send(PacketType::DataAck, &[], b"later");
        world.assert_quiet();
        assert_eq!(world.received(), [&b"late"[..], b"later"]);
        // No acknowledgement is due any more, and no timer waits for one.
        assert!(world.d.poll_timeout().unwrap() > world.now_ns);
    }
}

/// Data in the queue leaves before the Close, and [`dccp::connection::Connection::abort`] discards
/// it.
#[test]
fn cls_09_queued_data_leaves_before_the_close() {
    for mut world in open_worlds() {
        for data in 0..5 {
            world.d.send(&[data], 0).unwrap();
        }
        world.d.close(world.now_ns);
        assert_eq!(world.d.send(b"x", 0), Err(SendError::Closed));
        assert_eq!(world.d.state(), ConnectionState::Open);
        // Three or four packets fit into the first window; T acknowledges the packets that it gets.
        let mut sent = Vec::new();
        for _ in 0..5 {
            for out in world.take() {
                sent.push(out.packet_type());
            }
            world.now_ns += RTT;
            if world.d.state() == ConnectionState::Open {
                world.send(PacketType::Ack, &[38, 3, 4], &[]);
            }
        }
        let data = sent.iter().filter(|packet_type| packet_type.is_data_packet()).count();
        assert_eq!(data, 5, "{sent:?}");
        assert!(matches!(sent.last(), Some(PacketType::Close | PacketType::CloseReq)), "{sent:?}");
        let mut world = ConformanceSimulation::open_client(config_2());
        world.d.send(b"waits", 0).unwrap();
        world.d.abort();
        assert_eq!(world.take_one().reset().0, ResetCode::Aborted);
        assert_eq!(world.d.state(), ConnectionState::Closed);
    }
}
