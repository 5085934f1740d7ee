//! Tests of feature negotiation between two negotiators, option by option. The names of the tests
//! begin with the case of `tests/conformance/CASES.md` that they show.

use super::*;
use crate::header::{PacketType, ResetCode};
use crate::option::{DccpOption, DccpOptionIterator, DccpOptionWriter, FeatureOption};
use crate::sequence::SequenceNumber;

fn n(value: u64) -> SequenceNumber {
    SequenceNumber::new(value)
}

fn client() -> Negotiator {
    Negotiator::new(false, n(0), n(1_000))
}

fn server() -> Negotiator {
    Negotiator::new(true, n(1_000), n(0))
}

/// Returns the options that `negotiator` writes on an Ack with this sequence number.
fn write_options(negotiator: &mut Negotiator, sequence: u64) -> Vec<u8> {
    write_options_on(negotiator, PacketType::Ack, sequence)
}

fn write_options_on(
    negotiator: &mut Negotiator,
    packet_type: PacketType,
    sequence: u64,
) -> Vec<u8> {
    let mut area = [0; 600];
    let mut options = DccpOptionWriter::new(&mut area);
    negotiator.write(packet_type, n(sequence), false, &mut options);
    options.written().to_vec()
}

/// Passes all options of a received packet to a negotiator.
fn heard(
    negotiator: &mut Negotiator,
    sequence: u64,
    acknowledgement: u64,
    octets: &[u8],
) -> Result<Vec<Applied>, crate::header::Reset> {
    let arrival =
        PacketNumbers { sequence: n(sequence), acknowledgement: Some(n(acknowledgement)) };
    let mut applied = Vec::new();
    let mut is_mandatory = false;
    for raw in DccpOptionIterator::new(octets) {
        if let DccpOption::Feature { kind, feature, value } = raw.option {
            applied.extend(negotiator.receive(arrival, kind, feature, value, is_mandatory)?);
        }
        is_mandatory = raw.option == DccpOption::Mandatory;
    }
    negotiator.finish(arrival, true, n(sequence), n(acknowledgement));
    Ok(applied)
}

const CCID: u8 = number::CCID;

#[test]
fn feat_01_the_first_of_the_servers_list_wins() {
    for (client_list, server_list, agreed) in
        [(&[2, 3][..], &[3, 2][..], 3), (&[3, 2], &[2, 3], 2), (&[3, 4, 2], &[5, 4, 3], 4)]
    {
        let (mut client, mut server) = (client(), server());
        client.prefer(Feature::local(CCID), client_list, false);
        server.allow(Feature::remote(CCID), server_list);
        let change = write_options(&mut client, 0);
        let applied = heard(&mut server, 0, 1_000, &change).unwrap();
        assert_eq!(applied, [Applied { feature: Feature::remote(CCID), value: agreed }]);
        let confirm = write_options(&mut server, 1_000);
        assert_eq!(confirm[..4], [35, 4 + server_list.len() as u8, CCID, agreed as u8]);
        assert_eq!(&confirm[4..], server_list);
        let applied = heard(&mut client, 1_000, 0, &confirm).unwrap();
        assert_eq!(applied, [Applied { feature: Feature::local(CCID), value: agreed }]);
        assert!(!client.is_waiting() && !server.has_options());
        // The server's side leads to the same value.
        let mut client = self::client();
        server.prefer(Feature::local(CCID), server_list, false);
        client.allow(Feature::remote(CCID), client_list);
        heard(&mut client, 1_001, 0, &write_options(&mut server, 1_001)).unwrap();
        assert_eq!(client.value(Feature::remote(CCID)), agreed);
    }
}

