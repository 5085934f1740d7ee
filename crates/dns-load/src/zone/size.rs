//! The flags that say how large a zone is and what it is called, the same wherever one is made.

use super::{NAMES_MAX, Origin, ZoneLike};

/// Names without a flag: as many as dnsperf's manual wants queries at least.
const NAMES: u32 = 10_000;
/// The zone's name without a flag.
const ORIGIN: &str = "godwit.test";

/// What a zone is made from beside its seed.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Size {
    /// Names in the zone that is made from a seed, and as many queries [default: 10000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(NAMES_MAX)))]
    names: Option<u32>,
    /// The name of the zone that is made from a seed [default: godwit.test]
    #[arg(long, value_name = "NAME")]
    zone: Option<Origin>,
}

impl Size {
    /// Whether any flag was given.
    pub(crate) const fn is_given(&self) -> bool {
        self.names.is_some() || self.zone.is_some()
    }

    /// The zone of this size and `seed`.
    pub(crate) fn with_seed(&self, seed: u64) -> ZoneLike {
        let origin = self.zone.clone();
        ZoneLike {
            seed,
            names: self.names.unwrap_or(NAMES),
            origin: origin.unwrap_or_else(|| ORIGIN.parse().expect("it is a name")),
        }
    }
}
