//! Reading and writing messages never allocates, counted by the allocator itself.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common;

use std::hint::black_box;

use base::Random;
use dhcp_wire::v4::relay::{self, SubOptions};
use dhcp_wire::v4::{Header, Message, MessageWriter, arbitrary};

fn allocations(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).count_total
}

/// Calls everything that a message offers.
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
    let mut writer = MessageWriter::new(buffer, &Header::of(message));
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
    let payloads: Vec<Vec<u8>> = common::CAPTURES.into_iter().flat_map(common::payloads).collect();
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
