//! Closed sets of words. These are enums whose variants are words in files, in options and in the
//! output.

/// Defines an enum whose variants are words. The enum implements [`Display`](std::fmt::Display) and
/// serde's traits by these words, and has `name`, `from_name` and `ALL`. A word after a bar is a
/// former word, which is only read.
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
/// assert_eq!(Sight::from_name("foggy"), Some(Sight::Hazy));
/// assert_eq!(Sight::Hazy.name(), "hazy");
/// assert_eq!(Sight::ALL, [Sight::Clear, Sight::Hazy]);
/// ```
///
/// This macro replaces the crates `strum` and `serde_with`, which together need five derives and
/// two attributes on every enum.
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

        #[allow(dead_code, reason = "some sets of words are never parsed or iterated over")]
        impl $name {
            /// All variants, in the order of their definition.
            pub const ALL: [$name; { [$($word),+].len() }] = [$($name::$variant),+];

            /// Returns the word of this variant in files and in the output.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word),+
                }
            }

            /// Returns the variant with this word, which may be a former word.
            pub fn from_name(name: &str) -> Option<$name> {
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
                $name::from_name(&word).ok_or_else(|| {
                    <D::Error as $crate::serde::de::Error>::unknown_variant(&word, &[$($word),+])
                })
            }
        }
    };
}

/// Reads a word. Older files may have an empty word, which means the default.
///
/// # Errors
/// The word is not in the set.
pub fn word_or_default<'de, T, D>(from: D) -> Result<T, D::Error>
where
    T: serde::Deserialize<'de> + Default,
    D: serde::Deserializer<'de>,
{
    word_or_none(from).map(Option::unwrap_or_default)
}

/// Reads an optional word. In older files, an empty word means that the value is absent.
///
/// # Errors
/// The word is not in the set.
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