#[test]
fn feat_02_without_a_common_value_the_old_one_is_confirmed() {
    let mut server = server();
    let applied = heard(&mut server, 0, 1_000, &[32, 4, CCID, 3]).unwrap();
    assert_eq!(applied, [Applied { feature: Feature::remote(CCID), value: 2 }]);
    assert_eq!(write_options(&mut server, 1_000), [35, 5, CCID, 2, 2]);
    // The client accepts that as an answer.
    let mut client = client();
    client.prefer(Feature::local(CCID), &[3], false);
    write_options(&mut client, 0);
    heard(&mut client, 1_000, 0, &[35, 5, CCID, 2, 2]).unwrap();
    assert_eq!(client.value(Feature::local(CCID)), 2);
    assert!(!client.is_waiting());
}

#[test]
fn feat_03_without_a_common_value_mandatory_resets() {
    let reset = heard(&mut server(), 0, 1_000, &[1, 32, 4, CCID, 3]).unwrap_err();
    assert_eq!(reset.code, ResetCode::MandatoryError);
    assert_eq!(reset.data, [32, CCID, 3]);
}

#[test]
fn feat_04_an_unknown_feature_is_confirmed_empty() {
    let mut server = server();
    assert_eq!(heard(&mut server, 0, 1_000, &[32, 4, 126, 1, 34, 4, 10, 1]).unwrap(), []);
    assert_eq!(write_options(&mut server, 1_000), [35, 3, 126, 33, 3, 10]);
}

#[test]
fn feat_05_an_unknown_mandatory_feature_resets() {
    let reset = heard(&mut server(), 0, 1_000, &[1, 34, 4, 126, 9]).unwrap_err();
    assert_eq!(reset, crate::header::Reset { code: ResetCode::MandatoryError, data: [34, 126, 9] });
}

#[test]
fn feat_06_a_non_negotiable_value_is_taken_and_confirmed() {
    let mut server = server();
    let change = [32, 9, number::SEQUENCE_WINDOW, 0, 0, 0, 0, 4, 0];
    let applied = heard(&mut server, 0, 1_000, &change).unwrap();
    let feature = Feature::remote(number::SEQUENCE_WINDOW);
    assert_eq!(applied, [Applied { feature, value: 1_024 }]);
    assert_eq!(write_options(&mut server, 1_000), [35, 9, 3, 0, 0, 0, 0, 4, 0]);
}

#[test]
fn feat_07_sequence_windows_that_cannot_be_are_refused() {
    for value in [[0, 0, 0, 0, 0, 31], [0; 6], [0x40, 0, 0, 0, 0, 0]] {
        let mut change = vec![32, 9, number::SEQUENCE_WINDOW];
        change.extend(value);
        let mut server = server();
        assert_eq!(heard(&mut server, 0, 1_000, &change).unwrap(), []);
        assert_eq!(write_options(&mut server, 1_000), [35, 3, 3]);
        assert_eq!(server.value(Feature::remote(number::SEQUENCE_WINDOW)), 100);
    }
    let mut server = server();
    let widest = [32, 9, 3, 0x3f, 255, 255, 255, 255, 255];
    assert_eq!(heard(&mut server, 0, 1_000, &widest).unwrap().len(), 1);
}

#[test]
fn feat_08_an_ack_ratio_of_0_is_valid() {
    let mut server = server();
    heard(&mut server, 0, 1_000, &[32, 5, number::ACK_RATIO, 0, 0]).unwrap();
    assert_eq!(server.value(Feature::remote(number::ACK_RATIO)), 0);
    assert_eq!(write_options(&mut server, 1_000), [35, 5, 5, 0, 0]);
}

#[test]
fn feat_09_a_value_of_another_length_is_refused() {
    let mut server = server();
    let octets = [32, 4, number::ACK_RATIO, 2, 32, 8, number::SEQUENCE_WINDOW, 0, 0, 0, 4, 0];
    assert_eq!(heard(&mut server, 0, 1_000, &octets).unwrap(), []);
    assert_eq!(write_options(&mut server, 1_000), [35, 3, 5, 35, 3, 3]);
}

#[test]
fn feat_10_only_the_owner_changes_a_non_negotiable_feature() {
    let mut server = server();
    assert_eq!(heard(&mut server, 0, 1_000, &[34, 5, number::ACK_RATIO, 0, 4]).unwrap(), []);
    assert_eq!(write_options(&mut server, 1_000), [33, 3, 5]);
    assert_eq!(server.value(Feature::local(number::ACK_RATIO)), 2);
}

