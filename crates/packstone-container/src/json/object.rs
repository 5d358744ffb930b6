//! The members of an object, in order.

use std::collections::HashMap;
use std::collections::HashSet;

use super::key::Key;
use super::value::Value;

/// Up to this many members, comparing all pairs of names beats hashing them.
const FEW: usize = 16;

/// An ordered map from member names to values.
///
/// Look-up and [`insert`](Self::insert) take time linear in the number of members, which for control documents is
/// small; to build a large object, collect it from an iterator. `==` respects the order;
/// [`python_eq`](super::python_eq) does not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    members: Vec<(Key, Value)>,
}

impl Object {
    /// An object without members.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An object of members that the caller knows to have different names.
    pub(super) fn of_distinct(members: impl Iterator<Item = (Key, Value)>) -> Self {
        Self { members: members.collect() }
    }

    /// Number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The value of a member.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.iter().find_map(|(key, value)| (*key == *name).then_some(value))
    }

    /// The value of a member, to change it in its place.
    #[must_use]
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.iter_mut().find_map(|(key, value)| (*key == *name).then_some(value))
    }

    /// Whether there is a member of this name.
    #[must_use]
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Replaces the value of a member in its place and returns the old one, or else appends the member.
    pub fn insert(&mut self, name: impl Into<Key>, value: impl Into<Value>) -> Option<Value> {
        let (name, value) = (name.into(), value.into());
        match self.members.iter_mut().find(|(key, _)| *key == name) {
            Some((_, place)) => Some(std::mem::replace(place, value)),
            None => {
                self.members.push((name, value));
                None
            }
        }
    }

    /// Takes a member out; those after it move up.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let place = self.members.iter().position(|(key, _)| *key == *name)?;
        Some(self.members.remove(place).1)
    }

    /// The member at a position.
    #[must_use]
    pub fn get_index(&self, index: usize) -> Option<(&Key, &Value)> {
        self.members.get(index).map(|(key, value)| (key, value))
    }

    /// The position and value of a member.
    pub(super) fn find(&self, name: &str) -> Option<(usize, &Value)> {
        self.iter()
            .enumerate()
            .find_map(|(place, (key, value))| (*key == *name).then_some((place, value)))
    }

    /// The members in order.
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = (&Key, &Value)> + DoubleEndedIterator + Clone {
        self.members.iter().map(|(key, value)| (key, value))
    }

    /// The members in order, with values to change.
    pub fn iter_mut(
        &mut self,
    ) -> impl ExactSizeIterator<Item = (&Key, &mut Value)> + DoubleEndedIterator {
        self.members.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The names in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Key> + DoubleEndedIterator + Clone {
        self.members.iter().map(|(key, _)| key)
    }

    /// The values in order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> + DoubleEndedIterator + Clone {
        self.members.iter().map(|(_, value)| value)
    }

    /// Whether both hold the same names with values equal by `same`, in any order.
    pub(super) fn eq_unordered(&self, other: &Self, same: impl Fn(&Value, &Value) -> bool) -> bool {
        if self.len() != other.len() {
            return false;
        }
        // Equal dictionaries mostly have equal order too, so look at the same position before searching.
        let mut index: Option<HashMap<&Key, &Value>> = None;
        self.members.iter().zip(&other.members).all(|((key, value), (twin, candidate))| {
            let found = if key == twin {
                Some(candidate)
            } else if other.len() <= FEW {
                other.iter().find_map(|(name, value)| (name == key).then_some(value))
            } else {
                index.get_or_insert_with(|| other.iter().collect()).get(key).copied()
            };
            found.is_some_and(|found| same(value, found))
        })
    }
}

