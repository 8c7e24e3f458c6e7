//! What an approved change does.

use super::{Asked, Change};
use crate::public_keys::{PUBLIC_KEYS, PublicKey};
use crate::roles::{ASSIGNMENTS, Assignment, ROLES, assigned};
use crate::world::World;

/// Let a change take effect, now (UTC, milliseconds since 1970).
pub fn apply(world: &mut impl World, change: &Change, now: u64) {
    match &change.asked {
        Asked::RolePrivileges {
            role,
            grant,
            withdraw,
        } => {
            let mut after = ROLES.within(world).get_for_update(role).unwrap_or_default();
            for privilege in grant {
                after.withdrawn.remove(privilege);
                after.granted.insert(privilege.clone());
            }
            for privilege in withdraw {
                after.granted.remove(privilege);
                after.withdrawn.insert(privilege.clone());
            }
            after.name.clone_from(role);
            after.request.clone_from(&change.id);
            after.changed_at = now;
            ROLES.within(world).put(role, &after);
        }
        Asked::RoleAssignment {
            subject,
            add,
            remove,
        } => {
            let mut roles = assigned(world, subject);
            roles.retain(|role| !remove.contains(role));
            roles.extend(add.iter().cloned());
            let after = Assignment {
                subject: subject.clone(),
                roles,
                request: change.id.clone(),
                changed_at: now,
            };
            ASSIGNMENTS.within(world).put(subject.text(), &after);
        }
        Asked::PublicKey {
            subject,
            algorithm,
            public_key,
            not_after,
        } => {
            let key = PublicKey {
                // The change and its key have one id.
                id: change.id.clone(),
                subject: subject.clone(),
                algorithm: *algorithm,
                public_key: public_key.clone(),
                not_after: *not_after,
                request: change.id.clone(),
                registered_at: now,
                revoked_by: None,
                revoked_at: None,
            };
            PUBLIC_KEYS.within(world).put(&key.id, &key);
        }
    }
}