#[test]
fn feat_11_a_confirm_of_what_was_not_offered_resets() {
    let mut client = client();
    client.prefer(Feature::local(CCID), &[3, 2], false);
    write_options(&mut client, 0);
    let reset = heard(&mut client, 1_000, 0, &[35, 5, CCID, 4, 4]).unwrap_err();
    assert_eq!(reset.code, ResetCode::OptionError);
    assert_eq!(reset.data, [35, CCID, 4]);
    // A Confirm of a value other than the one that was set.
    let mut client = self::client();
    client.set(Feature::local(number::ACK_RATIO), 4);
    assert_eq!(write_options(&mut client, 1), [32, 5, 5, 0, 4]);
    assert!(heard(&mut client, 1_000, 1, &[35, 5, 5, 0, 3]).is_err());
}

#[test]
fn feat_11_a_second_answer_to_the_change_before_is_ignored() {
    let mut client = client();
    client.set(Feature::local(number::ACK_RATIO), 4);
    write_options(&mut client, 1);
    client.repeat();
    write_options(&mut client, 2);
    heard(&mut client, 1_000, 1, &[35, 5, 5, 0, 4]).unwrap();
    client.set(Feature::local(number::ACK_RATIO), 8);
    write_options(&mut client, 3);
    // The other end read the repetition and the new Change together, and answers both at once.
    let applied = heard(&mut client, 1_001, 3, &[35, 5, 5, 0, 4, 35, 5, 5, 0, 8]).unwrap();
    assert_eq!(applied.len(), 1);
    assert_eq!(client.value(Feature::local(number::ACK_RATIO)), 8);
}

#[test]
fn feat_12_a_confirm_that_nobody_waits_for_is_ignored() {
    let mut client = client();
    let octets = [35, 5, CCID, 3, 3, 33, 4, 126, 1, 35, 3, CCID];
    assert_eq!(heard(&mut client, 1_000, 0, &octets).unwrap(), []);
    assert_eq!(client.value(Feature::local(CCID)), 2);
}

#[test]
fn feat_13_an_empty_confirm_for_the_ccid_resets() {
    let mut client = client();
    client.prefer(Feature::local(CCID), &[3, 2], false);
    write_options(&mut client, 0);
    let reset = heard(&mut client, 1_000, 0, &[35, 3, CCID]).unwrap_err();
    assert_eq!(reset.code, ResetCode::OptionError);
}

#[test]
fn feat_14_an_empty_confirm_for_ndp_count_leaves_it_off() {
    let mut client = client();
    client.prefer(Feature::local(number::SEND_NDP_COUNT), &[1], false);
    write_options(&mut client, 0);
    assert_eq!(heard(&mut client, 1_000, 0, &[35, 3, 7]).unwrap(), []);
    assert!(!client.is_on(Feature::local(number::SEND_NDP_COUNT)) && !client.is_waiting());
}

#[test]
fn feat_15_a_change_is_repeated_with_the_same_content_until_answered() {
    let mut client = client();
    client.prefer(Feature::local(CCID), &[3, 2], true);
    let change = write_options(&mut client, 0);
    assert_eq!(change, [1, 32, 5, CCID, 3, 2]);
    assert_eq!(write_options(&mut client, 1), []);
    client.repeat();
    assert_eq!(write_options(&mut client, 2), change);
    // The answer to the first still counts.
    heard(&mut client, 1_000, 0, &[35, 6, CCID, 3, 3, 2]).unwrap();
    client.repeat();
    assert_eq!(write_options(&mut client, 3), []);
    assert_eq!(client.value(Feature::local(CCID)), 3);
}

