//! Tests of frames under `--quirks` against bytes that trafgen 0.6.8 wrote.

use packet_gen::FrameStream;
use packet_gen::language::{self, PacketParserSettings};

const RECORDED: &str = include_str!("data/trafgen-0.6.8.txt");

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

#[test]
fn with_quirks_every_recorded_frame_is_ours() {
    let settings = PacketParserSettings { quirks: true, ..PacketParserSettings::default() };
    let mut lines = RECORDED.lines().filter(|line| !line.starts_with("# ")).peekable();
    let (mut cases, mut wrong) = (0, String::new());
    while let Some(line) = lines.next() {
        let text = line.strip_prefix("> ").expect("a case begins with its text");
        cases += 1;
        let text = text.replace("\\n", "\n");
        let mut stream = match language::compile(text.as_bytes(), &settings) {
            // The frames were recorded on processor 0.
            Ok(program) => FrameStream::new(&program, Some(0), program.random.clone(), false),
            Err(problems) => {
                wrong += &format!("{text}\n{}\n", problems[0]);
                while lines.next_if(|line| !line.starts_with("> ")).is_some() {}
                continue;
            }
        };
        let mut number = 0;
        while let Some(expected) = lines.next_if(|line| !line.starts_with("> ")) {
            let ours = hex(stream.frame().expect("a packet takes part"));
            if ours != expected {
                wrong += &format!("{text}\nframe {number}\n  theirs {expected}\n  ours   {ours}\n");
            }
            number += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(cases > 250, "{cases}");
}
