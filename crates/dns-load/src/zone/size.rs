//! Flags for the size and the name of an artificial zone, shared by all commands that make one.

use super::{NAMES_MAX, ZoneLike, ZoneOrigin};

/// Default number of names of a zone: the least number of queries that dnsperf's manual recommends.
const NAMES: u32 = 10_000;
/// Default name of an artificial zone.
const ORIGIN: &str = "godwit.test";

/// Parameters of an artificial zone other than its seed, as flags.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ZoneSize {
    /// Number of names in the zone of --seed or --zone-like, and of queries for them [default:
    /// 10000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(NAMES_MAX)))]
    names: Option<u32>,
    /// Name of the zone of --seed or --zone-like [default: godwit.test]
    #[arg(long, value_name = "NAME")]
    zone: Option<ZoneOrigin>,
}

impl ZoneSize {
    /// Returns true if any flag for size or name of the zone was given.
    pub(crate) const fn is_given(&self) -> bool {
        self.names.is_some() || self.zone.is_some()
    }

    /// Returns the parameters of the zone of this size and `seed`.
    pub(crate) fn with_seed(&self, seed: u64) -> ZoneLike {
        let origin = self.zone.clone();
        ZoneLike {
            seed,
            names: self.names.unwrap_or(NAMES),
            origin: origin.unwrap_or_else(|| ORIGIN.parse().expect("must be a name")),
        }
    }
}
