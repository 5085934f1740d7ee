//! Parts of the naive model of a table that each family has.

use base::Random;

use crate::sample::{SampleFamily, SampleLease};
use crate::v4::{self, V4};
use crate::v6::{self, IaIdentity, ResourceKind, V6};
use crate::{ClientId, HardwareAddress, Identity, Lease};

/// Family with clients in numbers small enough to meet again.
pub(super) trait Modelled: SampleFamily {
    /// Requesting client.
    type Who: Copy;

    fn who(random: &mut Random) -> Self::Who;
    fn identity<'a>(who: Self::Who) -> Self::Identity<'a>;
    fn lease_of(who: Self::Who, sample: &SampleLease<'_>) -> Lease<Self>;
    /// Returns true if both have the same identities.
    fn is_same(theirs: Self::Who, who: Self::Who) -> bool;
    /// Returns true if a slot of `theirs` belongs to `who`.
    fn owns(theirs: Self::Who, who: Self::Who) -> bool;
    /// Returns true if that follows from the key by which a client is looked up first.
    fn owns_surely(theirs: Self::Who, who: Self::Who) -> bool;
    fn detail(theirs: Self::Who, who: Self::Who, lifetime_s: u32) -> Self::Detail;
}

static OCTETS: [[u8; 30]; 8] =
    [[0; 30], [1; 30], [2; 30], [3; 30], [4; 30], [5; 30], [6; 30], [7; 30]];

/// DHCPv4 client of the model.
#[derive(Clone, Copy)]
pub(super) struct ModelClient4 {
    /// Last byte of the hardware address.
    hardware: u8,
    /// Number of the client identifier.
    client_id: Option<u8>,
    /// True if the client identifier counts.
    match_client_id: bool,
}

/// DHCPv6 client of the model.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct ModelClient6 {
    /// Number of the DUID.
    duid: u8,
    iaid: u8,
}

impl Modelled for V4 {
    type Who = ModelClient4;

    fn who(random: &mut Random) -> Self::Who {
        let client_id = random.chance(1, 2).then(|| random.below(3) as u8);
        let hardware = random.below(5) as u8;
        ModelClient4 { hardware, client_id, match_client_id: random.chance(4, 5) }
    }

    fn identity<'a>(who: Self::Who) -> Identity<'a> {
        let hardware = HardwareAddress::new(1, &[2, 0, 0, 0, 0, who.hardware]);
        let client_id = who.client_id.map(|number| &OCTETS[usize::from(number)][..]);
        Identity {
            hardware,
            client_id,
            match_client_id: who.match_client_id,
            hardware_only_subnets: &[],
        }
    }

    fn lease_of(who: Self::Who, sample: &SampleLease<'_>) -> v4::Lease {
        let Identity { hardware, client_id, .. } = Self::identity(who);
        let client = v4::LeaseClient { hardware, client_id: client_id.map(ClientId::new) };
        v4::Lease { client, ..Self::lease(sample) }
    }

    fn is_same(theirs: Self::Who, who: Self::Who) -> bool {
        (theirs.hardware, theirs.client_id) == (who.hardware, who.client_id)
    }

    fn owns(theirs: Self::Who, who: Self::Who) -> bool {
        match (theirs.client_id, who.client_id) {
            (Some(theirs), Some(mine)) if who.match_client_id => theirs == mine,
            _ => theirs.hardware == who.hardware,
        }
    }

    fn owns_surely(theirs: Self::Who, who: Self::Who) -> bool {
        who.match_client_id && who.client_id.is_some() && theirs.client_id == who.client_id
    }

    fn detail(theirs: Self::Who, who: Self::Who, _lifetime_s: u32) -> v4::Detail {
        v4::Detail {
            is_same_client: (theirs.hardware, theirs.client_id) == (who.hardware, who.client_id),
        }
    }
}

impl Modelled for V6 {
    type Who = ModelClient6;

    fn who(random: &mut Random) -> Self::Who {
        ModelClient6 { duid: random.below(4) as u8, iaid: random.below(3) as u8 }
    }

    fn identity<'a>(who: Self::Who) -> IaIdentity<'a> {
        let duid = &OCTETS[usize::from(who.duid)][..];
        IaIdentity { duid, kind: ResourceKind::Address, iaid: who.iaid.into() }
    }

    fn lease_of(who: Self::Who, sample: &SampleLease<'_>) -> v6::Lease {
        let IaIdentity { duid, iaid, .. } = Self::identity(who);
        let client = v6::LeaseClient { duid: ClientId::new(duid), iaid };
        v6::Lease { client, ..Self::lease(sample) }
    }

    fn is_same(theirs: Self::Who, who: Self::Who) -> bool {
        theirs == who
    }

    fn owns(theirs: Self::Who, who: Self::Who) -> bool {
        theirs == who
    }

    fn owns_surely(theirs: Self::Who, who: Self::Who) -> bool {
        theirs == who
    }

    fn detail(_: Self::Who, _: Self::Who, lifetime_s: u32) -> v6::Detail {
        v6::Detail { preferred_lifetime_s: lifetime_s / 2 }
    }
}
