//! Replies in a shared network: from which of its subnets they give something, and to which
//! associations.

use serde_json::Value;

use super::batch::KeaComparison;
use super::value::Fields;

/// End of a signature if the server gives something from another subnet than that of the link.
const FROM_ANOTHER_SUBNET: &str = ", from another subnet";

/// End of a signature in a shared network if neither server gives anything, since nothing is left.
const NO_LEASE: &str = ", without a lease";

/// End of a signature in a shared network if both servers give something of the subnet of the link
/// to some associations, and others get nothing.
const NOT_FOR_ALL: &str = ", without a lease for one";

/// Numbers of the associations in a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AssociationCounts {
    /// Associations with an address or prefix that is not withdrawn.
    pub(super) served: usize,
    /// Associations for which nothing is left.
    pub(super) unserved: usize,
}

impl KeaComparison {
    /// Returns the end of the signature of a difference in `replies` that says from which subnet
    /// of `scope` they give something, and if that is so for all associations; `relay` are the
    /// relay agents of the client.
    pub(super) fn end_about_subnets(
        &self,
        scope: &Value,
        relay: &Value,
        replies: [&Option<Fields>; 2],
    ) -> &'static str {
        let is_network = !scope[self.subnets_key()].is_null();
        let counts = replies.map(|reply| {
            reply.as_ref().map_or_else(AssociationCounts::default, |reply| {
                self.protocol.association_counts(reply)
            })
        });
        let have_unserved = is_network && counts.iter().all(|counts| counts.unserved > 0);
        let mut given = replies.into_iter().flatten();
        if have_unserved && counts.iter().all(|counts| counts.served == 0) {
            NO_LEASE
        } else if given.any(|reply| self.protocol.is_from_another_subnet(scope, relay, reply)) {
            FROM_ANOTHER_SUBNET
        } else if have_unserved && counts.iter().all(|counts| counts.served > 0) {
            NOT_FOR_ALL
        } else {
            ""
        }
    }
}
