//! Frames are made without allocating.

use packet_gen::Stream;
use packet_gen::language::{self, Settings};

#[test]
fn a_frame_allocates_nothing() {
    let text = "{ eth(sa=drnd()), ipv4(id=dinc(), sa=drnd()), udp(sp=drnd(2000, 65535)), drnd(9), \
                dinc(1,9), csumip(14,33) } { ipv6(sa=dinc()), tcp(), \"hello\" } { 1, 2 }";
    let program = language::compile(text.as_bytes(), &Settings::default()).expect("it is right");
    for is_shuffled in [false, true] {
        let mut stream = Stream::new(&program, Some(0), program.random.clone(), is_shuffled);
        let mut octets = 0;
        let allocated = allocation_counter::measure(|| {
            for _ in 0..1_000 {
                octets += stream.frame().expect("a packet takes part").len();
            }
        });
        assert!(octets > 1_000);
        assert_eq!(allocated.count_total, 0);
    }
}
