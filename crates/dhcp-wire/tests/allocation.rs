//! Tests that reading and writing messages never allocates, counted by the allocator itself.

use std::hint::black_box;

use crate::common::{V4, V6};
use base::Random;
use dhcp_wire::v4::relay::{self, SubOptions};
use dhcp_wire::v4::{Dhcp4Header, Message, MessageWriter, arbitrary};
use dhcp_wire::v6;

fn allocations(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).count_total
}

/// Calls every accessor of a message.
fn read(message: &Message<'_>) {
    black_box((message.op(), message.htype(), message.hlen(), message.hops(), message.xid()));
    black_box((message.secs(), message.flags(), message.is_broadcast(), message.is_cut()));
    black_box((message.ciaddr(), message.yiaddr(), message.siaddr(), message.giaddr()));
    black_box((message.chaddr(), message.sname(), message.file(), message.message_type()));
    black_box((message.requested_address(), message.server_identifier(), message.lease_time()));
    black_box((message.max_message_size(), message.subnet_selection(), message.client_id()));
    black_box((message.parameter_request_list(), message.host_name(), message.vendor_class()));
    black_box((message.client_fqdn(), message.instances().count()));
    let mut copy = [0; 2_000];
    for (code, value) in message.options() {
        black_box((code, value.as_slice(), value.u8(), value.u16(), value.u32(), value.address()));
        black_box((
            value.octets().count(),
            value.copy_to(&mut copy),
            value == value.range(0, value.len()).unwrap(),
        ));
    }
    if let Some(value) = message.relay_agent_information() {
        black_box((SubOptions::new(value).count(), relay::is_well_formed(value)));
        black_box((relay::link_selection(value), relay::server_identifier_override(value)));
    }
}

fn write(message: &Message<'_>, buffer: &mut [u8], may_overload: bool) {
    let mut writer = MessageWriter::new(buffer, &Dhcp4Header::from_message(message));
    writer.allow_overload(may_overload).sname(message.sname()).file(message.file());
    for (code, value) in message.options() {
        writer.option_value(code, value);
    }
    let _ = black_box(writer.finish(300));
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(black_box(Box::new(1)))), 1);
}

#[test]
fn reading_and_writing_allocate_nothing() {
    let payloads = V4.all_payloads();
    let captures: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
    let mut random = Random::from_seed(1);
    let (mut input, mut output) = ([0; arbitrary::BUFFER_LEN], [0; 4_000]);
    let mut accepted = 0;
    let count = allocations(|| {
        for _ in 0..20_000 {
            let (_, len) = arbitrary::datagram(&mut random, &captures, &mut input);
            if let Ok(message) = Message::parse(black_box(&input[..len])) {
                accepted += 1;
                read(&message);
                write(&message, &mut output, false);
                write(&message, &mut output[..400], true);
            }
        }
    });
    assert!(accepted > 5_000, "{accepted}");
    assert_eq!(count, 0);
}

/// Calls every accessor of a packet.
fn read_v6(packet: &v6::Packet<'_>) {
    for relay in packet.relays() {
        black_box((relay.interface_id(), relay.remote_id(), relay.client_link_layer_address()));
        black_box((relay.relay_port(), relay.supplied_options().count(), relay.options.count()));
    }
    let message = packet.message();
    black_box((message.message_type(), message.transaction_id(), message.is_cut()));
    black_box((message.option(v6::option::INTERFACE_ID), message.has_rapid_commit()));
    black_box((message.requested_options().count(), message.elapsed_time(), message.status()));
    black_box((message.user_class().map(Iterator::count), message.vendor_class()));
    let _ = black_box(v6::validity(&message));
    black_box(message.client_id().map(v6::duid::Duid::parse));
    for ia in message.ias() {
        black_box((ia.iaid, ia.t1_s, ia.t2_s, ia.status()));
        for address in ia.addresses() {
            black_box((address.status(), address.address));
        }
        for prefix in ia.prefixes() {
            black_box((prefix.status(), prefix.excluded()));
        }
    }
}

fn write_v6(packet: &v6::Packet<'_>, buffer: &mut [u8]) {
    let message = packet.message();
    let mut writer = v6::MessageWriter::reply_to(buffer, packet, v6::MessageType::Reply);
    for ia in message.ias() {
        let mark = writer.ia(ia.kind, ia.iaid, ia.t1_s, ia.t2_s);
        for address in ia.addresses() {
            writer.ia_address(address.address, address.preferred_s, address.valid_s);
        }
        writer.status(v6::StatusCode::NoBinding, "none").end(mark);
    }
    for (code, value) in message.options() {
        writer.option(code, value);
    }
    let _ = black_box(writer.finish());
}

#[test]
fn reading_and_writing_dhcpv6_allocate_nothing() {
    let payloads = V6.all_payloads();
    let captures: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
    let mut random = Random::from_seed(1);
    let (mut input, mut output) = ([0; v6::arbitrary::BUFFER_LEN], [0; 4_000]);
    let mut accepted = 0;
    let count = allocations(|| {
        for _ in 0..20_000 {
            let (_, len) = v6::arbitrary::datagram(&mut random, &captures, &mut input);
            if let Ok(packet) = v6::Packet::parse(black_box(&input[..len])) {
                accepted += 1;
                read_v6(&packet);
                write_v6(&packet, &mut output);
                write_v6(&packet, &mut output[..100]);
            }
        }
    });
    assert!(accepted > 5_000, "{accepted}");
    assert_eq!(count, 0);
}
