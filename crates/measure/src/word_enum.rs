//! Closed sets of words: an enum of which each variant is one word in files, in options and in what
//! is shown.

/// An enum whose variants are words: with [`Display`](std::fmt::Display), serde's traits as that
/// word, `name`, `of_name` and `ALL`. A word behind a bar is an older one, which is read only.
///
/// ```
/// measure::word_enum! {
///     /// How far one sees.
///     pub enum Sight {
///         /// To the end.
///         Clear = "clear",
///         /// Not far.
///         Hazy = "hazy" | "foggy",
///     }
/// }
/// assert_eq!(Sight::of_name("foggy"), Some(Sight::Hazy));
/// assert_eq!(Sight::Hazy.name(), "hazy");
/// assert_eq!(Sight::ALL, [Sight::Clear, Sight::Hazy]);
/// ```
///
/// Not `strum` with `serde_with`: five derives and two attributes that repeat each other on every
/// enum, where this is one line.
#[macro_export]
macro_rules! word_enum {
    (
        $(#[$outer:meta])*
        $vis:vis enum $name:ident {
            $($(#[$inner:meta])* $variant:ident = $word:literal $(| $old:literal)*),+ $(,)?
        }
    ) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $($(#[$inner])* $variant),+
        }

        #[allow(dead_code, reason = "not every set of words is read, or gone through")]
        impl $name {
            /// All of them, in order.
            pub const ALL: [$name; { [$($word),+].len() }] = [$($name::$variant),+];

            /// Its word in files and for people.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word),+
                }
            }

            /// The one of this word, or of a word that it once had.
            pub fn of_name(name: &str) -> Option<$name> {
                match name {
                    $($word $(| $old)* => Some($name::$variant),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                to.pad(self.name())
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.name())
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                use std::borrow::Cow;
                let word = <Cow<'de, str> as $crate::serde::Deserialize>::deserialize(from)?;
                $name::of_name(&word).ok_or_else(|| {
                    <D::Error as $crate::serde::de::Error>::unknown_variant(&word, &[$($word),+])
                })
            }
        }
    };
}

/// Reads a word for which older files may have an empty one, which is the default.
///
/// # Errors
/// It is another word than those of the set.
pub fn word_or_default<'de, T, D>(from: D) -> Result<T, D::Error>
where
    T: serde::Deserialize<'de> + Default,
    D: serde::Deserializer<'de>,
{
    word_or_none(from).map(Option::unwrap_or_default)
}

/// Reads a word that may be absent, where older files have an empty one instead.
///
/// # Errors
/// It is another word than those of the set.
pub fn word_or_none<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
where
    T: serde::Deserialize<'de>,
    D: serde::Deserializer<'de>,
{
    use serde::Deserialize;
    use serde::de::IntoDeserializer;
    let word = std::borrow::Cow::<'de, str>::deserialize(from)?;
    match &*word {
        "" => Ok(None),
        word => T::deserialize(word.to_owned().into_deserializer()).map(Some),
    }
}