/// The positions, in order, of those names that occurred before.
pub(super) fn duplicates<'a>(keys: impl ExactSizeIterator<Item = &'a Key> + Clone) -> Vec<usize> {
    if keys.len() <= FEW {
        let repeats = keys
            .clone()
            .enumerate()
            .filter(|(place, key)| keys.clone().take(*place).any(|other| other == *key));
        repeats.map(|(place, _)| place).collect()
    } else if are_distinct(keys.clone()) {
        Vec::new()
    } else {
        let mut seen = HashSet::with_capacity(keys.len());
        keys.enumerate().filter(|(_, key)| !seen.insert(*key)).map(|(place, _)| place).collect()
    }
}

/// Sorting tells it sooner than hashing: names mostly come in runs that are in order already.
fn are_distinct<'a>(keys: impl Iterator<Item = &'a Key>) -> bool {
    let mut sorted: Vec<&Key> = keys.collect();
    sorted.sort();
    sorted.windows(2).all(|pair| matches!(pair, [one, next] if one != next))
}

/// Of members with one name the first gives the position and the last the value, as in a Python dict.
impl<K: Into<Key>, V: Into<Value>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(iter: I) -> Self {
        let members: Vec<(Key, Value)> =
            iter.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        if duplicates(members.iter().map(|(key, _)| key)).is_empty() {
            return Self { members };
        }
        let mut places: HashMap<Key, usize> = HashMap::with_capacity(members.len());
        let mut kept: Vec<(Key, Value)> = Vec::with_capacity(members.len());
        for (key, value) in members {
            match places.get(&key).and_then(|&place| kept.get_mut(place)) {
                Some((_, place)) => *place = value,
                None => {
                    places.insert(key.clone(), kept.len());
                    kept.push((key, value));
                }
            }
        }
        Self { members: kept }
    }
}

impl IntoIterator for Object {
    type Item = (Key, Value);
    type IntoIter = std::vec::IntoIter<(Key, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(object: &Object) -> Vec<&str> {
        object.keys().filter_map(Key::as_str).collect()
    }

    #[test]
    fn keeps_order_under_change() {
        let mut object = Object::from_iter([("a", 1), ("b", 2), ("c", 3)]);
        assert_eq!(object.insert("b", "two"), Some(Value::from(2)));
        assert_eq!(object.insert("d", 4), None);
        assert_eq!(names(&object), ["a", "b", "c", "d"]);
        assert_eq!(object.get("b"), Some(&Value::from("two")));
        assert_eq!(object.remove("a"), Some(Value::from(1)));
        assert_eq!(object.remove("a"), None);
        assert_eq!(names(&object), ["b", "c", "d"]);
        *object.get_mut("c").unwrap() = Value::Null;
        assert_eq!(object.get_index(1), Some((&Key::from("c"), &Value::Null)));
        assert!(object.contains_key("d") && !object.contains_key("a") && object.len() == 3);
        assert_eq!(object.find("d"), Some((2, &Value::from(4))));
    }

    #[test]
    fn collapses_duplicates_as_python() {
        // dict([("a", 1), ("b", 2), ("a", 3)]) == {"a": 3, "b": 2}, in this order
        let object = Object::from_iter([("a", 1), ("b", 2), ("a", 3)]);
        assert_eq!(object, Object::from_iter([("a", 3), ("b", 2)]));
        assert_eq!(names(&object), ["a", "b"]);
        let many = Object::from_iter((0..1000).map(|i| (format!("k{}", i % 300), i)));
        assert_eq!(many.len(), 300);
        assert_eq!(many.get_index(0), Some((&Key::from("k0"), &Value::from(900))));
        assert_eq!(many.get_index(299), Some((&Key::from("k299"), &Value::from(899))));
    }

    #[test]
    fn finds_duplicates_in_small_and_large_objects() {
        for size in [3, FEW, FEW + 1, 500] {
            let mut keys: Vec<Key> = (0..size).map(|i| Key::from(i.to_string())).collect();
            assert_eq!(duplicates(keys.iter()), []);
            keys[2] = Key::from("0");
            keys[size - 1] = Key::from("0");
            let mut expected = vec![2, size - 1];
            expected.dedup();
            assert_eq!(duplicates(keys.iter()), expected);
        }
    }
}
