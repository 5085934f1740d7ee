//! Keys that a plan may have: type of value, default, meaning. The sections of a plan define them
//! beside their fields; the checker uses them.

use super::{
    BlocksPlan, ClientsPlan, CurvePlan, DnsPlan, ExhaustionPlan, HostsPlan, Plan, ProfilePlan,
    RampPlan, RestartPlan, RunsPlan, SearchPlan, ServerPlan,
};
use crate::record::VoidRules;

/// Description of one key of a plan, for the checker and the manual.
#[derive(Clone, Copy, Debug)]
pub struct PlanKey {
    /// Table and name of the plan's key, e.g. `search.dwell_s`.
    pub path: &'static str,
    /// Values that the plan's key takes.
    pub takes: KeyValueSet,
    /// Value when the plan leaves the key out, as TOML text; empty when the key is mandatory.
    pub default: &'static str,
    /// Meaning of the plan's key, one sentence for the manual.
    pub meaning: &'static str,
}

/// Kind of values that a key of a plan takes.
#[derive(Clone, Copy, Debug)]
pub enum KeyValueSet {
    /// Word of letters, digits and dashes, not empty.
    Name,
    /// Any text that is not empty.
    Text,
    /// Any text, including an empty one.
    AnyText,
    /// List of texts as in [`KeyValueSet::Text`], possibly empty.
    Texts,
    /// One word of a list.
    Choice(&'static [&'static str]),
    /// List of at least one word, each from the given words and at most once.
    Choices(&'static [&'static str]),
    /// List of at least one name as in [`KeyValueSet::Name`], each at most once.
    Names,
    /// Number from the first bound to the second, fractions allowed.
    Number(f64, f64),
    /// List of numbers from the first bound to the second, fractions allowed, possibly empty.
    Numbers(f64, f64),
    /// Whole number from the first bound to the second.
    Whole(i64, i64),
    /// TOML Boolean: `true` or `false`.
    Flag,
}

pub(crate) const fn key(
    path: &'static str,
    takes: KeyValueSet,
    default: &'static str,
    meaning: &'static str,
) -> PlanKey {
    PlanKey { path, takes, default, meaning }
}

/// Defines a section of a plan: a struct whose fields have a default, this default as TOML text,
/// the values that they take and their meaning. Fields without these are sections themselves.
macro_rules! plan_section {
    (
        $(#[$attribute:meta])*
        pub struct $section:ident in $prefix:literal {
            $($(#[$about:meta])* $field:ident: $type:ty $(
                = $default:expr, $text:literal, $takes:expr, $meaning:literal
            )?;)+
        }
    ) => {
        $(#[$attribute])*
        #[serde(default)]
        pub struct $section {
            $($(#[$about])* pub $field: $type,)+
        }

        impl Default for $section {
            fn default() -> Self {
                Self { $($field: $crate::plan::default_or!($($default)?),)+ }
            }
        }

        impl $section {
            /// Keys of this section of a plan.
            pub(crate) const KEYS: &'static [$crate::plan::PlanKey] = {
                use $crate::plan::KeyValueSet::*;
                &[$($($crate::plan::key(
                    concat!($prefix, stringify!($field)),
                    $takes,
                    $text,
                    $meaning,
                ),)?)+]
            };
        }
    };
}
pub(crate) use plan_section;

/// Default of a field of a plan's section: the written one, or that of a section.
macro_rules! default_or {
    () => {
        Default::default()
    };
    ($default:expr) => {
        $default
    };
}
pub(crate) use default_or;

/// All keys of plans by sections, in the order in which suggestions prefer them.
pub const KEYS: &[&[PlanKey]] = &[
    Plan::KEYS,
    SearchPlan::KEYS,
    BlocksPlan::KEYS,
    RunsPlan::KEYS,
    CurvePlan::KEYS,
    RampPlan::KEYS,
    ProfilePlan::KEYS,
    RestartPlan::KEYS,
    ExhaustionPlan::KEYS,
    ClientsPlan::KEYS,
    ServerPlan::KEYS,
    DnsPlan::KEYS,
    HostsPlan::KEYS,
    VoidRules::KEYS,
];
