//! Indexes of nodes and hosts, and lists with a value for each node or host. The types are
//! separate, so that the compiler rejects the index of a node in place of the index of a host.

use std::fmt;
use std::marker::PhantomData;
use std::ops;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident, $word:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub usize);

        impl $name {
            /// Returns the number that people use, which starts at 1.
            pub fn number(self) -> usize {
                self.0 + 1
            }

            /// Returns the name with the number, such as
            #[doc = concat!("`", $word, "2`.")]
            pub fn name(self) -> String {
                format!(concat!($word, "{}"), self.number())
            }
        }

        /// Errors show only the number of the index, without the name of the type.
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<usize> for $name {
            fn from(position: usize) -> $name {
                $name(position)
            }
        }

        impl From<$name> for usize {
            fn from(index: $name) -> usize {
                index.0
            }
        }
    };
}

index! {
    /// Index of a node, starting at 0.
    NodeIndex, "node"
}

index! {
    /// Index of a host, starting at 0.
    HostIndex, "host"
}

/// A list with one value for each node, in the order of the nodes.
pub type PerNode<T> = PerIndex<NodeIndex, T>;

/// A list with one value for each host, in the order of the hosts.
pub type PerHost<T> = PerIndex<HostIndex, T>;

/// A list that only one type of index can access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerIndex<I, T> {
    values: Vec<T>,
    index: PhantomData<I>,
}

impl<I: Copy + From<usize> + Into<usize>, T> PerIndex<I, T> {
    /// Returns the number of values in the list.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns true if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub fn get(&self, index: I) -> Option<&T> {
        self.values.get::<usize>(index.into())
    }

    /// Returns a mutable reference to the value at this index.
    pub fn get_mut(&mut self, index: I) -> Option<&mut T> {
        self.values.get_mut::<usize>(index.into())
    }

    /// Returns the value at this index, and drops all other values. Returns `None` if the list has
    /// no such index.
    pub fn take(mut self, index: I) -> Option<T> {
        let position: usize = index.into();
        (position < self.values.len()).then(|| self.values.swap_remove(position))
    }

    /// Removes and returns the value at this index, which must exist. The indexes of later values
    /// decrease by one.
    pub fn remove(&mut self, index: I) -> T {
        self.values.remove(index.into())
    }

    /// Adds a value at the end of the list.
    pub fn push(&mut self, value: T) {
        self.values.push(value);
    }

    /// Shortens the list to at most `count` values.
    pub fn truncate(&mut self, count: usize) {
        self.values.truncate(count);
    }

    /// Returns all indexes, in order.
    pub fn indexes(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.values.len()).map(I::from)
    }

    /// Returns all values, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.values.iter()
    }

    /// Returns mutable references to all values, in order.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.values.iter_mut()
    }

    /// Returns all indexes with their values, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (I, &T)> {
        self.values
            .iter()
            .enumerate()
            .map(|(position, value)| (I::from(position), value))
    }

    /// Consumes the list, and returns all indexes with their values, in order.
    pub fn into_pairs(self) -> impl Iterator<Item = (I, T)> {
        self.values
            .into_iter()
            .enumerate()
            .map(|(position, value)| (I::from(position), value))
    }

    /// Returns the index of the first value for which `fits` returns true. Returns `None` if `fits`
    /// accepts no value.
    pub fn position(&self, fits: impl FnMut(&T) -> bool) -> Option<I> {
        self.values.iter().position(fits).map(I::from)
    }
}

impl<I, T> Default for PerIndex<I, T> {
    fn default() -> PerIndex<I, T> {
        PerIndex::from(Vec::new())
    }
}

impl<I, T> From<Vec<T>> for PerIndex<I, T> {
    fn from(values: Vec<T>) -> PerIndex<I, T> {
        PerIndex {
            values,
            index: PhantomData,
        }
    }
}

impl<I, T> FromIterator<T> for PerIndex<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(values: A) -> PerIndex<I, T> {
        PerIndex::from(Vec::from_iter(values))
    }
}

impl<I, T> IntoIterator for PerIndex<I, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.into_iter()
    }
}

impl<'l, I, T> IntoIterator for &'l PerIndex<I, T> {
    type Item = &'l T;
    type IntoIter = std::slice::Iter<'l, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.iter()
    }
}

impl<I: Into<usize>, T> ops::Index<I> for PerIndex<I, T> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        let position: usize = index.into();
        &self.values[position]
    }
}

impl<I: Into<usize>, T> ops::IndexMut<I> for PerIndex<I, T> {
    fn index_mut(&mut self, index: I) -> &mut T {
        let position: usize = index.into();
        &mut self.values[position]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_nodes_and_hosts_start_at_one() {
        assert_eq!(NodeIndex(0).name(), "node1");
        assert_eq!(HostIndex(2).name(), "host3");
        assert_eq!(format!("{:?}", NodeIndex(2)), "2");
    }

    #[test]
    fn a_list_has_its_own_indexes() {
        let mut list: PerNode<&str> = ["a", "b"].into_iter().collect();
        list.push("c");
        assert_eq!(list.pairs().last(), Some((NodeIndex(2), &"c")));
        assert_eq!(list.position(|value| *value == "b"), Some(NodeIndex(1)));
        assert_eq!((list[NodeIndex(0)], list.get(NodeIndex(3))), ("a", None));
    }
}
