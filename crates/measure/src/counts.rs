//! Sets of counters. A set is an array whose index is an enum. The words of the enum are the names
//! of the counters in files. A new counter takes one line in its enum. It is then added up,
//! cleared, written and read together with the other counters.

/// Defines a set of counters. Each counter is a variant of a [`word_enum`](crate::word_enum).
macro_rules! counters {
    ($(#[$outer:meta])* pub struct $counts:ident([u64; $name:ident]);) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $counts([u64; $name::ALL.len()]);

        impl $counts {
            /// Adds all counters of `other`.
            pub fn add(&mut self, other: &$counts) {
                for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
                    *mine += theirs;
                }
            }

            /// Returns every counter with its value, in the order of the enum.
            pub fn iter(&self) -> impl Iterator<Item = ($name, u64)> {
                $name::ALL.into_iter().zip(self.0)
            }
        }

        impl std::ops::Index<$name> for $counts {
            type Output = u64;

            #[inline]
            fn index(&self, counter: $name) -> &u64 {
                &self.0[counter as usize]
            }
        }

        impl std::ops::IndexMut<$name> for $counts {
            #[inline]
            fn index_mut(&mut self, counter: $name) -> &mut u64 {
                &mut self.0[counter as usize]
            }
        }

        impl<const N: usize> From<[($name, u64); N]> for $counts {
            fn from(all: [($name, u64); N]) -> $counts {
                let mut counts = $counts::default();
                all.into_iter().for_each(|(counter, count)| counts[counter] = count);
                counts
            }
        }

        impl serde::Serialize for $counts {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_map(self.iter())
            }
        }

        /// Reads the counters by name. A missing counter is 0. Unknown names are ignored, because
        /// the record of a later version may contain more counters.
        impl<'de> serde::Deserialize<'de> for $counts {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Counters;

                impl<'de> serde::de::Visitor<'de> for Counters {
                    type Value = $counts;

                    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        to.write_str("counters by their names")
                    }

                    fn visit_map<M>(self, mut map: M) -> Result<$counts, M::Error>
                    where
                        M: serde::de::MapAccess<'de>,
                    {
                        let mut counts = $counts::default();
                        while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
                            match $name::from_name(&name) {
                                Some(counter) => counts[counter] = map.next_value()?,
                                None => {
                                    map.next_value::<serde::de::IgnoredAny>()?;
                                }
                            }
                        }
                        Ok(counts)
                    }
                }

                from.deserialize_map(Counters)
            }
        }
    };
}

pub(crate) use counters;