#[test]
fn feat_16_an_older_change_that_comes_late_is_ignored() {
    let mut server = server();
    heard(&mut server, 10, 1_000, &[32, 5, number::ACK_RATIO, 0, 8]).unwrap();
    assert_eq!(heard(&mut server, 10, 1_000, &[32, 5, 5, 0, 4]).unwrap(), []);
    assert_eq!(heard(&mut server, 9, 1_000, &[32, 5, 5, 0, 4]).unwrap(), []);
    assert_eq!(server.value(Feature::remote(number::ACK_RATIO)), 8);
    assert_eq!(write_options(&mut server, 1_000), [35, 5, 5, 0, 8]);
}

#[test]
fn feat_17_a_confirm_older_than_the_change_is_ignored() {
    let mut client = client();
    client.set(Feature::local(number::ACK_RATIO), 4);
    write_options(&mut client, 20);
    client.set(Feature::local(number::ACK_RATIO), 8);
    assert_eq!(write_options(&mut client, 25), [32, 5, 5, 0, 8]);
    assert_eq!(heard(&mut client, 1_000, 24, &[35, 5, 5, 0, 4]).unwrap(), []);
    assert_eq!(client.value(Feature::local(number::ACK_RATIO)), 2);
    heard(&mut client, 1_001, 25, &[35, 5, 5, 0, 8]).unwrap();
    assert_eq!(client.value(Feature::local(number::ACK_RATIO)), 8);
}

#[test]
fn feat_18_both_ends_asking_at_once_come_to_the_same_value() {
    let (mut client, mut server) = (client(), server());
    client.prefer(Feature::local(CCID), &[2, 3], false);
    server.prefer(Feature::remote(CCID), &[3, 2], false);
    let (up, down) = (write_options(&mut client, 0), write_options(&mut server, 1_000));
    heard(&mut client, 1_000, 0, &down).unwrap();
    heard(&mut server, 0, 1_000, &up).unwrap();
    let (up, down) = (write_options(&mut client, 1), write_options(&mut server, 1_001));
    heard(&mut client, 1_001, 1, &down).unwrap();
    heard(&mut server, 1, 1_001, &up).unwrap();
    assert_eq!(client.value(Feature::local(CCID)), 3);
    assert_eq!(server.value(Feature::remote(CCID)), 3);
    assert!(!client.is_waiting() && !server.is_waiting());
}

#[test]
fn feat_19_two_changes_in_one_packet_count_in_order() {
    let mut server = server();
    heard(&mut server, 0, 1_000, &[32, 5, 5, 0, 8, 32, 5, 5, 0, 4]).unwrap();
    assert_eq!(server.value(Feature::remote(number::ACK_RATIO)), 4);
    assert_eq!(write_options(&mut server, 1_000), [35, 5, 5, 0, 8, 35, 5, 5, 0, 4]);
}

#[test]
fn feat_20_confirms_wait_for_a_packet_that_acknowledges() {
    let mut server = server();
    heard(&mut server, 0, 1_000, &[32, 5, 5, 0, 8]).unwrap();
    for packet_type in [PacketType::Request, PacketType::Data, PacketType::Reset] {
        assert_eq!(write_options_on(&mut server, packet_type, 1_000), [], "{packet_type:?}");
    }
    assert!(server.has_options());
    assert_eq!(write_options_on(&mut server, PacketType::DataAck, 1_001), [35, 5, 5, 0, 8]);
    assert!(!server.has_options());
}

