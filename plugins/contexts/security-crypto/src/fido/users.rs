//! Writing users.

use super::documents::{USERS, User};
use crate::world::World;

/// Write a user. A user who is left with neither credentials nor challenges is removed.
pub fn write(world: &mut impl World, key: &str, user: &User) {
    if user.credentials.is_empty() && user.challenges.is_empty() {
        USERS.within(world).delete(key);
    } else {
        USERS.within(world).put(key, user);
    }
}
