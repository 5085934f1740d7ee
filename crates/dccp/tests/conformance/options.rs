//! Options (RFC 4340 §5.8).

use dccp::connection::{ConnectionEvent, ConnectionState};
use dccp::header::{PacketType, ResetCode};

use crate::conformance::world::{ConformanceSimulation, D_ISS, config_2, open_worlds};

/// Returns the Reset with which the device D answers an Ack with these options; `None` when it
/// accepts them.
fn reset_after(options: &[u8]) -> Option<(ResetCode, [u8; 3])> {
    let results = open_worlds().map(|mut world| {
        world.send(PacketType::Ack, options, &[]);
        let packets = world.take();
        let reset = packets.first().filter(|out| out.packet_type() == PacketType::Reset);
        assert_eq!(world.d.state() == ConnectionState::Closed, reset.is_some());
        reset.map(|out| out.reset())
    });
    assert_eq!(results[0], results[1]);
    results[0]
}

/// RFC 4340 §5.8: the device D skips unknown options.
#[test]
fn opt_01_unknown_options_are_ignored() {
    assert_eq!(reset_after(&[50, 3, 1, 127, 2, 3, 31]), None);
}

/// RFC 4340 §5.8.2: the device D resets for an unknown option after Mandatory.
#[test]
fn opt_02_mandatory_before_an_unknown_option_resets() {
    let expected = Some((ResetCode::MandatoryError, [50, 9, 8]));
    assert_eq!(reset_after(&[1, 50, 5, 9, 8, 7]), expected);
    assert_eq!(reset_after(&[1, 127, 2]), Some((ResetCode::MandatoryError, [127, 0, 0])));
}

/// RFC 4340 §5.8.2: the device D resets for Mandatory without an option after it.
#[test]
fn opt_03_mandatory_at_the_end_resets() {
    assert_eq!(reset_after(&[0, 0, 0, 1]), Some((ResetCode::OptionError, [1, 0, 0])));
}

/// RFC 4340 §5.8.2: the device D resets for Mandatory before Mandatory.
#[test]
fn opt_04_mandatory_before_mandatory_resets() {
    let expected = Some((ResetCode::OptionError, [1, 0, 0]));
    assert_eq!(reset_after(&[1, 1, 41, 6, 0, 0, 0, 0]), expected);
}

/// RFC 4340 §5.8.1: the device D understands padding.
#[test]
fn opt_05_mandatory_padding_is_fine() {
    assert_eq!(reset_after(&[1, 0, 0, 0]), None);
}

/// RFC 4340 §5.8: options before the bad length count, the rest does not.
#[test]
fn opt_06_a_length_that_cannot_be_ends_the_options() {
    for bad in [[50, 0], [50, 1], [50, 99]] {
        for mut world in open_worlds() {
            let options = [&[32, 5, 5, 0, 8][..], &bad, &[32, 5, 5, 0, 9]].concat();
            world.send(PacketType::Ack, &options, &[]);
            let confirm = world.take_one();
            assert_eq!(confirm.option(35), Some(vec![5, 0, 8]));
        }
    }
}

/// RFC 4340 §5.8, Table 3: the device D ignores Mandatory on Data.
#[test]
fn opt_07_mandatory_on_data_is_ignored() {
    for mut world in open_worlds() {
        world.send(PacketType::Data, &[1, 50, 2, 1], b"x");
        assert_eq!(world.received(), [b"x"]);
        assert_eq!(world.d.state(), ConnectionState::Open);
    }
}

/// RFC 4340 §5.8, Table 3: the device D ignores the options on Data that Table 3 does not permit
/// there.
#[test]
fn opt_08_options_that_are_not_for_data_are_ignored_there() {
    for mut world in open_worlds() {
        world.d.send(b"mine", 0).unwrap();
        world.take();
        let options =
            [32, 5, 5, 0, 8, 34, 4, 126, 1, 36, 3, 1, 38, 3, 0, 40, 3, 0xa0, 43, 4, 0, 1, 33, 3, 1];
        let figures = world.d.sender_figures();
        world.send(PacketType::Data, &options, b"x");
        assert_eq!(world.d.sender_figures(), figures);
        assert_eq!(world.received(), [b"x"]);
        let answers = world.pass(200_000_000);
        assert!(answers.iter().all(|(_, out)| out.option(35).is_none()));
        assert!(answers.iter().all(|(_, out)| out.option(33).is_none()));
    }
}

/// RFC 4340 §5.8, §11.4: a Request acknowledges nothing.
#[test]
fn opt_09_an_ack_vector_on_a_request_is_ignored() {
    let mut world =
        ConformanceSimulation::server_with(config_2(), D_ISS, &[38, 3, 0, 43, 4, 0, 9], &[]);
    assert_eq!(world.take_types(), [PacketType::Response]);
}

/// RFC 4340 §5.8: options need not be aligned.
#[test]
fn opt_10_options_stand_anywhere() {
    for mut world in open_worlds() {
        world.send(PacketType::Ack, &[0, 32, 5, 5, 0, 8, 0, 0, 34, 4, 126, 1, 0], &[]);
        let confirm = world.take_one();
        assert_eq!(confirm.option(35), Some(vec![5, 0, 8]));
        assert_eq!(confirm.option(33), Some(vec![126]));
    }
}

/// RFC 4340 §5.8: an option with an impossible length counts as an unknown one. (Linux resets.)
#[test]
fn opt_11_a_timestamp_of_another_length_is_ignored() {
    for mut world in open_worlds() {
        world.send(PacketType::Ack, &[41, 5, 1, 2, 3, 32, 5, 5, 0, 8], &[]);
        let confirm = world.take_one();
        assert_eq!((confirm.option(42), confirm.option(35)), (None, Some(vec![5, 0, 8])));
    }
    let expected = Some((ResetCode::MandatoryError, [41, 1, 2]));
    assert_eq!(reset_after(&[1, 41, 5, 1, 2, 3]), expected);
}

/// RFC 4340 §8.5 step 8 comes before step 9, so the options of a Reset count.
#[test]
fn opt_12_the_options_of_a_reset_count_once() {
    for mut world in open_worlds() {
        world.send(PacketType::Reset, &[1, 50, 2], &[]);
        assert_eq!(world.take_one().reset().0, ResetCode::MandatoryError);
        world.send(PacketType::Reset, &[1, 50, 2], &[]);
        world.assert_quiet();
        assert!(matches!(world.d.poll_event(), Some(ConnectionEvent::Failed(_))));
    }
}

/// RFC 4340 §5.1: the device D accepts the longest header.
#[test]
fn opt_13_a_thousand_octets_of_options_are_taken() {
    for mut world in open_worlds() {
        world.send(PacketType::Data, &[0; 1_004], b"x");
        assert_eq!(world.received(), [b"x"]);
        world.send(PacketType::Ack, &[[0; 991].as_slice(), &[32, 5, 5, 0, 8]].concat(), &[]);
        assert_eq!(world.gsr(), world.t_gss);
        let confirms = world.pass(0);
        assert!(confirms.iter().any(|(_, out)| out.option(35) == Some(vec![5, 0, 8])));
    }
}