#[test]
fn feat_21_features_of_a_ccid_belong_to_a_half_connection() {
    // §10.3: the end that has the feature, its number, the end that sends the data.
    use Location::{Local, Remote};
    for (location, number, data_sender) in [
        (Local, 128, Some(Local)),
        (Local, 191, Some(Local)),
        (Remote, 128, Some(Remote)),
        (Remote, 191, Some(Remote)),
        (Local, 192, Some(Remote)),
        (Local, 255, Some(Remote)),
        (Remote, 192, Some(Local)),
        (Remote, 255, Some(Local)),
        (Local, 127, None),
        (Remote, 1, None),
    ] {
        assert_eq!(Feature { number, location }.data_sender(), data_sender, "{number}");
    }
    // Send Loss Event Rate is understood at the receiver of a half-connection with CCID 3 only.
    let mut server = server();
    server.allow(Feature::local(192), &[1, 0]);
    server.allow(Feature::remote(192), &[1, 0]);
    server.allow(Feature::remote(CCID), &[2, 3]);
    heard(&mut server, 0, 1_000, &[34, 4, 192, 1]).unwrap();
    assert_eq!(write_options(&mut server, 1_000), [33, 3, 192]);
    heard(&mut server, 1, 1_000, &[32, 4, CCID, 3, 34, 4, 192, 1, 32, 4, 192, 1]).unwrap();
    assert_eq!(
        write_options(&mut server, 1_001),
        [35, 6, CCID, 3, 2, 3, 33, 6, 192, 1, 1, 0, 35, 3, 192]
    );
    assert!(server.is_on(Feature::local(192)) && !server.is_on(Feature::remote(192)));
}

#[test]
fn feat_22_a_fixed_ccid_stays_and_says_so() {
    let mut server = server();
    server.allow(Feature::remote(CCID), &[2, 3]);
    server.fix_ccids(true);
    heard(&mut server, 5, 1_000, &[32, 4, CCID, 3]).unwrap();
    assert_eq!(write_options(&mut server, 1_000), [35, 5, CCID, 2, 2]);
    server.fix_ccids(false);
    heard(&mut server, 6, 1_000, &[32, 4, CCID, 3]).unwrap();
    assert_eq!(server.value(Feature::remote(CCID)), 3);
}

#[test]
fn confirms_can_be_kept_for_the_next_packet_too() {
    let mut client = client();
    heard(&mut client, 1_000, 0, &[32, 5, 5, 0, 8]).unwrap();
    let mut area = [0; 100];
    for _ in 0..3 {
        let mut options = DccpOptionWriter::new(&mut area);
        client.write(PacketType::Ack, n(1), true, &mut options);
        assert_eq!(options.written(), [35, 5, 5, 0, 8]);
    }
    client.forget_confirms();
    assert!(!client.has_options());
}

#[test]
fn what_does_not_fit_is_said_later_in_the_same_order() {
    let mut client = client();
    heard(&mut client, 1_000, 0, &[32, 5, 5, 0, 8, 32, 4, 126, 1]).unwrap();
    client.prefer(Feature::local(CCID), &[3, 2], true);
    let mut area = [0; 8];
    let mut options = DccpOptionWriter::new(&mut area);
    client.write(PacketType::Ack, n(1), false, &mut options);
    assert_eq!(options.written(), [35, 5, 5, 0, 8, 35, 3, 126]);
    let mut options = DccpOptionWriter::new(&mut area[..5]);
    client.write(PacketType::Ack, n(2), false, &mut options);
    assert!(options.is_empty(), "Mandatory does not go without what it is about");
    assert_eq!(write_options(&mut client, 3), [1, 32, 5, CCID, 3, 2]);
}

#[test]
fn bounds_follow_the_connection_around_the_circle() {
    // Erratum 974: without it, every option would look old half a circle later.
    let mut server = server();
    heard(&mut server, 10, 1_000, &[32, 5, 5, 0, 8]).unwrap();
    let far = n(10).minus(5);
    let quiet = PacketNumbers { sequence: far, acknowledgement: Some(n(1_000)) };
    server.finish(quiet, false, far, n(1_000));
    heard(&mut server, 6, 1_000, &[32, 5, 5, 0, 4]).unwrap();
    assert_eq!(server.value(Feature::remote(number::ACK_RATIO)), 4);
}

#[test]
fn every_feature_option_is_a_change_or_a_confirm_of_one_location() {
    for (kind, octet) in [
        (FeatureOption::ChangeL, 32),
        (FeatureOption::ConfirmL, 33),
        (FeatureOption::ChangeR, 34),
        (FeatureOption::ConfirmR, 35),
    ] {
        assert_eq!(kind.number(), octet);
        assert_eq!(kind.is_change(), octet % 2 == 0);
    }
}
