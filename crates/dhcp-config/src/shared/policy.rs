//! Reader of reservation modes, allocators, and extended information of leases: keys that the
//! global scope, networks and subnets share, and `host-reservation-identifiers`.

use super::family::ConfigFamily;
use super::inactive;
use super::reservations::{AllocatorKind, IdentifierKind, ReservationModes};
use crate::context::ParseContext;
use crate::fields::{MapReader, text_of};
use crate::source::PositionedValue;

/// Names of reservation identifiers, in the order in which Kea looks them up.
const IDENTIFIERS: [(&str, IdentifierKind); 5] = [
    ("hw-address", IdentifierKind::HardwareAddress),
    ("duid", IdentifierKind::Duid),
    ("circuit-id", IdentifierKind::CircuitId),
    ("client-id", IdentifierKind::ClientId),
    ("flex-id", IdentifierKind::FlexId),
];

/// Values of the older key `reservation-mode` of Kea before 3, as the flags that replaced it.
const MODES: [(&str, ReservationModes); 5] = [
    ("all", ReservationModes { global: false, in_subnet: true, out_of_pool: false }),
    ("out-of-pool", ReservationModes { global: false, in_subnet: true, out_of_pool: true }),
    ("global", ReservationModes { global: true, in_subnet: false, out_of_pool: false }),
    ("disabled", ReservationModes { global: false, in_subnet: false, out_of_pool: false }),
    ("off", ReservationModes { global: false, in_subnet: false, out_of_pool: false }),
];

/// Reservation and allocation settings that one scope sets, or after [`Policy::inside`] all that
/// hold in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Policy {
    global: Option<bool>,
    in_subnet: Option<bool>,
    out_of_pool: Option<bool>,
    allocator: Option<AllocatorKind>,
    adaptive_threshold: Option<f64>,
    store_extended_info: Option<bool>,
}

impl Policy {
    /// Reads the reservation and allocation settings of a scope.
    pub(crate) fn read(fields: &mut MapReader<'_>, findings: &mut ParseContext) -> Self {
        let threshold = fields.float("adaptive-lease-time-threshold", findings);
        let adaptive_threshold = threshold.and_then(|setting| {
            let good = setting.value > 0.0 && setting.value <= 1.0;
            if !good {
                let message = format!("`adaptive-lease-time-threshold` is {}", setting.value);
                findings.error_help(setting.at, message, "must be above 0.0 and at most 1.0");
            }
            good.then_some(setting.value)
        });
        let mut policy = Self {
            allocator: allocator(fields, "allocator", findings),
            adaptive_threshold,
            store_extended_info: flag(fields, "store-extended-info", findings),
            ..Self::default()
        };
        policy.read_reservation_modes(fields, findings);
        policy
    }

    fn read_reservation_modes(&mut self, fields: &mut MapReader<'_>, findings: &mut ParseContext) {
        let mode_at = fields.take("reservation-mode").map(|entry| entry.at);
        if let Some(modes) = fields.word("reservation-mode", &MODES, false, findings) {
            self.global = Some(modes.global);
            self.in_subnet = Some(modes.in_subnet);
            self.out_of_pool = Some(modes.out_of_pool);
        }
        let flags = [
            ("reservations-global", &mut self.global),
            ("reservations-in-subnet", &mut self.in_subnet),
            ("reservations-out-of-pool", &mut self.out_of_pool),
        ];
        for (key, mode) in flags {
            let Some(setting) = fields.boolean(key, findings) else { continue };
            *mode = Some(setting.value);
            if let Some(mode_at) = mode_at {
                let message =
                    format!("`{key}` and the older `reservation-mode` exclude each other");
                findings.error_with_second_position(
                    setting.at,
                    message,
                    "`reservation-mode` is at",
                    mode_at,
                );
            }
        }
    }

    /// Returns the settings of this scope with unset values taken from `outer`.
    pub(crate) fn inside(self, outer: &Self) -> Self {
        Self {
            global: self.global.or(outer.global),
            in_subnet: self.in_subnet.or(outer.in_subnet),
            out_of_pool: self.out_of_pool.or(outer.out_of_pool),
            allocator: self.allocator.or(outer.allocator),
            adaptive_threshold: self.adaptive_threshold.or(outer.adaptive_threshold),
            store_extended_info: self.store_extended_info.or(outer.store_extended_info),
        }
    }

