//! Artificial zone, queries for it and expected answers as files.

use std::fmt::Write as _;

use super::{Data, Zone};

/// Number of records at and for the zone's apex: its SOA, two NS, and the addresses of both name
/// servers.
pub(super) const APEX_RECORDS: usize = 5;

impl Zone {
    /// Returns the zone as a master file (RFC 1035 section 5), names relative to its `$ORIGIN`.
    pub fn master_file(&self) -> String {
        let like = &self.like;
        let mut text = format!(
            "; godwit dns zone --seed {seed} --names {names} --zone {origin}\n\
             $ORIGIN {origin}.\n$TTL 3600\n\
             @ IN SOA ns1 hostmaster 1 3600 600 86400 300\n\
             @ IN NS ns1\n@ IN NS ns2\n\
             ns1 IN A 192.0.2.53\nns2 IN A 198.51.100.53\n",
            seed = like.seed,
            names = like.names,
            origin = like.origin,
        );
        for (number, data) in (0..).zip(&self.owners) {
            let name = self.relative_name(number);
            for data in data {
                let written = match data {
                    Data::Alias(target) => self.relative_name(*target),
                    Data::Mail(preference, target) => {
                        format!("{preference} {}", self.relative_name(*target))
                    }
                    other => self.full_data(other),
                };
                writeln!(text, "{name} IN {} {written}", data.kind())
                    .expect("a string takes everything");
            }
        }
        text
    }

    /// Returns the queries for the zone in dnsperf's format, a name and a type on each line.
    pub fn query_file(&self) -> String {
        let lines = self
            .queries
            .iter()
            .map(|query| format!("{} {}\n", self.full_name(query.number), query.kind));
        lines.collect()
    }

    /// Returns the expected answer to each query for the zone, a line each as in the file of
    /// queries: name, type, response code and number of records, then each record's name, type and
    /// data, separated by tabs.
    pub fn expected_file(&self) -> String {
        let mut text = String::new();
        for &query in &self.queries {
            let (name, answer) = (self.full_name(query.number), self.answer(query));
            write!(text, "{name}\t{}\t{}\t{}", query.kind, answer.rcode, answer.records.len())
                .expect("a string takes everything");
            for (number, data) in answer.records {
                let (name, data_text) = (self.full_name(number), self.full_data(data));
                write!(text, "\t{name} {} {data_text}", data.kind())
                    .expect("a string takes everything");
            }
            text.push('\n');
        }
        text
    }

    /// Returns record data as text, with names from the root.
    fn full_data(&self, data: &Data) -> String {
        match data {
            Data::Address(address) => address.to_string(),
            Data::Address6(address) => address.to_string(),
            Data::Alias(target) => self.full_name(*target),
            Data::Mail(preference, target) => format!("{preference} {}", self.full_name(*target)),
            Data::Text(text) => format!("\"{text}\""),
        }
    }
}