    /// Returns the kinds of reservations that the server looks up in the scope.
    pub(crate) fn reservation_modes(&self) -> ReservationModes {
        let default = ReservationModes::default();
        ReservationModes {
            global: self.global.unwrap_or(default.global),
            in_subnet: self.in_subnet.unwrap_or(default.in_subnet),
            out_of_pool: self.out_of_pool.unwrap_or(default.out_of_pool),
        }
    }

    /// Returns the allocator that chooses the next free address in the scope.
    pub(crate) fn allocator(&self) -> AllocatorKind {
        self.allocator.unwrap_or_default()
    }

    /// Returns the fraction of leased addresses above which lifetimes in the scope are shortest.
    pub(crate) fn adaptive_threshold(&self) -> f64 {
        self.adaptive_threshold.unwrap_or(1.0)
    }

    /// Returns true if leases of the scope keep the relay agent information.
    pub(crate) fn store_extended_info(&self) -> bool {
        self.store_extended_info.unwrap_or(false)
    }
}

fn flag(
    fields: &mut MapReader<'_>,
    key: &'static str,
    findings: &mut ParseContext,
) -> Option<bool> {
    fields.boolean(key, findings).map(|setting| setting.value)
}

/// Reads the allocator under `key`: `allocator` or `pd-allocator`.
pub(crate) fn allocator(
    fields: &mut MapReader<'_>,
    key: &'static str,
    findings: &mut ParseContext,
) -> Option<AllocatorKind> {
    let allocators = [
        ("iterative", (AllocatorKind::Iterative, true)),
        ("random", (AllocatorKind::Random, true)),
        ("flq", (AllocatorKind::FreeLeaseQueue, true)),
        ("shared-flq", (AllocatorKind::FreeLeaseQueue, false)),
    ];
    let (allocator, is_active) = fields.word(key, &allocators, false, findings)?;
    if let Some(entry) = fields.take(key)
        && !is_active
    {
        findings.inactive(entry.at, &inactive::SHARED_FLQ);
    }
    Some(allocator)
}

/// Reads `host-reservation-identifiers`: `auto` means all kinds of identifiers of the family.
pub(crate) fn host_identifiers<F: ConfigFamily>(
    fields: &mut MapReader<'_>,
    findings: &mut ParseContext,
) -> Vec<IdentifierKind> {
    const KEY: &str = "host-reservation-identifiers";
    let of_family = || IDENTIFIERS.iter().filter(|(_, kind)| F::HOST_IDENTIFIERS.contains(kind));
    // `flex-id` is looked up only when it is named.
    let usual = || of_family().filter(|(_, kind)| *kind != IdentifierKind::FlexId);
    let Some(entry) = fields.take(KEY) else { return usual().map(|(_, kind)| *kind).collect() };
    let before = findings.errors();
    let mut kinds: Vec<IdentifierKind> = Vec::new();
    for item in fields.list(KEY, findings) {
        let Some(PositionedValue { value: word, at }) = text_of(item, KEY, findings) else {
            continue;
        };
        let kinds_of_word: Vec<IdentifierKind> =
            of_family().filter(|(name, _)| word == "auto" || *name == word).map(|p| p.1).collect();
        if kinds_of_word.is_empty() {
            let names: Vec<&str> = of_family().map(|(name, _)| *name).collect();
            let help = format!("valid values: auto, {}", names.join(", "));
            findings.error_help(at, format!("`{KEY}` cannot hold `{word}`"), help);
        }
        if kinds_of_word.iter().any(|kind| kinds.contains(kind)) {
            findings.error(at, format!("`{word}` repeats an identifier of this list"));
        }
        kinds.extend(kinds_of_word);
    }
    if kinds.is_empty() && findings.errors() == before {
        findings.error_help(entry.value.at, format!("`{KEY}` is empty"), "leave it out for all");
    }
    kinds
}
